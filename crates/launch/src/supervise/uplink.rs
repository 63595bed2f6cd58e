//! What a node's part of a job tells the `mpiexec` that started it, and hears from it.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use isthmus_os::poll;

use super::Supervisor;
use crate::failure::say_as_it_is;
use crate::wire::{Card, Connection, Parting, ToHead, ToNode};

/// The connection to `mpiexec`.
#[derive(Debug)]
pub struct Uplink {
    connection: Connection,
    /// How ranks on other nodes are reached, as far as that is known.
    pub cards: Vec<Card>,
}

impl Uplink {
    /// Over this connection.
    pub fn over(connection: Connection) -> Self {
        Self {
            connection,
            cards: Vec::new(),
        }
    }

    /// What comes within `limit`. Blocks until then.
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
    }

    /// Is `mpiexec` gone?
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// The address by which other nodes reach this one.
    pub fn own_address(&self) -> Option<IpAddr> {
        self.connection.own_address()
    }

    /// The descriptor to wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

impl Supervisor<'_> {
    pub(super) fn attend_uplink(&mut self) {
        let Some(uplink) = self.uplink.as_mut() else { return };
        let said = uplink.connection.receive::<ToNode>();
        let is_closed = uplink.is_closed();
        for message in said {
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
                ToNode::Parted(Parting { rank, other }) => {
                    if self.here.contains(&other) {
                        let turn = self.ranks[(other - self.here.start) as usize].left;
                        self.lose_elsewhere(rank, turn);
                    }
                }
                ToNode::Run(_) | ToNode::Branch(_) => {}
            }
        }
        if is_closed {
            // Nobody could end us later.
            self.end(1);
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

    /// A rank may have no way any more to some on other nodes: those count as failed on this one.
    pub(super) fn part_from_lost(&mut self, index: usize) {
        let Some(rank) = self.ranks.get_mut(index) else { return };
        let turn = rank.left;
        let lost = rank
            .lifeline
            .as_mut()
            .map(|lifeline| std::mem::take(&mut lifeline.lost));
        for (other, why) in lost.into_iter().flatten() {
            if self.lose_elsewhere(other, turn) {
                say_as_it_is(&format!("{why}; it counts as failed here, since error handlers return"));
                let rank = self.here.start + index as u32;
                self.tell_up(&ToHead::Parted(Parting { rank, other }));
            }
        }
    }

    /// A rank of another node counts as failed here from now on, in this turn. True: it did not before.
    fn lose_elsewhere(&mut self, rank: u32, turn: usize) -> bool {
        if self.here.contains(&rank) || rank >= self.size || !self.lost_elsewhere.insert((turn, rank)) {
            return false;
        }
        self.verdict.get_or_insert(1);
        if let Some(turn) = self.turns.get(turn) {
            turn.overview.declare_failed(rank, false);
        }
        true
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
    }

    fn tell_up(&mut self, message: &ToHead) {
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
