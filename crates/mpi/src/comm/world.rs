//! `MPI_COMM_WORLD` and `MPI_COMM_SELF`: their beginning and their end.

use std::sync::Arc;

use super::{COMM_SELF, COMM_WORLD, Comm, TABLE, context, create};
use crate::errhandler::ERRORS_ARE_FATAL;
use crate::error::Result;
use crate::group::{Group, Members};
use crate::handle::Handle;
use crate::{liveness, p2p, process};

/// Make `MPI_COMM_WORLD` and `MPI_COMM_SELF`. The process must have joined its job.
pub(crate) fn publish() -> Result<()> {
    let predefined = |handle: Handle<Comm>, name: &str, context, members| -> Result<Option<Arc<Comm>>> {
        let comm = Comm::intra(context, Group::new(members), ERRORS_ARE_FATAL.share("errhandler")?);
        name.clone_into(&mut comm.name());
        // The communicator is new, so its handle is not set yet.
        let _ = comm.handle.set(handle);
        Ok(Some(Arc::new(comm)))
    };
    let everyone = Members::first(process::world().size);
    let own = Members::from_peers(process::me().into_iter().collect());
    TABLE.set_predefined(vec![
        None,
        predefined(COMM_WORLD, "MPI_COMM_WORLD", context::WORLD, everyone)?,
        predefined(COMM_SELF, "MPI_COMM_SELF", context::SELF, own)?,
    ]);
    Ok(())
}

/// The end of `MPI_COMM_WORLD` and `MPI_COMM_SELF`: the delete callbacks of the latter, then everyone waits for everyone.
///
/// `callbacks_are_over` is called when those callbacks have freed what they free.
pub(crate) fn retire(callbacks_are_over: impl FnOnce() -> Result<()>) -> Result<()> {
    COMM_SELF.resolve("comm")?.attributes.clear(COMM_SELF)?;
    callbacks_are_over()?;
    // Before we wait, so that everyone is still there to take it; after, for the messages of the waiting.
    p2p::drain()?;
    if isthmus_engine::enter().failures() == 0 {
        liveness::forgive(create::wait_for_all(COMM_WORLD.resolve("comm")?))?;
    }
    p2p::drain()?;
    TABLE.set_predefined(Vec::new());
    Ok(())
}
