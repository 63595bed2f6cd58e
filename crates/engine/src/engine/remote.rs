//! Input from other nodes: frames, whose records go to the handlers that rings have.

use isthmus_fabric::{Event, Frame};
use isthmus_os::epoll::Once;
use isthmus_shm::Offset;
use isthmus_shm::ring::Header;

use crate::channel::network::frame::{self, Prefix};
use crate::channel::network::replay::FrameOrder;
use crate::channel::network::{HeldRecord, Network, Proxy, WINDOW};
use crate::channel::record::{Body, ClearToSend, Envelope, Handler, ReadyToSend};
use crate::engine::Engine;
use crate::membership::control::Nonce;
use crate::membership::launcher;

/// The network is polled so often without success before messages of a dead process count as taken: a look may move something without an event.
const LAST_LOOKS: u32 = 4;
/// At most so many looks in a row may find frames of other peers only: those may stream without end. Each look lets the provider read all connections.
const LAST_LOOKS_AMONG_OTHERS: u32 = 64;
/// Frames taken in one round.
const BURST: usize = 16;
/// Of a record from another node.
const NO_SENSE: &str = "a record that makes no sense";

impl Engine {
    /// Open the way to other nodes, if there are any; what this process is reached by from there. Blocks while libfabric is
    /// loaded.
    pub fn open_network(&mut self, nonce: Nonce) -> crate::Result<Option<Vec<u8>>> {
        let network = Network::open(self.segment, self.me, nonce)?;
        let name = network.as_ref().map(|network| network.card());
        self.channels.set_network(network);
        // Nobody reaches their memory.
        for peer in 0..self.segment.ranks() {
            if self.channels.is_remote(peer) {
                self.transfers.forget(peer);
            }
        }
        Ok(name)
    }

    /// What tells of the network's events; `None`: there is no network, or nothing that tells.
    pub fn watch_network(&mut self) -> Option<Once> {
        Once::new(self.channels.network()?.descriptor()?).ok()
    }

    /// Has the network nothing to do until its descriptor says so?
    pub fn network_may_sleep(&mut self) -> bool {
        let network = self.channels.network_mut();
        network.is_some_and(Network::may_sleep)
    }

    /// Has somebody not answered yet who was sent something, over a connection that may lose it?
    pub fn has_unanswered_first_frames(&self) -> bool {
        self.channels
            .network()
            .is_some_and(Network::has_unanswered_first_frames)
    }

    /// This process leaves the job: does nobody on other nodes need it any more? To be asked until it is so.
    pub fn has_parted(&mut self) -> bool {
        let (segment, me) = (self.segment, self.me);
        let network = self.channels.network_mut();
        network.is_none_or(|network| network.has_parted(segment, me))
    }

    /// A round of progress of the network. True: something moved. `moved_here`: something has come from a rank of the node.
    #[cold]
    pub fn advance_network(&mut self, moved_here: bool) -> bool {
        if !self
            .channels
            .network_mut()
            .is_some_and(|network| network.is_due(moved_here))
        {
            return false;
        }
        let came = self.take_frames() | self.handle_held() | self.advance_reads();
        let (segment, me, announce_only) = (self.segment, self.me, self.matching.announce_only());
        let Some(network) = self.channels.network_mut() else {
            return false;
        };
        let went = network.send_waiting(segment, me, announce_only);
        if let Some((peer, why)) = network.gone(segment, me) {
            self.part_from_remote(peer, &why);
        }
        let Some(network) = self.channels.network_mut() else {
            return false;
        };
        network.looked(came);
        let released = std::mem::take(&mut network.released);
        released.into_iter().for_each(|own| self.memory.arena.give_back(own));
        came | went
    }

    /// There is no way to this peer any more. Where error handlers return it is ended; else the job is.
    #[cold]
    fn part_from_remote(&mut self, peer: u32, why: &str) {
        if !self.slot().endures() {
            self.abort(1, why);
        }
        let (segment, me) = (self.segment, self.me);
        if let Some(network) = self.channels.network_mut() {
            network.part(segment, me, peer);
        }
        launcher::tell_of_loss(peer, why);
    }

    /// Take all that has come of a peer that has failed.
    pub(super) fn take_last_frames(&mut self, peer: u32) {
        let mut looks = LastLooks::begin(self.frames_heard(peer));
        while looks.go_on() {
            let came = self.take_frames();
            looks.note(came, self.frames_heard(peer));
        }
    }

    /// Frames of a peer's that have come, in their turn and ahead of it.
    fn frames_heard(&mut self, peer: u32) -> (u64, usize) {
        let link = self.channels.network_mut().map(|network| network.link(peer));
        link.map_or((0, 0), |link| (link.arrivals.come(), link.arrivals.ahead()))
    }

    /// Take what has come. True: something had.
    pub(super) fn take_frames(&mut self) -> bool {
        let mut came = self.channels.network_mut().is_some_and(Network::poll_rails);
        for _ in 0..BURST {
            let Some(network) = self.channels.network_mut() else {
                break;
            };
            match network.endpoint.poll() {
                Ok(None) => break,
                Ok(Some(Event::Received(frame, length))) => {
                    came = true;
                    self.take_frame(frame, length);
                }
                Ok(Some(Event::Read(number, result))) => {
                    came = true;
                    network.has_read(number, result.is_ok());
                }
                Ok(Some(Event::Lost(to, error))) => network.has_lost(to, &error),
                Err(error) => {
                    let why = format!("isthmus: rank {}: the network has failed: {error}", self.me);
                    self.abort(1, &why);
                }
            }
        }
        came
    }

    fn take_frame(&mut self, frame: Frame, length: usize) {
        let Some(network) = self.channels.network_mut() else {
            return;
        };
        let bytes = network.endpoint.bytes(frame);
        let (at, length) = (bytes.as_ptr(), length.min(bytes.len()));
        // SAFETY: the buffer stays ours, and unchanged, until it is given back below.
        let bytes = unsafe { std::slice::from_raw_parts(at, length) };
        // A frame without this job's seal is dropped: any process of any host can connect to a port.
        if network.seal.is_on(bytes, self.me) {
            let segment = self.segment;
            let source = frame::source(bytes).filter(|&rank| rank < segment.ranks() && segment.is_elsewhere(rank));
            let (Some(peer), Some(prefix)) = (source, Prefix::read(bytes)) else {
                self.end_over_frame(source);
            };
            let Some(records) = frame::open(bytes, prefix.flags) else {
                self.end_over_change(peer, length);
            };
            network.hear_parting(peer, prefix.flags);
            let closed = frame::closed(prefix.flags);
            if network.says_more(peer, closed) {
                network.hear_closed(peer, closed);
            }
            if !network.hear_come(peer, &prefix) {
                self.end_over(peer, "that frames have come which were never sent to it");
            }
            let link = network.link(peer);
            match link.arrivals.order(prefix.sequence) {
                // A peer that has failed.
                _ if link.lost => {}
                FrameOrder::Seen => {}
                FrameOrder::Now => {
                    self.handle_frame(prefix, records);
                    self.handle_ahead(peer);
                }
                FrameOrder::Ahead => self.keep_ahead(peer, prefix, bytes),
            }
        }
        if let Some(network) = self.channels.network_mut() {
            network.endpoint.give_back(frame);
        }
    }

    /// Some rank of the job sends what is no frame. `source`: which, if it says so.
    #[cold]
    fn end_over_frame(&self, source: Option<u32>) -> ! {
        let what = "a frame that makes no sense";
        match source {
            Some(peer) => self.end_over(peer, what),
            None => self.abort(
                1,
                &format!("isthmus: rank {}: a rank on another node sends {what}", self.me),
            ),
        }
    }

    /// A frame of a rank of the job is not as that has sent it.
    #[cold]
    fn end_over_change(&self, peer: u32, length: usize) -> ! {
        let whom = self
            .channels
            .network()
            .map(|network| network.describe(self.segment, peer));
        let why = format!(
            "isthmus: rank {} on host {}: a frame of {length} bytes from {} was changed on the way, its checksum says: look for a faulty network \
             card, switch or memory on both hosts",
            self.me,
            isthmus_os::host::name(),
            whom.unwrap_or_default(),
        );
        self.abort(1, &why)
    }

    /// A frame came before another that was sent earlier: it is kept whole, since its header tells how long it is.
    fn keep_ahead(&mut self, peer: u32, prefix: Prefix, bytes: &[u8]) {
        let Some(network) = self.channels.network_mut() else {
            return;
        };
        let link = network.link(peer);
        let (is_new, kept) = link.arrivals.keep(prefix.sequence, bytes);
        // The asking peer does not know of it: that frame may be lost, too.
        if is_new || prefix.flags & frame::ASKS != 0 {
            link.owes = true;
            self.channels.send_remote(peer);
        }
        if kept as u64 > 4 * WINDOW {
            self.end_over(peer, "more than it may before we have handled it");
        }
    }

    fn handle_ahead(&mut self, peer: u32) {
        loop {
            let Some(network) = self.channels.network_mut() else {
                return;
            };
            let link = network.link(peer);
            let Some(bytes) = link.arrivals.next_early() else {
                return;
            };
            let prefix = Prefix::read(&bytes);
            let records = prefix.and_then(|prefix| frame::open(&bytes, prefix.flags));
            let (Some(prefix), Some(records)) = (prefix, records) else {
                self.end_over_frame(Some(peer));
            };
            self.handle_frame(prefix, records);
        }
    }

    /// A frame in its turn.
    fn handle_frame(&mut self, prefix: Prefix, bytes: &[u8]) {
        let peer = prefix.source;
        let Some(network) = self.channels.network_mut() else {
            return;
        };
        let link = network.link(peer);
        link.arrivals.take_turn(bytes.len() > frame::HEADER);
        if prefix.consumed > link.sent || prefix.consumed < link.returned {
            self.end_over(peer, "that it has handled what was never sent to it");
        }
        let link = self.channels.network_mut().expect("as before").link(peer);
        link.returned = prefix.consumed;
        let asks = self.channels.network_mut().expect("as before").heed(peer, prefix.flags);
        let link = self.channels.network_mut().expect("as before").link(peer);
        if let Some(ring) = &link.ring {
            ring.ring.set_announce_only(prefix.flags & frame::ANNOUNCE_ONLY != 0);
        }
        if !self.channels.open_remote(&mut self.memory.arena, peer) {
            self.end_over(peer, "what there is no memory to receive with");
        }
        let mut at = frame::HEADER;
        while at < bytes.len() {
            let Some((header, body, next)) = frame::record(bytes, at) else {
                self.end_over(peer, "a record that does not fit its frame");
            };
            at = next;
            let link = self.channels.network_mut().expect("as before").link(peer);
            // SAFETY: a slice, which lives as long as this round.
            let here = unsafe { Body::new(body.as_ptr(), header.length) };
            if !link.held.is_empty() || self.stays(peer, header, here) {
                let body = body.into();
                let link = self.channels.network_mut().expect("as before").link(peer);
                link.held.push_back(HeldRecord { header, body });
                if link.held.iter().map(|held| held.body.len() as u64).sum::<u64>() > 2 * WINDOW {
                    self.end_over(peer, "more than it may before we have handled it");
                }
            } else {
                self.deliver(peer, header, here);
            }
        }
        self.return_credit(peer);
        if asks {
            self.channels.send_remote(peer);
        }
    }

    /// Records that were held for their receives. True: some were handled.
    pub fn handle_held(&mut self) -> bool {
        let Some(network) = self.channels.network() else {
            return false;
        };
        if network.linked.iter().all(|&peer| network.is_clear(peer)) {
            return false;
        }
        let mut moved = false;
        for peer in network.linked.clone() {
            moved |= self.handle_held_of(peer);
        }
        moved
    }

    pub(super) fn handle_held_of(&mut self, peer: u32) -> bool {
        let mut moved = false;
        while let Some(held) = self
            .channels
            .network_mut()
            .and_then(|network| network.link(peer).held.pop_front())
        {
            // SAFETY: a slice, which lives as long as this round.
            let body = unsafe { Body::new(held.body.as_ptr(), held.header.length) };
            if self.stays(peer, held.header, body) {
                if let Some(network) = self.channels.network_mut() {
                    network.link(peer).held.push_front(held);
                }
                break;
            }
            self.deliver(peer, held.header, body);
            moved = true;
        }
        if moved {
            self.return_credit(peer);
        }
        moved
    }

    /// Handle whatever has come from a peer that has failed.
    pub fn take_all_remote(&mut self, peer: u32) {
        self.take_frames();
        // Held messages may begin to be read.
        self.handle_held_of(peer);
        self.end_reads(peer);
    }

    /// The peer must know what was handled before it runs out of credit.
    fn return_credit(&mut self, peer: u32) {
        let Some(network) = self.channels.network_mut() else {
            return;
        };
        let link = network.link(peer);
        if link.handled - link.told >= WINDOW / 4 {
            link.owes = true;
            self.channels.send_remote(peer);
        }
    }

    /// Hand a record to its handler.
    fn deliver(&mut self, peer: u32, header: Header, body: Body) {
        if let Some(network) = self.channels.network_mut() {
            network.link(peer).handled += frame::footprint(header.length) as u64;
        }
        let handler = Handler::of(header);
        if let Some(inbound) = self.channels.inbound_mut(peer) {
            inbound.note(handler, header.length);
        }
        let context = crate::types::ContextId(header.context);
        if let Some(Handler::Eager | Handler::EagerFirst | Handler::ReadyToSend) = handler
            && let Some((envelope, _)) = body.split::<Envelope>()
            && !(0..self.segment.ranks().cast_signed()).contains(&envelope.source)
        {
            self.end_over(peer, "a message from a rank that there is not");
        }
        match handler {
            Some(Handler::ReadyToSend) => {
                let Some((mut record, _)) = body.split::<ReadyToSend>() else {
                    self.end_over(peer, NO_SENSE);
                };
                let Ok(own) = self.memory.arena.descriptor(self.segment, 0) else {
                    self.end_over(peer, "an announcement for which there is no memory");
                };
                self.descriptor(own.0).expect("ours").offer();
                if let Some(network) = self.channels.network_mut() {
                    let key = (record.flags & ReadyToSend::READABLE != 0).then_some(record.shared_address);
                    let theirs = record.descriptor;
                    network.proxies.insert(own.0, Proxy { peer, theirs, key });
                }
                record.descriptor = own.0;
                record.shared_address = 0;
                record.flags = 0;
                self.on_ready_to_send(peer, context, record);
            }
            Some(Handler::ClearToSend) => {
                let Some((record, _)) = body.split::<ClearToSend>() else {
                    self.end_over(peer, NO_SENSE);
                };
                // What the receiver would have done to our descriptor.
                let ours = self.offered_to(peer, record.send_op);
                let ours = ours.and_then(|op| self.ops[op].descriptor);
                if let Some(descriptor) = ours.filter(|own| own.0 == record.descriptor)
                    && let Some(descriptor) = self.descriptor(descriptor.0)
                    && descriptor.take()
                {
                    descriptor.ask(record.number);
                }
                self.on_clear_to_send(peer, record);
            }
            // Of memory that is not shared: none of ours sends them so.
            Some(
                Handler::Switch | Handler::Help | Handler::Advertised | Handler::FirstInCell | Handler::MoreInCell,
            )
            | None => self.end_over(peer, NO_SENSE),
            Some(_) => {
                if self.dispatch(peer, header, body).is_none() {
                    self.end_over(peer, NO_SENSE);
                }
            }
        }
    }

    /// This peer's record cannot be true: a wait for it would not end.
    pub(crate) fn end_over(&self, peer: u32, what: &str) -> ! {
        let why = format!("isthmus: rank {}: rank {peer}, on another node, sends {what}", self.me);
        self.abort(1, &why)
    }

    /// The stand-ins of a failed peer's descriptors are free.
    pub fn forget_remote(&mut self, peer: u32) {
        let Some(network) = self.channels.network_mut() else {
            return;
        };
        network.forget(peer);
        let gone: Vec<u64> = network
            .proxies
            .extract_if(|_, proxy| proxy.peer == peer)
            .map(|(own, _)| own)
            .collect();
        for own in gone {
            self.memory.arena.give_back(Offset(own));
        }
    }
}

impl Network {
    fn is_clear(&self, peer: u32) -> bool {
        let link = self.links[peer as usize].as_ref();
        link.is_none_or(|link| link.held.is_empty())
    }
}

/// When what a failed peer has sent counts as taken.
#[derive(Debug)]
struct LastLooks {
    /// Looks in a row that found nothing, and that found nothing of the peer's.
    nothing: u32,
    not_theirs: u32,
    /// Frames of the peer's until the last look.
    heard: (u64, usize),
}

impl LastLooks {
    fn begin(heard: (u64, usize)) -> Self {
        Self {
            nothing: 0,
            not_theirs: 0,
            heard,
        }
    }

    fn go_on(&self) -> bool {
        self.nothing < LAST_LOOKS && self.not_theirs < LAST_LOOKS_AMONG_OTHERS
    }

    /// A look has found something, or not, and so much has been heard of the peer since its first frame.
    fn note(&mut self, came: bool, heard: (u64, usize)) {
        self.nothing = if came { 0 } else { self.nothing + 1 };
        self.not_theirs = if heard == self.heard { self.not_theirs + 1 } else { 0 };
        self.heard = heard;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many looks are made, where `look` says what the one of that number finds: something, and of the peer's frames so many.
    fn looks(look: impl Fn(u32) -> (bool, u64)) -> u32 {
        let mut looks = LastLooks::begin((0, 0));
        let mut made = 0;
        while looks.go_on() {
            made += 1;
            assert!(made < 10_000, "it does not end");
            let (came, heard) = look(made);
            looks.note(came, (heard, 0));
        }
        made
    }

    #[test]
    fn a_node_that_streams_without_end_delays_no_failure() {
        assert_eq!(looks(|_| (true, 0)), LAST_LOOKS_AMONG_OTHERS);
    }

    #[test]
    fn all_that_a_failed_peer_sent_is_taken_among_what_others_send() {
        let rare = u64::from(LAST_LOOKS_AMONG_OTHERS) - 1;
        let last = looks(|look| (true, (u64::from(look) / rare).min(20)));
        assert_eq!(u64::from(last), 20 * rare + u64::from(LAST_LOOKS_AMONG_OTHERS));
        assert_eq!(looks(|look| (look <= 7, look.min(7).into())), 7 + LAST_LOOKS);
    }
}
