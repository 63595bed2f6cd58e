//! Intercommunicators (MPI-5.0 §7.6).

use std::ffi::CStr;
use std::sync::Arc;

use isthmus_engine::{ContextId, Peer};

use super::agreement::{TAG, broadcast, gather, meeting_tag, swap, tagged};
use super::{Comm, context};
use crate::coll::check;
use crate::constants::{TAG_UB, UNDEFINED};
use crate::errhandler::Errhandler;
use crate::error::{Error, Result};
use crate::fail;
use crate::group::{Group, Members};
use crate::handle::Handle;
use crate::info::Info;
use crate::process;

/// What each member of a group said, by rank.
type Words<const N: usize> = Vec<[u32; N]>;

/// Every member's words: of the local group, and of the remote group if there is one. Collective.
pub fn gather_both<const N: usize>(comm: &Comm, own: [u32; N]) -> Result<(Words<N>, Words<N>)> {
    let local = comm.local();
    let ours = gather(local, local.collective_context(), TAG, own)?;
    let Some(remote) = comm.remote_group() else {
        return Ok((ours, Vec::new()));
    };
    let mut theirs = vec![0; N * remote.size() as usize];
    if comm.rank() == 0 {
        swap(
            comm,
            comm.collective_context(),
            TAG,
            0,
            ours.as_flattened(),
            &mut theirs,
        )?;
    }
    broadcast(local, local.collective_context(), TAG, 0, &mut theirs)?;
    Ok((ours, theirs.as_chunks().0.to_vec()))
}

/// How a local group talks while it is being connected.
struct Side<'a> {
    local: &'a Comm,
    context: ContextId,
    tag: i32,
    leader: i32,
}

/// How a leader reaches the other.
struct Bridge<'a> {
    comm: &'a Comm,
    context: ContextId,
    tag: i32,
    leader: i32,
}

/// Connect two groups: their leaders swap what each side must know. `bridge` is the leader's, `None` elsewhere; if the
/// leader has none because its arguments are wrong, all of its side get an error.
fn connect(side: &Side<'_>, bridge: Option<Result<Bridge<'_>>>, errhandler: Arc<Errhandler>) -> Result<Comm> {
    let Side {
        local,
        context,
        tag,
        leader,
    } = *side;
    // Is there a bridge; the other side's size, and what it offers or both take; its members.
    let mut header = [0_u32; 3];
    let mut members = Vec::new();
    let mut wrong: Option<Error> = None;
    match bridge {
        Some(Ok(bridge)) => {
            let own: Vec<u32> = local.group.members().iter().map(|peer| peer.0).collect();
            let other = |words: &[u32], theirs: &mut [u32]| {
                swap(bridge.comm, bridge.context, bridge.tag, bridge.leader, words, theirs)
            };
            let ours = context::offer(0, 2);
            let mut gather_all = || {
                other(&[1, local.size() as u32, ours], &mut header)?;
                header[2] = header[2].max(ours);
                members = vec![0; header[1] as usize];
                other(&own, &mut members)
            };
            // Our side waits for what we say, whatever became of the other leader.
            if let Err(error) = gather_all() {
                header = [0, error.code() as u32, 0];
                wrong = Some(error);
            }
        }
        Some(Err(error)) => wrong = Some(error),
        None => {}
    }
    broadcast(local, context, tag, leader, &mut header)?;
    let [reached, size, offer] = header;
    if reached == 0 {
        return Err(wrong.unwrap_or_else(|| match size {
            0 => fail!(Arg, "the leader (rank {leader}) gave wrong arguments"),
            code => Error::from_code(
                code as i32,
                format!("the leader (rank {leader}) did not reach the other one"),
            ),
        }));
    }
    members.resize(size as usize, 0);
    broadcast(local, context, tag, leader, &mut members)?;
    let agreed = context::agree([offer].into_iter())?;
    let remote = local
        .group
        .with(Members::from_peers(members.into_iter().map(Peer).collect()));
    if remote.members().iter().any(|peer| local.group.rank_of(peer).is_some()) {
        return Err(fail!(Comm, "the two groups have members in common"));
    }
    Ok(Comm::inter(agreed, Arc::clone(&local.group), remote, errhandler))
}

fn check_leader(name: &str, leader: i32, size: i32) -> Result<()> {
    if !(0..size).contains(&leader) {
        return Err(fail!(Rank, "{name}={leader}, but its group has {size} members"));
    }
    Ok(())
}

/// `MPI_Intercomm_create`: connects the groups of two intracommunicators. `peer_comm` and `remote_leader` mean something at
/// the leader only. Collective over both groups.
pub fn intercomm_create(
    local_comm: &Comm,
    local_leader: i32,
    peer_comm: Handle<Comm>,
    remote_leader: i32,
    tag: i32,
) -> Result<Handle<Comm>> {
    if local_comm.is_inter() {
        return Err(fail!(
            Comm,
            "local_comm={:?} is an intercommunicator",
            local_comm.handle()
        ));
    }
    check::same(local_comm, "MPI_Intercomm_create")?;
    check_leader("local_leader", local_leader, local_comm.size())?;
    let bridge = || {
        let comm = peer_comm.resolve("peer_comm")?;
        local_comm.group.common_session(&comm.group)?;
        check_leader("remote_leader", remote_leader, comm.remote_size())?;
        if !(0..=TAG_UB).contains(&tag) {
            return Err(fail!(Tag, "tag={tag} is not in 0..={TAG_UB}"));
        }
        Ok(Bridge {
            comm,
            context: comm.collective_context(),
            tag: tagged(tag),
            leader: remote_leader,
        })
    };
    let side = Side {
        local: local_comm,
        context: local_comm.collective_context(),
        tag: TAG,
        leader: local_leader,
    };
    let bridge = (local_comm.rank() == local_leader).then(bridge);
    connect(&side, bridge, local_comm.errhandler())?.publish()
}

/// `MPI_Intercomm_create_from_groups`: connects two groups that share no communicator. `remote_group` and `remote_leader`
/// mean something at the leader only. Collective over both groups.
pub fn intercomm_create_from_groups(
    local_group: &Group,
    local_leader: i32,
    remote_group: Handle<Group>,
    remote_leader: i32,
    stringtag: &CStr,
    info: Option<&Info>,
    errhandler: &Errhandler,
) -> Result<Handle<Comm>> {
    let (tag, _) = meeting_tag(stringtag)?;
    let errhandler = errhandler.share_for_comm()?;
    if local_group.rank() == UNDEFINED {
        return Err(fail!(Group, "the calling process is not in local_group"));
    }
    check_leader("local_leader", local_leader, local_group.size())?;
    let over = |members: Members| {
        Comm::intra(
            context::WITHOUT_COMM,
            local_group.with(members),
            Arc::clone(&errhandler),
        )
    };
    let local = over(local_group.members().clone());
    let leaders = || -> Result<Comm> {
        let remote = remote_group.resolve("remote_group")?;
        check_leader("remote_leader", remote_leader, remote.size())?;
        if remote.members().iter().any(|peer| local_group.rank_of(peer).is_some()) {
            return Err(fail!(Group, "remote_group and local_group overlap"));
        }
        let both = process::me().into_iter().chain(remote.peer(remote_leader));
        Ok(over(Members::from_peers(both.collect())))
    };
    let leaders = (local.rank() == local_leader).then(leaders);
    let bridge = leaders.as_ref().map(|leaders| match leaders {
        Ok(comm) => Ok(Bridge {
            comm,
            context: comm.collective_context(),
            tag,
            leader: 1,
        }),
        Err(error) => Err(error.clone()),
    });
    let side = Side {
        local: &local,
        context: local.collective_context(),
        tag,
        leader: local_leader,
    };
    let new = connect(&side, bridge, Arc::clone(&errhandler))?;
    super::comm_set_info(&new, info)?;
    new.publish()
}

/// `MPI_Intercomm_merge`: an intracommunicator of both groups. The group that says `high` comes second; if both say the
/// same, the one whose first member is the older process comes first. Collective.
pub fn intercomm_merge(intercomm: &Comm, high: bool) -> Result<Handle<Comm>> {
    let remote = super::remote(intercomm)?;
    check::same(intercomm, "MPI_Intercomm_merge")?;
    let (ours, theirs) = gather_both(intercomm, [intercomm.offer(), u32::from(high)])?;
    let (us, them) = (intercomm.group.members(), remote.members());
    let we_are_first = match (high, theirs.first()) {
        (false, Some([_, 1])) => true,
        (true, Some([_, 0])) => false,
        _ => us.peer(0) < them.peer(0),
    };
    let both = if we_are_first { us.union(them) } else { them.union(us) };
    let offers = ours.iter().chain(&theirs).map(|[offer, _]| *offer);
    let new = intercomm.derive(offers, intercomm.group.with(both), None)?;
    if ours.iter().any(|[_, said]| *said != u32::from(high)) {
        return Err(fail!(Arg, "high={high}, but others in the group say otherwise"));
    }
    new.publish()
}
