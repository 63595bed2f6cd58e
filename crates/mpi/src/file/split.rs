//! Split collective accesses (MPI-5.0 §14.4.5): one begins, another call ends it. A file has one of them at a time.

use std::ffi::c_void;

use super::access::{Elements, Whence};
use super::operation::Pending;
use super::{File, locked};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::request::{Request, wait};
use crate::status::Status;

/// How it was begun: the call that ends it must go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct How {
    writes: bool,
    by: SplitAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitAccess {
    Offset,
    Pointer,
    Order,
}

impl How {
    const fn name(self) -> &'static str {
        match (self.writes, self.by) {
            (false, SplitAccess::Offset) => "MPI_File_read_at_all_begin",
            (false, SplitAccess::Pointer) => "MPI_File_read_all_begin",
            (false, SplitAccess::Order) => "MPI_File_read_ordered_begin",
            (true, SplitAccess::Offset) => "MPI_File_write_at_all_begin",
            (true, SplitAccess::Pointer) => "MPI_File_write_all_begin",
            (true, SplitAccess::Order) => "MPI_File_write_ordered_begin",
        }
    }
}

/// One that is under way.
pub(super) struct Split {
    how: How,
    request: Handle<Request>,
    buffer: usize,
}

impl File {
    /// # Safety
    /// The elements must be good until the access is ended.
    unsafe fn begin(&self, call: &'static str, how: How, offset: i64, elements: Elements) -> Result<()> {
        let whence = match how.by {
            SplitAccess::Offset => Whence::At(offset),
            SplitAccess::Pointer => Whence::Individual,
            SplitAccess::Order => self.in_order(call, self.ordered_etypes(elements, how.writes))?,
        };
        if self.is_stream && how.by == SplitAccess::Order {
            // SAFETY: the caller's promise.
            let ended = unsafe { self.ordered_in_turn(call, whence, elements, how.writes) };
            let request = Pending::ended(ended, self.share()?).launch()?;
            *locked(&self.split) = Some(Split {
                how,
                request,
                buffer: elements.buffer.addr(),
            });
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let part = unsafe { self.part(call, whence, elements, how.writes) };
        // One that is under way stays; the call that must not be fails on all members alike, as all have one under way.
        if locked(&self.split).is_some() {
            return part.map(drop);
        }
        let request = Pending::together(part, &self.share()?, how.writes, call).launch()?;
        *locked(&self.split) = Some(Split {
            how,
            request,
            buffer: elements.buffer.addr(),
        });
        Ok(())
    }

    fn end(&self, how: How, buffer: *const c_void) -> Result<Status> {
        let mut place = locked(&self.split);
        let Some(split) = &*place else {
            return Err(fail!(Io, "{}: no {} was called before", self.path, how.name()));
        };
        if split.how != how || split.buffer != buffer.addr() {
            return Err(fail!(
                Io,
                "{}: what is under way was begun by {}, {}",
                self.path,
                split.how.name(),
                if split.how == how {
                    "with another buffer"
                } else {
                    "which another call ends"
                }
            ));
        }
        let mut request = split.request;
        *place = None;
        drop(place);
        self.agree_on_conversion(how.writes, wait(&mut request))
    }
}

/// Procedures that begin, and those that end.
macro_rules! splits {
    ($($by:ident: $read_begin:ident, $read_end:ident, $write_begin:ident, $write_end:ident $(($offset:ident))?;)*) => {$(
        #[doc = concat!("Begin a collective read; [`", stringify!($read_end), "`] ends it. May wait for the others.")]
        ///
        /// # Safety
        /// The elements must be writable until the read is ended.
        pub unsafe fn $read_begin(
            fh: &File,
            $($offset: i64,)?
            buf: *mut c_void,
            count: i64,
            datatype: Handle<Datatype>,
        ) -> Result<()> {
            let how = How { writes: false, by: SplitAccess::$by };
            let elements = Elements { buffer: buf, count, datatype };
            // SAFETY: the caller's promise.
            unsafe { fh.begin(stringify!($read_begin), how, splits!(@offset $($offset)?), elements) }
        }

        #[doc = concat!("End what [`", stringify!($read_begin), "`] began. Blocks until it is complete.")]
        pub fn $read_end(fh: &File, buf: *mut c_void) -> Result<Status> {
            fh.end(How { writes: false, by: SplitAccess::$by }, buf)
        }

        #[doc = concat!("Begin a collective write; [`", stringify!($write_end), "`] ends it. May wait for the others.")]
        ///
        /// # Safety
        /// The elements must be readable until the write is ended.
        pub unsafe fn $write_begin(
            fh: &File,
            $($offset: i64,)?
            buf: *const c_void,
            count: i64,
            datatype: Handle<Datatype>,
        ) -> Result<()> {
            let how = How { writes: true, by: SplitAccess::$by };
            let elements = Elements { buffer: buf.cast_mut(), count, datatype };
            // SAFETY: the caller's promise.
            unsafe { fh.begin(stringify!($write_begin), how, splits!(@offset $($offset)?), elements) }
        }

        #[doc = concat!("End what [`", stringify!($write_begin), "`] began. Blocks until it is complete.")]
        pub fn $write_end(fh: &File, buf: *const c_void) -> Result<Status> {
            fh.end(How { writes: true, by: SplitAccess::$by }, buf)
        }
    )*};
    (@offset $offset:ident) => { $offset };
    (@offset) => { 0 };
}

splits! {
    Offset: file_read_at_all_begin, file_read_at_all_end, file_write_at_all_begin, file_write_at_all_end(offset);
    Pointer: file_read_all_begin, file_read_all_end, file_write_all_begin, file_write_all_end;
    Order: file_read_ordered_begin, file_read_ordered_end, file_write_ordered_begin, file_write_ordered_end;
}
