//! A call of a routine by its name, how it ends when it makes no sense, and how entries are made.

use std::fmt::Display;

use isthmus_collective::symmetric::Caller;
use isthmus_engine::{State, abort, refused, state, world};

/// The C function that the program called.
#[derive(Debug, Clone, Copy)]
pub struct Call(pub &'static str);

impl Call {
    /// What the specification leaves undefined: one line, and the end of the job. Does not return.
    #[cold]
    #[inline(never)]
    pub fn refuse(self, what: impl Display) -> ! {
        let line = match state() {
            State::Inside => format!("isthmus: PE {}: {}: {what}", world().rank, self.0),
            _ => format!("isthmus: {}: {what}", self.0),
        };
        abort(1, &line)
    }

    /// Refuse memory of a device, where a local object is to be.
    #[inline(always)]
    pub fn check_host<T>(self, argument: &str, object: *const T) {
        if let Some(why) = refused(object) {
            self.refuse(format!("{argument}={why}"));
        }
    }
}

impl From<Call> for Caller {
    #[inline]
    fn from(call: Call) -> Self {
        Self::new(call.0, |name, what| Call(name).refuse(what))
    }
}

impl From<Caller> for Call {
    fn from(caller: Caller) -> Self {
        Self(caller.name())
    }
}

/// `shmem_int_p = p::<i32> [ContextHandle::DEFAULT] (dest: *mut i32, value: i32, pe: c_int);` exports a C function that calls
/// `p` with its name, a context if the routine has one and takes none, and its arguments.
macro_rules! entries {
    ($($name:ident = $function:path [$($context:expr)?] ($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("isthmus_openshmem_", stringify!($name)))]
            unsafe extern "C-unwind" fn entry($($argument: $kind),*) $(-> $result)? {
                // SAFETY: the promises are the caller's, as for the C function.
                unsafe { $function($crate::call::Call(stringify!($name)), $($context,)? $($argument),*) }
            }
        };
    )*};
}
pub(crate) use entries;
