//! What fuzzers feed: each target is a function of bytes that must return, whatever the bytes are.
//!
//! The fuzzer that finds inputs is in `runner/`, a workspace of its own; `cargo xtask fuzz TARGET` builds and runs it.
//! What it has found worth keeping is in `corpus/`, an archive per target, and is replayed by the tests here.
#![allow(unsafe_code)] // C functions are called, with addresses; each site argues its case.

pub mod calls;
mod corpus;
pub mod info;
mod input;
pub mod packed;
pub mod texts;

/// Something to feed.
pub struct Target {
    /// Its name, and its corpus's.
    pub name: &'static str,
    /// Takes one input.
    pub feed: fn(&[u8]),
}

/// All but what a peer may write, which only the engine can take: `isthmus_engine::adversarial_peer`.
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
    let inputs = inputs(other);
    for (name, input) in &inputs {
        // The last line printed names the culprit, even if it ends the process.
        println!("{other} {name}");
        (target.feed)(input);
    }
    inputs.len()
}

/// The corpus of a target, by name.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = format!("{}/corpus/{target}.txt", env!("CARGO_MANIFEST_DIR"));
    let archive = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    corpus::parse(&archive).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_read() {
        let read = corpus::parse("empty \nletters 6162\n").unwrap();
        assert_eq!(read, [("empty".into(), vec![]), ("letters".into(), b"ab".to_vec())]);
        for wrong in ["name", "name 6", "name 6x", "name \u{e9}\u{e9}"] {
            assert!(corpus::parse(wrong).is_err(), "{wrong}");
        }
    }
}
