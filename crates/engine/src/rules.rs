//! Rules about where bytes go and how, each of which can be left out, to measure what it is worth: `ISTHMUS_WITHOUT` names
//! them, and `isthmus bench rules` leaves out one after the other (docs/numbers/rules.md has what was found).
//!
//! A rule that gains nothing where users are is to go. So a rule that is new gets its row here.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::tunables;
use crate::warning::{Warning, warn};

macro_rules! rules {
    ($($rule:ident = $name:literal, $does:literal;)*) => {
        /// A rule that can be left out.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Rule {
            $(#[doc = $does] $rule,)*
        }

        /// All of them, what each is called, and what it does.
        pub const RULES: &[(Rule, &str, &str)] = &[$((Rule::$rule, $name, $does)),*];
    };
}

rules! {
    Learning = "learning", "Receivers learn which way long messages take (docs/decisions/0007); else the ring, or single copies where they pay.";
    Pieces = "pieces", "The length of records goes by the instructions that copy them (0008, 0009); else all of 64 KiB.";
    Instructions = "instructions", "Which instructions copy to others is learned (0009); else what is usual on this processor.";
    AtWork = "at_work", "Where ranks share CPUs, how long a rank looks before it gives its own away goes by whether the awaited ones have theirs (0020).";
    Cells = "cells", "Messages are answered in the memory that they came in (0007).";
    SharedStaging = "shared_staging", "Where ranks share CPUs, all rings together have a quarter of the last cache (0009).";
    RepMovsb = "rep_movsb", "Where ranks share CPUs, long copies to others are by `rep movsb` (0023, 0025).";
    LongEager = "long_eager", "Where ranks share CPUs, messages of up to half a ring go at once (0007).";
    Blocks = "blocks", "Where ranks share CPUs, messages of 32 KiB and more that go at once lie in blocks that change hands (0007).";
    Floods = "floods", "What all ranks take in a collective is stored past the caches if it is as much as they hold (0007).";
    Lent = "lent", "Collectives read blocks where their owners have them, where single copies pay (0028), or together exceed the caches (0028).";
}

/// Not read yet.
const UNKNOWN: u32 = u32::MAX;

/// A bit for each rule that is left out.
static LEFT_OUT: AtomicU32 = AtomicU32::new(UNKNOWN);

impl Rule {
    /// Does it hold?
    #[inline]
    pub fn holds(self) -> bool {
        match LEFT_OUT.load(Ordering::Relaxed) {
            0 => true,
            UNKNOWN => read() & 1 << self as u32 == 0,
            left_out => left_out & 1 << self as u32 == 0,
        }
    }
}

#[cold]
fn read() -> u32 {
    let left_out = tunables::WITHOUT.get().map_or(0, |names| {
        let unknown: Vec<&str> = words(names).filter(|name| bit(name).is_none()).collect();
        if !unknown.is_empty() {
            let known: Vec<&str> = RULES.iter().map(|row| row.1).collect();
            warn(
                Warning::Without,
                &format!(
                    "isthmus: {}: no rule is called {unknown:?}: {known:?}",
                    tunables::WITHOUT.variable()
                ),
            );
        }
        parse(names)
    });
    LEFT_OUT.store(left_out, Ordering::Relaxed);
    left_out
}

fn words(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn bit(name: &str) -> Option<u32> {
    let row = RULES.iter().find(|row| row.1 == name)?;
    Some(1 << row.0 as u32)
}

/// Names, with commas between them; what is none leaves out nothing.
fn parse(names: &str) -> u32 {
    words(names).filter_map(bit).fold(0, |all, bit| all | bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rules() {
        assert_eq!(
            parse("cells, pieces,,pigeons"),
            1 << Rule::Cells as u32 | 1 << Rule::Pieces as u32
        );
        assert_eq!(parse(""), 0);
        assert!(RULES.iter().zip(0..).all(|(row, at)| row.0 as u32 == at));
    }
}
