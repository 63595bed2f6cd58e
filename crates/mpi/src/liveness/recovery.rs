//! Procedures to go on after a failure (`MPIX_Comm_...`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use isthmus_engine::control::Combine;
use isthmus_engine::{Agreed, Consensus, Peer, enter, wait_until};

use crate::comm::{Comm, context, digest};
use crate::error::Result;
use crate::fail;
use crate::group::{Group, Members};
use crate::handle::{Handle, Object};

/// The failed processes, as a group that users hold.
fn publish(comm: &Comm, failed: Vec<Peer>) -> Result<Handle<Group>> {
    Group::table().insert(comm.group.with(Members::from_peers(failed)))
}

/// `MPIX_Comm_get_failed`: the members, of both groups, that this process knows to have failed, in the order in which they
/// did. Does not block.
pub fn comm_get_failed(comm: &Comm) -> Result<Handle<Group>> {
    let mut inside = enter();
    inside.progress();
    let failed = comm.failed_members(&mut inside, 0);
    publish(comm, failed)
}

/// `MPIX_Comm_ack_failed`: acknowledge the first `num_to_ack` of those that [`comm_get_failed`] answers; how many are
/// acknowledged now, which may be more. From then on receives from any source do not mind them, and [`comm_agree`] does not
/// fail for them. Does not block.
pub fn comm_ack_failed(comm: &Comm, num_to_ack: i32) -> Result<i32> {
    let wanted = usize::try_from(num_to_ack).map_err(|_| fail!(Arg, "num_to_ack={num_to_ack} is negative"))?;
    let mut inside = enter();
    inside.progress();
    let failed = comm.failed_members(&mut inside, 0);
    let upto = match failed.get(wanted) {
        None => inside.failures(),
        Some(next) => (0..inside.failures())
            .find(|index| inside.failure(*index).is_some_and(|(peer, _)| peer == *next))
            .unwrap_or(0),
    };
    let before = comm.health().acknowledged.fetch_max(upto, Ordering::Relaxed);
    let since = before.max(upto);
    Ok((failed.len() - comm.failed_members(&mut inside, since).len()) as i32)
}

/// `MPIX_Comm_failure_ack`: acknowledge all failures that this process knows of. Does not block.
pub fn comm_failure_ack(comm: &Comm) -> Result<()> {
    comm_ack_failed(comm, i32::MAX).map(drop)
}

/// `MPIX_Comm_failure_get_acked`: the members whose failures are acknowledged. Does not block.
pub fn comm_failure_get_acked(comm: &Comm) -> Result<Handle<Group>> {
    let mut inside = enter();
    let since = comm.health().acknowledged.load(Ordering::Relaxed);
    let mut failed = comm.failed_members(&mut inside, 0);
    failed.truncate(failed.len() - comm.failed_members(&mut inside, since).len());
    publish(comm, failed)
}

/// `MPIX_Comm_revoke`: every operation on the communicator that is not over, at any member, fails with
/// `MPIX_ERR_REVOKED`, and later ones too, but for those that recover. One member calls it. Does not block.
pub fn comm_revoke(comm: &Comm) -> Result<()> {
    let contexts = if comm.is_inter() { 4 } else { 2 };
    Ok(enter().revoke(comm.context(), contexts, &members(comm))?)
}

/// `MPIX_Comm_is_revoked`. Does not block.
pub fn comm_is_revoked(comm: &Comm) -> Result<bool> {
    let mut inside = enter();
    inside.progress();
    Ok(inside.is_revoked(comm.context()))
}

/// `MPIX_Comm_agree`: the bitwise AND of everybody's `flag`, of all who have not failed; the same everywhere. Works on
/// revoked communicators. Collective; blocks until all who live have called. True beside it: somebody has failed whom not
/// all have acknowledged, everybody learns that alike, and the call fails with `MPIX_ERR_PROC_FAILED`.
pub fn comm_agree(comm: &Comm, flag: i32) -> Result<(i32, bool)> {
    let agreed = agree(comm, flag as u32, Combine::And)?;
    Ok((agreed.value as i32, agreed.unacknowledged))
}

/// `MPIX_Comm_shrink`: a communicator of those members who have not failed, in the same order. Everybody gets the same, even
/// where more fail meanwhile. Works on revoked communicators. Collective; blocks until all who live have called.
pub fn comm_shrink(comm: &Comm) -> Result<Handle<Comm>> {
    // Anybody may be gone by the end of it, so everybody takes an id, and the largest counts.
    let agreed = agree(comm, context::offer(0, comm.pairs()), Combine::Max)?;
    if comm.check_whole(&mut enter()).is_err() {
        comm.team().give_up();
    }
    let gone: Vec<Peer> = {
        let mut inside = enter();
        (0..agreed.failures)
            .filter_map(|index| Some(inside.failure(index)?.0))
            .collect()
    };
    let living = |group: &Arc<Group>| {
        let members = group.members().iter().filter(|peer| !gone.contains(peer));
        group.with(Members::from_peers(members.collect()))
    };
    let remote = comm.remote_group().map(living);
    let new = comm.derive(std::iter::once(agreed.value), living(&comm.group), remote)?;
    if new.remote_group().is_some_and(|remote| remote.size() == 0) {
        return Err(fail!(ProcFailed, "nobody of the remote group is left"));
    }
    new.publish()
}

/// All members, of both groups, in an order that they all name alike.
fn members(comm: &Comm) -> Vec<Peer> {
    let mut all: Vec<Peer> = comm.everyone().flat_map(Members::iter).collect();
    all.sort_unstable();
    all
}

fn agree(comm: &Comm, value: u32, combine: Combine) -> Result<Agreed> {
    let health = comm.health();
    {
        let mut inside = enter();
        let mut consensus = health.consensus();
        let consensus = match &mut *consensus {
            Some(consensus) => consensus,
            none => {
                let all = members(comm);
                let key = u64::from(comm.context().0) << 32 | u64::from(digest(all.iter().copied()));
                none.insert(Consensus::join(&mut inside, key, all)?)
            }
        };
        let acknowledged = health.acknowledged.load(Ordering::Relaxed);
        consensus.contribute(&mut inside, value, combine, acknowledged);
    }
    Ok(wait_until(|inside| {
        let consensus = health.consensus();
        consensus.as_ref().and_then(|consensus| consensus.decision(inside))
    })?)
}
