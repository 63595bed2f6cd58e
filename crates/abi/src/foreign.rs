//! Handles of another ABI: two parts of a program that were compiled for different ones.

use isthmus_mpi::error::Error;
use isthmus_mpi::handle::Unresolved;

use crate::abi::Abi;

/// A constant of another ABI: its value there, and the name of that ABI.
pub struct Foreign {
    /// The value, as the program gave it.
    pub value: u32,
    /// The ABI that it belongs to.
    pub of: &'static str,
}

/// `error`, if it is about a handle of another ABI, in words that say so and what to do.
#[cold]
pub fn explained<A: Abi>(error: &Error) -> Option<Error> {
    let Unresolved { argument, raw, name } = error.attachment()?;
    let Foreign { value, of } = A::foreign(*raw)?;
    Some(Error::from_code(
        error.code(),
        format!(
            "{argument}={value:#x} ({name}) is a constant of {of}, but the code that made this call was compiled for {}: compile all \
             parts of the program for the same one ({})",
            A::NAME,
            match A::MPI4PY {
                // mpi4py's wheel has no form for the standard ABI.
                "mpiabi" => "mpicc -abi=mpich or -abi=openmpi for this one".to_owned(),
                abi => format!("mpi4py: MPI4PY_MPIABI={abi}"),
            }
        ),
    ))
}
