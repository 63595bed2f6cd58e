//! What reductions work on: elements with an operation.

use crate::error::Result;
use crate::fail;
use crate::link::elements::{self, Elements};
use crate::link::{Incoming, Link, Outgoing};
use crate::memory::ScratchMemory;
use isthmus_datatype::{Predefined, Reduction, Type};

/// A datatype and an operation on it. All pointers are addresses of elements as MPI means them: data lies from
/// `address + true_lb` on.
///
/// Elements of predefined types cross as they lie in memory, padding of pairs included; others are packed.
pub struct Operand<'a> {
    /// The elements' type.
    pub datatype: &'a Type,
    /// The operation, ready for it.
    pub reduction: Reduction,
    commutative: bool,
    exact: bool,
    packed: bool,
}

/// Memory of our own for elements.
pub struct Scratch<'l> {
    _memory: ScratchMemory<'l>,
    /// Their address.
    pub elements: *mut u8,
}

impl<'a> Operand<'a> {
    /// Elements with an operation; `commutative`: operands may change places.
    #[inline]
    pub fn new(datatype: &'a Type, reduction: Reduction, commutative: bool) -> Self {
        Self {
            exact: matches!(reduction, Reduction::Kernel(_)) && datatype.is_of_integers(),
            datatype,
            reduction,
            commutative,
            packed: !datatype.is_contiguous() && datatype.named().is_none(),
        }
    }

    /// Elements with a predefined operation; an error if it is not defined for them (MPI-5.0 §6.9.2).
    pub fn predefined(datatype: &'a Type, op: Predefined) -> Result<Self> {
        match Reduction::predefined(op, datatype) {
            Some(reduction) => Ok(Self::new(datatype, reduction, true)),
            None => Err(fail!(Op, "op={} is not defined for {}", op.name(), datatype.label())),
        }
    }

    /// May operands change places?
    #[inline]
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Is the result the same in whatever order it combines?
    #[inline]
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Do elements cross packed, rather than as they lie in memory?
    #[inline]
    pub fn crosses_packed(&self) -> bool {
        self.packed
    }

    /// The address of the element at `index`.
    #[inline]
    pub fn at(&self, address: *const u8, index: i64) -> *mut u8 {
        let distance = index.wrapping_mul(self.datatype.extent());
        address.cast_mut().wrapping_offset(distance as isize)
    }

    /// Memory for `count` elements.
    pub fn scratch<'l>(&self, link: &'l impl Link, count: i64) -> Result<Scratch<'l>> {
        let between = i128::from((count - 1).max(0)) * i128::from(self.datatype.extent());
        let low = i128::from(self.datatype.true_lb()) + between.min(0);
        let len = i128::from(self.datatype.true_extent()) + between.abs();
        // The padding behind the last element of a pair crosses too.
        let len = len.max(i128::from(self.datatype.extent()) * i128::from(count));
        let no_memory = |_| fail!(NoMem, "no memory for {len} bytes of intermediate results");
        let mut memory = link.memory(usize::try_from(len).map_err(no_memory)?)?;
        let elements = memory.start().wrapping_offset(-low as isize);
        Ok(Scratch {
            _memory: memory,
            elements,
        })
    }

    /// `inout[i] = left[i] op inout[i]`.
    ///
    /// # Safety
    /// Both must hold `count` elements, and not overlap.
    #[inline]
    pub unsafe fn apply(&self, link: &impl Link, left: *const u8, inout: *mut u8, count: i64) {
        if count > 0 {
            // SAFETY: the caller's promise.
            unsafe { link.apply(self, left, inout, count) }
        }
    }

    /// As [`Self::apply`], here and now. `count` is not 0.
    ///
    /// # Safety
    /// As for [`Self::apply`].
    #[inline]
    pub unsafe fn combine(&self, left: *const u8, inout: *mut u8, count: i64) {
        // SAFETY: the caller's promise.
        let applied = unsafe { self.reduction.apply(left, inout, count) };
        // A user's function always can be called in the call that brought it.
        debug_assert!(applied.is_ok());
    }

    /// Combine what the first `parts` ranks have contributed, from the first to the last: `((c0 op c1) op c2) op ...`, as a loop
    /// over ranks would. What `own` gave lies in `input`. The result comes to where the last one's contribution is, or would be.
    ///
    /// # Safety
    /// Contributions and `input` must hold `count` elements; they do not overlap.
    pub unsafe fn fold(
        &self,
        link: &impl Link,
        parts: usize,
        own: usize,
        input: *const u8,
        contribution: impl Fn(usize) -> *mut u8,
        count: i64,
    ) -> Result<()> {
        // SAFETY: the caller's promise. Each result takes the place of the contribution that was combined last.
        unsafe {
            if own > 0 && own < parts || parts == 1 {
                self.copy(link, input, contribution(own), count)?;
            }
            for rank in 1..parts {
                let before = if rank == 1 && own == 0 {
                    input
                } else {
                    contribution(rank - 1)
                };
                self.apply(link, before, contribution(rank), count);
            }
        }
        Ok(())
    }

    /// How many elements so many bytes are, at least one.
    pub fn in_bytes(&self, bytes: i64) -> i64 {
        (bytes / self.datatype.size().max(1)).max(1)
    }

    /// Copy elements; nothing else in `to` changes.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `count` elements; they are the same or do not overlap.
    pub unsafe fn copy(&self, link: &impl Link, from: *const u8, to: *mut u8, count: i64) -> Result<()> {
        if from == to || count == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { elements::copy(link, self.elements(from, count), self.elements(to, count)) }
    }

    /// # Safety
    /// `from` must hold `count` elements.
    pub unsafe fn send(&self, link: &impl Link, to: usize, from: *const u8, count: i64) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.transfer(link, &[], &[(to, from, count)]) }
    }

    /// # Safety
    /// `into` must have room for `count` elements.
    pub unsafe fn receive(&self, link: &impl Link, from: usize, into: *mut u8, count: i64) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.transfer(link, &[(from, into, count)], &[]) }
    }

    /// Send `count` elements to a rank and receive as many from it.
    ///
    /// # Safety
    /// `own` must hold `count` elements, `into` have room for them; they must not overlap.
    pub unsafe fn swap(&self, link: &impl Link, with: usize, own: *const u8, into: *mut u8, count: i64) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.transfer(link, &[(with, into, count)], &[(with, own, count)]) }
    }

    /// Receive and send (rank, address, count) each, all at once. Without elements there is no message.
    ///
    /// # Safety
    /// The first must have room for their elements, the second hold them; they must not overlap.
    pub unsafe fn transfer(
        &self,
        link: &impl Link,
        receives: &[(usize, *mut u8, i64)],
        sends: &[(usize, *const u8, i64)],
    ) -> Result<()> {
        if self.packed {
            let receives = receives
                .iter()
                .map(|&(from, into, count)| (from, self.elements(into, count)));
            let sends = sends.iter().map(|&(to, from, count)| (to, self.elements(from, count)));
            // SAFETY: the caller's promise.
            return unsafe { elements::transfer(link, receives, sends) };
        }
        let len = |count: i64| (count * self.datatype.extent()) as usize;
        let incoming = |&(from, into, count): &(usize, *mut u8, i64)| Incoming {
            from,
            into,
            len: len(count),
        };
        let outgoing = |&(to, from, count): &(usize, *const u8, i64)| Outgoing {
            to,
            data: from,
            len: len(count),
        };
        // One of each is the rule, and needs no memory.
        // SAFETY: the caller's promise.
        unsafe {
            match (receives, sends) {
                ([receive], [send]) if receive.2 > 0 && send.2 > 0 => {
                    link.transfer(&[incoming(receive)], &[outgoing(send)])
                }
                ([receive], []) if receive.2 > 0 => link.transfer(&[incoming(receive)], &[]),
                ([], [send]) if send.2 > 0 => link.transfer(&[], &[outgoing(send)]),
                _ => {
                    let receives: Vec<_> = receives.iter().filter(|receive| receive.2 > 0).map(incoming).collect();
                    let sends: Vec<_> = sends.iter().filter(|send| send.2 > 0).map(outgoing).collect();
                    link.transfer(&receives, &sends)
                }
            }
        }
    }

    /// As elements to be moved.
    pub fn elements(&self, address: *const u8, count: i64) -> Elements<'_> {
        Elements::new(address.cast(), count, self.datatype)
    }
}
