//! Constants as Fortran has them.

use anyhow::{Context, Result};

use super::super::standard::{Constant, HANDLES, Library, OpenMpi, Standard};

/// What a constant is in Fortran.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Integer,
    /// `INTEGER(KIND=MPI_OFFSET_KIND)`
    Offset,
    /// A handle of this type, whose name has no `MPI_` here.
    Handle(&'static str),
}

/// A constant with its value.
pub struct Value<'a> {
    pub name: &'a str,
    pub of: Type,
    pub value: i64,
}

impl Value<'_> {
    /// What a program compiled for the standard ABI is given: the number, or an expression of the kinds that REAL and DOUBLE PRECISION have in this
    /// compilation, whose datatypes options of compilers change.
    pub fn expression(&self) -> String {
        let kinds = KINDS.iter().find(|(name, ..)| *name == self.name);
        match kinds {
            // No intrinsic function: a program that includes this may call a variable of its own `kind`.
            Some((_, of, bytes, longer)) => {
                let (step, short) = (longer - self.value, bytes / 2);
                // Without a remainder, of which compilers warn.
                format!("{}{step:+}*(({of}%kind-{short})/{short})", self.value)
            }
            None => self.value.to_string(),
        }
    }
}

/// Datatypes of REAL and DOUBLE PRECISION: a constant of the type, how many bytes it has when an option has made it longer, and the datatype then
/// (`MPI_REAL8`, `MPI_COMPLEX16`, `MPI_2DOUBLE_PRECISION`, `MPI_REAL16`, `MPI_COMPLEX32`; of pairs of 16 bytes there is none, `MPI_DATATYPE_NULL`).
const KINDS: [(&str, &str, u32, i64); 6] = [
    ("MPI_REAL", "MPI_A_REAL", 8, 730),
    ("MPI_COMPLEX", "MPI_A_REAL", 8, 739),
    ("MPI_2REAL", "MPI_A_REAL", 8, 561),
    ("MPI_DOUBLE_PRECISION", "MPI_A_DOUBLE", 16, 738),
    ("MPI_DOUBLE_COMPLEX", "MPI_A_DOUBLE", 16, 747),
    ("MPI_2DOUBLE_PRECISION", "MPI_A_DOUBLE", 16, 512),
];

/// Kinds of constants that Fortran has by another way, or not.
const NOT: [&str; 8] = [
    "bind",
    "cb_safety",
    "fortran_status",
    "pvar_class",
    "scope",
    "source_order",
    "tool_error",
    "verbosity",
];

/// The constants that are values in Fortran.
pub fn values(standard: &Standard, library: Library) -> Result<Vec<Value<'_>>> {
    let all: Vec<&Constant> = standard
        .sections
        .iter()
        .flat_map(|section| &section.constants)
        .collect();
    let mut found = Vec::new();
    for constant in &all {
        let of = match constant.c_type.as_str() {
            _ if NOT.contains(&constant.kind.as_str()) => continue,
            "int" => Type::Integer,
            "MPI_Offset" => Type::Offset,
            other => match HANDLES.iter().find(|one| other.strip_prefix("MPI_") == Some(**one)) {
                Some(handle) => Type::Handle(handle),
                None => continue,
            },
        };
        let Some(value) = value(&all, constant, library)? else {
            continue;
        };
        // C's strings have a zero at their end.
        let is_length = constant.kind == "limit";
        // MPICH's predefined keys have a value of their own in Fortran.
        let is_key = library == Library::Mpich && constant.kind == "keyval" && constant.name != "MPI_KEYVAL_INVALID";
        let value = value - i64::from(is_length) + i64::from(is_key);
        found.push(Value {
            name: &constant.name,
            of,
            value,
        });
    }
    Ok(found)
}

/// The number that a constant or what it is an alias of stands for.
fn value(all: &[&Constant], constant: &Constant, library: Library) -> Result<Option<i64>> {
    let text = match library {
        Library::Standard => &constant.standard,
        Library::Mpich => &constant.mpich,
        Library::OpenMpi => match &constant.openmpi {
            Some(OpenMpi::Value(value)) => &Some(value.clone()),
            Some(OpenMpi::Handle(_, integer)) => integer,
            _ => &None,
        },
    };
    let Some(text) = text else { return Ok(None) };
    if let Some(aliased) = all.iter().find(|one| one.name == *text) {
        return value(all, aliased, library);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number
        .map(Some)
        .with_context(|| format!("{}: not a number: {text}", constant.name))
}
