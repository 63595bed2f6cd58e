//! The control channel between a rank and its launcher: packets over an abstract `SOCK_SEQPACKET` socket.
//!
//! Connecting is how a rank joins (it is handed the job segment's descriptor, by `SCM_RIGHTS`), and the connection is
//! its lifeline: the launcher takes its end of file without a [`ToLauncher::Finalized`] before it for a death, whatever
//! wrappers (`sh -c`, `env`, a debugger) stand between the two.
//!
//! Environment that the launcher gives each rank:
//!
//! | variable | meaning |
//! |---|---|
//! | `ISTHMUS_JOB` | 32 hexadecimal digits: the job's nonce, of which the socket's name is derived: `\0isthmus-<16 digits>` |
//! | `ISTHMUS_RANK`, `ISTHMUS_SIZE` | rank in the job, number of ranks |
//! | `ISTHMUS_APPNUM` | index of the command in an MPMD job |

use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::consensus::Agreed;

/// A 128-bit secret that proves who belongs to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce(pub [u8; 16]);

impl Nonce {
    /// Parse 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// 32 bytes for one purpose, which tell nothing of the nonce, nor of those for other purposes: HMAC-SHA256 (RFC 2104) of the purpose's
    /// name, with the nonce as the key.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        let hmac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        hmac.chain_update(purpose).finalize().into_bytes().into()
    }

    /// The proof of a process of the job that it knows the nonce, for one purpose.
    pub fn proof(&self, purpose: &str) -> Proof {
        Proof(self.derive(purpose)[..16].try_into().expect("there are 32 bytes"))
    }

    /// The abstract socket's name, without the leading zero byte. Everybody may read the names of sockets: it is derived from the nonce.
    pub fn socket_name(&self) -> String {
        let name = self.derive("socket");
        let digits: String = name[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("isthmus-{digits}")
    }
}

/// What proves that somebody knows a nonce, without telling it.
#[derive(Debug, Clone, Copy)]
pub struct Proof(pub [u8; 16]);

impl PartialEq for Proof {
    /// In a time that does not depend on where they differ.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Proof {}

impl std::fmt::Display for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

const MAGIC: u32 = 0x4953_5448; // "ISTH"
/// Both sides must speak the same version.
pub const VERSION: u32 = 2;
/// The purpose of what a rank proves when it asks to join.
pub const OF_RANK: &str = "rank";
/// The purpose of what its launcher proves then.
pub const OF_LAUNCHER: &str = "launcher";
/// No packet is longer.
pub const MAX_PACKET: usize = 1024;

/// The exit code that `MPI_Abort`'s error code becomes: its low 8 bits, but never success.
pub fn exit_code(code: i32) -> u8 {
    match (code, (code & 0xff) as u8) {
        (0, _) => 0,
        (_, 0) => 1,
        (_, low) => low,
    }
}

/// What a rank tells its launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToLauncher {
    /// First packet: `rank` asks to join. Answered by [`ToRank::Welcome`] (with the segment's descriptor) or [`ToRank::Refused`].
    Hello {
        /// The rank it was told to be.
        rank: u32,
        /// The process, as it sees itself.
        pid: u32,
        /// That it belongs to the job ([`OF_RANK`]).
        proof: Proof,
    },
    /// MPI is finalized: an end of file from now on is no death.
    Finalized,
    /// MPI is in use again after [`ToLauncher::Finalized`] (sessions).
    Resumed,
    /// How ranks on other nodes reach this one over the network.
    Card {
        /// Its name there, as [`isthmus_fabric`] gives it.
        name: Vec<u8>,
    },
    /// There is no way any more to this rank of another node. That one is to end.
    Lost {
        /// Which.
        rank: u32,
        /// Why, one line for the user.
        message: String,
    },
    /// To an agreement whose members are on several nodes. Answered by [`ToRank::Decided`] once all who live have contributed.
    Contribute(Contribution),
    /// These message spaces are revoked; members on other nodes are to hear of it, by [`ToRank::Revoked`].
    Revoke(Revocation),
    /// `MPI_Abort` or a fatal error: end the job with this exit code. The message, if any, is printed as it is.
    Abort {
        /// Exit code of the job.
        code: i32,
        /// Only these ranks are to end; empty: all.
        members: Vec<u32>,
        /// One line for the user, or empty.
        message: String,
    },
}

/// How the values of an agreement become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Bit by bit: set where all have it set.
    And,
    /// The largest.
    Max,
}

impl Combine {
    /// Two of them.
    pub fn apply(self, one: u32, other: u32) -> u32 {
        match self {
            Self::And => one & other,
            Self::Max => one.max(other),
        }
    }

    fn of(code: u32) -> Option<Self> {
        [Self::And, Self::Max]
            .into_iter()
            .find(|combine| *combine as u32 == code)
    }
}

/// What a rank contributes to an agreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contribution {
    /// Which group agrees.
    pub key: u64,
    /// Which of its agreements this is, counted from 1.
    pub turn: u32,
    /// How the values become one.
    pub combine: Combine,
    /// The operation.
    pub value: u32,
    /// How many failures, from the first one on, the rank has acknowledged.
    pub acknowledged: u32,
    /// The group.
    pub members: Vec<u32>,
}

impl Contribution {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let words = [self.turn, self.combine as u32, self.value, self.acknowledged];
        let mut bytes = self.key.to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(bits_of(&self.members));
        bytes
    }

    /// From bytes; `None`: they are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            key: u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?),
            turn: word(bytes, 8)?,
            combine: Combine::of(word(bytes, 12)?)?,
            value: word(bytes, 16)?,
            acknowledged: word(bytes, 20)?,
            members: of_bits(bytes.get(24..)?),
        })
    }
}

/// Message spaces that are revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The first of them.
    pub first: u32,
    /// How many neighbours.
    pub count: u32,
    /// The ranks that communicate there.
    pub members: Vec<u32>,
}

impl Revocation {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = [self.first, self.count]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        bytes.extend(bits_of(&self.members));
        bytes
    }

    /// From bytes; `None`: they are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            first: word(bytes, 0)?,
            count: word(bytes, 4)?,
            members: of_bits(bytes.get(8..)?),
        })
    }
}

/// What a group that is on several nodes has agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Which group.
    pub key: u64,
    /// Which of its agreements.
    pub turn: u32,
    /// What it is.
    pub agreed: Agreed,
}

impl Decision {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let Agreed {
            value,
            failures,
            unacknowledged,
        } = self.agreed;
        let words = [self.turn, value, failures, u32::from(unacknowledged)];
        let mut bytes = self.key.to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// From bytes; `None`: they are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            key: u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?),
            turn: word(bytes, 8)?,
            agreed: Agreed {
                value: word(bytes, 12)?,
                failures: word(bytes, 16)?,
                unacknowledged: word(bytes, 20)? != 0,
            },
        })
    }
}

/// What a launcher tells a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToRank {
    /// Joined; the job segment's descriptor comes with this packet.
    Welcome {
        /// Ranks in the job.
        size: u32,
        /// The launcher's process, an ancestor of every rank.
        launcher_pid: u32,
        /// A [`ToRank::Pool`] follows.
        pool: bool,
        /// That it is the job's launcher ([`OF_LAUNCHER`]): the socket's name could be another's by now.
        proof: Proof,
    },
    /// The descriptor of huge pages for the job comes with this packet.
    Pool,
    /// What a group has agreed on to which the rank has contributed.
    Decided(Decision),
    /// These message spaces are revoked, by a rank of another node.
    Revoked(Revocation),
    /// The slot is taken (by the parent of a child that inherited the environment), or the nonce is wrong: be a singleton.
    Refused,
}

impl ToLauncher {
    /// As bytes of one packet. A long message is cut.
    pub fn encode(&self) -> Vec<u8> {
        let mut packet = header(match self {
            Self::Hello { .. } => 1,
            Self::Finalized => 2,
            Self::Resumed => 3,
            Self::Abort { .. } => 4,
            Self::Card { .. } => 5,
            Self::Lost { .. } => 6,
            Self::Contribute(_) => 7,
            Self::Revoke(_) => 8,
        });
        match self {
            Self::Hello { rank, pid, proof } => {
                packet.extend(rank.to_le_bytes());
                packet.extend(pid.to_le_bytes());
                packet.extend(proof.0);
            }
            Self::Finalized | Self::Resumed => {}
            Self::Contribute(contribution) => packet.extend(contribution.encode()),
            Self::Revoke(revocation) => packet.extend(revocation.encode()),
            Self::Card { name } => packet.extend(&name[..name.len().min(MAX_PACKET - packet.len())]),
            Self::Lost { rank, message } => {
                packet.extend(rank.to_le_bytes());
                packet.extend(&message.as_bytes()[..message.len().min(MAX_PACKET - packet.len())]);
            }
            Self::Abort { code, members, message } => {
                packet.extend(code.to_le_bytes());
                let bits = bits_of(members);
                packet.extend((bits.len() as u32).to_le_bytes());
                packet.extend(bits);
                packet.extend(&message.as_bytes()[..message.len().min(MAX_PACKET - packet.len())]);
            }
        }
        packet
    }

    /// From the bytes of one packet; `None` if it is not one of ours.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        let (kind, body) = open(packet)?;
        match kind {
            1 => Some(Self::Hello {
                rank: word(body, 0)?,
                pid: word(body, 4)?,
                proof: Proof(body.get(8..24)?.try_into().ok()?),
            }),
            2 => Some(Self::Finalized),
            3 => Some(Self::Resumed),
            5 => Some(Self::Card { name: body.to_vec() }),
            6 => Some(Self::Lost {
                rank: word(body, 0)?,
                message: String::from_utf8_lossy(&body[4..]).into_owned(),
            }),
            7 => Contribution::decode(body).map(Self::Contribute),
            8 => Revocation::decode(body).map(Self::Revoke),
            4 => {
                let text = 8 + word(body, 4)? as usize;
                Some(Self::Abort {
                    code: word(body, 0)? as i32,
                    members: of_bits(body.get(8..text)?),
                    message: String::from_utf8_lossy(body.get(text..)?).into_owned(),
                })
            }
            _ => None,
        }
    }
}

impl ToRank {
    /// As bytes of one packet.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Welcome {
                size,
                launcher_pid,
                pool,
                proof,
            } => {
                let mut packet = header(1);
                packet.extend(size.to_le_bytes());
                packet.extend(launcher_pid.to_le_bytes());
                packet.extend(u32::from(*pool).to_le_bytes());
                packet.extend(proof.0);
                packet
            }
            Self::Refused => header(2),
            Self::Pool => header(3),
            Self::Decided(decision) => [header(4), decision.encode()].concat(),
            Self::Revoked(revocation) => [header(5), revocation.encode()].concat(),
        }
    }

    /// From the bytes of one packet; `None` if it is not one of ours.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        let (kind, body) = open(packet)?;
        match kind {
            1 => Some(Self::Welcome {
                size: word(body, 0)?,
                launcher_pid: word(body, 4)?,
                pool: word(body, 8)? != 0,
                proof: Proof(body.get(12..28)?.try_into().ok()?),
            }),
            2 => Some(Self::Refused),
            3 => Some(Self::Pool),
            4 => Decision::decode(body).map(Self::Decided),
            5 => Revocation::decode(body).map(Self::Revoked),
            _ => None,
        }
    }
}

/// A bit per rank, as few bytes as that takes.
fn bits_of(ranks: &[u32]) -> Vec<u8> {
    let last = ranks.iter().max().map_or(0, |last| *last as usize + 1);
    let mut bits = vec![0; last.div_ceil(8)];
    ranks
        .iter()
        .for_each(|rank| bits[*rank as usize / 8] |= 1 << (rank % 8));
    bits
}

fn of_bits(bits: &[u8]) -> Vec<u32> {
    let ranks = 0..bits.len() as u32 * 8;
    ranks
        .filter(|rank| bits[*rank as usize / 8] >> (rank % 8) & 1 == 1)
        .collect()
}

fn header(kind: u32) -> Vec<u8> {
    [MAGIC, VERSION, kind]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

fn open(packet: &[u8]) -> Option<(u32, &[u8])> {
    if word(packet, 0)? != MAGIC || word(packet, 4)? != VERSION {
        return None;
    }
    Some((word(packet, 8)?, &packet[12..]))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_survive_the_trip() {
        let nonce = Nonce::parse("000102030405060708090a0b0c0d0eff").expect("32 digits");
        let revocation = Revocation {
            first: 9,
            count: 4,
            members: vec![1, 2, 9],
        };
        for message in [
            ToLauncher::Contribute(Contribution {
                key: 1 << 40,
                turn: 3,
                combine: Combine::Max,
                value: 7,
                acknowledged: 1,
                members: vec![0, 4095],
            }),
            ToLauncher::Revoke(revocation.clone()),
            ToLauncher::Hello {
                rank: 3,
                pid: 77,
                proof: nonce.proof(OF_RANK),
            },
            ToLauncher::Finalized,
            ToLauncher::Resumed,
            ToLauncher::Card { name: vec![2, 0, 7] },
            ToLauncher::Lost {
                rank: 9,
                message: "why".into(),
            },
            ToLauncher::Abort {
                code: -2,
                members: Vec::new(),
                message: "why".into(),
            },
            ToLauncher::Abort {
                code: 3,
                members: vec![0, 7, 8, 4095],
                message: String::new(),
            },
        ] {
            assert_eq!(ToLauncher::decode(&message.encode()), Some(message));
        }
        for message in [
            ToRank::Welcome {
                size: 4,
                launcher_pid: 9,
                pool: true,
                proof: nonce.proof(OF_LAUNCHER),
            },
            ToRank::Refused,
            ToRank::Pool,
            ToRank::Revoked(revocation),
            ToRank::Decided(Decision {
                key: 2,
                turn: 5,
                agreed: Agreed {
                    value: 8,
                    failures: 1,
                    unacknowledged: true,
                },
            }),
        ] {
            assert_eq!(ToRank::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn what_is_derived_tells_nothing_of_the_nonce() {
        let nonce = Nonce::parse("000102030405060708090a0b0c0d0eff").expect("32 digits");
        let digits = nonce.to_string();
        let name = nonce.socket_name();
        assert!(
            !name.contains(&digits[..8]) && !name.contains(&digits[16..24]),
            "{name}"
        );
        assert_ne!(nonce.proof(OF_RANK), nonce.proof(OF_LAUNCHER));
        assert_ne!(nonce.proof(OF_RANK), Nonce([0; 16]).proof(OF_RANK));
        // As `printf socket | openssl dgst -sha256 -mac HMAC -macopt hexkey:DIGITS` says.
        assert_eq!(name, "isthmus-9471ca5b9a7ffe06");
    }

    #[test]
    fn failure_never_becomes_success() {
        assert_eq!([0, 1, 255, 256, -1, 512 + 7].map(exit_code), [0, 1, 255, 1, 255, 7]);
    }

    #[test]
    fn garbage_is_refused() {
        assert_eq!(ToLauncher::decode(b""), None);
        assert_eq!(ToLauncher::decode(&[0xff; 64]), None);
        let hello = ToLauncher::Hello {
            rank: 0,
            pid: 0,
            proof: Proof([0; 16]),
        }
        .encode();
        for length in 0..hello.len() {
            assert_eq!(ToLauncher::decode(&hello[..length]), None);
        }
        assert_eq!(Nonce::parse("short"), None);
        assert_eq!(Nonce::parse(&"é".repeat(16)), None);
    }
}
