//! Blocking calls on a [`Team`]: what models of programming other than MPI use.
//!
//! Each is made by all members, in the same order. It blocks until the calling process has its part, goes through shared memory
//! where the members' board allows, and fails if a member has failed, the team is revoked, or members disagree on lengths. Blocks
//! and elements have the same type at all members. The `*_at` forms work on addresses; the others are the same for slices of
//! numbers or bytes.

use isthmus_datatype::{Predefined, Type};
use isthmus_engine::{ContextId, enter};

use crate::call::Call;
use crate::error::Result;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use crate::team::Team;
use crate::value::Value;
use crate::{allgather, allreduce, alltoall, barrier, bcast, fail, reduce, scan};

/// Contexts from here on are kept for the worlds of models, which make them without asking.
const LAST: u32 = 0xffff_ff00;

impl Team {
    fn call(&self, algorithm: impl FnOnce(&Call<'_>) -> Result<()>) -> Result<()> {
        let call = Call::new(self)?;
        let result = algorithm(&call);
        call.finish(result)
    }

    fn check_root(&self, root: usize) -> Result<()> {
        match root < self.size() as usize {
            true => Ok(()),
            false => Err(fail!(Root, "root={root}, but the team has {} members", self.size())),
        }
    }

    /// A context id for a new team, which all members get: any of them may be in it, and disjoint teams may share it.
    pub fn new_context(&self) -> Result<ContextId> {
        /// As the first of the job's count, those before are MPI's.
        const FIRST: u64 = 6;
        let mut number = [0u32];
        if self.rank() == 0 {
            let id = u32::try_from(FIRST + enter().take_numbers(2)).ok();
            number = [id.filter(|id| *id < LAST).unwrap_or(0)];
        }
        self.broadcast(&mut number, 0)?;
        match number {
            [0] => Err(fail!(NoMem, "no context id is left")),
            [id] => Ok(ContextId(id)),
        }
    }

    /// Return when all members have called.
    pub fn barrier(&self) -> Result<()> {
        self.call(|link| barrier::run(link))
    }

    /// The elements of member `root` come to all.
    ///
    /// # Safety
    /// They must be readable at the root and writable elsewhere.
    pub unsafe fn broadcast_at(&self, elements: Elements<'_>, root: usize) -> Result<()> {
        self.check_root(root)?;
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { bcast::run(link, elements, root) })
    }

    /// Combine everyone's `count` elements at `input`, to `output` at member `root`. They may be the same.
    ///
    /// # Safety
    /// `input` must be readable and, at the root, `output` writable where the elements lie.
    pub unsafe fn reduce_at(
        &self,
        operand: &Operand<'_>,
        input: *const u8,
        output: *mut u8,
        count: i64,
        root: usize,
    ) -> Result<()> {
        self.check_root(root)?;
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { reduce::run(link, operand, input, output, count, root) })
    }

    /// Combine everyone's `count` elements at `input`, to `output` at all. They may be the same.
    ///
    /// # Safety
    /// `input` must be readable and `output` writable where the elements lie.
    pub unsafe fn allreduce_at(
        &self,
        operand: &Operand<'_>,
        input: *const u8,
        output: *mut u8,
        count: i64,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { allreduce::run(link, operand, input, output, count) })
    }

    /// Combine the elements of members up to the calling one, itself included or not (the first then gets nothing).
    ///
    /// # Safety
    /// As for [`Self::allreduce_at`].
    pub unsafe fn scan_at(
        &self,
        operand: &Operand<'_>,
        input: *const u8,
        output: *mut u8,
        count: i64,
        inclusive: bool,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { scan::run(link, operand, input, output, count, inclusive) })
    }

    /// Everyone's elements come to all: those of member i to `block(i)`. All have one length. Without `own` they lie there already.
    ///
    /// # Safety
    /// `own` must be readable, the blocks writable; they must not overlap.
    pub unsafe fn allgather_at(&self, own: Option<Elements<'_>>, one: Elements<'_>) -> Result<()> {
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { allgather::run(link, own, one) })
    }

    /// As [`Self::allgather_at`], of blocks of any lengths, which all members know alike.
    ///
    /// # Safety
    /// As for [`Self::allgather_at`].
    pub unsafe fn allgatherv_at<'a>(
        &self,
        own: Option<Elements<'a>>,
        block: impl Fn(usize) -> Elements<'a>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { allgather::run_v(link, own, block) })
    }

    /// A block goes from each to each: `from(i)` to member i, what comes from member i to `to(i)`. All have one length.
    ///
    /// # Safety
    /// Blocks that go out must be readable, those that come in writable; they must not overlap.
    pub unsafe fn alltoall_at<'a>(
        &self,
        from: impl Fn(usize) -> Elements<'a>,
        to: impl Fn(usize) -> Elements<'a>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        self.call(|link| unsafe { alltoall::run(link, from, to) })
    }

    /// The values of member `root` come to all.
    pub fn broadcast<T: Value>(&self, values: &mut [T], root: usize) -> Result<()> {
        let elements = Elements::new(values.as_ptr().cast(), values.len() as i64, T::datatype());
        // SAFETY: they are borrowed for the call.
        unsafe { self.broadcast_at(elements, root) }
    }

    /// Combine everyone's values, to all. Both slices have one length.
    pub fn allreduce<T: Value>(&self, input: &[T], output: &mut [T], op: Predefined) -> Result<()> {
        same_length(input.len(), output.len())?;
        let operand = Operand::predefined(T::datatype(), op)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: they are borrowed for the call, and as long as that.
        unsafe { self.allreduce_at(&operand, from, to, input.len() as i64) }
    }

    /// Combine everyone's values, to `output` at member `root`; elsewhere it may be empty.
    pub fn reduce<T: Value>(&self, input: &[T], output: &mut [T], op: Predefined, root: usize) -> Result<()> {
        if self.rank() as usize == root {
            same_length(input.len(), output.len())?;
        }
        let operand = Operand::predefined(T::datatype(), op)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: they are borrowed for the call, and as long as that where they matter.
        unsafe { self.reduce_at(&operand, from, to, input.len() as i64, root) }
    }

    /// Combine the values of members up to the calling one, itself included.
    pub fn scan<T: Value>(&self, input: &[T], output: &mut [T], op: Predefined) -> Result<()> {
        same_length(input.len(), output.len())?;
        let operand = Operand::predefined(T::datatype(), op)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: they are borrowed for the call, and as long as that.
        unsafe { self.scan_at(&operand, from, to, input.len() as i64, true) }
    }

    /// Everyone's values come to all, by rank. All contribute as many.
    pub fn allgather<T: Value>(&self, own: &[T], all: &mut [T]) -> Result<()> {
        same_length(own.len() * self.size() as usize, all.len())?;
        let own = slice(own, T::datatype());
        let one = Elements::new(all.as_mut_ptr().cast(), own.count, T::datatype());
        // SAFETY: they are borrowed for the call, and there is room for all.
        unsafe { self.allgather_at(Some(own), one) }
    }

    /// As many values go from each to each, by rank.
    pub fn alltoall<T: Value>(&self, from: &[T], to: &mut [T]) -> Result<()> {
        let size = self.size() as usize;
        same_length(from.len(), to.len())?;
        if !from.len().is_multiple_of(size) {
            return Err(fail!(
                Count,
                "{} values cannot be shared out to {size} members",
                from.len()
            ));
        }
        let each = (from.len() / size) as i64;
        let first = |address: *const u8| Elements::new(address.cast(), each, T::datatype());
        let (out, into) = (first(from.as_ptr().cast()), first(to.as_mut_ptr().cast_const().cast()));
        // SAFETY: they are borrowed for the call, and hold a block for each.
        unsafe { self.alltoall_at(|rank| out.nth(rank), |rank| into.nth(rank)) }
    }
}

fn slice<'a, T>(values: &'a [T], datatype: &'a Type) -> Elements<'a> {
    Elements::new(values.as_ptr().cast(), values.len() as i64, datatype)
}

fn same_length(left: usize, right: usize) -> Result<()> {
    match left == right {
        true => Ok(()),
        false => Err(fail!(Count, "{left} values on one side, room for {right} on the other")),
    }
}
