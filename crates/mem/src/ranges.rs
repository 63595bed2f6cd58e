//! Addresses that are host memory without a query to the driver, which takes 1.2 us to say so of each.
//!
//! - Surely: the program's image, its heap up to the current break, the top of the main thread's stack, and what the engine has told
//!   ([`host_range`]).
//! - Still: what the driver has called host memory before, or what was that before the driver's library was loaded, if the processor can read it. Host memory can be unmapped and its address be a
//!   device's next, so that what was answered before is not enough; but memory of a device cannot be read. Managed memory there would be
//!   taken for host memory, which is right, if slower. The look is one load, whose fault is handled (`isthmus_os::guarded`).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use isthmus_os::{guarded, small_file};

/// How much of the main thread's stack is compared with. The kernel keeps other mappings 128 MiB away from its top.
const STACK: usize = 8 << 20;
/// How many ranges of one sort are kept.
const RANGES: usize = 64;

/// Ranges of addresses, looked at without a lock.
struct Ranges {
    starts: [AtomicUsize; RANGES],
    /// 0: the entry is not in use.
    ends: [AtomicUsize; RANGES],
    /// Entries behind these have never been used.
    used: AtomicUsize,
    change: Mutex<()>,
}

impl Ranges {
    const fn new() -> Self {
        Self {
            starts: [const { AtomicUsize::new(0) }; RANGES],
            ends: [const { AtomicUsize::new(0) }; RANGES],
            used: AtomicUsize::new(0),
            change: Mutex::new(()),
        }
    }

    fn contain(&self, address: usize) -> bool {
        (0..self.used.load(Ordering::Acquire)).any(|i| {
            let end = self.ends[i].load(Ordering::Acquire);
            address < end
                && address >= self.starts[i].load(Ordering::Acquire)
                && self.ends[i].load(Ordering::Acquire) == end
        })
    }

    /// False if there is no room.
    fn add(&self, range: &Range<usize>) -> bool {
        let _lock = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let used = self.used.load(Ordering::Relaxed);
        let free = (0..used).find(|&i| self.ends[i].load(Ordering::Relaxed) == 0);
        let at = free.unwrap_or(used);
        if at == RANGES {
            return false;
        }
        self.starts[at].store(range.start, Ordering::Release);
        self.ends[at].store(range.end, Ordering::Release);
        self.used.store(used.max(at + 1), Ordering::Release);
        true
    }

    /// The range that begins there, which is none of these any more.
    fn remove(&self, start: usize) -> Option<Range<usize>> {
        let _lock = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        (0..self.used.load(Ordering::Relaxed)).find_map(|i| {
            let end = self.ends[i].load(Ordering::Relaxed);
            (end != 0 && self.starts[i].load(Ordering::Relaxed) == start).then(|| {
                self.ends[i].store(0, Ordering::Release);
                start..end
            })
        })
    }
}

static HOST: Ranges = Ranges::new();

/// From now on, `bytes` bytes from `start` on are host memory without a query: segments of the job. They must
/// stay mapped. A call that finds no room for it does nothing.
pub fn host_range(start: *const u8, bytes: usize) {
    let start = start.addr();
    HOST.remove(start);
    HOST.add(&(start..start + bytes));
}

/// Addresses that the driver has called host memory, by their upper bits, each at one place; the lowest bit: it was pinned.
static KNOWN: [AtomicUsize; 4096] = [const { AtomicUsize::new(0) }; 4096];
/// Lower bits of an address that are not compared.
const SHIFT: u32 = 16;

fn known(address: usize) -> &'static AtomicUsize {
    &KNOWN[(address >> SHIFT) % KNOWN.len()]
}

/// The driver has called it host memory, or there is no driver yet.
pub fn was_host(address: usize, pinned: bool) {
    if guarded::ready_to_look().is_ok() && guarded::still_looks() {
        known(address).store(address >> SHIFT << 1 | usize::from(pinned), Ordering::Relaxed);
    }
}

/// Was it host memory, or what is close to it, and can it be read still? If it was pinned, that may have changed.
pub fn is_still_host(address: usize) -> bool {
    let bits = address >> SHIFT;
    bits != 0 && known(address).load(Ordering::Relaxed) >> 1 == bits && guarded::is_readable(address)
}

/// The same, of memory that was not pinned.
pub fn is_still_pageable(address: usize) -> bool {
    is_still_host(address) && known(address).load(Ordering::Relaxed) & 1 == 0
}

/// Parts of every process.
struct OwnRanges {
    image: Range<usize>,
    heap: usize,
    stack: Range<usize>,
}

/// Is it host memory without a query?
pub fn is_surely_host(address: usize) -> bool {
    static OWN: OnceLock<OwnRanges> = OnceLock::new();
    let own = OWN.get_or_init(own);
    own.image.contains(&address)
        || own.stack.contains(&address)
        || (address >= own.heap && {
            // SAFETY: a query of the current break.
            address < unsafe { libc::sbrk(0) }.addr()
        })
        || HOST.contain(address)
}

fn own() -> OwnRanges {
    // Numbers of fields as in proc_pid_stat(5), from the third on, which follows the name in parentheses.
    let stat = small_file::read("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect());
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse().ok()).unwrap_or(0);
    let (stack, heap): (usize, usize) = (field(28), field(47));
    OwnRanges {
        image: image(),
        heap: if heap > 1 { heap } else { usize::MAX },
        stack: if stack > STACK { stack - STACK..stack } else { 0..0 },
    }
}

/// Where the program itself lies.
fn image() -> Range<usize> {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: the linker gives a valid record with its headers, and `data` is the range below.
        unsafe {
            let range = &mut *data.cast::<Range<usize>>();
            let base = (*info).dlpi_addr as usize;
            for i in 0..usize::from((*info).dlpi_phnum) {
                let header = &*(*info).dlpi_phdr.add(i);
                if header.p_type == libc::PT_LOAD {
                    let start = base + header.p_vaddr as usize;
                    range.start = range.start.min(start);
                    range.end = range.end.max(start + header.p_memsz as usize);
                }
            }
        }
        1
    }
    let mut range = Range {
        start: usize::MAX,
        end: 0,
    };
    // SAFETY: the callback writes to `range`, which lives during the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut range).cast()) };
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_the_heap_and_the_stack_are_host_memory() {
        static VALUE: AtomicUsize = AtomicUsize::new(5);
        assert!(is_surely_host((&raw const VALUE).addr()));
        assert!(!is_surely_host(0));
        assert!(!is_surely_host(usize::MAX));
        let own = own();
        assert!(own.image.contains(&(is_surely_host as fn(usize) -> bool as usize)));
        assert!(own.stack.len() == STACK);
    }

    #[test]
    fn a_range_that_is_told_is_host_memory_until_it_is_no_more() {
        let start = std::ptr::without_provenance(0x7000_0000_0000);
        host_range(start, 4096);
        assert!(is_surely_host(start.addr()) && is_surely_host(start.addr() + 4095));
        assert!(!is_surely_host(start.addr() + 4096));
        HOST.remove(start.addr());
        assert!(!is_surely_host(start.addr()));
    }
}
