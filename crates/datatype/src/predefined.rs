//! The predefined datatypes (MPI-5.0 §3.2.2, §5.1, §6.9.2, §6.9.4), as the C compiler on x86-64 Linux lays them out.

/// How the bytes of a basic element are read in arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // I, U: integers; F: IEEE 754; BF16: its upper half; X87: long double; C: complex of such parts.
pub enum Element {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    X87,
    F128,
    C16,
    C32,
    C64,
    CX87,
    C128,
}

impl Element {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::I128,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::X87,
        Self::F128,
        Self::C16,
        Self::C32,
        Self::C64,
        Self::CX87,
        Self::C128,
    ];

    /// Several of them, for messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::I8 => "8-bit integers or characters",
            Self::I16 => "16-bit integers",
            Self::I32 => "32-bit integers",
            Self::I64 => "64-bit integers",
            Self::I128 => "128-bit integers",
            Self::U8 => "bytes or unsigned characters",
            Self::U16 => "unsigned 16-bit integers",
            Self::U32 => "unsigned 32-bit integers",
            Self::U64 => "unsigned 64-bit integers",
            Self::F16 => "16-bit floating point numbers",
            Self::BF16 => "bfloat16 numbers",
            Self::F32 => "floats",
            Self::F64 => "doubles",
            Self::X87 => "long doubles",
            Self::F128 => "128-bit floating point numbers",
            Self::C16 => "complex numbers of 16-bit parts",
            Self::C32 => "complex numbers of floats",
            Self::C64 => "complex numbers of doubles",
            Self::CX87 => "complex numbers of long doubles",
            Self::C128 => "complex numbers of 128-bit parts",
        }
    }

    /// Has it no fraction, and nothing that is no number?
    pub const fn is_integer(self) -> bool {
        match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::I128 => true,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => true,
            Self::F16 | Self::BF16 | Self::F32 | Self::F64 | Self::X87 | Self::F128 => false,
            Self::C16 | Self::C32 | Self::C64 | Self::CX87 | Self::C128 => false,
        }
    }

    /// Bytes that one takes.
    pub const fn size(self) -> i64 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::C16 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C32 => 8,
            Self::I128 | Self::X87 | Self::F128 | Self::C64 => 16,
            Self::CX87 | Self::C128 => 32,
        }
    }

    /// What its address must be a multiple of.
    pub const fn alignment(self) -> i64 {
        match self {
            Self::C16 => 2,
            Self::C32 => 4,
            Self::C64 => 8,
            Self::CX87 | Self::C128 => 16,
            _ => self.size(),
        }
    }
}

/// What becomes of a basic element in external32 (MPI-5.0 §14.5.2), apart from the order of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// As wide as here.
    Same,
    /// `MPI_LONG`, `MPI_UNSIGNED_LONG`, `MPI_WCHAR`: half as wide, so that not every value fits.
    Half,
}

impl Foreign {
    /// Bytes that one takes.
    pub const fn size(self, element: Element) -> i64 {
        match self {
            Self::Same => element.size(),
            Self::Half => element.size() / 2,
        }
    }
}

/// The groups of MPI-5.0 §6.9.2, by which operations are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Family {
    CInteger,
    FortranInteger,
    FloatingPoint,
    Logical,
    Complex,
    Byte,
    MultiLanguage,
    /// Value and index, for `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair,
    /// Takes part in no operation.
    Opaque,
    /// Bounds of MPI-1, which the MPICH ABI still has: no data.
    Marker,
}

impl Family {
    const ALL: [Self; 10] = [
        CInteger,
        FortranInteger,
        FloatingPoint,
        Logical,
        Complex,
        Byte,
        MultiLanguage,
        Pair,
        Opaque,
        Marker,
    ];
}

/// Some [`Family`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Families(u16);

impl Families {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// This one.
    pub const fn of(family: Family) -> Self {
        Self(1 << family as u16)
    }

    /// These and those.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Does this hold for each of them?
    pub fn all(self, holds: impl Fn(Family) -> bool) -> bool {
        Family::ALL
            .iter()
            .all(|&family| self.0 & Self::of(family).0 == 0 || holds(family))
    }
}

/// A predefined datatype.
#[derive(Debug)]
pub struct Named {
    /// The canonical handle.
    pub raw: u32,
    /// Its initial name.
    pub name: &'static str,
    /// What operations it takes part in.
    pub family: Family,
    /// One basic element, or two for pairs, or none.
    pub elements: &'static [Element],
}

impl Named {
    /// Its elements, and what they are elsewhere.
    pub(crate) fn basics(&self) -> impl Iterator<Item = (Element, Foreign)> {
        self.elements.iter().enumerate().map(|(index, element)| {
            let half = index == 0 && HALF.contains(&self.raw);
            (*element, if half { Foreign::Half } else { Foreign::Same })
        })
    }
}

/// Those whose (first) element is half as wide in external32.
const HALF: [u32; 4] = [0x20a, 0x20e, 0x22a, 0x23c];

const fn row(raw: u32, name: &'static str, family: Family, elements: &'static [Element]) -> Named {
    Named {
        raw,
        name,
        family,
        elements,
    }
}

use Element::*;
use Family::*;

/// Every predefined datatype but the null one, by rising handle.
///
/// The last four are the MPICH ABI's alone: the standard's numbers end before them.
pub static NAMED: &[Named] = &[
    row(0x201, "MPI_AINT", MultiLanguage, &[I64]),
    row(0x202, "MPI_COUNT", MultiLanguage, &[I64]),
    row(0x203, "MPI_OFFSET", MultiLanguage, &[I64]),
    row(0x207, "MPI_PACKED", Opaque, &[U8]),
    row(0x208, "MPI_SHORT", CInteger, &[I16]),
    row(0x209, "MPI_INT", CInteger, &[I32]),
    row(0x20a, "MPI_LONG", CInteger, &[I64]),
    row(0x20b, "MPI_LONG_LONG_INT", CInteger, &[I64]),
    row(0x20c, "MPI_UNSIGNED_SHORT", CInteger, &[U16]),
    row(0x20d, "MPI_UNSIGNED", CInteger, &[U32]),
    row(0x20e, "MPI_UNSIGNED_LONG", CInteger, &[U64]),
    row(0x20f, "MPI_UNSIGNED_LONG_LONG", CInteger, &[U64]),
    row(0x210, "MPI_FLOAT", FloatingPoint, &[F32]),
    // MPI_C_FLOAT_COMPLEX is another name of it (MPI-5.0 §3.2.2).
    row(0x212, "MPI_C_COMPLEX", Complex, &[C32]),
    row(0x213, "MPI_CXX_FLOAT_COMPLEX", Complex, &[C32]),
    row(0x214, "MPI_DOUBLE", FloatingPoint, &[F64]),
    row(0x216, "MPI_C_DOUBLE_COMPLEX", Complex, &[C64]),
    row(0x217, "MPI_CXX_DOUBLE_COMPLEX", Complex, &[C64]),
    row(0x218, "MPI_LOGICAL", Logical, &[I32]),
    row(0x219, "MPI_INTEGER", FortranInteger, &[I32]),
    row(0x21a, "MPI_REAL", FloatingPoint, &[F32]),
    row(0x21b, "MPI_COMPLEX", Complex, &[C32]),
    row(0x21c, "MPI_DOUBLE_PRECISION", FloatingPoint, &[F64]),
    row(0x21d, "MPI_DOUBLE_COMPLEX", Complex, &[C64]),
    row(0x21e, "MPI_CHARACTER", Opaque, &[U8]),
    row(0x220, "MPI_LONG_DOUBLE", FloatingPoint, &[X87]),
    row(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", Complex, &[CX87]),
    row(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", Complex, &[CX87]),
    row(0x228, "MPI_FLOAT_INT", Pair, &[F32, I32]),
    row(0x229, "MPI_DOUBLE_INT", Pair, &[F64, I32]),
    row(0x22a, "MPI_LONG_INT", Pair, &[I64, I32]),
    row(0x22b, "MPI_2INT", Pair, &[I32, I32]),
    row(0x22c, "MPI_SHORT_INT", Pair, &[I16, I32]),
    row(0x22d, "MPI_LONG_DOUBLE_INT", Pair, &[X87, I32]),
    row(0x230, "MPI_2REAL", Pair, &[F32, F32]),
    row(0x231, "MPI_2DOUBLE_PRECISION", Pair, &[F64, F64]),
    row(0x232, "MPI_2INTEGER", Pair, &[I32, I32]),
    row(0x238, "MPI_C_BOOL", Logical, &[I8]),
    row(0x239, "MPI_CXX_BOOL", Logical, &[I8]),
    row(0x23c, "MPI_WCHAR", Opaque, &[I32]),
    row(0x240, "MPI_INT8_T", CInteger, &[I8]),
    row(0x241, "MPI_UINT8_T", CInteger, &[U8]),
    // For operations the standard's MPI_CHAR is a printable character. Every peer also adds and compares it, programs
    // rely on that, and the kernels are those of MPI_SIGNED_CHAR, so we do too.
    row(0x243, "MPI_CHAR", CInteger, &[I8]),
    row(0x244, "MPI_SIGNED_CHAR", CInteger, &[I8]),
    row(0x245, "MPI_UNSIGNED_CHAR", CInteger, &[U8]),
    row(0x247, "MPI_BYTE", Byte, &[U8]),
    row(0x248, "MPI_INT16_T", CInteger, &[I16]),
    row(0x249, "MPI_UINT16_T", CInteger, &[U16]),
    row(0x250, "MPI_INT32_T", CInteger, &[I32]),
    row(0x251, "MPI_UINT32_T", CInteger, &[U32]),
    row(0x258, "MPI_INT64_T", CInteger, &[I64]),
    row(0x259, "MPI_UINT64_T", CInteger, &[U64]),
    row(0x2c0, "MPI_LOGICAL1", Logical, &[I8]),
    row(0x2c1, "MPI_INTEGER1", FortranInteger, &[I8]),
    row(0x2c8, "MPI_LOGICAL2", Logical, &[I16]),
    row(0x2c9, "MPI_INTEGER2", FortranInteger, &[I16]),
    row(0x2ca, "MPI_REAL2", FloatingPoint, &[F16]),
    row(0x2d0, "MPI_LOGICAL4", Logical, &[I32]),
    row(0x2d1, "MPI_INTEGER4", FortranInteger, &[I32]),
    row(0x2d2, "MPI_REAL4", FloatingPoint, &[F32]),
    row(0x2d3, "MPI_COMPLEX4", Complex, &[C16]),
    row(0x2d8, "MPI_LOGICAL8", Logical, &[I64]),
    row(0x2d9, "MPI_INTEGER8", FortranInteger, &[I64]),
    row(0x2da, "MPI_REAL8", FloatingPoint, &[F64]),
    row(0x2db, "MPI_COMPLEX8", Complex, &[C32]),
    row(0x2e0, "MPI_LOGICAL16", Logical, &[I128]),
    row(0x2e1, "MPI_INTEGER16", FortranInteger, &[I128]),
    row(0x2e2, "MPI_REAL16", FloatingPoint, &[F128]),
    row(0x2e3, "MPI_COMPLEX16", Complex, &[C64]),
    row(0x2eb, "MPI_COMPLEX32", Complex, &[C128]),
    row(LB, "MPI_LB", Marker, &[]),
    row(UB, "MPI_UB", Marker, &[]),
    row(0x2f2, "MPIX_C_FLOAT16", FloatingPoint, &[F16]),
    row(0x2f3, "MPIX_BFLOAT16", FloatingPoint, &[BF16]),
];

/// `MPI_LB` of MPI-1.
pub const LB: u32 = 0x2f0;
/// `MPI_UB` of MPI-1.
pub const UB: u32 = 0x2f1;
