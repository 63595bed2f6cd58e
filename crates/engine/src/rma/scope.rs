//! How operations that one call has started with other nodes are completed by another.

use super::flow_id::Scope;
use super::service::{self, Completion};
use crate::{Entered, Result, enter};

impl Scope {
    /// The one of this number, if something of it is under way, or has failed and nobody was told.
    pub fn under_way(number: u32) -> Option<Self> {
        let scope = Self(number);
        (number != 0 && scope.is_under_way()).then_some(scope)
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
        service::finish_calls(Completion::Local, || self.0, || None)
    }
}

impl Entered {
    /// Is all of a scope over locally, well or not? Makes no progress.
    pub fn is_over(&mut self, scope: Scope) -> bool {
        self.engine().is_over(scope.0)
    }
}
