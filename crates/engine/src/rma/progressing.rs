//! Whether a thread of this process waits inside the library, and makes progress all the time: shown to others who may ask it for
//! something, in a word that is given for it. A hint: an origin without an answer does it by itself.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where it is shown, once somebody wants to know.
static SHOWN: OnceLock<&'static AtomicU32> = OnceLock::new();

/// From now on the threads that make progress are counted in this word, which others may look at. Only the first one counts.
pub(super) fn show_in(word: &'static AtomicU32) {
    let _ = SHOWN.set(word);
}

/// A thread that makes progress, until this is dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct Progressing(Option<&'static AtomicU32>);

impl Progressing {
    /// From now on. Costs a look where nobody wants to know.
    #[inline]
    pub fn begin() -> Self {
        let shown = SHOWN.get().copied();
        if let Some(word) = shown {
            word.fetch_add(1, Ordering::Relaxed);
        }
        Self(shown)
    }

    /// Not while `f` runs.
    #[inline]
    pub fn pause<R>(&mut self, f: impl FnOnce() -> R) -> R {
        drop(std::mem::replace(self, Self(None)));
        let answer = f();
        *self = Self::begin();
        answer
    }
}

impl Drop for Progressing {
    #[inline]
    fn drop(&mut self) {
        if let Some(word) = self.0 {
            word.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
