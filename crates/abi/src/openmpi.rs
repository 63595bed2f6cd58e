//! Open MPI's ABI: handles are addresses, `libmpi.so.40`.
//!
//! A predefined handle is the address of an object that `libmpi.so.40` exports as data, or of the program's copy of it (COPY
//! relocations of programs that are not position-independent), so only the dynamic linker knows it: the library hands its table to
//! [`register`] when it is loaded. Nothing is ever read at such an address. Any other handle is one of ours in the low half of an
//! address that no object can have ([`TAG`]): so garbage is told apart without a look at memory, and arrays need no translation tables.

mod table;

use std::ffi::{c_int, c_void};

use isthmus_mpi::fail;
use isthmus_mpi::file::File;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::process;
use isthmus_mpi::status::Status;

use crate::abi::{Abi, ErrorCode, FIRST_DYNAMIC, Mpich, PREDEFINED_BITS, Predefined, Std, Word};
use crate::foreign::Foreign;
use crate::generated::constants::{self, Rank, Tag};

/// Open MPI's ABI.
pub struct OpenMpi;

/// Open MPI's `MPI_Status`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct OpenMpiStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    bytes: i64,
}

/// The upper half of handles that are no addresses: no process has memory there (on x86-64 and aarch64 the upper bits of an
/// address are all equal).
const TAG: usize = 0x8000_0000 << 32;

/// The canonical handle behind a handle of a program; garbage is made a number that names nothing.
#[inline(always)]
fn raw_in(handle: *mut c_void) -> u32 {
    let address = handle.addr();
    if address & (u32::MAX as usize) << 32 == TAG {
        return address as u32;
    }
    match table::find(address) {
        Some(canonical) => canonical,
        None => garbage(address),
    }
}

/// What names nothing, yet shows what it was where that fits.
#[cold]
fn garbage(address: usize) -> u32 {
    match u32::try_from(address) {
        // Neither dynamic nor of the standard ABI.
        Ok(raw) if raw & PREDEFINED_BITS != 0 => raw,
        Ok(raw) => raw | PREDEFINED_BITS,
        Err(_) => u32::MAX,
    }
}

#[inline(always)]
fn raw_out(raw: u32) -> *mut c_void {
    std::ptr::without_provenance_mut(match table::address_of(raw) {
        Some(address) => address,
        None => TAG | raw as usize,
    })
}

impl Abi for OpenMpi {
    type Handle = *mut c_void;
    type Status = OpenMpiStatus;

    const INDEX: usize = 2;
    const NAME: &'static str = "Open MPI's ABI (libmpi.so.40)";
    const MPI4PY: &'static str = "openmpi";
    /// That of the version whose symbols and constants these are.
    const VERSION_PREFIX: &'static str = "Open MPI v4.1.4, package: Isthmus\n";
    const VERSION: (c_int, c_int) = (-1, -1);
    const ALLOWS_THREADS: bool = true;
    const STATUS_IGNORE: usize = 0;
    const UNWEIGHTED: usize = 2;
    const WEIGHTS_EMPTY: usize = 3;
    const ALL_PVAR_HANDLES: usize = usize::MAX;

    #[inline(always)]
    fn handle_in<T: Predefined>(handle: *mut c_void) -> Handle<T> {
        Handle::from_raw(raw_in(handle))
    }

    #[inline(always)]
    fn handle_out<T: Predefined>(handle: Handle<T>) -> *mut c_void {
        raw_out(handle.raw())
    }

    fn file_in(handle: *mut c_void) -> Handle<File> {
        Handle::from_raw(raw_in(handle))
    }

    fn file_out(handle: Handle<File>) -> *mut c_void {
        raw_out(handle.raw())
    }

    #[inline(always)]
    fn word_in<W: Word>(value: c_int) -> i32 {
        W::from_openmpi(value)
    }

    #[inline(always)]
    fn word_out<W: Word>(value: i32) -> c_int {
        W::to_openmpi(value)
    }

    #[inline(always)]
    fn buffer(address: *const c_void) -> *const c_void {
        address
    }

    fn buffer_out(address: *mut c_void) -> *mut c_void {
        address
    }

    fn foreign(raw: u32) -> Option<Foreign> {
        let value = match raw & PREDEFINED_BITS {
            0 => return None,
            PREDEFINED_BITS => raw & !PREDEFINED_BITS,
            _ => raw,
        };
        let is_std = constants::TO_MPICH.get(value as usize).is_some_and(|mpich| *mpich != 0);
        let is_mpich = value >= FIRST_DYNAMIC && constants::TO_MPICH.contains(&value);
        let of = if is_std { Std::NAME } else { Mpich::NAME };
        (is_std || is_mpich).then_some(Foreign { value, of })
    }

    fn to_int(handle: *mut c_void) -> c_int {
        let raw = raw_in(handle);
        match constants::TO_FORTRAN.get(raw as usize) {
            Some(integer) => c_int::from(*integer),
            None => raw.cast_signed(),
        }
    }

    fn from_int<T: Predefined>(integer: c_int) -> *mut c_void {
        raw_out(raw_from_int(integer, T::from_fortran))
    }

    fn file_to_int(handle: *mut c_void) -> c_int {
        Self::to_int(handle)
    }

    fn file_from_int(integer: c_int) -> *mut c_void {
        raw_out(raw_from_int(integer, constants::from_fortran::file))
    }

    fn status_in(status: &OpenMpiStatus) -> Status {
        Status {
            source: Rank::from_openmpi(status.source),
            tag: Tag::from_openmpi(status.tag),
            error: Some(ErrorCode::from_openmpi(status.error)),
            bytes: status.bytes,
            cancelled: status.cancelled != 0,
        }
    }

    #[inline(always)]
    fn status_out(output: &mut OpenMpiStatus, status: &Status) {
        output.source = Rank::to_openmpi(status.source);
        output.tag = Tag::to_openmpi(status.tag);
        if let Some(error) = status.error {
            output.error = ErrorCode::to_openmpi(error);
        }
        output.cancelled = c_int::from(status.cancelled);
        output.bytes = status.bytes;
    }
}

/// The canonical handle that Fortran's integer stands for.
fn raw_from_int(integer: c_int, predefined: fn(i32) -> Option<u32>) -> u32 {
    let raw = integer.cast_unsigned();
    match predefined(integer) {
        Some(canonical) => canonical,
        None if raw >= FIRST_DYNAMIC => raw,
        None => raw | PREDEFINED_BITS,
    }
}

/// `MPI_COMM_NULL_COPY_FN` and its siblings, which are functions here: an attribute is not copied.
///
/// # Safety
/// As for any copy callback: the last is the address of a flag.
#[unsafe(export_name = "isthmus_openmpi_null_copy_fn")]
unsafe extern "C-unwind" fn null_copy_fn(
    _object: *mut c_void,
    _keyval: c_int,
    _extra_state: *mut c_void,
    _value_in: *mut c_void,
    _value_out: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { flag.write(0) };
    0
}

/// `MPI_COMM_NULL_DELETE_FN` and its siblings: nothing is done.
#[unsafe(export_name = "isthmus_openmpi_null_delete_fn")]
extern "C-unwind" fn null_delete_fn(
    _object: *mut c_void,
    _keyval: c_int,
    _value: *mut c_void,
    _extra_state: *mut c_void,
) -> c_int {
    0
}

/// What Open MPI's C++ library calls in its C library beside MPI's functions: to make operations, attributes and error handlers with
/// callbacks in C++.
#[unsafe(export_name = "isthmus_openmpi_cxx")]
extern "C-unwind" fn cxx() {
    let error = fail!(
        UnsupportedOperation,
        "operations, attributes and error handlers of MPI's C++ bindings, which were removed in MPI 3.0, are not there: the program \
         can make them by MPI's C functions"
    );
    process::end_job("libmpi_cxx.so.40", &error);
}

#[cfg(test)]
mod tests {
    use isthmus_mpi::comm::Comm;
    use isthmus_mpi::datatype::Datatype;
    use isthmus_mpi::request::Request;

    use super::table::register;
    use super::*;
    use crate::abi::INVALID;
    use crate::generated::constants::{ErrorClass, Keyval};

    /// As `libmpi.so.40` does; the tests of a process share one table.
    fn registered() -> [usize; 3] {
        static OBJECTS: [u64; 3] = [0; 3];
        let [world, double, none] = [0, 1, 2].map(|at| (&raw const OBJECTS[at]).addr());
        let rows = [[world, 0x101], [double, 0x214], [none, 0x180]];
        // SAFETY: so many rows.
        unsafe { register(rows.as_ptr(), rows.len()) };
        [world, double, none]
    }

    fn pointer(address: usize) -> *mut c_void {
        std::ptr::without_provenance_mut(address)
    }

    #[test]
    fn the_layout_is_that_which_programs_have_compiled_in() {
        assert_eq!(size_of::<OpenMpiStatus>(), 24);
        assert_eq!(std::mem::offset_of!(OpenMpiStatus, bytes), 16);
    }

    #[test]
    fn predefined_handles_are_addresses() {
        let [world, double, none] = registered();
        assert_eq!(OpenMpi::handle_in::<Comm>(pointer(world)).raw(), 0x101);
        assert_eq!(OpenMpi::handle_in::<Datatype>(pointer(double)).raw(), 0x214);
        assert_eq!(OpenMpi::handle_out(Handle::<Comm>::from_raw(0x101)).addr(), world);
        assert_eq!(OpenMpi::handle_out(Handle::<Request>::from_raw(0x180)).addr(), none);
    }

    #[test]
    fn other_handles_are_no_addresses() {
        registered();
        for raw in [0x0400_0001, 0x3fff_ffff, 0x2f3] {
            let handle = OpenMpi::handle_out(Handle::<Comm>::from_raw(raw));
            assert!(handle.addr() > isize::MAX as usize);
            assert_eq!(OpenMpi::handle_in::<Comm>(handle).raw(), raw);
        }
    }

    #[test]
    fn garbage_names_nothing() {
        let [world, ..] = registered();
        for address in [0, 1, 0x101, world + 1, world - 8, 0x4400_0000, 0x0400_0001, usize::MAX] {
            let handle = OpenMpi::handle_in::<Comm>(pointer(address));
            assert!(handle.resolve("comm").is_err(), "{address:#x}");
        }
    }

    #[test]
    fn constants_of_the_other_abis_are_told_as_such() {
        let told = |address: usize| {
            let raw = OpenMpi::handle_in::<Comm>(pointer(address)).raw();
            OpenMpi::foreign(raw).map(|foreign| (foreign.value, foreign.of))
        };
        assert_eq!(told(0x101), Some((0x101, Std::NAME)));
        assert_eq!(told(0x4400_0000), Some((0x4400_0000, Mpich::NAME)));
        assert_eq!(told(0x0c00_0000), Some((0x0c00_0000, Mpich::NAME)));
        assert_eq!(told(0), None);
    }

    #[test]
    fn integers_of_fortran_are_those_of_its_headers() {
        let [world, double, _] = registered();
        assert_eq!(OpenMpi::to_int(pointer(world)), 0);
        assert_eq!(OpenMpi::from_int::<Comm>(0).addr(), world);
        assert_eq!(OpenMpi::to_int(pointer(double)), 46);
        assert_eq!(OpenMpi::from_int::<Datatype>(46).addr(), double);
        let dynamic = OpenMpi::handle_out(Handle::<Comm>::from_raw(0x0400_0001));
        assert_eq!(OpenMpi::from_int::<Comm>(OpenMpi::to_int(dynamic)), dynamic);
        let garbage = OpenMpi::from_int::<Comm>(12345);
        assert!(OpenMpi::handle_in::<Comm>(garbage).resolve("comm").is_err());
    }

    #[test]
    fn constants_cross_both_ways() {
        assert_eq!((Rank::from_openmpi(-2), Rank::to_openmpi(-3)), (-3, -2));
        assert_eq!(Rank::from_openmpi(-3), INVALID);
        assert_eq!((Tag::from_openmpi(-1), Tag::to_openmpi(-2)), (-2, -1));
        assert_eq!((Keyval::from_openmpi(0), Keyval::to_openmpi(501)), (501, 0));
        // What only we can tell apart is "other" there.
        assert_eq!(ErrorClass::to_openmpi(62), 16);
        assert_eq!(ErrorClass::to_openmpi(61), 13);
        assert_eq!(
            (ErrorCode::to_openmpi(0x4000), ErrorCode::from_openmpi(93)),
            (93, 0x4000)
        );
    }

    #[test]
    fn a_status_survives() {
        let status = Status {
            source: -3,
            tag: -2,
            error: Some(15),
            bytes: 5 << 33 | 0xdead_beef,
            cancelled: true,
        };
        let theirs = OpenMpi::status_from(&status);
        assert_eq!((theirs.source, theirs.tag, theirs.error), (-2, -1, 15));
        assert_eq!(OpenMpi::status_in(&theirs), status);
    }
}
