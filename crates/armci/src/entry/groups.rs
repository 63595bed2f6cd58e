//! Groups, and domains: the processes of a node are one domain.

use super::answer;
use super::memory::number_of;
use crate::domain;
use crate::error::{Result, argument};
use crate::group::{self, WORLD};
use crate::life::job;

/// # Safety
/// The list must have `count` elements, and `out` must be good.
unsafe fn create(count: i32, list: *const i32, out: *mut i32, parent: i32) -> Result<()> {
    job()?;
    let length = usize::try_from(count)
        .ok()
        .filter(|&length| length > 0 && !list.is_null())
        .ok_or_else(|| argument(format!("n={count} with pid_list={list:p} is no list of processes")))?;
    if out.is_null() {
        return Err(argument("group_out is null"));
    }
    // SAFETY: the caller's promise.
    let list = unsafe { std::slice::from_raw_parts(list, length) };
    let number = group::create(list, &*group::find(parent)?)?;
    // SAFETY: as above.
    unsafe { out.write(number) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_create(count: i32, list: *const i32, out: *mut i32) {
    // SAFETY: the caller's promise.
    answer("ARMCI_Group_create", unsafe {
        create(count, list, out, group::default_number())
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_create_child(
    count: i32,
    list: *const i32,
    out: *mut i32,
    parent: *const i32,
) {
    // SAFETY: the caller's promise.
    answer("ARMCI_Group_create_child", unsafe {
        number_of(parent).and_then(|parent| create(count, list, out, parent))
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_free(group: *const i32) {
    // SAFETY: the caller's promise.
    answer("ARMCI_Group_free", unsafe { number_of(group) }.and_then(group::free));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_rank(group: *const i32, rank: *mut i32) -> i32 {
    // SAFETY: the caller's promise.
    let found = unsafe { number_of(group) }.and_then(group::find);
    let me = answer("ARMCI_Group_rank", found).me();
    // SAFETY: as above.
    unsafe { rank.write(me.map_or(-1, |me| me as i32)) };
    if me.is_some() { 0 } else { -1 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_size(group: *const i32, size: *mut i32) {
    // SAFETY: the caller's promise.
    let found = unsafe { number_of(group) }.and_then(group::find);
    // SAFETY: as above.
    unsafe { size.write(answer("ARMCI_Group_size", found).size() as i32) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_set_default(group: *const i32) {
    // SAFETY: the caller's promise.
    let result = unsafe { number_of(group) }.and_then(group::set_default);
    answer("ARMCI_Group_set_default", result);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_get_default(out: *mut i32) {
    // SAFETY: the caller's promise.
    unsafe { out.write(group::default_number()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Group_get_world(out: *mut i32) {
    // SAFETY: the caller's promise.
    unsafe { out.write(WORLD) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Absolute_id(group: *const i32, rank: i32) -> i32 {
    // SAFETY: the caller's promise.
    let found = unsafe { number_of(group) }.and_then(group::find);
    answer("ARMCI_Absolute_id", found.and_then(|group| group.absolute(rank))) as i32
}

fn is_near(call: &str, proc: i32) -> i32 {
    let near = || {
        let job = job()?;
        Ok(job.far(job.process(proc)?).is_none())
    };
    answer(call, near()).into()
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Same_node(proc: i32) -> i32 {
    is_near("ARMCI_Same_node", proc)
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_sameclusnode(proc: i32) -> i32 {
    is_near("armci_sameclusnode", proc)
}

/// A negative number is the calling process's domain.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_domain_nprocs(_domain: i32, id: i32) -> i32 {
    let count = || match id < 0 {
        true => domain::members(domain::of(job()?.me)? as i32),
        false => domain::members(id),
    };
    answer("armci_domain_nprocs", count()).len() as i32
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_domain_id(_domain: i32, proc: i32) -> i32 {
    let id = job().and_then(|job| domain::of(job.process(proc)?));
    answer("armci_domain_id", id) as i32
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_domain_glob_proc_id(_domain: i32, id: i32, local: i32) -> i32 {
    let find = || {
        let members = domain::members(id)?;
        let found = usize::try_from(local).ok().and_then(|at| members.get(at).copied());
        found.ok_or_else(|| {
            argument(format!(
                "proc={local} is no process of domain {id}: there are {}",
                members.len()
            ))
        })
    };
    answer("armci_domain_glob_proc_id", find()) as i32
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_domain_my_id(_domain: i32) -> i32 {
    answer("armci_domain_my_id", job().and_then(|job| domain::of(job.me))) as i32
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_domain_count(_domain: i32) -> i32 {
    answer("armci_domain_count", domain::all()).len() as i32
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_domain_same_id(_domain: i32, proc: i32) -> i32 {
    is_near("armci_domain_same_id", proc)
}
