//! The libraries that programs link: an assembly file each, in which every function jumps into the engine library.

use std::fmt::Write;

use super::standard::{Library, Standard};

/// How a processor jumps to a function of another library.
pub const JUMP: &str = "\
#if defined(__x86_64__)
.macro jump target
    jmp *\\target@GOTPCREL(%rip)
.endm
#elif defined(__aarch64__)
.macro jump target
    adrp x16, :got:\\target
    ldr x16, [x16, :got_lo12:\\target]
    br x16
.endm
#else
#error \"no trampolines for this processor yet: add a jump through the global offset table\"
#endif
";

/// An assembler's macro, called so, that makes a function `profiling`, which jumps to the engine library's function `target`, and its weak alias in
/// the same object, which is the macro's argument `name`.
pub fn with_alias(call: &str, profiling: &str, target: &str) -> String {
    format!(
        ".macro {call}
    .p2align 3
    .globl {profiling}
    .type {profiling}, %function
{profiling}:
    jump isthmus_{target}
    .size {profiling}, . - {profiling}
    .weak \\name
    .type \\name, %function
    .set \\name, {profiling}
    .size \\name, . - {profiling}
.endm
"
    )
}

/// Variables of libarmci.so: Global Arrays reads the communicator of all processes there.
const ARMCI_EXTRAS: &str = "
/* MPI_COMM_WORLD of the standard ABI. */
    .data
    .p2align 3
    .globl ARMCI_COMM_WORLD
    .type ARMCI_COMM_WORLD, %object
    .size ARMCI_COMM_WORLD, 8
ARMCI_COMM_WORLD:
    .quad 0x101
";

/// What the standard ABI has besides functions of the standard: what Open MPI's `mpi-ext.h` declares.
const STANDARD_EXTRAS: &str = "
/* Functions beside the standard's: see mpi-ext.h. */
EXTENSION
    extension MPIX_Query_cuda_support, MPIX_Query_cuda_support
    extension MPIX_Query_rocm_support, MPIX_Query_other_support
";

/// What the MPICH ABI has besides functions of the standard.
const MPICH_EXTRAS: &str = "
/* MPI_DUP_FN of the MPICH ABI. */
    .p2align 3
    .globl MPIR_Dup_fn
    .type MPIR_Dup_fn, %function
MPIR_Dup_fn:
    jump isthmus_mpich_MPIR_Dup_fn
    .size MPIR_Dup_fn, . - MPIR_Dup_fn

/* Functions beside the standard's that programs of the MPICH ABI call, with a profiling name each. */
EXTENSION
    extension MPIX_Query_cuda_support, MPIX_Query_cuda_support
    extension MPIX_Query_hip_support, MPIX_Query_other_support
    extension MPIX_Query_ze_support, MPIX_Query_other_support
    extension MPIX_GPU_query_support, MPIX_GPU_query_support
    extension MPIX_Request_is_complete, MPIX_Request_is_complete
    extension MPIX_Grequest_start, MPIX_Grequest_start
    extension MPIX_Grequest_class_create, MPIX_Grequest_class_create
    extension MPIX_Grequest_class_allocate, MPIX_Grequest_class_allocate
    extension MPIX_Type_iov, MPIX_Type_iov
    extension MPIX_Type_iov_len, MPIX_Type_iov_len
    extension MPIX_Delete_error_class, MPI_Remove_error_class
    extension MPIX_Delete_error_code, MPI_Remove_error_code
    extension MPIX_Delete_error_string, MPI_Remove_error_string

/* Functions that MPICH's Fortran and C++ libraries call. */
.macro inner name
    .p2align 3
    .globl \\name
    .type \\name, %function
\\name:
    jump isthmus_mpich_\\name
    .size \\name, . - \\name
.endm

    inner MPII_Comm_get_attr
    inner MPII_Comm_set_attr
    inner MPII_Type_get_attr
    inner MPII_Type_set_attr
    inner MPII_Win_get_attr
    inner MPII_Win_set_attr
    inner MPII_Keyval_set_proxy
    inner MPII_Op_set_cxx
    inner MPII_Errhandler_set_cxx
    inner MPII_Grequest_set_lang_f77

/* Constants that are data in the MPICH ABI. */
POINTER
    .section .data.rel.ro, \"aw\"
    .p2align 3
    pointer MPI_UNWEIGHTED, 10
    pointer MPI_WEIGHTS_EMPTY, 11
    pointer MPI_T_PVAR_ALL_HANDLES, 1

/* Variables: a Fortran layer stores the addresses of its own constants in the first two. */
    .data
    .p2align 3
    pointer MPI_F_STATUS_IGNORE, 0
    pointer MPI_F_STATUSES_IGNORE, 0
    pointer MPI_F08_STATUS_IGNORE, ignored_status
    pointer MPI_F08_STATUSES_IGNORE, ignored_statuses

    .bss
    .p2align 3
ignored_status:
    .skip 20
    .p2align 3
ignored_statuses:
    .skip 20
";

/// A variable with an address.
pub const POINTER: &str = "
.macro pointer name, value
    .globl \\name
    .type \\name, %object
    .size \\name, 8
\\name:
    .quad \\value
.endm
";

pub const END: &str = "
    .section .note.GNU-stack, \"\", %progbits
";

pub fn render(standard: &Standard) -> [(&'static str, String); 2] {
    [
        (
            "mpi_abi.S",
            library(
                standard,
                Library::Standard,
                "libmpi_abi.so.1: the standard ABI",
                "std",
                STANDARD_EXTRAS,
            ),
        ),
        (
            "mpi.S",
            library(
                standard,
                Library::Mpich,
                "libmpi.so.12 (and libmpich.so.12): the MPICH ABI",
                "mpich",
                MPICH_EXTRAS,
            ),
        ),
    ]
}

fn library(standard: &Standard, library: Library, what: &str, abi: &str, extras: &str) -> String {
    let mut text = format!("/* {what}.\n * Generated by cargo xtask gen from standard/: do not edit. */\n\n");
    text.push_str(JUMP);
    entries(standard, library, abi, &mut text);
    // With the entry of the MPICH ABI that does it.
    let extension = with_alias("extension name, target", "P\\name", "mpich_\\target");
    let extras = extras.replace("EXTENSION", &extension);
    text.push_str(&extras.replace("POINTER", POINTER.trim_start()));
    text.push_str(END);
    text
}

/// The functions of the standard that a library has.
pub fn entries(standard: &Standard, library: Library, abi: &str, text: &mut String) {
    text.push_str(
        "\n/* PMPI_X jumps to the engine library's function, MPI_X is its weak alias in the same object. */\n",
    );
    text.push_str(&with_alias("entry name", "P\\name", &format!("{abi}_\\name")));
    text.push_str("\n    .text\n");
    for name in standard.functions(library) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    entry {name}");
    }
}

/// The library of a one-sided model, of the functions that `list` names, one a line, with the name of its entry behind it if that is
/// another function's; lines with `#` are comments.
pub fn model(list: &str, model: &str, what: &str) -> String {
    let mut text =
        format!("/* {what}.\n * Generated by cargo xtask gen from standard/{model}.txt: do not edit. */\n\n");
    text.push_str(JUMP);
    // Names begin with capital or small letters.
    text.push_str("\n/* The profiling name jumps to the engine library's function, the other is its weak alias in the same object. */\n");
    let target = format!("{model}_\\target");
    text.push_str(&with_alias("entry profiling, name, target", "\\profiling", &target));
    text.push_str("\n    .text\n");
    let names = list.lines().map(str::trim);
    for name in names.filter(|name| !name.is_empty() && !name.starts_with('#')) {
        let prefix = if name.starts_with(char::is_uppercase) { 'P' } else { 'p' };
        // Writing to a string cannot fail.
        let (name, target) = name.split_once(' ').unwrap_or((name, name));
        let _ = writeln!(text, "    entry {prefix}{name}, {name}, {target}");
    }
    if model == "armci" {
        text.push_str(ARMCI_EXTRAS);
    }
    text.push_str(END);
    text
}
