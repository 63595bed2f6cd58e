//! Reading and writing (MPI-5.0 §14.4): by explicit offsets, the individual pointer, the shared one; alone, together, in order; blocking and by
//! requests.

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_io::memory::Memory;
use isthmus_io::two_phase::Exchange;

use super::datarep::Back;
use super::operation::{Access, Pending, drive};
use super::seen::Seen;
use super::{File, locked};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::request::Request;
use crate::status::Status;

/// Elements that a program reads or writes.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    pub buffer: *mut c_void,
    pub count: i64,
    pub datatype: Handle<Datatype>,
}

/// Where in the view an access begins.
#[derive(Clone, Copy)]
pub(super) enum Whence {
    /// At this offset, in etypes.
    At(i64),
    /// At the individual pointer.
    Individual,
    /// At the shared pointer.
    Shared,
    /// At an offset that the shared pointer gave already.
    Ordered(i64),
}

/// Elements that have been looked at.
pub(super) struct Checked {
    datatype: &'static Datatype,
    elements: Elements,
    seen: Arc<Seen>,
    writes: bool,
    /// How many etypes they are.
    pub etypes: i64,
}

impl File {
    /// A share in the file, for what outlives the call.
    pub(super) fn share(&self) -> Result<Arc<Self>> {
        self.handle().share("fh")
    }

    /// Look at the arguments of an access.
    pub(super) fn check_access(&self, elements: Elements, writes: bool) -> Result<Checked> {
        let Elements {
            buffer,
            count,
            datatype,
        } = elements;
        if writes {
            self.check_writable()?;
        } else {
            self.check_readable()?;
        }
        if count < 0 {
            return Err(fail!(Count, "count={count} is negative"));
        }
        let datatype = datatype.resolve_for(count, "datatype")?;
        datatype.check_committed("datatype")?;
        datatype.check_buffer("buf", buffer, count)?;
        if !writes {
            datatype.check_apart("buf", count)?;
        }
        let seen = self.seen();
        let bytes = datatype.bytes(count)?;
        if bytes % seen.etype_size() != 0 {
            return Err(fail!(
                Io,
                "{}: count={count} elements of {} have {bytes} bytes, which is no whole number of etypes ({} bytes each)",
                self.path,
                datatype.label(),
                seen.etype_size()
            ));
        }
        Ok(Checked {
            datatype,
            elements,
            etypes: bytes / seen.etype_size(),
            seen,
            writes,
        })
    }

    /// Prepare the access: from here on its place is known.
    ///
    /// # Safety
    /// The elements are readable, or writable, until the access is over.
    pub(super) unsafe fn prepare(&self, checked: Checked, whence: Whence) -> Result<Access> {
        let Checked {
            datatype,
            elements,
            seen,
            writes,
            etypes,
        } = checked;
        if etypes > 0 && seen.view.is_empty() {
            return Err(fail!(Arg, "{}: there is no data in the view", self.path));
        }
        let offset = match whence {
            Whence::At(offset @ 0..) => offset,
            Whence::At(offset) => return Err(fail!(Arg, "offset={offset} is negative")),
            Whence::Individual => self.take_pointer(etypes),
            Whence::Shared => self.shared.advance(etypes)?,
            Whence::Ordered(offset) => offset,
        };
        let unit = seen.view.etype() as i64;
        let fits = |bytes: i64| bytes.checked_add(etypes.checked_mul(unit)?);
        let position = offset.checked_mul(unit).filter(|bytes| fits(*bytes).is_some());
        let position = position.ok_or_else(|| fail!(Arg, "offset={offset} etypes exceed 64 bits"))?;
        if etypes > 0 && i64::try_from(seen.view.offset_of((position + etypes * unit - 1) as u64)).is_err() {
            return Err(fail!(
                Arg,
                "{}: offset={offset} etypes lie beyond what a file can have",
                self.path
            ));
        }
        let (buffer, count) = (elements.buffer.cast::<u8>(), elements.count);
        let (memory, back) = if seen.datarep.is_plain() {
            // SAFETY: the caller's promise.
            (unsafe { Memory::of_elements(buffer, count, datatype) }, Back::Nothing)
        } else if writes {
            // SAFETY: the caller's promise.
            let bytes = unsafe { seen.datarep.exported(buffer, count, datatype)? };
            let there = seen.datarep.size_of(datatype)?;
            let here = datatype.size();
            (Memory::owned(bytes), Back::Written { there, here })
        } else {
            let bytes = seen.datarep.size_of(datatype)? * count;
            let mut room = crate::error::room(bytes as usize, "data to be converted")?;
            room.resize(bytes as usize, 0);
            let back = Back::Convert {
                datarep: seen.datarep.clone(),
                buffer,
                count,
                datatype: datatype.share_object(),
            };
            (Memory::owned(room), back)
        };
        Ok(Access {
            file: self.share()?,
            seen,
            writes,
            memory,
            position: position as u64,
            back,
        })
    }

    /// An access of this process alone.
    ///
    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn alone(&self, whence: Whence, elements: Elements, writes: bool) -> Result<Access> {
        self.check_whence(whence)?;
        let checked = self.check_access(elements, writes)?;
        // SAFETY: the caller's promise.
        unsafe { self.prepare(checked, whence) }
    }

    fn check_whence(&self, whence: Whence) -> Result<()> {
        match whence {
            Whence::At(_) | Whence::Individual => self.check_not_sequential(),
            Whence::Shared | Whence::Ordered(_) => Ok(()),
        }
    }

    /// This process's part of an access of all, or what is wrong with it, which all have to be told.
    ///
    /// # Safety
    /// As for [`Self::prepare`].
    pub(super) unsafe fn part(&self, whence: Whence, elements: Elements, writes: bool) -> Result<Access> {
        if locked(&self.split).is_some() {
            return Err(fail!(
                Io,
                "{}: another collective access while a split one is under way",
                self.path
            ));
        }
        // SAFETY: the caller's promise.
        unsafe { self.alone(whence, elements, writes) }
    }

    /// Where this process's part lies if members access the file in the order of their ranks, from the shared pointer on. Blocks until all have
    /// called.
    pub(super) fn in_order(&self, call: &str, elements: Elements, writes: bool) -> Result<Whence> {
        self.same(call)?;
        let exchange = self.meet();
        let etypes = self.check_access(elements, writes).map_or(0, |checked| checked.etypes);
        let said = drive(exchange.gather([etypes as u64]))??;
        let total: u64 = said.iter().map(|[etypes]| etypes).sum();
        let base = match self.comm.rank() {
            0 => self.shared.advance(total as i64),
            _ => Ok(0),
        };
        let word = base.as_ref().map_or(u64::MAX, |base| *base as u64);
        let told = drive(exchange.gather([word]))??;
        let before: u64 = said[..self.comm.rank() as usize].iter().map(|[etypes]| etypes).sum();
        match told[0][0] {
            u64::MAX => Err(base
                .err()
                .unwrap_or_else(|| fail!(Io, "{}: rank 0 could not move the shared file pointer", self.path))),
            base => Ok(Whence::Ordered((base + before) as i64)),
        }
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn access(&self, _call: &str, whence: Whence, elements: Elements, writes: bool) -> Result<Status> {
        // SAFETY: the caller's promise.
        unsafe { self.alone(whence, elements, writes) }?.run()
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn start(&self, _call: &str, whence: Whence, elements: Elements, writes: bool) -> Result<Handle<Request>> {
        // SAFETY: the caller's promise.
        unsafe { self.alone(whence, elements, writes) }?.launch()
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn access_all(
        &self,
        call: &'static str,
        whence: Whence,
        elements: Elements,
        writes: bool,
    ) -> Result<Status> {
        // SAFETY: the caller's promise.
        let part = unsafe { self.part(whence, elements, writes) };
        let (future, back) = Access::together(part, &self.share()?, writes, call);
        back.finish(drive(future)?)
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn start_all(
        &self,
        call: &'static str,
        whence: Whence,
        elements: Elements,
        writes: bool,
    ) -> Result<Handle<Request>> {
        // SAFETY: the caller's promise.
        let part = unsafe { self.part(whence, elements, writes) };
        Pending::together(part, &self.share()?, writes, call).launch()
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn access_ordered(&self, call: &'static str, elements: Elements, writes: bool) -> Result<Status> {
        let whence = self.in_order(call, elements, writes)?;
        // SAFETY: the caller's promise.
        unsafe { self.access_all(call, whence, elements, writes) }
    }
}

/// Procedures that read and procedures that write, by where they do.
macro_rules! accesses {
    ($($(#[$about:meta])* $read:ident, $write:ident = $how:ident($($whence:ident $(($offset:ident))?)?) -> $result:ty;)*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        /// The elements must be writable until the access is over.
        pub unsafe fn $read(
            fh: &File,
            $($($offset: i64,)?)?
            buf: *mut c_void,
            count: i64,
            datatype: Handle<Datatype>,
        ) -> Result<$result> {
            let elements = Elements { buffer: buf, count, datatype };
            // SAFETY: the caller's promise.
            unsafe { fh.$how(stringify!($read), $(Whence::$whence $(($offset))?,)? elements, false) }
        }

        #[doc = concat!("As [`", stringify!($read), "`], but writes.")]
        ///
        /// # Safety
        /// The elements must be readable until the access is over.
        pub unsafe fn $write(
            fh: &File,
            $($($offset: i64,)?)?
            buf: *const c_void,
            count: i64,
            datatype: Handle<Datatype>,
        ) -> Result<$result> {
            let elements = Elements { buffer: buf.cast_mut(), count, datatype };
            // SAFETY: the caller's promise.
            unsafe { fh.$how(stringify!($write), $(Whence::$whence $(($offset))?,)? elements, true) }
        }
    )*};
}

accesses! {
    /// `MPI_File_read_at`: from an offset of the view, in etypes. Blocks as long as the device takes.
    file_read_at, file_write_at = access(At(offset)) -> Status;
    /// `MPI_File_read_at_all`: as [`file_read_at`]. Collective; blocks until all have called.
    file_read_at_all, file_write_at_all = access_all(At(offset)) -> Status;
    /// `MPI_File_iread_at`: as [`file_read_at`], completed by the request.
    file_iread_at, file_iwrite_at = start(At(offset)) -> Handle<Request>;
    /// `MPI_File_iread_at_all`: as [`file_read_at_all`], completed by the request.
    file_iread_at_all, file_iwrite_at_all = start_all(At(offset)) -> Handle<Request>;
    /// `MPI_File_read`: from the individual pointer on, which moves by as many etypes as are asked for. Blocks as long as the device takes.
    file_read, file_write = access(Individual) -> Status;
    /// `MPI_File_read_all`: as [`file_read`]. Collective; blocks until all have called.
    file_read_all, file_write_all = access_all(Individual) -> Status;
    /// `MPI_File_iread`: as [`file_read`], completed by the request; the pointer moves at once.
    file_iread, file_iwrite = start(Individual) -> Handle<Request>;
    /// `MPI_File_iread_all`: as [`file_read_all`], completed by the request; the pointer moves at once.
    file_iread_all, file_iwrite_all = start_all(Individual) -> Handle<Request>;
    /// `MPI_File_read_shared`: from the shared pointer on, which moves by as many etypes as are asked for. Blocks as long as the device takes.
    file_read_shared, file_write_shared = access(Shared) -> Status;
    /// `MPI_File_iread_shared`: as [`file_read_shared`], completed by the request; the pointer moves at once.
    file_iread_shared, file_iwrite_shared = start(Shared) -> Handle<Request>;
    /// `MPI_File_read_ordered`: from the shared pointer on, in the order of ranks. Collective; blocks until all have called.
    file_read_ordered, file_write_ordered = access_ordered() -> Status;
}
