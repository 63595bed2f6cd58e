//! The user's side of an access: elements of a datatype, as the stream of bytes that they make in order.

use std::sync::Arc;

use isthmus_datatype::Type;

/// Memory that an access reads from or writes to.
pub struct Memory {
    address: *mut u8,
    count: i64,
    /// `None`: bytes in a row.
    of: Option<Arc<Type>>,
    bytes: u64,
    /// The bytes, if they are not the user's.
    own: Vec<u8>,
}

// SAFETY: the user has left the memory to the access, from whichever thread that goes on.
unsafe impl Send for Memory {}
// SAFETY: as above; the access itself is made by one thread at a time.
unsafe impl Sync for Memory {}

impl Memory {
    /// `count` elements at `address`.
    ///
    /// # Safety
    /// As long as it lives, the elements are readable or, for reading a file, writable, and nobody else uses them. `count * size` fits.
    pub unsafe fn of_elements(address: *mut u8, count: i64, of: &Type) -> Self {
        Self {
            address,
            count,
            bytes: (count * of.size()) as u64,
            of: (!of.is_contiguous()).then(|| of.share()),
            own: Vec::new(),
        }
    }

    /// Bytes of its own.
    pub fn owned(mut bytes: Vec<u8>) -> Self {
        Self {
            address: bytes.as_mut_ptr(),
            count: bytes.len() as i64,
            of: None,
            bytes: bytes.len() as u64,
            own: bytes,
        }
    }

    /// The bytes that it owns.
    pub fn into_owned(self) -> Vec<u8> {
        self.own
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes `from..to`, if they lie in a row.
    pub fn slice(&self, from: u64, to: u64) -> Option<&[u8]> {
        if self.of.is_some() || from == to {
            return self.of.is_none().then_some(&[]);
        }
        // SAFETY: the promise of the constructor; the range lies within the stream by the caller's count.
        Some(unsafe { std::slice::from_raw_parts(self.address.add(from as usize), (to - from) as usize) })
    }

    /// Bytes `from..to`, to be written to, if they lie in a row.
    #[allow(clippy::mut_from_ref)] // The memory is the user's; an access touches each part of it once.
    pub fn slice_mut(&self, from: u64, to: u64) -> Option<&mut [u8]> {
        if self.of.is_some() || from == to {
            return self.of.is_none().then_some(&mut []);
        }
        // SAFETY: as in `slice`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.address.add(from as usize), (to - from) as usize) })
    }

    /// Copy the bytes from `from` on to `into`.
    pub fn copy_out(&self, from: u64, into: &mut [u8]) {
        let to = from + into.len() as u64;
        match &self.of {
            // SAFETY: the promise of the constructor, and the range lies within.
            Some(of) => unsafe {
                of.pack_range(self.address, self.count, from as i64, to as i64, into.as_mut_ptr());
            },
            None => into.copy_from_slice(self.slice(from, to).unwrap_or_default()),
        }
    }

    /// Copy `bytes` to where the stream's bytes from `from` on lie.
    pub fn copy_in(&self, from: u64, bytes: &[u8]) {
        let to = from + bytes.len() as u64;
        match &self.of {
            // SAFETY: the promise of the constructor, and the range lies within.
            Some(of) => unsafe {
                of.unpack_range(bytes.as_ptr(), self.address, self.count, from as i64, to as i64);
            },
            None => {
                if let Some(place) = self.slice_mut(from, to) {
                    place.copy_from_slice(bytes);
                }
            }
        }
    }
}
