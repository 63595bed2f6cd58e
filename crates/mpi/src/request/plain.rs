//! Requests that are one operation of the engine and nothing else: the handle is the operation's name, so that nothing is
//! looked up, and nothing kept, that the engine does not look up and keep anyway.

use isthmus_engine::{ContextId, Entered, OpId, Outcome, enter};
use isthmus_os::switches::Switch;

use super::{Look, Request};
use crate::check::sites;
use crate::completion;
use crate::error::Result;
use crate::handle::{Handle, ObjectKind, carried, carry};
use crate::status::Status;

/// A send or a receive of contiguous data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    Send(OpId),
    Receive(OpId),
}

impl Plain {
    /// What the handle names; `None`: something else.
    #[inline(always)]
    pub fn of(request: Handle<Request>) -> Option<Self> {
        let (kind, name) = carried(request.raw());
        if kind == ObjectKind::Receive as u32 {
            Some(Self::Receive(OpId(name)))
        } else if kind == ObjectKind::Send as u32 {
            Some(Self::Send(OpId(name)))
        } else {
            None
        }
    }

    /// From now on it is the user's, under this handle.
    #[inline(always)]
    pub fn give(self, inside: &mut Entered) -> Handle<Request> {
        inside.give_to_user(self.op());
        self.told()
    }

    /// The handle, which the user gets.
    #[inline(always)]
    fn told(self) -> Handle<Request> {
        let handle = self.handle();
        if Switch::Check.is_on() {
            sites::made(handle.raw());
        }
        handle
    }

    #[inline(always)]
    fn handle(self) -> Handle<Request> {
        Handle::from_raw(match self {
            Self::Send(op) => carry(ObjectKind::Send, op.0),
            Self::Receive(op) => carry(ObjectKind::Receive, op.0),
        })
    }

    #[inline(always)]
    pub fn op(self) -> OpId {
        match self {
            Self::Send(op) | Self::Receive(op) => op,
        }
    }

    /// How far it is, whosever it is.
    pub fn look(self, inside: &mut Entered) -> Look {
        let look = Look::at(inside.peek(self.op()));
        self.unless_disturbed(inside, look)
    }

    /// How far it is; `None`: the user has no such request.
    #[inline]
    pub fn look_at_users(self, inside: &mut Entered) -> Option<Look> {
        let look = Look::at(inside.users(self.op())?);
        Some(self.unless_disturbed(inside, look))
    }

    #[inline]
    fn unless_disturbed(self, inside: &mut Entered, look: Look) -> Look {
        match self {
            Self::Receive(op) if look == Look::Pending => Look::unless_disturbed(inside, op),
            _ => look,
        }
    }

    /// Retire a request of the user's that is complete and went well: its status.
    #[inline(always)]
    pub fn take_users(self, inside: &mut Entered) -> Option<Status> {
        Some(self.status_of(inside.take_users(self.op())?))
    }

    /// As [`Self::take_users`], of one that belongs to a persistent request.
    #[inline]
    pub fn take_well(self, inside: &mut Entered) -> Option<Status> {
        Some(self.status_of(inside.take_well(self.op())?))
    }

    /// Built in place from what the engine has: an outcome handed from call to call costs more than all the look-ups.
    #[inline(always)]
    fn status_of(self, outcome: &Outcome) -> Status {
        match self {
            Self::Receive(_) => Status::from(outcome),
            Self::Send(_) => Status {
                cancelled: outcome.cancelled,
                ..Status::SENT
            },
        }
    }

    /// The status of its outcome.
    pub fn judge(self, outcome: &Outcome) -> Result<Status> {
        match self {
            Self::Send(_) => completion::sent(outcome),
            Self::Receive(_) => completion::received(outcome),
        }
    }
}

/// Start a send, which is over at once if `post` says `None`.
#[inline(always)]
pub(crate) fn send(
    context: ContextId,
    post: impl FnOnce(&mut Entered) -> Result<Option<OpId>>,
) -> Result<Handle<Request>> {
    start(context, post, Plain::Send, Status::SENT)
}

/// Start a receive, which is from nobody if `post` says `None`.
#[inline(always)]
pub(crate) fn receive(
    context: ContextId,
    post: impl FnOnce(&mut Entered) -> Result<Option<OpId>>,
) -> Result<Handle<Request>> {
    start(context, post, Plain::Receive, Status::NO_PROCESS)
}

/// `over`: what is said of it if nothing is left to do.
#[inline(always)]
fn start(
    context: ContextId,
    post: impl FnOnce(&mut Entered) -> Result<Option<OpId>>,
    make: impl FnOnce(OpId) -> Plain,
    over: Status,
) -> Result<Handle<Request>> {
    let mut inside = enter();
    inside.reserve()?;
    if let Some(op) = post(&mut inside)? {
        return Ok(make(op).give(&mut inside));
    }
    Ok(make(inside.completed(context, over.source, over.tag)).told())
}
