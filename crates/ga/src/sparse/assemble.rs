//! Assembly: elements go to the processes that have their rows, and become pieces in compressed rows.
//!
//! Each process puts what it gathered, in the order of destinations, into memory that all see; after one wait each copies what is meant
//! for it. No message but those of the waits.

use std::sync::PoisonError;

use isthmus_armci::life::job;
use isthmus_armci::{memory, transfer};

use super::block::lay_out;
use super::{Gathered, Sparse, Stored, part_of, range};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::{Generic, dispatch};
use crate::life::{self, collectively};

/// An element and its place.
pub(super) type Triplet<T> = (i64, i64, T);

struct Assemble<'a>(&'a Sparse, Gathered);

impl Generic for Assemble<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(matrix, gathered) = self;
        let values = gathered.values.chunks_exact(size_of::<T>());
        let entries = gathered.places.iter().zip(values).map(|(&[row, column], bytes)| {
            // SAFETY: the chunk is as long as an element, which any bytes are.
            (row, column, unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
        });
        let own = deal(matrix, entries.collect())?;
        store(matrix, own)
    }
}

/// `NGA_Sprs_array_assemble`. Collective. Blocks.
///
/// # Errors
/// It is assembled already; there is no memory, at every process.
pub fn assemble(matrix: &Sparse) -> Result<()> {
    if matrix.stored.get().is_some() {
        return Err(Error::argument("the sparse array is assembled already"));
    }
    let gathered = std::mem::take(&mut *matrix.gathered.lock().unwrap_or_else(PoisonError::into_inner));
    collectively(&*matrix.group()?, || dispatch(matrix.kind, Assemble(matrix, gathered)))
}

/// Bring entries to the processes that have their rows. Collective.
fn deal<T: Element>(matrix: &Sparse, mut entries: Vec<Triplet<T>>) -> Result<Vec<Triplet<T>>> {
    let processes = matrix.processes();
    let owner = |row: i64| part_of(matrix.rows, processes, row);
    if processes == 1 {
        return Ok(entries);
    }
    // Stable: entries of one place are added up in the order in which they were added.
    entries.sort_by_key(|entry| owner(entry.0));
    let group = matrix.group()?;
    // First the numbers of the first entry for each process, and of all; then the entries.
    let head = (processes + 1) * 8;
    let head = head.next_multiple_of(64);
    let bytes = head + entries.len() * size_of::<Triplet<T>>();
    let shown = memory::allocate(&group, bytes as u64)?;
    let at = shown[matrix.me()].address;
    for process in 0..=processes {
        let first = entries.partition_point(|entry| owner(entry.0) < process);
        // SAFETY: our own memory, which nobody reads yet.
        unsafe { at.cast::<u64>().add(process).write(first as u64) };
    }
    // SAFETY: as before; the room is as computed, and aligned to lines.
    unsafe {
        let to = at.add(head).cast::<Triplet<T>>();
        to.copy_from_nonoverlapping(entries.as_ptr(), entries.len());
    }
    life::sync_group(&group)?;
    let mut own: Vec<Triplet<T>> = Vec::new();
    for (process, shown) in shown.iter().enumerate() {
        let owner = group.absolute(process as i32)?;
        let mut bounds = [0_u64; 2];
        // SAFETY: memory that its owner has filled before the wait, and gives back after all have called `free`; there is room for what is
        // read, all of which is written.
        unsafe {
            let from = shown.address.wrapping_add(matrix.me() * 8);
            transfer::read(job()?, owner, from, bounds.as_mut_ptr().cast(), 16)?;
            let [first, end] = bounds.map(|bound| bound as usize);
            let from = shown.address.wrapping_add(head + first * size_of::<Triplet<T>>());
            let (before, count) = (own.len(), end - first);
            own.reserve(count);
            let to: *mut Triplet<T> = own.as_mut_ptr().add(before);
            transfer::read(job()?, owner, from, to.cast(), count * size_of::<Triplet<T>>())?;
            own.set_len(before + count);
        }
    }
    memory::free(&group, at)?;
    Ok(own)
}

/// Make pieces of the entries of our own rows. Collective.
pub(super) fn store<T: Element>(matrix: &Sparse, mut entries: Vec<Triplet<T>>) -> Result<()> {
    let processes = matrix.processes();
    let block = |column: i64| part_of(matrix.columns, processes, column);
    entries.sort_by_key(|&(row, column, _)| (block(column), row, column));
    entries.dedup_by(|later, first| {
        let is_same = (later.0, later.1) == (first.0, first.1);
        if is_same {
            first.2 = first.2.add(later.2);
        }
        is_same
    });
    let mut counts = vec![0; processes];
    for entry in &entries {
        counts[block(entry.1)] += 1;
    }
    let can_be_counted = matrix.is_wide || i32::try_from(entries.len()).is_ok();
    let (lo, hi) = range(matrix.rows, processes, matrix.me());
    let rows = hi - lo + 1;
    let (all, bytes) = lay_out(rows as u64, matrix.index_bytes(), size_of::<T>() as u64, &counts);
    let group = matrix.group()?;
    let shown = life::allocate(&group, bytes, can_be_counted);
    if !can_be_counted {
        return Err(Error::argument(format!(
            "{} elements of one process need indexes of 64 bits",
            entries.len()
        )));
    }
    let shown = shown?;
    let part = shown[matrix.me()].address;
    let write = |at: u64, n: usize, value: i64| {
        let at = part.wrapping_add(at as usize);
        // SAFETY: `lay_out` made room for it in our own memory, which nobody reads yet.
        unsafe {
            match matrix.is_wide {
                true => at.cast::<i64>().add(n).write(value),
                false => at.cast::<i32>().add(n).write(value as i32),
            }
        }
    };
    let mut rest = &entries[..];
    for (block, offsets) in all.into_iter().enumerate() {
        // SAFETY: every part has room for the words of all ranges.
        unsafe { Sparse::write_offsets(part, block, offsets) };
        let (mine, others) = rest.split_at(offsets.count as usize);
        rest = others;
        if mine.is_empty() {
            continue;
        }
        let mut n = 0;
        for row in 0..rows {
            write(offsets.starts, row as usize, n as i64);
            while n < mine.len() && mine[n].0 == lo + row {
                write(offsets.columns, n, mine[n].1);
                let at = part.wrapping_add(offsets.values as usize).cast::<T>();
                // SAFETY: as in `write`.
                unsafe { at.add(n).write(mine[n].2) };
                n += 1;
            }
        }
        write(offsets.starts, rows as usize, n as i64);
    }
    let parts = shown.iter().map(|process| process.address.expose_provenance());
    let stored = Stored {
        parts: parts.collect(),
        bytes,
    };
    matrix
        .stored
        .set(stored)
        .map_err(|_| Error::argument("the sparse array is assembled already"))
}

/// A new matrix of entries that are all in our own rows, like another but for its dimensions. Collective; the caller waits for all
/// before anybody reads it.
pub(super) fn of_own_rows<T: Element>(like: &Sparse, columns: i64, entries: Vec<Triplet<T>>) -> Result<Sparse> {
    let matrix = Sparse {
        kind: like.kind,
        is_wide: like.is_wide,
        rows: like.rows,
        columns,
        group: like.group,
        processes: like.processes,
        me: like.me,
        gathered: std::sync::Mutex::default(),
        stored: std::sync::OnceLock::new(),
    };
    store(&matrix, entries)?;
    Ok(matrix)
}
