//! Memory of virtual memory management in other processes: its physical memory has no IPC handle, but may have a descriptor, which another
//! process takes out of this one (`pidfd_getfd(2)`) and maps.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::without_provenance_mut;

use isthmus_os::pidfd::PidFd;
use isthmus_os::process::{self, Identity};

use crate::Device;
use crate::api::{AccessFlags, Address, Api, DESCRIPTOR, Ordinal, Physical, code};

/// What an export says in the place of an IPC handle.
#[derive(Clone, Copy)]
#[repr(C)]
struct Handle {
    pid: u32,
    descriptor: i32,
    started: u64,
    namespace: u64,
    _unused: [u64; 5],
}

const _: () = assert!(size_of::<Handle>() == 64);

/// Physical memory of this process that has a descriptor.
pub struct Exported {
    pub descriptor: OwnedFd,
    /// Where it is mapped here.
    pub base: Address,
    pub size: usize,
}

impl Exported {
    /// The memory at `address`; blocks while the driver makes a descriptor. `None`: it is none of virtual memory management, or was made without a descriptor.
    pub fn of(api: &Api, address: Address) -> Option<Self> {
        let (base, size) = api.mapping_of(address)?;
        let mut physical: Physical = 0;
        let mut descriptor: c_int = -1;
        // SAFETY: the driver writes what it is asked for, or nothing; the descriptor is a new one.
        unsafe {
            let pointer = std::ptr::with_exposed_provenance_mut(base as usize);
            if (api.physical_of)(&raw mut physical, pointer) != code::SUCCESS {
                return None;
            }
            let answer = (api.physical_export)((&raw mut descriptor).cast(), physical, DESCRIPTOR, 0);
            (api.physical_release)(physical);
            (answer == code::SUCCESS && descriptor >= 0).then(|| {
                // A program that this one starts must not keep the memory.
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
                Self {
                    descriptor: OwnedFd::from_raw_fd(descriptor),
                    base,
                    size,
                }
            })
        }
    }

    /// What other processes get to know. `None`: this process does not know itself.
    pub fn handle(&self) -> Option<[u8; 64]> {
        let own = process::identity_of(process::id())?;
        let handle = Handle {
            pid: own.pid,
            descriptor: self.descriptor.as_raw_fd(),
            started: own.started,
            namespace: own.namespace,
            _unused: [0; 5],
        };
        // SAFETY: plain data without holes, of as many bytes.
        Some(unsafe { std::mem::transmute::<Handle, [u8; 64]>(handle) })
    }
}

/// Map `size` bytes of physical memory that another process has exported, for these devices of this one. `None`: it may not be taken from
/// there, or the driver refuses. Blocks while the driver maps it.
pub fn map(api: &Api, handle: [u8; 64], size: usize, devices: &[Device]) -> Option<Address> {
    // SAFETY: any bytes are such a handle.
    let handle = unsafe { std::mem::transmute::<[u8; 64], Handle>(handle) };
    let exporter = PidFd::open(handle.pid).ok()?;
    let told = Identity {
        pid: handle.pid,
        started: handle.started,
        namespace: handle.namespace,
    };
    // The number may be another process's here.
    if process::identity_of(handle.pid)? != told {
        return None;
    }
    let descriptor = exporter.take(handle.descriptor).ok()?;
    let access: Vec<AccessFlags> = devices
        .iter()
        .map(|device| AccessFlags::of(device.0 as Ordinal))
        .collect();
    let mut physical: Physical = 0;
    let mut at: Address = 0;
    // SAFETY: the driver checks the descriptor and whether its memory has as many bytes, and writes what it is asked for, or nothing.
    unsafe {
        let number = without_provenance_mut(descriptor.as_raw_fd() as usize);
        if (api.physical_import)(&raw mut physical, number, DESCRIPTOR) != code::SUCCESS {
            return None;
        }
        let mapped = 'mapped: {
            if (api.reserve)(&raw mut at, size, 0, 0, 0) != code::SUCCESS {
                break 'mapped false;
            }
            if (api.map)(at, size, 0, physical, 0) != code::SUCCESS {
                (api.reserve_free)(at, size);
                break 'mapped false;
            }
            let is_accessible = (api.set_access)(at, size, access.as_ptr(), access.len()) == code::SUCCESS;
            if !is_accessible {
                unmap(api, at, size);
            }
            is_accessible
        };
        // The mapping keeps it.
        (api.physical_release)(physical);
        mapped.then_some(at)
    }
}

/// Undo a [`map`].
///
/// # Safety
/// Nobody uses the memory.
pub unsafe fn unmap(api: &Api, at: Address, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        (api.unmap)(at, size);
        (api.reserve_free)(at, size);
    }
}
