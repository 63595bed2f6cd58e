//! Windows whose members are on several nodes: what an origin would do to the part of a member that it does not share memory with, the
//! member does for it when it is asked by an active message (`isthmus_engine::rma::ask`).
//!
//! | asked | done by the member | answered |
//! |---|---|---|
//! | post, complete | the count of the pair is raised | no |
//! | met | the count of another node's leader is raised (`fence.rs`) | no |
//! | lock | taken for the origin | once it is |
//! | unlock | given back | yes: a member that has freed the window afterwards is asked nothing |
//! | directory | none | with the keys of what is attached |
//! | record | an access is compared with the member's list, and added (`record.rs`) | with what it conflicts with |
//! | forget | accesses of the origin are taken out of the list | yes: others may come after it then |
//! | barrier round | none | with the calls by which members of its node have reached it (`check.rs`) |
//!
//! Puts complete before later requests: what one origin asks of a member is done in its order.

use std::collections::HashMap;
use std::mem::transmute;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_engine::rma::{self, Layer, RegionKey, Served};
use isthmus_engine::{Peer, ProgressThread, enter};

use super::check::{self, MemberRound};
use super::control::{MemberPart, OwnPart, Plan};
use super::epoch::{EXCLUSIVE, SHARED};
use super::general::raise;
use super::lock::Lock;
use super::record::{self, Conflict, Deed};
use super::{Win, dynamic};
use crate::error::Result;
use crate::fail;
use crate::group::Group;
use crate::ledger::List;

/// How the members of a window are on nodes.
#[derive(Debug)]
pub(super) struct Away {
    /// Of each node the first member.
    pub leaders: Vec<usize>,
    /// Our node's place among them.
    pub node: usize,
    /// So that a member that computes delays nobody, once the window is made.
    pub thread: Option<ProgressThread>,
}

impl Away {
    /// `None`: all are on one node.
    pub fn of(group: &Group, rank: usize) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut leaders = Vec::new();
        let node_of = |member: usize| group.peer(member as i32).map(rma::node_of);
        for member in 0..group.size() as usize {
            let node = node_of(member);
            if !nodes.contains(&node) {
                nodes.push(node);
                leaders.push(member);
            }
        }
        let own = node_of(rank);
        let node = nodes.iter().position(|node| *node == own)?;
        (leaders.len() > 1).then_some(Self {
            leaders,
            node,
            thread: None,
        })
    }
}

impl Away {
    /// The leaders of other nodes.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        let own = self.node;
        let leaders = self.leaders.iter().enumerate();
        leaders.filter(move |(node, _)| *node != own).map(|(_, leader)| *leader)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum What {
    Post = 1,
    Complete = 2,
    Met = 3,
    Lock = 4,
    Unlock = 5,
    Directory = 6,
    Record = 7,
    Forget = 8,
    ForgetDone = 9,
    BarrierRound = 10,
}

const WHATS: [What; 10] = [
    What::Post,
    What::Complete,
    What::Met,
    What::Lock,
    What::Unlock,
    What::Directory,
    What::Record,
    What::Forget,
    What::ForgetDone,
    What::BarrierRound,
];

/// What, the number of the part, who asks, and a number that depends. The bytes of an access follow: where each piece begins, and ends.
type Message = [u32; 4];
const BYTES: usize = size_of::<Message>();
const PIECE: usize = 16;
const KEY: usize = size_of::<RegionKey>();

/// A part of this process that members on other nodes ask for.
#[derive(Debug, Clone)]
struct Known {
    part: MemberPart,
    plan: Plan,
    group: Arc<Group>,
    rank: usize,
    /// The members on this node.
    here: Arc<[(usize, MemberPart)]>,
}

static KNOWN: Mutex<Option<HashMap<u32, Known>>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<HashMap<u32, Known>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on others may ask for this part.
pub(super) fn open(own: OwnPart, plan: Plan, group: &Arc<Group>, rank: usize) {
    let part = Known {
        part: own.part,
        plan,
        group: Arc::clone(group),
        rank,
        here: Arc::default(),
    };
    known().get_or_insert_default().insert(own.number, part);
}

/// The members on this node are these. Before the first barrier round.
pub(super) fn introduce(own: OwnPart, here: impl Iterator<Item = (usize, MemberPart)>) {
    if let Some(part) = known().as_mut().and_then(|known| known.get_mut(&own.number)) {
        part.here = here.collect();
    }
}

/// Nobody asks for it any more.
pub(super) fn close(own: OwnPart) {
    if let Some(known) = known().as_mut() {
        known.remove(&own.number);
    }
}

/// Do what a member on another node asks.
pub fn handle(from: Peer, data: &[u8]) -> Served {
    let Some((head, rest)) = data.split_first_chunk::<BYTES>() else {
        return Served::Refused;
    };
    // SAFETY: as many bytes; any bits are numbers.
    let [what, number, origin, value]: Message = unsafe { transmute(*head) };
    let Some(what) = WHATS.into_iter().find(|known| *known as u32 == what) else {
        return Served::Refused;
    };
    let Some(own) = known().as_ref().and_then(|known| known.get(&number).cloned()) else {
        return Served::Refused;
    };
    let origin = origin as usize;
    if origin >= own.group.size() as usize || own.group.peer(origin as i32) != Some(from) {
        return Served::Refused;
    }
    let (pieces, odd) = rest.as_chunks::<PIECE>();
    let takes_pieces = matches!(what, What::Record | What::ForgetDone);
    if !odd.is_empty() || !pieces.is_empty() && !takes_pieces {
        return Served::Refused;
    }
    own.serve(what, origin, value, &pieces.iter().map(piece).collect::<List>())
}

/// A piece of an access, as it is told.
fn piece(bytes: &[u8; PIECE]) -> (u64, u64) {
    // SAFETY: as many bytes; any bits are numbers.
    let [from, to] = unsafe { transmute::<[u8; PIECE], [u64; 2]>(*bytes) };
    (from, to)
}

impl Known {
    fn serve(&self, what: What, origin: usize, value: u32, pieces: &[(u64, u64)]) -> Served {
        let (part, plan) = (&self.part, self.plan);
        let lock = Lock {
            part: self.part,
            plan,
            group: &self.group,
            owner: self.rank,
            me: self.rank,
        };
        match what {
            What::Post => raise(part.posts(plan, origin)),
            What::Complete => raise(part.completes(plan, origin)),
            // SYNC: window-count
            What::Met => part.leader(plan, origin).store(value, Ordering::Release),
            What::Lock => {
                // SYNC: window-waiters
                let (waiters, bit) = part.waiter(self.rank);
                waiters.fetch_or(bit, Ordering::SeqCst);
                let is_dead = |member: usize| self.group.peer(member as i32).is_some_and(rma::has_died);
                let take_over = || lock.take_over(is_dead, || format!("a window of {} ranks", self.group.size()));
                let got = match u8::try_from(value) {
                    Ok(SHARED) => lock.try_shared(origin) || take_over() && lock.try_shared(origin),
                    Ok(EXCLUSIVE) => {
                        (lock.is_taken_by(origin)
                            || lock.try_exclusive(origin)
                            || take_over() && lock.try_exclusive(origin))
                            && lock.is_alone(is_dead)
                    }
                    _ => return Served::Refused,
                };
                if !got {
                    return Served::Later;
                }
            }
            What::Unlock => match u8::try_from(value) {
                Ok(EXCLUSIVE) if !lock.is_taken_by(origin) => return Served::Refused,
                Ok(how @ (SHARED | EXCLUSIVE)) => lock.release(origin, how),
                _ => return Served::Refused,
            },
            What::Directory => {
                let Some((_, keys)) = dynamic::read(part) else {
                    return Served::Later;
                };
                let mut answer = (keys.len() as u32).to_ne_bytes().to_vec();
                for key in keys.into_iter().take(value as usize) {
                    // SAFETY: a key is plain data of that size, without holes.
                    answer.extend(unsafe { transmute::<RegionKey, [u8; KEY]>(key) });
                }
                return Served::Done(answer);
            }
            What::Record | What::Forget | What::ForgetDone => {
                let is_dead = |member: usize| self.group.peer(member as i32).is_some_and(rma::has_died);
                let held = match record::list_briefly(part, self.rank, is_dead) {
                    Some(Some(held)) => held,
                    // Nothing is compared.
                    Some(None) => return Served::Done(Vec::new()),
                    None => return Served::Later,
                };
                match what {
                    What::Record => {
                        let conflict = held.add(origin, pieces, Deed::of(value));
                        return Served::Done(conflict.map_or_else(Vec::new, |conflict| conflict.to_bytes().to_vec()));
                    }
                    What::Forget => held.forget(origin),
                    _ => held.forget_done(origin, pieces, Deed::of(value)),
                }
            }
            What::BarrierRound => {
                let come = check::rounds(self.here.iter().copied(), value);
                return Served::Done(come.into_iter().flat_map(MemberRound::to_bytes).collect());
            }
        }
        Served::Done(Vec::new())
    }
}

impl Win {
    /// The message to a member on another node, and who that is.
    fn message(&self, member: usize, what: What, value: u32) -> (Peer, [u8; BYTES]) {
        let (number, ..) = self
            .seats
            .away(member)
            .unwrap_or_else(|| unreachable!("members of this node are reached by memory"));
        let peer = self
            .group
            .peer(member as i32)
            .unwrap_or_else(|| unreachable!("seats are those of members"));
        let message: Message = [what as u32, number, self.rank() as u32, value];
        // SAFETY: numbers are plain data.
        (peer, unsafe { transmute::<Message, [u8; BYTES]>(message) })
    }

    fn tell(&self, member: usize, what: What, value: u32) -> Result<()> {
        let (peer, message) = self.message(member, what, value);
        Ok(rma::tell(Layer::Windows, peer, &message)?)
    }

    fn ask(&self, member: usize, what: What, value: u32, longest: usize) -> Result<Vec<u8>> {
        let (peer, message) = self.message(member, what, value);
        self.answered(rma::ask(Layer::Windows, peer, &message, longest))
    }

    fn answered(&self, answer: isthmus_engine::Result<Vec<u8>>) -> Result<Vec<u8>> {
        answer.map_err(|error| {
            // A member that has seen a failure may have left the window before we have heard of either.
            let is_refused = matches!(error, isthmus_engine::Error::Refused { .. });
            let broken = || {
                let mut inside = enter();
                inside.learn();
                self.check_whole(&mut inside).err()
            };
            is_refused.then(broken).flatten().unwrap_or_else(|| error.into())
        })
    }

    /// An origin on another node may access our memory.
    pub(super) fn post_away(&self, origin: usize) -> Result<()> {
        self.tell(origin, What::Post, 0)
    }

    /// A target on another node has been accessed.
    pub(super) fn complete_away(&self, target: usize) -> Result<()> {
        self.tell(target, What::Complete, 0)
    }

    /// The leader of another node learns that this one has come to a fence.
    pub(super) fn tell_met(&self, leader: usize, turn: u32) -> Result<()> {
        self.tell(leader, What::Met, turn)
    }

    /// Get the lock of a target on another node.
    pub(super) fn acquire_away(&self, target: usize, how: u8) -> Result<()> {
        match how {
            SHARED | EXCLUSIVE => self.ask(target, What::Lock, u32::from(how), 0).map(drop),
            _ => Ok(()),
        }
    }

    /// Give it back.
    pub(super) fn release_away(&self, target: usize, how: u8) -> Result<()> {
        match how {
            SHARED | EXCLUSIVE => self.ask(target, What::Unlock, u32::from(how), 0).map(drop),
            _ => Ok(()),
        }
    }

    /// Have a member on another node compare an access to its memory with those that it knows, and keep it: what it conflicts with.
    pub(super) fn record_away(&self, member: usize, deed: Deed, pieces: &[(u64, u64)]) -> Result<Option<Conflict>> {
        let answer = self.ask_about(member, What::Record, deed.word(), pieces, Conflict::BYTES)?;
        Ok(Conflict::of(&answer))
    }

    /// Have it forget an access of ours that is over.
    pub(super) fn forget_done_away(&self, member: usize, deed: Deed, pieces: &[(u64, u64)]) -> Result<()> {
        self.ask_about(member, What::ForgetDone, deed.word(), pieces, 0)
            .map(drop)
    }

    /// Have it forget all of ours.
    pub(super) fn forget_away(&self, member: usize) -> Result<()> {
        self.ask(member, What::Forget, 0, 0).map(drop)
    }

    /// The calls by which members of another node have reached barrier round `turn`, as their leader sees them; nothing if it has left the window.
    pub(super) fn rounds_away(&self, leader: usize, turn: u32) -> Result<Vec<MemberRound>> {
        let (peer, message) = self.message(leader, What::BarrierRound, turn);
        match rma::ask(Layer::Windows, peer, &message, 2 * MemberRound::BYTES) {
            Ok(answer) => Ok(answer.as_chunks().0.iter().map(MemberRound::of).collect()),
            Err(isthmus_engine::Error::Refused { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    fn ask_about(
        &self,
        member: usize,
        what: What,
        value: u32,
        pieces: &[(u64, u64)],
        longest: usize,
    ) -> Result<Vec<u8>> {
        let (peer, message) = self.message(member, what, value);
        let mut message = message.to_vec();
        for &(from, to) in pieces {
            message.extend(from.to_ne_bytes());
            message.extend(to.to_ne_bytes());
        }
        self.answered(rma::ask(Layer::Windows, peer, &message, longest))
    }

    /// What a member on another node has attached.
    pub(super) fn directory_away(&self, member: usize) -> Result<Vec<RegionKey>> {
        let mut room = 16;
        loop {
            let answer = self.ask(member, What::Directory, room as u32, 4 + room * KEY)?;
            let Some((count, rest)) = answer.split_first_chunk::<4>() else {
                return Err(fail!(Intern, "rank {member} tells nothing of what it has attached"));
            };
            let count = u32::from_ne_bytes(*count) as usize;
            if count > room {
                room = count + 16;
                continue;
            }
            let (keys, _) = rest.as_chunks::<KEY>();
            // SAFETY: any bits are a key, which is checked when it is used.
            return Ok(keys
                .iter()
                .map(|key| unsafe { transmute::<[u8; KEY], RegionKey>(*key) })
                .collect());
        }
    }
}
