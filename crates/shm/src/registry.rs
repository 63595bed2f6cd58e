//! The address registry: is this memory some that peers map, too, and where do they find it?
//!
//! Segments are mapped once, whole, and stay until the process exits, so the answer is a comparison of addresses. It says
//! where the bytes are, not that anybody allocated them there: memory of a segment is the users' own business, as any
//! other.
//!
//! # Safety
//! A [`SharedAddress`] may come from a peer: [`Registry::at`] gives addresses only within memory that was taken from the segment
//! it names.

use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::segment::Segment;

/// Segments that one process can know.
pub const MAX_SEGMENTS: usize = 8;

/// The number of the job's own segment, the same in every process of the job.
pub const JOB: u8 = 0;

const OFFSET_BITS: u32 = 56;

/// Where bytes are for everybody who maps the segment: its number and an offset, in one word. Addresses in one segment can
/// be counted with, like addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedAddress(pub u64);

impl SharedAddress {
    fn new(segment: usize, offset: u64) -> Self {
        Self((segment as u64) << OFFSET_BITS | offset)
    }

    fn segment(self) -> usize {
        (self.0 >> OFFSET_BITS) as usize
    }

    fn offset(self) -> u64 {
        self.0 & ((1 << OFFSET_BITS) - 1)
    }
}

/// The segments that a process maps, by number.
#[derive(Debug, Default)]
pub struct Registry {
    segments: [OnceLock<&'static Segment>; MAX_SEGMENTS],
}

impl Registry {
    /// Empty.
    pub const fn new() -> Self {
        Self {
            segments: [const { OnceLock::new() }; MAX_SEGMENTS],
        }
    }

    /// Know a segment by a number that everybody who maps it gives it. False: the number is taken, or too high.
    pub fn add(&self, number: u8, segment: &'static Segment) -> bool {
        self.segments
            .get(usize::from(number))
            .is_some_and(|entry| entry.set(segment).is_ok())
    }

    /// Where peers find `length` bytes at `address` of this process; `None`: they do not map them.
    #[inline]
    pub fn find(&self, address: u64, length: u64) -> Option<SharedAddress> {
        self.segments.iter().enumerate().find_map(|(number, segment)| {
            let offset = segment.get()?.offset_of(address, length)?;
            Some(SharedAddress::new(number, offset))
        })
    }

    /// Bytes that there are from `shared_address` on, at least until what its segment has taken ends.
    #[inline]
    pub fn available(&self, shared_address: SharedAddress) -> u64 {
        let segment = self.segments.get(shared_address.segment()).and_then(OnceLock::get);
        segment
            .and_then(|segment| segment.available(shared_address.offset()))
            .unwrap_or(0)
    }

    /// Address in this process of `length` bytes that are, or are said to be, at `shared_address`.
    #[inline]
    pub fn at(&self, shared_address: SharedAddress, length: u64) -> Option<NonNull<u8>> {
        self.segments
            .get(shared_address.segment())?
            .get()?
            .range(shared_address.offset(), length)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment;

    fn twice() -> [&'static Segment; 2] {
        let fd = segment::create(2, [3; 16]).expect("memfd");
        let other = fd.try_clone().expect("dup");
        [fd, other].map(|fd| &*Box::leak(Box::new(Segment::attach(fd, [3; 16]).expect("attach"))))
    }

    #[test]
    fn a_shared_address_is_the_same_bytes_for_everybody() {
        let [here, there] = twice();
        let (ours, theirs) = (Registry::new(), Registry::new());
        assert!(ours.add(JOB, here) && theirs.add(JOB, there));
        assert!(!ours.add(JOB, there), "once");
        assert!(!ours.add(MAX_SEGMENTS as u8, there), "no such number");
        let offset = here.allocate(10_000).expect("memory");
        let first = here.at(offset, 10_000).expect("taken").as_ptr();
        // SAFETY: within what was taken.
        let inside = unsafe { first.add(77) };
        let shared_address = ours.find(inside.addr() as u64, 9_923).expect("in the segment");
        let seen = theirs.at(shared_address, 9_923).expect("taken").as_ptr();
        assert_ne!(seen, inside, "two mappings");
        // SAFETY: both are mapped and nobody else knows them.
        unsafe {
            inside.write(5);
            assert_eq!(seen.read(), 5);
        }
    }

    #[test]
    fn what_is_not_ours_is_not_found() {
        let [here, _] = twice();
        let registry = Registry::new();
        let local = [0u8; 8];
        assert_eq!(
            registry.find(local.as_ptr().addr() as u64, 8),
            None,
            "nothing is known yet"
        );
        registry.add(1, here);
        let offset = here.allocate(4096).expect("memory");
        let first = here.at(offset, 4096).expect("taken").as_ptr().addr() as u64;
        assert_eq!(registry.find(local.as_ptr().addr() as u64, 8), None);
        assert_eq!(registry.find(first, u64::MAX), None, "beyond the end of all addresses");
        assert_eq!(registry.find(u64::MAX, 1), None);
        let shared_address = registry.find(first, 4096).expect("in the segment");
        assert!(registry.at(shared_address, 4096).is_some());
        assert!(registry.at(shared_address, 4097).is_none(), "beyond what was taken");
        assert_eq!(
            [0, 4095, 4096, 4097].map(|at| registry.available(SharedAddress(shared_address.0 + at))),
            [4096, 1, 0, 0]
        );
        let slots = 2 * segment::SLOTS_OF_EACH;
        assert!(registry.at(SharedAddress(shared_address.0 - slots), 1).is_some());
        assert!(
            registry.at(SharedAddress(shared_address.0 - slots - 1), 1).is_none(),
            "the fixed part is nobody's"
        );
        assert!(
            registry
                .at(SharedAddress(shared_address.0 ^ 1 << OFFSET_BITS), 1)
                .is_none(),
            "segment 0 is not there"
        );
        assert!(registry.at(SharedAddress(u64::MAX), 1).is_none());
    }
}
