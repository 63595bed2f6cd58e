//! Kernels: what is computed or copied on a device, and by what name.

use std::fmt::Debug;

use crate::{Number, Op};

/// From memory with gaps to packed bytes, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packing {
    Gather,
    Scatter,
}

/// A kernel; each is a module of its own, since a program uses few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    Combine(Op, Number),
    /// Copies rows, in units of so many bytes.
    Rows(u32),
    Pieces(Packing),
}

/// Where a piece is in memory with gaps and among the packed bytes, as the kernel reads it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Entry {
    pub offset: i64,
    pub position: u64,
    pub length: u64,
}

impl Kernel {
    /// Its name in the module.
    pub fn name(self) -> String {
        let lower = |value: &dyn Debug| format!("{value:?}").to_lowercase();
        match self {
            Self::Combine(op, number) => format!("isthmus_{}_{}", lower(&op), lower(&number)),
            Self::Rows(unit) => format!("isthmus_rows_{unit}"),
            Self::Pieces(packing) => format!("isthmus_{}", lower(&packing)),
        }
    }
}

/// Every kernel that there is.
#[cfg(test)]
pub fn all() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = [16, 8, 4, 2, 1].into_iter().map(Kernel::Rows).collect();
    all.extend([Kernel::Pieces(Packing::Gather), Kernel::Pieces(Packing::Scatter)]);
    for op in Op::ALL {
        let known = Number::ALL.into_iter().filter(|&number| crate::combines(op, number));
        all.extend(known.map(|number| Kernel::Combine(op, number)));
    }
    all
}
