//! The predefined operations, and what their kernels have in common.

use crate::predefined::Family;

/// A loop: left, right, output, number of elements.
///
/// # Safety
/// The first two must hold that many elements and the output have room for them. It is the second one, or overlaps none.
pub type Kernel = unsafe fn(*const u8, *const u8, *mut u8, usize);

/// The predefined operations, with their canonical handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)] // The names are the standard's.
pub enum Predefined {
    Sum = 0x21,
    Min = 0x22,
    Max = 0x23,
    Prod = 0x24,
    Band = 0x28,
    Bor = 0x29,
    Bxor = 0x2a,
    Land = 0x30,
    Lor = 0x31,
    Lxor = 0x32,
    Minloc = 0x38,
    Maxloc = 0x39,
    /// For accumulates only.
    Replace = 0x3c,
    /// For accumulates only.
    NoOp = 0x3d,
}

use Predefined::*;

impl Predefined {
    /// By rising handle.
    pub const ALL: &[Self] = &[
        Sum, Min, Max, Prod, Band, Bor, Bxor, Land, Lor, Lxor, Minloc, Maxloc, Replace, NoOp,
    ];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Sum => "MPI_SUM",
            Min => "MPI_MIN",
            Max => "MPI_MAX",
            Prod => "MPI_PROD",
            Band => "MPI_BAND",
            Bor => "MPI_BOR",
            Bxor => "MPI_BXOR",
            Land => "MPI_LAND",
            Lor => "MPI_LOR",
            Lxor => "MPI_LXOR",
            Minloc => "MPI_MINLOC",
            Maxloc => "MPI_MAXLOC",
            Replace => "MPI_REPLACE",
            NoOp => "MPI_NO_OP",
        }
    }

    /// The table of MPI-5.0 §6.9.2 and §6.9.4.
    pub fn is_defined_for(self, family: Family) -> bool {
        use Family::*;
        match self {
            Min | Max => matches!(family, CInteger | FortranInteger | FloatingPoint | MultiLanguage),
            Sum | Prod => matches!(
                family,
                CInteger | FortranInteger | FloatingPoint | Complex | MultiLanguage
            ),
            // The standard leaves MPI_AINT, MPI_OFFSET and MPI_COUNT out; they are C's integers, and every peer takes them.
            Land | Lor | Lxor => matches!(family, CInteger | Logical | MultiLanguage),
            Band | Bor | Bxor => matches!(family, CInteger | FortranInteger | Byte | MultiLanguage),
            Minloc | Maxloc => family == Pair,
            Replace | NoOp => false,
        }
    }
}

/// Put the second operand where the result goes, for loops that work in place.
///
/// # Safety
/// As for [`Kernel`], with elements of `size` bytes.
pub(super) unsafe fn bring(right: *const u8, output: *mut u8, count: usize, size: usize) {
    if output.cast_const() != right {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(right, output, count * size) }
    }
}

/// What can be added and multiplied.
pub(super) trait Number: Copy {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}
