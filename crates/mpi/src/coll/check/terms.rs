//! What a call was made with, as far as ranks must agree, and how it is told: in words of 64 bits.

use super::round::Whom;
use crate::ledger::{Held, Use};
use crate::op::Op;
use isthmus_collective::Root;
use isthmus_collective::elements::Elements;
use isthmus_datatype::Digest;

/// Words of a text of up to 40 bytes.
pub const TEXT: usize = 5;
/// Words of a [`Sequence`].
pub const SEQUENCE: usize = 2 + TEXT;
/// Words of what is the same for all, or should be: the first says [`GIVEN`] or [`WRONG`], then root, operation, sequence
/// of all, shares.
pub const TERMS: usize = 4 + TEXT + SEQUENCE;

/// Terms that are good.
pub const GIVEN: u64 = 1;
/// The arguments are wrong.
pub const WRONG: u64 = 2;

/// `MPI_PACKED`: matches anything.
const PACKED: u32 = 0x207;

/// A sequence of basic elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// 0 if it matches any with as many bytes.
    digest: u64,
    bytes: u64,
    /// As the user gave it.
    text: String,
}

impl Sequence {
    /// No elements.
    fn empty() -> Self {
        Self {
            digest: 0,
            bytes: 0,
            text: "nothing".to_owned(),
        }
    }

    fn of(elements: Elements<'_>) -> Self {
        let (count, datatype) = (elements.count, elements.datatype);
        let is_packed = datatype.named().is_some_and(|named| named.raw == PACKED);
        let digest = if is_packed {
            0
        } else {
            datatype.signature().digest(count).number()
        };
        let text = match elements.bytes() {
            0 => "nothing".to_owned(),
            bytes if datatype.named().is_none() => format!("{bytes} bytes ({count} x a derived type)"),
            _ => format!("{count} x {}", datatype.label()),
        };
        Self {
            digest,
            bytes: elements.bytes() as u64,
            text,
        }
    }

    /// And then these.
    fn push(&mut self, digest: &mut Digest, elements: Elements<'_>) {
        let next = Self::of(elements);
        let is_first = self.bytes == 0;
        *digest = digest.then(elements.datatype.signature().digest(elements.count));
        *self = Self {
            digest: if next.digest == 0 && next.bytes > 0 {
                0
            } else {
                digest.number()
            },
            bytes: self.bytes + next.bytes,
            text: if is_first {
                next.text
            } else {
                format!("{} bytes in several blocks", self.bytes + next.bytes)
            },
        };
    }

    pub fn matches(&self, other: &Self) -> bool {
        self.bytes == other.bytes && (self.digest == other.digest || self.digest == 0 || other.digest == 0)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn words(&self) -> [u64; SEQUENCE] {
        let mut words = [0; SEQUENCE];
        words[0] = self.digest;
        words[1] = self.bytes;
        words[2..].copy_from_slice(&text_out(&self.text));
        words
    }

    pub fn read(words: &[u64]) -> Self {
        Self {
            digest: words[0],
            bytes: words[1],
            text: text_in(&words[2..SEQUENCE]),
        }
    }
}

/// Up to 40 bytes of a text.
pub fn text_out(text: &str) -> [u64; TEXT] {
    let mut words = [0; TEXT];
    for (word, bytes) in words.iter_mut().zip(text.as_bytes().chunks(8)) {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(all);
    }
    words
}

pub fn text_in(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

/// What a call was made with. Absent terms are not compared.
pub(crate) struct Terms {
    root: Option<Root>,
    op: Option<&'static str>,
    all: Option<Sequence>,
    shares: u64,
    /// By process: what goes there, and what is to come from there.
    pub(super) blocks: Option<[Vec<Sequence>; 2]>,
    digests: [Vec<Digest>; 2],
    /// What the call reads, and what it writes.
    buffers: [Option<Held>; 2],
}

/// How a root is told: a rank, or one of these.
pub mod root {
    pub const NONE: u64 = u64::MAX;
    pub const HERE: u64 = u64::MAX - 1;
    pub const ELSEWHERE: u64 = u64::MAX - 2;
}

impl Terms {
    pub(super) fn new(whom: &Whom) -> Self {
        Self {
            root: None,
            op: None,
            all: None,
            shares: 0,
            blocks: None,
            digests: [(); 2].map(|()| vec![Digest::EMPTY; whom.places()]),
            buffers: [None, None],
        }
    }

    /// The root.
    pub fn root(&mut self, root: Root) -> &mut Self {
        self.root = Some(root);
        self
    }

    /// The operation.
    pub fn op(&mut self, op: &Op) -> &mut Self {
        self.op = Some(op.label());
        self
    }

    /// Elements of which each has, or gets, as many.
    pub fn all(&mut self, elements: Elements<'_>) -> &mut Self {
        self.all = Some(Sequence::of(elements));
        self
    }

    /// The call reads these elements until it is complete.
    pub fn reads(&mut self, elements: Elements<'_>) -> &mut Self {
        self.buffers[0] = Held::joined(Use::Sends, std::iter::once(elements));
        self
    }

    /// The call writes these elements until it is complete.
    pub fn writes(&mut self, elements: Elements<'_>) -> &mut Self {
        self.buffers[1] = Held::joined(Use::Receives, std::iter::once(elements));
        self
    }

    pub(super) fn take_buffers(&mut self) -> [Option<Held>; 2] {
        std::mem::take(&mut self.buffers)
    }

    /// How many of them each gets.
    pub fn shares(&mut self, counts: &[i64]) -> &mut Self {
        let mix = |sum: u64, count: &i64| (sum ^ *count as u64).wrapping_mul(0x0100_0000_01b3);
        self.shares = counts.iter().fold(0xcbf2_9ce4_8422_2325, mix);
        self
    }

    /// Data to others, and expected from them, in the order of messages between two. A process's data
    /// for itself is not compared.
    pub fn blocks<'a>(
        &mut self,
        sends: impl IntoIterator<Item = (usize, Elements<'a>)>,
        receives: impl IntoIterator<Item = (usize, Elements<'a>)>,
    ) -> &mut Self {
        let [sends, receives]: [Vec<_>; 2] = [sends.into_iter().collect(), receives.into_iter().collect()];
        self.buffers = [
            Held::joined(Use::Sends, list_of(&sends)),
            Held::joined(Use::Receives, list_of(&receives)),
        ];
        let places = self.digests[0].len();
        let [sent, received] = self.blocks.insert([(); 2].map(|()| vec![Sequence::empty(); places]));
        let [sent_digests, received_digests] = &mut self.digests;
        for (to, elements) in sends {
            sent[to].push(&mut sent_digests[to], elements);
        }
        for (from, elements) in receives {
            received[from].push(&mut received_digests[from], elements);
        }
        self
    }

    /// Of a call whose arguments are wrong.
    pub(super) fn wrong() -> [u64; TERMS] {
        let mut words = [0; TERMS];
        words[0] = WRONG;
        words
    }

    pub(super) fn words(&self) -> [u64; TERMS] {
        let mut words = [0; TERMS];
        words[0] = GIVEN;
        words[1] = match self.root {
            None => root::NONE,
            Some(Root::Here) => root::HERE,
            Some(Root::Elsewhere) => root::ELSEWHERE,
            Some(Root::Rank(rank) | Root::There(rank)) => rank as u64,
        };
        words[2] = self.shares;
        words[3] = u64::from(self.all.is_some());
        words[4..4 + TEXT].copy_from_slice(&text_out(self.op.unwrap_or_default()));
        if let Some(all) = &self.all {
            words[4 + TEXT..].copy_from_slice(&all.words());
        }
        words
    }
}

fn list_of<'a>(blocks: &[(usize, Elements<'a>)]) -> impl Iterator<Item = Elements<'a>> + Clone {
    blocks.iter().map(|(_, elements)| *elements)
}

/// Terms of another process.
pub struct PeerTerms {
    pub is_wrong: bool,
    pub root: u64,
    pub op: Option<String>,
    pub all: Option<Sequence>,
    pub shares: u64,
}

impl PeerTerms {
    pub fn read(words: &[u64]) -> Self {
        let op = text_in(&words[4..4 + TEXT]);
        Self {
            is_wrong: words[0] != GIVEN,
            root: words[1],
            op: (!op.is_empty()).then_some(op),
            all: (words[3] != 0).then(|| Sequence::read(&words[4 + TEXT..])),
            shares: words[2],
        }
    }
}
