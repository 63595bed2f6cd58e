//! Reduction operations (MPI-5.0 §6.9).

mod extended;
mod half;
mod kernels;

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::{Arc, OnceLock, Weak};

use crate::datatype::{Datatype, Element, Named};
use crate::error::{Class, Result};
use crate::fail;
use crate::handle::{Handle, Kind, Object, Table};

pub use kernels::{Kernel, Predefined};

/// A user's function: `inout[i] = in[i] op inout[i]` for so many elements of a datatype.
pub type UserFn = Box<dyn Fn(*const c_void, *mut c_void, i64, Handle<Datatype>) + Send + Sync>;

/// A reduction operation.
pub struct Op {
    action: Action,
    commutative: bool,
    this: Weak<Op>,
}

enum Action {
    Predefined(Predefined),
    User(UserFn),
}

/// An operation made ready for one datatype.
pub enum Reduction<'a> {
    /// A loop of ours.
    Kernel(Kernel),
    /// A user's function, and the datatype it is told of.
    User(&'a UserFn, Handle<Datatype>),
}

impl Object for Op {
    const KIND: Kind = Kind::Op;
    const INVALID: Class = Class::Op;
    const NULL: u32 = 0x20;
    const NAME: &'static str = "MPI_Op";
    #[inline]
    fn table() -> &'static Table<Self> {
        static TABLE: OnceLock<Table<Op>> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut list = Vec::new();
            for &predefined in Predefined::ALL {
                list.resize_with((predefined as u32 - Op::NULL) as usize, || None);
                list.push(Some(Op::new(
                    Action::Predefined(predefined),
                    predefined != Predefined::Replace,
                )));
            }
            let table = Table::new();
            table.set_predefined(list);
            table
        })
    }
}

impl Op {
    fn new(action: Action, commutative: bool) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            action,
            commutative,
            this: this.clone(),
        })
    }

    /// A share in it, for what outlives its handle.
    pub fn share(&self) -> Arc<Self> {
        let this = self.this.upgrade();
        this.unwrap_or_else(|| unreachable!("operations live in an Arc from the start"))
    }

    /// A predefined operation.
    pub fn predefined(which: Predefined) -> &'static Self {
        let handle = Handle::from_raw(which as u32);
        handle
            .resolve("op")
            .unwrap_or_else(|_| unreachable!("predefined operations are in the table"))
    }

    /// Is it there as long as the process?
    pub(crate) fn is_predefined(&self) -> bool {
        matches!(self.action, Action::Predefined(_))
    }

    /// Which predefined operation it is, if it is one.
    #[inline]
    pub(crate) fn which(&self) -> Option<Predefined> {
        match self.action {
            Action::Predefined(which) => Some(which),
            Action::User(_) => None,
        }
    }

    /// May operands change places?
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Does it give the same in whatever order elements of `datatype` are combined?
    #[inline]
    pub fn is_exact_on(&self, datatype: &Datatype) -> bool {
        let is_of_integers = |named: &Named| named.elements.iter().all(|element| element.is_integer());
        self.is_predefined() && datatype.named().is_some_and(is_of_integers)
    }

    /// What to call it, for messages.
    pub(crate) fn label(&self) -> &'static str {
        match &self.action {
            Action::Predefined(which) => which.name(),
            Action::User(_) if self.commutative => "a commutative user operation",
            Action::User(_) => "a user operation",
        }
    }

    /// The operation on elements of `datatype`; `MPI_ERR_OP` if it is not defined for them (MPI-5.0 §6.9.2, §6.9.4).
    pub fn reduction<'a>(&'a self, datatype: &Datatype) -> Result<Reduction<'a>> {
        match &self.action {
            Action::User(function) => Ok(Reduction::User(function, datatype.handle())),
            Action::Predefined(which) => match datatype.named().and_then(|named| kernels::find(*which, named)) {
                Some(kernel) => Ok(Reduction::Kernel(kernel)),
                None => Err(fail!(Op, "op={} is not defined for {}", which.name(), datatype.label())),
            },
        }
    }
}

impl Reduction<'_> {
    /// `inout[i] = input[i] op inout[i]`.
    ///
    /// # Safety
    /// `input` must be readable and `inout` writable where `count` elements of the datatype lie; they must not overlap.
    pub unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) {
        /// A user's function of the old interface takes an `int`.
        const AT_ONCE: i64 = i32::MAX as i64;
        match self {
            // SAFETY: the caller's promise.
            Self::Kernel(kernel) => unsafe { kernel(input, inout, inout, count as usize) },
            Self::User(function, datatype) if count <= AT_ONCE => {
                if count > 0 {
                    function(input.cast(), inout.cast(), count, *datatype);
                }
            }
            Self::User(function, datatype) => {
                let extent = datatype.resolve("datatype").map_or(0, Datatype::extent);
                for first in (0..count).step_by(AT_ONCE as usize) {
                    let (input, inout) = (
                        input.wrapping_offset((first * extent) as isize),
                        inout.wrapping_offset((first * extent) as isize),
                    );
                    function(input.cast(), inout.cast(), AT_ONCE.min(count - first), *datatype);
                }
            }
        }
    }
}

/// The loop for an operation on a predefined type, if the standard defines it.
pub(crate) fn find_kernel(which: Predefined, named: &Named) -> Option<Kernel> {
    kernels::find(which, named)
}

/// The loop for an operation on elements of a kind, if there is one.
pub(crate) fn find_kernel_of(which: Predefined, element: Element) -> Option<Kernel> {
    kernels::find_for(which, element)
}

/// `MPI_Op_create`.
pub fn op_create(user_fn: UserFn, commute: bool) -> Result<Handle<Op>> {
    Op::table().insert(Op::new(Action::User(user_fn), commute))
}

/// `MPI_Op_free`: predefined operations are refused.
pub fn op_free(op: Handle<Op>) -> Result<()> {
    if let Action::Predefined(which) = &op.resolve("op")?.action {
        return Err(fail!(Op, "op={} is predefined and cannot be freed", which.name()));
    }
    op.remove("op")?;
    Ok(())
}

/// `MPI_Op_commutative`.
pub fn op_commutative(op: &'static Op) -> Result<bool> {
    Ok(op.is_commutative())
}

/// `MPI_Reduce_local`: `inoutbuf = inbuf op inoutbuf`.
///
/// # Safety
/// `inbuf` must be readable and `inoutbuf` writable where the elements lie.
pub unsafe fn reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    op: &'static Op,
) -> Result<()> {
    datatype.check_committed("datatype")?;
    let reduction = op.reduction(datatype)?;
    if count < 0 {
        return Err(fail!(Count, "count={count} is negative"));
    }
    datatype.check_buffer("inbuf", inbuf, count)?;
    datatype.check_buffer("inoutbuf", inoutbuf, count)?;
    if count > 0 && inbuf == inoutbuf && !inbuf.is_null() {
        return Err(fail!(Buffer, "inbuf and inoutbuf are the same, {inbuf:?}"));
    }
    // SAFETY: the caller's promise; the buffers are not the same.
    unsafe { reduction.apply(inbuf.cast(), inoutbuf.cast(), count) };
    Ok(())
}
