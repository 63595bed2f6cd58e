//! Representations of data in files: conversions by address.

use std::ffi::{c_char, c_int, c_void};

use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::error::Result;
use isthmus_mpi::fail;
use isthmus_mpi::file::{ConversionFn, ExtentFn};
use isthmus_mpi::handle::Handle;
use isthmus_mpi::procedures;

use super::callback;
use crate::abi::{Abi, ErrorCode};
use crate::argument::{self, Number};
use crate::entry::{self, CHandle};

/// `MPI_Datarep_conversion_function`, and its large-count form.
type CConversion<A, N> =
    unsafe extern "C-unwind" fn(*mut c_void, CHandle<A>, N, *mut c_void, i64, *mut c_void) -> c_int;
/// `MPI_Datarep_extent_function`
type CExtent<A> = unsafe extern "C-unwind" fn(CHandle<A>, *mut i64, *mut c_void) -> c_int;

/// `extra_state`, of which only the program knows what it is.
#[derive(Clone, Copy)]
struct Extra(*mut c_void);

// SAFETY: it is handed back to the program's functions as it is.
unsafe impl Send for Extra {}
// SAFETY: as above.
unsafe impl Sync for Extra {}

impl Extra {
    fn pointer(self) -> *mut c_void {
        self.0
    }
}

unsafe fn conversion<A: Abi, N: Number + TryFrom<i64>>(address: *const c_void, extra: Extra) -> Option<ConversionFn> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the program gives the address of such a function.
    let function: CConversion<A, N> = unsafe { callback::of(address) };
    Some(Box::new(
        move |buffer, datatype: Handle<Datatype>, count, bytes, position| {
            let Ok(count) = N::try_from(count) else {
                return fail!(Count, "").code();
            };
            // SAFETY: the program promised that its function can be called so.
            A::word_in::<ErrorCode>(unsafe {
                function(
                    buffer.cast(),
                    A::handle_out(datatype),
                    count,
                    bytes.cast(),
                    position,
                    extra.pointer(),
                )
            })
        },
    ))
}

/// `MPI_Register_datarep`, and `MPI_Register_datarep_c` with large counts.
///
/// # Safety
/// As for the C function.
pub unsafe fn register_datarep<A: Abi, N: Number + TryFrom<i64>>(
    datarep: *const c_char,
    read_conversion_fn: *const c_void,
    write_conversion_fn: *const c_void,
    dtype_file_extent_fn: *const c_void,
    extra_state: *mut c_void,
) -> c_int {
    entry::enter::<A>("MPI_Register_datarep", Scope::NoFile, || {
        let extra = Extra(extra_state);
        // SAFETY: the caller's promise.
        let result: Result<()> = unsafe {
            let function: CExtent<A> = callback::function(dtype_file_extent_fn, "dtype_file_extent_fn")?;
            let extent: ExtentFn = Box::new(move |datatype| {
                let mut extent = 0_i64;
                match A::word_in::<ErrorCode>(function(A::handle_out(datatype), &raw mut extent, extra.pointer())) {
                    0 => Ok(extent),
                    code => Err(code),
                }
            });
            procedures::register_datarep(
                argument::string(datarep, "datarep")?,
                conversion::<A, N>(read_conversion_fn, extra),
                conversion::<A, N>(write_conversion_fn, extra),
                extent,
            )
        };
        result
    })
}
