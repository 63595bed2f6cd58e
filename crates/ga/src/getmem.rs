//! Memory that processes take together (`GA_Getmem`), and arrays in memory that is there already: what was taken so, and other arrays'.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_armci::life::job;
use isthmus_armci::{group, reduction};

use crate::array::{Array, ArrayMemory};
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::life;
use crate::local::as_bytes;
use crate::plan::{LaidOut, Plan};

/// One call of `GA_Getmem`.
#[derive(Debug)]
struct Grant {
    group: i32,
    /// By member of the group: address here, and bytes.
    blocks: Vec<(usize, u64)>,
    /// The caller's, and its bytes.
    own: usize,
    bytes: u64,
    /// It is an array's, which gives it back.
    is_in_use: bool,
}

static TAKEN: Mutex<Vec<Grant>> = Mutex::new(Vec::new());

fn taken() -> MutexGuard<'static, Vec<Grant>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `GA_Getmem`: `count` elements, as many as each likes, in memory that all processes of the group map; zeroed. Collective. Blocks.
///
/// # Errors
/// At every process, if one could not have its memory; a number that is negative.
pub fn take(kind: ElementKind, count: i32, number: i32) -> Result<*mut u8> {
    let group = group::find(number)?;
    // Everybody has an address of its own; and everybody hears of what is wrong with one.
    let bytes = u64::try_from(count).map_or(1, |count| (count * kind.bytes() as u64).max(1));
    let blocks = life::allocate(&group, bytes, count >= 0);
    if count < 0 {
        return Err(Error::argument(format!("nelem={count} is negative")));
    }
    let blocks = blocks?;
    let own = group.me().map_or(std::ptr::null_mut(), |me| blocks[me].address);
    taken().push(Grant {
        group: number,
        blocks: blocks
            .iter()
            .map(|block| (block.address.expose_provenance(), block.length))
            .collect(),
        own: own.expose_provenance(),
        bytes,
        is_in_use: false,
    });
    Ok(own)
}

/// `GA_Freemem`: give back what [`take`] gave. Collective over the same group. Blocks.
///
/// # Errors
/// It did not, or it was given back, or is an array's.
pub fn give_back(at: *mut u8) -> Result<()> {
    free(at, false)
}

/// Give back what an array has, which is destroyed. Collective over its group. Blocks.
///
/// # Errors
/// A process has failed.
pub(crate) fn give_back_array(at: *mut u8) -> Result<()> {
    free(at, true)
}

fn free(at: *mut u8, is_in_use: bool) -> Result<()> {
    let Grant { group, bytes, .. } = {
        let mut taken = taken();
        let place = taken
            .iter()
            .position(|taken| taken.own == at.addr() && taken.is_in_use == is_in_use);
        let place = place.ok_or_else(|| {
            Error::argument(format!(
                "ptr={at:p} did not come from GA_Getmem, or was freed, or is the memory of an array, which gives it back when it is destroyed"
            ))
        })?;
        taken.swap_remove(place)
    };
    life::free(&*group::find(group)?, at, bytes)
}

/// Nobody has any more, at the end.
pub(crate) fn forget_all() {
    taken().clear();
}

/// Where each member's part is, if all have room for it: collective, so that all hear of one that has not.
fn agree(laid_out: &LaidOut, has_room: bool, what: impl FnOnce() -> String) -> Result<()> {
    let mut all = [i32::from(has_room)];
    let kind = ElementKind::Int.of_reduction()?;
    reduction::all_reduce(
        &laid_out.group.link()?,
        as_bytes(&mut all),
        kind,
        reduction::Operator::Min,
    )?;
    match all {
        [1] => Ok(()),
        _ => Err(Error::argument(what())),
    }
}

/// `GA_Assemble_duplicate`: an array like another one, in memory that [`take`] gave each process, which is the array's from now on.
/// Collective over the array's group. Blocks.
///
/// # Errors
/// At every process, if there can be none at one of them, or one's memory did not come from there, by the array's group, or is less than its
/// part, or another array's.
pub fn assemble(like: &Array, name: String, at: *mut u8, is_possible: bool) -> Result<Array> {
    let plan = Plan {
        name,
        ..like.plan.clone()
    };
    let laid_out = LaidOut::new(plan)?;
    let number = like.plan.group;
    let is_meant = |taken: &Grant| taken.own == at.addr() && taken.group == number && !taken.is_in_use;
    let found = taken()
        .iter()
        .find(|taken| is_meant(taken))
        .map(|taken| taken.blocks.clone());
    let own = found.as_ref().and_then(|blocks| Some(blocks[laid_out.group.me()?].1));
    let has_room = is_possible && own.is_some_and(|own| own >= laid_out.bytes);
    agree(&laid_out, has_room, || {
        let needs = laid_out.bytes;
        format!(
            "ptr={at:p}, here or at another process, is not {needs} bytes or more that GA_Getmem gave the array's group, and no array's yet"
        )
    })?;
    let blocks = found.unwrap_or_default();
    if let Some(taken) = taken().iter_mut().find(|taken| is_meant(taken)) {
        taken.is_in_use = true;
    }
    let parts = laid_out.members.iter();
    let parts = parts.map(|member| blocks[*member].0).collect();
    Ok(Array::of(laid_out, parts, ArrayMemory::Taken(at.expose_provenance())))
}

/// `GA_Overlay`: give a plan the memory of another array, in which the elements are whatever they are there. Collective over the group of
/// both. Blocks.
///
/// # Errors
/// At every process, if the arrays are not of one group, or a part of the new one is longer than that of the other.
pub fn overlay(plan: Plan, other: &Array) -> Result<Array> {
    job()?;
    let laid_out = LaidOut::new(plan)?;
    let members = &laid_out.processes;
    let is_same =
        members.len() == other.processes() && members.iter().enumerate().all(|(at, one)| *one == other.absolute(at));
    let fits = laid_out.bytes <= other.own_bytes();
    agree(&laid_out, is_same && fits, || {
        format!(
            "the array needs {} bytes here and the processes {members:?}; array '{}' has {} bytes here",
            laid_out.bytes,
            other.name,
            other.own_bytes()
        )
    })?;
    let parts = (0..other.processes()).map(|process| other.part(process).expose_provenance());
    let parts = parts.collect();
    other.overlaid.fetch_add(1, Ordering::Relaxed);
    Ok(Array::of(laid_out, parts, ArrayMemory::Of(Arc::clone(&other.overlaid))))
}
