//! What `mpiexec` and its daemons on other nodes tell each other, over a [`Connection`](crate::connection::Connection).

use std::ffi::OsString;

use isthmus_engine::control::{Contribution, Decision, Revocation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::head::Spot;
use crate::options::Job;

/// What a daemon tells `mpiexec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHead {
    /// First, and the first variant in all versions: it runs on that node, and is of this version.
    Hello {
        /// Which node.
        node: u32,
        /// Of the program.
        version: String,
    },
    /// A rank there is reached so.
    Card(Card),
    /// The job is being ended there, with this exit code.
    Ending(u8),
    /// A rank there has no way any more to a rank on another node.
    BrokenLink(BrokenLink),
    /// A rank there is no more.
    Lost(Loss),
    /// What those there want who are in the job, after such a loss on any node.
    Vote(Vote),
    /// Of a branch: nothing of the job is left on that node of its group.
    Over(u32),
    /// A rank there contributes to an agreement.
    Contributed {
        /// In which turn of programs.
        turn: u32,
        /// Which.
        rank: u32,
        /// What.
        contribution: Contribution,
    },
    /// A rank there has revoked message spaces, in this turn.
    Revoked(u32, Revocation),
    /// Whether the ranks of a node do nothing but wait.
    Waiting {
        /// Which node.
        node: u32,
        /// They do, for so long or longer.
        wait: Option<Wait>,
    },
    /// Nothing of the job is left there; the exit code, 0 if all went well.
    Done(u8),
}

/// What `mpiexec` tells a daemon.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToNode {
    /// What to run.
    Run(Box<NodePart>),
    /// To be the head of a group of nodes.
    Branch(Box<Subtree>),
    /// A rank on another node is reached so.
    Card(Card),
    /// End the job.
    End(u8),
    /// Pass this signal on.
    Signal(i32),
    /// A rank on another node has no way any more to one that may be here: that one is to end.
    BrokenLink(BrokenLink),
    /// A rank is no more. Every node hears of all of them, in the same order.
    Lost(Loss),
    /// Do the others go on without that rank?
    Judged(u32, bool),
    /// An agreement of some ranks, some of which may be here.
    Decided {
        /// In which turn of programs.
        turn: u32,
        /// The contributor.
        ranks: Vec<u32>,
        /// What they agree on.
        decision: Decision,
    },
    /// Message spaces are revoked, in this turn.
    Revoked(u32, Revocation),
    /// Say what each rank waits for.
    SayWho,
}

/// How the ranks of a node wait, none of which computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// How long the one has waited that began last; `None`: all are stopped.
    pub seconds: Option<u32>,
    /// Some are stopped.
    pub stopped: bool,
}

/// A rank that is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Of which programs that ran one after the other.
    pub turn: u32,
    /// Which.
    pub rank: u32,
    /// It had finalized, and left a job in which others had failed.
    pub in_peace: bool,
}

impl Loss {
    /// Is it known to the programs of this turn? A failed rank does not come back.
    pub fn concerns(&self, turn: u32) -> bool {
        self.turn == turn || !self.in_peace && self.turn < turn
    }
}

/// What the ranks of a node want after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Which node.
    pub node: u32,
    /// The lost rank.
    pub rank: u32,
    /// How many go on; `None`: one of them does not want to.
    pub survivors: Option<u32>,
}

/// Two ranks that cannot talk any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLink {
    /// The rank that reports it.
    pub rank: u32,
    /// The rank to end.
    pub other: u32,
}

/// How a rank is reached over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Of which programs that ran one after the other.
    pub turn: u32,
    /// The rank.
    pub rank: u32,
    /// Its name there.
    pub name: Vec<u8>,
}

/// The part of a job that runs on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePart {
    /// The job's secret.
    pub nonce: [u8; 16],
    /// Which node.
    pub node: u16,
    /// The node of each rank.
    pub of: Vec<u16>,
    /// What all nodes run.
    pub job: Job,
    /// The environment of `mpiexec`.
    pub environment: Vec<(OsString, OsString)>,
    /// Its directory.
    pub directory: OsString,
}

/// A group of nodes whose head is a branch.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtree {
    /// What each of them runs.
    pub part: NodePart,
    /// Which they are; the branch runs on the first.
    pub spots: Vec<Spot>,
    /// The command that starts another on a host, if the user has named one.
    pub launcher: Option<String>,
    /// How many a head starts at most, beside the daemon of its own node.
    pub fan_out: u32,
}

/// What crosses, in `postcard`'s format. Both ends are of one version, as a daemon's first message shows.
pub trait Message: Serialize + DeserializeOwned {
    /// As bytes.
    fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a vector takes what there is")
    }

    /// From bytes; `None`: they are no message.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (message, rest) = postcard::take_from_bytes(bytes).ok()?;
        rest.is_empty().then_some(message)
    }
}

impl Message for ToHead {}
impl Message for ToNode {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use isthmus_engine::Agreed;
    use isthmus_engine::control::Combine;

    use super::*;
    use crate::options::{Command, Pattern};

    fn part() -> NodePart {
        let job = Job {
            commands: vec![Command {
                ranks: 3,
                program: "a".into(),
                arguments: vec!["x y".into(), "".into()],
                environment: vec![("A".into(), "b=c".into())],
                directory: Some("/tmp".into()),
            }],
            tag_output: true,
            never_end_others: true,
            report_bindings: true,
            inherit: Some(Vec::new()),
            stdin: None,
            report_hang: Some(Duration::from_millis(500)),
            output_files: [None, Pattern::parse("outfile-pattern", "%h.%r").ok()],
            ..Job::default()
        };
        NodePart {
            nonce: [7; 16],
            node: 1,
            of: vec![0, 0, 1],
            job,
            environment: vec![("PATH".into(), "/bin".into())],
            directory: "/".into(),
        }
    }

    fn subtree() -> Subtree {
        let spot = |index| Spot {
            index,
            host: format!("n{index}"),
        };
        Subtree {
            part: part(),
            spots: vec![spot(1), spot(4)],
            launcher: Some("enter".into()),
            fan_out: 2,
        }
    }

    #[test]
    fn messages_survive_the_trip() {
        let card = Card {
            turn: 0,
            rank: 3,
            name: vec![1, 2, 0],
        };
        let loss = Loss {
            turn: 1,
            rank: 4095,
            in_peace: true,
        };
        let revocation = Revocation {
            first: 3,
            count: 2,
            members: vec![1, 7],
        };
        let vote = |survivors| {
            ToHead::Vote(Vote {
                node: 2,
                rank: 3,
                survivors,
            })
        };
        let waiting = |wait: Option<_>| ToHead::Waiting {
            node: 3,
            wait: wait.map(|(seconds, stopped)| Wait { seconds, stopped }),
        };
        for message in [
            ToHead::Lost(loss),
            vote(None),
            vote(Some(0)),
            vote(Some(7)),
            ToHead::Over(5),
            waiting(None),
            waiting(Some((Some(61), false))),
            waiting(Some((None, true))),
            ToHead::Revoked(1, revocation.clone()),
            ToHead::Contributed {
                turn: 0,
                rank: 2,
                contribution: Contribution {
                    key: 1,
                    turn: 2,
                    combine: Combine::And,
                    value: 3,
                    acknowledged: 4,
                    members: vec![0, 2],
                },
            },
            ToHead::Hello {
                node: 1,
                version: "0.1".into(),
            },
            ToHead::Card(card.clone()),
            ToHead::Ending(3),
            ToHead::Done(0),
            ToHead::BrokenLink(BrokenLink { rank: 3, other: 9 }),
        ] {
            assert_eq!(ToHead::decode(&message.encode()), Some(message));
        }
        for message in [
            ToNode::Lost(loss),
            ToNode::Judged(3, true),
            ToNode::Revoked(1, revocation),
            ToNode::Decided {
                turn: 0,
                ranks: vec![0, 2],
                decision: Decision {
                    key: 1,
                    turn: 2,
                    agreed: Agreed {
                        value: 3,
                        failures: 1,
                        unacknowledged: true,
                    },
                },
            },
            ToNode::Run(Box::new(part())),
            ToNode::Branch(Box::new(subtree())),
            ToNode::Card(card),
            ToNode::End(137),
            ToNode::Signal(10),
            ToNode::SayWho,
            ToNode::BrokenLink(BrokenLink { rank: 3, other: 9 }),
        ] {
            assert_eq!(ToNode::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn garbage_is_refused() {
        assert_eq!(ToHead::decode(&[1]), None);
        let whole = ToNode::Run(Box::new(part())).encode();
        for length in 0..whole.len() {
            assert_eq!(ToNode::decode(&whole[..length]), None, "cut to {length}");
        }
        let whole = ToNode::Branch(Box::new(subtree())).encode();
        for length in 0..whole.len() {
            assert_eq!(ToNode::decode(&whole[..length]), None, "cut to {length}");
        }
    }
}
