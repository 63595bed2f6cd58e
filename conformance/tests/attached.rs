//! Memory that is mapped window by window and may go away: a stand-in for the device, everything else as it is.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)] // Stands in for a kernel module.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use isthmus_conformance::transfer::{Pair, Region};
use isthmus_conformance::transfer_kit;
use isthmus_os::mmap::Mapping;
use isthmus_os::{Error, errno, memfd};
use isthmus_transfer::Transfer;
use isthmus_transfer::attached::{Attach, Attached, WINDOW};

/// The peer's addresses: its memory begins somewhere within a window.
const BEGIN: u64 = 7 * WINDOW + 12 * 4096;

/// A file that stands for the peer's memory. Behind its end is a hole, as behind the end of what a peer maps.
#[derive(Debug)]
struct Peer {
    memory: OwnedFd,
    nothing: OwnedFd,
    /// Windows by their address, `None` once the peer is dead.
    windows: Mutex<Option<Vec<usize>>>,
}

impl Peer {
    fn map(&self, fd: &OwnedFd, at: Option<usize>, offset: u64) -> *mut libc::c_void {
        let (address, fixed) = at.map_or((0, 0), |at| (at, libc::MAP_FIXED));
        let address = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: at an address of the kernel's choice, or over a window of ours, whose users are guarded.
        unsafe {
            libc::mmap(
                address,
                WINDOW as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | fixed,
                fd.as_raw_fd(),
                offset as libc::off_t,
            )
        }
    }

    /// Take the memory away below everybody's feet.
    fn die(&self) {
        let mut windows = self.windows.lock().expect("nobody panics with it");
        for window in windows.take().into_iter().flatten() {
            self.map(&self.nothing, Some(window), 0);
        }
    }
}

#[derive(Debug)]
struct StandIn(Arc<Peer>);

impl Attach for StandIn {
    fn attach(&self, address: u64) -> Result<NonNull<u8>, Error> {
        let call = "attach";
        let mut windows = self.0.windows.lock().expect("nobody panics with it");
        let Some(windows) = windows.as_mut() else {
            let errno = errno::ESRCH;
            return Err(Error { call, errno });
        };
        let Some(offset) = address.checked_sub(BEGIN / WINDOW * WINDOW) else {
            let errno = errno::EFAULT;
            return Err(Error { call, errno });
        };
        let base = self.0.map(&self.0.memory, None, offset);
        assert_ne!(base, libc::MAP_FAILED);
        windows.push(base.expose_provenance());
        Ok(NonNull::new(base.cast()).expect("mapped"))
    }

    unsafe fn detach(&self, window: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(window.as_ptr().cast(), WINDOW as usize) };
    }

    fn is_gone(&self) -> bool {
        self.0.windows.lock().expect("nobody panics with it").is_none()
    }
}

struct Windows {
    transfer: Attached<StandIn>,
    peer: Arc<Peer>,
    view: Region,
    /// Keeps the view mapped.
    _mapping: Mapping,
}

impl Pair for Windows {
    const OUTLIVES: bool = false;

    fn new(length: u64) -> Self {
        let length = length.next_multiple_of(4096);
        let memory = memfd::create(c"peer").expect("memfd");
        let begin = BEGIN % WINDOW;
        memfd::reserve(&memory, 0, begin + length).expect("memory");
        let mapping = Mapping::shared(&memory, (begin + length) as usize).expect("addresses");
        // SAFETY: within the mapping, which lives as long as the region.
        let view = unsafe { Region::of(mapping.base().add(begin as usize), length) };
        let peer = Arc::new(Peer {
            memory,
            nothing: memfd::create(c"nothing").expect("memfd"),
            windows: Mutex::new(Some(Vec::new())),
        });
        Self {
            transfer: Attached::new(StandIn(peer.clone())).expect("on this processor"),
            peer,
            view,
            _mapping: mapping,
        }
    }

    fn length(&self) -> u64 {
        self.view.length()
    }

    fn transfer(&self) -> &dyn Transfer {
        &self.transfer
    }

    fn remote(&self, at: u64) -> u64 {
        BEGIN + at
    }

    fn view(&self) -> &Region {
        &self.view
    }

    fn killer(&self) -> impl FnOnce() + Send + 'static {
        let peer = self.peer.clone();
        move || peer.die()
    }
}

transfer_kit!(Windows);
