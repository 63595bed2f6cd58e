//! XPMEM: mapping pieces of another process's memory, by the device of a kernel module that few machines have.
//!
//! Source: the module's interface to users (`xpmem_internal.h`, <https://github.com/hpc/xpmem>). A process *exposes* its
//! address space under an id, another one gets *access* to that id, and *attaches* pieces. What the owner unmaps, and
//! everything when it ends, becomes a hole in attachments: `SIGBUS`.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::error::{Error, Result, check, errno};

/// Where the device is.
pub const DEVICE: &CStr = c"/dev/xpmem";

/// The whole address space.
const EVERYTHING: usize = usize::MAX;
/// Access is granted by permission bits...
const BY_MODE: libc::c_int = 1;
/// ...to processes of the same user.
const MODE: u64 = 0o600;
const READ_AND_WRITE: libc::c_int = 2;

const fn command(number: libc::Ioctl) -> libc::Ioctl {
    (b'x' as libc::Ioctl) << 8 | number
}

#[repr(C)]
struct Make {
    address: u64,
    size: usize,
    permit_type: libc::c_int,
    permit_value: u64,
    id: i64,
}

#[repr(C)]
struct Get {
    id: i64,
    flags: libc::c_int,
    permit_type: libc::c_int,
    permit_value: u64,
    access: i64,
}

#[repr(C)]
struct Attach {
    access: i64,
    offset: i64,
    size: usize,
    address: u64,
    fd: libc::c_int,
    flags: libc::c_int,
}

#[repr(C)]
struct Detach {
    address: u64,
}

/// The open device.
#[derive(Debug)]
pub struct Device(OwnedFd);

impl Device {
    /// Open the device.
    ///
    /// # Errors
    /// `ENOENT`: the module is not loaded; `ENODEV`: what is there is something else; `EACCES`: it is not for this user.
    pub fn open(path: &CStr) -> Result<Self> {
        // SAFETY: the path is a C string.
        let fd = check("open(/dev/xpmem)", unsafe {
            libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC)
        })?;
        // SAFETY: the descriptor is new and ours.
        let device = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        // SAFETY: the command takes no argument.
        let version = unsafe { libc::ioctl(device.0.as_raw_fd(), command(0)) };
        if version >> 16 == 2 {
            Ok(device)
        } else {
            Err(Error {
                call: "ioctl(XPMEM_CMD_VERSION)",
                errno: errno::ENODEV,
            })
        }
    }

    /// Let processes of this user attach our memory; answers the id by which they do.
    pub fn expose(&self) -> Result<i64> {
        let mut make = Make {
            address: 0,
            size: EVERYTHING,
            permit_type: BY_MODE,
            permit_value: MODE,
            id: 0,
        };
        self.control("ioctl(XPMEM_CMD_MAKE)", 1, &mut make)?;
        Ok(make.id)
    }

    /// Get access to the memory that another process has exposed as `id`.
    pub fn access(&self, id: i64) -> Result<i64> {
        let mut get = Get {
            id,
            flags: READ_AND_WRITE,
            permit_type: BY_MODE,
            permit_value: 0,
            access: 0,
        };
        self.control("ioctl(XPMEM_CMD_GET)", 3, &mut get)?;
        Ok(get.access)
    }

    /// Map whole pages of that memory, from this address of the other process on.
    pub fn attach(&self, access: i64, address: u64, length: u64) -> Result<NonNull<u8>> {
        let mut attach = Attach {
            access,
            offset: address as i64,
            size: length as usize,
            address: 0,
            fd: 0,
            flags: 0,
        };
        let call = "ioctl(XPMEM_CMD_ATTACH)";
        self.control(call, 5, &mut attach)?;
        let base = std::ptr::with_exposed_provenance_mut(attach.address as usize);
        NonNull::new(base).ok_or(Error {
            call,
            errno: errno::EFAULT,
        })
    }

    /// Unmap what [`Self::attach`] mapped.
    ///
    /// # Safety
    /// Nobody may use it any more.
    pub unsafe fn detach(&self, base: NonNull<u8>) -> Result<()> {
        let mut detach = Detach {
            address: base.as_ptr().expose_provenance() as u64,
        };
        self.control("ioctl(XPMEM_CMD_DETACH)", 6, &mut detach)
    }

    fn control<T>(&self, call: &'static str, number: libc::Ioctl, argument: &mut T) -> Result<()> {
        // SAFETY: each command comes with the structure that the module expects for it.
        check(call, unsafe {
            libc::ioctl(self.0.as_raw_fd(), command(number), &raw mut *argument)
        })
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_told_from_something_else() {
        let error = |path| Device::open(path).map(drop).map_err(|error| error.errno);
        assert_eq!(error(c"/dev/no such device"), Err(errno::ENOENT));
        assert_eq!(error(c"/dev/null"), Err(errno::ENODEV));
        assert_eq!(command(5), 0x7805);
    }
}
