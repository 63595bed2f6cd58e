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
//! | `ISTHMUS_JOB`, `ISTHMUS_NODE` | 32 hexadecimal digits: the job's nonce; the node's number: the socket's name is derived of both: `\0isthmus-<16 digits>` |
//! | `ISTHMUS_RANK`, `ISTHMUS_SIZE` | rank in the job, number of ranks |
//! | `ISTHMUS_APPNUM` | index of the command in an MPMD job |

use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
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

    /// The abstract socket's name on a node of the job, without the leading zero byte. Two nodes may be one machine under two names. Everybody
    /// may read the names of sockets: it is derived from the nonce.
    pub fn socket_name(&self, node: u32) -> String {
        let name = match node {
            0 => self.derive("socket"),
            _ => self.derive(&format!("socket of node {node}")),
        };
        let digits: String = name[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("isthmus-{digits}")
    }
}

/// What proves that somebody knows a nonce, without telling it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
pub const VERSION: u32 = 3;
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        #[serde(with = "rank_bits")]
        members: Vec<u32>,
        /// One line for the user, or empty.
        message: String,
    },
}

/// How the values of an agreement become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// What a rank contributes to an agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(with = "rank_bits")]
    pub members: Vec<u32>,
}

/// Message spaces that are revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// The first of them.
    pub first: u32,
    /// How many neighbours.
    pub count: u32,
    /// The ranks that communicate there.
    #[serde(with = "rank_bits")]
    pub members: Vec<u32>,
}

/// What a group that is on several nodes has agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Which group.
    pub key: u64,
    /// Which of its agreements.
    pub turn: u32,
    /// What it is.
    pub agreed: Agreed,
}

/// What a launcher tells a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// As bytes of one packet. A text that is too long for one is cut.
    pub fn encode(&self) -> Vec<u8> {
        let whole = encode(self);
        let Some(excess) = whole.len().checked_sub(MAX_PACKET).filter(|excess| *excess > 0) else {
            return whole;
        };
        let mut short = self.clone();
        match &mut short {
            Self::Lost { message, .. } | Self::Abort { message, .. } => {
                let mut length = message.len().saturating_sub(excess);
                while !message.is_char_boundary(length) {
                    length -= 1;
                }
                message.truncate(length);
            }
            _ => {}
        }
        encode(&short)
    }

    /// From the bytes of one packet; `None` if it is not one of ours.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        decode(packet)
    }
}

impl ToRank {
    /// As bytes of one packet.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// From the bytes of one packet; `None` if it is not one of ours.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        decode(packet)
    }
}

/// Ranks as a bit each, so that those of the largest job fit in a packet.
mod rank_bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(ranks: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        let last = ranks.iter().max().map_or(0, |last| *last as usize + 1);
        let mut bits = vec![0_u8; last.div_ceil(8)];
        ranks
            .iter()
            .for_each(|rank| bits[*rank as usize / 8] |= 1 << (rank % 8));
        bits.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        let bits = Vec::<u8>::deserialize(deserializer)?;
        let ranks = 0..bits.len() as u32 * 8;
        Ok(ranks
            .filter(|rank| bits[*rank as usize / 8] >> (rank % 8) & 1 == 1)
            .collect())
    }
}

/// What every packet begins with.
fn header() -> [u8; 8] {
    let mut header = [0; 8];
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..].copy_from_slice(&VERSION.to_le_bytes());
    header
}

fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(message, header().to_vec()).expect("a vector takes what there is")
}

fn decode<'a, T: Deserialize<'a>>(packet: &'a [u8]) -> Option<T> {
    let (message, rest) = postcard::take_from_bytes(packet.strip_prefix(&header())?).ok()?;
    rest.is_empty().then_some(message)
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
        let name = nonce.socket_name(0);
        assert_ne!(name, nonce.socket_name(1));
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
