//! Making communicators from communicators and groups, and ending them (MPI-5.0 §7.4.2, §7.4.3).

use std::ffi::CStr;
use std::sync::Arc;

use isthmus_engine::{ContextId, Peer};

use super::agreement::{fnv, gather, meeting_tag, tagged};
use super::inter::gather_both;
use super::{Comm, context};
use crate::coll::check;
use crate::constants::{TAG_UB, UNDEFINED};
use crate::errhandler::Errhandler;
use crate::error::Result;
use crate::group::{Group, Members};
use crate::handle::Handle;
use crate::info::Info;
use crate::{fail, liveness};

impl Comm {
    /// What the calling process offers as the context id of a communicator that is made of this one.
    pub(crate) fn offer(&self) -> u32 {
        context::offer(self.rank(), self.pairs())
    }

    /// Neighbouring pairs of message spaces that a communicator of this kind has.
    pub(crate) fn pairs(&self) -> u32 {
        if self.is_inter() { 2 } else { 1 }
    }

    /// A communicator over these groups with our error handler, once everyone's [offers](Self::offer) are known.
    pub(crate) fn derive(
        &self,
        offers: impl Iterator<Item = u32>,
        group: Arc<Group>,
        remote: Option<Arc<Group>>,
    ) -> Result<Comm> {
        Ok(self.derive_at(context::agree(offers)?, group, remote))
    }

    /// A communicator over these groups with our error handler, whose members agreed on `context`.
    pub(super) fn derive_at(&self, context: ContextId, group: Arc<Group>, remote: Option<Arc<Group>>) -> Comm {
        let errhandler = self.errhandler();
        match remote {
            None => Self::intra(context, group, errhandler),
            Some(remote) => Self::inter(context, group, remote, errhandler),
        }
    }
}

/// Blocks until all members of the communicator (of both groups) have called.
pub(super) fn wait_for_all(comm: &Comm) -> Result<()> {
    gather_both(comm, [0]).map(drop)
}

fn duplicate(comm: &Comm, info: Option<&Info>) -> Result<Handle<Comm>> {
    let (ours, theirs) = gather_both(comm, [comm.offer()])?;
    let offers = ours.iter().chain(&theirs).map(|[offer]| *offer);
    let mut new = comm.derive(offers, Arc::clone(&comm.group), comm.remote_group().cloned())?;
    new.topology.clone_from(&comm.topology);
    super::comm_set_info(&new, info)?;
    let handle = new.publish()?;
    let attributes = &handle.resolve("newcomm")?.attributes;
    if let Err(error) = comm.attributes.copy_to(comm.handle(), attributes, handle) {
        handle.remove("newcomm")?;
        return Err(error);
    }
    Ok(handle)
}

/// `MPI_Comm_dup`: same groups, topology, error handler and (as their callbacks decide) attributes; no hints. Collective.
pub fn comm_dup(comm: &Comm) -> Result<Handle<Comm>> {
    check::same(comm, "MPI_Comm_dup")?;
    duplicate(comm, None)
}

/// `MPI_Comm_dup_with_info`: as [`comm_dup`], with these hints.
pub fn comm_dup_with_info(comm: &Comm, info: Option<&Info>) -> Result<Handle<Comm>> {
    check::same(comm, "MPI_Comm_dup_with_info")?;
    duplicate(comm, info)
}

/// A number that tells groups apart, never 0.
fn digest_of(group: &Group) -> u32 {
    digest(group.members().iter())
}

/// A number that tells ordered sets of processes apart, never 0.
pub(crate) fn digest(members: impl Iterator<Item = Peer>) -> u32 {
    fnv(members.flat_map(|peer| peer.0.to_ne_bytes())) | 1
}

fn is_subset(group: &Group, of: &Group) -> bool {
    group.members().iter().all(|peer| of.rank_of(peer).is_some())
}

/// `MPI_Comm_create`: a communicator over `group`; the null handle for processes outside their group. Disjoint groups may be
/// given at a time. Collective over `comm`; processes whose groups differ get an error, not a hang.
pub fn comm_create(comm: &Comm, group: &Group) -> Result<Handle<Comm>> {
    check::same(comm, "MPI_Comm_create")?;
    group.common_session(&comm.group)?;
    let valid = is_subset(group, &comm.group);
    let own = if valid { digest_of(group) } else { 0 };
    let place = group.rank();
    let (ours, theirs) = gather_both(comm, [comm.offer(), own, place as u32])?;
    let remote = comm.remote_group().map(|remote| {
        let mut chosen: Vec<_> = theirs
            .iter()
            .zip(remote.members().iter())
            .filter(|([_, _, place], _)| *place as i32 != UNDEFINED)
            .map(|([_, _, place], peer)| (*place, peer))
            .collect();
        chosen.sort_unstable();
        remote.with(Members::from_peers(chosen.into_iter().map(|(_, peer)| peer).collect()))
    });
    let nobody_there = remote.as_ref().is_some_and(|remote| remote.size() == 0);
    let offers = ours.iter().chain(&theirs).map(|[offer, ..]| *offer);
    let new = comm.derive(offers, comm.group.with(group.members().clone()), remote)?;
    if !valid {
        return Err(fail!(Group, "group is not a subset of the communicator's group"));
    }
    if place == UNDEFINED || nobody_there {
        return Ok(Handle::NULL);
    }
    for rank in group.members().iter().filter_map(|peer| comm.group.rank_of(peer)) {
        if ours[rank as usize][1] != own {
            return Err(fail!(Group, "group differs from the one that rank {rank} gave"));
        }
    }
    new.publish()
}

/// Agree on a communicator over `group` among its members alone, in this message space. `word` must be the same
/// everywhere.
fn among(group: &Group, context: ContextId, tag: i32, word: u32, errhandler: Arc<Errhandler>) -> Result<Comm> {
    let group = group.with(group.members().clone());
    let comm = Comm::intra(context, Arc::clone(&group), Arc::clone(&errhandler));
    let own = digest_of(&group);
    let all = gather(
        &comm,
        comm.collective_context(),
        tag,
        [context::offer(comm.rank(), 1), own, word],
    )?;
    let context = context::agree(all.iter().map(|[offer, ..]| *offer))?;
    if all.iter().any(|[_, theirs, _]| *theirs != own) {
        return Err(fail!(Group, "group differs between its members"));
    }
    if all.iter().any(|[.., theirs]| *theirs != word) {
        return Err(fail!(Arg, "stringtag differs between the group's members"));
    }
    Ok(Comm::intra(context, group, errhandler))
}

/// `MPI_Comm_create_group`: as [`comm_create`], collective over `group` alone; `tag` tells concurrent calls apart.
pub fn comm_create_group(comm: &Comm, group: &Group, tag: i32) -> Result<Handle<Comm>> {
    if comm.is_inter() {
        return Err(fail!(Comm, "comm={:?} is an intercommunicator", comm.handle()));
    }
    if !(0..=TAG_UB).contains(&tag) {
        return Err(fail!(Tag, "tag={tag} is not in 0..={TAG_UB}"));
    }
    group.common_session(&comm.group)?;
    if !is_subset(group, &comm.group) {
        return Err(fail!(Group, "group is not a subset of the communicator's group"));
    }
    if group.rank() == UNDEFINED {
        return Ok(Handle::NULL);
    }
    among(group, comm.context(), tagged(tag), 0, comm.errhandler())?.publish()
}

/// `MPI_Comm_create_from_group`: a communicator without a parent, collective over `group`.
pub fn comm_create_from_group(
    group: &Group,
    stringtag: &CStr,
    info: Option<&Info>,
    errhandler: &Errhandler,
) -> Result<Handle<Comm>> {
    let (tag, word) = meeting_tag(stringtag)?;
    let errhandler = errhandler.share_for_comm()?;
    if group.size() == 0 {
        return Ok(Handle::NULL);
    }
    if group.rank() == UNDEFINED {
        return Err(fail!(Group, "the calling process is not in group"));
    }
    liveness::attach(&errhandler);
    let new = among(group, context::WITHOUT_COMM, tag, word, errhandler)?;
    super::comm_set_info(&new, info)?;
    new.publish()
}
