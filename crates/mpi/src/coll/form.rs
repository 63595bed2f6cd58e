//! The forms of a collective: blocking, completed by a request (MPI-5.0 §6.12), persistent (§6.13).
//!
//! One text checks the arguments, selects and runs the algorithm for all of them: it begins with [`Form::begin`] and ends
//! with [`Form::finish`].

use super::link::{Call, Lane, Link};
use super::schedule::{self, Recorder};
use crate::comm::Comm;
use crate::error::Result;
use crate::handle::Handle;
use crate::request::Request;

/// A form of a collective call.
pub(super) trait Form: Sized {
    /// What the algorithm sees.
    type Link: Link;
    /// What the caller gets.
    type Done;

    /// Begin a call. Even one whose arguments turn out to be wrong counts, so that this rank stays in step with those
    /// whose arguments are right.
    fn begin(comm: &'static Comm) -> Result<Self>;

    /// What the algorithm sees.
    fn link(&self) -> &Self::Link;

    /// The algorithm has ended like this.
    fn finish(self, result: Result<()>) -> Result<Self::Done>;
}

impl Form for Call<'static> {
    type Link = Self;
    type Done = ();

    #[inline]
    fn begin(comm: &'static Comm) -> Result<Self> {
        Self::new(comm)
    }

    #[inline]
    fn link(&self) -> &Self {
        self
    }

    #[inline]
    fn finish(self, result: Result<()>) -> Result<()> {
        Call::finish(self, result)
    }
}

/// Recorded, started and completed by a request.
pub(super) struct Immediate {
    recorder: Recorder,
    lane: Lane<'static>,
}

impl Form for Immediate {
    type Link = Recorder;
    type Done = Handle<Request>;

    fn begin(comm: &'static Comm) -> Result<Self> {
        let tag = comm.next_immediate();
        Ok(Self {
            recorder: Recorder::new(comm),
            lane: Lane { comm, tag },
        })
    }

    fn link(&self) -> &Recorder {
        &self.recorder
    }

    fn finish(self, result: Result<()>) -> Result<Handle<Request>> {
        result?;
        schedule::launch(self.recorder.take(), self.lane)
    }
}

/// Recorded, to be started by a request as often as one likes. Starts need no order: messages are matched by the order of
/// initialization.
pub(super) struct Persistent {
    recorder: Recorder,
    lane: Lane<'static>,
}

impl Form for Persistent {
    type Link = Recorder;
    type Done = Handle<Request>;

    fn begin(comm: &'static Comm) -> Result<Self> {
        let tag = comm.next_persistent();
        Ok(Self {
            recorder: Recorder::new(comm),
            lane: Lane { comm, tag },
        })
    }

    fn link(&self) -> &Recorder {
        &self.recorder
    }

    fn finish(self, result: Result<()>) -> Result<Handle<Request>> {
        result?;
        schedule::prepare(self.recorder.take(), self.lane)
    }
}

/// The three procedures of a collective, from one text that is generic over the form `F`.
macro_rules! forms {
    (
        $(#[$about:meta])*
        pub unsafe fn $blocking:ident, $immediate:ident, $persistent:ident = $any:ident<$form:ident>(
            $($argument:ident: $type:ty,)*
        ) $body:block
    ) => {
        $(#[$about])*
        #[allow(clippy::too_many_arguments)] // The standard's.
        pub unsafe fn $blocking($($argument: $type,)*) -> crate::error::Result<()> {
            // SAFETY: the caller's promise.
            unsafe { $any::<crate::coll::link::Call<'static>>($($argument,)*) }
        }

        #[doc = concat!("As [`", stringify!($blocking), "`], completed by the request.")]
        ///
        /// # Safety
        #[doc = concat!("As for [`", stringify!($blocking), "`], until the request is complete.")]
        #[allow(clippy::too_many_arguments)] // The standard's.
        pub unsafe fn $immediate(
            $($argument: $type,)*
        ) -> crate::error::Result<crate::handle::Handle<crate::request::Request>> {
            // SAFETY: the caller's promise.
            unsafe { $any::<crate::coll::form::Immediate>($($argument,)*) }
        }

        #[doc = concat!("As [`", stringify!($blocking), "`], by a request that can be started again and again. There are no hints.")]
        ///
        /// # Safety
        #[doc = concat!("As for [`", stringify!($blocking), "`], whenever the request is active.")]
        #[allow(clippy::too_many_arguments)] // The standard's.
        pub unsafe fn $persistent(
            $($argument: $type,)*
            _info: Option<&crate::info::Info>,
        ) -> crate::error::Result<crate::handle::Handle<crate::request::Request>> {
            // SAFETY: the caller's promise.
            unsafe { $any::<crate::coll::form::Persistent>($($argument,)*) }
        }

        /// # Safety
        #[doc = concat!("As for [`", stringify!($blocking), "`].")]
        #[allow(clippy::too_many_arguments)] // The standard's.
        unsafe fn $any<$form: crate::coll::form::Form>(
            $($argument: $type,)*
        ) -> crate::error::Result<$form::Done> $body
    };
}
pub(super) use forms;
