//! Signals as readable events (`signalfd(2)`), and sending them.

use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result, check, check_size};

pub use libc::{SIGKILL as KILL, SIGSTOP as STOP};

/// Signals that no longer interrupt this thread but wait to be read.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: Mask,
}

/// Which signals a thread blocks.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// Make it the calling thread's. To be called between `fork` and `exec` too: allocates nothing.
    pub fn set(&self) {
        // SAFETY: the set is valid, the old one is not asked for; with these arguments the call cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

/// Block all signals in the calling thread; what it blocked before.
pub fn block_all() -> Mask {
    // SAFETY: all-zero sets are valid to initialise, and both are ours; the calls cannot fail with these arguments.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        Mask(before)
    }
}

/// Do what may bring the calling thread `signal`, which would kill the process, and keep the signal from it. What comes from
/// elsewhere meanwhile comes afterwards.
pub fn without<R>(signal: i32, act: impl FnOnce() -> R) -> R {
    // SAFETY: all-zero sets are valid to initialise, and all of them are ours; the calls cannot fail with these arguments.
    unsafe {
        let (mut set, mut before, mut pending): (libc::sigset_t, libc::sigset_t, libc::sigset_t) =
            (zeroed(), zeroed(), zeroed());
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
        libc::sigpending(&mut pending);
        let was_pending = libc::sigismember(&pending, signal) == 1;
        let answer = act();
        let no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        if !was_pending {
            libc::sigtimedwait(&set, std::ptr::null_mut(), &no_time);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        answer
    }
}

/// One signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub signal: i32,
    /// It came from the kernel, as Ctrl-C does, so the terminal's whole foreground group has had it.
    pub from_kernel: bool,
}

impl Signals {
    /// Block `wanted` in the calling thread, and read them from now on. Those that are ignored (as `nohup` does with
    /// SIGHUP) stay ignored, except SIGCHLD: where that is, the kernel discards the children's ends, and tells of none.
    pub fn take_over(wanted: &[i32]) -> Result<Self> {
        if wanted.contains(&libc::SIGCHLD) && is_ignored(libc::SIGCHLD) {
            // SAFETY: the default disposition runs no code of ours.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
        // SAFETY: an all-zero sigset_t is valid to initialise.
        let mut set: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: the set is ours.
        unsafe { libc::sigemptyset(&mut set) };
        for &signal in wanted.iter().filter(|&&signal| !is_ignored(signal)) {
            // SAFETY: as above.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        let mut before = Mask(set);
        // SAFETY: both sets are ours.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before.0) } {
            0 => {}
            errno => {
                let call = "pthread_sigmask";
                return Err(Error { call, errno });
            }
        }
        // SAFETY: the set is ours.
        let fd = check("signalfd", unsafe {
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        })?;
        // SAFETY: the descriptor is new and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, before })
    }

    /// The mask before: children inherit it, and shall find it as we did.
    pub fn mask_before(&self) -> Mask {
        self.before
    }

    /// The next signal, if one has come. Does not block.
    pub fn next(&self) -> Result<Option<Arrived>> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        // SAFETY: the buffer is ours and as long as we say.
        let read = unsafe {
            libc::read(
                self.fd.as_raw_fd(),
                info.as_mut_ptr().cast(),
                size_of::<libc::signalfd_siginfo>(),
            )
        };
        match check_size("read(signalfd)", read) {
            Ok(length) if length == size_of::<libc::signalfd_siginfo>() => {
                // SAFETY: the kernel filled all of it.
                let info = unsafe { info.assume_init() };
                Ok(Some(Arrived {
                    signal: info.ssi_signo as i32,
                    from_kernel: info.ssi_code == libc::SI_KERNEL,
                }))
            }
            Ok(_) => Ok(None),
            Err(error) if matches!(error.errno, libc::EAGAIN | libc::EINTR) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is a valid out parameter, and the disposition is only read.
    unsafe {
        let mut now: libc::sigaction = zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Send `signal` to one process. One that has gone is no error.
pub fn send(pid: u32, signal: i32) -> Result<()> {
    let Some(pid) = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 0) else {
        let call = "kill";
        let errno = libc::ESRCH;
        return Err(Error { call, errno });
    };
    // SAFETY: kill takes no pointers, and the id names one process, never a group.
    match check("kill", unsafe { libc::kill(pid, signal) }) {
        Err(error) if error.errno != libc::ESRCH => Err(error),
        _ => Ok(()),
    }
}

/// What the C library calls the signal: `Killed`, `Segmentation fault`.
pub fn description(signal: i32) -> String {
    // SAFETY: strsignal answers a C string that lives until this thread asks again.
    let text = unsafe {
        let text = libc::strsignal(signal);
        if text.is_null() {
            return format!("signal {signal}");
        }
        std::ffi::CStr::from_ptr(text)
    };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_read() {
        let signals = Signals::take_over(&[libc::SIGUSR2]).expect("signalfd");
        assert_eq!(signals.next(), Ok(None));
        // SAFETY: raise takes no pointers; the signal is blocked in this thread.
        unsafe { libc::raise(libc::SIGUSR2) };
        let arrived = Arrived {
            signal: libc::SIGUSR2,
            from_kernel: false,
        };
        assert_eq!(signals.next(), Ok(Some(arrived)));
    }

    #[test]
    fn only_single_processes_are_sent_to() {
        assert!(send(0, 0).is_err());
        assert!(send(u32::MAX, 0).is_err());
        assert_eq!(send(std::process::id(), 0), Ok(()));
    }
}
