//! Copies of rows of bytes.

use std::ptr;

use crate::api::{Api, Copy2D, memory_type};
use crate::copy::{At, PORTION, copy, copy_at, count_copy, enqueue, is_reached, place_of};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::launch::{is_there, launch, parameter};
use crate::look::watched_driver;
use crate::place::{self, Place};
use crate::{Kind, Rows, Scratch};

/// Rows of so many bytes or more go by the driver's copy of rows, between two places that kernels reach.
const WIDE_ON_DEVICE: usize = 64 << 10;
/// The same between a device and host memory, where the other way is a second copy.
const WIDE_TO_HOST: usize = 4 << 10;
/// The largest pitch for the driver's copy of rows.
const LARGEST_PITCH: usize = i32::MAX as usize;

/// See [`crate::copy_rows`].
pub unsafe fn copy_rows(to: Rows<*mut u8>, from: Rows<*const u8>, width: usize, rows: usize) -> Result<()> {
    if width == 0 || rows == 0 {
        return Ok(());
    }
    let contiguous = |pitch: isize| usize::try_from(pitch) == Ok(width);
    if rows == 1 || contiguous(to.pitch) && contiguous(from.pitch) {
        // SAFETY: the caller's promise.
        return unsafe { copy(to.at, from.at, width * rows) };
    }
    let Some(api) = watched_driver() else {
        // SAFETY: the caller's promise.
        unsafe { rows_by_processor(to.at, to.pitch, from.at, from.pitch, width, rows) };
        return Ok(());
    };
    let job = RowsJob {
        api,
        to: At::of(api, to.at.expose_provenance())?,
        to_pitch: to.pitch,
        from: At::of(api, from.at.expose_provenance())?,
        from_pitch: from.pitch,
        width,
        rows,
    };
    // SAFETY: the caller's promise.
    unsafe { job.copy() }
}

/// # Safety
/// As for [`crate::copy_rows`], of host memory.
unsafe fn rows_by_processor(
    to: *mut u8,
    to_pitch: isize,
    from: *const u8,
    from_pitch: isize,
    width: usize,
    rows: usize,
) {
    for row in 0..rows as isize {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from.offset(row * from_pitch), to.offset(row * to_pitch), width) };
    }
}

/// Rows to be copied.
#[derive(Clone, Copy)]
pub struct RowsJob<'a> {
    pub api: &'a Api,
    pub to: At,
    pub to_pitch: isize,
    pub from: At,
    pub from_pitch: isize,
    pub width: usize,
    pub rows: usize,
}

impl RowsJob<'_> {
    /// # Safety
    /// As for [`crate::copy_rows`].
    pub unsafe fn copy(self) -> Result<()> {
        if self.to.is_host() && self.from.is_host() {
            // SAFETY: the caller's promise.
            unsafe {
                rows_by_processor(
                    self.to.mut_pointer(),
                    self.to_pitch,
                    self.from.mut_pointer(),
                    self.from_pitch,
                    self.width,
                    self.rows,
                );
            }
            return Ok(());
        }
        let place = place_of(self.api, &self.from.seen, &self.to.seen)?;
        let one_is_host = self.to.is_host() || self.from.is_host();
        let reached = is_reached(place, &self.to.seen) && is_reached(place, &self.from.seen);
        let wide = if reached { WIDE_ON_DEVICE } else { WIDE_TO_HOST };
        let has_kernel = || is_there(Kernel::Rows(self.unit() as u32), self.api, place);
        if (reached || one_is_host) && (self.width >= wide || !has_kernel()) {
            return self.by_driver(place);
        }
        if reached {
            return self.by_kernel(place);
        }
        // SAFETY: the caller's promise.
        unsafe { self.through_memory_between() }
    }

    /// The largest unit of a copy that addresses, pitches and width are multiples of, in bytes.
    fn unit(&self) -> usize {
        let all = self.to.address | self.from.address | self.width;
        let all = all | self.to_pitch.unsigned_abs() | self.from_pitch.unsigned_abs();
        1 << all.trailing_zeros().min(4)
    }

    /// The driver's copy of rows, or of each row where it does not take the pitches.
    fn by_driver(self, place: &Place) -> Result<()> {
        let pitch = |pitch: isize| {
            usize::try_from(pitch)
                .ok()
                .filter(|pitch| (self.width..=LARGEST_PITCH).contains(pitch))
        };
        count_copy(&self.to, &self.from, self.width * self.rows);
        let (Some(to_pitch), Some(from_pitch)) = (pitch(self.to_pitch), pitch(self.from_pitch)) else {
            return self.one_by_one(place);
        };
        let memory_type = |at: &At| {
            if at.is_host() {
                memory_type::HOST
            } else {
                memory_type::DEVICE
            }
        };
        let what = Copy2D {
            from_x: 0,
            from_y: 0,
            from_type: memory_type(&self.from),
            from_host: self.from.mut_pointer().cast(),
            from_device: self.from.driver(),
            from_array: ptr::null_mut(),
            from_pitch,
            to_x: 0,
            to_y: 0,
            to_type: memory_type(&self.to),
            to_host: self.to.mut_pointer().cast(),
            to_device: self.to.driver(),
            to_array: ptr::null_mut(),
            to_pitch,
            width: self.width,
            height: self.rows,
        };
        let copied = place.run(self.api, |lane| {
            // SAFETY: the caller of `copy` vouches for the memory; the driver checks addresses of devices.
            let answer = unsafe { (self.api.copy_2d)(&raw const what, lane.stream) };
            self.api.check(answer, "cuMemcpy2DAsync", || {
                format!(
                    "cannot copy {} rows of {} bytes from {:#x} to {:#x}",
                    self.rows, self.width, self.from.address, self.to.address
                )
            })
        });
        copied.or_else(|_| self.one_by_one(place))
    }

    fn one_by_one(self, place: &Place) -> Result<()> {
        place.run(self.api, |lane| {
            (0..self.rows as isize).try_for_each(|row| {
                let to = self.to.plus(row * self.to_pitch).driver();
                let from = self.from.plus(row * self.from_pitch).driver();
                enqueue(self.api, lane, to, from, self.width)
            })
        })
    }

    fn by_kernel(self, place: &Place) -> Result<()> {
        count_copy(&self.to, &self.from, self.width * self.rows);
        let unit = self.unit();
        let units = self.width / unit;
        let most = i32::MAX as usize / 2 / units;
        place.run(self.api, |lane| {
            for begin in (0..self.rows).step_by(most) {
                let rows = most.min(self.rows - begin);
                let mut to = self.to.plus(begin as isize * self.to_pitch).driver();
                let mut from = self.from.plus(begin as isize * self.from_pitch).driver();
                let (mut to_pitch, mut from_pitch) = (self.to_pitch as i64, self.from_pitch as i64);
                let (mut width, mut all) = (units as u32, (units * rows) as u32);
                let mut parameters = [
                    parameter(&mut to),
                    parameter(&mut to_pitch),
                    parameter(&mut from),
                    parameter(&mut from_pitch),
                    parameter(&mut width),
                    parameter(&mut all),
                ];
                // SAFETY: these are what the kernel takes; both memories are reached.
                unsafe {
                    launch(
                        Kernel::Rows(unit as u32),
                        self.api,
                        place,
                        lane,
                        u64::from(all),
                        &mut parameters,
                    )?
                };
            }
            Ok(())
        })
    }

    /// In portions, packed on the side that is read and unpacked on the side that is written. Where one side is host memory, kernels of the
    /// other read and write pinned memory there.
    unsafe fn through_memory_between(self) -> Result<()> {
        let rows_at_once = (PORTION / self.width).clamp(1, self.rows);
        let bytes = rows_at_once * self.width;
        let (packed_from, packed_to) = (self.beside(&self.from, bytes)?, self.beside(&self.to, bytes)?);
        let is_shared = |beside: &At, end: &At| end.is_host() && beside.seen.pinned;
        let (mut source, mut target) = (packed_from.1, packed_to.1);
        if is_shared(&source, &self.from) {
            target = source;
        } else if is_shared(&target, &self.to) {
            source = target;
        }
        let pitch = self.width as isize;
        for begin in (0..self.rows).step_by(rows_at_once) {
            let rows = rows_at_once.min(self.rows - begin);
            let row = begin as isize;
            // SAFETY: the caller's promise; the memory between has as many bytes.
            unsafe {
                Self {
                    to: source,
                    to_pitch: pitch,
                    from: self.from.plus(row * self.from_pitch),
                    rows,
                    ..self
                }
                .copy()?;
                if source.address != target.address {
                    copy_at(self.api, target, source, rows * self.width)?;
                }
                Self {
                    to: self.to.plus(row * self.to_pitch),
                    from: target,
                    from_pitch: pitch,
                    rows,
                    ..self
                }
                .copy()?;
            }
        }
        Ok(())
    }

    /// Memory for packed bytes beside an end: on its device, or pinned.
    fn beside(&self, end: &At, bytes: usize) -> Result<(Scratch, At)> {
        let scratch = match end.seen.kind {
            Kind::Host => Scratch::pinned(bytes)?,
            Kind::Device(device) | Kind::Managed(device) => {
                Scratch::in_place(self.api, place::of(self.api, device, end.seen.context)?, bytes)?
            }
        };
        let at = At::of(self.api, scratch.start().expose_provenance())?;
        Ok((scratch, at))
    }
}
