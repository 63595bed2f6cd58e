//! A thread that makes accesses while the program computes. There is one, from the first long non-blocking access on: a device serves one
//! after the other as well, and what is in memory is copied no faster by two.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use isthmus_os::{cpu, thread};

/// What it is to do.
pub type Job = Box<dyn FnOnce() + Send>;

static WORKER: OnceLock<Option<Mutex<Sender<Job>>>> = OnceLock::new();

fn start() -> Option<Mutex<Sender<Job>>> {
    let (sender, jobs) = channel::<Job>();
    let work = move || {
        // A thread is born with the CPUs of the one that makes it, which a program that binds its threads leaves no room beside. A kernel that does
        // not want it leaves it slower.
        let _ = cpu::bind(cpu::at_start());
        jobs.iter().for_each(|job| job());
    };
    let started = thread::start_quiet("isthmus-io", work);
    started.then(|| Mutex::new(sender))
}

/// Have it do this after what it was given before. Does not block.
///
/// # Errors
/// The job: the machine has no more threads, so it is the caller's to do.
pub fn give(job: Job) -> Result<(), Job> {
    match WORKER.get_or_init(start) {
        Some(worker) => {
            let sender = worker.lock().unwrap_or_else(PoisonError::into_inner);
            sender.send(job).map_err(|unsent| unsent.0)
        }
        None => Err(job),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    #[test]
    fn jobs_are_done_in_order() {
        let (sender, done) = channel();
        for number in 0..5 {
            let sender = sender.clone();
            assert!(super::give(Box::new(move || sender.send(number).expect("awaited"))).is_ok());
        }
        assert_eq!(done.iter().take(5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
