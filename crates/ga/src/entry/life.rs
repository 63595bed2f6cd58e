//! Starting, ending, waiting, mutexes, errors.

use std::ffi::{c_char, c_int};

use isthmus_armci::domain;

use super::{entries, text};
use crate::error::{Error, Result};
use crate::{error, life};

entries! {
    fn isthmus_ga_GA_Initialize() { life::initialize(None)? }
    fn isthmus_ga_GA_Initialize_ltd(limit: usize) {
        life::initialize(None)?;
        life::set_memory_limit(limit as u64);
    }
    fn isthmus_ga_GA_Initialized() -> c_int { life::is_initialized().into() }
    fn isthmus_ga_GA_Terminate() { life::terminate()? }
    fn isthmus_ga_GA_Sync() { life::sync()? }
    fn isthmus_ga_GA_Mask_sync(first: c_int, last: c_int) { life::mask_sync(first != 0, last != 0) }
    fn isthmus_ga_GA_Init_fence() { isthmus_armci::life::job().map(drop)? }
    fn isthmus_ga_GA_Fence() { isthmus_armci::transfer::fence(None)? }
    fn isthmus_ga_GA_Create_mutexes(number: c_int) -> c_int {
        match life::create_mutexes(number) {
            Err(Error::Armci(isthmus_armci::Error::Memory { .. })) => 0,
            created => created.map(|()| 1)?,
        }
    }
    fn isthmus_ga_GA_Destroy_mutexes() -> c_int {
        life::destroy_mutexes()?;
        1
    }
    fn isthmus_ga_GA_Lock(mutex: c_int) { life::lock(mutex)? }
    fn isthmus_ga_GA_Unlock(mutex: c_int) { life::unlock(mutex)? }
    // Within the default group; -1: the caller is not one of its members.
    fn isthmus_ga_GA_Nodeid() -> c_int { life::place_in(life::default_group())?.map_or(-1, |me| me as c_int) }
    fn isthmus_ga_GA_Nnodes() -> c_int { life::size_of(life::default_group())? as c_int }
    fn isthmus_ga_GA_Wtime() -> f64 { isthmus_os::clock::now().as_secs_f64() }
    fn isthmus_ga_GA_Set_debug(flag: c_int) { DEBUG.store(flag, std::sync::atomic::Ordering::Relaxed) }
    fn isthmus_ga_GA_Get_debug() -> c_int { DEBUG.load(std::sync::atomic::Ordering::Relaxed) }
    fn isthmus_ga_GA_Uses_fapi() -> c_int { 0 }
    fn isthmus_ga_GA_Uses_ma() -> c_int { 0 }
    fn isthmus_ga_GA_Set_error_handler(handler: Option<error::Handler>) { error::set_handler(handler) }
    fn isthmus_ga_GA_Cluster_nnodes() -> c_int { domain::all()?.len() as c_int }
    fn isthmus_ga_GA_Cluster_nodeid() -> c_int { domain::of(isthmus_armci::life::job()?.me)? as c_int }
    // A negative number is the caller's own node.
    fn isthmus_ga_GA_Cluster_nprocs(node: c_int) -> c_int {
        match node < 0 {
            true => domain::members(domain::of(isthmus_armci::life::job()?.me)? as c_int)?.len() as c_int,
            false => members(node)?.len() as c_int,
        }
    }
    fn isthmus_ga_GA_Cluster_procid(node: c_int, process: c_int) -> c_int {
        let members = members(node)?;
        let found = usize::try_from(process).ok().and_then(|at| members.get(at));
        *found.ok_or_else(|| Error::argument(format!("proc={process} is outside 0..{}", members.len())))? as c_int
    }
    fn isthmus_ga_GA_Cluster_proc_nodeid(process: c_int) -> c_int {
        domain::of(isthmus_armci::life::job()?.process(process)?)? as c_int
    }
}

/// The processes of a node.
fn members(node: c_int) -> Result<Vec<usize>> {
    let nodes = domain::all()?.len();
    domain::members(node).map_err(|_| Error::argument(format!("node={node} is outside 0..{nodes}")))
}

static DEBUG: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_ga_GA_Error(message: *const c_char, code: c_int) {
    // SAFETY: the program's promise.
    let message = unsafe { text(message) };
    error::fatal("GA_Error", &format!("{message} (code {code})"), code);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_ga_GA_List_nodeid(list: *mut c_int, count: c_int) {
    for n in 0..count.max(0) {
        // SAFETY: the program's promise.
        unsafe { list.add(n as usize).write(n) };
    }
}
