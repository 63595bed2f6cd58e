//! `MPI_Barrier` (MPI-5.0 §6.3).

use isthmus_collective::barrier::{run, run_later};

use super::form::{Blocking, Form, Immediate, Persistent};
use crate::comm::Comm;
use crate::error::Result;
use crate::handle::Handle;
use crate::info::Info;
use crate::request::Request;

/// `MPI_Barrier`: return when every process of the communicator (of the other group, if there is one) has called it.
pub fn barrier(comm: &'static Comm) -> Result<()> {
    any_barrier::<Blocking>(comm)
}

/// `MPI_Ibarrier`: as [`barrier`], completed by the request.
pub fn ibarrier(comm: &'static Comm) -> Result<Handle<Request>> {
    any_barrier::<Immediate>(comm)
}

/// `MPI_Barrier_init`: as [`barrier`], by a request that can be started again and again.
pub fn barrier_init(comm: &'static Comm, _info: Option<&Info>) -> Result<Handle<Request>> {
    any_barrier::<Persistent>(comm)
}

fn any_barrier<F: Form>(comm: &'static Comm) -> Result<F::Done> {
    let call = F::begin(comm, "Barrier")?;
    call.compare(|_| {})?;
    if call.is_for_later() {
        return call.run_later(async |link| run_later(link).await);
    }
    call.run(run)
}
