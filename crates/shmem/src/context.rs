//! Contexts: scopes of completion (OpenSHMEM 1.6, "Communication Management Routines"). On memory that all PEs map an operation is over when
//! its routine returns, so what a context orders and completes there are the stores of its thread. What it asks of other nodes is its own
//! ([`FarContext`], docs/decisions/0220).

use std::ffi::{c_int, c_long};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence as barrier};

use crate::call::Call;
use crate::far::{Far, FarContext};
use crate::handle::Table;
use crate::job::{Job, job};
use crate::team::{Team, TeamHandle};

/// `shmem_ctx_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct ContextHandle(usize);

/// `shmem_ctx_session_config_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SessionConfig {
    /// Calls that the program expects to make.
    pub total_ops: usize,
}

/// What a context may be made with.
const SERIALIZED: c_long = 1;
const PRIVATE: c_long = 2;
const NOSTORE: c_long = 4;

/// A context.
#[derive(Debug)]
struct Context {
    team: TeamHandle,
    /// `None`: PEs are those of the world.
    members: Option<Box<[u32]>>,
    /// `None`: there are no other nodes.
    far: Option<Arc<FarContext>>,
}

static CONTEXTS: Table<Context> = Table::new();
/// First index of contexts that programs make.
const FIRST: usize = 2;

impl ContextHandle {
    /// `SHMEM_CTX_INVALID`
    pub const INVALID: Self = Self(0);
    /// `SHMEM_CTX_DEFAULT`
    pub const DEFAULT: Self = Self(1);

    /// The PE of the world that is `pe` in this context. A context or a PE that is none ends the job.
    #[inline(always)]
    pub fn pe(self, job: &Job, call: Call, pe: c_int) -> u32 {
        if self == Self::DEFAULT {
            return job.pe(call, pe);
        }
        self.pe_of_team(job, call, pe)
    }

    #[inline(never)]
    fn pe_of_team(self, job: &Job, call: Call, pe: c_int) -> u32 {
        match &self.find(call).members {
            None => job.pe(call, pe),
            Some(members) => match members.get(pe.cast_unsigned() as usize) {
                Some(&pe) => pe,
                None => job.refuse_pe(call, pe, members.len()),
            },
        }
    }

    fn find(self, call: Call) -> &'static Context {
        match CONTEXTS.find(self.0) {
            Some(context) => context,
            None => self.refuse(call),
        }
    }

    #[cold]
    fn refuse(self, call: Call) -> ! {
        match self {
            Self::INVALID => call.refuse("ctx=SHMEM_CTX_INVALID"),
            Self(value) => call.refuse(format!(
                "ctx={value:#x} is not a context: it never was one, or has been destroyed"
            )),
        }
    }

    /// What it has asked of other nodes.
    pub fn far(self, far: &Far, call: Call) -> &FarContext {
        if self == Self::DEFAULT {
            return far.default_context();
        }
        self.find(call).far.as_deref().unwrap_or(far.default_context())
    }

    /// Its operations are over, and seen by all PEs, before anything that this thread does later. Blocks while there is something under way to
    /// another node.
    #[inline(always)]
    pub fn complete(self, job: &Job, call: Call) {
        barrier(Ordering::SeqCst);
        if let Some(far) = &job.far {
            self.far(far, call).complete(call);
        }
    }

    /// Check that it is a context.
    #[inline(always)]
    pub fn check(self, call: Call) {
        if self != Self::DEFAULT {
            self.find(call);
        }
    }
}

/// No context exists any more.
pub fn close() {
    for handle in CONTEXTS.handles() {
        CONTEXTS.remove(handle);
    }
}

/// No shareable context of a team exists any more.
pub fn close_of(team: TeamHandle) {
    for handle in CONTEXTS.handles() {
        let ours = CONTEXTS.find(handle).is_some_and(|context| context.team == team);
        if ours {
            CONTEXTS.remove(handle);
        }
    }
}

/// `shmem_ctx_create`
///
/// # Safety
/// `ctx` must be writable.
pub unsafe fn ctx_create(call: Call, options: c_long, ctx: *mut ContextHandle) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { team_create_ctx(call, TeamHandle::WORLD, options, ctx) }
}

/// `shmem_team_create_ctx`
///
/// # Safety
/// `ctx` must be writable.
pub unsafe fn team_create_ctx(call: Call, team: TeamHandle, options: c_long, ctx: *mut ContextHandle) -> c_int {
    let job = job(call);
    // SAFETY: the caller's promise.
    unsafe { ctx.write(ContextHandle::INVALID) };
    if team == TeamHandle::INVALID {
        return -1;
    }
    if options & !(SERIALIZED | PRIVATE | NOSTORE) != 0 {
        call.refuse(format!("options={options:#x} has bits that are no option"));
    }
    let of: &Team = team.find(call);
    let context = Context {
        team,
        members: (!of.is_world()).then(|| of.members().into()),
        far: job.far.as_ref().map(Far::make_context),
    };
    match CONTEXTS.insert(Box::new(context), FIRST) {
        Some(handle) => {
            // SAFETY: the caller's promise.
            unsafe { ctx.write(ContextHandle(handle)) };
            0
        }
        None => -1,
    }
}

/// `shmem_ctx_destroy`: with a quiet, also of a context that stores nothing, since buffers of operations under way are the program's again afterwards.
///
/// # Safety
/// No thread may use it meanwhile.
pub unsafe fn ctx_destroy(call: Call, ctx: ContextHandle) {
    if ctx == ContextHandle::INVALID {
        return;
    }
    if ctx == ContextHandle::DEFAULT {
        call.refuse("SHMEM_CTX_DEFAULT cannot be destroyed");
    }
    ctx.check(call);
    ctx.complete(job(call), call);
    CONTEXTS.remove(ctx.0);
}

/// `shmem_ctx_get_team`
///
/// # Safety
/// `team` must be writable.
pub unsafe fn ctx_get_team(call: Call, ctx: ContextHandle, team: *mut TeamHandle) -> c_int {
    let found = match ctx {
        ContextHandle::INVALID => TeamHandle::INVALID,
        ContextHandle::DEFAULT => TeamHandle::WORLD,
        ctx => ctx.find(call).team,
    };
    // SAFETY: the caller's promise.
    unsafe { team.write(found) };
    if found == TeamHandle::INVALID { -1 } else { 0 }
}

/// `shmem_ctx_session_start`: there is nothing to do, since operations on other nodes go in batches anyway.
///
/// # Safety
/// `config` may be anything.
pub unsafe fn ctx_session_start(
    call: Call,
    ctx: ContextHandle,
    _options: c_long,
    _config: *const SessionConfig,
    _config_mask: c_long,
) {
    if ctx != ContextHandle::INVALID {
        ctx.check(call);
    }
}

/// `shmem_ctx_session_stop`
///
/// # Safety
/// None is needed.
pub unsafe fn ctx_session_stop(call: Call, ctx: ContextHandle) {
    if ctx != ContextHandle::INVALID {
        ctx.check(call);
    }
}
