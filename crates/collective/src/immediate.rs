//! Non-blocking collectives through a board.
//!
//! A communicator gets a second [`Board`] in its [`WARM_UP`]th non-blocking call, for these alone: several may be under way, and
//! blocking ones in between end before them. That call goes on when all have come to it ([`Setup`]). From then on each
//! call's number is its number on the board, and it goes through the same steps as a blocking one: its algorithm is polled
//! whenever progress is made, first in the call itself. One that asks for messages instead (its operation is a user's, or a
//! rule says so) records them, and they are run when it has ended.
//!
//! A mark on the board says that all before it is over, so how far a call has come is noted until those before it have ended.

use std::any::Any;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use isthmus_engine::{Entered, enter};

use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::link::Link;
use crate::polling::poll_inside;
use crate::schedule::{Program, Recorder, Running};
use crate::shared::immediates::WARM_UP;
use crate::shared::setup::Setup;
use crate::shared::{Access, Agreed, MOST_RANKS, Scope};
use crate::task::{Look, Task};
use crate::team::Team;

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
        let access = Access::new(agreed, self.team, self.number, Scope::Requests);
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
            Setup::refuse(&mut enter(), self.team, 0, true);
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
    Setup(Option<Box<Setup>>, F),
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
            true => Stage::Setup(None, algorithm),
            false => Stage::Algorithm(algorithm),
        },
        team: shared,
        tag,
        kept,
    }
}

impl<F: Future<Output = Result<Option<Box<Program>>>> + 'static> Passing<F> {
    fn go_on(&mut self, inside: &mut Entered) -> Look {
        if let Stage::Setup(setup, _) = &mut self.stage {
            let setup = setup.get_or_insert_with(|| {
                let everyone = (0..self.team.size() as usize).collect();
                Box::new(Setup::begin(inside, &self.team, everyone, true))
            });
            match setup.advance(inside, &self.team) {
                None => return Look::Pending,
                Some(Ok(board)) => self.team.shared.immediates.attach(board),
                Some(Err(error)) => return self.end(Some(error)),
            }
            // Nobody has polled it yet, so it may change its place.
            if let Stage::Setup(_, algorithm) = mem::replace(&mut self.stage, Stage::Over(None)) {
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
        // With its last share a communicator leaves the engine. A thread that holds another one waits at the gate if it is
        // about to give it up.
        matches!(self.stage, Stage::Over(None)) && self.kept.is_empty() && Arc::strong_count(&self.team) > 1
    }
}
