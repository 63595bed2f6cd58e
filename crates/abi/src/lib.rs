//! The C entry points of the three ABIs of MPI.
//!
//! Life of a call: the program's `MPI_Send` is a trampoline in `libmpi_abi.so.1`, `libmpi.so.12` or `libmpi.so.40` that
//! jumps to `isthmus_std_MPI_Send`, `isthmus_mpich_MPI_Send` or `isthmus_openmpi_MPI_Send` here, instances of one function generic over `abi::Abi`. It
//! converts and checks the arguments by kind (`argument`), calls the typed procedure in `isthmus_mpi::procedures`,
//! converts the results, and hands an error to the error handler (`entry`).
//!
//! Most entries are generated from `standard/` (`generated`); those that no rule covers are in `irregular`.
#![allow(unsafe_code)] // C calls these functions, with pointers; each site argues its case.

// Its entries are exported from the same library.
use isthmus_shmem as _;

/// Run by the dynamic linker before `main`: what the program sets itself comes later, and counts.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    let is_rank = |name| std::env::var_os(name).is_some();
    if ["ISTHMUS_RANK", "PMI_RANK"].into_iter().any(is_rank) {
        isthmus_engine::write_c_output_by_lines();
    }
}

mod abi;
mod argument;
mod armci;
mod entry;
mod foreign;
mod ga;
mod generated;
mod irregular;
mod mpich;
mod openmpi;
mod role;
