//! What Global Arrays has in common with MPI: starting by a communicator of the standard ABI.

use std::ffi::c_int;

use isthmus_ga::{error, life};

use crate::armci::{Handle, peers};

/// `GA_Initialize_comm`: the processes of a communicator are all that there are, by their ranks in it. 1: it went well.
#[unsafe(no_mangle)]
extern "C" fn isthmus_ga_GA_Initialize_comm(comm: Handle) -> c_int {
    const CALL: &str = "GA_Initialize_comm";
    if let Err(error) = life::initialize(Some(peers(CALL, comm))) {
        error::fatal(CALL, &error.to_string(), 1);
    }
    1
}
