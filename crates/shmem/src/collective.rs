//! Collectives (OpenSHMEM 1.6, "Collective Routines"), with the algorithms for symmetric memory of `isthmus_collective`: here are the routines,
//! on teams and, deprecated, on active sets.

pub mod active_set;

use std::ffi::c_int;

use isthmus_collective::symmetric::{Array, Board, Caller, Combine, Group, SymmetricMemory};

use crate::call::Call;
use crate::job::{Job, job};
use crate::numbers::{Element, Operation, Reduces, Sum};
use crate::order;
use crate::team::TeamHandle;

impl SymmetricMemory for Job {
    #[inline]
    fn name(&self, address: usize, length: usize) -> Option<u64> {
        self.ranges.name(address, length)
    }

    #[inline]
    fn named(&self, name: u64, length: usize, process: u32) -> Option<usize> {
        self.ranges.named(name, length, process)
    }

    fn refuse(&self, caller: Caller, argument: &str, address: usize, length: usize) -> ! {
        self.ranges.refuse(caller.into(), argument, address, length, self.me)
    }
}

/// The members of a team.
fn of_team(call: Call, team: TeamHandle) -> Group<'static> {
    let job = job(call);
    let board = match team {
        TeamHandle::WORLD => &job.world,
        team => team.find(call).board(job),
    };
    of_board(job, call, board)
}

fn of_board<'a>(job: &'a Job, call: Call, board: &'a Board) -> Group<'a> {
    Group {
        memory: job,
        caller: call.into(),
        board,
    }
}

/// A member as an argument.
fn member(group: Group<'_>, argument: &str, member: c_int) -> usize {
    if member.cast_unsigned() as usize >= group.board.size() {
        group.caller.refuse(format!(
            "{argument}={member} is not a PE of the team: they are 0 to {}",
            group.board.size() - 1
        ));
    }
    member as usize
}

fn array<T>(call: Call, source: *const T) -> Array<*const u8> {
    call.check_host("source", source);
    Array::new(source.cast(), size_of::<T>())
}

fn combine<T: Reduces, O: Operation>() -> Combine {
    let kernel = isthmus_datatype::op::find_for(O::OP, T::KIND);
    Combine {
        width: size_of::<T>(),
        kernel: kernel.expect("the table has operations for types that have them"),
    }
}

/// `shmem_barrier_all`: with the completion of everything before. Blocks until all PEs have come.
///
/// # Safety
/// None is needed.
pub unsafe fn barrier_all(call: Call) {
    order::complete(job(call), call);
    of_team(call, TeamHandle::WORLD).sync();
}

/// `shmem_sync_all`. Blocks until all PEs have come.
///
/// # Safety
/// None is needed.
pub unsafe fn sync_all(call: Call) {
    of_team(call, TeamHandle::WORLD).sync();
}

/// `shmem_team_sync`. Blocks until all members have come.
///
/// # Safety
/// None is needed.
pub unsafe fn team_sync(call: Call, team: TeamHandle) -> c_int {
    of_team(call, team).sync();
    0
}

/// `shmem_broadcast`: the root's `dest` gets it too. Blocks.
///
/// # Safety
/// The root's `source` must have `nelems` elements.
pub unsafe fn broadcast<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
) -> c_int {
    let group = of_team(call, team);
    let root = member(group, "PE_root", root);
    // SAFETY: the caller's promise.
    unsafe { group.broadcast(dest.cast(), array(call, source), nelems, root, true) };
    0
}

/// `shmem_collect`: each member gives as much as it likes. Blocks.
///
/// # Safety
/// `source` must have `nelems` elements, and `dest` room for those of all.
pub unsafe fn collect<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { of_team(call, team).collect(dest.cast(), array(call, source), nelems, false) };
    0
}

/// `shmem_fcollect`: each member gives as much. Blocks.
///
/// # Safety
/// As for [`collect`].
pub unsafe fn fcollect<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { of_team(call, team).collect(dest.cast(), array(call, source), nelems, true) };
    0
}

/// `shmem_alltoall`. Blocks.
///
/// # Safety
/// `source` must have `nelems` elements for each member, and `dest` room for as many.
pub unsafe fn alltoall<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { of_team(call, team).alltoall(dest.cast(), array(call, source), (1, 1), nelems) };
    0
}

/// `shmem_alltoalls`: elements a stride apart. Blocks.
///
/// # Safety
/// As for [`alltoall`], with strides.
pub unsafe fn alltoalls<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { of_team(call, team).alltoall(dest.cast(), array(call, source), (dst, sst), nelems) };
    0
}

/// `shmem_sum_reduce` and its siblings; `dest` may be `source`. Blocks.
///
/// # Safety
/// Both must have `nreduce` elements.
pub unsafe fn reduce<T: Reduces, O: Operation>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nreduce: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { of_team(call, team).reduce(combine::<T, O>(), dest.cast(), source.cast(), nreduce) };
    0
}

/// `shmem_sum_inscan`, `shmem_sum_exscan`; `dest` may be `source`. Blocks.
///
/// # Safety
/// Both must have `nelems` elements.
pub unsafe fn scan<T: Reduces, const INCLUSIVE: bool>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        of_team(call, team).scan(combine::<T, Sum>(), dest.cast(), source.cast(), nelems, INCLUSIVE);
    }
    0
}
