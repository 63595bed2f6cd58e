//! Elements in the user's memory, and their packed form, which is what data movement works on.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::link::{Incoming, Link, Outgoing};
use crate::memory::ScratchMemory;
use isthmus_datatype::Type;
use smallvec::SmallVec;

/// `count` elements of a datatype at an address.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// Of the first of them, as MPI means it: data lies from `address + true_lb` on.
    pub address: *mut u8,
    /// How many.
    pub count: i64,
    /// Of which type.
    pub datatype: &'a Type,
}

impl<'a> Elements<'a> {
    /// These elements.
    #[inline]
    pub fn new(buffer: *const c_void, count: i64, datatype: &'a Type) -> Self {
        Self {
            address: buffer.cast_mut().cast(),
            count,
            datatype,
        }
    }

    /// As many bytes as fit into an address space, or an error.
    #[inline]
    pub fn checked(self) -> Result<Self> {
        self.datatype.bytes(self.count)?;
        Ok(self)
    }

    /// `count` elements of the same type, `displacement` extents further on.
    #[inline]
    pub fn at(self, displacement: i64, count: i64) -> Self {
        let distance = displacement.wrapping_mul(self.datatype.extent());
        Self {
            address: self.address.wrapping_offset(distance as isize),
            count,
            ..self
        }
    }

    /// As many elements, `index` times as many further on.
    #[inline]
    pub fn nth(self, index: usize) -> Self {
        self.at((index as i64).wrapping_mul(self.count), self.count)
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(self) -> usize {
        (self.count * self.datatype.size()) as usize
    }

    /// Write the packed form to `to`.
    ///
    /// # Safety
    /// The elements must be readable and `to` writable for as many bytes; they must not overlap.
    pub unsafe fn pack(self, to: *mut u8) {
        let bytes = self.bytes();
        // SAFETY: the caller's promise; contiguous elements are this many bytes in a row.
        unsafe {
            if bytes == 0 {
            } else if self.datatype.is_contiguous() {
                std::ptr::copy_nonoverlapping(self.address, to, bytes);
            } else {
                self.datatype.pack_range(self.address, self.count, 0, bytes as i64, to);
            }
        }
    }

    /// Take the elements from their packed form, which has `len` bytes: as many as there are.
    ///
    /// # Safety
    /// `from` must be readable and the elements writable; they must not overlap.
    pub unsafe fn unpack(self, from: *const u8, len: usize) {
        let bytes = len.min(self.bytes());
        // SAFETY: the caller's promise; contiguous elements are bytes in a row.
        unsafe {
            if bytes == 0 {
            } else if self.datatype.is_contiguous() {
                std::ptr::copy_nonoverlapping(from, self.address, bytes);
            } else {
                self.datatype
                    .unpack_range(from, self.address, self.count, 0, bytes as i64);
            }
        }
    }
}

impl Elements<'_> {
    /// Write `len` bytes of the packed form, from byte `from` on, to memory that other processes will read.
    ///
    /// # Safety
    /// As for [`Self::pack`]; the packed form has that part.
    #[inline]
    pub unsafe fn pack_part(self, from: usize, len: usize, to: *mut u8) {
        // SAFETY: the caller's promise; contiguous elements are bytes in a row.
        unsafe {
            if self.datatype.is_contiguous() {
                isthmus_engine::copy_for_others(self.address.add(from), to, len);
            } else if len > 0 {
                let end = (from + len) as i64;
                self.datatype.pack_range(self.address, self.count, from as i64, end, to);
            }
        }
    }

    /// Where the packed form lies from byte `at` on, if the elements lie in a row.
    #[inline]
    pub fn part(self, at: usize) -> Option<*const u8> {
        let from = || self.address.wrapping_add(at).cast_const();
        self.datatype.is_contiguous().then(from)
    }

    /// Take `len` bytes of the packed form, from byte `at` on, from memory that another process has written.
    ///
    /// # Safety
    /// As for [`Self::unpack`]; the packed form has that part.
    #[inline]
    pub unsafe fn unpack_part(self, at: usize, len: usize, from: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { self.unpack_part_by(isthmus_engine::copy_from_others, at, len, from) }
    }

    /// The same, with `copy` where the elements lie in a row.
    ///
    /// # Safety
    /// As for [`Self::unpack_part`]; `copy` copies what it is told to.
    #[inline]
    pub unsafe fn unpack_part_by(
        self,
        copy: unsafe fn(*const u8, *mut u8, usize),
        at: usize,
        len: usize,
        from: *const u8,
    ) {
        // SAFETY: the caller's promise; contiguous elements are bytes in a row.
        unsafe {
            if self.datatype.is_contiguous() {
                copy(from, self.address.add(at), len);
            } else if len > 0 {
                let end = (at + len) as i64;
                self.datatype
                    .unpack_range(from, self.address, self.count, at as i64, end);
            }
        }
    }

    /// From byte `at` on the packed form has other than `len` bytes: take what fits, and zeros for what is missing.
    ///
    /// # Safety
    /// As for [`Self::unpack`].
    #[cold]
    pub unsafe fn unpack_short(self, at: usize, from: *const u8, len: usize) {
        let rest = self.bytes() - at;
        let fits = len.min(rest);
        // SAFETY: the caller's promise; `fits + (rest - fits)` bytes are left from `at` on.
        unsafe {
            self.unpack_part(at, fits, from);
            let zeros = vec![0; (rest - fits).min(1 << 16)];
            for missing in (at + fits..at + rest).step_by(1 << 16) {
                let len = zeros.len().min(at + rest - missing);
                self.unpack_part(missing, len, zeros.as_ptr());
            }
        }
    }
}

/// Bytes as they are.
pub fn byte() -> &'static Type {
    static BYTE: OnceLock<Arc<Type>> = OnceLock::new();
    BYTE.get_or_init(|| Type::of_name("MPI_BYTE"))
}

/// The packed form of elements: they themselves where they are contiguous.
pub struct Packed<'l> {
    /// Where it lies.
    pub data: *mut u8,
    /// Bytes.
    pub len: usize,
    memory: Option<ScratchMemory<'l>>,
}

impl<'l> Packed<'l> {
    /// Pack elements.
    ///
    /// # Safety
    /// The elements must be readable, and not change, for as long as the result lives.
    pub unsafe fn of(link: &'l impl Link, elements: Elements<'_>) -> Result<Self> {
        let packed = Self::room(link, elements)?;
        if packed.memory.is_some() {
            // SAFETY: the caller's promise; there is room.
            unsafe { link.pack(elements, packed.data) };
        }
        Ok(packed)
    }

    /// Room for the packed form of elements that will come.
    pub fn room(link: &'l impl Link, elements: Elements<'_>) -> Result<Self> {
        let len = elements.bytes();
        if elements.datatype.is_contiguous() || len == 0 {
            return Ok(Self {
                data: elements.address,
                len,
                memory: None,
            });
        }
        let mut memory = link.memory(len)?;
        Ok(Self {
            data: memory.start(),
            len,
            memory: Some(memory),
        })
    }

    /// The bytes have come: put them where the elements lie.
    ///
    /// # Safety
    /// The elements must be writable, and those that there was to be room for.
    pub unsafe fn settle(&self, link: &impl Link, elements: Elements<'_>) {
        if self.memory.is_some() {
            // SAFETY: the caller's promise.
            unsafe { link.unpack(self.data, self.len, elements) };
        }
    }

    /// As elements.
    pub fn bytes(&self) -> Elements<'static> {
        bytes(self.data, self.len)
    }
}

/// Bytes as elements.
pub fn bytes(start: *mut u8, len: usize) -> Elements<'static> {
    Elements::new(start.cast(), len as i64, byte())
}

/// Up to so many neighbors nothing is allocated.
const FEW: usize = 8;

/// Receive and send blocks of elements, all at once. Blocks without data take no message.
///
/// # Safety
/// Elements to receive must be writable, those to send readable; they must not overlap.
pub unsafe fn transfer<'a>(
    link: &impl Link,
    receives: impl IntoIterator<Item = (usize, Elements<'a>)>,
    sends: impl IntoIterator<Item = (usize, Elements<'a>)>,
) -> Result<()> {
    // Only packed memory has to outlive the transfer: what lies in a row is sent and received where it is.
    let mut landings = Vec::new();
    let mut incoming: SmallVec<[Incoming; FEW]> = SmallVec::new();
    for (from, elements) in receives {
        let len = elements.bytes();
        if len > 0 {
            let landing = Packed::room(link, elements)?;
            incoming.push(Incoming {
                from,
                into: landing.data,
                len,
            });
            if landing.memory.is_some() {
                landings.push((landing, elements));
            }
        }
    }
    let mut packed = Vec::new();
    let mut outgoing: SmallVec<[Outgoing; FEW]> = SmallVec::new();
    for (to, elements) in sends {
        if elements.bytes() > 0 {
            // SAFETY: the caller's promise.
            let bytes = unsafe { Packed::of(link, elements) }?;
            outgoing.push(Outgoing {
                to,
                data: bytes.data,
                len: bytes.len,
            });
            if bytes.memory.is_some() {
                packed.push(bytes);
            }
        }
    }
    // SAFETY: the caller's promise, or staging buffers and packed forms that live until the end of this function.
    unsafe {
        link.transfer(&incoming, &outgoing)?;
        for (landing, elements) in landings {
            landing.settle(link, elements);
        }
    }
    Ok(())
}

/// What a rank sends to itself.
///
/// # Safety
/// `from` must be readable, `to` writable, and they must not overlap.
pub unsafe fn copy(link: &impl Link, from: Elements<'_>, to: Elements<'_>) -> Result<()> {
    let len = from.bytes();
    if len != to.bytes() {
        link.mismatch(link.rank(), len, to.bytes());
    }
    // SAFETY: the caller's promise.
    unsafe {
        if len == to.bytes() && to.datatype.is_contiguous() {
            link.pack(from, to.address);
        } else {
            let packed = Packed::of(link, from)?;
            link.unpack(packed.data, len, to);
        }
    }
    Ok(())
}
