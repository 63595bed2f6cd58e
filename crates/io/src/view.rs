//! Which bytes of a file a process sees, in which order (MPI-5.0 §14.1.1, §14.3).
//!
//! A view is a filetype that is laid from a displacement on again and again. Its bytes of data are numbered: number `p` is the *position* `p`,
//! and lies at the *offset* `offset_of(p)` of the file. Offsets grow with positions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use isthmus_datatype::Type;

use crate::error::Result;
use crate::fail;

/// Bytes of data in a row, in one filetype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// From the first byte of data of the filetype.
    at: u64,
    length: u64,
    /// Bytes of data before it.
    before: u64,
}

/// What a process sees of a file.
#[derive(Debug, Clone)]
pub struct View {
    /// Offset of the first byte of data.
    start: u64,
    /// Bytes of an etype in the file.
    etype: u64,
    runs: Arc<[Run]>,
    /// Bytes of data in one filetype.
    size: u64,
    /// Bytes from one filetype to the next.
    extent: u64,
    /// Do no two positions of one filetype have the same offset?
    is_apart_once: bool,
    /// ... and no two positions at all?
    is_apart: bool,
    /// The filetype, unless all bytes are data.
    filetype: Option<Arc<Type>>,
}

/// Bytes of an access that lie in a row in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where in the file.
    pub offset: u64,
    /// How many.
    pub length: u64,
    /// Position of the first of them.
    pub position: u64,
}

impl View {
    /// The whole file, byte by byte.
    pub fn bytes() -> Self {
        Self::contiguous(0, 1)
    }

    /// From `displacement` on, all of it in etypes of so many bytes.
    pub fn contiguous(displacement: u64, etype: u64) -> Self {
        Self {
            start: displacement,
            etype,
            runs: Arc::new([Run {
                at: 0,
                length: etype,
                before: 0,
            }]),
            size: etype,
            extent: etype,
            is_apart_once: true,
            is_apart: true,
            filetype: None,
        }
    }

    /// The view of `filetype`, of which `etype` is the unit, from `displacement` on.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`: the displacement is negative, the etype empty, the filetype not made of etypes. `MPI_ERR_IO`, as programs know it from ROMIO:
    /// displacements of the filetype are negative or decrease. `MPI_ERR_NO_MEM`: too many places.
    pub fn new(displacement: i64, etype: &Type, filetype: &Type) -> Result<Self> {
        if displacement < 0 {
            return Err(fail!(Arg, "disp={displacement} is negative"));
        }
        if etype.size() == 0 {
            return Err(fail!(Arg, "etype has no data"));
        }
        if filetype.size() % etype.size() != 0 {
            return Err(fail!(
                Arg,
                "filetype has {} bytes of data, which is no multiple of the {} of etype",
                filetype.size(),
                etype.size()
            ));
        }
        let list = filetype.runs()?;
        let mut before = 0;
        let mut is_apart_once = true;
        for pair in list.windows(2) {
            if pair[1].0 < pair[0].0 {
                return Err(fail!(
                    Io,
                    "the displacements of filetype decrease: {} bytes, then {}",
                    pair[0].0,
                    pair[1].0
                ));
            }
            is_apart_once &= pair[0].0 + pair[0].1 <= pair[1].0;
        }
        let first = list.first().map_or(0, |run| run.0);
        if first < 0 || filetype.extent() < 0 {
            return Err(fail!(Io, "filetype has a negative displacement or extent"));
        }
        let end = list.iter().map(|run| run.0 + run.1).max().unwrap_or(0);
        let runs = list.iter().map(|(at, length)| {
            let run = Run {
                at: (at - first) as u64,
                length: *length as u64,
                before,
            };
            before += run.length;
            run
        });
        Ok(Self {
            start: (displacement as u64).saturating_add(first as u64),
            etype: etype.size() as u64,
            runs: runs.collect(),
            size: filetype.size() as u64,
            extent: filetype.extent() as u64,
            is_apart_once,
            is_apart: is_apart_once && end - first <= filetype.extent(),
            filetype: Some(filetype.share()),
        })
    }

    /// Bytes of an etype.
    pub fn etype(&self) -> u64 {
        self.etype
    }

    /// Do no two positions have the same offset, and do offsets grow?
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// Can it be written to, since no filetype has a byte of the file twice? That one begins before the last one ends is no error of the view:
    /// programs that write the first one only lay filetypes so (PnetCDF, by `MPI_Type_create_struct` of a header and a subarray).
    pub fn is_writable(&self) -> bool {
        self.is_apart_once
    }

    /// The view for an access of the positions before `end`: if all of these are of the first filetype, the next ones lie behind it.
    pub fn before(&self, end: u64) -> Cow<'_, Self> {
        if self.is_apart || !self.is_apart_once || end > self.size {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            extent: self.runs.last().map_or(0, |run| run.at + run.length),
            is_apart: true,
            ..self.clone()
        })
    }

    /// Is there no data in it at all?
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    fn is_contiguous(&self) -> bool {
        self.runs.len() == 1 && self.size == self.extent
    }

    /// Where the byte at a position lies. The view must not be [empty](Self::is_empty).
    pub fn offset_of(&self, position: u64) -> u64 {
        if self.is_contiguous() {
            return self.start.saturating_add(position);
        }
        let (tile, within) = (position / self.size, position % self.size);
        let run = self.runs[self.run_at(within)];
        let in_tile = run.at + (within - run.before);
        self.start
            .saturating_add(tile.saturating_mul(self.extent))
            .saturating_add(in_tile)
    }

    /// The run that a byte of a filetype's data belongs to.
    fn run_at(&self, within: u64) -> usize {
        self.runs.partition_point(|run| run.before + run.length <= within)
    }

    /// From the first to the last byte of the file that positions `from..to` have, of which there is one at least.
    pub fn span(&self, from: u64, to: u64) -> Range<u64> {
        if self.is_apart {
            return self.offset_of(from)..self.offset_of(to - 1).saturating_add(1);
        }
        // Where a filetype reaches beyond its extent, offsets do not grow.
        let (start, end) = self.pieces(from, to).fold((u64::MAX, 0), |(start, end), piece| {
            let behind = piece.offset.saturating_add(piece.length);
            (piece.offset.min(start), behind.max(end))
        });
        start..end
    }

    /// How many bytes of the view's data lie before an offset. Only where positions are [apart](Self::is_apart).
    pub fn position_at(&self, offset: u64) -> u64 {
        let Some(distance) = offset.checked_sub(self.start) else {
            return 0;
        };
        if self.is_contiguous() {
            return distance;
        }
        if self.size == 0 || self.extent == 0 {
            return 0;
        }
        let (tile, within) = (distance / self.extent, distance % self.extent);
        // Runs begin within the extent, since the first one does at its start.
        let next = self.runs.partition_point(|run| run.at < within);
        let in_tile = match next.checked_sub(1).map(|last| self.runs[last]) {
            Some(run) => run.before + run.length.min(within - run.at),
            None => 0,
        };
        tile * self.size + in_tile
    }

    /// Bytes of a piece of positions `from..to`, in the mean of the first ones.
    pub fn mean_piece(&self, from: u64, to: u64) -> u64 {
        let (pieces, bytes) = self
            .pieces(from, to)
            .take(16)
            .fold((0, 0), |(pieces, bytes), piece| (pieces + 1, bytes + piece.length));
        bytes / u64::max(pieces, 1)
    }

    /// Copy the bytes at positions `from..to` to `into`, out of `window`: what the file has from `start` on, with all of them. Only where
    /// positions are [apart](Self::is_apart).
    pub fn copy_from_window(&self, window: &[u8], start: u64, from: u64, to: u64, into: &mut [u8]) {
        assert!(into.len() as u64 == to - from, "as many bytes as positions");
        if from == to {
            return;
        }
        assert!(
            self.is_apart && self.offset_of(from) >= start && self.offset_of(to - 1) - start < window.len() as u64,
            "the window has all of them"
        );
        let Some(filetype) = &self.filetype else {
            let at = (self.offset_of(from) - start) as usize;
            into.copy_from_slice(&window[at..at + into.len()]);
            return;
        };
        // The filetype's address, if the file were memory: its first byte of data is the file's at `self.start`.
        let first = self.start.wrapping_sub(start) as isize;
        let address = window
            .as_ptr()
            .wrapping_offset(first)
            .wrapping_offset(-filetype.true_lb() as isize);
        let count = to.div_ceil(self.size) as i64;
        // SAFETY: offsets grow with positions, so all bytes of this range lie in the window, as asserted; `into` has room for them.
        unsafe { filetype.pack_range(address, count, from as i64, to as i64, into.as_mut_ptr()) }
    }

    /// Where the bytes at positions `from..to` lie, in order; those that touch are one piece.
    pub fn pieces(&self, from: u64, to: u64) -> Pieces<'_> {
        let (tile, run) = if self.is_contiguous() || self.size == 0 {
            (0, 0)
        } else {
            (from / self.size, self.run_at(from % self.size))
        };
        Pieces {
            view: self,
            position: from,
            to: if self.size == 0 { from } else { to },
            tile,
            run,
        }
    }
}

/// See [`View::pieces`].
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    view: &'a View,
    position: u64,
    to: u64,
    tile: u64,
    run: usize,
}

impl Pieces<'_> {
    /// The rest of the run that the next byte is in.
    fn part(&mut self) -> Option<Piece> {
        if self.position >= self.to {
            return None;
        }
        let view = self.view;
        let run = view.runs[self.run];
        let skipped = self.position - (self.tile * view.size + run.before);
        let length = (run.length - skipped).min(self.to - self.position);
        Some(Piece {
            offset: view
                .start
                .saturating_add(self.tile.saturating_mul(view.extent))
                .saturating_add(run.at + skipped),
            length,
            position: self.position,
        })
    }

    fn step(&mut self, length: u64) {
        self.position += length;
        let run = self.view.runs[self.run];
        if self.position >= self.tile * self.view.size + run.before + run.length {
            self.run += 1;
            if self.run == self.view.runs.len() {
                (self.run, self.tile) = (0, self.tile + 1);
            }
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.view.is_contiguous() {
            let (position, length) = (self.position, self.to.checked_sub(self.position)?);
            self.position = self.to;
            return (length > 0).then(|| Piece {
                offset: self.view.offset_of(position),
                length,
                position,
            });
        }
        let mut piece = self.part()?;
        self.step(piece.length);
        if self.view.runs.len() == 1 {
            // Filetypes of one run each that touch would be contiguous.
            return Some(piece);
        }
        while let Some(next) = self.part()
            && next.offset == piece.offset + piece.length
        {
            piece.length += next.length;
            self.step(next.length);
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use isthmus_datatype::Shape;
    use isthmus_datatype::shape::Block;

    use super::*;

    fn int() -> Arc<Type> {
        Type::of_name("MPI_INT")
    }

    /// Integers at 1, 2 and 5 of each 8.
    fn holes() -> Arc<Type> {
        let int = int();
        let block = |at: i64, count| Block {
            displacement: at * 4,
            count,
            shape: int.shape(),
        };
        let shape = Shape::sequence([block(1, 2), block(5, 1)].into_iter()).and_then(|shape| shape.resized(0, 32));
        Type::derived(shape.expect("small"))
    }

    #[test]
    fn positions_and_offsets_name_the_same_bytes() {
        let view = View::new(100, &int(), &holes()).expect("good");
        let offsets: Vec<u64> = (0..36).map(|position| view.offset_of(position)).collect();
        for (position, offset) in offsets.iter().enumerate() {
            assert_eq!(view.position_at(*offset), position as u64);
            assert_eq!(view.position_at(*offset + 1), position as u64 + 1);
        }
        assert_eq!((offsets[0], offsets[8], offsets[12]), (104, 120, 136));
        assert_eq!(
            (view.position_at(0), view.position_at(112), view.position_at(119)),
            (0, 8, 8)
        );
        let pieces: Vec<_> = view
            .pieces(4, 22)
            .map(|piece| (piece.offset, piece.length, piece.position))
            .collect();
        assert_eq!(pieces, [(108, 4, 4), (120, 4, 8), (136, 8, 12), (152, 2, 20)]);
    }

    #[test]
    fn pieces_that_touch_are_one() {
        let view = View::new(8, &int(), &int()).expect("good");
        assert_eq!(view.pieces(4, 400).count(), 1);
        assert_eq!(View::bytes().pieces(5, 5).count(), 0);
    }

    #[test]
    fn what_is_no_view_is_refused() {
        let code = |view: Result<View>| view.expect_err("refused").code();
        assert_eq!(code(View::new(-1, &int(), &int())), 13);
        let pair = Type::derived(int().shape().repeated(2, -4).expect("small"));
        assert_eq!(code(View::new(0, &int(), &pair)), 35);
        assert_eq!(code(View::new(0, &pair, &int())), 13);
        let overlapping = Type::derived(int().shape().repeated(2, 2).expect("small"));
        let overlapping = View::new(0, &int(), &overlapping).expect("can be read");
        assert!(!overlapping.is_apart() && !overlapping.is_writable() && !overlapping.before(4).is_apart());
    }

    #[test]
    fn filetypes_that_reach_beyond_their_extent_have_a_span() {
        // Integers at bytes 0 and 100, and the next two from the extent on.
        let far = |extent| {
            let shape = int()
                .shape()
                .repeated(2, 100)
                .and_then(|shape| shape.resized(0, extent));
            View::new(0, &int(), &Type::derived(shape.expect("small"))).expect("can be read")
        };
        assert_eq!(far(4).span(4, 12), 4..104);
        assert_eq!(far(0).span(4, 12), 0..104);
        assert_eq!(far(0).position_at(50), 0);
        // The first filetype alone.
        assert!(far(4).is_writable() && !far(4).before(9).is_apart());
        let first = far(4).before(8).into_owned();
        assert!(first.is_apart());
        assert_eq!((first.span(2, 8), first.position_at(102)), (2..104, 6));
    }
}
