//! One word, one thing: a name that types of four or more files have is no help to a reader who searches for it. Such names are listed with how many
//! types have them, and the numbers only shrink.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use regex::Regex;

use super::parts;

/// From so many types on a name is shared.
const MANY: usize = 4;

/// Names that types of several files share, and how many there are. `Error` and `Result` are one a crate. The others are words of the field that
/// each layer uses (an element, a handle, a slot), or private to their files.
const SHARED: &[(&str, usize)] = &[
    ("Arguments", 5),
    ("Blocks", 4),
    ("Buffer", 4),
    ("Call", 5),
    ("Cell", 4),
    ("Choice", 4),
    ("Class", 4),
    ("Combine", 4),
    ("Direction", 5),
    ("Element", 4),
    ("Elements", 4),
    ("Error", 8),
    ("Failure", 5),
    ("Group", 4),
    ("Handle", 4),
    ("Incoming", 4),
    ("Info", 4),
    ("Job", 6),
    ("Known", 4),
    ("Layout", 4),
    ("Link", 5),
    ("Look", 5),
    ("Message", 6),
    ("Name", 5),
    ("Number", 5),
    ("Operation", 6),
    ("Piece", 4),
    ("Pieces", 6),
    ("Plan", 6),
    ("Pool", 4),
    ("Result", 10),
    ("Row", 4),
    ("Rule", 4),
    ("Run", 5),
    ("Scope", 4),
    ("Shape", 4),
    ("Slot", 6),
    ("Stage", 4),
    ("State", 6),
    ("Step", 5),
    ("Table", 5),
    ("Turn", 4),
    ("Value", 5),
];

/// Errors: names that more types share than are known, and known ones that fewer share.
pub fn violations(sources: &[String]) -> Result<Vec<String>> {
    let pattern = Regex::new(r"(?m)^(?:pub(?:\([a-z]+\))? )?(?:unsafe )?(?:struct|enum|union|trait|type) (\w+)")?;
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for sources in sources {
        let mut files = Vec::new();
        parts::collect(Path::new(sources), &mut Vec::new(), &mut files)?;
        let by_hand = files
            .iter()
            .filter(|(module, _)| !module.iter().any(|part| part == "generated"));
        for (_, text) in by_hand {
            for name in pattern.captures_iter(text) {
                *found.entry(name[1].to_owned()).or_default() += 1;
            }
        }
    }
    Ok(compare(&found, SHARED))
}

fn compare(found: &BTreeMap<String, usize>, known: &[(&str, usize)]) -> Vec<String> {
    let most = |name: &str| {
        let row = known.iter().find(|(known, _)| *known == name);
        row.map_or(MANY - 1, |(_, count)| *count)
    };
    let more = found.iter().filter(|(name, count)| **count > most(name));
    let more = more.map(|(name, count)| {
        format!("{count} types are called {name}: one word, one thing (SHARED in xtask/src/layers/names.rs lists names of {MANY} and more)")
    });
    let fewer = known.iter().filter_map(|(name, count)| {
        let now = found.get(*name).copied().unwrap_or_default();
        (now < *count).then(|| {
            format!(
                "{now} types are called {name}, not {count} any more: say so in SHARED in xtask/src/layers/names.rs"
            )
        })
    });
    more.chain(fewer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_many_types_is_known_or_wrong() {
        let found = [("Error", 8), ("Kind", 4), ("Table", 3), ("Slot", 4)];
        let found = found.map(|(name, count)| (name.to_owned(), count));
        let wrong = compare(&BTreeMap::from(found), &[("Error", 8), ("Slot", 5)]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("Kind") && wrong[1].contains("Slot"), "{wrong:?}");
    }
}
