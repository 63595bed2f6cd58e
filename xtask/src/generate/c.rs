//! Parameters as C writes them.

use anyhow::{Context, Result};

use super::standard::{Direction, Length, Parameter, Procedure};

/// A kind's type in C; of `POLY` kinds: in the plain form and in the large-count form.
fn base_types(kind: &str) -> Option<(&'static str, &'static str)> {
    let same = |name: &'static str| (name, name);
    Some(match kind {
        "POLYDISPLACEMENT_AINT_COUNT"
        | "POLYDISPOFFSET"
        | "POLYDTYPE_PACK_SIZE"
        | "POLYDTYPE_STRIDE_BYTES"
        | "POLYLOCATION" => ("MPI_Aint", "MPI_Count"),
        "POLYDISPLACEMENT" | "POLYRMA_DISPLACEMENT" => ("int", "MPI_Aint"),
        poly if poly.starts_with("POLY") => ("int", "MPI_Count"),
        "ALLOC_MEM_NUM_BYTES"
        | "DISPLACEMENT"
        | "DISPLACEMENT_NNI"
        | "DISPOFFSET_SMALL"
        | "LOCATION_SMALL"
        | "RMA_DISPLACEMENT_NNI"
        | "WINDOW_SIZE"
        | "WIN_ATTACH_SIZE" => same("MPI_Aint"),
        "DROPPED_COUNT"
        | "GENERIC_DTYPE_COUNT"
        | "NUM_BYTES"
        | "TOOLS_TICK_COUNT"
        | "XFER_NUM_ELEM"
        | "XFER_NUM_ELEM_NNI" => same("MPI_Count"),
        "OFFSET" => same("MPI_Offset"),
        "F08_STATUS" => same("MPI_F08_status"),
        "STATUS" => same("MPI_Status"),
        "CALLBACK_SAFETY" => same("MPI_T_cb_safety"),
        "CVAR" => same("MPI_T_cvar_handle"),
        "EVENT_CB_FUNCTION" => same("MPI_T_event_cb_function"),
        "EVENT_DROP_CB_FUNCTION" => same("MPI_T_event_dropped_cb_function"),
        "EVENT_FREE_CB_FUNCTION" => same("MPI_T_event_free_cb_function"),
        "EVENT_INSTANCE" => same("MPI_T_event_instance"),
        "EVENT_REGISTRATION" => same("MPI_T_event_registration"),
        "PVAR" => same("MPI_T_pvar_handle"),
        "PVAR_SESSION" => same("MPI_T_pvar_session"),
        "SOURCE_ORDERING" => same("MPI_T_source_order"),
        "TOOLS_ENUM" => same("MPI_T_enum"),
        "VARARGS" => same("..."),
        "ARGUMENT_LIST" | "STRING" | "STRING_2DARRAY" | "STRING_ARRAY" => same("char"),
        "TICK_RESOLUTION" | "WALL_TIME" => same("double"),
        "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" | "BUFFER" | "C_BUFFER" | "C_BUFFER2" | "C_BUFFER3" | "C_BUFFER4"
        | "EXTRA_STATE" | "EXTRA_STATE2" | "LOGICAL_VOID" | "NOTHING" | "TOOL_MPI_OBJ" => same("void"),
        fortran if fortran.starts_with("F90_") => same("MPI_Fint"),
        "ACCESS_MODE"
        | "ARGUMENT_COUNT"
        | "ARRAY_LENGTH"
        | "ARRAY_LENGTH_NNI"
        | "ARRAY_LENGTH_PI"
        | "ASSERT"
        | "BIND_TYPE"
        | "CAT_INDEX"
        | "COLOR"
        | "COMBINER"
        | "COMM_COMPARISON"
        | "COMM_SIZE"
        | "COMM_SIZE_PI"
        | "COORDINATE"
        | "CVAR_INDEX"
        | "CVAR_INDEX_SPECIAL"
        | "DEGREE"
        | "DIMENSION"
        | "DISTRIB_ENUM"
        | "DTYPE_DISTRIBUTION"
        | "ERROR_CLASS"
        | "ERROR_CODE"
        | "EVENT_INDEX"
        | "FILE_DESCRIPTOR"
        | "GENERIC_DTYPE_INT"
        | "GROUP_COMPARISON"
        | "INDEX"
        | "INFO_VALUE_LENGTH"
        | "KEY"
        | "KEYVAL"
        | "KEY_INDEX"
        | "LOCK_TYPE"
        | "LOGICAL"
        | "LOGICAL_OPTIONAL"
        | "MATH"
        | "NUM_DIMS"
        | "ORDER"
        | "PARTITION"
        | "PROCESS_GRID_SIZE"
        | "PROFILE_LEVEL"
        | "PVAR_CLASS"
        | "PVAR_INDEX"
        | "RANK"
        | "RANK_NNI"
        | "SOURCE_INDEX"
        | "SPLIT_TYPE"
        | "STRING_LENGTH"
        | "TAG"
        | "THREAD_LEVEL"
        | "TOOLENUM_INDEX"
        | "TOOLENUM_SIZE"
        | "TOOLS_NUM_ELEM_SMALL"
        | "TOOL_VAR_VALUE"
        | "TOOL_VAR_VERBOSITY"
        | "TOPOLOGY_TYPE"
        | "TYPECLASS"
        | "TYPECLASS_SIZE"
        | "UPDATE_MODE"
        | "UPDATE_NUMBER"
        | "VARIABLE_SCOPE"
        | "VERSION"
        | "WEIGHT"
        | "XFER_INT_NNI" => same("int"),
        handle => same(handle_type(handle)?),
    })
}

/// The C type of a kind of handle.
pub fn handle_type(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "COMMUNICATOR" => "MPI_Comm",
        "DATATYPE" => "MPI_Datatype",
        "ERRHANDLER" => "MPI_Errhandler",
        "FILE" => "MPI_File",
        "GROUP" => "MPI_Group",
        "INFO" => "MPI_Info",
        "MESSAGE" => "MPI_Message",
        "OPERATION" => "MPI_Op",
        "REQUEST" => "MPI_Request",
        "SESSION" => "MPI_Session",
        "WINDOW" => "MPI_Win",
        _ => return None,
    })
}

/// The type that a parameter is made of, before stars and brackets.
pub fn base_type(parameter: &Parameter, large: bool) -> Result<String> {
    if parameter.kind == "FUNCTION" || parameter.kind == "POLYFUNCTION" {
        let function = parameter.func_type.as_ref().context("a function names its type")?;
        let large = large && parameter.kind == "POLYFUNCTION";
        return Ok(format!("{function}{}", if large { "_c" } else { "" }));
    }
    kind_type(&parameter.kind, large).map(str::to_owned)
}

/// The type of values of a kind.
pub fn kind_type(kind: &str, large: bool) -> Result<&'static str> {
    let (plain, wide) = base_types(kind).with_context(|| format!("kind {kind} has no type in C"))?;
    Ok(if large { wide } else { plain })
}

/// How many stars come after the base type; brackets not counted.
pub fn stars(parameter: &Parameter) -> usize {
    if parameter.name == "argv" && parameter.kind == "ARGUMENT_LIST" && parameter.pointer == Some(false) {
        // MPI_Info_create_env: see standard/README.md.
        return 1;
    }
    if parameter.pointer == Some(false) {
        return 0;
    }
    match parameter.kind.as_str() {
        "STRING_2DARRAY" => 2,
        "ARGUMENT_LIST" => 3,
        "BUFFER" | "C_BUFFER" | "C_BUFFER2" | "C_BUFFER3" | "C_BUFFER4" | "STRING" | "EXTRA_STATE" | "EXTRA_STATE2"
        | "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" | "STATUS" | "STRING_ARRAY" | "FUNCTION" | "POLYFUNCTION"
        | "TOOL_MPI_OBJ" | "F08_STATUS" | "F90_STATUS" | "WEIGHT" => 1,
        _ if parameter.length.is_some() => 0,
        _ => usize::from(parameter.direction != Direction::In || parameter.pointer == Some(true)),
    }
}

/// The brackets behind a parameter's name.
pub fn brackets(parameter: &Parameter) -> String {
    match (&parameter.length, parameter.kind.as_str()) {
        (_, "STRING_ARRAY" | "STRING_2DARRAY") => "[]".to_owned(),
        // Of weights: compilers warn of `MPI_UNWEIGHTED` where an array is wanted.
        (_, "C_BUFFER4" | "WEIGHT") => String::new(),
        (Some(Length::Matrix([_, columns])), _) => format!("[][{columns}]"),
        (Some(Length::Of(length)), "STRING") if length == "*" && parameter.pointer == Some(false) => "[]".to_owned(),
        (Some(Length::Of(_)), "STRING") => String::new(),
        (Some(_), _) if parameter.pointer != Some(true) => "[]".to_owned(),
        _ => String::new(),
    }
}

/// `const int ranks[]`
pub fn parameter(parameter: &Parameter, large: bool) -> Result<String> {
    if parameter.kind == "VARARGS" {
        return Ok("...".to_owned());
    }
    let constant = if parameter.constant { "const " } else { "" };
    let base = base_type(parameter, large)?;
    let stars = "*".repeat(stars(parameter));
    Ok(format!(
        "{constant}{base} {stars}{}{}",
        parameter.name,
        brackets(parameter)
    ))
}

/// `int MPI_Send(const void *buf, ...)`
pub fn prototype(procedure: &Procedure, prefix: &str, large: bool) -> Result<String> {
    let returns = kind_type(&procedure.returns, false)?;
    let name = procedure.c_name(large);
    let parameters: Vec<String> = procedure
        .parameters(large)
        .map(|one| parameter(one, large))
        .collect::<Result<_>>()?;
    let parameters = if parameters.is_empty() {
        "void".to_owned()
    } else {
        parameters.join(", ")
    };
    Ok(format!("{returns} {prefix}{name}({parameters})"))
}
