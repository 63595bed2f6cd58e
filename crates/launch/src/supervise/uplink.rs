//! What a node's part of a job tells the `mpiexec` that started it, and hears from it.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use isthmus_engine::control::ToRank;
use isthmus_os::poll::{self, Interest};

use super::Supervisor;
use crate::connection::Connection;
use crate::wire::{BrokenLink, Card, ToHead, ToNode};

/// How long `mpiexec`, or the network to it, may take for the last that is said.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// The connection to `mpiexec`.
#[derive(Debug)]
pub struct Uplink {
    connection: Connection,
    /// How ranks on other nodes are reached, as far as that is known.
    pub cards: Vec<Card>,
    /// Messages that came before there were ranks here.
    pub pending: Vec<ToNode>,
}

impl Uplink {
    /// Over this connection.
    pub fn on(connection: Connection) -> Self {
        Self {
            connection,
            cards: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// A message that comes within `limit`. Blocks until then.
    pub fn receive(&mut self, limit: Duration) -> Vec<ToNode> {
        match poll::readable(&[self.connection.as_fd()], Some(limit)) {
            Ok(ready) if ready == [true] => self.connection.receive(),
            _ => Vec::new(),
        }
    }

    /// This part of the job cannot begin, for a reason that the user is told here; nothing of it is left.
    pub fn say_refused(&mut self, code: u8) {
        self.connection.send(&ToHead::Ending(code));
        self.connection.send(&ToHead::Done(code));
        self.connection.flush(LAST_OUTPUT);
    }

    /// Is `mpiexec` gone?
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// The address by which other nodes reach this one.
    pub fn own_address(&self) -> Option<IpAddr> {
        self.connection.own_address()
    }

    /// The descriptor to wait for, and for what.
    pub fn awaited(&self) -> (BorrowedFd<'_>, Interest) {
        (self.connection.as_fd(), self.connection.interest())
    }
}

impl Supervisor<'_> {
    /// As [`Self::handle_uplink`], if there is something to hear.
    pub(super) fn handle_uplink_if_ready(&mut self) {
        let ready = self
            .uplink
            .as_ref()
            .map(|uplink| poll::ready(&[uplink.awaited()], Some(Duration::ZERO)));
        if ready == Some(Ok(vec![true])) {
            self.handle_uplink();
        }
    }

    pub(super) fn handle_uplink(&mut self) {
        let Some(uplink) = self.uplink.as_mut() else { return };
        let said = uplink.connection.receive::<ToNode>();
        let is_closed = uplink.is_closed();
        said.into_iter().for_each(|message| self.hear(message));
        if is_closed {
            // Nobody could end us later.
            self.end(1);
        }
    }

    /// Messages that came before the ranks were started.
    pub(super) fn hear_early(&mut self) {
        let pending = self.uplink.as_mut().map(|uplink| std::mem::take(&mut uplink.pending));
        pending.into_iter().flatten().for_each(|message| self.hear(message));
    }

    fn hear(&mut self, message: ToNode) {
        match message {
            ToNode::Card(card) => {
                if let Some(turn) = self.turns.get(card.turn as usize) {
                    turn.overview.show_card(card.rank, &card.name);
                }
                if let Some(uplink) = self.uplink.as_mut() {
                    uplink.cards.push(card);
                }
            }
            ToNode::End(code) => self.end(code),
            ToNode::Signal(signal) => self.tell_all(signal),
            ToNode::BrokenLink(BrokenLink { other, .. }) => self.end_unreachable(other),
            ToNode::Lost(loss) => self.hear_of_loss(loss),
            ToNode::Judged(rank, go_on) => self.hear_judgement(rank, go_on),
            ToNode::Decided { turn, ranks, decision } => {
                self.tell_ranks(turn, &ranks, &ToRank::Decided(decision));
            }
            ToNode::Revoked(turn, revocation) => self.hear_revocation(turn, revocation),
            ToNode::SayWho => {
                self.say_who_left();
                self.say_who_waits();
            }
            ToNode::Run(_) | ToNode::Branch(_) => {}
        }
    }

    /// A rank may have said how it is reached: tell those here, and the other nodes.
    pub(super) fn pass_card_on(&mut self, index: usize) {
        let Some(rank) = self.ranks.get_mut(index) else { return };
        let turn = rank.left;
        let Some(name) = rank.lifeline.as_mut().and_then(|lifeline| lifeline.card.take()) else {
            return;
        };
        let rank = self.here.start + index as u32;
        if let Some(turn) = self.turns.get(turn) {
            turn.overview.show_card(rank, &name);
        }
        self.tell_up(&ToHead::Card(Card {
            turn: turn as u32,
            rank,
            name,
        }));
    }

    /// A turn begins, for which some on other nodes may have come before us.
    pub(super) fn tell_of_cards(&self, turn: usize) {
        for card in self.uplink.iter().flat_map(|uplink| &uplink.cards) {
            if card.turn as usize == turn {
                self.turns[turn].overview.show_card(card.rank, &card.name);
            }
        }
    }

    pub(super) fn say_ending(&mut self, code: u8) {
        self.tell_up(&ToHead::Ending(code));
    }

    pub(super) fn say_done(&mut self) {
        let code = self.verdict.unwrap_or(0);
        self.tell_up(&ToHead::Done(code));
        if let Some(uplink) = self.uplink.as_mut() {
            uplink.connection.flush(LAST_OUTPUT);
        }
    }

    pub(super) fn tell_up(&mut self, message: &ToHead) {
        if let Some(uplink) = self.uplink.as_mut() {
            // One that is gone is noticed by its descriptor.
            uplink.connection.send(message);
        }
    }

    /// Where this is, for what the user reads beside what other nodes say.
    pub(super) fn on_host(&self) -> String {
        match self.uplink {
            Some(_) => format!(" on host {}", isthmus_os::host::name()),
            None => String::new(),
        }
    }
}
