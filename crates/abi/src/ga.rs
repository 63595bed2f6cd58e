//! What Global Arrays has in common with MPI: starting it, starting by a communicator of the standard ABI, and such communicators of groups.

use std::ffi::{c_int, c_void};

use isthmus_ga::{error, life};

use crate::armci::{Handle, Of, communicator, peers, start_mpi};

/// `GA_Initialize_comm`: the processes of a communicator are all that there are, by their ranks in it. 1: it went well.
#[unsafe(no_mangle)]
extern "C" fn isthmus_ga_GA_Initialize_comm(comm: Handle) -> c_int {
    const CALL: &str = "GA_Initialize_comm";
    if let Err(error) = life::initialize(Some(peers(CALL, comm))) {
        error::fatal(CALL, &error.to_string(), 1);
    }
    1
}

/// `GA_Initialize_args`: starts MPI, too, unless it has been started, as upstream's does.
///
/// # Safety
/// As for `MPI_Init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_ga_GA_Initialize_args(argc: *mut c_int, argv: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { start_mpi(argc, argv) };
    if let Err(error) = life::initialize(None) {
        error::fatal("GA_Initialize_args", &error.to_string(), 1);
    }
}

fn communicator_of(call: &str, number: i32) -> Handle {
    let comm = life::group(number).and_then(|group| Ok(communicator(&group, Of::Library)?));
    comm.unwrap_or_else(|error| error::fatal(call, &error.to_string(), 1))
}

/// `GA_MPI_Comm`: of all processes.
#[unsafe(no_mangle)]
extern "C" fn isthmus_ga_GA_MPI_Comm() -> Handle {
    communicator_of("GA_MPI_Comm", life::WORLD)
}

/// `GA_MPI_Comm_pgroup`: of a group's, over which the first call is collective.
#[unsafe(no_mangle)]
extern "C" fn isthmus_ga_GA_MPI_Comm_pgroup(number: c_int) -> Handle {
    communicator_of("GA_MPI_Comm_pgroup", number)
}

/// `GA_MPI_Comm_pgroup_default`: of the default group's.
#[unsafe(no_mangle)]
extern "C" fn isthmus_ga_GA_MPI_Comm_pgroup_default() -> Handle {
    communicator_of("GA_MPI_Comm_pgroup_default", life::default_group())
}
