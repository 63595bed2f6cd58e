//! The stand-in, and memory of its devices.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{CString, c_int, c_long, c_uint, c_void};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::OnceLock;

use isthmus_os::switches::Switch;

/// Named in the environment of the process that runs a test.
const CHILD: &str = "ISTHMUS_MEM_TEST";

/// The stand-in, compiled once for each version of its source.
pub fn stand_in() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda/libcuda.c");
    let mut hash = DefaultHasher::new();
    std::fs::read(&source).expect("the stand-in's source").hash(&mut hash);
    std::fs::read(source.with_file_name("cuda_standin.h"))
        .expect("its header")
        .hash(&mut hash);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stand-in-{:x}", hash.finish()));
    let library = folder.join("libcuda.so.1");
    if !library.exists() {
        std::fs::create_dir_all(&folder).expect("a folder for the stand-in");
        let new = folder.join(format!("new-{}", std::process::id()));
        let made = Command::new("cc")
            .args([
                "-shared",
                "-fPIC",
                "-O1",
                "-g",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wl,-soname,libcuda.so.1",
            ])
            .arg("-o")
            .arg(&new)
            .arg(&source)
            .arg("-lpthread")
            .status();
        assert!(made.expect("a C compiler").success());
        std::fs::rename(&new, &library).expect("a name for the stand-in");
    }
    library
}

/// Run the test of this name in a process of its own; true there.
pub fn alone(name: &str, settings: &[(&str, &str)]) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let run = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(CHILD, "1")
        .envs(settings.iter().copied())
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && said.contains(" 1 passed"),
        "{settings:?}: {:?}\n{}{}",
        run.status,
        said,
        String::from_utf8_lossy(&run.stderr)
    );
    false
}

/// The stand-in's library.
pub fn library() -> *mut c_void {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let path = CString::new(stand_in().into_os_string().into_encoded_bytes()).expect("a path");
        // SAFETY: it runs the stand-in's reading of its settings.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!library.is_null());
        library.expose_provenance()
    });
    std::ptr::with_exposed_provenance_mut(*library)
}

/// Call a procedure of it.
macro_rules! call {
    ($name:literal ($($value:expr => $type:ty),*) -> $result:ty) => {{
        let name = CString::new($name).expect("a name");
        // SAFETY: the procedure has this type.
        unsafe {
            let found = libc::dlsym(library(), name.as_ptr());
            assert!(!found.is_null(), $name);
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(found)($($value),*)
        }
    }};
    ($name:literal ($($value:expr => $type:ty),*)) => {
        assert_eq!(call!($name ($($value => $type),*) -> c_int), 0, $name)
    };
}

pub fn start() {
    Switch::Devices.turn_on();
    call!("cuInit" (0 => c_uint));
}

/// Make a context of the device and have it as the current one.
pub fn context(device: c_int) -> *mut c_void {
    let mut context: *mut c_void = null_mut();
    call!("cuDevicePrimaryCtxRetain" (&raw mut context => *mut *mut c_void, device => c_int));
    call!("cuCtxSetCurrent" (context => *mut c_void));
    context
}

pub fn current() -> *mut c_void {
    let mut context: *mut c_void = null_mut();
    call!("cuCtxGetCurrent" (&raw mut context => *mut *mut c_void));
    context
}

pub fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

pub fn allocate(bytes: usize) -> *mut u8 {
    let mut at = 0_u64;
    call!("cuMemAlloc_v2" (&raw mut at => *mut u64, bytes => usize));
    pointer(at)
}

pub fn allocate_managed(bytes: usize) -> *mut u8 {
    let mut at = 0_u64;
    call!("cuMemAllocManaged" (&raw mut at => *mut u64, bytes => usize, 1 => c_uint));
    pointer(at)
}

pub fn allocate_of_pool(bytes: usize) -> *mut u8 {
    let mut at = 0_u64;
    call!("cuMemAllocAsync" (&raw mut at => *mut u64, bytes => usize, null_mut() => *mut c_void));
    pointer(at)
}

/// Of virtual memory management, with a descriptor.
pub fn allocate_mapped(bytes: usize) -> *mut u8 {
    /// `CUmemAllocationProp`: pinned, a file descriptor, at this device.
    #[repr(C)]
    struct Wanted {
        kind: c_int,
        handles: c_int,
        location: [c_int; 2],
        others: [u64; 2],
    }
    let wanted = Wanted {
        kind: 1,
        handles: 1,
        location: [1, 0],
        others: [0; 2],
    };
    let (mut physical, mut at, bytes) = (0_u64, 0_u64, bytes.next_multiple_of(2 << 20));
    call!("cuMemCreate" (&raw mut physical => *mut u64, bytes => usize, &raw const wanted => *const Wanted, 0 => u64));
    call!("cuMemAddressReserve" (&raw mut at => *mut u64, bytes => usize, 0 => usize, 0 => u64, 0 => u64));
    call!("cuMemMap" (at => u64, bytes => usize, 0 => usize, physical => u64, 0 => u64));
    call!("cuMemSetAccess" (at => u64, bytes => usize, [1, 0, 3].as_ptr() => *const c_int, 1 => usize));
    call!("cuMemRelease" (physical => u64));
    pointer(at)
}

pub fn free_mapped(at: *mut u8) {
    let (mut base, mut bytes) = (0_u64, 0_usize);
    let address = at.expose_provenance() as u64;
    call!("cuMemGetAddressRange_v2" (&raw mut base => *mut u64, &raw mut bytes => *mut usize, address => u64));
    call!("cuMemUnmap" (base => u64, bytes => usize));
    call!("cuMemAddressFree" (base => u64, bytes => usize));
}

pub fn allocate_pinned(bytes: usize) -> *mut u8 {
    let mut at: *mut c_void = null_mut();
    call!("cuMemHostAlloc" (&raw mut at => *mut *mut c_void, bytes => usize, 1 => c_uint));
    at.cast()
}

pub fn free(at: *mut u8) {
    call!("cuMemFree_v2" (at.expose_provenance() as u64 => u64));
}

pub fn calls(name: &str) -> c_long {
    let name = CString::new(name).expect("a name");
    call!("cuda_calls" (name.as_ptr() => *const libc::c_char) -> c_long)
}

/// The bytes, from the side that the test sees.
pub fn seen(at: *mut u8, bytes: usize) -> &'static mut [u8] {
    let backing = call!("cuda_backing" (at.expose_provenance() as u64 => u64) -> *mut u8);
    assert!(!backing.is_null());
    // SAFETY: the test asks for no more than there are.
    unsafe { std::slice::from_raw_parts_mut(backing, bytes) }
}

pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}

/// Memory of each kind.
pub fn of_each_kind(bytes: usize) -> Vec<(&'static str, *mut u8)> {
    let boxed = vec![0_u8; bytes].leak();
    vec![
        ("host", boxed.as_mut_ptr()),
        ("device", allocate(bytes)),
        ("managed", allocate_managed(bytes)),
        ("pool", allocate_of_pool(bytes)),
        ("mapped", allocate_mapped(bytes)),
        ("pinned", allocate_pinned(bytes)),
    ]
}

/// Bytes of memory of any kind.
pub fn view(name: &str, at: *mut u8, bytes: usize) -> &'static mut [u8] {
    match name {
        "device" | "pool" | "mapped" => seen(at, bytes),
        // SAFETY: host memory of the test.
        _ => unsafe { std::slice::from_raw_parts_mut(at, bytes) },
    }
}
