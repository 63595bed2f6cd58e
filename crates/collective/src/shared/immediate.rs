//! Non-blocking collectives through a board.
//!
//! A communicator gets a second [`Board`] in its [`WARM_UP`]th non-blocking call, for these alone: several may be under way, and
//! blocking ones in between end before them. That call goes on when all have come to it ([`super::founding`]). From then on each
//! call's number is its number on the board, and it goes through the same steps as a blocking one: its algorithm is polled
//! whenever progress is made, first in the call itself. One that asks for messages instead (its operation is a user's, or a
//! rule says so) records them, and they are run when it has ended.
//!
//! A mark on the board says that all before it is over, so how far a call has come is noted until those before it have ended.

use std::any::Any;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;

use isthmus_engine::{Board, Entered, Step, enter};

use super::founding::Founding;
use super::{Access, Agreed, MOST_RANKS, Whose};
use crate::error::{Error, Result};
use crate::link::{Lane, Link};
use crate::polling::poll_inside;
use crate::schedule::{Program, Recorder, Running};
use crate::select::Traits;
use crate::task::{Look, Task};
use crate::team::Team;

/// The call in which ranks agree on a board, and the first to use it.
const WARM_UP: u64 = 3;

/// Shared control of a communicator's non-blocking calls.
#[derive(Debug, Default)]
pub struct Immediates {
    /// Calls made: the same on every rank.
    calls: AtomicU64,
    /// Not set: not agreed yet. `None` inside: there is no memory for it.
    board: OnceLock<Option<Agreed>>,
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
    fn attach(&self, board: Option<(Board, Traits)>) {
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

/// The place of one call in the order of non-blocking calls on a communicator. When it is dropped, the call is over.
pub struct Turn {
    team: &'static Team,
    number: u64,
    /// The ranks come by the board in this call, and it has not begun with that.
    founds: bool,
}

impl Turn {
    /// The next one; `None` on communicators that have no such board.
    pub fn take(team: &'static Team) -> Option<Self> {
        let is_small = (2..=MOST_RANKS as i32).contains(&team.size());
        if !is_small || team.is_inter() || team.shared.has_nodes(team) {
            return None;
        }
        // Calls on one communicator follow each other, so there is nobody to race with.
        let calls = &team.shared.immediates.calls;
        let number = 1 + calls.load(Ordering::Relaxed);
        calls.store(number, Ordering::Relaxed);
        Some(Self {
            team,
            number,
            founds: number == WARM_UP,
        })
    }

    /// May there be a board for the call?
    pub fn may_have_board(&self) -> bool {
        self.number >= WARM_UP && !matches!(self.team.shared.immediates.board.get(), Some(None))
    }

    /// The board as this call uses it.
    fn access(self, agreed: &'static Agreed) -> Access<'static> {
        let access = Access::new(agreed, self.team, self.number, Whose::Requests);
        // From now on that says when the call is over.
        mem::forget(self);
        access
    }

    /// Wait until ranks have agreed. The board; `None`: there is none.
    async fn board(&self) -> Option<&'static Agreed> {
        let team: &'static Team = self.team;
        let board = &team.shared.immediates.board;
        poll_fn(|_| board.get().map_or(Poll::Pending, |board| Poll::Ready(board.as_ref()))).await
    }
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        // The call has failed before it began, and others wait for us to come.
        if self.founds {
            Founding::refuse(&mut enter(), self.team, 0, true);
            self.team.shared.immediates.attach(None);
        }
        if self.number >= WARM_UP {
            self.team.shared.immediates.note(self.number, None);
        }
    }
}

/// Datatypes and whatever else an algorithm works with, alive as long as it runs.
pub type Kept = Vec<Arc<dyn Any + Send + Sync>>;

/// A call under way. `F` is its algorithm, and comes to the messages that remain to be exchanged.
struct Passing<F> {
    stage: Stage<F>,
    /// Alive even after its handle is freed, as what the algorithm sees of it must be.
    team: Arc<Team>,
    tag: i32,
    kept: Kept,
}

enum Stage<F> {
    /// The ranks come by the board first. `None`: not begun.
    Founding(Option<Box<Founding>>, F),
    Algorithm(F),
    Messages(Box<Running>),
    Over(Option<Error>),
}

// SAFETY: what an algorithm holds are addresses of buffers that the user has left to the call, and may leave to it from any
// thread, what `Kept` keeps, and cells that only whoever polls it, inside the engine, touches.
unsafe impl<F> Send for Passing<F> {}

/// A call on a board, if ranks agree on one: it begins when it is first moved on.
pub fn begin<A>(mut turn: Turn, tag: i32, kept: Kept, algorithm: A) -> impl Task + 'static
where
    A: AsyncFnOnce(&Recorder) -> Result<()> + 'static,
{
    let (team, founds) = (turn.team, mem::take(&mut turn.founds));
    let shared = team.share();
    let algorithm = async move {
        let recorder = match turn.board().await {
            Some(agreed) => Recorder::on_board(team, turn.access(agreed)),
            None => Recorder::new(team),
        };
        algorithm(&recorder).await?;
        if let Some(access) = recorder.shared() {
            access.settle_later().await?;
        }
        Ok(recorder.finish_if_any())
    };
    Passing {
        stage: match founds {
            true => Stage::Founding(None, algorithm),
            false => Stage::Algorithm(algorithm),
        },
        team: shared,
        tag,
        kept,
    }
}

impl<F: Future<Output = Result<Option<Box<Program>>>> + 'static> Passing<F> {
    fn go_on(&mut self, inside: &mut Entered) -> Look {
        if let Stage::Founding(founding, _) = &mut self.stage {
            let founding = founding.get_or_insert_with(|| {
                let everyone = (0..self.team.size() as usize).collect();
                Box::new(Founding::begin(inside, &self.team, everyone, true))
            });
            match founding.advance(inside, &self.team) {
                None => return Look::Pending,
                Some(Ok(board)) => self.team.shared.immediates.attach(board),
                Some(Err(error)) => return self.end(Some(error)),
            }
            // Nobody has polled it yet, so it may change its place.
            if let Stage::Founding(_, algorithm) = mem::replace(&mut self.stage, Stage::Over(None)) {
                self.stage = Stage::Algorithm(algorithm);
            }
        }
        if let Stage::Algorithm(algorithm) = &mut self.stage {
            if let Err(error) = self.team.check_whole(inside) {
                return self.end(Some(error));
            }
            // SAFETY: the call is pinned, and once its algorithm has been polled, that is dropped where it is.
            let algorithm = unsafe { Pin::new_unchecked(algorithm) };
            match poll_inside(algorithm, inside) {
                Poll::Pending => return Look::Pending,
                Poll::Ready(Err(error)) => {
                    // Marks on the board tell those who look there; others may have come to messages already.
                    let (team, tag) = (&*self.team, self.tag);
                    Lane { team, tag }.fail(inside);
                    return self.end(Some(error));
                }
                Poll::Ready(Ok(None)) => return self.end(None),
                Poll::Ready(Ok(Some(program))) => {
                    let running = Running::once(program, Arc::clone(&self.team), self.tag);
                    self.stage = Stage::Messages(Box::new(running));
                }
            }
        }
        match &mut self.stage {
            Stage::Messages(running) => running.advance(inside),
            Stage::Over(error) if error.as_ref().is_some_and(Error::is_failure) => Look::PeerFailed,
            _ => Look::Complete,
        }
    }

    fn end(&mut self, error: Option<Error>) -> Look {
        let died = error.as_ref().is_some_and(Error::is_failure);
        self.stage = Stage::Over(error);
        if died { Look::PeerFailed } else { Look::Complete }
    }
}

impl<F: Future<Output = Result<Option<Box<Program>>>> + 'static> Task for Passing<F> {
    fn advance(self: Pin<&mut Self>, inside: &mut Entered) -> Look {
        // SAFETY: only the algorithm must not change its place, and it does not: it is moved before it has been polled for the
        // first time, and dropped where it is.
        let this = unsafe { self.get_unchecked_mut() };
        this.go_on(inside)
    }

    fn calls_out(&self) -> bool {
        matches!(&self.stage, Stage::Messages(running) if running.calls_out())
    }

    fn call_out(self: Pin<&mut Self>) {
        // SAFETY: what is touched is no algorithm.
        let this = unsafe { self.get_unchecked_mut() };
        if let Stage::Messages(running) = &mut this.stage {
            running.call_out();
        }
    }

    fn outcome(&self) -> Result<()> {
        match &self.stage {
            Stage::Messages(running) => running.outcome(),
            Stage::Over(Some(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn is_gone(&self) -> bool {
        // With its last share a communicator takes its leave of the engine. Who holds another one waits at the gate if it is
        // about to give it up.
        matches!(self.stage, Stage::Over(None)) && self.kept.is_empty() && Arc::strong_count(&self.team) > 1
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
