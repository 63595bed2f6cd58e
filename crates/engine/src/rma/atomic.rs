//! Accumulates by the CPU's atomic instructions, element by element.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::combine::{Class, Combine, Operator, nothing};

/// Are all earlier stores of this CPU visible once an atomic instruction is over, as after a fence?
pub(super) const ORDERS: bool = cfg!(target_arch = "x86_64");

/// Do atomic instructions serve elements of this width at this address?
#[inline]
pub(super) fn serves(width: u32, address: usize) -> bool {
    match width {
        1 | 2 | 4 | 8 => address.is_multiple_of(width as usize),
        16 => address.is_multiple_of(16) && has_double(),
        _ => false,
    }
}

#[inline]
fn has_double() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("cmpxchg16b");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

macro_rules! by_width {
    ($name:ident, $atomic:ty, $int:ty $(, $float:ty)?) => {
        /// # Safety
        /// As for [`apply`].
        #[inline(always)] // Of a single element the operator is known: see `single`.
        unsafe fn $name(combine: &Combine, target: *mut u8, operand: *const u8, result: *mut u8, count: usize) {
            for index in 0..count {
                let (at, from) = (target.cast::<$int>().wrapping_add(index), operand.cast::<$int>().wrapping_add(index));
                // SAFETY: the caller vouches for the element, which is aligned; everybody accesses it by atomics.
                let cell = unsafe { <$atomic>::from_ptr(at) };
                // SAFETY: the operand is the caller's; a no-op has none.
                let value = || unsafe { from.read_unaligned() };
                let is_integer = matches!(combine.class, Class::Signed | Class::Unsigned);
                let old = match combine.operator {
                    Operator::NoOp => cell.load(Ordering::SeqCst),
                    Operator::Replace => cell.swap(value(), Ordering::SeqCst),
                    Operator::Sum if is_integer => cell.fetch_add(value(), Ordering::SeqCst),
                    Operator::And if is_integer => cell.fetch_and(value(), Ordering::SeqCst),
                    Operator::Or if is_integer => cell.fetch_or(value(), Ordering::SeqCst),
                    Operator::Xor if is_integer => cell.fetch_xor(value(), Ordering::SeqCst),
                    $(Operator::Sum if combine.class == Class::Float => {
                        let value = <$float>::from_bits(value());
                        exchange(|| cell.load(Ordering::Relaxed), |old| (<$float>::from_bits(old) + value).to_bits(), |old, new| {
                            cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed)
                        })
                    })?
                    _ => exchange(
                        || cell.load(Ordering::Relaxed),
                        |old| {
                            let mut new = old;
                            let new_at = (&raw mut new).cast::<u8>();
                            // SAFETY: one element each, of the kernel's width.
                            unsafe { (combine.kernel)(from.cast(), new_at, new_at, 1) };
                            new
                        },
                        |old, new| cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed),
                    ),
                };
                if !result.is_null() {
                    // SAFETY: the caller vouches for the result.
                    unsafe { result.cast::<$int>().add(index).write_unaligned(old) };
                }
            }
        }
    };
}

by_width!(ones, AtomicU8, u8);
by_width!(twos, AtomicU16, u16);
by_width!(fours, AtomicU32, u32, f32);
by_width!(eights, AtomicU64, u64, f64);

/// Until the value that was combined is still there: what was there.
#[inline]
fn exchange<T: Copy>(load: impl Fn() -> T, combine: impl Fn(T) -> T, swap: impl Fn(T, T) -> Result<T, T>) -> T {
    let mut old = load();
    loop {
        match swap(old, combine(old)) {
            Ok(old) => return old,
            Err(newer) => old = newer,
        }
    }
}

/// Combine `count` elements in a row, each atomically, and tell what was there if `result` is not null.
///
/// # Safety
/// [`serves`] must be true for the width and `target`. As many elements must be readable and writable at `target`, where everybody
/// goes by this function and [`compare_swap`]; readable at `operand`, unless it is a no-op; and writable at `result`, if it is not
/// null.
#[inline(always)]
pub(super) unsafe fn apply(combine: &Combine, target: *mut u8, operand: *const u8, result: *mut u8, count: usize) {
    // SAFETY: the caller's promise, in each case.
    unsafe {
        match combine.width {
            1 => ones(combine, target, operand, result, count),
            2 => twos(combine, target, operand, result, count),
            4 => fours(combine, target, operand, result, count),
            8 => eights(combine, target, operand, result, count),
            _ => sixteens(combine, target, operand, result, count),
        }
    }
}

/// What an accumulate does to elements in a row, with what is looked up once for all of them.
#[derive(Debug, Clone, Copy)]
pub struct RowCombine {
    pub(super) combine: Combine,
    /// If instructions serve a single element without the kernel.
    pub(super) single: Option<Single>,
}

impl RowCombine {
    /// The same in a row.
    pub fn of(combine: Combine) -> Self {
        let single = single(&combine);
        Self { combine, single }
    }
}

/// [`apply`] to one element whose width, class and operator were known when this was compiled: one instruction, or a short loop around one.
///
/// # Safety
/// As for [`apply`].
pub(super) type Single = unsafe fn(target: *mut u8, operand: *const u8, result: *mut u8);

/// The function for one element of 4 or 8 bytes. `None`: it takes the kernel, or has another width.
pub(super) fn single(combine: &Combine) -> Option<Single> {
    macro_rules! of_width {
        ($width:literal, $class:ident, $operator:ident) => {{
            /// # Safety
            /// As for [`apply`].
            unsafe fn one(target: *mut u8, operand: *const u8, result: *mut u8) {
                const COMBINE: Combine = Combine {
                    class: Class::$class,
                    operator: Operator::$operator,
                    width: $width,
                    number: 0,
                    kernel: nothing,
                };
                // SAFETY: the caller's promise.
                unsafe { apply(&COMBINE, target, operand, result, 1) };
            }
            Some(one as Single)
        }};
    }
    macro_rules! of {
        ($class:ident, $operator:ident) => {
            match combine.width {
                4 => of_width!(4, $class, $operator),
                8 => of_width!(8, $class, $operator),
                _ => None,
            }
        };
    }
    match (combine.class, combine.operator) {
        (_, Operator::Replace) => of!(Opaque, Replace),
        (_, Operator::NoOp) => of!(Opaque, NoOp),
        (Class::Signed | Class::Unsigned, Operator::Sum) => of!(Signed, Sum),
        (Class::Signed | Class::Unsigned, Operator::And) => of!(Signed, And),
        (Class::Signed | Class::Unsigned, Operator::Or) => of!(Signed, Or),
        (Class::Signed | Class::Unsigned, Operator::Xor) => of!(Signed, Xor),
        (Class::Float, Operator::Sum) => of!(Float, Sum),
        _ => None,
    }
}

/// # Safety
/// As for [`apply`].
unsafe fn sixteens(combine: &Combine, target: *mut u8, operand: *const u8, result: *mut u8, count: usize) {
    for index in 0..count {
        let at = target.wrapping_add(16 * index);
        let from = operand.wrapping_add(16 * index);
        let old = exchange(
            // SAFETY: the caller's promise. What is read in two halves is only a guess that the exchange checks.
            || unsafe { at.cast::<u128>().read_volatile() },
            |old| {
                let mut new = old;
                let new_at = (&raw mut new).cast::<u8>();
                // SAFETY: one element each, of the kernel's width.
                unsafe { (combine.kernel)(from, new_at, new_at, 1) };
                new
            },
            // SAFETY: the caller's promise.
            |old, new| unsafe { swap_double(at, old, new) },
        );
        if !result.is_null() {
            // SAFETY: the caller vouches for the result.
            unsafe { result.cast::<u128>().add(index).write_unaligned(old) };
        }
    }
}

/// # Safety
/// 16 bytes at `at` must be readable and writable and aligned, and the processor have such an instruction.
#[cfg(target_arch = "x86_64")]
unsafe fn swap_double(at: *mut u8, old: u128, new: u128) -> Result<u128, u128> {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: the caller's promise. The compiler keeps rbx to itself, so it goes by way of another register.
    unsafe {
        std::arch::asm!(
            "xchg {swap}, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, {swap}",
            in("rdi") at,
            swap = inout(reg) new as u64 => _, // even if it is rbx
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    let seen = u128::from(high) << 64 | u128::from(low);
    if seen == old { Ok(seen) } else { Err(seen) }
}

/// # Safety
/// Never called: [`serves`] says no.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn swap_double(_at: *mut u8, _old: u128, _new: u128) -> Result<u128, u128> {
    unreachable!("no element of 16 bytes is served by atomic instructions here")
}

/// Replace an element that equals `compare` by `swap`; what was there goes to `result`.
///
/// # Safety
/// [`serves`] must be true for `width` and `target`; the element must be readable and writable, and as many bytes be readable at
/// `compare` and `swap` and writable at `result`.
#[inline]
pub(super) unsafe fn compare_swap(target: *mut u8, width: u32, compare: *const u8, swap: *const u8, result: *mut u8) {
    macro_rules! width {
        ($atomic:ty, $int:ty) => {{
            // SAFETY: the caller's promise.
            unsafe {
                let (compare, swap) = (
                    compare.cast::<$int>().read_unaligned(),
                    swap.cast::<$int>().read_unaligned(),
                );
                let cell = <$atomic>::from_ptr(target.cast());
                let old = match cell.compare_exchange(compare, swap, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(old) | Err(old) => old,
                };
                result.cast::<$int>().write_unaligned(old);
            }
        }};
    }
    match width {
        1 => width!(AtomicU8, u8),
        2 => width!(AtomicU16, u16),
        4 => width!(AtomicU32, u32),
        8 => width!(AtomicU64, u64),
        // SAFETY: the caller's promise.
        _ => unsafe {
            let (compare, swap) = (
                compare.cast::<u128>().read_unaligned(),
                swap.cast::<u128>().read_unaligned(),
            );
            let old = match swap_double(target, compare, swap) {
                Ok(old) | Err(old) => old,
            };
            result.cast::<u128>().write_unaligned(old);
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(16))]
    struct Cells([u128; 4]);

    #[test]
    fn nothing_is_lost_between_threads() {
        let cells = Cells([0; 4]);
        let at = cells.0.as_ptr().cast_mut().cast::<u8>().expose_provenance();
        let kinds = [
            (Class::Signed, 4, Operator::Sum, 0usize),
            (Class::Float, 8, Operator::Sum, 16),
            (Class::Complex, 16, Operator::Sum, 32),
            (Class::Signed, 2, Operator::Maximum, 48),
        ];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for (class, width, operator, offset) in kinds {
                        let combine = Combine::of(class, width, operator).expect("a usual one");
                        let target = std::ptr::with_exposed_provenance_mut(at + offset);
                        assert!(serves(width, at + offset));
                        for round in 0..1000u16 {
                            let (one, two, three, four) = (1i32, 1f64, [1f64, 2.0], round as i16);
                            let operand: *const u8 = match offset {
                                0 => (&raw const one).cast(),
                                16 => (&raw const two).cast(),
                                32 => (&raw const three).cast(),
                                _ => (&raw const four).cast(),
                            };
                            // SAFETY: all cells are ours, and accessed so only.
                            unsafe { apply(&combine, target, operand, std::ptr::null_mut(), 1) };
                        }
                    }
                });
            }
        });
        let at: *const u8 = std::ptr::with_exposed_provenance(at);
        // SAFETY: the threads have ended.
        unsafe {
            assert_eq!(at.cast::<i32>().read(), 4000);
            assert_eq!(at.add(16).cast::<f64>().read(), 4000.0);
            assert_eq!(at.add(32).cast::<[f64; 2]>().read(), [4000.0, 8000.0]);
            assert_eq!(at.add(48).cast::<i16>().read(), 999);
        }
    }

    #[test]
    fn a_single_element_is_changed_as_a_row_of_one_is() {
        let kinds = [
            (Class::Opaque, Operator::Replace),
            (Class::Opaque, Operator::NoOp),
            (Class::Signed, Operator::Sum),
            (Class::Unsigned, Operator::And),
            (Class::Signed, Operator::Or),
            (Class::Unsigned, Operator::Xor),
            (Class::Float, Operator::Sum),
        ];
        // Numbers of 4 and of 8 bytes.
        let (before, operand) = (0x4040_0000_4040_0000_u64, 0x40a0_0000_40a0_0000_u64);
        for ((class, operator), width) in kinds.into_iter().flat_map(|kind| [(kind, 4), (kind, 8)]) {
            let combine = Combine::of(class, width, operator).expect("a usual one");
            let single = single(&combine).expect("there is one");
            let (mut cells, mut results) = ([before; 2], [0_u64; 2]);
            let [one, row] = &mut cells;
            let [of_one, of_row] = &mut results;
            let from = (&raw const operand).cast();
            // SAFETY: an element each, ours and aligned.
            unsafe {
                single((&raw mut *one).cast(), from, (&raw mut *of_one).cast());
                apply(&combine, (&raw mut *row).cast(), from, (&raw mut *of_row).cast(), 1);
            }
            assert_eq!((*one, *of_one), (*row, *of_row), "{class:?} {operator:?} {width}");
            assert_ne!(*of_one, 0);
            assert_eq!(
                *one == before,
                operator == Operator::NoOp,
                "{class:?} {operator:?} {width}"
            );
        }
        let product = Combine::of(Class::Signed, 8, Operator::Product).expect("a usual one");
        assert!(single(&product).is_none(), "it takes the kernel");
    }

    #[test]
    fn compare_and_swap_of_every_width() {
        for width in [1u32, 2, 4, 8, 16] {
            let mut cells = Cells([7; 4]);
            let target = (&raw mut cells.0).cast::<u8>();
            let (seven, nine) = (7u128.to_le_bytes(), 9u128.to_le_bytes());
            for (compare, found, left) in [(nine, 7, 7), (seven, 7, 9), (seven, 9, 9)] {
                let mut result = [0u8; 16];
                // SAFETY: ours, and long enough.
                unsafe { compare_swap(target, width, compare.as_ptr(), nine.as_ptr(), result.as_mut_ptr()) };
                assert_eq!((u128::from_le_bytes(result), cells.0[0]), (found, left), "{width}");
            }
        }
        assert!(!serves(8, 4) && !serves(3, 0) && serves(1, 7));
    }
}
