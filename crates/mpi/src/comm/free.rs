//! The end of communicators.

use super::create::wait_for_all;
use super::{COMM_SELF, COMM_WORLD, Comm};
use crate::coll::check;
use crate::error::Result;
use crate::handle::Handle;
use crate::{fail, p2p, request};

fn check_freeable(handle: Handle<Comm>) -> Result<()> {
    if handle == COMM_WORLD || handle == COMM_SELF {
        return Err(fail!(Comm, "comm={handle:?} is predefined and cannot be freed"));
    }
    Ok(())
}

/// `MPI_Comm_free`: deletes the attributes, and then the handle. Operations under way complete.
pub fn comm_free(handle: Handle<Comm>) -> Result<()> {
    check_freeable(handle)?;
    let comm = handle.resolve("comm")?;
    comm.attributes.clear(handle)?;
    check::leave(comm, "MPI_Comm_free");
    p2p::forget_comm(comm.context());
    p2p::forget_channels(comm.collective_context());
    {
        let mut inside = isthmus_engine::enter();
        inside.forget_failed_calls(comm.collective_context());
        comm.leave_agreements(&mut inside);
    }
    request::comm_freed(handle.remove("comm")?);
    Ok(())
}

/// `MPI_Comm_disconnect`: as [`comm_free`], after all members have called. Collective.
pub fn comm_disconnect(handle: Handle<Comm>) -> Result<()> {
    check_freeable(handle)?;
    let comm = handle.resolve("comm")?;
    check::same(comm, "MPI_Comm_disconnect")?;
    wait_for_all(comm)?;
    comm_free(handle)
}
