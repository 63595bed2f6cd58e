//! The external32 representation (MPI-5.0 §5.3, §14.5.2): big-endian, IEEE, sizes that are the same everywhere.
//!
//! Elements pass through a packed copy in the machine's own representation.

use std::ffi::{CStr, c_void};

use isthmus_datatype::predefined::{Element, Foreign};

use super::Datatype;
use crate::device::{Mirrors, Use};
use crate::error::{Error, Result, room};
use crate::fail;

mod quad;

/// `MPI_Pack_external`: append `incount` elements to `outbuf` at `position`, which moves on.
///
/// # Safety
/// `inbuf` must be readable where the elements lie, `outbuf` writable for `outsize` bytes; they must not overlap.
pub unsafe fn pack_external(
    datarep: &CStr,
    inbuf: *const c_void,
    incount: i64,
    datatype: &'static Datatype,
    outbuf: *mut c_void,
    outsize: i64,
    position: &mut i64,
) -> Result<()> {
    let bytes = check(datarep, ("incount", incount), datatype, ("outsize", outsize), *position)?;
    datatype.check_buffer("inbuf", inbuf, incount)?;
    super::check_packed("outbuf", outbuf, bytes)?;
    let mut mirrors = Mirrors::default();
    let input = mirrors.host("inbuf", inbuf.cast_mut().cast(), incount, datatype, Use::Reads)?;
    let out = outbuf.cast::<u8>().wrapping_add(*position as usize);
    let out = mirrors.host("outbuf", out, bytes, super::byte(), Use::Writes)?;
    mirrors.load()?;
    // SAFETY: the caller's promise, or host memory that stands for the buffer.
    let foreign = unsafe { to_external(datatype, input, incount)? };
    // SAFETY: as above; the bytes fit behind `position`.
    unsafe { std::ptr::copy_nonoverlapping(foreign.as_ptr(), out, foreign.len()) };
    mirrors.store()?;
    *position += bytes;
    Ok(())
}

/// `MPI_Unpack_external`: take `outcount` elements from `inbuf` at `position`, which moves on.
///
/// # Safety
/// `inbuf` must be readable for `insize` bytes, `outbuf` writable where the elements lie; they must not overlap.
pub unsafe fn unpack_external(
    datarep: &CStr,
    inbuf: *const c_void,
    insize: i64,
    position: &mut i64,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: &'static Datatype,
) -> Result<()> {
    let bytes = check(datarep, ("outcount", outcount), datatype, ("insize", insize), *position)?;
    super::check_packed("inbuf", inbuf, bytes)?;
    datatype.check_buffer("outbuf", outbuf, outcount)?;
    datatype.check_apart("outbuf", outcount)?;
    if bytes > 0 {
        let mut mirrors = Mirrors::default();
        let input = inbuf.cast_mut().cast::<u8>().wrapping_add(*position as usize);
        let input = mirrors.host("inbuf", input, bytes, super::byte(), Use::Reads)?;
        let output = mirrors.host("outbuf", outbuf.cast(), outcount, datatype, Use::Writes)?;
        mirrors.load()?;
        // SAFETY: the caller's promise, or host memory that stands for the buffers; the bytes lie within `insize`.
        unsafe {
            let foreign = std::slice::from_raw_parts(input, bytes as usize);
            from_external(datatype, foreign, output, outcount)?;
        }
        mirrors.store()?;
    }
    *position += bytes;
    Ok(())
}

/// What `count` elements at `buffer` are in external32.
///
/// # Safety
/// The elements must be readable.
pub(crate) unsafe fn to_external(datatype: &Datatype, buffer: *const u8, count: i64) -> Result<Vec<u8>> {
    let mut native = room(datatype.bytes(count)? as usize, "a packed copy")?;
    // SAFETY: the caller's promise.
    unsafe { datatype.pack(buffer, count, &mut native) };
    let mut foreign = room(
        (count * datatype.signature().foreign_size()) as usize,
        "the external32 representation",
    )?;
    let mut rest = &native[..];
    each_run(datatype, count, |element, form, count| {
        let (run, behind) = rest.split_at((count * element.size()) as usize);
        rest = behind;
        export(element, form, run, &mut foreign)
    })?;
    Ok(foreign)
}

/// Take elements from external32, which may end early, to at most `count` at `buffer`: how many bytes they are there.
///
/// # Safety
/// The elements must be writable.
pub(crate) unsafe fn from_external(datatype: &Datatype, foreign: &[u8], buffer: *mut u8, count: i64) -> Result<i64> {
    let mut native = room(datatype.bytes(count)? as usize, "a packed copy")?;
    let mut rest = foreign;
    each_run(datatype, count, |element, form, count| {
        let bytes = (count * form.size(element)) as usize;
        // Of an element that is cut nothing is known.
        let whole = rest.len().min(bytes) / form.size(element).max(1) as usize * form.size(element) as usize;
        let (run, behind) = rest.split_at(whole);
        rest = if whole < bytes { &[] } else { behind };
        import(element, form, run, &mut native);
        Ok(())
    })?;
    // SAFETY: the caller's promise.
    unsafe { datatype.unpack(&native, buffer, count) };
    Ok(native.len() as i64)
}

/// `MPI_Pack_external_size`: bytes that `incount` elements take.
pub fn pack_external_size(datarep: &CStr, incount: i64, datatype: &'static Datatype) -> Result<i64> {
    foreign_bytes(datarep, ("incount", incount), datatype)
}

fn foreign_bytes(datarep: &CStr, (counted, count): (&str, i64), datatype: &Datatype) -> Result<i64> {
    if datarep != c"external32" {
        return Err(fail!(UnsupportedDatarep, "datarep={datarep:?} is not \"external32\""));
    }
    datatype.check_committed("datatype")?;
    if count < 0 {
        return Err(fail!(Count, "{counted}={count} is negative"));
    }
    // The native size must fit as well: it is at least as large.
    datatype.bytes(count)?;
    Ok(count * datatype.signature().foreign_size())
}

/// Bytes to move, if they fit into the packed buffer behind `position`.
fn check(
    datarep: &CStr,
    (counted, count): (&str, i64),
    datatype: &Datatype,
    (limited, limit): (&str, i64),
    position: i64,
) -> Result<i64> {
    let bytes = foreign_bytes(datarep, (counted, count), datatype)?;
    if position < 0 || position > limit {
        return Err(fail!(Arg, "position={position} does not lie within {limited}={limit}"));
    }
    if bytes > limit - position {
        return Err(fail!(
            Truncate,
            "{counted}={count} needs {bytes} bytes, but {limited}={limit} leaves {} behind position={position}",
            limit - position
        ));
    }
    Ok(bytes)
}

/// The runs of equal basic elements of `count` elements of `datatype`, in order.
fn each_run(datatype: &Datatype, count: i64, mut visit: impl FnMut(Element, Foreign, i64) -> Result<()>) -> Result<()> {
    let signature = datatype.signature();
    match signature.only_run() {
        Some((element, form, each)) => visit(element, form, each * count),
        // Of nothing there may be any number.
        None if datatype.size() == 0 => Ok(()),
        None => (0..count).try_for_each(|_| signature.visit_runs(&mut visit)),
    }
}

/// What an element is a number of: complex ones are two.
fn part_size(element: Element) -> usize {
    let parts = match element {
        Element::C16 | Element::C32 | Element::C64 | Element::CX87 | Element::C128 => 2,
        _ => 1,
    };
    element.size() as usize / parts
}

fn is_x87(element: Element) -> bool {
    matches!(element, Element::X87 | Element::CX87)
}

/// Append to `out` what a run of elements is in external32.
fn export(element: Element, form: Foreign, run: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let size = part_size(element);
    for part in run.chunks_exact(size) {
        let from = out.len();
        match form {
            _ if is_x87(element) => out.extend_from_slice(&quad::from_extended(array(part)).to_le_bytes()),
            Foreign::Same => out.extend_from_slice(part),
            Foreign::Half => out.extend_from_slice(narrow(element, part)?),
        }
        out[from..].reverse();
    }
    Ok(())
}

/// Append to `out` what a run of external32 is here.
fn import(element: Element, form: Foreign, run: &[u8], out: &mut Vec<u8>) {
    let size = part_size(element);
    for part in run.chunks_exact(form.size(element) as usize * size / element.size() as usize) {
        let from = out.len();
        out.extend(part.iter().rev());
        if is_x87(element) {
            let extended = quad::to_extended(u128::from_le_bytes(array(&out[from..])));
            out[from..].copy_from_slice(&extended);
        } else if form == Foreign::Half {
            let is_negative = is_signed(element) && out.last().is_some_and(|top| top & 0x80 != 0);
            out.resize(from + size, if is_negative { 0xff } else { 0 });
        }
    }
}

/// Is the narrow form a signed number? A wide character's is not.
fn is_signed(element: Element) -> bool {
    element == Element::I64
}

/// The low half, if the upper one says nothing.
fn narrow(element: Element, part: &[u8]) -> Result<&[u8]> {
    let (low, high) = part.split_at(part.len() / 2);
    let is_negative = is_signed(element) && low.last().is_some_and(|top| top & 0x80 != 0);
    let extension = if is_negative { 0xff } else { 0 };
    if high.iter().any(|byte| *byte != extension) {
        return Err(does_not_fit(part));
    }
    Ok(low)
}

#[cold]
fn does_not_fit(part: &[u8]) -> Error {
    let (mut digits, bits) = (part.to_vec(), part.len() * 4);
    digits.reverse();
    let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    fail!(
        Conversion,
        "the value 0x{digits} does not fit the {bits} bits that external32 has for it"
    )
}

/// Sixteen bytes.
fn array(part: &[u8]) -> [u8; 16] {
    part.try_into()
        .unwrap_or_else(|_| unreachable!("extended and quadruple numbers take sixteen bytes"))
}
