//! A parameter of a Fortran entry: what the entry takes, what it gives to C, and what it does before and after.

use anyhow::{Result, bail};

use super::super::c;
use super::super::standard::{Direction, Length, Parameter, Procedure};
use super::{base, has_choice, has_request};

/// Which form of a procedure is written.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    pub large: bool,
    /// Module `mpi_f08` rather than `mpif.h` and module `mpi`.
    pub f08: bool,
    /// The choice buffer that the parameter belongs to, if that may be a section.
    pub section: Option<&'a Section>,
}

/// How a choice buffer is used, which decides what is done for a section that is not contiguous.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One run of elements: a datatype describes it.
    Block,
    /// Several runs at places that MPI computes: a datatype describes it if the section has one stride, otherwise it is copied.
    Many,
    /// Data for an operation, which works on contiguous elements: copied.
    Whole,
    /// Memory without a datatype, of so many bytes: there must be no gaps.
    Bytes,
    /// A single element, or memory that MPI knows already: its address is taken.
    Address,
}

/// A choice buffer with the parameters that say what is in it.
pub struct Section {
    pub buffer: String,
    pub kind: Kind,
    count: Option<String>,
    datatype: Option<String>,
    writes: bool,
    /// Other members than the root do not look at it.
    at_root: bool,
}

impl Section {
    /// Does the parameter belong to it?
    pub fn is(&self, parameter: &Parameter) -> bool {
        let name = Some(&parameter.name);
        self.buffer == parameter.name
            || self.kind == Kind::Block && self.count.as_ref() == name
            || !self.is_address() && self.datatype.as_ref() == name
    }

    /// Does C take its address as it is?
    fn is_address(&self) -> bool {
        matches!(self.kind, Kind::Bytes | Kind::Address)
    }

    /// When a section that is not contiguous is refused, as a condition in C: what has one datatype is C's to refuse.
    pub fn refused(&self, has_request: bool) -> Option<String> {
        let buffer = &self.buffer;
        match self.kind {
            Kind::Bytes => Some(format!("has_gaps({buffer})")),
            Kind::Many | Kind::Whole if has_request && self.at_root => {
                Some(format!("(c_{buffer}.refused && is_root(*root, comm_in(*comm)))"))
            }
            Kind::Many | Kind::Whole if has_request => Some(format!("c_{buffer}.refused")),
            _ => None,
        }
    }
}

/// The choice buffers of a procedure.
pub fn sections(procedure: &Procedure, large: bool) -> Vec<Section> {
    let all: Vec<&Parameter> = procedure.parameters(large).collect();
    let is_buffer = |one: &Parameter| one.kind == "BUFFER";
    let reduces = all.iter().any(|one| one.kind == "OPERATION") && procedure.chapter != "rma";
    let mut found = Vec::new();
    for (at, parameter) in all.iter().enumerate().filter(|(_, one)| is_buffer(one)) {
        let mut rest = &all[at + 1..];
        if rest.first().is_some_and(|one| is_buffer(one)) {
            rest = &rest[1..];
        }
        let end = rest.iter().position(|one| is_buffer(one)).unwrap_or(rest.len());
        let is_count = |one: &&&Parameter| one.kind.contains("XFER_NUM_ELEM") || one.kind.contains("DTYPE_NUM_ELEM");
        let count = rest[..end].iter().find(is_count);
        let datatype = rest[..end].iter().find(|one| one.kind == "DATATYPE");
        let single = ["MPI_Fetch_and_op", "MPI_Compare_and_swap"].contains(&procedure.name.as_str());
        let is_array = |one: Option<&&Parameter>| one.is_some_and(|one| one.length.is_some());
        let has_size = rest[..end].iter().any(|one| one.name.ends_with("size"));
        let kind = if datatype.is_none() && has_size {
            Kind::Bytes
        } else if datatype.is_none() || single {
            Kind::Address
        } else if reduces {
            Kind::Whole
        } else if is_array(count) || is_array(datatype) || has_runs(procedure, parameter) {
            Kind::Many
        } else {
            Kind::Block
        };
        found.push(Section {
            buffer: parameter.name.clone(),
            kind,
            count: count.map(|one| one.name.clone()),
            datatype: datatype.filter(|one| one.length.is_none()).map(|one| one.name.clone()),
            writes: parameter.direction != Direction::In,
            at_root: parameter.root_only,
        });
    }
    found
}

/// Does the buffer hold a run of elements for each of several processes or partitions?
fn has_runs(procedure: &Procedure, parameter: &Parameter) -> bool {
    let name = base(procedure);
    let sends = parameter.name == "sendbuf";
    let partitioned = procedure.chapter == "partitioned";
    partitioned || name.contains("alltoall") || name.contains("gather") && !sends || name.contains("scatter") && sends
}

/// An entry in pieces.
#[derive(Default)]
pub struct Code {
    pub parameters: Vec<String>,
    /// Lengths of strings, which come last.
    pub lengths: Vec<String>,
    pub before: String,
    pub arguments: Vec<String>,
    pub after: String,
}

impl Code {
    /// Open a section before the call and close it after. Where the call waits for the end of the operation, what has no datatype may be copied.
    pub fn section(&mut self, section: &Section, waits: bool) {
        let Section {
            buffer,
            kind,
            count,
            datatype,
            writes,
            at_root: _,
        } = section;
        let datatype = match datatype {
            Some(name) => format!("datatype_in(*{name})"),
            None => "MPI_BYTE".to_owned(),
        };
        let writes = u8::from(*writes);
        let waits = u8::from(waits);
        let opened = match kind {
            Kind::Block => format!("block({buffer}, *{}, {datatype})", count.as_deref().unwrap_or_default()),
            Kind::Many if datatype == "MPI_BYTE" => format!("whole({buffer}, {waits}, {writes})"),
            Kind::Many => format!("many({buffer}, {datatype}, {waits}, {writes})"),
            Kind::Whole => format!("whole({buffer}, {waits}, {writes})"),
            Kind::Bytes | Kind::Address => return,
        };
        self.before.push_str(&format!("    SECTION c_{buffer} = {opened};\n"));
        self.after.push_str(&format!("    done(&c_{buffer});\n"));
    }

    /// Add a parameter.
    pub fn parameter(
        &mut self,
        procedure: &Procedure,
        parameter: &Parameter,
        all: &[&Parameter],
        form: &Form,
    ) -> Result<()> {
        let name = parameter.name.as_str();
        if let Some((function, c_type, null)) = handle(&parameter.kind) {
            return self.handle(procedure, parameter, all, form, [function, c_type, null]);
        }
        let (taken, given) = match parameter.kind.as_str() {
            "BUFFER" => {
                self.buffer(parameter, form);
                return Ok(());
            }
            "ARGUMENT_COUNT" | "ARGUMENT_LIST" => {
                let none = if c::stars(parameter) == 0 { "0" } else { "NULL" };
                self.arguments.push(none.to_owned());
                return Ok(());
            }
            "VARARGS" => return Ok(()),
            "STATUS" if parameter.length.is_some() => ("FINT", format!("statuses_out({name})")),
            "STATUS" if parameter.direction == Direction::Out => ("FINT", format!("status_out({name})")),
            "STATUS" => ("FINT", format!("(MPI_Status *){name}")),
            "C_BUFFER" => ("void", name.to_owned()),
            "C_BUFFER2" if form.f08 => ("void", name.to_owned()),
            "C_BUFFER2" => {
                // The address is that of the buffer which is detached: there is nothing to give back.
                self.before.push_str(&format!("    void *c_{name} = NULL;\n"));
                self.after.push_str(&format!("    (void){name};\n"));
                ("void", format!("&c_{name}"))
            }
            "LOGICAL_VOID" => ("void", name.to_owned()),
            "WEIGHT" => ("FINT", format!("weights_in({name})")),
            "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" => return self.attribute(parameter, all),
            "STRING" => return self.string(procedure, parameter, form),
            "LOGICAL" if parameter.direction == Direction::In && parameter.length.is_none() => {
                ("FINT", format!("*{name} != 0"))
            }
            "KEYVAL" => {
                if parameter.direction == Direction::Inout {
                    self.before
                        .push_str(&format!("    int c_{name} = keyval_in(*{name});\n"));
                    self.after.push_str(&format!("    *{name} = c_{name};\n"));
                    ("FINT", format!("&c_{name}"))
                } else if parameter.direction == Direction::Out {
                    ("FINT", name.to_owned())
                } else {
                    ("FINT", format!("keyval_in(*{name})"))
                }
            }
            "INDEX" if parameter.direction == Direction::Out && procedure.chapter == "point_to_point" => {
                self.index(parameter);
                return Ok(());
            }
            "FUNCTION" | "POLYFUNCTION" | "STRING_ARRAY" | "STRING_2DARRAY" | "EXTRA_STATE" | "EXTRA_STATE2"
            | "F90_STATUS" | "F08_STATUS" => bail!("{} has parameters that are written by hand", procedure.name),
            _ => return self.number(procedure, parameter, form),
        };
        self.parameters.push(format!("{taken} *{name}"));
        self.arguments.push(given);
        Ok(())
    }

    /// An integer, or an array of them.
    fn number(&mut self, procedure: &Procedure, parameter: &Parameter, form: &Form) -> Result<()> {
        let name = &parameter.name;
        let c_type = c::base_type(parameter, form.large)?;
        if procedure.chapter == "removed" && c_type == "MPI_Aint" {
            self.short_address(parameter);
            return Ok(());
        }
        self.parameters.push(format!("{c_type} *{name}"));
        self.arguments.push(match (&parameter.length, parameter.direction) {
            (Some(Length::Matrix(_)), _) => format!("(void *){name}"),
            (None, Direction::In) if form.section.is_some() => {
                format!("({c_type})c_{}.count", form.section.map_or("", |one| &one.buffer))
            }
            (None, Direction::In) => format!("*{name}"),
            _ => name.clone(),
        });
        Ok(())
    }

    /// An address or displacement before MPI-2: an INTEGER.
    fn short_address(&mut self, parameter: &Parameter) {
        let name = &parameter.name;
        self.parameters.push(format!("FINT *{name}"));
        if parameter.length.is_some() {
            self.before
                .push_str(&format!("    ADDRESS *c_{name} = addresses_in({name}, *count);\n"));
            self.after.push_str(&format!("    free(c_{name});\n"));
            self.arguments.push(format!("c_{name}"));
        } else if parameter.direction == Direction::In {
            self.arguments.push(format!("*{name}"));
        } else {
            self.before.push_str(&format!("    ADDRESS c_{name} = 0;\n"));
            self.after
                .push_str(&format!("    if (code == MPI_SUCCESS) *{name} = (FINT)c_{name};\n"));
            self.arguments.push(format!("&c_{name}"));
        }
    }

    fn buffer(&mut self, parameter: &Parameter, form: &Form) {
        let name = &parameter.name;
        let section = form.section.filter(|one| !one.is_address());
        let is_attached = name == "buffer" && parameter.direction == Direction::In;
        let address = match (form.section, section) {
            (_, Some(_)) => format!("c_{name}.address"),
            (Some(_), None) => format!("attached_in(BASE({name}))"),
            _ if is_attached => format!("attached_in({name})"),
            _ => format!("choice_in({name})"),
        };
        self.parameters.push(format!(
            "{} *{name}",
            if form.section.is_some() { "DESCRIPTOR" } else { "void" }
        ));
        self.arguments.push(address);
    }

    fn attribute(&mut self, parameter: &Parameter, all: &[&Parameter]) -> Result<()> {
        let name = &parameter.name;
        let c_type = if parameter.kind == "ATTRIBUTE_VAL" {
            "ADDRESS"
        } else {
            "FINT"
        };
        self.parameters.push(format!("{c_type} *{name}"));
        if parameter.direction == Direction::In {
            self.arguments.push(format!("(void *)(intptr_t)*{name}"));
            return Ok(());
        }
        let Some(keyval) = all.iter().find(|one| one.kind == "KEYVAL") else {
            bail!("an attribute has a key");
        };
        self.before.push_str(&format!("    void *c_{name} = NULL;\n"));
        self.arguments.push(format!("&c_{name}"));
        self.after.push_str(&format!(
            "    if (code == MPI_SUCCESS && *flag) *{name} = ({c_type})attribute_out(keyval_in(*{}), c_{name});\n",
            keyval.name
        ));
        Ok(())
    }

    fn string(&mut self, procedure: &Procedure, parameter: &Parameter, form: &Form) -> Result<()> {
        let name = &parameter.name;
        self.lengths.push(format!("size_t {name}_length"));
        self.arguments.push(format!("c_{name}"));
        if form.f08 && has_choice(procedure) {
            self.parameters.push(format!("STRING *{name}"));
            self.before.push_str(&format!(
                "    char *c_{name} = string_in(TEXT_OF({name}), LENGTH_OF({name}));\n"
            ));
            self.after.push_str(&format!("    free(c_{name});\n"));
            return Ok(());
        }
        self.parameters.push(format!("char *{name}"));
        if parameter.direction == Direction::In {
            // Keys and values of info objects lose leading blanks too (MPI-5.0 §10).
            let read = if procedure.chapter == "info" {
                "trimmed_in"
            } else {
                "string_in"
            };
            self.before
                .push_str(&format!("    char *c_{name} = {read}({name}, {name}_length);\n"));
            self.after.push_str(&format!("    free(c_{name});\n"));
            return Ok(());
        }
        let longest = match (&parameter.length, name.as_str()) {
            (Some(Length::Of(longest)), _) if longest.starts_with("MPI_MAX") => longest.as_str(),
            (_, "datarep") => "MPI_MAX_DATAREP_STRING",
            (_, "key") => "MPI_MAX_INFO_KEY",
            _ => bail!("{}: how long {name} may be is not known", procedure.name),
        };
        self.before
            .push_str(&format!("    char c_{name}[{longest} + 1];\n    c_{name}[0] = 0;\n"));
        self.after.push_str(&format!(
            "    if (code == MPI_SUCCESS) string_out(c_{name}, {name}, {name}_length);\n"
        ));
        Ok(())
    }

    /// Fortran counts elements of arrays from 1.
    fn index(&mut self, parameter: &Parameter) {
        let name = &parameter.name;
        self.parameters.push(format!("FINT *{name}"));
        if parameter.length.is_some() {
            self.arguments.push(name.clone());
            self.after.push_str(&format!(
                "    if (has_completed(code)) for (int i = 0; i < *outcount; i++) {name}[i]++;\n"
            ));
        } else {
            self.before.push_str(&format!("    int c_{name} = MPI_UNDEFINED;\n"));
            self.arguments.push(format!("&c_{name}"));
            self.after.push_str(&format!(
                "    *{name} = c_{name} == MPI_UNDEFINED ? c_{name} : c_{name} + 1;\n"
            ));
        }
    }

    fn handle(
        &mut self,
        procedure: &Procedure,
        parameter: &Parameter,
        all: &[&Parameter],
        form: &Form,
        [function, c_type, null]: [&str; 3],
    ) -> Result<()> {
        let name = &parameter.name;
        self.parameters.push(format!("FINT *{name}"));
        let given = match (&parameter.length, parameter.direction) {
            (Some(Length::Of(length)), direction) if c_type == "MPI_Request" => {
                self.before.push_str(&format!("    REQUESTS c_{name};\n"));
                let changed = u8::from(direction == Direction::Inout);
                self.after
                    .push_str(&format!("    requests_out(&c_{name}, {changed});\n"));
                format!("requests_in(&c_{name}, {name}, *{length})")
            }
            (Some(Length::Of(length)), Direction::Out) => {
                self.before
                    .push_str(&format!("    MPI_Datatype *c_{name} = datatypes_room(*{length});\n"));
                self.after.push_str(&format!(
                    "    datatypes_out(c_{name}, {name}, *{length}, code == MPI_SUCCESS);\n"
                ));
                format!("c_{name}")
            }
            (Some(Length::Of(length)), _) if c_type == "MPI_Datatype" => {
                let count = match length.as_str() {
                    "*" => self.partners(procedure, name, all, form),
                    given => format!("*{given}"),
                };
                self.before.push_str(&format!(
                    "    MPI_Datatype *c_{name} = datatypes_in({name}, {count});\n"
                ));
                self.after.push_str(&if has_request(procedure) {
                    format!("    datatypes_keep(c_{name}, c_request, code);\n")
                } else {
                    format!("    datatypes_done(c_{name});\n")
                });
                format!("c_{name}")
            }
            (Some(_), _) => bail!("{}: no arrays of {c_type}", procedure.name),
            (None, Direction::In)
                if form
                    .section
                    .is_some_and(|one| matches!(one.kind, Kind::Block | Kind::Many)) =>
            {
                format!("c_{}.datatype", form.section.map_or("", |one| &one.buffer))
            }
            (None, Direction::In) if c::stars(parameter) == 0 => format!("{function}_in(*{name})"),
            (None, direction) => {
                let first = if direction == Direction::Out {
                    null.to_owned()
                } else {
                    format!("{function}_in(*{name})")
                };
                self.before.push_str(&format!("    {c_type} c_{name} = {first};\n"));
                let may_end = c_type == "MPI_Request" && direction == Direction::Inout;
                if may_end {
                    self.before.push_str(&format!("    KEPT *kept = kept_take(*{name});\n"));
                }
                match direction {
                    Direction::In => {}
                    Direction::Out => self.after.push_str(&format!(
                        "    if (code == MPI_SUCCESS) *{name} = {function}_out(c_{name});\n"
                    )),
                    Direction::Inout => self
                        .after
                        .push_str(&format!("    *{name} = {function}_out(c_{name});\n")),
                }
                if may_end {
                    self.after.push_str(&format!("    kept_settle(kept, *{name});\n"));
                }
                format!("&c_{name}")
            }
        };
        self.arguments.push(given);
        Ok(())
    }

    /// How many datatypes an array has that has one for each partner.
    fn partners(&self, procedure: &Procedure, name: &str, all: &[&Parameter], form: &Form) -> String {
        let sends = name == "sendtypes";
        if base(procedure).contains("neighbor") {
            return format!("{}(comm_in(*comm))", if sends { "destinations" } else { "sources" });
        }
        if !sends || !all.iter().any(|one| one.name == "sendbuf") {
            return "peers(comm_in(*comm))".to_owned();
        }
        let address = if form.f08 {
            "c_sendbuf.address"
        } else {
            "choice_in(sendbuf)"
        };
        format!("{address} == MPI_IN_PLACE ? 0 : peers(comm_in(*comm))")
    }
}

/// The functions, C type and null handle of a kind of handle.
pub fn handle(kind: &str) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match kind {
        "COMMUNICATOR" => ("comm", "MPI_Comm", "MPI_COMM_NULL"),
        "DATATYPE" => ("datatype", "MPI_Datatype", "MPI_DATATYPE_NULL"),
        "ERRHANDLER" => ("errhandler", "MPI_Errhandler", "MPI_ERRHANDLER_NULL"),
        "FILE" => ("file", "MPI_File", "MPI_FILE_NULL"),
        "GROUP" => ("group", "MPI_Group", "MPI_GROUP_NULL"),
        "INFO" => ("info", "MPI_Info", "MPI_INFO_NULL"),
        "MESSAGE" => ("message", "MPI_Message", "MPI_MESSAGE_NULL"),
        "OPERATION" => ("op", "MPI_Op", "MPI_OP_NULL"),
        "REQUEST" => ("request", "MPI_Request", "MPI_REQUEST_NULL"),
        "SESSION" => ("session", "MPI_Session", "MPI_SESSION_NULL"),
        "WINDOW" => ("win", "MPI_Win", "MPI_WIN_NULL"),
        _ => return None,
    })
}
