//! Numbers that decide from where on something is done in another way belong into the engine's table of limits: constants with numbers in other
//! files are counted, and there may be no more of them than are known.

use std::path::Path;

use anyhow::{Result, anyhow};
use proc_macro2::{TokenStream, TokenTree};

use super::parts;
use super::paths::{after_item, is_punct, is_test_attribute};

/// Types whose constants may be limits.
const NUMBERS: [&str; 13] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "isize", "f64", "Duration",
];

/// Errors: files of `sources`, but for the `table`, with other constants than `known`, which counts them by module.
pub fn violations(sources: &str, table: &str, known: &[(&str, usize)]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    parts::collect(Path::new(sources), &mut Vec::new(), &mut files)?;
    let mut wrong = Vec::new();
    for (module, text) in &files {
        let module = module.join("::");
        if module == table {
            continue;
        }
        let names = constants(text).map_err(|error| anyhow!("{sources}: {module}: {error}"))?;
        let allowed = known
            .iter()
            .find(|(file, _)| *file == module)
            .map_or(0, |(_, count)| *count);
        if names.len() > allowed {
            wrong.push(format!(
                "{sources}: {module} has {} constants with numbers, and {allowed} are known: a limit is a row of {table}.rs, and what describes a \
                 layout is counted in LAYOUTS in xtask/src/layers.rs: {}",
                names.len(),
                names.join(", ")
            ));
        } else if names.len() < allowed {
            wrong.push(format!(
                "{sources}: {module} has {} constants with numbers, not {allowed} any more: say so in LAYOUTS in xtask/src/layers.rs",
                names.len()
            ));
        }
    }
    let is_file = |name: &str| files.iter().any(|(module, _)| module.join("::") == name);
    for (file, _) in known.iter().filter(|(file, _)| !is_file(file)) {
        wrong.push(format!(
            "{sources}: there is no {file}: take it off LAYOUTS in xtask/src/layers.rs"
        ));
    }
    Ok(wrong)
}

/// The names of constants of numbers that are made of numbers, but for those in tests.
fn constants(text: &str) -> Result<Vec<String>> {
    let tokens: TokenStream = text
        .parse()
        .map_err(|error| anyhow!("cannot be read as Rust: {error}"))?;
    let mut names = Vec::new();
    walk(&tokens.into_iter().collect::<Vec<_>>(), &mut names);
    Ok(names)
}

fn walk(tokens: &[TokenTree], names: &mut Vec<String>) {
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = after_item(tokens, at + 2);
            continue;
        }
        match &tokens[at..] {
            [TokenTree::Ident(word), TokenTree::Ident(name), colon, rest @ ..]
                if word == "const" && is_punct(colon, ':') =>
            {
                let end = rest.iter().position(|token| is_punct(token, ';')).unwrap_or(rest.len());
                let mut sides = rest[..end].split(|token| is_punct(token, '='));
                let (Some(kind), Some(value)) = (sides.next(), sides.next()) else {
                    at += 1;
                    continue;
                };
                if has(
                    kind,
                    &|token| matches!(token, TokenTree::Ident(word) if NUMBERS.iter().any(|number| word == number)),
                ) && has(
                    value,
                    &|token| matches!(token, TokenTree::Literal(literal) if is_number(&literal.to_string())),
                ) {
                    names.push(name.to_string());
                }
                at += 3 + end;
            }
            [TokenTree::Group(group), ..] => {
                walk(&group.stream().into_iter().collect::<Vec<_>>(), names);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Is there such a token, in groups, too?
fn has(tokens: &[TokenTree], is_it: &dyn Fn(&TokenTree) -> bool) -> bool {
    tokens.iter().any(|token| match token {
        TokenTree::Group(group) => has(&group.stream().into_iter().collect::<Vec<_>>(), is_it),
        token => is_it(token),
    })
}

fn is_number(literal: &str) -> bool {
    literal.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_made_of_numbers_are_found() {
        let text =
            "const A: u64 = 4 << 10; pub(crate) const B: Duration = Duration::from_secs(1); const C: &str = \"3\";
            impl X { const D: [usize; 2] = [4, 8]; fn f() { const E: u32 = 1; } }
            const F: usize = size_of::<X>(); const G: u64 = limits::BATCH; fn g<const N: usize>() {}
            #[cfg(test)] mod tests { const H: u64 = 1; }";
        assert_eq!(constants(text).expect("Rust"), ["A", "B", "D", "E"]);
    }
}
