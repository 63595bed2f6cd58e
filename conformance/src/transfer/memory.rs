//! Memory that the kit looks at.

use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use isthmus_os::memfd;

/// Bytes in pages of their own, shared with children made by `fork` if they are to be.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    length: u64,
    owned: bool,
}

// SAFETY: plain memory; the kit's checks use it from one thread at a time.
unsafe impl Send for Region {}

impl Region {
    /// New, in whole pages, shared with children.
    pub fn new(length: u64) -> Self {
        let length = length.next_multiple_of(4096);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
        Self {
            base: NonNull::new(base.cast()).expect("the kernel maps nothing at 0 unasked"),
            length,
            owned: true,
        }
    }

    /// The same `length` bytes `times` over, one after another: a long stretch of addresses that takes little memory.
    /// A byte written through one is read through all.
    pub fn repeated(length: u64, times: u64) -> Self {
        let length = length.next_multiple_of(4096);
        let fd = memfd::create(c"window").expect("a memfd");
        memfd::reserve(&fd, 0, length).expect("memory");
        let whole = Self::new(length * times);
        for index in 0..times {
            // SAFETY: within the new region, which nobody uses yet.
            let part = unsafe {
                libc::mmap(
                    whole.base.as_ptr().add((index * length) as usize).cast(),
                    length as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_FIXED,
                    fd.as_raw_fd(),
                    0,
                )
            };
            assert_ne!(part, libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
        }
        whole
    }

    /// Memory that somebody else keeps mapped.
    ///
    /// # Safety
    /// It must stay mapped as long as the region is used.
    pub unsafe fn of(base: NonNull<u8>, length: u64) -> Self {
        Self {
            base,
            length,
            owned: false,
        }
    }

    /// Address of its first byte.
    pub fn address(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
    }

    /// How many bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What it holds. Not to be kept across a transfer.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped; it is changed only while no slice of it is held.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length as usize) }
    }

    /// Give every byte a value that tells its position and the seed.
    pub fn paint(&self, seed: u64) {
        let words = self.length as usize / 8;
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for index in 0..words {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // SAFETY: within the region, which is whole pages.
            unsafe { self.base.as_ptr().cast::<u64>().add(index).write(state) };
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the mapping is ours, and slices of it borrow from self.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.length as usize) };
        }
    }
}
