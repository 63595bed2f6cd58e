//! Which epochs are open at the calling process, as origin and as target (MPI-5.0 §12.5).

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_engine::allows_threads;

use super::Win;
use crate::error::{Error, Result};
use crate::fail;

/// What kind of access epoch is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    None = 0,
    /// By fence, and nothing was done in it: another kind may follow.
    Fenced = 1,
    /// By fence.
    Fence = 2,
    /// By `MPI_Win_start`, to the targets held.
    Start = 3,
    /// By `MPI_Win_lock`, to the targets held.
    Lock = 4,
    /// By `MPI_Win_lock_all`.
    LockAll = 5,
}

impl Mode {
    fn of(number: u8) -> Self {
        match number {
            1 => Self::Fenced,
            2 => Self::Fence,
            3 => Self::Start,
            4 => Self::Lock,
            5 => Self::LockAll,
            _ => Self::None,
        }
    }

    /// How it is ended.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "no epoch is open",
            Self::Fenced | Self::Fence => "an epoch between fences is open",
            Self::Start => "an epoch by MPI_Win_start is open, which MPI_Win_complete ends",
            Self::Lock => "a target is locked, which MPI_Win_unlock ends",
            Self::LockAll => "all targets are locked, which MPI_Win_unlock_all ends",
        }
    }
}

/// How a target is held.
pub(super) const FREE: u8 = 0;
pub(super) const SHARED: u8 = 1;
pub(super) const EXCLUSIVE: u8 = 2;
/// Locked without a lock: the program sees to it.
pub(super) const UNCHECKED: u8 = 3;
pub(super) const STARTED: u8 = 4;

/// What general active target synchronisation counts.
#[derive(Debug, Default)]
pub(super) struct General {
    /// Posts of each target that starts have used, and completes of each origin that waits have; made at first use.
    pub used_posts: Box<[u16]>,
    pub used_completes: Box<[u16]>,
    /// Origins of the exposure epoch that is open.
    pub exposed: Option<Vec<usize>>,
    /// Targets of the access epoch that is open.
    pub started: Vec<usize>,
}

/// In the state of epochs: one target that is locked. The bits below are the mode.
const ONE_LOCK: u32 = 1 << 8;

/// The epochs of one window.
#[derive(Debug)]
pub(super) struct Epochs {
    /// The mode, and in steps of [`ONE_LOCK`] how many targets are locked: one word, since threads lock and unlock at once.
    state: AtomicU32,
    members: u32,
    /// Once one was held.
    held: OnceLock<Box<[AtomicU8]>>,
    /// Once there was such synchronisation.
    general: OnceLock<Box<Mutex<General>>>,
}

impl Epochs {
    pub fn new(members: usize) -> Self {
        Self {
            state: AtomicU32::new(Mode::None as u32),
            // A communicator has fewer members than there are processes.
            members: members as u32,
            held: OnceLock::new(),
            general: OnceLock::new(),
        }
    }

    #[inline]
    pub fn mode(&self) -> Mode {
        Mode::of(self.state.load(Ordering::Relaxed) as u8)
    }

    /// Another kind of epoch, with no target locked by itself.
    pub fn set_mode(&self, mode: Mode) {
        self.state.store(mode as u32, Ordering::Relaxed);
    }

    pub fn held(&self, member: usize) -> u8 {
        self.held
            .get()
            .map_or(FREE, |held| held[member].load(Ordering::Relaxed))
    }

    /// May this target be accessed, as far as is known without a change?
    #[inline(always)]
    pub fn admits(&self, target: usize) -> bool {
        match self.mode() {
            Mode::LockAll | Mode::Fence => true,
            Mode::Lock | Mode::Start => self.held(target) != FREE,
            Mode::Fenced | Mode::None => false,
        }
    }

    pub fn hold(&self, member: usize, how: u8) {
        let none = || (0..self.members).map(|_| AtomicU8::new(FREE)).collect();
        self.held.get_or_init(none)[member].store(how, Ordering::Relaxed);
    }

    /// One more target is locked; several threads may lock.
    pub fn locked(&self, member: usize, how: u8) {
        self.hold(member, how);
        self.change(|state| (state & !(ONE_LOCK - 1)) + ONE_LOCK + Mode::Lock as u32);
    }

    /// One less; with the last one the epoch ends.
    pub fn unlocked(&self, member: usize) {
        self.hold(member, FREE);
        self.change(|state| match state - ONE_LOCK {
            left if left >= ONE_LOCK => left,
            _ => Mode::None as u32,
        });
    }

    fn change(&self, to: impl Fn(u32) -> u32) {
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if !allows_threads() {
            return self.state.store(to(self.state.load(get)), set);
        }
        let changed = self.state.fetch_update(set, get, |state| Some(to(state)));
        debug_assert!(changed.is_ok());
    }

    pub fn general(&self) -> MutexGuard<'_, General> {
        let general = self.general.get_or_init(Box::default);
        general.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is the memory exposed by `MPI_Win_post`?
    pub fn is_exposed(&self) -> bool {
        self.general.get().is_some() && self.general().exposed.is_some()
    }
}

impl Win {
    /// May this target be accessed now?
    #[inline(always)]
    pub(super) fn admit(&self, target: usize) -> Result<()> {
        if self.epochs.admits(target) {
            return Ok(());
        }
        if self.epochs.mode() == Mode::Fenced {
            self.epochs.set_mode(Mode::Fence);
            return Ok(());
        }
        Err(self.outside_epoch(target))
    }

    /// May this target be accessed now, under a lock?
    #[inline(always)]
    pub(super) fn admit_passive(&self, target: usize) -> Result<()> {
        match self.epochs.mode() {
            Mode::LockAll => Ok(()),
            Mode::Lock if self.epochs.held(target) != FREE => Ok(()),
            mode => Err(self.not_locked_by_us(target, mode)),
        }
    }

    #[cold]
    fn not_locked_by_us(&self, target: usize, mode: Mode) -> Error {
        fail!(
            RmaSync,
            "rank {target} of {} is not locked by the calling process: {}",
            self.label(),
            mode.describe()
        )
    }

    #[cold]
    fn outside_epoch(&self, target: usize) -> Error {
        let mode = self.epochs.mode();
        let why = match mode {
            Mode::None => "no access epoch is open",
            _ => mode.describe(),
        };
        fail!(
            RmaSync,
            "no epoch lets the calling process access rank {target} of {}: {why}",
            self.label()
        )
    }

    /// May another kind of access epoch begin than the one that is open?
    pub(super) fn check_idle(&self, what: &str, open: Mode) -> Result<()> {
        match open {
            Mode::None | Mode::Fenced => Ok(()),
            mode => Err(fail!(RmaSync, "{what} on {}, where {}", self.label(), mode.describe())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_lock_targets_of_their_own() {
        isthmus_engine::allow_threads();
        let epochs = Epochs::new(4);
        std::thread::scope(|scope| {
            for target in 0..4 {
                let epochs = &epochs;
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        epochs.locked(target, SHARED);
                        assert!(epochs.admits(target), "locked, and {:?}", epochs.mode());
                        epochs.unlocked(target);
                    }
                });
            }
        });
        assert_eq!(epochs.mode(), Mode::None);
    }
}
