//! `check-layers`: the order of docs/ARCHITECTURE.md, enforced. A crate may use only crates below it, and within a crate a part may use
//! only parts below it.
//!
//! Cargo refuses upward imports between crates, but not between folders of a crate. An ordered list of parts per crate is checked against
//! every path that begins with `crate`, `self` or `super`, in `use` declarations, in code and in macros, except under `#[cfg(test)]`.
//! `layers/paths.rs` takes these paths from a file's tokens (`proc-macro2`; `syn` would not see into macros). A name that the root
//! re-exports belongs to the part that it comes from. Imports that went up when the list was made are listed beside it (`upward`); each of
//! them must exist, so the list only shrinks. A method called on `Engine` is no import: a part's fields are private to it, and
//! `impl Engine` stays in the parts above `engine` and in `engine` itself.
//!
//! Lists beside that only shrink: cycles of files, constants of the engine outside its table of limits (`layers/constants.rs`), and names that
//! many types share (`layers/names.rs`).

mod constants;
mod names;
mod parts;
mod paths;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use parts::CrateLayers;

/// Lowest first. Crates that share an entry may not use one another.
const LAYERS: &[&[&str]] = &[
    &["os", "twice"],
    &["shm", "mem"],
    &["transfer"],
    &["fabric", "datatype"],
    &["engine"],
    &["collective", "io"],
    &["mpi", "armci", "shmem"],
    &["ga"],
    &["abi"],
    &["launch", "cli"],
    &["conformance", "fuzz", "tests"],
];

/// The parts of crates.
const CRATES: &[CrateLayers] = &[
    CrateLayers {
        sources: "crates/engine/src",
        order: &[
            &[
                "error",
                "types",
                "counters",
                "tunables",
                "learning",
                "limits",
                "other_mpi",
                "watches",
            ],
            &["warning"],
            &["rules"],
            &["progress::gate"],
            &["membership::own"],
            &["channel::ring_size"],
            &["memory"],
            &["membership"],
            &["data_path", "fault"],
            &["channel"],
            &["ops"],
            &["matching"],
            &["protocol::mechanism"],
            &["protocol::choice"],
            &["engine"],
            &["protocol"],
            &["rma"],
            &["progress"],
            &["membership::boot"],
            &["adversarial_peer"],
        ],
        upward: &[
            // The struct has their state.
            ("engine", "protocol"),
            ("engine", "rma"),
            ("rma::notify", "progress"),
        ],
    },
    CrateLayers {
        sources: "crates/collective/src",
        order: &[
            &["layout", "members", "memory", "polling", "task", "traits", "value"],
            &["team"],
            &["link"],
            &["lane"],
            &["shared"],
            &["call", "schedule"],
            &["immediate"],
            &["select"],
            &["root", "part", "reduction"],
            &["bcast", "rooted", "reduce"],
            &["allgather", "alltoall", "barrier", "reduce_scatter", "scan"],
            &["allreduce"],
            &["calls"],
            &["symmetric"],
        ],
        upward: &[("link", "shared"), ("team", "shared")],
    },
    CrateLayers {
        sources: "crates/mpi/src",
        order: &[
            &["constants", "counts", "error", "tool", "check"],
            &["device"],
            &["process", "handle"],
            &["status", "attribute", "errhandler", "info"],
            &["abi_info", "group"],
            &["comm"],
            &["datatype", "liveness"],
            &["op", "completion"],
            &["ledger"],
            &["coll::check", "request"],
            &["p2p"],
            &["probe", "comm::agreement"],
            &["comm::inter"],
            &["comm::split", "comm::create"],
            &["topology", "comm::free", "comm::world"],
            &["coll"],
            &["win", "comm::idup", "topology::distributed"],
            &["file"],
            &["environment"],
            &["session"],
            &["errhandler::raise"],
            &["errhandler::objects"],
        ],
        upward: &[
            ("comm", "coll::check"),
            ("comm", "liveness"),
            ("comm", "topology"),
            ("p2p::buffered", "session"),
        ],
    },
];

/// Sources besides those of `crates/`.
const OTHER_SOURCES: &[&str] = &["xtask/src", "fuzz/src", "conformance/src"];

/// Files that still import one another in a cycle: sources, files of the largest cycle, and files in all. In other sources there is none. The
/// numbers are what there is, so that they only shrink.
const CYCLES: &[(&str, usize, usize)] = &[
    ("crates/abi/src", 4, 4),
    ("crates/armci/src", 8, 8),
    ("crates/collective/src", 3, 3),
    ("crates/engine/src", 11, 28),
    ("crates/ga/src", 11, 14),
    ("crates/launch/src", 10, 10),
    ("crates/mpi/src", 3, 3),
    ("crates/shm/src", 3, 5),
    ("crates/shmem/src", 17, 17),
    ("crates/transfer/src", 4, 4),
];

/// Constants of the engine that are made of numbers and are no rows of its table of limits, by file: they describe layouts and formats, or times
/// that are not in the table yet. The counts are what there is, so that they only shrink.
const LAYOUTS: &[(&str, usize)] = &[
    ("adversarial_peer", 4),
    ("channel::network", 8),
    ("channel::network::card", 1),
    ("channel::network::frame", 16),
    ("channel::network::liveness", 10),
    ("channel::network::memory", 4),
    ("channel::network::one_sided", 4),
    ("channel::network::rails", 3),
    ("channel::network::reaching", 4),
    ("channel::network::replay", 1),
    ("channel::orders", 1),
    ("channel::outbound", 1),
    ("channel::record", 8),
    ("data_path", 1),
    ("engine", 1),
    ("engine::arrivals", 2),
    ("engine::failures", 1),
    ("engine::remote", 3),
    ("engine::remote_reads", 1),
    ("matching::queues", 8),
    ("matching::unexpected", 1),
    ("membership::boot", 1),
    ("membership::control", 3),
    ("membership::pmi", 1),
    ("memory::arena", 1),
    ("memory::board", 10),
    ("memory::buffer", 1),
    ("memory::heap", 3),
    ("memory::payload", 1),
    ("memory::small", 2),
    ("memory::staging", 1),
    ("memory::staging::publish", 1),
    ("memory::symmetric", 1),
    ("memory::symmetric::size", 1),
    ("ops", 3),
    ("progress::thread", 3),
    ("progress::awaited", 1),
    ("progress::gate", 5),
    ("progress::wait", 1),
    ("progress::wakes", 2),
    ("protocol::access", 2),
    ("protocol::blocks", 2),
    ("protocol::single_copy", 1),
    ("rma::bounce", 1),
    ("rma::combine", 1),
    ("rma::locks", 3),
    ("rma::mailbox", 4),
    ("rma::region", 2),
    ("rma::service", 5),
    ("tunables", 1),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
}

/// Fails if any crate of the workspace depends on one that is not below it, or has no layer, and likewise for parts of crates.
pub fn run(_arguments: &[String]) -> Result<()> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps"])
        .output()
        .context("cannot run cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata's answer")?;
    let mut wrong = violations(&metadata);
    for layers in CRATES {
        wrong.extend(parts::violations(layers)?);
    }
    wrong.extend(constants::violations("crates/engine/src", "limits", LAYOUTS)?);
    let mut sources: Vec<String> = OTHER_SOURCES.iter().map(|sources| (*sources).to_owned()).collect();
    for entry in fs::read_dir("crates").context("cannot list crates")? {
        sources.push(format!("{}/src", entry?.path().display()));
    }
    wrong.extend(names::violations(&sources[OTHER_SOURCES.len()..])?);
    for sources in &sources {
        let known = CYCLES.iter().find(|(known, ..)| known == sources);
        wrong.extend(parts::cycles(
            sources,
            known.map_or((0, 0), |(_, largest, all)| (*largest, *all)),
        )?);
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

fn violations(metadata: &Metadata) -> Vec<String> {
    let height: BTreeMap<String, usize> = (0..)
        .zip(LAYERS)
        .flat_map(|(height, names)| names.iter().map(move |name| (format!("isthmus-{name}"), height)))
        .collect();
    let mut wrong = Vec::new();
    for package in metadata
        .packages
        .iter()
        .filter(|package| package.name.starts_with("isthmus-"))
    {
        let Some(own) = height.get(&package.name) else {
            wrong.push(format!(
                "{} has no layer: add it to LAYERS in xtask/src/layers.rs",
                package.name
            ));
            continue;
        };
        for dependency in &package.dependencies {
            if height.get(&dependency.name).is_some_and(|its| its >= own) {
                wrong.push(format!(
                    "{} must not depend on {}: it is not below it",
                    package.name, dependency.name
                ));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(edges: &[(&str, &[&str])]) -> Metadata {
        let packages = edges
            .iter()
            .map(|(name, dependencies)| Package {
                name: format!("isthmus-{name}"),
                dependencies: dependencies
                    .iter()
                    .map(|name| Dependency {
                        name: format!("isthmus-{name}"),
                    })
                    .collect(),
            })
            .collect();
        Metadata { packages }
    }

    #[test]
    fn down_is_right() {
        assert!(violations(&workspace(&[("shm", &["os"]), ("launch", &["engine", "os"])])).is_empty());
    }

    #[test]
    fn up_sideways_and_unknown_are_wrong() {
        assert_eq!(violations(&workspace(&[("os", &["shm"])])).len(), 1);
        assert_eq!(violations(&workspace(&[("cli", &["launch"])])).len(), 1);
        assert_eq!(violations(&workspace(&[("mystery", &[])])).len(), 1);
    }
}
