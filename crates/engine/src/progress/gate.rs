//! The gate of the engine: whether this process is in a job, and the thread inside, one at a time.
//!
//! Below `MPI_THREAD_MULTIPLE` the program sees to that, and entering costs one branch. With [`allow_threads`], which programs of Open MPI's ABI and
//! checked ones always have, there is a lock, and the thread inside is the one that holds it.
//!
//! Many programs ask for that level and call from one thread. So the lock is *biased* to the thread that joins the job: it enters
//! by raising a flag, without a locked instruction and without a fence. The first other thread that enters ends that for good: it revokes
//! the bias, fences all threads by `membarrier`, and waits until the flag is down. Either the thread of the bias, which looks at the bias
//! after it has raised the flag, sees that it is gone, or the other sees the flag.
//!
//! The lock is never held across user code, nor while its holder sleeps or yields. A thread that only looks
//! for something to come keeps it as long as nobody else wants it ([`Entered::is_wanted`]), so that one that is alone pays
//! next to nothing. A thread wakes waiting threads on its way out ([`crate::progress::waiters`]).
//!
//! There is one lock because there is one virtual channel. When there are several, each gets a lock of its own, `Engine`
//! is split by channel, and [`enter`] takes the channel that the communicator maps to; [`Guarded`] tables of the layers
//! above then need a lock of theirs.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use isthmus_os::switches::Switch;
use isthmus_os::{membarrier, process, thread};
use isthmus_shm::backoff::ShortWait;

/// Life of the engine in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not booted yet.
    Outside,
    /// Part of the job.
    Inside,
    /// In a child made by `fork`: channels must not be touched.
    Forked,
}

const OUTSIDE: u8 = 0;
pub(crate) const JOINED: u8 = 1;
pub(crate) const FORKED: u8 = 2;
/// Inside, but nobody needs the job.
pub(crate) const IDLE: u8 = 3;

pub(crate) static STATE: AtomicU8 = AtomicU8::new(OUTSIDE);
static LOCK: Mutex<()> = Mutex::new(());
/// Threads that found the lock taken and want it.
static QUEUE: AtomicU32 = AtomicU32::new(0);
/// The thread that need not take the lock; never again one after [`NOBODY`].
static BIASED_TO: AtomicUsize = AtomicUsize::new(NOBODY);
const NOBODY: usize = 0;
/// The thread that alone may call, as the program has promised; [`NOBODY`] where that is not looked at.
static PROMISED: AtomicUsize = AtomicUsize::new(NOBODY);
/// By this level.
static LEVEL: OnceLock<&str> = OnceLock::new();
/// Is it inside by the bias?
static INSIDE_BY_BIAS: AtomicBool = AtomicBool::new(false);
/// The thread inside, to notice one that enters twice. 0: none. Without a lock, in debug builds only.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// The hold on the lock of the thread inside: a token has no room for it, so that it costs nothing where there is no lock.
static HELD: Guarded<Option<Hold>> = Guarded::new(None);

struct Hold(#[expect(dead_code, reason = "held, not used")] MutexGuard<'static, ()>);

// SAFETY: it is put into its place, and taken away, by the thread inside, so it never changes threads.
unsafe impl Send for Hold {}

/// Proof that the calling thread is the only one inside the engine, until it is dropped.
///
/// A thread that has one cannot get another: it would wait for itself, and is told so. Never hold one across a user
/// callback: give it up, or step [`outside`](Self::outside).
#[derive(Debug)]
pub struct Entered(PhantomData<*const ()>);

/// From now on several threads may call at a time. There is no way back. Nobody may be inside, so whoever enters and leaves sees the same.
pub fn allow_threads() {
    Switch::Threads.turn_on();
}

/// The program has promised that one thread calls, this one or the first that does. A line is printed at the first call of another thread, which
/// the lock lets in.
/// Not at `MPI_THREAD_SERIALIZED`, where threads take turns. Nobody may be inside.
pub fn expect_one_thread(level: &'static str) {
    PROMISED.store(process::thread(), Ordering::Relaxed);
    let _ = LEVEL.set(level);
    allow_threads();
}

/// From now on others may call, too.
pub fn expect_threads() {
    PROMISED.store(NOBODY, Ordering::Relaxed);
}

/// May several threads call at a time?
#[inline(always)]
pub fn allows_threads() -> bool {
    Switch::Threads.is_on()
}

/// Where this process stands.
#[inline]
pub fn state() -> State {
    match STATE.load(Ordering::Acquire) {
        JOINED | IDLE => State::Inside,
        FORKED => State::Forked,
        _ => State::Outside,
    }
}

/// Has this process booted, and not left since? Not in a child made by `fork`.
#[inline(always)]
pub fn is_in_use() -> bool {
    STATE.load(Ordering::Relaxed) == JOINED
}

/// Enter the engine. Waits for the thread inside to leave where there is a lock ([`allow_threads`]).
#[inline(always)]
pub fn enter() -> Entered {
    acquire();
    Entered(PhantomData)
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        if Switch::Threads.is_on_or(Switch::FirstFrames) {
            self.leave();
        } else if cfg!(debug_assertions) {
            INSIDE.store(0, Ordering::Relaxed);
        }
    }
}

impl Entered {
    /// Let others in while `f` runs, which may be user code.
    pub fn outside<R>(&mut self, f: impl FnOnce() -> R) -> R {
        self.release_if_locked();
        let answer = f();
        acquire();
        answer
    }

    /// Does another thread wait to get in?
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        queued() != 0
    }

    #[inline(always)]
    pub(super) fn release_if_locked(&mut self) {
        if allows_threads() {
            self.unlock();
        } else if cfg!(debug_assertions) {
            INSIDE.store(0, Ordering::Relaxed);
        }
    }

    /// Let others in, without a look at waiting threads.
    pub(super) fn release(&mut self) {
        match HELD.get(self).take() {
            Some(hold) => {
                INSIDE.store(0, Ordering::Relaxed);
                drop(hold);
            }
            // SYNC: gate-bias
            None => INSIDE_BY_BIAS.store(false, Ordering::Release),
        }
    }
}

const TWICE: &str = "a thread entered the engine while it was inside";

#[inline(always)]
fn acquire() {
    if allows_threads() {
        lock();
    } else if cfg!(debug_assertions) {
        let me = process::thread();
        assert_ne!(INSIDE.swap(me, Ordering::Relaxed), me, "{TWICE}");
    }
}

/// Bias the lock to the calling thread, whose process is registered with membarrier. No thread may be inside.
pub(crate) fn bias_to_this_thread() {
    BIASED_TO.store(process::thread(), Ordering::Relaxed);
}

#[inline(never)]
fn lock() {
    let me = process::thread();
    if BIASED_TO.load(Ordering::Relaxed) == me && acquire_by_bias(me) {
        return;
    }
    if !matches!(PROMISED.load(Ordering::Relaxed), NOBODY) {
        look_at_thread(me);
    }
    let guard = match LOCK.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => queue(),
    };
    if BIASED_TO.load(Ordering::Relaxed) != NOBODY {
        revoke_bias();
    }
    INSIDE.store(me, Ordering::Relaxed);
    // SAFETY: we hold the lock.
    unsafe { *HELD.0.get() = Some(Hold(guard)) };
}

/// Say that the program calls from another thread than it has promised. Threads of our own do not count.
#[cold]
fn look_at_thread(me: usize) {
    if PROMISED.load(Ordering::Relaxed) == me || thread::is_own() || PROMISED.swap(NOBODY, Ordering::Relaxed) == NOBODY
    {
        return;
    }
    let level = LEVEL.get().unwrap_or(&"MPI_THREAD_SINGLE");
    process::say(&format!(
        "isthmus: process {}: a second thread calls MPI, but the program has {level}: it must ask MPI_Init_thread for \
         MPI_THREAD_MULTIPLE (ISTHMUS_THREAD_LEVEL=multiple grants it to a program that does not)",
        process::id()
    ));
}

/// False: the bias has just been revoked.
#[inline(always)]
fn acquire_by_bias(me: usize) -> bool {
    assert!(!INSIDE_BY_BIAS.load(Ordering::Relaxed), "{TWICE}");
    INSIDE_BY_BIAS.store(true, Ordering::Relaxed);
    // The thread that revokes the bias fences for us.
    compiler_fence(Ordering::SeqCst);
    if BIASED_TO.load(Ordering::Relaxed) == me {
        return true;
    }
    INSIDE_BY_BIAS.store(false, Ordering::Release);
    false
}

/// Called with the lock: from now on all threads take it. Waits until the thread of the bias is not inside.
#[cold]
fn revoke_bias() {
    BIASED_TO.store(NOBODY, Ordering::SeqCst);
    assert!(
        membarrier::fence_everyone(),
        "the kernel knew membarrier when we registered"
    );
    // The biased thread releases the lock for threads that are counted here.
    QUEUE.fetch_add(1, Ordering::Relaxed);
    // SYNC: gate-bias
    let mut wait = ShortWait::default();
    while INSIDE_BY_BIAS.load(Ordering::Acquire) {
        wait.pause();
    }
    QUEUE.fetch_sub(1, Ordering::Relaxed);
}

#[cold]
fn queue() -> MutexGuard<'static, ()> {
    assert_ne!(INSIDE.load(Ordering::Relaxed), process::thread(), "{TWICE}");
    QUEUE.fetch_add(1, Ordering::Relaxed);
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    QUEUE.fetch_sub(1, Ordering::Relaxed);
    guard
}

/// How many threads wait to get in.
pub(crate) fn queued() -> u32 {
    QUEUE.load(Ordering::Relaxed)
}

/// A value that only the thread inside the engine touches.
pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: every access goes through `get`, which needs the `Entered` token.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Wrap a value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value; the token proves that the access is exclusive.
    #[inline]
    #[allow(clippy::mut_from_ref)] // The token is what is borrowed mutably.
    pub fn get<'a>(&'a self, _token: &'a mut Entered) -> &'a mut T {
        // SAFETY: the token is unique while its thread is inside, and borrowed mutably here, so its thread cannot step
        // outside meanwhile.
        unsafe { &mut *self.0.get() }
    }
}
