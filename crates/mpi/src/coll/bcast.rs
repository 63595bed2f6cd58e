//! `MPI_Bcast` (MPI-5.0 §6.4).

use std::ffi::c_void;

use isthmus_collective::bcast::{run_from, run_from_later};
use isthmus_collective::{Link, Root};

use super::arguments;
use super::form::{forms, run};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::handle::Handle;

forms! {
    /// `MPI_Bcast`: everyone (of the other group, if there is one) gets the root's elements.
    ///
    /// # Safety
    /// `buffer` must be readable at the root, and writable elsewhere, where the elements lie.
    pub unsafe fn bcast, ibcast, bcast_init = any_bcast<F>(
        buffer: *mut c_void,
        count: i64,
        datatype: Handle<Datatype>,
        root: i32,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Bcast")?;
        let root = arguments::root(root, comm)?;
        if root == Root::Elsewhere {
            call.compare(|terms| { terms.root(root); })?;
            return call.run(|_| Ok(()));
        }
        let elements = arguments::buffer(&call, "buffer", buffer, count, datatype.resolve_for(count, "datatype")?)?;
        call.compare(|terms| {
            let terms = terms.root(root).all(elements);
            match root.is_me(call.link().rank()) {
                true => terms.reads(elements),
                false => terms.writes(elements),
            };
        })?;
        call.keep(elements.datatype);
        // SAFETY: the caller's promise.
        run!(call, run_from, run_from_later, (elements, root))
    }
}
