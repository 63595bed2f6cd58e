//! Peers that were not reached yet, or to which the connection has broken: what was to go is tried again, and where that leads nowhere they
//! count as failed.
//!
//! The first frame to a peer makes the provider connect. What comes of that, few providers tell: some fail the frame, some fail
//! what was sent meanwhile, and `ofi_rxm` begins anew without a word. So besides what the provider says the kernel is asked, where
//! the connection is one of its own TCP. A peer that computes for long without a call answers to the kernel all the same; it is
//! waited for. Only rounds of progress count: a rank that computes has not tried (docs/decisions/0075).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use isthmus_fabric::{Destination, Error, Frame};
use isthmus_os::host;
use isthmus_os::network::Connections;
use isthmus_shm::Segment;

use super::{Link, Network, frame};
use crate::tunables;

/// How often the kernel is asked.
const LOOK: Duration = Duration::from_millis(100);
/// As much counts between two looks, at most.
const STEP: Duration = Duration::from_millis(250);
/// After the provider has failed.
const PAUSE: Duration = Duration::from_millis(50);
/// Of two that do not reach each other the one with the smaller rank says so, if it can.
const TIE_BREAK: Duration = Duration::from_secs(1);

/// The state of a peer that was not reached yet.
#[derive(Debug)]
pub(super) struct Reaching {
    /// Where it listens, if it does so by TCP.
    address: Option<SocketAddr>,
    next_try: Instant,
    last_look: Instant,
    /// For how long it was not to be reached.
    missed: Duration,
    /// It has failed since the last look.
    failed: bool,
    why: String,
}

impl Reaching {
    fn begin(address: Option<SocketAddr>) -> Self {
        let now = Instant::now();
        Self {
            address,
            next_try: now,
            last_look: now,
            missed: Duration::ZERO,
            failed: false,
            why: "nothing answers there".into(),
        }
    }

    fn fail(&mut self, error: &Error) {
        self.next_try = Instant::now() + PAUSE;
        self.failed = true;
        self.why = error.to_string();
    }

    /// `connections`: what the kernel says; `None`: nothing.
    fn look(&mut self, now: Instant, connections: Option<&Connections>) {
        let passed = now.saturating_duration_since(self.last_look).min(STEP);
        self.last_look = now;
        let is_made = match (self.address, connections) {
            (Some(address), Some(connections)) => connections.are_made(address),
            // What the provider does not complain of may be well.
            _ => true,
        };
        if std::mem::take(&mut self.failed) || !is_made {
            self.missed += passed;
        } else {
            self.missed = Duration::ZERO;
        }
    }
}

impl Network {
    /// Is it time to send to this peer?
    pub(super) fn may_try(&mut self, segment: &Segment, peer: u32) -> bool {
        if self.is_reached(peer) {
            return true;
        }
        let Some(link) = self.links[peer as usize].as_ref() else {
            return false;
        };
        if link.reaching.is_none() {
            let address = self.address(segment, peer);
            let address = address.and_then(|name| self.endpoint.tcp_address(&name));
            self.link(peer).reaching = Some(Reaching::begin(address));
            self.unreached.push(peer);
        }
        let reaching = self.link(peer).reaching.as_ref().expect("made above");
        !reaching.failed || Instant::now() >= reaching.next_try
    }

    /// The provider does not even take the peer's address.
    pub(super) fn has_not_reached(&mut self, peer: u32, error: &Error) {
        if let Some(reaching) = &mut self.link(peer).reaching {
            reaching.fail(error);
        }
    }

    /// Are there frames to go again?
    pub(super) fn repeats(&self, peer: u32) -> bool {
        let link = self.links[peer as usize].as_ref();
        link.is_some_and(|link| link.replay.repeats())
    }

    /// Was there a connection?
    fn is_reached(&mut self, peer: u32) -> bool {
        let Some(link) = self.links[peer as usize].as_mut() else {
            return false;
        };
        if !link.reached {
            // Frames from the peer prove nothing as long as the provider refuses its address.
            link.reached = link.to.is_some_and(|to| {
                let delivered = self.endpoint.has_delivered(to);
                delivered || link.arrivals.come() > link.come_before
            });
            link.broken &= !link.reached;
        }
        link.reached
    }

    /// The provider does not take a frame.
    pub(super) fn could_not_go(&mut self, peer: u32, (frame, length): (Frame, usize), error: &Error) {
        let is_broken = self.is_reached(peer) || self.link(peer).broken;
        self.has_failed(peer, error);
        let link = self.link(peer);
        if link.lost {
            self.endpoint.put_back(frame);
        } else if is_broken && length == frame::HEADER {
            // Credit only, for a peer that may have left: a later frame says the same, or it is asked for.
            link.owes = false;
            self.endpoint.put_back(frame);
        } else {
            link.filled = Some((frame, length));
        }
    }

    /// The provider reports that something could not go there: what has not come, as far as anybody knows, goes again.
    pub(super) fn has_failed(&mut self, peer: u32, error: &Error) {
        let was_reached = self.is_reached(peer);
        let Some(link) = self.links[peer as usize].as_mut().filter(|link| !link.lost) else {
            return;
        };
        if let Some(reaching) = &mut link.reaching {
            reaching.fail(error);
        }
        link.replay.repeat();
        if was_reached {
            self.break_off(peer);
        }
        if !self.waiting.contains(&peer) {
            self.waiting.push(peer);
        }
    }

    /// The connection has ended, or nobody knows whether there is one: what is sent from now on shows it.
    pub(super) fn break_off(&mut self, peer: u32) {
        let link = self.link(peer);
        link.reached = false;
        link.broken = true;
        link.broke_at = Some(Instant::now());
        link.replay.doubt();
        link.come_before = link.arrivals.come();
        let to = link.to;
        to.into_iter().for_each(|to| self.endpoint.forget_delivery(to));
    }

    /// The provider could not deliver a frame.
    pub fn has_lost(&mut self, to: Destination, error: &Error) {
        let is_there = |peer: &u32| {
            let link = self.links[*peer as usize].as_ref();
            link.is_some_and(|link| link.to == Some(to))
        };
        if let Some(peer) = self.linked.iter().copied().find(is_there) {
            self.has_failed(peer, error);
        }
    }

    /// A piece that was read or written there has failed. Most likely the connection has: frames that were lost with it go again once the peer
    /// answers.
    pub(super) fn piece_has_failed(&mut self, peer: u32) {
        if self.is_reached(peer) {
            self.break_off(peer);
            let link = self.link(peer);
            link.liveness.ask(true);
            link.owes = true;
            if !self.waiting.contains(&peer) {
                self.waiting.push(peer);
            }
        }
    }

    /// A peer's name and address, for messages.
    pub fn describe(&self, segment: &Segment, peer: u32) -> String {
        let node = segment.card(peer).map_or(0, |card| card.node());
        let address = self.address(segment, peer);
        let address = address.and_then(|name| self.endpoint.tcp_address(&name));
        let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
        format!("rank {peer} on node {node}{at}")
    }

    /// A peer that has not been reached for too long, and a sentence that says so.
    pub(super) fn unreachable(&mut self, segment: &Segment, me: u32) -> Option<(u32, String)> {
        if self.unreached.is_empty() {
            return None;
        }
        let now = Instant::now();
        let is_due = |link: &Option<Box<Link>>| {
            let reaching = link.as_ref().and_then(|link| link.reaching.as_ref());
            reaching.is_some_and(|reaching| now.saturating_duration_since(reaching.last_look) >= LOOK)
        };
        if !self.unreached.iter().any(|&peer| is_due(&self.links[peer as usize])) {
            return None;
        }
        let connections = Connections::now().ok();
        let limit = Duration::from_millis(tunables::CONNECT_TIMEOUT_MS.get());
        for peer in self.unreached.clone() {
            let is_over = match self.is_reached(peer) {
                true => !self.link(peer).must_go_again(),
                // A peer that has left needs nothing more, and sends no answer.
                false => self.link(peer).broken && !self.has_more(peer) && self.link(peer).is_answered(),
            };
            if is_over {
                self.unreached.retain(|&other| other != peer);
                self.link(peer).reaching = None;
                continue;
            }
            let Some(reaching) = self.link(peer).reaching.as_mut() else {
                continue;
            };
            reaching.look(now, connections.as_ref());
            let tie_break = if me > peer { TIE_BREAK } else { Duration::ZERO };
            if reaching.missed >= limit + tie_break {
                let why = reaching.why.clone();
                let again = if self.link(peer).broken { " any more" } else { "" };
                let sentence = format!(
                    "isthmus: rank {me} on host {}: {} cannot be reached{again}: {why}; tried for {} s ({}): is the link up, and no \
                     firewall between?",
                    host::name(),
                    self.describe(segment, peer),
                    limit.as_secs_f64(),
                    tunables::CONNECT_TIMEOUT_MS.variable(),
                );
                return Some((peer, sentence));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_it_was_tried_counts() {
        let mut reaching = Reaching::begin(None);
        let mut now = reaching.last_look;
        for _ in 0..3 {
            reaching.failed = true;
            now += Duration::from_secs(600);
            reaching.look(now, None);
        }
        assert_eq!(reaching.missed, STEP * 3);
        now += LOOK;
        reaching.look(now, None);
        assert_eq!(reaching.missed, Duration::ZERO, "it has not failed again");
    }
}
