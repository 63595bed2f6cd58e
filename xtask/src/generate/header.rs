//! `mpi.h` of each ABI, for C and C++.

use std::fmt::Write;

use anyhow::Result;

use super::standard::{Constant, HANDLES, Library, OpenMpi, Parameter, Procedure, Standard};
use super::{c, openmpi};

/// The ABI that a header is for.
pub struct Abi {
    pub library: Library,
    /// Where its header is, from the root of the repository.
    pub path: &'static str,
    top: &'static str,
    /// The type that a handle is, by its name.
    handle: fn(&str) -> String,
    /// What follows the constants.
    own: &'static str,
    /// Macros instead of procedures that older libraries of this ABI do not export: they follow the declarations.
    macros: &'static str,
}

pub const ABIS: [Abi; 3] = [
    Abi {
        library: Library::Standard,
        path: "include/mpi.h",
        top: include_str!("header/standard_top.txt"),
        handle: |name| format!("struct MPI_ABI_{name} *"),
        own: "",
        macros: "",
    },
    Abi {
        library: Library::Mpich,
        path: "include/isthmus/mpich/mpi.h",
        top: include_str!("header/mpich_top.txt"),
        handle: |name| if name == "File" { "struct ADIOI_FileD *" } else { "int " }.to_owned(),
        own: include_str!("header/mpich_own.txt"),
        macros: include_str!("header/mpich_macros.txt"),
    },
    Abi {
        library: Library::OpenMpi,
        path: "include/isthmus/openmpi/mpi.h",
        top: include_str!("header/openmpi_top.txt"),
        handle: |name| {
            // The names are part of the names that C++ gives to functions.
            let own = match name {
                "Comm" => "communicator".to_owned(),
                "Session" => "instance".to_owned(),
                other => other.to_lowercase(),
            };
            format!("struct ompi_{own}_t *")
        },
        own: include_str!("header/openmpi_own.txt"),
        macros: include_str!("header/openmpi_macros.txt"),
    },
];

const TOOL_HANDLES: [&str; 6] = [
    "cvar_handle",
    "enum",
    "event_instance",
    "event_registration",
    "pvar_handle",
    "pvar_session",
];

/// Names that MPI-2 gave to what are now the `_function` types.
const OLD_CALLBACKS: [&str; 4] = ["Comm", "File", "Session", "Win"];

/// The beginning of what is compiled into programs; see docs/decisions.
const FORTRAN: &str = include_str!("header/standard_fortran.txt");
const STATUSES: &str = include_str!("header/standard_statuses.txt");

/// What MPI-3.0 removed, for sources that are older. It calls what has taken its place, so that no library needs it.
const REMOVED: &str = include_str!("header/standard_removed.txt");

/// The function that duplicates an attribute, in the MPICH ABI.
const DUPLICATE: &str = "int MPIR_Dup_fn(MPI_Comm oldcomm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);";

const BOTTOM: &str = "
#if defined(__cplusplus)
}
#endif

#endif /* ISTHMUS_MPI_H */
";

pub fn render(standard: &Standard, abi: &Abi) -> Result<String> {
    let library = abi.library;
    let mut text = abi.top.to_owned();
    for name in HANDLES {
        writeln!(text, "typedef {}MPI_{name};", (abi.handle)(name))?;
    }
    text.push_str("\n/* Handles of the tool interface. */\n");
    for name in TOOL_HANDLES {
        writeln!(text, "typedef struct MPI_T_{name}_s *MPI_T_{name};")?;
    }
    if has_events(library) {
        text.push_str("\n/* Enumerations of the tool interface. */\n");
        enumeration(standard, library, "MPI_T_cb_safety", &mut text)?;
        enumeration(standard, library, "MPI_T_source_order", &mut text)?;
    }
    callbacks(standard, library, &mut text)?;
    for section in &standard.sections {
        let shown: Vec<(&Constant, String)> = section
            .constants
            .iter()
            .filter(|constant| !is_enumerator(constant))
            .filter_map(|constant| Some((constant, value(constant, library)?)))
            .collect();
        if shown.is_empty() {
            continue;
        }
        writeln!(text, "\n/* {}. */", section.title)?;
        let names = shown.iter().filter(|(constant, value)| *value != constant.name);
        let width = names.map(|(constant, _)| constant.name.len()).max().unwrap_or(0);
        for (constant, value) in shown {
            if let Some(line) = declaration(constant, library) {
                writeln!(text, "{line}")?;
            }
            if value != constant.name {
                writeln!(text, "#define {:width$} {value}", constant.name)?;
            }
        }
    }
    text.push_str(abi.own);
    prototypes(standard, library, "", &mut text)?;
    text.push_str("\n/* The same under the names of the profiling interface. */\n");
    prototypes(standard, library, "P", &mut text)?;
    if library == Library::Standard {
        fortran(&mut text)?;
        text.push_str(REMOVED);
    }
    text.push_str(abi.macros);
    text.push_str(BOTTOM);
    Ok(text)
}

/// Open MPI's `mpi-ext.h`: questions about GPUs, and in its own ABI persistent collectives by the names of Open MPI 4.
pub fn extensions(standard: &Standard, library: Library) -> Result<String> {
    let mut text = include_str!("header/openmpi_ext.txt").to_owned();
    for procedure in &standard.procedures {
        let name = procedure.name.trim_start_matches("MPI_");
        if library == Library::OpenMpi && openmpi::PERSISTENT.contains(&name) {
            let prototype = c::prototype(procedure, "", false)?;
            writeln!(text, "{};", prototype.replacen(" MPI_", " MPIX_", 1))?;
        }
    }
    text.push_str("\n#if defined(__cplusplus)\n}\n#endif\n\n#endif /* ISTHMUS_MPI_EXT_H */\n");
    Ok(text)
}

/// Open MPI's ABI has no values for what callbacks of events are given.
fn has_events(library: Library) -> bool {
    library != Library::OpenMpi
}

/// Does a procedure or a callback need events?
fn is_of_events(procedure: &Procedure) -> bool {
    let is_event = |parameter: &Parameter| {
        parameter.kind.starts_with("EVENT_")
            || ["CALLBACK_SAFETY", "SOURCE_ORDERING"].contains(&parameter.kind.as_str())
    };
    procedure.chapter == "tool" && procedure.name.contains("event")
        || procedure.name.starts_with("MPI_T_source")
        || procedure.parameters(true).any(is_event)
}

/// Conversions by way of the ABI's own.
fn fortran(text: &mut String) -> Result<()> {
    text.push_str(FORTRAN);
    for name in HANDLES {
        // Only datatypes have functions of another name than their own.
        let (function, variable) = (name.replace("Datatype", "Type"), name.to_lowercase());
        writeln!(
            text,
            "static __inline__ MPI_Fint MPI_{function}_c2f(MPI_{name} {variable}) {{ return MPI_{function}_toint({variable}); }}"
        )?;
        writeln!(
            text,
            "static __inline__ MPI_{name} MPI_{function}_f2c(MPI_Fint {variable}) {{ return MPI_{function}_fromint({variable}); }}"
        )?;
    }
    text.push_str(STATUSES);
    Ok(())
}

/// Constants of the two enumerations, which C++ does not make from integers.
fn is_enumerator(constant: &Constant) -> bool {
    ["MPI_T_cb_safety", "MPI_T_source_order"].contains(&constant.c_type.as_str())
}

fn enumeration(standard: &Standard, library: Library, c_type: &str, text: &mut String) -> Result<()> {
    writeln!(text, "typedef enum {c_type} {{")?;
    let all = standard.sections.iter().flat_map(|section| &section.constants);
    let members: Vec<String> = all
        .filter(|constant| constant.c_type == c_type)
        .filter_map(|constant| Some(format!("    {} = {}", constant.name, number(constant, library)?)))
        .collect();
    writeln!(text, "{}\n}} {c_type};", members.join(",\n"))?;
    Ok(())
}

fn callbacks(standard: &Standard, library: Library, text: &mut String) -> Result<()> {
    text.push_str("\n/* Functions that users give to MPI. */\n");
    let all = standard.callbacks.iter();
    for callback in all.filter(|one| has_events(library) || !is_of_events(one)) {
        for large in callback.forms() {
            writeln!(text, "typedef {};", function_type(&c::prototype(callback, "", large)?))?;
        }
    }
    for name in OLD_CALLBACKS {
        writeln!(text, "typedef MPI_{name}_errhandler_function MPI_{name}_errhandler_fn;")?;
    }
    if library != Library::Standard {
        text.push_str("typedef MPI_Comm_errhandler_function MPI_Handler_function;\n");
    }
    Ok(())
}

/// `int MPI_X(int)` as the type that a `typedef` names: `int (MPI_X)(int)`.
pub fn function_type(prototype: &str) -> String {
    match (prototype.find(" MPI_"), prototype.find('(')) {
        (Some(start), Some(end)) => {
            format!(
                "{} ({}){}",
                &prototype[..start],
                &prototype[start + 1..end],
                &prototype[end..]
            )
        }
        _ => prototype.to_owned(),
    }
}

/// The number or the name of another constant, as `standard/` has it.
fn number(constant: &Constant, library: Library) -> Option<&str> {
    match library {
        Library::Standard => constant.standard.as_deref(),
        Library::Mpich => constant.mpich.as_deref(),
        Library::OpenMpi => match &constant.openmpi {
            Some(OpenMpi::Value(value)) => Some(value),
            // The version of the standard is that of the procedures.
            None if constant.kind == "version" && !constant.name.contains("_ABI_") => constant.standard.as_deref(),
            _ => None,
        },
    }
}

/// The MPICH ABI has these as data: the constant's name is the variable's.
fn is_data(constant: &Constant, library: Library) -> bool {
    library == Library::Mpich && (constant.kind == "weights" || constant.name == "MPI_T_PVAR_ALL_HANDLES")
}

/// What declares the data or the function that a constant is the address of.
fn declaration(constant: &Constant, library: Library) -> Option<String> {
    if is_data(constant, library) {
        return Some(match constant.c_type.strip_suffix('*') {
            Some(_) => format!("extern {}const {};", constant.c_type, constant.name),
            None => format!("extern {} const {};", constant.c_type, constant.name),
        });
    }
    if library == Library::Mpich && constant.name == "MPI_DUP_FN" {
        return Some(DUPLICATE.to_owned());
    }
    match &constant.openmpi {
        Some(OpenMpi::Handle(symbol, _)) if library == Library::OpenMpi => Some(format!("extern char {symbol}[];")),
        Some(OpenMpi::Symbol(symbol)) if library == Library::OpenMpi => {
            let function = constant.c_type.trim_end_matches(" *");
            Some(format!("extern {function} {symbol};"))
        }
        _ => None,
    }
}

/// `((MPI_Comm)0x101)`, `(-1)`, `13`; the constant's own name if it is data, and nothing if the ABI does not have it.
fn value(constant: &Constant, library: Library) -> Option<String> {
    if is_data(constant, library) {
        return Some(constant.name.clone());
    }
    if library == Library::Mpich && constant.name.ends_with("DUP_FN") {
        return Some(format!("(({})MPIR_Dup_fn)", constant.c_type));
    }
    match &constant.openmpi {
        Some(OpenMpi::Handle(symbol, _)) if library == Library::OpenMpi => {
            return Some(format!("(({})(void *){symbol})", constant.c_type));
        }
        Some(OpenMpi::Symbol(symbol)) if library == Library::OpenMpi => return Some(symbol.clone()),
        _ => {}
    }
    let value = number(constant, library)?;
    Some(if value.starts_with("MPI_") {
        value.to_owned()
    } else if constant.c_type != "int" {
        format!("(({}){value})", constant.c_type)
    } else if value.starts_with('-') {
        format!("({value})")
    } else {
        value.to_owned()
    })
}

fn prototypes(standard: &Standard, library: Library, prefix: &str, text: &mut String) -> Result<()> {
    for chapter in standard.chapters() {
        let procedures = standard
            .procedures
            .iter()
            .filter(|procedure| procedure.chapter == chapter && procedure.is_in(library))
            .filter(|procedure| has_events(library) || !is_of_events(procedure));
        let mut lines = String::new();
        for procedure in procedures {
            for large in procedure.forms() {
                writeln!(lines, "{};", c::prototype(procedure, prefix, large)?)?;
            }
        }
        if !lines.is_empty() {
            writeln!(
                text,
                "\n/* {}. */\n{}",
                super::unfinished::title(chapter),
                lines.trim_end()
            )?;
        }
    }
    Ok(())
}
