//! Reduction operations on elements (MPI-5.0 §6.9): the predefined ones, and the form in which an algorithm meets a user's.

mod extended;
mod half;
mod kernels;
mod predefined;

use std::sync::Arc;

use crate::error::Result;
use crate::types::Type;

pub use kernels::{FIRST_NUMBER, find, find_for, find_numbered, number_of, number_of_pair};
pub use predefined::{Kernel, Predefined};

/// An operation of a user's, ready for one datatype.
pub trait Custom: Send + Sync {
    /// `inout[i] = input[i] op inout[i]`. Runs user code.
    ///
    /// # Safety
    /// `input` must be readable and `inout` writable where `count` elements of the datatype lie; they must not overlap.
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) -> Result<()>;
}

/// An operation made ready for one datatype.
#[derive(Clone)]
pub enum Reduction {
    /// A loop of ours.
    Kernel(Kernel),
    /// A user's function.
    Custom(Arc<dyn Custom>),
}

impl Reduction {
    /// A predefined operation on elements of a datatype; `None` if it is not defined for them (MPI-5.0 §6.9.2, §6.9.4).
    #[inline]
    pub fn predefined(op: Predefined, datatype: &Type) -> Option<Self> {
        let kernel = datatype.named().and_then(|named| find(op, named))?;
        Some(Self::Kernel(kernel))
    }

    /// `inout[i] = input[i] op inout[i]`. Fails only where a user's function cannot be called.
    ///
    /// # Safety
    /// `input` must be readable and `inout` writable where `count` elements of the datatype lie; they must not overlap.
    #[inline]
    pub unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Kernel(kernel) => kernel(input, inout, inout, count as usize),
                Self::Custom(custom) => return custom.apply(input, inout, count),
            }
        }
        Ok(())
    }
}
