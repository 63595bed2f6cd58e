//! The MPICH ABI as the library's C sees it, and variables of the modules that MPICH compiles.

use std::fmt::Write;

use anyhow::Result;

use super::super::c;
use super::super::header::function_type;
use super::super::standard::{Constant, Library, Standard};
use super::GENERATED;
use super::constants::{self, Type};

const TOP: &str = "
#include <stdint.h>

typedef int MPI_Fint;
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count, MPI_Offset;
typedef struct MPI_Status { int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR; } MPI_Status;
typedef int MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Message, MPI_Op, MPI_Request, MPI_Session, MPI_Win;
typedef struct ADIOI_FileD *MPI_File;
extern int *const MPI_UNWEIGHTED, *const MPI_WEIGHTS_EMPTY;
";

/// A header for the library alone: programs of that ABI have MPICH's.
pub fn header(standard: &Standard) -> Result<String> {
    let mut text = format!("/* The MPICH ABI.\n * {GENERATED} */\n{TOP}\n");
    callbacks(standard, &mut text)?;
    text.push('\n');
    for constant in standard.sections.iter().flat_map(|section| &section.constants) {
        let Some(value) = &constant.mpich else { continue };
        if is_tool(constant) || constant.kind == "weights" {
            continue;
        }
        if value.starts_with("MPI_") {
            writeln!(text, "#define {} {value}", constant.name)?;
        } else {
            writeln!(text, "#define {} (({}){value})", constant.name, constant.c_type)?;
        }
    }
    prototypes(standard, Library::Mpich, &mut text)?;
    Ok(text)
}

/// Does it belong to the tool interface, which Fortran does not have?
pub fn is_tool(constant: &Constant) -> bool {
    constant.name.starts_with("MPI_T_") || constant.c_type.starts_with("MPI_T_")
}

/// The types of callbacks.
pub fn callbacks(standard: &Standard, text: &mut String) -> Result<()> {
    let all = standard.callbacks.iter();
    for callback in all.filter(|one| !one.name.starts_with("MPI_T_")) {
        for large in callback.forms() {
            writeln!(text, "typedef {};", function_type(&c::prototype(callback, "", large)?))?;
        }
    }
    Ok(())
}

/// The functions of a library, with their profiling names.
pub fn prototypes(standard: &Standard, library: Library, text: &mut String) -> Result<()> {
    for prefix in ["", "P"] {
        text.push('\n');
        let all = standard
            .procedures
            .iter()
            .filter(|one| one.is_in(library) && one.chapter != "tool");
        for procedure in all.filter(|one| !one.name.contains("f08")) {
            for large in procedure.forms() {
                writeln!(text, "{};", c::prototype(procedure, prefix, large)?)?;
            }
        }
    }
    Ok(())
}

/// Named constants of MPICH's modules, which gfortran takes from the library.
pub fn constants(standard: &Standard) -> Result<String> {
    let mut text =
        format!("/* Named constants of MPICH's module mpi_f08, under gfortran's names.\n * {GENERATED} */\n");
    for constant in constants::values(standard, Library::Mpich)? {
        if let Type::Handle(_) = constant.of {
            let name = constant.name.to_lowercase();
            writeln!(
                text,
                "const int __mpi_f08_compile_constants_MOD_{name} = {:#x};",
                constant.value
            )?;
        }
    }
    writeln!(text, "\nint keyval_in(int keyval) {{\n    switch (keyval) {{")?;
    for constant in standard.sections.iter().flat_map(|section| &section.constants) {
        if constant.kind == "keyval"
            && constant.name != "MPI_KEYVAL_INVALID"
            && let Some(value) = &constant.mpich
        {
            writeln!(text, "    case {value} + 1: return {value};")?;
        }
    }
    text.push_str("    default: return keyval;\n    }\n}\n");
    Ok(text)
}
