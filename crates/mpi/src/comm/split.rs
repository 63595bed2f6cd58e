//! Splitting communicators (MPI-5.0 §7.4.2).

use super::inter::gather_both;
use super::{Comm, context};
use crate::constants::{
    COMM_TYPE_HW_GUIDED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_RESOURCE_GUIDED, COMM_TYPE_SHARED, UNDEFINED,
};
use crate::error::Result;
use crate::fail;
use crate::group::{Group, Members};
use crate::handle::Handle;
use crate::info::Info;

/// The one resource type that the standard names: what `COMM_TYPE_SHARED` splits by.
pub const SHARED_MEMORY: &str = "mpi_shared_memory";

/// `MPI_Comm_split`: a communicator for each colour, ranked by key, then by rank in `comm`; the null handle for the colour
/// `UNDEFINED`. Collective; one whose colour is wrong gets an error, and the others do without it.
pub fn comm_split(comm: &Comm, color: i32, key: i32) -> Result<Handle<Comm>> {
    let valid = color >= 0 || color == UNDEFINED;
    let new = split(comm, if valid { color } else { UNDEFINED }, key)?;
    if !valid {
        return Err(fail!(Arg, "color={color} is negative and not MPI_UNDEFINED"));
    }
    publish(new)
}

/// `MPI_Comm_split_type`: by what processes share. All processes of a job share memory, and no smaller unit of hardware is
/// told apart: `COMM_TYPE_HW_UNGUIDED` finds nothing. Collective.
pub fn comm_split_type(comm: &Comm, split_type: i32, key: i32, info: Option<&Info>) -> Result<Handle<Comm>> {
    let hint = |name: &str| info.and_then(|info| info.value(name));
    let shared_memory = || hint("mpi_hw_resource_type").is_some_and(|name| name == SHARED_MEMORY);
    let color = match split_type {
        COMM_TYPE_SHARED => Ok(0),
        COMM_TYPE_HW_GUIDED | COMM_TYPE_RESOURCE_GUIDED if shared_memory() => Ok(0),
        COMM_TYPE_RESOURCE_GUIDED => Ok(match hint("mpi_pset_name").as_deref() {
            Some("mpi://WORLD") => 0,
            Some("mpi://SELF") => comm.rank(),
            _ => UNDEFINED,
        }),
        COMM_TYPE_HW_GUIDED | COMM_TYPE_HW_UNGUIDED | UNDEFINED => Ok(UNDEFINED),
        _ => Err(fail!(Arg, "split_type={split_type} is not a way to split")),
    };
    let new = split(comm, *color.as_ref().unwrap_or(&UNDEFINED), key)?;
    color?;
    publish(new)
}

fn publish(new: Option<Comm>) -> Result<Handle<Comm>> {
    new.map_or(Ok(Handle::NULL), Comm::publish)
}

/// A communicator for each colour, as [`comm_split`] makes it. Collective.
pub(crate) fn split(comm: &Comm, color: i32, key: i32) -> Result<Option<Comm>> {
    let (ours, theirs) = gather_both(comm, [context::proposal(), color as u32, key as u32])?;
    let group = chosen(&comm.group, &ours, color);
    let remote = comm.remote_group().map(|remote| chosen(remote, &theirs, color));
    let nobody_there = remote.as_ref().is_some_and(|remote| remote.size() == 0);
    let proposals = ours.iter().chain(&theirs).map(|[proposal, ..]| *proposal);
    // Those who get nothing agree all the same, so that everyone's next proposal is above.
    let new = comm.derive(proposals, group, remote)?;
    Ok((color != UNDEFINED && !nobody_there).then_some(new))
}

/// Those of `group` who said `color`, by their keys.
fn chosen(group: &Group, said: &[[u32; 3]], color: i32) -> std::sync::Arc<Group> {
    group.with(Members::from_peers(
        by_key(said, color).filter_map(|rank| group.peer(rank)).collect(),
    ))
}

fn by_key(said: &[[u32; 3]], color: i32) -> impl Iterator<Item = i32> {
    let mut chosen: Vec<(i32, i32)> = said
        .iter()
        .zip(0..)
        .filter(|([_, theirs, _], _)| *theirs as i32 == color)
        .map(|([.., key], rank)| (*key as i32, rank))
        .collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|(_, rank)| rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_and_ranks_break_ties() {
        let said: Vec<[u32; 3]> = [(0, 5), (1, 0), (0, -1), (0, 5), (UNDEFINED, 0), (1, 0)]
            .map(|(color, key): (i32, i32)| [0, color as u32, key as u32])
            .to_vec();
        assert_eq!(by_key(&said, 0).collect::<Vec<_>>(), [2, 0, 3]);
        assert_eq!(by_key(&said, 1).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(by_key(&said, 2).count(), 0);
    }
}
