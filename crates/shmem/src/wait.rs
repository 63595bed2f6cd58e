//! Point-to-point synchronization (OpenSHMEM 1.6, "Point-To-Point Synchronization Routines"): waiting until memory of this PE has changed.
//!
//! A waiting PE says so ([`Job::watchers`]) before it looks; routines that write to this PE then ring its doorbell. Plain stores of
//! other PEs, through `shmem_ptr`, do not, so its sleeps are short at first and never long ([`Watch`]).

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use isthmus_engine::backoff::{LOOKS_AT_SIGNAL, TESTS, look_briefly};
use isthmus_engine::{Cause, Entered, Watch, enter, is_oversubscribed, wait_until as wait_in_engine};
use isthmus_os::cpu;

use crate::call::Call;
use crate::compare::Comparison;
use crate::job::{Job, job};
use crate::numbers::Element;

/// A type that can be waited for.
pub trait Waitable: Element + PartialOrd {}
impl<T: Element + PartialOrd> Waitable for T {}

/// The condition.
#[derive(Debug, Clone, Copy)]
pub struct Condition<T> {
    /// How it compares,
    pub comparison: Comparison,
    /// with what.
    pub value: T,
}

impl<T: Waitable> Condition<T> {
    /// Does it hold for this value?
    #[inline]
    pub fn holds(&self, value: T) -> bool {
        self.comparison.holds(value, self.value)
    }
}

/// Load an object of this PE that others may write to.
#[inline(always)]
pub fn look<T: Waitable>(object: *const T) -> T {
    // SAFETY: the caller has checked that it is symmetric memory, and aligned. Volatile: it may change at any time; numbers of
    // these widths are loaded in one piece.
    let value = unsafe { object.read_volatile() };
    fence(Ordering::Acquire);
    value
}

/// Check that an argument is an array of symmetric objects, aligned. Else the job ends.
#[inline]
pub fn check_own<T>(job: &Job, call: Call, name: &'static str, object: *const T, count: usize) {
    job.remote(call, name, object.addr(), count.saturating_mul(size_of::<T>()), job.me);
    if !object.is_aligned() {
        call.refuse(format!(
            "{name}={object:p} is not a multiple of {}, as waiting needs",
            align_of::<T>()
        ));
    }
}

/// Says that a thread watches memory, as long as it is there.
struct Watcher<'a> {
    count: &'a AtomicU32,
    _watch: Watch,
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Wait until `look` sees what it looks for in memory of this PE. Blocks; sleeps if that takes long.
#[inline]
pub fn until<R: Send>(job: &Job, call: Call, look: impl FnMut() -> Option<R>) -> R {
    until_said(job, call, &|| Cause::Value, look)
}

/// As [`until`], for what `cause` says to people who ask.
#[inline]
pub fn until_said<R: Send>(
    job: &Job,
    call: Call,
    cause: &(dyn Fn() -> Cause + Sync),
    mut look: impl FnMut() -> Option<R>,
) -> R {
    let mut found = None;
    look_briefly(&LOOKS_AT_SIGNAL, || {
        found = look();
        found.is_some()
    });
    if let Some(value) = found {
        return value;
    }
    wait_long(job, call, cause, &mut look)
}

/// What a look may use: pointers to memory of this PE, which any of its threads may read.
struct Look<'a, R>(&'a mut dyn FnMut() -> Option<R>);

// SAFETY: looks load from symmetric memory and compare; which of the threads does it is the same.
unsafe impl<R> Send for Look<'_, R> {}

impl<R> Look<'_, R> {
    fn now(&mut self) -> Option<R> {
        (self.0)()
    }
}

#[cold]
#[inline(never)]
fn wait_long<R: Send>(
    job: &Job,
    call: Call,
    cause: &(dyn Fn() -> Cause + Sync),
    look: &mut dyn FnMut() -> Option<R>,
) -> R {
    job.watchers().fetch_add(1, Ordering::SeqCst);
    let _watcher = Watcher {
        count: job.watchers(),
        _watch: Watch::begin(),
    };
    let mut look = Look(look);
    let look = move |inside: &mut Entered| {
        let found = look.now();
        if found.is_none() {
            inside.waits_in(call.0, cause());
        }
        found
    };
    match wait_in_engine(look) {
        Ok(value) => value,
        Err(error) => call.refuse(error),
    }
}

/// A test failed: a PE that tests in a loop must not keep the awaited PEs from running.
#[cold]
pub fn test_failed() {
    thread_local!(static TESTED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    let tested = TESTED.get().wrapping_add(1);
    TESTED.set(tested);
    if tested.is_multiple_of(TESTS.count()) {
        enter().progress();
        if is_oversubscribed() {
            cpu::yield_now();
        }
    }
}

/// The objects of a wait set: elements that no status excludes, and a value for all or one for each.
struct Set<T> {
    objects: *const T,
    count: usize,
    status: *const c_int,
    comparison: Comparison,
    values: Values<T>,
}

enum Values<T> {
    All(T),
    Each(*const T),
}

impl<T: Waitable> Set<T> {
    fn is_in(&self, index: usize) -> bool {
        // SAFETY: the caller of the routine promised as many.
        self.status.is_null() || unsafe { self.status.add(index).read() } == 0
    }

    fn holds(&self, index: usize) -> bool {
        let value = match self.values {
            Values::All(value) => value,
            // SAFETY: as above.
            Values::Each(values) => unsafe { values.add(index).read_unaligned() },
        };
        self.comparison.holds(look(self.objects.wrapping_add(index)), value)
    }

    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count).filter(|&index| self.is_in(index))
    }

    fn is_empty(&self) -> bool {
        self.members().next().is_none()
    }

    /// Do all hold?
    fn all(&self) -> bool {
        self.members().all(|index| self.holds(index))
    }

    /// One that holds; the next call returns another one first, if there is one.
    fn any(&self) -> Option<usize> {
        thread_local!(static LAST: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        let last = LAST.get();
        let found = self
            .members()
            .skip_while(|&index| index <= last)
            .chain(self.members().take_while(|&index| index <= last))
            .find(|&index| self.holds(index));
        if let Some(index) = found {
            LAST.set(index);
        }
        found
    }

    /// All that hold, into `indices`: how many.
    fn some(&self, indices: *mut usize) -> usize {
        let mut found = 0;
        for index in self.members() {
            if self.holds(index) {
                // SAFETY: the caller of the routine promised room for as many.
                unsafe { indices.add(found).write(index) };
                found += 1;
            }
        }
        found
    }
}

/// Nothing to wait for.
const NONE: usize = usize::MAX;

fn wait_all<T: Waitable>(job: &Job, call: Call, set: &Set<T>) {
    until(job, call, || set.all().then_some(()));
}

fn wait_any<T: Waitable>(job: &Job, call: Call, set: &Set<T>) -> usize {
    if set.is_empty() {
        return NONE;
    }
    until(job, call, || set.any())
}

fn wait_some<T: Waitable>(job: &Job, call: Call, set: &Set<T>, indices: *mut usize) -> usize {
    if set.is_empty() {
        return 0;
    }
    until(job, call, || match set.some(indices) {
        0 => None,
        found => Some(found),
    })
}

fn try_all<T: Waitable>(set: &Set<T>) -> c_int {
    let all = set.all();
    if !all {
        test_failed();
    }
    c_int::from(all)
}

fn try_any<T: Waitable>(set: &Set<T>) -> usize {
    set.any().unwrap_or_else(|| {
        test_failed();
        NONE
    })
}

fn try_some<T: Waitable>(set: &Set<T>, indices: *mut usize) -> usize {
    let found = set.some(indices);
    if found == 0 {
        test_failed();
    }
    found
}

/// `shmem_wait_until`. Blocks.
///
/// # Safety
/// None is needed.
pub unsafe fn wait_until<T: Waitable>(call: Call, ivar: *mut T, cmp: c_int, cmp_value: T) {
    let job = job(call);
    check_own(job, call, "ivar", ivar, 1);
    let condition = Condition {
        comparison: Comparison::of(call, cmp),
        value: cmp_value,
    };
    until(job, call, || condition.holds(look(ivar)).then_some(()));
}

/// `shmem_wait`: until it is another value. Blocks.
///
/// # Safety
/// None is needed.
pub unsafe fn wait<T: Waitable>(call: Call, ivar: *mut T, cmp_value: T) {
    // SAFETY: nothing is needed.
    unsafe { wait_until(call, ivar, 1, cmp_value) };
}

/// `shmem_test`
///
/// # Safety
/// None is needed.
pub unsafe fn test<T: Waitable>(call: Call, ivar: *mut T, cmp: c_int, cmp_value: T) -> c_int {
    let job = job(call);
    check_own(job, call, "ivar", ivar, 1);
    let holds = Comparison::of(call, cmp).holds(look(ivar), cmp_value);
    if !holds {
        test_failed();
    }
    c_int::from(holds)
}

macro_rules! sets {
    ($($(#[$doc:meta])* $name:ident, $vector:ident ($($indices:ident: $kind:ty)?) -> $returns:ty, |$job:ident, $call:ident, $set:ident| $body:expr;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// Arrays must have as many elements as there are objects, or be null where that is allowed.
        #[allow(clippy::too_many_arguments)] // As the specification has them.
        pub unsafe fn $name<T: Waitable>(call: Call, ivars: *mut T, nelems: usize, $($indices: $kind,)? status: *const c_int, cmp: c_int, cmp_value: T) -> $returns {
            let $job = job(call);
            check_own($job, call, "ivars", ivars, nelems);
            let $call = call;
            let $set = &Set { objects: ivars.cast_const(), count: nelems, status, comparison: Comparison::of(call, cmp), values: Values::All(cmp_value) };
            $body
        }

        $(#[$doc])*
        ///
        /// With a value for each.
        ///
        /// # Safety
        /// Arrays must have as many elements as there are objects, or be null where that is allowed.
        #[allow(clippy::too_many_arguments)] // As the specification has them.
        pub unsafe fn $vector<T: Waitable>(call: Call, ivars: *mut T, nelems: usize, $($indices: $kind,)? status: *const c_int, cmp: c_int, cmp_values: *const T) -> $returns {
            let $job = job(call);
            check_own($job, call, "ivars", ivars, nelems);
            let $call = call;
            let $set = &Set { objects: ivars.cast_const(), count: nelems, status, comparison: Comparison::of(call, cmp), values: Values::Each(cmp_values) };
            $body
        }
    )* };
}

sets! {
    /// `shmem_wait_until_all`. Blocks.
    wait_until_all, wait_until_all_vector () -> (), |job, call, set| wait_all(job, call, set);
    /// `shmem_wait_until_any`: which one; `SIZE_MAX` if there is none to wait for. Blocks.
    wait_until_any, wait_until_any_vector () -> usize, |job, call, set| wait_any(job, call, set);
    /// `shmem_wait_until_some`: how many; 0 if there is none to wait for. Blocks.
    wait_until_some, wait_until_some_vector (indices: *mut usize) -> usize, |job, call, set| wait_some(job, call, set, indices);
    /// `shmem_test_all`
    test_all, test_all_vector () -> c_int, |_job, _call, set| try_all(set);
    /// `shmem_test_any`: which one; `SIZE_MAX`: none.
    test_any, test_any_vector () -> usize, |_job, _call, set| try_any(set);
    /// `shmem_test_some`: how many.
    test_some, test_some_vector (indices: *mut usize) -> usize, |_job, _call, set| try_some(set, indices);
}
