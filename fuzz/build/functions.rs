//! The included part of `fuzz/src/calls.rs`: every C function and how its arguments look, and every constant, for the fuzzer.

use std::fmt::Write;

use anyhow::Result;

use super::c;
use super::rust::{self, Width};
use super::standard::{Direction, Length, Parameter, Procedure, Standard};

const TOP: &str = "\
use super::function::{Constant, Direction, Function, Length, Parameter, Shape, functions};
use Direction::{In, Inout, Out};
use Shape::{Array, Output, Value};

";

/// The file.
pub fn render(standard: &Standard) -> Result<String> {
    let mut text = String::from(TOP);
    text.push_str("functions! {\n");
    for procedure in &standard.procedures {
        for large in procedure.forms() {
            text.push_str(&function(procedure, large)?);
        }
    }
    text.push_str("}\n\n/// The constants of both ABIs.\npub const CONSTANTS: &[Constant] = &[\n");
    for constant in standard.sections.iter().flat_map(|section| &section.constants) {
        let number = |value: &Option<String>| value.as_deref().and_then(number);
        let (Some(standard), mpich) = (number(&constant.standard), number(&constant.mpich)) else {
            continue;
        };
        writeln!(
            text,
            "Constant {{ name: {:?}, set: {:?}, values: [{standard}, {}] }},",
            constant.name,
            constant.kind,
            mpich.unwrap_or(standard)
        )?;
    }
    text.push_str("];\n");
    Ok(text)
}

/// `MPI_Send => [Parameter { .. }, ..],`
fn function(procedure: &Procedure, large: bool) -> Result<String> {
    let mut text = format!("{} => [\n", procedure.c_name(large));
    for one in procedure.parameters(large).filter(|one| one.kind != "VARARGS") {
        writeln!(
            text,
            "Parameter {{ name: {:?}, kind: {:?}, direction: {:?}, shape: {}, bytes: {} }},",
            one.name,
            one.func_type.as_ref().unwrap_or(&one.kind),
            one.direction,
            shape(one),
            bytes(one, large)?
        )?;
    }
    text.push_str("],\n");
    Ok(text)
}

/// Is it passed by value, or the address of one or of many?
fn shape(parameter: &Parameter) -> String {
    match &parameter.length {
        Some(Length::Of(name)) if name == "*" => "Array(Length::Implied)".to_owned(),
        Some(Length::Of(name) | Length::Matrix([name, _])) => format!("Array(Length::Of({name:?}))"),
        None if parameter.kind.ends_with("FUNCTION") => "Value".to_owned(),
        None if parameter.direction != Direction::In || c::stars(parameter) > 0 => "Output".to_owned(),
        None => "Value".to_owned(),
    }
}

/// How long a value is; 0 for handles, whose size is the ABI's, and for what has no size.
fn bytes(parameter: &Parameter, large: bool) -> Result<usize> {
    if c::handle_type(&parameter.kind).is_some() {
        return Ok(0);
    }
    let width = if large { Width::Large } else { Width::Plain };
    let name = rust::parameter_type(parameter, width)?;
    Ok(
        match name
            .trim_start_matches("*mut ")
            .trim_start_matches("*const ")
            .trim_matches(['[', ']'])
        {
            "c_int" | "c_int; 3" => 4,
            "i64" | "f64" => 8,
            "c_char" => 1,
            _ if name.starts_with('*') && parameter.kind.starts_with(['C', 'P', 'E', 'T']) => 8,
            _ => 0,
        },
    )
}

/// A number as the header writes it.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
