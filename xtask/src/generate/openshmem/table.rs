//! What `standard/openshmem.txt` says.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

/// The widths that `SIZE` stands for.
pub const SIZES: [u32; 5] = [8, 16, 32, 64, 128];

/// What a TYPENAME stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    pub name: String,
    pub c: String,
    pub rust: String,
}

impl Type {
    /// The C type that it is compatible with where `long` has 64 bits: one of them in a `_Generic` is enough.
    pub fn canonical(&self) -> &str {
        match self.c.as_str() {
            "int8_t" => "signed char",
            "int16_t" => "short",
            "int32_t" => "int",
            "int64_t" | "ptrdiff_t" => "long",
            "uint8_t" => "unsigned char",
            "uint16_t" => "unsigned short",
            "uint32_t" => "unsigned int",
            "uint64_t" | "size_t" => "unsigned long",
            other => other,
        }
    }
}

/// For what a routine exists.
#[derive(Debug, Clone)]
pub enum Family {
    Once,
    Sizes,
    Types(Vec<Type>),
}

/// A parameter: its C type, with `TYPE` in it, and its name.
#[derive(Debug, Clone)]
pub struct Parameter {
    pub c: String,
    pub name: String,
}

/// One row.
#[derive(Debug, Clone)]
pub struct Routine {
    pub section: usize,
    pub family: Family,
    pub has_context: bool,
    /// It works on the default context, and takes none.
    pub on_default: bool,
    pub generic: Option<String>,
    /// The entry is written by hand.
    pub own: bool,
    pub function: String,
    pub returns: String,
    /// With `TYPENAME` or `SIZE` in it.
    pub name: String,
    pub parameters: Vec<Parameter>,
}

/// A C function: one routine for one type.
#[derive(Debug, Clone)]
pub struct Function<'a> {
    pub routine: &'a Routine,
    pub name: String,
    pub of: Option<&'a Type>,
    pub size: Option<u32>,
    pub with_context: bool,
}

/// The whole table.
#[derive(Debug)]
pub struct Table {
    pub sections: Vec<String>,
    pub routines: Vec<Routine>,
}

impl Table {
    pub fn parse(text: &str) -> Result<Self> {
        let mut table = Self {
            sections: Vec::new(),
            routines: Vec::new(),
        };
        let mut types = BTreeMap::new();
        let mut families = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            table
                .line(line, &mut types, &mut families)
                .with_context(|| format!("standard/openshmem.txt:{}", index + 1))?;
        }
        Ok(table)
    }

    fn line(
        &mut self,
        line: &str,
        types: &mut BTreeMap<String, Type>,
        families: &mut BTreeMap<String, Vec<Type>>,
    ) -> Result<()> {
        if let Some(rest) = line.strip_prefix("type ") {
            let [name, c, rust] = rest.split(" = ").collect::<Vec<_>>()[..] else {
                bail!("not `type NAME = C TYPE = RUST`");
            };
            types.insert(
                name.to_owned(),
                Type {
                    name: name.to_owned(),
                    c: c.to_owned(),
                    rust: rust.to_owned(),
                },
            );
        } else if let Some(rest) = line.strip_prefix("types ") {
            let (name, list) = rest.split_once(" = ").context("not `types FAMILY = NAME ...`")?;
            let list = list
                .split_whitespace()
                .map(|name| types.get(name).cloned().with_context(|| format!("no type {name}")))
                .collect::<Result<Vec<_>>>()?;
            families.insert(name.to_owned(), list);
        } else if let Some(rest) = line.strip_prefix("section ") {
            self.sections.push(rest.to_owned());
        } else {
            let routine = self.routine(line, families)?;
            self.routines.push(routine);
        }
        Ok(())
    }

    fn routine(&self, line: &str, families: &BTreeMap<String, Vec<Type>>) -> Result<Routine> {
        let [family, flags, function, prototype] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            bail!("not `FAMILY | FLAGS | FUNCTION | PROTOTYPE`");
        };
        let family = match family {
            "-" => Family::Once,
            "bits" => Family::Sizes,
            name => Family::Types(families.get(name).with_context(|| format!("no family {name}"))?.clone()),
        };
        let (head, parameters) = prototype
            .strip_suffix(')')
            .and_then(|text| text.split_once('('))
            .context("not a prototype")?;
        let (returns, name) = split_declarator(head)?;
        let parameters = parameters
            .split(',')
            .map(str::trim)
            .filter(|text| *text != "void")
            .map(|text| match text {
                "..." => Ok(Parameter {
                    c: "...".to_owned(),
                    name: String::new(),
                }),
                text => split_declarator(text).map(|(c, name)| Parameter { c, name }),
            })
            .collect::<Result<Vec<_>>>()?;
        let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
        ensure!(!self.sections.is_empty(), "a routine before any section");
        Ok(Routine {
            section: self.sections.len() - 1,
            family,
            has_context: has("ctx"),
            on_default: has("default"),
            generic: flags
                .split_whitespace()
                .find_map(|word| word.strip_prefix("c11="))
                .map(str::to_owned),
            own: has("own"),
            function: function.to_owned(),
            returns,
            name,
            parameters,
        })
    }

    /// Every C function.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        self.routines.iter().flat_map(Routine::functions)
    }
}

/// `const TYPE *source` is of type `const TYPE *` and called `source`.
fn split_declarator(text: &str) -> Result<(String, String)> {
    let at = text
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .context("a declarator has a type and a name")?;
    Ok((text[..=at].trim().to_owned(), text[at + 1..].to_owned()))
}

impl Routine {
    /// Its C functions: without a context, then with one.
    pub fn functions(&self) -> Vec<Function<'_>> {
        let mut all = Vec::new();
        for with_context in [false, true] {
            if with_context && !self.has_context {
                continue;
            }
            let named = |name: String| match with_context {
                true => name.replacen("shmem_", "shmem_ctx_", 1),
                false => name,
            };
            let mut add = |name: String, of, size| {
                all.push(Function {
                    routine: self,
                    name: named(name),
                    of,
                    size,
                    with_context,
                });
            };
            match &self.family {
                Family::Once => add(self.name.clone(), None, None),
                Family::Sizes => {
                    for size in SIZES {
                        add(self.name.replace("SIZE", &size.to_string()), None, Some(size));
                    }
                }
                Family::Types(types) => {
                    for of in types {
                        add(self.name.replace("TYPENAME", &of.name), Some(of), None);
                    }
                }
            }
        }
        all
    }

    /// Its types, each C type once.
    pub fn distinct_types(&self) -> Vec<&Type> {
        let mut seen = Vec::new();
        if let Family::Types(types) = &self.family {
            for of in types {
                if !seen.iter().any(|other: &&Type| other.canonical() == of.canonical()) {
                    seen.push(of);
                }
            }
        }
        seen
    }
}

impl Function<'_> {
    /// A C type of the row, for this function.
    pub fn c(&self, text: &str) -> String {
        match self.of {
            Some(of) => text.replace("TYPE", &of.c),
            None => text.to_owned(),
        }
    }

    /// `void shmem_int_put(int *dest, ...)` under another name.
    pub fn prototype(&self, name: &str) -> String {
        let mut parameters: Vec<String> = Vec::new();
        if self.with_context {
            parameters.push("shmem_ctx_t ctx".to_owned());
        }
        parameters.extend(
            self.routine
                .parameters
                .iter()
                .map(|parameter| declared(&self.c(&parameter.c), &parameter.name)),
        );
        if parameters.is_empty() {
            parameters.push("void".to_owned());
        }
        format!(
            "{}({})",
            declared(&self.c(&self.routine.returns), name),
            parameters.join(", ")
        )
    }

    /// Is a long double passed or returned by value? Then Rust has no such function.
    pub fn passes_long_double(&self) -> bool {
        let by_value = |c: &str| self.c(c) == "long double";
        by_value(&self.routine.returns) || self.routine.parameters.iter().any(|parameter| by_value(&parameter.c))
    }
}

/// `int *` and `dest` make `int *dest`.
fn declared(c: &str, name: &str) -> String {
    if c.ends_with('*') || name.is_empty() {
        format!("{c}{name}")
    } else {
        format!("{c} {name}")
    }
}
