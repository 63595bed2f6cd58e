//! From a recipe to a datatype, by either interface, and back by envelope and contents.

use isthmus_mpi::constants::{ORDER_C, ORDER_FORTRAN};
use isthmus_mpi::counts::{Counts, Width};
use isthmus_mpi::datatype::{Combiner, Datatype};
use isthmus_mpi::handle::Handle;
use isthmus_mpi::procedures as mpi;

use crate::recipe::{BASICS, Made, Recipe, Share};

/// A committed datatype that is freed when it is dropped, unless it is predefined.
pub struct Owned(Handle<Datatype>);

impl Owned {
    pub fn get(&self) -> &'static Datatype {
        self.0.resolve("datatype").expect("a live datatype")
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.get().named().is_none() {
            mpi::type_free(self.0).expect("freed");
            assert!(self.0.resolve("datatype").is_err(), "freed datatypes have no handle");
        }
    }
}

/// The datatype, by our constructors. What it is made from is freed at once.
pub fn build(recipe: &Recipe, width: Width) -> Owned {
    let old = |old: &Recipe| build(old, width);
    let numbers = |list: &mut dyn Iterator<Item = i64>| Numbers::new(list, width);
    let handle = match recipe {
        Recipe::Basic(which) => Ok(BASICS[*which].handle()),
        Recipe::Dup(t) => mpi::type_dup(old(t).get()),
        Recipe::Contiguous(n, t) => mpi::type_contiguous(*n, old(t).get(), width),
        Recipe::Vector(n, l, s, t) => mpi::type_vector(*n, *l, *s, old(t).get(), width),
        Recipe::Hvector(n, l, s, t) => mpi::type_create_hvector(*n, *l, *s, old(t).get(), width),
        Recipe::Indexed(list, t) => {
            let lengths = numbers(&mut list.iter().map(|block| block.0));
            let places = numbers(&mut list.iter().map(|block| block.1));
            mpi::type_indexed(list.len() as i64, lengths.counts(), places.counts(), old(t).get())
        }
        Recipe::Hindexed(list, t) => {
            let lengths = numbers(&mut list.iter().map(|block| block.0));
            let places: Vec<i64> = list.iter().map(|block| block.1).collect();
            let places = Counts::Large(&places);
            mpi::type_create_hindexed(list.len() as i64, lengths.counts(), places, old(t).get())
        }
        Recipe::IndexedBlock(l, list, t) => {
            let places = numbers(&mut list.iter().copied());
            mpi::type_create_indexed_block(list.len() as i64, *l, places.counts(), old(t).get())
        }
        Recipe::HindexedBlock(l, list, t) => {
            let places = Counts::Large(list);
            mpi::type_create_hindexed_block(list.len() as i64, *l, places, old(t).get(), width)
        }
        Recipe::Struct(list) => {
            let lengths = numbers(&mut list.iter().map(|block| block.0));
            let places: Vec<i64> = list.iter().map(|block| block.1).collect();
            let types: Vec<Owned> = list.iter().map(|block| old(&block.2)).collect();
            let handles: Vec<_> = types.iter().map(|t| t.0).collect();
            let places = Counts::Large(&places);
            mpi::type_create_struct(list.len() as i64, lengths.counts(), places, &handles)
        }
        Recipe::Subarray(dims, c_order, t) => {
            let sizes = numbers(&mut dims.iter().map(|dim| dim.0));
            let subsizes = numbers(&mut dims.iter().map(|dim| dim.1));
            let starts = numbers(&mut dims.iter().map(|dim| dim.2));
            mpi::type_create_subarray(
                dims.len() as i32,
                sizes.counts(),
                subsizes.counts(),
                starts.counts(),
                order(*c_order),
                old(t).get(),
            )
        }
        Recipe::Darray(dims, rank, c_order, t) => {
            let pick = |f: fn(&Share) -> i32| dims.iter().map(f).collect::<Vec<_>>();
            let psizes = pick(|dim| dim.processes);
            mpi::type_create_darray(
                psizes.iter().product(),
                *rank,
                dims.len() as i32,
                numbers(&mut dims.iter().map(|dim| dim.size)).counts(),
                &pick(|dim| dim.distribution),
                &pick(|dim| dim.argument),
                &psizes,
                order(*c_order),
                old(t).get(),
            )
        }
        Recipe::Resized(lb, extent, t) => mpi::type_create_resized(old(t).get(), *lb, *extent, width),
    };
    let owned = Owned(handle.expect("the recipe makes sense"));
    mpi::type_commit(owned.get()).expect("committed");
    owned
}

fn order(c_order: bool) -> i32 {
    if c_order { ORDER_C } else { ORDER_FORTRAN }
}

/// Counts as an interface takes them.
enum Numbers {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl Numbers {
    fn new(list: impl Iterator<Item = i64>, width: Width) -> Self {
        match width {
            Width::Int => Self::Narrow(list.map(|value| value.try_into().expect("an int")).collect()),
            Width::Large => Self::Wide(list.collect()),
        }
    }

    fn counts(&self) -> Counts<'_> {
        match self {
            Self::Narrow(list) => Counts::Int(list),
            Self::Wide(list) => Counts::Large(list),
        }
    }
}

/// What envelope and contents say of a datatype that came through `width`.
pub fn recall(datatype: &'static Datatype, width: Width) -> Recipe {
    let fortran = |basic: &usize| matches!(BASICS[*basic].made, Made::Fortran(..));
    let known = |basic: &usize| BASICS[*basic].handle() == datatype.handle();
    let mut contents = Contents::of(datatype, width);
    let recipe = match (0..BASICS.len()).find(known) {
        Some(basic) if fortran(&basic) => contents.fortran(basic),
        Some(basic) => {
            assert_eq!(contents.combiner, Combiner::Named as i32);
            Recipe::Basic(basic)
        }
        None => contents.recipe(),
    };
    contents.finish();
    recipe
}

/// Arguments, taken one after the other.
struct Contents {
    width: Width,
    combiner: i32,
    integers: std::vec::IntoIter<i32>,
    addresses: std::vec::IntoIter<i64>,
    large: std::vec::IntoIter<i64>,
    types: std::vec::IntoIter<Owned>,
}

impl Contents {
    fn of(datatype: &'static Datatype, width: Width) -> Self {
        let (i, a, l, d, combiner) = mpi::type_get_envelope(datatype).expect("an envelope");
        let mut integers = vec![0; i as usize];
        let (mut addresses, mut large) = (vec![0; a as usize], vec![0; l as usize]);
        let mut types = vec![Handle::NULL; d as usize];
        if combiner != Combiner::Named as i32 {
            let (into, at, lots, of) = (&mut integers, &mut addresses, &mut large, &mut types);
            mpi::type_get_contents(datatype, i, a, l, d, into, at, lots, of).expect("contents");
        }
        let types: Vec<Owned> = types.into_iter().map(Owned).collect();
        Self {
            width,
            combiner,
            integers: integers.into_iter(),
            addresses: addresses.into_iter(),
            large: large.into_iter(),
            types: types.into_iter(),
        }
    }

    fn recipe(&mut self) -> Recipe {
        let is = |combiner: Combiner| self.combiner == combiner as i32;
        if is(Combiner::Dup) {
            Recipe::Dup(self.old())
        } else if is(Combiner::Contiguous) {
            Recipe::Contiguous(self.count(), self.old())
        } else if is(Combiner::Vector) {
            Recipe::Vector(self.count(), self.count(), self.count(), self.old())
        } else if is(Combiner::Hvector) {
            Recipe::Hvector(self.count(), self.count(), self.address(), self.old())
        } else if is(Combiner::Indexed) {
            let n = self.count();
            let lengths = self.counts(n);
            Recipe::Indexed(lengths.into_iter().zip(self.counts(n)).collect(), self.old())
        } else if is(Combiner::Hindexed) {
            let n = self.count();
            let lengths = self.counts(n);
            Recipe::Hindexed(lengths.into_iter().zip(self.addresses(n)).collect(), self.old())
        } else if is(Combiner::IndexedBlock) {
            let n = self.count();
            Recipe::IndexedBlock(self.count(), self.counts(n), self.old())
        } else if is(Combiner::HindexedBlock) {
            let n = self.count();
            Recipe::HindexedBlock(self.count(), self.addresses(n), self.old())
        } else if is(Combiner::Struct) {
            let n = self.count();
            let (lengths, places) = (self.counts(n), self.addresses(n));
            let blocks = lengths.into_iter().zip(places);
            Recipe::Struct(blocks.map(|(length, at)| (length, at, *self.old())).collect())
        } else if is(Combiner::Subarray) {
            let n = self.integer().into();
            let (sizes, subsizes, starts) = (self.counts(n), self.counts(n), self.counts(n));
            let dims = (0..sizes.len()).map(|d| (sizes[d], subsizes[d], starts[d]));
            Recipe::Subarray(dims.collect(), self.integer() == ORDER_C, self.old())
        } else if is(Combiner::Darray) {
            let (size, rank, n) = (self.integer(), self.integer(), self.integer());
            let sizes = self.counts(n.into());
            let mut integers = || self.integers.by_ref().take(n as usize).collect::<Vec<_>>();
            let (distributions, arguments, processes) = (integers(), integers(), integers());
            assert_eq!(processes.iter().product::<i32>(), size);
            let dims = (0..sizes.len()).map(|d| Share {
                size: sizes[d],
                distribution: distributions[d],
                argument: arguments[d],
                processes: processes[d],
            });
            Recipe::Darray(dims.collect(), rank, self.integer() == ORDER_C, self.old())
        } else {
            assert_eq!(self.combiner, Combiner::Resized as i32);
            Recipe::Resized(self.address(), self.address(), self.old())
        }
    }

    fn fortran(&mut self, basic: usize) -> Recipe {
        let Made::Fortran(combiner, numbers) = &BASICS[basic].made else {
            unreachable!("only Fortran's types come here");
        };
        assert_eq!(self.combiner, *combiner as i32);
        assert!(self.integers.by_ref().eq(numbers.iter().copied()));
        Recipe::Basic(basic)
    }

    fn integer(&mut self) -> i32 {
        self.integers.next().expect("an integer")
    }

    fn count(&mut self) -> i64 {
        match self.width {
            Width::Int => self.integer().into(),
            Width::Large => self.large.next().expect("a large count"),
        }
    }

    fn counts(&mut self, n: i64) -> Vec<i64> {
        (0..n).map(|_| self.count()).collect()
    }

    fn address(&mut self) -> i64 {
        match self.width {
            Width::Int => self.addresses.next().expect("an address"),
            Width::Large => self.large.next().expect("a large count"),
        }
    }

    fn addresses(&mut self, n: i64) -> Vec<i64> {
        (0..n).map(|_| self.address()).collect()
    }

    fn old(&mut self) -> Box<Recipe> {
        let old = self.types.next().expect("a datatype");
        Box::new(recall(old.get(), self.width))
    }

    /// Nothing is left.
    fn finish(mut self) {
        assert_eq!(self.integers.next(), None);
        assert_eq!(self.addresses.next().or(self.large.next()), None);
        assert!(self.types.next().is_none());
    }
}
