//! The kit of [`Feed`] and [`Drain`]: what is fed on one side is drained on the other, in order and unchanged.
//!
//! Both ends are in one process here: a stream does not know who holds its ends. What two processes make of it is tested by
//! programs of several ranks (`tests/mechanisms.rs`).

use std::ops::Range;

use isthmus_transfer::stream::{Drain, Feed, StreamKind};
use isthmus_transfer::{Cause, Interrupted, Layout, Shape};

use crate::transfer::{Form, Random, Region};

/// One `#[test]` per check of the kit, for the kind that is named.
#[macro_export]
macro_rules! stream_kit {
    ($kind:expr) => {
        $crate::stream_kit!(@ $kind;
            every_size, every_form, steps_of_any_length, full_and_empty_are_no_errors, lent_is_what_it_says,
            holes_are_found, an_end_is_an_error, costs_grow);
    };
    (@ $kind:expr; $($check:ident),*) => {
        $(#[test] fn $check() { $crate::stream::$check($kind) })*
    };
}

type Ends = (Box<dyn Feed>, Box<dyn Drain>);

fn open(kind: StreamKind) -> Ends {
    let (feed, descriptor) = kind.open().expect("a stream");
    let drain = kind.drain(descriptor);
    assert_eq!((feed.name(), drain.name()), (kind.name(), kind.name()));
    (feed, drain)
}

fn feed(ends: &mut Ends, region: &Region, form: &Form, range: Range<u64>) -> Result<u64, Interrupted> {
    form.with(
        |at| region.address() + at,
        |layout| {
            // SAFETY: within the region, which does not change before it is drained.
            unsafe { ends.0.feed(layout, range.clone()) }
        },
    )
}

fn drain(ends: &mut Ends, region: &Region, form: &Form, range: Range<u64>) -> Result<u64, Interrupted> {
    form.with(
        |at| region.address() + at,
        |layout| {
            // SAFETY: within the region, which nobody else uses.
            unsafe { ends.1.drain(layout, range.clone()) }
        },
    )
}

/// Move `range` in steps of at most so many bytes on either side, and compare everything.
fn across(ends: &mut Ends, regions: [&Region; 2], forms: [&Form; 2], range: Range<u64>, steps: [u64; 2]) {
    let ([from, to], [there, here]) = (regions, forms);
    from.paint(1);
    to.paint(2);
    let mut wanted = to.bytes().to_vec();
    here.each_with(there, &range, |ours, theirs| wanted[ours] = from.bytes()[theirs]);
    let (mut fed, mut drained, mut idle) = (range.start, range.start, 0);
    while drained < range.end {
        let more = feed(ends, from, there, fed..range.end.min(fed + steps[0])).expect("fed");
        fed += more;
        let got = drain(ends, to, here, drained..fed.min(drained + steps[1])).expect("drained");
        drained += got;
        idle = if more + got == 0 { idle + 1 } else { 0 };
        assert!(idle < 1_000_000, "stuck: fed {fed}, drained {drained} of {range:?}");
    }
    if let Some(at) = to.bytes().iter().zip(&wanted).position(|(a, b)| a != b) {
        panic!("byte {at} is wrong: {range:?} of {there:?} to {here:?}");
    }
}

const MIB: u64 = 1 << 20;

/// Contiguous, from nothing to 20 MiB.
pub fn every_size(kind: StreamKind) {
    let mut ends = open(kind);
    for size in [0, 1, 63, 4095, 4096, 4097, 65_536, MIB, 20 * MIB] {
        let regions = [&Region::new(size + 64), &Region::new(size + 64)];
        let forms = [&Form::contiguous(3, size), &Form::contiguous(40, size)];
        across(&mut ends, regions, forms, 0..size, [u64::MAX / 2; 2]);
    }
}

/// Contiguous, spans and strided on both sides, any part.
pub fn every_form(kind: StreamKind) {
    const LENGTH: u64 = 64 << 10;
    let mut ends = open(kind);
    let (from, to) = (Region::new(LENGTH), Region::new(LENGTH));
    let mut random = Random::new(5);
    for _ in 0..200 {
        let (there, here) = (Form::random(&mut random, LENGTH), Form::random(&mut random, LENGTH));
        let length = here.length().min(there.length());
        let start = random.below(length + 1);
        let range = start..start + random.below(length - start + 1);
        across(&mut ends, [&from, &to], [&there, &here], range, [LENGTH; 2]);
    }
}

/// The two sides cut the same bytes differently.
pub fn steps_of_any_length(kind: StreamKind) {
    let mut ends = open(kind);
    let (from, to) = (Region::new(3 * MIB), Region::new(3 * MIB));
    let form = Form::contiguous(17, 3 * MIB - 100);
    for steps in [[65_536, 1000], [1000, 65_536], [70_001, 3 * MIB], [3 * MIB, 9999]] {
        across(&mut ends, [&from, &to], [&form, &form], 0..3 * MIB - 100, steps);
    }
}

/// No room and nothing there are answers, not errors; both pass.
pub fn full_and_empty_are_no_errors(kind: StreamKind) {
    const LENGTH: u64 = 32 * MIB;
    let mut ends = open(kind);
    let (from, to) = (Region::new(LENGTH), Region::new(LENGTH));
    from.paint(1);
    let form = Form::contiguous(0, LENGTH);
    assert_eq!(drain(&mut ends, &to, &form, 0..LENGTH), Ok(0), "nothing was fed");
    for _ in 0..2 {
        let (mut fed, mut refusals) = (0, 0);
        while refusals < 3 {
            let more = feed(&mut ends, &from, &form, fed..LENGTH).expect("no error");
            refusals = if more == 0 { refusals + 1 } else { 0 };
            fed += more;
            assert!(fed < LENGTH, "a stream has an end");
        }
        let mut drained = 0;
        while drained < fed {
            drained += drain(&mut ends, &to, &form, drained..fed).expect("it is there");
        }
        assert_eq!(drain(&mut ends, &to, &form, 0..LENGTH), Ok(0));
        assert!(from.bytes()[..fed as usize] == to.bytes()[..fed as usize]);
    }
}

/// A sender that does not lend has its buffer back at once.
pub fn lent_is_what_it_says(kind: StreamKind) {
    let mut ends = open(kind);
    let (from, to) = (Region::new(8192), Region::new(8192));
    from.paint(1);
    let before = from.bytes().to_vec();
    let form = Form::contiguous(0, 8192);
    assert_eq!(feed(&mut ends, &from, &form, 0..8192), Ok(8192));
    from.paint(3);
    let mut drained = 0;
    while drained < 8192 {
        drained += drain(&mut ends, &to, &form, drained..8192).expect("it is there");
    }
    if !ends.0.lends() {
        assert!(to.bytes() == before, "the buffer was ours again");
    } else if kind == StreamKind::Vmsplice && isthmus_transfer::vmsplice::is_a_copy() == Some(false) {
        assert!(to.bytes() == from.bytes(), "lent pages are shown as they are");
    }
}

/// Memory that is not there stops a stream, and what was moved before is counted.
pub fn holes_are_found(kind: StreamKind) {
    let mut ends = open(kind);
    let (from, to) = (Region::new(8192), Region::new(8192));
    let hole = Layout::contiguous(8, 100);
    // SAFETY: nothing is there; the kernel says so.
    let fed = unsafe { ends.0.feed(&hole, 0..100) };
    assert_eq!(
        fed.map_err(|stopped| (stopped.done, stopped.cause())),
        Err((0, Cause::Hole))
    );
    from.paint(1);
    let form = Form::contiguous(0, 100);
    assert_eq!(feed(&mut ends, &from, &form, 0..100), Ok(100));
    let stopped = loop {
        // SAFETY: as above.
        match unsafe { ends.1.drain(&hole, 0..100) } {
            Ok(0) => std::hint::spin_loop(),
            other => break other,
        }
    };
    assert_eq!(
        stopped.map_err(|stopped| (stopped.done, stopped.cause())),
        Err((0, Cause::Hole))
    );
    drop(to);
}

/// Data fed before the sender ended is drained; then it is an error.
pub fn an_end_is_an_error(kind: StreamKind) {
    let mut ends = open(kind);
    let (from, to) = (Region::new(8192), Region::new(8192));
    from.paint(1);
    let form = Form::contiguous(0, 8192);
    assert_eq!(feed(&mut ends, &from, &form, 0..5000), Ok(5000));
    let mut left: Ends = (StreamKind::Writev.open().expect("another").0, ends.1);
    drop(ends.0);
    let mut drained = 0;
    let stopped = loop {
        match drain(&mut left, &to, &form, drained..8192) {
            Ok(got) => drained += got,
            Err(stopped) => {
                drained += stopped.done;
                break stopped;
            }
        }
    };
    assert_eq!((drained, stopped.cause()), (5000, Cause::Gone));
    assert!(to.bytes()[..5000] == from.bytes()[..5000]);
}

/// More costs no less.
pub fn costs_grow(kind: StreamKind) {
    let sizes = [0, 1, 4096, MIB, 5 << 30, u64::MAX];
    for pair in sizes.windows(2) {
        let [less, more] = [pair[0], pair[1]].map(|bytes| kind.cost(Shape::contiguous(bytes)));
        assert!(less <= more, "{pair:?}");
    }
    assert!(kind.cost(Shape::contiguous(MIB)) < kind.cost(Shape::contiguous(64 * MIB)));
}
