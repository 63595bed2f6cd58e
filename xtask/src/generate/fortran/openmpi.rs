//! Variables of the modules that Open MPI compiles.

use std::fmt::Write;

use anyhow::Result;

use super::super::standard::{Library, Standard};
use super::GENERATED;
use super::constants::{self, Type};

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
