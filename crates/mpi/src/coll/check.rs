//! Do all ranks call the same? With the tunable `check` (`ISTHMUS_CHECK=1`), ranks tell one another what they call, and with
//! what, before anything else of a collective happens; where they disagree, the call fails on all of them with
//! `MPI_ERR_NOT_SAME`, and one line says who called what.
//!
//! 1. *Names*: the procedure. It is known before the arguments are looked at, and before anything else of the call can wait.
//! 2. *Terms*: the root, the operation, the type signature where it must be the same on all; or that the arguments are
//!    wrong, so that nobody waits for a rank whose call has failed already.
//! 3. *Blocks*, where the signature differs from pair to pair: what a rank sends to each, which compares it with what it
//!    expects; and what they found.
//!
//! Each communicator numbers these checks, whatever the form of the call, so that they meet even if the calls would not: they
//! have tags of their own, for one thing. Those of blocking and persistent calls block, as these calls may; those of
//! non-blocking ones are the first steps of their schedule.

pub(crate) mod report;
mod round;
mod terms;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_engine::{Guarded, enter, wait_until};
use isthmus_os::switches::Switch;

use crate::comm::{COMM_SELF, COMM_WORLD, Comm};
use crate::error::Result;
use crate::handle::Object;
use crate::ledger::{self, Held};
use crate::liveness;
use isthmus_collective::{Lane, Outgoing};
use isthmus_collective::{Look, Program, Running, Team};
use round::{Whom, names};
pub(super) use terms::Terms;

/// The checks of one communicator so far: the same on every rank.
#[derive(Debug, Default)]
pub(crate) struct Checks(AtomicU32);

/// Tags from here on are of checks: above those of calls, below those by which ranks come by a board.
const FIRST_TAG: u32 = 1 << 28;
/// So many, and then again.
const TAGS: u32 = 1 << 27;

/// One call on a communicator that is being checked.
pub(super) struct Asking {
    whom: Arc<Whom>,
    procedure: String,
    /// Checks to make later, since the call may not wait.
    later: Option<RefCell<Program>>,
    /// The others wait for our terms.
    is_owing: Cell<bool>,
    /// The buffers that the call has.
    buffers: RefCell<Vec<Held>>,
}

/// When to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Now: the call may wait.
    Now,
    /// When the call's request runs.
    Later,
}

/// Is there anything to check? Communicators without a handle are the library's own, as a file has one: no call of the program is on them.
#[inline]
pub(super) fn concerns(comm: &Comm) -> bool {
    Switch::Check.is_on() && (comm.size() > 1 || comm.is_inter()) && !comm.handle().is_null()
}

/// A collective call begins: tell its name. `None`: nothing is checked.
#[inline]
pub(super) fn begin(comm: &Comm, procedure: impl FnOnce() -> String, when: When) -> Result<Option<Box<Asking>>> {
    if !concerns(comm) {
        return Ok(None);
    }
    Asking::begin(comm, procedure(), when).map(|asking| Some(Box::new(asking)))
}

/// A procedure of which all is known that is compared begins: does everyone call it?
pub(crate) fn same(comm: &Comm, procedure: &str) -> Result<()> {
    if !concerns(comm) {
        return Ok(());
    }
    Asking::begin(comm, procedure.to_owned(), When::Now)?
        .is_owing
        .set(false);
    Ok(())
}

/// This process takes no further part in the communicator. It does not wait, but others need not wait for it.
pub(crate) fn leave(comm: &Comm, procedure: &str) {
    if !concerns(comm) {
        return;
    }
    let Ok(whom) = Whom::new(comm, next(comm)) else {
        return;
    };
    let mut program = Program::default();
    round::exchange_names(&mut program, &whom, procedure);
    let farewell = Running::new(Arc::new(program), whom.comm.team().share(), tag(&whom));
    FAREWELLS.get(&mut enter()).push(farewell);
    bury_farewells();
}

/// Farewells that some others have not answered yet with theirs. If theirs were not taken, each communicator would leave them
/// behind.
static FAREWELLS: Guarded<Vec<Running>> = Guarded::new(Vec::new());

/// Begin waiting checks, and drop complete ones, with their communicators.
fn bury_farewells() {
    let mut inside = enter();
    let mut farewells = std::mem::take(FAREWELLS.get(&mut inside));
    let is_over = |farewell: &mut Running| farewell.advance(&mut inside) != Look::Pending;
    let over: Vec<Running> = farewells.extract_if(.., is_over).collect();
    FAREWELLS.get(&mut inside).append(&mut farewells);
    // Outside the engine.
    drop(inside);
    drop(over);
}

/// As [`refused`](super::refused), of a procedure that tells nothing but its name.
#[cold]
pub fn refused_by_name(comm: &Comm, procedure: &str) {
    leave(comm, &format!("{procedure} (refused)"));
}

/// MPI is about to be finalized: do all do that, on all communicators that there are?
pub(crate) fn finalize() -> Result<()> {
    const PROCEDURE: &str = "MPI_Finalize";
    if !Switch::Check.is_on() || enter().failures() > 0 {
        return Ok(());
    }
    let handles = RefCell::new(Vec::new());
    Comm::table().find(|comm| {
        handles.borrow_mut().push(comm.handle());
        false
    });
    let handles = handles.into_inner();
    for handle in handles
        .into_iter()
        .filter(|handle| ![COMM_WORLD, COMM_SELF].contains(handle))
    {
        leave(handle.resolve("comm")?, PROCEDURE);
    }
    liveness::forgive(same(COMM_WORLD.resolve("comm")?, PROCEDURE))
}

/// A tag for messages about the program, in the order in which all members come to them.
pub(crate) fn next_tag(comm: &Comm) -> i32 {
    tag_of(next(comm))
}

fn next(comm: &Comm) -> u32 {
    comm.checks.0.fetch_add(1, Ordering::Relaxed)
}

impl Asking {
    fn begin(comm: &Comm, procedure: String, when: When) -> Result<Self> {
        let whom = Whom::new(comm, next(comm))?;
        let mut program = Program::default();
        round::ask_names(&mut program, &whom, &procedure);
        let mut asking = Self {
            whom,
            procedure,
            later: None,
            is_owing: Cell::new(false),
            buffers: RefCell::default(),
        };
        match when {
            When::Now => asking.run(program)?,
            When::Later => asking.later = Some(RefCell::new(program)),
        }
        // A rank that has come as far has told its departure from earlier communicators.
        bury_farewells();
        asking.is_owing.set(true);
        Ok(asking)
    }

    /// The tag of a non-blocking call's messages. Ranks that disagree must not get out of step for the next call, so it is
    /// checks that are counted, not calls of a kind.
    pub fn tag_of_messages(&self) -> i32 {
        Team::immediate_tag(self.whom.call)
    }

    /// Tell the terms of the call.
    pub fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        let mut terms = Terms::new(&self.whom);
        state(&mut terms);
        *self.buffers.borrow_mut() = ledger::claim_for_collective(terms.take_buffers())?;
        if let Some(later) = &self.later {
            round::ask_terms(&mut later.borrow_mut(), &self.whom, &self.procedure, terms);
            return Ok(());
        }
        self.is_owing.set(false);
        let mut program = Program::default();
        round::ask_terms(&mut program, &self.whom, &self.procedure, terms);
        self.run(program)
    }

    /// The buffers that the call's request has until it is complete.
    pub fn take_buffers(&self) -> Vec<Held> {
        self.buffers.take()
    }

    /// What the call's request has to do first.
    pub fn into_running(mut self) -> Running {
        self.is_owing.set(false);
        let program = self.later.take().map(RefCell::into_inner).unwrap_or_default();
        self.running(program)
    }

    fn running(&self, program: Program) -> Running {
        Running::new(Arc::new(program), self.whom.comm.team().share(), tag(&self.whom))
    }

    fn run(&self, program: Program) -> Result<()> {
        let mut running = self.running(program);
        // It ends by itself where a process has failed, and must not be let go before.
        wait_until(|inside| (running.advance(inside) != Look::Pending).then_some(()))?;
        running.outcome()
    }
}

impl Drop for Asking {
    /// The call has failed before its terms were known.
    fn drop(&mut self) {
        if !self.is_owing.get() {
            return;
        }
        let told = match self.later {
            Some(_) => tell(&self.whom, &names(&self.procedure)),
            None => Ok(()),
        };
        // If it cannot be told, it is because others have died.
        let _ = told.and_then(|()| tell(&self.whom, &Terms::wrong()));
    }
}

fn tag(whom: &Whom) -> i32 {
    tag_of(whom.call)
}

fn tag_of(call: u32) -> i32 {
    (FIRST_TAG + call % TAGS) as i32
}

/// Tell everyone else, and do not wait for answers.
fn tell(whom: &Whom, words: &[u64]) -> Result<()> {
    let lane = Lane {
        team: whom.comm.team(),
        tag: tag(whom),
    };
    let sends: Vec<_> = whom
        .others()
        .map(|to| Outgoing {
            to,
            data: words.as_ptr().cast(),
            len: size_of_val(words),
        })
        .collect();
    let mut ops = vec![None; sends.len()];
    let mut inside = enter();
    // SAFETY: the words are borrowed until the operations are over.
    let started = unsafe { lane.start_all(&mut inside, &[], &sends, &mut ops) };
    let settled = whom.comm.settle(&mut inside, &ops, |_, _| Ok(()));
    started.and(settled)
}
