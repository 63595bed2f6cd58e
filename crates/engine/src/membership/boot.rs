//! Joining and leaving the job.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::{checker, membarrier, process, random, socket};
use isthmus_shm::slot::Identity;
use isthmus_shm::{Segment, occupancy};

use crate::engine::{ENGINE, Engine};
use crate::fault;
use crate::membership::control::{self, Nonce, ToLauncher, ToRank};
use crate::membership::job;
use crate::membership::launcher::{IS_OURS, LIFELINE, tell};
use crate::membership::locality;
use crate::membership::own::{self, FENCE_NEEDED, WORLD, believed_cpus, world};
use crate::membership::pmi;
use crate::memory::heap;
use crate::progress::gate::{self, FORKED, IDLE, JOINED, STATE, State, state};
use crate::progress::{placement, thread};
use crate::protocol::mechanism;
use crate::types::World;
use crate::{Error, Result, enter, warning};

/// Our own copy of the secret that peers read to prove who we are.
static SECRET: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// How long a launcher may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Join the job: under our `mpiexec` by its environment, else as a singleton. Calling again is free. Waits for the
/// launcher's answer, not for other ranks.
pub fn boot() -> Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match state() {
        State::Inside => return Ok(()),
        State::Forked => {
            return Err(Error::Boot(
                "this process was forked from one that uses MPI; exec first".into(),
            ));
        }
        State::Outside => {}
    }
    let admission = match invitation()? {
        Some(invitation) => {
            if !invitation.by_other {
                refuse_launchers_below()?;
            }
            match ask(&invitation)? {
                Some(admission) => admission,
                None => alone()?,
            }
        }
        None => alone()?,
    };
    become_rank(admission)
}

/// What the launcher put into our environment, or told us.
struct Invitation {
    nonce: Nonce,
    node: u32,
    rank: u32,
    appnum: i32,
    /// Another launcher than our `mpiexec` has started us.
    by_other: bool,
}

/// What a process of a job has been given.
struct Admission {
    segment: OwnedFd,
    pool: Option<OwnedFd>,
    nonce: Nonce,
    lifeline: Option<OwnedFd>,
    world: World,
    launcher_pid: Option<u32>,
}

fn invitation() -> Result<Option<Invitation>> {
    // Our mpiexec takes PMI_FD away from its ranks: where both are, a launcher below one of them has started us.
    let by_pmi = by_pmi();
    if let Some(invited) = &by_pmi
        && let Some((assignment, session)) = pmi::join(invited)?
    {
        *SESSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = session;
        return Ok(Some(Invitation {
            nonce: assignment.nonce,
            node: 0,
            rank: assignment.rank,
            appnum: assignment.appnum as i32,
            by_other: true,
        }));
    }
    let Ok(job) = std::env::var("ISTHMUS_JOB") else {
        if by_pmi.is_none() {
            refuse_other_launchers()?;
        }
        return Ok(None);
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let nonce = Nonce::parse(&job).ok_or_else(|| Error::Boot("ISTHMUS_JOB is not a job's nonce".into()))?;
    let rank = number("ISTHMUS_RANK").ok_or_else(|| Error::Boot("ISTHMUS_RANK is missing or not a number".into()))?;
    Ok(Some(Invitation {
        nonce,
        node: number("ISTHMUS_NODE").unwrap_or(0),
        rank,
        appnum: number("ISTHMUS_APPNUM").unwrap_or(0) as i32,
        by_other: false,
    }))
}

fn by_pmi() -> Option<pmi::Invited> {
    pmi::invited(|name| std::env::var(name).ok())
}

/// Ranks of the job that this process is in, or will be in once it has booted. `None`: booting would fail.
pub fn expected_size() -> Option<u32> {
    if let Some(world) = world() {
        return Some(world.size);
    }
    let is_alone = std::env::var_os("ISTHMUS_JOB").is_none();
    if let Some(invited) = by_pmi()
        && (is_alone || invited.is_connected())
    {
        return Some(invited.size);
    }
    if is_alone {
        return refuse_other_launchers().is_ok().then_some(1);
    }
    std::env::var("ISTHMUS_SIZE").ok()?.parse().ok()
}

/// Running silently as many jobs of one rank each is what users suffer from elsewhere.
fn refuse_other_launchers() -> Result<()> {
    ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"]
        .into_iter()
        .try_for_each(refuse_if_several)
}

/// The same below a rank of ours, where these variables are its own. Our mpiexec takes PMIX_NAMESPACE away from its ranks.
fn refuse_launchers_below() -> Result<()> {
    match std::env::var("PMIX_NAMESPACE") {
        Ok(name) if name.starts_with("slurm.") => refuse_if_several("SLURM_STEP_NUM_TASKS"),
        Ok(_) => refuse_if_several("OMPI_COMM_WORLD_SIZE"),
        Err(_) => Ok(()),
    }
}

fn refuse_if_several(name: &str) -> Result<()> {
    let said = std::env::var(name).ok().and_then(|size| size.parse::<u32>().ok());
    let Some(size) = said.filter(|size| *size > 1) else {
        return Ok(());
    };
    let cure = match name {
        "SLURM_STEP_NUM_TASKS" => "say srun --mpi=pmi2, or use Isthmus's own mpiexec",
        _ => "use Isthmus's own mpiexec, or a launcher that speaks PMI-1 (PMI_FD)",
    };
    Err(Error::Boot(format!(
        "another launcher started {size} processes ({name}) and does not tell how to join them: {cure}"
    )))
}

/// Ask the launcher to be admitted. `None`: somebody else has it, typically a parent whose environment we inherited.
fn ask(invitation: &Invitation) -> Result<Option<Admission>> {
    let hint = match invitation.by_other {
        false => "is the mpiexec that set ISTHMUS_JOB still running, on this machine, in this network namespace?",
        true => "the first rank of each node has started mpiexec --agent there: is it still running?",
    };
    let failed = |what: &str, error: &dyn std::fmt::Display| Error::Boot(format!("{what}: {error} ({hint})"));
    let name = invitation.nonce.socket_name(invitation.node);
    let lifeline = socket::connect(&name).map_err(|error| failed("no answer from mpiexec", &error))?;
    let hello = ToLauncher::Hello {
        rank: invitation.rank,
        pid: process::id(),
        proof: invitation.nonce.proof(control::OF_RANK),
    };
    socket::send(&lifeline, &hello.encode(), None).map_err(|error| failed("mpiexec hung up", &error))?;
    socket::set_receive_limit(&lifeline, ANSWER_WITHIN).map_err(|error| failed("cannot wait for mpiexec", &error))?;
    let mut packet = [0; control::MAX_PACKET];
    match socket::receive(&lifeline, &mut packet).map_err(|error| failed("mpiexec does not answer", &error))? {
        socket::Received::Packet(length, segment) => match (ToRank::decode(&packet[..length]), segment) {
            (
                Some(ToRank::Welcome {
                    size,
                    launcher_pid,
                    pool,
                    proof,
                }),
                Some(segment),
            ) if invitation.rank < size && proof == invitation.nonce.proof(control::OF_LAUNCHER) => {
                IS_OURS.store(!invitation.by_other, Ordering::Relaxed);
                let pool = if pool { huge_pages(&lifeline) } else { None };
                let world = World {
                    rank: invitation.rank,
                    size,
                    appnum: invitation.appnum,
                    singleton: false,
                };
                Ok(Some(Admission {
                    segment,
                    pool,
                    nonce: invitation.nonce,
                    lifeline: Some(lifeline),
                    world,
                    // Peers are looked for below it.
                    launcher_pid: Some(if invitation.by_other {
                        process::parent()
                    } else {
                        launcher_pid
                    }),
                }))
            }
            (Some(ToRank::Refused), _) => Ok(None),
            // The kernel drops a descriptor for which there is no room.
            (Some(ToRank::Welcome { .. }), None) => Err(Error::Boot(
                "the job's memory could not be opened: too many open files; raise the limit (ulimit -n)".into(),
            )),
            _ => Err(Error::Boot(
                "mpiexec's answer makes no sense: is it of the same version as the library, and still running?".into(),
            )),
        },
        socket::Received::Nothing => Err(Error::Boot("mpiexec did not answer in 30 s".into())),
        socket::Received::Closed => Err(Error::Boot("mpiexec hung up".into())),
    }
}

/// The file of huge pages that comes after the welcome; `None`: there is no room for its descriptor, and the job does without.
fn huge_pages(lifeline: &OwnedFd) -> Option<OwnedFd> {
    let mut packet = [0; control::MAX_PACKET];
    match socket::receive(lifeline, &mut packet) {
        Ok(socket::Received::Packet(length, file)) if ToRank::decode(&packet[..length]) == Some(ToRank::Pool) => file,
        _ => None,
    }
}

/// A job of one.
fn alone() -> Result<Admission> {
    let mut nonce = [0; 16];
    random::fill(&mut nonce).map_err(|error| Error::Boot(error.to_string()))?;
    let nonce = Nonce(nonce);
    let segment = job::create(1, nonce)?;
    let pool = job::create_pool(&segment);
    let world = World {
        rank: 0,
        size: 1,
        appnum: -1,
        singleton: true,
    };
    Ok(Admission {
        segment,
        pool,
        nonce,
        lifeline: None,
        world,
        launcher_pid: None,
    })
}

/// Map the segment, show who we are, become reachable.
fn become_rank(admission: Admission) -> Result<()> {
    let Admission {
        segment,
        pool,
        nonce,
        lifeline,
        world,
        launcher_pid,
    } = admission;
    let segment: &'static Segment = Box::leak(Box::new(attach(segment, pool, nonce)?));
    if segment.ranks() != world.size {
        return Err(Error::Boot(format!(
            "the job has {} ranks here, {} by mpiexec",
            segment.ranks(),
            world.size
        )));
    }
    segment.keep_from_children();
    warning::open(segment.said());
    own::share_notes(segment);
    locality::learn_nodes(segment);
    let slot = segment.slot(world.rank);
    if !slot.claim() {
        return Err(Error::Boot(format!("another process is rank {} already", world.rank)));
    }
    // Registering takes 10 ms once there are threads; then it is cheaper that we fence after each record.
    let registered = process::threads() == 1 && membarrier::register();
    if let Some(launcher) = launcher_pid {
        process::allow_tracing_by(launcher);
    }
    let mut bytes = [0; 16];
    random::fill(&mut bytes).map_err(|error| Error::Boot(error.to_string()))?;
    let secret = [0, 8].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes")));
    for (cell, value) in SECRET.iter().zip(secret) {
        cell.store(value, Ordering::Relaxed);
    }
    // What peers write into our memory is done in no system call of ours: a checker would take it for never written.
    let checked = checker::is_present();
    slot.publish(Identity {
        pid: process::id(),
        nonce: secret,
        nonce_address: if checked { 0 } else { SECRET.as_ptr() as u64 },
        locality: locality::of_rank(world.rank).bits(),
        access: if checked { [0; 2] } else { mechanism::exposed(nonce.0) },
    });
    occupancy::settle(segment.ranks_here(), believed_cpus().unwrap_or(segment.cpus()));
    placement::take_turn(segment, world.rank);
    LIFELINE.store(lifeline.as_ref().map_or(-1, |fd| fd.as_raw_fd()), Ordering::Relaxed);
    let mut engine = Engine::new(segment, world.rank, !registered, lifeline);
    if let Some(name) = engine.open_network(nonce)?
        && !say_to_other_launcher(segment, world.rank, &name)?
        && let Some(lifeline) = &engine.membership.lifeline
    {
        socket::send(lifeline, &ToLauncher::Card { name }.encode(), None)
            .map_err(|error| Error::Boot(format!("mpiexec hung up: {error}")))?;
    }
    let _ = WORLD.set(world);
    engine.memory.arena.plan = fault::plan();
    *ENGINE.get(&mut enter()) = Some(engine);
    if registered {
        gate::bias_to_this_thread();
    }
    process::on_fork_in_child(forked);
    FENCE_NEEDED.store(!registered, Ordering::Relaxed);
    heap::open(segment);
    STATE.store(JOINED, Ordering::Release);
    Ok(())
}

/// The launcher that has started ranks on several nodes, and is no `mpiexec` of ours.
static SESSION: Mutex<Option<pmi::Session>> = Mutex::new(None);

/// Tell the ranks on other nodes how this one is reached, and learn how they are, if another launcher has started them. False: it has not. Waits
/// for all ranks.
fn say_to_other_launcher(segment: &Segment, me: u32, name: &[u8]) -> Result<bool> {
    let mut session = SESSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(session) = session.as_mut() else {
        return Ok(false);
    };
    session.say_card(me, name)?;
    // One of each node asks for all.
    let is_first = (0..segment.ranks()).find(|&rank| !segment.is_elsewhere(rank)) == Some(me);
    for rank in (0..segment.ranks()).filter(|&rank| is_first && segment.is_elsewhere(rank)) {
        let theirs = session.card(rank)?;
        if segment.card(rank).is_some_and(|card| card.write(&theirs)) {
            (0..segment.ranks()).for_each(|other| segment.alert(other));
        }
    }
    Ok(true)
}

fn attach(segment: OwnedFd, pool: Option<OwnedFd>, nonce: Nonce) -> Result<Segment> {
    Segment::attach_with(segment, pool, nonce.0).map_err(|error| {
        let cure = match error {
            isthmus_shm::segment::Error::NoAddresses(_) => "; is it lower here than where mpiexec runs?",
            _ => "",
        };
        Error::Boot(format!("the job's shared memory: {error}{cure}"))
    })
}

/// Runs in every child made by `fork`: its copy of the engine is not one.
extern "C" fn forked() {
    STATE.store(FORKED, Ordering::Release);
    // The child must not hold the lifeline open: our end of file is how our death is noticed.
    let lifeline = LIFELINE.swap(-1, Ordering::Relaxed);
    if lifeline >= 0 {
        isthmus_os::process::close_raw(lifeline);
    }
}

/// Users of the job in this process: each model that is initialized counts one (MPI's world, each of its sessions, ARMCI, ...).
static USERS: Mutex<u32> = Mutex::new(0);

/// Be one more user of the job: joins it if this process has not ([`boot`]), or comes back after the last user has
/// [parted](part).
///
/// # Errors
/// As [`boot`].
pub fn join() -> Result<()> {
    let mut users = USERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if *users == 0 {
        let was_inside = state() == State::Inside;
        boot()?;
        if was_inside {
            resume();
        }
    } else if state() == State::Forked {
        boot()?;
    }
    *users += 1;
    Ok(())
}

/// One user of the job less. With the last, the launcher hears that this process has finalized: its exit is no longer a
/// failure. The engine stays usable.
pub fn part() {
    let mut users = USERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *users = users.saturating_sub(1);
    if *users == 0 {
        leave();
    }
}

/// Tell the launcher that this process has finalized: its exit is no longer a failure.
fn leave() {
    let mut inside = enter();
    // Frames that are lost on the way to other nodes can be sent again by this process only.
    if STATE.load(Ordering::Acquire) == JOINED {
        let _ = inside.wait(|inside| inside.engine().has_parted().then_some(()));
    }
    thread::leave_first_frames(&mut inside);
    drop(inside);
    let _ = STATE.compare_exchange(JOINED, IDLE, Ordering::AcqRel, Ordering::Relaxed);
    tell(&ToLauncher::Finalized);
    let session = SESSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    if let Some(session) = session {
        session.finalize();
    }
}

/// Tell the launcher that the job is in use again after [`leave`] (sessions).
fn resume() {
    let _ = STATE.compare_exchange(IDLE, JOINED, Ordering::AcqRel, Ordering::Relaxed);
    tell(&ToLauncher::Resumed);
}
