//! Each round halves what a rank is responsible for, and combines it with what the rank has that differs in the next bit.
//!
//! Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner, Gropp,
//! "Optimization of collective communication operations in MPICH", 2005. Near ranks come first, so that operands stay in
//! the order of ranks, whatever the operation.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// Elements from one up to another.
#[derive(Clone, Copy)]
pub struct ElementRange {
    first: i64,
    count: i64,
}

impl ElementRange {
    /// Where they lie in memory for all, and how many they are.
    pub fn area(self, operand: &Operand<'_>, all: *mut u8) -> (*mut u8, i64) {
        (operand.at(all, self.first), self.count)
    }

    fn halves(self) -> [Self; 2] {
        let low = self.count / 2;
        let high = self.count - low;
        [
            Self {
                first: self.first,
                count: low,
            },
            Self {
                first: self.first + low,
                count: high,
            },
        ]
    }
}

/// The ranks that take part in halving, and their data. If the number of ranks is no power of two, the even ones of the first ranks give
/// what they have to the odd ones, and are idle.
pub struct Halves {
    rank: usize,
    power: usize,
    paired: usize,
    count: i64,
    /// Our place among those who take part.
    pub place: Option<usize>,
}

impl Halves {
    /// Of `count` elements.
    pub fn of(link: &impl Link, count: i64) -> Self {
        let (rank, size) = (link.rank(), link.size());
        let power = 1 << size.ilog2();
        let paired = 2 * (size - power);
        let place = match rank < paired {
            true if rank % 2 == 0 => None,
            true => Some(rank / 2),
            false => Some(rank - paired / 2),
        };
        Self {
            rank,
            power,
            paired,
            count,
            place,
        }
    }

    /// The rank at a place.
    pub fn rank_of(&self, place: usize) -> usize {
        match place < self.paired / 2 {
            true => 2 * place + 1,
            false => place + self.paired / 2,
        }
    }

    /// The place of a rank, or of its representative.
    pub fn place_for(&self, rank: usize) -> usize {
        match rank < self.paired {
            true => rank / 2,
            false => rank - self.paired / 2,
        }
    }

    /// The rounds of a place: the bit in which its partner differs, what it keeps, and what the partner does.
    pub fn rounds(&self, place: usize) -> Vec<(usize, ElementRange, ElementRange)> {
        let mut rounds = Vec::new();
        let mut part = ElementRange {
            first: 0,
            count: self.count,
        };
        let mut bit = 1;
        while bit < self.power {
            let [low, high] = part.halves();
            let (own, other) = if place & bit == 0 { (low, high) } else { (high, low) };
            rounds.push((bit, own, other));
            part = own;
            bit *= 2;
        }
        rounds
    }

    /// Combine, round by round; the result, for the part that is ours in the end, lies in one of the two areas, which comes
    /// back.
    ///
    /// # Safety
    /// `input` must hold all elements; the areas must have room for them.
    pub unsafe fn combine(
        &self,
        link: &impl Link,
        operand: &Operand<'_>,
        input: *const u8,
        areas: (*mut u8, *mut u8),
    ) -> Result<*mut u8> {
        let (mut have, mut heard) = areas;
        // SAFETY: the caller's promise.
        unsafe {
            let Some(place) = self.place else {
                operand.send(link, self.rank + 1, input, self.count)?;
                return Ok(have);
            };
            operand.copy(link, input, have, self.count)?;
            if self.rank < self.paired {
                operand.receive(link, self.rank - 1, heard, self.count)?;
                operand.apply(link, heard, have, self.count);
            }
            for (bit, own, other) in self.rounds(place) {
                let with = self.rank_of(place ^ bit);
                let ((at, count), (from, sent)) = (own.area(operand, heard), other.area(operand, have));
                operand.transfer(link, &[(with, at, count)], &[(with, from.cast_const(), sent)])?;
                let (ours, _) = own.area(operand, have);
                if with < self.rank {
                    operand.apply(link, at, ours, count);
                } else {
                    operand.apply(link, ours, at, count);
                    std::mem::swap(&mut have, &mut heard);
                }
            }
        }
        Ok(have)
    }

    /// Idle ranks get the result from their representatives.
    ///
    /// # Safety
    /// `have` must hold all elements of the result, or have room for them.
    pub unsafe fn tell_the_idle(
        &self,
        link: &impl Link,
        operand: &Operand<'_>,
        have: *mut u8,
        count: i64,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.place {
                None => operand.receive(link, self.rank + 1, have, count),
                Some(_) if self.rank < self.paired => operand.send(link, self.rank - 1, have, count),
                Some(_) => Ok(()),
            }
        }
    }
}
