//! What fuzzers feed: each target is a function of bytes that must return, whatever the bytes are.
//!
//! The fuzzer that finds inputs is in `runner/`, a workspace of its own; `cargo xtask fuzz TARGET` builds and runs it.
//! What it has found worth keeping is in `corpus/`, a folder per target, and is played back by the tests here.
#![allow(unsafe_code)] // C functions are called, with addresses; each site argues its case.

pub mod calls;
pub mod info;
mod input;
pub mod packed;
pub mod texts;

use std::path::{Path, PathBuf};

/// Something to feed.
pub struct Target {
    /// Its name, and its corpus's.
    pub name: &'static str,
    /// Takes one input.
    pub feed: fn(&[u8]),
}

/// All but what a peer may write, which only the engine can take: `isthmus_engine::hostile`.
pub static TARGETS: &[Target] = &[
    Target {
        name: "calls",
        feed: calls::standard,
    },
    Target {
        name: "calls-mpich",
        feed: calls::mpich,
    },
    Target {
        name: "packed",
        feed: packed::feed,
    },
    Target {
        name: "info",
        feed: info::feed,
    },
    Target {
        name: "texts",
        feed: texts::feed,
    },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Feed a target its corpus. How many inputs that were.
///
/// # Panics
/// If there is no such target, or it has no corpus.
pub fn replay(name: &str) -> usize {
    replay_other(name, name)
}

/// Feed a target the corpus of one like it.
///
/// # Panics
/// As [`replay`].
pub fn replay_other(name: &str, other: &str) -> usize {
    let target = target(name).expect("a target of this name");
    let folder = corpus(other);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for file in &files {
        // The last line printed names the culprit, even if it ends the process.
        println!("{}", file.display());
        (target.feed)(&std::fs::read(file).expect("an input"));
    }
    files.len()
}

/// Where the inputs of a target are.
pub fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)
}
