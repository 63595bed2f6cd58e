//! Groups of processes. A group's number is known to the process that made it, and may differ between members.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_collective::{Members, Team};

use isthmus_engine::{ContextId, Peer, enter};

use crate::error::{Error, Result, argument};
use crate::life::job;
use crate::link::Link;

/// Some processes, in an order.
#[derive(Debug)]
pub struct Group {
    members: Vec<Peer>,
    me: Option<usize>,
    context: ContextId,
    /// For barriers; processes outside the group have none.
    team: Option<Arc<Team>>,
}

/// The number of the group of all.
pub const WORLD: i32 = 0;

/// Context ids below are those that every job has: `MPI_COMM_WORLD`'s and its like.
const FIRST_OF_COUNT: u64 = 6;
/// Of the messages by which a group's first member tells the others its message space.
const SETUP_TAG: i32 = 1 << 20;

static GROUPS: Mutex<Vec<Option<Arc<Group>>>> = Mutex::new(Vec::new());
static DEFAULT: AtomicI32 = AtomicI32::new(WORLD);

fn groups() -> MutexGuard<'static, Vec<Option<Arc<Group>>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on there is the group of all.
pub(crate) fn open(world: Arc<Group>) {
    *groups() = vec![Some(world)];
    DEFAULT.store(WORLD, Ordering::Relaxed);
}

/// There are no groups any more.
pub(crate) fn close() {
    let groups = std::mem::take(&mut *groups());
    groups.iter().flatten().for_each(|group| group.forget_failed_calls());
}

/// A group by its number.
///
/// # Errors
/// There is none.
pub fn find(number: i32) -> Result<Arc<Group>> {
    let groups = groups();
    let found = usize::try_from(number).ok().and_then(|at| groups.get(at)?.clone());
    found.ok_or_else(|| argument(format!("group={number} is no group (or was freed)")))
}

/// The number of the default group.
pub fn default_number() -> i32 {
    DEFAULT.load(Ordering::Relaxed)
}

/// Make a group the default.
///
/// # Errors
/// There is no such group.
pub fn set_default(number: i32) -> Result<()> {
    find(number)?;
    DEFAULT.store(number, Ordering::Relaxed);
    Ok(())
}

/// The default group.
///
/// # Errors
/// ARMCI is not initialized.
pub fn default() -> Result<Arc<Group>> {
    job()?;
    find(default_number())
}

/// Make a group of members of `parent`, by their numbers in it; collective over these, while others may call it, too. The new
/// group's number.
///
/// # Errors
/// A number that no member has, or that is there twice.
pub fn create(list: &[i32], parent: &Group) -> Result<i32> {
    let mut members = Vec::with_capacity(list.len());
    for &number in list {
        let peer = usize::try_from(number).ok().and_then(|at| parent.members.get(at));
        let peer = *peer.ok_or_else(|| {
            argument(format!(
                "pid_list has {number}, the parent has {} members",
                parent.size()
            ))
        })?;
        if members.contains(&peer) {
            return Err(argument(format!("pid_list has {number} twice")));
        }
        members.push(peer);
    }
    let ours = parent.me.map(|me| parent.members[me]);
    let me = members.iter().position(|&peer| Some(peer) == ours);
    let context = match me {
        Some(me) => agree_on_context(&members, me)?,
        None => ContextId(0),
    };
    let group = Arc::new(Group::new(members, me, context, ContextId(context.0 + 2)));
    let mut groups = groups();
    let free = groups.iter().position(Option::is_none).unwrap_or(groups.len());
    if free == groups.len() {
        groups.push(None);
    }
    groups[free] = Some(group);
    Ok(free as i32)
}

/// The first member takes numbers from the job's count and tells the others, who wait for it.
fn agree_on_context(members: &[Peer], me: usize) -> Result<ContextId> {
    let world = &job()?.world;
    let link = world.link()?;
    let number = |peer: Peer| world.members.iter().position(|&other| other == peer).unwrap_or(0);
    let mut bytes = [0; 4];
    if me == 0 {
        let first = FIRST_OF_COUNT + enter().take_numbers(4);
        let first = u32::try_from(first).map_err(|_| argument("no context id is left"))?;
        bytes = first.to_ne_bytes();
        // All are told who live, before the first error ends it: they wait for nobody else.
        let told = members[1..]
            .iter()
            .map(|&peer| link.send_among(members, number(peer), SETUP_TAG, &bytes));
        told.fold(Ok(()), Result::and)?;
    } else {
        link.receive_among(members, number(members[0]), SETUP_TAG, &mut bytes)?;
    }
    Ok(ContextId(u32::from_ne_bytes(bytes)))
}

/// Forget a group. Local; the group of all stays.
///
/// # Errors
/// There is no such group, or it is the group of all.
pub fn free(number: i32) -> Result<()> {
    let group = find(number)?;
    if number == WORLD {
        return Err(argument("the group of all processes cannot be freed"));
    }
    group.forget_failed_calls();
    groups()[number as usize] = None;
    let _ = DEFAULT.compare_exchange(number, WORLD, Ordering::Relaxed, Ordering::Relaxed);
    Ok(())
}

/// Are there several groups of the members of this one, in its order?
pub fn is_there_twice(group: &Group) -> bool {
    let groups = groups();
    let same = groups.iter().flatten().filter(|other| other.is_of(&group.members));
    same.count() > 1
}

impl Group {
    /// Of these members, whose number `me` is the calling process; with two neighbouring message spaces, and two more from `team` on, an
    /// even number, as [`Team::new`] has it.
    pub fn new(members: Vec<Peer>, me: Option<usize>, context: ContextId, team: ContextId) -> Self {
        let team = me.map(|me| Team::new(Members::from_peers(members.clone()), me, team));
        Self {
            members,
            me,
            context,
            team,
        }
    }

    /// Nobody asks any more which of its calls have failed.
    fn forget_failed_calls(&self) {
        if let Some(team) = &self.team {
            enter().forget_failed_calls(team.collective_context());
        }
    }

    /// Are its members these, in this order?
    pub(crate) fn is_of(&self, members: &[Peer]) -> bool {
        self.members == members
    }

    /// Members.
    #[inline]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The calling process's number in it.
    #[inline]
    pub fn me(&self) -> Option<usize> {
        self.me
    }

    /// The engine's name of a member.
    #[inline]
    pub fn peer(&self, member: usize) -> Peer {
        self.members[member]
    }

    /// The number of a process in it; `None`: it is no member.
    pub fn number_of(&self, peer: Peer) -> Option<usize> {
        self.members.iter().position(|member| *member == peer)
    }

    /// The number in the group of all of a member.
    ///
    /// # Errors
    /// There is no such member.
    pub fn absolute(&self, member: i32) -> Result<usize> {
        let peer = usize::try_from(member).ok().and_then(|at| self.members.get(at));
        let world = &job()?.world;
        let number = peer.and_then(|peer| world.members.iter().position(|other| other == peer));
        number.ok_or(Error::Process {
            proc: member,
            processes: self.size(),
        })
    }

    /// Its message space, which no other group of the job has.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// For collectives.
    ///
    /// # Errors
    /// The calling process is not a member.
    pub fn link(&self) -> Result<Link<'_>> {
        self.link_in(self.context)
    }

    /// For users' messages.
    ///
    /// # Errors
    /// As for [`link`](Self::link).
    pub fn messages(&self) -> Result<Link<'_>> {
        self.link_in(ContextId(self.context.0 + 1))
    }

    fn link_in(&self, context: ContextId) -> Result<Link<'_>> {
        let me = self
            .me
            .ok_or_else(|| argument("the calling process is not a member of the group"))?;
        let team = self.team.as_deref();
        let team = team.unwrap_or_else(|| unreachable!("members have a team"));
        Ok(Link::new(&self.members, me, context, team))
    }
}
