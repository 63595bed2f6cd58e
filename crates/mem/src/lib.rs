//! Memory by its kind, and one copier that moves bytes between any two kinds.
//!
//! A buffer that a program hands over may lie in host memory, or in memory of a CUDA device, which the processor cannot read. Everything
//! above asks here: what kind an address is of ([`kind_of`]), to copy ([`copy`], [`copy_rows`]), to combine by kernels ([`combine`]), to let
//! another process reach device memory ([`export`], [`map`]). The driver's library is opened at run time, and only if the process has
//! loaded it itself: a program without CUDA pays one predictable branch ([`Switch::Devices`]) and loads nothing.
//!
//! All calls may be made by any thread, with any current context or none; the program's current context is left as it is. They block until
//! the bytes are there, unless they say otherwise. The program's own streams are not waited for: as with every MPI, a program synchronises
//! before it hands over a buffer.
#![allow(unsafe_code)] // Calls of the driver, and memory of users.

mod api;
mod combine;
mod copy;
mod counts;
mod error;
mod ipc;
mod kernel;
mod launch;
mod look;
mod physical;
mod pieces;
mod place;
mod ptx;
#[cfg(test)]
mod ptx_machine;
mod ranges;
mod rows;
mod scratch;
mod survey;

use std::fmt;

use isthmus_os::switches::Switch;

pub use counts::{Counts, counts};
pub use error::{Error, Result};
pub use ipc::{MOST as MOST_MAPPINGS, Mapped};
pub use isthmus_os::device::has_driver;
pub use ranges::host_range;
pub use scratch::Scratch;
pub use survey::{DeviceFacts, Survey, survey};

/// A device, by the driver's ordinal in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device(pub u32);

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Memory that the processor reads and writes; pinned memory of the driver, too.
    Host,
    /// Memory of a device, which only copies of the driver reach.
    Device(Device),
    /// Memory that the driver moves to where it is accessed: the processor reads it, and so does each device. Where the processor must not
    /// touch it while a kernel runs, it is told as memory of the device.
    Managed(Device),
}

impl Kind {
    /// Can only the driver's copies reach it?
    pub fn is_device(self) -> bool {
        matches!(self, Self::Device(_))
    }
}

/// What kind of memory `address` lies in. An error if it lies in none, as far as that can be told: memory of a device that has been freed.
/// Without [`Switch::Devices`], and as long as the process has not loaded the driver's library, all is host memory.
#[inline]
pub fn kind_of(address: *const u8) -> Result<Kind> {
    if !Switch::Devices.is_on() || ranges::is_surely_host(address.addr()) {
        return Ok(Kind::Host);
    }
    look::kind_of(address.addr())
}

/// Copy `bytes` bytes from `from` to `to`, each of any kind. They must not overlap.
///
/// # Safety
/// `from` is readable and `to` writable for as many, by the processor or the driver.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { copy::copy(to, from, bytes) }
}

/// Bytes in rows: row i begins `i * pitch` bytes behind the first.
#[derive(Debug, Clone, Copy)]
pub struct Rows<P> {
    /// Where the first begins.
    pub at: P,
    /// Bytes from the begin of a row to that of the next; may be negative.
    pub pitch: isize,
}

/// Copy `rows` rows of `width` bytes each, between memory of any kinds.
///
/// # Safety
/// As for [`copy`], for each row.
pub unsafe fn copy_rows(to: Rows<*mut u8>, from: Rows<*const u8>, width: usize, rows: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { rows::copy_rows(to, from, width, rows) }
}

/// One piece of memory with gaps: `length` bytes, `offset` bytes behind the address that it is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Piece {
    /// May be negative.
    pub offset: i64,
    /// In bytes.
    pub length: u64,
}

/// Copy pieces of `memory`, in order, to `packed` (in a row), or with `unpack` the other way; of any kinds.
///
/// # Safety
/// As for [`copy`], for each piece.
pub unsafe fn copy_pieces(memory: *mut u8, pieces: &[Piece], packed: *mut u8, unpack: bool) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { pieces::copy_pieces(memory, pieces, packed, unpack) }
}

/// How another process of this machine reaches an allocation on a device: plain data, to be sent to it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Export {
    /// The driver's handle of the allocation (`CUipcMemHandle`), or where a descriptor of its physical memory is.
    pub handle: [u8; 64],
    /// The device, by its UUID.
    pub device: [u8; 16],
    /// The allocation's buffer id, or the id of its physical memory, in its process: another one, and the memory was freed since.
    pub buffer: u64,
    /// Where the allocation begins in its process: of two that overlap, the first was freed.
    pub base: u64,
    /// Where the bytes begin, from the allocation's.
    pub offset: u64,
    /// Bytes of the allocation.
    pub size: u64,
    /// 0: the handle is the driver's; 1: it says where a descriptor is. The allocation then is one mapping of physical memory: the next one, which
    /// may belong to the same buffer of the program, has another descriptor.
    pub is_descriptor: u64,
    /// Allocations that this process exported before and that have been freed since, the last ones, by their ids as in `buffer`; 0: none. [`map`]
    /// closes what it has of them.
    pub freed: [u64; FREED],
}

/// How many freed allocations an [`Export`] names.
pub const FREED: usize = 4;

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "byte {} of an allocation of {} bytes, buffer {}",
            self.offset, self.size, self.buffer
        )
    }
}

/// Let other processes reach the device memory at `address`. `None`: it cannot be exported (memory of a pool, or of virtual memory management
/// without descriptors, or the driver refuses). Kept: the second call for an allocation asks the driver for its buffer id only.
pub fn export(address: *const u8) -> Option<Export> {
    ipc::export(address)
}

/// Map what process `peer` (any number that names it in this process) has exported. The mapping is kept, bounded in number, and closed when
/// `peer` exports another buffer at its place, or by [`forget`], but not before the answer is dropped. `None`: it cannot be mapped (another
/// machine, container or device without peer access; this process uses no device). Of the peer's words, the size is checked, by the driver where it
/// maps a descriptor's memory; whether `offset` and what the caller reads lie in it is for the caller to check. Blocks while the driver maps.
pub fn map(peer: u64, export: &Export) -> Option<Mapped> {
    ipc::map(peer, export)
}

/// Close all mappings of `peer`.
pub fn forget(peer: u64) {
    ipc::forget(peer);
}

/// An operation of a reduction that has kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "MPI's names")]
pub enum Op {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Minloc,
    Maxloc,
}

/// A type of elements that kernels know. Complex numbers have components of so many bits. A pair of a value and where it was found is laid
/// out as C does, the value first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "Rust's names")]
pub enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    C32,
    C64,
    I16I32,
    I32I32,
    I64I32,
    F32I32,
    F64I32,
    F32F32,
    F64F64,
}

impl Number {
    /// All of them.
    pub const ALL: [Self; 21] = {
        use Number::*;
        [
            I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C32, C64, I16I32, I32I32, I64I32, F32I32,
            F64I32, F32F32, F64F64,
        ]
    };

    /// Of one element, with its padding.
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64
            | Self::U64
            | Self::F64
            | Self::C32
            | Self::I16I32
            | Self::I32I32
            | Self::F32I32
            | Self::F32F32 => 8,
            Self::C64 | Self::I64I32 | Self::F64I32 | Self::F64F64 => 16,
        }
    }
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 12] = {
        use Op::*;
        [Max, Min, Sum, Prod, Land, Band, Lor, Bor, Lxor, Bxor, Minloc, Maxloc]
    };
}

/// Is there a kernel for it?
pub fn combines(op: Op, number: Number) -> bool {
    combine::combines(op, number)
}

/// `result[i] = left[i] op right[i]` for `count` elements. `device` computes; memory that it does not reach (of other devices, of the host
/// and not pinned) goes through memory of its own. `result` may be `left` or `right`.
///
/// # Safety
/// All are good for as many elements.
pub unsafe fn combine(
    op: Op,
    number: Number,
    device: Device,
    result: *mut u8,
    left: *const u8,
    right: *const u8,
    count: usize,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { combine::combine(op, number, device, result, left, right, count) }
}
