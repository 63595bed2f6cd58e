//! Which arguments of a collective matter to the calling process. What does not matter is not looked at.

use std::ffi::c_void;

use isthmus_mpi::comm::Comm;
use isthmus_mpi::constants::ROOT;
use isthmus_mpi::counts::Counts;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::error::Result;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::op::Op;

use crate::abi::{Abi, Predefined};
use crate::argument::{self, Number};

/// `MPI_BYTE`, which stands for a datatype that does not matter.
const BYTE: Handle<Datatype> = Handle::from_raw(0x247);
/// `MPI_SUM`, which stands for an operation that does not matter.
const SUM: Handle<Op> = Handle::from_raw(0x21);
/// `MPI_IN_PLACE`
const IN_PLACE: usize = 1;

/// The number of processes that each process exchanges data with: the length of the arrays of vector collectives.
pub fn peers(comm: &Comm) -> usize {
    let count = if comm.is_inter() {
        comm.remote_size()
    } else {
        comm.size()
    };
    count as usize
}

/// What the calling process is in a collective with a root (MPI-5.0 §6.2.2, §6.2.3).
#[derive(Clone, Copy)]
pub struct Role {
    root: bool,
    leaf: bool,
}

impl Role {
    /// From the root argument. Whether that is a rank at all is for the procedure to say.
    pub fn of(comm: &Comm, root: i32) -> Self {
        if comm.is_inter() {
            Self {
                root: root == ROOT,
                leaf: root >= 0,
            }
        } else {
            Self {
                root: root == comm.rank(),
                leaf: true,
            }
        }
    }

    /// Arguments that matter at the root only.
    pub fn root(self) -> Matters {
        Matters(self.root)
    }

    /// Arguments that matter to the processes that the root exchanges data with.
    pub fn leaf(self) -> Matters {
        Matters(self.leaf)
    }

    /// Arguments that matter to all who take part.
    pub fn any(self) -> Matters {
        Matters(self.root || self.leaf)
    }
}

/// Whether an argument matters.
#[derive(Clone, Copy)]
pub struct Matters(bool);

impl Matters {
    /// It does.
    pub const ALWAYS: Self = Self(true);

    /// It does not if this buffer is `MPI_IN_PLACE`.
    #[inline(always)]
    pub fn unless_in_place<A: Abi>(self, buffer: *const c_void) -> Self {
        Self(self.0 && A::buffer(buffer).addr() != IN_PLACE)
    }

    /// A count.
    #[inline(always)]
    pub fn count<N: Number>(self, value: N, name: &str) -> Result<i64> {
        if self.0 { argument::count(value, name) } else { Ok(0) }
    }

    /// An array of counts or displacements.
    ///
    /// # Safety
    /// As for [`argument::array`].
    pub unsafe fn counts<'a, N: Number>(self, pointer: *const N, length: usize, name: &str) -> Result<Counts<'a>> {
        let length = if self.0 { length } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { argument::counts(pointer, length, name) }
    }

    /// An array of handles.
    ///
    /// # Safety
    /// As for [`argument::array`].
    pub unsafe fn handles<A: Abi, T: Predefined>(
        self,
        pointer: *const A::Handle,
        length: usize,
        name: &str,
    ) -> Result<Vec<Handle<T>>> {
        let length = if self.0 { length } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { argument::handles::<A, T>(pointer, length, name) }
    }

    /// A datatype.
    #[inline(always)]
    pub fn datatype<A: Abi>(self, handle: A::Handle, name: &str) -> Result<&'static Datatype> {
        let handle = if self.0 { A::handle_in(handle) } else { BYTE };
        handle.resolve(name)
    }

    /// An operation.
    #[inline(always)]
    pub fn op<A: Abi>(self, handle: A::Handle, name: &str) -> Result<&'static Op> {
        let handle = if self.0 { A::handle_in(handle) } else { SUM };
        handle.resolve(name)
    }
}
