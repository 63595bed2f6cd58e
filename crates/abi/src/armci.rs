//! What ARMCI has in common with MPI, in terms of the standard ABI: starting by a communicator, communicators of groups, and a
//! message layer that starts and ends MPI.
//!
//! The entries call those of MPI as a program would, so their errors go to MPI's error handlers.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use isthmus_armci::error::{argument, fatal};
use isthmus_armci::group::Group;
use isthmus_armci::{Error, group, life};
use isthmus_engine::Peer;

/// A handle of the standard ABI.
pub(crate) type Handle = *mut c_void;

/// `MPI_COMM_NULL` and `MPI_COMM_WORLD` of the standard ABI.
const COMM_NULL: usize = 0x100;
const COMM_WORLD: usize = 0x101;
/// Of the messages that make a communicator.
const TAG: c_int = 1;

unsafe extern "C-unwind" {
    safe fn isthmus_std_MPI_Initialized(flag: *mut c_int) -> c_int;
    fn isthmus_std_MPI_Init(argc: *mut c_int, argv: *mut *mut *mut i8) -> c_int;
    safe fn isthmus_std_MPI_Finalize() -> c_int;
    fn isthmus_std_MPI_Comm_group(comm: Handle, group: *mut Handle) -> c_int;
    fn isthmus_std_MPI_Comm_create_group(comm: Handle, group: Handle, tag: c_int, new: *mut Handle) -> c_int;
    fn isthmus_std_MPI_Group_size(group: Handle, size: *mut c_int) -> c_int;
    fn isthmus_std_MPI_Group_incl(group: Handle, n: c_int, ranks: *const c_int, new: *mut Handle) -> c_int;
    fn isthmus_std_MPI_Group_free(group: *mut Handle) -> c_int;
    fn isthmus_std_MPI_Group_translate_ranks(
        group: Handle,
        n: c_int,
        ranks: *const c_int,
        other: Handle,
        others: *mut c_int,
    ) -> c_int;
}

fn handle(value: usize) -> Handle {
    std::ptr::without_provenance_mut(value)
}

fn has_mpi() -> bool {
    let mut flag = 0;
    isthmus_std_MPI_Initialized(&raw mut flag);
    flag != 0
}

fn needs_mpi(call: &str) {
    if !has_mpi() {
        fatal(call, &argument("needs MPI_Init to be called first"));
    }
}

/// The processes of a communicator, by their ranks in it.
pub(crate) fn peers(call: &str, comm: Handle) -> Vec<Peer> {
    needs_mpi(call);
    let mut groups = [handle(0); 2];
    let mut size = 0;
    // SAFETY: the places are ours, and as long as told; MPI checks the handles.
    unsafe {
        isthmus_std_MPI_Comm_group(comm, &raw mut groups[0]);
        isthmus_std_MPI_Comm_group(handle(COMM_WORLD), &raw mut groups[1]);
        isthmus_std_MPI_Group_size(groups[0], &raw mut size);
        let ranks: Vec<c_int> = (0..size).collect();
        let mut world = vec![0; ranks.len()];
        isthmus_std_MPI_Group_translate_ranks(groups[0], size, ranks.as_ptr(), groups[1], world.as_mut_ptr());
        groups.iter_mut().for_each(|group| {
            isthmus_std_MPI_Group_free(group);
        });
        world
            .into_iter()
            .filter_map(|rank| u32::try_from(rank).ok())
            .map(Peer)
            .collect()
    }
}

/// `ARMCI_Init_mpi_comm`: the processes of a communicator are all that there are, by their ranks in it. 1: it is done, as ComEx answers, by
/// which upstream Global Arrays goes.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Init_mpi_comm(comm: Handle) -> c_int {
    init_among("ARMCI_Init_mpi_comm", comm);
    1
}

/// `ARMCI_Init_thread_comm`, ARMCI-MPI's: the same; 0 as everything of its. Threads may call what MPI lets them call.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Init_thread_comm(_level: c_int, comm: Handle) -> c_int {
    init_among("ARMCI_Init_thread_comm", comm);
    0
}

fn init_among(call: &'static str, comm: Handle) {
    if let Err(error) = life::init_by_program(Some(peers(call, comm))) {
        fatal(call, &error);
    }
}

/// MPI, unless the program has started it. It is the program that ends it.
///
/// # Safety
/// As for `MPI_Init`.
pub(crate) unsafe fn start_mpi(argc: *mut c_int, argv: *mut c_void) {
    if !has_mpi() {
        // SAFETY: the caller's promise.
        unsafe { isthmus_std_MPI_Init(argc, argv.cast()) };
    }
}

/// `ARMCI_Init_args`: starts MPI, too, unless it has been started, as upstream's does.
///
/// # Safety
/// As for `MPI_Init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Init_args(argc: *mut c_int, argv: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { start_mpi(argc, argv) };
    match life::init_by_program(None) {
        Ok(()) => 0,
        Err(error) => fatal("ARMCI_Init_args", &error),
    }
}

/// Communicators that were made for groups, by the group's message space.
static COMMUNICATORS: Mutex<Option<HashMap<u32, usize>>> = Mutex::new(None);

/// `armci_group_comm`: a communicator of the group's members. Collective over them when it is first asked for.
///
/// # Safety
/// `number` must lead to a group's number.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_group_comm(number: *const c_int) -> Handle {
    const CALL: &str = "armci_group_comm";
    // SAFETY: the caller's promise.
    let number = unsafe { number.as_ref() }.ok_or_else(|| argument("group is null"));
    match number.and_then(|&number| group::find(number)) {
        Ok(group) => communicator(&group, Of::Program).unwrap_or_else(|error| fatal(CALL, &error)),
        Err(error) => fatal(CALL, &error),
    }
}

/// The communicators of all processes that may be answered.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Of {
    /// The program's.
    Program,
    /// The library's alone.
    Library,
}

/// A communicator of the group's members. Collective over them when it is first asked for; null for others.
///
/// # Errors
/// It cannot be made.
pub(crate) fn communicator(group: &Group, whose: Of) -> Result<Handle, Error> {
    if !has_mpi() {
        return Err(argument("needs MPI_Init to be called first"));
    }
    if group.me().is_none() {
        return Ok(handle(COMM_NULL));
    }
    let is_world = group.size() == isthmus_engine::world().size as usize
        && (0..group.size()).all(|member| group.peer(member).0 as usize == member);
    if is_world && whose == Of::Program {
        return Ok(handle(COMM_WORLD));
    }
    let key = group.context().0;
    let known = || COMMUNICATORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(comm) = known().get_or_insert_default().get(&key) {
        return Ok(handle(*comm));
    }
    let ranks: Vec<c_int> = (0..group.size()).map(|member| group.peer(member).0 as c_int).collect();
    let (mut world, mut members, mut comm) = (handle(0), handle(0), handle(COMM_NULL));
    // SAFETY: the places are ours, and the ranks as many as told.
    let failed = unsafe {
        isthmus_std_MPI_Comm_group(handle(COMM_WORLD), &raw mut world);
        isthmus_std_MPI_Group_incl(world, ranks.len() as c_int, ranks.as_ptr(), &raw mut members);
        let code = isthmus_std_MPI_Comm_create_group(handle(COMM_WORLD), members, TAG, &raw mut comm);
        isthmus_std_MPI_Group_free(&raw mut world);
        isthmus_std_MPI_Group_free(&raw mut members);
        code
    };
    if failed != 0 {
        return Err(argument("a communicator of the group cannot be made"));
    }
    known().get_or_insert_default().insert(key, comm.addr());
    Ok(comm)
}

/// `armci_msg_init`: starts MPI unless it has been started.
///
/// # Safety
/// As for `MPI_Init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_init(argc: *mut c_int, argv: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { start_mpi(argc, argv) };
}

/// `armci_msg_finalize`: ends MPI, who ever started it.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_msg_finalize() {
    isthmus_std_MPI_Finalize();
}
