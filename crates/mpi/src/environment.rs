//! Starting and ending MPI, and what a process may ask about its surroundings (MPI-5.0 §9, §11).

pub(crate) mod leftovers;
pub mod memory;
mod stats;

use std::sync::Once;
use std::thread::ThreadId;

use isthmus_engine::warning::{Warning, warn};
use isthmus_engine::{Peer, State, other_mpi, rma, tunables};

use crate::comm::{self, Comm};
use crate::constants::{
    MAX_PROCESSOR_NAME, THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SERIALIZED, THREAD_SINGLE, VERSION,
};
use crate::error::Result;
use crate::handle::Handle;
use crate::info::{self, Info};
use crate::process::{Phase, cut, life, me};
use crate::{check, coll, fail, win};

/// Join the job if this process has not, for one user of it that wants this thread level; the level granted.
///
/// What the first user gets holds for the process: a lock that the others do not take protects nobody. So those who come
/// later get at most `MPI_THREAD_SERIALIZED` unless it got `MPI_THREAD_MULTIPLE`.
pub(crate) fn join(wanted: i32) -> Result<i32> {
    let wanted = level_in_force(wanted);
    isthmus_collective::select::check()?;
    let mut life = life();
    if life.users == 0 {
        if isthmus_engine::state() == State::Forked {
            return Err(fail!(
                Other,
                "this process was forked from one that uses MPI; exec first"
            ));
        }
        allow_threads(wanted);
        isthmus_engine::join()?;
        if let Some(other) = initialized_too() {
            return Err(fail!(Other, "{other}"));
        }
        isthmus_engine::watch_devices();
        check::begin();
        static TELL_ENV: Once = Once::new();
        TELL_ENV.call_once(info::env::publish_env);
        rma::handle_active(rma::Layer::Windows, crate::win::handle_active);
    }
    if life.users > 0 {
        isthmus_engine::expect_threads();
    }
    life.users += 1;
    Ok(if isthmus_engine::allows_threads() {
        wanted
    } else {
        wanted.min(THREAD_SERIALIZED)
    })
}

/// An unknown_variable_hint, if another MPI's library is initialized in this process, and the job has several ranks: there each of them is a job of
/// its own.
fn initialized_too() -> Option<String> {
    if isthmus_engine::world().size < 2 {
        return None;
    }
    let (file, kind) = other_mpi::initialized()?;
    Some(format!(
        "a part of this process has initialized another MPI, in which each rank is a job of its own: {} ({}); have all parts load the same \
         library (LD_LIBRARY_PATH; readelf -d tells of paths)",
        file.display(),
        kind.name()
    ))
}

/// Nobody uses MPI at the moment.
fn allow_threads(wanted: i32) {
    match wanted {
        THREAD_MULTIPLE => isthmus_engine::allow_threads(),
        // The lock lets a thread in that was not promised, and the line says so.
        THREAD_SINGLE | THREAD_FUNNELED if tunables::CHECK.get() > 0 => {
            isthmus_engine::expect_one_thread(thread_level_name(wanted));
        }
        _ => {}
    }
}

/// One user of the job less; with the last, this process may exit when it likes.
pub(crate) fn part() {
    let mut life = life();
    life.users -= 1;
    if life.users == 0 {
        isthmus_engine::part();
    }
}

const THREAD_LEVELS: [(i32, &str); 4] = [
    (THREAD_SINGLE, "MPI_THREAD_SINGLE"),
    (THREAD_FUNNELED, "MPI_THREAD_FUNNELED"),
    (THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
    (THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"),
];

/// The thread level of that name.
pub(crate) fn thread_level(name: &str) -> Option<i32> {
    let found = THREAD_LEVELS.iter().find(|(_, own)| *own == name);
    found.map(|(level, _)| *level)
}

/// The level granted for `wanted`: that of `ISTHMUS_THREAD_LEVEL`, if it is set.
fn level_in_force(wanted: i32) -> i32 {
    let Some(name) = tunables::THREAD_LEVEL.get() else {
        return wanted;
    };
    thread_level(&format!("MPI_THREAD_{}", name.to_ascii_uppercase())).unwrap_or_else(|| {
        let variable = tunables::THREAD_LEVEL.variable();
        warn(
            Warning::ThreadLevel,
            &format!("isthmus: {variable}={name} is not single, funneled, serialized or multiple; ignoring it"),
        );
        wanted
    })
}

/// The name of a thread level.
pub(crate) fn thread_level_name(level: i32) -> &'static str {
    let found = THREAD_LEVELS.iter().find(|(own, _)| *own == level);
    found.map_or("unknown", |(_, name)| name)
}

/// `MPI_Init`: as [`init_thread`], for one thread.
pub fn init() -> Result<()> {
    init_thread(THREAD_SINGLE).map(drop)
}

/// `MPI_Init_thread`: the level granted, which is the one asked for unless a session came first with less, or
/// `ISTHMUS_THREAD_LEVEL` says otherwise. Does not wait for other processes.
pub fn init_thread(required: i32) -> Result<i32> {
    if !THREAD_LEVELS.iter().any(|(level, _)| *level == required) {
        return Err(fail!(Arg, "required={required} is not a thread level"));
    }
    if life().phase != Phase::Before {
        return Err(fail!(
            Other,
            "MPI has been initialized before; sessions may be initialized again"
        ));
    }
    let provided = join(required)?;
    comm::world::publish()?;
    let mut life = life();
    life.phase = Phase::Inside;
    life.main = Some((std::thread::current().id(), provided));
    Ok(provided)
}

/// `MPI_Finalize`: runs the delete callbacks of `MPI_COMM_SELF`'s attributes, waits for every process of the job, and
/// leaves. Does nothing in a child made by `fork`.
pub fn finalize() -> Result<()> {
    match life().phase {
        Phase::Before => return Err(fail!(Other, "MPI is not initialized")),
        Phase::Inside if isthmus_engine::state() == State::Forked => return Ok(()),
        Phase::Inside => {}
        Phase::After => return Err(fail!(Other, "MPI has been finalized before")),
    }
    win::say_what_is_open();
    if let Some(other) = initialized_too() {
        warn(Warning::TwoMpis, &format!("isthmus: MPI_Finalize: {other}"));
    }
    coll::check::finalize()?;
    comm::world::retire(|| {
        stats::tell()?;
        leftovers::tell_first()
    })?;
    isthmus_collective::release_memory();
    isthmus_collective::select::report();
    life().phase = Phase::After;
    part();
    Ok(())
}

fn main_thread() -> Result<(ThreadId, i32)> {
    life().main.ok_or_else(|| fail!(Other, "MPI is not initialized"))
}

/// `MPI_Query_thread`: the level granted.
pub fn query_thread() -> Result<i32> {
    main_thread().map(|(_, level)| level)
}

/// `MPI_Is_thread_main`: did this thread call `MPI_Init`?
pub fn is_thread_main() -> Result<bool> {
    main_thread().map(|(thread, _)| thread == std::thread::current().id())
}

/// `MPI_Abort`: ends the processes of `comm`, both groups of an intercommunicator, where the launcher can, else the job;
/// `errorcode` becomes the job's exit code. Does not return.
pub fn abort(comm: &Comm, errorcode: i32) -> ! {
    let rank = me().map_or(0, |me| me.0);
    let mut members: Vec<Peer> = comm.group.members().iter().collect();
    members.extend(comm.remote_group().into_iter().flat_map(|group| group.members().iter()));
    members.sort_unstable();
    members.dedup();
    let all = isthmus_engine::expected_size().unwrap_or(1);
    let begin = format!("isthmus: rank {rank}: MPI_Abort: errorcode={errorcode}");
    if members.len() >= all as usize {
        isthmus_engine::abort(errorcode, &format!("{begin}, the job ends"));
    }
    let line = format!("{begin}, the members of {} end", comm.label());
    isthmus_engine::abort_members(errorcode, &members, &line)
}

/// `MPI_Abort` of what is no communicator, as `why` says: the job ends all the same, with `errorcode` as its exit code.
pub fn abort_job(errorcode: i32, why: &str) -> ! {
    let begin = me().map_or_else(|| "isthmus".to_owned(), |me| format!("isthmus: rank {}", me.0));
    isthmus_engine::abort(
        errorcode,
        &format!("{begin}: MPI_Abort: errorcode={errorcode}, the job ends ({why})"),
    )
}

/// `MPI_Get_version` (`version`, `subversion`).
pub fn get_version() -> Result<(i32, i32)> {
    Ok(VERSION)
}

/// `MPI_Get_library_version`, as the standard ABI's library tells it: which MPI this is.
pub fn get_library_version() -> Result<String> {
    let (version, subversion) = VERSION;
    Ok(format!(
        "Isthmus {}, MPI {version}.{subversion}",
        env!("CARGO_PKG_VERSION")
    ))
}

/// `MPI_Get_processor_name`: the host name.
pub fn get_processor_name() -> Result<String> {
    let mut name = isthmus_os::host::name();
    cut(&mut name, MAX_PROCESSOR_NAME - 1);
    Ok(name)
}

/// `MPI_Wtime`: seconds since a point that all processes of this boot share.
pub fn wtime() -> f64 {
    isthmus_os::clock::now().as_secs_f64()
}

/// `MPI_Wtick`: seconds between ticks of [`wtime`].
pub fn wtick() -> f64 {
    isthmus_os::clock::resolution().as_secs_f64()
}

/// `MPI_Pcontrol`: does nothing; profiling libraries replace it.
pub fn pcontrol(_level: i32) -> Result<()> {
    Ok(())
}

/// `MPI_Get_hw_resource_info`: the resource types that `MPI_Comm_split_type` knows, and whether this process is confined to
/// one instance of each at this moment.
pub fn get_hw_resource_info() -> Result<Handle<Info>> {
    let types = isthmus_engine::hardware()
        .into_iter()
        .map(|(level, confined)| (comm::resource_type(level), confined.to_string()));
    let memory = (comm::SHARED_MEMORY.to_owned(), true.to_string());
    Info::from_pairs(std::iter::once(memory).chain(types)).publish()
}
