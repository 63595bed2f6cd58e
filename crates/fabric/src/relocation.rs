//! What a library that is loaded calls by a name, replaced: for that library alone.
//!
//! The linker has written the address of each function that a library imports into a table of the library's. Another address there is called
//! instead; nobody else's calls change. UCX does this to all libraries of a process to hear of `munmap` (`src/ucm/util/reloc.c`).

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// `struct link_map` of <link.h>, as far as it is public.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const libc::c_char,
    dynamic: *const Dynamic,
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

const NEEDS_NO_MORE: i64 = 0;
const PLT_BYTES: i64 = 2;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const TABLE: i64 = 7;
const TABLE_BYTES: i64 = 8;
const PLT: i64 = 23;

/// Let the library behind `handle` call `by` where it imports `name`. In how many places; 0 also where this machine's libraries are not
/// understood.
///
/// # Safety
/// `handle` is one of `dlopen`, and stays open. `by` is a function like the one that is replaced, and stays.
pub(crate) unsafe fn replace(handle: *mut c_void, name: &CStr, by: *mut c_void) -> usize {
    // Only there are relocations as above, and calls by tables.
    if cfg!(not(all(
        target_env = "gnu",
        target_pointer_width = "64",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))) {
        return 0;
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the caller's promise; the answer is a pointer.
    if unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) } != 0 || map.is_null() {
        return 0;
    }
    // SAFETY: the linker's, which stays as long as the library.
    let (base, dynamic) = unsafe { ((*map).base, (*map).dynamic) };
    let find = |tag: i64| {
        let mut at = dynamic;
        // SAFETY: the list of a loaded library, which ends with such an entry.
        unsafe {
            while (*at).tag != NEEDS_NO_MORE {
                if (*at).tag == tag {
                    return Some((*at).value);
                }
                at = at.add(1);
            }
        }
        None
    };
    let (Some(symbols), Some(strings)) = (find(SYMBOLS), find(STRINGS)) else {
        return 0;
    };
    let mut replaced = 0;
    for (table, bytes) in [(PLT, PLT_BYTES), (TABLE, TABLE_BYTES)] {
        let (Some(table), Some(bytes)) = (find(table), find(bytes)) else {
            continue;
        };
        let entries = bytes / size_of::<Relocation>();
        // SAFETY: glibc has turned these into addresses; tables of a loaded library are as long as it says.
        let all = unsafe { std::slice::from_raw_parts(table as *const Relocation, entries) };
        for entry in all {
            let symbol = (entry.info >> 32) as usize;
            // Of symbol 0 there is no name. An addend: part of an object, and no function.
            if symbol == 0 || entry.addend != 0 {
                continue;
            }
            // SAFETY: as above: relocations name symbols of that table, and those a string.
            let called = unsafe {
                let symbol = &*(symbols as *const libc::Elf64_Sym).add(symbol);
                CStr::from_ptr((strings as *const libc::c_char).add(symbol.st_name as usize))
            };
            if called == name {
                // SAFETY: a slot of the library's.
                replaced += usize::from(unsafe { write(base + entry.offset, by) });
            }
        }
    }
    replaced
}

/// Write an address into a slot, whose page may be read-only, as it is once a library's calls are bound.
///
/// # Safety
/// A slot of a library that stays loaded.
unsafe fn write(slot: usize, address: *mut c_void) -> bool {
    // SAFETY: a query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let first = slot & !(page - 1);
    let protect = |rights: c_int| {
        // SAFETY: the page of the slot, which is aligned; it stays readable.
        unsafe { libc::mprotect(first as *mut c_void, page, rights) == 0 }
    };
    let Some(was_writable) = is_writable(slot) else {
        return false;
    };
    if !was_writable && !protect(libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: the caller's promise; aligned, as all slots are. A concurrent caller gets the one or the other.
    unsafe { AtomicPtr::from_ptr(slot as *mut *mut c_void) }.store(address, Ordering::Relaxed);
    if !was_writable {
        protect(libc::PROT_READ);
    }
    true
}

/// May this address be written? As the kernel's list of mappings says; `None`: it says nothing.
fn is_writable(address: usize) -> Option<bool> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let rights = maps.lines().find_map(|line| {
        let mut words = line.split([' ', '-']);
        let mut number = || usize::from_str_radix(words.next()?, 16).ok();
        let range = number()?..number()?;
        range.contains(&address).then(|| words.next())?
    });
    rights.map(|rights| rights.starts_with("rw"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    static CALLED: AtomicBool = AtomicBool::new(false);

    /// Other tests use the same library.
    extern "C" fn open(path: *const libc::c_char, mode: *const libc::c_char) -> *mut libc::FILE {
        CALLED.store(true, Ordering::Relaxed);
        // SAFETY: what the caller promises.
        unsafe { libc::fopen(path, mode) }
    }

    /// A library that opens files: what it calls is replaced there, and nowhere else.
    #[test]
    fn calls_of_one_library_are_replaced() {
        // SAFETY: a library of the system.
        let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return eprintln!("not run: there is no libfabric here");
        }
        // SAFETY: it stays open.
        let count = |name: &CStr| unsafe { replace(handle, name, open as *mut c_void) };
        assert_eq!(count(c"no_such_function_of_libfabric"), 0);
        assert!(count(c"fopen") > 0);
        // SAFETY: strings.
        let file = unsafe { libc::fopen(c"/proc/self/maps".as_ptr(), c"r".as_ptr()) };
        assert!(!file.is_null());
        assert!(!CALLED.load(Ordering::Relaxed), "ours are as they were");
        // SAFETY: opened above.
        unsafe { libc::fclose(file) };
    }
}
