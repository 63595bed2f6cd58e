//! Variables of the modules that MPICH compiles, and its predefined keys.

use std::fmt::Write;

use anyhow::Result;

use super::super::standard::{Library, Standard};
use super::GENERATED;
use super::constants::{self, Type};

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
