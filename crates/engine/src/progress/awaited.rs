//! What a rank waits for, shown in its slot once it has waited for long: for people who ask why a job hangs.
//!
//! Nothing of this happens on the way of a message: the procedure's name is found on the stack, and the operation among those under
//! way, after [`LONG`].

use std::time::Duration;

use isthmus_os::{callers, clock};
use isthmus_shm::slot::Awaits;

use crate::Entered;
use crate::ops::{Op, Owner, Stage};

/// Whoever has waited for so long shows it.
const LONG: Duration = Duration::from_millis(100);

/// One wait that has come to sleeping.
#[derive(Debug, Default)]
pub struct Showing {
    began: Option<Duration>,
    shown: bool,
}

impl Showing {
    /// Before each sleep.
    pub fn note(&mut self, inside: &mut Entered) {
        let now = clock::now();
        let began = *self.began.get_or_insert(now);
        if !self.shown && now - began >= LONG {
            self.shown = true;
            show(inside, began);
        }
    }

    /// What was awaited has come.
    pub fn end(&self, inside: &mut Entered) {
        if self.shown {
            inside.engine().slot().show_awaited(None);
        }
    }
}

#[cold]
fn show(inside: &mut Entered, began: Duration) {
    let mut call = String::new();
    callers::find(&mut |name| match name.split_once("MPI_") {
        // As `isthmus_std_MPI_Recv`, or the program's own way to it.
        Some((before, name)) if before.is_empty() || before == "P" || before.starts_with("isthmus_") => {
            name.clone_into(&mut call);
            true
        }
        _ => false,
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
        Stage::Posted => (true, op.from, op.tag, op.context.0),
        Stage::Receiving { .. } => (true, Some(op.to), op.tag, op.context.0),
        _ => (false, Some(op.to), op.tag, op.context.0),
    });
    // Where nothing of ours is under way, a collective that goes through shared memory may be.
    let operation = operation.or_else(|| {
        let (context, peer) = engine.meeting;
        context.map(|context| (true, peer, None, context.0 | 1))
    });
    let since = began.as_millis() as u64;
    engine.slot().show_awaited(Some(&Awaits { call, since, operation }));
}
