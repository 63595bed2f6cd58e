//! A tree for many nodes: where there are more than the tunable `fan_out`, `mpiexec` starts a *branch* on the first node of each of so
//! many groups. A branch is the head of its group: it starts the daemon of its own node, and daemons or further branches on the others,
//! which connect back to it, and passes on what goes up and down. Output, standard input and ends of processes travel along the launchers.

use std::time::{Duration, Instant};

use isthmus_os::{network, poll};

use super::{Child, Head, LAST_OUTPUT, Spot};
use crate::connection::Connection;
use crate::daemon::{self, Call};
use crate::failure::{Failure, Result, say};
use crate::wire::{Subtree, ToHead, ToNode};

/// How long the one above may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Run this branch; the answer is the exit code. Blocks until nothing is left of its part of the job.
pub fn run(call: &Call) -> Result<u8> {
    let mut above = daemon::call_back(call)?;
    let began = Instant::now();
    let mut pending = Vec::new();
    let subtree = loop {
        let left = ANSWER.saturating_sub(began.elapsed());
        let ready = poll::readable(&[above.as_fd()], Some(left));
        let said = if ready == Ok(vec![true]) {
            above.receive()
        } else {
            Vec::new()
        };
        let mut subtree = None;
        for message in said {
            match message {
                ToNode::Branch(given) => subtree = Some(given),
                ToNode::End(code) => return Ok(code),
                other => pending.push(other),
            }
        }
        if let Some(subtree) = subtree {
            break *subtree;
        }
        if above.is_closed() || left.is_zero() {
            return Err(daemon::failed("the mpiexec that started this branch does not answer"));
        }
    };
    let mut addresses: Vec<_> = above.own_address().into_iter().collect();
    let others = network::addresses();
    addresses.extend(others.into_iter().filter(|other| Some(*other) != above.own_address()));
    let Subtree {
        part,
        spots,
        launcher,
        fan_out,
    } = subtree;
    let mut head = Head::new(part, launcher, fan_out, addresses)?;
    head.above = Some(above);
    for message in pending {
        head.hear(message);
    }
    let elsewhere = split(spots.get(1..).unwrap_or_default(), fan_out as usize);
    let begun = head.begin(vec![spots.into_iter().take(1).collect()], elsewhere);
    // Said here, with the host, and once.
    if let Err(failure) = &begun {
        say(&failure.message);
    }
    head.watch()?;
    let code = head.verdict.unwrap_or(u8::from(begun.is_err()));
    if let Some(above) = &mut head.above {
        above.send(&ToHead::Done(code));
        above.flush(LAST_OUTPUT);
    }
    Ok(code)
}

/// Into so many groups of neighbours at most, as even as it goes; none is empty.
pub fn split(spots: &[Spot], groups: usize) -> Vec<Vec<Spot>> {
    let groups = groups.clamp(1, spots.len().max(1));
    let bound = |group: usize| group * spots.len() / groups;
    let parts = (0..groups).map(|group| spots[bound(group)..bound(group + 1)].to_vec());
    parts.filter(|part| !part.is_empty()).collect()
}

impl Head {
    /// What the one above says, if there is one.
    pub(super) fn handle_above(&mut self) {
        let Some(above) = self.above.as_mut() else { return };
        let said = above.receive::<ToNode>();
        let is_closed = above.is_closed();
        for message in said {
            self.hear(message);
        }
        if is_closed {
            // Nobody could end us later.
            self.end(1);
        }
    }

    fn hear(&mut self, message: ToNode) {
        match message {
            ToNode::Card(card) => {
                self.tell_all(&ToNode::Card(card.clone()));
                self.cards.push(card);
            }
            ToNode::End(code) => self.end(code),
            ToNode::Run(_) | ToNode::Branch(_) => {}
            message => self.say_to_all(message),
        }
    }

    pub(super) fn tell_above(&mut self, message: &ToHead) {
        if let Some(above) = &mut self.above {
            // One that is gone is noticed by its descriptor.
            above.send(message);
        }
    }

    /// What a child is to do that has connected.
    pub(super) fn task(&self, child: &Child) -> ToNode {
        let mut part = self.part.clone();
        part.node = child.spots[0].index as u16;
        if child.is_daemon() {
            return ToNode::Run(Box::new(part));
        }
        ToNode::Branch(Box::new(Subtree {
            part,
            spots: child.spots.clone(),
            launcher: self.launcher.clone(),
            fan_out: self.fan_out,
        }))
    }
}

/// The connection to the one above, while it is open.
pub(super) fn open(above: &Option<Connection>) -> Option<&Connection> {
    above.as_ref().filter(|above| !above.is_closed())
}

/// A failure of a branch is seen beside what other nodes say.
pub(super) fn on_host(failure: Failure, is_branch: bool) -> Failure {
    if is_branch { failure.on_host() } else { failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_even_and_whole() {
        let spots: Vec<Spot> = (0..7)
            .map(|index| Spot {
                index,
                host: format!("n{index}"),
            })
            .collect();
        let sizes = |count: usize, groups| split(&spots[..count], groups).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(7, 2), [3, 4]);
        assert_eq!(sizes(7, 32), [1; 7]);
        assert_eq!(sizes(3, 1), [3]);
        assert!(sizes(0, 2).is_empty());
        assert_eq!(split(&spots, 3).concat(), spots);
    }
}
