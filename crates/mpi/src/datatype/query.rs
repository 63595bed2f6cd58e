//! What users ask of datatypes: sizes, bounds, names, elements received (MPI-5.0 §3.2.5, §5.1, §7.8, §19.1.5).

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use super::Datatype;
use super::{Element, Family, NAMED};
use crate::constants::{MAX_OBJECT_NAME, TYPECLASS_COMPLEX, TYPECLASS_INTEGER, TYPECLASS_REAL, UNDEFINED};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::status::Status;

/// `MPI_Type_size`: bytes of data in one element.
pub fn type_size(datatype: &'static Datatype) -> Result<i64> {
    Ok(datatype.size())
}

/// `MPI_Type_get_extent`: (lower bound, extent).
pub fn type_get_extent(datatype: &'static Datatype) -> Result<(i64, i64)> {
    Ok((datatype.lb(), datatype.extent()))
}

/// `MPI_Type_get_true_extent`: (true lower bound, true extent).
pub fn type_get_true_extent(datatype: &'static Datatype) -> Result<(i64, i64)> {
    Ok((datatype.true_lb(), datatype.true_extent()))
}

/// `MPIX_Type_iov_len`, of MPICH: the number of an element's first runs of bytes that are no longer than `most` together, and their bytes.
pub fn type_iov_len(datatype: &'static Datatype, most: i64) -> Result<(i64, i64)> {
    datatype.check_committed("datatype")?;
    if most >= datatype.size() {
        return Ok((datatype.described().segments(), datatype.size()));
    }
    let (mut runs, mut bytes) = (0, 0);
    datatype.described().visit_segments(0, &mut |_, length| {
        if length > most - bytes {
            return ControlFlow::Break(());
        }
        (runs, bytes) = (runs + 1, bytes + length);
        ControlFlow::Continue(())
    });
    Ok((runs, bytes))
}

/// `MPIX_Type_iov`, of MPICH: `put` is told the displacements and lengths of an element's runs of bytes, in order, of `most` at most from the
/// `first`-th on. How many those are.
pub fn type_iov(datatype: &'static Datatype, first: i64, most: i64, mut put: impl FnMut(i64, i64)) -> Result<i64> {
    datatype.check_committed("datatype")?;
    let mut runs = 0;
    if most > 0 {
        datatype.described().visit_segments(first, &mut |displacement, length| {
            put(displacement, length);
            runs += 1;
            if runs < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
    }
    Ok(runs)
}

/// `MPI_Type_commit`.
pub fn type_commit(datatype: &'static Datatype) -> Result<()> {
    datatype.committed.store(true, Ordering::Relaxed);
    Ok(())
}

/// `MPI_Type_get_name`. The null handle has a name too.
pub fn type_get_name(datatype: Handle<Datatype>) -> Result<String> {
    if datatype.is_null() {
        return Ok("MPI_DATATYPE_NULL".to_owned());
    }
    Ok(datatype.resolve("datatype")?.name().clone())
}

/// `MPI_Type_set_name`: cut to what fits.
pub fn type_set_name(datatype: &'static Datatype, type_name: &CStr) -> Result<()> {
    let mut name = type_name.to_string_lossy().into_owned();
    name.truncate(name.floor_char_boundary(MAX_OBJECT_NAME - 1));
    *datatype.name() = name;
    Ok(())
}

/// `MPI_Get_count`: whole elements received, `MPI_UNDEFINED` if the last one is cut.
pub fn get_count(status: &Status, datatype: &'static Datatype) -> Result<i64> {
    Ok(match (status.bytes, datatype.size()) {
        (0, _) => 0,
        (bytes, size) if size > 0 && bytes % size == 0 => bytes / size,
        _ => UNDEFINED.into(),
    })
}

/// `MPI_Get_elements`: basic elements received, `MPI_UNDEFINED` if the last one is cut.
pub fn get_elements(status: &Status, datatype: &'static Datatype) -> Result<i64> {
    Ok(datatype
        .signature()
        .elements_in(status.bytes)
        .unwrap_or(UNDEFINED.into()))
}

/// `MPI_Type_match_size`: the predefined Fortran type of a class with `size` bytes.
pub fn type_match_size(typeclass: i32, size: i32) -> Result<Handle<Datatype>> {
    let family = match typeclass {
        TYPECLASS_INTEGER => Family::FortranInteger,
        TYPECLASS_REAL => Family::FloatingPoint,
        TYPECLASS_COMPLEX => Family::Complex,
        _ => return Err(fail!(Arg, "typeclass={typeclass} is not one of MPI_TYPECLASS_*")),
    };
    // The types with a size in their name come behind all others.
    let sized = NAMED
        .iter()
        .filter(|named| named.raw >= 0x2c0 && named.family == family);
    let found = sized
        .into_iter()
        .find(|named| named.elements.iter().map(|e: &Element| e.size()).sum::<i64>() == size.into());
    match found {
        Some(named) => Ok(Handle::from_raw(named.raw)),
        None => Err(fail!(
            Arg,
            "size={size}: no predefined type of that class has this size"
        )),
    }
}

/// `MPI_Type_get_value_index`: the type of such a value with such an index, for `MPI_MINLOC` and `MPI_MAXLOC`; null if
/// there is none.
pub fn type_get_value_index(value_type: &'static Datatype, index_type: &'static Datatype) -> Result<Handle<Datatype>> {
    let pair = match (value_type.handle().raw(), index_type.handle().raw()) {
        (FLOAT, INT) => 0x228,
        (DOUBLE, INT) => 0x229,
        (LONG, INT) => 0x22a,
        (INT, INT) => 0x22b,
        (SHORT, INT) => 0x22c,
        (LONG_DOUBLE, INT) => 0x22d,
        (REAL, REAL) => 0x230,
        (DOUBLE_PRECISION, DOUBLE_PRECISION) => 0x231,
        (INTEGER, INTEGER) => 0x232,
        _ => return Ok(Handle::NULL),
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

/// `MPI_Status_set_elements` (MPI-5.0 §13.3): as if `count` basic elements of `datatype` had been received.
pub fn status_set_elements(status: &mut Status, datatype: &'static Datatype, count: i64) -> Result<()> {
    match datatype.signature().bytes_of(count) {
        Some(bytes) => {
            status.bytes = bytes;
            Ok(())
        }
        None => Err(fail!(Count, "count={count} basic elements of the datatype cannot be")),
    }
}
