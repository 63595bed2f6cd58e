//! Order and completion (OpenSHMEM 1.6, "Memory Ordering Routines"). Operations are stores and copies that are done when their routine returns: what is
//! left is to keep later ones behind them, and to let others see them. On `SHMEM_CTX_INVALID` they do nothing.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence as barrier};

use crate::call::Call;
use crate::context::ContextHandle;
use crate::job::job;

/// All stores of this thread are seen by everybody before anything that it does later.
#[inline(always)]
pub fn complete() {
    barrier(Ordering::SeqCst);
}

/// `shmem_fence`: puts to a PE arrive in the order of the fences between them. Does not block.
///
/// # Safety
/// None is needed.
#[inline]
pub unsafe fn fence(call: Call, ctx: ContextHandle) {
    if ctx == ContextHandle::INVALID {
        return;
    }
    ctx.check(call);
    let _ = job(call);
    barrier(Ordering::AcqRel);
}

/// `shmem_quiet`: everything that was begun is over, and seen by all PEs. Does not block.
///
/// # Safety
/// None is needed.
#[inline]
pub unsafe fn quiet(call: Call, ctx: ContextHandle) {
    if ctx == ContextHandle::INVALID {
        return;
    }
    ctx.check(call);
    let _ = job(call);
    complete();
}

/// `shmem_pe_quiet`: as [`quiet`], for what concerns some PEs.
///
/// # Safety
/// `target_pes` must have `npes` elements.
pub unsafe fn pe_quiet(call: Call, ctx: ContextHandle, target_pes: *const c_int, npes: usize) {
    if ctx == ContextHandle::INVALID {
        return;
    }
    let job = job(call);
    for index in 0..npes {
        // SAFETY: the caller's promise.
        ctx.pe(job, call, unsafe { target_pes.add(index).read() });
    }
    complete();
}
