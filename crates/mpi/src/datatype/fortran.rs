//! Fortran's types by precision and range (MPI-5.0 §19.1.5): predefined, though without a name.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::NAMED;
use super::contents::{Argument, Combiner, Definition, Origin, Recipe};
use super::{Datatype, Type};
use crate::constants::UNDEFINED;
use crate::counts::Width;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;

/// (decimal digits, decimal exponent, real, complex) of the kinds that compilers offer on x86-64.
const REALS: [(i32, i32, u32, u32); 4] = [
    (6, 37, 0x2d2, 0x2db),
    (15, 307, 0x2da, 0x2e3),
    // Ten bytes of sixteen, as C has them.
    (18, 4931, 0x220, 0x224),
    (33, 4931, 0x2e2, 0x2eb),
];

/// (decimal digits, integer)
const INTEGERS: [(i32, u32); 5] = [(2, 0x2c1), (4, 0x2c9), (9, 0x2d1), (18, 0x2d9), (38, 0x2e1)];

/// `MPI_Type_create_f90_real`: at least `p` decimal digits and an exponent of `r`. Either may be `MPI_UNDEFINED`.
pub fn type_create_f90_real(p: i32, r: i32) -> Result<Handle<Datatype>> {
    find(Combiner::F90Real, &[p, r])
}

/// `MPI_Type_create_f90_complex`: of two such reals.
pub fn type_create_f90_complex(p: i32, r: i32) -> Result<Handle<Datatype>> {
    find(Combiner::F90Complex, &[p, r])
}

/// `MPI_Type_create_f90_integer`: at least `r` decimal digits.
pub fn type_create_f90_integer(r: i32) -> Result<Handle<Datatype>> {
    find(Combiner::F90Integer, &[r])
}

/// The request: combiner and numbers.
type Known = HashMap<(i32, Box<[i32]>), Handle<Datatype>>;

/// The same handle for the same numbers.
pub(super) fn find(combiner: Combiner, numbers: &[i32]) -> Result<Handle<Datatype>> {
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let key = (combiner as i32, numbers.into());
    if let Some(handle) = known.get(&key) {
        return Ok(*handle);
    }
    let raw = select(combiner, numbers).ok_or_else(|| unavailable(combiner, numbers))?;
    let named = NAMED
        .iter()
        .find(|named| named.raw == raw)
        .unwrap_or_else(|| unreachable!("the tables hold predefined types"));
    let datatype = Datatype::new(Definition {
        described: Type::predefined(named),
        origin: Arc::new(Origin::Kind(Recipe::of(
            combiner,
            Width::Int,
            &[Argument::Integers(numbers)],
        )?)),
    });
    datatype.committed.store(true, Ordering::Relaxed);
    let handle = Datatype::insert(datatype)?;
    known.insert(key, handle);
    Ok(handle)
}

/// The smallest type that holds such numbers.
fn select(combiner: Combiner, numbers: &[i32]) -> Option<u32> {
    let enough = |offered: i32, wanted: i32| wanted == UNDEFINED || offered >= wanted;
    match *numbers {
        [p, r] if p != UNDEFINED || r != UNDEFINED => {
            let kind = REALS
                .iter()
                .find(|(digits, exponent, ..)| enough(*digits, p) && enough(*exponent, r))?;
            Some(if combiner == Combiner::F90Real { kind.2 } else { kind.3 })
        }
        [r] if r != UNDEFINED => INTEGERS.iter().find(|(digits, _)| *digits >= r).map(|kind| kind.1),
        _ => None,
    }
}

#[cold]
fn unavailable(combiner: Combiner, numbers: &[i32]) -> Error {
    match *numbers {
        [p, r] => fail!(Arg, "p={p}, r={r}: there is no such {combiner:?}"),
        _ => fail!(Arg, "r={}: there is no such {combiner:?}", numbers[0]),
    }
}
