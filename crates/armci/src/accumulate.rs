//! Accumulates: `target += scale * source`, element by element, atomic against other accumulates.
//!
//! The bytes of a process are cut into stripes, a page each; a process that adds to some of a stripe holds its lock meanwhile. So
//! elements are added by vectors, and processes that add to different pages do not meet. An element belongs to the stripe
//! in which its first byte lies.

use isthmus_engine::rma::Class;
use isthmus_transfer::Layout;
use isthmus_transfer::local::copy_range;

use crate::control::Controls;
use crate::elsewhere;
use crate::error::{Result, argument, room};
use crate::far::{BlockTarget, Far};
use crate::life::{Job, job};
use crate::lock::ShortLock;
use crate::section::Section;
use crate::transfer::{check_own, check_own_vectors, check_vectors, checked};
use crate::vector::{End, Vector};

/// Types of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccumulateType {
    /// `int`.
    Int,
    /// `long`.
    Long,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Two `float`s.
    Complex,
    /// Two `double`s.
    DoubleComplex,
}

impl AccumulateType {
    /// By the numbers of `armci.h`.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn of(number: i32) -> Result<Self> {
        Ok(match number {
            37 => Self::Int,
            38 => Self::Double,
            39 => Self::Float,
            40 => Self::Complex,
            41 => Self::DoubleComplex,
            42 => Self::Long,
            _ => return Err(argument(format!("optype={number} is no ARMCI_ACC_ constant"))),
        })
    }

    /// What the engine calls such elements.
    fn class(self) -> (Class, u64) {
        let class = match self {
            Self::Int | Self::Long => Class::Signed,
            Self::Float | Self::Double => Class::Float,
            Self::Complex | Self::DoubleComplex => Class::Complex,
        };
        (class, self.bytes())
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double | Self::Complex => 8,
            Self::DoubleComplex => 16,
        }
    }
}

/// What an element can do.
trait Element: Copy {
    /// `self + scale * other`.
    fn add_scaled(self, scale: Self, other: Self) -> Self;
}

macro_rules! integer {
    ($($type:ty)*) => {$(
        impl Element for $type {
            #[inline(always)]
            fn add_scaled(self, scale: Self, other: Self) -> Self {
                self.wrapping_add(scale.wrapping_mul(other))
            }
        }
    )*};
}
integer!(i32 i64);

macro_rules! float {
    ($($type:ty)*) => {$(
        impl Element for $type {
            #[inline(always)]
            fn add_scaled(self, scale: Self, other: Self) -> Self {
                self + scale * other
            }
        }
        impl Element for [$type; 2] {
            #[inline(always)]
            fn add_scaled(self, scale: Self, other: Self) -> Self {
                [
                    self[0] + scale[0] * other[0] - scale[1] * other[1],
                    self[1] + scale[0] * other[1] + scale[1] * other[0],
                ]
            }
        }
    )*};
}
float!(f32 f64);

/// Adds `count` elements: the factor, source, target, count. The pointers must be good for as many elements, and the factor for one.
type Add = unsafe fn(*const u8, *const u8, *mut u8, usize);

/// See [`Add`].
///
/// # Safety
/// As it says.
#[inline(always)]
unsafe fn add<T: Element>(scale: *const u8, from: *const u8, to: *mut u8, count: usize) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    // SAFETY: the caller's promise; the elements may lie anywhere.
    unsafe {
        let scale = scale.cast::<T>().read_unaligned();
        for at in 0..count {
            let sum = to
                .add(at)
                .read_unaligned()
                .add_scaled(scale, from.add(at).read_unaligned());
            to.add(at).write_unaligned(sum);
        }
    }
}

/// The same in vectors of 32 bytes.
///
/// # Safety
/// As for [`add`]; the processor must have them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn add_wide<T: Element>(scale: *const u8, from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { add::<T>(scale, from, to, count) };
}

/// The better one of the two here.
fn adding<T: Element>() -> Add {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return add_wide::<T>;
    }
    add::<T>
}

/// Which elements, and the factor.
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    /// The elements' type.
    pub kind: AccumulateType,
    /// An element that all are multiplied with.
    pub scale: *const u8,
}

impl Sum {
    /// The elements of a layout, multiplied by the factor, one after the other.
    ///
    /// # Safety
    /// They and the factor must be good.
    unsafe fn scaled(self, from: &Layout<'_>) -> Result<Vec<u8>> {
        let length = from.length();
        let [mut packed, mut sums] = [room(length as usize)?, room(length as usize)?];
        packed.resize(length as usize, 0);
        sums.resize(length as usize, 0);
        // SAFETY: the caller's promise; both are as long.
        unsafe {
            let into = Layout::local(packed.as_mut_ptr(), length);
            copy_range(from, &into, 0..length);
            let count = (length / self.kind.bytes()) as usize;
            (self.adding())(self.scale, packed.as_ptr(), sums.as_mut_ptr(), count);
        }
        Ok(sums)
    }

    fn adding(self) -> Add {
        match self.kind {
            AccumulateType::Int => adding::<i32>(),
            AccumulateType::Long => adding::<i64>(),
            AccumulateType::Float => adding::<f32>(),
            AccumulateType::Double => adding::<f64>(),
            AccumulateType::Complex => adding::<[f32; 2]>(),
            AccumulateType::DoubleComplex => adding::<[f64; 2]>(),
        }
    }
}

/// Adding under the locks of one process's stripes; holds the one of the last row until another is needed.
struct Adder<'a> {
    job: &'a Job,
    owner: usize,
    sum: Sum,
    add: Add,
    /// Elements are of 2 to this power bytes.
    power: u32,
    /// The first address of the stripe that is held, as mapped here, and its lock.
    held: Option<(u64, &'a ShortLock)>,
}

impl<'a> Adder<'a> {
    fn new(job: &'a Job, owner: usize, sum: Sum) -> Self {
        Self {
            job,
            owner,
            sum,
            add: sum.adding(),
            power: sum.kind.bytes().trailing_zeros(),
            held: None,
        }
    }

    /// Hold the lock of the stripe with this byte.
    #[inline]
    fn hold(&mut self, at: u64) {
        let first = at - at % Controls::stripe_bytes();
        if let Some((held, lock)) = self.held {
            if held == first {
                return;
            }
            lock.unlock();
        }
        let lock = self.job.controls.lock(self.owner, Controls::stripe_of(at));
        lock.lock(self.job.me, &self.job.world);
        self.held = Some((first, lock));
    }

    /// # Safety
    /// As for [`Add`].
    #[inline]
    unsafe fn row(&mut self, from: *const u8, to: *mut u8, bytes: u64) {
        let count = bytes >> self.power;
        let mut done = 0;
        while done < count {
            let at = to.addr() as u64 + (done << self.power);
            self.hold(at);
            // Up to the element that begins in the next stripe.
            let left = Controls::stripe_bytes() - at % Controls::stripe_bytes();
            let step = ((left + (1 << self.power) - 1) >> self.power).min(count - done);
            let offset = (done << self.power) as usize;
            // SAFETY: a part of the caller's range.
            unsafe { (self.add)(self.sum.scale, from.add(offset), to.add(offset), step as usize) };
            done += step;
        }
    }
}

impl Drop for Adder<'_> {
    fn drop(&mut self) {
        if let Some((_, lock)) = self.held {
            lock.unlock();
        }
    }
}

fn whole(sum: Sum, bytes: u64) -> Result<()> {
    if !bytes.is_multiple_of(sum.kind.bytes()) {
        return Err(argument(format!(
            "{bytes} bytes are no whole number of elements of {} bytes",
            sum.kind.bytes()
        )));
    }
    if sum.scale.is_null() {
        return Err(argument("scale is null"));
    }
    Ok(())
}

/// Accumulate a section.
///
/// # Errors
/// The target is not global memory of `proc`, or a row holds no whole number of elements.
///
/// # Safety
/// The source and `scale` must be good.
pub unsafe fn section(sum: Sum, section: &Section, from: *const u8, to: *mut u8, proc: i32) -> Result<()> {
    let job = job()?;
    whole(sum, section.row)?;
    check_own(End::Target, from, to)?;
    let (source, target) = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    if let Some(far) = &job.far {
        let owner = job.process(proc)?;
        // SAFETY: the caller's promise.
        if unsafe { section_far(job, far, sum, section, (source, target), owner) }? {
            return Ok(());
        }
    }
    let owner = checked(job, section, End::Target, source, target, proc)?;
    // SAFETY: checked, and the caller's promise.
    unsafe { add_section(job, sum, section, source, target, owner) }
}

/// Accumulate a section of `owner`'s memory, by the addresses that this process knows it by.
///
/// # Errors
/// The owner has failed.
///
/// # Safety
/// Both ends must be good, and rows whole numbers of elements.
pub unsafe fn add_section(job: &Job, sum: Sum, section: &Section, from: u64, to: u64, owner: usize) -> Result<()> {
    if let Some(far) = &job.far {
        // SAFETY: the caller's promise.
        if unsafe { section_far(job, far, sum, section, (from, to), owner) }? {
            return Ok(());
        }
    }
    let mut adder = Adder::new(job, owner, sum);
    section.for_each_row(from, to, |source, target| {
        let source = std::ptr::with_exposed_provenance(source as usize);
        let target = std::ptr::with_exposed_provenance_mut(target as usize);
        // SAFETY: the caller's promise.
        unsafe { adder.row(source, target, section.row) };
    });
    Ok(())
}

/// Accumulate the pieces of a vector call. All are checked before the first is touched.
///
/// # Errors
/// As for [`section`].
///
/// # Safety
/// As for [`section`], for each piece; the arrays must be as long as they say.
pub unsafe fn pieces(sum: Sum, entries: &[Vector], proc: i32) -> Result<()> {
    let job = job()?;
    // SAFETY: the caller's promise.
    unsafe { check_own_vectors(End::Target, entries) }?;
    for entry in entries {
        whole(sum, u64::try_from(entry.bytes).unwrap_or(0))?;
    }
    if let Some(far) = &job.far {
        let owner = job.process(proc)?;
        // SAFETY: the caller's promise.
        match unsafe { elsewhere::by_block(job, End::Target, entries, owner, |_, _, _| Ok(())) } {
            // SAFETY: the caller's promise.
            Ok(()) => return unsafe { pieces_far(job, far, sum, entries, owner) },
            Err(error) if far.is_elsewhere(owner) => return Err(error),
            // Not all are in blocks that all know: only processes of its node add to them.
            Err(_) => {}
        }
    }
    // SAFETY: the caller's promise.
    let owner = unsafe { check_vectors(job, End::Target, entries, proc) }?;
    let mut adder = Adder::new(job, owner, sum);
    for entry in entries {
        let add = |source: *mut u8, target: *mut u8, bytes: u64| {
            // SAFETY: the target has been checked, the source is the caller's.
            unsafe { adder.row(source, target, bytes) };
            Ok(())
        };
        // SAFETY: the caller's promise.
        unsafe { entry.for_each(add) }?;
    }
    Ok(())
}

/// Accumulate a section to a process of a job on several nodes. False: the target is no block that all know, so that only processes of its
/// node add to it.
///
/// # Errors
/// The process has failed, or memory of another node is no global memory.
///
/// # Safety
/// The source and the factor must be good.
#[cold]
#[inline(never)]
unsafe fn section_far(
    job: &Job,
    far: &Far,
    sum: Sum,
    section: &Section,
    (from, to): (u64, u64),
    proc: usize,
) -> Result<bool> {
    let extent = elsewhere::extent("dst", &section.target(to), proc)?;
    let position = match elsewhere::target_of(job, "dst", proc, &extent) {
        Ok(found) => found,
        Err(error) if far.is_elsewhere(proc) => return Err(error),
        Err(_) => return Ok(false),
    };
    // SAFETY: the caller's promise.
    let scaled = unsafe { sum.scaled(&section.source(from))? };
    let target = section.target(position.at.wrapping_add(to.wrapping_sub(extent.start)));
    far.add(&position, &target, &scaled, sum.kind.class())?;
    Ok(true)
}

/// As [`section_far`], of the pieces of a vector call, which are in blocks that all know.
///
/// # Errors
/// As for [`section_far`].
///
/// # Safety
/// As for [`section_far`]; the arrays must be as long as they say.
#[cold]
#[inline(never)]
unsafe fn pieces_far(job: &Job, far: &Far, sum: Sum, entries: &[Vector], proc: usize) -> Result<()> {
    let add = |block: &BlockTarget, there: &Layout<'_>, here: &Layout<'_>| {
        // SAFETY: the caller's promise.
        let scaled = unsafe { sum.scaled(here)? };
        Ok(far.add(block, there, &scaled, sum.kind.class())?)
    };
    // SAFETY: the caller's promise.
    unsafe { elsewhere::by_block(job, End::Target, entries, proc, add) }
}
