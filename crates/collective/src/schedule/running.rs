//! One execution of a program.

use std::pin::Pin;
use std::sync::Arc;

use isthmus_engine::{Entered, OpId, Outcome, enter};
use isthmus_os::switches::Switch;

use super::program::{Program, Step};
use crate::error::{Error, Result};
use crate::lane::{Lane, check};
use crate::link::mismatched;
use crate::task::{Look, Task};
use crate::team::Team;

/// The program of an execution.
#[derive(Default)]
enum Held {
    /// It is being looked at.
    #[default]
    Nothing,
    /// Run once.
    Own(Box<Program>),
    /// Run as often as one likes.
    Shared(Arc<Program>),
}

impl Held {
    #[inline]
    fn program(&self) -> &Program {
        match self {
            Self::Own(program) => program,
            Self::Shared(program) => program,
            Self::Nothing => unreachable!("a taken program is put back"),
        }
    }
}

/// A program on its way.
pub struct Running {
    program: Held,
    /// Alive even after its handle is freed.
    team: Arc<Team>,
    tag: i32,
    /// The operations that must complete before it begins; if one fails, it does not.
    before: Option<Box<Running>>,
    /// The step to do next.
    next: usize,
    /// Messages of the step before it that are not over, in the order of the program.
    ops: Vec<Option<OpId>>,
    /// How many of them are known to be over, from the first one on.
    over: usize,
    /// How it will fail although it goes on, since others depend on it.
    fault: Option<Error>,
    /// Its failure: a dead process, memory that was refused, here or elsewhere.
    broken: Option<Error>,
}

impl Running {
    /// One execution of a program that has others.
    pub fn new(program: Arc<Program>, team: Arc<Team>, tag: i32) -> Self {
        Self::of(Held::Shared(program), Vec::new(), team, tag)
    }

    /// The only execution of a program.
    pub fn once(mut program: Box<Program>, team: Arc<Team>, tag: i32) -> Self {
        let ops = std::mem::take(&mut program.ops);
        Self::of(Held::Own(program), ops, team, tag)
    }

    fn of(program: Held, ops: Vec<Option<OpId>>, team: Arc<Team>, tag: i32) -> Self {
        let fault = program.program().fault.clone();
        Self {
            program,
            team,
            tag,
            before: None,
            next: 0,
            ops,
            over: 0,
            fault,
            broken: None,
        }
    }

    /// The same, once another is over.
    pub fn after(mut self, before: Option<Self>) -> Self {
        self.before = before.map(Box::new);
        self
    }

    /// Are all messages over that have been started?
    #[inline]
    fn settle(&mut self, inside: &mut Entered, program: &Program) -> bool {
        while let Some(op) = self.ops.get(self.over) {
            if let Some(op) = *op {
                let Some(outcome) = self.outcome_of(inside, op) else {
                    return false;
                };
                let Some(Step::Messages { receives, .. }) = program.steps.get(self.next - 1) else {
                    unreachable!("messages are of the step before the next")
                };
                let receive = program.receives[receives.clone()].get(self.over);
                let checked = check(&outcome, receive, |from, got, expected| {
                    let size = self.team.size() as usize;
                    self.fault.get_or_insert_with(|| mismatched(from, size, got, expected));
                });
                if let Err(error) = checked {
                    self.broken.get_or_insert(error);
                    self.withdraw(inside);
                }
            }
            self.over += 1;
        }
        self.ops.clear();
        self.over = 0;
        true
    }

    fn error(&self) -> Option<&Error> {
        self.broken.as_ref().or(self.fault.as_ref())
    }

    /// How a message ended. Where a member of the communicator has failed, or given up the call, what can be withdrawn is.
    fn outcome_of(&mut self, inside: &mut Entered, op: OpId) -> Option<Outcome> {
        if let Some(outcome) = inside.take(op) {
            return Some(outcome);
        }
        if Switch::Faults.is_on()
            && self.broken.is_none()
            && let Err(error) = self.team.check_call(inside, self.tag)
        {
            self.broken = Some(error);
            self.withdraw(inside);
            return inside.take(op);
        }
        None
    }

    /// Withdraw what can be of the messages under way: others may not come to theirs.
    fn withdraw(&self, inside: &mut Entered) {
        for op in self.ops[self.over..].iter().flatten() {
            inside.cancel(*op);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Held::Own(mut program) = std::mem::take(&mut self.program) {
            program.ops = std::mem::take(&mut self.ops);
            program.recycle();
        }
    }
}

impl Running {
    /// Move on as far as possible. Inside the engine.
    pub fn advance(&mut self, inside: &mut Entered) -> Look {
        if let Some(before) = &mut self.before {
            if before.advance(inside) == Look::Pending {
                return Look::Pending;
            }
            self.broken = before.error().cloned();
            self.before = None;
        }
        if self.next == 0
            && self.broken.is_none()
            && let Err(error) = self.team.check_call(inside, self.tag)
        {
            self.broken = Some(error);
        }
        let held = std::mem::take(&mut self.program);
        let look = self.advance_through(inside, held.program());
        self.program = held;
        look
    }

    /// Is a user's function to run before it can go on?
    pub fn calls_out(&self) -> bool {
        self.before.is_none()
            && self.ops.is_empty()
            && matches!(self.program.program().steps.get(self.next), Some(Step::CallOut { .. }))
    }

    /// Run the users' functions that are to run. Outside the engine.
    pub fn call_out(&mut self) {
        if !self.calls_out() {
            return;
        }
        while let Some(step) = self.program.program().steps.get(self.next) {
            if let Step::Messages { .. } = step {
                return;
            }
            // SAFETY: what the recorder was promised, and all before is done.
            let result = unsafe { step.perform() };
            if result.is_err() {
                let (team, tag) = (&*self.team, self.tag);
                Lane { team, tag }.fail(&mut enter());
            }
            self.broken = self.broken.take().or(result.err());
            self.next += 1;
        }
    }

    /// How it went, once it is complete.
    pub fn outcome(&self) -> Result<()> {
        self.error().cloned().map_or(Ok(()), Err)
    }
}

impl Task for Running {
    fn advance(self: Pin<&mut Self>, inside: &mut Entered) -> Look {
        Self::advance(self.get_mut(), inside)
    }

    fn calls_out(&self) -> bool {
        Self::calls_out(self)
    }

    fn call_out(self: Pin<&mut Self>) {
        Self::call_out(self.get_mut());
    }

    fn outcome(&self) -> Result<()> {
        Self::outcome(self)
    }
}

impl Running {
    fn advance_through(&mut self, inside: &mut Entered, program: &Program) -> Look {
        while self.settle(inside, program) {
            if self.broken.is_some() {
                self.next = program.steps.len();
            }
            match program.steps.get(self.next) {
                None => {
                    let died = self.broken.as_ref().is_some_and(Error::is_failure);
                    return if died { Look::PeerFailed } else { Look::Complete };
                }
                Some(Step::Messages { receives, sends }) => {
                    let (receives, sends) = (&program.receives[receives.clone()], &program.sends[sends.clone()]);
                    self.ops.resize(receives.len() + sends.len(), None);
                    let lane = Lane {
                        team: &self.team,
                        tag: self.tag,
                    };
                    // SAFETY: what the recorder was promised; the memory lives as long as the program, which is not let go
                    // before the operations are complete.
                    if let Err(error) = unsafe { lane.start_all(inside, receives, sends, &mut self.ops) } {
                        lane.fail(inside);
                        self.broken = Some(error);
                    }
                }
                Some(Step::CallOut { .. }) => return Look::Pending,
                // SAFETY: what the recorder was promised, and all before is done.
                Some(step) => self.broken = unsafe { step.perform() }.err(),
            }
            self.next += 1;
        }
        Look::Pending
    }
}
