//! Open MPI's ABI as the library's C sees it, and variables of the modules that Open MPI compiles.

use std::fmt::Write;

use anyhow::Result;

use super::super::standard::{Library, OpenMpi, Standard};
use super::GENERATED;
use super::constants::{self, Type};
use super::mpich::{callbacks, is_tool, prototypes};

const TOP: &str = "
#include <stddef.h>
#include <stdint.h>

typedef int MPI_Fint;
typedef ptrdiff_t MPI_Aint;
typedef int64_t MPI_Count, MPI_Offset;
typedef struct MPI_Status { int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled; size_t bytes; } MPI_Status;
";

const HANDLES: [&str; 11] = [
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
];

/// A header for the library alone: programs of that ABI have Open MPI's.
pub fn header(standard: &Standard) -> Result<String> {
    let mut text = format!("/* Open MPI's ABI.\n * {GENERATED} */\n{TOP}");
    for handle in HANDLES {
        writeln!(text, "typedef struct openmpi_{handle} *MPI_{handle};")?;
    }
    text.push('\n');
    callbacks(standard, &mut text)?;
    text.push('\n');
    let constants = || standard.sections.iter().flat_map(|section| &section.constants);
    for constant in constants().filter(|one| !is_tool(one)) {
        match &constant.openmpi {
            Some(OpenMpi::Value(value)) => {
                writeln!(text, "#define {} (({}){value})", constant.name, constant.c_type)?;
            }
            Some(OpenMpi::Handle(symbol, _)) => {
                writeln!(text, "extern char {symbol}[];")?;
                writeln!(text, "#define {} (({}){symbol})", constant.name, constant.c_type)?;
            }
            // Only the names of the functions are of use, for Fortran's own.
            Some(OpenMpi::Symbol(_)) | None => {}
        }
    }
    // What this ABI has no value for, and the sources name.
    text.push_str("#define MPI_BUFFER_AUTOMATIC ((void *)2)\n#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)\n");
    prototypes(standard, Library::OpenMpi, &mut text)?;
    Ok(text)
}

/// Named constants of Open MPI's module, which gfortran takes from the library, and variables of the same values.
pub fn constants(standard: &Standard) -> Result<String> {
    let mut text =
        format!("/* Named constants of Open MPI's module mpi_f08, under gfortran's names.\n * {GENERATED} */\n");
    for constant in constants::values(standard, Library::OpenMpi)? {
        if let Type::Handle(_) = constant.of {
            let name = constant.name.to_lowercase();
            writeln!(text, "const int __mpi_f08_types_MOD_{name} = {};", constant.value)?;
            writeln!(
                text,
                "int ompi_f08_{} = {};",
                name.trim_end_matches("_t"),
                constant.value
            )?;
        }
    }
    Ok(text)
}
