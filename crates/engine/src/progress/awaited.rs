//! What a rank waits for, shown in its slot once it has waited for long: for people who ask why a job hangs.
//!
//! Nothing of this happens on the way of a message: the procedure's name is found on the stack, and the operation among those under
//! way, after [`LONG`]. A wait that is for no operation says what it is for ([`Entered::waits_for`]); one that is for operations of the
//! user's asks how far they are, and the first that is found pending is it ([`Entered::note_pending`]).
//!
//! Calls that do not block (`MPI_Test`) are counted as long as none succeeds, and shown after [`TESTED`].

use std::time::Duration;

use isthmus_os::{callers, clock};
use isthmus_shm::backoff::{FIRST_TIMED_TEST, TESTED, TIMED_TESTS};
use isthmus_shm::slot::{Awaits, Cause};

use crate::ops::{Op, Owner, Stage};
use crate::{Entered, OpId};

/// A thread that has waited for so long shows it.
const LONG: Duration = Duration::from_millis(100);

/// How the procedures of the models begin.
const MODELS: [&str; 6] = ["MPI_", "MPIX_", "shmem", "ARMCI_", "GA_", "NGA_"];

/// One wait that has come to sleeping.
#[derive(Debug, Default)]
pub struct Showing {
    began: Option<Duration>,
    shown: bool,
}

impl Showing {
    /// Before each sleep. True: it is time to [show](Self::show) what is awaited. Of several threads that wait one shows it, and another one
    /// once that has ended.
    pub fn is_due(&mut self, inside: &mut Entered) -> bool {
        let now = clock::now();
        let began = *self.began.get_or_insert(now);
        now - began >= LONG && !is_wait_shown(inside, now)
    }

    /// Show it. `behind`: what was said last, by whatever wait.
    pub fn show(&mut self, inside: &mut Entered, behind: Cause) {
        self.shown = true;
        show(inside, self.began.unwrap_or_else(clock::now), behind, false);
    }

    /// The wait has ended.
    pub fn end(&self, inside: &mut Entered) {
        if self.shown {
            inside.engine().slot().show_awaited(None, Duration::ZERO);
        }
    }
}

/// Is a wait of any thread shown?
fn is_wait_shown(inside: &mut Entered, now: Duration) -> bool {
    inside.engine().slot().awaited(now).is_some_and(|shown| !shown.tests)
}

impl Entered {
    /// A call that does not block, and asks by `look`, has found nothing. What that finds once more, if it has to be asked again.
    #[inline]
    pub fn found_nothing<T>(&mut self, look: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let tests = &mut self.engine().tests;
        tests.count = tests.count.wrapping_add(1);
        let is_timed =
            tests.count >= FIRST_TIMED_TEST.count() && tests.count & (tests.count.min(TIMED_TESTS.count()) - 1) == 0;
        if !(is_timed || tests.shown) || !has_tested_for_long(self) {
            return None;
        }
        let behind = take_said(self);
        let found = look(self);
        if found.is_none() {
            show_tests(self, behind);
        }
        found
    }

    /// Such a call has found what it asks for.
    #[inline]
    pub fn found(&mut self) {
        if self.engine().tests.count != 0 {
            forget_tests(self);
        }
    }

    /// An operation has been asked for, and is not complete: it is what the call waits for, unless there was another one before.
    #[inline]
    pub(crate) fn note_pending(&mut self, op: OpId) {
        let pending = &mut self.engine().pending;
        if pending.is_none() {
            *pending = Some(op);
        }
    }
}

/// Is it time to show it for the first time?
#[cold]
fn has_tested_for_long(inside: &mut Entered) -> bool {
    let now = clock::now();
    let engine = inside.engine();
    let began = *engine.tests.began.get_or_insert(now);
    if engine.tests.shown {
        engine.slot().show_test(now);
    }
    now - began >= TESTED.time() && !engine.tests.shown && !is_wait_shown(inside, now)
}

#[cold]
fn show_tests(inside: &mut Entered, behind: Cause) {
    let tests = &mut inside.engine().tests;
    tests.shown = true;
    let began = tests.began.unwrap_or_else(clock::now);
    show(inside, began, behind, true);
}

fn forget_tests(inside: &mut Entered) {
    let engine = inside.engine();
    if std::mem::take(&mut engine.tests).shown && !is_wait_shown(inside, clock::now()) {
        inside.engine().slot().show_awaited(None, Duration::ZERO);
    }
}

/// The cause that the last look of any wait said; it is forgotten, and the next look says its own.
#[cold]
pub fn take_said(inside: &mut Entered) -> Cause {
    let engine = inside.engine();
    engine.routine = "";
    engine.pending = None;
    std::mem::take(&mut engine.cause)
}

#[cold]
fn show(inside: &mut Entered, began: Duration, behind: Cause, tests: bool) {
    let mut call = inside.engine().routine.to_owned();
    let mut find = |pick: &mut dyn FnMut(&str) -> bool| {
        if inside.engine().routine.is_empty() {
            callers::find(pick);
        }
    };
    find(&mut |name| match procedure(name) {
        Some(name) => {
            name.clone_into(&mut call);
            true
        }
        None => false,
    });
    let engine = inside.engine();
    let waits = |op: &&Op| {
        op.owner != Owner::Nobody
            && matches!(
                op.stage,
                Stage::Posted | Stage::Queued | Stage::Offered | Stage::Loopback | Stage::Receiving { .. }
            )
    };
    // What the call asks for; what it has begun comes before what the program has under way, and what is older before what is younger.
    let asked = engine.pending.and_then(|op| Some(&engine.ops[engine.ops.find(op)?]));
    let op = asked.filter(waits).or_else(|| {
        let all = engine.ops.live().filter(waits);
        all.min_by_key(|op| (op.owner != Owner::Library, op.sequence))
    });
    let operation = op.map(|op| match op.stage {
        Stage::Posted => Cause::Receives(op.from, op.tag, op.context.0),
        Stage::Receiving { .. } => Cause::Receives(Some(op.to), op.tag, op.context.0),
        _ => Cause::Sends(op.to, op.tag, op.context.0),
    });
    let cause = match (engine.cause, operation) {
        // A collective that goes through shared memory may be under way in the background.
        (Cause::Unknown, None) => behind,
        (Cause::Unknown, Some(operation)) => operation,
        (said, _) => said,
    };
    let since = began.as_millis() as u64;
    let awaits = Awaits {
        call,
        since,
        tests,
        cause,
    };
    engine.slot().show_awaited(Some(&awaits), clock::now());
}

/// The procedure of a model that a library exports under this name, if it is one: as `isthmus_std_MPI_Recv`, `isthmus_openshmem_shmem_quiet`, or
/// the program's own way to it, `PMPI_Recv`.
fn procedure(symbol: &str) -> Option<&str> {
    let name = match symbol.strip_prefix("isthmus_") {
        Some(ours) => ours.split_once('_')?.1,
        None => symbol.strip_prefix('P').or(symbol.strip_prefix('p')).unwrap_or(symbol),
    };
    MODELS.iter().any(|model| name.starts_with(model)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::procedure;

    #[test]
    fn procedures_are_known_by_the_names_of_their_models() {
        for (symbol, name) in [
            ("isthmus_std_MPI_Recv", Some("MPI_Recv")),
            ("PMPI_Recv", Some("MPI_Recv")),
            ("MPI_Win_lock", Some("MPI_Win_lock")),
            ("isthmus_openshmem_shmem_set_lock", Some("shmem_set_lock")),
            ("shmem_barrier_all", Some("shmem_barrier_all")),
            ("pshmem_quiet", Some("shmem_quiet")),
            ("main", None),
            ("isthmus_tool", None),
            ("Print", None),
        ] {
            assert_eq!(procedure(symbol), name, "{symbol}");
        }
    }
}
