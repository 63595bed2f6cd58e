//! Starting and ending ARMCI in this process: before or after MPI's own, in any order, with or without MPI.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_engine::{ContextId, Peer};

use crate::control::Controls;
use crate::error::{Error, Result, argument};
use crate::far::{self, Far};
use crate::group::{self, Group};
use crate::{directory, memory, mutex};

/// The message spaces of ARMCI's world: collectives, users' messages. Far above those that communicators take, which count
/// from 0.
const WORLD_CONTEXT: ContextId = ContextId(u32::MAX - 64);
/// Those of the team of all, for its barriers.
const WORLD_TEAM: ContextId = ContextId(u32::MAX - 61);

/// What an initialized process knows. Lives until it exits, since calls of other threads may look at it.
#[derive(Debug)]
pub struct Job {
    /// All processes.
    pub world: Arc<Group>,
    /// Our number among them.
    pub me: usize,
    /// What each process shows the others.
    pub controls: Controls,
    /// How to reach others, in a job on several nodes.
    pub far: Option<Far>,
}

static JOB: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());

/// How often it was initialized and not finalized.
static USERS: Mutex<u32> = Mutex::new(0);

/// What this process knows.
///
/// # Errors
/// It is not initialized.
#[inline]
pub fn job() -> Result<&'static Job> {
    // SYNC: armci-job
    let job = JOB.load(Ordering::Acquire);
    // SAFETY: null, or a leaked box that nobody writes to.
    unsafe { job.as_ref() }.ok_or(Error::NotInitialized)
}

/// Our rank in the job, for messages; `None` before it has booted.
pub fn rank() -> Option<u32> {
    match isthmus_engine::state() {
        isthmus_engine::State::Outside => None,
        _ => Some(isthmus_engine::world().rank),
    }
}

/// Initialize, among all processes of the job or, if `members` are told, among these, in their order; collective over
/// them. Joins the job if nobody in this process has. Calling again counts.
///
/// # Errors
/// The job cannot be joined, there is no memory, this process is not a member, or it is initialized among others.
pub fn init(members: Option<Vec<Peer>>) -> Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    if *users > 0 {
        check_same(members.as_deref())?;
    } else {
        isthmus_engine::join()?;
        isthmus_engine::watch_devices();
        if let Err(error) = found(members) {
            isthmus_engine::part();
            return Err(error);
        }
    }
    *users += 1;
    Ok(())
}

/// Has the program initialized, and not finalized since?
static BY_PROGRAM: Mutex<bool> = Mutex::new(false);

/// As [`init`], by the program itself: calling again does nothing, as in ComEx, so that upstream Global Arrays, which begins twice, ends at its
/// first [`finalize_by_program`].
///
/// # Errors
/// As for [`init`].
pub fn init_by_program(members: Option<Vec<Peer>>) -> Result<()> {
    let mut by_program = BY_PROGRAM.lock().unwrap_or_else(PoisonError::into_inner);
    if *by_program {
        return check_same(members.as_deref());
    }
    init(members)?;
    *by_program = true;
    Ok(())
}

/// A later initialization tells the present members.
fn check_same(members: Option<&[Peer]>) -> Result<()> {
    match members {
        Some(members) if !job()?.world.is_of(members) => Err(argument(
            "the communicator has other members, or in another order, than those among which ARMCI is initialized",
        )),
        _ => Ok(()),
    }
}

/// As [`finalize`], by the program itself.
///
/// # Errors
/// As for [`finalize`].
pub fn finalize_by_program() -> Result<()> {
    let mut by_program = BY_PROGRAM.lock().unwrap_or_else(PoisonError::into_inner);
    if !*by_program {
        return Ok(());
    }
    *by_program = false;
    drop(by_program);
    finalize()
}

fn found(members: Option<Vec<Peer>>) -> Result<()> {
    let ours = isthmus_engine::world();
    let members = members.unwrap_or_else(|| (0..ours.size).map(Peer).collect());
    let me = members.iter().position(|peer| peer.0 == ours.rank);
    let me = me.ok_or_else(|| argument("the calling process is not in the communicator"))?;
    mutex::serve();
    let far = Far::of(&members);
    let world = Arc::new(Group::new(members, Some(me), WORLD_CONTEXT, WORLD_TEAM));
    let controls = Controls::exchange(&world.link()?)?;
    group::open(world.clone());
    let job = Box::leak(Box::new(Job {
        world,
        me,
        controls,
        far,
    }));
    // SYNC: armci-job
    JOB.store(job, Ordering::Release);
    Ok(())
}

/// Finalize: the last of as many calls as [`init`] had waits for all processes and gives global memory back. Without
/// `init`, does nothing. In a job that has lost a process it waits for nobody, as `MPI_Finalize`.
///
/// # Errors
/// The job cannot be waited for, though it has lost nobody.
pub fn finalize() -> Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    match *users {
        0 => return Ok(()),
        1 => {}
        _ => {
            *users -= 1;
            return Ok(());
        }
    }
    let job = job()?;
    let waited = job.fence(None).and_then(|()| job.world.link()?.barrier());
    // SYNC: armci-job
    JOB.store(std::ptr::null_mut(), Ordering::Release);
    mutex::forget();
    directory::forget_all();
    far::forget_all();
    if let Some(far) = &job.far {
        far.rest();
    }
    memory::free_all();
    group::close();
    *users = 0;
    let has_lost_somebody = {
        let mut inside = isthmus_engine::enter();
        let mut gone = (0..inside.failures()).filter_map(|index| inside.failure(index));
        gone.any(|(_, in_peace)| !in_peace)
    };
    isthmus_engine::part();
    match waited {
        Err(_) if has_lost_somebody => Ok(()),
        waited => waited,
    }
}

/// Is it initialized?
pub fn is_initialized() -> bool {
    job().is_ok()
}

impl Job {
    /// Processes.
    #[inline]
    pub fn processes(&self) -> usize {
        self.world.size()
    }

    /// A process by its number, checked.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn process(&self, proc: i32) -> Result<usize> {
        match usize::try_from(proc) {
            Ok(known) if known < self.processes() => Ok(known),
            _ => Err(Error::Process {
                proc,
                processes: self.processes(),
            }),
        }
    }

    /// The means to reach a process of another node; `None`: it is on this one.
    #[inline]
    pub fn far(&self, proc: usize) -> Option<&Far> {
        self.far.as_ref().filter(|far| far.is_elsewhere(proc))
    }

    /// Wait until what this process has started at a process of another node, or at all, is complete there. Blocks.
    ///
    /// # Errors
    /// It has failed.
    pub fn fence(&self, proc: Option<usize>) -> Result<()> {
        match (proc, &self.far) {
            (_, None) => Ok(()),
            (None, Some(far)) => Ok(far.fence(None)?),
            (Some(proc), Some(_)) => match self.far(proc) {
                Some(far) => Ok(far.fence(Some(self.peer(proc)))?),
                None => Ok(()),
            },
        }
    }

    /// The engine's name of a process.
    #[inline]
    pub fn peer(&self, proc: usize) -> Peer {
        self.world.peer(proc)
    }
}
