//! Comparisons of point-to-point synchronization.

use std::ffi::c_int;

use crate::call::Call;

/// `SHMEM_CMP_...`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    LessOrEqual,
    Less,
    GreaterOrEqual,
}

impl Comparison {
    /// The one with that number. Another number ends the job.
    #[inline]
    pub fn of(call: Call, number: c_int) -> Self {
        match number {
            0 => Self::Equal,
            1 => Self::NotEqual,
            2 => Self::Greater,
            3 => Self::LessOrEqual,
            4 => Self::Less,
            5 => Self::GreaterOrEqual,
            other => call.refuse(format!("cmp={other} is not a comparison")),
        }
    }

    /// Does it hold?
    #[inline]
    pub fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Greater => left > right,
            Self::LessOrEqual => left <= right,
            Self::Less => left < right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}
