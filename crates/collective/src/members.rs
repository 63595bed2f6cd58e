//! Ordered sets of processes in a compact form, and their algebra.
//!
//! Members at a constant stride (the world, every second process, the world backwards) are kept as three numbers, so
//! that rank and process translate by arithmetic. Anything else is a list with an index.

use std::collections::HashMap;
use std::sync::Arc;

use isthmus_engine::Peer;

/// An ordered set of processes. Equal sets in equal order have equal forms.
#[derive(Debug, Clone)]
pub enum Members {
    /// `first`, `first + stride`, ... With fewer than two members the stride is 1, without any `first` is 0.
    Strided {
        /// The member at rank 0.
        first: u32,
        /// From one member to the next; not 0.
        stride: i32,
        /// Number of members.
        count: u32,
    },
    /// Members that have no constant stride.
    Listed(Arc<List>),
}

/// Members by rank, and ranks by member.
#[derive(Debug)]
pub struct List {
    peers: Box<[Peer]>,
    ranks: HashMap<Peer, i32>,
}

impl Members {
    /// Nobody.
    pub fn empty() -> Self {
        Self::Strided {
            first: 0,
            stride: 1,
            count: 0,
        }
    }

    /// The first `count` processes of the job.
    pub fn first(count: u32) -> Self {
        Self::Strided {
            first: 0,
            stride: 1,
            count,
        }
    }

    /// These processes, which must be distinct.
    pub fn from_peers(peers: Vec<Peer>) -> Self {
        Self::strided(peers.iter().copied()).unwrap_or_else(|| Self::listed(peers))
    }

    /// As [`Self::from_peers`], of processes that are not in memory.
    pub fn collect(peers: impl Iterator<Item = Peer> + Clone) -> Self {
        Self::strided(peers.clone()).unwrap_or_else(|| Self::listed(peers.collect()))
    }

    /// If they have a constant stride.
    fn strided(mut peers: impl Iterator<Item = Peer>) -> Option<Self> {
        let Some(Peer(first)) = peers.next() else {
            return Some(Self::empty());
        };
        let (mut last, mut stride, mut count) = (first, None, 1);
        for Peer(peer) in peers {
            let gap = i32::try_from(i64::from(peer) - i64::from(last)).ok()?;
            if *stride.get_or_insert(gap) != gap {
                return None;
            }
            last = peer;
            count += 1;
        }
        Some(Self::Strided {
            first,
            stride: stride.unwrap_or(1),
            count,
        })
    }

    fn listed(peers: Vec<Peer>) -> Self {
        let ranks = peers.iter().zip(0..).map(|(&peer, rank)| (peer, rank)).collect();
        Self::Listed(Arc::new(List {
            peers: peers.into_boxed_slice(),
            ranks,
        }))
    }

    /// Number of members.
    pub fn len(&self) -> i32 {
        match self {
            Self::Strided { count, .. } => *count as i32,
            Self::Listed(list) => list.peers.len() as i32,
        }
    }

    /// Nobody there?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The member at `rank`; `None` if there is no such rank.
    #[inline]
    pub fn peer(&self, rank: i32) -> Option<Peer> {
        match self {
            Self::Strided { first, stride, count } => {
                let inside = (rank as u32) < *count;
                inside.then(|| Peer(first.wrapping_add_signed(stride.wrapping_mul(rank))))
            }
            Self::Listed(list) => list.peers.get(usize::try_from(rank).ok()?).copied(),
        }
    }

    /// Where `peer` stands.
    pub fn rank_of(&self, peer: Peer) -> Option<i32> {
        match self {
            Self::Strided { first, stride, count } => {
                let distance = i64::from(peer.0) - i64::from(*first);
                let rank = distance / i64::from(*stride);
                let member = distance % i64::from(*stride) == 0 && (0..i64::from(*count)).contains(&rank);
                member.then_some(rank as i32)
            }
            Self::Listed(list) => list.ranks.get(&peer).copied(),
        }
    }

    /// The members, by rank.
    pub fn iter(&self) -> impl Iterator<Item = Peer> + '_ {
        (0..self.len()).filter_map(|rank| self.peer(rank))
    }

    /// Ours, then those of `other` that are not ours.
    pub fn union(&self, other: &Self) -> Self {
        let new = other.iter().filter(|&peer| self.rank_of(peer).is_none());
        Self::from_peers(self.iter().chain(new).collect())
    }

    /// Those of ours that are also in `other`.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_peers(self.iter().filter(|&peer| other.rank_of(peer).is_some()).collect())
    }

    /// Those of ours that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        Self::from_peers(self.iter().filter(|&peer| other.rank_of(peer).is_none()).collect())
    }
}
