//! Prefix sums: each member combines what those before it have.

use std::ffi::c_int;

use super::reduce::combine_range;
use super::{Group, SHORT, bytes};
use crate::call::Call;
use crate::numbers::{Element, Operation, Sum, Zero};
use crate::team::TeamHandle;

/// `shmem_sum_inscan`, `shmem_sum_exscan`; `dest` may be `source`. Blocks.
///
/// # Safety
/// Both must have `nelems` elements.
pub unsafe fn scan<T: Element + Zero, const INCLUSIVE: bool>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int
where
    Sum: Operation<T>,
{
    let group = Group::of_team(call, team);
    let agreed = ("nelems", nelems as u64);
    group.name("dest", dest.cast_const(), nelems);
    let from = group.name("source", source, nelems);
    let is_short = nelems.saturating_mul(size_of::<T>()) <= SHORT;
    let data = if is_short {
        // SAFETY: the caller's promise.
        unsafe { bytes(source, nelems) }
    } else {
        &[]
    };
    let meeting = group.meet(agreed, &[from], data);
    let sources: Vec<*const T> = (0..group.me() + usize::from(INCLUSIVE))
        .map(|member| match is_short {
            true => meeting.data(member, 1).cast(),
            false => group.array_of(member, meeting.word(member, 0), nelems),
        })
        .collect();
    // Others may read the source until all have come again, and `dest` may be it.
    let mut result: Vec<T> = vec![T::ZERO; nelems];
    if !sources.is_empty() {
        // SAFETY: every member has as many elements, and leaves them alone until the end.
        unsafe { combine_range::<T, Sum>(&sources, result.as_mut_ptr(), 0..nelems) };
    }
    if !is_short {
        group.meet(agreed, &[], &[]);
    }
    // SAFETY: dest was checked.
    unsafe { std::ptr::copy_nonoverlapping(result.as_ptr().cast::<u8>(), dest.cast(), nelems * size_of::<T>()) };
    0
}
