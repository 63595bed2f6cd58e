//! What differs between the ABIs: handle types, the layout of a status, and the values of constants.
//!
//! Canonical values are the standard ABI's, so for [`Std`] nearly everything here is free.

use std::ffi::{c_int, c_void};

use isthmus_mpi::comm::Comm;
use isthmus_mpi::constants::{DISTRIBUTE_DFLT_DARG, DISTRIBUTE_DFLT_DARG_LITERALLY};
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::errhandler::Errhandler;
use isthmus_mpi::file::File;
use isthmus_mpi::group::Group;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::info::Info;
use isthmus_mpi::op::Op;
use isthmus_mpi::probe::Message;
use isthmus_mpi::request::Request;
use isthmus_mpi::session::Session;
use isthmus_mpi::status::Status;
use isthmus_mpi::win::Win;

use crate::foreign::Foreign;
use crate::generated::constants::{self, ErrorClass, Limits, Rank, Tag};
pub use crate::openmpi::OpenMpi;

/// A C ABI of MPI.
pub trait Abi: Limits + Sized + 'static {
    /// `MPI_Comm` and its siblings, except `MPI_File`.
    type Handle: Copy;
    /// `MPI_Status`.
    type Status: Copy + Default;

    /// A number of its own, below [`ABIS`].
    const INDEX: usize;
    /// What people call it.
    const NAME: &'static str;
    /// What `MPI4PY_MPIABI` calls it.
    const MPI4PY: &'static str;
    /// What `MPI_Get_library_version` begins with.
    const VERSION_PREFIX: &'static str;
    /// What `MPI_Abi_get_version` answers.
    const VERSION: (c_int, c_int);
    /// Its programs may call from several threads whatever level they have asked for (docs/decisions/0237).
    const ALLOWS_THREADS: bool = false;
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    const STATUS_IGNORE: usize;
    /// `MPI_UNWEIGHTED`.
    const UNWEIGHTED: usize = 10;
    /// `MPI_WEIGHTS_EMPTY`.
    const WEIGHTS_EMPTY: usize = 11;
    /// `MPI_T_PVAR_ALL_HANDLES`.
    const ALL_PVAR_HANDLES: usize = 1;

    /// A handle that a program gives. Anything goes: what names nothing of this kind will not resolve.
    fn handle_in<T: Predefined>(handle: Self::Handle) -> Handle<T>;
    /// A handle that a program gets.
    fn handle_out<T: Predefined>(handle: Handle<T>) -> Self::Handle;
    /// A file's handle that a program gives: an address in all ABIs.
    fn file_in(handle: *mut c_void) -> Handle<File>;
    /// A file's handle that a program gets.
    fn file_out(handle: Handle<File>) -> *mut c_void;
    /// An integer that a program gives.
    fn word_in<W: Word>(value: c_int) -> i32;
    /// An integer that a program gets.
    fn word_out<W: Word>(value: i32) -> c_int;
    /// The address of a buffer, `MPI_IN_PLACE` and the like included.
    fn buffer(address: *const c_void) -> *const c_void;
    /// The address of a buffer that a program gets back.
    fn buffer_out(address: *mut c_void) -> *mut c_void;
    /// What a program's status says.
    fn status_in(status: &Self::Status) -> Status;
    /// Tell a program's status; what `status` leaves open stays as it is.
    fn status_out(output: &mut Self::Status, status: &Status);

    /// A handle as an integer, as Fortran holds it.
    fn to_int(handle: Self::Handle) -> c_int;
    /// The handle that an integer stands for.
    fn from_int<T: Predefined>(integer: c_int) -> Self::Handle;
    /// A new status.
    fn status_from(status: &Status) -> Self::Status {
        let mut new = Self::Status::default();
        Self::status_out(&mut new, status);
        new
    }

    /// The constant of the other ABI that a handle of no object is, if it is one.
    fn foreign(raw: u32) -> Option<Foreign>;

    /// A file's handle as an integer.
    fn file_to_int(handle: *mut c_void) -> c_int {
        handle.addr() as c_int
    }

    /// The file's handle that an integer stands for.
    fn file_from_int(integer: c_int) -> *mut c_void {
        std::ptr::without_provenance_mut(integer.cast_unsigned() as usize)
    }

    /// As [`Self::buffer`], to be written to.
    #[inline(always)]
    fn buffer_mut(address: *mut c_void) -> *mut c_void {
        Self::buffer(address).cast_mut()
    }
}

/// How many ABIs there are.
pub const ABIS: usize = isthmus_mpi::win::ABIS;

/// A set of integer constants, or of such constants and user-defined values.
pub trait Word {
    /// The canonical value; [`INVALID`] for what means something else there.
    fn from_mpich(value: i32) -> i32;
    /// The MPICH ABI's value of a canonical one.
    fn to_mpich(value: i32) -> i32;
    /// As [`Self::from_mpich`], of Open MPI's ABI.
    fn from_openmpi(value: i32) -> i32;
    /// Open MPI's value of a canonical one; of what it has no name for a value that says so.
    fn to_openmpi(value: i32) -> i32;
}

/// A value that is in no set of constants.
pub const INVALID: i32 = i32::MIN;

/// Error classes and codes: constants up to `MPI_ERR_LASTCODE`, then what programs have added.
pub struct ErrorCode;

/// `MPI_ERR_LASTCODE` of the standard ABI.
const LAST_CODE: i32 = 0x3fff;
/// `MPI_ERR_LASTCODE` of the MPICH ABI.
const MPICH_LAST_CODE: i32 = 0x3fff_ffff;
/// `MPI_ERR_LASTCODE` of Open MPI's ABI.
const OPENMPI_LAST_CODE: i32 = 92;

impl Word for ErrorCode {
    fn from_mpich(value: i32) -> i32 {
        match value.checked_sub(MPICH_LAST_CODE) {
            Some(added @ 0..) => LAST_CODE + added,
            _ => ErrorClass::from_mpich(value),
        }
    }

    fn to_mpich(value: i32) -> i32 {
        match value.checked_sub(LAST_CODE) {
            Some(added @ 0..) => MPICH_LAST_CODE.saturating_add(added),
            _ => ErrorClass::to_mpich(value),
        }
    }

    fn from_openmpi(value: i32) -> i32 {
        match value.checked_sub(OPENMPI_LAST_CODE) {
            Some(added @ 0..) => LAST_CODE.saturating_add(added),
            _ => ErrorClass::from_openmpi(value),
        }
    }

    fn to_openmpi(value: i32) -> i32 {
        match value.checked_sub(LAST_CODE) {
            Some(added @ 0..) => OPENMPI_LAST_CODE + added,
            _ => ErrorClass::to_openmpi(value),
        }
    }
}

/// Arguments of distributions of arrays: lengths of blocks, or the default.
pub struct DistributionArgument;

/// `MPI_DISTRIBUTE_DFLT_DARG` of the MPICH ABI.
const MPICH_DEFAULT: i32 = -49767;
/// `MPI_DISTRIBUTE_DFLT_DARG` of Open MPI's ABI.
const OPENMPI_DEFAULT: i32 = -1;

impl DistributionArgument {
    /// The canonical value of `value` where `default` is the default.
    fn canonical(value: i32, default: i32) -> i32 {
        match value {
            value if value == default => DISTRIBUTE_DFLT_DARG,
            // In the standard ABI this number is the default.
            DISTRIBUTE_DFLT_DARG => DISTRIBUTE_DFLT_DARG_LITERALLY,
            DISTRIBUTE_DFLT_DARG_LITERALLY => INVALID,
            other => other,
        }
    }

    /// The value of a canonical one where `default` is the default.
    fn own(value: i32, default: i32) -> i32 {
        match value {
            DISTRIBUTE_DFLT_DARG => default,
            DISTRIBUTE_DFLT_DARG_LITERALLY => DISTRIBUTE_DFLT_DARG,
            other => other,
        }
    }
}

impl Word for DistributionArgument {
    fn from_mpich(value: i32) -> i32 {
        Self::canonical(value, MPICH_DEFAULT)
    }

    fn to_mpich(value: i32) -> i32 {
        Self::own(value, MPICH_DEFAULT)
    }

    fn from_openmpi(value: i32) -> i32 {
        Self::canonical(value, OPENMPI_DEFAULT)
    }

    fn to_openmpi(value: i32) -> i32 {
        Self::own(value, OPENMPI_DEFAULT)
    }
}

/// Assertions about synchronisation: bits.
pub struct Assertion;

/// `MPI_MODE_NOPRECEDE` and `MPI_MODE_NOSTORE`, which change places between the two ABIs.
const NOPRECEDE_OR_NOSTORE: [i32; 2] = [2048, 8192];

impl Word for Assertion {
    fn from_mpich(value: i32) -> i32 {
        let [one, other] = NOPRECEDE_OR_NOSTORE;
        let moved = |from: i32, to: i32| if value & from != 0 { to } else { 0 };
        value & !(one | other) | moved(one, other) | moved(other, one)
    }

    fn to_mpich(value: i32) -> i32 {
        Self::from_mpich(value)
    }

    /// The same five bits in the same order, from bit 0 on. What has no meaning keeps none: bits above move up, and one that would be
    /// lost becomes bit 0.
    fn from_openmpi(value: i32) -> i32 {
        let lost = value >> (31 - OPENMPI_ASSERTION_SHIFT) != 0;
        value << OPENMPI_ASSERTION_SHIFT | i32::from(lost)
    }

    fn to_openmpi(value: i32) -> i32 {
        value >> OPENMPI_ASSERTION_SHIFT
    }
}

/// `MPI_MODE_NOCHECK` is 1 in Open MPI's ABI, and 1024 in the standard's.
const OPENMPI_ASSERTION_SHIFT: u32 = 10;

/// Modes of access to files: bits.
pub struct AccessMode;

/// The bits of the standard ABI and of the MPICH ABI.
const ACCESS_MODES: [(i32, i32); 9] = [
    (1, 128),
    (2, 1),
    (4, 16),
    (8, 64),
    (16, 2),
    (32, 8),
    (64, 256),
    (128, 32),
    (256, 4),
];

impl Word for AccessMode {
    fn from_mpich(value: i32) -> i32 {
        let known = ACCESS_MODES.iter().filter(|(_, mpich)| value & mpich != 0);
        let rest = ACCESS_MODES.iter().fold(value, |rest, (_, mpich)| rest & !mpich);
        // Bits that mean nothing stay bits that mean nothing: the modes of both are nine bits in a row.
        known.fold(rest, |all, (canonical, _)| all | canonical)
    }

    fn to_mpich(value: i32) -> i32 {
        let known = ACCESS_MODES.iter().filter(|(canonical, _)| value & canonical != 0);
        known.fold(0, |all, (_, mpich)| all | mpich)
    }

    /// Both have them from ROMIO.
    fn from_openmpi(value: i32) -> i32 {
        Self::from_mpich(value)
    }

    fn to_openmpi(value: i32) -> i32 {
        Self::to_mpich(value)
    }
}

/// Objects some of whose handles are constants.
pub trait Predefined: Sized + 'static {
    /// The canonical handle, if `raw` is a constant of the MPICH ABI.
    fn from_mpich(raw: u32) -> Option<u32>;
    /// The canonical handle, if `integer` is what Fortran programs of Open MPI's ABI call a constant.
    fn from_fortran(integer: i32) -> Option<u32>;
}

macro_rules! predefined {
    ($($object:ty => $function:ident),* $(,)?) => {$(
        impl Predefined for $object {
            #[inline(always)]
            fn from_mpich(raw: u32) -> Option<u32> {
                constants::from_mpich::$function(raw)
            }

            fn from_fortran(integer: i32) -> Option<u32> {
                constants::from_fortran::$function(integer)
            }
        }
    )*};
}

predefined! {
    Comm => comm,
    Datatype => datatype,
    Errhandler => errhandler,
    Group => group,
    Info => info,
    Message => message,
    Op => op,
    Request => request,
    Session => session,
    Win => win,
}

/// The standard ABI: handles are pointers, `libmpi_abi.so.1`.
pub struct Std;

/// The standard ABI's `MPI_Status`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct StdStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    /// Ours: bytes (low, high half), cancelled, unused, unused.
    internal: [c_int; 5],
}

impl Abi for Std {
    type Handle = *mut c_void;
    type Status = StdStatus;

    const INDEX: usize = 0;
    const NAME: &'static str = "the standard ABI (libmpi_abi.so.1)";
    const MPI4PY: &'static str = "mpiabi";
    const VERSION_PREFIX: &'static str = "";
    const VERSION: (c_int, c_int) = (1, 0);
    const STATUS_IGNORE: usize = 0;

    #[inline(always)]
    fn handle_in<T: Predefined>(handle: *mut c_void) -> Handle<T> {
        Handle::from_raw(u32::try_from(handle.addr()).unwrap_or(u32::MAX))
    }

    #[inline(always)]
    fn handle_out<T: Predefined>(handle: Handle<T>) -> *mut c_void {
        std::ptr::without_provenance_mut(handle.raw() as usize)
    }

    fn file_in(handle: *mut c_void) -> Handle<File> {
        file_at(handle, STD_FILE_NULL)
    }

    fn file_out(handle: Handle<File>) -> *mut c_void {
        address_of_file(handle, STD_FILE_NULL)
    }

    #[inline(always)]
    fn word_in<W: Word>(value: c_int) -> i32 {
        value
    }

    #[inline(always)]
    fn word_out<W: Word>(value: i32) -> c_int {
        value
    }

    #[inline(always)]
    fn buffer(address: *const c_void) -> *const c_void {
        address
    }

    fn buffer_out(address: *mut c_void) -> *mut c_void {
        address
    }

    fn foreign(raw: u32) -> Option<Foreign> {
        let known = raw >= FIRST_DYNAMIC && constants::TO_MPICH.contains(&raw);
        known.then_some(Foreign {
            value: raw,
            of: Mpich::NAME,
        })
    }

    fn to_int(handle: *mut c_void) -> c_int {
        handle.addr() as c_int
    }

    fn from_int<T: Predefined>(integer: c_int) -> *mut c_void {
        std::ptr::without_provenance_mut(integer.cast_unsigned() as usize)
    }

    fn status_in(status: &StdStatus) -> Status {
        let [low, high, cancelled, ..] = status.internal;
        Status {
            source: status.source,
            tag: status.tag,
            error: Some(status.error),
            bytes: join(low, high),
            cancelled: cancelled != 0,
        }
    }

    #[inline(always)]
    fn status_out(output: &mut StdStatus, status: &Status) {
        output.source = status.source;
        output.tag = status.tag;
        if let Some(error) = status.error {
            output.error = error;
        }
        let (low, high) = split(status.bytes);
        output.internal[0] = low;
        output.internal[1] = high;
        output.internal[2] = c_int::from(status.cancelled);
    }
}

/// The MPICH ABI: handles are integers, `libmpi.so.12`.
pub struct Mpich;

/// The MPICH ABI's `MPI_Status`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct MpichStatus {
    count_low: c_int,
    /// Bit 0: cancelled. Above it the high half of the count.
    count_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

/// `MPI_IN_PLACE` and `MPI_BUFFER_AUTOMATIC` of the two ABIs.
const SPECIAL_ADDRESSES: [(usize, usize); 2] = [(usize::MAX, 1), (usize::MAX - 1, 2)];

/// The kinds of dynamic handles begin here: smaller numbers are constants of the standard ABI, and nothing in this one.
pub const FIRST_DYNAMIC: u32 = 1 << 26;
/// Constants of the MPICH ABI have one of these bits, dynamic handles have neither.
pub const PREDEFINED_BITS: u32 = 0xc000_0000;

impl Abi for Mpich {
    type Handle = c_int;
    type Status = MpichStatus;

    const INDEX: usize = 1;
    const NAME: &'static str = "the MPICH ABI (libmpi.so.12)";
    const MPI4PY: &'static str = "mpich";
    /// That of the first MPICH which has all procedures of MPI 5.0.
    const VERSION_PREFIX: &'static str = "MPICH Version:      5.0.0\n";
    const VERSION: (c_int, c_int) = (-1, -1);
    const STATUS_IGNORE: usize = 1;

    #[inline(always)]
    fn handle_in<T: Predefined>(handle: c_int) -> Handle<T> {
        let raw = handle.cast_unsigned();
        Handle::from_raw(match T::from_mpich(raw) {
            Some(canonical) => canonical,
            None if raw >= FIRST_DYNAMIC => raw,
            None => raw | PREDEFINED_BITS,
        })
    }

    #[inline(always)]
    fn handle_out<T: Predefined>(handle: Handle<T>) -> c_int {
        let raw = handle.raw();
        let mpich = constants::TO_MPICH.get(raw as usize).copied().unwrap_or(raw);
        mpich.cast_signed()
    }

    fn file_in(handle: *mut c_void) -> Handle<File> {
        file_at(handle, MPICH_FILE_NULL)
    }

    fn file_out(handle: Handle<File>) -> *mut c_void {
        address_of_file(handle, MPICH_FILE_NULL)
    }

    #[inline(always)]
    fn word_in<W: Word>(value: c_int) -> i32 {
        W::from_mpich(value)
    }

    #[inline(always)]
    fn word_out<W: Word>(value: i32) -> c_int {
        W::to_mpich(value)
    }

    #[inline(always)]
    fn buffer(address: *const c_void) -> *const c_void {
        match SPECIAL_ADDRESSES.iter().find(|(mpich, _)| *mpich == address.addr()) {
            Some((_, canonical)) => std::ptr::without_provenance(*canonical),
            None => address,
        }
    }

    fn buffer_out(address: *mut c_void) -> *mut c_void {
        match SPECIAL_ADDRESSES
            .iter()
            .find(|(_, canonical)| *canonical == address.addr())
        {
            Some((mpich, _)) => std::ptr::without_provenance_mut(*mpich),
            None => address,
        }
    }

    fn foreign(raw: u32) -> Option<Foreign> {
        let value = raw & !PREDEFINED_BITS;
        let known = raw & PREDEFINED_BITS == PREDEFINED_BITS
            && constants::TO_MPICH
                .get(value as usize)
                .is_some_and(|mpich| *mpich >= FIRST_DYNAMIC);
        known.then_some(Foreign { value, of: Std::NAME })
    }

    fn to_int(handle: c_int) -> c_int {
        handle
    }

    fn from_int<T: Predefined>(integer: c_int) -> c_int {
        integer
    }

    fn status_in(status: &MpichStatus) -> Status {
        Status {
            source: Rank::from_mpich(status.source),
            tag: Tag::from_mpich(status.tag),
            error: Some(ErrorCode::from_mpich(status.error)),
            bytes: join(status.count_low, status.count_high_and_cancelled >> 1),
            cancelled: status.count_high_and_cancelled & 1 != 0,
        }
    }

    #[inline(always)]
    fn status_out(output: &mut MpichStatus, status: &Status) {
        output.source = Rank::to_mpich(status.source);
        output.tag = Tag::to_mpich(status.tag);
        if let Some(error) = status.error {
            output.error = ErrorCode::to_mpich(error);
        }
        let (low, high) = split(status.bytes);
        output.count_low = low;
        output.count_high_and_cancelled = high << 1 | c_int::from(status.cancelled);
    }
}

/// `MPI_FILE_NULL` of the standard ABI.
const STD_FILE_NULL: usize = 0x118;
/// `MPI_FILE_NULL` of the MPICH ABI.
const MPICH_FILE_NULL: usize = 0;

/// The file whose handle is this address.
fn file_at(address: *mut c_void, null: usize) -> Handle<File> {
    match u32::try_from(address.addr()) {
        Ok(_) if address.addr() == null => Handle::NULL,
        Ok(raw) if raw != Handle::<File>::NULL.raw() => Handle::from_raw(raw),
        _ => Handle::from_raw(u32::MAX),
    }
}

/// A file's handle as an address.
fn address_of_file(handle: Handle<File>, null: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(match handle.is_null() {
        true => null,
        false => handle.raw() as usize,
    })
}

fn join(low: c_int, high: c_int) -> i64 {
    i64::from(high) << 32 | i64::from(low.cast_unsigned())
}

#[inline(always)]
fn split(bytes: i64) -> (c_int, c_int) {
    (bytes as c_int, (bytes >> 32) as c_int)
}

#[cfg(test)]
mod tests {
    use isthmus_mpi::error::Error;

    use super::*;
    use crate::foreign;

    const STATUS: Status = Status {
        source: -3,
        tag: -2,
        error: Some(15),
        bytes: 5 << 33 | 0xdead_beef,
        cancelled: true,
    };

    #[test]
    fn layouts_are_those_that_programs_have_compiled_in() {
        assert_eq!(size_of::<StdStatus>(), 32);
        assert_eq!(size_of::<MpichStatus>(), 20);
        assert_eq!(std::mem::offset_of!(MpichStatus, source), 8);
    }

    #[test]
    fn a_status_survives_either_layout() {
        let std = Std::status_from(&STATUS);
        assert_eq!(Std::status_in(&std), STATUS);
        let mpich = Mpich::status_from(&STATUS);
        assert_eq!((mpich.source, mpich.tag, mpich.error), (-1, -1, 14));
        assert_eq!(Mpich::status_in(&mpich), STATUS);
    }

    #[test]
    fn constants_cross_both_ways() {
        let world: Handle<Comm> = Mpich::handle_in(0x4400_0000);
        assert_eq!(world.raw(), 0x101);
        assert_eq!(Mpich::handle_out(world), 0x4400_0000);
        let int: Handle<Datatype> = Mpich::handle_in(0x4c00_0405);
        assert_eq!(int.raw(), 0x209);
        assert_eq!(Mpich::handle_in::<Datatype>(0x8c00_0001_u32.cast_signed()).raw(), 0x229);
        assert_eq!(Mpich::handle_out(int), 0x4c00_0405);
        assert!(Mpich::handle_in::<Datatype>(0x0c00_0000).is_null());
    }

    #[test]
    fn constants_of_the_other_abi_are_garbage() {
        assert_ne!(Mpich::handle_in::<Comm>(0x101).raw(), 0x101);
        assert_eq!(Mpich::word_in::<Rank>(-4), INVALID);
        assert_eq!(Std::handle_in::<Comm>(usize::MAX as *mut c_void).raw(), u32::MAX);
    }

    #[test]
    fn constants_of_the_other_abi_are_told_as_such() {
        let told = |error: Error| foreign::explained::<Std>(&error).map(|error| error.detail().to_owned());
        let world = Std::handle_in::<Comm>(0x4400_0000 as *mut c_void).resolve("comm");
        let text = told(world.err().expect("a constant of MPICH's")).expect("told");
        assert!(
            text.starts_with("comm=0x44000000 (MPI_Comm) is a constant of the MPICH ABI"),
            "{text}"
        );
        let stale = Std::handle_in::<Comm>(0x0400_0001 as *mut c_void).resolve("comm");
        assert_eq!(told(stale.err().expect("no object")), None);

        let told = |error: Error| foreign::explained::<Mpich>(&error).map(|error| error.detail().to_owned());
        let world = Mpich::handle_in::<Comm>(0x101).resolve("comm");
        let text = told(world.err().expect("a constant of the standard's")).expect("told");
        assert!(
            text.starts_with("comm=0x101 (MPI_Comm) is a constant of the standard ABI"),
            "{text}"
        );
        for garbage in [5, 0x4c00_0405, -1] {
            let error = Mpich::handle_in::<Comm>(garbage)
                .resolve("comm")
                .err()
                .expect("garbage");
            assert_eq!(told(error), None, "{garbage:#x}");
        }
    }

    #[test]
    fn blocks_of_nineteen_are_not_the_default() {
        for value in [MPICH_DEFAULT, 1, 19] {
            let canonical = DistributionArgument::from_mpich(value);
            assert_eq!(canonical == DISTRIBUTE_DFLT_DARG, value == MPICH_DEFAULT);
            assert_eq!(DistributionArgument::to_mpich(canonical), value);
        }
    }

    #[test]
    fn datatypes_of_one_abi_alone_have_a_number() {
        let half: Handle<Datatype> = Mpich::handle_in(0x4c00_0246);
        assert_eq!((half.raw(), Mpich::handle_out(half)), (0x2f2, 0x4c00_0246));
        assert!(half.resolve("half").is_ok());
    }

    #[test]
    fn added_error_codes_stay_above_the_last_constant() {
        assert_eq!(ErrorCode::to_mpich(0x4000), 0x4000_0000);
        assert_eq!(ErrorCode::from_mpich(0x4000_0000), 0x4000);
        assert_eq!(ErrorCode::to_mpich(15), 14);
    }
}
