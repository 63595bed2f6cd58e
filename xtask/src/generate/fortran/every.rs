//! Programs that call every procedure, in each form, with null handles, so that procedures that need an object return an error.

use std::fmt::Write;

use anyhow::Result;

use super::super::c;
use super::super::standard::{Direction, HANDLES, Parameter, Procedure, Standard};
use super::parameter::handle;
use super::{GENERATED, current, in_f08};

/// A form of the interface, with what a program of it begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Include,
    Module,
    F08,
}

/// Procedures that end something, or that have a test of their own since the program gives them callbacks.
const NOT: [&str; 9] = [
    "MPI_Abort",
    "MPI_Finalize",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Session_init",
    "MPI_Free_mem",
    "MPI_Pcontrol",
    "MPI_Status_f082f",
    "MPI_Status_f2f08",
];

const TOP: &str =
    "! ranks: 1\n! Calls every procedure with null handles: procedures that need an object return an error.\n";

/// The program.
pub fn program(standard: &Standard, form: Form) -> Result<String> {
    let mut text = format!("{TOP}! {GENERATED}\nprogram every\n");
    text.push_str(match form {
        Form::Include => "  implicit none\n  include 'mpif.h'\n",
        Form::Module => "  use mpi\n  implicit none\n",
        Form::F08 => "  use, intrinsic :: iso_c_binding\n  use mpi_f08\n  implicit none\n",
    });
    for name in HANDLES {
        let (declared, dimension) = (
            if form == Form::F08 {
                format!("type(MPI_{name})")
            } else {
                "integer".into()
            },
            name.to_lowercase(),
        );
        writeln!(text, "  {declared} :: a_{dimension}, some_{dimension}(10)")?;
    }
    text.push_str(match form {
        Form::F08 => "  type(MPI_Status) :: status, statuses(10)\n  type(C_PTR) :: pointer\n",
        _ => "  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 10)\n  integer(kind=MPI_ADDRESS_KIND) :: pointer\n",
    });
    text.push_str(
        "  integer :: ierr, n, ints(30), buf(100), classes = 0\n  integer(kind=MPI_ADDRESS_KIND) :: address, addresses(10)\n  \
         integer(kind=MPI_COUNT_KIND) :: large, larges(10)\n  integer(kind=MPI_OFFSET_KIND) :: offset\n  logical :: flag, flags(10)\n  \
         character(len=80) :: text\n  double precision :: time\n",
    );
    let begin = if form == Form::F08 {
        "MPI_Init()"
    } else {
        "MPI_Init(ierr)"
    };
    writeln!(text, "  call {begin}")?;
    for comm in ["MPI_COMM_WORLD", "MPI_COMM_SELF"] {
        writeln!(text, "  call MPI_Comm_set_errhandler({comm}, MPI_ERRORS_RETURN, ierr)")?;
    }
    let mut calls = 0;
    for procedure in current(standard) {
        let has_function = procedure.parameters(true).any(|one| one.kind.ends_with("FUNCTION"));
        let is_generic = form == Form::Include || !procedure.name.starts_with("MPI_Sizeof");
        if NOT.contains(&procedure.name.as_str())
            || has_function
            || !is_generic
            || form == Form::F08 && !in_f08(procedure)
        {
            continue;
        }
        for large in if form == Form::F08 {
            procedure.forms()
        } else {
            vec![false]
        } {
            call(procedure, form, large, &mut text)?;
            calls += 1;
        }
    }
    writeln!(
        text,
        "  print '(a,i0)', 'calls: {calls}, refused: ', classes\n  call MPI_Finalize(ierr)\ncontains\n  subroutine reset()"
    )?;
    for name in HANDLES {
        let (small, null) = (name.to_lowercase(), name.to_uppercase());
        writeln!(
            text,
            "    a_{small} = MPI_{null}_NULL\n    some_{small} = MPI_{null}_NULL"
        )?;
    }
    text.push_str(
        "    n = 0\n    ints = 0\n    address = 0\n    addresses = 0\n    large = 0\n    larges = 0\n    offset = 0\n    flag = .false.\n    \
         flags = .false.\n    text = ' '\n    ierr = -1\n  end subroutine\n  \
         subroutine expect(code, name)\n    integer, intent(in) :: code\n    character(len=*), intent(in) :: name\n    \
         integer :: class, ierr\n    call MPI_Error_class(code, class, ierr)\n    \
         if (code /= -1 .and. class > MPI_SUCCESS) then\n      classes = classes + 1\n    else\n      \
         print *, name, ' took a null handle: ', code\n      stop 1\n    end if\n  end subroutine\nend program\n",
    );
    Ok(text)
}

fn call(procedure: &Procedure, form: Form, large: bool, text: &mut String) -> Result<()> {
    let shown = |one: &&Parameter| !["ARGUMENT_COUNT", "ARGUMENT_LIST", "VARARGS"].contains(&one.kind.as_str());
    let all: Vec<&Parameter> = procedure.parameters(large).filter(shown).collect();
    let mut given = Vec::new();
    for parameter in &all {
        given.push(argument(parameter, form, large)?);
    }
    writeln!(text, "  call reset()")?;
    match procedure.returns.as_str() {
        "WALL_TIME" | "TICK_RESOLUTION" => writeln!(text, "  time = {}()", procedure.name)?,
        "LOCATION_SMALL" | "DISPLACEMENT" => writeln!(text, "  address = {}({})", procedure.name, given.join(", "))?,
        _ => {
            given.push("ierr".to_owned());
            let mut line = format!("  call {}({})", procedure.name, given.join(", "));
            if line.len() > 120 {
                let middle = given.len() / 2;
                line = format!(
                    "  call {}({}, &\n    {})",
                    procedure.name,
                    given[..middle].join(", "),
                    given[middle..].join(", ")
                );
            }
            writeln!(text, "{line}")?;
            // Those calls take null handles in some of their arguments.
            let needs = |one: &&&Parameter| {
                ["COMMUNICATOR", "GROUP", "WINDOW", "SESSION"].contains(&one.kind.as_str())
                    && one.direction != Direction::Out
            };
            // A null handle has a name.
            if all.iter().any(|one| needs(&one)) && !procedure.name.ends_with("_get_name") {
                writeln!(text, "  call expect(ierr, '{}')", procedure.name)?;
            }
        }
    }
    Ok(())
}

/// A value or variable of the right type.
fn argument(parameter: &Parameter, form: Form, large: bool) -> Result<String> {
    let is_array = parameter.length.is_some();
    let is_in = parameter.direction == Direction::In && !is_array;
    let pick = |one: &str, many: &str| if is_array { many.to_owned() } else { one.to_owned() };
    if let Some((function, ..)) = handle(&parameter.kind) {
        return Ok(format!("{}_{function}", if is_array { "some" } else { "a" }));
    }
    Ok(match parameter.kind.as_str() {
        "LOGICAL_VOID" => "n".into(),
        "BUFFER" => "buf".into(),
        "C_BUFFER2" if form != Form::F08 => "buf".into(),
        "C_BUFFER" | "C_BUFFER2" => "pointer".into(),
        "STATUS" => pick("status", "statuses"),
        "LOGICAL" => pick("flag", "flags"),
        "ATTRIBUTE_VAL" | "EXTRA_STATE" => "address".into(),
        "ATTRIBUTE_VAL_10" | "EXTRA_STATE2" => "n".into(),
        "STRING" => "text".into(),
        "STRING_ARRAY" | "STRING_2DARRAY" if parameter.name == "array_of_argv" => "MPI_ARGVS_NULL".into(),
        "STRING_ARRAY" if parameter.name == "argv" => "MPI_ARGV_NULL".into(),
        "STRING_ARRAY" => "(/ text /)".into(),
        _ => match c::base_type(parameter, large)?.as_str() {
            "MPI_Aint" => {
                if is_in {
                    "address".into()
                } else {
                    pick("address", "addresses")
                }
            }
            "MPI_Count" => {
                if is_in {
                    "large".into()
                } else {
                    pick("large", "larges")
                }
            }
            "MPI_Offset" => "offset".into(),
            _ if parameter.kind == "WEIGHT" => "ints".into(),
            _ if matches!(&parameter.length, Some(super::super::standard::Length::Matrix(_))) => {
                "reshape(ints, (/ 3, 10 /))".into()
            }
            _ => pick("n", "ints"),
        },
    })
}
