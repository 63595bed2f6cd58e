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
/// nothing. Fails if `parent` has gone already.
pub fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: prctl and getppid with integer arguments.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) == -1 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
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
/// What is spawned has ended at once; the program has its descriptors.
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
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return Reaped::NoChildren,
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
