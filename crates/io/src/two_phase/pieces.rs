//! Where the bytes of a rank lie, as it tells an aggregator: pieces that are alike and equally far apart are four words.

use std::ops::Range;

use crate::rooms;
use crate::view::Piece;

/// Pieces of one length, equally far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    offset: u64,
    length: u64,
    stride: u64,
    count: u64,
}

impl Row {
    /// The row that four words tell of; `None`: they tell of none.
    pub fn of([offset, length, stride, count]: [u64; 4]) -> Option<Self> {
        let last = stride.checked_mul(count.checked_sub(1)?)?.checked_add(offset)?;
        last.checked_add(length)?;
        let is_sound = length > 0 && stride >= length;
        is_sound.then_some(Self {
            offset,
            length,
            stride,
            count,
        })
    }

    /// For others.
    pub fn words(&self) -> [u64; 4] {
        [self.offset, self.length, self.stride, self.count]
    }

    /// The offset of its first byte.
    pub fn start(&self) -> u64 {
        self.offset
    }

    /// The offset behind its last byte.
    pub fn end(&self) -> u64 {
        self.piece(self.count - 1).end
    }

    fn piece(&self, number: u64) -> Range<u64> {
        let start = self.offset + number * self.stride;
        start..start + self.length
    }

    /// The last piece that begins before an offset, which lies behind the start.
    fn piece_before(&self, offset: u64) -> u64 {
        ((offset - 1 - self.offset) / self.stride).min(self.count - 1)
    }

    /// Bytes that are of both.
    pub fn common(&self, other: &Self) -> Option<Range<u64>> {
        let (start, end) = (self.offset.max(other.offset), self.end().min(other.end()));
        if start >= end {
            return None;
        }
        // Through the pieces of the one that has fewer there.
        let (few, many) = if self.stride >= other.stride {
            (self, other)
        } else {
            (other, self)
        };
        let last = few.piece_before(end);
        let first = if start > few.offset { few.piece_before(start) } else { 0 };
        // Where both have one stride all pieces between the ends are alike.
        let is_alike = few.stride == many.stride && last - first > 4;
        let middle = if is_alike { first + 3..last - 1 } else { 0..0 };
        (first..=last)
            .filter(|number| !middle.contains(number))
            .find_map(|number| {
                let piece = few.piece(number);
                if piece.end <= many.offset {
                    return None;
                }
                let other = many.piece(many.piece_before(piece.end));
                let (from, to) = (piece.start.max(other.start), piece.end.min(other.end));
                (from < to).then_some(from..to)
            })
    }
}

/// Rows of pieces, which are added in any order; best one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PieceRows(Vec<Row>);

impl PieceRows {
    /// Add a piece, to the last row if it goes on there.
    pub fn push(&mut self, offset: u64, length: u64) {
        if let Some(row) = self.0.last_mut() {
            if row.count == 1 && row.offset + row.length == offset && row.length != length {
                (row.length, row.stride) = (row.length + length, row.length + length);
                return;
            }
            if row.count == 1 && row.length == length && offset >= row.offset + length {
                row.stride = offset - row.offset;
            }
            if row.length == length && row.offset + row.stride * row.count == offset {
                row.count += 1;
                return;
            }
        }
        self.0.push(Row {
            offset,
            length,
            stride: length,
            count: 1,
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }
}

/// Words that tell of pieces whose offsets grow.
pub fn encode(pieces: impl Iterator<Item = Piece>) -> Vec<u64> {
    let mut rows = PieceRows::default();
    for piece in pieces {
        rows.push(piece.offset, piece.length);
    }
    rows.iter().flat_map(Row::words).collect()
}

/// Pieces of one rank in one window.
#[derive(Debug, Default)]
pub struct Series {
    /// Offset and length of each.
    pub pieces: Vec<(u64, u64)>,
    /// Of all.
    pub bytes: u64,
}

impl Series {
    /// The bytes of the pieces, out of a buffer that begins at an offset of the file.
    pub fn collect(&self, buffer: &[u8], start: u64) -> Vec<u8> {
        let mut bytes = rooms::take(self.bytes as usize);
        self.copy_to(buffer, start, &mut bytes);
        bytes
    }

    /// The same, to a place that has room for them.
    pub fn copy_to(&self, buffer: &[u8], start: u64, mut place: &mut [u8]) {
        for (offset, length) in &self.pieces {
            let (at, length) = ((offset - start) as usize, *length as usize);
            let (here, behind) = place.split_at_mut(length);
            here.copy_from_slice(&buffer[at..at + length]);
            place = behind;
        }
    }
}

/// Lists of so many ranks are looked at in turn: a write of many pieces takes 0.55 to 0.82 of its time with a sort (docs/numbers/files.md). More are
/// sorted.
pub(super) const MERGED_AT_MOST: usize = 8;

/// Runs that these pieces make together.
fn joined(mut pieces: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    pieces.sort_unstable();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (offset, length) in pieces {
        match runs.last_mut().filter(|run| offset <= run.0 + run.1) {
            Some(run) => run.1 = run.1.max(offset + length - run.0),
            None => runs.push((offset, length)),
        }
    }
    runs
}

/// Runs of the file that the pieces of all ranks make together.
pub fn covered(pieces: &[Series]) -> Vec<(u64, u64)> {
    // Each rank's are in order already. Where ranks take turns in the file, a look at each of them in turn is one at a piece that goes on.
    let pieces = pieces
        .iter()
        .map(|series| &series.pieces)
        .filter(|pieces| !pieces.is_empty());
    let pieces: Vec<_> = pieces.collect();
    if pieces.len() > MERGED_AT_MOST {
        return joined(pieces.into_iter().flatten().copied().collect());
    }
    let mut lists: Vec<_> = pieces.iter().map(|pieces| pieces.iter().copied().peekable()).collect();
    let mut runs = Vec::new();
    while let Some(start) = lists.iter_mut().filter_map(|list| Some(list.peek()?.0)).min() {
        let (mut end, mut before) = (start, None);
        while before != Some(end) {
            before = Some(end);
            for list in &mut lists {
                while let Some((offset, length)) = list.next_if(|(offset, _)| *offset <= end) {
                    end = end.max(offset + length);
                }
            }
        }
        runs.push((start, end - start));
    }
    runs
}

/// How far an aggregator has come with the pieces of a rank.
#[derive(Debug, Default)]
pub struct Cursor {
    rows: Vec<Row>,
    row: usize,
    /// Pieces of the row that are over.
    over: u64,
    /// Bytes of the next piece that are over.
    cut: u64,
}

impl Cursor {
    /// At the first of the pieces that these words tell of; `None`: they do not lie one after the other in this range of the file.
    pub fn of(words: &[u64], range: (u64, u64)) -> Option<Self> {
        let (rows, []) = words.as_chunks() else {
            return None;
        };
        let mut list = Vec::with_capacity(rows.len());
        let mut at = range.0;
        for words in rows {
            let row = Row::of(*words).filter(|row| row.start() >= at && row.end() <= range.1)?;
            at = row.end();
            list.push(row);
        }
        Some(Self {
            rows: list,
            ..Self::default()
        })
    }

    /// The pieces before `end` that were not taken yet.
    pub fn take(&mut self, end: u64) -> Series {
        let mut series = Series::default();
        while let Some(row) = self.rows.get(self.row) {
            if self.over == row.count {
                (self.row, self.over) = (self.row + 1, 0);
                continue;
            }
            let offset = row.offset + self.over * row.stride + self.cut;
            if offset >= end {
                break;
            }
            let rest = row.length - self.cut;
            let length = rest.min(end - offset);
            series.pieces.push((offset, length));
            series.bytes += length;
            if length < rest {
                self.cut += length;
                break;
            }
            (self.over, self.cut) = (self.over + 1, 0);
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_window_by_window() {
        let piece = |offset, length| Piece {
            offset,
            length,
            position: 0,
        };
        let list = [(0, 4), (10, 4), (20, 4), (24, 4), (40, 9), (60, 1)].map(|(offset, length)| piece(offset, length));
        let words = encode(list.into_iter());
        assert_eq!(words.len(), 4 * 4);
        assert!(Cursor::of(&words, (0, 60)).is_none() && Cursor::of(&words, (1, 61)).is_none());
        assert!(Cursor::of(&words[1..], (0, 61)).is_none());
        let mut cursor = Cursor::of(&words, (0, 61)).expect("sound");
        assert_eq!(cursor.take(12).pieces, [(0, 4), (10, 2)]);
        assert_eq!(cursor.take(12).pieces, []);
        assert_eq!(cursor.take(43).pieces, [(12, 2), (20, 4), (24, 4), (40, 3)]);
        let rest = cursor.take(u64::MAX);
        assert_eq!((rest.pieces, rest.bytes), (vec![(43, 6), (60, 1)], 7));
    }
}
