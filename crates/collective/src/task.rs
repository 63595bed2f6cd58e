//! A call that continues after its start has returned.

use std::pin::Pin;

use isthmus_engine::Entered;

use crate::error::Result;

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Not complete.
    Pending,
    /// Complete.
    Complete,
    /// Complete, because a process failed, or the team is revoked.
    PeerFailed,
}

/// A collective call under way. Its starter polls it, whenever the process makes progress, until it is complete.
pub trait Task: Send {
    /// Move on as far as possible. Inside the engine, so no user code runs here.
    fn advance(self: Pin<&mut Self>, inside: &mut Entered) -> Look;

    /// Is user code to run before it can go on?
    fn calls_out(&self) -> bool {
        false
    }

    /// Run the user code that is to run, if any. Outside the engine.
    fn call_out(self: Pin<&mut Self>) {}

    /// How it went; asked once [`Self::advance`] has said that it is complete, perhaps more than once.
    fn outcome(&self) -> Result<()>;

    /// Is it over, with nothing to report, so that it can be dropped inside the engine?
    fn is_gone(&self) -> bool {
        false
    }
}
