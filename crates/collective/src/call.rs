//! Blocking calls: one collective call on one team, with a tag of its own, so that what an erroneous call leaves behind cannot be taken
//! for a part of the next.

use std::cell::Cell;

use isthmus_engine::{Outcome, enter};
use isthmus_os::switches::Switch;

use crate::error::{Error, Result};
use crate::lane::{Lane, check};
use crate::layout::Layout;
use crate::link::{Incoming, Link, Outgoing};
use crate::shared::{self, Access};
use crate::team::Team;

/// One collective call.
pub struct Call<'a> {
    lane: Lane<'a>,
    /// The first one. Boxed, since calls are handed about, and have none.
    fault: Cell<Option<Box<Error>>>,
    access: Option<Access<'a>>,
    /// Has it come to its end, well or not?
    is_over: Cell<bool>,
}

impl<'a> Call<'a> {
    /// Begin. Even a call whose arguments turn out to be wrong counts, so that this rank stays in step with those whose
    /// arguments are right.
    #[inline(always)] // A call that is handed back in memory is read as a whole where it was just written in parts.
    pub fn new(team: &'a Team) -> Result<Self> {
        let lane = Lane::new(team, team.next_collective());
        let access = shared::begin(team).inspect_err(|_| lane.fail(&mut enter()))?;
        let call = Self {
            lane,
            fault: Cell::new(None),
            access,
            is_over: Cell::new(false),
        };
        // Whether it is given up shows where it waits: if ranks are checked to call the same, that says more.
        if Switch::Faults.is_on() {
            team.check_whole(&mut enter())?;
        }
        Ok(call)
    }

    /// How the call went, all in all.
    #[inline]
    pub fn finish(&self, result: Result<()>) -> Result<()> {
        self.is_over.set(true);
        let result = result.and_then(|()| self.access.as_ref().map_or(Ok(()), Access::settle));
        if result.is_err() {
            self.lane.fail(&mut enter());
        }
        result?;
        let of_board = || self.access.as_ref().and_then(Access::take_fault);
        let fault = self.fault.take().map(|fault| *fault);
        fault.or_else(of_board).map_or(Ok(()), Err)
    }
}

impl Drop for Call<'_> {
    /// Its arguments were refused, and others wait for this rank's part: on a board its mark tells them, elsewhere this does.
    #[inline]
    fn drop(&mut self) {
        if !self.is_over.get() {
            self.lane.fail(&mut enter());
        }
    }
}

/// A call that is given up unless it is launched.
pub struct Launching<'a> {
    lane: Lane<'a>,
    is_launched: Cell<bool>,
}

impl<'a> Launching<'a> {
    /// The call whose messages cross there.
    pub fn new(lane: Lane<'a>) -> Self {
        Self {
            lane,
            is_launched: Cell::new(false),
        }
    }

    /// It tells by itself from now on.
    pub fn launched(&self) {
        self.is_launched.set(true);
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        if !self.is_launched.get() {
            self.lane.fail(&mut enter());
        }
    }
}

impl Link for Call<'_> {
    fn rank(&self) -> usize {
        self.lane.team.rank() as usize
    }

    fn size(&self) -> usize {
        self.lane.team.size() as usize
    }

    fn remote_size(&self) -> usize {
        self.lane.team.remote_size() as usize
    }

    #[inline]
    fn shared(&self) -> Option<&Access<'_>> {
        self.access.as_ref().filter(|access| !access.is_of_node())
    }

    fn shared_in_node(&self) -> Option<&Access<'_>> {
        self.access.as_ref().filter(|access| access.is_of_node())
    }

    #[inline]
    fn layout(&self) -> Option<&Layout> {
        let team = self.lane.team;
        team.shared.layout(team)
    }

    #[cold]
    fn fault(&self, error: Error) {
        let first = self.fault.take();
        self.fault.set(Some(first.unwrap_or_else(|| Box::new(error))));
    }

    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()> {
        const FEW: usize = 8;
        let mut few = [None; FEW];
        let mut many = Vec::new();
        let total = receives.len() + sends.len();
        let ops = if total <= FEW {
            &mut few[..total]
        } else {
            many.resize(total, None);
            &mut many[..]
        };
        let lane = self.lane;
        let mut inside = enter();
        // SAFETY: the caller's promise; all that was started is over when this returns.
        let started = unsafe { lane.start_all(&mut inside, receives, sends, ops) };
        let check_outcome = |i, outcome: &Outcome| {
            check(outcome, receives.get(i), |from, got, expected| {
                self.mismatch(from, got, expected);
            })
        };
        let team = lane.team;
        let settled = team.settle_while(&mut inside, ops, |inside| lane.check(inside), check_outcome);
        started.and(settled)
    }
}
