//! 20,000 random datatypes against the definition (MPI-5.0 §5): what a type map means, written down entry by entry.
//!
//! The same ones each time: `ISTHMUS_SEED=N` makes up others, and the full test fifty times as many. What fails is cut down
//! to the least that does, and printed.
#![allow(unsafe_code)] // The typed procedures take the user's addresses.

mod build;
mod memory;
mod paraphrase;
mod recipe;
mod type_map;

use std::ffi::c_void;

use isthmus_mpi::comm::{COMM_SELF, Comm};
use isthmus_mpi::constants::UNDEFINED;
use isthmus_mpi::counts::Width;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::error::Class;
use isthmus_mpi::procedures as mpi;
use isthmus_mpi::status::Status;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestCaseResult, TestRunner};

use build::{Owned, build, recall};
use memory::Memory;
use paraphrase::{Dice, arrange, paraphrase};
use recipe::{Foreign, Recipe, recipes};
use type_map::{Entry, TypeMap};

/// A recipe, and what else is tried with it.
#[derive(Debug, Clone)]
struct Trial {
    recipe: Recipe,
    count: i64,
    width: Width,
    seed: u64,
}

fn trials() -> impl Strategy<Value = Trial> {
    (recipes(), 0..4i64, any::<bool>(), any::<u64>()).prop_map(|(recipe, count, wide, seed)| Trial {
        recipe,
        count,
        width: if wide { Width::Large } else { Width::Int },
        seed,
    })
}

#[test]
fn random_datatypes_are_what_their_type_maps_say() {
    mpi::init().expect("a singleton needs nobody");
    let seed = std::env::var("ISTHMUS_SEED").map_or(1, |seed| seed.parse().expect("ISTHMUS_SEED is a number"));
    let times = if std::env::var_os("ISTHMUS_TEST_FULL").is_some() {
        50
    } else {
        1
    };
    let config = ProptestConfig {
        cases: 20_000 * times,
        max_global_rejects: u32::MAX,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    if let Err(failure) = TestRunner::new(config).run(&trials(), |trial| check(&trial)) {
        panic!("ISTHMUS_SEED={seed}: {failure}");
    }
    mpi::finalize().expect("nothing is left");
}

fn check(trial: &Trial) -> TestCaseResult {
    let map = TypeMap::of(&trial.recipe);
    prop_assume!(map.entries.len() < 1000);
    let made = build(&trial.recipe, trial.width);
    let mut dice = Dice::new(trial.seed);
    bounds(&made, &map)?;
    packing(&made, &map, trial.count, &mut dice)?;
    partial_data(&made, &map, trial.count, &mut dice)?;
    external32(&made, &map, trial.count, &mut dice)?;
    prop_assert_eq!(recall(made.get(), trial.width), trial.recipe.clone());
    canonical_form(&made, &map, trial, &mut dice)?;
    messages(&made, &map, trial, &mut dice)
}

fn bounds(made: &Owned, map: &TypeMap) -> TestCaseResult {
    let (from, to) = map.true_bounds();
    prop_assert_eq!(mpi::type_size(made.get()), Ok(map.size()));
    prop_assert_eq!(mpi::type_get_extent(made.get()), Ok((map.lb(), map.extent())));
    prop_assert_eq!(mpi::type_get_true_extent(made.get()), Ok((from, to - from)));
    Ok(())
}

fn comm() -> &'static Comm {
    COMM_SELF.resolve("comm").expect("MPI is initialized")
}

/// The whole at once, and piece by piece in any order.
fn packing(made: &Owned, map: &TypeMap, count: i64, dice: &mut Dice) -> TestCaseResult {
    let datatype = made.get();
    let places = map.places(count);
    let total = places.len() as i64;
    prop_assert!(!datatype.is_contiguous() || places.iter().copied().eq(0..total));
    prop_assert_eq!(mpi::pack_size(count, datatype, comm()), Ok(total));

    let mut memory = Memory::around(map, count);
    let wanted: Vec<u8> = places.iter().map(|place| memory.at(*place)).collect();
    let (mut packed, mut position) = (vec![0xee; wanted.len() + 3], 3);
    // SAFETY: `memory` spans the elements; `packed` has room for them behind three bytes.
    unsafe {
        let (from, to) = (memory.address().cast(), packed.as_mut_ptr().cast());
        mpi::pack(from, count, datatype, to, total + 3, &mut position, comm()).expect("packed");
    }
    prop_assert_eq!((position, &packed[..3]), (total + 3, [0xee; 3].as_slice()));
    prop_assert_eq!(&packed[3..], &wanted);

    let stream: Vec<u8> = (0..total).map(|i| 1 + (i % 255) as u8).collect();
    let mut expected = Memory::around(map, count);
    for (place, byte) in places.iter().zip(&stream) {
        expected.set(*place, *byte);
    }
    let mut position = 0;
    // SAFETY: as above.
    let unpacked = unsafe {
        let (from, to) = (stream.as_ptr().cast(), memory.address().cast());
        mpi::unpack(from, total, &mut position, to, count, datatype, comm())
    };
    if map.overlaps(count) {
        prop_assert_eq!(unpacked.unwrap_err().code(), Class::Type as i32);
    } else {
        unpacked.expect("unpacked");
        prop_assert_eq!((position, &memory.bytes), (total, &expected.bytes));
    }

    let mut cuts = vec![0, total];
    cuts.extend((0..dice.roll(4)).map(|_| dice.roll(total + 1)));
    cuts.sort_unstable();
    let mut pieces: Vec<(i64, i64)> = cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pieces.rotate_left(dice.roll(cuts.len() as i64 - 1) as usize);
    // Underneath, elements that overlap get what comes last.
    let (mut memory, mut expected) = (Memory::around(map, count), Memory::around(map, count));
    let mut packed = vec![0; wanted.len()];
    for (from, to) in &pieces {
        // SAFETY: as above; a piece lies within the stream.
        unsafe {
            datatype.pack_range(
                memory.address(),
                count,
                *from,
                *to,
                packed[*from as usize..].as_mut_ptr(),
            )
        };
    }
    prop_assert_eq!(&packed, &wanted);
    for (from, to) in pieces {
        for i in from as usize..to as usize {
            expected.set(places[i], stream[i]);
        }
        // SAFETY: as above.
        unsafe { datatype.unpack_range(stream[from as usize..].as_ptr(), memory.address(), count, from, to) };
        prop_assert_eq!(&memory.bytes, &expected.bytes);
    }
    Ok(())
}

/// A message that ends anywhere.
fn partial_data(made: &Owned, map: &TypeMap, count: i64, dice: &mut Dice) -> TestCaseResult {
    let datatype = made.get();
    let total = count * map.size();
    let mut status = Status {
        bytes: dice.roll(total + 1),
        ..Status::EMPTY
    };
    let ends: Vec<i64> = map
        .repeated(count)
        .scan(0, |end, entry| {
            *end += entry.number().size;
            Some(*end)
        })
        .collect();
    let elements = match status.bytes {
        0 => Some(0),
        bytes => ends.iter().position(|end| *end == bytes).map(|i| i as i64 + 1),
    };
    prop_assert_eq!(
        mpi::get_elements(&status, datatype),
        Ok(elements.unwrap_or(UNDEFINED.into()))
    );
    let whole = (map.size() > 0 && status.bytes % map.size() == 0).then(|| status.bytes / map.size());
    let whole = if status.bytes == 0 { Some(0) } else { whole };
    prop_assert_eq!(mpi::get_count(&status, datatype), Ok(whole.unwrap_or(UNDEFINED.into())));
    if let Some(elements) = elements {
        let bytes = std::mem::replace(&mut status.bytes, -1);
        mpi::status_set_elements(&mut status, datatype, elements).expect("so many are possible");
        prop_assert_eq!(status.bytes, bytes);
    }
    Ok(())
}

/// Element by element: each number reversed, cut or extended.
fn external32(made: &Owned, map: &TypeMap, count: i64, dice: &mut Dice) -> TestCaseResult {
    let datatype = made.get();
    let bytes: i64 = map.repeated(count).map(foreign_size).sum();
    prop_assert_eq!(mpi::pack_external_size(c"external32", count, datatype), Ok(bytes));
    let salt = dice.roll(256);
    let stream: Vec<u8> = (0..bytes).map(|i| ((i * 89) ^ salt) as u8).collect();
    let (mut memory, mut expected) = (Memory::around(map, count), Memory::around(map, count));
    let mut rest = &stream[..];
    for entry in map.repeated(count) {
        let (foreign, behind) = rest.split_at(foreign_size(entry) as usize);
        rest = behind;
        let number = entry.number();
        for (place, byte) in (entry.at..).zip(native(foreign, number.parts, number.size, number.foreign)) {
            expected.set(place, byte);
        }
    }
    let mut position = 0;
    // SAFETY: `memory` spans the elements.
    let unpacked = unsafe {
        let (from, to) = (stream.as_ptr().cast(), memory.address().cast());
        mpi::unpack_external(c"external32", from, bytes, &mut position, to, count, datatype)
    };
    if map.overlaps(count) {
        prop_assert_eq!(unpacked.unwrap_err().code(), Class::Type as i32);
    } else {
        unpacked.expect("unpacked");
        prop_assert_eq!((position, &memory.bytes), (bytes, &expected.bytes));
    }

    let mut wanted = Some(vec![0xee]);
    for entry in map.repeated(count) {
        let number = entry.number();
        let here: Vec<u8> = (entry.at..entry.end()).map(|place| memory.at(place)).collect();
        let mut there = Vec::new();
        for part in here.chunks((number.size / number.parts) as usize) {
            there.extend(part.iter().rev());
        }
        there.drain(..(number.size - foreign_size(entry)) as usize);
        // Where nothing was unpacked there may be values that do not fit.
        let fits = native(&there, number.parts, number.size, number.foreign) == here;
        wanted = wanted.filter(|_| fits).map(|mut all| {
            all.extend(there);
            all
        });
    }
    let (mut packed, mut position) = (vec![0xee; 1 + bytes as usize], 1);
    // SAFETY: as above; `packed` has room behind its first byte.
    let result = unsafe {
        let (from, to) = (memory.address().cast(), packed.as_mut_ptr().cast());
        mpi::pack_external(c"external32", from, count, datatype, to, 1 + bytes, &mut position)
    };
    match wanted {
        Some(wanted) => prop_assert_eq!((result, packed, position), (Ok(()), wanted, 1 + bytes)),
        None => prop_assert_eq!(result.unwrap_err().code(), Class::Conversion as i32),
    }
    Ok(())
}

fn foreign_size(entry: Entry) -> i64 {
    match entry.number().foreign {
        Foreign::Same => entry.number().size,
        Foreign::HalfSigned | Foreign::HalfUnsigned => entry.number().size / 2,
    }
}

/// An element of external32, as this machine has it.
fn native(foreign: &[u8], parts: i64, size: i64, form: Foreign) -> Vec<u8> {
    let mut here = Vec::new();
    for part in foreign.chunks(foreign.len() / parts as usize) {
        here.extend(part.iter().rev());
    }
    let negative = form == Foreign::HalfSigned && foreign[0] & 0x80 != 0;
    here.resize(size as usize, if negative { 0xff } else { 0 });
    here
}

/// Said in other words it is the same.
fn canonical_form(made: &Owned, map: &TypeMap, trial: &Trial, dice: &mut Dice) -> TestCaseResult {
    let other = paraphrase(&trial.recipe, dice);
    let same = TypeMap::of(&other);
    // Some words change the bounds, and with them what is made of it: padding stays with what it pads.
    if same.entries != map.entries || (same.lb(), same.extent()) != (map.lb(), map.extent()) {
        return Ok(());
    }
    let again = build(&other, trial.width);
    let (a, b) = (&made.get().shape().layout, &again.get().shape().layout);
    prop_assert_eq!(a, b, "{:?}", other);
    Ok(())
}

/// What this type sends, another type with the same signature receives; a message may end between two basic elements.
fn messages(made: &Owned, map: &TypeMap, trial: &Trial, dice: &mut Dice) -> TestCaseResult {
    let elements: Vec<usize> = map.entries.iter().map(|entry| entry.basic).collect();
    if elements.len() > 200 {
        return Ok(());
    }
    let other = arrange(&elements, dice);
    let (from, to) = TypeMap::of(&other).true_bounds();
    let apart = (to - from + dice.roll(5)) * (1 - 2 * dice.roll(2));
    let other = Elements::of(
        Recipe::Resized(from, apart, Box::new(other)),
        trial.count + dice.roll(3),
        trial.width,
    );
    prop_assert!(other.map.entries.iter().map(|entry| entry.basic).eq(elements));
    let whole = Elements {
        datatype: made.get(),
        map: map.clone(),
        count: trial.count,
        _owned: None,
    };
    let status = exchange(&whole, &other, dice)?;
    prop_assert_eq!(status.bytes, trial.count * map.size());
    let count = if map.size() == 0 { 0 } else { trial.count };
    prop_assert_eq!(mpi::get_count(&status, other.datatype), Ok(count));

    let mut part: Vec<usize> = map.repeated(trial.count).map(|entry| entry.basic).take(300).collect();
    part.truncate(dice.roll(part.len() as i64 + 1) as usize);
    let recipe = arrange(&part, dice);
    let status = exchange(&Elements::of(recipe, 1, trial.width), &other, dice)?;
    prop_assert_eq!(mpi::get_elements(&status, other.datatype), Ok(part.len() as i64));
    Ok(())
}

/// So many elements of a datatype.
struct Elements {
    datatype: &'static Datatype,
    map: TypeMap,
    count: i64,
    _owned: Option<Owned>,
}

impl Elements {
    fn of(recipe: Recipe, count: i64, width: Width) -> Self {
        let owned = build(&recipe, width);
        Self {
            datatype: owned.get(),
            map: TypeMap::of(&recipe),
            count,
            _owned: Some(owned),
        }
    }
}

/// A message to oneself: as much as is sent, and no byte more, arrives.
fn exchange(sent: &Elements, received: &Elements, dice: &mut Dice) -> Result<Status, TestCaseError> {
    let mut from = Memory::around(&sent.map, sent.count);
    let mut into = Memory::around(&received.map, received.count);
    let mut expected = Memory::around(&received.map, received.count);
    for (source, target) in sent
        .map
        .places(sent.count)
        .iter()
        .zip(received.map.places(received.count))
    {
        expected.set(target, from.at(*source));
    }
    let (from, address): (*const c_void, *mut c_void) = (from.address().cast(), into.address().cast());
    // SAFETY: the memory around the elements is there until both have completed.
    let status = unsafe {
        if dice.roll(2) == 0 {
            let mut request = mpi::isend(from, sent.count, sent.datatype, 0, 5, comm()).expect("started");
            let status = mpi::recv(address, received.count, received.datatype, 0, 5, comm()).expect("received");
            mpi::wait(&mut request).expect("sent");
            status
        } else {
            let mut request = mpi::irecv(address, received.count, received.datatype, 0, 5, comm()).expect("started");
            mpi::send(from, sent.count, sent.datatype, 0, 5, comm()).expect("sent");
            mpi::wait(&mut request).expect("received")
        }
    };
    prop_assert_eq!(&into.bytes, &expected.bytes);
    Ok(status)
}
