//! Several networks between the nodes, each of which is a rail: pieces of long messages, puts and gets go by all of them (docs/decisions/0230).
//!
//! Rail 0 is the network of frames, so their order and replay are those of one endpoint. Each other rail has an endpoint for memory only. What
//! this process exposes is exposed on all of them by the same key, so that announcements and regions say nothing of rails. A piece takes the
//! rail with the fewest bytes under way.
//!
//! A rail that fails, or by which nothing comes for [`RAIL_PATIENCE_US`] while the peer answers by rail 0, is given up for good: its endpoint
//! is closed, every frame says so, and peers close theirs. Only then its pieces go again by the others: what the kernel still holds of an
//! earlier write could otherwise come after a later one.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use isthmus_fabric::provider::{self, ProviderFilter};
use isthmus_fabric::{Destination, Endpoint, Event, Exposed, Sent};
use isthmus_os::epoll::AnyOf;
use isthmus_os::host;
use isthmus_shm::Segment;
use isthmus_transfer::Direction;

use super::{Link, Network};
use crate::limits::{RAIL_PATIENCE_US, RAIL_PIECE, RAIL_SAID_US};
use crate::warning::{Warning, warn};
use crate::{counters, tunables};

/// Networks that are used at most, that of frames among them.
pub(crate) const RAILS: usize = 4;
/// Its number among events, beside those of rail 0.
pub(super) const BY_RAIL: u64 = 1 << 62;
/// Pieces of one peer's on a rail, however short.
const DEPTH: u32 = 8;

/// That one of them was given up, by its number.
const GIVEN_UP: [Warning; RAILS - 1] = [Warning::SecondRail, Warning::ThirdRail, Warning::FourthRail];

/// All rails but the first.
#[derive(Debug, Default)]
pub(super) struct Rails {
    rails: Vec<Rail>,
    /// Pieces that are under way, by their numbers.
    pieces: Vec<Option<RailPiece>>,
    /// Pieces of rails that were given up, until their peers have closed theirs.
    stranded: Vec<RailPiece>,
    /// Rails that this process has given up: a bit for each, from rail 1 on.
    closed: u32,
    /// What can be read when one of them, or rail 0, has something.
    any: Option<AnyOf>,
    /// Which were given up, and why; not said yet: where a process has died the job ends meanwhile.
    unsaid: Vec<(Instant, usize, String)>,
}

/// One of them.
#[derive(Debug)]
struct Rail {
    /// What the user calls the network.
    name: String,
    /// `None`: it was given up.
    endpoint: Option<Endpoint>,
    /// What peers may read and write there, by key.
    exposed: HashMap<u64, Exposed>,
}

/// A part of a message, a put or a get.
#[derive(Debug, Clone, Copy)]
struct RailPiece {
    whose: Whose,
    peer: u32,
    rail: usize,
    part: Part,
}

/// Where it lies in the whole, and its length.
pub(super) type Part = (u64, u64);

/// What it is a piece of, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Message(usize),
    OneSided(usize),
}

/// What there is with one peer on one rail.
#[derive(Debug, Default)]
pub(super) struct RailLink {
    to: Option<Destination>,
    /// Pieces under way, and their bytes.
    under_way: (u32, u64),
    /// Those that have ended; wraps.
    ended: u32,
    stalled: Stalled,
}

/// For how long nothing has ended on a rail though the peer was heard.
#[derive(Debug, Default)]
struct Stalled {
    ended: u32,
    heard: u64,
    /// None has ended between the last two looks.
    is_quiet: bool,
    time: Duration,
}

impl Stalled {
    /// Time has passed; so many pieces have ended until now, and some are under way or not; of the peer so much was heard. True: for too long.
    fn look(&mut self, passed: Duration, ended: u32, under_way: bool, heard: u64) -> bool {
        self.is_quiet = under_way && ended == self.ended;
        if !self.is_quiet {
            self.time = Duration::ZERO;
        } else if heard != self.heard {
            self.time += passed;
        }
        (self.ended, self.heard) = (ended, heard);
        self.time >= Duration::from_micros(RAIL_PATIENCE_US)
    }
}

/// The networks that `fabric_network` names, the first one first.
pub(super) fn networks() -> Vec<provider::Network> {
    let names = tunables::FABRIC_NETWORK.get().unwrap_or_default().split(',');
    names
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| provider::Network {
            name: name.to_owned(),
            addresses: isthmus_os::network::addresses_on(name),
        })
        .collect()
}

impl Rails {
    /// Open them, on these networks, beside this endpoint of frames. None, with a line, where its provider cannot. Blocks while libfabric looks at
    /// its devices.
    pub fn open(networks: Vec<provider::Network>, frames: &Endpoint) -> Result<Self, String> {
        if networks.is_empty() || tunables::NETWORK_CHECKSUM.get() != 0 {
            return Ok(Self::default());
        }
        if networks.len() >= RAILS {
            return Err(format!(
                "{} names {} networks, and {RAILS} are the most: name fewer",
                tunables::FABRIC_NETWORK.variable(),
                networks.len() + 1,
            ));
        }
        if !frames.can_read() || !frames.takes_keys() {
            let line = format!(
                "isthmus: libfabric's provider {} takes no keys for memory, so only the first network of {} is used",
                frames.provider(),
                tunables::FABRIC_NETWORK.variable(),
            );
            warn(Warning::Rails, &line);
            return Ok(Self::default());
        }
        let mut rails = Self::default();
        for network in networks {
            let name = network.name.clone();
            let wanted = ProviderFilter {
                provider: Some(frames.provider()),
                interface: None,
                network: Some(network),
            };
            let endpoint = Endpoint::open_for_memory(&wanted).map_err(|error| format!("{name}: {error}"))?;
            rails.rails.push(Rail {
                name,
                endpoint: Some(endpoint),
                exposed: HashMap::new(),
            });
        }
        let endpoints = std::iter::once(frames).chain(rails.endpoints());
        let descriptors: Option<Vec<_>> = endpoints.map(Endpoint::descriptor).collect();
        rails.any = descriptors.and_then(|descriptors| AnyOf::new(descriptors).ok());
        Ok(rails)
    }

    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.rails.iter().filter_map(|rail| rail.endpoint.as_ref())
    }

    /// How many are in use.
    pub fn count(&self) -> u32 {
        self.endpoints().count() as u32
    }

    /// Names of their endpoints, which peers are told.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.endpoints().map(Endpoint::name)
    }

    /// What of a frame's flags tells which were given up.
    pub fn closed(&self) -> u32 {
        self.closed
    }

    /// Let peers reach memory there as well, by a key that it has on rail 0. A rail that cannot fails when a peer tries.
    ///
    /// # Safety
    /// As for [`Endpoint::expose`] or, if peers `write`, [`Endpoint::expose_to_writes`], until it is [withdrawn](Self::withdraw).
    pub unsafe fn expose(&mut self, at: *mut u8, length: usize, key: u64, write: bool) {
        for rail in &mut self.rails {
            let Some(endpoint) = &mut rail.endpoint else { continue };
            // SAFETY: the caller's promise.
            let exposed = unsafe {
                match write {
                    true => endpoint.expose_to_writes(at, length, key),
                    false => endpoint.expose(at, length, key),
                }
            };
            match exposed {
                Ok(exposed) if exposed.key() == key => drop(rail.exposed.insert(key, exposed)),
                Ok(exposed) => endpoint.withdraw(exposed),
                Err(_) => {}
            }
        }
    }

    /// Nobody may reach the memory of this key any more.
    pub fn withdraw(&mut self, key: u64) {
        for rail in &mut self.rails {
            if let (Some(exposed), Some(endpoint)) = (rail.exposed.remove(&key), &mut rail.endpoint) {
                endpoint.withdraw(exposed);
            }
        }
    }

    /// Is something under way with this peer, or to go again?
    pub fn moves(&self, peer: u32) -> bool {
        let all = self.pieces.iter().flatten().chain(&self.stranded);
        all.into_iter().any(|piece| piece.peer == peer)
    }

    /// Bytes of the longest piece of so many in all, where one may have `longest`: all rails are to have one.
    pub fn longest_piece(&self, longest: u64, total: u64) -> u64 {
        match u64::from(self.count()) {
            0 => longest,
            further => longest.min(total.div_ceil(further + 1).next_multiple_of(4096).max(RAIL_PIECE)),
        }
    }

    /// Of those by which this peer is reached, the one with the fewest bytes under way, if those are fewer than on rail 0 and leave room for so many.
    pub fn idlest(&self, link: &Link, length: u64) -> Option<usize> {
        let first = link.reading.1 + link.moving.1;
        let usable = self.rails.iter().zip(&link.rails).enumerate();
        let usable = usable.filter(|(at, (rail, link_rail))| {
            rail.endpoint.is_some() && link_rail.to.is_some() && link.closed & 1 << at == 0
        });
        let with_room = usable.filter(|(_, (_, link_rail))| {
            let (count, bytes) = link_rail.under_way;
            bytes < first && count < DEPTH && (count == 0 || bytes + length <= tunables::NETWORK_FLIGHT.get())
        });
        let idlest = with_room.min_by_key(|(_, (_, link_rail))| link_rail.under_way.1);
        idlest.map(|(at, _)| at)
    }

    /// Begin to move a piece between `here` and the peer's memory. False: the provider is busy, or the rail has failed, which shows later.
    ///
    /// # Safety
    /// As for [`Endpoint::read`] and [`Endpoint::write`].
    pub unsafe fn begin(
        &mut self,
        link: &mut Link,
        (whose, peer, rail, part): (Whose, u32, usize, Part),
        remote: (u64, u64, u64),
        here: *mut u8,
        direction: Direction,
    ) -> bool {
        let (Some(endpoint), Some(to)) = (&mut self.rails[rail].endpoint, link.rails[rail].to) else {
            return false;
        };
        let free = self
            .pieces
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.pieces.len());
        let (number, length) = (free as u64 | BY_RAIL, part.1 as usize);
        // SAFETY: the caller's promise.
        let sent = unsafe {
            match direction {
                Direction::Pull => endpoint.read(to, remote, (here, length), number),
                Direction::Push => endpoint.write(to, remote, (here, length), number),
            }
        };
        if !matches!(sent, Ok(Sent::Going)) {
            return false;
        }
        let piece = Some(RailPiece {
            whose,
            peer,
            rail,
            part,
        });
        match self.pieces.get_mut(free) {
            Some(place) => *place = piece,
            None => self.pieces.push(piece),
        }
        let under_way = &mut link.rails[rail].under_way;
        *under_way = (under_way.0 + 1, under_way.1 + part.1);
        link.begun = link.begun.wrapping_add(1);
        counters::RAIL_BYTES.add(part.1);
        true
    }

    /// Take this peer's stranded pieces of rails that it has closed as well.
    fn take_stranded(&mut self, peer: u32, closed: u32) -> Vec<RailPiece> {
        let is_free = |piece: &mut RailPiece| piece.peer == peer && closed & 1 << piece.rail != 0;
        self.stranded.extract_if(.., is_free).collect()
    }
}

impl Network {
    /// What becomes readable when [`Endpoint::poll`] of one of the endpoints has something to do.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.rails.any {
            Some(any) => Some(any.as_fd()),
            // It would say nothing of the others.
            None if self.rails.count() > 0 => None,
            None => self.endpoint.descriptor(),
        }
    }

    /// May somebody sleep until that is readable?
    pub fn may_sleep(&mut self) -> bool {
        let mut rails = self.rails.rails.iter_mut().filter_map(|rail| rail.endpoint.as_mut());
        self.endpoint.may_sleep() && rails.all(Endpoint::may_sleep)
    }

    /// Where the peer is reached on rails: it is known by its card, once rail 0 is.
    pub(super) fn find_rails(&mut self, segment: &Segment, peer: u32) {
        for at in 0..self.rails.rails.len() {
            let link = self.link(peer);
            if link.rails[at].to.is_some() {
                continue;
            }
            let Some(name) = self.rail_address(segment, peer, at) else {
                continue;
            };
            let endpoint = self.rails.rails[at].endpoint.as_mut();
            let to = endpoint.and_then(|endpoint| endpoint.resolve(&name).ok());
            self.link(peer).rails[at].to = to;
        }
    }

    /// Let all rails but the first do their work. True: a piece is over.
    pub fn poll_rails(&mut self) -> bool {
        let mut moved = false;
        for at in 0..self.rails.rails.len() {
            while let Some(endpoint) = self.rails.rails[at].endpoint.as_mut() {
                match endpoint.poll() {
                    Ok(None) => break,
                    Ok(Some(Event::Read(number, Ok(())))) => {
                        moved = true;
                        self.rail_piece_over(number);
                    }
                    // No frames are taken or sent here.
                    Ok(Some(Event::Received(..) | Event::Lost(..))) => {}
                    Ok(Some(Event::Read(_, Err(error)))) | Err(error) => {
                        moved = true;
                        self.give_up(at, Some(format!("{error}: is the link up?")));
                    }
                }
            }
        }
        moved
    }

    fn rail_piece_over(&mut self, number: u64) {
        let place = self.rails.pieces.get_mut((number & !BY_RAIL) as usize);
        let Some(piece) = place.and_then(Option::take) else {
            return;
        };
        if let Some(link) = self.links[piece.peer as usize].as_mut() {
            let rail = &mut link.rails[piece.rail];
            rail.under_way = (rail.under_way.0 - 1, rail.under_way.1 - piece.part.1);
            rail.ended = rail.ended.wrapping_add(1);
            link.ended = link.ended.wrapping_add(1);
        }
        self.end_piece(piece, true);
    }

    /// It is not under way any more: its bytes are there, or it is to go again.
    fn end_piece(&mut self, piece: RailPiece, well: bool) {
        match piece.whose {
            Whose::Message(at) => self.message_piece_over(at, piece.part, well),
            Whose::OneSided(at) => self.one_sided_piece_over(at, piece.part, well),
        }
    }

    /// The rail is not used any more, by this process and, once they hear of it, by its peers. Why; `None`: it was said by another.
    #[cold]
    fn give_up(&mut self, at: usize, why: Option<String>) {
        let rail = &mut self.rails.rails[at];
        let Some(mut endpoint) = rail.endpoint.take() else {
            return;
        };
        let exposed = rail.exposed.drain();
        exposed.for_each(|(_, exposed)| endpoint.withdraw(exposed));
        // From now on nothing is read to, or written from, memory of this process by what is under way.
        drop(endpoint);
        let unsaid = why.map(|why| (Instant::now(), at, why));
        self.rails.unsaid.extend(unsaid);
        self.rails.closed |= 1 << at;
        let pieces = self.rails.pieces.iter_mut();
        let stranded = pieces.filter_map(|place| place.take_if(|piece| piece.rail == at));
        self.rails.stranded.extend(stranded);
        for peer in self.linked.clone() {
            let link = self.link(peer);
            link.rails[at].under_way = (0, 0);
            link.owes |= !link.lost;
            if !self.waiting.contains(&peer) {
                self.waiting.push(peer);
            }
            self.free_stranded(peer);
        }
    }

    /// A frame of the peer's says which rails it has given up.
    #[cold]
    pub fn hear_closed(&mut self, peer: u32, closed: u32) {
        for at in 0..self.rails.rails.len() {
            if closed & 1 << at != 0 {
                self.give_up(at, None);
            }
        }
        self.link(peer).closed |= closed;
        self.free_stranded(peer);
    }

    /// Say which rails were given up a while ago.
    pub(super) fn say_what_was_given_up(&mut self) {
        let rails = &mut self.rails;
        // A job in which a process has died ends sooner.
        let said_after = Duration::from_micros(RAIL_SAID_US);
        for (_, at, why) in rails.unsaid.extract_if(.., |(when, ..)| when.elapsed() >= said_after) {
            let (host, name) = (host::name(), &rails.rails[at].name);
            let line = format!("isthmus: host {host}: the network {name} is not used any more: {why}");
            warn(GIVEN_UP[at], &line);
        }
    }

    fn free_stranded(&mut self, peer: u32) {
        let closed = self.link(peer).closed;
        for piece in self.rails.take_stranded(peer, closed) {
            self.end_piece(piece, false);
        }
    }

    /// Does a frame say more of rails than the peer has said before?
    #[inline]
    pub fn says_more(&mut self, peer: u32, closed: u32) -> bool {
        closed != 0 && closed & !self.link(peer).closed != 0
    }

    /// Time has passed. True: the peer is to be asked, since a rail with something under way is quiet.
    pub(super) fn watch_rails(&mut self, peer: u32, passed: Duration) -> bool {
        let mut asks = false;
        for at in 0..self.rails.rails.len() {
            let link = self.link(peer);
            let heard = link.arrivals.come();
            let rail = &mut link.rails[at];
            let is_under_way = rail.under_way.0 > 0;
            if rail.stalled.look(passed, rail.ended, is_under_way, heard) {
                let seconds = RAIL_PATIENCE_US / 1_000_000;
                let why = format!("for {seconds} s nothing has come from rank {peer}: is the link up?");
                self.give_up(at, Some(why));
            }
            asks |= self.link(peer).rails[at].stalled.is_quiet;
        }
        asks
    }

    /// The peer has failed: nothing more of rails is under way with it after this.
    pub(super) fn end_rails(&mut self, peer: u32) {
        for at in 0..self.rails.rails.len() {
            if self.links[peer as usize]
                .as_ref()
                .is_some_and(|link| link.rails[at].under_way.0 > 0)
            {
                self.give_up(at, Some(format!("rank {peer} has failed")));
            }
        }
        for piece in self.rails.take_stranded(peer, u32::MAX) {
            self.end_piece(piece, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rail_stalls_only_while_its_peer_is_heard() {
        let (mut stalled, step) = (Stalled::default(), Duration::from_millis(500));
        let steps = RAIL_PATIENCE_US / 500_000;
        for _ in 0..10 * steps {
            assert!(!stalled.look(step, 0, true, 7), "the peer computes");
        }
        for heard in 9..7 + steps {
            assert!(!stalled.look(step, 0, true, heard));
        }
        assert!(!stalled.look(step, 1, true, 100), "a piece has ended");
        for heard in 101..100 + steps {
            assert!(!stalled.look(step, 1, true, heard));
        }
        assert!(stalled.look(step, 1, true, 1000));
        assert!(!stalled.look(step, 1, false, 1001), "nothing is under way");
    }

    #[test]
    fn stranded_pieces_wait_for_their_peer() {
        let piece = |peer, rail| RailPiece {
            whose: Whose::Message(0),
            peer,
            rail,
            part: (0, 1),
        };
        let mut rails = Rails {
            stranded: vec![piece(1, 0), piece(2, 0), piece(1, 1)],
            ..Rails::default()
        };
        assert!(rails.moves(1) && rails.moves(2) && !rails.moves(3));
        assert!(rails.take_stranded(1, 0).is_empty());
        assert_eq!(rails.take_stranded(1, 0b10).len(), 1);
        assert_eq!(rails.take_stranded(1, u32::MAX).len(), 1);
        assert!(!rails.moves(1) && rails.moves(2));
    }

    #[test]
    fn pieces_are_shorter_where_there_are_rails() {
        assert_eq!(Rails::default().longest_piece(512 << 10, 1 << 20), 512 << 10);
    }
}
