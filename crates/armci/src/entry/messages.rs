//! The message layer (`message.h`): messages, broadcasts, reductions. Processes of a node are all there are, so the scope of
//! a node is that of all, and the scope of the nodes' masters is process 0.

use std::ffi::{c_char, c_long, c_longlong, c_void};

use super::answer;
use super::memory::number_of;
use crate::arguments::{bytes, checked_bytes, text};
use crate::error::{Result, argument};
use crate::group::{self, Group, WORLD};
use crate::life::{self, job};
use crate::reduction::{self, Operator, ReductionType};

const SCOPE_ALL: i32 = 333;
const SCOPE_NODE: i32 = 337;
const SCOPE_MASTERS: i32 = 339;

/// Does the calling process have others in this scope?
fn has_others(scope: i32) -> Result<bool> {
    match scope {
        SCOPE_ALL | SCOPE_NODE => Ok(true),
        SCOPE_MASTERS => Ok(false),
        _ => Err(argument(format!("scope={scope} is no SCOPE_ constant"))),
    }
}

fn length(name: &str, number: i32) -> Result<usize> {
    usize::try_from(number).map_err(|_| argument(format!("{name}={number} is negative")))
}

/// # Safety
/// `x` must be good for `n` elements, `op` a string.
unsafe fn combine(group: &Group, x: *mut c_void, n: i32, op: *const c_char, kind: ReductionType) -> Result<()> {
    job()?;
    let count = length("n", n)?;
    // SAFETY: the caller's promise.
    let (operator, data) = unsafe {
        (
            Operator::of(&text(op))?,
            checked_bytes("x", x.cast(), count * kind.bytes())?,
        )
    };
    reduction::all_reduce(&group.link()?, data, kind, operator)
}

/// # Safety
/// As for [`combine`].
unsafe fn combine_in_scope(
    group: Result<std::sync::Arc<Group>>,
    scope: i32,
    x: *mut c_void,
    n: i32,
    op: *const c_char,
    kind: ReductionType,
) -> Result<()> {
    let group = group?;
    if has_others(scope)? {
        // SAFETY: the caller's promise.
        unsafe { combine(&group, x, n, op, kind) }
    } else {
        Ok(())
    }
}

macro_rules! families {
    ($($all:ident $group:ident $cluster:ident $name:literal $type:ty, $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $all(x: *mut $type, n: i32, op: *const c_char) {
            // SAFETY: the caller's promise.
            answer($name, unsafe {
                combine_in_scope(group::default(), SCOPE_ALL, x.cast(), n, op, ReductionType::$kind)
            });
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $group(x: *mut $type, n: i32, op: *const c_char, group: *const i32) {
            // SAFETY: the caller's promise.
            answer($name, unsafe {
                combine_in_scope(number_of(group).and_then(group::find), SCOPE_ALL, x.cast(), n, op, ReductionType::$kind)
            });
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $cluster(x: *mut $type, n: i32, op: *const c_char) {
            // SAFETY: the caller's promise.
            answer($name, unsafe {
                combine_in_scope(group::default(), SCOPE_NODE, x.cast(), n, op, ReductionType::$kind)
            });
        }
    )*};
}
families! {
    isthmus_armci_armci_msg_igop isthmus_armci_armci_msg_group_igop isthmus_armci_armci_msg_clus_igop
        "armci_msg_igop" i32, Int;
    isthmus_armci_armci_msg_lgop isthmus_armci_armci_msg_group_lgop isthmus_armci_armci_msg_clus_lgop
        "armci_msg_lgop" c_long, Long;
    isthmus_armci_armci_msg_llgop isthmus_armci_armci_msg_group_llgop isthmus_armci_armci_msg_clus_llgop
        "armci_msg_llgop" c_longlong, LongLong;
    isthmus_armci_armci_msg_fgop isthmus_armci_armci_msg_group_fgop isthmus_armci_armci_msg_clus_fgop
        "armci_msg_fgop" f32, Float;
    isthmus_armci_armci_msg_dgop isthmus_armci_armci_msg_group_dgop isthmus_armci_armci_msg_clus_dgop
        "armci_msg_dgop" f64, Double;
}

macro_rules! in_scope {
    ($($entry:ident $name:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(scope: i32, x: *mut c_void, n: i32, op: *const c_char, kind: i32) {
            // SAFETY: the caller's promise.
            answer($name, unsafe {
                ReductionType::of(kind).and_then(|kind| combine_in_scope(group::default(), scope, x, n, op, kind))
            });
        }
    )*};
}
in_scope! {
    isthmus_armci_armci_msg_gop_scope "armci_msg_gop_scope"
    isthmus_armci_armci_msg_reduce_scope "armci_msg_reduce_scope"
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_reduce(x: *mut c_void, n: i32, op: *const c_char, kind: i32) {
    // SAFETY: the caller's promise.
    answer("armci_msg_reduce", unsafe {
        ReductionType::of(kind).and_then(|kind| combine_in_scope(group::default(), SCOPE_ALL, x, n, op, kind))
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_group_gop_scope(
    scope: i32,
    x: *mut c_void,
    n: i32,
    op: *const c_char,
    kind: i32,
    group: *const i32,
) {
    // SAFETY: the caller's promise.
    answer("armci_msg_group_gop_scope", unsafe {
        ReductionType::of(kind)
            .and_then(|kind| combine_in_scope(number_of(group).and_then(group::find), scope, x, n, op, kind))
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_sel_scope(
    scope: i32,
    x: *mut c_void,
    n: i32,
    op: *const c_char,
    kind: i32,
    contribute: i32,
) {
    let select = || {
        let group = group::default()?;
        let (kind, count) = (ReductionType::of(kind)?, length("n", n)?);
        // SAFETY: the caller's promise.
        let (operator, data) = unsafe { (Operator::of(&text(op))?, checked_bytes("x", x.cast(), count)?) };
        match has_others(scope)? {
            true => reduction::select(&group.link()?, data, kind, operator, contribute != 0),
            false => Ok(()),
        }
    };
    answer("armci_msg_sel_scope", select());
}

/// # Safety
/// `data` must be good for `count` bytes.
unsafe fn broadcast(group: &Group, data: *mut c_void, count: i32, root: i32) -> Result<()> {
    job()?;
    let count = length("len", count)?;
    let root = usize::try_from(root)
        .ok()
        .filter(|&root| root < group.size())
        .ok_or(crate::Error::Process {
            proc: root,
            processes: group.size(),
        })?;
    // SAFETY: the caller's promise.
    let data = unsafe { checked_bytes("buf", data.cast(), count) }?;
    group.link()?.broadcast(data, root)
}

macro_rules! broadcasts {
    ($($entry:ident $name:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(data: *mut c_void, count: i32, root: i32) {
            // SAFETY: the caller's promise.
            answer($name, unsafe { group::default().and_then(|group| broadcast(&group, data, count, root)) });
        }
    )*};
}
broadcasts! {
    isthmus_armci_armci_msg_bcast "armci_msg_bcast"
    isthmus_armci_armci_msg_brdcst "armci_msg_brdcst"
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_bcast_scope(scope: i32, data: *mut c_void, count: i32, root: i32) {
    let send = || match has_others(scope)? {
        // SAFETY: the caller's promise.
        true => unsafe { broadcast(&*group::default()?, data, count, root) },
        false => Ok(()),
    };
    answer("armci_msg_bcast_scope", send());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_group_bcast_scope(
    scope: i32,
    data: *mut c_void,
    count: i32,
    root: i32,
    group: *const i32,
) {
    let send = || match has_others(scope)? {
        // SAFETY: the caller's promise.
        true => unsafe { broadcast(&*number_of(group).and_then(group::find)?, data, count, root) },
        false => Ok(()),
    };
    answer("armci_msg_group_bcast_scope", send());
}

/// Process 0 is the node's master.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_clus_brdcst(data: *mut c_void, count: i32) {
    // SAFETY: the caller's promise.
    answer("armci_msg_clus_brdcst", unsafe {
        group::default().and_then(|group| broadcast(&group, data, count, 0))
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_grp_clus_brdcst(
    data: *mut c_void,
    count: i32,
    master: i32,
    _processes: i32,
    group: *const i32,
) {
    // SAFETY: the caller's promise.
    answer("armci_grp_clus_brdcst", unsafe {
        number_of(group)
            .and_then(group::find)
            .and_then(|group| broadcast(&group, data, count, master))
    });
}

/// Tags of users are any numbers; the engine's are not negative.
fn tag(tag: i32) -> i32 {
    tag & i32::MAX
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_snd(number: i32, data: *mut c_void, count: i32, to: i32) {
    let send = || {
        let job = job()?;
        let to = job.process(to)?;
        // SAFETY: the caller's promise.
        let data = unsafe { checked_bytes("buf", data.cast(), length("len", count)?) }?;
        job.world.messages()?.send(to, tag(number), data)
    };
    answer("armci_msg_snd", send());
}

/// # Safety
/// `data` must be good for `count` bytes, and `came` null or good.
unsafe fn receive(number: i32, data: *mut c_void, count: i32, came: *mut i32, from: Option<i32>) -> Result<i32> {
    let job = job()?;
    let from = from.map(|from| job.process(from)).transpose()?;
    // SAFETY: the caller's promise. The bound of a buffer may be larger than it is: what counts is the message.
    let data = unsafe { bytes(data.cast(), length("buflen", count)?) };
    let (source, received) = job.world.messages()?.receive(from, tag(number), data)?;
    if !came.is_null() {
        // SAFETY: as above.
        unsafe { came.write(received as i32) };
    }
    Ok(source as i32)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_rcv(
    number: i32,
    data: *mut c_void,
    count: i32,
    came: *mut i32,
    from: i32,
) {
    // SAFETY: the caller's promise.
    answer("armci_msg_rcv", unsafe {
        receive(number, data, count, came, Some(from))
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_rcvany(number: i32, data: *mut c_void, count: i32, came: *mut i32) -> i32 {
    // SAFETY: the caller's promise.
    answer("armci_msg_rcvany", unsafe { receive(number, data, count, came, None) })
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_msg_barrier() {
    answer(
        "armci_msg_barrier",
        group::default().and_then(|group| group.link()?.barrier()),
    );
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_group_barrier(group: *const i32) {
    // SAFETY: the caller's promise.
    let found = unsafe { number_of(group) }.and_then(group::find);
    answer(
        "armci_msg_group_barrier",
        found.and_then(|group| group.link()?.barrier()),
    );
}

/// # Safety
/// `pointers` must be good for `count` addresses.
unsafe fn exchange(pointers: *mut *mut c_void, count: i32, group: i32) -> Result<()> {
    let group = group::find(group)?;
    let count = length("n", count)?;
    // SAFETY: the caller's promise; where nobody has an address there is 0.
    let data = unsafe { checked_bytes("ptr_ar", pointers.cast(), count * size_of::<usize>()) }?;
    reduction::all_reduce(&group.link()?, data, ReductionType::Long, Operator::Sum)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_exchange_address(pointers: *mut *mut c_void, count: i32) {
    // SAFETY: the caller's promise.
    answer("armci_exchange_address", unsafe { exchange(pointers, count, WORLD) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_exchange_address_grp(
    pointers: *mut *mut c_void,
    count: i32,
    group: *const i32,
) {
    // SAFETY: the caller's promise.
    answer("armci_exchange_address_grp", unsafe {
        number_of(group).and_then(|group| exchange(pointers, count, group))
    });
}

/// The tree of a scope: numbers of the processes above and below, -1 where there is none.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_msg_bintree(
    scope: i32,
    root: *mut i32,
    up: *mut i32,
    left: *mut i32,
    right: *mut i32,
) {
    let size_and_me = || {
        let job = job()?;
        Ok((if has_others(scope)? { job.processes() } else { 1 }, job.me))
    };
    let (size, me) = answer("armci_msg_bintree", size_and_me());
    let below = |number: usize| if number < size { number as i32 } else { -1 };
    // SAFETY: the caller's promise.
    unsafe {
        root.write(0);
        up.write(if me == 0 { -1 } else { (me as i32 - 1) / 2 });
        left.write(below(2 * me + 1));
        right.write(below(2 * me + 2));
    }
}

/// These two may be asked before `ARMCI_Init`, once the job has booted.
fn known<T>(call: &str, of_job: impl FnOnce(&life::Job) -> T, of_world: impl FnOnce(&isthmus_engine::World) -> T) -> T {
    match job() {
        Ok(job) => of_job(job),
        Err(_) if life::rank().is_some() => of_world(isthmus_engine::world()),
        Err(error) => answer(call, Err(error)),
    }
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_msg_me() -> i32 {
    known("armci_msg_me", |job| job.me as i32, |world| world.rank as i32)
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_msg_nproc() -> i32 {
    known(
        "armci_msg_nproc",
        |job| job.processes() as i32,
        |world| world.size as i32,
    )
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_timer() -> f64 {
    isthmus_os::clock::now().as_secs_f64()
}
