//! Pairs of a value and an index, for `MPI_MINLOC` and `MPI_MAXLOC` (MPI-5.0 §6.9.4): those that have names, and others that are
//! predefined without one.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::contents::{Combiner, Definition, Origin, Recipe};
use super::predefined::{Family, Named};
use super::{Datatype, Shape};
use crate::counts::Width;
use crate::error::Result;
use crate::handle::Handle;
use crate::op;

/// `MPI_Type_get_value_index`: the type of such a value with such an index, the same for the same types; null if there is none.
pub fn type_get_value_index(value_type: &'static Datatype, index_type: &'static Datatype) -> Result<Handle<Datatype>> {
    let (value, index) = (value_type.handle().raw(), index_type.handle().raw());
    let pair = match (value, index) {
        (FLOAT, INT) => 0x228,
        (DOUBLE, INT) => 0x229,
        (LONG, INT) => 0x22a,
        (INT, INT) => 0x22b,
        (SHORT, INT) => 0x22c,
        (LONG_DOUBLE, INT) => 0x22d,
        (REAL, REAL) => 0x230,
        (DOUBLE_PRECISION, DOUBLE_PRECISION) => 0x231,
        (INTEGER, INTEGER) => 0x232,
        _ => return unnamed(value_type, index_type),
    };
    Ok(Handle::from_raw(pair))
}

const SHORT: u32 = 0x208;
const INT: u32 = 0x209;
const LONG: u32 = 0x20a;
const FLOAT: u32 = 0x210;
const DOUBLE: u32 = 0x214;
const INTEGER: u32 = 0x219;
const REAL: u32 = 0x21a;
const DOUBLE_PRECISION: u32 = 0x21c;
const LONG_DOUBLE: u32 = 0x220;

/// What has been asked for: value and index.
type Known = HashMap<(u32, u32), Handle<Datatype>>;

/// The pair of two types with names, if their kinds can be compared.
fn unnamed(value_type: &Datatype, index_type: &Datatype) -> Result<Handle<Datatype>> {
    use Family::{CInteger, FloatingPoint, FortranInteger, MultiLanguage};
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let (Some(value), Some(index)) = (basic(value_type), basic(index_type)) else {
        return Ok(Handle::NULL);
    };
    let fits = matches!(value.family, CInteger | FortranInteger | MultiLanguage | FloatingPoint)
        && matches!(index.family, CInteger | FortranInteger | MultiLanguage);
    let ([element], [place]) = (value.elements, index.elements) else {
        return Ok(Handle::NULL);
    };
    if !fits || !op::locates(*element, *place) {
        return Ok(Handle::NULL);
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(handle) = known.get(&(value.raw, index.raw)) {
        return Ok(*handle);
    }
    // Predefined types live as long as the process.
    let named: &'static Named = Box::leak(Box::new(Named::pair(value, index)));
    let recipe = Recipe::new(Combiner::ValueIndex, Width::Int);
    let datatype = Datatype::new(Definition {
        shape: Arc::new(Shape::named(named)),
        origin: Arc::new(Origin::Kind(named, recipe.datatype(value_type).datatype(index_type))),
    });
    datatype.committed.store(true, Ordering::Relaxed);
    let handle = Datatype::insert(datatype)?;
    known.insert((value.raw, index.raw), handle);
    Ok(handle)
}

/// What it is, if it has a name of the standard's.
fn basic(datatype: &Datatype) -> Option<&'static Named> {
    datatype.named().filter(|named| named.raw == datatype.handle().raw())
}
