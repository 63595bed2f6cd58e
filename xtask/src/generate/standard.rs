//! What `standard/` says.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// What handles are of, in the order of the alphabet.
pub const HANDLES: [&str; 11] = [
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
];

/// All of `standard/`, and what of it is written by hand.
pub struct Standard {
    /// Procedures, by chapter and name.
    pub procedures: Vec<Procedure>,
    /// Types of user functions.
    pub callbacks: Vec<Procedure>,
    /// Constants in the order of the header, by section.
    pub sections: Vec<Section>,
    /// What Open MPI's library has.
    pub openmpi: OpenMpiLibrary,
    /// Names of procedures that are not implemented.
    pub unfinished: BTreeSet<String>,
    /// What finished procedures do not do: chapter and sentence.
    pub limits: Vec<(String, String)>,
    /// Names (lower case, without `MPI_`) of procedures whose entry is written by hand.
    pub irregular: BTreeSet<String>,
}

/// A procedure or a callback.
#[derive(Deserialize)]
pub struct Procedure {
    pub name: String,
    pub returns: String,
    #[serde(default)]
    pub chapter: String,
    #[serde(default)]
    callback: bool,
    parameters: Vec<Parameter>,
}

/// A parameter of the C binding.
#[derive(Deserialize)]
pub struct Parameter {
    pub name: String,
    pub kind: String,
    pub direction: Direction,
    pub length: Option<Length>,
    pub pointer: Option<bool>,
    /// The callback that a FUNCTION is.
    pub func_type: Option<String>,
    #[serde(default, rename = "const")]
    pub constant: bool,
    /// Only the `_c` form has it.
    #[serde(default)]
    large_only: bool,
    /// Significant at the root only.
    #[serde(default)]
    pub root_only: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    In,
    Out,
    Inout,
}

/// Says that a parameter is an array.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged)]
pub enum Length {
    /// The parameter that holds the length, or `*` where the call implies it.
    Of(String),
    /// Rows and columns.
    Matrix([String; 2]),
}

/// Constants that stand together in the header.
pub struct Section {
    pub title: String,
    pub constants: Vec<Constant>,
}

pub struct Constant {
    pub name: String,
    /// The set of constants that it belongs to.
    pub kind: String,
    pub c_type: String,
    /// As written; a name for an alias.
    pub standard: Option<String>,
    /// The value inside: the standard ABI's, or one of our own for what only the MPICH ABI has.
    pub canonical: Option<String>,
    pub mpich: Option<String>,
    pub openmpi: Option<OpenMpi>,
}

/// A constant in Open MPI's ABI.
#[derive(Clone)]
pub enum OpenMpi {
    /// A number.
    Value(String),
    /// The address of an object or a function.
    Symbol(String),
    /// The address of an object, and the number that Fortran has for it, if it has one.
    Handle(String, Option<String>),
}

/// What `libmpi.so.40` exports beside functions of the standard.
#[derive(Default)]
pub struct OpenMpiLibrary {
    /// Data: name and size in bytes.
    pub data: Vec<(String, u32)>,
    /// Functions of its own.
    pub functions: Vec<String>,
}

/// Which libraries have a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    Standard,
    Mpich,
    OpenMpi,
}

impl Standard {
    pub fn read(root: &Path) -> Result<Self> {
        let folder = root.join("standard");
        let mut all: Vec<Procedure> = json(&folder.join("apis.json"))?;
        all.extend(json::<Vec<Procedure>>(&folder.join("removed.json"))?);
        all.extend(json::<Vec<Procedure>>(&folder.join("extensions.json"))?);
        let (callbacks, mut procedures): (Vec<_>, Vec<_>) = all.into_iter().partition(|procedure| procedure.callback);
        procedures.sort_by_key(|procedure| (procedure.chapter.clone(), procedure.name.to_lowercase()));
        let mut sections = sections(&text(&folder.join("constants.tsv"))?)?;
        let openmpi = openmpi(&text(&folder.join("openmpi.tsv"))?, &mut sections)?;
        let standard = Self {
            sections,
            openmpi,
            unfinished: lines(&text(&folder.join("unfinished.txt"))?)
                .map(str::to_owned)
                .collect(),
            limits: lines(&text(&folder.join("limits.txt"))?)
                .map(limit)
                .collect::<Result<_>>()?,
            irregular: irregular(&root.join("crates/abi/src/irregular"))?,
            procedures,
            callbacks,
        };
        for name in &standard.unfinished {
            ensure!(
                standard.procedures.iter().any(|procedure| procedure.name == *name),
                "standard/unfinished.txt: there is no {name}"
            );
        }
        for (chapter, _) in &standard.limits {
            ensure!(
                chapter == "language" || standard.chapters().contains(chapter.as_str()),
                "standard/limits.txt: there is no chapter {chapter}"
            );
        }
        Ok(standard)
    }

    pub fn chapters(&self) -> BTreeSet<&str> {
        self.procedures
            .iter()
            .map(|procedure| procedure.chapter.as_str())
            .collect()
    }

    /// All C functions of a library, without `PMPI_` twins.
    pub fn functions(&self, library: Library) -> Vec<String> {
        let mut names: Vec<String> = self
            .procedures
            .iter()
            .filter(|procedure| procedure.is_in(library))
            .flat_map(|procedure| procedure.forms().into_iter().map(|large| procedure.c_name(large)))
            .collect();
        names.sort();
        names
    }
}

impl Procedure {
    /// Is there a large-count form (`_c`)?
    pub fn has_large(&self) -> bool {
        self.parameters
            .iter()
            .any(|parameter| parameter.kind.starts_with("POLY"))
    }

    /// Whether each form is large: `[false]` or `[false, true]`.
    pub fn forms(&self) -> Vec<bool> {
        if self.has_large() {
            vec![false, true]
        } else {
            vec![false]
        }
    }

    pub fn c_name(&self, large: bool) -> String {
        format!("{}{}", self.name, if large { "_c" } else { "" })
    }

    /// The name of its Rust functions.
    pub fn rust_name(&self) -> String {
        self.name.trim_start_matches("MPI_").to_lowercase()
    }

    pub fn parameters(&self, large: bool) -> impl Iterator<Item = &Parameter> {
        self.parameters
            .iter()
            .filter(move |parameter| large || !parameter.large_only)
    }

    /// Does the parameter list differ between the forms by more than the width of its counts?
    pub fn forms_differ(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.large_only)
    }

    pub fn is_in(&self, library: Library) -> bool {
        const FORTRAN: [&str; 6] = ["_c2f", "_f2c", "_c2f08", "_f082c", "_f2f08", "_f082f"];
        let is_old = self.chapter == "removed" || FORTRAN.iter().any(|suffix| self.name.ends_with(suffix));
        library != Library::Standard || !is_old
    }
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T> {
    serde_json::from_str(&text(path)?).with_context(|| format!("{}", path.display()))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// `CHAPTER: sentence`
fn limit(line: &str) -> Result<(String, String)> {
    let (chapter, sentence) = line
        .split_once(": ")
        .with_context(|| format!("standard/limits.txt: no chapter in '{line}'"))?;
    Ok((chapter.to_owned(), sentence.to_owned()))
}

fn sections(text: &str) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section {
                title: title.to_owned(),
                constants: Vec::new(),
            });
        } else if !line.is_empty() && !line.starts_with('#') {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, kind, c_type, standard, mpich] = fields[..] else {
                anyhow::bail!("standard/constants.tsv: five fields wanted: {line}");
            };
            let value = |field: &str| (field != "-").then(|| field.to_owned());
            let own = standard.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let section = sections
                .last_mut()
                .context("standard/constants.tsv: a section comes first")?;
            section.constants.push(Constant {
                name: name.to_owned(),
                kind: kind.to_owned(),
                c_type: c_type.to_owned(),
                standard: value(standard).filter(|_| own.is_none()),
                canonical: value(own.unwrap_or(standard)),
                mpich: value(mpich),
                openmpi: None,
            });
        }
    }
    Ok(sections)
}

/// `openmpi.tsv`, of which the constants are put to the others.
fn openmpi(text: &str, sections: &mut [Section]) -> Result<OpenMpiLibrary> {
    let mut library = OpenMpiLibrary::default();
    let mut part = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            part = title.split(':').next().unwrap_or(title);
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        match (part, &fields[..]) {
            ("Constants", [name, rest @ ..]) => {
                let mut all = sections.iter_mut().flat_map(|section| &mut section.constants);
                let constant = all.find(|constant| constant.name == *name);
                let constant = constant.with_context(|| format!("standard/openmpi.tsv: there is no {name}"))?;
                constant.openmpi = Some(match rest {
                    [value] if value.parse::<i64>().is_ok() => OpenMpi::Value((*value).to_owned()),
                    [symbol] => OpenMpi::Symbol((*symbol).to_owned()),
                    [symbol, "-"] => OpenMpi::Handle((*symbol).to_owned(), None),
                    [symbol, integer] => OpenMpi::Handle((*symbol).to_owned(), Some((*integer).to_owned())),
                    _ => anyhow::bail!("standard/openmpi.tsv: two or three fields wanted: {line}"),
                });
            }
            ("Data", [name, size]) => library.data.push(((*name).to_owned(), size.parse()?)),
            ("Functions", [name]) => library.functions.push((*name).to_owned()),
            _ => anyhow::bail!("standard/openmpi.tsv: not understood: {line}"),
        }
    }
    Ok(library)
}

/// The procedures for which `folder` has an entry: its functions that are generic over `Abi`.
fn irregular(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let source = text(&entry?.path())?;
        names.extend(
            source
                .lines()
                .filter_map(|line| line.trim_start().strip_prefix("pub unsafe fn "))
                .filter(|rest| rest.contains("<A: Abi"))
                .filter_map(|rest| rest.split('<').next())
                .map(str::to_owned),
        );
        // Entries made by a macro are named by its first argument.
        names.extend(
            source
                .lines()
                .filter_map(|line| line.strip_prefix("entry!("))
                .filter_map(|rest| rest.split([',', ')']).next())
                .map(str::to_owned),
        );
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standard() -> Standard {
        Standard::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).expect("standard/ is readable")
    }

    #[test]
    fn the_standard_abi_has_662_functions() {
        let names = standard().functions(Library::Standard);
        assert_eq!(names.iter().filter(|name| name.starts_with("MPI_")).count(), 662);
    }

    #[test]
    fn the_mpich_abi_has_what_was_removed() {
        let names = standard().functions(Library::Mpich);
        assert!(names.iter().any(|name| name == "MPI_Type_struct"));
        assert!(names.iter().any(|name| name == "MPI_Comm_c2f"));
    }

    #[test]
    fn a_constant_is_named_once() {
        let standard = standard();
        let mut seen = BTreeSet::new();
        for constant in standard.sections.iter().flat_map(|section| &section.constants) {
            assert!(seen.insert(&constant.name), "{} twice", constant.name);
        }
    }
}
