//! The user's side of an access: elements of a datatype, as the stream of bytes that they make in order.

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use isthmus_datatype::Type;

/// Memory that an access reads from or writes to.
pub struct AccessMemory {
    address: *mut u8,
    count: i64,
    /// `None`: bytes in a row.
    of: Option<Arc<Type>>,
    bytes: u64,
    /// Where the bytes of one element lie, if these places are long enough to be given to the system one by one.
    places: Vec<Run>,
    /// The bytes, if they are not the user's.
    own: Vec<u8>,
}

/// Bytes in a row, in one element.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// From the element's address on.
    at: i64,
    length: u64,
    /// Bytes of the element before it.
    before: u64,
}

/// From so many bytes a place of memory, in the mean, a call of the system for a list of them costs less than a copy (decision 153).
const LISTED: i64 = 4 << 10;
/// Elements of more places are packed, which takes no list.
const MOST_PLACES: i64 = 1 << 16;

/// The places of an element, if they are long.
fn places_of(of: &Type) -> Vec<Run> {
    let segments = of.segments();
    if of.size() / segments.max(1) < LISTED || segments > MOST_PLACES {
        return Vec::new();
    }
    let mut before = 0;
    // Without memory for the list it is packed.
    let runs = of.runs().unwrap_or_default().into_iter().map(|(at, length)| {
        let length = length as u64;
        before += length;
        Run {
            at,
            length,
            before: before - length,
        }
    });
    runs.collect()
}

// SAFETY: the user has left the memory to the access, from whichever thread that goes on.
unsafe impl Send for AccessMemory {}
// SAFETY: as above; the access itself is made by one thread at a time.
unsafe impl Sync for AccessMemory {}

impl AccessMemory {
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
            places: if of.is_contiguous() { Vec::new() } else { places_of(of) },
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
            places: Vec::new(),
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

    /// Are the places of its bytes so long that they are best given to the system as a list?
    pub fn is_listed(&self) -> bool {
        !self.places.is_empty()
    }

    /// At most so many places of the bytes `from..to`, in order, from `from` on, if it [is listed](Self::is_listed).
    fn places(&self, from: u64, to: u64, most: usize) -> impl Iterator<Item = (*mut u8, usize)> {
        let (size, extent) = self.of.as_ref().map_or((1, 1), |of| (of.size() as u64, of.extent()));
        let (mut element, within) = (from / size, from % size);
        let mut run = self.places.partition_point(|run| run.before + run.length <= within);
        let mut at = from;
        let next = move || {
            let place = self.places.get(run).filter(|_| at < to)?;
            let skipped = at - element * size - place.before;
            let length = (place.length - skipped).min(to - at);
            let address = self
                .address
                .wrapping_offset((element as i64 * extent + place.at + skipped as i64) as isize);
            (at, run) = (at + length, run + 1);
            if run == self.places.len() {
                (run, element) = (0, element + 1);
            }
            Some((address, length as usize))
        };
        std::iter::from_fn(next).take(most)
    }

    /// The first places of the bytes `from..to`, to be read from.
    pub fn list(&self, from: u64, to: u64, most: usize) -> Vec<IoSlice<'_>> {
        let places = self.places(from, to, most);
        // SAFETY: the promise of the constructor; the places are those of bytes of the stream.
        let slice = |(address, length): (*mut u8, usize)| unsafe { std::slice::from_raw_parts(address, length) };
        places.map(|place| IoSlice::new(slice(place))).collect()
    }

    /// The first places of the bytes `from..to`, to be written to.
    pub fn list_mut(&self, from: u64, to: u64, most: usize) -> Vec<IoSliceMut<'_>> {
        let places = self.places(from, to, most);
        // SAFETY: as in `list`; what is read to has no byte twice.
        let slice = |(address, length): (*mut u8, usize)| unsafe { std::slice::from_raw_parts_mut(address, length) };
        places.map(|place| IoSliceMut::new(slice(place))).collect()
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
