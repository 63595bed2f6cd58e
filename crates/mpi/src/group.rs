//! Groups: ordered sets of processes (MPI-5.0 §7.3).

mod members;

use std::sync::{Arc, OnceLock};

use isthmus_engine::Peer;

use crate::handle::{Kind, Object, Table};
use crate::{constants::UNDEFINED, error::Class};

pub use members::Members;

/// An ordered set of processes, and the place of the calling process in it.
#[derive(Debug)]
pub struct Group {
    members: Members,
    rank: i32,
}

impl Object for Group {
    const KIND: Kind = Kind::Group;
    const INVALID: Class = Class::Group;
    const NULL: u32 = 0x108;
    const NAME: &'static str = "MPI_Group";
    fn table() -> &'static Table<Self> {
        static TABLE: OnceLock<Table<Group>> = OnceLock::new();
        TABLE.get_or_init(|| {
            let table = Table::new();
            table.set_predefined(vec![None, Some(Group::new(Members::empty()))]);
            table
        })
    }
}

impl Group {
    /// A group of these members.
    pub fn new(members: Members) -> Arc<Self> {
        let rank = crate::environment::me().and_then(|me| members.rank_of(me));
        Arc::new(Self {
            members,
            rank: rank.unwrap_or(UNDEFINED),
        })
    }

    /// Number of members.
    pub fn size(&self) -> i32 {
        self.members.len()
    }

    /// The calling process's place, or `UNDEFINED`.
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// The member at `rank`; `None` if there is no such rank.
    #[inline]
    pub fn peer(&self, rank: i32) -> Option<Peer> {
        self.members.peer(rank)
    }

    /// Where `peer` stands, if it is a member.
    pub fn rank_of(&self, peer: Peer) -> Option<i32> {
        self.members.rank_of(peer)
    }

    /// The members.
    pub fn members(&self) -> &Members {
        &self.members
    }
}
