//! What an address is, and where nothing is asked.

use isthmus_os::switches::Switch;

use super::*;

#[test]
fn without_the_library_all_is_host_memory() {
    if !alone("kinds::without_the_library_all_is_host_memory", &[]) {
        return;
    }
    let (from, mut to) = (noise(100, 1), vec![0_u8; 100]);
    for watched in [false, true] {
        if watched {
            Switch::Devices.turn_on();
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
        "kinds::each_address_has_its_kind_from_any_thread",
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

    let queries = mem::counts().queries;
    let local = 5;
    assert_eq!(mem::kind_of((&raw const local).cast()), Ok(Kind::Host));
    mem::host_range(large.as_ptr(), large.len());
    assert_eq!(mem::kind_of(&raw const large[5]), Ok(Kind::Host));
    assert!(mem::counts().queries <= queries + 1); // A test's thread is not the main one.

    let device = all[1].1;
    free(device);
    let error = mem::kind_of(device).expect_err("freed");
    assert!(error.to_string().contains("freed"), "{error}");
    assert!(mem::kind_of(std::ptr::null()).is_err());
}

#[test]
fn host_memory_that_became_a_devices_is_seen() {
    if !alone("kinds::host_memory_that_became_a_devices_is_seen", &[]) {
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
        let before = mem::counts().queries;
        for _ in 0..10 {
            assert_eq!(mem::kind_of(host.cast()), Ok(Kind::Host));
        }
        assert_eq!(mem::counts().queries - before, times);
    };
    asked(1);
    asked(0);
    // Out of the processor's reach, as memory of a device would be: the driver is asked again.
    map(host, libc::PROT_NONE);
    let before = mem::counts().queries;
    assert!(mem::kind_of(host.cast()).is_err());
    assert_eq!(mem::counts().queries, before + 1);
    map(host, libc::PROT_READ);
    asked(0);
}

#[test]
fn managed_memory_that_the_processor_must_not_touch_is_a_devices() {
    let name = "kinds::managed_memory_that_the_processor_must_not_touch_is_a_devices";
    if !alone(name, &[("ISTHMUS_TEST_CUDA_MANAGED", "0")]) {
        return;
    }
    start();
    context(0);
    assert_eq!(mem::kind_of(allocate_managed(10)), Ok(Kind::Device(Device(0))));
}

#[test]
fn the_child_of_a_fork_has_host_memory_alone() {
    if !alone("kinds::the_child_of_a_fork_has_host_memory_alone", &[]) {
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
