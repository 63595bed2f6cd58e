//! Remote memory access (OpenSHMEM 1.6, "Remote Memory Access Routines"): copies to and from memory that this process maps, which are over when
//! they return, also the non-blocking ones. Memory of other nodes is reached by the engine (`far.rs`).

use std::ffi::{c_char, c_int, c_void};

use isthmus_engine::layout::{Layout, Level};

use crate::call::Call;
use crate::context::ContextHandle;
use crate::far::FarBlocks;
use crate::job::{Job, job};
use crate::numbers::Element;

/// Longer ones go by [`isthmus_engine::copy`], which knows what is beyond the caches.
const LONG: usize = 1 << 20;

/// By the C library's `memmove`, which knows what suits the processor at most lengths.
///
/// # Safety
/// Both must be good for that many bytes; they may overlap.
#[inline(always)]
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise; the long ones do not overlap.
    unsafe {
        match length >= LONG && from.addr().abs_diff(to.addr()) >= length {
            true => isthmus_engine::copy(from, to, length),
            false => std::ptr::copy(from, to, length),
        }
    }
}

/// Bytes of so many elements. Too many to be counted are too many for any object.
#[inline(always)]
fn bytes<T>(count: usize) -> usize {
    count.saturating_mul(size_of::<T>())
}

/// `shmem_put`
///
/// # Safety
/// `source` must have `nelems` elements.
#[inline]
pub unsafe fn put<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { put_with::<T, true>(call, ctx, dest, source, nelems, pe) };
}

/// `shmem_put_nbi`: to another node the source may change after a quiet.
///
/// # Safety
/// As for [`put`], until then.
#[inline]
pub unsafe fn put_nbi<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { put_with::<T, false>(call, ctx, dest, source, nelems, pe) };
}

/// # Safety
/// As for [`put`] or, if it does not wait, [`put_nbi`].
#[inline(always)]
unsafe fn put_with<T: Element, const WAITS: bool>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    let job = job(call);
    let pe = ctx.pe(job, call, pe);
    call.check_host("source", source);
    let length = bytes::<T>(nelems);
    let Some(to) = job.near(dest.addr(), length, pe) else {
        // SAFETY: the caller's promise.
        return unsafe {
            job.remote_memory(|far| ctx.far(far, call))
                .put(call, dest.addr(), source.cast(), length, pe, WAITS)
        };
    };
    // SAFETY: the range is symmetric memory; the source is the caller's promise.
    unsafe { copy_bytes(source.cast(), std::ptr::with_exposed_provenance_mut(to), length) };
    job.tell_of_write(pe);
}

/// `shmem_get`
///
/// # Safety
/// `dest` must have room for `nelems` elements.
#[inline]
pub unsafe fn get<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { get_with::<T, true>(call, ctx, dest, source, nelems, pe) };
}

/// `shmem_get_nbi`: from another node the elements are there after a quiet.
///
/// # Safety
/// As for [`get`], until then.
#[inline]
pub unsafe fn get_nbi<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { get_with::<T, false>(call, ctx, dest, source, nelems, pe) };
}

/// # Safety
/// As for [`get`] or, if it does not wait, [`get_nbi`].
#[inline(always)]
unsafe fn get_with<T: Element, const WAITS: bool>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) {
    let job = job(call);
    let pe = ctx.pe(job, call, pe);
    call.check_host("dest", dest);
    let length = bytes::<T>(nelems);
    let Some(from) = job.near(source.addr(), length, pe) else {
        // SAFETY: the caller's promise.
        return unsafe {
            job.remote_memory(|far| ctx.far(far, call))
                .get(call, dest.cast(), source.addr(), length, pe, WAITS)
        };
    };
    // SAFETY: the range is symmetric memory; the destination is the caller's promise.
    unsafe { copy_bytes(std::ptr::with_exposed_provenance(from), dest.cast(), length) };
}

/// `shmem_p`: a store.
///
/// # Safety
/// None is needed.
#[inline]
pub unsafe fn p<T: Element>(call: Call, ctx: ContextHandle, dest: *mut T, value: T, pe: c_int) {
    let job = job(call);
    let pe = ctx.pe(job, call, pe);
    let Some(to) = job.near(dest.addr(), size_of::<T>(), pe) else {
        // SAFETY: the value is here.
        return unsafe {
            job.remote_memory(|far| ctx.far(far, call)).put(
                call,
                dest.addr(),
                (&raw const value).cast(),
                size_of::<T>(),
                pe,
                true,
            )
        };
    };
    let to = std::ptr::with_exposed_provenance_mut::<T>(to);
    // SAFETY: the range is symmetric memory. Volatile: somebody may poll it.
    unsafe {
        if to.is_aligned() {
            to.write_volatile(value);
        } else {
            to.write_unaligned(value);
        }
    }
    job.tell_of_write(pe);
}

/// `shmem_g`: a load.
///
/// # Safety
/// None is needed.
#[inline]
pub unsafe fn g<T: Element>(call: Call, ctx: ContextHandle, source: *const T, pe: c_int) -> T {
    let job = job(call);
    let pe = ctx.pe(job, call, pe);
    let Some(from) = job.near(source.addr(), size_of::<T>(), pe) else {
        let mut value = std::mem::MaybeUninit::<T>::uninit();
        // SAFETY: there is room for an element, which is there afterwards.
        return unsafe {
            job.remote_memory(|far| ctx.far(far, call)).get(
                call,
                value.as_mut_ptr().cast(),
                source.addr(),
                size_of::<T>(),
                pe,
                true,
            );
            value.assume_init()
        };
    };
    let from = std::ptr::with_exposed_provenance::<T>(from);
    // SAFETY: the range is symmetric memory. Volatile: it may change at any time.
    unsafe {
        if from.is_aligned() {
            from.read_volatile()
        } else {
            from.read_unaligned()
        }
    }
}

/// Elements in blocks: `blocks` of `length` each, their beginnings a stride apart.
#[derive(Clone, Copy)]
struct Blocks {
    to_stride: isize,
    from_stride: isize,
    length: usize,
    count: usize,
}

impl Blocks {
    /// The first and the last byte that a stride reaches, relative to the first block, of elements of `width` bytes.
    fn span(self, call: Call, stride: isize, width: usize) -> (isize, usize) {
        let spans = || {
            let last = isize::try_from(self.count - 1).ok()?.checked_mul(stride)?;
            let last = last.checked_mul(isize::try_from(width).ok()?)?;
            let length = self.length.checked_mul(width)?;
            let before = last.min(0);
            let total = last.unsigned_abs().checked_add(length)?;
            Some((before, total))
        };
        spans().unwrap_or_else(|| {
            call.refuse(format!(
                "{} blocks with stride {stride} reach beyond any memory",
                self.count
            ))
        })
    }

    /// # Safety
    /// Both must be good for all blocks.
    #[inline(always)]
    unsafe fn copy<T: Element>(self, to: *mut T, from: *const T) {
        for block in 0..self.count {
            let block = block.cast_signed();
            let to = to.wrapping_offset(block * self.to_stride);
            let from = from.wrapping_offset(block * self.from_stride);
            // SAFETY: the caller's promise.
            unsafe {
                if self.length == 1 {
                    to.write_unaligned(from.read_unaligned());
                } else {
                    copy_bytes(from.cast(), to.cast(), self.length * size_of::<T>());
                }
            }
        }
    }

    /// What its blocks of symmetric memory are, of elements of `T`, a `stride` apart from `address` on.
    fn at<T>(self, call: Call, address: usize, stride: isize) -> FarBlocks {
        let (before, length) = self.span(call, stride, size_of::<T>());
        FarBlocks {
            first: address.wrapping_add_signed(before),
            length,
            begin: before.unsigned_abs(),
            block: self.length * size_of::<T>(),
            level: [self.level::<T>(stride)],
        }
    }

    fn level<T>(self, stride: isize) -> Level {
        Level {
            count: self.count as u64,
            stride: (stride * size_of::<T>().cast_signed()) as i64,
        }
    }
}

fn put_blocks<T: Element>(
    job: &Job,
    (call, ctx): (Call, ContextHandle),
    dest: *mut T,
    source: *const T,
    blocks: Blocks,
    pe: u32,
) {
    if blocks.count == 0 || blocks.length == 0 {
        return;
    }
    call.check_host("source", source);
    let there = blocks.at::<T>(call, dest.addr(), blocks.to_stride);
    let Some(first) = job.near(there.first, there.length, pe) else {
        let levels = [blocks.level::<T>(blocks.from_stride)];
        let from = Layout::strided(source.expose_provenance() as u64, there.block as u64, &levels);
        // SAFETY: the caller's promise.
        return unsafe {
            job.remote_memory(|far| ctx.far(far, call))
                .put_blocks(call, &there, &from, pe)
        };
    };
    let to = std::ptr::with_exposed_provenance_mut::<u8>(first + there.begin);
    // SAFETY: the range is symmetric memory; the source is the caller's promise.
    unsafe { blocks.copy(to.cast::<T>(), source) };
    job.tell_of_write(pe);
}

fn get_blocks<T: Element>(
    job: &Job,
    (call, ctx): (Call, ContextHandle),
    dest: *mut T,
    source: *const T,
    blocks: Blocks,
    pe: u32,
) {
    if blocks.count == 0 || blocks.length == 0 {
        return;
    }
    call.check_host("dest", dest);
    let there = blocks.at::<T>(call, source.addr(), blocks.from_stride);
    let Some(first) = job.near(there.first, there.length, pe) else {
        let levels = [blocks.level::<T>(blocks.to_stride)];
        let into = Layout::strided(dest.expose_provenance() as u64, there.block as u64, &levels);
        // SAFETY: the caller's promise.
        return unsafe {
            job.remote_memory(|far| ctx.far(far, call))
                .get_blocks(call, &into, &there, pe)
        };
    };
    let from = std::ptr::with_exposed_provenance::<u8>(first + there.begin);
    // SAFETY: the range is symmetric memory; the destination is the caller's promise.
    unsafe { blocks.copy(dest, from.cast::<T>()) };
}

/// `shmem_iput`
///
/// # Safety
/// `source` must have all elements.
pub unsafe fn iput<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    pe: c_int,
) {
    let job = job(call);
    let blocks = Blocks {
        to_stride: dst,
        from_stride: sst,
        length: 1,
        count: nelems,
    };
    put_blocks(job, (call, ctx), dest, source, blocks, ctx.pe(job, call, pe));
}

/// `shmem_iget`
///
/// # Safety
/// `dest` must have room for all elements.
pub unsafe fn iget<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    pe: c_int,
) {
    let job = job(call);
    let blocks = Blocks {
        to_stride: dst,
        from_stride: sst,
        length: 1,
        count: nelems,
    };
    get_blocks(job, (call, ctx), dest, source, blocks, ctx.pe(job, call, pe));
}

/// `shmem_ibput`: strides and sizes of blocks are in elements.
///
/// # Safety
/// `source` must have all blocks.
pub unsafe fn ibput<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    let job = job(call);
    let blocks = Blocks {
        to_stride: dst,
        from_stride: sst,
        length: bsize,
        count: nblocks,
    };
    put_blocks(job, (call, ctx), dest, source, blocks, ctx.pe(job, call, pe));
}

/// `shmem_ibget`
///
/// # Safety
/// `dest` must have room for all blocks.
pub unsafe fn ibget<T: Element>(
    call: Call,
    ctx: ContextHandle,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) {
    let job = job(call);
    let blocks = Blocks {
        to_stride: dst,
        from_stride: sst,
        length: bsize,
        count: nblocks,
    };
    get_blocks(job, (call, ctx), dest, source, blocks, ctx.pe(job, call, pe));
}

/// The name that C passed.
///
/// # Safety
/// It must be a string literal of `long_double.c`.
unsafe fn named(name: *const c_char) -> Call {
    // SAFETY: the caller's promise.
    let name: &'static std::ffi::CStr = unsafe { std::ffi::CStr::from_ptr(name) };
    Call(name.to_str().unwrap_or("shmem_longdouble"))
}

/// `shmem_longdouble_p`, from `long_double.c`.
///
/// # Safety
/// As for [`put`].
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn isthmus_shmem_long_double_put(
    name: *const c_char,
    ctx: ContextHandle,
    dest: *mut c_void,
    source: *const c_void,
    pe: c_int,
) {
    // SAFETY: `long_double.c` passes a literal, and a value of its own.
    unsafe { put::<[u64; 2]>(named(name), ctx, dest.cast(), source.cast(), 1, pe) };
}

/// `shmem_longdouble_g`, from `long_double.c`.
///
/// # Safety
/// As for [`get`].
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn isthmus_shmem_long_double_get(
    name: *const c_char,
    ctx: ContextHandle,
    dest: *mut c_void,
    source: *const c_void,
    pe: c_int,
) {
    // SAFETY: as above.
    unsafe { get::<[u64; 2]>(named(name), ctx, dest.cast(), source.cast(), 1, pe) };
}
