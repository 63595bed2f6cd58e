//! Starting, ending, clocks, and addresses.

use std::ffi::{c_char, c_int, c_void};

use isthmus_engine::tunables::THREAD_LEVEL;
use isthmus_engine::{allow_threads, is_in_use};
use isthmus_mpi::comm::Comm;
use isthmus_mpi::procedures;

use crate::abi::Abi;
use crate::argument;
use crate::entry::{self, CHandle};
use crate::foreign;
use crate::generated::constants::ThreadLevel;

/// `MPI_Init`: the arguments are the program's own business.
///
/// # Safety
/// As for the C function.
pub unsafe fn init<A: Abi>(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> c_int {
    entry::any_time::<A>("MPI_Init", entry::Scope::Process, || {
        allow_threads_for::<A>();
        procedures::init()
    })
}

/// Before MPI is initialized: threads of this ABI's programs take the lock, unless the user says which level is in force.
fn allow_threads_for<A: Abi>() {
    if A::ALLOWS_THREADS && !is_in_use() && THREAD_LEVEL.get().is_none() {
        allow_threads();
    }
}

/// `MPI_Init_thread`
///
/// # Safety
/// As for the C function.
pub unsafe fn init_thread<A: Abi>(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    entry::any_time::<A>("MPI_Init_thread", entry::Scope::Process, || {
        let output = argument::output(provided, "provided")?;
        allow_threads_for::<A>();
        let provided = procedures::init_thread(A::word_in::<ThreadLevel>(required))?;
        output.put(A::word_out::<ThreadLevel>(provided));
        Ok(())
    })
}

/// `MPI_Abort`: the code is the program's, not one of MPI's. It ends the job whatever the handle names, and at any time.
///
/// # Safety
/// As for the C function.
pub unsafe fn abort<A: Abi>(comm: CHandle<A>, errorcode: c_int) -> c_int {
    let error = match A::handle_in::<Comm>(comm).resolve("comm") {
        Ok(comm) => procedures::abort(comm, errorcode),
        Err(error) => error,
    };
    let error = foreign::explained::<A>(&error).unwrap_or(error);
    procedures::abort_job(errorcode, error.detail())
}

/// `MPI_Get_library_version`: programs of the MPICH ABI look for its name at the beginning.
///
/// # Safety
/// As for the C function.
pub unsafe fn get_library_version<A: Abi>(version: *mut c_char, resultlen: *mut c_int) -> c_int {
    entry::any_time::<A>("MPI_Get_library_version", entry::Scope::Process, || {
        let text = argument::Text::at(version, A::MAX_LIBRARY_VERSION_STRING, "version")?;
        let length = argument::output(resultlen, "resultlen")?;
        length.put(text.put(format!("{}{}", A::VERSION_PREFIX, procedures::get_library_version()?)));
        Ok(())
    })
}

/// `MPI_Pcontrol`: further arguments are ignored.
///
/// # Safety
/// As for the C function.
pub unsafe fn pcontrol<A: Abi>(level: c_int) -> c_int {
    entry::any_time::<A>("MPI_Pcontrol", entry::Scope::Process, || procedures::pcontrol(level))
}

/// `MPI_Wtime`
///
/// # Safety
/// None.
pub unsafe fn wtime<A: Abi>() -> f64 {
    procedures::wtime()
}

/// `MPI_Wtick`
///
/// # Safety
/// None.
pub unsafe fn wtick<A: Abi>() -> f64 {
    procedures::wtick()
}

/// `MPI_Aint_add`
///
/// # Safety
/// None.
pub unsafe fn aint_add<A: Abi>(base: i64, disp: i64) -> i64 {
    procedures::aint_add(base, disp)
}

/// `MPI_Aint_diff`
///
/// # Safety
/// None.
pub unsafe fn aint_diff<A: Abi>(addr1: i64, addr2: i64) -> i64 {
    procedures::aint_diff(addr1, addr2)
}

/// `MPI_DUP_FN` of the MPICH ABI: copies the attribute.
///
/// # Safety
/// As for any copy callback: the last two are addresses of an attribute and of a flag.
#[unsafe(export_name = "isthmus_mpich_MPIR_Dup_fn")]
unsafe extern "C-unwind" fn dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        *value_out = value_in;
        *flag = 1;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{Mpich, Std};

    fn version<A: Abi>() -> String {
        let mut text = vec![0_u8; A::MAX_LIBRARY_VERSION_STRING];
        let mut length = 0;
        // SAFETY: there is room for the longest text.
        let code = unsafe { get_library_version::<A>(text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
        assert_eq!(code, 0);
        text.truncate(length as usize);
        String::from_utf8(text).expect("ASCII")
    }

    #[test]
    fn programs_of_the_mpich_abi_find_its_name() {
        let text = version::<Mpich>();
        let lines: Vec<&str> = text.lines().collect();
        let number = lines[0].strip_prefix("MPICH Version:").map(str::trim);
        assert!(
            number.is_some_and(|number| number.split('.').all(|part| part.parse::<u32>().is_ok())),
            "{text}"
        );
        assert!(lines[1].starts_with("Isthmus "), "{text}");
        assert!(version::<Std>().starts_with("Isthmus "));
    }
}
