//! Where the bytes of a rank lie, as it tells an aggregator: pieces that are alike and equally far apart are four words.

use crate::view::Piece;

/// Pieces of one length, equally far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    offset: u64,
    length: u64,
    stride: u64,
    count: u64,
}

/// Words that tell of pieces whose offsets grow.
pub fn encode(pieces: impl Iterator<Item = Piece>) -> Vec<u64> {
    let mut rows: Vec<Row> = Vec::new();
    for Piece { offset, length, .. } in pieces {
        if let Some(row) = rows.last_mut()
            && row.length == length
        {
            if row.count == 1 {
                row.stride = offset - row.offset;
            }
            if row.offset + row.stride * row.count == offset {
                row.count += 1;
                continue;
            }
        }
        rows.push(Row {
            offset,
            length,
            stride: length,
            count: 1,
        });
    }
    let words = rows
        .iter()
        .flat_map(|row| [row.offset, row.length, row.stride, row.count]);
    words.collect()
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
        let mut bytes = Vec::with_capacity(self.bytes as usize);
        for (offset, length) in &self.pieces {
            let at = (offset - start) as usize;
            bytes.extend_from_slice(&buffer[at..at + *length as usize]);
        }
        bytes
    }
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
        for &[offset, length, stride, count] in rows {
            let last = stride.checked_mul(count.checked_sub(1)?)?.checked_add(offset)?;
            let is_sound = offset >= at && length > 0 && (stride >= length || count == 1);
            at = last.checked_add(length).filter(|end| is_sound && *end <= range.1)?;
            list.push(Row {
                offset,
                length,
                stride,
                count,
            });
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
