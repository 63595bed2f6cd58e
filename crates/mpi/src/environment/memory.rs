//! Memory for users, and addresses (MPI-5.0 §9.2, §5.1.5).

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use isthmus_engine::{heap, tunables};
use isthmus_os::memory;
use isthmus_os::mmap::populate;

use crate::error::Result;
use crate::fail;
use crate::info::Info;

/// Never less: buffers start on a line of their own.
const ALIGNMENT: usize = 64;

/// From so many bytes on it is asked whether they can be had: the kernel promises more, and a cgroup that cannot keep that
/// kills.
const LARGE: usize = 1 << 20;

/// Allocations of this process's own memory, by address.
static LIVE: LazyLock<Mutex<HashMap<usize, Layout>>> = LazyLock::new(Mutex::default);

fn live() -> MutexGuard<'static, HashMap<usize, Layout>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Alloc_mem`: `size` bytes, aligned as the info's `mpi_minimum_memory_alignment` asks, on 64 bytes at least. The
/// other ranks of the node map the memory, too, unless it is little (tunable `shared_from`) or the job's segment has none
/// to give.
pub fn alloc_mem(size: i64, info: Option<&Info>) -> Result<*mut c_void> {
    let bytes = usize::try_from(size).map_err(|_| fail!(Arg, "size={size} is negative"))?;
    let alignment = match info.and_then(|info| info.value("mpi_minimum_memory_alignment")) {
        Some(text) => match text.parse::<usize>() {
            Ok(asked) if asked.is_power_of_two() => asked.max(ALIGNMENT),
            _ => {
                return Err(fail!(
                    InfoValue,
                    "mpi_minimum_memory_alignment=\"{text}\" is not a power of two"
                ));
            }
        },
        None => ALIGNMENT,
    };
    if bytes as u64 >= tunables::SHARED_FROM.get()
        && heap::has_peers()
        && let Ok(base) = heap::allocate(bytes as u64, alignment as u64)
    {
        return Ok(base.as_ptr().cast());
    }
    // Each call answers an address of its own, so nothing is a byte.
    let layout = Layout::from_size_align(bytes.max(1), alignment).map_err(|_| no_memory(size))?;
    // SAFETY: the layout's size is not 0.
    let take = || NonNull::new(unsafe { alloc(layout) });
    let base = match bytes >= LARGE {
        false => take(),
        true if heap::has_peers() => heap::beside(bytes as u64, |told| {
            take().inspect(|&base| make_present(base, bytes, told))
        })
        .ok()
        .flatten(),
        true if bytes as u64 > memory::available() => None,
        true => take(),
    };
    let base = base.ok_or_else(|| no_memory(size))?;
    live().insert(base.as_ptr().addr(), layout);
    Ok(base.as_ptr().cast())
}

/// Memory that was found free is taken now: ranks that take theirs later, all at once, would have been promised the same.
fn make_present(base: NonNull<u8>, bytes: usize, told: &mut dyn FnMut(u64)) {
    /// At a time.
    const PIECE: usize = 64 << 20;
    // SAFETY: `alloc` has just given these bytes, and nobody else knows them.
    let all = unsafe { std::slice::from_raw_parts_mut(base.as_ptr().cast(), bytes) };
    for piece in all.chunks_mut(PIECE) {
        populate(piece);
        told(piece.len() as u64);
    }
}

#[cold]
fn no_memory(size: i64) -> crate::error::Error {
    fail!(NoMem, "size={size} bytes cannot be had")
}

/// `MPI_Free_mem`: give back what [`alloc_mem`] gave; any other address is refused.
pub fn free_mem(base: *mut c_void) -> Result<()> {
    if NonNull::new(base.cast()).is_some_and(heap::free) {
        return Ok(());
    }
    let layout = live().remove(&base.addr()).ok_or_else(|| {
        fail!(
            Base,
            "base={base:p} did not come from MPI_Alloc_mem, or was freed before"
        )
    })?;
    // SAFETY: `alloc` gave this address for this layout, and it has just left the table, so nobody frees it again.
    unsafe { dealloc(base.cast(), layout) };
    Ok(())
}

/// `MPI_Get_address`.
pub fn get_address(location: *const c_void) -> Result<i64> {
    Ok(location.addr() as i64)
}

/// `MPI_Aint_add`.
pub fn aint_add(base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`.
pub fn aint_diff(addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;

    #[test]
    fn memory_is_aligned_and_freed_once() {
        let info = Info::from_pairs([("mpi_minimum_memory_alignment", "4096")]);
        let base = alloc_mem(10, Some(&info)).expect("little");
        assert!(base.addr().is_multiple_of(4096));
        let nothing = alloc_mem(0, None).expect("nothing");
        assert!(!nothing.is_null() && nothing.addr().is_multiple_of(64));
        for base in [base, nothing] {
            assert_eq!(free_mem(base), Ok(()));
            assert_eq!(free_mem(base).map_err(|error| error.code()), Err(Class::Base as i32));
        }
        assert!(free_mem(std::ptr::null_mut()).is_err());
    }

    #[test]
    fn bad_requests() {
        let code = |size, info: Option<&Info>| alloc_mem(size, info).map_err(|error| error.code());
        assert_eq!(code(-1, None), Err(Class::Arg as i32));
        assert_eq!(code(i64::MAX, None), Err(Class::NoMem as i32));
        let odd = Info::from_pairs([("mpi_minimum_memory_alignment", "3")]);
        assert_eq!(code(1, Some(&odd)), Err(Class::InfoValue as i32));
    }
}
