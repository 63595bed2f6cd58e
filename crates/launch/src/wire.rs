//! What `mpiexec` and its daemons on other nodes tell each other, over a [`Connection`](crate::connection::Connection).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use isthmus_engine::control::{Contribution, Decision, Revocation};

use crate::head::Spot;
use crate::options::{Bind, Command, Job, Pattern};

/// What a daemon tells `mpiexec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToHead {
    /// First: it runs on that node, and is of this version.
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
#[derive(Debug, PartialEq, Eq)]
pub enum ToNode {
    /// What to run.
    Run(Box<Part>),
    /// To be the head of a group of nodes.
    Branch(Box<Limb>),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How long the one has waited that began last; `None`: all are stopped.
    pub seconds: Option<u32>,
    /// Some are stopped.
    pub stopped: bool,
}

/// A rank that is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote {
    /// Which node.
    pub node: u32,
    /// The lost rank.
    pub rank: u32,
    /// How many go on; `None`: one of them does not want to.
    pub survivors: Option<u32>,
}

/// Two ranks that cannot talk any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenLink {
    /// The rank that reports it.
    pub rank: u32,
    /// The rank to end.
    pub other: u32,
}

/// How a rank is reached over the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Of which programs that ran one after the other.
    pub turn: u32,
    /// The rank.
    pub rank: u32,
    /// Its name there.
    pub name: Vec<u8>,
}

/// The part of a job that runs on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
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
#[derive(Debug, PartialEq, Eq)]
pub struct Limb {
    /// What each of them runs.
    pub part: Part,
    /// Which they are; the branch runs on the first.
    pub spots: Vec<Spot>,
    /// The command that starts another on a host, if the user has named one.
    pub launcher: Option<String>,
    /// How many a head starts at most, beside the daemon of its own node.
    pub fan_out: u32,
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).0.extend(bytes);
        self
    }

    fn text(&mut self, text: &OsStr) -> &mut Self {
        self.bytes(text.as_bytes())
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        u64::from_le_bytes(*number).try_into().ok()
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = self.number::<usize>()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn text(&mut self) -> Option<OsString> {
        Some(OsString::from_vec(self.bytes()?))
    }

    fn pairs(&mut self) -> Option<Vec<(OsString, OsString)>> {
        let count = self.number::<usize>()?;
        (0..count).map(|_| Some((self.text()?, self.text()?))).collect()
    }
}

fn write_pairs(writer: &mut Writer, pairs: &[(OsString, OsString)]) {
    writer.number(pairs.len() as u64);
    for (name, value) in pairs {
        writer.text(name).text(value);
    }
}

fn write_card(writer: &mut Writer, card: &Card) {
    writer
        .number(card.turn.into())
        .number(card.rank.into())
        .bytes(&card.name);
}

fn read_card(reader: &mut Reader<'_>) -> Option<Card> {
    Some(Card {
        turn: reader.number()?,
        rank: reader.number()?,
        name: reader.bytes()?,
    })
}

fn write_parting(writer: &mut Writer, BrokenLink { rank, other }: BrokenLink) {
    writer.number(rank.into()).number(other.into());
}

fn read_parting(reader: &mut Reader<'_>) -> Option<BrokenLink> {
    Some(BrokenLink {
        rank: reader.number()?,
        other: reader.number()?,
    })
}

fn write_loss(writer: &mut Writer, Loss { turn, rank, in_peace }: Loss) {
    writer.number(turn.into()).number(rank.into()).number(in_peace.into());
}

fn read_loss(reader: &mut Reader<'_>) -> Option<Loss> {
    Some(Loss {
        turn: reader.number()?,
        rank: reader.number()?,
        in_peace: reader.number::<u8>()? != 0,
    })
}

fn write_revocation(writer: &mut Writer, turn: u32, revocation: &Revocation) {
    writer.number(turn.into()).bytes(&revocation.encode());
}

/// What crosses.
pub trait Message: Sized {
    /// As bytes.
    fn encode(&self) -> Vec<u8>;
    /// From bytes; `None`: they are no message.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Message for ToHead {
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Hello { node, version } => {
                writer.number(1).number((*node).into());
                writer.bytes(version.as_bytes());
            }
            Self::Card(card) => write_card(writer.number(2), card),
            Self::Ending(code) => drop(writer.number(3).number((*code).into())),
            Self::Done(code) => drop(writer.number(4).number((*code).into())),
            Self::BrokenLink(broken) => write_parting(writer.number(5), *broken),
            Self::Lost(loss) => write_loss(writer.number(6), *loss),
            Self::Vote(Vote { node, rank, survivors }) => {
                writer.number(7).number((*node).into()).number((*rank).into());
                writer.number(survivors.map_or(0, |count| u64::from(count) + 1));
            }
            Self::Over(node) => drop(writer.number(8).number((*node).into())),
            Self::Contributed {
                turn,
                rank,
                contribution,
            } => {
                writer.number(9).number((*turn).into()).number((*rank).into());
                writer.bytes(&contribution.encode());
            }
            Self::Revoked(turn, revocation) => write_revocation(writer.number(10), *turn, revocation),
            Self::Waiting { node, wait } => {
                writer.number(11).number((*node).into()).number(wait.is_some().into());
                if let Some(Wait { seconds, stopped }) = wait {
                    writer.number(seconds.map_or(0, |seconds| u64::from(seconds) + 1));
                    writer.number((*stopped).into());
                }
            }
        }
        writer.0
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let message = match reader.number::<u32>()? {
            1 => Self::Hello {
                node: reader.number()?,
                version: String::from_utf8(reader.bytes()?).ok()?,
            },
            2 => Self::Card(read_card(&mut reader)?),
            3 => Self::Ending(reader.number()?),
            4 => Self::Done(reader.number()?),
            5 => Self::BrokenLink(read_parting(&mut reader)?),
            6 => Self::Lost(read_loss(&mut reader)?),
            7 => Self::Vote(Vote {
                node: reader.number()?,
                rank: reader.number()?,
                survivors: reader.number::<u32>()?.checked_sub(1),
            }),
            8 => Self::Over(reader.number()?),
            9 => Self::Contributed {
                turn: reader.number()?,
                rank: reader.number()?,
                contribution: Contribution::decode(&reader.bytes()?)?,
            },
            10 => Self::Revoked(reader.number()?, Revocation::decode(&reader.bytes()?)?),
            11 => Self::Waiting {
                node: reader.number()?,
                wait: match reader.number::<u8>()? {
                    0 => None,
                    _ => Some(Wait {
                        seconds: reader.number::<u64>()?.checked_sub(1).map(|seconds| seconds as u32),
                        stopped: reader.number::<u8>()? != 0,
                    }),
                },
            },
            _ => return None,
        };
        reader.0.is_empty().then_some(message)
    }
}

impl Message for ToNode {
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Run(part) => write_part(writer.number(1), part),
            Self::Card(card) => write_card(writer.number(2), card),
            Self::End(code) => drop(writer.number(3).number((*code).into())),
            Self::Signal(signal) => drop(writer.number(4).number(*signal as u64)),
            Self::Branch(limb) => write_limb(writer.number(5), limb),
            Self::BrokenLink(broken) => write_parting(writer.number(6), *broken),
            Self::Lost(loss) => write_loss(writer.number(7), *loss),
            Self::Judged(rank, go_on) => {
                writer.number(8).number((*rank).into()).number((*go_on).into());
            }
            Self::Decided { turn, ranks, decision } => {
                writer.number(9).number((*turn).into()).number(ranks.len() as u64);
                for rank in ranks {
                    writer.number((*rank).into());
                }
                writer.bytes(&decision.encode());
            }
            Self::Revoked(turn, revocation) => write_revocation(writer.number(10), *turn, revocation),
            Self::SayWho => drop(writer.number(11)),
        }
        writer.0
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let message = match reader.number::<u32>()? {
            1 => Self::Run(Box::new(read_part(&mut reader)?)),
            2 => Self::Card(read_card(&mut reader)?),
            3 => Self::End(reader.number()?),
            4 => Self::Signal(reader.number()?),
            5 => Self::Branch(Box::new(read_limb(&mut reader)?)),
            6 => Self::BrokenLink(read_parting(&mut reader)?),
            7 => Self::Lost(read_loss(&mut reader)?),
            8 => Self::Judged(reader.number()?, reader.number::<u8>()? != 0),
            9 => {
                let (turn, count) = (reader.number()?, reader.number::<usize>()?);
                Self::Decided {
                    turn,
                    ranks: (0..count).map(|_| reader.number()).collect::<Option<_>>()?,
                    decision: Decision::decode(&reader.bytes()?)?,
                }
            }
            10 => Self::Revoked(reader.number()?, Revocation::decode(&reader.bytes()?)?),
            11 => Self::SayWho,
            _ => return None,
        };
        reader.0.is_empty().then_some(message)
    }
}

fn write_part(writer: &mut Writer, part: &Part) {
    writer.bytes(&part.nonce).number(part.node.into());
    writer.number(part.of.len() as u64);
    for node in &part.of {
        writer.number((*node).into());
    }
    write_pairs(writer, &part.environment);
    writer.text(&part.directory);
    let job = &part.job;
    for flag in [
        job.tag_output,
        job.timestamp_output,
        job.report_bindings,
        job.never_end_others,
        job.inherit.is_some(),
    ] {
        writer.number(flag.into());
    }
    writer.number(job.bind.code());
    writer.number(job.stdin.map_or(0, |rank| u64::from(rank) + 1));
    writer.number(job.report_hang.map_or(0, |limit| limit.as_millis() as u64 + 1));
    for pattern in &job.output_files {
        writer.bytes(pattern.as_ref().map_or("", Pattern::text).as_bytes());
    }
    writer.number(job.commands.len() as u64);
    for command in &job.commands {
        writer.number(command.ranks.into()).text(&command.program);
        writer.number(command.arguments.len() as u64);
        for argument in &command.arguments {
            writer.text(argument);
        }
        write_pairs(writer, &command.environment);
        let directory = command.directory.as_ref();
        writer.text(directory.map_or(OsStr::new(""), |directory| directory.as_os_str()));
    }
}

fn write_limb(writer: &mut Writer, limb: &Limb) {
    write_part(writer, &limb.part);
    writer.number(limb.spots.len() as u64);
    for spot in &limb.spots {
        writer.number(spot.index.into()).bytes(spot.host.as_bytes());
    }
    writer.number(limb.launcher.is_some().into());
    writer.bytes(limb.launcher.as_deref().unwrap_or_default().as_bytes());
    writer.number(limb.fan_out.into());
}

fn read_limb(reader: &mut Reader<'_>) -> Option<Limb> {
    let part = read_part(reader)?;
    let count = reader.number::<usize>()?;
    let mut spot = || {
        Some(Spot {
            index: reader.number()?,
            host: String::from_utf8(reader.bytes()?).ok()?,
        })
    };
    let spots: Vec<Spot> = (0..count).map(|_| spot()).collect::<Option<_>>()?;
    let has_launcher = reader.number::<u8>()? != 0;
    let launcher = String::from_utf8(reader.bytes()?).ok()?;
    Some(Limb {
        part,
        spots,
        launcher: has_launcher.then_some(launcher),
        fan_out: reader.number()?,
    })
}

fn read_part(reader: &mut Reader<'_>) -> Option<Part> {
    let nonce = reader.bytes()?.try_into().ok()?;
    let node = reader.number()?;
    let count = reader.number::<usize>()?;
    let of = (0..count).map(|_| reader.number()).collect::<Option<_>>()?;
    let environment = reader.pairs()?;
    let directory = reader.text()?;
    let mut flags = [false; 5];
    for flag in &mut flags {
        *flag = reader.number::<u8>()? != 0;
    }
    let [tag_output, timestamp_output, report_bindings, never_end_others, is_bare] = flags;
    let bind = Bind::from_code(reader.number()?);
    let stdin = reader.number::<u64>()?.checked_sub(1).map(|rank| rank as u32);
    let report_hang = reader.number::<u64>()?.checked_sub(1).map(Duration::from_millis);
    let mut pattern = || {
        let text = String::from_utf8(reader.bytes()?).ok()?;
        Some((!text.is_empty()).then(|| Pattern::from_text(text)))
    };
    let output_files = [pattern()?, pattern()?];
    let mut job = Job {
        tag_output,
        timestamp_output,
        report_bindings,
        never_end_others,
        // What ranks inherit has been chosen where the user's environment is.
        inherit: is_bare.then(Vec::new),
        bind,
        stdin,
        report_hang,
        output_files,
        ..Job::default()
    };
    for _ in 0..reader.number::<usize>()? {
        let (ranks, program) = (reader.number()?, reader.text()?);
        let count = reader.number::<usize>()?;
        let arguments = (0..count).map(|_| reader.text()).collect::<Option<_>>()?;
        let environment = reader.pairs()?;
        let directory = reader.text()?;
        job.commands.push(Command {
            ranks,
            program,
            arguments,
            environment,
            directory: (!directory.is_empty()).then(|| directory.into()),
        });
    }
    Some(Part {
        nonce,
        node,
        of,
        job,
        environment,
        directory,
    })
}

#[cfg(test)]
mod tests {
    use isthmus_engine::Agreed;
    use isthmus_engine::control::Combine;

    use super::*;

    fn part() -> Part {
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
            output_files: [None, Some(Pattern::from_text("%h.%r".into()))],
            ..Job::default()
        };
        Part {
            nonce: [7; 16],
            node: 1,
            of: vec![0, 0, 1],
            job,
            environment: vec![("PATH".into(), "/bin".into())],
            directory: "/".into(),
        }
    }

    fn limb() -> Limb {
        let spot = |index| Spot {
            index,
            host: format!("n{index}"),
        };
        Limb {
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
            ToNode::Branch(Box::new(limb())),
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
        let whole = ToNode::Branch(Box::new(limb())).encode();
        for length in 0..whole.len() {
            assert_eq!(ToNode::decode(&whole[..length]), None, "cut to {length}");
        }
    }
}
