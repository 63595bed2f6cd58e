//! What a rank waits for, shown in its slot once it has waited for long: for people who ask why a job hangs.
//!
//! Nothing of this happens on the way of a message: the procedure's name is found on the stack, and the operation among those under
//! way, after [`LONG`]. A wait that is for no operation says what it is for ([`Entered::waits_for`]).

use std::time::Duration;

use isthmus_os::{callers, clock};
use isthmus_shm::slot::{Awaits, Cause};

use crate::Entered;
use crate::ops::{Op, Owner, Stage};

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
        now - began >= LONG && inside.engine().slot().awaited().is_none()
    }

    /// Show it. `behind`: what was said last, by whatever wait.
    pub fn show(&mut self, inside: &mut Entered, behind: Cause) {
        self.shown = true;
        show(inside, self.began.unwrap_or_else(clock::now), behind);
    }

    /// The wait has ended.
    pub fn end(&self, inside: &mut Entered) {
        if self.shown {
            inside.engine().slot().show_awaited(None);
        }
    }
}

/// The cause that the last look of any wait said; it is forgotten, and the next look says its own.
#[cold]
pub fn take_said(inside: &mut Entered) -> Cause {
    let engine = inside.engine();
    engine.routine = "";
    std::mem::take(&mut engine.cause)
}

#[cold]
fn show(inside: &mut Entered, began: Duration, behind: Cause) {
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
    // What the call itself has begun comes before what the program has under way, and what is older before what is younger.
    let op = engine
        .ops
        .live()
        .filter(waits)
        .min_by_key(|op| (op.owner != Owner::Library, op.sequence));
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
    engine.slot().show_awaited(Some(&Awaits { call, since, cause }));
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
