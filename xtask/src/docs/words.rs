//! Comments, messages and documents are plain technical English. Patterns find sentences whose subject is a pronoun instead of the thing,
//! words for people that stand for programs, and archaic words. `words.txt` has the largest number of findings that each folder may have;
//! numbers only shrink.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

use super::Document;

/// Where the maxima are, from the root of the repository.
const MAXIMA: &str = "xtask/src/docs/words.txt";

/// A pattern, and what to write instead.
struct Rule {
    pattern: &'static str,
    instead: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        pattern: r"(?:^|[.:;!?] )(?:[Ww]ho|[Ww]hoever|[Ww]hom|[Ww]hose|[Ww]homever) ",
        instead: "name the subject: the sender, the rank, the caller",
    },
    Rule {
        pattern: r"(?:^|[.!?] )(?:What|Whatever) (?:is|was|has|are|comes|came|goes|went|lies|does|did|waits|cannot|exceeds|was not) ",
        instead: "name the subject: the message, the memory, the call",
    },
    Rule {
        pattern: r"\b(?:by|for|of|to|from|with) (?:who|whoever|whom|whomever|somebody|anybody who|those who|him who|he who)\b",
        instead: "name the object: the sender, the rank, the caller",
    },
    Rule {
        pattern: r"\bthose (?:who|that) (?:wait|have|are|sleep|need|share|read|write)\b",
        instead: "name the subject: the waiting ranks, the readers",
    },
    Rule {
        pattern: r"(?i)\b(?:in vain|gives? way|gives? (?:its|the) CPU away|by favour|courtesy|last rites|last words|seen off|see_off|fruitless)\b",
        instead: "yields, polls without success, idle, flushes, grace period",
    },
    Rule {
        pattern: r"(?i)\b(?:council|endurers?|condemned|guests?|strangers?|wishes|patience|patiently|hopeless|obstacle|blame|founding|knocks?)\b",
        instead: "the field's word: coordinator, survivors, hints, wait limit, doorbell ring",
    },
    Rule {
        pattern: r"(?i)\b(?:goe?s? together|lies? beside|meeting of)\b",
        instead: "are batched, is next to, round",
    },
    Rule {
        pattern: r"(?i)\b(?:for ever|nonetheless|hence|thereby|thereof|save for|else it is|so long as it|as long as somebody)\b",
        instead: "without limit, still, so, except for, otherwise",
    },
];

/// Folders and files that are looked at.
const PLACES: &[&str] = &[
    "bench",
    "conformance",
    "crates",
    "docs",
    "examples",
    "fortran",
    "fuzz",
    "include",
    "kmod",
    "python",
    "tests",
    "xtask",
    "CONTRIBUTING.md",
    "README.md",
];

/// Folders that have more findings than they may have, with all of these. Lowers the maxima first, if asked to.
pub fn check(root: &Path, documents: &[Document], write: bool) -> Result<Vec<String>> {
    let rules: Vec<(Regex, &str)> = RULES
        .iter()
        .map(|rule| Ok((Regex::new(rule.pattern)?, rule.instead)))
        .collect::<Result<_>>()?;
    let mut findings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for document in documents {
        // These patterns would find themselves.
        if let Some(place) = place(&document.path)
            && document.path != "xtask/src/docs/words.rs"
        {
            findings.entry(place).or_default().extend(found(document, &rules));
        }
    }
    let path = root.join(MAXIMA);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {MAXIMA}"))?;
    let mut maxima = parse(&text)?;
    if write {
        for (place, most) in &mut maxima {
            *most = (*most).min(findings.get(place).map_or(0, Vec::len));
        }
        maxima.retain(|_, most| *most > 0);
        std::fs::write(&path, render(&maxima)?).with_context(|| format!("cannot write {MAXIMA}"))?;
    }
    let mut wrong = Vec::new();
    for (place, findings) in findings {
        let most = maxima.get(&place).copied().unwrap_or(0);
        if findings.len() > most {
            wrong.push(format!(
                "{place}: {} sentences are not plain, {MAXIMA} allows {most}:",
                findings.len()
            ));
            wrong.extend(findings);
        }
    }
    Ok(wrong)
}

/// The folder that a file is counted in: a crate, or the first folder of its path.
fn place(path: &str) -> Option<String> {
    let mut parts = path.split('/');
    let first = parts.next()?;
    if !PLACES.contains(&first) {
        return None;
    }
    match (first, parts.next()) {
        ("crates", Some(name)) => Some(format!("crates/{name}")),
        _ => Some(first.to_owned()),
    }
}

fn found(document: &Document, rules: &[(Regex, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in document.text.lines().enumerate() {
        let text = prose(&document.path, line);
        if let Some((_, instead)) = rules.iter().find(|(pattern, _)| pattern.is_match(&text)) {
            let start: String = text.chars().take(100).collect();
            findings.push(format!("  {}:{}: {start} ({instead})", document.path, number + 1));
        }
    }
    findings
}

/// What of a line is prose: all of a document's, without marks of lists and headings; of a source's its comment, or its longer texts.
fn prose(path: &str, line: &str) -> String {
    let line = line.trim();
    if path.ends_with(".md") {
        return line.trim_start_matches(['#', '-', '*', '|', ' ']).to_owned();
    }
    let marks: &[&str] = if path.ends_with(".py") || path.ends_with(".sh") {
        &["#"]
    } else {
        &["///", "//!", "//", "/*", "*"]
    };
    if let Some(comment) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
        return comment.trim().to_owned();
    }
    // Between quotes stands every second part.
    let texts = line.split('"').skip(1).step_by(2).filter(|text| text.len() >= SHORTEST);
    texts.collect::<Vec<_>>().join(" ")
}

/// Texts of fewer bytes are names.
const SHORTEST: usize = 12;

/// Lines `PLACE NUMBER`.
fn parse(text: &str) -> Result<BTreeMap<String, usize>> {
    let line = |line: &str| {
        let (place, number) = line
            .rsplit_once(' ')
            .with_context(|| format!("{MAXIMA}: '{line}' is not PLACE NUMBER"))?;
        Ok((
            place.to_owned(),
            number.parse().with_context(|| format!("{MAXIMA}: '{number}'"))?,
        ))
    };
    text.lines().filter(|text| !text.starts_with('#')).map(line).collect()
}

fn render(maxima: &BTreeMap<String, usize>) -> Result<String> {
    let mut text = String::from(
        "# Sentences that are not plain, at most, by folder. cargo xtask check-docs --write lowers these numbers.\n",
    );
    for (place, most) in maxima {
        writeln!(text, "{place} {most}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        let rules: Vec<(Regex, &str)> = RULES
            .iter()
            .map(|rule| (Regex::new(rule.pattern).unwrap(), rule.instead))
            .collect();
        let document = Document {
            path: path.into(),
            text: text.into(),
        };
        found(&document, &rules).len()
    }

    #[test]
    fn sentences_that_are_not_plain_are_found() {
        for line in [
            "/// Who waits is woken.",
            "// It polls in vain.",
            "    let text = \"the rank gives way to others\";",
            "//! It ends. What is left is copied.",
            "// It is told to whoever asks.",
            "// It would wait for ever.",
        ] {
            assert_eq!(findings("crates/os/src/a.rs", line), 1, "{line}");
        }
        assert_eq!(findings("docs/a.md", "- Whoever sends waits.\n"), 1);
    }

    #[test]
    fn plain_sentences_and_code_are_not() {
        for line in [
            "/// The sender waits.",
            "let guests = wishes(\"guest\");",
            "// A rank that waits is woken by the rank that it waits for.",
        ] {
            assert_eq!(findings("crates/os/src/a.rs", line), 0, "{line}");
        }
    }

    #[test]
    fn maxima_are_read_as_they_are_written() {
        let maxima = BTreeMap::from([("crates/os".to_owned(), 2), ("docs".to_owned(), 1)]);
        assert_eq!(parse(&render(&maxima).unwrap()).unwrap(), maxima);
    }
}
