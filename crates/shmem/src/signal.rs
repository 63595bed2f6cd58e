//! Puts with a signal, and signals alone (OpenSHMEM 1.6, "Signaling Operations").

use std::ffi::c_int;

use crate::atomic::{atomic_add, atomic_set};
use crate::call::Call;
use crate::compare::Comparison;
use crate::context::ContextHandle;
use crate::job::job;
use crate::numbers::Element;
use crate::rma::put;
use crate::wait::{self, Condition};

const SET: c_int = 0;
const ADD: c_int = 1;

/// `shmem_put_signal`: a PE that sees the signal sees the data.
///
/// # Safety
/// `source` must have `nelems` elements.
#[inline]
pub unsafe fn put_signal<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    if sig_op != SET && sig_op != ADD {
        call.refuse(format!(
            "sig_op={sig_op} is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD"
        ));
    }
    // SAFETY: the caller's promises. The signal is a release after the data.
    unsafe {
        put(call, ctx, dest, source, nelems, pe);
        match sig_op {
            SET => signal_set(call, ctx, sig_addr, signal, pe),
            _ => signal_add(call, ctx, sig_addr, signal, pe),
        }
    }
}

/// `shmem_signal_set`
///
/// # Safety
/// None is needed.
pub unsafe fn signal_set(call: Call, ctx: ContextHandle, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: nothing is needed.
    unsafe { atomic_set(call, ctx, sig_addr, signal, pe) };
    send();
}

/// `shmem_signal_add`
///
/// # Safety
/// None is needed.
pub unsafe fn signal_add(call: Call, ctx: ContextHandle, sig_addr: *mut u64, signal: u64, pe: c_int) {
    // SAFETY: nothing is needed.
    unsafe { atomic_add(call, ctx, sig_addr, signal, pe) };
    send();
}

/// A signal to another node goes now: somebody waits for it, and this PE may compute next.
#[inline]
fn send() {
    isthmus_engine::rma::send_kept();
}

/// `shmem_signal_fetch`: of this PE's own.
///
/// # Safety
/// `sig_addr` must be a signal of this PE.
pub unsafe fn signal_fetch(call: Call, sig_addr: *const u64) -> u64 {
    wait::check_own(job(call), call, "sig_addr", sig_addr, 1);
    wait::look(sig_addr)
}

/// `shmem_signal_wait_until`: the value that it was waited for. Blocks.
///
/// # Safety
/// `sig_addr` must be a signal of this PE.
pub unsafe fn signal_wait_until(call: Call, sig_addr: *mut u64, cmp: c_int, cmp_value: u64) -> u64 {
    let job = job(call);
    wait::check_own(job, call, "sig_addr", sig_addr, 1);
    let condition = Condition {
        comparison: Comparison::of(call, cmp),
        value: cmp_value,
    };
    wait::until(job, call, || {
        let value = wait::look(sig_addr);
        condition.holds(value).then_some(value)
    })
}
