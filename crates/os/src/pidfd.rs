//! A descriptor for one process (`pidfd_open(2)`): it cannot come to mean another when the id is used again.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::error::{Error, Result, errno, named};

/// One process. Its descriptor becomes readable when the process has ended.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// The process that `pid` names now.
    pub fn open(pid: u32) -> Result<Self> {
        let no_process = Error {
            call: "pidfd_open",
            errno: errno::ESRCH,
        };
        let pid = Pid::from_raw(pid as i32)
            .filter(|pid| pid.as_raw_nonzero().get() > 0)
            .ok_or(no_process)?;
        named("pidfd_open", pidfd_open(pid, PidfdFlags::empty())).map(Self)
    }

    /// A copy of its descriptor of this number (`pidfd_getfd(2)`): allowed where it may be traced.
    pub fn take(&self, number: i32) -> Result<OwnedFd> {
        named("pidfd_getfd", pidfd_getfd(&self.0, number, PidfdGetfdFlags::empty()))
    }

    /// How the process ended, though it was not our child. Known once its parent has reaped it, from Linux 6.15 on.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        let mut info = Info {
            mask: INFO_EXIT,
            others: [0; 13],
            exit_code: 0,
        };
        // SAFETY: the structure is ours and has the size that the request number states.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), GET_INFO, &raw mut info) };
        (result == 0 && info.mask & INFO_EXIT != 0).then(|| ExitStatus::from_raw(info.exit_code))
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `struct pidfd_info`, first version.
#[repr(C)]
struct Info {
    mask: u64,
    /// cgroup id, process and user ids: not ours to know.
    others: [u32; 13],
    exit_code: i32,
}

const _: () = assert!(size_of::<Info>() == 64);

/// `_IOWR(0xff, 11, struct pidfd_info)`
const GET_INFO: libc::Ioctl = 0xc040_ff0b_u32 as libc::Ioctl;
const INFO_EXIT: u64 = 1 << 3;
