//! Types, operations and elements that algorithms are tried with, and the machines that they are tried on.

use super::*;

pub(super) fn named(raw: u32) -> &'static Datatype {
    Handle::from_raw(raw).resolve("datatype").unwrap()
}

pub(super) fn int() -> &'static Datatype {
    named(0x209)
}

/// Two ints, at bytes 0 and 8 of 16.
pub(super) fn gapped() -> &'static Datatype {
    static GAPPED: OnceLock<&Datatype> = OnceLock::new();
    GAPPED.get_or_init(make_gapped)
}

pub(super) fn make_gapped() -> &'static Datatype {
    let pair = datatype::type_vector(2, 1, 2, int(), Width::Int).unwrap();
    let wide = datatype::type_create_resized(pair.resolve("pair").unwrap(), 0, 16, Width::Int).unwrap();
    let wide = wide.resolve("wide").unwrap();
    type_commit(wide).unwrap();
    wide
}

/// Two ints in a row.
pub(super) fn doubled() -> &'static Datatype {
    static DOUBLED: OnceLock<&Datatype> = OnceLock::new();
    DOUBLED.get_or_init(make_doubled)
}

pub(super) fn make_doubled() -> &'static Datatype {
    let pair = datatype::type_contiguous(2, int(), Width::Int)
        .unwrap()
        .resolve("pair")
        .unwrap();
    type_commit(pair).unwrap();
    pair
}

/// `x -> a x + b`, one after the other: associative, not commutative. Works on pairs of ints of any layout.
pub(super) fn compose() -> &'static Op {
    static COMPOSE: OnceLock<&Op> = OnceLock::new();
    COMPOSE.get_or_init(make_compose)
}

pub(super) fn make_compose() -> &'static Op {
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
pub(super) fn user_sum() -> &'static Op {
    static SUM: OnceLock<&Op> = OnceLock::new();
    SUM.get_or_init(make_user_sum)
}

pub(super) fn make_user_sum() -> &'static Op {
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
pub(super) struct Memory(pub(super) Vec<u8>);

impl Memory {
    pub(super) fn new(datatype: &Datatype, count: i64) -> Self {
        Self(vec![0xa5; (datatype.extent() * count) as usize])
    }

    /// With elements that depend on `seed`.
    pub(super) fn filled(datatype: &Datatype, count: i64, seed: usize) -> Self {
        let mut memory = Self::new(datatype, count);
        let bytes = (datatype.size() * count) as usize;
        let packed: Vec<u8> = (0..bytes)
            .map(|i| (((i + 1) * (seed + 3) * 2_654_435_761) >> 11) as u8)
            .collect();
        memory.unpack(datatype, 0, &packed);
        memory
    }

    pub(super) fn unpack(&mut self, datatype: &Datatype, first: i64, packed: &[u8]) {
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

    pub(super) fn pack(&self, datatype: &Datatype, first: i64, count: i64) -> Vec<u8> {
        let mut packed = Vec::new();
        if count > 0 {
            assert!((first + count) * datatype.extent() <= self.0.len() as i64);
            let place = self.0.as_ptr().wrapping_offset((first * datatype.extent()) as isize);
            // SAFETY: the elements lie within.
            unsafe { datatype.pack(place, count, &mut packed) };
        }
        packed
    }

    pub(super) fn elements<'a>(&mut self, datatype: &'a Datatype, first: i64, count: i64) -> Elements<'a> {
        assert!((first + count) * datatype.extent() <= self.0.len() as i64);
        Elements::new(self.0.as_mut_ptr().cast(), 0, datatype).at(first, count)
    }
}

/// `left op right`, without touching gaps.
pub(super) fn combine(datatype: &Datatype, op: &Op, left: &Memory, right: &Memory, count: i64) -> Memory {
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

pub(super) struct Case {
    pub(super) datatype: &'static Datatype,
    pub(super) op: &'static Op,
}

pub(super) fn cases() -> Vec<Case> {
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
pub(super) fn prefixes(case: &Case, size: usize, count: i64) -> Vec<Memory> {
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
pub(super) fn by_every_algorithm<C: Choice>(f: impl Fn()) {
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
pub(super) fn on_every_machine(f: impl Fn()) {
    for machine in [None, Some("3x1x2x2"), Some("1.0,0.0,1.1"), Some("2x2x2")] {
        MACHINE.set(machine);
        f();
    }
    MACHINE.set(None);
}

pub(super) fn layout_of(size: usize) -> Option<Layout> {
    let machine = isthmus_engine::MadeUp::parse(MACHINE.get()?).unwrap();
    Some(Layout::new((0..size).map(|rank| machine.place(rank)).collect()))
}

pub(super) fn for_all(counts: &[i64], f: impl Fn(&Case, usize, i64)) {
    for case in cases() {
        for size in SIZES {
            for &count in counts {
                f(&case, size, count);
            }
        }
    }
}

/// Blocks from every rank to every rank: so many pairs of ints, sent as one type and received as another.
pub(super) fn block(from: usize, to: usize, count: i64) -> Vec<u8> {
    Memory::filled(doubled(), count, 31 * from + to).0
}

/// Where blocks of 0, `count` and 2 `count` elements lie, with holes between them: (count, displacement) by rank.
pub(super) fn uneven(size: usize, count: i64) -> Vec<(i64, i64)> {
    let mut next = 1;
    (0..size as i64)
        .map(|rank| {
            let (here, length) = (next, count * (rank % 3));
            next += length + 1;
            (length, here)
        })
        .collect()
}

pub(super) fn room(layout: &[(i64, i64)]) -> i64 {
    layout.last().map_or(0, |(count, at)| count + at)
}
