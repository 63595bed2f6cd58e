//! What an accumulate does to an element.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::kernels;

/// A loop: left operands, right operands, results, number of elements. An accumulate gives the origin's elements as the left
/// operands, and the target's as the right ones, which are also where the results go.
///
/// # Safety
/// The first two must hold that many elements, at any alignment, and the results have room for them. These are the right operands,
/// or overlap none.
pub type Kernel = unsafe fn(*const u8, *const u8, *mut u8, usize);

/// What an element is, as far as atomic instructions care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// A signed integer.
    Signed = 0,
    /// An unsigned integer, or bits.
    Unsigned = 1,
    /// A number of IEEE 754.
    Float = 2,
    /// Two of them.
    Complex = 3,
    /// Anything else: only its kernel knows.
    Opaque = 4,
}

/// How origin and target are combined, as far as atomic instructions care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The usual words.
pub enum Operator {
    /// The target becomes the origin.
    Replace = 0,
    /// The target stays.
    NoOp = 1,
    Sum = 2,
    Product = 3,
    Minimum = 4,
    Maximum = 5,
    And = 6,
    Or = 7,
    Xor = 8,
    /// Whatever the kernel does.
    Other = 9,
}

/// Elements wider than this cannot be combined.
pub const WIDEST: u32 = 64;

/// What an accumulate does: to elements of one width, by one operator.
#[derive(Debug, Clone, Copy)]
pub struct Combine {
    pub(super) class: Class,
    pub(super) operator: Operator,
    pub(super) width: u32,
    /// What other processes know the kernel by.
    pub(super) number: u32,
    pub(super) kernel: Kernel,
}

/// Numbers from here on are [registered](register_kernel).
pub(super) const FIRST_REGISTERED: u32 = 1 << 24;

static REGISTERED: RwLock<Option<HashMap<u32, Kernel>>> = RwLock::new(None);

/// From now on `number` stands for this kernel, in this process; the others of the job give it the same number, or it cannot be
/// used on their memory where that is served by messages. The highest byte of the number says whose it is: 1 MPI's, 2 ARMCI's,
/// 3 SHMEM's; not 0.
///
/// # Safety
/// What the kernel says that it does is done.
pub unsafe fn register_kernel(number: u32, kernel: Kernel) {
    debug_assert!(number >= FIRST_REGISTERED, "the first numbers are the engine's own");
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    registered.get_or_insert_default().insert(number, kernel);
}

/// Who finds the kernels of a model, by the highest byte of their numbers.
static PROVIDERS: RwLock<Vec<(u8, Provider)>> = RwLock::new(Vec::new());

/// Finds a kernel by its number.
pub type Provider = fn(u32) -> Option<Kernel>;

/// From now on numbers whose highest byte is `owner` stand for what `find` says, in this process. As for [`register_kernel`], for models
/// with many kernels.
///
/// # Safety
/// What the kernels say that they do is done.
pub unsafe fn provide_kernels(owner: u8, find: Provider) {
    let mut providers = PROVIDERS.write().unwrap_or_else(PoisonError::into_inner);
    providers.retain(|(other, _)| *other != owner);
    providers.push((owner, find));
}

/// The kernel that a number stands for here, if it is none of the engine's own.
pub(super) fn find_kernel(number: u32) -> Option<Kernel> {
    if number < FIRST_REGISTERED {
        return None;
    }
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(kernel) = registered.as_ref().and_then(|registered| registered.get(&number)) {
        return Some(*kernel);
    }
    let providers = PROVIDERS.read().unwrap_or_else(PoisonError::into_inner);
    let (_, find) = providers.iter().find(|(owner, _)| u32::from(*owner) == number >> 24)?;
    find(number)
}

impl Combine {
    /// One of the usual operators on numbers of 1, 2, 4 or 8 bytes (floating point: 4 or 8; complex: 8 or 16), or replace or no-op on
    /// elements of up to 64 bytes. `None`: there is none such.
    pub fn of(class: Class, width: u32, operator: Operator) -> Option<Self> {
        if width == 0 || width > WIDEST {
            return None;
        }
        Some(Self {
            class,
            operator,
            width,
            number: number_of(class, width, operator),
            kernel: kernels::find(class, width, operator)?,
        })
    }

    /// Replace elements of that width.
    pub fn replace(width: u32) -> Option<Self> {
        Self::of(Class::Opaque, width, Operator::Replace)
    }

    /// Leave elements of that width as they are, to fetch them.
    pub fn no_op(width: u32) -> Option<Self> {
        Self::of(Class::Opaque, width, Operator::NoOp)
    }

    /// What a registered kernel does. `class` and `operator` say what atomic instruction does the same, if there is one: if in doubt,
    /// [`Class::Opaque`] and [`Operator::Other`].
    pub fn by_kernel(class: Class, width: u32, operator: Operator, number: u32) -> Option<Self> {
        if width == 0 || width > WIDEST {
            return None;
        }
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        let kernel = *registered.as_ref()?.get(&number)?;
        Some(Self {
            class,
            operator,
            width,
            number,
            kernel,
        })
    }

    /// As [`Self::by_kernel`], for those who have the kernel at hand. `None`: elements of no such width are combined.
    ///
    /// # Safety
    /// In this process `number` stands for `kernel`, as far as it stands for anything, and `class` and `operator` for what it does.
    #[inline]
    pub unsafe fn with(class: Class, width: u32, operator: Operator, number: u32, kernel: Kernel) -> Option<Self> {
        (width > 0 && width <= WIDEST).then_some(Self {
            class,
            operator,
            width,
            number,
            kernel,
        })
    }

    /// What other processes know the kernel by.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Bytes of an element.
    pub fn width(&self) -> u32 {
        self.width
    }
}

/// What one atomic instruction, or a short loop around one, does to an element without its kernel.
#[derive(Debug, Clone, Copy)]
pub struct Instruction(pub(super) Combine);

impl Instruction {
    /// What does the same as this. `None`: no instruction does.
    pub fn of(combine: &Combine) -> Option<Self> {
        let is_there = matches!(
            (combine.class, combine.operator),
            (_, Operator::Replace | Operator::NoOp)
                | (
                    Class::Signed | Class::Unsigned,
                    Operator::Sum | Operator::And | Operator::Or | Operator::Xor
                )
                | (Class::Float, Operator::Sum)
        );
        (is_there && matches!(combine.width, 4 | 8)).then_some(Self(*combine))
    }
}

fn number_of(class: Class, width: u32, operator: Operator) -> u32 {
    u32::from(class as u8) << 16 | width << 8 | u32::from(operator as u8)
}
