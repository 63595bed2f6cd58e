//! Every algorithm on 1 to 17 threads against what the standard says it computes.

mod inter;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::arguments::Root;
use super::elements::Elements;
use super::layout::Layout;
use super::link::{Incoming, Link, Memory as Room, Outgoing};
use super::operand::Operand;
use super::schedule::{Recorder, Step};
use super::select::tests::WANTED;
use super::select::{Choice, Traits};
use super::*;
use crate::counts::{Counts, Width};
use crate::datatype::{self, Datatype, type_commit};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::op::{Op, op_create};

/// A rank that is a thread.
struct Thread {
    /// 0, or 1 for the other group.
    group: usize,
    rank: usize,
    /// Of its group and of the other one.
    sizes: [usize; 2],
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
    faults: Cell<usize>,
    /// Writes down what algorithms ask for, until they have ended.
    recorder: Option<Recorder>,
    layout: Option<Layout>,
}

impl Thread {
    /// The algorithm has returned: do what it asked for, if that has not happened yet.
    fn end(&self, result: Result<()>) {
        result.unwrap();
        let Some(recorder) = &self.recorder else { return };
        let Some(program) = recorder.take() else { return };
        assert!(program.fault.is_none());
        for step in &program.steps {
            // SAFETY: what the tests promise to the algorithm.
            unsafe {
                match step {
                    Step::Messages { receives, sends } => {
                        self.exchange(&program.receives[receives.clone()], &program.sends[sends.clone()]);
                    }
                    step => step.perform().unwrap(),
                }
            }
        }
    }

    /// # Safety
    /// As for [`Link::transfer`].
    unsafe fn exchange(&self, receives: &[Incoming], sends: &[Outgoing]) {
        for send in sends {
            assert_ne!(send.to, self.rank);
            let mut message = vec![0; send.len];
            if send.len > 0 {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(send.data, message.as_mut_ptr(), send.len) };
            }
            self.to[send.to].send(message).unwrap();
        }
        for receive in receives {
            let message = self.from[receive.from].recv().unwrap();
            if message.len() != receive.len {
                self.mismatch(receive.from, message.len(), receive.len);
            }
            let len = message.len().min(receive.len);
            if len > 0 {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), receive.into, len) };
            }
        }
    }
}

impl Link for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.sizes[0]
    }

    fn remote_size(&self) -> usize {
        self.sizes[1]
    }

    fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    fn fault(&self, _error: Error) {
        self.faults.set(self.faults.get() + 1);
    }

    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.transfer(receives, sends)?,
                None => self.exchange(receives, sends),
            }
        }
        Ok(())
    }

    unsafe fn pack(&self, from: Elements<'_>, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.pack(from, to),
                None => from.pack(to),
            }
        }
    }

    unsafe fn unpack(&self, from: *const u8, len: usize, to: Elements<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.unpack(from, len, to),
                None => to.unpack(from, len),
            }
        }
    }

    unsafe fn apply(&self, operand: &Operand<'_>, left: *const u8, inout: *mut u8, count: i64) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.apply(operand, left, inout, count),
                None => operand.combine(left, inout, count),
            }
        }
    }

    fn memory(&self, len: usize) -> Result<Room<'_>> {
        match &self.recorder {
            Some(recorder) => recorder.memory(len),
            None => Room::allocate(len),
        }
    }
}

const SIZES: [usize; 10] = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17];

/// Run `f` on `size` ranks, once at once and once recorded; what each returns, by rank.
fn on_ranks<T: Send>(size: usize, f: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
    let mut results = on_groups_once([size, 0], false, &f);
    results.extend(on_groups_once([size, 0], true, &f));
    results
}

/// Run `f` on the ranks of two groups, `sizes[0]` of the first and then those of the second. Nothing may be left in flight.
fn on_groups_once<T: Send>(sizes: [usize; 2], recorded: bool, f: &(impl Fn(&Thread) -> T + Sync)) -> Vec<T> {
    let (first, all) = (sizes[0], sizes[0] + sizes[1]);
    let mut channels: Vec<Vec<_>> = (0..all)
        .map(|_| {
            (0..all)
                .map(|_| channel())
                .map(|(to, from)| (Some(to), Some(from)))
                .collect()
        })
        .collect();
    let ranks: Vec<Thread> = (0..all)
        .map(|place| {
            let (group, rank, own, other, sizes) = if place < first {
                (0, place, 0..first, first..all, sizes)
            } else {
                (1, place - first, first..all, 0..first, [sizes[1], sizes[0]])
            };
            // Its own group comes first.
            let others = || own.clone().chain(other.clone());
            Thread {
                group,
                rank,
                sizes,
                to: others().map(|other| channels[place][other].0.take().unwrap()).collect(),
                from: others().map(|other| channels[other][place].1.take().unwrap()).collect(),
                faults: Cell::new(0),
                recorder: recorded.then(|| Recorder::with(rank, sizes)),
                layout: if sizes[1] == 0 { layout_of(sizes[0]) } else { None },
            }
        })
        .collect();
    let wanted = WANTED.get();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|rank| {
                scope.spawn(move || {
                    WANTED.set(wanted);
                    let result = f(&rank);
                    assert_eq!(rank.faults.get(), 0);
                    // Once everyone has finished, nothing may have been sent that nobody received.
                    rank.end(barrier::run(&rank));
                    for receiver in &rank.from {
                        assert!(receiver.try_recv().is_err(), "a message was left behind");
                    }
                    result
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn named(raw: u32) -> &'static Datatype {
    Handle::from_raw(raw).resolve("datatype").unwrap()
}

fn int() -> &'static Datatype {
    named(0x209)
}

/// Two ints, at bytes 0 and 8 of 16.
fn gapped() -> &'static Datatype {
    static GAPPED: OnceLock<&Datatype> = OnceLock::new();
    GAPPED.get_or_init(make_gapped)
}

fn make_gapped() -> &'static Datatype {
    let pair = datatype::type_vector(2, 1, 2, int(), Width::Int).unwrap();
    let wide = datatype::type_create_resized(pair.resolve("pair").unwrap(), 0, 16, Width::Int).unwrap();
    let wide = wide.resolve("wide").unwrap();
    type_commit(wide).unwrap();
    wide
}

/// Two ints in a row.
fn doubled() -> &'static Datatype {
    static DOUBLED: OnceLock<&Datatype> = OnceLock::new();
    DOUBLED.get_or_init(make_doubled)
}

fn make_doubled() -> &'static Datatype {
    let pair = datatype::type_contiguous(2, int(), Width::Int)
        .unwrap()
        .resolve("pair")
        .unwrap();
    type_commit(pair).unwrap();
    pair
}

/// `x -> a x + b`, one after the other: associative, not commutative. Works on pairs of ints of any layout.
fn compose() -> &'static Op {
    static COMPOSE: OnceLock<&Op> = OnceLock::new();
    COMPOSE.get_or_init(make_compose)
}

fn make_compose() -> &'static Op {
    let function =
        |input: *const std::ffi::c_void, inout: *mut std::ffi::c_void, count: i64, datatype: Handle<Datatype>| {
            let datatype = datatype.resolve("datatype").unwrap();
            let (mut first, mut second) = (Vec::new(), Vec::new());
            // SAFETY: both hold `count` elements.
            unsafe {
                datatype.pack(input.cast(), count, &mut first);
                datatype.pack(inout.cast(), count, &mut second);
            }
            let word = |bytes: &[u8], i: usize| i32::from_ne_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
            let mut result = Vec::new();
            for i in 0..count as usize {
                let (a, b) = (word(&first, 2 * i), word(&first, 2 * i + 1));
                let (c, d) = (word(&second, 2 * i), word(&second, 2 * i + 1));
                result.extend(a.wrapping_mul(c).to_ne_bytes());
                result.extend(b.wrapping_mul(c).wrapping_add(d).to_ne_bytes());
            }
            // SAFETY: as above.
            unsafe { datatype.unpack(&result, inout.cast(), count) };
        };
    op_create(Box::new(function), false).unwrap().resolve("op").unwrap()
}

/// Sum of ints as a user's operation.
fn user_sum() -> &'static Op {
    static SUM: OnceLock<&Op> = OnceLock::new();
    SUM.get_or_init(make_user_sum)
}

fn make_user_sum() -> &'static Op {
    let function = |input: *const std::ffi::c_void, inout: *mut std::ffi::c_void, count: i64, _: Handle<Datatype>| {
        for i in 0..count as usize {
            let (input, inout) = (input.cast::<i32>(), inout.cast::<i32>());
            // SAFETY: both hold `count` ints.
            unsafe {
                let sum = input
                    .add(i)
                    .read_unaligned()
                    .wrapping_add(inout.add(i).read_unaligned());
                inout.add(i).write_unaligned(sum);
            }
        }
    };
    op_create(Box::new(function), true).unwrap().resolve("op").unwrap()
}

/// Memory for elements, with bytes that nobody may touch in between.
#[derive(Clone, PartialEq, Debug)]
struct Memory(Vec<u8>);

impl Memory {
    fn new(datatype: &Datatype, count: i64) -> Self {
        Self(vec![0xa5; (datatype.extent() * count) as usize])
    }

    /// With elements that depend on `seed`.
    fn filled(datatype: &Datatype, count: i64, seed: usize) -> Self {
        let mut memory = Self::new(datatype, count);
        let bytes = (datatype.size() * count) as usize;
        let packed: Vec<u8> = (0..bytes)
            .map(|i| (((i + 1) * (seed + 3) * 2_654_435_761) >> 11) as u8)
            .collect();
        memory.unpack(datatype, 0, &packed);
        memory
    }

    fn unpack(&mut self, datatype: &Datatype, first: i64, packed: &[u8]) {
        if packed.is_empty() {
            return;
        }
        let count = packed.len() as i64 / datatype.size();
        assert!((first + count) * datatype.extent() <= self.0.len() as i64);
        let place = self
            .0
            .as_mut_ptr()
            .wrapping_offset((first * datatype.extent()) as isize);
        // SAFETY: the elements lie within.
        unsafe { datatype.unpack(packed, place, count) };
    }

    fn pack(&self, datatype: &Datatype, first: i64, count: i64) -> Vec<u8> {
        let mut packed = Vec::new();
        if count > 0 {
            assert!((first + count) * datatype.extent() <= self.0.len() as i64);
            let place = self.0.as_ptr().wrapping_offset((first * datatype.extent()) as isize);
            // SAFETY: the elements lie within.
            unsafe { datatype.pack(place, count, &mut packed) };
        }
        packed
    }

    fn elements<'a>(&mut self, datatype: &'a Datatype, first: i64, count: i64) -> Elements<'a> {
        assert!((first + count) * datatype.extent() <= self.0.len() as i64);
        Elements::new(self.0.as_mut_ptr().cast(), 0, datatype).at(first, count)
    }
}

/// `left op right`, without touching gaps.
fn combine(datatype: &Datatype, op: &Op, left: &Memory, right: &Memory, count: i64) -> Memory {
    let mut result = right.clone();
    if count > 0 {
        // SAFETY: all hold `count` elements.
        unsafe {
            op.reduction(datatype)
                .unwrap()
                .apply(left.0.as_ptr(), result.0.as_mut_ptr(), count)
        };
    }
    result
}

struct Case {
    datatype: &'static Datatype,
    op: &'static Op,
}

fn cases() -> Vec<Case> {
    use crate::op::Predefined::{Maxloc, Minloc, Sum};
    let case = |datatype, op| Case { datatype, op };
    vec![
        case(int(), Op::predefined(Sum)),
        case(int(), user_sum()),
        case(named(0x22b), Op::predefined(Minloc)),
        case(named(0x22c), Op::predefined(Maxloc)),
        case(doubled(), compose()),
        case(gapped(), compose()),
    ]
}

/// Everything up to a rank, and everything at all: (inclusive prefixes by rank).
fn prefixes(case: &Case, size: usize, count: i64) -> Vec<Memory> {
    let mut all = vec![Memory::filled(case.datatype, count, 0)];
    for rank in 1..size {
        let own = Memory::filled(case.datatype, count, rank);
        all.push(combine(case.datatype, case.op, &all[rank - 1], &own, count));
    }
    all
}

thread_local! {
    /// The machine on which the next ranks are.
    static MACHINE: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Do it with each algorithm in turn where it can be, and with what is chosen, on one machine and on several.
fn by_every_algorithm<C: Choice>(f: impl Fn()) {
    for (index, algorithm) in C::COLLECTIVE.algorithms.iter().enumerate() {
        // Threads have no board, and nodes come below.
        if algorithm
            .needs
            .are_in(Traits::COMMUTATIVE | Traits::ELEMENT_EACH | Traits::PLACES)
        {
            WANTED.set(Some(index));
            f();
        }
    }
    WANTED.set(None);
    on_every_machine(f);
}

/// On one of which nothing is known, on three nodes of four, on nodes whose ranks are mixed, and on packages.
fn on_every_machine(f: impl Fn()) {
    for machine in [None, Some("3x1x2x2"), Some("1.0,0.0,1.1"), Some("2x2x2")] {
        MACHINE.set(machine);
        f();
    }
    MACHINE.set(None);
}

fn layout_of(size: usize) -> Option<Layout> {
    let machine = isthmus_engine::MadeUp::parse(MACHINE.get()?).unwrap();
    Some(Layout::new((0..size).map(|rank| machine.place(rank)).collect()))
}

fn for_all(counts: &[i64], f: impl Fn(&Case, usize, i64)) {
    for case in cases() {
        for size in SIZES {
            for &count in counts {
                f(&case, size, count);
            }
        }
    }
}

#[test]
fn allreduce_combines_in_rank_order() {
    by_every_algorithm::<select::Allreduce>(|| {
        for_all(&[0, 1, 3, 100, 700, 9001], |case, size, count| {
            let expected = prefixes(case, size, count).pop().unwrap();
            for in_place in [false, true] {
                let results = on_ranks(size, |link| {
                    let operand = Operand::new(case.datatype, case.op).unwrap();
                    let input = Memory::filled(case.datatype, count, link.rank());
                    let mut output = if in_place {
                        input.clone()
                    } else {
                        Memory::new(case.datatype, count)
                    };
                    let from = if in_place { output.0.as_ptr() } else { input.0.as_ptr() };
                    // SAFETY: both hold `count` elements.
                    link.end(unsafe { allreduce::run(link, &operand, from, output.0.as_mut_ptr(), count) });
                    output
                });
                for result in results {
                    assert!(result == expected, "{size} ranks, {count} elements");
                }
            }
        });
    });
}

#[test]
fn reduce_combines_in_rank_order_at_any_root() {
    by_every_algorithm::<select::Reduce>(|| {
        for_all(&[0, 1, 50], |case, size, count| {
            let expected = prefixes(case, size, count).pop().unwrap();
            for root in [0, size / 2, size - 1] {
                for in_place in [false, true] {
                    let results = on_ranks(size, |link| {
                        let operand = Operand::new(case.datatype, case.op).unwrap();
                        let mut input = Memory::filled(case.datatype, count, link.rank());
                        let mut output = Memory::new(case.datatype, count);
                        let to = if in_place {
                            input.0.as_mut_ptr()
                        } else {
                            output.0.as_mut_ptr()
                        };
                        let from = if in_place { to.cast_const() } else { input.0.as_ptr() };
                        // SAFETY: both hold `count` elements.
                        link.end(unsafe { super::reduce::run(link, &operand, from, to, count, root) });
                        if in_place { input } else { output }
                    });
                    // Sums may be taken in another order; these cases come out the same.
                    for result in [&results[root], &results[size + root]] {
                        assert!(*result == expected, "{size} ranks, {count} elements, root {root}");
                    }
                    for (rank, result) in (0..size).cycle().zip(&results).filter(|(rank, _)| *rank != root) {
                        let untouched = if in_place {
                            Memory::filled(case.datatype, count, rank)
                        } else {
                            Memory::new(case.datatype, count)
                        };
                        assert!(*result == untouched);
                    }
                }
            }
        });
    });
}

#[test]
fn scans_give_prefixes() {
    by_every_algorithm::<select::Scan>(|| {
        for_all(&[0, 1, 20], |case, size, count| {
            let expected = prefixes(case, size, count);
            for inclusive in [true, false] {
                for in_place in [false, true] {
                    let results = on_ranks(size, |link| {
                        let operand = Operand::new(case.datatype, case.op).unwrap();
                        let input = Memory::filled(case.datatype, count, link.rank());
                        let mut output = if in_place {
                            input.clone()
                        } else {
                            Memory::new(case.datatype, count)
                        };
                        let from = if in_place { output.0.as_ptr() } else { input.0.as_ptr() };
                        // SAFETY: both hold `count` elements.
                        link.end(unsafe {
                            super::scan::run(link, &operand, from, output.0.as_mut_ptr(), count, inclusive)
                        });
                        output
                    });
                    for (rank, result) in (0..size).cycle().zip(&results) {
                        if inclusive {
                            assert!(*result == expected[rank]);
                        } else if rank > 0 {
                            assert!(
                                *result == expected[rank - 1],
                                "{size} ranks, {count} elements, rank {rank}"
                            );
                        } else if !in_place {
                            assert!(*result == Memory::new(case.datatype, count));
                        }
                    }
                }
            }
        });
    });
}

#[test]
fn reduce_scatter_gives_blocks() {
    by_every_algorithm::<select::ReduceScatter>(|| {
        for_all(&[0, 1, 30], |case, size, count| {
            let counts: Vec<i64> = (0..size as i64).map(|rank| count * (rank % 3)).collect();
            let total: i64 = counts.iter().sum();
            let whole = prefixes(case, size, total).pop().unwrap();
            for in_place in [false, true] {
                let results = on_ranks(size, |link| {
                    let operand = Operand::new(case.datatype, case.op).unwrap();
                    let mut input = Memory::filled(case.datatype, total, link.rank());
                    let mut output = Memory::new(case.datatype, counts[link.rank()]);
                    let to = if in_place {
                        input.0.as_mut_ptr()
                    } else {
                        output.0.as_mut_ptr()
                    };
                    let from = if in_place { to.cast_const() } else { input.0.as_ptr() };
                    // SAFETY: both hold their elements.
                    link.end(unsafe { super::reduce_scatter::run(link, &operand, from, to, &counts) });
                    if in_place { input } else { output }
                });
                for (rank, result) in (0..size).cycle().zip(&results) {
                    let first = counts[..rank].iter().sum();
                    let expected = whole.pack(case.datatype, first, counts[rank]);
                    assert!(result.pack(case.datatype, 0, counts[rank]) == expected);
                }
            }
        });
    });
}

/// Blocks from every rank to every rank: so many pairs of ints, sent as one type and received as another.
fn block(from: usize, to: usize, count: i64) -> Vec<u8> {
    Memory::filled(doubled(), count, 31 * from + to).0
}

#[test]
fn bcast_reaches_everyone() {
    by_every_algorithm::<select::Bcast>(|| {
        on_every_machine(|| {
            for size in SIZES {
                for root in [0, size / 3, size - 1] {
                    for count in [0, 1, 1000] {
                        let results = on_ranks(size, |link| {
                            // Every second rank keeps its pairs with gaps.
                            let datatype = if link.rank() % 2 == 0 { doubled() } else { gapped() };
                            let mut memory = Memory::new(datatype, count);
                            if link.rank() == root {
                                memory.unpack(datatype, 0, &block(root, 0, count));
                            }
                            let elements = memory.elements(datatype, 0, count);
                            // SAFETY: the elements lie in `memory`.
                            link.end(unsafe { super::bcast::run(link, elements, root) });
                            let mut expected = Memory::new(datatype, count);
                            expected.unpack(datatype, 0, &block(root, 0, count));
                            memory == expected
                        });
                        assert!(
                            results.into_iter().all(|good| good),
                            "{size} ranks, root {root}, {count}"
                        );
                    }
                }
            }
        });
    });
}

/// Where blocks of 0, `count` and 2 `count` elements lie, with holes between them: (count, displacement) by rank.
fn uneven(size: usize, count: i64) -> Vec<(i64, i64)> {
    let mut next = 1;
    (0..size as i64)
        .map(|rank| {
            let (here, length) = (next, count * (rank % 3));
            next += length + 1;
            (length, here)
        })
        .collect()
}

fn room(layout: &[(i64, i64)]) -> i64 {
    layout.last().map_or(0, |(count, at)| count + at)
}

#[test]
fn gather_and_scatter_are_inverse() {
    by_every_algorithm::<select::Gatherv>(|| {
        for size in SIZES {
            for root in [0, size - 1] {
                for in_place in [false, true] {
                    let layout = uneven(size, 7);
                    let results = on_ranks(size, |link| {
                        let rank = link.rank();
                        let (count, at) = layout[rank];
                        let mut own = Memory(block(rank, root, count));
                        let mut all = Memory::new(gapped(), room(&layout));
                        if rank == root && in_place {
                            all.unpack(gapped(), at, &own.0);
                        }
                        let base = all.clone().0.len();
                        let at_root = |place: usize| {
                            let (count, at) = layout[place];
                            (rank == root).then(|| Elements::new(all.0.as_ptr().cast(), 0, gapped()).at(at, count))
                        };
                        let mine = own.elements(doubled(), 0, count);
                        let mine = (rank != root || !in_place).then_some(mine);
                        // SAFETY: all elements lie in `own` and `all`.
                        link.end(unsafe { super::gather::run_v(link, mine, at_root, Root::Rank(root)) });
                        let mut expected = Memory::new(gapped(), room(&layout));
                        for (from, (count, at)) in layout.iter().enumerate().filter(|_| rank == root) {
                            expected.unpack(gapped(), *at, &block(from, root, *count));
                        }
                        assert_eq!(base, expected.0.len());
                        let gathered = all == expected;
                        // And back again.
                        let mut back = Memory::new(doubled(), count);
                        let mine = (rank != root || !in_place).then_some(back.elements(doubled(), 0, count));
                        let at_root = |place: usize| {
                            let (count, at) = layout[place];
                            (rank == root).then(|| Elements::new(all.0.as_ptr().cast(), 0, gapped()).at(at, count))
                        };
                        // SAFETY: all elements lie in `back` and `all`.
                        link.end(unsafe { super::scatter::run_v(link, mine, at_root, Root::Rank(root)) });
                        gathered && (mine.is_none() || back == own)
                    });
                    assert!(
                        results.into_iter().all(|good| good),
                        "{size} ranks, root {root}, in place: {in_place}"
                    );
                }
            }
        }
    });
}

#[test]
fn allgather_gives_everyone_every_block() {
    by_every_algorithm::<select::Allgather>(|| {
        for size in SIZES {
            for in_place in [false, true] {
                for count in [0, 1, 200] {
                    for datatype in [doubled(), gapped()] {
                        let results = on_ranks(size, |link| {
                            let rank = link.rank();
                            let mut own = Memory(block(rank, 0, count));
                            let mut all = Memory::new(datatype, count * size as i64);
                            if in_place {
                                all.unpack(datatype, count * rank as i64, &own.0);
                            }
                            let mine = (!in_place).then_some(own.elements(doubled(), 0, count));
                            let one = all.elements(datatype, 0, count);
                            // SAFETY: all elements lie in `own` and `all`.
                            link.end(unsafe { super::allgather::run(link, mine, one) });
                            let mut expected = Memory::new(datatype, count * size as i64);
                            for from in 0..size {
                                expected.unpack(datatype, count * from as i64, &block(from, 0, count));
                            }
                            all == expected
                        });
                        assert!(results.into_iter().all(|good| good), "{size} ranks, {count}");
                    }
                }
                let layout = uneven(size, 5);
                let results = on_ranks(size, |link| {
                    let rank = link.rank();
                    let (count, at) = layout[rank];
                    let mut own = Memory(block(rank, 0, count));
                    let mut all = Memory::new(gapped(), room(&layout));
                    if in_place {
                        all.unpack(gapped(), at, &own.0);
                    }
                    let mine = (!in_place).then_some(own.elements(doubled(), 0, count));
                    let start = all.elements(gapped(), 0, 0);
                    // SAFETY: all elements lie in `own` and `all`.
                    link.end(unsafe {
                        super::allgather::run_v(link, mine, |from| start.at(layout[from].1, layout[from].0))
                    });
                    let mut expected = Memory::new(gapped(), room(&layout));
                    for (from, (count, at)) in layout.iter().enumerate() {
                        expected.unpack(gapped(), *at, &block(from, 0, *count));
                    }
                    all == expected
                });
                assert!(results.into_iter().all(|good| good), "{size} ranks, uneven");
            }
        }
    });
}

#[test]
fn alltoall_transposes() {
    by_every_algorithm::<select::Alltoallv>(|| {
        for size in SIZES {
            for in_place in [false, true] {
                // In place, both directions of a pair must be alike.
                let count = |from: usize, to: usize| {
                    if in_place {
                        (from + to) as i64 % 4
                    } else {
                        (from + 2 * to) as i64 % 4
                    }
                };
                let results = on_ranks(size, |link| {
                    let rank = link.rank();
                    let mut sends = Memory::new(doubled(), 4 * size as i64);
                    let mut recvs = Memory::new(gapped(), 4 * size as i64);
                    let mut expected = Memory::new(gapped(), 4 * size as i64);
                    for other in 0..size {
                        let out = block(rank, other, count(rank, other));
                        if in_place {
                            recvs.unpack(gapped(), 4 * other as i64, &out);
                        } else {
                            sends.unpack(doubled(), 4 * other as i64, &out);
                        }
                        expected.unpack(gapped(), 4 * other as i64, &block(other, rank, count(other, rank)));
                    }
                    let (from, to) = (sends.elements(doubled(), 0, 0), recvs.elements(gapped(), 0, 0));
                    let from = |other: usize| from.at(4 * other as i64, count(rank, other));
                    let to = |other: usize| to.at(4 * other as i64, count(other, rank));
                    // SAFETY: all elements lie in `sends` and `recvs`.
                    link.end(unsafe {
                        if in_place {
                            super::alltoall::run_in_place(link, to, false)
                        } else {
                            super::alltoall::run_v(link, from, to)
                        }
                    });
                    recvs == expected
                });
                assert!(
                    results.into_iter().all(|good| good),
                    "{size} ranks, in place: {in_place}"
                );
            }
        }
    });
}

#[test]
fn barriers_hold_everyone_back() {
    by_every_algorithm::<select::Barrier>(|| {
        use std::sync::atomic::{AtomicUsize, Ordering};
        for size in SIZES {
            let arrived = AtomicUsize::new(0);
            on_ranks(size, |link| {
                arrived.fetch_add(1, Ordering::SeqCst);
                link.end(super::barrier::run(link));
                assert_eq!(arrived.load(Ordering::SeqCst) % size, 0);
            });
        }
    });
}

#[test]
fn counts_without_elements_are_checked() {
    use super::arguments;
    let code = |result: Result<Elements<'_>>| result.map(drop).unwrap_err().code();
    use crate::error::Class;
    let value = 5i32;
    let good = (&raw const value).cast();
    assert!(arguments::buffer("buf", good, 1, int()).is_ok());
    assert_eq!(code(arguments::buffer("buf", good, -1, int())), Class::Count as i32);
    assert_eq!(
        code(arguments::buffer("buf", good, i64::MAX, int())),
        Class::Count as i32
    );
    assert_eq!(
        code(arguments::buffer("buf", std::ptr::null(), 1, int())),
        Class::Buffer as i32
    );
    assert_eq!(
        code(arguments::buffer("buf", crate::constants::IN_PLACE, 1, int())),
        Class::Buffer as i32
    );
    assert!(arguments::distinct(good, good, true).is_err());
    assert!(arguments::distinct(good, good, false).is_ok());
    assert!(arguments::not_negative("buf", Counts::Int(&[1, -1])).is_err());
}
