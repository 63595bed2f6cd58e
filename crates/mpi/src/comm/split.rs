//! Splitting communicators (MPI-5.0 §7.4.2).

use isthmus_engine::{Level, Locality};

use super::Comm;
use super::inter::gather_both;
use crate::coll::check;
use crate::constants::{
    COMM_TYPE_HW_GUIDED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_RESOURCE_GUIDED, COMM_TYPE_SHARED, UNDEFINED,
};
use crate::error::Result;
use crate::fail;
use crate::group::{Group, Members};
use crate::handle::Handle;
use crate::info::Info;

/// The resource type that the standard names: what `COMM_TYPE_SHARED` splits by.
pub const SHARED_MEMORY: &str = "mpi_shared_memory";
const TYPE_KEY: &str = "mpi_hw_resource_type";
const PSET_KEY: &str = "mpi_pset_name";
const SCHEME: &str = "hwloc://";

/// The name of a kind of hardware as a resource type.
pub fn resource_type(level: Level) -> String {
    format!("{SCHEME}{}", level.name())
}

/// The kind of hardware that a resource type names, with or without the scheme.
fn level_of(name: &str) -> Option<Level> {
    Level::of_name(name.strip_prefix(SCHEME).unwrap_or(name))
}

/// `MPI_Comm_split`: a communicator for each colour, ranked by key, then by rank in `comm`; the null handle for the colour
/// `UNDEFINED`. Collective; one whose colour is wrong gets an error, and the others do without it.
pub fn comm_split(comm: &Comm, color: i32, key: i32) -> Result<Handle<Comm>> {
    check::same(comm, "MPI_Comm_split")?;
    let valid = color >= 0 || color == UNDEFINED;
    let new = split(comm, if valid { color } else { UNDEFINED }, key)?;
    if !valid {
        return Err(fail!(Arg, "color={color} is negative and not MPI_UNDEFINED"));
    }
    publish(new)
}

/// The colour of one that is split by its locality among those of the others; no program's, since it is negative.
const BY_LOCALITY: i32 = -1;
const _: () = assert!(BY_LOCALITY != UNDEFINED);

/// What a process says in a split: its offer of a context id, colour, key, and the two halves of its locality.
#[derive(Clone, Copy)]
struct SplitTerms([u32; 5]);

impl SplitTerms {
    fn of(comm: &Comm, color: i32, key: i32, locality: Locality) -> Self {
        let bits = locality.bits();
        Self([comm.offer(), color as u32, key as u32, bits as u32, (bits >> 32) as u32])
    }

    fn color(&self) -> i32 {
        self.0[1] as i32
    }

    fn locality(&self) -> Locality {
        Locality::from_bits(u64::from(self.0[3]) | u64::from(self.0[4]) << 32)
    }
}

/// What a process is split by.
enum Criterion {
    /// By a number that it knows by itself.
    Color(i32),
    /// By the largest kind of hardware that tells processes apart.
    Largest,
}

/// `MPI_Comm_split_type`: by what processes share. Where a process may run at this moment decides; one that may leave the
/// unit of hardware gets the null handle. Collective.
pub fn comm_split_type(comm: &Comm, split_type: i32, key: i32, info: Option<&Info>) -> Result<Handle<Comm>> {
    check::same(comm, "MPI_Comm_split_type")?;
    let locality = isthmus_engine::own_locality();
    let criterion = criterion(comm, split_type, info, locality);
    // Those whose arguments are wrong are waited for all the same.
    let color = match &criterion {
        Ok(Criterion::Color(color)) => *color,
        Ok(Criterion::Largest) => BY_LOCALITY,
        Err(_) => UNDEFINED,
    };
    let mut level = None;
    let new = split_by(comm, SplitTerms::of(comm, color, key, locality), |all| {
        level = largest(all)
    })?;
    criterion?;
    if let (BY_LOCALITY, Some(level), Some(info), Some(_)) = (color, level, info, &new) {
        info.set(TYPE_KEY.as_bytes(), resource_type(level).as_bytes());
    }
    publish(new)
}

fn criterion(comm: &Comm, split_type: i32, info: Option<&Info>, locality: Locality) -> Result<Criterion> {
    let hint = |name: &str| info.and_then(|info| info.value(name));
    // Units of different kinds must not meet.
    let unit = |level: Level| {
        let unit = locality.unit(level).map(i32::from);
        unit.map_or(UNDEFINED, |unit| unit * Level::ALL.len() as i32 + level as i32)
    };
    let resource = |name: String| match name.as_str() {
        SHARED_MEMORY => unit(Level::Machine),
        name => level_of(name).map_or(UNDEFINED, unit),
    };
    let pset = |name: String| match name.as_str() {
        "mpi://WORLD" => 0,
        "mpi://SELF" => comm.rank(),
        _ => UNDEFINED,
    };
    let color = match split_type {
        UNDEFINED => UNDEFINED,
        COMM_TYPE_SHARED => unit(Level::Machine),
        COMM_TYPE_HW_UNGUIDED => return Ok(Criterion::Largest),
        COMM_TYPE_HW_GUIDED => hint(TYPE_KEY).map_or(UNDEFINED, resource),
        COMM_TYPE_RESOURCE_GUIDED => match (hint(TYPE_KEY), hint(PSET_KEY)) {
            (Some(_), Some(_)) => return Err(fail!(Info, "info has both {TYPE_KEY} and {PSET_KEY}")),
            (Some(name), None) => resource(name),
            (None, name) => name.map_or(UNDEFINED, pset),
        },
        _ => return Err(fail!(Arg, "split_type={split_type} is not a way to split")),
    };
    Ok(Criterion::Color(color))
}

/// Give a colour to the processes that are split by their localities: the unit that each of them uses of the largest kind of hardware of which not
/// all of them use the same unit. That kind.
fn largest(all: &mut [&mut SplitTerms]) -> Option<Level> {
    let by_locality = all.iter().filter(|said| said.color() == BY_LOCALITY);
    let localities: Vec<Locality> = by_locality.map(|said| said.locality()).collect();
    let level = telling_apart(&localities);
    for said in all.iter_mut().filter(|said| said.color() == BY_LOCALITY) {
        let unit = level.and_then(|level| said.locality().unit(level));
        said.0[1] = unit.map_or(UNDEFINED, i32::from) as u32;
    }
    level
}

fn telling_apart(localities: &[Locality]) -> Option<Level> {
    Level::ALL.into_iter().find(|level| {
        let mut units = localities.iter().map(|locality| locality.unit(*level));
        let first = units.next().flatten();
        units.any(|unit| unit != first)
    })
}

fn publish(new: Option<Comm>) -> Result<Handle<Comm>> {
    new.map_or(Ok(Handle::NULL), Comm::publish)
}

/// A communicator for each colour, as [`comm_split`] makes it. Collective.
pub(crate) fn split(comm: &Comm, color: i32, key: i32) -> Result<Option<Comm>> {
    split_by(comm, SplitTerms::of(comm, color, key, Locality::default()), |_| ())
}

/// As [`split`], with colours that `decide` may change when it knows what all have said: to the same on all of them.
fn split_by(comm: &Comm, said: SplitTerms, decide: impl FnOnce(&mut [&mut SplitTerms])) -> Result<Option<Comm>> {
    let (ours, theirs) = gather_both(comm, said.0)?;
    let [mut ours, mut theirs] = [ours, theirs].map(|all| all.into_iter().map(SplitTerms).collect::<Vec<_>>());
    decide(&mut ours.iter_mut().chain(&mut theirs).collect::<Vec<_>>());
    let color = ours[comm.rank() as usize].color();
    let group = chosen(&comm.group, &ours, color);
    let remote = comm.remote_group().map(|remote| chosen(remote, &theirs, color));
    let nobody_there = remote.as_ref().is_some_and(|remote| remote.size() == 0);
    let offers = ours.iter().chain(&theirs).map(|SplitTerms([offer, ..])| *offer);
    let new = comm.derive(offers, group, remote)?;
    Ok((color != UNDEFINED && !nobody_there).then_some(new))
}

/// Those of `group` who said `color`, by their keys.
fn chosen(group: &Group, said: &[SplitTerms], color: i32) -> std::sync::Arc<Group> {
    group.with(Members::from_peers(
        by_key(said, color).filter_map(|rank| group.peer(rank)).collect(),
    ))
}

fn by_key(said: &[SplitTerms], color: i32) -> impl Iterator<Item = i32> {
    let mut chosen: Vec<(i32, i32)> = said
        .iter()
        .zip(0..)
        .filter(|(said, _)| said.color() == color)
        .map(|(SplitTerms([_, _, key, ..]), rank)| (*key as i32, rank))
        .collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|(_, rank)| rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_that_not_all_share() {
        let locality = |text: &str, rank| isthmus_engine::MadeUp::parse(text).expect("a machine").locality(rank);
        let localities = |ranks: std::ops::Range<usize>| ranks.map(|rank| locality("2x2x2", rank)).collect::<Vec<_>>();
        assert_eq!(telling_apart(&localities(0..8)), Some(Level::Package));
        assert_eq!(telling_apart(&localities(0..4)), Some(Level::Numa));
        assert_eq!(telling_apart(&localities(2..4)), Some(Level::L2));
        assert_eq!(telling_apart(&localities(0..1)), None);
        assert_eq!(telling_apart(&[localities(0..1), localities(8..9)].concat()), None);
        // One may run anywhere.
        let free = [localities(0..2), vec![Locality::default()]].concat();
        assert_eq!(telling_apart(&free), Some(Level::Machine));
    }

    #[test]
    fn resource_types_by_both_names() {
        assert_eq!(resource_type(Level::Numa), "hwloc://NUMANode");
        assert_eq!(level_of("hwloc://L3Cache"), Some(Level::L3));
        assert_eq!(level_of("L3Cache"), Some(Level::L3));
        assert_eq!(level_of("l4cache"), None);
    }

    #[test]
    fn keys_order_and_ranks_break_ties() {
        let said: Vec<SplitTerms> = [(0, 5), (1, 0), (0, -1), (0, 5), (UNDEFINED, 0), (1, 0)]
            .map(|(color, key): (i32, i32)| SplitTerms([0, color as u32, key as u32, 0, 0]))
            .to_vec();
        assert_eq!(by_key(&said, 0).collect::<Vec<_>>(), [2, 0, 3]);
        assert_eq!(by_key(&said, 1).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(by_key(&said, 2).count(), 0);
    }
}
