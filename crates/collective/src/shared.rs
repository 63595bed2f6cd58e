//! Blocking collectives through memory that all ranks of a communicator share.
//!
//! A communicator gets a [`Board`] in its [`WARM_UP`]th blocking collective: one that is hardly used pays nothing. From then
//! on every such call has a number on the board and goes through *steps*. In a step a rank posts what it has for others: in
//! the post itself if it is short, else in memory that the post names: staged, or the user's own ([`lending`]). The others read it there. Nothing is reset and
//! a rank waits only for ranks that have not posted yet, and, now and then, for readers that have not read yet. So a rank may
//! run ahead, and with more ranks than CPUs each is scheduled about once per step.
//!
//! Each post says where its data lies and how long it is, so what one rank decides alone needs no agreement. What ranks
//! must choose alike, which algorithm and how many steps it has, depends on the call's arguments and on what they agreed on
//! with the board. If a rank leaves a call early, since its arguments were wrong or its memory was refused, its mark goes
//! past the call, and ranks that need its posts get an error, not a hang. The next call works again.
//!
//! Messages have nothing to do with the board, and non-blocking collectives have one of their own ([`immediate`](crate::immediate)), so all can
//! be mixed. Algorithms for both are one text, compiled [`twice`](isthmus_twice::twice): for calls that wait for what others
//! post, and for calls that look for it when they are [polled](crate::polling).

mod awaiting;
pub mod direct;
mod exchange;
pub mod fold;
pub mod immediates;
mod lending;
pub mod personal;
pub mod setup;
pub mod slices;
pub mod units;

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use isthmus_engine::rules::Rule;
use isthmus_engine::{Board, LONGEST, Step, enter, is_oversubscribed, wait_until};
use isthmus_os::switches::Switch;

use immediates::Immediates;
use lending::Lenders;
use lending::Loan;
use setup::Setup;

use crate::error::{Error, Result};
use crate::fail;
use crate::layout::Layout;
use crate::link::{Incoming, Link, Outgoing};
use crate::team::Team;
use crate::traits::Traits;

/// Calls by messages before there is a board.
const WARM_UP: u32 = 3;
/// Ranks that a board is for.
pub const MOST_RANKS: usize = isthmus_engine::MOST_MEMBERS;
/// Bytes of a long contribution that cross in one step where nothing is gained by shorter ones. The longest piece of staged
/// memory has room for them and what stands before them.
pub const LONG: usize = 256 << 10;
/// Elements of more bytes are not combined in shared memory.
const LARGEST_ELEMENT: usize = 4 << 10;

/// The same among so many ranks: where each gets a part of a post, there is room for an element in it.
pub fn largest_element(ranks: usize) -> usize {
    // A part has an entry in a table before it, begins at a line, and the last one may have one element more.
    const BESIDES: usize = 80;
    LARGEST_ELEMENT.min(LONGEST / ranks.max(1) - BESIDES)
}

/// Shared control of one communicator.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Calls before there was a board: the same on every rank.
    calls_before: AtomicU32,
    /// `None` inside: there is no memory for it.
    board: OnceLock<Option<Agreed>>,
    /// Calls since: the same on every rank.
    calls: AtomicU64,
    /// Non-blocking calls.
    pub(crate) immediates: Immediates,
    /// Where its ranks are, if somebody made the machine up.
    declared: OnceLock<Option<Arc<Layout>>>,
    /// Where they really are, if nobody did: known, once all have come together for the board.
    found: OnceLock<Layout>,
}

impl Drop for Control {
    /// What others have staged for us is theirs again.
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Control {
    /// No call on it can go well any more.
    pub(crate) fn give_up(&self) {
        if let Some(Some(agreed)) = self.board.get() {
            agreed.board.give_up();
        }
        self.immediates.give_up();
    }

    /// Where the ranks of `team`, which this is the control of, are, if all know that.
    #[inline]
    pub fn layout(&self, team: &Team) -> Option<&Layout> {
        match self.declared.get_or_init(|| declare(team)) {
            Some(layout) => Some(layout),
            None => self.found.get(),
        }
    }

    /// The same, for calls that need not be in the same order everywhere as those that make the board.
    pub fn declared(&self, team: &Team) -> Option<Arc<Layout>> {
        self.declared.get_or_init(|| declare(team)).clone()
    }

    /// Are its ranks on several nodes?
    pub(crate) fn has_nodes(&self, team: &Team) -> bool {
        let declared = self.declared.get_or_init(|| declare(team));
        declared.as_ref().is_some_and(|layout| layout.nodes().len() > 1)
    }
}

/// Where the ranks are on a machine that somebody made up: all know that without asking.
fn declare(team: &Team) -> Option<Arc<Layout>> {
    if team.is_inter() || team.size() < 2 {
        return None;
    }
    let place = |rank| isthmus_engine::declared(team.peer(rank)?);
    let places: Option<Vec<_>> = (0..team.size()).map(place).collect();
    places.map(|places| Arc::new(Layout::new(&places)))
}

/// What ranks have agreed on.
#[derive(Debug)]
pub struct Agreed {
    board: Arc<Board>,
    /// What calls on it can do besides.
    traits: Traits,
}

impl Agreed {
    pub fn new((board, traits): (Board, Traits)) -> Self {
        let board = Arc::new(board);
        Self { board, traits }
    }
}

/// The board, as one call uses it. When it is dropped, the call is over.
///
/// To the algorithms that go through it, it is the link: what they ask for happens at once, whatever the form of the call.
pub struct Access<'a> {
    board: &'a Arc<Board>,
    traits: Traits,
    call: u64,
    /// The step to take next.
    next: Cell<Step>,
    team: &'a Team,
    scope: Scope,
    /// What all ranks take in this call does not stay in a cache.
    floods: Cell<bool>,
    /// Memory of the user that is lent.
    lent: Cell<Option<Loan>>,
    /// Ranks that have lent us some.
    lenders: Lenders,
    /// The first one. Boxed, since calls are handed about, and have none.
    fault: Cell<Option<Box<Error>>>,
}

/// What a board is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Blocking calls.
    All,
    /// Blocking calls of the ranks of one node, of several.
    Node,
    /// Calls completed by requests.
    Requests,
}

/// The board of `team`, if it has one. The call that makes it has none yet.
#[inline(always)] // As for `Call::new`.
pub fn begin(team: &Team) -> Result<Option<Access<'_>>> {
    match team.shared.board.get() {
        Some(Some(agreed)) => {
            // Calls on one communicator follow each other, so there is nobody to race with.
            let calls = &team.shared.calls;
            let number = calls.load(Ordering::Relaxed) + 1;
            calls.store(number, Ordering::Relaxed);
            let scope = match agreed.board.members() < team.size() as usize {
                true => Scope::Node,
                false => Scope::All,
            };
            Ok(Some(Access::new(agreed, team, number, scope)))
        }
        Some(None) => Ok(None),
        None => warm_up(team).map(|()| None),
    }
}

#[cold]
fn warm_up(team: &Team) -> Result<()> {
    let control = &team.shared;
    if team.is_inter() || control.calls_before.fetch_add(1, Ordering::Relaxed) + 1 != WARM_UP {
        return Ok(());
    }
    let members: Vec<usize> = match control.layout(team) {
        Some(layout) if layout.nodes().len() > 1 => {
            let own = layout.node(layout.node_of(team.rank() as usize));
            own.iter().map(|rank| *rank as usize).collect()
        }
        _ => (0..team.size() as usize).collect(),
    };
    if (2..=MOST_RANKS).contains(&members.len()) {
        let is_for_all = members.len() == team.size() as usize;
        let mut setup = Setup::begin(&mut enter(), team, members, false);
        let board = wait_until(|inside| setup.advance(inside, team))??;
        if is_for_all && board.is_some() && control.layout(team).is_none() {
            // All have come, so all find the same.
            let mut inside = enter();
            let locality = |member| inside.locality_of(team.peer(member)?);
            let localities: Option<Vec<_>> = (0..team.size()).map(locality).collect();
            if let Some(localities) = localities {
                let _ = control.found.set(Layout::new(&localities));
            }
        }
        // Calls follow each other, so nobody else does this.
        let _ = control.board.set(board.map(Agreed::new));
    }
    Ok(())
}

impl<'a> Access<'a> {
    /// As the call with this number uses it.
    #[inline]
    pub fn new(agreed: &'a Agreed, team: &'a Team, call: u64, scope: Scope) -> Self {
        Self {
            board: &agreed.board,
            traits: agreed.traits,
            call,
            next: Cell::new(Step::first_of(call)),
            team,
            scope,
            floods: Cell::new(false),
            lent: Cell::new(None),
            lenders: Lenders::default(),
            fault: Cell::new(None),
        }
    }

    /// What the call can do besides, as all ranks agreed when they came by the board.
    #[inline]
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// Is it for the ranks of one node, of several?
    #[inline]
    pub fn is_of_node(&self) -> bool {
        self.scope == Scope::Node
    }

    /// Does the call go on inside the engine, where there is no user code?
    #[inline]
    pub fn is_of_request(&self) -> bool {
        self.scope == Scope::Requests
    }

    /// How the call will fail although it went on.
    #[inline]
    pub fn take_fault(&self) -> Option<Error> {
        self.fault.take().map(|fault| *fault)
    }

    /// Each rank takes so many bytes from the others in this call. If that is half of the last cache in all, it is stored past
    /// the caches: what is shown would be driven out of them by it (docs/decisions/0007).
    pub fn announce_taking(&self, bytes: usize) {
        let all = (bytes as u64).saturating_mul(self.board.members() as u64);
        self.floods
            .set(Rule::Floods.holds() && isthmus_engine::passes_caches(all / 2));
    }

    /// The next step of the call. All ranks take the same steps.
    #[inline]
    pub fn step(&self) -> Step {
        let step = self.next.get();
        self.next.set(step.next());
        step
    }

    /// We are done with all steps up to this one, and have read all that we will of them.
    #[inline]
    pub fn finish(&self, step: Step) {
        // Most calls have one step, whose end is soon told by the call's; and nobody needs the room of the first so early.
        if !step.is_first() {
            self.tell(step.next());
        }
    }

    /// We are done with all steps before this one.
    #[inline]
    fn tell(&self, step: Step) {
        match self.scope {
            Scope::Requests => self.team.shared.immediates.note(self.call, Some(step)),
            _ => self.finish_before(step),
        }
    }

    #[inline]
    fn finish_before(&self, step: Step) {
        self.board.finish_before(step);
        self.board.ring_all();
    }

    /// Bytes that cross in one step of a contribution of `total` bytes that some wait for while others write: with a CPU for
    /// each rank short steps overlap copying in and out, while each takes a hand-over; without, each step costs switches.
    #[inline]
    pub fn segment(&self, total: usize) -> usize {
        match is_oversubscribed() {
            true => LONG,
            false => (total / 4).next_multiple_of(4 << 10).clamp(16 << 10, 128 << 10),
        }
    }
}

impl Link for Access<'_> {
    #[inline]
    fn rank(&self) -> usize {
        self.board.me()
    }

    #[inline]
    fn size(&self) -> usize {
        self.board.members()
    }

    fn remote_size(&self) -> usize {
        0
    }

    #[cold]
    fn fault(&self, error: Error) {
        let first = self.fault.take();
        self.fault.set(Some(first.unwrap_or_else(|| Box::new(error))));
    }

    fn shared(&self) -> Option<&Access<'_>> {
        Some(self)
    }

    unsafe fn transfer(&self, _: &[Incoming], _: &[Outgoing]) -> Result<()> {
        Err(fail!(Intern, "there are no messages through shared memory"))
    }
}

impl Drop for Access<'_> {
    #[inline]
    fn drop(&mut self) {
        self.withdraw();
        let is_broken = Switch::Faults.is_on() && self.team.is_broken();
        match self.scope {
            Scope::Requests if is_broken => self.team.shared.immediates.give_up(),
            Scope::Requests => self.team.shared.immediates.note(self.call, None),
            _ if is_broken => self.board.give_up(),
            _ => self.finish_before(Step::first_of(self.call + 1)),
        }
    }
}
