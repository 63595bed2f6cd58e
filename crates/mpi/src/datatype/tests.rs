//! Random datatypes against the definition: a type map is a list of (displacement, basic element).

use proptest::prelude::*;

use super::*;
use crate::constants::{
    DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_NONE, ORDER_C, ORDER_FORTRAN, UNDEFINED,
};
use crate::counts::{Counts, Width};
use crate::status::Status;

/// How to make a datatype.
#[derive(Debug, Clone)]
enum Recipe {
    Named(usize),
    Dup(Box<Recipe>),
    Contiguous(i64, Box<Recipe>),
    Vector(i64, i64, i64, Box<Recipe>),
    Hvector(i64, i64, i64, Box<Recipe>),
    Indexed(Vec<(i32, i32)>, Box<Recipe>),
    Hindexed(Vec<(i64, i64)>, Box<Recipe>),
    IndexedBlock(i64, Vec<i32>, Box<Recipe>),
    HindexedBlock(i64, Vec<i64>, Box<Recipe>),
    Struct(Vec<(i32, i64, Recipe)>),
    Subarray(Vec<(i32, i32, i32)>, bool, Box<Recipe>),
    Darray(Vec<Share>, i32, bool, Box<Recipe>),
    Resized(i64, i64, Box<Recipe>),
}

/// One dimension of a distributed array.
#[derive(Debug, Clone, Copy)]
struct Share {
    size: i32,
    distribution: i32,
    argument: i32,
    processes: i32,
}

impl Share {
    fn is_of(self, index: i32, process: i32) -> bool {
        let block = match (self.distribution, self.argument) {
            (DISTRIBUTE_BLOCK, DISTRIBUTE_DFLT_DARG) => (self.size + self.processes - 1) / self.processes,
            (DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG) => 1,
            (_, argument) => argument,
        };
        match self.distribution {
            DISTRIBUTE_NONE => true,
            DISTRIBUTE_BLOCK => index / block == process,
            _ => index / block % self.processes == process,
        }
    }
}

/// (displacement, size, alignment, size in external32)
type Entry = (i64, i64, i64, i64);

const BASICS: [(&str, &[Entry]); 7] = [
    ("MPI_CHAR", &[(0, 1, 1, 1)]),
    ("MPI_SHORT", &[(0, 2, 2, 2)]),
    ("MPI_INT", &[(0, 4, 4, 4)]),
    ("MPI_DOUBLE", &[(0, 8, 8, 8)]),
    ("MPI_SHORT_INT", &[(0, 2, 2, 2), (4, 4, 4, 4)]),
    ("MPI_DOUBLE_INT", &[(0, 8, 8, 8), (8, 4, 4, 4)]),
    ("MPI_LONG", &[(0, 8, 8, 4)]),
];

/// The definition of MPI-5.0 §5.1, entry by entry.
#[derive(Debug, Clone, Default)]
struct TypeMap {
    entries: Vec<Entry>,
    /// Where its parts end, with their padding.
    ends: Vec<i64>,
    lower: Vec<i64>,
    upper: Vec<i64>,
}

impl TypeMap {
    fn of(recipe: &Recipe) -> Self {
        match recipe {
            Recipe::Named(which) => Self {
                entries: BASICS[*which].1.to_vec(),
                ends: BASICS[*which].1.iter().map(|entry| entry.0 + entry.1).collect(),
                ..Self::default()
            },
            Recipe::Dup(old) => Self::of(old),
            Recipe::Contiguous(count, old) => Self::of(old).blocks([(*count, 0)]),
            Recipe::Vector(count, length, stride, old) => {
                let old = Self::of(old);
                let step = stride * old.extent();
                old.blocks((0..*count).map(|i| (*length, i * step)))
            }
            Recipe::Hvector(count, length, stride, old) => {
                Self::of(old).blocks((0..*count).map(|i| (*length, i * stride)))
            }
            Recipe::Indexed(list, old) => {
                let old = Self::of(old);
                let extent = old.extent();
                old.blocks(
                    list.iter()
                        .map(|(length, at)| (i64::from(*length), i64::from(*at) * extent)),
                )
            }
            Recipe::Hindexed(list, old) => Self::of(old).blocks(list.iter().copied()),
            Recipe::IndexedBlock(length, list, old) => {
                let old = Self::of(old);
                let extent = old.extent();
                old.blocks(list.iter().map(|at| (*length, i64::from(*at) * extent)))
            }
            Recipe::HindexedBlock(length, list, old) => Self::of(old).blocks(list.iter().map(|at| (*length, *at))),
            Recipe::Struct(list) => {
                let mut all = Self::default();
                for (length, at, old) in list {
                    all.append(&Self::of(old).blocks([(i64::from(*length), *at)]), 0);
                }
                all
            }
            Recipe::Subarray(dims, c_order, old) => {
                let old = Self::of(old);
                let extent = old.extent();
                let mut slowest_first = dims.clone();
                if !c_order {
                    slowest_first.reverse();
                }
                let mut places = vec![0];
                let mut total = 1;
                for (size, subsize, start) in &slowest_first {
                    places = places
                        .iter()
                        .flat_map(|place| (*start..start + subsize).map(move |i| place * size + i))
                        .collect();
                    total *= i64::from(*size);
                }
                let mut array = old.blocks(places.iter().map(|place| (1, i64::from(*place) * extent)));
                array.lower = vec![0];
                array.upper = vec![total * extent];
                array
            }
            Recipe::Darray(dims, rank, c_order, old) => {
                let old = Self::of(old);
                let extent = old.extent();
                let mut rest = *rank;
                let mut mine = Vec::new();
                for dim in dims.iter().rev() {
                    mine.push((*dim, rest % dim.processes));
                    rest /= dim.processes;
                }
                // The last dimension comes first so far.
                if *c_order {
                    mine.reverse();
                }
                let mut places = vec![0];
                for (dim, process) in &mine {
                    let indices = || (0..dim.size).filter(|index| dim.is_of(*index, *process));
                    places = places
                        .iter()
                        .flat_map(|place| indices().map(move |index| place * dim.size + index))
                        .collect();
                }
                let total: i64 = dims.iter().map(|dim| i64::from(dim.size)).product();
                let mut array = old.blocks(places.iter().map(|place| (1, i64::from(*place) * extent)));
                array.lower = vec![0];
                array.upper = vec![total * extent];
                array
            }
            Recipe::Resized(lb, extent, old) => Self {
                lower: vec![*lb],
                upper: vec![lb + extent],
                ..Self::of(old)
            },
        }
    }

    fn append(&mut self, other: &Self, at: i64) {
        self.entries.extend(
            other
                .entries
                .iter()
                .map(|entry| (entry.0 + at, entry.1, entry.2, entry.3)),
        );
        self.ends.extend(other.natural_ub().map(|end| end + at));
        self.lower.extend(other.lower.iter().map(|lower| lower + at));
        self.upper.extend(other.upper.iter().map(|upper| upper + at));
    }

    fn blocks(&self, list: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut all = Self::default();
        for (length, at) in list {
            for i in 0..length {
                all.append(self, at + i * self.extent());
            }
        }
        all
    }

    fn true_bounds(&self) -> (i64, i64) {
        let from = self.entries.iter().map(|entry| entry.0).min();
        let to = self.entries.iter().map(|entry| entry.0 + entry.1).max();
        (from.unwrap_or(0), to.unwrap_or(0))
    }

    fn lb(&self) -> i64 {
        let explicit = self.lower.iter().copied().min();
        explicit.unwrap_or(self.true_bounds().0)
    }

    fn extent(&self) -> i64 {
        let explicit = self.upper.iter().copied().max();
        explicit.or(self.natural_ub()).map_or(0, |ub| ub - self.lb())
    }

    /// The upper bound if there were no explicit one.
    fn natural_ub(&self) -> Option<i64> {
        let alignment = self.entries.iter().map(|entry| entry.2).max()?;
        let mut ub = self.ends.iter().copied().max()?;
        while (ub - self.lb()) % alignment != 0 {
            ub += 1;
        }
        Some(ub)
    }

    /// Where each byte of the packed form lies.
    fn places(&self, count: i64) -> Vec<i64> {
        let extent = self.extent();
        let element = |i: i64| {
            self.entries
                .iter()
                .flat_map(move |entry| (0..entry.1).map(move |b| i * extent + entry.0 + b))
        };
        (0..count).flat_map(element).collect()
    }
}

fn named(name: &str) -> Handle<Datatype> {
    let found = NAMED.iter().find(|named| named.name == name);
    Handle::from_raw(found.expect("a predefined type").raw)
}

/// The datatype by our constructors; the types that it is made from are freed at once.
fn build(recipe: &Recipe) -> Result<Handle<Datatype>> {
    let with = |old: &Recipe, f: &dyn Fn(&'static Datatype) -> Result<Handle<Datatype>>| {
        let old = build(old)?;
        let new = f(old.resolve("oldtype")?);
        if old.raw() >= 0x300 {
            type_free(old)?;
        }
        new
    };
    let wide = Width::Large;
    match recipe {
        Recipe::Named(which) => Ok(named(BASICS[*which].0)),
        Recipe::Dup(old) => with(old, &type_dup),
        Recipe::Contiguous(count, old) => with(old, &|old| type_contiguous(*count, old, wide)),
        Recipe::Vector(count, length, stride, old) => {
            with(old, &|old| type_vector(*count, *length, *stride, old, wide))
        }
        Recipe::Hvector(count, length, stride, old) => {
            with(old, &|old| type_create_hvector(*count, *length, *stride, old, wide))
        }
        Recipe::Indexed(list, old) => {
            let (lengths, places): (Vec<i32>, Vec<i32>) = list.iter().copied().unzip();
            let (lengths, places) = (Counts::Int(&lengths), Counts::Int(&places));
            with(old, &|old| type_indexed(list.len() as i64, lengths, places, old))
        }
        Recipe::Hindexed(list, old) => {
            let (lengths, places): (Vec<i64>, Vec<i64>) = list.iter().copied().unzip();
            let (lengths, places) = (Counts::Large(&lengths), Counts::Large(&places));
            with(old, &|old| {
                type_create_hindexed(list.len() as i64, lengths, places, old)
            })
        }
        Recipe::IndexedBlock(length, list, old) => with(old, &|old| {
            type_create_indexed_block(list.len() as i64, *length, Counts::Int(list), old)
        }),
        Recipe::HindexedBlock(length, list, old) => with(old, &|old| {
            type_create_hindexed_block(list.len() as i64, *length, Counts::Large(list), old, wide)
        }),
        Recipe::Struct(list) => {
            let lengths: Vec<i32> = list.iter().map(|item| item.0).collect();
            let places: Vec<i64> = list.iter().map(|item| item.1).collect();
            let types = list.iter().map(|item| build(&item.2)).collect::<Result<Vec<_>>>()?;
            let count = list.len() as i64;
            let new = type_create_struct(count, Counts::Int(&lengths), Counts::Large(&places), &types);
            for old in types.into_iter().filter(|old| old.raw() >= 0x300) {
                type_free(old)?;
            }
            new
        }
        Recipe::Subarray(dims, c_order, old) => {
            let pick = |f: fn(&(i32, i32, i32)) -> i32| dims.iter().map(f).collect::<Vec<_>>();
            let (sizes, subsizes, starts) = (pick(|d| d.0), pick(|d| d.1), pick(|d| d.2));
            let order = if *c_order { ORDER_C } else { ORDER_FORTRAN };
            with(old, &|old| {
                let (sizes, subsizes, starts) = (Counts::Int(&sizes), Counts::Int(&subsizes), Counts::Int(&starts));
                type_create_subarray(dims.len() as i32, sizes, subsizes, starts, order, old)
            })
        }
        Recipe::Darray(dims, rank, c_order, old) => {
            let pick = |f: fn(&Share) -> i32| dims.iter().map(f).collect::<Vec<_>>();
            let (sizes, distribs, dargs) = (pick(|d| d.size), pick(|d| d.distribution), pick(|d| d.argument));
            let (psizes, ndims) = (pick(|d| d.processes), dims.len() as i32);
            let (size, order) = (psizes.iter().product(), if *c_order { ORDER_C } else { ORDER_FORTRAN });
            with(old, &|old| {
                let sizes = Counts::Int(&sizes);
                type_create_darray(size, *rank, ndims, sizes, &distribs, &dargs, &psizes, order, old)
            })
        }
        Recipe::Resized(lb, extent, old) => with(old, &|old| type_create_resized(old, *lb, *extent, wide)),
    }
}

/// A size, how it is dealt out, and what for the rest of the dimension.
fn share((size, how, argument, processes): (i32, i32, i32, i32)) -> Share {
    let (distribution, least, processes) = match how {
        0 => (DISTRIBUTE_NONE, 1, 1),
        1 => (DISTRIBUTE_BLOCK, (size + processes - 1) / processes, processes),
        _ => (DISTRIBUTE_CYCLIC, 1, processes),
    };
    let argument = if argument == 0 {
        DISTRIBUTE_DFLT_DARG
    } else {
        least + argument - 1
    };
    Share {
        size,
        distribution,
        argument,
        processes,
    }
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let leaf = (0..BASICS.len()).prop_map(Recipe::Named);
    leaf.prop_recursive(4, 12, 3, |inner| {
        let old = || inner.clone().prop_map(Box::new);
        let list = |n| prop::collection::vec((0..3i32, -6..7i32), 0..n);
        prop_oneof![
            old().prop_map(Recipe::Dup),
            (0..4i64, old()).prop_map(|(n, t)| Recipe::Contiguous(n, t)),
            (0..4i64, 0..4i64, -4..6i64, old()).prop_map(|(n, l, s, t)| Recipe::Vector(n, l, s, t)),
            (0..4i64, 0..4i64, -40..60i64, old()).prop_map(|(n, l, s, t)| Recipe::Hvector(n, l, s, t)),
            (list(4), old()).prop_map(|(v, t)| Recipe::Indexed(v, t)),
            (prop::collection::vec((0..3i64, -40..60i64), 0..4), old()).prop_map(|(v, t)| Recipe::Hindexed(v, t)),
            (0..3i64, prop::collection::vec(-6..7i32, 0..5), old()).prop_map(|(l, v, t)| Recipe::IndexedBlock(l, v, t)),
            (0..3i64, prop::collection::vec(-40..60i64, 0..5), old())
                .prop_map(|(l, v, t)| Recipe::HindexedBlock(l, v, t)),
            prop::collection::vec((0..3i32, -40..60i64, inner.clone()), 0..4).prop_map(Recipe::Struct),
            (
                prop::collection::vec((1..4i32, 0..100i32, 0..100i32), 1..4),
                any::<bool>(),
                old()
            )
                .prop_map(|(dims, c_order, t)| {
                    let fit = |(size, a, b): (i32, i32, i32)| {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn random_types_agree_with_their_type_maps(recipe in recipes(), count in 0..4i64, cuts in (0..1000i64, 0..1000i64)) {
        let map = TypeMap::of(&recipe);
        prop_assume!(map.entries.len() < 3000);
        let handle = build(&recipe).unwrap();
        let datatype = handle.resolve("datatype").unwrap();
        let (from, to) = map.true_bounds();
        let size: i64 = map.entries.iter().map(|entry| entry.1).sum();
        prop_assert_eq!(datatype.size(), size);
        prop_assert_eq!((datatype.lb(), datatype.extent()), (map.lb(), map.extent()));
        prop_assert_eq!((datatype.true_lb(), datatype.true_extent()), (from, to - from));

        // Memory around the elements.
        let places = map.places(count);
        let low = places.iter().copied().min().unwrap_or(0);
        let high = places.iter().copied().max().unwrap_or(0);
        let mut memory: Vec<u8> = (low..=high).map(|i| (i * 37 % 251) as u8).collect();
        let expected: Vec<u8> = places.iter().map(|place| memory[(place - low) as usize]).collect();
        let base = memory.as_mut_ptr().wrapping_offset(-low as isize);
        let mut packed = vec![0xee; 3];
        // SAFETY: `memory` spans all places of the elements at `base`.
        unsafe { datatype.pack(base, count, &mut packed) };
        prop_assert_eq!(&packed[3..], &expected[..]);
        prop_assert!(!datatype.is_contiguous() || places.iter().copied().eq(0..count * size));

        // Any range of the stream, both ways.
        let total = places.len() as i64;
        let (a, b) = (cuts.0 % (total + 1), cuts.1 % (total + 1));
        let range = a.min(b)..a.max(b);
        let wanted = &expected[range.start as usize..range.end as usize];
        let mut piece = vec![0; wanted.len()];
        // SAFETY: as above.
        unsafe { datatype.pack_range(base, count, range.start, range.end, piece.as_mut_ptr()) };
        prop_assert_eq!(&piece[..], wanted);
        let stream: Vec<u8> = (0..total).map(|i| 1 + (i % 255) as u8).collect();
        let mut after = vec![0; memory.len()];
        for i in range.clone() {
            after[(places[i as usize] - low) as usize] = stream[i as usize];
        }
        memory.fill(0);
        let from_here = stream[range.start as usize..].as_ptr();
        // SAFETY: as above.
        unsafe { datatype.unpack_range(from_here, base, count, range.start, range.end) };
        prop_assert_eq!(&memory, &after);

        // A message that ends anywhere.
        let mut status = Status { bytes: range.end, ..Status::EMPTY };
        let mut ends = vec![0];
        for _ in 0..count {
            ends.extend(map.entries.iter().scan(*ends.last().unwrap(), |end, entry| { *end += entry.1; Some(*end) }));
        }
        let elements = ends.iter().position(|end| *end == status.bytes);
        let whole = |n: Option<usize>| n.map_or(i64::from(UNDEFINED), |n| n as i64);
        prop_assert_eq!(get_elements(&status, datatype).unwrap(), whole(elements));
        if let Some(elements) = elements {
            prop_assert_eq!(datatype.signature().bytes_of(elements as i64), Some(status.bytes));
        }
        status.bytes = total;
        prop_assert_eq!(get_count(&status, datatype).unwrap(), if size == 0 { 0 } else { count });
        if handle.raw() >= 0x300 {
            type_free(handle).unwrap();
            prop_assert!(handle.resolve("datatype").is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// External32 element by element: reversed, cut or extended.
    #[test]
    fn random_types_agree_with_their_type_maps_in_external32(recipe in recipes(), count in 0..3i64, seed: u8) {
        let map = TypeMap::of(&recipe);
        prop_assume!(map.entries.len() < 1000);
        let handle = build(&recipe).unwrap();
        let datatype = handle.resolve("datatype").unwrap();
        type_commit(datatype).unwrap();
        let places = map.places(count);
        let low = places.iter().copied().min().unwrap_or(0);
        let high = places.iter().copied().max().unwrap_or(0);
        let bytes = count * map.entries.iter().map(|entry| entry.3).sum::<i64>();
        prop_assert_eq!(pack_external_size(c"external32", count, datatype).unwrap(), bytes);

        let stream: Vec<u8> = (0..bytes).map(|i| (i * 89) as u8 ^ seed).collect();
        let mut expected = vec![0; (high - low + 1) as usize];
        let (mut from, mut to) = (stream.iter(), places.iter());
        for entry in (0..count).flat_map(|_| &map.entries) {
            let mut value: Vec<u8> = from.by_ref().take(entry.3 as usize).copied().collect();
            value.reverse();
            let sign = if value.last().unwrap() & 0x80 != 0 { 0xff } else { 0 };
            value.resize(entry.1 as usize, sign);
            for byte in value {
                expected[(to.next().unwrap() - low) as usize] = byte;
            }
        }
        let mut memory = vec![0; expected.len()];
        let base = memory.as_mut_ptr().wrapping_offset(-low as isize);
        // The elements may lie around an address in the first page, which is none for a buffer.
        prop_assume!(base.addr().wrapping_add(datatype.true_lb() as usize) >= 4096);
        let mut position = 0;
        // SAFETY: `memory` spans all places of the elements at `base`.
        unsafe {
            let (stream, base) = (stream.as_ptr().cast(), base.cast());
            unpack_external(c"external32", stream, bytes, &mut position, base, count, datatype).unwrap();
        }
        prop_assert_eq!(position, bytes);
        prop_assert_eq!(&memory, &expected);

        let mut wanted = Some(vec![0xee]);
        let mut to = places.iter();
        for entry in (0..count).flat_map(|_| &map.entries) {
            let mut value: Vec<u8> = to.by_ref().take(entry.1 as usize).map(|at| memory[(at - low) as usize]).collect();
            let rest = value.split_off(entry.3 as usize);
            let sign = if value.last().unwrap() & 0x80 != 0 { 0xff } else { 0 };
            match &mut wanted {
                Some(out) if rest.iter().all(|byte| *byte == sign) => out.extend(value.iter().rev()),
                _ => wanted = None,
            }
        }
        let mut out = vec![0xee; 1 + bytes as usize];
        let mut position = 1;
        // SAFETY: as above; `out` has room behind its first byte.
        let packed = unsafe {
            let (base, to, size) = (base.cast(), out.as_mut_ptr().cast(), out.len() as i64);
            pack_external(c"external32", base, count, datatype, to, size, &mut position)
        };
        match wanted {
            Some(wanted) => prop_assert_eq!((packed, out, position), (Ok(()), wanted, 1 + bytes)),
            // Elements that overlap have made values that do not fit.
            None => prop_assert_eq!(packed.unwrap_err().code(), Class::Conversion as i32),
        }
        if handle.raw() >= 0x300 {
            type_free(handle).unwrap();
        }
    }
}

#[test]
fn external32_of_numbers_that_are_not_turned_around_whole() {
    let pack = |name, value: &[u8]| {
        let datatype = named(name).resolve("datatype").unwrap();
        let mut out = vec![0u8; pack_external_size(c"external32", 1, datatype).unwrap() as usize];
        let (mut position, size) = (0, out.len() as i64);
        // SAFETY: `value` is one element, `out` has room for it.
        unsafe {
            let (from, to) = (value.as_ptr().cast(), out.as_mut_ptr().cast());
            pack_external(c"external32", from, 1, datatype, to, size, &mut position).map(|()| out)
        }
    };
    let complex = [1.5f64.to_le_bytes(), (-2f64).to_le_bytes()].concat();
    let turned = [1.5f64.to_be_bytes(), (-2f64).to_be_bytes()].concat();
    assert_eq!(pack("MPI_C_DOUBLE_COMPLEX", &complex).unwrap(), turned);
    // One, as the x87 has it, and what stands behind its ten bytes.
    let one = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 1, 2, 3, 4, 5, 6];
    let quad = [[0x3f, 0xff].as_slice(), &[0; 14]].concat();
    assert_eq!(pack("MPI_LONG_DOUBLE", &one).unwrap(), quad);
    assert_eq!(pack("MPI_WCHAR", &[0x34, 0x92, 0, 0]).unwrap(), [0x92, 0x34]);
    assert!(pack("MPI_WCHAR", &[0, 0xf6, 1, 0]).is_err());
    assert_eq!(
        pack("MPI_UNSIGNED_LONG", &[1, 0, 0, 0x80, 0, 0, 0, 0]).unwrap(),
        [0x80, 0, 0, 1]
    );
    assert!(pack("MPI_LONG", &[1, 0, 0, 0x80, 0, 0, 0, 0]).is_err());
    let int = named("MPI_INT").resolve("int").unwrap();
    let class = pack_external_size(c"native", 1, int).unwrap_err().code();
    assert_eq!(class, Class::UnsupportedDatarep as i32);
}

#[test]
fn fortran_kinds_are_predefined() {
    let single = type_create_f90_real(6, 30).unwrap();
    assert_eq!(type_create_f90_real(6, 30).unwrap(), single);
    let datatype = single.resolve("single").unwrap();
    assert_eq!((datatype.size(), datatype.is_committed()), (4, true));
    assert_eq!(datatype.named().unwrap().name, "MPI_REAL4");
    assert_eq!(type_get_name(single).unwrap(), "");
    assert_eq!(type_free(single).unwrap_err().code(), Class::Type as i32);
    assert_eq!(
        type_get_envelope(datatype).unwrap(),
        (2, 0, 0, 0, Combiner::F90Real as i32)
    );
    let mut integers = [0; 2];
    type_get_contents(datatype, 2, 0, 0, 0, &mut integers, &mut [], &mut [], &mut []).unwrap();
    assert_eq!(integers, [6, 30]);

    let row = type_contiguous(3, datatype, Width::Int).unwrap();
    let mut inner = [Handle::NULL];
    let datatype = row.resolve("row").unwrap();
    type_get_contents(datatype, 1, 0, 0, 1, &mut integers, &mut [], &mut [], &mut inner).unwrap();
    assert_eq!(inner, [single]);
    type_free(row).unwrap();

    let size = |handle: Result<Handle<Datatype>>| handle.unwrap().resolve("kind").unwrap().size();
    assert_eq!(size(type_create_f90_real(UNDEFINED, 38)), 8);
    assert_eq!(size(type_create_f90_real(16, UNDEFINED)), 16);
    assert_eq!(size(type_create_f90_complex(19, 400)), 32);
    assert_eq!(
        [2, 3, 9, 18, 19].map(|r| size(type_create_f90_integer(r))),
        [1, 2, 4, 8, 16]
    );
    for wrong in [
        type_create_f90_real(34, 1),
        type_create_f90_real(UNDEFINED, UNDEFINED),
        type_create_f90_complex(1, 5000),
        type_create_f90_integer(39),
    ] {
        assert_eq!(wrong.unwrap_err().code(), Class::Arg as i32);
    }
}

#[test]
fn distributions_that_make_no_sense_are_refused() {
    let int = named("MPI_INT").resolve("int").unwrap();
    let make = |size, rank, gsize: i64, distribution, argument, processes| {
        let (gsizes, distribs) = ([gsize], [distribution]);
        let (dargs, psizes) = ([argument], [processes]);
        let gsizes = Counts::Large(&gsizes);
        type_create_darray(size, rank, 1, gsizes, &distribs, &dargs, &psizes, ORDER_C, int)
    };
    let class = |made: Result<Handle<Datatype>>| made.unwrap_err().code();
    let (arg, rank) = (Class::Arg as i32, Class::Rank as i32);
    let default = DISTRIBUTE_DFLT_DARG;
    assert_eq!(class(make(2, 0, 8, DISTRIBUTE_NONE, default, 2)), arg);
    assert_eq!(class(make(3, 0, 8, DISTRIBUTE_BLOCK, default, 2)), arg);
    assert_eq!(class(make(2, 2, 8, DISTRIBUTE_BLOCK, default, 2)), rank);
    assert_eq!(class(make(2, 0, 8, DISTRIBUTE_BLOCK, 3, 2)), arg);
    assert_eq!(class(make(2, 0, 8, DISTRIBUTE_CYCLIC, 0, 2)), arg);
    assert_eq!(class(make(2, 0, 0, DISTRIBUTE_CYCLIC, 1, 2)), arg);
    assert_eq!(class(make(2, 0, 8, 99, 1, 2)), arg);
    // Blocks far longer than the array.
    let wide = make(2, 1, 1 << 61, DISTRIBUTE_CYCLIC, i32::MAX, 2);
    assert_eq!(class(wide), Class::ValueTooLarge as i32);
    let large = make(2, 1, 1 << 40, DISTRIBUTE_CYCLIC, i32::MAX, 2).unwrap();
    let datatype = large.resolve("large").unwrap();
    assert_eq!(datatype.extent(), 4 << 40);
    assert_eq!(
        type_get_envelope(datatype).unwrap(),
        (7, 0, 1, 1, Combiner::Darray as i32)
    );
    type_free(large).unwrap();
}

#[test]
fn predefined_types_are_as_the_compiler_has_them() {
    let facts = |name| {
        let datatype = named(name).resolve("datatype").unwrap();
        assert!(datatype.is_committed());
        (
            datatype.size(),
            datatype.extent(),
            datatype.true_extent(),
            datatype.is_contiguous(),
        )
    };
    assert_eq!(facts("MPI_LONG_DOUBLE"), (16, 16, 16, true));
    assert_eq!(facts("MPI_DOUBLE_INT"), (12, 16, 12, false));
    assert_eq!(facts("MPI_LONG_INT"), (12, 16, 12, false));
    assert_eq!(facts("MPI_SHORT_INT"), (6, 8, 8, false));
    assert_eq!(facts("MPI_LONG_DOUBLE_INT"), (20, 32, 20, false));
    assert_eq!(facts("MPI_2INT"), (8, 8, 8, true));
    assert_eq!(facts("MPI_COMPLEX32"), (32, 32, 32, true));
    assert_eq!(facts("MPI_COMPLEX4"), (4, 4, 4, true));
    assert_eq!(facts("MPI_WCHAR"), (4, 4, 4, true));
    assert_eq!(byte().named().unwrap().name, "MPI_BYTE");
    assert!(NAMED.windows(2).all(|pair| pair[0].raw < pair[1].raw));
    for gap in [0x200, 0x204, 0x211, 0x2bf, 0x2ea, 0x2f4] {
        assert!(Handle::<Datatype>::from_raw(gap).resolve("datatype").is_err());
    }
}

#[test]
fn markers_of_mpi_1_set_bounds() {
    let types = [named("MPI_LB"), named("MPI_INT"), named("MPI_UB")];
    let (lengths, places) = ([1, 1, 1], [-8, 0, 32]);
    let new = type_create_struct(3, Counts::Int(&lengths), Counts::Large(&places), &types).unwrap();
    let datatype = new.resolve("datatype").unwrap();
    assert_eq!(
        (
            datatype.lb(),
            datatype.extent(),
            datatype.true_extent(),
            datatype.size()
        ),
        (-8, 40, 4, 4)
    );
    type_free(new).unwrap();
}

#[test]
fn large_types_neither_overflow_nor_take_memory() {
    let double = named("MPI_DOUBLE").resolve("double").unwrap();
    let column = type_vector(1 << 40, 1, 3, double, Width::Large).unwrap();
    let datatype = column.resolve("column").unwrap();
    assert_eq!(
        (datatype.size(), datatype.extent()),
        (1 << 43, ((1 << 40) - 1) * 24 + 8)
    );
    let class = |result: Result<Handle<Datatype>>| result.unwrap_err().code();
    assert_eq!(
        class(type_contiguous(1 << 30, datatype, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(
        class(type_vector(2, 1, 1 << 60, datatype, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(
        class(type_create_hvector(3, 1, i64::MAX, double, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(
        class(type_create_resized(double, i64::MAX, 1, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(class(type_contiguous(-1, double, Width::Int)), Class::Count as i32);
    assert_eq!(class(type_vector(1, -1, 1, double, Width::Int)), Class::Arg as i32);
    assert!(datatype.bytes(1 << 22).is_err());
    type_free(column).unwrap();
}

#[test]
fn contents_come_back() {
    let int = named("MPI_INT").resolve("int").unwrap();
    let row = type_vector(3, 2, 5, int, Width::Int).unwrap();
    let pair = type_create_struct(
        2,
        Counts::Int(&[1, 4]),
        Counts::Large(&[0, 100]),
        &[named("MPI_INT"), row],
    )
    .unwrap();
    type_free(row).unwrap();
    let pair = pair.resolve("pair").unwrap();
    assert_eq!(type_get_envelope(pair).unwrap(), (3, 2, 0, 2, Combiner::Struct as i32));
    let (mut integers, mut addresses, mut types) = ([0; 3], [0; 2], [Handle::NULL; 2]);
    type_get_contents(pair, 3, 2, 0, 2, &mut integers, &mut addresses, &mut [], &mut types).unwrap();
    assert_eq!((integers, addresses, types[0]), ([2, 1, 4], [0, 100], named("MPI_INT")));
    let row = types[1].resolve("row").unwrap();
    assert_eq!(type_get_envelope(row).unwrap(), (3, 0, 0, 1, Combiner::Vector as i32));
    type_get_contents(row, 3, 0, 0, 1, &mut integers, &mut [], &mut [], &mut types[..1]).unwrap();
    assert_eq!((integers, types[0]), ([3, 2, 5], named("MPI_INT")));
    assert!(type_get_contents(row, 2, 0, 0, 1, &mut integers[..2], &mut [], &mut [], &mut types[..1]).is_err());
    assert!(type_get_contents(int, 0, 0, 0, 0, &mut [], &mut [], &mut [], &mut []).is_err());

    let wide = type_create_hindexed(1, Counts::Large(&[7]), Counts::Large(&[-3]), int).unwrap();
    let wide = wide.resolve("wide").unwrap();
    assert_eq!(
        type_get_envelope(wide).unwrap(),
        (0, 0, 3, 1, Combiner::Hindexed as i32)
    );
    let mut large = [0; 3];
    type_get_contents(wide, 0, 0, 3, 1, &mut [], &mut [], &mut large, &mut types).unwrap();
    assert_eq!(large, [1, 7, -3]);
    for handle in [pair.handle(), row.handle(), wide.handle()] {
        type_free(handle).unwrap();
    }
}

#[test]
fn sizes_are_matched() {
    use crate::constants::{TYPECLASS_COMPLEX, TYPECLASS_INTEGER, TYPECLASS_REAL};
    assert_eq!(type_match_size(TYPECLASS_REAL, 8).unwrap(), named("MPI_REAL8"));
    assert_eq!(type_match_size(TYPECLASS_INTEGER, 2).unwrap(), named("MPI_INTEGER2"));
    assert_eq!(type_match_size(TYPECLASS_COMPLEX, 16).unwrap(), named("MPI_COMPLEX16"));
    assert!(type_match_size(TYPECLASS_REAL, 5).is_err());
    assert!(type_match_size(7, 4).is_err());
}

#[test]
fn predefined_types_cannot_be_freed_and_null_buffers_are_refused() {
    assert_eq!(type_free(named("MPI_INT")).unwrap_err().code(), Class::Type as i32);
    let int = named("MPI_INT").resolve("int").unwrap();
    let null = std::ptr::null();
    assert_eq!(
        int.check_buffer("buf", null, 1).unwrap_err().code(),
        Class::Buffer as i32
    );
    assert!(int.check_buffer("buf", null, 0).is_ok());
    let value = 7i32;
    let place = (&raw const value).addr() as i64;
    let absolute = type_create_hindexed(1, Counts::Int(&[1]), Counts::Large(&[place]), int).unwrap();
    let datatype = absolute.resolve("absolute").unwrap();
    assert!(datatype.check_buffer("buf", null, 1).is_ok());
    assert!(datatype.check_committed("datatype").is_err());
    type_commit(datatype).unwrap();
    datatype.check_committed("datatype").unwrap();
    let _exposed = (&raw const value).expose_provenance();
    let mut packed = Vec::new();
    // SAFETY: from address zero, the type lies where `value` is.
    unsafe { datatype.pack(null.cast(), 1, &mut packed) };
    assert_eq!(packed, value.to_ne_bytes());
    type_free(absolute).unwrap();
}
