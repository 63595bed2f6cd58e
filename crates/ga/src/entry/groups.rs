//! Groups of processes, and what they combine.

use std::ffi::{c_char, c_int, c_void};

use isthmus_armci::arguments::checked_bytes;
use isthmus_armci::group::{self, Group};
use isthmus_armci::reduction::{Operator, all_reduce};

use super::{entries, list, text};
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::life;

/// Combine `count` numbers of all members.
///
/// # Safety
/// They must be there.
unsafe fn combine(
    group: &Group,
    at: *mut c_void,
    count: c_int,
    kind: ElementKind,
    operator: *const c_char,
) -> Result<()> {
    let count = usize::try_from(count).map_err(|_| Error::argument(format!("n={count} is negative")))?;
    // SAFETY: the caller's promise.
    let bytes = unsafe { checked_bytes("x", at.cast(), count * kind.bytes()) }?;
    // SAFETY: as above.
    let operator = unsafe { text(operator) };
    Ok(all_reduce(
        &group.link()?,
        bytes,
        kind.of_reduction()?,
        Operator::of(&operator)?,
    )?)
}

/// # Safety
/// The bytes must be there.
unsafe fn broadcast(group: &Group, at: *mut c_void, length: c_int, root: c_int) -> Result<()> {
    let length = usize::try_from(length).map_err(|_| Error::argument(format!("lenbuf={length} is negative")))?;
    let root = usize::try_from(root).ok().filter(|root| *root < group.size());
    let root = root.ok_or_else(|| Error::argument(format!("root must be one of {} processes", group.size())))?;
    // SAFETY: the caller's promise.
    let bytes = unsafe { checked_bytes("buf", at.cast(), length) }?;
    Ok(group.link()?.broadcast(bytes, root)?)
}

/// The default group, cut into parts by what each process says; the number of the own part.
fn split(number: c_int, part: i64) -> Result<c_int> {
    let parent = life::group(number)?;
    let all = parent.link()?.all_gather(&part.to_ne_bytes())?;
    let parts: Vec<i64> = all
        .chunks_exact(8)
        .map(|told| i64::from_ne_bytes(told.try_into().unwrap_or_default()))
        .collect();
    let members: Vec<i32> = (0..parts.len())
        .filter(|member| parts[*member] == part)
        .map(|member| member as i32)
        .collect();
    Ok(group::create(&members, &parent)?)
}

macro_rules! combines {
    ($($name:ident $of_group:ident $kind:expr;)*) => {
        entries! {$(
            fn $name(at: *mut c_void, count: c_int, operator: *const c_char) {
                combine(&*group::default()?, at, count, $kind, operator)?
            }
            fn $of_group(number: c_int, at: *mut c_void, count: c_int, operator: *const c_char) {
                combine(&*life::group(number)?, at, count, $kind, operator)?
            }
        )*}
    };
}

combines! {
    isthmus_ga_GA_Igop isthmus_ga_GA_Pgroup_igop ElementKind::Int;
    isthmus_ga_GA_Lgop isthmus_ga_GA_Pgroup_lgop ElementKind::Long;
    isthmus_ga_GA_Llgop isthmus_ga_GA_Pgroup_llgop ElementKind::LongLong;
    isthmus_ga_GA_Fgop isthmus_ga_GA_Pgroup_fgop ElementKind::Float;
    isthmus_ga_GA_Dgop isthmus_ga_GA_Pgroup_dgop ElementKind::Double;
    isthmus_ga_GA_Cgop isthmus_ga_GA_Pgroup_cgop ElementKind::Complex;
    isthmus_ga_GA_Zgop isthmus_ga_GA_Pgroup_zgop ElementKind::DoubleComplex;
}

entries! {
    fn isthmus_ga_GA_Gop(kind: c_int, at: *mut c_void, count: c_int, operator: *const c_char) {
        combine(&*group::default()?, at, count, ElementKind::of(kind)?, operator)?
    }
    fn isthmus_ga_GA_Brdcst(at: *mut c_void, length: c_int, root: c_int) {
        broadcast(&*group::default()?, at, length, root)?
    }
    fn isthmus_ga_GA_Pgroup_brdcst(number: c_int, at: *mut c_void, length: c_int, root: c_int) {
        broadcast(&*life::group(number)?, at, length, root)?
    }
    fn isthmus_ga_GA_Pgroup_create(members: *const c_int, count: c_int) -> c_int {
        let count = usize::try_from(count).map_err(|_| Error::argument("count is negative"))?;
        let mut members: Vec<i32> = list(members, count, "list")?.into_iter().map(|member| member as i32).collect();
        // Members are numbered in the order of the default group, whatever that of the list, as upstream does (`global/src/base.c`).
        members.sort_unstable();
        group::create(&members, &*group::default()?)?
    }
    fn isthmus_ga_GA_Pgroup_destroy(number: c_int) -> c_int {
        let number = life::group_number(number);
        // A process outside the group owns no part of it.
        let group = group::find(number)?;
        if number != group::WORLD && group.me().is_some() {
            crate::systems::forget(&group);
        }
        group::free(number)?;
        1
    }
    fn isthmus_ga_GA_Pgroup_duplicate(number: c_int) -> c_int {
        let parent = life::group(number)?;
        let members: Vec<i32> = (0..parent.size() as i32).collect();
        group::create(&members, &parent)?
    }
    fn isthmus_ga_GA_Pgroup_self() -> c_int {
        let world = life::group(group::WORLD)?;
        let me = world.me().ok_or_else(|| Error::argument("this process is in no group"))?;
        group::create(&[me as i32], &world)?
    }
    fn isthmus_ga_GA_Pgroup_split(number: c_int, parts: c_int) -> c_int {
        let parent = life::group(number)?;
        let size = parent.size() as i64;
        if parts < 1 || i64::from(parts) > size {
            return Err(Error::argument(format!("num_group={parts} of {size} processes")));
        }
        let me = parent.me().ok_or_else(|| Error::argument("this process is not in the group"))? as i64;
        let each = (size + i64::from(parts) - 1) / i64::from(parts);
        split(number, me / each)?
    }
    fn isthmus_ga_GA_Pgroup_split_irreg(number: c_int, color: c_int) -> c_int { split(number, color.into())? }
    fn isthmus_ga_GA_Pgroup_nnodes(number: c_int) -> c_int { life::size_of(number)? as c_int }
    fn isthmus_ga_GA_Get_pgroup_size(number: c_int) -> c_int { life::size_of(number)? as c_int }
    fn isthmus_ga_GA_Pgroup_nodeid(number: c_int) -> c_int { life::place_in(number)?.map_or(-1, |me| me as c_int) }
    fn isthmus_ga_GA_Pgroup_absolute_id(number: c_int, process: c_int) -> c_int {
        match number {
            life::MIRROR => {
                let members = crate::mirror::members()?;
                let found = usize::try_from(process).ok().and_then(|at| members.get(at));
                *found.ok_or_else(|| Error::argument(format!("pid={process}, the node has {} processes", members.len())))? as c_int
            }
            number => life::group(number)?.absolute(process)? as c_int,
        }
    }
    fn isthmus_ga_GA_Pgroup_get_default() -> c_int { life::default_group() }
    fn isthmus_ga_GA_Pgroup_get_world() -> c_int { life::WORLD }
    fn isthmus_ga_GA_Pgroup_get_mirror() -> c_int { life::MIRROR }
    fn isthmus_ga_GA_Pgroup_set_default(number: c_int) { life::set_default_group(number)? }
    fn isthmus_ga_GA_Pgroup_sync(number: c_int) { life::sync_group(&*life::group(number)?)? }
}
