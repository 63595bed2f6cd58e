//! Static data becomes symmetric by being moved: the writable segments of the program and its libraries are mapped again, at the
//! same addresses, from memory of the job, with what they hold (docs/decisions/0040).
//!
//! Left as they are: the C library and the loader, whose own data `fork` and signals touch at any time; this library; sanitizers.
//! Data that is constant once the program runs (RELRO) is not touched either.
//!
//! A child made by `fork` gets its own copy, as it would have without this: the data is copied before the fork, and the copy
//! put in place in the child.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Mutex;

use isthmus_engine::Entered;
use isthmus_engine::symmetric::Piece;
use isthmus_os::{process, thread};

const PAGE: usize = 4096;

/// A segment that was moved.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// What it is: the same number for the same segment of the same library on all PEs.
    pub identity: u64,
    /// Address, a multiple of the page size.
    pub first: usize,
    /// Bytes, whole pages.
    pub length: usize,
    /// The piece that it lies in now.
    pub piece: Piece,
}

/// Libraries whose data stays where it is, by the beginning of their names.
const LEFT_ALONE: [&str; 17] = [
    "libc.so",
    "libc-",
    "ld-",
    "ld.",
    "libpthread",
    "libdl.",
    "librt.",
    "libisthmus",
    "liboshmem",
    "libsma",
    "libmpi",
    "linux-vdso",
    "libasan",
    "libtsan",
    "liblsan",
    "libubsan",
    "libgcc_s",
];

/// What will be moved.
#[derive(Debug, Clone, Copy)]
struct FoundStatic {
    identity: u64,
    first: usize,
    end: usize,
    /// Up to here the file says what it holds; beyond are zeros at first.
    from_file: usize,
}

/// All ranges that were moved, for the hooks around `fork`.
static MOVED: Mutex<Vec<Moved>> = Mutex::new(Vec::new());
/// Between the hooks: where the child's copies are.
static COPIES: Mutex<Vec<(usize, usize, usize)>> = Mutex::new(Vec::new());

/// Move all static data of this process. An error: why it stays where it is. Nothing else may run in this process meanwhile but threads of
/// the engine, which `_inside` keeps out of libraries.
pub fn relocate(_inside: &mut Entered) -> Result<Vec<Moved>, &'static str> {
    if process::threads() != 1 + thread::quiet() {
        return Err("static data is symmetric only if shmem_init comes before the process has several threads");
    }
    let mut moved = Vec::new();
    for found in segments() {
        let length = found.end - found.first;
        let Ok(piece) = Piece::take_for_statics(length as u64) else {
            return Err("static data is too large for the memory that the job may share");
        };
        // SAFETY: the segment is mapped and writable, and nothing else runs.
        unsafe { relocate_one(found, piece) }.map_err(|_| "the kernel does not let static data be mapped again")?;
        moved.push(Moved {
            identity: found.identity,
            first: found.first,
            length,
            piece,
        });
    }
    *MOVED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = moved.clone();
    process::on_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    Ok(moved)
}

/// # Safety
/// The segment is mapped and writable, and nobody writes to it meanwhile.
unsafe fn relocate_one(found: FoundStatic, piece: Piece) -> isthmus_engine::Result<()> {
    let blocked = Blocked::all();
    let to = piece.address().as_ptr();
    let present = present_pages(found.from_file.max(found.first), found.end);
    for page in (found.first..found.end).step_by(PAGE) {
        let untouched = page >= found.from_file
            && present.as_ref().is_some_and(|present| {
                let index = (page - found.from_file.max(found.first)) / PAGE;
                present.get(index) == Some(&false)
            });
        if untouched {
            continue;
        }
        let from = std::ptr::with_exposed_provenance::<u8>(page);
        // SAFETY: the caller's promise; the piece is as long, and nobody else knows of it.
        unsafe {
            let all_zero = std::slice::from_raw_parts(from.cast::<u64>(), PAGE / 8)
                .iter()
                .all(|&word| word == 0);
            if !all_zero {
                std::ptr::copy_nonoverlapping(from, to.add(page - found.first), PAGE);
            }
        }
    }
    let first = NonNull::new(std::ptr::with_exposed_provenance_mut(found.first)).expect("no segment begins at 0");
    // SAFETY: what is there has just been copied, and nothing runs that could have changed it since.
    let mapped = unsafe { piece.map_at(first) };
    drop(blocked);
    mapped
}

/// Which pages from `first` to `end` were ever touched; `None`: the kernel does not tell.
fn present_pages(first: usize, end: usize) -> Option<Vec<bool>> {
    use std::os::unix::fs::FileExt;

    let first = first / PAGE * PAGE;
    if end <= first {
        return None;
    }
    let file = std::fs::File::open("/proc/self/pagemap").ok()?;
    let mut entries = vec![0_u8; (end - first) / PAGE * 8];
    file.read_exact_at(&mut entries, (first / PAGE * 8) as u64).ok()?;
    // Present, or in swap.
    Some(entries.chunks_exact(8).map(|entry| entry[7] & 0xc0 != 0).collect())
}

/// Of a large range: which pages have memory, whoever wrote to them. `None`: look at all.
fn resident_pages(first: usize, length: usize) -> Option<Vec<u8>> {
    const LARGE: usize = 64 << 20;
    if length < LARGE {
        return None;
    }
    let mut resident = vec![0; length / PAGE];
    let at = std::ptr::with_exposed_provenance_mut::<c_void>(first);
    // SAFETY: the vector has a byte for each page.
    (unsafe { libc::mincore(at, length, resident.as_mut_ptr()) } == 0).then_some(resident)
}

/// No signal handler of this thread runs.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn all() -> Self {
        // SAFETY: both sets are ours.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            Self(before)
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is ours.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

/// The writable segments, in the order in which the loader names their libraries.
fn segments() -> Vec<FoundStatic> {
    let mut all: Vec<FoundStatic> = Vec::new();
    // SAFETY: the callback gets the vector, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut all).cast()) };
    all
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader's description is valid during the call, and `data` is the vector of `segments`.
    let (info, all) = unsafe { (&*info, &mut *data.cast::<Vec<FoundStatic>>()) };
    let path = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: the loader's name is a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    let path = path.to_string_lossy();
    let name = path.rsplit('/').next().unwrap_or_default();
    if LEFT_ALONE.iter().any(|prefix| name.starts_with(prefix)) {
        return 0;
    }
    // SAFETY: the loader's list has so many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr as usize;
    let constant = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_RELRO)
        .map(|header| {
            let first = base + header.p_vaddr as usize;
            first..(first + header.p_memsz as usize) / PAGE * PAGE
        });
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W == 0 {
            continue;
        }
        let begin = base + header.p_vaddr as usize;
        let mut first = begin / PAGE * PAGE;
        let end = (begin + header.p_memsz as usize).next_multiple_of(PAGE);
        if let Some(constant) = &constant
            && constant.start < end
            && constant.end > first
        {
            first = constant.end;
        }
        if first < end {
            all.push(FoundStatic {
                identity: identity(name, header.p_vaddr, header.p_memsz),
                first,
                end,
                from_file: (begin + header.p_filesz as usize)
                    .next_multiple_of(PAGE)
                    .clamp(first, end),
            });
        }
    }
    0
}

fn identity(name: &str, address: u64, length: u64) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let facts = address.to_ne_bytes().into_iter().chain(length.to_ne_bytes());
    name.bytes().chain(facts).fold(0xcbf2_9ce4_8422_2325, mix)
}

extern "C" fn before_fork() {
    let moved = MOVED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut copies = COPIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    copies.clear();
    for range in moved.iter() {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let copy = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                range.length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if copy == libc::MAP_FAILED {
            continue;
        }
        let resident = resident_pages(range.first, range.length);
        for page in 0..range.length / PAGE {
            if resident.as_ref().is_some_and(|resident| resident[page] & 1 == 0) {
                continue;
            }
            let from = std::ptr::with_exposed_provenance::<u8>(range.first + page * PAGE);
            // SAFETY: the segment is mapped, and the copy as long.
            unsafe { std::ptr::copy_nonoverlapping(from, copy.cast::<u8>().add(page * PAGE), PAGE) };
        }
        copies.push((range.first, range.length, copy.expose_provenance()));
    }
}

extern "C" fn after_fork_in_parent() {
    let mut copies = COPIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (_, length, copy) in copies.drain(..) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(copy), length) };
    }
}

extern "C" fn after_fork_in_child() {
    let mut copies = COPIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (first, length, copy) in copies.drain(..) {
        // SAFETY: both ranges are ours and as long; what the child has at `first` is what the copy holds.
        unsafe {
            libc::mremap(
                std::ptr::with_exposed_provenance_mut(copy),
                length,
                length,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                std::ptr::with_exposed_provenance_mut::<c_void>(first),
            );
        }
    }
}
