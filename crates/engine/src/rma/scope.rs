//! Operations with other nodes that one call starts and another completes: what a request or a handle stands for.

use super::service::{self, Completion, FlowId};
use crate::{Entered, Result, enter};

/// Operations that are completed by themselves, beside those of their [`Flow`](super::Flow).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(FlowId);

impl Scope {
    /// Nothing belongs to it yet.
    #[allow(clippy::new_without_default)] // Each is another one.
    pub fn new() -> Self {
        Self(service::new_number())
    }

    /// The one of this number, if something of it is under way, or has failed and nobody was told.
    pub fn under_way(number: u32) -> Option<Self> {
        let scope = Self(number);
        (number != 0 && scope.is_under_way()).then_some(scope)
    }

    /// What tells it from others, and from flows; never 0.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Is something of it under way, as far as was seen, or has failed and nobody was told? Makes no progress.
    pub fn is_under_way(self) -> bool {
        service::has_some() && enter().engine().has_of(self.0)
    }

    /// Is all of it over locally, well or not? Makes progress, and does not block.
    pub fn is_over(self) -> bool {
        if !service::has_some() {
            return true;
        }
        let mut inside = enter();
        inside.poll();
        inside.is_over(self)
    }

    /// Wait until all of it is over locally: results are there, and sources may change. Blocks.
    ///
    /// # Errors
    /// An operation has failed.
    pub fn finish(self) -> Result<()> {
        service::finish_calls(Completion::Local, self.0, || None)
    }
}

impl Entered {
    /// Is all of a scope over locally, well or not? Makes no progress.
    pub fn is_over(&mut self, scope: Scope) -> bool {
        self.engine().is_over(scope.0)
    }
}

/// What completes an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompletedBy {
    pub flow: FlowId,
    pub scope: Option<Scope>,
}

impl CompletedBy {
    /// Both.
    pub fn numbers(self) -> Vec<FlowId> {
        std::iter::once(self.flow)
            .chain(self.scope.map(|scope| scope.0))
            .collect()
    }
}

impl From<FlowId> for CompletedBy {
    fn from(flow: FlowId) -> Self {
        Self { flow, scope: None }
    }
}
