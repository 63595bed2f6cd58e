//! Failures in a job on several nodes, as `mpiexec` itself keeps them: dead ranks, in one order for all nodes; whether the others go on;
//! and what groups on several nodes agree on (docs/decisions/0091).
//!
//! It is told what nodes say, and answers what all of them are to hear.

use std::collections::{BTreeMap, HashMap, HashSet};

use isthmus_engine::Agreed;
use isthmus_engine::control::{Contribution, Decision};

use crate::wire::{BrokenLink, Loss, ToNode, Vote};

/// Failures and decisions.
#[derive(Debug, Default)]
pub struct Coordinator {
    /// Nodes of the job.
    nodes: u32,
    /// Those on which nothing of the job is left.
    complete: HashSet<u32>,
    /// In their order.
    losses: Vec<Loss>,
    /// Ranks that are to end, since others have no way to them.
    to_end: HashSet<u32>,
    /// Losses of which it is not decided yet whether the others go on.
    ballots: Vec<Ballot>,
    /// By turn of programs and group.
    agreements: HashMap<(u32, u64), Agreement>,
}

#[derive(Debug)]
struct Ballot {
    rank: u32,
    /// Nodes that have not said what they want.
    awaited: HashSet<u32>,
    /// How many want to go on.
    survivors: u32,
}

/// One that is not decided.
#[derive(Debug)]
struct Agreement {
    contributions: BTreeMap<u32, Contribution>,
}

impl Coordinator {
    /// Of a job on so many nodes.
    pub fn of(nodes: u32) -> Self {
        Self {
            nodes,
            ..Self::default()
        }
    }

    /// A rank is no more.
    pub fn process_lost(&mut self, loss: Loss) -> Vec<ToNode> {
        let same = |other: &Loss| other.rank == loss.rank && (other.turn == loss.turn || !other.in_peace);
        if self.losses.iter().any(same) {
            return Vec::new();
        }
        self.losses.push(loss);
        let mut said = vec![ToNode::Lost(loss)];
        let awaited: HashSet<u32> = (0..self.nodes).filter(|node| !self.complete.contains(node)).collect();
        match loss.in_peace {
            true => {}
            false if awaited.is_empty() => said.push(ToNode::Judged(loss.rank, false)),
            false => self.ballots.push(Ballot {
                rank: loss.rank,
                awaited,
                survivors: 0,
            }),
        }
        // Somebody may have been waiting for nobody else.
        let waiting: Vec<_> = self.agreements.keys().copied().collect();
        said.extend(waiting.into_iter().filter_map(|agreement| self.decide(agreement)));
        said
    }

    /// A node has said what its ranks want.
    pub fn hear(&mut self, vote: Vote) -> Vec<ToNode> {
        let mut said = Vec::new();
        self.ballots.retain_mut(|ballot| {
            if ballot.rank != vote.rank || !ballot.awaited.remove(&vote.node) {
                return true;
            }
            ballot.survivors += vote.survivors.unwrap_or(0);
            let is_decided = vote.survivors.is_none() || ballot.awaited.is_empty();
            if is_decided {
                let go_on = vote.survivors.is_some() && ballot.survivors > 0;
                said.push(ToNode::Judged(ballot.rank, go_on));
            }
            !is_decided
        });
        said
    }

    /// Nothing of the job is left on a node, or nobody can say what is: it wants nothing any more.
    pub fn leave(&mut self, node: u32) -> Vec<ToNode> {
        self.complete.insert(node);
        let open: Vec<u32> = self.ballots.iter().map(|ballot| ballot.rank).collect();
        let nothing = |rank| Vote {
            node,
            rank,
            survivors: Some(0),
        };
        open.into_iter().flat_map(|rank| self.hear(nothing(rank))).collect()
    }

    /// A rank has no way to another: one of them ends, if both are there.
    pub fn part(&mut self, broken: BrokenLink) -> Option<ToNode> {
        let both = [broken.rank, broken.other];
        let is_gone = |rank: &u32| {
            let lost = self.losses.iter().any(|loss| loss.rank == *rank);
            lost || self.to_end.contains(rank)
        };
        if both.iter().any(is_gone) {
            return None;
        }
        self.to_end.insert(broken.other);
        Some(ToNode::BrokenLink(broken))
    }

    /// A rank contributes to an agreement.
    pub fn contribute(&mut self, turn: u32, rank: u32, contribution: Contribution) -> Option<ToNode> {
        let key = (turn, contribution.key);
        let agreement = self.agreements.entry(key).or_insert_with(|| Agreement {
            contributions: BTreeMap::new(),
        });
        agreement.contributions.insert(rank, contribution);
        self.decide(key)
    }

    /// The agreement of a group, if all of it who live have contributed.
    fn decide(&mut self, key: (u32, u64)) -> Option<ToNode> {
        let known: Vec<u32> = self
            .losses
            .iter()
            .filter(|loss| loss.concerns(key.0))
            .map(|loss| loss.rank)
            .collect();
        let Agreement { contributions } = self.agreements.get(&key)?;
        let first = contributions.values().next()?;
        let is_awaited = |member: &u32| !contributions.contains_key(member) && !known.contains(member);
        if first.members.iter().any(is_awaited) {
            return None;
        }
        let (combine, turn) = (first.combine, first.turn);
        let value = contributions.values().map(|own| own.value);
        let value = value.reduce(|one, other| combine.apply(one, other))?;
        let acknowledged = contributions.values().map(|own| own.acknowledged as usize).min()?;
        let later = &known[acknowledged.min(known.len())..];
        let agreed = Agreed {
            value,
            failures: known.len() as u32,
            unacknowledged: first.members.iter().any(|member| later.contains(member)),
        };
        let decision = Decision {
            key: key.1,
            turn,
            agreed,
        };
        let ranks = contributions.keys().copied().collect();
        self.agreements.remove(&key);
        Some(ToNode::Decided {
            turn: key.0,
            ranks,
            decision,
        })
    }
}

#[cfg(test)]
mod tests {
    use isthmus_engine::control::Combine;

    use super::*;

    fn loss(turn: u32, rank: u32, in_peace: bool) -> Loss {
        Loss { turn, rank, in_peace }
    }

    fn vote(node: u32, rank: u32, survivors: Option<u32>) -> Vote {
        Vote { node, rank, survivors }
    }

    fn contribution(value: u32, acknowledged: u32) -> Contribution {
        Contribution {
            key: 5,
            turn: 1,
            combine: Combine::And,
            value,
            acknowledged,
            members: vec![0, 1, 3],
        }
    }

    fn decided(ranks: &[u32], value: u32, failures: u32, unacknowledged: bool) -> ToNode {
        ToNode::Decided {
            turn: 0,
            ranks: ranks.to_vec(),
            decision: Decision {
                key: 5,
                turn: 1,
                agreed: Agreed {
                    value,
                    failures,
                    unacknowledged,
                },
            },
        }
    }

    #[test]
    fn the_others_go_on_if_all_who_are_left_want_to() {
        let mut coordinator = Coordinator::of(3);
        assert_eq!(
            coordinator.process_lost(loss(0, 4, false)),
            [ToNode::Lost(loss(0, 4, false))]
        );
        assert!(coordinator.process_lost(loss(0, 4, false)).is_empty(), "once");
        assert!(coordinator.hear(vote(0, 4, Some(2))).is_empty());
        assert!(coordinator.hear(vote(0, 4, Some(2))).is_empty(), "a node counts once");
        assert!(coordinator.leave(2).is_empty());
        assert_eq!(coordinator.hear(vote(1, 4, Some(1))), [ToNode::Judged(4, true)]);
        // A node that has nobody left is not asked again.
        coordinator.process_lost(loss(0, 1, false));
        assert!(coordinator.hear(vote(0, 1, Some(0))).is_empty());
        assert_eq!(coordinator.hear(vote(1, 1, Some(0))), [ToNode::Judged(1, false)]);
    }

    #[test]
    fn one_who_does_not_want_to_is_enough() {
        let mut coordinator = Coordinator::of(3);
        coordinator.process_lost(loss(0, 4, false));
        assert_eq!(coordinator.hear(vote(1, 4, None)), [ToNode::Judged(4, false)]);
        assert!(coordinator.hear(vote(0, 4, Some(2))).is_empty(), "it is decided");
        assert!(
            coordinator.process_lost(loss(0, 3, true)).len() == 1 && coordinator.ballots.is_empty(),
            "nobody minds"
        );
    }

    #[test]
    fn of_two_that_part_one_ends() {
        let mut coordinator = Coordinator::of(2);
        let broken = |rank, other| BrokenLink { rank, other };
        assert_eq!(coordinator.part(broken(0, 2)), Some(ToNode::BrokenLink(broken(0, 2))));
        assert_eq!(coordinator.part(broken(2, 0)), None);
        assert_eq!(coordinator.part(broken(2, 1)), None);
        assert_eq!(coordinator.part(broken(3, 1)), Some(ToNode::BrokenLink(broken(3, 1))));
    }

    #[test]
    fn agreements_wait_for_all_who_live() {
        let mut coordinator = Coordinator::of(2);
        assert_eq!(coordinator.contribute(0, 0, contribution(6, 0)), None);
        assert_eq!(coordinator.contribute(0, 1, contribution(3, 0)), None);
        assert_eq!(
            coordinator.contribute(1, 3, contribution(9, 0)),
            None,
            "another turn of programs"
        );
        let mut third = coordinator.contribute(0, 3, contribution(7, 0));
        assert_eq!(third.take(), Some(decided(&[0, 1, 3], 2, 0, false)));
    }

    #[test]
    fn agreements_name_the_failures_that_all_know_of() {
        let mut coordinator = Coordinator::of(2);
        coordinator.process_lost(loss(0, 2, false));
        coordinator.contribute(0, 0, contribution(6, 1));
        coordinator.contribute(0, 1, contribution(3, 1));
        let said = coordinator.process_lost(loss(0, 3, false));
        assert_eq!(said, [ToNode::Lost(loss(0, 3, false)), decided(&[0, 1], 2, 2, true)]);
        coordinator.contribute(0, 0, contribution(6, 2));
        assert_eq!(
            coordinator.contribute(0, 1, contribution(6, 2)),
            Some(decided(&[0, 1], 6, 2, false)),
            "all have acknowledged it"
        );
    }

    #[test]
    fn who_left_in_peace_is_missed_in_that_turn_only() {
        assert!(loss(1, 0, true).concerns(1) && !loss(1, 0, true).concerns(2));
        assert!(loss(1, 0, false).concerns(2) && !loss(1, 0, false).concerns(0));
    }
}
