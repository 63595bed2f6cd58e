//! User-defined operations: callbacks by address.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::op::UserFn;
use isthmus_mpi::procedures;

use super::callback;
use crate::abi::Abi;
use crate::argument::{self, Number};
use crate::entry::{self, CHandle};
use crate::mpich::{self, OpProxy, Through};

/// `MPI_User_function`, and `MPI_User_function_c` where `N` is 64 bits.
type CUser<A, N> = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut N, *mut CHandle<A>);

/// The most elements that one call of a function with an `int` is asked for.
const MOST: i64 = c_int::MAX as i64;

/// `MPI_Op_create`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn op_create<A: Abi, N: Number>(user_fn: *const c_void, commute: c_int, op: *mut CHandle<A>) -> c_int {
    entry::enter::<A>("MPI_Op_create", Scope::Process, || {
        let output = argument::output(op, "op")?;
        // SAFETY: the program gives the address of such a function.
        let function: CUser<A, N> = unsafe { callback::function(user_fn, "user_fn")? };
        let through = Arc::<Through>::default();
        let kept = Arc::clone(&through);
        let user: UserFn = Box::new(move |input, inout, count, datatype| {
            debug_assert!(count <= MOST, "reductions work on pieces");
            let mut length = N::narrow(count);
            let mut datatype = A::handle_out(datatype);
            // SAFETY: the program promised that its function can be called so, or the library that it uses that its own can.
            unsafe {
                match kept.function(0) {
                    None => function(input.cast_mut(), inout, &raw mut length, &raw mut datatype),
                    Some(proxy) => {
                        let call: OpProxy = callback::of(proxy);
                        call(
                            input,
                            inout,
                            count as c_int,
                            A::to_int(datatype),
                            function as *const c_void,
                        );
                    }
                }
            }
        });
        let made = A::handle_out(procedures::op_create(user, commute != 0)?);
        output.put(made);
        mpich::made::<A>(A::to_int(made), &through);
        Ok(())
    })
}
