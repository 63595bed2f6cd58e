//! The parts inside a crate: an ordered list of modules, and imports only down it. Circles of files stay inside a part.
//!
//! An import is a path that begins with `crate`, `self` or `super`, in a `use` or anywhere else in code. What tests import does not
//! count, nor what comments name. A name that the crate's root re-exports belongs to the part it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::paths::{self, ModulePath};

/// The parts of one crate.
pub struct CrateLayers {
    /// Its sources, from the root of the repository.
    pub sources: &'static str,
    /// Modules, lowest first: a folder, a file, or a module within one, which then counts by itself. Those of one entry may not use
    /// one another. The crate's root (`lib.rs`) is above all.
    pub order: &'static [&'static [&'static str]],
    /// Imports that still go up: module, and the part it imports. Each must exist, so that the list only shrinks.
    pub upward: &'static [(&'static str, &'static str)],
}

/// The crate's root in messages.
const ROOT: &str = "lib";

/// Wrong imports of this crate, one line each.
pub fn violations(layers: &CrateLayers) -> Result<Vec<String>> {
    let sources = Path::new(layers.sources);
    let mut files = Vec::new();
    collect(sources, &mut Vec::new(), &mut files)?;
    Ok(check(layers, &files))
}

/// Files of a crate that import one another in a cycle, if they are others than `known`: files of the largest cycle, and in all.
pub fn cycles(sources: &str, known: (usize, usize)) -> Result<Vec<String>> {
    let mut files = Vec::new();
    collect(Path::new(sources), &mut Vec::new(), &mut files)?;
    let cycles = match cycles_of(&files) {
        Ok(cycles) => cycles,
        Err(error) => return Ok(vec![format!("{sources}: {error}")]),
    };
    let largest = cycles.first().map_or(0, Vec::len);
    let all = cycles.iter().map(Vec::len).sum();
    Ok(match (largest, all) == known {
        true => Vec::new(),
        false if largest <= known.0 && all <= known.1 => vec![format!(
            "{sources}: {all} files import one another in a cycle, at most {largest} in one: say so in CYCLES in xtask/src/layers.rs"
        )],
        false => vec![format!(
            "{sources}: {all} files import one another in a cycle, at most {largest} in one, and {} and {} were known: {}",
            known.1,
            known.0,
            cycles
                .iter()
                .map(|cycle| cycle.join(", "))
                .collect::<Vec<_>>()
                .join("; ")
        )],
    })
}

/// Sets of files of which each imports each other one, at least by way of others; the largest first.
fn cycles_of(files: &[(ModulePath, String)]) -> Result<Vec<Vec<String>>> {
    let index: BTreeMap<&ModulePath, usize> = files.iter().map(|(module, _)| module).zip(0..).collect();
    let mut named = Vec::new();
    for (module, text) in files {
        named.push(paths::of(module, text).with_context(|| module.join("::"))?);
    }
    let root = files.iter().position(|(module, _)| module.is_empty());
    let reexports = root.map(|root| named[root].reexports()).unwrap_or_default();
    let file_of = |target: &ModulePath| {
        let target = target.first().and_then(|first| reexports.get(first)).unwrap_or(target);
        let mut prefixes = (1..=target.len()).rev();
        prefixes.find_map(|length| index.get(&target[..length].to_vec()).copied())
    };
    let imports: Vec<BTreeSet<usize>> = (0..files.len())
        .map(|own| match Some(own) == root {
            // What it offers is not what it needs.
            true => BTreeSet::new(),
            false => named[own].all().iter().filter_map(file_of).collect(),
        })
        .collect();
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|from| reached_from(from, &imports)).collect();
    let mut seen = BTreeSet::new();
    let mut cycles = Vec::new();
    for own in 0..files.len() {
        let cycle: Vec<usize> = reached[own]
            .iter()
            .copied()
            .filter(|other| reached[*other].contains(&own))
            .collect();
        if cycle.len() > 1 && seen.insert(cycle.clone()) {
            cycles.push(cycle.iter().map(|file| files[*file].0.join("::")).collect::<Vec<_>>());
        }
    }
    cycles.sort_by_key(|cycle| usize::MAX - cycle.len());
    Ok(cycles)
}

fn reached_from(from: usize, imports: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(imports[file].iter().copied().filter(|import| reached.insert(*import)));
    }
    reached
}

/// All files of a folder with their modules; files of tests are left out.
pub(super) fn collect(folder: &Path, module: &mut ModulePath, files: &mut Vec<(ModulePath, String)>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .ok_or_else(|| anyhow!("{} has no name", path.display()))?;
        if stem == "tests" {
            continue;
        }
        if path.is_dir() {
            module.push(stem.to_owned());
            collect(&path, module, files)?;
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut own = module.clone();
            if !(stem == "mod" || module.is_empty() && stem == "lib") {
                own.push(stem.to_owned());
            }
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.push((own, text));
        }
    }
    Ok(())
}

fn check(layers: &CrateLayers, files: &[(ModulePath, String)]) -> Vec<String> {
    let heights: BTreeMap<&str, usize> = (0..)
        .zip(layers.order)
        .flat_map(|(height, parts)| parts.iter().map(move |part| (*part, height)))
        .collect();
    let mut wrong = Vec::new();
    let mut imports = Vec::new();
    for (module, text) in files {
        match paths::of(module, text) {
            Ok(named) => imports.push((module, named)),
            Err(error) => wrong.push(format!("{}: {}: {error}", layers.sources, module.join("::"))),
        }
    }
    let reexports = imports
        .iter()
        .find(|(module, _)| module.is_empty())
        .map(|(_, root)| root.reexports())
        .unwrap_or_default();

    let mut own_modules: BTreeSet<&str> = files
        .iter()
        .filter_map(|(module, _)| module.first().map(String::as_str))
        .collect();
    own_modules.extend(heights.keys().filter_map(|part| part.split("::").next()));

    let mut used = BTreeSet::new();
    for (module, named) in imports {
        if module.is_empty() {
            continue;
        }
        let own = part_of(module, &heights);
        let Some(&own_height) = heights.get(own.as_str()) else {
            wrong.push(format!(
                "{}: {} is in no part: add {own} to the list in xtask/src/layers.rs",
                layers.sources,
                module.join("::")
            ));
            continue;
        };
        let mut seen = BTreeSet::new();
        for target in named.all() {
            let target = match target.first() {
                Some(first) if heights.contains_key(first.as_str()) || has_part_within(first, &heights) => {
                    target.clone()
                }
                Some(first) => match reexports.get(first) {
                    // Of another crate: the layers of crates say whether that may be.
                    Some(origin) if !own_modules.contains(origin[0].as_str()) => continue,
                    origin => origin.cloned().unwrap_or_default(),
                },
                None => continue,
            };
            let its = if target.is_empty() {
                ROOT.to_owned()
            } else {
                part_of(&target, &heights)
            };
            let is_down = its == own || heights.get(its.as_str()).is_some_and(|height| *height < own_height);
            if is_down || !seen.insert(its.clone()) {
                continue;
            }
            let module = module.join("::");
            match layers.upward.iter().find(|(from, to)| *from == module && *to == its) {
                Some(known) => drop(used.insert(*known)),
                None => wrong.push(format!(
                    "{}: {module} must not import {its}: it is not below {own}",
                    layers.sources
                )),
            }
        }
    }
    for (from, to) in layers.upward.iter().filter(|known| !used.contains(*known)) {
        wrong.push(format!(
            "{}: {from} does not import {to} any more: take it off the list in xtask/src/layers.rs",
            layers.sources
        ));
    }
    wrong
}

/// The part of a module: the longest prefix that is listed, or its first name.
fn part_of(module: &[String], heights: &BTreeMap<&str, usize>) -> String {
    (1..=module.len())
        .rev()
        .map(|length| module[..length].join("::"))
        .find(|prefix| heights.contains_key(prefix.as_str()))
        .unwrap_or_else(|| module[0].clone())
}

fn has_part_within(first: &str, heights: &BTreeMap<&str, usize>) -> bool {
    heights
        .keys()
        .any(|part| part.strip_prefix(first).is_some_and(|rest| rest.starts_with("::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: CrateLayers = CrateLayers {
        sources: "engine",
        order: &[
            &["types"],
            &["channel", "matching"],
            &["protocol::choice"],
            &["protocol"],
        ],
        upward: &[],
    };

    fn wrong(layers: &CrateLayers, files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(module, text)| {
                let module = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
                (module.collect(), (*text).to_owned())
            })
            .collect();
        check(layers, &files)
    }

    #[test]
    fn imports_go_down() {
        let files = [
            (
                "protocol::send",
                "use crate::channel::ring::{Ring, cell::Cell}; use super::receive::Way;",
            ),
            (
                "channel::ring",
                "fn f() { crate::types::peer() } // crate::protocol::send",
            ),
            ("types", "#[cfg(test)] mod tests { use crate::protocol::send; }"),
        ];
        assert_eq!(wrong(&LAYERS, &files), [""; 0]);
    }

    #[test]
    fn an_upward_import_is_wrong_however_it_is_written() {
        for text in [
            "use crate::protocol::send::Send;",
            "use crate::{types, protocol::send};",
            "fn f() { crate::protocol::send::go() }",
            "fn f() { vec![crate::protocol::send::go()] }",
            "use super::super::protocol;",
            "use crate::Send;",
            "use crate::matching::Queue;",
        ] {
            let files = [("channel::ring", text), ("", "pub use protocol::send::Send;")];
            assert_eq!(wrong(&LAYERS, &files).len(), 1, "{text}");
        }
        assert_eq!(
            wrong(&LAYERS, &[("protocol::choice::model", "use crate::protocol::send;")]).len(),
            1
        );
        assert_eq!(
            wrong(
                &LAYERS,
                &[("types", "use crate::ENGINE;"), ("", "static ENGINE: u8 = 0;")]
            )
            .len(),
            1
        );
    }

    #[test]
    fn what_the_root_takes_from_another_crate_is_no_part() {
        let files = [
            ("channel::ring", "use crate::fail;"),
            ("", "use other_crate::fail; use protocol::send;"),
            ("protocol::send", ""),
        ];
        assert_eq!(wrong(&LAYERS, &files), [""; 0]);
    }

    #[test]
    fn a_cycle_of_files_is_found() {
        let cycles = |files: &[(&str, &str)]| {
            let split = |module: &str| match module {
                "" => Vec::new(),
                module => module.split("::").map(str::to_owned).collect(),
            };
            let files: Vec<_> = files
                .iter()
                .map(|(module, text)| (split(module), (*text).to_owned()))
                .collect();
            cycles_of(&files).expect("Rust")
        };
        let down = [
            ("a", "use super::b::B;"),
            ("b", "use crate::c::d;"),
            ("c", ""),
            ("c::d", "fn f() { super::super::c::g() }"),
        ];
        assert!(cycles(&down).is_empty());
        let around = [
            ("", "pub use a::A;"),
            ("a", "use super::b::B;"),
            ("b", "use crate::c;"),
            ("c", "use crate::A;"),
            ("d", "use crate::a::A;"),
            ("e", "use super::f::F;"),
            ("f", "use super::e::E; use super::a::A;"),
        ];
        assert_eq!(cycles(&around), [vec!["a", "b", "c"], vec!["e", "f"]]);
    }

    #[test]
    fn what_is_in_no_part_is_wrong() {
        assert_eq!(wrong(&LAYERS, &[("mystery", "")]).len(), 1);
    }

    #[test]
    fn known_upward_imports_are_allowed_and_must_exist() {
        let layers = CrateLayers {
            upward: &[("channel::ring", "protocol")],
            ..LAYERS
        };
        assert!(wrong(&layers, &[("channel::ring", "use crate::protocol::send;")]).is_empty());
        assert_eq!(wrong(&layers, &[("channel::ring", "use crate::types;")]).len(), 1);
        assert_eq!(
            wrong(&layers, &[("channel::cell", "use crate::protocol::send;")]).len(),
            2
        );
    }
}
