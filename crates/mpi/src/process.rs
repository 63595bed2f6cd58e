//! The process and its job: its identity, the state of MPI, its memory.

pub mod codes;
pub mod kinds;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

use isthmus_engine::{Peer, State, World};

use crate::error::{Error, Result};

/// Tells a session from all others that the process has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(pub(crate) u64);

/// Where the world model (`MPI_Init` to `MPI_Finalize`) stands. It happens once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Inside,
    After,
}

pub(crate) struct Life {
    pub phase: Phase,
    /// The thread that called `MPI_Init`, and the level it was granted.
    pub main: Option<(ThreadId, i32)>,
    /// The users of the job: the world model and each session count one.
    pub users: u32,
}

static LIFE: Mutex<Life> = Mutex::new(Life {
    phase: Phase::Before,
    main: None,
    users: 0,
});

pub(crate) fn life() -> MutexGuard<'static, Life> {
    LIFE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling process, once it has joined its job.
pub fn me() -> Option<Peer> {
    static ME: OnceLock<Peer> = OnceLock::new();
    if let Some(me) = ME.get() {
        return Some(*me);
    }
    if isthmus_engine::state() == State::Outside {
        return None;
    }
    Some(*ME.get_or_init(|| Peer(world().rank)))
}

/// The job. Only after the process has joined it.
pub(crate) fn world() -> &'static World {
    isthmus_engine::world()
}

/// `MPI_Initialized`: has `MPI_Init` returned, ever?
pub fn initialized() -> Result<bool> {
    Ok(life().phase != Phase::Before)
}

/// `MPI_Finalized`: has `MPI_Finalize` returned?
pub fn finalized() -> Result<bool> {
    Ok(life().phase == Phase::After)
}

/// One line for the user about an error that ends the job.
pub(crate) fn line(procedure: &str, error: &Error) -> String {
    let (class, detail) = (codes::name(error.code()), error.detail());
    match me() {
        Some(Peer(rank)) => format!("isthmus: rank {rank}: {procedure}: {class}: {detail}"),
        None => format!("isthmus: {procedure}: {class}: {detail}"),
    }
}

/// End the job because of an error in `procedure` that nobody would hear of.
pub fn end_job(procedure: &str, error: &Error) -> ! {
    isthmus_engine::abort(error.code(), &line(procedure, error))
}

/// At most `length` bytes of `text`, and no broken character at the end.
pub(crate) fn cut(text: &mut String, length: usize) {
    text.truncate(text.floor_char_boundary(length));
}
