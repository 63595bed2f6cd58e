//! What `isthmus tune --mechanisms` has measured on this machine: which mechanism announced messages take, by size. It comes before
//! what a pair learns, and after what the user says by `mechanism`.
//!
//! A file of lines `large FROM-TO MECHANISM`, sizes in bytes or with K, M and G, TO left out: no end. `#` begins a comment.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::tunables;
use crate::warning::{Warning, warn};

/// Names that a file may use.
const MECHANISMS: [&str; 6] = ["ring", "cma", "mapped", "vmsplice", "writev", "loopback"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule {
    from: u64,
    to: u64,
    mechanism: &'static str,
}

/// What a message of so many bytes is to take, if that was measured.
pub(crate) fn preferred(bytes: u64) -> Option<&'static str> {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    let rules = RULES.get_or_init(read);
    let fits = rules.iter().find(|rule| (rule.from..=rule.to).contains(&bytes));
    fits.map(|rule| rule.mechanism)
}

#[cold]
fn read() -> Vec<Rule> {
    if tunables::MECHANISM.get().is_some() {
        return Vec::new();
    }
    let (file, is_named) = match tunables::TUNING.get() {
        Some("none") => return Vec::new(),
        Some(file) => (PathBuf::from(file), true),
        None => match std::env::var_os("HOME") {
            Some(home) => (PathBuf::from(home).join(".config/isthmus/tuning"), false),
            None => return Vec::new(),
        },
    };
    match isthmus_os::small_file::read(&file) {
        Ok(text) => parse(&text, |line| {
            warn(
                Warning::Tuning,
                &format!(
                    "isthmus: {}: \"{line}\" is not large FROM-TO MECHANISM, with one of {}; ignored",
                    file.display(),
                    MECHANISMS.join(", ")
                ),
            );
        }),
        Err(error) if is_named => {
            warn(
                Warning::Tuning,
                &format!("isthmus: ISTHMUS_TUNING={}: {error}; ignored", file.display()),
            );
            Vec::new()
        }
        Err(_) => Vec::new(),
    }
}

fn parse(text: &str, mut complain: impl FnMut(&str)) -> Vec<Rule> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut rules = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        match rule(line) {
            Some(rule) => rules.push(rule),
            None => complain(line),
        }
    }
    rules
}

fn rule(line: &str) -> Option<Rule> {
    let mut words = line.split_whitespace();
    let (what, range, name) = (words.next()?, words.next()?, words.next()?);
    let (from, to) = range.split_once('-')?;
    let to = if to.is_empty() {
        Some(u64::MAX)
    } else {
        tunables::parse(to)
    };
    let mechanism = MECHANISMS.into_iter().find(|known| *known == name)?;
    (what == "large" && words.next().is_none()).then_some(Rule {
        from: tunables::parse(from)?,
        to: to?,
        mechanism,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_rules() {
        let mut unclear = Vec::new();
        let text = "# a machine\nlarge 64K-131071 ring # 12.1\n\nlarge 1M- vmsplice\nlarge 5- pigeons\nsmall 1-2 ring\nlarge x-y ring\n";
        let rules = parse(text, |line| unclear.push(line.to_owned()));
        let wanted = |from, to, mechanism| Rule { from, to, mechanism };
        assert_eq!(
            rules,
            [wanted(64 << 10, 131_071, "ring"), wanted(1 << 20, u64::MAX, "vmsplice")]
        );
        assert_eq!(unclear, ["large 5- pigeons", "small 1-2 ring", "large x-y ring"]);
    }
}
