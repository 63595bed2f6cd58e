//! Types, operations and elements that algorithms are tried with, and the machines that they are tried on.

use super::*;

/// A type that lives as long as the tests.
macro_rules! types {
    ($($(#[$about:meta])* $name:ident = $make:expr;)*) => {
        $($(#[$about])*
        pub(super) fn $name() -> &'static Type {
            static TYPE: OnceLock<Arc<Type>> = OnceLock::new();
            TYPE.get_or_init(|| $make)
        })*
    };
}

types! {
    int = Type::of_name("MPI_INT");
    pair_of_ints = Type::of_name("MPI_2INT");
    short_int = Type::of_name("MPI_SHORT_INT");
    /// Two ints, at bytes 0 and 8 of 16.
    gapped = Type::derived(int().shape().repeated(2, 8).unwrap().resized(0, 16).unwrap());
    /// Two ints in a row.
    doubled = Type::derived(int().shape().repeated(2, 4).unwrap());
}

/// An operation.
#[derive(Clone, Copy)]
pub(super) enum Op {
    /// One of the predefined ones.
    Predefined(Predefined),
    /// `x -> a x + b`, one after the other: associative, not commutative. Works on pairs of ints of any layout.
    Compose,
    /// Sum of ints as a user's operation.
    UserSum,
}

impl Op {
    pub(super) fn on(self, datatype: &'static Type) -> Operand<'static> {
        match self {
            Self::Predefined(op) => Operand::predefined(datatype, op).unwrap(),
            Self::Compose => Operand::new(datatype, Reduction::Custom(Arc::new(Compose(datatype))), false),
            Self::UserSum => Operand::new(datatype, Reduction::Custom(Arc::new(UserSum)), true),
        }
    }
}

struct Compose(&'static Type);

impl Custom for Compose {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) -> Result<()> {
        let datatype = self.0;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        // SAFETY: both hold `count` elements.
        unsafe {
            datatype.pack(input, count, &mut first);
            datatype.pack(inout, count, &mut second);
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
        unsafe { datatype.unpack(&result, inout, count) };
        Ok(())
    }
}

struct UserSum;

impl Custom for UserSum {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) -> Result<()> {
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
        Ok(())
    }
}

/// Memory for elements, with bytes that nobody may touch in between.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Memory(pub(super) Vec<u8>);

impl Memory {
    pub(super) fn new(datatype: &Type, count: i64) -> Self {
        Self(vec![0xa5; (datatype.extent() * count) as usize])
    }

    /// With elements that depend on `seed`.
    pub(super) fn filled(datatype: &Type, count: i64, seed: usize) -> Self {
        let mut memory = Self::new(datatype, count);
        let bytes = (datatype.size() * count) as usize;
        let packed: Vec<u8> = (0..bytes)
            .map(|i| (((i + 1) * (seed + 3) * 2_654_435_761) >> 11) as u8)
            .collect();
        memory.unpack(datatype, 0, &packed);
        memory
    }

    pub(super) fn unpack(&mut self, datatype: &Type, first: i64, packed: &[u8]) {
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

    pub(super) fn pack(&self, datatype: &Type, first: i64, count: i64) -> Vec<u8> {
        let mut packed = Vec::new();
        if count > 0 {
            assert!((first + count) * datatype.extent() <= self.0.len() as i64);
            let place = self.0.as_ptr().wrapping_offset((first * datatype.extent()) as isize);
            // SAFETY: the elements lie within.
            unsafe { datatype.pack(place, count, &mut packed) };
        }
        packed
    }

    pub(super) fn elements<'a>(&mut self, datatype: &'a Type, first: i64, count: i64) -> Elements<'a> {
        assert!((first + count) * datatype.extent() <= self.0.len() as i64);
        Elements::new(self.0.as_mut_ptr().cast(), 0, datatype).at(first, count)
    }
}

/// `left op right`, without touching gaps.
pub(super) fn combine(case: &Case, left: &Memory, right: &Memory, count: i64) -> Memory {
    let mut result = right.clone();
    if count > 0 {
        // SAFETY: all hold `count` elements.
        unsafe {
            case.operand().combine(left.0.as_ptr(), result.0.as_mut_ptr(), count);
        }
    }
    result
}

pub(super) struct Case {
    pub(super) datatype: &'static Type,
    op: Op,
}

impl Case {
    pub(super) fn operand(&self) -> Operand<'static> {
        self.op.on(self.datatype)
    }
}

pub(super) fn cases() -> Vec<Case> {
    use Predefined::{Maxloc, Minloc, Sum};
    let case = |datatype, op| Case { datatype, op };
    vec![
        case(int(), Op::Predefined(Sum)),
        case(int(), Op::UserSum),
        case(pair_of_ints(), Op::Predefined(Minloc)),
        case(short_int(), Op::Predefined(Maxloc)),
        case(doubled(), Op::Compose),
        case(gapped(), Op::Compose),
    ]
}

/// Everything up to a rank, and everything at all: (inclusive prefixes by rank).
pub(super) fn prefixes(case: &Case, size: usize, count: i64) -> Vec<Memory> {
    let mut all = vec![Memory::filled(case.datatype, count, 0)];
    for rank in 1..size {
        let own = Memory::filled(case.datatype, count, rank);
        all.push(combine(case, &all[rank - 1], &own, count));
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
    Some(Layout::new(
        &(0..size).map(|rank| machine.locality(rank)).collect::<Vec<_>>(),
    ))
}

pub(super) fn for_all(counts: &[i64], f: impl Fn(&Case, usize, i64)) {
    for case in cases() {
        for &size in sizes() {
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
