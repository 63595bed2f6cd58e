//! Children: tying them to us, and hearing how they ended.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use crate::error::{Result, check};
use crate::signal::Mask;

/// What [`reap`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This child has ended, and its id is free again.
    Child(u32, ExitStatus),
    /// There are children, all running.
    AllRunning,
    /// There are no children.
    NoChildren,
    /// The kernel, or a filter before it, refuses to say (an `errno`).
    Refused(i32),
}

/// Become the parent of every descendant whose own parent dies, so that none escapes.
pub fn adopt_orphans() -> Result<()> {
    // SAFETY: prctl with integer arguments.
    check("prctl(PR_SET_CHILD_SUBREAPER)", unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    })
    .map(drop)
}

/// Let the kernel kill the calling process when its parent ends. To be called between `fork` and `exec`: allocates
/// nothing. If `parent` has gone already the process ends here: nobody is left to tell.
pub fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: prctl and getppid with integer arguments.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) == -1 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() as u32 != parent {
            libc::_exit(1);
        }
    }
    Ok(())
}

/// Make a process that is no child of this one (nor of the process that adopts its orphans, if that begins later), in a session of its own, with
/// nothing open but `kept`. True in the new process.
///
/// # Safety
/// This process must have one thread.
pub unsafe fn fork_away(kept: i32) -> Result<bool> {
    // SAFETY: one thread, by the caller's promise, so the child may do whatever this process may.
    let middle = check("fork", unsafe { libc::fork() })?;
    if middle != 0 {
        let mut status = 0;
        // SAFETY: the status is ours, the child too.
        unsafe { libc::waitpid(middle, &mut status, 0) };
        return Ok(false);
    }
    // SAFETY: as above; the one in the middle ends, so that nobody has to wait for the other.
    unsafe {
        libc::setsid();
        if libc::fork() != 0 {
            libc::_exit(0);
        }
        let all = |first: i32, last: u32| libc::syscall(libc::SYS_close_range, first, last, 0) == 0;
        let before = kept == 0 || all(0, kept as u32 - 1);
        if !(before && all(kept + 1, u32::MAX)) {
            // Before Linux 5.9.
            (0..1024)
                .filter(|descriptor| *descriptor != kept)
                .for_each(|descriptor| {
                    libc::close(descriptor);
                });
        }
    }
    Ok(true)
}

/// Let the program find signals blocked as `mask` says, whatever this process blocks.
pub fn with_signals(command: &mut Command, mask: Mask) {
    // SAFETY: between fork and exec the closure makes one system call; it neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            mask.set();
            Ok(())
        });
    }
}

/// Let the program run as nobody's child, in a session of its own: what signals our group or waits for our children does not meet it.
/// The spawned process has ended at once; the program has its descriptors.
pub fn apart(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor locks.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            match libc::fork() {
                -1 => Err(io::Error::last_os_error()),
                0 => Ok(()),
                _ => libc::_exit(0),
            }
        });
    }
}

/// Take note of one child that has ended. Does not block.
pub fn reap() -> Reaped {
    let mut status = 0;
    loop {
        // SAFETY: the status is ours.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return Reaped::AllRunning,
            -1 => match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::ECHILD) | None => return Reaped::NoChildren,
                Some(errno) => return Reaped::Refused(errno),
            },
            pid => return Reaped::Child(pid as u32, ExitStatus::from_raw(status)),
        }
    }
}

/// Does this process have children?
pub fn exist() -> bool {
    // SAFETY: an all-zero siginfo_t is a valid out parameter; WNOWAIT leaves the children as they are.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) == 0
    }
}
