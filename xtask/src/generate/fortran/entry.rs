//! The entries of the library, in C: each converts its arguments and calls the C function.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;

use super::super::standard::{Parameter, Procedure, Standard};
use super::parameter::{Code, Form, Section, sections};
use super::{GENERATED, base, current, detaches, goes_on, has_choice, has_request, in_f08, procedures};

/// Entries of `mpif.h` and module `mpi`, and those of module `mpi_f08` without choice buffers.
pub fn plain(standard: &Standard, by_hand: &BTreeSet<String>) -> Result<String> {
    let mut text = format!(
        "/* Procedures as mpif.h has them, and without choice buffers as module mpi_f08 has them.\n * {GENERATED} */\n#include \"fortran.h\"\n"
    );
    let mut removed = String::new();
    for procedure in procedures(standard).filter(|one| one.chapter != "failures") {
        let name = base(procedure);
        let to = if procedure.chapter == "removed" {
            &mut removed
        } else {
            &mut text
        };
        if !by_hand.contains(&name) {
            let form = Form {
                large: false,
                f08: false,
                section: None,
            };
            let capitals = name.to_uppercase();
            let (returns, body) = function(procedure, &form, &[])?;
            match returns {
                None => write!(to, "\nENTRY({name}, {capitals}){body}")?,
                Some(returns) => write!(to, "\nRETURNS({returns}, {name}, {capitals}){body}")?,
            }
            if procedure.parameters(false).any(|one| one.kind == "C_BUFFER") {
                writeln!(to, "SPELLINGS_AS({name}_cptr, {capitals}_CPTR, {name});")?;
            }
            if in_f08(procedure) && !detaches(procedure) {
                let of = if has_choice(procedure) { "F08_ADDRESSES" } else { "F08" };
                writeln!(to, "{of}({name});")?;
            }
        }
        if !in_f08(procedure) || has_choice(procedure) {
            continue;
        }
        if detaches(procedure) {
            let form = Form {
                large: false,
                f08: true,
                section: None,
            };
            write!(to, "\nENTRY_F08({name}){}", function(procedure, &form, &[])?.1)?;
        }
        if procedure.has_large() && !by_hand.contains(&format!("{name}_c")) {
            let form = Form {
                large: true,
                f08: true,
                section: None,
            };
            write!(
                to,
                "\nENTRY_LARGE({name}_c, {name}){}",
                function(procedure, &form, &[])?.1
            )?;
        }
    }
    write!(
        text,
        "\n#if defined(HAS_REMOVED)\n/* What was removed from the standard. */\n{removed}#endif\n"
    )?;
    Ok(text)
}

/// Entries of module `mpi_f08` with choice buffers.
pub fn choice(standard: &Standard) -> Result<String> {
    let mut text = format!(
        "/* Procedures of module mpi_f08 with choice buffers, which may be sections of arrays.\n * {GENERATED} */\n#include \"section.h\"\n"
    );
    for procedure in current(standard).filter(|one| has_choice(one) && in_f08(one)) {
        let name = base(procedure);
        for large in procedure.forms() {
            let form = Form {
                large,
                f08: true,
                section: None,
            };
            let (_, body) = function(procedure, &form, &sections(procedure, large))?;
            match large {
                false => write!(text, "\nCHOICE({name}){body}")?,
                true => write!(text, "\nCHOICE_LARGE({name}_c, {name}){body}")?,
            }
        }
    }
    Ok(text)
}

/// What a function returns, if anything but an error code, and it from its parameters on.
fn function(procedure: &Procedure, form: &Form, sections: &[Section]) -> Result<(Option<&'static str>, String)> {
    let mut code = Code::default();
    let all: Vec<&Parameter> = procedure.parameters(form.large).collect();
    for section in sections {
        code.section(section, !goes_on(procedure) && !has_request(procedure));
    }
    let has_error = procedure.returns == "ERROR_CODE" && !all.iter().any(|one| one.kind == "VARARGS");
    for parameter in &all {
        let own = Form {
            section: sections.iter().find(|section| section.is(parameter)),
            ..*form
        };
        code.parameter(procedure, parameter, &all, &own)?;
    }
    if has_error {
        code.parameters.push("FINT *ierror".to_owned());
    }
    let mut lengths = std::mem::take(&mut code.lengths);
    if sections.is_empty() {
        code.parameters.append(&mut lengths);
    }
    let mut parameters = if code.parameters.is_empty() {
        "void".to_owned()
    } else {
        code.parameters.join(", ")
    };
    for length in lengths {
        // Only callers with gfortran's own descriptors give them.
        write!(parameters, " LENGTH({length})")?;
    }
    let call = format!("C({})({})", procedure.c_name(form.large), code.arguments.join(", "));
    let returns = match procedure.returns.as_str() {
        "WALL_TIME" | "TICK_RESOLUTION" => Some("double"),
        "LOCATION_SMALL" | "DISPLACEMENT" => Some("ADDRESS"),
        _ => None,
    };
    if returns.is_some() {
        return Ok((returns, format!("({parameters}) {{\n    return {call};\n}}\n")));
    }
    if !has_error {
        return Ok((None, format!("({parameters}) {{\n    {call};\n}}\n")));
    }
    let mut body = format!("({parameters}) {{\n    int code;\n");
    if ["init", "init_thread", "session_init"].contains(&base(procedure).as_str()) {
        // Other libraries of the standard ABI refuse to be asked before: MPICH 5.0 ends the program.
        code.after.push_str("    if (code == MPI_SUCCESS) announce();\n");
    }
    body.push_str(&code.before);
    let refused: Vec<String> = sections
        .iter()
        .filter_map(|section| section.refused(has_request(procedure)))
        .collect();
    if refused.is_empty() {
        writeln!(body, "    code = {call};")?;
    } else {
        let (of, object) = raised_on(&all);
        let name = &procedure.name;
        let refused = refused.join(" || ");
        writeln!(
            body,
            "    code = {refused} ? refuse{of}(\"{name}\", {object}) : {call};"
        )?;
    }
    body.push_str(&code.after);
    body.push_str("    if (ierror) *ierror = code;\n}\n");
    Ok((None, body))
}

/// The object whose error handler is called: how the function in C ends that does it, and the object.
fn raised_on(parameters: &[&Parameter]) -> (&'static str, &'static str) {
    let has = |kind: &str| parameters.iter().any(|one| one.kind == kind);
    if has("COMMUNICATOR") {
        ("", "comm_in(*comm)")
    } else if has("WINDOW") {
        ("_of_win", "win_in(*win)")
    } else if has("SESSION") {
        ("_of_session", "session_in(*session)")
    } else {
        ("", "MPI_COMM_SELF")
    }
}
