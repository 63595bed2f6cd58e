//! The channel to ranks on other nodes: the same records, in frames of [`isthmus_fabric`].
//!
//! The network stands in for the remote rank. What is written for it goes into a ring in memory, as for a rank of this node; here
//! that ring is read, and what it holds goes out in frames ([`departures`]). A message that nothing is to go before is put into a frame at
//! once. What comes is handed to the same handlers (`engine/remote.rs`). Descriptors of rendezvous, which a receiver on this node would share with the sender, have a stand-in at the
//! receiver. So the parts above know of the network only where they would use shared memory otherwise (docs/decisions/0048).
//!
//! A sender may have so many bytes under way that the receiver has not handled ([`WINDOW`]); the rest waits in the ring, and beyond
//! it in the queues that are there for full rings. Credit comes back in the header of every frame.

mod card;
mod departures;
pub(crate) mod frame;
mod liveness;
mod memory;
mod one_sided;
mod rails;
mod reaching;
pub(crate) mod replay;
mod watch;

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use isthmus_fabric::provider::ProviderFilter;
use isthmus_fabric::{Destination, Endpoint, Exposed, Frame};
use isthmus_os::switches::Switch;
use isthmus_shm::ring::Header;
use isthmus_shm::{Offset, Segment};

use crate::channel::inbound::Inbound;
use crate::channel::outbound::{self, Outbound};
use crate::membership::control::Nonce;
use crate::memory::arena::Arena;
use crate::{Error, Result, counters, tunables};
pub use card::version;
use frame::Seal;
use liveness::Liveness;
pub(crate) use memory::RemoteRead;
use rails::{RAILS, RailLink, Rails};
use reaching::Reaching;
use replay::{Arrivals, Replay};
use watch::Watch;

/// Data of the ring to a peer on another node: of a frame's size, so that few frames carry what a burst of messages is.
pub const RING: u64 = 16 << 10;
/// Longest body of a record that goes into a frame.
pub const LONGEST: usize = (32 << 10) + 64;
/// Bytes of records that may be under way to a peer.
pub const WINDOW: u64 = 512 << 10;

/// So long a rank that leaves tries to send what is to go again since a connection broke, and waits for peers that do not say what has come.
const LAST_TRY: Duration = Duration::from_secs(1);

/// So long it waits until it asks them.
const PARTING_ASKS: Duration = Duration::from_millis(200);

/// Counted with the engine's lock held.
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// How often this process has looked at the network; wraps.
#[inline]
pub fn looks() -> u32 {
    LOOKS.load(Ordering::Relaxed)
}

/// The network, as one rank sees it.
#[derive(Debug)]
pub(crate) struct Network {
    pub endpoint: Endpoint,
    /// Further networks.
    rails: Rails,
    watch: Option<Watch>,
    /// What proves that a frame is of this job.
    pub seal: Seal,
    /// By peer; `None`: on this node, or never talked to.
    pub links: Vec<Option<Box<Link>>>,
    /// Peers with which there is a link.
    pub linked: Vec<u32>,
    /// Peers that may have something to go that could not.
    pub waiting: Vec<u32>,
    /// Peers that were sent to, and of which nobody knows yet whether they can be reached.
    unreached: Vec<u32>,
    /// Stand-ins of peers' descriptors, by their offset.
    pub proxies: HashMap<u64, Proxy>,
    /// Announced messages of ours that their receivers may read, by descriptor: the receiver, and the registration.
    exposed: HashMap<u64, (u32, Exposed)>,
    /// Keys of what will be.
    keys: Vec<u64>,
    /// Regions of ours that peers reach without us, by their number.
    regions: HashMap<u32, Exposed>,
    /// Puts and gets.
    one_sided: Vec<Option<one_sided::Transfer>>,
    /// Announced messages that we read out of their senders' memory.
    pub reads: Vec<Option<RemoteRead>>,
    /// Stand-ins that nobody uses any more.
    pub released: Vec<Offset>,
    /// What peers were told of our room for unmatched payload.
    announce_only: bool,
    /// Since when it has been asked whether everything has left this process, and had not.
    leaves_since: Cell<Option<Instant>>,
    /// Since when this process leaves the job, and whether it has asked peers that do not say what has come.
    parts_since: Option<(Instant, bool)>,
    /// Frames that leave carry a checksum, and memory is not reached without frames.
    pub checks: bool,
    pace: Pace,
    /// When links were looked at, for [`liveness`].
    looked_at: Instant,
    /// How long ago sockets were, and for how many links.
    since_sockets: Duration,
    watched: usize,
}

/// The stand-in of a descriptor of another node's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proxy {
    pub peer: u32,
    /// Where the descriptor lies there.
    pub theirs: u64,
    /// By which the announced message can be read.
    pub key: Option<u64>,
}

/// What there is with one peer.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Where frames go, once it is known.
    pub to: Option<Destination>,
    /// The ring that is written for the peer.
    pub ring: Option<Inbound>,
    /// A frame that is filled and could not go.
    filled: Option<(Frame, usize)>,
    /// Frames that were sent.
    pub replay: Replay,
    /// And those that came.
    pub arrivals: Arrivals,
    /// There is a connection.
    reached: bool,
    /// There was one that has broken, and is made again.
    broken: bool,
    /// When it did.
    broke_at: Option<Instant>,
    /// Frames that had come until then.
    come_before: u64,
    /// What tells that frames are lost that nobody gives back.
    liveness: Liveness,
    /// The state of connecting, before the first connection.
    reaching: Option<Reaching>,
    /// What the provider has taken: frames, and pieces of reads and writes. Wraps.
    begun: u32,
    /// Pieces of reads and writes that are over. Wraps.
    ended: u32,
    /// Bytes of records in frames that were sent.
    pub sent: u64,
    /// Bytes of records that the peer has handled, as it says.
    pub returned: u64,
    /// Bytes of records of the peer's that were handled, and of how many it knows.
    pub handled: u64,
    pub told: u64,
    /// The peer must hear from us, also if there is no record for it.
    pub owes: bool,
    /// Reads that are under way from there, and their bytes.
    reading: (u32, u64),
    /// Pieces of puts and gets that are under way to and from there, and their bytes.
    moving: (u32, u64),
    /// What there is with it on further rails, and which of those it has given up: a bit for each.
    rails: [RailLink; RAILS - 1],
    closed: u32,
    /// Records that wait for a receive, or for memory: see [`Engine::stays`].
    pub held: VecDeque<HeldRecord>,
    /// The way there is closed.
    pub lost: bool,
}

/// A record that came and is not handled yet.
#[derive(Debug)]
pub(crate) struct HeldRecord {
    pub header: Header,
    pub body: Box<[u8]>,
}

/// How often the network is looked at, beside the node.
#[derive(Debug)]
struct Pace {
    engine: ProgressEngine,
    /// Rounds of progress since the last look.
    rounds: u32,
    /// The same since something came from a rank of the node.
    quiet: u32,
    /// The network was the last that was heard.
    heard: bool,
}

/// The tunable `progress_engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressEngine {
    /// Whichever path was heard last is looked at in every round; the network otherwise in one of [`SELDOM`], and in one of [`OFTEN`] once the
    /// node has been quiet for [`QUIET`].
    Adaptive,
    /// Node and network take turns.
    Toggle,
    /// The network in every round.
    Always,
}

/// Rounds in which the node alone is looked at, at most: the bound for a busy node path. A look costs as much as a dozen rounds.
const SELDOM: u32 = 256;
/// A message between neighbours takes fewer rounds.
const QUIET: u32 = 32;
/// A look then takes no more than half of the time.
const OFTEN: u32 = 8;

impl Pace {
    fn new() -> Self {
        let engine = match tunables::PROGRESS_ENGINE.get() {
            Some("toggle") => ProgressEngine::Toggle,
            Some("always") => ProgressEngine::Always,
            _ => ProgressEngine::Adaptive,
        };
        Self {
            engine,
            rounds: 0,
            quiet: 0,
            heard: false,
        }
    }

    /// Is it time to look?
    #[inline]
    fn is_due(&mut self) -> bool {
        self.rounds += 1;
        self.quiet = self.quiet.saturating_add(1);
        let wait = match self.engine {
            ProgressEngine::Always => 1,
            ProgressEngine::Toggle => 2,
            ProgressEngine::Adaptive if self.heard => 1,
            ProgressEngine::Adaptive if self.quiet > QUIET => OFTEN,
            ProgressEngine::Adaptive => SELDOM,
        };
        self.rounds >= wait
    }

    /// The network was looked at, and something had come or not; the node path had something since or not.
    fn looked(&mut self, came: bool) {
        self.rounds = 0;
        self.heard = came || self.heard;
    }

    /// From the next round on it is time to look, whatever was heard.
    fn hurry(&mut self) {
        self.rounds = SELDOM;
    }

    /// Something came from a rank of the node.
    #[inline]
    fn heard_node(&mut self) {
        self.heard = false;
        self.quiet = 0;
    }
}

impl Link {
    /// Must frames go again? Not if they carry nothing but credit to a peer that may have left: they go before the next that does. One that says
    /// that it misses them is there.
    fn must_go_again(&self) -> bool {
        self.replay.repeats() && (!self.broken || self.replay.repeats_records() || self.replay.is_missed())
    }

    /// Need a rank that leaves not wait for what is still to go? Nobody may be left to take it: it is nothing but credit, or the connection
    /// has broken, and was not made again for long since then and since this process began to leave.
    fn is_left(&self, leaves_since: Instant) -> bool {
        let credit = self.filled.as_ref().is_none_or(|(_, length)| *length == frame::HEADER);
        credit && !self.is_written() && !self.replay.repeats_records()
            || self.broken
                && self
                    .broke_at
                    .is_some_and(|at| at.max(leaves_since).elapsed() >= LAST_TRY)
    }

    /// Is there something in the ring that is written for the peer?
    fn is_written(&self) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.ring.is_ready())
    }

    /// Has the peer said that it has handled all that was sent?
    fn is_answered(&self) -> bool {
        self.returned == self.sent
    }
}

impl Network {
    /// Open it, if a rank of the job is on another node. Blocks while libfabric is loaded.
    pub fn open(segment: &'static Segment, me: u32, nonce: Nonce) -> Result<Option<Box<Self>>> {
        if segment.nodes() < 2 {
            return Ok(None);
        }
        let mut networks = rails::networks();
        let further = networks.split_off(networks.len().min(1));
        let wanted = ProviderFilter {
            provider: tunables::FABRIC.get().map(str::to_owned),
            interface: std::env::var("ISTHMUS_NODE_ADDRESS")
                .ok()
                .and_then(|text| text.parse().ok()),
            network: networks.pop(),
        };
        let named = |error: &dyn std::fmt::Display| {
            let host = isthmus_os::host::name();
            Error::Boot(format!("rank {me} on host {host} cannot open the network: {error}"))
        };
        let endpoint = Endpoint::open(&wanted).map_err(|error| named(&error))?;
        let rails = Rails::open(further, &endpoint).map_err(|error| named(&error))?;
        if !card::has_room_for(std::iter::once(endpoint.name()).chain(rails.names())) {
            let what = endpoint.provider();
            return Err(Error::Boot(format!(
                "the addresses of libfabric's provider {what} are longer than there is room for: name fewer networks, if there are several"
            )));
        }
        let mut network = Box::new(Self {
            endpoint,
            rails,
            watch: None,
            seal: Seal::of(nonce),
            links: (0..segment.ranks()).map(|_| None).collect(),
            linked: Vec::new(),
            waiting: Vec::new(),
            unreached: Vec::new(),
            proxies: HashMap::new(),
            exposed: HashMap::new(),
            keys: Vec::new(),
            regions: HashMap::new(),
            one_sided: Vec::new(),
            reads: Vec::new(),
            released: Vec::new(),
            announce_only: false,
            leaves_since: Cell::new(None),
            parts_since: None,
            checks: tunables::NETWORK_CHECKSUM.get() != 0,
            pace: Pace::new(),
            looked_at: Instant::now(),
            since_sockets: Duration::ZERO,
            watched: 0,
        });
        let descriptor = network.descriptor();
        network.watch = descriptor.and_then(|descriptor| Watch::start(descriptor, segment.slot(me).doorbell()));
        Ok(Some(network))
    }

    /// The ring that is written for a peer on another node.
    pub fn connect(&mut self, segment: &'static Segment, arena: &mut Arena, peer: u32) -> Result<Outbound> {
        let (outbound, at) = Outbound::connect_remote(segment, arena, peer)?;
        let memory = outbound::mapped(segment, at, RING).expect("just taken");
        self.link(peer).ring = Some(Inbound::new(at, memory));
        Switch::FirstFrames.turn_on();
        Ok(outbound)
    }

    /// Is it time to look at it? `moved_here`: something has come from a rank of the node.
    pub fn is_due(&mut self, moved_here: bool) -> bool {
        if moved_here {
            self.pace.heard_node();
        }
        self.pace.is_due()
    }

    /// Look at it in the next round of progress.
    pub fn hurry(&mut self) {
        self.pace.hurry();
    }

    /// It was looked at, and something had come or not.
    pub fn looked(&mut self, came: bool) {
        LOOKS.store(LOOKS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        counters::NETWORK_LOOKS.add(1);
        counters::NODE_ROUNDS.add(u64::from(self.pace.rounds.saturating_sub(1).min(SELDOM)));
        self.pace.looked(came);
    }

    pub fn link(&mut self, peer: u32) -> &mut Link {
        let link = &mut self.links[peer as usize];
        if link.is_none() {
            self.linked.push(peer);
        }
        link.get_or_insert_default()
    }

    /// The peer has failed.
    pub fn forget(&mut self, peer: u32) {
        self.waiting.retain(|&other| other != peer);
        self.unreached.retain(|&other| other != peer);
        self.withdraw_all(peer);
        if let Some(link) = self.links[peer as usize].as_mut() {
            link.lost = true;
            link.held.clear();
            link.arrivals.forget();
            link.replay.forget(|buffer| self.endpoint.let_go(buffer));
            if let Some((frame, _)) = link.filled.take() {
                self.endpoint.put_back(frame);
            }
        }
    }

    /// Has everything left this process, as far as anybody can tell?
    pub fn is_quiet(&self) -> bool {
        let leaves_since = self.leaves_since.get().unwrap_or_else(Instant::now);
        let is_left = |peer: &u32| {
            let link = self.links[*peer as usize].as_ref();
            link.is_none_or(|link| link.is_left(leaves_since))
        };
        let is_quiet = self.waiting.iter().all(is_left) && self.endpoint.is_quiet();
        self.leaves_since.set((!is_quiet).then_some(leaves_since));
        is_quiet
    }

    /// This process leaves the job: what it has sent must not be lost with it. Each peer is told what has come, and says so. True: all have what
    /// they were sent, or do not answer for long. To be asked until then.
    pub fn has_parted(&mut self, segment: &'static Segment, me: u32) -> bool {
        let (since, has_asked) = *self.parts_since.get_or_insert_with(|| (Instant::now(), false));
        // At first nobody asks: the answer could meet a process that is no more, and the connection's end overtake what that has said last.
        let asks = !has_asked && since.elapsed() >= PARTING_ASKS;
        self.parts_since = Some((since, has_asked || asks));
        for at in 0..self.linked.len() {
            let peer = self.linked[at];
            let link = self.link(peer);
            let waits = asks && link.replay.has_records();
            if !link.lost && (waits || !link.arrivals.is_told()) {
                link.liveness.ask(waits);
                link.owes = true;
                self.send(segment, me, peer);
            }
        }
        let has_all = |peer: &u32| {
            let link = self.links[*peer as usize].as_ref();
            link.is_none_or(|link| {
                link.lost || !link.replay.has_records() && !link.is_written() && link.filled.is_none()
            })
        };
        let is_over = since.elapsed() >= LAST_TRY || self.linked.iter().all(has_all) && self.endpoint.is_quiet();
        if is_over {
            self.parts_since = None;
        }
        is_over
    }

    /// Before a sleep: must we stay awake? If not, the doorbell will ring when something comes.
    pub fn has_work(&mut self) -> bool {
        // What keeps awake, or ends the sleep, may be of the network.
        self.hurry();
        if self.has_reads_to_start() || self.has_one_sided_to_start() || !self.may_sleep() {
            return true;
        }
        // A watch that is armed first reports earlier events.
        !self.watch.as_ref().is_some_and(Watch::arm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(engine: ProgressEngine, heard: bool) -> Pace {
        Pace {
            engine,
            rounds: 0,
            quiet: 0,
            heard,
        }
    }

    /// Rounds of progress, each of which hears from the node path, until the network is looked at.
    fn rounds_until_due(engine: ProgressEngine) -> u32 {
        let mut pace = pace(engine, true);
        pace.looked(false);
        (1..)
            .find(|_| {
                pace.heard_node();
                pace.is_due()
            })
            .expect("a bound")
    }

    #[test]
    fn a_busy_node_path_does_not_starve_the_network() {
        let rounds = [ProgressEngine::Adaptive, ProgressEngine::Toggle, ProgressEngine::Always].map(rounds_until_due);
        assert_eq!(rounds, [SELDOM, 2, 1]);
    }

    #[test]
    fn a_quiet_node_path_leaves_the_network_its_share() {
        let mut pace = pace(ProgressEngine::Adaptive, false);
        let first = (1..).find(|_| pace.is_due());
        assert_eq!(first, Some(QUIET + 1));
        for _ in 0..3 {
            pace.looked(false);
            assert_eq!((1..).find(|_| pace.is_due()), Some(OFTEN));
        }
        pace.looked(false);
        pace.heard_node();
        assert_eq!(
            (1..).find(|_| pace.is_due()),
            Some(QUIET + 1),
            "it is not quiet any more"
        );
    }

    #[test]
    fn who_slept_or_asks_once_looks_at_the_network_first() {
        for engine in [ProgressEngine::Adaptive, ProgressEngine::Toggle, ProgressEngine::Always] {
            let mut pace = pace(engine, false);
            pace.hurry();
            pace.heard_node();
            assert!(pace.is_due(), "{engine:?}");
        }
    }

    #[test]
    fn the_path_heard_last_is_looked_at_in_every_round() {
        let mut pace = pace(ProgressEngine::Adaptive, false);
        assert!(!pace.is_due());
        pace.looked(true);
        assert!(pace.is_due() && pace.is_due());
        pace.looked(false);
        assert!(pace.is_due(), "nothing else was heard since");
    }

    /// Else a later frame would wait there for that one, and the peer would give up.
    #[test]
    fn credit_goes_again_to_a_peer_that_misses_it() {
        let mut link = Link {
            broken: true,
            ..Link::default()
        };
        let now = Instant::now();
        link.replay.keep(&[0; frame::HEADER], None);
        link.replay.keep(&[0; frame::HEADER], None);
        link.replay.repeat();
        assert!(!link.must_go_again(), "the peer may have left");
        assert!(link.replay.repeat_missing(now) && link.must_go_again());
        link.replay.went();
        assert!(link.must_go_again(), "and what follows it");
        link.replay.went();
        assert!(!link.must_go_again());
        // It has come; later the connection breaks once more.
        assert_eq!(link.replay.acknowledge(1, drop), Some(1));
        link.replay.repeat();
        assert!(!link.must_go_again());
        assert!(link.replay.repeat_missing(now) && link.must_go_again());
        assert_eq!(link.replay.acknowledge(2, drop), Some(2));
        assert!(
            !link.must_go_again() && !link.replay.repeat_missing(now),
            "nothing is kept"
        );
    }

    #[test]
    fn what_came_back_is_tried_for_a_while_after_leaving_began() {
        let now = Instant::now();
        let mut link = Link {
            broken: true,
            broke_at: now.checked_sub(2 * LAST_TRY),
            ..Link::default()
        };
        assert!(link.is_left(now), "there is nothing to go");
        link.replay.keep(&[0; 2 * frame::HEADER], None);
        link.replay.repeat();
        assert!(!link.is_left(now));
        let long_ago = now.checked_sub(LAST_TRY).unwrap_or(now);
        assert!(link.is_left(long_ago), "it was tried for long enough");
        link.broke_at = Some(now);
        assert!(!link.is_left(long_ago), "it has just broken");
    }
}
