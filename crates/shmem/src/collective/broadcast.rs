//! Broadcast: the root shows what is short; what is long the others copy from where it lies.

use std::ffi::c_int;

use super::{Group, SHORT, bytes};
use crate::call::Call;
use crate::numbers::Element;
use crate::rma::copy_bytes;
use crate::team::TeamHandle;

/// `shmem_broadcast`: the root's `dest` gets it too. Blocks.
///
/// # Safety
/// The root's `source` must have `nelems` elements.
pub unsafe fn broadcast<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
) -> c_int {
    let group = Group::of_team(call, team);
    // SAFETY: the caller's promise.
    unsafe { run(group, dest, source, nelems, root, true) };
    0
}

/// # Safety
/// As for [`broadcast`].
pub(super) unsafe fn run<T: Element>(
    group: Group<'_>,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
    at_root_too: bool,
) {
    let root = group.member("PE_root", root);
    let length = nelems.saturating_mul(size_of::<T>());
    let is_root = group.me() == root;
    let wants = !is_root || at_root_too;
    if wants {
        group.name("dest", dest.cast_const(), nelems);
    }
    let name = group.name("source", source, nelems);
    let agreed = ("nelems", nelems as u64);
    if length <= SHORT {
        // SAFETY: the caller's promise.
        let data = if is_root { unsafe { bytes(source, nelems) } } else { &[] };
        let meeting = group.meet(agreed, &[root as u64], data);
        check_root(group, meeting.word(root, 0), root);
        if wants {
            // SAFETY: the root has shown as many bytes; dest was checked.
            unsafe { copy_bytes(meeting.data(root, 1), dest.cast(), length) };
        }
        return;
    }
    let meeting = group.meet(agreed, &[root as u64, name], &[]);
    check_root(group, meeting.word(root, 0), root);
    if wants {
        let from = group.array_of::<T>(root, meeting.word(root, 1), nelems);
        if from != dest.cast_const() {
            // SAFETY: both were checked; the root leaves its array alone until the end.
            unsafe { copy_bytes(from.cast(), dest.cast(), length) };
        }
    }
    group.meet(agreed, &[], &[]);
}

fn check_root(group: Group<'_>, theirs: u64, root: usize) {
    if theirs != root as u64 {
        group.call.refuse(format!(
            "PE_root={root} here and PE_root={theirs} on that PE: all PEs must pass the same"
        ));
    }
}
