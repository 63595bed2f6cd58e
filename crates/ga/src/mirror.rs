//! Mirrored arrays on several nodes: each node has a whole copy, among its own processes, and what is put, got or computed stays within it. Copies
//! differ until they are [merged](crate::merge): each element becomes the sum of those of all nodes, as upstream has it (the manual of Global
//! Arrays 5.9, "Mirrored arrays"; `global/src/base.c`).
//!
//! The processes of the node are a group that programs do not see. Those that have the same number in it at each node are another: each of these
//! adds a part of the array.

use std::sync::{Arc, Mutex, PoisonError};

use isthmus_armci::domain;
use isthmus_armci::group::{self, Group};
use isthmus_armci::life::job;
use isthmus_armci::reduction::{self, Operator, ReductionType};

use crate::error::{Error, Result};

/// The numbers of the group of the own node, and of that of the processes that have the same number in theirs.
static GROUPS: Mutex<(Option<i32>, Option<i32>)> = Mutex::new((None, None));

/// Is there more than one copy of a mirrored array?
///
/// # Errors
/// Global Arrays are not initialized.
pub fn are_several() -> Result<bool> {
    Ok(job()?.far.is_some())
}

/// The processes of the own node, by their numbers among all.
///
/// # Errors
/// Global Arrays are not initialized.
pub fn members() -> Result<Vec<usize>> {
    let me = job()?.me;
    Ok(domain::members(domain::of(me)? as i32)?)
}

/// The place of the calling process among [`members`].
///
/// # Errors
/// Global Arrays are not initialized.
pub fn place() -> Result<usize> {
    let me = job()?.me;
    let place = members()?.iter().position(|process| *process == me);
    place.ok_or_else(|| Error::argument("this process is on no node"))
}

/// The number of the group of the own node, which has the world's order. The first time collective over it. Blocks.
///
/// # Errors
/// A process has failed.
pub fn own_node() -> Result<i32> {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = groups.0 {
        return Ok(known);
    }
    let made = make(&members()?)?;
    groups.0 = Some(made);
    Ok(made)
}

/// The first processes of all nodes are a group, the second ones too, and so on, as far as each node has one. The own of these; `None`: some node
/// has fewer. The first time collective over it. Blocks.
///
/// # Errors
/// A process has failed.
pub fn across_nodes() -> Result<Option<Arc<Group>>> {
    let domains = domain::all()?;
    let place = place()?;
    let Some(alike) = domains
        .iter()
        .map(|members| members.get(place).copied())
        .collect::<Option<Vec<usize>>>()
    else {
        return Ok(None);
    };
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let number = match groups.1 {
        Some(known) => known,
        None => make(&alike)?,
    };
    groups.1 = Some(number);
    Ok(Some(group::find(number)?))
}

fn make(processes: &[usize]) -> Result<i32> {
    let list: Vec<i32> = processes.iter().map(|process| *process as i32).collect();
    Ok(group::create(&list, &*group::find(group::WORLD)?)?)
}

/// At the end: all groups are gone.
pub(crate) fn forget_all() {
    *GROUPS.lock().unwrap_or_else(PoisonError::into_inner) = (None, None);
}

/// Has the memory of a copy been had at each node? Collective over all. Blocks.
///
/// # Errors
/// A process has failed.
pub(crate) fn agree(is_there: bool) -> Result<bool> {
    let mut all = i32::from(is_there).to_ne_bytes();
    let link = group::find(group::WORLD)?;
    reduction::all_reduce(&link.link()?, &mut all, ReductionType::Int, Operator::Min)?;
    Ok(i32::from_ne_bytes(all) == 1)
}
