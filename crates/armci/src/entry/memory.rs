//! Global and local memory.

use std::ffi::{c_char, c_long, c_void};

use super::{answer, done, done_or_refused};
use crate::error::{Result, argument};
use crate::far::{self, Keys};
use crate::group::{self, WORLD};
use crate::life::job;
use crate::memory;

/// # Safety
/// `pointers` must have room for a pointer per member.
unsafe fn allocate(pointers: *mut *mut c_void, bytes: c_long, number: i32) -> Result<()> {
    job()?;
    let group = group::find(number)?;
    let bytes = u64::try_from(bytes).map_err(|_| argument(format!("bytes={bytes} is negative")))?;
    if pointers.is_null() {
        return Err(argument("ptr_arr is null"));
    }
    let blocks = memory::allocate(&group, bytes)?;
    for (at, block) in blocks.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { pointers.add(at).write(block.address.cast()) };
    }
    Ok(())
}

fn free(pointer: *mut c_void, number: i32) -> Result<()> {
    job()?;
    memory::free(&*group::find(number)?, pointer.cast())
}

/// # Safety
/// `group` must be null or lead to a group's number.
pub(super) unsafe fn number_of(group: *const i32) -> Result<i32> {
    // SAFETY: the caller's promise.
    unsafe { group.as_ref() }
        .copied()
        .ok_or_else(|| argument("group is null"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Malloc(pointers: *mut *mut c_void, bytes: c_long) -> i32 {
    // SAFETY: the caller's promise.
    done_or_refused("ARMCI_Malloc", unsafe { allocate(pointers, bytes, WORLD) })
}

/// All memory is of one kind.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Malloc_memdev(
    pointers: *mut *mut c_void,
    bytes: c_long,
    _device: *const c_char,
) -> i32 {
    // SAFETY: the caller's promise.
    done_or_refused("ARMCI_Malloc_memdev", unsafe { allocate(pointers, bytes, WORLD) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Malloc_group(
    pointers: *mut *mut c_void,
    bytes: c_long,
    group: *const i32,
) -> i32 {
    // SAFETY: the caller's promise.
    let result = unsafe { number_of(group).and_then(|number| allocate(pointers, bytes, number)) };
    done_or_refused("ARMCI_Malloc_group", result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Malloc_group_memdev(
    pointers: *mut *mut c_void,
    bytes: c_long,
    group: *const i32,
    _device: *const c_char,
) -> i32 {
    // SAFETY: the caller's promise.
    let result = unsafe { number_of(group).and_then(|number| allocate(pointers, bytes, number)) };
    done_or_refused("ARMCI_Malloc_group_memdev", result)
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Free(pointer: *mut c_void) -> i32 {
    done("ARMCI_Free", free(pointer, WORLD))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Free_memdev(pointer: *mut c_void) -> i32 {
    done("ARMCI_Free_memdev", free(pointer, WORLD))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Free_group(pointer: *mut c_void, group: *const i32) -> i32 {
    // SAFETY: the caller's promise.
    let result = unsafe { number_of(group) }.and_then(|number| free(pointer, number));
    done("ARMCI_Free_group", result)
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Malloc_local(bytes: c_long) -> *mut c_void {
    let bytes = usize::try_from(bytes).map_err(|_| argument(format!("bytes={bytes} is negative")));
    memory::allocate_local(answer("ARMCI_Malloc_local", bytes)).cast()
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Free_local(pointer: *mut c_void) -> i32 {
    done("ARMCI_Free_local", memory::free_local(pointer.cast()))
}

/// `armci_meminfo_t`. `mark[0]` holds where the memory lies for everybody of the node; in a job on several nodes its keys follow.
#[repr(C)]
struct MemoryInfo {
    remote: *mut c_void,
    local: *mut c_void,
    size: usize,
    owner: i32,
    mark: [c_long; 128],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Memget(bytes: usize, info: *mut MemoryInfo, _flag: i32) {
    let get = || {
        let job = job()?;
        if info.is_null() {
            return Err(argument("meminfo is null"));
        }
        let (address, keys) = memory::take(bytes as u64)?;
        let shared = isthmus_engine::heap::shared_address_of(address.as_ptr(), 1).map_or(0, |shared| shared.0);
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*info).remote).write(address.as_ptr().cast());
            (&raw mut (*info).local).write(address.as_ptr().cast());
            (&raw mut (*info).size).write(bytes);
            (&raw mut (*info).owner).write(job.me as i32);
            let mark = (&raw mut (*info).mark).cast::<c_long>();
            mark.write(shared as c_long);
            if let Some(keys) = keys {
                mark.add(1).cast::<Keys>().write_unaligned(keys);
            }
        }
        Ok(())
    };
    answer("ARMCI_Memget", get());
}

/// Where the memory of a meminfo that another process made is mapped here, or, of another node, in its owner; its bytes, its owner, and its
/// keys.
///
/// # Safety
/// `info` must be null or lead to what `ARMCI_Memget` wrote somewhere.
unsafe fn found(info: *const MemoryInfo) -> Result<(*mut u8, u64, usize, Option<Keys>)> {
    let job = job()?;
    if info.is_null() {
        return Err(argument("meminfo is null"));
    }
    // SAFETY: the caller's promise.
    let (shared, size, owner, remote, keys) = unsafe {
        let mark = (&raw const (*info).mark).cast::<c_long>();
        let keys = far::is_on().then(|| mark.add(1).cast::<Keys>().read_unaligned());
        (
            mark.read() as u64,
            (*info).size as u64,
            (*info).owner,
            (*info).remote,
            keys,
        )
    };
    let owner = job.process(owner)?;
    if job.far(owner).is_some() {
        return Ok((remote.cast(), size, owner, keys));
    }
    let address = isthmus_engine::heap::address_of(isthmus_engine::heap::SharedAddress(shared), size.max(1));
    let address = address.ok_or_else(|| argument("meminfo does not come from ARMCI_Memget"))?;
    Ok((address.as_ptr(), size, owner, keys))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Memat(info: *const MemoryInfo, offset: c_long) -> *mut c_void {
    // SAFETY: the caller's promise.
    let (address, size, owner, keys) = answer("ARMCI_Memat", unsafe { found(info) });
    let known = memory::know(address.expose_provenance() as u64, size, owner, keys);
    answer("ARMCI_Memat", known);
    address.wrapping_offset(offset as isize).cast()
}

/// The memory stays mapped: there is nothing to detach.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Memdt(_info: *const MemoryInfo, _offset: c_long) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Memctl(info: *const MemoryInfo) {
    let give_back = || {
        // SAFETY: the caller's promise.
        let (address, _, owner, _) = unsafe { found(info) }?;
        match owner == job()?.me {
            true => memory::give_back(address),
            false => Ok(()),
        }
    };
    answer("ARMCI_Memctl", give_back());
}
