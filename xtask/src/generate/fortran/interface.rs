//! What Fortran programs include and use: `mpif.h`, and the sources of the modules.

use std::fmt::Write;

use anyhow::Result;

use super::super::c;
use super::super::standard::{Direction, HANDLES, Length, Library, Parameter, Procedure, Standard};
use super::constants::{self, Type};
use super::parameter::handle;
use super::{GENERATED, base, current, goes_on, has_choice, has_request, in_f08};

const MPIF_TOP: &str = include_str!("mpif_top.txt");
const TYPES_TOP: &str = include_str!("types_top.txt");
const MPI_TOP: &str = include_str!("mpi_top.txt");
const F08_TOP: &str = include_str!("f08_top.txt");

/// The include file, in the form that both source forms of Fortran accept.
pub fn mpif(standard: &Standard) -> Result<String> {
    let mut text = format!("! {GENERATED}\n{MPIF_TOP}");
    for constant in constants::values(standard, Library::Standard)? {
        let name = constant.name;
        let kind = if constant.of == Type::Offset {
            "INTEGER*8"
        } else {
            "INTEGER"
        };
        let value = constant.expression().to_uppercase();
        writeln!(text, "      {kind} {name}\n      PARAMETER ({name}={value})")?;
    }
    Ok(text)
}

/// Module `mpi_f08_types`: kinds, types of handles and their operators, constants that are integers.
pub fn types(standard: &Standard) -> Result<String> {
    let mut text = format!("! {GENERATED}\n{TYPES_TOP}");
    for constant in constants::values(standard, Library::Standard)? {
        let kind = match constant.of {
            Type::Integer => "integer",
            Type::Offset => "integer(kind=MPI_OFFSET_KIND)",
            Type::Handle(_) => continue,
        };
        writeln!(
            text,
            "  {kind}, parameter, public :: {} = {}",
            constant.name, constant.value
        )?;
    }
    for name in HANDLES {
        writeln!(
            text,
            "\n  type, bind(C), public :: MPI_{name}\n    integer :: MPI_VAL\n  end type"
        )?;
    }
    for (operator, function) in [("==", "eq"), ("/=", "neq")] {
        writeln!(text, "\n  interface operator({operator})")?;
        for name in HANDLES {
            writeln!(
                text,
                "    pure logical function MPIR_{name}_{function}(a, b)\n      import :: MPI_{name}\n      \
                 type(MPI_{name}), intent(in) :: a, b\n    end function"
            )?;
        }
        text.push_str("  end interface\n");
        writeln!(text, "  public :: operator({operator})")?;
    }
    text.push_str("end module mpi_f08_types\n");
    Ok(text)
}

/// Module `mpi`.
pub fn mpi(standard: &Standard) -> Result<String> {
    let mut text = format!("! {GENERATED}\n{MPI_TOP}");
    for constant in constants::values(standard, Library::Standard)? {
        if let Type::Handle(_) = constant.of {
            let value = constant.expression();
            writeln!(text, "  integer, parameter :: {} = {value}", constant.name)?;
        }
    }
    for prefix in ["", "P"] {
        text.push_str("\n  interface\n");
        for procedure in current(standard).filter(|one| !has_overloads(one)) {
            text.push_str(&body(procedure, &Form::Mpi { cptr: false }, prefix)?);
        }
        text.push_str("  end interface\n");
        for procedure in current(standard).filter(|one| has_overloads(one)) {
            writeln!(text, "\n  interface {prefix}{}", procedure.name)?;
            for cptr in [false, true] {
                text.push_str(&body(procedure, &Form::Mpi { cptr }, prefix)?);
            }
            text.push_str("  end interface\n");
        }
        write!(
            text,
            "\n  interface {prefix}MPI_Sizeof\n{}  end interface\n",
            SIZEOF.replace('@', &prefix.to_lowercase())
        )?;
    }
    text.push_str("end module mpi\n");
    Ok(text)
}

/// Any type and rank: the descriptor knows.
const SIZEOF: &str = "    subroutine @MPI_Sizeof_cdesc(x, size, ierror) bind(C, name=\"@mpi_sizeof_cdesc\")
      type(*), dimension(..), intent(in) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
";

/// Module `mpi_f08`.
pub fn mpi_f08(standard: &Standard) -> Result<String> {
    let mut text = format!("! {GENERATED}\n{F08_TOP}");
    for constant in constants::values(standard, Library::Standard)? {
        if let Type::Handle(handle) = constant.of {
            let value = constant.expression();
            writeln!(
                text,
                "  type(MPI_{handle}), parameter :: {} = MPI_{handle}({value})",
                constant.name
            )?;
        }
    }
    for prefix in ["", "P"] {
        for procedure in current(standard).filter(|one| in_f08(one)) {
            let small = body(procedure, &Form::F08 { large: false }, prefix)?;
            writeln!(text, "\n  interface {prefix}{}\n{small}", procedure.name)?;
            if !procedure.has_large() {
                text.push_str("  end interface\n");
                continue;
            }
            let large = body(procedure, &Form::F08 { large: true }, prefix)?;
            if procedure.parameters(true).any(|one| one.kind == "POLYFUNCTION") {
                // Callbacks cannot tell generic procedures apart.
                writeln!(text, "  end interface\n\n  interface {prefix}{}_c", procedure.name)?;
                text.push_str(&large);
            } else if is_told_apart(procedure)? {
                text.push_str(&large);
            }
            text.push_str("  end interface\n");
        }
        write!(
            text,
            "\n  interface {prefix}MPI_Sizeof\n{}  end interface\n",
            SIZEOF.replace('@', &prefix.to_lowercase())
        )?;
        let choice = "    subroutine @MPI_F_sync_reg_f08ts(buf) bind(C, name=\"@mpi_f_sync_reg_cdesc\")\n      \
                      type(*), dimension(..), asynchronous :: buf\n    end subroutine\n";
        write!(
            text,
            "\n  interface {prefix}MPI_F_sync_reg\n{}  end interface\n",
            choice.replace('@', &prefix.to_lowercase())
        )?;
    }
    text.push_str("end module mpi_f08\n");
    Ok(text)
}

/// The interface of a procedure as the manual shows it: without what only compilers need.
pub fn shown(procedure: &Procedure, f08: bool) -> Result<String> {
    let form = if f08 {
        Form::F08 { large: false }
    } else {
        Form::Mpi { cptr: false }
    };
    let body = body(procedure, &form, "")?;
    let body = body.replace("&\n        ", "");
    let mut text = String::new();
    let mut is_for_old = false;
    for line in body.lines() {
        let line = line.strip_prefix("    ").unwrap_or(line);
        if line.starts_with('#') {
            is_for_old = line.starts_with("#if");
            continue;
        }
        if is_for_old || line.starts_with('!') || ["import", "implicit none"].contains(&line.trim()) {
            continue;
        }
        let line = line.split(" bind(C,").next().unwrap_or(line);
        let line = line.replace("_f08ts(", "(").replace("_f08(", "(");
        let line = line.replace("type(*), dimension(*) ::", "<type> ::");
        let line = line.replace(SECONDS, "double precision");
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(text)
}

/// Do the forms with small and large counts differ in the types of their arguments? Addresses and counts are integers of the same kind.
fn is_told_apart(procedure: &Procedure) -> Result<bool> {
    if procedure.forms_differ() {
        return Ok(true);
    }
    for parameter in procedure.parameters(true).filter(|one| one.kind.starts_with("POLY")) {
        if c::base_type(parameter, false)? == "int" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Has module `mpi` a second form of it, with a `TYPE(C_PTR)`?
fn has_overloads(procedure: &Procedure) -> bool {
    procedure.parameters(false).any(|one| one.kind == "C_BUFFER")
}

enum Form {
    Mpi { cptr: bool },
    F08 { large: bool },
}

impl Form {
    fn is_large(&self) -> bool {
        matches!(self, Self::F08 { large: true })
    }

    fn is_f08(&self) -> bool {
        matches!(self, Self::F08 { .. })
    }
}

/// DOUBLE PRECISION, whatever options of compilers make of it.
const SECONDS: &str = "real(kind=selected_real_kind(15))";

/// The interface body of one procedure.
fn body(procedure: &Procedure, form: &Form, prefix: &str) -> Result<String> {
    let large = form.is_large();
    let mut names = Vec::new();
    let mut declarations = String::new();
    let is_choice = form.is_f08() && has_choice(procedure);
    for parameter in procedure.parameters(large) {
        if ["ARGUMENT_COUNT", "ARGUMENT_LIST", "VARARGS"].contains(&parameter.kind.as_str()) {
            continue;
        }
        names.push(parameter.name.as_str());
        declarations.push_str(&declaration(procedure, parameter, form)?);
    }
    let returns = match procedure.returns.as_str() {
        "WALL_TIME" | "TICK_RESOLUTION" => Some(SECONDS),
        "LOCATION_SMALL" | "DISPLACEMENT" => Some("integer(kind=MPI_ADDRESS_KIND)"),
        _ => None,
    };
    let has_error = returns.is_none() && !procedure.parameters(large).any(|one| one.kind == "VARARGS");
    if has_error {
        names.push("ierror");
        declarations.push_str(match form {
            Form::Mpi { .. } => "      integer :: ierror\n",
            Form::F08 { .. } => "      integer, optional, intent(out) :: ierror\n",
        });
    }
    let plain = format!("{prefix}{}", procedure.c_name(large));
    let name = match form {
        Form::Mpi { cptr: false } => plain,
        Form::Mpi { cptr: true } => format!("{plain}_cptr"),
        Form::F08 { .. } if is_choice => format!("{plain}_f08ts"),
        Form::F08 { .. } => format!("{plain}_f08"),
    };
    let binding = if is_choice {
        let small = prefix.to_lowercase();
        format!(
            " &\n        bind(C, name=\"{small}mpi_{}{}_cdesc\")",
            base(procedure),
            if large { "_c" } else { "" }
        )
    } else {
        String::new()
    };
    let (opening, closing) = match returns {
        Some(returns) => (format!("{returns} function"), "function"),
        None => ("subroutine".to_owned(), "subroutine"),
    };
    let list = wrapped(&names);
    Ok(format!(
        "    {opening} {name}({list}){binding}\n      import\n      implicit none\n{declarations}    end {closing}\n"
    ))
}

/// A list of arguments over as many lines as it needs.
fn wrapped(names: &[&str]) -> String {
    let mut text = String::new();
    let mut width = 50;
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        if width + name.len() > 110 {
            text.push_str("&\n        ");
            width = 8;
        }
        text.push_str(name);
        width += name.len() + 2;
    }
    text
}

fn declaration(procedure: &Procedure, parameter: &Parameter, form: &Form) -> Result<String> {
    let name = &parameter.name;
    let f08 = form.is_f08();
    let kind = parameter.kind.as_str();
    let mut attributes = String::new();
    let has_intent = f08 && !["STATUS", "BUFFER", "FUNCTION", "POLYFUNCTION", "WEIGHT", "ERROR_CODE"].contains(&kind);
    if has_intent || f08 && parameter.direction == Direction::In && !["FUNCTION", "POLYFUNCTION"].contains(&kind) {
        attributes.push_str(match parameter.direction {
            Direction::In => ", intent(in)",
            Direction::Out => ", intent(out)",
            Direction::Inout => ", intent(inout)",
        });
    } else if f08 && kind == "ERROR_CODE" && parameter.length.is_none() {
        attributes.push_str(", intent(out)");
    }
    let lasts = f08 && (kind == "BUFFER" && goes_on(procedure) || has_request(procedure) && parameter.length.is_some());
    if lasts && parameter.kind != "REQUEST" {
        attributes.push_str(", asynchronous");
    }
    let shape = match (&parameter.length, kind) {
        (_, "STRING") => "",
        (_, "STRING_ARRAY") => "(*)",
        (_, "STRING_2DARRAY") => "(count,*)",
        (Some(Length::Matrix(_)), _) => "(3,*)",
        (Some(Length::Of(_)), "STATUS") if !f08 => "(MPI_STATUS_SIZE,*)",
        (None, "STATUS") if !f08 => "(MPI_STATUS_SIZE)",
        (_, "F90_STATUS") => "(MPI_STATUS_SIZE)",
        (Some(_), _) => "(*)",
        (None, _) => "",
    };
    let of = match kind {
        "BUFFER" | "LOGICAL_VOID" if !f08 => return Ok(any(name)),
        "C_BUFFER2" if !f08 => return Ok(any(name)),
        "BUFFER" => return Ok(format!("      type(*), dimension(..){attributes} :: {name}\n")),
        "LOGICAL_VOID" => return Ok(format!("      type(*) :: {name}\n")),
        "FUNCTION" | "POLYFUNCTION" if !f08 => return Ok(format!("      external :: {name}\n")),
        "FUNCTION" | "POLYFUNCTION" => {
            let function = c::base_type(parameter, form.is_large())?;
            return Ok(format!("      procedure({function}) :: {name}\n"));
        }
        "C_BUFFER" | "C_BUFFER2" if f08 => "type(C_PTR)".to_owned(),
        "C_BUFFER" if matches!(form, Form::Mpi { cptr: true }) => "type(C_PTR)".to_owned(),
        "C_BUFFER" | "ATTRIBUTE_VAL" | "EXTRA_STATE" => "integer(kind=MPI_ADDRESS_KIND)".to_owned(),
        "ATTRIBUTE_VAL_10" | "EXTRA_STATE2" | "F90_STATUS" => "integer".to_owned(),
        "F08_STATUS" => "type(MPI_Status)".to_owned(),
        "STATUS" => if f08 { "type(MPI_Status)" } else { "integer" }.to_owned(),
        "LOGICAL" => "logical".to_owned(),
        "STRING" if f08 && has_choice(procedure) => return Ok(described_string(name, &attributes)),
        "STRING" | "STRING_ARRAY" | "STRING_2DARRAY" => "character(len=*)".to_owned(),
        _ => match handle(kind) {
            Some((_, c_type, _)) if f08 => format!("type({c_type})"),
            Some(_) => "integer".to_owned(),
            None => number(parameter, form.is_large())?.to_owned(),
        },
    };
    Ok(format!("      {of}{attributes} :: {name}{shape}\n"))
}

/// A string beside a choice buffer has a descriptor, too. gfortran knows those of strings since version 12; before, it passes the same for any type.
fn described_string(name: &str, attributes: &str) -> String {
    format!(
        "#if defined(__GFORTRAN__) && __GNUC__ < 12\n      type(*), dimension(..){attributes} :: {name}\n#else\n      \
         character(len=*){attributes} :: {name}\n#endif\n"
    )
}

/// An argument of any type and rank, for compilers without them: each is told in its own way.
fn any(name: &str) -> String {
    format!("!DIR$ IGNORE_TKR {name}\n!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n      type(*), dimension(*) :: {name}\n")
}

fn number(parameter: &Parameter, large: bool) -> Result<&'static str> {
    Ok(match c::base_type(parameter, large)?.as_str() {
        "MPI_Aint" => "integer(kind=MPI_ADDRESS_KIND)",
        "MPI_Count" => "integer(kind=MPI_COUNT_KIND)",
        "MPI_Offset" => "integer(kind=MPI_OFFSET_KIND)",
        _ => "integer",
    })
}
