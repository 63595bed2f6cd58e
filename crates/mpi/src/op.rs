//! Reduction operations (MPI-5.0 §6.9).

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use isthmus_datatype::Custom;
use isthmus_mem as mem;

use crate::datatype::{Datatype, byte};
use crate::device::{Combine, Mirrors, Use};
use crate::error::{Class, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind, Table, share};

pub(crate) use isthmus_datatype::op::{find as find_kernel, find_for as find_kernel_of, number_of, number_of_pair};
pub use isthmus_datatype::{Kernel, Predefined, Reduction};

/// A user's function: `inout[i] = in[i] op inout[i]` for so many elements of a datatype.
pub type UserFn = Box<dyn Fn(*const c_void, *mut c_void, i64, Handle<Datatype>) + Send + Sync>;

/// A reduction operation.
pub struct Op {
    action: Action,
    commutative: bool,
}

enum Action {
    Predefined(Predefined),
    User(UserFn),
}

impl Object for Op {
    const KIND: ObjectKind = ObjectKind::Op;
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
        Arc::new(Self { action, commutative })
    }

    /// A share in it, for what outlives its handle.
    pub fn share(&self) -> Arc<Self> {
        // SAFETY: `new` alone makes operations, in an `Arc`, which lives as long as the reference to what is in it.
        unsafe { share(self) }
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
        self.is_predefined() && datatype.is_of_integers()
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
    #[inline]
    pub fn reduction(&self, datatype: &Datatype) -> Result<Reduction> {
        match &self.action {
            Action::Predefined(which) => match Reduction::predefined(*which, datatype) {
                Some(reduction) => Ok(reduction),
                None => Err(fail!(Op, "op={} is not defined for {}", which.name(), datatype.label())),
            },
            Action::User(_) => Ok(Reduction::Custom(Arc::new(UserReduction {
                op: self.share(),
                datatype: datatype.share_object(),
            }))),
        }
    }

    /// As [`Self::reduction`], on `count` elements. Of none the type may be what stands for the null handle.
    #[inline]
    pub fn reduction_of(&self, datatype: &Datatype, count: i64) -> Result<Reduction> {
        self.reduction(datatype).or_else(|error| match &self.action {
            Action::Predefined(which) if count == 0 && std::ptr::eq(datatype, byte()) => {
                // MPI_INT, MPI_2INT.
                [0x209, 0x22b]
                    .iter()
                    .find_map(|raw| {
                        let other = Handle::<Datatype>::from_raw(*raw).resolve("datatype").ok()?;
                        Reduction::predefined(*which, other)
                    })
                    .ok_or(error)
            }
            _ => Err(error),
        })
    }
}

/// A user's function and the datatype that it is told of, alive after their handles are freed.
struct UserReduction {
    op: Arc<Op>,
    datatype: Arc<Datatype>,
}

impl Custom for UserReduction {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) -> Result<()> {
        /// A user's function of the old interface takes an `int`.
        const AT_ONCE: i64 = i32::MAX as i64;
        let Action::User(function) = &self.op.action else {
            unreachable!("user reductions are made of user functions")
        };
        let extent = self.datatype.extent();
        self.datatype.with_handle(|datatype| {
            let mut first = 0;
            while first < count {
                let distance = (first * extent) as isize;
                let (input, inout) = (input.wrapping_offset(distance), inout.wrapping_offset(distance));
                function(input.cast(), inout.cast(), AT_ONCE.min(count - first), datatype);
                first += AT_ONCE;
            }
        })
    }
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
    if count < 0 {
        return Err(fail!(Count, "count={count} is negative"));
    }
    let reduction = op.reduction_of(datatype, count)?;
    let kinds = [
        datatype.check_buffer("inbuf", inbuf, count)?,
        datatype.check_buffer("inoutbuf", inoutbuf, count)?,
    ];
    if count > 0 && inbuf == inoutbuf && !inbuf.is_null() {
        return Err(fail!(Buffer, "inbuf and inoutbuf are the same, {inbuf:?}"));
    }
    let mut mirrors = Mirrors::default();
    let (mut left, mut right) = (inbuf.cast_mut().cast(), inoutbuf.cast());
    if let ([_, mem::Kind::Device(device)], Some(combine)) = (kinds, Combine::of(op.which(), datatype)) {
        // SAFETY: the caller's promise; memory that the device does not reach is brought there.
        return unsafe { combine.apply(device, right, left, right, count) };
    }
    if kinds.iter().any(|kind| kind.is_device()) {
        left = mirrors.host("inbuf", left, count, datatype, Use::Reads)?;
        right = mirrors.host("inoutbuf", right, count, datatype, Use::Writes)?;
        mirrors.load()?;
    }
    // SAFETY: the caller's promise, or host memory that stands for the buffers, which are not the same.
    let done = unsafe { reduction.apply(left, right, count) };
    mirrors.stored(done)
}
