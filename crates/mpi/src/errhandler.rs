//! Error handlers (MPI-5.0 §9.3).

use std::sync::{Arc, Mutex, OnceLock};

use crate::error::Class;
use crate::handle::{Handle, Kind, Object, Table};

/// A user's error handler: (canonical raw handle of the object, canonical error code).
pub type ErrorFn = Box<dyn Fn(u32, i32) + Send + Sync>;

/// What kind of object a user's error handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Communicators.
    Comm,
    /// Sessions.
    Session,
}

/// What to do about an error.
enum Action {
    /// End the job (`MPI_ERRORS_ARE_FATAL`).
    Fatal,
    /// End the processes of the object, which today means the job (`MPI_ERRORS_ABORT`).
    Abort,
    /// Return the code.
    Return,
    /// Call the user's function, then return the code.
    User(Target, ErrorFn),
}

/// What happens when a call on an object fails.
pub struct Errhandler {
    action: Action,
    /// The handle by which users hold it, and how often.
    held: Mutex<(Handle<Errhandler>, u32)>,
}

impl Object for Errhandler {
    const KIND: Kind = Kind::Errhandler;
    const INVALID: Class = Class::Errhandler;
    const NULL: u32 = 0x140;
    const NAME: &'static str = "MPI_Errhandler";
    fn table() -> &'static Table<Self> {
        static TABLE: OnceLock<Table<Errhandler>> = OnceLock::new();
        TABLE.get_or_init(|| {
            let table = Table::new();
            let predefined = |raw, action| {
                Some(Arc::new(Errhandler {
                    action,
                    held: Mutex::new((Handle::from_raw(raw), 1)),
                }))
            };
            table.set_predefined(vec![
                None,
                predefined(0x141, Action::Fatal),
                predefined(0x142, Action::Abort),
                predefined(0x143, Action::Return),
            ]);
            table
        })
    }
}

/// `MPI_ERRORS_ARE_FATAL`.
pub const ERRORS_ARE_FATAL: Handle<Errhandler> = Handle::from_raw(0x141);
/// `MPI_ERRORS_ABORT`.
pub const ERRORS_ABORT: Handle<Errhandler> = Handle::from_raw(0x142);
/// `MPI_ERRORS_RETURN`.
pub const ERRORS_RETURN: Handle<Errhandler> = Handle::from_raw(0x143);
