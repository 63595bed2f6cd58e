//! Files (MPI-5.0 §14): what a handle holds. How bytes come to a file and back stands in `crates/io`; here are the rules of MPI: modes of access,
//! calls that ranks make together, pointers, and representations of data.
//!
//! Members talk in a message space of their own, that of a duplicate of the communicator. A collective access is a future, which a blocking
//! call drives to its end, and a request from time to time (`operation.rs`).

mod access;
mod datarep;
mod exchange;
mod open;
mod operation;
mod overlap;
mod pointer;
mod query;
mod refused;
mod seen;
mod shared;
mod split;
mod stream;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_io::backend::Backend;
use isthmus_io::failure::Failure;
use isthmus_io::hints::Hints;
use isthmus_io::two_phase::{Exchange, told, verdict};
use isthmus_io::written::Written;
use isthmus_os::switches::Switch;

use crate::comm::Comm;
use crate::errhandler::Errhandler;
use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind, Table};

pub use access::{
    file_iread, file_iread_all, file_iread_at, file_iread_at_all, file_iread_shared, file_iwrite, file_iwrite_all,
    file_iwrite_at, file_iwrite_at_all, file_iwrite_shared, file_read, file_read_all, file_read_at, file_read_at_all,
    file_read_ordered, file_read_shared, file_write, file_write_all, file_write_at, file_write_at_all,
    file_write_ordered, file_write_shared,
};
pub use datarep::{ConversionFn, ExtentFn, register_datarep};
pub use open::{file_close, file_delete, file_open, file_open_refused};
pub use pointer::{file_get_byte_offset, file_get_position, file_get_position_shared, file_seek, file_seek_shared};
pub use query::{
    file_get_amode, file_get_atomicity, file_get_group, file_get_info, file_get_size, file_preallocate,
    file_set_atomicity, file_set_info, file_set_size, file_sync,
};
pub use refused::file_refused;
pub use seen::{file_get_type_extent, file_get_view, file_set_view};
pub use split::{
    file_read_all_begin, file_read_all_end, file_read_at_all_begin, file_read_at_all_end, file_read_ordered_begin,
    file_read_ordered_end, file_write_all_begin, file_write_all_end, file_write_at_all_begin, file_write_at_all_end,
    file_write_ordered_begin, file_write_ordered_end,
};

use exchange::Messages;
use seen::Seen;
use shared::Shared;
use split::Split;

/// `MPI_MODE_APPEND` and its siblings: bits of a mode of access.
pub mod mode {
    /// Pointers begin at the end of the file.
    pub const APPEND: i32 = 1;
    /// Make the file if there is none.
    pub const CREATE: i32 = 2;
    /// Delete it when it is closed.
    pub const DELETE_ON_CLOSE: i32 = 4;
    /// With `CREATE`: an error if there is one.
    pub const EXCL: i32 = 8;
    /// Read only.
    pub const RDONLY: i32 = 16;
    /// Read and write.
    pub const RDWR: i32 = 32;
    /// By the shared pointer only.
    pub const SEQUENTIAL: i32 = 64;
    /// Nobody else opens it.
    pub const UNIQUE_OPEN: i32 = 128;
    /// Write only.
    pub const WRONLY: i32 = 256;
}

/// A file, as one of those sees it that have opened it together.
pub struct File {
    /// A duplicate of the communicator, with no handle.
    comm: Arc<Comm>,
    /// Its name in messages.
    path: Box<str>,
    /// Its name to the system, from the root on.
    place: PathBuf,
    backend: Arc<dyn Backend>,
    amode: i32,
    hints: Mutex<Arc<Hints>>,
    seen: Mutex<Arc<Seen>>,
    /// The individual pointer, in etypes.
    pointer: AtomicI64,
    shared: Shared,
    /// Can it not seek, with any member?
    is_stream: bool,
    is_atomic: AtomicBool,
    /// Has this process looked at the file by itself, since it made the last collective access? Then others may do so, too, and write after that only.
    has_looked: AtomicBool,
    /// What this process has written since all have synchronised the file, outside atomic mode, where programs are checked.
    written: Mutex<Written>,
    /// Has it told of such bytes, which members have written one after the other?
    has_told: AtomicBool,
    /// A split collective access under way.
    split: Mutex<Option<Split>>,
    /// Calls that members have made together.
    calls: AtomicU32,
    errhandler: Mutex<Arc<Errhandler>>,
    handle: OnceLock<Handle<File>>,
}

impl Object for File {
    const KIND: ObjectKind = ObjectKind::File;
    const INVALID: Class = Class::File;
    const NULL: u32 = 0x118;
    const NAME: &'static str = "MPI_File";
    fn table() -> &'static Table<Self> {
        static TABLE: Table<File> = Table::new();
        &TABLE
    }
}

/// Tags of calls are used again after so many: no more are under way at a time.
const TAGS: u32 = 1 << 20;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl File {
    /// The handle by which users hold it.
    pub fn handle(&self) -> Handle<File> {
        self.handle.get().copied().unwrap_or(Handle::NULL)
    }

    /// This process has looked at the file by itself: at its bytes, its end, or the shared pointer.
    fn looks(&self) {
        self.has_looked.store(true, Ordering::Relaxed);
    }

    /// The error handler in force.
    pub(crate) fn errhandler(&self) -> Arc<Errhandler> {
        Arc::clone(&locked(&self.errhandler))
    }

    pub(crate) fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        *locked(&self.errhandler) = errhandler;
    }

    fn hints(&self) -> Arc<Hints> {
        Arc::clone(&locked(&self.hints))
    }

    fn seen(&self) -> Arc<Seen> {
        Arc::clone(&locked(&self.seen))
    }

    fn is_atomic(&self) -> bool {
        self.is_atomic.load(Ordering::Relaxed)
    }

    /// Is the file locked as long as an access takes?
    fn locks(&self) -> bool {
        self.is_atomic() || self.backend.is_cached_elsewhere()
    }

    /// How members talk in their next call.
    fn messages(&self) -> Messages {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        Messages::new(&self.comm, (call % TAGS) as i32)
    }

    /// Fails on all if not all members make this call (as in `file_sync`), where programs are checked; blocks there until all have called.
    fn same(&self, call: &str) -> Result<()> {
        if !Switch::Check.is_on() {
            return Ok(());
        }
        let exchange = self.messages();
        operation::drive(exchange.compare(&self.path, call))?
    }

    /// As whom they would talk: nothing is said.
    fn exchange(&self) -> Messages {
        Messages::new(&self.comm, 0)
    }

    /// Begin a call that all members make (as in `file_sync`), with arguments that are good or not, of which `own` must be the same everywhere:
    /// fails on all with the first member's error, if any has one. Blocks until all have called.
    fn together(&self, call: &str, checked: Result<()>, what: &str, own: u64) -> Result<()> {
        self.same(call)?;
        let exchange = self.messages();
        let error = checked.err();
        let said = operation::drive(exchange.gather([told(error.as_ref(), None), own]))??;
        verdict(exchange.rank(), &self.path, said.iter().map(|[word, _]| *word), error)?;
        match said.iter().position(|[_, theirs]| *theirs != said[0][1]) {
            None => Ok(()),
            Some(rank) => Err(fail!(
                NotSame,
                "{}: {what} differs between ranks: rank {rank} has another one than rank 0",
                self.path
            )),
        }
    }

    /// Refuse what may not be done while a split collective access is under way.
    fn check_not_split(&self, call: &str) -> Result<()> {
        match &*locked(&self.split) {
            Some(_) => Err(fail!(
                Io,
                "{}: {call} while a split collective access is under way",
                self.path
            )),
            None => Ok(()),
        }
    }

    /// End a call that all members make: with the first member's error on all, if any has one. Blocks until all have come.
    fn agree(&self, result: Result<()>) -> Result<()> {
        let exchange = self.messages();
        operation::drive(isthmus_io::two_phase::agree(&exchange, &self.path, result))?
    }

    /// The same, of a call of the system: all tell its reason. Blocks until all have come.
    fn agree_on(&self, failure: Option<Failure>) -> Result<()> {
        let exchange = self.messages();
        let said = operation::drive(exchange.gather([told(None, failure)]))??;
        let own = failure.map(|failure| self.failed(failure));
        verdict(exchange.rank(), &self.path, said.iter().map(|[word]| *word), own)
    }

    fn is(&self, mode: i32) -> bool {
        self.amode & mode != 0
    }

    /// Refuse what the mode of access does not allow.
    fn check_readable(&self) -> Result<()> {
        if self.is(mode::WRONLY) {
            return Err(fail!(
                Access,
                "{}: a read, but it was opened with MPI_MODE_WRONLY",
                self.path
            ));
        }
        Ok(())
    }

    fn check_writable(&self) -> Result<()> {
        if self.is(mode::RDONLY) {
            return Err(fail!(
                ReadOnly,
                "{}: a change, but it was opened with MPI_MODE_RDONLY",
                self.path
            ));
        }
        Ok(())
    }

    /// Refuse pointers and offsets of one process where only the shared pointer may be used.
    fn check_not_sequential(&self) -> Result<()> {
        if self.is(mode::SEQUENTIAL) {
            return Err(fail!(
                UnsupportedOperation,
                "{}: it was opened with MPI_MODE_SEQUENTIAL, so only the shared file pointer can be used",
                self.path
            ));
        }
        Ok(())
    }

    #[cold]
    fn failed(&self, failure: Failure) -> Error {
        failure.of(&self.path)
    }
}
