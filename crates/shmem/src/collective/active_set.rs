//! Collectives on active sets (deprecated): each set of PEs that ever meets has memory of its own, found by its triplet; what the
//! program passes as `pSync` is checked and left as it is.

use std::collections::HashMap;
use std::ffi::{c_int, c_long};
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_collective::symmetric::{Board, Group};
use isthmus_engine::{ContextId, Mode, Peer, Posting, enter};

use super::{array, combine, member, of_board};
use crate::call::Call;
use crate::job::{Job, job};
use crate::numbers::{Element, Operation, Reduces};
use crate::{order, team};

/// The message space in which sets on several nodes agree on one of their own. It is kept for the worlds of models.
const SETS_CONTEXT: ContextId = ContextId(0xffff_ffa4);
/// In keys of memory: an active set's.
const OF_SET: u64 = 0x53 << 56;

/// First PE, logarithm of the stride, and size of an active set.
type Triplet = (c_int, c_int, c_int);

/// Sets that this PE has met in, by triplet. They stay.
static SETS: Mutex<Option<HashMap<Triplet, &'static Board>>> = Mutex::new(None);

fn group(call: Call, start: c_int, log_stride: c_int, size: c_int, p_sync: *const c_long) -> Group<'static> {
    let job = job(call);
    let last = i64::from(start)
        + (i64::from(size) - 1).saturating_mul(1_i64.checked_shl(log_stride.cast_unsigned()).unwrap_or(i64::MAX));
    if start < 0 || !(0..31).contains(&log_stride) || size < 1 || last >= i64::from(job.size) {
        call.refuse(format!(
            "PE_start={start}, logPE_stride={log_stride}, PE_size={size}: there are {} PEs",
            job.size
        ));
    }
    job.remote(call, "pSync", p_sync.addr(), size_of::<c_long>(), job.me);
    let triplet = (start, log_stride, size);
    let known = sets().get_or_insert_default().get(&triplet).copied();
    let board = known.unwrap_or_else(|| {
        // Without the lock: another thread may wait for the members of another set meanwhile.
        let board = found(job, call, triplet);
        sets().get_or_insert_default().insert(triplet, board);
        board
    });
    of_board(job, call, board)
}

fn sets() -> MutexGuard<'static, Option<HashMap<Triplet, &'static Board>>> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the members of a set meet that this PE has not met in before. Blocks if they are on several nodes.
fn found(job: &Job, call: Call, (start, log_stride, size): Triplet) -> &'static Board {
    let pe = |index: c_int| (start + (index << log_stride)).cast_unsigned();
    let members: Box<[u32]> = (0..size).map(pe).collect();
    let Some(me) = members.iter().position(|&member| member == job.me) else {
        call.refuse(format!(
            "PE_start={start}, logPE_stride={log_stride}, PE_size={size}: this PE is not in that set"
        ));
    };
    let board = if job.spans_nodes(&members) {
        let context = agree(job, call, &members, me, log_stride << 20 | size);
        let board = team::between(job, &members, me, context);
        board.unwrap_or_else(|| call.refuse(format!("{context:#x} from PE {start} is no message space")))
    } else {
        let key = OF_SET | (start as u64) << 32 | (log_stride as u64) << 24 | size as u64;
        let board = Board::named(key, job.bells, members, me, 0);
        board.unwrap_or_else(|error| call.refuse(error))
    };
    Box::leak(Box::new(board))
}

/// The message space of a set on several nodes, which meets for the first time: its first PE takes one and tells the others, in a message that
/// says `which` of the sets it begins this is. Blocks.
fn agree(job: &Job, call: Call, members: &[u32], me: usize, which: c_int) -> u64 {
    let mut inside = enter();
    let mut context = [0_u8; 8];
    let settled = match me {
        0 => {
            drop(inside);
            let Some(number) = team::context() else {
                call.refuse("no message space is left for another active set");
            };
            context = number.to_ne_bytes();
            let posting = Posting {
                context: SETS_CONTEXT,
                source: job.me.cast_signed(),
                tag: which,
            };
            inside = enter();
            members[1..].iter().try_for_each(|&pe| {
                // SAFETY: the bytes stay until the send is over, which is waited for.
                let sent = unsafe { inside.send(Mode::Standard, Peer(pe), posting, context.as_ptr(), context.len()) }?;
                sent.map_or(Ok(()), |op| {
                    inside.wait_for_operations(|inside| inside.take(op)).map(drop)
                })
            })
        }
        _ => {
            let (from, room) = (Some(Peer(members[0])), context.as_mut_ptr());
            // SAFETY: the bytes stay until the receive is over, which is waited for.
            let received = unsafe { inside.receive(from, SETS_CONTEXT, Some(which), room, 8) };
            received.and_then(|op| inside.wait_for_operations(|inside| inside.take(op)).map(drop))
        }
    };
    settled.unwrap_or_else(|error| call.refuse(error));
    u64::from_ne_bytes(context)
}

/// `shmem_barrier`. Blocks.
///
/// # Safety
/// None is needed.
pub unsafe fn barrier_set(call: Call, start: c_int, log_stride: c_int, size: c_int, p_sync: *mut c_long) {
    order::complete(job(call), call);
    group(call, start, log_stride, size, p_sync).sync();
}

/// `shmem_sync`. Blocks.
///
/// # Safety
/// None is needed.
pub unsafe fn sync_set(call: Call, start: c_int, log_stride: c_int, size: c_int, p_sync: *mut c_long) {
    group(call, start, log_stride, size, p_sync).sync();
}

/// `shmem_broadcast32`, `shmem_broadcast64`: the root's `dest` stays as it is. Blocks.
///
/// # Safety
/// As for [`super::broadcast`].
pub unsafe fn broadcast_set<T: Element>(
    call: Call,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    p_sync: *mut c_long,
) {
    let group = group(call, start, log_stride, size, p_sync);
    let root = member(group, "PE_root", root);
    // SAFETY: the caller's promise.
    unsafe { group.broadcast(dest.cast(), array(call, source), nelems, root, false) };
}

macro_rules! collects {
    ($($(#[$doc:meta])* $name:ident, $is_alike:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for [`super::collect`].
        #[allow(clippy::too_many_arguments)] // As the specification has them.
        pub unsafe fn $name<T: Element>(call: Call, dest: *mut T, source: *const T, nelems: usize, start: c_int, log_stride: c_int, size: c_int, p_sync: *mut c_long) {
            let group = group(call, start, log_stride, size, p_sync);
            // SAFETY: the caller's promise.
            unsafe { group.collect(dest.cast(), array(call, source), nelems, $is_alike) };
        }
    )* };
}

collects! {
    /// `shmem_collect32`, `shmem_collect64`. Blocks.
    collect_set, false;
    /// `shmem_fcollect32`, `shmem_fcollect64`. Blocks.
    fcollect_set, true;
}

/// `shmem_alltoall32`, `shmem_alltoall64`. Blocks.
///
/// # Safety
/// As for [`super::alltoall`].
pub unsafe fn alltoall_set<T: Element>(
    call: Call,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    p_sync: *mut c_long,
) {
    let group = group(call, start, log_stride, size, p_sync);
    // SAFETY: the caller's promise.
    unsafe { group.alltoall(dest.cast(), array(call, source), (1, 1), nelems) };
}

/// `shmem_alltoalls32`, `shmem_alltoalls64`. Blocks.
///
/// # Safety
/// As for [`super::alltoalls`].
pub unsafe fn alltoalls_set<T: Element>(
    call: Call,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    p_sync: *mut c_long,
) {
    let group = group(call, start, log_stride, size, p_sync);
    // SAFETY: the caller's promise.
    unsafe { group.alltoall(dest.cast(), array(call, source), (dst, sst), nelems) };
}

/// `shmem_int_sum_to_all` and its siblings; `pWrk` is not needed. Blocks.
///
/// # Safety
/// As for [`super::reduce`].
pub unsafe fn reduce_set<T: Reduces, O: Operation>(
    call: Call,
    dest: *mut T,
    source: *const T,
    nreduce: c_int,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    _p_wrk: *mut T,
    p_sync: *mut c_long,
) {
    let Ok(count) = usize::try_from(nreduce) else {
        call.refuse(format!("nreduce={nreduce} is negative"));
    };
    let group = group(call, start, log_stride, size, p_sync);
    // SAFETY: the caller's promise.
    unsafe { group.reduce(combine::<T, O>(), dest.cast(), source.cast(), count) };
}
