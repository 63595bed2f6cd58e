//! A helper thread that copies by any mechanism while the caller does something else, and says in a word when it is done.
//!
//! What KNEM does with a kernel thread, in user space. Source: "Cache-Efficient, Intranode, Large-Message MPI Communication with
//! MPICH2-Nemesis" (ICPP'09), sections 3.4 and 3.5: there, too, a thread that shares a CPU with the one that waits costs more than
//! it hides, and short copies are not worth the hand-over ([`dma_min`]).

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

use isthmus_os::{Error, cpu, errno, signal, topology};
use isthmus_shm::backoff::ShortWait;

use crate::transfer::Interrupted;

/// The end of a copy that the helper makes.
#[derive(Debug, Default)]
pub struct Completion {
    /// 0 until it is over.
    word: AtomicU32,
    outcome: Mutex<Option<Result<(), Interrupted>>>,
}

impl Completion {
    /// How it went, once it is over.
    #[inline]
    pub fn poll(&self) -> Option<Result<(), Interrupted>> {
        // SYNC: helper-word
        if self.word.load(Ordering::Acquire) == 0 {
            return None;
        }
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wait for the end: as long as the copy takes, and those before it.
    pub fn wait(&self) -> Result<(), Interrupted> {
        let mut wait = ShortWait::default();
        loop {
            if let Some(outcome) = self.poll() {
                return outcome;
            }
            wait.pause();
        }
    }

    fn finish(&self, outcome: Result<(), Interrupted>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        // SYNC: helper-word
        self.word.store(1, Ordering::Release);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Let the helper, which begins with its first job and lives as long as the process, make a copy; when the word is written it
/// calls `then`, which must not wait. One copy after the other.
///
/// # Errors
/// There are no threads to be had.
pub fn submit(
    copy: impl FnOnce() -> Result<(), Interrupted> + Send + 'static,
    then: impl FnOnce() + Send + 'static,
) -> Result<Arc<Completion>, Error> {
    static HELPER: OnceLock<Result<mpsc::Sender<Job>, Error>> = OnceLock::new();
    let helper = HELPER.get_or_init(start).as_ref().map_err(|error| *error)?;
    let completion = Arc::new(Completion::default());
    let told = Arc::clone(&completion);
    let job: Job = Box::new(move || {
        told.finish(copy());
        then();
    });
    stay_away();
    helper.send(job).map_err(|_| NO_THREAD)?;
    Ok(completion)
}

/// The helper, once it runs.
static HELPER_THREAD: AtomicI32 = AtomicI32::new(0);

/// Let the helper run on any of the caller's CPUs but the one that the caller is on, if there is another: a kernel that wakes it there leaves it
/// waiting for as long as the caller computes, beside a CPU with nothing to do.
fn stay_away() {
    static KEPT_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);
    let thread = HELPER_THREAD.load(Ordering::Relaxed);
    let Some(here) = cpu::current().filter(|_| thread != 0) else {
        return;
    };
    if KEPT_FROM.swap(here, Ordering::Relaxed) == here {
        return;
    }
    let mut others = cpu::affinity();
    others.retain(|&cpu| cpu != here);
    if !others.is_empty() {
        // A kernel that does not want it leaves it slower.
        let _ = cpu::bind_thread(cpu::Thread(thread), &others);
    }
}

const NO_THREAD: Error = Error {
    call: "pthread_create",
    errno: errno::ENOMEM,
};

fn start() -> Result<mpsc::Sender<Job>, Error> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let work = move || {
        HELPER_THREAD.store(cpu::Thread::current().0, Ordering::Relaxed);
        // They are for the program's threads.
        let _ = signal::block_all();
        jobs.into_iter().for_each(|job| job());
    };
    std::thread::Builder::new()
        .name("isthmus-helper".into())
        .spawn(work)
        .map(|_| sender)
        .map_err(|error| Error {
            errno: error.raw_os_error().unwrap_or(NO_THREAD.errno),
            ..NO_THREAD
        })
}

/// From so many bytes on a copy is worth handing over: `cache / (2 x sharers)`, with the last cache above this process's first CPU and
/// those of its CPUs that share it. Source: as above, section 3.5.
pub fn dma_min() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let usable = cpu::affinity();
        let caches = topology::own_caches();
        let last = caches.iter().rfind(|cache| cache.kind != "Instruction");
        last.map_or(1 << 20, |cache| {
            let sharers = cache.shared_by.iter().filter(|cpu| usable.contains(cpu)).count();
            derived(cache.bytes, sharers as u64)
        })
    })
}

fn derived(cache: u64, sharers: u64) -> u64 {
    cache / (2 * sharers.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Transfer};

    #[test]
    fn any_mechanism_copies_while_we_go_on() {
        const LENGTH: u64 = 4 << 20;
        let from: &'static [u8] = Box::leak((0..LENGTH).map(|at| (at / 3) as u8).collect());
        let to: &'static mut [u8] = Box::leak(vec![0; LENGTH as usize].into_boxed_slice());
        let (source, target) = (
            from.as_ptr().expose_provenance() as u64,
            to.as_mut_ptr().expose_provenance() as u64,
        );
        let (told, hear) = mpsc::channel();
        let copy = move |range: std::ops::Range<u64>| {
            let (there, here) = (Layout::contiguous(source, LENGTH), Layout::contiguous(target, LENGTH));
            // SAFETY: both are ours without limit, and of the given length.
            unsafe { crate::cma::tests::myself().pull(&there, &here, range) }
        };
        let halves = [0..LENGTH / 2, LENGTH / 2..LENGTH].map(|range| {
            let told = told.clone();
            submit(
                move || copy(range),
                move || {
                    let _ = told.send(());
                },
            )
            .expect("a thread")
        });
        for half in &halves {
            assert_eq!(half.wait(), Ok(()));
            hear.recv().expect("it tells after each");
        }
        assert!(*from == *to);
        let beyond = submit(move || copy(0..LENGTH + 1), || {}).expect("a thread");
        assert_eq!(beyond.wait().map_err(|stopped| stopped.error.errno), Err(errno::EINVAL));
    }

    #[test]
    fn the_threshold_is_the_papers() {
        assert_eq!(derived(4 << 20, 2), 1 << 20);
        assert_eq!(derived(6 << 20, 0), 3 << 20);
        assert!(dma_min() > 0);
    }
}
