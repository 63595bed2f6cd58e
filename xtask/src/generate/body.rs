//! Bodies of entries: what happens before and after the typed procedure.

use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};

use super::argument;
use super::pieces::Body;
use super::rust::{self, Width, wants_width};
use super::standard::{Direction, Parameter, Procedure};

/// May be called before MPI is initialized and after it is finalized (MPI-5.0 §11.4.1), or reads nothing that
/// initialization makes.
const ANY_TIME: [&str; 33] = [
    "MPI_Abi_get_fortran_booleans",
    "MPI_Abi_get_fortran_info",
    "MPI_Abi_get_info",
    "MPI_Abi_set_fortran_booleans",
    "MPI_Abi_set_fortran_info",
    "MPI_Add_error_class",
    "MPI_Add_error_code",
    "MPI_Add_error_string",
    "MPI_Address",
    "MPI_Errhandler_free",
    "MPI_Error_class",
    "MPI_Error_string",
    // Says by itself what is wrong, and does nothing in a child made by fork.
    "MPI_Finalize",
    "MPI_Finalized",
    "MPI_Get_address",
    "MPI_Get_library_version",
    "MPI_Get_version",
    "MPI_Info_create",
    "MPI_Info_delete",
    "MPI_Info_dup",
    "MPI_Info_free",
    "MPI_Info_get",
    "MPI_Info_get_nkeys",
    "MPI_Info_get_nthkey",
    "MPI_Info_get_string",
    "MPI_Info_get_valuelen",
    "MPI_Info_set",
    "MPI_Initialized",
    "MPI_Remove_error_class",
    "MPI_Remove_error_code",
    "MPI_Remove_error_string",
    "MPI_Session_call_errhandler",
    "MPI_Session_init",
];

/// Procedures that are served by the typed function of another one.
const SERVED_BY: [(&str, &str); 13] = [
    ("address", "get_address"),
    ("attr_delete", "comm_delete_attr"),
    ("errhandler_get", "comm_get_errhandler"),
    ("errhandler_set", "comm_set_errhandler"),
    ("get_elements_x", "get_elements"),
    ("keyval_free", "comm_free_keyval"),
    ("status_set_elements_x", "status_set_elements"),
    ("type_get_extent_x", "type_get_extent"),
    ("type_get_true_extent_x", "type_get_true_extent"),
    ("type_hindexed", "type_create_hindexed"),
    ("type_hvector", "type_create_hvector"),
    ("type_size_x", "type_size"),
    ("type_struct", "type_create_struct"),
];

/// Collective procedures of other chapters whose calls are counted where ranks are checked to call the same, with the
/// communicator of which they are.
const COUNTED_BY_NAME: [&str; 14] = [
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Comm_create",
    "MPI_Comm_dup",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_idup",
    "MPI_Comm_idup_with_info",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Graph_create",
    "MPI_Intercomm_create",
    "MPI_Intercomm_merge",
];

/// The function that is told that a call's arguments were refused, which the typed procedure would have counted, and the name of the
/// collective or the procedure.
fn teller(procedure: &Procedure) -> Option<(&'static str, String)> {
    let on_comm = |one: &Parameter| one.kind == "COMMUNICATOR" && one.direction == Direction::In;
    let is_neighborly = procedure.name.to_ascii_lowercase().contains("neighbor_a");
    if COUNTED_BY_NAME.contains(&procedure.name.as_str()) {
        return Some(("refused_by_name", procedure.name.clone()));
    }
    if !(procedure.chapter == "collective" || is_neighborly) || !procedure.parameters(false).any(on_comm) {
        return None;
    }
    let name = procedure.name.strip_prefix("MPI_").unwrap_or(&procedure.name);
    let immediate = name
        .strip_prefix('I')
        .filter(|rest| rest.starts_with(char::is_lowercase));
    Some(match (immediate, name.strip_suffix("_init")) {
        (Some(name), _) => ("refused_immediate", capitalized(name)),
        (_, Some(name)) => ("refused_persistent", name.to_owned()),
        _ => ("refused", name.to_owned()),
    })
}

fn capitalized(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// The communicator first, then whatever may be refused, and only then the call.
fn count_refusals(procedure: &Procedure, (teller, call): (&str, String), body: &mut Body) -> Result<()> {
    let comm = procedure
        .parameters(false)
        .find(|one| one.kind == "COMMUNICATOR")
        .map(rust::name);
    let comm = comm.context("no communicator")?;
    let resolved = format!("let {comm} = A::handle_in::<Comm>({comm}).resolve({comm:?})?;\n");
    ensure!(body.before.contains(&resolved), "its communicator is not resolved");
    let rest = body.before.replacen(&resolved, "", 1);
    if !rest.contains('?') && !body.arguments.iter().any(|argument| argument.contains('?')) {
        // Whatever it is given, the procedure gets to see.
        return Ok(());
    }
    body.before = format!("{resolved}let refusal = entry::Refusal::new({comm}, {call:?}, entry::{teller});\n{rest}");
    for (index, argument) in body.arguments.iter_mut().enumerate() {
        if argument.contains('?') {
            writeln!(body.before, "let argument_{index} = {argument};")?;
            *argument = format!("argument_{index}");
        }
    }
    body.before.push_str("refusal.disarm();\n");
    Ok(())
}

/// Collective procedures on files: their names without `MPI_File_`, or the ends of these.
const ON_FILES: [&str; 8] = [
    "_all",
    "_ordered",
    "preallocate",
    "seek_shared",
    "set_atomicity",
    "set_info",
    "set_size",
    "set_view",
];

/// The function that tells the other members of a collective procedure on files of an error in its arguments, and what it is given
/// besides the error.
fn file_teller(procedure: &Procedure) -> Option<(&'static str, &'static str, String)> {
    let name = procedure.name.strip_prefix("MPI_File_")?;
    if name == "open" {
        return Some(("comm", "file_open_refused", "comm".to_owned()));
    }
    let is_collective = ON_FILES.iter().any(|end| name.ends_with(end));
    is_collective.then(|| ("fh", "file_refused", format!("fh, {:?}", procedure.rust_name())))
}

/// The object first, then whatever may be refused, of which the other members are told.
fn tell_refusals(object: &str, teller: &str, with: &str, body: &mut Body) -> Result<()> {
    let lines: Vec<&str> = body.before.lines().collect();
    let is_object = |line: &&&str| line.trim_start().starts_with(&format!("let {object} ="));
    let resolved = lines.iter().find(is_object).context("its object is not resolved")?;
    let rest: Vec<&str> = lines.iter().filter(|line| !is_object(line)).copied().collect();
    let mut names = Vec::new();
    let mut checks = String::new();
    for line in rest {
        let name = line
            .trim_start()
            .strip_prefix("let ")
            .and_then(|line| line.split_once(" ="));
        let (name, _) = name.context("a check that is no binding")?;
        names.push(name.to_owned());
        writeln!(checks, "{line}")?;
    }
    for (index, argument) in body.arguments.iter_mut().enumerate() {
        if argument.contains('?') {
            writeln!(checks, "let argument_{index} = {argument};")?;
            *argument = format!("argument_{index}");
            names.push(argument.clone());
        }
    }
    if !checks.contains('?') {
        return Ok(());
    }
    let pattern = match &names[..] {
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    };
    body.before = format!(
        "{resolved}\nlet {pattern} = entry::refusable(|| {{ {checks} Ok({pattern}) }}, |error| procedures::{teller}({with}, error))?;\n"
    );
    Ok(())
}

/// Arguments that the typed procedures of one-sided communication take as one: how their names begin and end, and the struct, whose fields
/// are named by the ends.
const STRUCTS: [(&str, &[&str], &str); 3] = [
    ("origin", &["addr", "count", "datatype"], "Origin"),
    ("result", &["addr", "count", "datatype"], "Origin"),
    ("target", &["rank", "disp", "count", "datatype"], "TargetElements"),
];

/// Replace the arguments that make such a struct, unless its datatype is given as a handle that may name nothing.
fn as_structs(procedure: &Procedure, body: &mut Body) {
    // A request is a result.
    let given = procedure.parameters(false).filter(|one| one.kind != "REQUEST");
    let mut names: Vec<&str> = given.map(rust::name).collect();
    if procedure.chapter != "rma" || names.len() != body.arguments.len() {
        return;
    }
    for (begin, ends, of) in STRUCTS {
        let fields: Vec<String> = ends.iter().map(|end| format!("{begin}_{end}")).collect();
        let Some(at) = names.windows(fields.len()).position(|window| window == fields) else {
            continue;
        };
        let range = at..at + fields.len();
        if body.arguments[range.end - 1] != names[range.end - 1] {
            continue;
        }
        let given = ends.iter().zip(&body.arguments[range.clone()]);
        let given: Vec<String> = given.map(|(end, argument)| format!("{end}: {argument}")).collect();
        body.arguments
            .splice(range.clone(), [format!("{of} {{ {} }}", given.join(", "))]);
        names.splice(range, [begin]);
    }
}

/// The whole entry.
pub fn render(procedure: &Procedure) -> Result<String> {
    if procedure.forms_differ() || rust::return_type(procedure)? != "c_int" {
        bail!("no rule covers it: write its entry in crates/abi/src/irregular/, or list it in standard/unfinished.txt");
    }
    let name = procedure.rust_name();
    let typed = SERVED_BY
        .iter()
        .find(|(one, _)| *one == name)
        .map_or(name.as_str(), |(_, other)| other);
    let width = if rust::is_generic(procedure)? {
        ", N: Number"
    } else {
        ""
    };
    let mut body = Body::default();
    let reports = procedure.chapter == "point_to_point" && has_status(procedure);
    for parameter in procedure.parameters(false) {
        argument::add(procedure, parameter, &mut body)?;
    }
    as_structs(procedure, &mut body);
    if wants_width(typed) {
        body.arguments
            .push(if width.is_empty() { "Width::Int" } else { "N::WIDTH" }.to_owned());
    }
    if reports && !body.report.is_empty() {
        // Some only tell that an operation was completed, not how.
        let condition = if body.report.contains("done.") {
            "let Some(done) = argument::completion(&result)"
        } else {
            "argument::completion(&result).is_some()"
        };
        writeln!(body.always, "if {condition} {{ {} }}", body.report)?;
    }
    if let Some(teller) = teller(procedure) {
        count_refusals(procedure, teller, &mut body)?;
    }
    if let Some((object, teller, with)) = file_teller(procedure) {
        tell_refusals(object, teller, &with, &mut body)?;
    }
    let when = if ANY_TIME.contains(&procedure.name.as_str()) {
        "any_time"
    } else {
        "enter"
    };
    let results = match &body.results[..] {
        [] => String::new(),
        [one] => format!("let {one} = "),
        several => format!("let ({}) = ", several.join(", ")),
    };
    let call = format!("procedures::{typed}({})", body.arguments.join(", "));
    let mut text = String::new();
    writeln!(text, "\n/// `{}`.\n#[inline(always)]", procedure.name)?;
    writeln!(
        text,
        "unsafe fn {name}<A: Abi{width}>({}) -> c_int {{",
        rust::parameters(procedure, Width::Generic, false)?
    )?;
    writeln!(
        text,
        "entry::{when}::<A>({:?}, {}, || {{",
        procedure.name,
        scope(procedure)
    )?;
    text.push_str("// SAFETY: the caller keeps the standard's rules for the arguments.\nunsafe {\n");
    text.push_str(&body.before);
    if body.always.is_empty() {
        writeln!(text, "{results}{call}?;\n{}Ok(())", body.after)?;
    } else {
        writeln!(
            text,
            "let result = {call};\n{}{results}result?;\n{}Ok(())",
            body.always, body.after
        )?;
    }
    text.push_str("} }) }\n");
    Ok(text)
}

/// The object whose error handler hears of errors.
pub fn scope(procedure: &Procedure) -> String {
    for parameter in procedure.parameters(true) {
        let variant = match parameter.kind.as_str() {
            "COMMUNICATOR" => "comm",
            "SESSION" => "session",
            "WINDOW" => "win",
            "FILE" => "file",
            _ => continue,
        };
        let name = rust::name(parameter);
        // An error in opening a file is no error of the communicator.
        if procedure.chapter == "io" && variant == "comm" {
            continue;
        }
        match parameter.direction {
            Direction::In => return format!("entry::on_{variant}::<A>({name})"),
            Direction::Inout => return format!("entry::on_{variant}_at::<A>({name})"),
            Direction::Out => {}
        }
    }
    let usual = if procedure.chapter == "io" {
        "Scope::NoFile"
    } else {
        "Scope::Process"
    };
    new_object(procedure).unwrap_or_else(|| usual.to_owned())
}

/// The error handler that a procedure without a parent is given for what it makes.
fn new_object(procedure: &Procedure) -> Option<String> {
    let find = |kind: &str, direction| {
        procedure
            .parameters(true)
            .find(|one| one.kind == kind && one.direction == direction)
    };
    let given = rust::name(find("ERRHANDLER", Direction::In)?);
    let variant = if find("COMMUNICATOR", Direction::Out).is_some() {
        "comm"
    } else {
        find("SESSION", Direction::Out)?;
        "session"
    };
    Some(format!("entry::on_new_{variant}::<A>({given})"))
}

/// Does it say how operations ended?
fn has_status(procedure: &Procedure) -> bool {
    procedure
        .parameters(false)
        .any(|one| one.kind == "STATUS" && one.direction == Direction::Out)
}
