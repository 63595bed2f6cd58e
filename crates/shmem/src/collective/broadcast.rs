//! Broadcast: the root shows what is short, and goes on; what is long the others copy from where it lies, and the root waits until they have.
//! Nobody else waits for anybody but the root.

use std::ffi::c_int;

use super::{Group, SHORT, bytes};
use crate::board::Whom;
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
    let whom = match is_root {
        true => Whom::Nobody { compares: true },
        false => Whom::One(root),
    };
    if length <= SHORT {
        // SAFETY: the caller's promise.
        let data = if is_root { unsafe { bytes(source, nelems) } } else { &[] };
        let meeting = group.meet_some(agreed, root, &[], data, whom);
        if wants {
            // SAFETY: the root has shown as many bytes; dest was checked.
            unsafe { copy_bytes(meeting.data(root, 0), dest.cast(), length) };
        }
        return;
    }
    let meeting = group.meet_some(agreed, root, &[name], &[], whom);
    if wants {
        let from = group.array_of::<T>(root, meeting.word(root, 0), nelems);
        if from != dest.cast_const() {
            // SAFETY: both were checked; the root leaves its array alone until the end.
            unsafe { copy_bytes(from.cast(), dest.cast(), length) };
        }
    }
    let whom = match is_root {
        true => Whom::All,
        false => Whom::Nobody { compares: false },
    };
    group.meet_some(agreed, root, &[], &[], whom);
}
