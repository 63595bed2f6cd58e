//! Datatypes as those see them who move and combine what they describe: no handles, no names given by users.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::apart::Apart;
use crate::copy::Elements;
use crate::error::Result;
use crate::fail;
use crate::layout::Loop;
use crate::predefined::{NAMED, Named};
use crate::shape::Shape;
use crate::signature::Signature;

/// A datatype. Never changes; what works with it later keeps a [share](Self::share) in it.
pub struct Type {
    shape: Shape,
    /// `shape.is_contiguous()`, asked in every call.
    contiguous: bool,
    /// If it is predefined.
    named: Option<&'static Named>,
    apart: Apart,
    this: Weak<Type>,
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.label(), self.size())
    }
}

impl Type {
    /// A predefined datatype.
    pub fn predefined(named: &'static Named) -> Arc<Self> {
        Self::new(Shape::named(named), Some(named))
    }

    /// The predefined datatype of this name (`MPI_DOUBLE`), as long as the process.
    ///
    /// # Panics
    /// There is no such name.
    pub fn of_name(name: &str) -> Arc<Self> {
        let named = NAMED.iter().find(|named| named.name == name);
        Self::predefined(named.unwrap_or_else(|| panic!("{name} is no predefined datatype")))
    }

    /// A datatype of this shape.
    pub fn derived(shape: Shape) -> Arc<Self> {
        Self::new(shape, None)
    }

    fn new(shape: Shape, named: Option<&'static Named>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            contiguous: shape.is_contiguous(),
            shape,
            named,
            apart: Apart::default(),
            this: this.clone(),
        })
    }

    /// What it means.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// A share in it, for what outlives the caller's.
    pub fn share(&self) -> Arc<Self> {
        let this = self.this.upgrade();
        this.unwrap_or_else(|| unreachable!("datatypes live in an Arc from the start"))
    }

    /// Bytes of data in one element.
    #[inline]
    pub fn size(&self) -> i64 {
        self.shape.size
    }

    /// Lower bound.
    #[inline]
    pub fn lb(&self) -> i64 {
        self.shape.lb
    }

    /// Bytes from one element to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.shape.extent
    }

    /// Where the first byte of data lies, from the buffer's address.
    #[inline]
    pub fn true_lb(&self) -> i64 {
        self.shape.true_lb
    }

    /// Bytes from the first byte of data to the last.
    #[inline]
    pub fn true_extent(&self) -> i64 {
        self.shape.true_extent
    }

    /// Do any number of elements take `count * size` bytes in a row, from the buffer's address on?
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Its basic elements in order.
    pub fn signature(&self) -> &Signature {
        &self.shape.signature
    }

    /// What it is, if it is predefined.
    #[inline]
    pub fn named(&self) -> Option<&'static Named> {
        self.named
    }

    /// What to call it, for messages.
    pub fn label(&self) -> &'static str {
        self.named.map_or("a derived type", |named| named.name)
    }

    /// Is it a predefined type of integers alone? Predefined operations give the same in whatever order these are combined.
    #[inline]
    pub fn is_of_integers(&self) -> bool {
        let is_of_integers = |named: &Named| named.elements.iter().all(|element| element.is_integer());
        self.named.is_some_and(is_of_integers)
    }

    /// Do `count` elements share no byte, so that something can be received there (MPI-5.0 §5.1.11)?
    #[inline]
    pub fn is_apart(&self, count: i64) -> bool {
        self.contiguous || self.apart.holds(&self.shape.layout, count, self.extent())
    }

    /// Bytes of data in `count` elements.
    #[inline]
    pub fn bytes(&self, count: i64) -> Result<i64> {
        count
            .checked_mul(self.size())
            .ok_or_else(|| fail!(Count, "count={count} elements of {} bytes exceed 64 bits", self.size()))
    }

    /// Pack `count` elements at `src` behind what `dst` holds.
    ///
    /// # Safety
    /// `src` must be readable wherever those elements lie.
    pub unsafe fn pack(&self, src: *const u8, count: i64, dst: &mut Vec<u8>) {
        let bytes = count * self.size();
        dst.reserve(bytes as usize);
        // SAFETY: the caller's promise for `src`; the room was just reserved, and is full afterwards.
        unsafe {
            self.pack_range(src, count, 0, bytes, dst.as_mut_ptr().add(dst.len()));
            dst.set_len(dst.len() + bytes as usize);
        }
    }

    /// Unpack `src`, which may end within an element, into at most `count` elements at `dst`.
    ///
    /// # Safety
    /// `dst` must be writable wherever those elements lie.
    pub unsafe fn unpack(&self, src: &[u8], dst: *mut u8, count: i64) {
        let bytes = (src.len() as i64).min(count * self.size());
        // SAFETY: the caller's promise for `dst`; no more than `src` holds is read.
        unsafe { self.unpack_range(src.as_ptr(), dst, count, 0, bytes) }
    }

    /// Pack bytes `from..to` of the `count * size` bytes of the elements at `src` to `dst`.
    ///
    /// # Safety
    /// `src` must be readable wherever those elements lie, `dst` writable for `to - from` bytes, and
    /// `0 <= from <= to <= count * size`.
    pub unsafe fn pack_range(&self, src: *const u8, count: i64, from: i64, to: i64, dst: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.elements(count).pack(src, from, to, dst) }
    }

    /// The reverse of [`Self::pack_range`].
    ///
    /// # Safety
    /// `dst` must be writable wherever the elements lie, `src` readable for `to - from` bytes, and
    /// `0 <= from <= to <= count * size`.
    pub unsafe fn unpack_range(&self, src: *const u8, dst: *mut u8, count: i64, from: i64, to: i64) {
        // SAFETY: the caller's promise.
        unsafe { self.elements(count).unpack(dst, from, to, src) }
    }

    #[inline]
    fn elements(&self, count: i64) -> Elements<'_> {
        Elements {
            layout: &self.shape.layout,
            size: self.shape.size,
            repeat: Loop {
                count,
                stride: self.shape.extent,
            },
        }
    }
}
