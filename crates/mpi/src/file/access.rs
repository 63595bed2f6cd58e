//! Reading and writing (MPI-5.0 §14.4): by explicit offsets, the individual pointer, the shared one; alone, together, in order; blocking and by
//! requests.

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_io::memory::AccessMemory;
use isthmus_io::two_phase::{Exchange, told, verdict};

use super::File;
use super::datarep::Back;
use super::operation::{FileAccess, Pending, drive};
use super::seen::Seen;
use crate::datatype::Datatype;
use crate::device::{Mirrors, Use};
use crate::error::{Class, Result};
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
    pub(super) unsafe fn prepare(&self, call: &'static str, checked: Checked, whence: Whence) -> Result<FileAccess> {
        let Checked {
            datatype,
            elements,
            seen,
            writes,
            etypes,
        } = checked;
        let count = elements.count;
        let mut mirrors = Mirrors::default();
        let does = if writes { Use::Reads } else { Use::Writes };
        let buffer = mirrors.host("buf", elements.buffer.cast(), count, datatype, does)?;
        mirrors.load()?;
        let (memory, back) = if seen.datarep.is_plain() {
            // SAFETY: the caller's promise.
            let memory = unsafe { AccessMemory::of_elements(buffer, count, datatype) };
            (memory, Back::Nothing)
        } else if writes {
            // SAFETY: the caller's promise.
            let bytes = unsafe { seen.datarep.exported(buffer, count, datatype)? };
            let there = seen.datarep.size_of(datatype)?;
            let here = datatype.size();
            (AccessMemory::owned(bytes), Back::Written { there, here })
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
            (AccessMemory::owned(room), back)
        };
        let back = match mirrors.is_empty() {
            true => back,
            false => Back::OnDevice {
                mirrors,
                rest: Box::new(back),
            },
        };
        let file = self.share()?;
        // Pointers move only if nothing can be wrong any more.
        let place = |offset| self.position(&seen, offset, etypes);
        let position = match whence {
            Whence::At(offset) | Whence::Ordered(offset) => place(offset),
            Whence::Individual => self.take_pointer(etypes, place),
            // Where a file cannot seek, others wait for a range that has been taken: one of an empty view is not.
            Whence::Shared => place(0).and_then(|_| self.take_shared(etypes, place)),
        }?;
        Ok(FileAccess {
            file,
            seen,
            writes,
            call,
            memory,
            position,
            back,
        })
    }

    /// The position of an offset in a view, from which on there are so many etypes.
    fn position(&self, seen: &Seen, offset: i64, etypes: i64) -> Result<u64> {
        if offset < 0 {
            return Err(fail!(Arg, "offset={offset} is negative"));
        }
        if etypes > 0 && seen.view.is_empty() {
            return Err(fail!(Arg, "{}: there is no data in the view", self.path));
        }
        let unit = seen.view.etype() as i64;
        let bytes = etypes.checked_mul(unit);
        let position = offset.checked_mul(unit);
        let end = position
            .zip(bytes)
            .and_then(|(position, bytes)| position.checked_add(bytes));
        let (Some(position), Some(end)) = (position, end) else {
            return Err(fail!(Arg, "{}: offset={offset} etypes exceed 64 bits", self.path));
        };
        if etypes > 0 && i64::try_from(seen.view.offset_of((end - 1) as u64)).is_err() {
            return Err(fail!(
                Arg,
                "{}: offset={offset} etypes lie beyond what a file can have",
                self.path
            ));
        }
        Ok(position as u64)
    }

    /// An access of this process alone.
    ///
    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn alone(&self, call: &'static str, whence: Whence, elements: Elements, writes: bool) -> Result<FileAccess> {
        self.check_whence(whence)?;
        let checked = self.check_access(elements, writes)?;
        // SAFETY: the caller's promise.
        unsafe { self.prepare(call, checked, whence) }
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
    pub(super) unsafe fn part(
        &self,
        call: &'static str,
        whence: Whence,
        elements: Elements,
        writes: bool,
    ) -> Result<FileAccess> {
        self.check_not_split("another collective access")?;
        // SAFETY: the caller's promise.
        unsafe { self.alone(call, whence, elements, writes) }
    }

    /// Where this process's part, of so many etypes, lies if members access the file in the order of their ranks, from the shared pointer on. Fails
    /// on all, and moves nothing, if one has an error. Blocks until all have called.
    pub(super) fn in_order(&self, call: &str, etypes: Result<i64>) -> Result<Whence> {
        self.same(call)?;
        let exchange = self.messages();
        let (etypes, error) = match etypes {
            Ok(etypes) => (etypes, None),
            Err(error) => (0, Some(error)),
        };
        let said = drive(exchange.gather([told(error.as_ref(), None), etypes as u64]))??;
        verdict(exchange.rank(), &self.path, said.iter().map(|[word, _]| *word), error)?;
        let sum = |parts: &[[u64; 2]]| {
            parts
                .iter()
                .fold(0, |sum: u64, [_, etypes]| sum.saturating_add(*etypes))
        };
        let base = match self.comm.rank() {
            0 => {
                let total = i64::try_from(sum(&said)).unwrap_or(i64::MAX);
                let seen = self.seen();
                self.shared
                    .load()
                    .and_then(|at| self.position(&seen, at, total))
                    .and_then(|_| self.shared.advance(total))
            }
            _ => Ok(0),
        };
        let word = base.as_ref().ok().copied().unwrap_or(0) as u64;
        let answers = drive(exchange.gather([told(base.as_ref().err(), None), word]))??;
        verdict(
            exchange.rank(),
            &self.path,
            answers.iter().map(|[word, _]| *word),
            base.err(),
        )?;
        let before = sum(&said[..exchange.rank()]);
        Ok(Whence::Ordered(answers[0][1].saturating_add(before) as i64))
    }

    /// How many etypes this process's part of an access in the order of ranks has.
    pub(super) fn ordered_etypes(&self, elements: Elements, writes: bool) -> Result<i64> {
        self.check_not_split("an access in the order of ranks")?;
        Ok(self.check_access(elements, writes)?.etypes)
    }

    /// How a blocking access of all has ended: where the program converts what was read, an error of that is one of all.
    pub(super) fn agree_on_conversion(&self, writes: bool, status: Result<Status>) -> Result<Status> {
        // Members that have made another call do not come here, and all know it.
        let is_one_call = !matches!(&status, Err(error) if error.code() == Class::NotSame as i32);
        if !writes && is_one_call && self.seen().datarep.is_converted_by_program() {
            self.agree(status.as_ref().map(drop).map_err(Clone::clone))?;
        }
        status
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn access(&self, call: &'static str, whence: Whence, elements: Elements, writes: bool) -> Result<Status> {
        // SAFETY: the caller's promise.
        unsafe { self.alone(call, whence, elements, writes) }?.run()
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn start(
        &self,
        call: &'static str,
        whence: Whence,
        elements: Elements,
        writes: bool,
    ) -> Result<Handle<Request>> {
        // SAFETY: the caller's promise.
        unsafe { self.alone(call, whence, elements, writes) }?.launch()
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
        let part = unsafe { self.part(call, whence, elements, writes) };
        let (future, back) = FileAccess::together(part, &self.share()?, writes, call, true);
        self.agree_on_conversion(writes, back.finish(drive(future)?))
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
        let part = unsafe { self.part(call, whence, elements, writes) };
        Pending::together(part, &self.share()?, writes, call).launch()
    }

    /// # Safety
    /// As for [`Self::prepare`].
    unsafe fn access_ordered(&self, call: &'static str, elements: Elements, writes: bool) -> Result<Status> {
        let whence = self.in_order(call, self.ordered_etypes(elements, writes))?;
        if self.is_stream {
            // SAFETY: the caller's promise.
            return unsafe { self.ordered_in_turn(call, whence, elements, writes) };
        }
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
