//! Fences, barriers, mutexes, notifications.

use super::{answer, done};
use crate::error::Result;
use crate::group;
use crate::{mutex, notify, transfer};

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Fence(proc: i32) {
    answer("ARMCI_Fence", transfer::fence(Some(proc)));
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_AllFence() {
    answer("ARMCI_AllFence", transfer::fence(None));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_GroupFence(group: *const i32) {
    // SAFETY: the caller's promise.
    let number = unsafe { super::memory::number_of(group) };
    answer(
        "ARMCI_GroupFence",
        number.and_then(group::find).and_then(|_| transfer::fence(None)),
    );
}

fn barrier() -> Result<()> {
    transfer::fence(None)?;
    crate::life::job()?.world.link()?.barrier()
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Barrier() {
    answer("ARMCI_Barrier", barrier());
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Create_mutexes(count: i32) -> i32 {
    super::done_or_refused("ARMCI_Create_mutexes", mutex::create(count))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Destroy_mutexes() -> i32 {
    done("ARMCI_Destroy_mutexes", mutex::destroy())
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Lock(mutex: i32, proc: i32) {
    answer("ARMCI_Lock", mutex::lock(mutex, proc));
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Unlock(mutex: i32, proc: i32) {
    answer("ARMCI_Unlock", mutex::unlock(mutex, proc));
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_notify(proc: i32) -> i32 {
    answer("armci_notify", notify::notify(proc))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_notify_wait(proc: i32, value: *mut i32) -> i32 {
    let count = answer("armci_notify_wait", notify::wait(proc));
    if !value.is_null() {
        // SAFETY: the caller's promise.
        unsafe { value.write(count) };
    }
    0
}
