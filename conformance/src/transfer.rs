//! The kit of [`Transfer`].
//!
//! A [`Pair`] is two address spaces and a mechanism between them. The peer's side is one region of memory; the kit sees
//! it by a way of its own, which has nothing to do with the mechanism, and compares byte by byte, in the right place and
//! everywhere else.

mod children;
mod memory;
mod shapes;
mod staged;

use std::ops::Range;

use isthmus_transfer::{Cause, Interrupted, Layout, Level, Span, Transfer};

pub use children::{Child, Forked, own_secret_address, unprivileged};
pub use memory::Region;
pub use shapes::{Form, Random};
pub use staged::Staged;

/// Two address spaces and a mechanism that moves bytes between them.
pub trait Pair: Sized {
    /// Does the peer's memory outlive the peer?
    const OUTLIVES: bool;

    /// A peer with at least `length` bytes; the byte after [`Self::length`] is a hole.
    fn new(length: u64) -> Self;

    /// Bytes of the peer's region: whole pages.
    fn length(&self) -> u64;

    /// The mechanism.
    fn transfer(&self) -> &dyn Transfer;

    /// What remote layouts call byte `at` of the peer's region.
    fn remote(&self, at: u64) -> u64;

    /// The peer's region, as the kit sees it.
    fn view(&self) -> &Region;

    /// End the peer, from any thread.
    fn killer(&self) -> impl FnOnce() + Send + 'static;
}

/// One `#[test]` per check of the kit, for the pair that is named.
#[macro_export]
macro_rules! transfer_kit {
    ($pair:ty) => {
        $crate::transfer_kit!($pair:
            every_size, every_alignment, every_form, both_far_apart, parts_in_any_order, nothing_at_all,
            ranges_beyond_are_refused, holes_are_found, death_is_an_error, more_than_a_number_of_32_bits);
    };
    ($pair:ty: $($check:ident),*) => {
        $(#[test] fn $check() { $crate::transfer::$check::<$pair>() })*
    };
}

const MIB: u64 = 1 << 20;

/// Bytes that are nobody's, on either side of what is moved.
const MARGIN: u64 = 64;

/// Do both directions between a local and a remote layout, for a range, and compare everything.
fn both_ways<P: Pair>(pair: &P, local: &Region, here: &Form, there: &Form, range: &Range<u64>) {
    let remote = pair.view();
    let what = || format!("{} {range:?}\nhere {here:?}\nthere {there:?}", pair.transfer().name());

    local.paint(1);
    remote.paint(2);
    let mut wanted = local.bytes().to_vec();
    here.each_with(there, range, |ours, theirs| wanted[ours] = remote.bytes()[theirs]);
    let outcome = pull(pair, local, here, there, range);
    assert_eq!(outcome, Ok(()), "pull {}", what());
    same(local.bytes(), &wanted, || format!("pull {}", what()));

    local.paint(3);
    let mut wanted = remote.bytes().to_vec();
    there.each_with(here, range, |theirs, ours| wanted[theirs] = local.bytes()[ours]);
    let outcome = push(pair, local, here, there, range);
    assert_eq!(outcome, Ok(()), "push {}", what());
    same(remote.bytes(), &wanted, || format!("push {}", what()));
}

fn same(found: &[u8], wanted: &[u8], what: impl Fn() -> String) {
    if found != wanted {
        let at = found.iter().zip(wanted).position(|(a, b)| a != b);
        panic!("byte {at:?} of {} is wrong: {}", wanted.len(), what());
    }
}

fn pull<P: Pair>(pair: &P, local: &Region, here: &Form, there: &Form, range: &Range<u64>) -> Result<(), Interrupted> {
    there.with(
        |at| pair.remote(at),
        |remote| {
            here.with(
                |at| local.address() + at,
                |local| {
                    // SAFETY: the local layout lies in our region, which nobody else uses.
                    unsafe { pair.transfer().pull(remote, local, range.clone()) }
                },
            )
        },
    )
}

fn push<P: Pair>(pair: &P, local: &Region, here: &Form, there: &Form, range: &Range<u64>) -> Result<(), Interrupted> {
    there.with(
        |at| pair.remote(at),
        |remote| {
            here.with(
                |at| local.address() + at,
                |local| {
                    // SAFETY: the local layout lies in our region, and the peer uses its own for nothing else.
                    unsafe { pair.transfer().push(local, remote, range.clone()) }
                },
            )
        },
    )
}

fn outcome(result: Result<(), Interrupted>) -> Result<(), (u64, Cause)> {
    result.map_err(|stopped| (stopped.done, stopped.cause()))
}

/// Contiguous, from nothing to 70 MiB.
pub fn every_size<P: Pair>() {
    for size in [0, 1, 63, 64, 4095, 4096, MIB, 70 * MIB] {
        let (pair, local) = (P::new(size + 2 * MARGIN), Region::new(size + 2 * MARGIN));
        let (here, there) = (Form::contiguous(MARGIN, size), Form::contiguous(MARGIN + 3, size));
        both_ways(&pair, &local, &here, &there, &(0..size));
    }
}

/// Contiguous, from every position within a line to every other.
pub fn every_alignment<P: Pair>() {
    let pair = P::new(4096);
    let local = Region::new(4096);
    for (ours, theirs) in (0..64).flat_map(|ours| (0..64).map(move |theirs| (ours, theirs))) {
        let size = [1, 8, 65, 200, 1500][(ours + theirs) as usize % 5];
        let (here, there) = (
            Form::contiguous(MARGIN + ours, size),
            Form::contiguous(2 * MARGIN + theirs, size),
        );
        both_ways(&pair, &local, &here, &there, &(0..size));
    }
}

/// Contiguous, spans and strided on both sides, any part.
pub fn every_form<P: Pair>() {
    const LENGTH: u64 = 64 << 10;
    let pair = P::new(LENGTH);
    let local = Region::new(LENGTH);
    let mut random = Random::new(1);
    for _ in 0..600 {
        let (here, there) = (Form::random(&mut random, LENGTH), Form::random(&mut random, LENGTH));
        let length = here.length().min(there.length());
        let from = random.below(length + 1);
        let range = from..from + random.below(length - from + 1);
        both_ways(&pair, &local, &here, &there, &range);
        both_ways(&pair, &local, &here, &there, &(0..length));
    }
}

/// More blocks than a system call takes, and blocks of many pages, over the whole of a large region.
pub fn both_far_apart<P: Pair>() {
    const LENGTH: u64 = 8 * MIB;
    let pair = P::new(LENGTH);
    let local = Region::new(LENGTH);
    let strided = |block: u64, stride: u64| {
        let count = LENGTH / stride - 1;
        let level = Level {
            count,
            stride: stride as i64,
        };
        Form::Strided {
            base: 5,
            block,
            levels: vec![level],
        }
    };
    let forms = [
        Form::contiguous(9, LENGTH - 100),
        strided(8, 16),
        strided(1000, 3000),
        strided(70_000, 300_000),
    ];
    for (here, there) in forms
        .iter()
        .flat_map(|here| forms.iter().map(move |there| (here, there)))
    {
        // The slowest mechanisms take a microsecond per block.
        let length = here.length().min(there.length()).min(MIB);
        both_ways(&pair, &local, here, there, &(length / 7..length));
    }
}

/// A message moved in parts, as by two processes that take what is left.
pub fn parts_in_any_order<P: Pair>() {
    const LENGTH: u64 = 256 << 10;
    let pair = P::new(LENGTH);
    let local = Region::new(LENGTH);
    let mut random = Random::new(2);
    for _ in 0..20 {
        let (here, there) = (Form::random(&mut random, LENGTH), Form::random(&mut random, LENGTH));
        let length = here.length().min(there.length());
        let mut cuts: Vec<u64> = (0..6).map(|_| random.below(length + 1)).chain([0, length]).collect();
        cuts.sort_unstable();
        let mut parts: Vec<Range<u64>> = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        random.shuffle(&mut parts);
        local.paint(1);
        pair.view().paint(2);
        let mut wanted = local.bytes().to_vec();
        here.each_with(&there, &(0..length), |ours, theirs| {
            wanted[ours] = pair.view().bytes()[theirs]
        });
        for part in &parts {
            assert_eq!(pull(&pair, &local, &here, &there, part), Ok(()));
        }
        same(local.bytes(), &wanted, || format!("{here:?} {there:?} {parts:?}"));
    }
}

/// Empty layouts and empty ranges touch nothing, whatever the addresses.
pub fn nothing_at_all<P: Pair>() {
    let pair = P::new(4096);
    let local = Region::new(4096);
    local.paint(1);
    let before = local.bytes().to_vec();
    let empty = [Span { address: 1, length: 0 }; 3];
    let never = [Level { count: 0, stride: 9 }];
    let real = Layout::contiguous(local.address(), 4096);
    for layout in [
        Layout::contiguous(1, 0),
        Layout::Spans(&[]),
        Layout::Spans(&empty),
        Layout::strided(1, 8, &never),
        Layout::strided(1, 0, &[Level { count: 3, stride: 9 }]),
    ] {
        // SAFETY: nothing is to be moved.
        unsafe {
            assert_eq!(pair.transfer().pull(&layout, &real, 0..0), Ok(()), "{layout:?}");
            assert_eq!(pair.transfer().push(&real, &layout, 0..0), Ok(()), "{layout:?}");
            assert_eq!(pair.transfer().pull(&layout, &layout, 0..0), Ok(()), "{layout:?}");
        }
    }
    let form = Form::contiguous(0, 4096);
    assert_eq!(pull(&pair, &local, &form, &form, &(4096..4096)), Ok(()));
    same(local.bytes(), &before, || "nothing was to be moved".into());
}

/// A range that one side does not have moves nothing.
pub fn ranges_beyond_are_refused<P: Pair>() {
    let pair = P::new(8192);
    let local = Region::new(8192);
    local.paint(1);
    pair.view().paint(2);
    let before = (local.bytes().to_vec(), pair.view().bytes().to_vec());
    let (short, long) = (Form::contiguous(0, 100), Form::contiguous(0, 200));
    #[allow(clippy::reversed_empty_ranges)] // That is the point.
    for range in [0..101, 100..101, 150..160, 5..4, 0..u64::MAX, u64::MAX..u64::MAX] {
        for (here, there) in [(&short, &long), (&long, &short)] {
            let refused = Err((0, Cause::Misused));
            assert_eq!(outcome(pull(&pair, &local, here, there, &range)), refused, "{range:?}");
            assert_eq!(outcome(push(&pair, &local, here, there, &range)), refused, "{range:?}");
        }
    }
    assert!(before.0 == local.bytes() && before.1 == pair.view().bytes());
}

/// Where the peer has no memory, what was moved before is counted, and is there.
pub fn holes_are_found<P: Pair>() {
    let pair = P::new(64 << 10);
    let (end, local) = (pair.length(), Region::new(128 << 10));
    let contiguous = Form::contiguous(end - 10_000, 20_000);
    let spans = Form::Spans(vec![
        Span {
            address: 100,
            length: 3000,
        },
        Span {
            address: end - 500,
            length: 1000,
        },
        Span {
            address: 4000,
            length: 1000,
        },
    ]);
    let level = Level { count: 40, stride: 300 };
    let strided = Form::Strided {
        base: end - 6000,
        block: 100,
        levels: vec![level],
    };
    let here = Form::contiguous(MARGIN, 20_000);
    let scattered = Form::Strided {
        base: 7,
        block: 50,
        levels: vec![Level { count: 400, stride: 70 }],
    };
    for (there, before) in [(contiguous, 10_000), (spans, 3500), (strided, 2000)] {
        for here in [&here, &scattered] {
            let length = there.length().min(here.length());
            for from in [0, 1000] {
                let (range, done) = (from..length, before - from);
                local.paint(1);
                pair.view().paint(2);
                let stopped = outcome(pull(&pair, &local, here, &there, &range));
                assert_eq!(stopped, Err((done, Cause::Hole)), "pull {there:?}");
                here.each_with(&there, &(from..from + done), |ours, theirs| {
                    assert_eq!(
                        local.bytes()[ours],
                        pair.view().bytes()[theirs],
                        "pulled before the hole"
                    );
                });
                let stopped = outcome(push(&pair, &local, here, &there, &range));
                assert_eq!(stopped, Err((done, Cause::Hole)), "push {there:?}");
                here.each_with(&there, &(from..from + done), |ours, theirs| {
                    assert_eq!(
                        local.bytes()[ours],
                        pair.view().bytes()[theirs],
                        "pushed before the hole"
                    );
                });
                // The bytes before the hole are valid.
                assert_eq!(pull(&pair, &local, here, &there, &(from..from + 500)), Ok(()));
            }
        }
    }
}

/// A peer that is killed while its memory is being copied, and one that is dead already.
pub fn death_is_an_error<P: Pair>() {
    const LENGTH: u64 = 16 * MIB;
    let mut random = Random::new(3);
    for round in 0..6 {
        let pair = P::new(LENGTH);
        let local = Region::new(LENGTH);
        pair.view().paint(2);
        let form = Form::contiguous(0, LENGTH);
        let killer = pair.killer();
        let delay = std::time::Duration::from_micros(random.below(3000));
        let death = std::thread::spawn(move || {
            std::thread::sleep(delay);
            killer();
        });
        let mut dead = false;
        let begun = std::time::Instant::now();
        loop {
            let after_death = dead;
            dead = death.is_finished();
            local.paint(1);
            let stopped = outcome(match round % 2 {
                0 => pull(&pair, &local, &form, &form, &(0..LENGTH)),
                _ => push(&pair, &local, &form, &form, &(0..LENGTH)),
            });
            let done = match stopped {
                Ok(()) => LENGTH,
                Err((done, Cause::Gone)) => done,
                Err(other) => panic!("{other:?} of a peer that died"),
            };
            assert!(
                local.bytes()[..done as usize] == pair.view().bytes()[..done as usize],
                "{done} bytes are not there"
            );
            if after_death && (P::OUTLIVES || stopped == Err((0, Cause::Gone))) {
                break;
            }
            assert!(begun.elapsed().as_secs() < 60, "dead, and still: {stopped:?}");
        }
        assert_eq!(stopped_for_good(&pair, &local, &form), P::OUTLIVES);
        death.join().expect("the killer does not panic");
    }
}

fn stopped_for_good<P: Pair>(pair: &P, local: &Region, form: &Form) -> bool {
    pull(pair, local, form, form, &(0..1)).is_ok() && push(pair, local, form, form, &(0..1)).is_ok()
}

/// A stream of more than 4 GiB, both of whose sides come back to the same memory again and again.
pub fn more_than_a_number_of_32_bits<P: Pair>() {
    const STREAM: u64 = (4 << 30) + 3 * MIB + 5;
    if std::env::var_os("ISTHMUS_TEST_FULL").is_none() {
        println!("not tried: takes seconds; set ISTHMUS_TEST_FULL=1");
        return;
    }
    let (ours, theirs) = (5 * MIB, 3 * MIB + 4096);
    let pair = P::new(theirs);
    let local = Region::new(ours);
    let around = |block: u64| Form::Strided {
        base: 0,
        block,
        levels: vec![Level {
            count: STREAM.div_ceil(block),
            stride: 0,
        }],
    };
    let (here, there) = (around(ours), around(theirs));
    local.paint(1);
    pair.view().paint(2);
    assert_eq!(pull(&pair, &local, &here, &there, &(1..STREAM)), Ok(()));
    for last in STREAM - ours..STREAM {
        let (here, there) = ((last % ours) as usize, (last % theirs) as usize);
        assert_eq!(local.bytes()[here], pair.view().bytes()[there], "pulled byte {last}");
    }
    local.paint(3);
    assert_eq!(push(&pair, &local, &here, &there, &(1..STREAM)), Ok(()));
    for last in STREAM - theirs..STREAM {
        let (here, there) = ((last % ours) as usize, (last % theirs) as usize);
        assert_eq!(local.bytes()[here], pair.view().bytes()[there], "pushed byte {last}");
    }
}
