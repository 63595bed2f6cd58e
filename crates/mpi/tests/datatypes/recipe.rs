//! How to make a datatype, as a value: made up by `proptest`, handed to the constructors, and read back.

use isthmus_mpi::constants::{DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_NONE};
use isthmus_mpi::datatype::{Combiner, Datatype, NAMED};
use isthmus_mpi::handle::Handle;
use isthmus_mpi::procedures as mpi;
use proptest::prelude::*;

/// A constructor and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// One of [`BASICS`].
    Basic(usize),
    Dup(Box<Recipe>),
    Contiguous(i64, Box<Recipe>),
    Vector(i64, i64, i64, Box<Recipe>),
    Hvector(i64, i64, i64, Box<Recipe>),
    /// Lengths and displacements.
    Indexed(Vec<(i64, i64)>, Box<Recipe>),
    Hindexed(Vec<(i64, i64)>, Box<Recipe>),
    IndexedBlock(i64, Vec<i64>, Box<Recipe>),
    HindexedBlock(i64, Vec<i64>, Box<Recipe>),
    Struct(Vec<(i64, i64, Recipe)>),
    /// Sizes, subsizes and starts; is it C's order?
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Recipe>),
    /// The rank, and is it C's order?
    Darray(Vec<Share>, i32, bool, Box<Recipe>),
    Resized(i64, i64, Box<Recipe>),
}

/// One dimension of a distributed array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    pub size: i64,
    pub distribution: i32,
    pub argument: i32,
    pub processes: i32,
}

/// A predefined type.
pub struct Basic {
    pub made: Made,
    /// Its basic elements, by displacement: themselves if it is none of several.
    pub elements: &'static [(i64, usize)],
    pub number: Number,
}

/// Where a predefined type comes from.
pub enum Made {
    Name(&'static str),
    Fortran(Combiner, &'static [i32]),
}

/// What a basic element is. All in bytes.
#[derive(Clone, Copy)]
pub struct Number {
    pub size: i64,
    pub alignment: i64,
    /// Numbers in it, whose bytes are turned around one by one.
    pub parts: i64,
    pub foreign: Foreign,
}

/// What it is in external32.
#[derive(Clone, Copy, PartialEq)]
pub enum Foreign {
    Same,
    HalfSigned,
    HalfUnsigned,
}

const fn number(made: Made, elements: &'static [(i64, usize)], size: i64, parts: i64, foreign: Foreign) -> Basic {
    Basic {
        made,
        elements,
        number: Number {
            size,
            alignment: size / parts,
            parts,
            foreign,
        },
    }
}

/// Of several elements.
const fn pair(name: &'static str, elements: &'static [(i64, usize)]) -> Basic {
    number(Made::Name(name), elements, 0, 1, Foreign::Same)
}

use Foreign::{HalfSigned, HalfUnsigned, Same};
use Made::{Fortran, Name};

/// The types that all others are made from here.
pub const BASICS: [Basic; 17] = [
    number(Name("MPI_CHAR"), &[(0, 0)], 1, 1, Same),
    number(Name("MPI_SHORT"), &[(0, 1)], 2, 1, Same),
    number(Name("MPI_INT"), &[(0, 2)], 4, 1, Same),
    number(Name("MPI_DOUBLE"), &[(0, 3)], 8, 1, Same),
    number(Name("MPI_LONG"), &[(0, 4)], 8, 1, HalfSigned),
    number(Name("MPI_UNSIGNED_LONG"), &[(0, 5)], 8, 1, HalfUnsigned),
    number(Name("MPI_WCHAR"), &[(0, 6)], 4, 1, HalfUnsigned),
    number(Name("MPI_C_DOUBLE_COMPLEX"), &[(0, 7)], 16, 2, Same),
    number(Name("MPI_C_BOOL"), &[(0, 8)], 1, 1, Same),
    number(Name("MPI_INTEGER16"), &[(0, 9)], 16, 1, Same),
    number(Fortran(Combiner::F90Real, &[6, 30]), &[(0, 10)], 4, 1, Same),
    number(Fortran(Combiner::F90Complex, &[15, 300]), &[(0, 11)], 16, 2, Same),
    number(Fortran(Combiner::F90Integer, &[18]), &[(0, 12)], 8, 1, Same),
    pair("MPI_SHORT_INT", &[(0, 1), (4, 2)]),
    pair("MPI_DOUBLE_INT", &[(0, 3), (8, 2)]),
    pair("MPI_LONG_INT", &[(0, 4), (8, 2)]),
    pair("MPI_2INT", &[(0, 2), (4, 2)]),
];

impl Basic {
    pub fn handle(&self) -> Handle<Datatype> {
        match self.made {
            Name(name) => {
                let found = NAMED.iter().find(|named| named.name == name);
                Handle::from_raw(found.expect("a predefined type").raw)
            }
            Fortran(Combiner::F90Real, numbers) => mpi::type_create_f90_real(numbers[0], numbers[1]).expect("a real"),
            Fortran(Combiner::F90Complex, numbers) => {
                mpi::type_create_f90_complex(numbers[0], numbers[1]).expect("a complex")
            }
            Fortran(_, numbers) => mpi::type_create_f90_integer(numbers[0]).expect("an integer"),
        }
    }
}

impl Share {
    /// Is the element at `index` that process's?
    pub fn is_of(self, index: i64, process: i32) -> bool {
        let processes = i64::from(self.processes);
        let block = match (self.distribution, self.argument) {
            (DISTRIBUTE_BLOCK, DISTRIBUTE_DFLT_DARG) => (self.size + processes - 1) / processes,
            (DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG) => 1,
            (_, argument) => argument.into(),
        };
        match self.distribution {
            DISTRIBUTE_NONE => true,
            DISTRIBUTE_BLOCK => index / block == process.into(),
            _ => index / block % processes == process.into(),
        }
    }
}

/// A size, how it is dealt out, and what for the rest of the dimension.
fn share((size, how, argument, processes): (i32, i32, i32, i32)) -> Share {
    let (distribution, least, processes) = match how {
        0 => (DISTRIBUTE_NONE, 1, 1),
        1 => (DISTRIBUTE_BLOCK, (size + processes - 1) / processes, processes),
        _ => (DISTRIBUTE_CYCLIC, 1, processes),
    };
    Share {
        size: size.into(),
        distribution,
        argument: match argument {
            0 => DISTRIBUTE_DFLT_DARG,
            more => least + more - 1,
        },
        processes,
    }
}

/// Any datatype: constructors within one another, counts of none, strides of any sign, elements that overlap.
pub fn recipes() -> impl Strategy<Value = Recipe> {
    let leaf = (0..BASICS.len()).prop_map(Recipe::Basic);
    leaf.prop_recursive(5, 32, 3, |inner| {
        let old = || inner.clone().prop_map(Box::new);
        // None now and then: what is made of nothing is all alike.
        let few = || prop_oneof![1 => Just(0), 12 => 1..4i64];
        prop_oneof![
            old().prop_map(Recipe::Dup),
            (few(), old()).prop_map(|(n, t)| Recipe::Contiguous(n, t)),
            (few(), few(), -4..6i64, old()).prop_map(|(n, l, s, t)| Recipe::Vector(n, l, s, t)),
            (few(), few(), -40..60i64, old()).prop_map(|(n, l, s, t)| Recipe::Hvector(n, l, s, t)),
            (prop::collection::vec((few(), -6..7i64), 1..=4), old()).prop_map(|(v, t)| Recipe::Indexed(v, t)),
            (prop::collection::vec((few(), -40..60i64), 1..=4), old()).prop_map(|(v, t)| Recipe::Hindexed(v, t)),
            (few(), prop::collection::vec(-6..7i64, 1..=5), old()).prop_map(|(l, v, t)| Recipe::IndexedBlock(l, v, t)),
            (few(), prop::collection::vec(-40..60i64, 1..=5), old())
                .prop_map(|(l, v, t)| Recipe::HindexedBlock(l, v, t)),
            prop::collection::vec((few(), -40..60i64, inner.clone()), 0..=4).prop_map(Recipe::Struct),
            (
                prop::collection::vec((1..4i64, 0..100i64, 0..100i64), 1..4),
                any::<bool>(),
                old()
            )
                .prop_map(|(dims, c_order, t)| {
                    let fit = |(size, a, b): (i64, i64, i64)| {
                        let subsize = 1 + a % size;
                        (size, subsize, b % (size - subsize + 1))
                    };
                    Recipe::Subarray(dims.into_iter().map(fit).collect(), c_order, t)
                }),
            (
                prop::collection::vec((1..6i32, 0..3i32, 0..4i32, 1..4i32).prop_map(share), 1..4),
                any::<i32>(),
                any::<bool>(),
                old()
            )
                .prop_map(|(dims, rank, c_order, t)| {
                    let processes: i32 = dims.iter().map(|dim| dim.processes).product();
                    Recipe::Darray(dims, rank.rem_euclid(processes), c_order, t)
                }),
            (-20..20i64, -20..60i64, old()).prop_map(|(l, e, t)| Recipe::Resized(l, e, t)),
        ]
    })
}
