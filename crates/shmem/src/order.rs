//! Order and completion (OpenSHMEM 1.6, "Memory Ordering Routines"). Operations on mapped memory are stores and copies that are done when their
//! routine returns: what is left is to keep later ones behind them, and to let others see them. Those on memory of other nodes are waited for, each
//! context's by itself; barriers, and the routines that others follow, wait for those of all contexts. On `SHMEM_CTX_INVALID` they do nothing.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence as barrier};

use crate::call::Call;
use crate::context::ContextHandle;
use crate::job::{Job, job};

/// All stores of this thread, and what was started on other nodes in any context, are seen by everybody before anything that it does later. Blocks while there
/// is something under way to another node.
#[inline(always)]
pub fn complete(job: &Job, call: Call) {
    barrier(Ordering::SeqCst);
    if let Some(far) = &job.far {
        far.complete(call);
    }
}

/// `shmem_fence`: puts to a PE arrive in the order of the fences between them. Blocks while non-blocking long puts are under way to another node.
///
/// # Safety
/// None is needed.
#[inline]
pub unsafe fn fence(call: Call, ctx: ContextHandle) {
    if ctx == ContextHandle::INVALID {
        return;
    }
    ctx.check(call);
    let job = job(call);
    barrier(Ordering::AcqRel);
    if let Some(far) = &job.far {
        ctx.far(far, call).order(call);
    }
}

/// `shmem_quiet`: everything that was begun in the context is over, and seen by all PEs. Blocks while some of it is under way to another node.
///
/// # Safety
/// None is needed.
#[inline]
pub unsafe fn quiet(call: Call, ctx: ContextHandle) {
    if ctx == ContextHandle::INVALID {
        return;
    }
    ctx.check(call);
    ctx.complete(job(call), call);
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
    ctx.complete(job, call);
}
