//! Duplicating a communicator without waiting (MPI-5.0 §7.4.2).
//!
//! All but the context id is known at once, and as of then: hints, attributes, error handler. So the handle is given out
//! at once too, for what needs no communication.

use std::sync::Arc;

use isthmus_engine::Entered;

use super::{Comm, context};
use crate::coll::Agreement;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::info::Info;
use crate::request::{self, Look, Operation, Request, Work};
use crate::status::Status;

/// `MPI_Comm_idup`: as [`comm_dup`](super::comm_dup); the new communicator can be used when the request is complete.
/// Collective.
pub fn comm_idup(comm: &'static Comm) -> Result<(Handle<Comm>, Handle<Request>)> {
    duplicate(comm, None)
}

/// `MPI_Comm_idup_with_info`: as [`comm_idup`], with these hints.
pub fn comm_idup_with_info(comm: &'static Comm, info: Option<&Info>) -> Result<(Handle<Comm>, Handle<Request>)> {
    duplicate(comm, info)
}

fn duplicate(comm: &'static Comm, info: Option<&Info>) -> Result<(Handle<Comm>, Handle<Request>)> {
    let agreement = Agreement::begin(&comm.handle().share("comm")?, comm.offer())?;
    let mut new = comm.derive_at(context::UNKNOWN, Arc::clone(&comm.group), comm.remote_group().cloned());
    new.topology.clone_from(&comm.topology);
    let informed = super::comm_set_info(&new, info);
    let handle = new.publish()?;
    let new = handle.share("newcomm")?;
    let copied = informed.and_then(|()| comm.attributes.copy_to(comm.handle(), &new.attributes, handle));
    let mut duplication = Duplication {
        agreement,
        new: Some(new),
        failed: copied.err(),
    };
    let request = request::launch(comm, |inside| {
        duplication.advance(inside);
        Ok(Work::Other(Box::new(duplication)))
    })?;
    Ok((handle, request))
}

/// A duplicate on its way.
struct Duplication {
    agreement: Agreement,
    /// `None`: its members have agreed.
    new: Option<Arc<Comm>>,
    /// An attribute's callback refused. Others may still depend on our part of the agreement.
    failed: Option<Error>,
}

impl Operation for Duplication {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        self.agreement.advance(inside).into()
    }

    fn outcome(&mut self) -> Result<Status> {
        let agreed = self.agreement.outcome().and_then(|id| context::agree([id].into_iter()));
        if let Some(new) = self.new.take() {
            match &agreed {
                Ok(id) if self.failed.is_none() => new.agree_on(*id),
                _ => drop(new.handle().remove("newcomm")?),
            }
        }
        agreed?;
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(Status::EMPTY),
        }
    }

    fn is_autonomous(&self) -> bool {
        true
    }
}
