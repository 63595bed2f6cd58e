//! Buffers in memory of a device, which the processor cannot read.
//!
//! Point-to-point messages are packed and unpacked there piece by piece, as elements with gaps are ([`crate::p2p`]). Other calls work on a
//! [`Mirror`]: a copy of the elements in host memory, filled before the call's work and written back after it.

mod combine;

use std::ops::Range;
use std::sync::Arc;

use isthmus_datatype::Type;
use isthmus_engine::{counters, device};
use isthmus_mem::{self as mem, Kind};
use isthmus_os::switches::Switch;

use crate::error::{Error, Result, room};
use crate::fail;

pub(crate) use combine::Combine;

/// What kind of memory `address` lies in.
#[inline(always)]
pub(crate) fn kind_of(argument: &str, address: *const u8) -> Result<Kind> {
    match Switch::Devices.is_on() {
        false => Ok(Kind::Host),
        true => ask(argument, address),
    }
}

#[cold]
fn ask(argument: &str, address: *const u8) -> Result<Kind> {
    mem::kind_of(address).map_err(|error| fail!(Buffer, "{argument}={address:?}: {error}"))
}

/// A copy to or from a device went wrong.
#[cold]
pub(crate) fn failed(error: &mem::Error) -> Error {
    fail!(Other, "{error}")
}

/// Pack bytes `range` of the `count * size` bytes of the elements at `buffer`, in memory of a device, to `to`, in memory of any kind.
///
/// # Safety
/// The elements must be readable by the driver, and `to` writable for as many bytes.
pub(crate) unsafe fn pack(
    datatype: &Type,
    buffer: *const u8,
    count: i64,
    range: Range<u64>,
    to: *mut u8,
) -> mem::Result<()> {
    datatype.with_places(buffer.expose_provenance() as u64, count, |places| {
        // SAFETY: the caller's promise.
        unsafe { device::pack(places, range, to) }
    })
}

/// The reverse of [`pack`].
///
/// # Safety
/// The elements must be writable by the driver, and `from` readable for as many bytes.
pub(crate) unsafe fn unpack(
    datatype: &Type,
    buffer: *mut u8,
    count: i64,
    range: Range<u64>,
    from: *const u8,
) -> mem::Result<()> {
    datatype.with_places(buffer.expose_provenance() as u64, count, |places| {
        // SAFETY: the caller's promise.
        unsafe { device::unpack(places, range, from) }
    })
}

/// What happens to elements in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// They are read.
    Reads,
    /// They are written, some of them or all, and may be read.
    Writes,
}

/// Elements in host memory that stand for those of a device, laid out as they are.
pub(crate) struct Mirror {
    buffer: *mut u8,
    count: i64,
    datatype: Arc<Type>,
    does: Use,
    host: Vec<u8>,
    /// What stands for `buffer`.
    address: *mut u8,
}

// SAFETY: the device's memory is the user's, and belongs to the call until it is over; the host memory is the mirror's.
unsafe impl Send for Mirror {}

impl Mirror {
    /// Room for `count` elements at `buffer`, which a call uses so.
    fn new(buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<Self> {
        let stretch = (count - 1).max(0).saturating_mul(datatype.extent());
        let first = datatype.true_lb() + stretch.min(0);
        let length = stretch.saturating_abs().saturating_add(datatype.true_extent());
        let bytes = usize::try_from(length).unwrap_or(usize::MAX);
        let mut host = room(bytes, "a copy of memory of a device")?;
        host.resize(bytes, 0);
        let address = host.as_mut_ptr().wrapping_offset(first.wrapping_neg() as isize);
        Ok(Self {
            buffer,
            count,
            datatype: datatype.share(),
            does,
            host,
            address,
        })
    }

    /// Copy the elements from the device.
    pub fn load(&mut self) -> Result<()> {
        self.exchange(false)
    }

    /// Copy them back, if the call has written them.
    pub fn store(&mut self) -> Result<()> {
        match self.does {
            Use::Reads => Ok(()),
            Use::Writes => self.exchange(true),
        }
    }

    fn exchange(&mut self, stores: bool) -> Result<()> {
        let bytes = self.datatype.bytes(self.count)?;
        if bytes == 0 {
            return Ok(());
        }
        let range = 0..bytes as u64;
        let (datatype, count) = (&*self.datatype, self.count);
        let mut packed = Vec::new();
        let row = match datatype.is_contiguous() {
            true => self.host.as_mut_ptr(),
            false => {
                packed = room(bytes as usize, "memory of a device, packed")?;
                packed.resize(bytes as usize, 0);
                packed.as_mut_ptr()
            }
        };
        let is_packed = !packed.is_empty();
        // SAFETY: the user gives the call the elements on the device; those of the host lie in `host`, as the same datatype says; the row
        // has as many bytes as both.
        unsafe {
            if stores {
                if is_packed {
                    datatype.pack_range(self.address, count, 0, bytes, row);
                }
                unpack(datatype, self.buffer, count, range, row)
            } else {
                let copied = pack(datatype, self.buffer, count, range, row);
                if is_packed && copied.is_ok() {
                    datatype.unpack_range(row, self.address, count, 0, bytes);
                }
                copied
            }
        }
        .map_err(|error| failed(&error))
    }
}

/// The mirrors of one call.
#[derive(Default)]
pub(crate) struct Mirrors(Vec<Mirror>);

impl Mirrors {
    /// What stands for `count` elements at `buffer`, on a device. Elements that are named twice have one mirror.
    pub fn add(&mut self, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        let is_same = |mirror: &&mut Mirror| {
            mirror.buffer == buffer && mirror.count == count && std::ptr::eq(&*mirror.datatype, datatype)
        };
        if let Some(same) = self.0.iter_mut().find(is_same) {
            if does == Use::Writes {
                same.does = does;
            }
            return Ok(same.address);
        }
        counters::DEVICE_MIRRORS.add_anywhere(1);
        let mirror = Mirror::new(buffer, count, datatype, does)?;
        let address = mirror.address;
        self.0.push(mirror);
        Ok(address)
    }

    /// As [`Self::add`], if `argument` is memory of a device; otherwise `buffer` itself.
    #[inline(always)]
    pub fn host(&mut self, argument: &str, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        match Switch::Devices.is_on() {
            false => Ok(buffer),
            true => self.host_of(argument, buffer, count, datatype, does),
        }
    }

    #[cold]
    fn host_of(&mut self, argument: &str, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        let start = buffer.wrapping_offset(datatype.true_lb() as isize);
        let holds_data = count > 0 && datatype.size() > 0;
        match holds_data && ask(argument, start)?.is_device() {
            true => self.add(buffer, count, datatype, does),
            false => Ok(buffer),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copy all elements from their devices.
    pub fn load(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(Mirror::load)
    }

    /// Copy back what the call has written.
    pub fn store(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(Mirror::store)
    }

    /// What the call answers, once what it has written is back on the devices. If it has failed, nothing is written.
    pub fn stored<T>(&mut self, result: Result<T>) -> Result<T> {
        let value = result?;
        self.store()?;
        Ok(value)
    }
}
