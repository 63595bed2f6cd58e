//! Packing into the user's own buffers (MPI-5.0 §5.2).

use std::ffi::c_void;

use super::Datatype;
use crate::comm::Comm;
use crate::device;
use crate::error::{Error, Result};
use crate::fail;

/// `MPI_Pack`: append `incount` elements to `outbuf` at `position`, which moves on.
///
/// # Safety
/// `inbuf` must be readable where the elements lie, `outbuf` writable for `outsize` bytes; they must not overlap.
#[inline(always)]
pub unsafe fn pack(
    inbuf: *const c_void,
    incount: i64,
    datatype: &'static Datatype,
    outbuf: *mut c_void,
    outsize: i64,
    position: &mut i64,
    _comm: &'static Comm,
) -> Result<()> {
    let bytes = check("incount", incount, datatype, "outsize", outsize, *position)?;
    let kinds = [
        datatype.check_buffer("inbuf", inbuf, incount)?,
        super::check_packed("outbuf", outbuf, bytes)?,
    ];
    // SAFETY: the caller's promise; the bytes fit behind `position`.
    unsafe {
        let out = outbuf.cast::<u8>().add(*position as usize);
        if kinds.iter().any(|kind| kind.is_device()) {
            let packed = device::pack(datatype, inbuf.cast(), incount, 0..bytes as u64, out);
            packed.map_err(|error| device::failed(&error))?;
        } else {
            datatype.pack_range(inbuf.cast(), incount, 0, bytes, out);
        }
    }
    *position += bytes;
    Ok(())
}

/// `MPI_Unpack`: take `outcount` elements from `inbuf` at `position`, which moves on.
///
/// # Safety
/// `inbuf` must be readable for `insize` bytes, `outbuf` writable where the elements lie; they must not overlap.
#[inline(always)]
pub unsafe fn unpack(
    inbuf: *const c_void,
    insize: i64,
    position: &mut i64,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: &'static Datatype,
    _comm: &'static Comm,
) -> Result<()> {
    let bytes = check("outcount", outcount, datatype, "insize", insize, *position)?;
    let kinds = [
        super::check_packed("inbuf", inbuf, bytes)?,
        datatype.check_buffer("outbuf", outbuf, outcount)?,
    ];
    datatype.check_apart("outbuf", outcount)?;
    // SAFETY: the caller's promise; the bytes lie within `insize`.
    unsafe {
        let packed = inbuf.cast::<u8>().add(*position as usize);
        if kinds.iter().any(|kind| kind.is_device()) {
            let unpacked = device::unpack(datatype, outbuf.cast(), outcount, 0..bytes as u64, packed);
            unpacked.map_err(|error| device::failed(&error))?;
        } else {
            datatype.unpack_range(packed, outbuf.cast(), outcount, 0, bytes);
        }
    }
    *position += bytes;
    Ok(())
}

/// `MPI_Pack_size`: bytes that `incount` elements take when packed.
pub fn pack_size(incount: i64, datatype: &'static Datatype, _comm: &'static Comm) -> Result<i64> {
    datatype.check_committed("datatype")?;
    datatype.bytes(incount)
}

/// Bytes to move, if they fit into the packed buffer behind `position`.
#[inline(always)]
fn check(counted: &str, count: i64, datatype: &Datatype, limited: &str, limit: i64, position: i64) -> Result<i64> {
    let bytes = count.checked_mul(datatype.size());
    match bytes {
        Some(bytes)
            if datatype.is_committed()
                && count >= 0
                && (0..=limit).contains(&position)
                && bytes <= limit - position =>
        {
            Ok(bytes)
        }
        _ => Err(complaint(counted, count, datatype, limited, limit, position)),
    }
}

/// The error of arguments that `check` refused.
#[cold]
fn complaint(counted: &str, count: i64, datatype: &Datatype, limited: &str, limit: i64, position: i64) -> Error {
    if let Err(error) = datatype.check_committed("datatype") {
        return error;
    }
    if count < 0 {
        return fail!(Count, "{counted}={count} is negative");
    }
    if position < 0 || position > limit {
        return fail!(Arg, "position={position} does not lie within {limited}={limit}");
    }
    match datatype.bytes(count) {
        Err(error) => error,
        Ok(bytes) => fail!(
            Truncate,
            "{counted}={count} needs {bytes} bytes, but {limited}={limit} leaves {} behind position={position}",
            limit - position
        ),
    }
}
