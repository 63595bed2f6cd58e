//! Memory that both sides map: one segment, mapped twice.
#![allow(unsafe_code)] // Looks at both mappings.

use isthmus_conformance::transfer::{Pair, Region};
use isthmus_conformance::transfer_kit;
use isthmus_shm::{Place, Registry, Segment, registry, segment};
use isthmus_transfer::mapped::Mapped;
use isthmus_transfer::{Span, Transfer};

/// The mechanism knows one mapping, the kit looks at the other.
struct Twice {
    mapped: Mapped,
    place: Place,
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
            place: known.find(address as u64, length).expect("in the segment"),
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
        self.place.0 + at
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

#[test]
fn mapping_is_loads_and_stores() {
    let pair = Twice::new(8192);
    pair.view().paint(1);
    assert!(pair.transfer().capabilities().map);
    let span = |address, length| Span { address, length };
    let there = pair.transfer().map(span(pair.remote(100), 8092)).expect("mapped");
    // SAFETY: as long as asked for, and nobody else writes.
    unsafe {
        assert_eq!(there.read(), pair.view().bytes()[100]);
        there.add(7).write(!pair.view().bytes()[107]);
        assert_eq!(there.add(7).read(), pair.view().bytes()[107]);
    }
    assert_eq!(
        pair.transfer().map(span(pair.remote(100), 8093)),
        None,
        "beyond the end"
    );
}
