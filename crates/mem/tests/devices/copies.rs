//! Copies between memory of all kinds, and what is made for them.

use super::*;

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
    if alone("copies::copies_between_all_kinds", &[]) {
        copies();
    }
}

#[test]
fn copies_that_complete_late() {
    if alone("copies::copies_that_complete_late", &[("ISTHMUS_TEST_CUDA_LATE", "3")]) {
        copies();
    }
}

#[test]
fn copies_without_words_written_by_streams() {
    let name = "copies::copies_without_words_written_by_streams";
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
    if !alone("copies::a_short_copy_takes_few_calls_of_the_driver", &[]) {
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
    let name = "copies::a_programs_copy_that_is_under_way_is_waited_for";
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
    let name = "copies::threads_copy_at_the_same_time_without_a_context";
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

#[test]
fn copies_without_pinned_memory() {
    if !alone(
        "copies::copies_without_pinned_memory",
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
fn errors_carry_the_drivers_name() {
    let name = "copies::errors_carry_the_drivers_name";
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
    if !alone("copies::a_context_that_is_gone_takes_what_was_made_in_it", &[]) {
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
