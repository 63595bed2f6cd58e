//! All-to-all: everybody copies its block from everybody.

use std::ffi::c_int;

use super::{Group, SHORT, bytes};
use crate::call::Call;
use crate::numbers::Element;
use crate::team::TeamHandle;

/// `shmem_alltoall`. Blocks.
///
/// # Safety
/// `source` must have `nelems` elements for each member, and `dest` room for as many.
pub unsafe fn alltoall<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { run(Group::of_team(call, team), dest, source, (1, 1), nelems) };
    0
}

/// `shmem_alltoalls`: elements a stride apart. Blocks.
///
/// # Safety
/// As for [`alltoall`], with strides.
pub unsafe fn alltoalls<T: Element>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { run(Group::of_team(call, team), dest, source, (dst, sst), nelems) };
    0
}

/// Strides are of `dest` and `source`, in elements.
///
/// # Safety
/// As for [`alltoalls`].
pub(super) unsafe fn run<T: Element>(
    group: Group<'_>,
    dest: *mut T,
    source: *const T,
    strides: (isize, isize),
    nelems: usize,
) {
    let (dst, sst) = strides;
    if dst < 1 || sst < 1 {
        group
            .call
            .refuse(format!("dst={dst}, sst={sst}: strides are at least 1"));
    }
    let agreed = ("nelems", nelems as u64);
    let total = group.size().saturating_mul(nelems);
    // From the first to the last element.
    let span = |stride: isize| match total {
        0 => 0,
        total => (total - 1).saturating_mul(stride.cast_unsigned()).saturating_add(1),
    };
    group.name("dest", dest.cast_const(), span(dst));
    let length = span(sst);
    let name = group.name("source", source, length);
    let is_short = length.saturating_mul(size_of::<T>()) <= SHORT;
    let data = if is_short {
        // SAFETY: the caller's promise.
        unsafe { bytes(source, length) }
    } else {
        &[]
    };
    // What is short to one may be long to another that passes another stride.
    let meeting = group.meet(agreed, &[name, sst.cast_unsigned() as u64], data);
    let mut everything_short = is_short;
    for offset in 0..group.size() {
        let member = (group.me() + offset) % group.size();
        let stride = (meeting.word(member, 1) as usize).max(1);
        let its_length = match total {
            0 => 0,
            total => (total - 1).saturating_mul(stride).saturating_add(1),
        };
        let from: *const T = if its_length.saturating_mul(size_of::<T>()) <= SHORT {
            meeting.data(member, 2).cast()
        } else {
            everything_short = false;
            group.array_of(member, meeting.word(member, 0), its_length)
        };
        // SAFETY: the member has so many elements, and dest has room: both were checked.
        unsafe {
            let from = from.wrapping_add(group.me() * nelems * stride);
            let to = dest.wrapping_add(member * nelems * dst.cast_unsigned());
            if stride == 1 && dst == 1 {
                std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), nelems * size_of::<T>());
            } else {
                for index in 0..nelems {
                    let value = from.wrapping_add(index * stride).read_unaligned();
                    to.wrapping_add(index * dst.cast_unsigned()).write_unaligned(value);
                }
            }
        }
    }
    if !everything_short {
        group.meet(agreed, &[], &[]);
    }
}
