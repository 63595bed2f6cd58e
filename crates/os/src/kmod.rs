//! The device of our kernel module (`kmod/`): regions with cookies, copies now or later.
//!
//! The numbers and structures are those of `kmod/isthmus_uapi.h`.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::error::{Error, Result, check};
use crate::process_vm::Span;

/// Where the device is.
pub const DEVICE: &CStr = c"/dev/isthmus";

/// What names a region: 128 random bits.
pub type Cookie = [u8; 16];

/// Versions of the interface that we know.
const VERSIONS: [u32; 2] = [1, 1];

/// One call copies at most this many bytes.
pub const MAX_BYTES: u64 = 1 << 30;
/// Segments that one call takes.
pub const MAX_SPANS: usize = 8192;

const REGION_READ: u32 = 1;
const REGION_WRITE: u32 = 1 << 1;
const REGION_WHOLE: u32 = 1 << 3;
const COPY_WRITE: u32 = 1;
const COPY_SMALL_MAPPINGS: u32 = 1 << 1;
const COPY_THREAD: u32 = 1 << 2;
const COPY_DMA: u32 = 1 << 3;

#[repr(C)]
struct Version {
    min: u32,
    max: u32,
    version: u32,
    features: u32,
}

#[repr(C)]
struct Declare {
    segments: u64,
    count: u32,
    flags: u32,
    cookie: Cookie,
}

#[repr(C)]
struct Copy {
    cookie: Cookie,
    offset: u64,
    segments: u64,
    count: u32,
    flags: u32,
    status: u64,
    done: u64,
}

const _: () = assert!(size_of::<Version>() == 16 && size_of::<Declare>() == 32 && size_of::<Copy>() == 56);

/// `_IOC(direction, 0xB5, number, size)`: 1 writes to the kernel, 2 reads from it.
const fn command(direction: u32, number: u32, size: usize) -> libc::Ioctl {
    (direction << 30 | (size as u32) << 16 | 0xB5 << 8 | number) as libc::Ioctl
}

const VERSION: libc::Ioctl = command(3, 0, size_of::<Version>());
const JOIN: libc::Ioctl = command(1, 1, 16);
const DECLARE: libc::Ioctl = command(3, 2, size_of::<Declare>());
const RETIRE: libc::Ioctl = command(1, 3, 16);
const COPY: libc::Ioctl = command(3, 4, size_of::<Copy>());

/// How a copy is made.
#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, Default)]
pub struct How {
    /// To the region rather than from it.
    pub write: bool,
    /// One mapping per 4 KiB page, also in huge pages: to compare.
    pub small_mappings: bool,
}

/// Which engine makes an asynchronous copy.
#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq)]
pub enum Later {
    /// A thread of the kernel.
    Thread,
    /// A DMA engine, or what stands for one.
    Dma,
}

/// The word that tells the end of a copy that is made later. The kernel writes it.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub struct Status {
    state: AtomicU32,
    error: AtomicI32,
    done: AtomicU64,
}

impl Status {
    /// How the copy went, once it is over: bytes, and an error after them.
    pub fn poll(&self) -> Option<(u64, Result<()>)> {
        // SYNC: kmod-status
        if self.state.load(Ordering::Acquire) == 0 {
            return None;
        }
        let error = self.error.load(Ordering::Relaxed);
        let how = match error {
            0 => Ok(()),
            errno => Err(Error {
                call: COPY_CALL,
                errno: -errno,
            }),
        };
        Some((self.done.load(Ordering::Relaxed), how))
    }
}

const COPY_CALL: &str = "ioctl(ISTHMUS_IOC_COPY)";

/// The open device: of this process, and of one job.
#[derive(Debug)]
pub struct Device {
    descriptor: OwnedFd,
    features: u32,
}

impl Device {
    /// Open the device, agree on a version, and join the job with this key.
    ///
    /// # Errors
    /// `ENOENT`: the module is not loaded; `EACCES`: the device is not for this user; `EPROTO`: module and library know no
    /// common version; `ENOTTY`: what is there is something else.
    pub fn open(path: &CStr, job: [u8; 16]) -> Result<Self> {
        // SAFETY: the path is a C string.
        let descriptor = check("open(/dev/isthmus)", unsafe {
            libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC)
        })?;
        let mut device = Self {
            // SAFETY: the descriptor is new and ours.
            descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) },
            features: 0,
        };
        let mut version = Version {
            min: VERSIONS[0],
            max: VERSIONS[1],
            version: 0,
            features: 0,
        };
        device.control("ioctl(ISTHMUS_IOC_VERSION)", VERSION, &mut version)?;
        device.features = version.features;
        let mut key = job;
        device.control("ioctl(ISTHMUS_IOC_JOIN)", JOIN, &mut key)?;
        Ok(device)
    }

    /// Is there a real DMA engine that copies memory?
    pub fn has_dma_engine(&self) -> bool {
        self.features & 4 != 0
    }

    /// Let processes of this user and job copy from and to all of our memory: offsets are addresses.
    pub fn expose(&self) -> Result<Cookie> {
        self.declare_with(&[], REGION_READ | REGION_WRITE | REGION_WHOLE)
    }

    /// Let them copy from and to these bytes: offsets count through them.
    pub fn declare(&self, spans: &[Span]) -> Result<Cookie> {
        self.declare_with(spans, REGION_READ | REGION_WRITE)
    }

    fn declare_with(&self, spans: &[Span], flags: u32) -> Result<Cookie> {
        let mut declare = Declare {
            segments: spans.as_ptr().expose_provenance() as u64,
            count: spans.len() as u32,
            flags,
            cookie: [0; 16],
        };
        self.control("ioctl(ISTHMUS_IOC_DECLARE)", DECLARE, &mut declare)?;
        Ok(declare.cookie)
    }

    /// Take a region back.
    pub fn retire(&self, cookie: Cookie) -> Result<()> {
        let mut cookie = cookie;
        self.control("ioctl(ISTHMUS_IOC_RETIRE)", RETIRE, &mut cookie)
    }

    /// Copy between a region, from `offset` on, and `local` spans, at most [`MAX_SPANS`] of them and [`MAX_BYTES`] in all.
    /// Returns how many bytes were copied, and why no more.
    ///
    /// # Safety
    /// The spans must be readable, or writable if the copy is from the region; what is written of the peer's must be memory
    /// that it expects to change.
    pub unsafe fn copy(&self, cookie: Cookie, offset: u64, local: &[Span], how: How) -> (u64, Result<()>) {
        // SAFETY: the caller's promise.
        unsafe { self.start(cookie, offset, local, how, (0, 0)) }
    }

    /// As [`Self::copy`], later: `status` tells the end.
    ///
    /// # Safety
    /// As for [`Self::copy`], until `status` tells the end; and `status` must stay where it is until then.
    pub unsafe fn copy_later(
        &self,
        cookie: Cookie,
        offset: u64,
        local: &[Span],
        how: How,
        by: Later,
        status: &Status,
    ) -> Result<()> {
        let flag = match by {
            Later::Thread => COPY_THREAD,
            Later::Dma => COPY_DMA,
        };
        let address = std::ptr::from_ref(status).expose_provenance() as u64;
        // SAFETY: the caller's promise.
        unsafe { self.start(cookie, offset, local, how, (flag, address)) }.1
    }

    /// # Safety
    /// As for [`Self::copy`] and [`Self::copy_later`].
    unsafe fn start(
        &self,
        cookie: Cookie,
        offset: u64,
        local: &[Span],
        how: How,
        (later, status): (u32, u64),
    ) -> (u64, Result<()>) {
        let write = if how.write { COPY_WRITE } else { 0 };
        let small = if how.small_mappings { COPY_SMALL_MAPPINGS } else { 0 };
        let mut copy = Copy {
            cookie,
            offset,
            segments: local.as_ptr().expose_provenance() as u64,
            count: local.len() as u32,
            flags: write | small | later,
            status,
            done: 0,
        };
        let result = self.control(COPY_CALL, COPY, &mut copy);
        (copy.done, result)
    }

    fn control<T>(&self, call: &'static str, number: libc::Ioctl, argument: &mut T) -> Result<()> {
        // SAFETY: each command comes with the structure that the module expects for it, of the size that it states.
        check(call, unsafe {
            libc::ioctl(self.descriptor.as_raw_fd(), number, &raw mut *argument)
        })
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::errno;

    #[test]
    fn absence_is_told_from_something_else() {
        let error = |path| Device::open(path, [1; 16]).map(drop).map_err(|error| error.errno);
        assert_eq!(error(c"/dev/no such device"), Err(errno::ENOENT));
        assert_eq!(error(c"/dev/null"), Err(errno::ENOTTY));
    }

    #[test]
    fn a_status_tells_when_it_is_over() {
        let status = Status::default();
        assert_eq!(status.poll(), None);
        status.error.store(-libc::ESRCH, Ordering::Relaxed);
        status.done.store(5, Ordering::Relaxed);
        status.state.store(1, Ordering::Release);
        let told = status
            .poll()
            .map(|(done, how)| (done, how.map_err(|error| error.errno)));
        assert_eq!(told, Some((5, Err(libc::ESRCH))));
    }
}
