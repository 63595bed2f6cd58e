//! What each kind of argument asks for.

use std::fmt::Write;

use anyhow::{Result, bail};

use super::c;
use super::pieces::Body;
use super::rust::{self, Width};
use super::standard::{Direction, Length, Parameter, Procedure};

/// Handles that need not name anything: null handles have names, and some arguments matter at leaders only.
const UNRESOLVED: [(&str, &str); 13] = [
    ("MPI_Comm_get_name", "comm"),
    ("MPI_Intercomm_create", "peer_comm"),
    ("MPI_Intercomm_create_from_groups", "remote_group"),
    ("MPI_Type_get_name", "datatype"),
    // They mean nothing if the operation is `MPI_NO_OP`.
    ("MPI_Get_accumulate", "origin_datatype"),
    ("MPI_Rget_accumulate", "origin_datatype"),
    ("MPI_Win_get_name", "win"),
    // It means nothing if all counts are 0.
    ("MPI_Reduce_scatter", "datatype"),
    ("MPI_Ireduce_scatter", "datatype"),
    ("MPI_Reduce_scatter_init", "datatype"),
    ("MPI_Reduce_scatter_block", "datatype"),
    ("MPI_Ireduce_scatter_block", "datatype"),
    ("MPI_Reduce_scatter_block_init", "datatype"),
];

/// Add to `body` what `parameter` asks for.
pub fn add(procedure: &Procedure, parameter: &Parameter, body: &mut Body) -> Result<()> {
    let name = rust::name(parameter);
    let kind = parameter.kind.as_str();
    if kind == "BUFFER" && name == "location" {
        // Any address, whatever constant it equals.
        body.arguments.push(name.to_owned());
    } else if kind == "BUFFER" {
        let of = if parameter.constant { "buffer" } else { "buffer_mut" };
        body.arguments.push(format!("A::{of}({name})"));
    } else if kind.starts_with("C_BUFFER") && parameter.direction == Direction::Out {
        writeln!(
            body.before,
            "let {name}_output = argument::output({name}.cast::<*mut c_void>(), {name:?})?;"
        )?;
        body.results.push(name.to_owned());
        writeln!(body.after, "{name}_output.put(A::buffer_out({name}));")?;
    } else if kind == "STRING" {
        string(procedure, parameter, name, body)?;
    } else if kind == "STRING_LENGTH" {
        // It belongs to the string before it.
        writeln!(body.before, "let {name} = argument::output({name}, {name:?})?;")?;
        writeln!(body.after, "{name}.put(length);")?;
    } else if kind == "STATUS" {
        status(procedure, parameter, name, body)?;
    } else if kind == "LOGICAL" {
        logical(procedure, parameter, name, body)?;
    } else if kind == "FILE" {
        file(parameter, name, body)?;
    } else if let Some(object) = object(kind) {
        handle(procedure, parameter, name, object, body)?;
    } else if is_length(procedure, parameter) {
        let of = if kind == "NUM_DIMS" { "dimensions" } else { "length" };
        writeln!(body.before, "let {name} = argument::{of}({name}, {name:?})?;")?;
    } else if is_number(kind)? {
        number(procedure, parameter, name, body)?;
    } else if let Some(word) = word(kind) {
        // The ranks in a graph are ranks proper: no constant has a place there.
        let word = Some(word).filter(|_| procedure.chapter != "topology" || parameter.length.is_none());
        integer(procedure, parameter, name, word, body)?;
    } else if is_plain(kind) {
        integer(procedure, parameter, name, None, body)?;
    } else {
        bail!("no rule for {name} of kind {kind}");
    }
    Ok(())
}

fn string(procedure: &Procedure, parameter: &Parameter, name: &str, body: &mut Body) -> Result<()> {
    match (parameter.direction, &parameter.length) {
        (Direction::In, _) => body.arguments.push(format!("argument::string({name}, {name:?})?")),
        (Direction::Out, length) => {
            let room = match length {
                Some(Length::Of(length)) if length.starts_with("MPI_") => length.trim_start_matches("MPI_"),
                None if procedure.name == "MPI_Info_get_nthkey" => "MAX_INFO_KEY",
                None if name == "datarep" => "MAX_DATAREP_STRING",
                _ => bail!("the room of the string {name} is not known"),
            };
            writeln!(
                body.before,
                "let {name}_output = Text::at({name}, A::{room}, {name:?})?;"
            )?;
            body.results.push(name.to_owned());
            let has_length = procedure.parameters(false).any(|one| one.kind == "STRING_LENGTH");
            let binding = if has_length { "let length = " } else { "" };
            writeln!(body.after, "{binding}{name}_output.put(&{name});")?;
        }
        _ => bail!("no rule for the string {name}"),
    }
    Ok(())
}

fn status(procedure: &Procedure, parameter: &Parameter, name: &str, body: &mut Body) -> Result<()> {
    match (parameter.direction, &parameter.length) {
        (Direction::In, _) => {
            writeln!(body.before, "let {name} = argument::status::<A>({name}, {name:?})?;")?;
            body.arguments.push(format!("&{name}"));
        }
        (Direction::Out, None) => {
            writeln!(
                body.before,
                "let {name}_output = StatusOutput::<A>::at({name}, {name:?})?;"
            )?;
            body.results.push(name.to_owned());
            writeln!(body.after, "{name}_output.put(&{name});")?;
            write!(body.report, "{name}_output.put(&done.status);")?;
        }
        (Direction::Out, Some(_)) => {
            let length = length(procedure, parameter)?;
            writeln!(
                body.before,
                "let {name} = StatusOutput::<A>::array({name}, {length}, {name:?})?;"
            )?;
            body.arguments.push(format!("&{name}"));
        }
        (Direction::Inout, _) => {
            writeln!(
                body.before,
                "let {name}_output = argument::status_inout::<A>({name}, {name:?})?;
                 let mut {name} = A::status_in(&{name}_output.get());"
            )?;
            body.arguments.push(format!("&mut {name}"));
            writeln!(body.after, "StatusOutput::<A>::from({name}_output).put(&{name});")?;
        }
    }
    Ok(())
}

fn logical(procedure: &Procedure, parameter: &Parameter, name: &str, body: &mut Body) -> Result<()> {
    match (parameter.direction, &parameter.length) {
        (Direction::In, None) => body.arguments.push(format!("{name} != 0")),
        (_, None) => {
            writeln!(body.before, "let {name}_output = argument::output({name}, {name:?})?;")?;
            body.results.push(name.to_owned());
            writeln!(body.after, "{name}_output.put(c_int::from({name}));")?;
            write!(body.report, "{name}_output.put(1);")?;
        }
        // Zero and anything else.
        (_, Some(_)) => integer(procedure, parameter, name, None, body)?,
    }
    Ok(())
}

/// A file's handle, an address in all ABIs.
fn file(parameter: &Parameter, name: &str, body: &mut Body) -> Result<()> {
    if parameter.direction == Direction::In {
        writeln!(body.before, "let {name} = A::file_in({name}).resolve({name:?})?;")?;
        body.arguments.push(name.to_owned());
        return Ok(());
    }
    writeln!(body.before, "let {name}_output = argument::output({name}, {name:?})?;")?;
    if parameter.direction == Direction::Out {
        body.results.push(name.to_owned());
        writeln!(body.after, "{name}_output.put(A::file_out({name}));")?;
    } else {
        writeln!(body.before, "let mut {name} = A::file_in({name}_output.get());")?;
        body.arguments.push(format!("&mut {name}"));
        // It may be closed even where something else went wrong.
        writeln!(
            body.always,
            "if {name}.is_null() {{ {name}_output.put(A::file_out({name})); }}"
        )?;
    }
    Ok(())
}

fn handle(procedure: &Procedure, parameter: &Parameter, name: &str, object: &str, body: &mut Body) -> Result<()> {
    let is_request = ["Request", "Message"].contains(&object);
    if parameter.length.is_some() {
        let length = length(procedure, parameter)?;
        if parameter.direction == Direction::In && !is_request {
            let pointer = format!("{name}, {length}, {name:?}");
            body.arguments
                .push(format!("&argument::handles::<A, {object}>({pointer})?"));
        } else {
            writeln!(
                body.before,
                "let mut {name} = argument::HandleArray::<A, {object}>::at({name}{}, {length}, {name:?})?;",
                if parameter.constant { ".cast_mut()" } else { "" }
            )?;
            body.arguments.push(format!("{name}.as_mut_slice()"));
        }
        return Ok(());
    }
    let read = format!("A::handle_in::<{object}>({name})");
    match parameter.direction {
        Direction::In if is_of_a_side(procedure, parameter) => body.arguments.push(read),
        Direction::In if UNRESOLVED.contains(&(procedure.name.as_str(), name)) => body.arguments.push(read),
        // All members of a collective access have to be told of an error in it.
        Direction::In if object == "Datatype" && procedure.chapter == "io" => body.arguments.push(read),
        Direction::In if is_request && parameter.pointer == Some(true) => {
            writeln!(body.before, "let {name} = HandleOutput::<A>::at({name}, {name:?})?;")?;
            body.arguments.push(format!("{name}.get()"));
        }
        Direction::In if is_request => body.arguments.push(read),
        Direction::In if object == "Info" && procedure.chapter != "info" && procedure.chapter != "deprecated" => {
            body.arguments.push(format!("argument::info::<A>({name}, {name:?})?"));
        }
        Direction::In if object == "Datatype" && counted(procedure, name).is_some() => {
            let count = counted(procedure, name).unwrap_or_default();
            match ranked(procedure, name) {
                Some(rank) => writeln!(
                    body.before,
                    "let {name} = {read}.resolve_with({count}, {rank}, {name:?})?;"
                )?,
                None => writeln!(body.before, "let {name} = {read}.resolve_for({count}, {name:?})?;")?,
            }
            body.arguments.push(name.to_owned());
        }
        Direction::In => {
            writeln!(body.before, "let {name} = {read}.resolve({name:?})?;")?;
            body.arguments.push(name.to_owned());
        }
        Direction::Out => {
            writeln!(
                body.before,
                "let {name}_output = HandleOutput::<A>::at({name}, {name:?})?;"
            )?;
            body.results.push(name.to_owned());
            writeln!(body.after, "{name}_output.put({name});")?;
        }
        Direction::Inout if is_request && procedure.name != "MPI_Request_free" => {
            writeln!(
                body.before,
                "let {name}_output = HandleOutput::<A>::at({name}, {name:?})?;
                 let mut {name} = {name}_output.get();"
            )?;
            body.arguments.push(format!("&mut {name}"));
            writeln!(body.always, "{name}_output.put({name});")?;
        }
        Direction::Inout if procedure.name == "MPI_Type_commit" => {
            writeln!(
                body.before,
                "let {name}_output = HandleOutput::<A>::at({name}, {name:?})?;"
            )?;
            body.arguments
                .push(format!("{name}_output.get::<Datatype>().resolve({name:?})?"));
        }
        // What frees an object.
        Direction::Inout => {
            writeln!(
                body.before,
                "let {name}_output = HandleOutput::<A>::at({name}, {name:?})?;"
            )?;
            body.arguments.push(format!("{name}_output.get()"));
            let null = match object {
                "Request" => "REQUEST_NULL".to_owned(),
                _ => format!("Handle::<{object}>::NULL"),
            };
            writeln!(body.after, "{name}_output.put({null});")?;
        }
    }
    Ok(())
}

fn number(procedure: &Procedure, parameter: &Parameter, name: &str, body: &mut Body) -> Result<()> {
    let is_n = rust::parameter_type(parameter, Width::Generic)?.ends_with('N');
    // A wrong displacement in a window is an error of a class of its own.
    let non_negative = parameter.kind.ends_with("_NNI") && parameter.kind != "RMA_DISPLACEMENT_NNI";
    match (parameter.direction, &parameter.length) {
        (Direction::In, Some(_)) => {
            let pointer = format!("{name}, {}, {name:?}", length(procedure, parameter)?);
            body.arguments.push(format!("argument::counts({pointer})?"));
        }
        // Of an ignored side the typed procedure looks at nothing; it checks the other.
        (Direction::In, None)
            if non_negative && !is_of_a_side(procedure, parameter) && !is_ignored(procedure, name) =>
        {
            writeln!(body.before, "let {name} = argument::count({name}, {name:?})?;")?;
            body.arguments.push(name.to_owned());
        }
        (Direction::In, None) if is_n => body.arguments.push(format!("{name}.into()")),
        (Direction::In, None) => body.arguments.push(name.to_owned()),
        (Direction::Out, None) => {
            writeln!(body.before, "let {name}_output = argument::output({name}, {name:?})?;")?;
            body.results.push(name.to_owned());
            let value = if is_n {
                format!("N::narrow({name})")
            } else {
                name.to_owned()
            };
            writeln!(body.after, "{name}_output.put({value});")?;
        }
        (Direction::Inout, None) => {
            writeln!(
                body.before,
                "let {name}_output = argument::output({name}, {name:?})?;
                 let mut {name}: i64 = {name}_output.get(){};",
                if is_n { ".into()" } else { "" }
            )?;
            body.arguments.push(format!("&mut {name}"));
            let value = if is_n {
                format!("N::narrow({name})")
            } else {
                name.to_owned()
            };
            writeln!(body.after, "{name}_output.put({value});")?;
        }
        _ => bail!("no rule for the numbers {name}"),
    }
    Ok(())
}

fn integer(
    procedure: &Procedure,
    parameter: &Parameter,
    name: &str,
    word: Option<&str>,
    body: &mut Body,
) -> Result<()> {
    let out = |value: String| match word {
        Some(word) => format!("A::word_out::<{word}>({value})"),
        None => value,
    };
    match (parameter.direction, &parameter.length) {
        (Direction::In, None) if name == "root" => {
            writeln!(body.before, "let root = A::word_in::<Rank>(root);")?;
            body.arguments.push(name.to_owned());
        }
        (Direction::In, None) => body.arguments.push(match word {
            Some(word) => format!("A::word_in::<{word}>({name})"),
            None => name.to_owned(),
        }),
        // Triplets of two ranks and a stride: no constant has a place there.
        (Direction::In, Some(Length::Matrix([rows, columns]))) => {
            let pointer = format!("{name}.cast::<c_int>(), {columns} * {rows}, {name:?}");
            body.arguments.push(format!("argument::array({pointer})?"));
        }
        (Direction::In, Some(_)) => {
            let pointer = format!("{name}, {}, {name:?}", length(procedure, parameter)?);
            body.arguments.push(match word {
                Some(word) => format!("&argument::words::<A, {word}>({pointer})?"),
                None => format!("argument::array({pointer})?"),
            });
        }
        (Direction::Out, None) => {
            writeln!(body.before, "let {name}_output = argument::output({name}, {name:?})?;")?;
            body.results.push(name.to_owned());
            writeln!(body.after, "{name}_output.put({});", out(name.to_owned()))?;
            write!(body.report, "{name}_output.put(done.index);")?;
        }
        (Direction::Out | Direction::Inout, Some(_)) => {
            let pointer = format!("{name}, {}, {name:?}", length(procedure, parameter)?);
            writeln!(body.before, "let {name} = argument::array_mut({pointer})?;")?;
            body.arguments.push(name.to_owned());
            if word.is_some() {
                writeln!(
                    body.after,
                    "for value in {name}.iter_mut() {{ *value = {}; }}",
                    out("*value".to_owned())
                )?;
            }
        }
        // A keyval that is freed.
        (Direction::Inout, None) => {
            writeln!(body.before, "let {name}_output = argument::output({name}, {name:?})?;")?;
            let Some(word) = word else {
                bail!("no rule for the integer {name}")
            };
            body.arguments
                .push(format!("A::word_in::<{word}>({name}_output.get())"));
            writeln!(body.after, "{name}_output.put(A::word_out::<{word}>(0));")?;
        }
    }
    Ok(())
}

/// An origin of which nothing need be true if the operation is `MPI_NO_OP`.
fn is_ignored(procedure: &Procedure, name: &str) -> bool {
    procedure.name.ends_with("et_accumulate") && name == "origin_count"
}

/// In collectives: an argument of a side that may be ignored, so that the typed procedure resolves its datatype itself. In
/// those with a root, whoever is in the root's group of an intercommunicator ignores all.
fn is_of_a_side(procedure: &Procedure, parameter: &Parameter) -> bool {
    let sided = has(procedure, "sendtype") || has(procedure, "sendtypes");
    let of_a_side = sided && ["send", "recv"].iter().any(|side| parameter.name.starts_with(side));
    let of_a_root = has(procedure, "root") && ["count", "datatype", "op"].contains(&parameter.name.as_str());
    ["collective", "topology"].contains(&procedure.chapter.as_str()) && (of_a_side || of_a_root)
}

/// The number of elements of a datatype in what moves or packs data, as an expression: of none, no type need be named.
fn counted(procedure: &Procedure, datatype: &str) -> Option<&'static str> {
    let counts: &[&'static str] = match datatype {
        "datatype" => &["count", "incount", "outcount"],
        "sendtype" => &["sendcount"],
        "recvtype" => &["recvcount"],
        "origin_datatype" => &["origin_count"],
        "result_datatype" => &["result_count"],
        "target_datatype" => &["target_count"],
        _ => return None,
    };
    let is_given = |count: &str| {
        procedure
            .parameters(false)
            .any(|parameter| parameter.name == count && parameter.direction == Direction::In)
    };
    let count = counts.iter().copied().find(|count| is_given(count));
    let packs = has(procedure, "incount") || has(procedure, "outcount");
    match procedure.chapter.as_str() {
        "point_to_point" | "partitioned" | "collective" => count,
        "rma" if has(procedure, "target_rank") => count.or(Some("1")),
        _ if packs => count,
        _ => None,
    }
}

/// The rank that a datatype's elements go to or come from, as an expression. Of two it is `MPI_PROC_NULL` if both are.
fn ranked(procedure: &Procedure, datatype: &str) -> Option<String> {
    let ranks: &[&str] = match datatype {
        "sendtype" => &["dest"],
        "recvtype" => &["source"],
        _ if has(procedure, "message") => {
            return Some("argument::source_of(HandleOutput::<A>::at(message, \"message\")?.get())".to_owned());
        }
        _ => &["dest", "source", "target_rank"],
    };
    let mut given = ranks.iter().filter(|rank| has(procedure, rank));
    let first = format!("A::word_in::<Rank>({})", given.next()?);
    Some(match given.next() {
        None => first,
        Some(second) => format!("argument::either({first}, A::word_in::<Rank>({second}))"),
    })
}

/// The length of an array that has an entry for each process.
fn processes(procedure: &Procedure, parameter: &Parameter) -> &'static str {
    if parameter.root_only {
        "peers_if(is_root(comm, root), comm)"
    } else if ["sendcounts", "sdispls", "sendtypes"].contains(&parameter.name.as_str()) && !has(procedure, "root") {
        "peers_if(!is_in_place::<A>(sendbuf), comm)"
    } else if has(procedure, "op") {
        // A group shares out the other's result among its own.
        "comm.size() as usize"
    } else {
        "peers(comm)"
    }
}

/// The length of an array that belongs to a topology: the communicator's, or one that is being described.
fn neighbors(parameter: &Parameter) -> &'static str {
    match parameter.name.as_str() {
        "coords" | "remain_dims" => "topology::dimensions(comm)?",
        "edges" => "topology::edges(argument::array(index, nnodes, \"index\")?)",
        name if name.starts_with('s') => "topology::outdegree(comm)?",
        _ => "topology::indegree(comm)?",
    }
}

/// The length of an array, as an expression.
fn length(procedure: &Procedure, parameter: &Parameter) -> Result<String> {
    match &parameter.length {
        Some(Length::Of(length)) if length == "*" => Ok(match procedure.chapter.as_str() {
            "collective" => processes(procedure, parameter).to_owned(),
            "topology" => neighbors(parameter).to_owned(),
            _ if has(procedure, "incount") => "incount".to_owned(),
            _ if has(procedure, "count") => "count".to_owned(),
            _ => bail!("the length of {} is not known", parameter.name),
        }),
        Some(Length::Of(length) | Length::Matrix([length, _])) => {
            let shared = procedure
                .parameters(false)
                .any(|one| one.name == *length && !is_length(procedure, one));
            // A length that the typed procedure gets too has kept its own type.
            Ok(if shared {
                format!("argument::length({length}, {length:?})?")
            } else {
                length.clone()
            })
        }
        None => bail!("{} is not an array", parameter.name),
    }
}

/// Is it there only to say how long an array is? Slices know that.
fn is_length(procedure: &Procedure, parameter: &Parameter) -> bool {
    let kinds = ["ARRAY_LENGTH", "COMM_SIZE", "NUM_DIMS"];
    let array_only = parameter.direction == Direction::In && kinds.iter().any(|kind| parameter.kind.starts_with(kind));
    // Constructors of datatypes take it as well.
    array_only
        && procedure.chapter != "datatype"
        && procedure.parameters(false).any(|array| match &array.length {
            Some(Length::Of(length)) if length == "*" => {
                array.kind == "STATUS" && ["incount", "count"].contains(&parameter.name.as_str())
            }
            Some(Length::Of(length)) => *length == parameter.name,
            Some(Length::Matrix([rows, _])) => *rows == parameter.name,
            None => false,
        })
}

/// The Rust type of the objects that a kind of handle names.
fn object(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "COMMUNICATOR" => "Comm",
        "DATATYPE" => "Datatype",
        "ERRHANDLER" => "Errhandler",
        "GROUP" => "Group",
        "INFO" => "Info",
        "MESSAGE" => "Message",
        "OPERATION" => "Op",
        "REQUEST" => "Request",
        "SESSION" => "Session",
        "WINDOW" => "Win",
        _ => return None,
    })
}

/// The set of constants that an integer is drawn from.
fn word(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "RANK" | "RANK_NNI" => "Rank",
        "TAG" => "Tag",
        "KEYVAL" => "Keyval",
        "ERROR_CODE" | "ERROR_CLASS" => "ErrorCode",
        "THREAD_LEVEL" => "ThreadLevel",
        "COMM_COMPARISON" | "GROUP_COMPARISON" => "Comparison",
        "TOPOLOGY_TYPE" => "Topology",
        "SPLIT_TYPE" => "SplitType",
        "ORDER" => "Order",
        "DISTRIB_ENUM" => "Distribution",
        "DTYPE_DISTRIBUTION" => "DistributionArgument",
        "COMBINER" => "Combiner",
        "TYPECLASS" => "Typeclass",
        "LOCK_TYPE" => "LockType",
        "ASSERT" => "Assertion",
        "ACCESS_MODE" => "AccessMode",
        "UPDATE_MODE" => "Whence",
        _ => return None,
    })
}

/// Integers that mean the same in all ABIs and are 32 bits in the typed procedure.
fn is_plain(kind: &str) -> bool {
    [
        "ARRAY_LENGTH",
        "ARRAY_LENGTH_NNI",
        "ARRAY_LENGTH_PI",
        "COLOR",
        "COMM_SIZE",
        "COMM_SIZE_PI",
        "COORDINATE",
        "DEGREE",
        "DIMENSION",
        "INDEX",
        "KEY",
        "KEY_INDEX",
        "MATH",
        "NUM_DIMS",
        "PARTITION",
        "PROCESS_GRID_SIZE",
        "TYPECLASS_SIZE",
        "VERSION",
        "INFO_VALUE_LENGTH",
    ]
    .contains(&kind)
}

/// Is it 64 bits in the typed procedure?
fn is_number(kind: &str) -> Result<bool> {
    Ok(kind == "XFER_INT_NNI"
        || kind.starts_with("POLY")
        || ["MPI_Aint", "MPI_Count", "MPI_Offset"].contains(&c::kind_type(kind, false)?))
}

fn has(procedure: &Procedure, name: &str) -> bool {
    procedure.parameters(false).any(|parameter| parameter.name == name)
}
