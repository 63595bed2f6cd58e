//! `MPI_Barrier` (MPI-5.0 §6.3).

mod dissemination;
mod flags;

use super::link::{Call, Link};
use crate::comm::Comm;
use crate::error::Result;
pub(crate) use flags::Barriers;

/// `MPI_Barrier`: return when every process of the communicator has called it.
pub fn barrier(comm: &'static Comm) -> Result<()> {
    let call = Call::new(comm)?;
    let result = if flags::serves(comm) {
        flags::run(comm, &call)
    } else {
        run(&call)
    };
    call.finish(result)
}

pub(super) fn run(link: &impl Link) -> Result<()> {
    dissemination::run(link)
}
