//! Groups: ordered sets of processes (MPI-5.0 §7.3).

use std::sync::{Arc, OnceLock};

use isthmus_engine::Peer;

use crate::constants::{IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL};
use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind, Table};
use crate::process;
use crate::process::SessionId;

pub use isthmus_collective::Members;

/// An ordered set of processes, and the place of the calling process in it.
#[derive(Debug)]
pub struct Group {
    members: Members,
    rank: i32,
    /// The session that it is derived from; `None`: the world.
    session: Option<SessionId>,
}

/// `MPI_GROUP_EMPTY`.
pub const GROUP_EMPTY: Handle<Group> = Handle::from_raw(0x109);

impl Object for Group {
    const KIND: ObjectKind = ObjectKind::Group;
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
    /// A group of these members, derived from no session.
    pub fn new(members: Members) -> Arc<Self> {
        Self::derived(None, members)
    }

    /// A group of these members, derived from where this one is.
    pub(crate) fn with(&self, members: Members) -> Arc<Self> {
        Self::derived(self.session, members)
    }

    fn derived(session: Option<SessionId>, members: Members) -> Arc<Self> {
        let rank = process::me().and_then(|me| members.rank_of(me));
        Arc::new(Self {
            members,
            rank: rank.unwrap_or(UNDEFINED),
            session,
        })
    }

    /// The session that it is derived from; `None`: the world.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// What two groups are derived from, which must be the same (MPI-5.0 §11.3). The empty group goes with any.
    pub(crate) fn common_session(&self, other: &Self) -> Result<Option<SessionId>> {
        match (self.members.is_empty(), other.members.is_empty()) {
            (true, _) => Ok(other.session),
            (_, true) => Ok(self.session),
            _ if self.session == other.session => Ok(self.session),
            _ => Err(fail!(Group, "the groups are derived from different sessions")),
        }
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

/// Hand a group of these members to the user.
pub(crate) fn publish(session: Option<SessionId>, members: Members) -> Result<Handle<Group>> {
    if members.is_empty() {
        return Ok(GROUP_EMPTY);
    }
    Group::table().insert(Group::derived(session, members))
}

/// `MPI_Group_size`.
pub fn group_size(group: &Group) -> Result<i32> {
    Ok(group.size())
}

/// `MPI_Group_rank`: the calling process's rank, or `UNDEFINED`.
pub fn group_rank(group: &Group) -> Result<i32> {
    Ok(group.rank())
}

/// `MPI_Group_translate_ranks`: the ranks in `group2` of the processes at `ranks1` in `group1`; `UNDEFINED` for those that
/// are not in `group2`.
pub fn group_translate_ranks(group1: &Group, ranks1: &[i32], group2: &Group, ranks2: &mut [i32]) -> Result<()> {
    group1.common_session(group2)?;
    for (&rank1, rank2) in ranks1.iter().zip(ranks2) {
        *rank2 = match group1.peer(rank1) {
            Some(peer) => group2.rank_of(peer).unwrap_or(UNDEFINED),
            None if rank1 == PROC_NULL => PROC_NULL,
            None => {
                return Err(fail!(
                    Rank,
                    "ranks1 holds {rank1}, but group1 has {} members",
                    group1.size()
                ));
            }
        };
    }
    Ok(())
}

/// `MPI_Group_compare`: `IDENT`, `SIMILAR` or `UNEQUAL`.
pub fn group_compare(group1: &Group, group2: &Group) -> Result<i32> {
    group1.common_session(group2)?;
    Ok(compare(&group1.members, &group2.members))
}

/// As [`group_compare`].
pub(crate) fn compare(one: &Members, other: &Members) -> i32 {
    if one.len() != other.len() {
        UNEQUAL
    } else if one.iter().eq(other.iter()) {
        IDENT
    } else if one.iter().all(|peer| other.rank_of(peer).is_some()) {
        SIMILAR
    } else {
        UNEQUAL
    }
}

/// `MPI_Group_union`: the members of `group1`, then those of `group2` that are not among them.
pub fn group_union(group1: &Group, group2: &Group) -> Result<Handle<Group>> {
    publish(group1.common_session(group2)?, group1.members.union(&group2.members))
}

/// `MPI_Group_intersection`: the members of `group1` that are in `group2`.
pub fn group_intersection(group1: &Group, group2: &Group) -> Result<Handle<Group>> {
    publish(
        group1.common_session(group2)?,
        group1.members.intersection(&group2.members),
    )
}

/// `MPI_Group_difference`: the members of `group1` that are not in `group2`.
pub fn group_difference(group1: &Group, group2: &Group) -> Result<Handle<Group>> {
    publish(
        group1.common_session(group2)?,
        group1.members.difference(&group2.members),
    )
}

fn bad_rank(rank: i64, size: i32) -> Error {
    fail!(Rank, "ranks hold {rank}, but the group has {size} members")
}

/// Each rank once, each a rank of the group.
fn check_distinct(group: &Group, ranks: impl Iterator<Item = i64>) -> Result<()> {
    const FEW: usize = 256;
    let size = group.size();
    let (mut few, mut many) = ([false; FEW], Vec::new());
    let seen = match few.get_mut(..size as usize) {
        Some(few) => few,
        None => {
            many.resize(size as usize, false);
            &mut many[..]
        }
    };
    for rank in ranks {
        let known = usize::try_from(rank).ok().and_then(|rank| seen.get_mut(rank));
        let known = known.ok_or_else(|| bad_rank(rank, size))?;
        if std::mem::replace(known, true) {
            return Err(fail!(Rank, "ranks hold {rank} twice"));
        }
    }
    Ok(())
}

/// The members at these ranks, which are checked.
fn incl(group: &Group, ranks: impl Iterator<Item = i64> + Clone) -> Result<Handle<Group>> {
    check_distinct(group, ranks.clone())?;
    let members = ranks.filter_map(|rank| group.peer(rank as i32));
    publish(group.session, Members::collect(members))
}

/// The members that are not at these ranks, which are checked.
fn excl(group: &Group, ranks: impl Iterator<Item = i64> + Clone) -> Result<Handle<Group>> {
    check_distinct(group, ranks.clone())?;
    let mut stays = vec![true; group.size() as usize];
    for rank in ranks {
        stays[rank as usize] = false;
    }
    let left = group.members.iter().zip(stays).filter(|(_, stays)| *stays);
    publish(group.session, Members::from_peers(left.map(|(peer, _)| peer).collect()))
}

/// The ranks that (first, last, stride) triplets name, in order. The triplets are checked, the ranks are not: far too many
/// of them may be named, so they come one by one.
fn expand(ranges: &[i32]) -> Result<impl Iterator<Item = i64> + Clone> {
    let triplets = ranges
        .chunks_exact(3)
        .map(|triplet| [triplet[0], triplet[1], triplet[2]].map(i64::from));
    for [first, last, stride] in triplets.clone() {
        if stride == 0 {
            return Err(fail!(Arg, "ranges hold ({first}, {last}, 0), a stride of 0"));
        }
        if first < 0 || last < 0 {
            return Err(fail!(Rank, "ranges hold ({first}, {last}, {stride}), a negative rank"));
        }
    }
    Ok(triplets.flat_map(|[first, last, stride]| {
        let backwards = (last - first) * stride < 0;
        let count = if backwards { 0 } else { (last - first) / stride + 1 };
        (0..count).map(move |step| first + step * stride)
    }))
}

/// `MPI_Group_incl`: the members at `ranks`, in that order.
pub fn group_incl(group: &Group, ranks: &[i32]) -> Result<Handle<Group>> {
    incl(group, ranks.iter().copied().map(i64::from))
}

/// `MPI_Group_excl`: the members that are not at `ranks`.
pub fn group_excl(group: &Group, ranks: &[i32]) -> Result<Handle<Group>> {
    excl(group, ranks.iter().copied().map(i64::from))
}

/// `MPI_Group_range_incl`: the members that (first, last, stride) triplets name, in that order.
pub fn group_range_incl(group: &Group, ranges: &[i32]) -> Result<Handle<Group>> {
    incl(group, expand(ranges)?)
}

/// `MPI_Group_range_excl`: the members that (first, last, stride) triplets do not name.
pub fn group_range_excl(group: &Group, ranges: &[i32]) -> Result<Handle<Group>> {
    excl(group, expand(ranges)?)
}

/// `MPI_Group_free`. The empty group, which several procedures answer, may be freed; it stays.
pub fn group_free(handle: Handle<Group>) -> Result<()> {
    if handle == GROUP_EMPTY {
        return Ok(());
    }
    handle.remove("group").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn group(peers: &[u32]) -> Arc<Group> {
        Group::new(Members::from_peers(peers.iter().copied().map(Peer).collect()))
    }

    /// The members behind a handle, which is freed.
    fn peers(handle: Result<Handle<Group>>) -> Vec<u32> {
        let handle = handle.expect("good arguments");
        let group = handle.resolve("group").expect("live");
        let peers = group.members().iter().map(|peer| peer.0).collect();
        group_free(handle).expect("live");
        peers
    }

    fn code<V>(outcome: Result<V>) -> Option<i32> {
        outcome.err().map(|error| error.code())
    }

    #[test]
    fn ranges() {
        let ten = group(&(100..110).collect::<Vec<_>>());
        assert_eq!(
            peers(group_range_incl(&ten, &[6, 7, 1, 1, 6, 2, 0, 9, 4])),
            [106, 107, 101, 103, 105, 100, 104, 108]
        );
        assert_eq!(peers(group_range_incl(&ten, &[9, 0, -3])), [109, 106, 103, 100]);
        assert_eq!(
            peers(group_range_excl(&ten, &[9, 0, -3, 1, 1, 7])),
            [102, 104, 105, 107, 108]
        );
        assert_eq!(peers(group_range_incl(&ten, &[3, 2, 2])), [0; 0]);
        for (bad, class) in [
            ([0, 9, 0], Class::Arg),
            ([0, 10, 1], Class::Rank),
            ([0, i32::MAX, 1], Class::Rank),
            ([i32::MAX, 0, i32::MIN], Class::Rank),
            ([-1, 3, 1], Class::Rank),
        ] {
            assert_eq!(code(group_range_incl(&ten, &bad)), Some(class as i32), "{bad:?}");
            assert_eq!(code(group_range_excl(&ten, &bad)), Some(class as i32), "{bad:?}");
        }
        assert_eq!(
            code(group_range_incl(&ten, &[0, 3, 1, 3, 4, 1])),
            Some(Class::Rank as i32)
        );
    }

    #[test]
    fn ranks_are_checked() {
        let three = group(&[5, 1, 9]);
        for bad in [&[3][..], &[-1], &[0, 1, 0], &[PROC_NULL]] {
            assert_eq!(code(group_incl(&three, bad)), Some(Class::Rank as i32));
            assert_eq!(code(group_excl(&three, bad)), Some(Class::Rank as i32));
        }
        let mut out = [0; 4];
        let other = group(&[9, 5]);
        assert_eq!(
            group_translate_ranks(&three, &[0, 1, 2, PROC_NULL], &other, &mut out),
            Ok(())
        );
        assert_eq!(out, [1, UNDEFINED, 0, PROC_NULL]);
        assert_eq!(
            code(group_translate_ranks(&three, &[3], &other, &mut out)),
            Some(Class::Rank as i32)
        );
    }

    #[test]
    fn the_empty_group_is_one() {
        let three = group(&[5, 1, 9]);
        assert_eq!(group_incl(&three, &[]), Ok(GROUP_EMPTY));
        assert_eq!(group_difference(&three, &three), Ok(GROUP_EMPTY));
        assert_eq!(group_free(GROUP_EMPTY), Ok(()));
        assert_eq!(GROUP_EMPTY.resolve("group").map(Group::size), Ok(0));
    }

    /// Distinct processes in any order; strided ones are likely.
    fn members() -> impl Strategy<Value = Vec<u32>> {
        let shuffled = proptest::sample::subsequence((0..12).collect::<Vec<u32>>(), 0..=12).prop_shuffle();
        let strided =
            (0_u32..4, 1_usize..4, 0_usize..5, any::<bool>()).prop_map(|(first, stride, count, backwards)| {
                let mut list: Vec<u32> = (first..).step_by(stride).take(count).collect();
                if backwards {
                    list.reverse();
                }
                list
            });
        prop_oneof![shuffled, strided]
    }

    proptest! {
        #[test]
        fn algebra_is_that_of_sets(one in members(), two in members()) {
            let (a, b) = (group(&one), group(&two));
            let only = |list: &[u32], keep: &dyn Fn(&u32) -> bool| -> Vec<u32> {
                list.iter().copied().filter(keep).collect()
            };
            let mut union = one.clone();
            union.extend(only(&two, &|peer| !one.contains(peer)));
            prop_assert_eq!(peers(group_union(&a, &b)), union);
            prop_assert_eq!(peers(group_intersection(&a, &b)), only(&one, &|peer| two.contains(peer)));
            prop_assert_eq!(peers(group_difference(&a, &b)), only(&one, &|peer| !two.contains(peer)));

            let (mut sorted_one, mut sorted_two) = (one.clone(), two.clone());
            sorted_one.sort_unstable();
            sorted_two.sort_unstable();
            let expected = if one == two {
                IDENT
            } else if sorted_one == sorted_two {
                SIMILAR
            } else {
                UNEQUAL
            };
            prop_assert_eq!(group_compare(&a, &b), Ok(expected));
        }

        #[test]
        fn ranks_and_members_agree(list in members(), rank in -2_i32..15, peer in 0_u32..15) {
            let group = group(&list);
            prop_assert_eq!(group.size() as usize, list.len());
            let at = usize::try_from(rank).ok().and_then(|rank| list.get(rank));
            prop_assert_eq!(group.peer(rank).map(|peer| peer.0), at.copied());
            let position = list.iter().position(|other| *other == peer).map(|rank| rank as i32);
            prop_assert_eq!(group.rank_of(Peer(peer)), position);
        }

        #[test]
        fn inclusion_and_exclusion(list in members(), chosen in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let group = group(&list);
            let mut ranks: Vec<i32> = Vec::new();
            for index in chosen.iter().filter(|_| !list.is_empty()) {
                let rank = index.index(list.len()) as i32;
                if !ranks.contains(&rank) {
                    ranks.push(rank);
                }
            }
            let picked: Vec<u32> = ranks.iter().map(|&rank| list[rank as usize]).collect();
            prop_assert_eq!(peers(group_incl(&group, &ranks)), picked.clone());
            let rest: Vec<u32> = list.iter().copied().filter(|peer| !picked.contains(peer)).collect();
            prop_assert_eq!(peers(group_excl(&group, &ranks)), rest);
        }
    }
}
