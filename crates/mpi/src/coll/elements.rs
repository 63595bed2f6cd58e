//! Elements in the user's memory, and their packed form, which is what data movement works on.

use std::borrow::Cow;
use std::ffi::c_void;

use super::link::{Incoming, Link, Outgoing};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;

/// `count` elements of a datatype at an address.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub address: *mut u8,
    pub count: i64,
    pub datatype: &'a Datatype,
}

impl<'a> Elements<'a> {
    pub fn new(buffer: *const c_void, count: i64, datatype: &'a Datatype) -> Self {
        Self {
            address: buffer.cast_mut().cast(),
            count,
            datatype,
        }
    }

    /// As many bytes as fit into an address space, or an error.
    pub fn checked(self) -> Result<Self> {
        self.datatype.bytes(self.count)?;
        Ok(self)
    }

    /// `count` elements of the same type, `displacement` extents further on.
    pub fn at(self, displacement: i64, count: i64) -> Self {
        let distance = displacement.wrapping_mul(self.datatype.extent());
        Self {
            address: self.address.wrapping_offset(distance as isize),
            count,
            ..self
        }
    }

    /// As many elements, `index` times as many further on.
    pub fn nth(self, index: usize) -> Self {
        self.at((index as i64).wrapping_mul(self.count), self.count)
    }

    /// Bytes of data.
    pub fn bytes(self) -> usize {
        (self.count * self.datatype.size()) as usize
    }

    /// The packed form: the elements themselves where they are contiguous.
    ///
    /// # Safety
    /// The elements must be readable, and not change, for as long as the result lives.
    pub unsafe fn packed(self) -> Cow<'a, [u8]> {
        if self.bytes() == 0 {
            return Cow::Borrowed(&[]);
        }
        if self.datatype.is_contiguous() {
            // SAFETY: the caller's promise; contiguous elements are this many bytes in a row.
            return Cow::Borrowed(unsafe { std::slice::from_raw_parts(self.address, self.bytes()) });
        }
        let mut packed = Vec::new();
        // SAFETY: the caller's promise.
        unsafe { self.datatype.pack(self.address, self.count, &mut packed) };
        Cow::Owned(packed)
    }

    /// Take the elements from their packed form.
    ///
    /// # Safety
    /// The elements must be writable, and `packed` must not overlap them.
    pub unsafe fn unpack(self, packed: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { self.datatype.unpack(packed, self.address, self.count) }
    }
}

/// Room for the packed form of elements that will come: the elements themselves where they are contiguous.
pub(super) struct Landing<'a> {
    elements: Elements<'a>,
    staging: Vec<u8>,
}

impl<'a> Landing<'a> {
    pub fn new(elements: Elements<'a>) -> Result<Self> {
        let mut staging = Vec::new();
        if !elements.datatype.is_contiguous() {
            staging = zeroed(elements.bytes())?;
        }
        Ok(Self { elements, staging })
    }

    /// Where the bytes should come.
    pub fn start(&mut self) -> *mut u8 {
        if self.elements.datatype.is_contiguous() {
            self.elements.address
        } else {
            self.staging.as_mut_ptr()
        }
    }

    /// The bytes.
    ///
    /// # Safety
    /// The elements must be good for reading and writing while the result lives.
    pub unsafe fn bytes(&mut self) -> &mut [u8] {
        let (start, len) = (self.start(), self.elements.bytes());
        if len == 0 {
            return &mut [];
        }
        // SAFETY: the caller's promise, or our own staging buffer.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }

    /// The bytes have come: put them where the elements lie.
    ///
    /// # Safety
    /// The elements must be writable.
    pub unsafe fn settle(self) {
        if !self.elements.datatype.is_contiguous() {
            // SAFETY: the caller's promise; staging is our own.
            unsafe { self.elements.unpack(&self.staging) };
        }
    }
}

/// Receive and send blocks of elements, all at once. Blocks without data take no message.
///
/// # Safety
/// Elements to receive must be writable, those to send readable; they must not overlap.
pub(super) unsafe fn transfer<'a>(
    link: &impl Link,
    receives: impl IntoIterator<Item = (usize, Elements<'a>)>,
    sends: impl IntoIterator<Item = (usize, Elements<'a>)>,
) -> Result<()> {
    let mut landings = Vec::new();
    let mut incoming = Vec::new();
    for (from, elements) in receives {
        let len = elements.bytes();
        if len > 0 {
            let mut landing = Landing::new(elements)?;
            let into = landing.start();
            incoming.push(Incoming { from, into, len });
            landings.push(landing);
        }
    }
    let mut packed = Vec::new();
    let mut outgoing = Vec::new();
    for (to, elements) in sends {
        // SAFETY: the caller's promise.
        let bytes = unsafe { elements.packed() };
        if !bytes.is_empty() {
            outgoing.push(Outgoing {
                to,
                data: bytes.as_ptr(),
                len: bytes.len(),
            });
            packed.push(bytes);
        }
    }
    // SAFETY: the caller's promise, or staging buffers and packed forms that live until the end of this function.
    unsafe {
        link.transfer(&incoming, &outgoing)?;
        for landing in landings {
            landing.settle();
        }
    }
    Ok(())
}

/// What a rank sends to itself.
///
/// # Safety
/// `from` must be readable, `to` writable, and they must not overlap.
pub(super) unsafe fn copy(link: &impl Link, from: Elements<'_>, to: Elements<'_>) {
    if from.bytes() != to.bytes() {
        link.mismatch(link.rank(), from.bytes(), to.bytes());
    }
    // SAFETY: the caller's promise.
    unsafe { to.unpack(&from.packed()) };
}

/// Memory for `len` bytes, or an error.
pub(super) fn zeroed(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| fail!(NoMem, "no memory for {len} bytes of staging"))?;
    bytes.resize(len, 0);
    Ok(bytes)
}
