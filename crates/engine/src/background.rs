//! What goes on in the background of every call: the layers above have operations of their own to move on.

use crate::{Entered, Guarded, enter};

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

/// Move whatever can move, user code included. Enters the engine by itself. Never blocks.
pub fn progress() {
    let mut inside = enter();
    inside.engine().progress();
    if let Some(call_out) = inside.advance_background() {
        inside.leave();
        call_out();
    }
}
