//! Parameters as the Rust side of the C boundary writes them.

use anyhow::Result;

use super::c;
use super::standard::{Length, Parameter, Procedure};

/// Typed procedures that also want to know the width of the counts, for `MPI_Type_get_envelope`.
const WIDTH: [&str; 5] = [
    "type_contiguous",
    "type_create_hindexed_block",
    "type_create_hvector",
    "type_create_resized",
    "type_vector",
];

/// What stands for the width of counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// The type parameter of an entry that serves both forms.
    Generic,
    /// `int`
    Plain,
    /// The `_c` form.
    Large,
}

/// The type of values of a parameter, before pointers.
fn element(parameter: &Parameter, width: Width) -> Result<String> {
    let plain = c::base_type(parameter, false)?;
    let large = c::base_type(parameter, true)?;
    if plain == "int" && large != plain {
        return Ok(match width {
            Width::Generic => "N",
            Width::Plain => "c_int",
            Width::Large => "i64",
        }
        .to_owned());
    }
    let name = match plain.as_str() {
        "int" | "MPI_Fint" | "MPI_T_cb_safety" | "MPI_T_source_order" => "c_int",
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "i64",
        "void" | "MPI_F08_status" => "c_void",
        "char" => "c_char",
        "double" => "f64",
        "MPI_Status" => "CStatus<A>",
        "MPI_File" => "*mut c_void",
        handle if c::handle_type(&parameter.kind) == Some(handle) => "CHandle<A>",
        // Handles of the tool interface.
        _ => "*mut c_void",
    };
    Ok(name.to_owned())
}

/// `*const c_void`, `N`, `CHandle<A>` ...
pub fn parameter_type(parameter: &Parameter, width: Width) -> Result<String> {
    if is_function(parameter) {
        return Ok("*const c_void".to_owned());
    }
    let mut name = element(parameter, width)?;
    let mut pointers = c::stars(parameter);
    match &parameter.length {
        Some(Length::Matrix([_, columns])) => {
            name = format!("[{name}; {columns}]");
            pointers += 1;
        }
        _ if c::brackets(parameter) == "[]" => pointers += 1,
        _ => {}
    }
    let pointer = if parameter.constant { "*const " } else { "*mut " };
    Ok(format!("{}{name}", pointer.repeat(pointers)))
}

/// Does it hold the address of a function?
fn is_function(parameter: &Parameter) -> bool {
    parameter.kind.ends_with("FUNCTION")
}

/// `buf: *const c_void, count: N`
pub fn parameters(procedure: &Procedure, width: Width, large: bool) -> Result<String> {
    let list: Vec<String> = procedure
        .parameters(large)
        // A fixed number of arguments is as good to a caller of a variadic function that takes no more.
        .filter(|parameter| parameter.kind != "VARARGS")
        .map(|parameter| Ok(format!("{}: {}", name(parameter), parameter_type(parameter, width)?)))
        .collect::<Result<_>>()?;
    Ok(list.join(", "))
}

/// The type that a C function returns.
pub fn return_type(procedure: &Procedure) -> Result<&'static str> {
    Ok(match c::kind_type(&procedure.returns, false)? {
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "i64",
        "double" => "f64",
        "MPI_File" => "*mut c_void",
        handle if c::handle_type(&procedure.returns) == Some(handle) => "CHandle<A>",
        _ => "c_int",
    })
}

/// A parameter's name, spared the words of Rust.
pub fn name(parameter: &Parameter) -> &str {
    match parameter.name.as_str() {
        "type" => "r#type",
        "final" => "r#final",
        other => other,
    }
}

/// Do the two forms share one entry, generic over the width of counts?
pub fn is_generic(procedure: &Procedure) -> Result<bool> {
    if !procedure.has_large() || procedure.forms_differ() {
        return Ok(false);
    }
    for parameter in procedure.parameters(false) {
        if parameter_type(parameter, Width::Generic)?.ends_with('N') || parameter.kind == "POLYFUNCTION" {
            return Ok(true);
        }
    }
    Ok(wants_width(&procedure.rust_name()))
}

/// Does the typed procedure want to know the width of the counts?
pub fn wants_width(typed: &str) -> bool {
    WIDTH.contains(&typed)
}
