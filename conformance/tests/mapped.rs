//! Memory that both sides map: one segment, mapped twice.
#![allow(unsafe_code)] // Looks at both mappings.

use isthmus_conformance::transfer::{Pair, Region};
use isthmus_conformance::transfer_kit;
use isthmus_shm::{Registry, Segment, SharedAddress, registry, segment};
use isthmus_transfer::Transfer;
use isthmus_transfer::mapped::Mapped;

/// The mechanism knows one mapping, the kit looks at the other.
struct Twice {
    mapped: Mapped,
    shared_address: SharedAddress,
    view: Region,
}

impl Pair for Twice {
    const OUTLIVES: bool = true;

    fn new(length: u64) -> Self {
        let length = length.next_multiple_of(4096);
        let fd = segment::create(1, [9; 16]).expect("memfd");
        let other = fd.try_clone().expect("dup");
        let [here, there] =
            [fd, other].map(|fd| &*Box::leak(Box::new(Segment::attach(fd, [9; 16]).expect("a segment of ours"))));
        let known: &'static Registry = Box::leak(Box::default());
        known.add(registry::JOB, here);
        let offset = here.allocate(length).expect("memory");
        let address = here.at(offset, length).expect("just taken").as_ptr().addr();
        let seen = there.at(offset, length).expect("the same");
        Self {
            mapped: Mapped::new(known),
            shared_address: known.find(address as u64, length).expect("in the segment"),
            // SAFETY: the segments are never unmapped.
            view: unsafe { Region::of(seen, length) },
        }
    }

    fn length(&self) -> u64 {
        self.view.length()
    }

    fn transfer(&self) -> &dyn Transfer {
        &self.mapped
    }

    fn remote(&self, at: u64) -> u64 {
        self.shared_address.0 + at
    }

    fn view(&self) -> &Region {
        &self.view
    }

    fn killer(&self) -> impl FnOnce() + Send + 'static {
        // Nothing depends on the peer.
        || {}
    }
}

transfer_kit!(Twice);
