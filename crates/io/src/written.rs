//! Bytes that several processes have written without an order between them, where programs are checked: each keeps a list of what it has
//! written, and compares it with the others' when all meet.

use std::ops::Range;

use crate::error::Result;
use crate::two_phase::pieces::{PieceRows, Row};
use crate::two_phase::{Exchange, Incoming, Outgoing};
use crate::view::Piece;

/// Rows of a list; what comes when it is full is not compared.
const MOST: usize = 1 << 16;

/// A call that has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// Which: below 256.
    pub name: u8,
    /// When, as all members count: calls of one phase have no order, those of an earlier one are over on all before one of a later begins.
    pub phase: u32,
}

impl Call {
    fn word(self) -> u64 {
        u64::from(self.phase) << 8 | u64::from(self.name)
    }

    fn of(word: u64) -> Self {
        Self {
            name: word as u8,
            phase: (word >> 8) as u32,
        }
    }
}

/// What one process has written, each row by a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    lists: Vec<(Call, PieceRows)>,
    /// In all lists.
    rows: usize,
}

/// Bytes that two processes have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Which.
    pub bytes: Range<u64>,
    /// The ranks in their order, and their calls.
    pub by: [(usize, Call); 2],
}

impl Conflict {
    /// Was one over before the other began?
    pub fn is_ordered(&self) -> bool {
        let [(_, one), (_, other)] = self.by;
        one.phase != other.phase
    }
}

/// A row as others are told: the call, and the row.
type RowRecord = [u64; 5];

impl Written {
    /// `call` has written these.
    pub fn add(&mut self, call: Call, pieces: impl Iterator<Item = Piece>) {
        if self.rows >= MOST {
            return;
        }
        // Phases only grow.
        let of_phase = self.lists.iter().rev().take_while(|(one, _)| one.phase == call.phase);
        let behind = of_phase.map(|(one, _)| *one).position(|one| one == call);
        let at = match behind {
            Some(behind) => self.lists.len() - 1 - behind,
            None => {
                self.lists.push((call, PieceRows::default()));
                self.lists.len() - 1
            }
        };
        let list = &mut self.lists[at].1;
        let before = self.rows - list.len();
        for piece in pieces {
            list.push(piece.offset, piece.length);
            if before + list.len() >= 2 * MOST {
                break;
            }
        }
        self.rows = before + list.len();
    }

    fn entries(&self) -> Vec<RowRecord> {
        let mut all = Vec::new();
        for (call, rows) in &self.lists {
            all.extend(rows.iter().map(|row| {
                let [offset, length, stride, count] = row.words();
                [call.word(), offset, length, stride, count]
            }));
        }
        all.sort_unstable_by_key(|entry| entry[1]);
        all
    }
}

fn row_of(entry: &RowRecord) -> Option<Row> {
    Row::of([entry[1], entry[2], entry[3], entry[4]])
}

/// Bytes that an entry of both lists has, which are in the order of their offsets; with the calls. Best of calls without an order.
fn conflicting(own: &[RowRecord], theirs: &[RowRecord]) -> Option<(Range<u64>, u64, u64)> {
    let unordered = common(own, theirs, |one, other| Call::of(one).phase == Call::of(other).phase);
    unordered.or_else(|| common(own, theirs, |_, _| true))
}

/// The first bytes that both have, of calls that `counts` is true of.
fn common(
    own: &[RowRecord],
    theirs: &[RowRecord],
    counts: impl Fn(u64, u64) -> bool,
) -> Option<(Range<u64>, u64, u64)> {
    let rows: Vec<Row> = theirs.iter().map_while(row_of).collect();
    // The furthest end so far.
    let mut end = 0;
    let ends: Vec<u64> = rows
        .iter()
        .map(|row| {
            end = row.end().max(end);
            end
        })
        .collect();
    for entry in own {
        let row = row_of(entry)?;
        let first = ends.partition_point(|end| *end <= row.start());
        for (at, other) in rows
            .iter()
            .enumerate()
            .skip(first)
            .take_while(|(_, other)| other.start() < row.end())
        {
            if counts(entry[0], theirs[at][0])
                && let Some(bytes) = row.common(other)
            {
                return Some((bytes, entry[0], theirs[at][0]));
            }
        }
    }
    None
}

/// Compare what all have written: the first rank's conflict with another, as all learn it. All members call; does not block otherwise.
///
/// # Errors
/// Those of the exchange.
pub async fn conflict(exchange: &impl Exchange, written: &Written) -> Result<Option<Conflict>> {
    let (size, rank) = (exchange.size(), exchange.rank());
    let own = written.entries();
    let lengths = exchange.gather([own.len() as u64]).await?;
    let bytes: Vec<u8> = own.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut found = None;
    for distance in 1..=size / 2 {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let (own_length, length) = (own.len(), lengths[from][0] as usize);
        let mut heard = vec![0; length * size_of::<RowRecord>()];
        let sends = [Outgoing { to, bytes: &bytes }];
        let mut receives = [Incoming {
            from,
            bytes: &mut heard,
        }];
        let sends = if own_length == 0 { &[] } else { &sends[..] };
        let receives = if length == 0 { &mut [] } else { &mut receives[..] };
        exchange.pass(sends, receives).await?;
        let words: Vec<u64> = heard
            .as_chunks()
            .0
            .iter()
            .map(|bytes| u64::from_ne_bytes(*bytes))
            .collect();
        let with_this = conflicting(&own, words.as_chunks().0).map(|found| (from, found));
        found = match (found, with_this) {
            (Some(before), Some(now)) if is_ordered(&before) && !is_ordered(&now) => Some(now),
            (before, now) => before.or(now),
        };
    }
    let said = match &found {
        Some((other, (bytes, call, theirs))) => [1, bytes.start, bytes.end, *call, *other as u64, *theirs],
        None => [0; 6],
    };
    let all = exchange.gather(said).await?;
    let conflicts = (0..).zip(&all).filter(|(_, said)| said[0] != 0).map(|(rank, said)| {
        let [_, start, end, call, other, theirs] = *said;
        let mut by = [(rank, Call::of(call)), (other as usize, Call::of(theirs))];
        by.sort_unstable_by_key(|(rank, _)| *rank);
        Conflict { bytes: start..end, by }
    });
    // Of the first rank, best one without an order.
    Ok(conflicts.min_by_key(Conflict::is_ordered))
}

/// Was one of these calls over before the other began?
fn is_ordered((_, (_, one, other)): &(usize, (Range<u64>, u64, u64))) -> bool {
    Call::of(*one).phase != Call::of(*other).phase
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[(u64, u64)]) -> Vec<RowRecord> {
        let mut written = Written::default();
        let piece = |&(offset, length): &(u64, u64)| Piece {
            offset,
            length,
            position: 0,
        };
        written.add(Call { name: 7, phase: 3 }, pieces.iter().map(piece));
        written.entries()
    }

    #[test]
    fn rows_in_turn_have_nothing_in_common_and_those_that_meet_have() {
        let every = |from: u64, length: u64, stride: u64, count: u64| {
            written(&(0..count).map(|at| (from + at * stride, length)).collect::<Vec<_>>())
        };
        let meet = |one: &[RowRecord], other: &[RowRecord]| {
            let there = conflicting(one, other).map(|(bytes, ..)| bytes);
            let back = conflicting(other, one).map(|(bytes, ..)| bytes);
            assert_eq!(there.is_some(), back.is_some());
            there
        };
        assert_eq!(meet(&every(0, 4, 8, 1000), &every(4, 4, 8, 1000)), None);
        assert_eq!(meet(&every(0, 5, 8, 1000), &every(4, 4, 8, 1000)), Some(4..5));
        assert_eq!(meet(&every(0, 4, 8, 3), &every(24, 4, 8, 3)), None);
        assert_eq!(meet(&every(0, 4, 8, 4), &every(24, 4, 8, 3)), Some(24..28));
        // Other strides: 0, 6, 12 ... and 3, 7, 11 ... meet at 27 of length 1.
        assert_eq!(meet(&every(3, 1, 6, 100), &every(3, 1, 4, 1)), Some(3..4));
        assert_eq!(meet(&every(0, 1, 6, 100), &every(3, 1, 4, 100)), None);
        assert_eq!(meet(&every(1, 1, 6, 100), &every(3, 1, 4, 100)), Some(7..8));
        assert_eq!(meet(&written(&[]), &every(3, 1, 4, 100)), None);
        let far = [(0, 1000), (5, 1), (2000, 5), (3000, 5)];
        assert_eq!(meet(&written(&far), &written(&[(900, 10)])), Some(900..910));
        assert_eq!(meet(&written(&far), &written(&[(1500, 100), (2005, 995)])), None);
    }

    #[test]
    fn calls_without_an_order_are_found_first() {
        let piece = |offset| Piece {
            offset,
            length: 4,
            position: 0,
        };
        let call = |phase| Call { name: 200, phase };
        let (mut one, mut other) = (Written::default(), Written::default());
        for phase in 1..4 {
            one.add(call(phase), [piece(100 * u64::from(phase))].into_iter());
        }
        // Bytes 100 in another phase, bytes 300 in the same.
        other.add(call(2), [piece(100)].into_iter());
        let found = conflicting(&one.entries(), &other.entries())
            .map(|(bytes, one, other)| (bytes, Call::of(one), Call::of(other)));
        assert_eq!(found, Some((100..104, call(1), call(2))));
        other.add(call(3), [piece(302)].into_iter());
        let found = conflicting(&one.entries(), &other.entries())
            .map(|(bytes, one, other)| (bytes, Call::of(one), Call::of(other)));
        assert_eq!(found, Some((302..304, call(3), call(3))));
    }

    #[test]
    fn a_full_list_takes_no_more() {
        let mut list = Written::default();
        let odd = |at: u64| Piece {
            offset: at * at * 3,
            length: 1 + at % 2,
            position: 0,
        };
        list.add(Call::default(), (0..10 * MOST as u64).map(odd));
        let before = list.clone();
        list.add(Call::default(), (0..10).map(odd));
        assert!(list == before && list.entries().len() <= 2 * MOST);
    }
}
