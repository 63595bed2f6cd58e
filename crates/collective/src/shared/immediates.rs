//! How far the non-blocking calls on a board have come.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock, PoisonError};

use isthmus_engine::{Board, Step};

use super::Agreed;
use crate::traits::Traits;

/// The call in which ranks agree on a board, and the first to use it.
pub const WARM_UP: u64 = 3;

/// Shared control of a communicator's non-blocking calls.
#[derive(Debug, Default)]
pub struct Immediates {
    /// Calls made: the same on every rank.
    pub calls: AtomicU64,
    /// Not set: not agreed yet. `None` inside: there is no memory for it.
    pub board: OnceLock<Option<Agreed>>,
    ledger: Mutex<Ledger>,
}

/// How far calls have come.
#[derive(Debug)]
struct Ledger {
    /// No call can go well any more.
    is_given_up: bool,
    /// All before this one are over.
    first: u64,
    /// Of this one and those after it; `None`: over.
    marks: VecDeque<Option<Step>>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            is_given_up: false,
            first: WARM_UP,
            marks: VecDeque::new(),
        }
    }
}

impl Ledger {
    /// A call has come to this step, or is over. What we are done with before, if that changes it.
    #[inline]
    fn note(&mut self, call: u64, mark: Option<Step>) -> Option<Step> {
        if self.is_given_up {
            return None;
        }
        let at = (call - self.first) as usize;
        if self.marks.len() <= at {
            self.marks.resize_with(at + 1, || Some(Step::first_of(0)));
        }
        self.marks[at] = mark;
        while let Some(None) = self.marks.front() {
            self.marks.pop_front();
            self.first += 1;
        }
        let come_to = self.marks.front().copied().flatten();
        let begun = Step::first_of(self.first);
        (at == 0).then(|| come_to.map_or(begun, |step| step.max(begun)))
    }
}

impl Immediates {
    /// The ranks have agreed.
    pub fn attach(&self, board: Option<(Board, Traits)>) {
        let ledger = self.ledger();
        match &board {
            Some((board, _)) if ledger.is_given_up => board.give_up(),
            Some((board, _)) => {
                board.finish_before(Step::first_of(ledger.first));
                board.ring_all();
            }
            None => {}
        }
        // There is one agreement.
        let _ = self.board.set(board.map(Agreed::new));
    }

    /// A call has come to this step, and needs nothing that was posted before, or is over.
    #[inline]
    pub fn note(&self, call: u64, mark: Option<Step>) {
        let mut ledger = self.ledger();
        if let Some(step) = ledger.note(call, mark)
            && let Some(Some(Agreed { board, .. })) = self.board.get()
        {
            board.finish_before(step);
            board.ring_all();
        }
    }

    /// No call can go well any more.
    #[cold]
    pub fn give_up(&self) {
        let mut ledger = self.ledger();
        ledger.is_given_up = true;
        if let Some(Some(Agreed { board, .. })) = self.board.get() {
            board.give_up();
        }
    }

    #[inline]
    fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u64 = WARM_UP;

    fn start(call: u64) -> Option<Step> {
        Some(Step::first_of(call))
    }

    #[test]
    fn calls_that_end_early_wait_for_those_before() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.note(FIRST + 2, None), None);
        assert_eq!(ledger.note(FIRST + 1, None), None);
        assert_eq!(ledger.note(FIRST + 5, None), None);
        assert_eq!(ledger.note(FIRST, None), start(FIRST + 3));
        assert_eq!(ledger.note(FIRST + 4, None), None);
        assert_eq!(ledger.note(FIRST + 3, None), start(FIRST + 6));
        assert!(ledger.marks.is_empty());
    }

    #[test]
    fn how_far_a_call_has_come_is_told_when_those_before_are_over() {
        let mut ledger = Ledger::default();
        let third = Step::first_of(FIRST + 1).next().next();
        assert_eq!(
            ledger.note(FIRST, Some(Step::first_of(FIRST).next())),
            Some(Step::first_of(FIRST).next())
        );
        assert_eq!(ledger.note(FIRST + 1, Some(third)), None);
        assert_eq!(ledger.note(FIRST, None), Some(third));
        assert_eq!(ledger.note(FIRST + 1, None), start(FIRST + 2));
    }
}
