//! Collect and fcollect: everybody copies from everybody, in the order of the team.

use std::ffi::c_int;

use super::{Group, SHORT, bytes};
use crate::call::Call;
use crate::numbers::Element;
use crate::rma::copy_bytes;
use crate::team::TeamHandle;

/// `shmem_collect`: each member gives as much as it likes. Blocks.
///
/// # Safety
/// `source` must have `nelems` elements, and `dest` room for those of all.
pub unsafe fn collect<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { run(Group::of_team(call, team), dest, source, nelems, ("", 0)) };
    0
}

/// `shmem_fcollect`: each member gives as much. Blocks.
///
/// # Safety
/// As for [`collect`].
pub unsafe fn fcollect<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    let agreed = ("nelems", nelems as u64);
    // SAFETY: the caller's promise.
    unsafe { run(Group::of_team(call, team), dest, source, nelems, agreed) };
    0
}

/// # Safety
/// As for [`collect`].
pub(super) unsafe fn run<T: Element>(
    group: Group<'_>,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    agreed: (&'static str, u64),
) {
    let name = group.name("source", source, nelems);
    // Of what is long the others need the name.
    let is_short = |count: usize| count.saturating_mul(size_of::<T>()) <= SHORT;
    let data = if is_short(nelems) {
        // SAFETY: the caller's promise.
        unsafe { bytes(source, nelems) }
    } else {
        &[]
    };
    let meeting = group.meet(agreed, &[nelems as u64, name], data);
    let counts = (0..group.size()).map(|member| meeting.word(member, 0) as usize);
    let total = counts.clone().fold(0, usize::saturating_add);
    group.name("dest", dest.cast_const(), total);
    let mut at = dest;
    for (member, count) in counts.clone().enumerate() {
        let from = if is_short(count) {
            meeting.data(member, 2)
        } else {
            group.array_of::<T>(member, meeting.word(member, 1), count).cast()
        };
        // SAFETY: the member has so many elements, and dest has room for all: both were checked.
        unsafe {
            copy_bytes(from, at.cast(), count * size_of::<T>());
            at = at.add(count);
        }
    }
    let mut counts = counts;
    if !counts.all(is_short) {
        group.meet(agreed, &[], &[]);
    }
}
