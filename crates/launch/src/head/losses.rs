//! Failures at a head: a branch passes reports on, `mpiexec` itself asks its coordinator.

use super::{Head, LostHost};
use crate::failure::say;
use crate::wire::{Loss, ToHead, ToNode};

impl Head {
    /// A node, or a branch, has said something about failures.
    pub(super) fn handle_failures(&mut self, message: ToHead) {
        if self.above.is_some() {
            return self.tell_above(&message);
        }
        let said = match message {
            ToHead::Lost(loss) => self.coordinator.process_lost(loss),
            ToHead::Vote(vote) => self.coordinator.hear(vote),
            ToHead::Over(node) => {
                self.hangs.leave(node);
                self.coordinator.leave(node)
            }
            ToHead::Waiting { node, wait } => {
                self.hangs.hear(node, wait);
                Vec::new()
            }
            ToHead::BrokenLink(broken) => {
                let said = self.coordinator.part(broken);
                if said.is_some() {
                    self.verdict.get_or_insert(1);
                }
                said.into_iter().collect()
            }
            ToHead::Contributed {
                turn,
                rank,
                contribution,
            } => self
                .coordinator
                .contribute(turn, rank, contribution)
                .into_iter()
                .collect(),
            ToHead::Revoked(turn, revocation) => vec![ToNode::Revoked(turn, revocation)],
            ToHead::Hello { .. } | ToHead::Card(_) | ToHead::Ending(_) | ToHead::Done(_) => Vec::new(),
        };
        said.into_iter().for_each(|message| self.say_to_all(message));
    }

    /// All nodes are to hear of this.
    pub(super) fn say_to_all(&mut self, message: ToNode) {
        match message {
            ToNode::Lost(loss) => self.losses.push(loss),
            ToNode::Judged(rank, go_on) => self.judge_lost(rank, go_on),
            _ => {}
        }
        self.tell_all(&message);
    }

    /// A daemon or a branch is gone without a word, and its ranks with it: they have failed, unless the job ends for that. `why`: as the user
    /// is told.
    pub(super) fn child_lost(&mut self, index: usize, why: &str) {
        let spots = self.children[index].spots.clone();
        if self.above.is_some() {
            // It stays the affair of the head of all, to which this branch is one child.
            say(&gone(&spots[0].host, why, "ending the job"));
            return self.end(1);
        }
        let is_there = |node: &u16| spots.iter().any(|spot| spot.index == u32::from(*node));
        let all = self.part.of.iter().zip(0..);
        let ranks: Vec<u32> = all.filter(|(node, _)| is_there(node)).map(|(_, rank)| rank).collect();
        self.lost_hosts.push(LostHost {
            host: spots[0].host.clone(),
            why: why.to_owned(),
            ranks: ranks.clone(),
        });
        for spot in &spots {
            self.handle_failures(ToHead::Over(spot.index));
        }
        for rank in ranks {
            // Each says at the beginning of its turn how it is reached.
            let turn = self
                .cards
                .iter()
                .filter(|card| card.rank == rank)
                .map(|card| card.turn)
                .max();
            self.handle_failures(ToHead::Lost(Loss {
                turn: turn.unwrap_or(0),
                rank,
                in_peace: false,
            }));
        }
    }

    /// It is decided whether the others go on without a rank, which may be one of those whose node cannot say so itself.
    fn judge_lost(&mut self, rank: u32, go_on: bool) {
        let Some(at) = self.lost_hosts.iter().position(|lost| lost.ranks.contains(&rank)) else {
            return;
        };
        if self.ending.is_some() {
            return;
        }
        self.verdict.get_or_insert(1);
        let LostHost { host, why, .. } = self.lost_hosts.swap_remove(at);
        match go_on {
            true => say(&gone(
                &host,
                &why,
                "the others go on without its ranks, since their error handlers return",
            )),
            false => {
                say(&gone(&host, &why, "ending the job"));
                self.end(1);
            }
        }
    }
}

fn gone(host: &str, why: &str, what: &str) -> String {
    format!("host {host}: {why}; {what}")
}
