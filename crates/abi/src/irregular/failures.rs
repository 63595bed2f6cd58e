//! Going on after failures.

use std::ffi::c_int;

use isthmus_mpi::comm::Comm;
use isthmus_mpi::{fail, procedures};

use crate::abi::Abi;
use crate::argument;
use crate::entry::{self, CHandle};

/// `MPIX_Comm_agree`
///
/// # Safety
/// As for the C function.
#[inline(always)] // So that the procedure stays on the stack, where reports find its name.
pub unsafe fn mpix_comm_agree<A: Abi>(comm: CHandle<A>, flag: *mut c_int) -> c_int {
    entry::enter::<A>("MPIX_Comm_agree", entry::on_comm::<A>(comm), || {
        let output = argument::output(flag, "flag")?;
        let comm = A::handle_in::<Comm>(comm).resolve("comm")?;
        let (agreed, unacknowledged) = procedures::mpix_comm_agree(comm, output.get())?;
        // Everybody has the same, even where the call fails.
        output.put(agreed);
        if unacknowledged {
            return Err(fail!(
                ProcFailed,
                "a member has failed, and not everybody has acknowledged that"
            ));
        }
        Ok(())
    })
}
