//! MA, the memory allocator that Global Arrays' programs know: blocks of elements with handles, on the heap of the process.

use std::alloc::{Layout, alloc, dealloc};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// A block.
#[derive(Debug)]
struct Allocation {
    at: usize,
    layout: Layout,
    kind: i64,
    count: i64,
    is_stack: bool,
    name: String,
}

#[derive(Debug)]
struct State {
    blocks: Vec<Option<Allocation>>,
    /// Handles of what was pushed, in order.
    stack: Vec<i64>,
    is_initialized: bool,
    limit: i64,
    refusals: Refusals,
}

/// The reaction to a request that is refused, beside its answer.
#[derive(Debug, Clone, Copy)]
pub struct Refusals {
    /// It is said in a line.
    pub are_said: bool,
    /// It ends the job.
    pub are_fatal: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    blocks: Vec::new(),
    stack: Vec::new(),
    is_initialized: false,
    limit: -1,
    refusals: Refusals {
        are_said: true,
        are_fatal: false,
    },
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of an element by the numbers of `macdecls.h`; `None`: there is none such.
pub fn bytes(kind: i64) -> Option<i64> {
    Some(match kind {
        1000 | 1009 => 1,
        1001 | 1003 | 1010 | 1011 | 1012 => 4,
        1002 | 1004 | 1006 | 1013 | 1014 | 1016 => 8,
        1005 | 1007 | 1015 => 16,
        1008 => 32,
        _ => return None,
    })
}

fn width(kind: i64) -> Result<i64> {
    bytes(kind).ok_or_else(|| Error::argument(format!("datatype={kind} is no type of macdecls.h")))
}

/// `MA_init`: what is asked for is only noted; memory is taken when it is wanted.
///
/// # Errors
/// There is no such type.
pub fn initialize(kind: i64, stack: i64, heap: i64) -> Result<()> {
    let width = width(kind)?;
    let mut state = state();
    state.is_initialized = true;
    state.limit = match stack < 0 || heap < 0 {
        true => -1,
        false => stack.saturating_add(heap).saturating_mul(width),
    };
    Ok(())
}

/// After `MA_init`?
pub fn is_initialized() -> bool {
    state().is_initialized
}

/// The reaction to refusals, and a change of it.
pub fn refusals(change: impl FnOnce(&mut Refusals)) -> Refusals {
    let before = state().refusals;
    change(&mut state().refusals);
    before
}

/// A block of elements; its handle.
///
/// # Errors
/// There is no such type, or no memory.
pub fn allocate(kind: i64, count: i64, name: &str, is_stack: bool) -> Result<i64> {
    let bytes = width(kind)?
        .checked_mul(count)
        .and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::argument(format!("nelem={count} elements cannot be had")))?;
    let layout = Layout::from_size_align(bytes.max(1), 64).map_err(|error| Error::argument(error.to_string()))?;
    // SAFETY: the layout's size is not 0.
    let at = unsafe { alloc(layout) };
    if at.is_null() {
        return Err(Error::argument(format!("{bytes} bytes for '{name}' cannot be had")));
    }
    let mut state = state();
    state.blocks.push(Some(Allocation {
        at: at.expose_provenance(),
        layout,
        kind,
        count,
        is_stack,
        name: name.to_owned(),
    }));
    let handle = state.blocks.len() as i64 - 1;
    if is_stack {
        state.stack.push(handle);
    }
    Ok(handle)
}

fn with<R>(handle: i64, f: impl FnOnce(&Allocation) -> R) -> Result<R> {
    let state = state();
    let block = usize::try_from(handle)
        .ok()
        .and_then(|at| state.blocks.get(at)?.as_ref());
    block
        .map(f)
        .ok_or_else(|| Error::argument(format!("memhandle={handle} is no block (or was freed)")))
}

/// The first byte of a block.
///
/// # Errors
/// There is no such block.
pub fn address(handle: i64) -> Result<*mut u8> {
    with(handle, |block| std::ptr::with_exposed_provenance_mut(block.at))
}

/// The number of a block's first element in the array of its type that begins at address 0.
///
/// # Errors
/// There is no such block.
pub fn index(handle: i64) -> Result<i64> {
    with(handle, |block| block.at as i64 / bytes(block.kind).unwrap_or(1))
}

/// Give a block of the heap back.
///
/// # Errors
/// There is no such block, or it was pushed.
pub fn free(handle: i64) -> Result<()> {
    if with(handle, |block| block.is_stack)? {
        return Err(Error::argument(format!("memhandle={handle} is on the stack: pop it")));
    }
    release(handle);
    Ok(())
}

/// `MA_free_heap_piece`: the last elements of a block of the heap are not wanted any more. Their memory goes with the block, whose address stays.
///
/// # Errors
/// There is no such block, it was pushed, or the number is negative.
pub fn free_piece(handle: i64, count: i64) -> Result<()> {
    let (has, is_stack) = with(handle, |block| (block.count, block.is_stack))?;
    if count < 0 || is_stack {
        return Err(Error::argument(format!(
            "memhandle={handle}, nelem={count}: some of the elements of a block of the heap"
        )));
    }
    if count >= has {
        return free(handle);
    }
    if let Some(Some(block)) = state().blocks.get_mut(handle as usize) {
        block.count -= count;
    }
    Ok(())
}

fn release(handle: i64) {
    let block = state().blocks[handle as usize].take();
    if let Some(block) = block {
        // SAFETY: `alloc` gave this address for this layout, and it has just left the table.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(block.at), block.layout) };
    }
}

/// Give the last pushed block back, or all from this one on (`MA_chop_stack`).
///
/// # Errors
/// It was not pushed last, or not at all.
pub fn pop(handle: i64, and_later: bool) -> Result<()> {
    let mut stack = {
        let mut state = state();
        let at = state.stack.iter().position(|pushed| *pushed == handle);
        match at {
            Some(at) if and_later || at + 1 == state.stack.len() => state.stack.split_off(at),
            _ => {
                return Err(Error::argument(format!(
                    "memhandle={handle} is not the last block on the stack"
                )));
            }
        }
    };
    stack.drain(..).rev().for_each(release);
    Ok(())
}

/// Elements that may still be had.
pub fn left(kind: i64) -> i64 {
    let width = bytes(kind).unwrap_or(1);
    let available = isthmus_engine::heap::available().min(i64::MAX as u64) as i64;
    let state = state();
    let used: i64 = state
        .blocks
        .iter()
        .flatten()
        .map(|block| block.count * bytes(block.kind).unwrap_or(1))
        .sum();
    let left = if state.limit < 0 {
        available
    } else {
        (state.limit - used).max(0)
    };
    left / width
}

/// The next live block after a handle; -1: from the beginning.
pub fn next(handle: i64) -> Option<i64> {
    let state = state();
    let from = usize::try_from(handle + 1).unwrap_or(0);
    let found = state
        .blocks
        .iter()
        .enumerate()
        .skip(from)
        .find(|(_, block)| block.is_some());
    found.map(|(at, _)| at as i64)
}

/// The blocks that there are.
pub fn summary() -> String {
    let state = state();
    let line = |block: &Allocation| format!("  '{}': {} elements of type {}\n", block.name, block.count, block.kind);
    let lines: String = state.blocks.iter().flatten().map(line).collect();
    format!("MA: allocated blocks\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_and_go() {
        let heap = allocate(1004, 10, "heap", false).expect("memory");
        let first = allocate(1001, 3, "first", true).expect("memory");
        let second = allocate(1001, 3, "second", true).expect("memory");
        assert!(pop(first, false).is_err(), "not the last one");
        assert!(free(second).is_err(), "pushed");
        assert_eq!(
            index(heap).expect("there") * 8,
            address(heap).expect("there").addr() as i64
        );
        free_piece(heap, 4).expect("it has more");
        assert_eq!(next(-1), Some(heap));
        assert!(free_piece(heap, -1).is_err() && free_piece(second, 1).is_err());
        pop(first, true).expect("both");
        assert!(address(second).is_err());
        free_piece(heap, 6).expect("all of it");
        assert!(free(heap).is_err() && allocate(17, 1, "bad", false).is_err());
    }
}
