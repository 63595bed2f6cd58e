//! Recursive halving: far ranks first, everyone sends the blocks of the other half of the ranks to its partner there, and
//! combines what comes for its own half.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: log2 p rounds, n (p - 1) / p bytes and as many operations; two more rounds if p is no power of two, in which the
//! ranks beyond it hand their elements to a neighbour and get their block back.
//! Preconditions: an operation that commutes. Blocks of any lengths.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// `block` says where a rank's block lies in `input`: (first element, number of elements); one follows the other.
///
/// # Safety
/// `input` must hold all blocks, `output` have room for the own one. `output` may lie in `input`.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let (first, own) = block(rank);
    let start = |rank: usize| match rank < size {
        true => block(rank).0,
        false => block(size - 1).0 + block(size - 1).1,
    };
    let total = start(size);
    let power = 1 << size.ilog2();
    let paired = 2 * (size - power);
    // The rank at a place, and the first rank that it stands for.
    let rank_of = |place: usize| {
        if place < paired / 2 {
            2 * place + 1
        } else {
            place + paired / 2
        }
    };
    let first_of = |place: usize| {
        if place < paired / 2 {
            2 * place
        } else {
            place + paired / 2
        }
    };
    let (have, heard) = (operand.scratch(link, total)?, operand.scratch(link, total)?);
    // SAFETY: the caller's promise; the areas have room for all elements.
    unsafe {
        if rank < paired && rank % 2 == 0 {
            operand.send(link, rank + 1, input, total)?;
            operand.receive(link, rank + 1, have.elements, own)?;
            return operand.copy(link, have.elements, output, own);
        }
        operand.copy(link, input, have.elements, total)?;
        if rank < paired {
            operand.receive(link, rank - 1, heard.elements, total)?;
            operand.apply(link, heard.elements, have.elements, total);
        }
        let place = if rank < paired { rank / 2 } else { rank - paired / 2 };
        // Places from here on, so many, are what we are still responsible for.
        let (mut low, mut many) = (0, power);
        while many > 1 {
            many /= 2;
            let with = rank_of(place ^ many);
            let (mine, theirs) = match place & many == 0 {
                true => (low, low + many),
                false => (low + many, low),
            };
            let part = |low: usize| {
                let (first, end) = (start(first_of(low)), start(first_of(low + many)));
                (first, end - first)
            };
            let ((kept, count), (given, sent)) = (part(mine), part(theirs));
            let from = operand.at(have.elements, given).cast_const();
            operand.transfer(link, &[(with, heard.elements, count)], &[(with, from, sent)])?;
            operand.apply(link, heard.elements, operand.at(have.elements, kept), count);
            low = mine;
        }
        if rank < paired {
            let (theirs, count) = block(rank - 1);
            operand.send(link, rank - 1, operand.at(have.elements, theirs), count)?;
        }
        operand.copy(link, operand.at(have.elements, first), output, own)
    }
}
