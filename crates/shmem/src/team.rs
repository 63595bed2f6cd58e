//! Teams: PEs in an order, with a board of their own (OpenSHMEM 1.6, "Team Management Routines").

use std::ffi::{c_int, c_long};
use std::sync::{Mutex, PoisonError};

use isthmus_collective::symmetric::{Board, Terms, bytes_for};
use isthmus_collective::{Members, Team as Messages};
use isthmus_engine::{ContextId, Peer, enter, symmetric};

use crate::call::Call;
use crate::context;
use crate::handle::Table;
use crate::job::{Job, job};
use crate::order;

/// `shmem_team_config_t`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TeamConfig {
    /// Contexts that the program wants to make of the team at a time.
    pub num_contexts: c_int,
}

/// In a mask: [`TeamConfig::num_contexts`] counts.
const NUM_CONTEXTS: c_long = 1;

/// `shmem_team_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct TeamHandle(usize);

impl TeamHandle {
    /// `SHMEM_TEAM_INVALID`
    pub const INVALID: Self = Self(0);
    /// `SHMEM_TEAM_WORLD`
    pub const WORLD: Self = Self(1);
    /// `SHMEM_TEAM_SHARED`: the PEs of this node.
    pub const SHARED: Self = Self(2);

    /// The team of a handle. One that names no team ends the job.
    #[inline]
    pub fn find(self, call: Call) -> &'static Team {
        match TEAMS.find(self.0) {
            Some(team) => team,
            None => self.refuse(call),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(self, call: Call) -> ! {
        match self {
            Self::INVALID => call.refuse("team=SHMEM_TEAM_INVALID"),
            Self(value) => call.refuse(format!(
                "team={value:#x} is not a team: it never was one, or has been destroyed"
            )),
        }
    }
}

/// A team.
#[derive(Debug)]
pub struct Team {
    members: Box<[u32]>,
    me: usize,
    config: TeamConfig,
    /// The board of its members.
    board: TeamBoard,
    /// What its memory is called, if it has some of its own.
    key: u64,
}

/// The board of a team.
#[derive(Debug)]
enum TeamBoard {
    World,
    Node,
    Own(Board),
}

static TEAMS: Table<Team> = Table::new();
/// First index of teams that programs make.
const FIRST: usize = 3;

/// Memory of teams that are no more and that we had named: (members, key, rounds so far).
static SPARE: Mutex<Vec<(usize, u64, u64)>> = Mutex::new(Vec::new());

/// In keys of memory: a team's.
const OF_TEAM: u64 = 0x5348_0001 << 32;

impl Team {
    /// Its PEs, of the world.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The board of its members.
    pub fn board<'a>(&'a self, job: &'a Job) -> &'a Board {
        match &self.board {
            TeamBoard::World => &job.world,
            TeamBoard::Node => job.node.as_ref().unwrap_or(&job.world),
            TeamBoard::Own(board) => board,
        }
    }

    /// The PE of the world that is `pe` here.
    #[inline]
    pub fn pe(&self, job: &Job, call: Call, pe: c_int) -> u32 {
        match self.members.get(pe.cast_unsigned() as usize) {
            Some(&pe) => pe,
            None => job.refuse_pe(call, pe, self.members.len()),
        }
    }

    /// All of the world, in its order?
    pub fn is_world(&self) -> bool {
        matches!(self.board, TeamBoard::World)
    }
}

/// The predefined teams exist from now on.
pub fn open(job: &Job) {
    let boards = match job.node {
        None => [(1, TeamBoard::World), (2, TeamBoard::World)],
        Some(_) => [(1, TeamBoard::World), (2, TeamBoard::Node)],
    };
    for (first, which) in boards {
        let board = match (&which, &job.node) {
            (TeamBoard::Node, Some(node)) => node,
            _ => &job.world,
        };
        let team = Team {
            members: board.members().into(),
            me: board.me(),
            config: TeamConfig {
                num_contexts: c_int::MAX,
            },
            board: which,
            key: 0,
        };
        TEAMS.insert(Box::new(team), first);
    }
}

/// No team exists any more.
pub fn close() {
    for handle in TEAMS.handles() {
        TEAMS.remove(handle);
    }
}

/// `shmem_team_my_pe`: -1 for `SHMEM_TEAM_INVALID`.
///
/// # Safety
/// None is needed.
pub unsafe fn team_my_pe(call: Call, team: TeamHandle) -> c_int {
    if team == TeamHandle::INVALID {
        return -1;
    }
    team.find(call).me as c_int
}

/// `shmem_team_n_pes`: -1 for `SHMEM_TEAM_INVALID`.
///
/// # Safety
/// None is needed.
pub unsafe fn team_n_pes(call: Call, team: TeamHandle) -> c_int {
    if team == TeamHandle::INVALID {
        return -1;
    }
    team.find(call).members.len() as c_int
}

/// `shmem_team_get_config`
///
/// # Safety
/// `config` must be writable, or null.
pub unsafe fn team_get_config(call: Call, team: TeamHandle, config_mask: c_long, config: *mut TeamConfig) -> c_int {
    if team == TeamHandle::INVALID {
        return -1;
    }
    let found = team.find(call).config;
    // SAFETY: the caller's promise.
    if let Some(config) = unsafe { config.as_mut() }
        && config_mask & NUM_CONTEXTS != 0
    {
        *config = found;
    }
    0
}

/// `shmem_team_translate_pe`: -1 if the PE is not in the other team, or a team is invalid.
///
/// # Safety
/// None is needed.
pub unsafe fn team_translate_pe(call: Call, src_team: TeamHandle, src_pe: c_int, dest_team: TeamHandle) -> c_int {
    if src_team == TeamHandle::INVALID || dest_team == TeamHandle::INVALID {
        return -1;
    }
    let (from, to) = (src_team.find(call), dest_team.find(call));
    let Some(pe) = from.members.get(src_pe.cast_unsigned() as usize) else {
        return -1;
    };
    to.members
        .iter()
        .position(|member| member == pe)
        .map_or(-1, |index| index as c_int)
}

/// The parent's members that a triplet names, in its order; `None`: it names none, or others.
fn strided(parent: &Team, start: c_int, stride: c_int, size: c_int) -> Option<Vec<usize>> {
    if size < 1 || (stride == 0 && size != 1) {
        return None;
    }
    let indexes = (0..i64::from(size)).map(|index| i64::from(start) + index * i64::from(stride));
    let last = i64::from(start) + (i64::from(size) - 1) * i64::from(stride);
    let within = 0..parent.size() as i64;
    (within.contains(&i64::from(start)) && within.contains(&last))
        .then(|| indexes.map(|index| index as usize).collect())
}

/// `shmem_team_split_strided`
///
/// # Safety
/// `config` must be readable if the mask says so, and `new_team` writable.
pub unsafe fn team_split_strided(
    call: Call,
    parent_team: TeamHandle,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const TeamConfig,
    config_mask: c_long,
    new_team: *mut TeamHandle,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { new_team.write(TeamHandle::INVALID) };
    if parent_team == TeamHandle::INVALID {
        return -1;
    }
    let job = job(call);
    let parent = parent_team.find(call);
    let triplet = [start, stride, size].map(|value| u64::from(value.cast_unsigned()));
    let agreed = triplet
        .iter()
        .fold(0, |mixed: u64, value| mixed.rotate_left(21) ^ value);
    let members = strided(parent, start, stride, size);
    // SAFETY: the caller's promise.
    let config = unsafe { read_config(config, config_mask) };
    let made = split(
        job,
        call,
        parent,
        ("(start, stride, size)", agreed),
        members.as_deref(),
        config,
    );
    match made {
        Ok(team) => {
            // SAFETY: the caller's promise.
            unsafe { new_team.write(team) };
            if members.is_some() { 0 } else { -1 }
        }
        Err(()) => -1,
    }
}

/// # Safety
/// `config` must be readable if the mask says so.
unsafe fn read_config(config: *const TeamConfig, mask: c_long) -> TeamConfig {
    if mask & NUM_CONTEXTS == 0 || config.is_null() {
        return TeamConfig::default();
    }
    // SAFETY: the caller's promise.
    unsafe { *config }
}

/// `shmem_team_split_2d`
///
/// # Safety
/// As for [`team_split_strided`], twice.
pub unsafe fn team_split_2d(
    call: Call,
    parent_team: TeamHandle,
    xrange: c_int,
    xaxis_config: *const TeamConfig,
    xaxis_mask: c_long,
    xaxis_team: *mut TeamHandle,
    yaxis_config: *const TeamConfig,
    yaxis_mask: c_long,
    yaxis_team: *mut TeamHandle,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        xaxis_team.write(TeamHandle::INVALID);
        yaxis_team.write(TeamHandle::INVALID);
    }
    if parent_team == TeamHandle::INVALID {
        return -1;
    }
    if xrange < 1 {
        call.refuse(format!("xrange={xrange} is not positive"));
    }
    let job = job(call);
    let parent = parent_team.find(call);
    let size = parent.size();
    let width = (xrange as usize).min(size);
    let (x, y) = (parent.me % width, parent.me / width);
    let row: Vec<usize> = (y * width..size.min((y + 1) * width)).collect();
    let column: Vec<usize> = (x..size).step_by(width).collect();
    // SAFETY: the caller's promise.
    let configs = unsafe {
        [
            read_config(xaxis_config, xaxis_mask),
            read_config(yaxis_config, yaxis_mask),
        ]
    };
    let agreed = ("xrange", xrange as u64);
    let first = split(job, call, parent, agreed, Some(&row), configs[0]);
    let second = split(job, call, parent, agreed, Some(&column), configs[1]);
    match (first, second) {
        (Ok(first), Ok(second)) => {
            // SAFETY: the caller's promise.
            unsafe {
                xaxis_team.write(first);
                yaxis_team.write(second);
            }
            0
        }
        _ => -1,
    }
}

/// Make teams of the parent's members, together with all of them; each names the members of the team that it will be in, or of one
/// that it will not be in. What we get; `Err`: somebody could not.
fn split(
    job: &Job,
    call: Call,
    parent: &Team,
    argument: (&'static str, u64),
    members: Option<&[usize]>,
    config: TeamConfig,
) -> Result<TeamHandle, ()> {
    let me = members.and_then(|members| members.iter().position(|&member| member == parent.me));
    let ours = members.filter(|_| me.is_some());
    let all = |members: &[usize]| -> Box<[u32]> { members.iter().map(|&member| parent.members[member]).collect() };
    // The first one names the memory, or the message space.
    let memory = match (me, ours) {
        (Some(0), Some(members)) if job.spans_nodes(&all(members)) => context().map(|context| (context, 0)),
        (Some(0), Some(members)) => memory_for(members.len()),
        _ => Some((0, 0)),
    };
    let (key, step) = memory.unwrap_or_default();
    let words = [u64::from(memory.is_some()), key, step];
    let terms = Terms::new(call.into(), argument);
    let round = parent.board(job).round(terms, &words, &[]);
    if !(0..parent.size()).all(|member| round.word(member, 0) == 1) {
        return Err(());
    }
    let made = ours.zip(me).map(|(members, me)| {
        let (key, step) = (round.word(members[0], 1), round.word(members[0], 2));
        let all = all(members);
        let board = match job.spans_nodes(&all) {
            false => Board::named(key, job.bells, all.clone(), me, step).ok()?,
            true => between(job, &all, me, key)?,
        };
        let team = Team {
            members: all,
            me,
            config,
            board: TeamBoard::Own(board),
            key,
        };
        TEAMS.insert(Box::new(team), FIRST).map(TeamHandle)
    });
    let handle = match made {
        None => Some(TeamHandle::INVALID),
        Some(handle) => handle,
    };
    let well = u64::from(handle.is_some());
    let round = parent.board(job).round(terms, &[well], &[]);
    match handle {
        Some(handle) if (0..parent.size()).all(|member| round.word(member, 0) == 1) => Ok(handle),
        Some(handle) => {
            TEAMS.remove(handle.0);
            Err(())
        }
        None => Err(()),
    }
}

/// A message space for a team on several nodes.
pub fn context() -> Option<u64> {
    /// As the first of the job's count, those before are MPI's.
    const FIRST: u64 = 6;
    /// Those from here on are kept for the worlds of models.
    const LAST: u64 = 0xffff_ff00;
    let context = FIRST + enter().take_numbers(2);
    (context < LAST).then_some(context)
}

/// Where the members of a team on several nodes meet, in that message space.
pub fn between(job: &Job, members: &[u32], me: usize, context: u64) -> Option<Board> {
    let context = ContextId(u32::try_from(context).ok()?);
    let members = Members::from_peers(members.iter().map(|&pe| Peer(pe)).collect());
    Some(Board::between_nodes(Messages::new(members, me, context), job.bells))
}

/// Memory for a team of so many: its name, and rounds that others have had there.
fn memory_for(members: usize) -> Option<(u64, u64)> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = spare.iter().position(|&(room, ..)| room == members) {
        let (_, key, step) = spare.swap_remove(index);
        return Some((key, step));
    }
    let key = OF_TEAM | symmetric::unique_number().ok()?;
    symmetric::named(key, bytes_for(members)).ok()?;
    Some((key, 0))
}

/// `shmem_team_destroy`: with the shareable contexts that were made of it.
///
/// # Safety
/// None is needed.
pub unsafe fn team_destroy(call: Call, team: TeamHandle) {
    if team == TeamHandle::INVALID {
        return;
    }
    if team == TeamHandle::WORLD || team == TeamHandle::SHARED {
        call.refuse("a predefined team cannot be destroyed");
    }
    let job = job(call);
    let found = team.find(call);
    order::complete(job, call);
    let terms = Terms::new(call.into(), ("", 0));
    // After the second round nobody needs what was shown at the first, and nobody shows anything at the second.
    found.board(job).round(terms, &[], &[]);
    found.board(job).part(terms);
    context::close_of(team);
    if let Some(team) = TEAMS.remove(team.0)
        && let (0, TeamBoard::Own(board)) = (team.me, &team.board)
        && !job.spans_nodes(&team.members)
    {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push((team.members.len(), team.key, board.step()));
    }
}
