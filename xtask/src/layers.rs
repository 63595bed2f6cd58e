//! `check-layers`: the order of docs/ARCHITECTURE.md, enforced. A crate may use only crates below it, and within a crate a part may use
//! only parts below it.
//!
//! Cargo refuses upward imports between crates, but not between folders of a crate. An ordered list of parts per crate is checked against
//! every path that begins with `crate`, `self` or `super`, in `use` declarations, in code and in macros, except under `#[cfg(test)]`.
//! `layers/paths.rs` takes these paths from a file's tokens (`proc-macro2`; `syn` would not see into macros). A name that the root
//! re-exports belongs to the part that it comes from. Imports that went up when the list was made are listed beside it (`upward`); each of
//! them must exist, so the list only shrinks. A method called on `Engine` is no import: a part's fields are private to it, and
//! `impl Engine` stays in the parts above `engine` and in `engine` itself.

mod parts;
mod paths;

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use parts::CrateLayers;

/// Lowest first. Crates that share an entry may not use one another.
const LAYERS: &[&[&str]] = &[
    &["os", "twice"],
    &["shm"],
    &["transfer"],
    &["fabric"],
    &["engine"],
    &["datatype"],
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
            &["error", "types", "counters", "tunables", "duties"],
            &["warning"],
            &["rules"],
            &["memory"],
            &["membership"],
            &["way", "fault"],
            &["channel"],
            &["ops"],
            &["matching"],
            &["protocol::choice"],
            &["protocol"],
            &["rma"],
            &["engine"],
            &["progress"],
            &["hostile"],
        ],
        upward: &[
            ("engine::failures", "progress"),
            ("engine::failed_calls", "progress"),
            ("protocol::transfers", "engine"),
            ("membership::boot", "engine"),
            ("membership::boot", "fault"),
            ("membership::boot", "lib"),
            ("membership::boot", "progress"),
            ("membership::boot", "protocol"),
            ("membership::consensus", "progress"),
            ("membership::place", "progress"),
            ("memory::board", "progress"),
            ("memory::heap", "membership"),
            ("memory::staging", "channel"),
            ("memory::staging", "progress"),
            ("protocol::advertise", "engine"),
            ("protocol::blocks", "engine"),
            ("protocol::choice::protocols", "protocol"),
            ("protocol::choice::remote", "progress"),
            ("protocol::choice::remote", "protocol"),
            ("protocol::helped", "engine"),
            ("protocol::payloads", "engine"),
            ("protocol::access", "engine"),
            ("protocol::receive", "engine"),
            ("protocol::rendezvous", "engine"),
            ("protocol::send", "engine"),
            ("protocol::single_copy", "engine"),
            ("protocol::streamed", "engine"),
            ("rma::direct", "engine"),
            ("rma::direct", "progress"),
            ("rma::flow", "progress"),
            ("rma::notify", "progress"),
            ("rma::service", "engine"),
            ("rma::service", "progress"),
            ("rma::service::unanswered", "engine"),
            ("rma::service::unanswered", "progress"),
            ("rma::shared", "progress"),
            ("rma::target", "progress"),
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
            &["bcast", "gather", "scatter", "reduce"],
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

/// Crates without parts, in which no files may import one another in a cycle.
const WITHOUT_CIRCLES: &[&str] = &[
    "crates/os/src",
    "crates/fabric/src",
    "crates/cli/src",
    "xtask/src",
    "fuzz/src",
    "crates/datatype/src",
    "crates/io/src",
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
    for sources in WITHOUT_CIRCLES {
        wrong.extend(parts::cycles(sources)?);
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
