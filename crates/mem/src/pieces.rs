//! Copies of pieces of memory with gaps, to and from a row of bytes.

use std::ptr;

use crate::api::{Address, Api};
use crate::copy::{At, PORTION, copy_at, count_copy, enqueue, is_reached, place_of};
use crate::error::Result;
use crate::kernel::{Entry, Kernel, Packing};
use crate::launch::{is_there, launch, parameter};
use crate::look::{Seen, look, watched_driver};
use crate::place::{self, Place};
use crate::rows::RowsJob;
use crate::{Kind, Piece, Scratch};

/// Pieces that are copied one by one without a kernel: this many, or if they are long.
const FEW_PIECES: usize = 4;
/// Bytes of a long piece.
const LONG_PIECE: usize = 256 << 10;
/// Pieces are divided, so that a warp has no more than this to copy.
const LONGEST_ENTRY: usize = 16 << 10;
/// Entries of one kernel.
const MOST_ENTRIES: usize = 32 << 10;
/// So few entries are read by the kernel where the processor has written them.
const FEW_ENTRIES: usize = 64;

/// See [`crate::copy_pieces`].
pub unsafe fn copy_pieces(memory: *mut u8, pieces: &[Piece], packed: *mut u8, unpack: bool) -> Result<()> {
    let Some(first) = pieces.iter().find(|piece| piece.length != 0) else {
        return Ok(());
    };
    let Some(api) = watched_driver() else {
        // SAFETY: the caller's promise.
        unsafe { pieces_by_processor(memory, pieces, packed, unpack) };
        return Ok(());
    };
    let base = memory.expose_provenance();
    let seen = look(api, base.wrapping_add_signed(first.offset as isize))?;
    let job = PiecesJob {
        api,
        memory: At { address: base, seen },
        packed: At::of(api, packed.expose_provenance())?,
        unpack,
    };
    // SAFETY: the caller's promise.
    unsafe { job.copy(pieces) }
}

/// # Safety
/// As for [`crate::copy_pieces`], of host memory.
unsafe fn pieces_by_processor(memory: *mut u8, pieces: &[Piece], mut packed: *mut u8, unpack: bool) {
    for piece in pieces {
        let length = piece.length as usize;
        // SAFETY: the caller's promise.
        unsafe {
            let at = memory.wrapping_offset(piece.offset as isize);
            if unpack {
                ptr::copy_nonoverlapping(packed, at, length);
            } else {
                ptr::copy_nonoverlapping(at, packed, length);
            }
            packed = packed.add(length);
        }
    }
}

/// Pieces all of one length and distance, as rows: where they begin, how far they are apart, and how long they are.
fn as_rows(pieces: &[Piece]) -> Option<(i64, i64, u64)> {
    let [first, second, ..] = pieces else { return None };
    let pitch = second.offset.checked_sub(first.offset)?;
    pieces
        .windows(2)
        .all(|pair| pair[0].length == pair[1].length && pair[1].offset.checked_sub(pair[0].offset) == Some(pitch))
        .then_some((first.offset, pitch, first.length))
}

/// Memory with gaps, and packed bytes.
#[derive(Clone, Copy)]
struct PiecesJob<'a> {
    api: &'a Api,
    memory: At,
    packed: At,
    unpack: bool,
}

impl PiecesJob<'_> {
    /// # Safety
    /// As for [`crate::copy_pieces`].
    unsafe fn copy(self, pieces: &[Piece]) -> Result<()> {
        if self.memory.is_host() && self.packed.is_host() {
            // SAFETY: the caller's promise.
            unsafe {
                pieces_by_processor(
                    self.memory.mut_pointer(),
                    pieces,
                    self.packed.mut_pointer(),
                    self.unpack,
                )
            };
            return Ok(());
        }
        if let Some((offset, pitch, width)) = as_rows(pieces) {
            let memory = self.memory.plus(offset as isize);
            let (width, pitch) = (width as usize, pitch as isize);
            let (to, to_pitch, from, from_pitch) = match self.unpack {
                true => (memory, pitch, self.packed, width as isize),
                false => (self.packed, width as isize, memory, pitch),
            };
            let job = RowsJob {
                api: self.api,
                to,
                to_pitch,
                from,
                from_pitch,
                width,
                rows: pieces.len(),
            };
            // SAFETY: the same bytes.
            return unsafe { job.copy() };
        }
        let bytes: usize = pieces.iter().map(|piece| piece.length as usize).sum();
        if pieces.len() <= FEW_PIECES || bytes / pieces.len() >= LONG_PIECE {
            return self.one_by_one(pieces, bytes);
        }
        let (Kind::Device(device) | Kind::Managed(device)) = self.memory.seen.kind else {
            // SAFETY: the caller's promise.
            return unsafe { self.by_processor_and_copy(pieces) };
        };
        let place = place::of(self.api, device, self.memory.seen.context)?;
        if !is_there(Kernel::Pieces(self.packing()), self.api, place) {
            return self.one_by_one(pieces, bytes);
        }
        // SAFETY: the caller's promise.
        unsafe { self.by_kernel(place, pieces) }
    }

    fn one_by_one(self, pieces: &[Piece], bytes: usize) -> Result<()> {
        let (to, from) = self.ends();
        count_copy(&to, &from, bytes);
        let place = place_of(self.api, &from.seen, &to.seen)?;
        place.run(self.api, |lane| {
            let mut packed = self.packed.driver();
            for piece in pieces.iter().filter(|piece| piece.length != 0) {
                let memory = self.memory.plus(piece.offset as isize).driver();
                let (to, from) = if self.unpack {
                    (memory, packed)
                } else {
                    (packed, memory)
                };
                enqueue(self.api, lane, to, from, piece.length as usize)?;
                packed += piece.length;
            }
            Ok(())
        })
    }

    fn packing(&self) -> Packing {
        if self.unpack { Packing::Scatter } else { Packing::Gather }
    }

    fn ends(&self) -> (At, At) {
        if self.unpack {
            (self.memory, self.packed)
        } else {
            (self.packed, self.memory)
        }
    }

    /// The memory with gaps is the host's, the packed bytes are a device's.
    unsafe fn by_processor_and_copy(self, pieces: &[Piece]) -> Result<()> {
        let total: usize = pieces.iter().map(|piece| piece.length as usize).sum();
        let scratch = Scratch::pinned(total.min(PORTION))?;
        let between = At::of(self.api, scratch.start().expose_provenance())?;
        let mut packed = self.packed;
        for portion in portions(pieces, PORTION, usize::MAX) {
            let bytes: usize = portion.iter().map(|piece| piece.length as usize).sum();
            let memory = self.memory.mut_pointer();
            // SAFETY: the caller's promise; the memory between has as many bytes.
            unsafe {
                if self.unpack {
                    copy_at(self.api, between, packed, bytes)?;
                    pieces_by_processor(memory, &portion, scratch.start(), true);
                } else {
                    pieces_by_processor(memory, &portion, scratch.start(), false);
                    copy_at(self.api, packed, between, bytes)?;
                }
            }
            packed = packed.plus(bytes as isize);
        }
        Ok(())
    }

    /// The memory with gaps is a device's. Packed bytes that its kernels do not reach go through memory on the device.
    unsafe fn by_kernel(self, place: &Place, pieces: &[Piece]) -> Result<()> {
        let total: usize = pieces.iter().map(|piece| piece.length as usize).sum();
        let reached = is_reached(place, &self.packed.seen);
        let scratch = match reached {
            true => None,
            false => Some(Scratch::in_place(self.api, place, total.min(PORTION))?),
        };
        let between = scratch.as_ref().map(|scratch| scratch_at(scratch, self.memory.seen));
        let mut packed = self.packed;
        let portion_bytes = if reached { usize::MAX } else { PORTION };
        for portion in portions(pieces, portion_bytes, MOST_ENTRIES) {
            let bytes: usize = portion.iter().map(|piece| piece.length as usize).sum();
            let kernels_end = between.unwrap_or(packed);
            if let Some(between) = between
                && self.unpack
            {
                // SAFETY: the caller's promise; the memory between has as many bytes.
                unsafe { copy_at(self.api, between, packed, bytes)? };
            }
            self.run_kernel(place, &portion, kernels_end)?;
            if let Some(between) = between
                && !self.unpack
            {
                // SAFETY: as above.
                unsafe { copy_at(self.api, packed, between, bytes)? };
            }
            packed = packed.plus(bytes as isize);
        }
        Ok(())
    }

    fn run_kernel(self, place: &Place, pieces: &[Piece], packed: At) -> Result<()> {
        let mut position = 0;
        let entries: Vec<Entry> = pieces
            .iter()
            .map(|piece| {
                let entry = Entry {
                    offset: piece.offset,
                    position,
                    length: piece.length,
                };
                position += piece.length;
                entry
            })
            .collect();
        let (to, from) = self.ends();
        count_copy(&to, &from, position as usize);
        let bytes = size_of_val(entries.as_slice());
        let on_device = Scratch::in_place(self.api, place, bytes)?;
        let pinned = match entries.len() <= FEW_ENTRIES {
            true => None,
            false => Some(Scratch::pinned(bytes)?),
        };
        place.run(self.api, |lane| {
            let few_pinned = (pinned.is_none() && !lane.pinned.is_null()).then_some(lane.pinned);
            let written = few_pinned.or(pinned.as_ref().map(Scratch::start));
            let mut read = entries.as_ptr().expose_provenance() as Address;
            if let Some(written) = written {
                // SAFETY: it has as many bytes, and nobody else uses it.
                unsafe { ptr::copy_nonoverlapping(entries.as_ptr().cast(), written, bytes) };
                read = written.expose_provenance() as Address;
            }
            if few_pinned.is_none() {
                let to = on_device.start().expose_provenance() as Address;
                enqueue(self.api, lane, to, read, bytes)?;
                read = to;
            }
            let (mut memory, mut packed, mut count) = (self.memory.driver(), packed.driver(), entries.len() as u32);
            let mut parameters = [
                parameter(&mut memory),
                parameter(&mut read),
                parameter(&mut packed),
                parameter(&mut count),
            ];
            let threads = 32 * u64::from(count);
            // SAFETY: these are what the kernel takes; the memory is reached.
            unsafe {
                launch(
                    Kernel::Pieces(self.packing()),
                    self.api,
                    place,
                    lane,
                    threads,
                    &mut parameters,
                )
            }
        })
    }
}

/// Pieces in portions of at most so many bytes and entries, each entry at most [`LONGEST_ENTRY`] bytes.
fn portions(pieces: &[Piece], most_bytes: usize, most_entries: usize) -> impl Iterator<Item = Vec<Piece>> {
    let mut left = pieces.iter().copied();
    let mut rest: Option<Piece> = None;
    std::iter::from_fn(move || {
        let mut portion = Vec::new();
        let mut room = most_bytes as u64;
        while portion.len() < most_entries && room > 0 {
            let Some(piece) = rest.take().or_else(|| left.find(|piece| piece.length != 0)) else {
                break;
            };
            let length = piece.length.min(LONGEST_ENTRY as u64).min(room);
            portion.push(Piece { length, ..piece });
            room -= length;
            if length < piece.length {
                rest = Some(Piece {
                    offset: piece.offset + length as i64,
                    length: piece.length - length,
                });
            }
        }
        (!portion.is_empty()).then_some(portion)
    })
}

/// Memory on a device or between, as an end of a copy.
fn scratch_at(scratch: &Scratch, seen: Seen) -> At {
    At {
        address: scratch.start().expose_provenance(),
        seen,
    }
}
