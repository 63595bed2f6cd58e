//! Starting and ending the library, and what a program may ask about the job (OpenSHMEM 1.6, "Library Setup, Exit, and Query").

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_collective::symmetric::Terms;
use isthmus_engine::{State, abort, state};
use isthmus_os::process;

use crate::call::Call;
use crate::context;
use crate::job::{self, Job, job};
use crate::order;
use crate::team::{self, TeamHandle};

/// Levels, from single to multiple.
const MULTIPLE: c_int = 3;
const SERIALIZED: c_int = 2;

/// The version of the specification.
const VERSION: (c_int, c_int) = (1, 6);

struct Life {
    /// Initialisations without a finalisation.
    depth: u32,
    level: c_int,
    /// Made at the first initialisation.
    job: Option<&'static Job>,
}

static LIFE: Mutex<Life> = Mutex::new(Life {
    depth: 0,
    level: 0,
    job: None,
});

fn life() -> MutexGuard<'static, Life> {
    LIFE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `shmem_init`. Blocks until all PEs have come.
///
/// # Safety
/// None is needed.
pub unsafe fn init(call: Call) {
    start(call, 0);
}

/// `start_pes`: the number of PEs is the launcher's business.
///
/// # Safety
/// None is needed.
pub unsafe fn start_pes(call: Call, _npes: c_int) {
    if !job::is_open() {
        start(call, 0);
    }
}

/// `shmem_init_thread`. Blocks until all PEs have come.
///
/// # Safety
/// `provided` must be writable, or null.
pub unsafe fn init_thread(call: Call, requested: c_int, provided: *mut c_int) -> c_int {
    if !(0..=MULTIPLE).contains(&requested) {
        call.refuse(format!("requested={requested} is not a thread level"));
    }
    let level = start(call, requested);
    // SAFETY: the caller's promise.
    if let Some(provided) = unsafe { provided.as_mut() } {
        *provided = level;
    }
    0
}

fn start(call: Call, requested: c_int) -> c_int {
    if state() == State::Forked {
        call.refuse("this process was forked from one that uses OpenSHMEM; exec first");
    }
    let mut life = life();
    if life.depth == 0 {
        life.level = grant(requested);
        if let Err(error) = isthmus_engine::join() {
            call.refuse(error);
        }
        isthmus_engine::watch_devices();
        let job = match life.job {
            Some(job) => {
                job.clear_heap();
                round(call, job);
                job
            }
            None => {
                process::on_exit(at_exit);
                Job::found(call)
            }
        };
        life.job = Some(job);
        if let Some(far) = &job.far {
            far.make_progress(true);
        }
        team::open(job);
        job::publish(Some(job));
    }
    life.depth += 1;
    life.level
}

/// What the first user of the job gets holds for the process: a lock that others do not take protects nobody.
fn grant(requested: c_int) -> c_int {
    if requested == MULTIPLE && !isthmus_engine::is_in_use() {
        isthmus_engine::allow_threads();
    }
    if requested == MULTIPLE && isthmus_engine::allows_threads() {
        isthmus_engine::expect_threads();
    }
    match isthmus_engine::allows_threads() {
        true => requested,
        false => requested.min(SERIALIZED),
    }
}

/// May several threads of this PE call routines?
pub fn has_threads() -> bool {
    life().level >= SERIALIZED
}

fn round(call: Call, job: &Job) {
    let terms = Terms::new(call.into(), ("", 0));
    job.world.round(terms, &[], &[]);
}

/// `shmem_finalize`: a barrier; the last one ends the library. Blocks until all PEs have come.
///
/// # Safety
/// None is needed.
pub unsafe fn finalize(call: Call) {
    if state() == State::Forked {
        return;
    }
    let job = job(call);
    order::complete(job, call);
    round(call, job);
    let mut life = life();
    life.depth -= 1;
    if life.depth == 0 {
        context::close();
        team::close();
        job::publish(None);
        if let Some(far) = &job.far {
            far.make_progress(false);
        }
        isthmus_engine::part();
    }
}

/// A program that ends well has finalised, whether or not it says so.
extern "C" fn at_exit(code: i32) {
    if code == 0 && job::is_open() && state() == State::Inside {
        life().depth = 1;
        // SAFETY: nothing is needed.
        unsafe { finalize(Call("shmem_finalize (at exit)")) };
    }
}

/// `shmem_global_exit`: ends the job; `status` becomes its exit code. Does not return.
///
/// # Safety
/// None is needed.
pub unsafe fn global_exit(call: Call, status: c_int) {
    let job = job(call);
    let me = job.me;
    abort(
        status,
        &format!("isthmus: PE {me}: shmem_global_exit: status={status}, the job ends"),
    )
}

/// `shmem_query_thread`
///
/// # Safety
/// `provided` must be writable.
pub unsafe fn query_thread(call: Call, provided: *mut c_int) {
    let _ = job(call);
    // SAFETY: the caller's promise.
    unsafe { provided.write(life().level) };
}

/// `shmem_query_initialized`
///
/// # Safety
/// `initialized` must be writable.
pub unsafe fn query_initialized(_call: Call, initialized: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe { initialized.write(c_int::from(job::is_open())) };
}

/// `shmem_my_pe`
///
/// # Safety
/// None is needed.
pub unsafe fn my_pe(call: Call) -> c_int {
    job(call).me.cast_signed()
}

/// `shmem_n_pes`
///
/// # Safety
/// None is needed.
pub unsafe fn n_pes(call: Call) -> c_int {
    job(call).size.cast_signed()
}

/// `shmem_pe_accessible`: all PEs of a job are.
///
/// # Safety
/// None is needed.
pub unsafe fn pe_accessible(call: Call, pe: c_int) -> c_int {
    c_int::from(pe >= 0 && pe.cast_unsigned() < job(call).size)
}

/// `shmem_addr_accessible`: may routines reach what is at this address on that PE?
///
/// # Safety
/// None is needed.
pub unsafe fn addr_accessible(call: Call, addr: *const c_void, pe: c_int) -> c_int {
    let job = job(call);
    if pe.cast_unsigned() >= job.size {
        return 0;
    }
    let (address, pe) = (addr.addr(), pe.cast_unsigned());
    let is_far = || {
        job.far
            .as_ref()
            .is_some_and(|far| far.find(&job.ranges, address, 1, pe).is_some())
    };
    c_int::from(job.near(address, 1, pe).is_some() || is_far())
}

/// `shmem_ptr`: where the object of that PE is in this process; null if it is not symmetric, or on another node.
///
/// # Safety
/// None is needed.
pub unsafe fn ptr(call: Call, dest: *const c_void, pe: c_int) -> *mut c_void {
    let job = job(call);
    let pe = job.pe(call, pe);
    let found = job.ranges.find(dest.addr(), 1, pe);
    found.map_or(std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut)
}

/// `shmem_team_ptr`: as [`ptr`], of a PE of a team.
///
/// # Safety
/// None is needed.
pub unsafe fn team_ptr(call: Call, team: TeamHandle, dest: *const c_void, pe: c_int) -> *mut c_void {
    if team == TeamHandle::INVALID {
        return std::ptr::null_mut();
    }
    let job = job(call);
    let pe = team.find(call).pe(job, call, pe);
    let found = job.ranges.find(dest.addr(), 1, pe);
    found.map_or(std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut)
}

/// `shmem_info_get_version`
///
/// # Safety
/// Both must be writable.
pub unsafe fn info_get_version(_call: Call, major: *mut c_int, minor: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        major.write(VERSION.0);
        minor.write(VERSION.1);
    }
}

/// `shmem_info_get_name`: `SHMEM_VENDOR_STRING`.
///
/// # Safety
/// `name` must have room for `SHMEM_MAX_NAME_LEN` characters.
pub unsafe fn info_get_name(_call: Call, name: *mut c_char) {
    let text = concat!("Isthmus ", env!("CARGO_PKG_VERSION"), "\0");
    // SAFETY: the caller's promise; the text is shorter.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), text.len()) };
}
