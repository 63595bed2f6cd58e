//! Manual pages of procedures: what C and Fortran call, what the arguments are, errors and notes. Made when Isthmus is installed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::standard::{Direction, Length, Library, Parameter, Procedure, Standard};
use super::{c, fortran, unfinished};

/// Handles: their names in names of procedures, and words.
const OBJECTS: [(&str, &str); 11] = [
    ("Comm", "communicator"),
    ("Errhandler", "error handler"),
    ("File", "file"),
    ("Group", "group"),
    ("Info", "info object"),
    ("Message", "message"),
    ("Op", "operation"),
    ("Request", "request"),
    ("Session", "session"),
    ("Type", "datatype"),
    ("Win", "window"),
];

/// Pages of procedures that Fortran alone has (MPI-5.0 §19.1), by hand.
const OF_FORTRAN: [(&str, &str); 2] = [
    ("MPI_F_sync_reg.3", include_str!("../../templates/MPI_F_sync_reg.3")),
    ("MPI_Sizeof.3", include_str!("../../templates/MPI_Sizeof.3")),
];

/// All pages, by file name below `man3`.
pub fn pages(root: &Path) -> Result<BTreeMap<String, String>> {
    let standard = Standard::read(root)?;
    let summaries = summaries(root)?;
    let version = |page: &str| page.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    let mut pages: BTreeMap<_, _> = OF_FORTRAN.map(|(name, page)| (name.to_owned(), version(page))).into();
    for procedure in &standard.procedures {
        let summary = summary(procedure, &summaries)?;
        pages.insert(format!("{}.3", procedure.name), page(&standard, procedure, &summary)?);
    }
    Ok(pages)
}

/// Other names of procedures: the page's name and that of the page it is.
pub fn links(root: &Path) -> Result<Vec<(String, String)>> {
    let standard = Standard::read(root)?;
    let large = standard.procedures.iter().filter(|procedure| procedure.has_large());
    Ok(large
        .map(|procedure| (format!("{}_c.3", procedure.name), format!("{}.3", procedure.name)))
        .collect())
}

fn summaries(root: &Path) -> Result<BTreeMap<String, String>> {
    let path = root.join("standard/summaries.txt");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, summary) = line
                .split_once(": ")
                .with_context(|| format!("no summary in: {line}"))?;
            Ok((name.to_owned(), summary.to_owned()))
        })
        .collect()
}

/// What it does, in a few words: its own line, or that of the procedure that it is a form of.
fn summary(procedure: &Procedure, summaries: &BTreeMap<String, String>) -> Result<String> {
    let name = procedure.name.as_str();
    if let Some(own) = summaries.get(name) {
        return Ok(own.clone());
    }
    if let Some(of) = name.strip_suffix("_init").filter(|of| summaries.contains_key(*of)) {
        return Ok(format!("make a persistent operation: {}", summaries[of]));
    }
    for (end, which) in [("_begin", "begin"), ("_end", "end")] {
        if let Some(of) = name.strip_suffix(end).filter(|of| summaries.contains_key(*of)) {
            return Ok(format!("{which} a split collective: {}", summaries[of]));
        }
    }
    for (end, does) in CONVERSIONS {
        if let Some(object) = name.strip_prefix("MPI_").and_then(|rest| rest.strip_suffix(end)) {
            let word = OBJECTS
                .iter()
                .find(|(name, _)| *name == object)
                .map_or("status", |(_, word)| word);
            return Ok(does.replace('@', word));
        }
    }
    blocking(name)
        .and_then(|of| summaries.get(&of))
        .map(|of| format!("start to {}", without_the_end(of)))
        .with_context(|| format!("standard/summaries.txt has no {name}"))
}

const CONVERSIONS: [(&str, &str); 8] = [
    ("_toint", "integer that stands for the handle of a @"),
    ("_fromint", "handle of a @ for which an integer stands"),
    ("_c2f", "Fortran's form of a @ of C"),
    ("_f2c", "C's form of a @ of Fortran"),
    ("_c2f08", "form of module mpi_f08 of a @ of C"),
    ("_f082c", "C's form of a @ of module mpi_f08"),
    ("_f2f08", "form of module mpi_f08 of a @ of mpif.h"),
    ("_f082f", "form of mpif.h of a @ of module mpi_f08"),
];

/// `MPI_Send` of `MPI_Isend`, `MPI_File_read` of `MPI_File_iread`.
fn blocking(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("MPI_File_i") {
        return Some(format!("MPI_File_{rest}"));
    }
    let rest = name.strip_prefix("MPI_I")?;
    let (first, rest) = rest.split_at_checked(1)?;
    Some(format!("MPI_{}{rest}", first.to_uppercase()))
}

/// When a blocking call returns is no matter of the other.
fn without_the_end(summary: &str) -> &str {
    summary.split(';').next().unwrap_or(summary)
}

fn page(standard: &Standard, procedure: &Procedure, summary: &str) -> Result<String> {
    let name = &procedure.name;
    let mut text = format!(
        ".TH {} 3 \"\" \"Isthmus {}\" \"MPI 5.0\"\n.SH NAME\n{} \\- {}\n.SH C\n.nf\n#include <mpi.h>\n\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        plain(name),
        plain(summary)
    );
    for large in procedure.forms() {
        writeln!(text, "{};", plain(&c::prototype(procedure, "", large)?))?;
    }
    text.push_str(".fi\n");
    let bindings = fortran::bindings(procedure)?;
    if !bindings.is_empty() {
        text.push_str(".SH FORTRAN\n");
        for (index, (used, lines)) in bindings.into_iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ".PP\n" });
            writeln!(text, ".nf\n{}\n\n{}.fi", plain(used), plain(&lines))?;
        }
    }
    let all: Vec<&Parameter> = procedure.parameters(true).collect();
    if !all.is_empty() {
        text.push_str(".SH ARGUMENTS\n");
        for parameter in &all {
            let direction = match parameter.direction {
                Direction::In => "in",
                Direction::Out => "out",
                Direction::Inout => "in and out",
            };
            writeln!(
                text,
                ".TP\n\\fB{}\\fR ({direction})\n{}",
                plain(&parameter.name),
                plain(&description(parameter))
            )?;
        }
    }
    errors(procedure, &all, &mut text);
    notes(standard, procedure, &mut text)?;
    related(standard, procedure, &mut text)?;
    Ok(text)
}

/// What an argument is.
fn description(parameter: &Parameter) -> String {
    let kind = parameter.kind.trim_start_matches("POLY");
    let mut text = match kind {
        "BUFFER" | "C_BUFFER" | "C_BUFFER2" | "C_BUFFER3" | "C_BUFFER4" => "address of data".to_owned(),
        "LOCATION_SMALL" | "LOCATION" => "address".to_owned(),
        "XFER_NUM_ELEM_NNI" | "XFER_NUM_ELEM" | "DTYPE_NUM_ELEM_NNI" | "DTYPE_NUM_ELEM" | "DTYPE_NUM_ELEM_PI"
        | "XFER_INT_NNI" => "number of elements".to_owned(),
        "DISPLACEMENT"
        | "DISPLACEMENT_AINT_COUNT"
        | "DISPLACEMENT_COUNT"
        | "DISPLACEMENT_NNI"
        | "DISPOFFSET"
        | "DISPOFFSET_SMALL" => "displacement".to_owned(),
        "RMA_DISPLACEMENT_NNI" => "displacement from the beginning of the target's window, in its units".to_owned(),
        "RMA_DISPLACEMENT" => "unit of displacements, in bytes".to_owned(),
        "WINDOW_SIZE"
        | "WIN_ATTACH_SIZE"
        | "ALLOC_MEM_NUM_BYTES"
        | "NUM_BYTES"
        | "NUM_BYTES_NNI"
        | "DTYPE_PACK_SIZE" => "number of bytes".to_owned(),
        "DTYPE_STRIDE_BYTES" => "stride in bytes".to_owned(),
        "NUM_PARAM_VALUES" => "number of values".to_owned(),
        "STATUS" => "status; MPI_STATUS_IGNORE (MPI_STATUSES_IGNORE of an array) if it is not wanted".to_owned(),
        "F08_STATUS" => "status of module mpi_f08".to_owned(),
        "F90_STATUS" => "status of mpif.h or module mpi".to_owned(),
        "OPERATION" => "reduction operation".to_owned(),
        "INFO" => "info object with hints, or MPI_INFO_NULL".to_owned(),
        "LOGICAL" | "LOGICAL_OPTIONAL" => "true or false".to_owned(),
        "STRING" | "STRING_ARRAY" | "STRING_2DARRAY" => "text".to_owned(),
        "STRING_LENGTH" | "INFO_VALUE_LENGTH" => "length of a text".to_owned(),
        "ARGUMENT_COUNT" => "the argument of main, or null".to_owned(),
        "ARGUMENT_LIST" => "the argument of main, or null; of a program to start: its arguments".to_owned(),
        "FUNCTION" => format!("function of type {}", parameter.func_type.as_deref().unwrap_or("void")),
        "EXTRA_STATE" | "EXTRA_STATE2" => "what is given to functions of the program".to_owned(),
        "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" => "value of the attribute".to_owned(),
        "KEYVAL" => "key of attributes".to_owned(),
        "ERRHANDLER" => "error handler".to_owned(),
        "OFFSET" => "offset, in elements of the view's etype where the procedure is about a view".to_owned(),
        "VARARGS" => "further arguments".to_owned(),
        "ASSERT" => "assertions (MPI_MODE_NOCHECK and its kin) or 0".to_owned(),
        "RANK" if parameter.name == "root" => "rank of the root".to_owned(),
        "RANK" | "RANK_NNI" => "rank".to_owned(),
        "MATH" => "number".to_owned(),
        "ARRAY_LENGTH" | "ARRAY_LENGTH_NNI" | "ARRAY_LENGTH_PI" => "length of arrays".to_owned(),
        "WEIGHT" => "weights; MPI_UNWEIGHTED if there are none".to_owned(),
        other => other
            .trim_end_matches("_NNI")
            .trim_end_matches("_PI")
            .trim_start_matches("F90_")
            .replace('_', " ")
            .to_lowercase(),
    };
    match &parameter.length {
        Some(Length::Of(of)) if kind != "STRING" && of != "*" => {
            text = format!("array of {of} elements: {text}");
        }
        Some(_) if !kind.starts_with("STRING") => text = format!("array: {text}"),
        _ => {}
    }
    if parameter.root_only {
        text.push_str("; significant at the root only");
    }
    text
}

/// The error class that a wrong argument of a kind is.
fn class(parameter: &Parameter) -> Option<(&'static str, &'static str)> {
    Some(match parameter.kind.trim_start_matches("POLY") {
        "COMMUNICATOR" => ("MPI_ERR_COMM", "no communicator, or not one for this call"),
        "DATATYPE" => ("MPI_ERR_TYPE", "no datatype, or one that is not committed"),
        "ERRHANDLER" => ("MPI_ERR_ERRHANDLER", "no error handler, or not one for this object"),
        "FILE" => ("MPI_ERR_FILE", "no open file"),
        "GROUP" => ("MPI_ERR_GROUP", "no group"),
        "INFO" => ("MPI_ERR_INFO", "no info object"),
        "MESSAGE" | "REQUEST" => ("MPI_ERR_REQUEST", "no request or message, or not one for this call"),
        "OPERATION" => ("MPI_ERR_OP", "no operation, or not one for this datatype"),
        "SESSION" => ("MPI_ERR_SESSION", "no session"),
        "WINDOW" => ("MPI_ERR_WIN", "no window"),
        "KEYVAL" => ("MPI_ERR_KEYVAL", "no key for this kind of object"),
        "TAG" => ("MPI_ERR_TAG", "a tag that is negative, or larger than MPI_TAG_UB"),
        "WINDOW_SIZE" => ("MPI_ERR_SIZE", "a negative number of bytes"),
        "RMA_DISPLACEMENT" if parameter.name == "disp_unit" => ("MPI_ERR_DISP", "a unit that is not positive"),
        "RANK" if parameter.name == "root" => ("MPI_ERR_ROOT", "no rank of the communicator"),
        "RANK" | "RANK_NNI" => ("MPI_ERR_RANK", "no rank of the group"),
        "BUFFER" => (
            "MPI_ERR_BUFFER",
            "a null address where data is wanted, or memory of a GPU",
        ),
        "XFER_NUM_ELEM_NNI" | "XFER_NUM_ELEM" | "XFER_INT_NNI" | "DTYPE_NUM_ELEM_NNI" => {
            ("MPI_ERR_COUNT", "a negative number of elements")
        }
        _ => return None,
    })
}

fn errors(procedure: &Procedure, all: &[&Parameter], text: &mut String) {
    if procedure.returns != "ERROR_CODE" {
        return;
    }
    text.push_str(".SH ERRORS\n");
    if procedure.chapter == "tool" {
        text.push_str("The code is MPI_SUCCESS or one of MPI_T_ERR_...; no error handler is called.\n");
        return;
    }
    let of = [
        ("FILE", "file"),
        ("WINDOW", "window"),
        ("SESSION", "session"),
        ("COMMUNICATOR", "communicator"),
    ]
    .into_iter()
    .find(|(kind, _)| {
        all.iter()
            .any(|one| one.kind == *kind && one.direction != Direction::Out)
    });
    let has = |kinds: &[&str]| {
        all.iter()
            .any(|one| kinds.contains(&one.kind.as_str()) && one.direction != Direction::Out)
    };
    let of = match procedure.name.as_str() {
        // There is no file yet.
        "MPI_File_open" | "MPI_File_delete" => "MPI_FILE_NULL".to_owned(),
        "MPI_Session_init" | "MPI_Comm_create_from_group" | "MPI_Intercomm_create_from_groups" => {
            "the argument errhandler".to_owned()
        }
        _ if of.is_none() && has(&["REQUEST", "MESSAGE"]) => {
            "the object (communicator, window or file) of the operation".to_owned()
        }
        _ => of.map_or("MPI_COMM_SELF".to_owned(), |(_, word)| format!("the {word}")),
    };
    let _ = writeln!(
        text,
        "Errors go to the error handler of {of}. Unless the program has set another, that of files returns the code, and any other ends the \
         job. Wrong arguments are told by the classes below; later failures have others (MPI_ERR_TRUNCATE, MPI_ERR_NO_MEM, ...)."
    );
    let mut classes: Vec<_> = all
        .iter()
        .filter(|one| one.direction != Direction::Out || one.kind == "BUFFER")
        .filter_map(|one| class(one))
        .collect();
    classes.push(("MPI_ERR_ARG", "any other argument that cannot be"));
    classes.sort_unstable();
    classes.dedup();
    for (class, what) in classes {
        let _ = writeln!(text, ".TP\n{class}\n{}", plain(what));
    }
}

fn notes(standard: &Standard, procedure: &Procedure, text: &mut String) -> Result<()> {
    let mut notes = Vec::new();
    if standard.unfinished.contains(&procedure.name) {
        notes.push("It is not implemented yet: the call returns MPI_ERR_UNSUPPORTED_OPERATION.".to_owned());
    }
    if procedure.has_large() {
        notes.push(format!(
            "{}_c takes counts and displacements of 64 bits; in module mpi_f08 both have the same name.",
            procedure.name
        ));
    }
    if !procedure.is_in(Library::Standard) {
        notes.push("It is no part of the standard ABI: libraries of the other ABIs have it, and what is compiled for the standard ABI carries \
                    its own (mpi.h; what was removed with -DISTHMUS_MPI1)."
            .to_owned());
    }
    if procedure.name.starts_with("MPIX_") {
        notes.push("It is not in the standard; MPICH and Open MPI have it too.".to_owned());
    }
    notes.push(format!("Chapter: {}.", unfinished::title(&procedure.chapter)));
    let limits = standard
        .limits
        .iter()
        .filter(|(chapter, _)| *chapter == procedure.chapter);
    notes.extend(limits.map(|(_, limit)| format!("Limit of the chapter: {limit}")));
    text.push_str(".SH NOTES\n");
    for (index, note) in notes.iter().enumerate() {
        // Names stand between backquotes in Markdown, from which limits are taken.
        let note = plain(&note.replace('`', ""));
        writeln!(text, "{}{note}", if index == 0 { "" } else { ".PP\n" })?;
    }
    Ok(())
}

/// Its other forms, and the pages of all.
fn related(standard: &Standard, procedure: &Procedure, text: &mut String) -> Result<()> {
    let stem = procedure.name.trim_start_matches("MPI_");
    let base = blocking(&procedure.name).unwrap_or_else(|| procedure.name.trim_end_matches("_init").to_owned());
    let forms = [
        base.clone(),
        format!("MPI_I{}", stem.to_lowercase()),
        format!("{base}_init"),
        format!("{base}_begin"),
        format!("{base}_end"),
    ];
    let exists = |name: &&String| **name != procedure.name && standard.procedures.iter().any(|one| one.name == **name);
    let mut names: Vec<&String> = forms.iter().filter(exists).collect();
    names.dedup();
    text.push_str(".SH SEE ALSO\n");
    for name in names {
        writeln!(text, "\\fB{}\\fR(3),", plain(name))?;
    }
    text.push_str("\\fBmpicc\\fR(1), \\fBmpiexec\\fR(1), \\fBisthmus_tunables\\fR(7)\n");
    Ok(())
}

/// Text that means nothing in the language of man(7).
pub fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text.split('\n').map(|line| match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn every_procedure_has_a_page_and_every_summary_a_procedure() {
        let pages = pages(root()).expect("standard/ is readable, and each procedure has a summary");
        for name in summaries(root()).expect("readable").keys() {
            assert!(pages.contains_key(&format!("{name}.3")), "{name} is no procedure");
        }
        let send = &pages["MPI_Isend.3"];
        for wanted in [
            "MPI_Isend \\- start to send a message\n",
            "int MPI_Isend_c(const void *buf, MPI_Count count,",
            "MPI_ERR_TAG",
            "use mpi_f08",
            "MPI_Send\\fR(3)",
        ] {
            assert!(send.contains(wanted), "{wanted}: {send}");
        }
        assert!(pages["MPI_Sizeof.3"].contains("mpif.h"));
        assert!(pages["MPI_Comm_spawn.3"].contains("not implemented"));
        assert!(!pages["MPI_T_cvar_read.3"].contains(".SH FORTRAN"));
    }
}
