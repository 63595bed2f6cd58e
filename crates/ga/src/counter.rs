//! `NGA_Read_inc`: elements that processes count with.
//!
//! A thread remembers where the element lies that it has counted last: programs deal out work by one counter, and what a call takes
//! beside the instruction is time in which others have the line.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::patch::MOST_DIMENSIONS;
use crate::{handles, life, onesided};

/// An element, and where it lies as mapped here.
#[derive(Debug)]
struct Remembered {
    /// No handle has been this one: nothing is remembered.
    handle: Cell<i32>,
    /// Of all handles, when it was looked for.
    changes: Cell<u64>,
    rank: Cell<usize>,
    index: [Cell<i64>; MOST_DIMENSIONS],
    at: Cell<usize>,
    is_int: Cell<bool>,
    is_own: Cell<bool>,
}

thread_local! {
    static LAST: Remembered = const {
        Remembered {
            handle: Cell::new(0),
            changes: Cell::new(u64::MAX),
            rank: Cell::new(0),
            index: [const { Cell::new(0) }; MOST_DIMENSIONS],
            at: Cell::new(0),
            is_int: Cell::new(false),
            is_own: Cell::new(false),
        }
    };
}

/// Add to an integer, whose index is told dimension by dimension, and answer what it was. Atomic.
///
/// # Errors
/// There is no such array, the element is not in it, or it has no integers.
#[inline(always)]
pub fn read_inc(handle: i32, index: impl Fn(usize) -> i64, by: i64) -> Result<i64> {
    let counted = LAST.with(
        #[inline(always)]
        |last| last.knows(handle, &index).then(|| last.add(by)),
    );
    match counted {
        Some(before) => Ok(before),
        None => other(handle, index, by),
    }
}

/// As [`read_inc`], of an element that is not remembered.
#[cold]
fn other(handle: i32, index: impl Fn(usize) -> i64, by: i64) -> Result<i64> {
    LAST.with(|last| {
        last.find(handle, index)?;
        Ok(last.add(by))
    })
}

impl Remembered {
    #[inline(always)]
    fn knows(&self, handle: i32, index: &impl Fn(usize) -> i64) -> bool {
        self.handle.get() == handle
            && self.changes.get() == handles::changes()
            && self.index[0].get() == index(0)
            && (1..self.rank.get()).all(|d| self.index[d].get() == index(d))
    }

    fn find(&self, handle: i32, index: impl Fn(usize) -> i64) -> Result<()> {
        let changes = handles::changes();
        self.changes.set(u64::MAX);
        handles::with(handle, |array| {
            let rank = array.rank();
            for (d, remembered) in self.index.iter().enumerate().take(rank) {
                remembered.set(index(d));
            }
            let wanted = self.index.each_ref().map(Cell::get);
            let (owner, at) = onesided::locate(array, &wanted[..rank])?;
            self.is_int.set(match array.kind {
                Kind::Int => true,
                Kind::Long | Kind::LongLong => false,
                _ => return Err(Error::argument(format!("array '{}' has no integers", array.name))),
            });
            self.at.set(at.expose_provenance());
            self.is_own.set(array.me() == Some(owner));
            self.rank.set(rank);
            Ok(())
        })?;
        self.handle.set(handle);
        self.changes.set(changes);
        Ok(())
    }

    #[inline(always)]
    fn add(&self, by: i64) -> i64 {
        let at = std::ptr::with_exposed_provenance_mut::<i64>(self.at.get());
        // SAFETY: an aligned element of this type in memory that is mapped: no handle has changed since it was found.
        let before = unsafe {
            match self.is_int.get() {
                true => i64::from(AtomicI32::from_ptr(at.cast()).fetch_add(by as i32, Ordering::SeqCst)),
                false => AtomicI64::from_ptr(at).fetch_add(by, Ordering::SeqCst),
            }
        };
        if !self.is_own.get() {
            life::wrote_elsewhere();
        }
        before
    }
}
