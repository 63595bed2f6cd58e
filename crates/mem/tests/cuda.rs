//! Memory of devices, against the stand-in for CUDA's driver library (`tests/cuda/libcuda.c`).
//!
//! Each test runs in a process of its own, with the stand-in's settings that it names.
#![allow(unsafe_code)] // The driver's procedures are C.

mod numbers;

use std::collections::hash_map::DefaultHasher;
use std::ffi::{CString, c_int, c_long, c_uint, c_void};
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::null_mut;
use std::sync::OnceLock;

use isthmus_mem as mem;
use isthmus_mem::{Device, Export, Kind, Number, Op, Piece, Rows};
use numbers::{bytes_of, expected};

/// Named in the environment of the process that runs a test.
const CHILD: &str = "ISTHMUS_MEM_TEST";

/// The stand-in, compiled once for each version of its source.
fn stand_in() -> PathBuf {
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
fn alone(name: &str, settings: &[(&str, &str)]) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let run = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(CHILD, "1")
        .envs(settings.iter().copied())
        .output()
        .expect("a process");
    assert!(
        run.status.success(),
        "{settings:?}: {:?}\n{}{}",
        run.status,
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    false
}

/// The stand-in's library.
fn library() -> *mut c_void {
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

fn start() {
    mem::watch();
    call!("cuInit" (0 => c_uint));
}

/// Make a context of the device and have it as the current one.
fn context(device: c_int) -> *mut c_void {
    let mut context: *mut c_void = null_mut();
    call!("cuDevicePrimaryCtxRetain" (&raw mut context => *mut *mut c_void, device => c_int));
    call!("cuCtxSetCurrent" (context => *mut c_void));
    context
}

fn current() -> *mut c_void {
    let mut context: *mut c_void = null_mut();
    call!("cuCtxGetCurrent" (&raw mut context => *mut *mut c_void));
    context
}

fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn allocate(bytes: usize) -> *mut u8 {
    let mut at = 0_u64;
    call!("cuMemAlloc_v2" (&raw mut at => *mut u64, bytes => usize));
    pointer(at)
}

fn allocate_managed(bytes: usize) -> *mut u8 {
    let mut at = 0_u64;
    call!("cuMemAllocManaged" (&raw mut at => *mut u64, bytes => usize, 1 => c_uint));
    pointer(at)
}

fn allocate_of_pool(bytes: usize) -> *mut u8 {
    let mut at = 0_u64;
    call!("cuMemAllocAsync" (&raw mut at => *mut u64, bytes => usize, null_mut() => *mut c_void));
    pointer(at)
}

fn allocate_pinned(bytes: usize) -> *mut u8 {
    let mut at: *mut c_void = null_mut();
    call!("cuMemHostAlloc" (&raw mut at => *mut *mut c_void, bytes => usize, 1 => c_uint));
    at.cast()
}

fn free(at: *mut u8) {
    call!("cuMemFree_v2" (at.expose_provenance() as u64 => u64));
}

fn calls(name: &str) -> c_long {
    let name = CString::new(name).expect("a name");
    call!("cuda_calls" (name.as_ptr() => *const libc::c_char) -> c_long)
}

/// The bytes, from the side that the test sees.
fn seen(at: *mut u8, bytes: usize) -> &'static mut [u8] {
    let backing = call!("cuda_backing" (at.expose_provenance() as u64 => u64) -> *mut u8);
    assert!(!backing.is_null());
    // SAFETY: the test asks for no more than there are.
    unsafe { std::slice::from_raw_parts_mut(backing, bytes) }
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
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
fn of_each_kind(bytes: usize) -> Vec<(&'static str, *mut u8)> {
    let boxed = vec![0_u8; bytes].leak();
    vec![
        ("host", boxed.as_mut_ptr()),
        ("device", allocate(bytes)),
        ("managed", allocate_managed(bytes)),
        ("pool", allocate_of_pool(bytes)),
        ("pinned", allocate_pinned(bytes)),
    ]
}

/// Bytes of memory of any kind.
fn view(name: &str, at: *mut u8, bytes: usize) -> &'static mut [u8] {
    match name {
        "device" | "pool" => seen(at, bytes),
        // SAFETY: host memory of the test.
        _ => unsafe { std::slice::from_raw_parts_mut(at, bytes) },
    }
}

#[test]
fn without_the_library_all_is_host_memory() {
    if !alone("without_the_library_all_is_host_memory", &[]) {
        return;
    }
    let (from, mut to) = (noise(100, 1), vec![0_u8; 100]);
    for watched in [false, true] {
        if watched {
            mem::watch();
        }
        assert_eq!(mem::kind_of(from.as_ptr()), Ok(Kind::Host));
        assert_eq!(mem::kind_of(std::ptr::without_provenance(4096)), Ok(Kind::Host));
        // SAFETY: both have as many bytes.
        unsafe { mem::copy(to.as_mut_ptr(), from.as_ptr(), 100).expect("a copy") };
        assert_eq!(from, to);
        assert!(mem::export(from.as_ptr()).is_none());
        assert!(mem::Scratch::pinned(10).is_err());
    }
    library();
    // Loaded, but not initialized: there is no memory of a device.
    let mapped = noise(1 << 20, 1);
    assert_eq!(mem::kind_of(mapped.as_ptr()), Ok(Kind::Host));
}

#[test]
fn each_address_has_its_kind_from_any_thread() {
    if !alone(
        "each_address_has_its_kind_from_any_thread",
        &[("ISTHMUS_TEST_DEVICES", "2")],
    ) {
        return;
    }
    start();
    context(1);
    let (bytes, large) = (10_000, noise(1 << 20, 1));
    let all = of_each_kind(bytes);
    let ask = || {
        let on = |name: &str| {
            all.iter()
                .find(|(other, _)| *other == name)
                .map(|(_, at)| at.wrapping_add(bytes - 1))
        };
        let kind = |name: &str| mem::kind_of(on(name).expect("a name"));
        assert_eq!(kind("host"), Ok(Kind::Host));
        assert_eq!(kind("pinned"), Ok(Kind::Host));
        assert_eq!(kind("device"), Ok(Kind::Device(Device(1))));
        assert_eq!(kind("pool"), Ok(Kind::Device(Device(1))));
        assert_eq!(kind("managed"), Ok(Kind::Managed(Device(1))));
        assert_eq!(mem::kind_of(large.as_ptr()), Ok(Kind::Host));
    };
    ask();
    let all_addresses: Vec<usize> = all.iter().map(|(_, at)| at.expose_provenance()).collect();
    std::thread::spawn(move || {
        for address in all_addresses {
            mem::kind_of(std::ptr::with_exposed_provenance(address)).expect("a kind");
        }
        assert!(current().is_null());
    })
    .join()
    .expect("the thread");

    let questions = mem::counts().questions;
    let local = 5;
    assert_eq!(mem::kind_of((&raw const local).cast()), Ok(Kind::Host));
    mem::host_range(large.as_ptr(), large.len());
    assert_eq!(mem::kind_of(&raw const large[5]), Ok(Kind::Host));
    mem::no_host_range(large.as_ptr());
    assert!(mem::counts().questions <= questions + 1); // A test's thread is not the main one.

    let device = all[1].1;
    free(device);
    let error = mem::kind_of(device).expect_err("freed");
    assert!(error.to_string().contains("freed"), "{error}");
    assert!(mem::kind_of(std::ptr::null()).is_err());
}

#[test]
fn host_memory_that_became_a_devices_is_seen() {
    if !alone("host_memory_that_became_a_devices_is_seen", &[]) {
        return;
    }
    start();
    context(0);
    let bytes = 1 << 20;
    let map = |at: *mut c_void, access: c_int| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | if at.is_null() { 0 } else { libc::MAP_FIXED };
        // SAFETY: new memory, or at the place of memory of this test.
        unsafe { libc::mmap(at, bytes, access, flags, -1, 0) }
    };
    let host = map(null_mut(), libc::PROT_READ | libc::PROT_WRITE);
    let asked = |times: u64| {
        let before = mem::counts().questions;
        for _ in 0..10 {
            assert_eq!(mem::kind_of(host.cast()), Ok(Kind::Host));
        }
        assert_eq!(mem::counts().questions - before, times);
    };
    asked(1);
    asked(0);
    // Out of the processor's reach, as memory of a device would be: the driver is asked again.
    map(host, libc::PROT_NONE);
    let before = mem::counts().questions;
    assert!(mem::kind_of(host.cast()).is_err());
    assert_eq!(mem::counts().questions, before + 1);
    map(host, libc::PROT_READ);
    asked(0);
}

#[test]
fn managed_memory_that_the_processor_must_not_touch_is_a_devices() {
    let name = "managed_memory_that_the_processor_must_not_touch_is_a_devices";
    if !alone(name, &[("ISTHMUS_TEST_CUDA_MANAGED", "0")]) {
        return;
    }
    start();
    context(0);
    assert_eq!(mem::kind_of(allocate_managed(10)), Ok(Kind::Device(Device(0))));
}

fn copies() {
    start();
    let ours = context(0);
    let most = 1_200_000;
    for (from_name, from) in of_each_kind(most) {
        for (to_name, to) in of_each_kind(most) {
            for bytes in [0, 1, 8, 65_536, 65_537, 524_288, 524_289, most] {
                let what = noise(most, bytes as u64);
                view(from_name, from, most).copy_from_slice(&what);
                view(to_name, to, most).fill(0);
                // SAFETY: both have as many bytes.
                unsafe { mem::copy(to, from, bytes).expect("a copy") };
                let got = view(to_name, to, most);
                assert!(got[..bytes] == what[..bytes], "{from_name} {to_name} {bytes}");
                assert!(
                    got[bytes..].iter().all(|&byte| byte == 0),
                    "{from_name} {to_name} {bytes}"
                );
            }
        }
    }
    assert_eq!(current(), ours);
}

#[test]
fn copies_between_all_kinds() {
    if alone("copies_between_all_kinds", &[]) {
        copies();
    }
}

#[test]
fn copies_that_complete_late() {
    if alone("copies_that_complete_late", &[("ISTHMUS_TEST_CUDA_LATE", "3")]) {
        copies();
    }
}

#[test]
fn copies_without_words_written_by_streams() {
    let name = "copies_without_words_written_by_streams";
    let fail = (
        "ISTHMUS_TEST_CUDA_FAIL",
        "cuStreamWriteValue32:CUDA_ERROR_NOT_SUPPORTED",
    );
    if alone(name, &[("ISTHMUS_TEST_CUDA_LATE", "3"), fail]) {
        copies();
        assert!(calls("cuStreamWriteValue32") <= 2);
    }
}

#[test]
fn a_short_copy_takes_few_calls_of_the_driver() {
    if !alone("a_short_copy_takes_few_calls_of_the_driver", &[]) {
        return;
    }
    start();
    context(0);
    let (a, b, host) = (allocate(8), allocate(8), allocate_pinned(4096));
    let pageable = vec![0_u8; 1 << 20].leak().as_mut_ptr();
    for (to, from, most) in [
        (b, a, 5),
        (host, a, 5),
        (b, host, 5),
        (pageable, a, 4),
        (b, pageable, 4),
    ] {
        let mut count = 0;
        for _ in 0..2 {
            call!("cuda_reset_calls" () -> ());
            // SAFETY: both have 8 bytes.
            unsafe { mem::copy(to, from, 8).expect("a copy") };
            let names = [
                "cuPointerGetAttributes",
                "cuCtxGetCurrent",
                "cuMemcpyAsync",
                "cuStreamWriteValue32",
            ];
            let others = [
                "cuStreamQuery",
                "cuCtxPushCurrent",
                "cuCtxPopCurrent",
                "cuPointerGetAttribute",
            ];
            count = names.iter().chain(&others).map(|name| calls(name)).sum();
        }
        assert_eq!(count, most);
    }
}

#[test]
fn a_programs_copy_that_is_under_way_is_waited_for() {
    let name = "a_programs_copy_that_is_under_way_is_waited_for";
    if !alone(name, &[("ISTHMUS_TEST_CUDA_LATE", "4")]) {
        return;
    }
    start();
    context(0);
    let (a, what) = (allocate(1000), noise(1000, 1));
    let mut got = vec![0_u8; 1000];
    for seed in 1..3 {
        let what = if seed == 1 { what.clone() } else { noise(1000, seed) };
        let at = a.expose_provenance() as u64;
        call!("cuMemcpyHtoD_v2" (at => u64, what.as_ptr().cast() => *const c_void, 1000 => usize));
        // SAFETY: both have as many bytes.
        unsafe { mem::copy(got.as_mut_ptr(), a, 1000).expect("a copy") };
        assert!(got == what, "{seed}");
    }
}

#[test]
fn threads_copy_at_the_same_time_without_a_context() {
    let name = "threads_copy_at_the_same_time_without_a_context";
    if !alone(name, &[("ISTHMUS_TEST_CUDA_LATE", "2"), ("ISTHMUS_TEST_DEVICES", "2")]) {
        return;
    }
    start();
    let bytes = 100_000;
    let mut addresses = Vec::new();
    for device in 0..2 {
        context(device);
        addresses.push(allocate(bytes * 4).expose_provenance());
    }
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let addresses = &addresses;
            scope.spawn(move || {
                let part = |device: usize| {
                    let at: *mut u8 = std::ptr::with_exposed_provenance_mut(addresses[device]);
                    at.wrapping_add(thread * bytes)
                };
                for round in 0..20 {
                    let what = noise(bytes, round * 4 + thread as u64);
                    let mut got = vec![0_u8; bytes];
                    // SAFETY: all have as many bytes.
                    unsafe {
                        mem::copy(part(0), what.as_ptr(), bytes).expect("a copy");
                        mem::copy(part(1), part(0), bytes).expect("a copy");
                        mem::copy(got.as_mut_ptr(), part(1), bytes).expect("a copy");
                    }
                    assert!(got == what);
                }
                assert!(current().is_null());
            });
        }
    });
}

/// Rows and pieces between all kinds; what is checked is every byte of the target.
fn layouts() {
    start();
    context(0);
    let room = 2 << 20;
    let source_noise = noise(room, 5);
    for (from_name, from) in of_each_kind(room) {
        for (to_name, to) in of_each_kind(room) {
            view(from_name, from, room).copy_from_slice(&source_noise);
            for (width, rows, to_pitch, from_pitch) in [
                (8, 1000, 8, 24),
                (8, 1000, 24, 8),
                (3, 500, 7, 11),
                (16, 100, -48, 32),
                (1, 300, 1, -5),
                (5000, 40, 5000, 6000),
                (5000, 40, -6000, 5001),
                (70_000, 5, 80_000, 100_000),
                (64, 3, 64, 0),
            ] {
                let first = |pitch: isize| if pitch < 0 { (rows as isize - 1) * -pitch } else { 0 };
                let (to_first, from_first) = (first(to_pitch), first(from_pitch));
                view(to_name, to, room).fill(7);
                let mut expected = vec![7_u8; room];
                for row in 0..rows as isize {
                    let at = (to_first + row * to_pitch) as usize;
                    let of = (from_first + row * from_pitch) as usize;
                    expected[at..at + width].copy_from_slice(&source_noise[of..of + width]);
                }
                let (to_rows, from_rows) = (
                    Rows {
                        at: to.wrapping_offset(to_first),
                        pitch: to_pitch,
                    },
                    Rows {
                        at: from.wrapping_offset(from_first).cast_const(),
                        pitch: from_pitch,
                    },
                );
                // SAFETY: both have as many bytes.
                unsafe { mem::copy_rows(to_rows, from_rows, width, rows).expect("rows") };
                let same = view(to_name, to, room) == expected;
                assert!(same, "{from_name} {to_name} {width} {rows} {to_pitch} {from_pitch}");
            }
            for (count, most, regular) in [
                (3, 1000, false),
                (1000, 90, false),
                (40, 40_000, false),
                (500, 8, true),
                (300, 1, true),
            ] {
                pieces(count, most, regular, (from_name, from), (to_name, to), &source_noise);
            }
        }
    }
}

fn pieces(count: usize, most: usize, regular: bool, from: (&str, *mut u8), to: (&str, *mut u8), source: &[u8]) {
    let ((from_name, from), (to_name, to)) = (from, to);
    let room = source.len();
    let lengths = noise(count * 4, most as u64);
    let mut offset = 0_i64;
    let base = room / 2;
    let mut list: Vec<Piece> = (0..count)
        .map(|i| {
            let any = u32::from_le_bytes(lengths[4 * i..4 * i + 4].try_into().expect("4 bytes")) as usize;
            let length = if regular { most } else { any % (most + 1) };
            let piece = Piece {
                offset: offset - (base / 2) as i64,
                length: length as u64,
            };
            offset += length as i64 + if regular { 8 } else { (any >> 20) as i64 % 16 };
            piece
        })
        .collect();
    if !regular {
        list.reverse();
    }
    let total: usize = list.iter().map(|piece| piece.length as usize).sum();
    assert!(offset < room as i64 / 2 + base as i64 / 2);
    let mut packed = Vec::new();
    for piece in &list {
        let at = (base as i64 + piece.offset) as usize;
        packed.extend_from_slice(&source[at..at + piece.length as usize]);
    }
    // Pack from memory with gaps.
    view(to_name, to, room).fill(7);
    // SAFETY: both have as many bytes.
    unsafe { mem::copy_pieces(from.wrapping_add(base), &list, to, false).expect("packing") };
    let got = view(to_name, to, room);
    assert!(
        got[..total] == packed[..] && got[total..].iter().all(|&byte| byte == 7),
        "{from_name} {to_name} {count} {most}"
    );
    // And unpack what has been packed elsewhere.
    let mut expected = vec![9_u8; room];
    let mut position = 0;
    for piece in &list {
        let (at, length) = ((base as i64 + piece.offset) as usize, piece.length as usize);
        expected[at..at + length].copy_from_slice(&source[position..position + length]);
        position += length;
    }
    view(to_name, to, room).fill(9);
    // SAFETY: as above.
    unsafe { mem::copy_pieces(to.wrapping_add(base), &list, from, true).expect("unpacking") };
    assert!(
        view(to_name, to, room) == expected,
        "unpack {from_name} {to_name} {count} {most}"
    );
}

#[test]
fn rows_and_pieces_between_all_kinds() {
    if alone("rows_and_pieces_between_all_kinds", &[("ISTHMUS_TEST_CUDA_LATE", "1")]) {
        layouts();
    }
}

#[test]
fn rows_and_pieces_where_the_driver_refuses_something() {
    let name = "rows_and_pieces_where_the_driver_refuses_something";
    for refused in ["cuModuleLoadData", "cuMemHostAlloc", "cuMemcpy2DAsync"] {
        let fail = format!(
            "{refused}:CUDA_ERROR_NOT_SUPPORTED:{}",
            if refused == "cuMemHostAlloc" { 50 } else { 1 }
        );
        if alone(name, &[("ISTHMUS_TEST_CUDA_FAIL", &fail)]) {
            layouts();
            return;
        }
    }
}

#[test]
fn copies_without_pinned_memory() {
    if !alone(
        "copies_without_pinned_memory",
        &[("ISTHMUS_TEST_CUDA_FAIL", "cuMemHostAlloc:CUDA_ERROR_OUT_OF_MEMORY:3")],
    ) {
        return;
    }
    start();
    context(0);
    let (bytes, device) = (1 << 20, allocate(1 << 20));
    let _ends = [allocate_pinned(1), allocate_pinned(1)];
    let (host, what) = (vec![0_u8; bytes].leak(), noise(bytes, 1));
    for bytes in [8, bytes] {
        // SAFETY: all have as many bytes.
        unsafe {
            mem::copy(device, what.as_ptr(), bytes).expect("a copy");
            mem::copy(host.as_mut_ptr(), device, bytes).expect("a copy");
        }
        assert!(host[..bytes] == what[..bytes]);
    }
    let (from, pieces) = (
        noise(1000, 2),
        [1, 5, 9, 2, 7, 8].map(|i| Piece {
            offset: i * 7,
            length: i as u64,
        }),
    );
    for (memory, packed, unpack) in [
        (device, host.as_mut_ptr(), false),
        (device, from.as_ptr().cast_mut(), true),
    ] {
        // SAFETY: as above.
        unsafe { mem::copy_pieces(memory, &pieces, packed, unpack).expect("pieces") };
    }
    assert!(seen(device, 8)[7] == from[0]);
}

#[test]
fn rows_and_pieces_between_devices_that_do_not_reach_each_other() {
    let name = "rows_and_pieces_between_devices_that_do_not_reach_each_other";
    if !alone(name, &[("ISTHMUS_TEST_DEVICES", "2"), ("ISTHMUS_TEST_CUDA_PEER", "0")]) {
        return;
    }
    start();
    let room = 1 << 20;
    context(0);
    let from = allocate(room);
    context(1);
    let to = allocate(room);
    let source = noise(room, 3);
    seen(from, room).copy_from_slice(&source);
    pieces(500, 100, false, ("device", from), ("device", to), &source);
    pieces(500, 8, true, ("device", from), ("device", to), &source);
    // SAFETY: both have as many bytes.
    unsafe {
        let (to, from) = (
            Rows { at: to, pitch: 8 },
            Rows {
                at: from.cast_const(),
                pitch: 16,
            },
        );
        mem::copy_rows(to, from, 8, 100).expect("rows");
        mem::combine(Op::Sum, Number::U8, Device(1), to.at, from.at, to.at, 10).expect("a sum");
    }
    assert_eq!(seen(to, 1)[0], source[0].wrapping_add(source[0]));
}

fn write(number: Number, at: *mut u8, values: &[i64]) {
    let bytes: Vec<u8> = values.iter().flat_map(|&value| bytes_of(number, value)).collect();
    seen(at, bytes.len()).copy_from_slice(&bytes);
}

#[test]
fn each_operation_of_each_number_has_a_kernel() {
    if !alone("each_operation_of_each_number_has_a_kernel", &[]) {
        return;
    }
    start();
    context(0);
    let count = 100;
    let (left, right, result) = (allocate(16 * count), allocate(16 * count), allocate(16 * count));
    for number in Number::ALL {
        let a: Vec<i64> = (0..count as i64).map(|i| i % 11).collect();
        let b: Vec<i64> = (0..count as i64).map(|i| i % 7).collect();
        write(number, left, &a);
        write(number, right, &b);
        let bytes = count * number.bytes();
        for op in Op::ALL {
            seen(result, bytes).fill(0);
            // SAFETY: all have as many elements.
            let answer = unsafe { mem::combine(op, number, Device(0), result, left, right, count) };
            if !mem::combines(op, number) {
                assert!(answer.is_err());
                continue;
            }
            answer.expect("a kernel");
            let got = seen(result, bytes).to_vec();
            match number {
                Number::C32 | Number::C64 if op == Op::Prod => {
                    // (a + ia) * (b + ib) = i * 2ab
                    let product = a.iter().zip(&b).flat_map(|(a, b)| [0, 2 * a * b]).collect::<Vec<_>>();
                    let simple = if number == Number::C32 {
                        Number::F32
                    } else {
                        Number::F64
                    };
                    write(simple, result, &product);
                }
                _ => {
                    let values = a.iter().zip(&b).map(|(&a, &b)| expected(op, a, b)).collect::<Vec<_>>();
                    write(number, result, &values);
                }
            }
            assert!(got == seen(result, bytes), "{op:?} {number:?}");
        }
    }
    // Memory that no kernel reaches, and elements that are not aligned.
    let (host, mut sum) = (vec![3_i32; 1000], vec![0_i32; 1000]);
    let odd = allocate(4001);
    for (to, from) in [
        (sum.as_mut_ptr().cast(), host.as_ptr().cast::<u8>()),
        (odd.wrapping_add(1), host.as_ptr().cast()),
    ] {
        // SAFETY: all have as many elements.
        unsafe { mem::combine(Op::Sum, Number::I32, Device(0), to, from, from, 1000).expect("a sum") };
    }
    assert_eq!(sum, vec![6; 1000]);
    assert_eq!(seen(odd.wrapping_add(1), 4)[..], 6_i32.to_ne_bytes());
}

/// The other process of the tests of exports: it exports memory and writes how, on one line for each line that it reads.
#[test]
fn helper_that_exports() {
    if std::env::var_os("ISTHMUS_MEM_EXPORTER").is_none() {
        return;
    }
    start();
    context(0);
    let mut at = allocate(100_000);
    let mut input = BufReader::new(std::io::stdin());
    let mut rounds = 0;
    loop {
        seen(at, 100_000).copy_from_slice(&noise(100_000, 11));
        let export = mem::export(at.wrapping_add(1000)).expect("an export");
        assert_eq!(mem::export(at.wrapping_add(1000)), Some(export));
        assert!(mem::export(allocate_of_pool(10)).is_none());
        assert!(mem::export(allocate_managed(10)).is_none());
        // In this process, it is the memory itself.
        let own = mem::map(1, &export).expect("its own export");
        assert_eq!(own.start(), at.wrapping_add(1000));
        // SAFETY: an export is plain data.
        let bytes = unsafe { std::mem::transmute::<Export, [u8; size_of::<Export>()]>(export) };
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("\nexport {text}");
        std::io::stdout().flush().expect("output");
        let mut line = String::new();
        if input.read_line(&mut line).expect("input") == 0 {
            return;
        }
        let first = seen(at, 1001)[1000];
        println!("\nwritten {first}");
        // Freed, and allocated again at the same addresses; the second time elsewhere.
        free(at);
        let other = rounds > 0;
        rounds += 1;
        let between = allocate(if other { 10 } else { 1 << 20 });
        let again = allocate(100_000);
        assert_eq!(again == at, !other);
        if !other {
            free(between);
        }
        at = again;
    }
}

fn read_export(lines: &mut impl BufRead) -> Export {
    let mut line = String::new();
    while !line.starts_with("export ") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("the exporter's output") > 0);
    }
    let text = line.trim_end().strip_prefix("export ").expect("an export");
    let mut bytes = [0_u8; size_of::<Export>()];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("a hexadecimal number");
    }
    // SAFETY: an export is plain data.
    unsafe { std::mem::transmute::<[u8; size_of::<Export>()], Export>(bytes) }
}

#[test]
fn another_process_reaches_what_is_exported() {
    if !alone(
        "another_process_reaches_what_is_exported",
        &[("ISTHMUS_TEST_DEVICES", "2")],
    ) {
        return;
    }
    start();
    let mut exporter = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "helper_that_exports", "--nocapture"])
        .env("ISTHMUS_MEM_EXPORTER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut input = exporter.stdin.take().expect("its input");
    let mut output = BufReader::new(exporter.stdout.take().expect("its output"));
    let export = read_export(&mut output);
    // A process that uses no device is given no context.
    assert!(mem::map(5, &export).is_none());
    context(0);
    let mapped = mem::map(5, &export).expect("a mapping");
    assert_eq!(mem::kind_of(mapped.start()), Ok(Kind::Device(Device(0))));
    assert_eq!(mem::open(5, &export), Some(mapped.start()));
    assert_eq!(mem::map(6, &export).map(|mapped| mapped.start()), Some(mapped.start()));
    assert_eq!(calls("cuIpcOpenMemHandle"), 1);
    let (mut got, local) = (vec![0_u8; 99_000], allocate(99_000));
    // SAFETY: the export has as many bytes.
    unsafe {
        mem::copy(got.as_mut_ptr(), mapped.start(), 99_000).expect("a copy");
        assert!(got == noise(100_000, 11)[1000..]);
        mem::copy(local, mapped.start(), 99_000).expect("a copy");
        assert!(seen(local, 99_000) == got);
        mem::copy(mapped.start(), [77_u8].as_ptr(), 1).expect("a copy");
        mem::combine(Op::Sum, Number::U8, Device(0), local, mapped.start(), local, 1).expect("a sum");
    }
    assert_eq!(seen(local, 1)[0], 77_u8.wrapping_add(got[0]));
    // Lies of a peer are refused.
    for lie in [
        Export {
            size: 1 << 40,
            buffer: 99,
            ..export
        },
        Export {
            offset: export.size + 1,
            ..export
        },
        Export {
            handle: [3; 64],
            ..export
        },
    ] {
        assert!(mem::map(5, &lie).is_none(), "{lie:?}");
    }
    input.write_all(b"\n").expect("input");
    let mut line = String::new();
    while !line.starts_with("written") {
        line.clear();
        output.read_line(&mut line).expect("the exporter's output");
    }
    assert_eq!(line.trim_end(), "written 77");
    // Another allocation at the same place: the old mapping is closed as soon as nobody uses it.
    let second = read_export(&mut output);
    assert!(second.base == export.base && second.buffer != export.buffer);
    let other = mem::map(5, &second).expect("a mapping");
    assert_ne!(other.start(), mapped.start());
    // SAFETY: the export has as many bytes.
    unsafe { mem::copy(got.as_mut_ptr(), other.start(), 10).expect("a copy") };
    assert!(got[..10] == noise(100_000, 11)[1000..1010]);
    mem::forget(6);
    assert_eq!(mem::counts().closes, 0);
    drop(mapped);
    assert_eq!(mem::counts().closes, 1);
    drop(other);
    assert_eq!(mem::counts().closes, 1);
    // Freed, and nothing of the peer overlaps it: its next export says so.
    input.write_all(b"\n").expect("input");
    let third = read_export(&mut output);
    assert!(third.base != second.base && third.freed.contains(&second.buffer));
    let last = mem::map(5, &third).expect("a mapping");
    assert_eq!(mem::counts().closes, 2);
    mem::forget(5);
    assert_eq!(mem::counts().closes, 2);
    drop(last);
    assert_eq!(mem::counts().closes, 3);
    assert_eq!(call!("cuda_opened" () -> c_long), 0);
    // A process that is gone.
    exporter.kill().expect("a signal");
    exporter.wait().expect("its end");
    assert!(mem::map(5, &third).is_none());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the end");
}

#[test]
fn errors_carry_the_drivers_name() {
    let name = "errors_carry_the_drivers_name";
    let fail = "cuMemcpyAsync:CUDA_ERROR_LAUNCH_FAILED,cuIpcGetMemHandle:CUDA_ERROR_NOT_SUPPORTED,cuMemAlloc:2:2";
    if !alone(name, &[("ISTHMUS_TEST_CUDA_FAIL", fail)]) {
        return;
    }
    start();
    context(0);
    let (a, b) = (allocate(100), allocate_pinned(100));
    // SAFETY: both have as many bytes.
    let error = unsafe { mem::copy(b, a, 100) }.expect_err("a failure").to_string();
    assert!(
        error.contains("CUDA_ERROR_LAUNCH_FAILED") && error.contains("100 bytes"),
        "{error}"
    );
    assert!(mem::export(a).is_none());
    let error = mem::Scratch::on(Device(0), 1 << 20).expect_err("no memory").to_string();
    assert!(error.contains("CUDA_ERROR_OUT_OF_MEMORY"), "{error}");
    let fail = CString::new("cuPointerGetAttributes").expect("a name");
    call!("cuda_fail" (fail.as_ptr() => *const libc::c_char, 700 => c_int) -> ());
    let error = mem::kind_of(a).expect_err("a failure").to_string();
    assert!(error.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    assert_eq!(mem::kind_of(b), Ok(Kind::Host));
}

#[test]
fn a_context_that_is_gone_takes_what_was_made_in_it() {
    if !alone("a_context_that_is_gone_takes_what_was_made_in_it", &[]) {
        return;
    }
    start();
    context(0);
    let what = noise(1000, 1);
    let round = || {
        let (a, b) = (allocate(1000), allocate(1000));
        let mut got = vec![0_u8; 1000];
        // SAFETY: all have as many bytes.
        unsafe {
            mem::copy(a, what.as_ptr(), 1000).expect("a copy");
            mem::copy(b, a, 1000).expect("a copy");
            mem::copy(got.as_mut_ptr(), b, 1000).expect("a copy");
            mem::combine(Op::Sum, Number::F64, Device(0), a, a, b, 100).expect("a sum");
        }
        assert!(got == what);
        drop(mem::Scratch::on(Device(0), 100).expect("memory"));
        drop(mem::Scratch::pinned(100).expect("memory"));
        a
    };
    round();
    call!("cuDevicePrimaryCtxReset_v2" (0 => c_int));
    let of_primary = round();
    let mut other: *mut c_void = null_mut();
    call!("cuCtxCreate_v2" (&raw mut other => *mut *mut c_void, 0 => c_uint, 0 => c_int));
    let of_other = round();
    assert_eq!(current(), other);
    // SAFETY: both have as many bytes.
    unsafe { mem::copy(of_primary, of_other, 1000).expect("a copy") };
    call!("cuCtxDestroy_v2" (other => *mut c_void));
    assert!(mem::kind_of(of_other).is_err());
    let of_primary = round();
    assert_eq!(mem::kind_of(of_primary), Ok(Kind::Device(Device(0))));
}

#[test]
fn registered_memory_needs_no_copy_between() {
    if !alone("registered_memory_needs_no_copy_between", &[]) {
        return;
    }
    start();
    context(0);
    let mut host = vec![1_u8; 1 << 20];
    mem::register(host.as_mut_ptr(), host.len());
    mem::register(host.as_mut_ptr(), host.len());
    assert_eq!(calls("cuMemHostRegister"), 1);
    assert_eq!(mem::counts().registered_bytes, 1 << 20);
    let a = allocate(8);
    // SAFETY: both have 8 bytes.
    unsafe { mem::copy(host.as_mut_ptr(), a, 8).expect("a copy") };
    assert_eq!(host[..8], [0; 8]);
    mem::unregister(host.as_mut_ptr());
    assert_eq!(calls("cuMemHostUnregister"), 1);
}

#[test]
fn the_child_of_a_fork_has_host_memory_alone() {
    if !alone("the_child_of_a_fork_has_host_memory_alone", &[]) {
        return;
    }
    start();
    context(0);
    let a = allocate(100);
    assert_eq!(mem::kind_of(a), Ok(Kind::Device(Device(0))));
    // SAFETY: the child asks and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fine = mem::kind_of(a) == Ok(Kind::Host) && mem::export(a).is_none() && mem::Scratch::pinned(5).is_err();
        // SAFETY: nothing of the test's runs in the child.
        unsafe { libc::_exit(if fine { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
