//! May one rank of a job read another's memory? Tried for real, between two children as a launcher starts them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result, check};
use crate::{child, process, process_vm};

static WORD: AtomicU64 = AtomicU64::new(0);

/// What only the child that is read from writes to its copy of [`WORD`].
const WRITTEN: u64 = 0x0049_7374_686d_7573;

/// Exit code of a reader that read something else.
const WRONG_DATA: i32 = 255;

/// Let one child read a word of its sibling, which has allowed this process and its descendants to look, as ranks do.
/// Blocks for the life of the two. To be called from a process with one thread. An error is that of `process_vm_readv`,
/// or of what went wrong on the way to it.
pub fn siblings() -> Result<()> {
    let launcher = process::id();
    let mut pipe = [0; 2];
    // SAFETY: the array takes two descriptors.
    check("pipe2", unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let [from_target, to_parent] = pipe;

    let target = fork(|| {
        if child::die_with(launcher).is_err() {
            return;
        }
        process::allow_tracing_by(launcher);
        WORD.store(WRITTEN, Ordering::Relaxed);
        // SAFETY: the descriptor is open and the buffer a literal. Then wait to be killed.
        unsafe {
            libc::write(to_parent, b"!".as_ptr().cast(), 1);
            loop {
                libc::pause();
            }
        }
    });
    // SAFETY: the descriptor is ours; the target has its own.
    unsafe { libc::close(to_parent) };
    let result = target.and_then(|target| {
        let mut byte = 0u8;
        // SAFETY: one byte is ours. End of file, should the target have died, is as good: then the read fails.
        unsafe { libc::read(from_target, (&raw mut byte).cast(), 1) };
        let result = read_from_sibling(target);
        // SAFETY: the child is ours and not yet reaped, so the id is its.
        unsafe { libc::kill(target, libc::SIGKILL) };
        exit_code(target)?;
        result
    });
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(from_target) };
    result
}

fn read_from_sibling(target: libc::pid_t) -> Result<()> {
    let reader = fork(|| {
        let mut word = 0u64;
        // SAFETY: the local word is ours and eight bytes long.
        let read = unsafe { process_vm::read(target as u32, WORD.as_ptr() as u64, (&raw mut word).cast(), 8) };
        process::exit_now(match read {
            Ok(8) if word == WRITTEN => 0,
            Ok(_) => WRONG_DATA,
            Err(error) => error.errno,
        })
    })?;
    let call = "process_vm_readv";
    match exit_code(reader)? {
        0 => Ok(()),
        // Another process answered to the sibling's id.
        WRONG_DATA => Err(Error {
            call,
            errno: libc::ESRCH,
        }),
        errno => Err(Error { call, errno }),
    }
}

fn fork(child: impl FnOnce()) -> Result<libc::pid_t> {
    // SAFETY: the child only makes system calls and leaves by them.
    match check("fork", unsafe { libc::fork() })? {
        0 => {
            child();
            process::exit_now(0)
        }
        pid => Ok(pid),
    }
}

fn exit_code(child: libc::pid_t) -> Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the status is ours, the child too.
        match check("waitpid", unsafe { libc::waitpid(child, &mut status, 0) }) {
            Err(error) if error.errno == libc::EINTR => {}
            other => {
                // Killed, by a seccomp filter perhaps: no answer is not permission.
                let code = if libc::WIFEXITED(status) {
                    libc::WEXITSTATUS(status)
                } else {
                    -1
                };
                return other.map(|_| code);
            }
        }
    }
}
