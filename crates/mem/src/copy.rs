//! Copies between memory of any two kinds: contiguous, in rows, and by pieces.

use std::ptr;

use crate::api::{Address, Api, Copy2D, Object, UNIFIED};
use crate::counts::{COUNTS, count};
use crate::error::Result;
use crate::kernels::{Entry, Kernel, Way, parameter};
use crate::look::{Seen, look, watched_driver};
use crate::place::{self, BOUNCE, Lane, Place};
use crate::{Kind, Piece, Rows, Scratch};

use std::sync::atomic::Ordering;

/// Rows of so many bytes or more go by the driver's copy of rows, between two places that kernels reach.
const WIDE_ON_DEVICE: usize = 64 << 10;
/// The same between a device and host memory, where the other way is a second copy.
const WIDE_TO_HOST: usize = 4 << 10;
/// The largest pitch for the driver's copy of rows.
const LARGEST_PITCH: usize = i32::MAX as usize;
/// Bytes that go through memory between at a time.
const PORTION: usize = 32 << 20;
/// Pieces that are copied one by one without a kernel: this many, or if they are long.
const FEW_PIECES: usize = 4;
/// Bytes of a long piece.
const LONG_PIECE: usize = 256 << 10;
/// Pieces are divided, so that a warp has no more than this to copy.
const LONGEST_ENTRY: usize = 16 << 10;
/// Entries of one kernel.
const MOST_ENTRIES: usize = 32 << 10;
/// So few entries are read by the kernel where the processor has written them.
const FEW_ENTRIES: usize = 64;

/// An address and what it is.
#[derive(Debug, Clone, Copy)]
struct At {
    address: usize,
    seen: Seen,
}

impl At {
    fn of(api: &Api, address: usize) -> Result<Self> {
        Ok(Self {
            address,
            seen: look(api, address)?,
        })
    }

    fn is_host(&self) -> bool {
        self.seen.kind == Kind::Host
    }

    fn driver(&self) -> Address {
        self.address as Address
    }

    fn mut_pointer(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.address)
    }

    fn plus(self, offset: isize) -> Self {
        Self {
            address: self.address.wrapping_add_signed(offset),
            ..self
        }
    }
}

/// Memory on a device or between, as an end of a copy.
fn scratch_at(scratch: &Scratch, seen: Seen) -> At {
    At {
        address: scratch.start().expose_provenance(),
        seen,
    }
}

/// Can a kernel of this place access it?
pub fn is_reached(place: &Place, seen: &Seen) -> bool {
    match seen.kind {
        Kind::Host => seen.pinned,
        Kind::Managed(_) => true,
        Kind::Device(_) if !seen.context.is_null() => seen.context == place.context,
        Kind::Device(device) => device == place.device,
    }
}

/// Where the copy is done: in the context of the device's memory; of two, where it is read.
fn place_of(api: &Api, from: &Seen, to: &Seen) -> Result<&'static Place> {
    for seen in [from, to] {
        if let Kind::Device(device) = seen.kind {
            return place::of(api, device, seen.context);
        }
    }
    match (from.kind, to.kind) {
        (Kind::Managed(device), _) | (_, Kind::Managed(device)) => place::of(api, device, ptr::null_mut()),
        _ => unreachable!("a copy in host memory is the processor's"),
    }
}

/// See [`crate::copy`].
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let Some(api) = watched_driver() else {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        return Ok(());
    };
    let from = At::of(api, from.expose_provenance())?;
    let to = At::of(api, to.expose_provenance())?;
    // SAFETY: the caller's promise.
    unsafe { copy_at(api, to, from, bytes) }
}

unsafe fn copy_at(api: &Api, to: At, from: At, bytes: usize) -> Result<()> {
    if to.is_host() && from.is_host() {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from.mut_pointer(), to.mut_pointer(), bytes) };
        return Ok(());
    }
    count_copy(&to, &from, bytes);
    let place = place_of(api, &from.seen, &to.seen)?;
    let short = bytes <= BOUNCE;
    if short && to.is_host() && !to.seen.pinned {
        return place.run(api, |lane| {
            let between = lane.pinned.expose_provenance() as Address;
            enqueue(api, lane, between, from.driver(), bytes)?;
            place.wait(api, lane)?;
            // SAFETY: a lane's buffer has as many bytes; the caller's promise.
            unsafe { ptr::copy_nonoverlapping(lane.pinned, to.mut_pointer(), bytes) };
            Ok(())
        });
    }
    place.run(api, |lane| {
        let mut source = from.driver();
        if short && from.is_host() && !from.seen.pinned {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(from.mut_pointer(), lane.pinned, bytes) };
            source = lane.pinned.expose_provenance() as Address;
        }
        enqueue(api, lane, to.driver(), source, bytes)
    })
}

fn count_copy(to: &At, from: &At, bytes: usize) {
    let (copies, all) = match (from.is_host(), to.is_host()) {
        (false, true) => (&COUNTS.copies_to_host, &COUNTS.bytes_to_host),
        (true, false) => (&COUNTS.copies_to_device, &COUNTS.bytes_to_device),
        _ => (&COUNTS.copies_on_device, &COUNTS.bytes_on_device),
    };
    count(copies);
    all.fetch_add(bytes as u64, Ordering::Relaxed);
}

fn enqueue(api: &Api, lane: &Lane, to: Address, from: Address, bytes: usize) -> Result<()> {
    // SAFETY: whoever made the addresses vouches for them; the driver checks those of devices.
    let answer = unsafe { (api.copy)(to, from, bytes, lane.stream) };
    api.check(answer, "cuMemcpyAsync", || {
        format!("cannot copy {bytes} bytes from {from:#x} to {to:#x}")
    })
}

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
struct RowsJob<'a> {
    api: &'a Api,
    to: At,
    to_pitch: isize,
    from: At,
    from_pitch: isize,
    width: usize,
    rows: usize,
}

impl RowsJob<'_> {
    /// # Safety
    /// As for [`crate::copy_rows`].
    unsafe fn copy(self) -> Result<()> {
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
        let by_kernel = is_reached(place, &self.to.seen) && is_reached(place, &self.from.seen);
        let wide = if by_kernel { WIDE_ON_DEVICE } else { WIDE_TO_HOST };
        if self.width >= wide {
            return self.by_driver(place);
        }
        if by_kernel {
            return self.by_kernel(place);
        }
        // SAFETY: the caller's promise.
        unsafe { self.through_memory_between() }
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
            return place.run(self.api, |lane| {
                (0..self.rows as isize).try_for_each(|row| {
                    let to = self.to.plus(row * self.to_pitch).driver();
                    let from = self.from.plus(row * self.from_pitch).driver();
                    enqueue(self.api, lane, to, from, self.width)
                })
            });
        };
        let what = Copy2D {
            from_x: 0,
            from_y: 0,
            from_type: UNIFIED,
            from_host: ptr::null(),
            from_device: self.from.driver(),
            from_array: ptr::null_mut(),
            from_pitch,
            to_x: 0,
            to_y: 0,
            to_type: UNIFIED,
            to_host: ptr::null_mut(),
            to_device: self.to.driver(),
            to_array: ptr::null_mut(),
            to_pitch,
            width: self.width,
            height: self.rows,
        };
        place.run(self.api, |lane| {
            // SAFETY: the caller of `copy` vouches for the memory; the driver checks addresses of devices.
            let answer = unsafe { (self.api.copy_2d)(&raw const what, lane.stream) };
            self.api.check(answer, "cuMemcpy2DAsync", || {
                format!(
                    "cannot copy {} rows of {} bytes from {:#x} to {:#x}",
                    self.rows, self.width, self.from.address, self.to.address
                )
            })
        })
    }

    fn by_kernel(self, place: &Place) -> Result<()> {
        count_copy(&self.to, &self.from, self.width * self.rows);
        let unit = [16, 8, 4, 2]
            .into_iter()
            .find(|unit| {
                let all = self.to.address | self.from.address | self.width;
                (all | self.to_pitch.unsigned_abs() | self.from_pitch.unsigned_abs()) % unit == 0
            })
            .unwrap_or(1);
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
                unsafe { Kernel::Rows(unit as u32).launch(self.api, place, lane, u64::from(all), &mut parameters)? };
            }
            Ok(())
        })
    }

    /// In portions, packed on the side that is read and unpacked on the side that is written; host memory's side is pinned memory.
    unsafe fn through_memory_between(self) -> Result<()> {
        let rows_at_once = (PORTION / self.width).clamp(1, self.rows);
        let bytes = rows_at_once * self.width;
        let (packed_from, packed_to) = (
            between(self.api, &self.from.seen, bytes)?,
            between(self.api, &self.to.seen, bytes)?,
        );
        let one_is_host = self.from.is_host() || self.to.is_host();
        // Where one side is host memory, kernels of the other read and write its pinned memory.
        let source = if self.from.is_host() || !one_is_host {
            &packed_from
        } else {
            &packed_to
        };
        let target = if self.to.is_host() || !one_is_host {
            &packed_to
        } else {
            &packed_from
        };
        let (source, target) = (source.at(self.api)?, target.at(self.api)?);
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
}

/// Memory for packed bytes beside memory of this kind.
struct Between {
    scratch: Scratch,
}

impl Between {
    fn at(&self, api: &Api) -> Result<At> {
        At::of(api, self.scratch.start().expose_provenance())
    }
}

fn between(api: &Api, seen: &Seen, bytes: usize) -> Result<Between> {
    let scratch = match seen.kind {
        Kind::Host => Scratch::pinned(bytes)?,
        Kind::Device(device) | Kind::Managed(device) => {
            Scratch::in_place(api, place::of(api, device, seen.context)?, bytes)?
        }
    };
    Ok(Between { scratch })
}

/// See [`crate::copy_pieces`].
pub unsafe fn copy_pieces(memory: *mut u8, pieces: &[Piece], packed: *mut u8, unpack: bool) -> Result<()> {
    let Some(first) = pieces.iter().find(|piece| piece.length != 0) else {
        return Ok(());
    };
    let Some(api) = watched_driver() else {
        // SAFETY: the caller's promise.
        unsafe { pieces_by_processor(memory, pieces, packed, unpack) };
        return Ok(());
    };
    let base = memory.expose_provenance();
    let seen = look(api, base.wrapping_add_signed(first.offset as isize))?;
    let job = PiecesJob {
        api,
        memory: At { address: base, seen },
        packed: At::of(api, packed.expose_provenance())?,
        unpack,
    };
    // SAFETY: the caller's promise.
    unsafe { job.copy(pieces) }
}

/// # Safety
/// As for [`crate::copy_pieces`], of host memory.
unsafe fn pieces_by_processor(memory: *mut u8, pieces: &[Piece], mut packed: *mut u8, unpack: bool) {
    for piece in pieces {
        let length = piece.length as usize;
        // SAFETY: the caller's promise.
        unsafe {
            let at = memory.wrapping_offset(piece.offset as isize);
            if unpack {
                ptr::copy_nonoverlapping(packed, at, length);
            } else {
                ptr::copy_nonoverlapping(at, packed, length);
            }
            packed = packed.add(length);
        }
    }
}

/// Pieces all of one length and distance, as rows: where they begin, how far they are apart, and how long they are.
fn as_rows(pieces: &[Piece]) -> Option<(i64, i64, u64)> {
    let [first, second, ..] = pieces else { return None };
    let pitch = second.offset.checked_sub(first.offset)?;
    pieces
        .windows(2)
        .all(|pair| pair[0].length == pair[1].length && pair[1].offset.checked_sub(pair[0].offset) == Some(pitch))
        .then_some((first.offset, pitch, first.length))
}

/// Memory with gaps, and packed bytes.
#[derive(Clone, Copy)]
struct PiecesJob<'a> {
    api: &'a Api,
    memory: At,
    packed: At,
    unpack: bool,
}

impl PiecesJob<'_> {
    /// # Safety
    /// As for [`crate::copy_pieces`].
    unsafe fn copy(self, pieces: &[Piece]) -> Result<()> {
        if self.memory.is_host() && self.packed.is_host() {
            // SAFETY: the caller's promise.
            unsafe {
                pieces_by_processor(
                    self.memory.mut_pointer(),
                    pieces,
                    self.packed.mut_pointer(),
                    self.unpack,
                )
            };
            return Ok(());
        }
        if let Some((offset, pitch, width)) = as_rows(pieces) {
            let memory = self.memory.plus(offset as isize);
            let (width, pitch) = (width as usize, pitch as isize);
            let (to, to_pitch, from, from_pitch) = match self.unpack {
                true => (memory, pitch, self.packed, width as isize),
                false => (self.packed, width as isize, memory, pitch),
            };
            let job = RowsJob {
                api: self.api,
                to,
                to_pitch,
                from,
                from_pitch,
                width,
                rows: pieces.len(),
            };
            // SAFETY: the same bytes.
            return unsafe { job.copy() };
        }
        let bytes: usize = pieces.iter().map(|piece| piece.length as usize).sum();
        if pieces.len() <= FEW_PIECES || bytes / pieces.len() >= LONG_PIECE {
            return self.one_by_one(pieces, bytes);
        }
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory.is_host() {
                true => self.by_processor_and_copy(pieces),
                false => self.by_kernel(pieces),
            }
        }
    }

    fn one_by_one(self, pieces: &[Piece], bytes: usize) -> Result<()> {
        let (to, from) = self.ends();
        count_copy(&to, &from, bytes);
        let place = place_of(self.api, &from.seen, &to.seen)?;
        place.run(self.api, |lane| {
            let mut packed = self.packed.driver();
            for piece in pieces.iter().filter(|piece| piece.length != 0) {
                let memory = self.memory.plus(piece.offset as isize).driver();
                let (to, from) = if self.unpack {
                    (memory, packed)
                } else {
                    (packed, memory)
                };
                enqueue(self.api, lane, to, from, piece.length as usize)?;
                packed += piece.length;
            }
            Ok(())
        })
    }

    fn ends(&self) -> (At, At) {
        if self.unpack {
            (self.memory, self.packed)
        } else {
            (self.packed, self.memory)
        }
    }

    /// The memory with gaps is the host's, the packed bytes are a device's.
    unsafe fn by_processor_and_copy(self, pieces: &[Piece]) -> Result<()> {
        let total: usize = pieces.iter().map(|piece| piece.length as usize).sum();
        let scratch = Scratch::pinned(total.min(PORTION))?;
        let between = At::of(self.api, scratch.start().expose_provenance())?;
        let mut packed = self.packed;
        for portion in portions(pieces, PORTION, usize::MAX) {
            let bytes: usize = portion.iter().map(|piece| piece.length as usize).sum();
            let memory = self.memory.mut_pointer();
            // SAFETY: the caller's promise; the memory between has as many bytes.
            unsafe {
                if self.unpack {
                    copy_at(self.api, between, packed, bytes)?;
                    pieces_by_processor(memory, &portion, scratch.start(), true);
                } else {
                    pieces_by_processor(memory, &portion, scratch.start(), false);
                    copy_at(self.api, packed, between, bytes)?;
                }
            }
            packed = packed.plus(bytes as isize);
        }
        Ok(())
    }

    /// The memory with gaps is a device's. Packed bytes that its kernels do not reach go through memory on the device.
    unsafe fn by_kernel(self, pieces: &[Piece]) -> Result<()> {
        let place = match self.memory.seen.kind {
            Kind::Device(device) | Kind::Managed(device) => place::of(self.api, device, self.memory.seen.context)?,
            Kind::Host => unreachable!("memory with gaps of the host is the processor's"),
        };
        let total: usize = pieces.iter().map(|piece| piece.length as usize).sum();
        let reached = is_reached(place, &self.packed.seen);
        let scratch = match reached {
            true => None,
            false => Some(Scratch::in_place(self.api, place, total.min(PORTION))?),
        };
        let between = scratch.as_ref().map(|scratch| scratch_at(scratch, self.memory.seen));
        let mut packed = self.packed;
        let portion_bytes = if reached { usize::MAX } else { PORTION };
        for portion in portions(pieces, portion_bytes, MOST_ENTRIES) {
            let bytes: usize = portion.iter().map(|piece| piece.length as usize).sum();
            let kernels_end = between.unwrap_or(packed);
            if let Some(between) = between
                && self.unpack
            {
                // SAFETY: the caller's promise; the memory between has as many bytes.
                unsafe { copy_at(self.api, between, packed, bytes)? };
            }
            self.run_kernel(place, &portion, kernels_end)?;
            if let Some(between) = between
                && !self.unpack
            {
                // SAFETY: as above.
                unsafe { copy_at(self.api, packed, between, bytes)? };
            }
            packed = packed.plus(bytes as isize);
        }
        Ok(())
    }

    fn run_kernel(self, place: &Place, pieces: &[Piece], packed: At) -> Result<()> {
        let mut position = 0;
        let entries: Vec<Entry> = pieces
            .iter()
            .map(|piece| {
                let entry = Entry {
                    offset: piece.offset,
                    position,
                    length: piece.length,
                };
                position += piece.length;
                entry
            })
            .collect();
        let (to, from) = self.ends();
        count_copy(&to, &from, position as usize);
        let bytes = size_of_val(entries.as_slice());
        let few = entries.len() <= FEW_ENTRIES;
        let (pinned, on_device) = match few {
            true => (None, None),
            false => (
                Some(Scratch::pinned(bytes)?),
                Some(Scratch::in_place(self.api, place, bytes)?),
            ),
        };
        place.run(self.api, |lane| {
            let written = pinned.as_ref().map_or(lane.pinned, Scratch::start);
            // SAFETY: it has as many bytes, and nobody else uses it.
            unsafe { ptr::copy_nonoverlapping(entries.as_ptr().cast(), written, bytes) };
            let mut read = written.expose_provenance() as Address;
            if let Some(on_device) = &on_device {
                let to = on_device.start().expose_provenance() as Address;
                enqueue(self.api, lane, to, read, bytes)?;
                read = to;
            }
            let (mut memory, mut packed, mut count) = (self.memory.driver(), packed.driver(), entries.len() as u32);
            let mut parameters = [
                parameter(&mut memory),
                parameter(&mut read),
                parameter(&mut packed),
                parameter(&mut count),
            ];
            let way = if self.unpack { Way::Scatter } else { Way::Gather };
            let threads = 32 * u64::from(count);
            // SAFETY: these are what the kernel takes; the memory is reached.
            unsafe { Kernel::Pieces(way).launch(self.api, place, lane, threads, &mut parameters) }
        })
    }
}

/// Pieces in portions of at most so many bytes and entries, each entry at most [`LONGEST_ENTRY`] bytes.
fn portions(pieces: &[Piece], most_bytes: usize, most_entries: usize) -> impl Iterator<Item = Vec<Piece>> {
    let mut left = pieces.iter().copied();
    let mut rest: Option<Piece> = None;
    std::iter::from_fn(move || {
        let mut portion = Vec::new();
        let mut room = most_bytes as u64;
        while portion.len() < most_entries && room > 0 {
            let Some(piece) = rest.take().or_else(|| left.find(|piece| piece.length != 0)) else {
                break;
            };
            let length = piece.length.min(LONGEST_ENTRY as u64).min(room);
            portion.push(Piece { length, ..piece });
            room -= length;
            if length < piece.length {
                rest = Some(Piece {
                    offset: piece.offset + length as i64,
                    length: piece.length - length,
                });
            }
        }
        (!portion.is_empty()).then_some(portion)
    })
}

/// An end of a kernel's work that the device reaches and whose elements are aligned, or memory on the device in its stead.
pub struct Reached {
    scratch: Option<Scratch>,
    at: At,
}

impl Reached {
    pub fn of(api: &Api, place: &Place, address: usize, seen: Seen, aligned_to: usize, bytes: usize) -> Result<Self> {
        let scratch = match is_reached(place, &seen) && address % aligned_to == 0 {
            true => None,
            false => Some(Scratch::in_place(api, place, bytes)?),
        };
        Ok(Self {
            scratch,
            at: At { address, seen },
        })
    }

    /// Is it used as it is?
    pub fn is_direct(&self) -> bool {
        self.scratch.is_none()
    }

    /// Where the kernel works; `offset` bytes behind the first.
    pub fn address(&self, offset: usize) -> Address {
        match &self.scratch {
            Some(scratch) => scratch.start().expose_provenance() as Address,
            None => (self.at.address + offset) as Address,
        }
    }

    /// Bring `bytes` bytes, `offset` bytes behind the first, to where the kernel works, or with `back` from there.
    ///
    /// # Safety
    /// The memory has as many, and so has that on the device.
    pub unsafe fn bring(&self, api: &Api, context: Object, offset: usize, bytes: usize, back: bool) -> Result<()> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        let own = self.at.plus(offset as isize);
        let mut between = scratch_at(scratch, self.at.seen);
        between.seen = look(api, between.address)?;
        between.seen.context = context;
        let (to, from) = if back { (own, between) } else { (between, own) };
        // SAFETY: the caller's promise.
        unsafe { copy_at(api, to, from, bytes) }
    }
}
