//! Atomic memory operations (OpenSHMEM 1.6, "Atomic Memory Operations"): one instruction of the CPU on memory that this process maps. Objects on
//! another node are operated by their PE, by the same instructions ([`FarCell`]).

use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isthmus_engine::Peer;
use isthmus_engine::rma::{Class, Combine, Flow, Operator, Target};

use crate::call::Call;
use crate::context::ContextHandle;
use crate::far::{Far, FarContext};
use crate::job::{Job, job};
use crate::numbers::Element;

/// A type that has atomics: as unsigned bits, in a cell of its width.
pub trait Atomic: Element {
    /// The cell.
    type Cell: Cell<Bits = Self::Bits>;
    /// The bits.
    type Bits: Copy + Default;

    /// As bits.
    fn bits(self) -> Self::Bits;
    /// From bits.
    fn of(bits: Self::Bits) -> Self;
}

/// Integers count; floats only move.
pub trait Counting: Atomic {
    /// 1
    const ONE: Self;
}

/// What the CPU does with a cell.
pub trait Cell {
    /// What it holds.
    type Bits: Copy;

    /// Load.
    fn get(&self) -> Self::Bits;
    /// Store.
    fn put(&self, value: Self::Bits);
    /// Exchange.
    fn swap(&self, value: Self::Bits) -> Self::Bits;
    /// Exchange if it holds `cond`: what it held.
    fn compare(&self, cond: Self::Bits, value: Self::Bits) -> Self::Bits;
    /// Add, wrapping.
    fn add(&self, value: Self::Bits) -> Self::Bits;
    /// Bitwise.
    fn and(&self, value: Self::Bits) -> Self::Bits;
    /// Bitwise.
    fn or(&self, value: Self::Bits) -> Self::Bits;
    /// Bitwise.
    fn xor(&self, value: Self::Bits) -> Self::Bits;
}

macro_rules! cells {
    ($($cell:ident of $bits:ident),*) => { $(
        impl Cell for $cell {
            type Bits = $bits;
            #[inline(always)]
            fn get(&self) -> $bits { self.load(Ordering::Acquire) }
            #[inline(always)]
            fn put(&self, value: $bits) { self.store(value, Ordering::Release) }
            #[inline(always)]
            fn swap(&self, value: $bits) -> $bits { self.swap(value, Ordering::AcqRel) }
            #[inline(always)]
            fn compare(&self, cond: $bits, value: $bits) -> $bits {
                match self.compare_exchange(cond, value, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(before) | Err(before) => before,
                }
            }
            #[inline(always)]
            fn add(&self, value: $bits) -> $bits { self.fetch_add(value, Ordering::AcqRel) }
            #[inline(always)]
            fn and(&self, value: $bits) -> $bits { self.fetch_and(value, Ordering::AcqRel) }
            #[inline(always)]
            fn or(&self, value: $bits) -> $bits { self.fetch_or(value, Ordering::AcqRel) }
            #[inline(always)]
            fn xor(&self, value: $bits) -> $bits { self.fetch_xor(value, Ordering::AcqRel) }
        }
    )* };
}
cells!(AtomicU32 of u32, AtomicU64 of u64);

macro_rules! integers {
    ($($of:ident in $cell:ident of $bits:ident),*) => { $(
        impl Atomic for $of {
            type Cell = $cell;
            type Bits = $bits;
            #[inline(always)]
            fn bits(self) -> $bits { self as $bits }
            #[inline(always)]
            fn of(bits: $bits) -> Self { bits as $of }
        }
        impl Counting for $of { const ONE: Self = 1; }
    )* };
}
integers!(
    i32 in AtomicU32 of u32, u32 in AtomicU32 of u32, i64 in AtomicU64 of u64, u64 in AtomicU64 of u64,
    isize in AtomicU64 of u64, usize in AtomicU64 of u64
);

macro_rules! floats {
    ($($of:ident in $cell:ident of $bits:ident),*) => { $(
        impl Atomic for $of {
            type Cell = $cell;
            type Bits = $bits;
            #[inline(always)]
            fn bits(self) -> $bits { self.to_bits() }
            #[inline(always)]
            fn of(bits: $bits) -> Self { Self::from_bits(bits) }
        }
    )* };
}
floats!(f32 in AtomicU32 of u32, f64 in AtomicU64 of u64);

/// The cell of an object on a PE, which operates on it here or, where it is on another node, there; `writes`: its PE may wait for what is done
/// to it.
#[inline(always)]
fn on<T: Atomic, R>(
    call: Call,
    ctx: ContextHandle,
    name: &'static str,
    object: *const T,
    pe: c_int,
    writes: bool,
    operate: impl FnOnce(&T::Cell) -> R,
    operate_there: impl FnOnce(&Job, u32) -> R,
) -> R {
    let job = job(call);
    let pe = ctx.pe(job, call, pe);
    let Some(at) = job.near(object.addr(), size_of::<T>(), pe) else {
        return operate_there(job, pe);
    };
    if !at.is_multiple_of(size_of::<T>()) {
        refuse_alignment(call, name, object.addr(), size_of::<T>());
    }
    // SAFETY: symmetric memory, aligned; whatever is there is a value, and only atomics and plain stores of other PEs, which are
    // the program's to order, touch it.
    let answer = operate(unsafe { &*std::ptr::with_exposed_provenance::<T::Cell>(at) });
    if writes {
        job.tell_of_write(pe);
    }
    answer
}

/// The cell of an object on a PE of another node.
#[cold]
#[inline(never)]
fn far<'a, T: Atomic>(
    job: &'a Job,
    (call, ctx): (Call, ContextHandle),
    name: &'static str,
    object: *const T,
    pe: u32,
    fetched: Fetched,
) -> FarCell<'a, T::Bits> {
    if !object.addr().is_multiple_of(size_of::<T>()) {
        refuse_alignment(call, name, object.addr(), size_of::<T>());
    }
    FarCell::new(job, (call, ctx), name, object.addr(), pe, fetched)
}

#[cold]
fn refuse_alignment(call: Call, name: &str, address: usize, width: usize) -> ! {
    call.refuse(format!(
        "{name}={address:#x} is not a multiple of {width}, as atomics need"
    ))
}

/// The routines of an operation: with the result returned, and with it stored.
macro_rules! fetching {
    ($($(#[$doc:meta])* $name:ident, $nbi:ident: $bound:ident, ($($argument:ident),*), $writes:tt, $object:ident, |$cell:ident| $operation:expr;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// None is needed.
        #[inline]
        pub unsafe fn $name<T: $bound>(call: Call, ctx: ContextHandle, $object: fetching!(@pointer $writes T), $($argument: T,)* pe: c_int) -> T {
            let name = stringify!($object);
            let there = |job: &Job, pe: u32| {
                let $cell = &far::<T>(job, (call, ctx), name, $object.cast_const(), pe, Fetched::Answered);
                $operation
            };
            T::of(on(call, ctx, name, $object.cast_const(), pe, $writes, |$cell: &T::Cell| $operation, there))
        }

        $(#[$doc])*
        ///
        /// The result is there when it returns, which is earlier than it must be; that from another node after a quiet.
        ///
        /// # Safety
        /// `fetch` must be writable until then.
        #[inline]
        pub unsafe fn $nbi<T: $bound>(call: Call, ctx: ContextHandle, fetch: *mut T, $object: fetching!(@pointer $writes T), $($argument: T,)* pe: c_int) {
            let name = stringify!($object);
            let there = |job: &Job, pe: u32| {
                let fetched = Fetched::Stored(fetch.cast());
                let $cell = &far::<T>(job, (call, ctx), name, $object.cast_const(), pe, fetched);
                $operation;
            };
            let here = |$cell: &T::Cell| {
                let before = T::of($operation);
                // SAFETY: the caller's promise.
                unsafe { fetch.write_unaligned(before) };
            };
            on(call, ctx, name, $object.cast_const(), pe, $writes, here, there);
        }

    )* };
    (@pointer true $of:ty) => { *mut $of };
    (@pointer false $of:ty) => { *const $of };
}

trait CastConst {
    type To;
    fn cast_const(self) -> *const Self::To;
}

impl<T> CastConst for *const T {
    type To = T;
    #[inline(always)]
    fn cast_const(self) -> *const T {
        self
    }
}

fetching! {
    /// `shmem_atomic_fetch`
    atomic_fetch, atomic_fetch_nbi: Atomic, (), false, source, |cell| cell.get();
    /// `shmem_atomic_swap`
    atomic_swap, atomic_swap_nbi: Atomic, (value), true, dest, |cell| cell.swap(value.bits());
    /// `shmem_atomic_compare_swap`
    atomic_compare_swap, atomic_compare_swap_nbi: Counting, (cond, value), true, dest, |cell| cell.compare(cond.bits(), value.bits());
    /// `shmem_atomic_fetch_inc`
    atomic_fetch_inc, atomic_fetch_inc_nbi: Counting, (), true, dest, |cell| cell.add(T::ONE.bits());
    /// `shmem_atomic_fetch_add`
    atomic_fetch_add, atomic_fetch_add_nbi: Counting, (value), true, dest, |cell| cell.add(value.bits());
    /// `shmem_atomic_fetch_and`
    atomic_fetch_and, atomic_fetch_and_nbi: Counting, (value), true, dest, |cell| cell.and(value.bits());
    /// `shmem_atomic_fetch_or`
    atomic_fetch_or, atomic_fetch_or_nbi: Counting, (value), true, dest, |cell| cell.or(value.bits());
    /// `shmem_atomic_fetch_xor`
    atomic_fetch_xor, atomic_fetch_xor_nbi: Counting, (value), true, dest, |cell| cell.xor(value.bits());
}

macro_rules! silent {
    ($($(#[$doc:meta])* $name:ident: $bound:ident, ($($argument:ident),*), |$cell:ident| $operation:expr;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// None is needed.
        #[inline]
        pub unsafe fn $name<T: $bound>(call: Call, ctx: ContextHandle, dest: *mut T, $($argument: T,)* pe: c_int) {
            let there = |job: &Job, pe: u32| {
                let $cell = &far::<T>(job, (call, ctx), "dest", dest.cast_const(), pe, Fetched::Dropped);
                $operation;
            };
            on(call, ctx, "dest", dest.cast_const(), pe, true, |$cell: &T::Cell| { $operation; }, there);
        }

    )* };
}

silent! {
    /// `shmem_atomic_set`
    atomic_set: Atomic, (value), |cell| cell.put(value.bits());
    /// `shmem_atomic_inc`
    atomic_inc: Counting, (), |cell| cell.add(T::ONE.bits());
    /// `shmem_atomic_add`
    atomic_add: Counting, (value), |cell| cell.add(value.bits());
    /// `shmem_atomic_and`
    atomic_and: Counting, (value), |cell| cell.and(value.bits());
    /// `shmem_atomic_or`
    atomic_or: Counting, (value), |cell| cell.or(value.bits());
    /// `shmem_atomic_xor`
    atomic_xor: Counting, (value), |cell| cell.xor(value.bits());
}

/// What becomes of the value that was there before an operation on another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// Nothing.
    Dropped,
    /// The operation answers it, and blocks until it is there.
    Answered,
    /// It is here after a quiet.
    Stored(*mut u8),
}

/// An element of a PE on another node.
pub struct FarCell<'a, B> {
    call: Call,
    far: &'a Far,
    context: &'a FarContext,
    /// Of an operation that is waited for: it is over then, whatever else its context has under way.
    own: Flow,
    target: &'a Target,
    at: u64,
    fetched: Fetched,
    bits: PhantomData<B>,
}

impl<'a, B: Copy + Default> FarCell<'a, B> {
    /// The element at `address` on `pe`, where a place to store what was there is good until it is stored.
    fn new(
        job: &'a Job,
        (call, ctx): (Call, ContextHandle),
        name: &str,
        address: usize,
        pe: u32,
        fetched: Fetched,
    ) -> Self {
        let memory = job.remote_memory(|far| ctx.far(far, call));
        let found = memory.target(call, name, address, size_of::<B>(), pe);
        Self {
            call,
            far: found.far,
            context: found.context,
            own: Flow::new(),
            target: found.target,
            at: found.at,
            fetched,
            bits: PhantomData,
        }
    }

    fn operate(&self, operator: Operator, value: B) -> B {
        let combine = Combine::of(Class::Unsigned, size_of::<B>() as u32, operator);
        let combine = combine.expect("integers of 4 and 8 bytes have all operations");
        let mut before = B::default();
        let result = self.result(&mut before);
        // SAFETY: the operand is copied into the message, and the result waited for, or stored where the caller wants it.
        let done = unsafe {
            self.flow()
                .fetch_op(self.target, self.at, (&raw const value).cast(), result, combine)
        };
        done.unwrap_or_else(|error| self.call.refuse(error));
        self.finish();
        before
    }

    /// Where the result goes.
    fn result(&self, before: &mut B) -> *mut u8 {
        match self.fetched {
            Fetched::Dropped => std::ptr::null_mut(),
            Fetched::Answered => std::ptr::from_mut(before).cast(),
            Fetched::Stored(at) => at,
        }
    }

    /// By which it is completed.
    fn flow(&self) -> &Flow {
        match self.fetched {
            Fetched::Answered => &self.own,
            Fetched::Dropped | Fetched::Stored(_) => self.context.flow(),
        }
    }

    fn finish(&self) {
        let Peer(pe) = self.target.peer();
        match self.fetched {
            Fetched::Answered => {
                let finished = self.own.flush_local(|| Peer(pe));
                finished.unwrap_or_else(|error| self.call.refuse(error));
            }
            Fetched::Dropped | Fetched::Stored(_) => self.far.goes_on(pe),
        }
    }
}

impl<B: Copy + Default> Cell for FarCell<'_, B> {
    type Bits = B;

    fn get(&self) -> B {
        self.operate(Operator::NoOp, B::default())
    }

    fn put(&self, value: B) {
        self.operate(Operator::Replace, value);
    }

    fn swap(&self, value: B) -> B {
        self.operate(Operator::Replace, value)
    }

    fn compare(&self, cond: B, value: B) -> B {
        let mut before = B::default();
        let (cond, value) = ((&raw const cond).cast(), (&raw const value).cast());
        let result = self.result(&mut before);
        // SAFETY: as in `operate`.
        let done = unsafe {
            self.flow()
                .compare_swap(self.target, self.at, size_of::<B>() as u32, cond, value, result)
        };
        done.unwrap_or_else(|error| self.call.refuse(error));
        self.finish();
        before
    }

    fn add(&self, value: B) -> B {
        self.operate(Operator::Sum, value)
    }

    fn and(&self, value: B) -> B {
        self.operate(Operator::And, value)
    }

    fn or(&self, value: B) -> B {
        self.operate(Operator::Or, value)
    }

    fn xor(&self, value: B) -> B {
        self.operate(Operator::Xor, value)
    }
}
