//! Background work of every call: the layers above have operations of their own to move on.

use isthmus_os::cpu;
use isthmus_shm::occupancy;

use crate::{Entered, Guarded};

/// How to move on what a layer above has under way.
#[derive(Debug, Clone, Copy)]
pub struct Background {
    /// Move on as far as possible. True: user code is to run before it can go on.
    pub advance: fn(&mut Entered) -> bool,
    /// Run that user code, outside the engine.
    pub call_out: fn(),
}

/// `None`: nothing is under way.
static BACKGROUND: Guarded<Option<Background>> = Guarded::new(None);

impl Entered {
    /// From now on do this whenever progress is made; `None`: nothing.
    pub fn set_background(&mut self, background: Option<Background>) {
        *BACKGROUND.get(self) = background;
    }

    #[inline]
    pub(crate) fn has_background(&mut self) -> bool {
        BACKGROUND.get(self).is_some()
    }

    /// Move on what is under way; the user code that is to run.
    #[inline]
    pub(crate) fn advance_background(&mut self) -> Option<fn()> {
        let background = (*BACKGROUND.get(self))?;
        (background.advance)(self).then_some(background.call_out)
    }
}

impl Entered {
    /// Move whatever can move, user code included, for which it steps [`outside`](Self::outside). Never waits, but where
    /// there are more ranks than CPUs it yields now and then: the awaited rank may need the CPU. Looks at the network
    /// whatever its turn: a caller that asks once, after a barrier perhaps, is told of what has come by then. True: something moved.
    pub fn poll(&mut self) -> bool {
        if let Some(network) = self.engine().channels.network_mut() {
            network.hurry();
        }
        let moved = self.engine().progress();
        match self.advance_background() {
            Some(call_out) => {
                self.outside(call_out);
                return true;
            }
            None if !moved && self.should_yield() => self.outside(cpu::yield_now),
            None => {}
        }
        moved
    }

    /// Is it time to give the CPU away?
    pub(crate) fn should_yield(&mut self) -> bool {
        occupancy::is_oversubscribed() && self.engine().idle_rounds() % 16 == 15
    }
}
