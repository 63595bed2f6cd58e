//! The paths that a file names, as modules of its crate.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module of a crate, from its root; the root itself is empty.
pub type ModulePath = Vec<String>;

/// What a file names.
#[derive(Debug, Default)]
pub struct Named {
    paths: Vec<ModulePath>,
    /// What its `use` declarations name, with the names they give it.
    uses: BTreeMap<String, ModulePath>,
}

impl Named {
    /// Every path within the crate.
    pub fn all(&self) -> &[ModulePath] {
        &self.paths
    }

    /// The names that the crate's root has from elsewhere, and their sources.
    pub fn reexports(&self) -> BTreeMap<String, ModulePath> {
        self.uses.clone()
    }
}

/// The paths that this text of that module names, but for those in tests.
///
/// # Errors
/// The text is not Rust.
pub fn of(module: &[String], text: &str) -> Result<Named> {
    let tokens: TokenStream = text
        .parse()
        .map_err(|error| anyhow!("cannot be read as Rust: {error}"))?;
    let mut named = Named::default();
    walk(module, &tokens.into_iter().collect::<Vec<_>>(), &mut named);
    Ok(named)
}

fn walk(module: &[String], tokens: &[TokenTree], named: &mut Named) {
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = after_item(tokens, at + 2);
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                walk(module, &group.stream().into_iter().collect::<Vec<_>>(), named);
                at += 1;
            }
            TokenTree::Ident(word) if word == "use" => {
                let end = at
                    + tokens[at..]
                        .iter()
                        .position(|token| is_punct(token, ';'))
                        .unwrap_or(tokens.len() - at);
                tree(module, &ModulePath::new(), &tokens[at + 1..end], named);
                at = end;
            }
            // A path begins here, and does not go on here.
            TokenTree::Ident(word)
                if (word == "crate" || word == "super" || word == "self")
                    && is_separator(tokens, at + 1)
                    && !(at >= 2 && is_separator(tokens, at - 2)) =>
            {
                let mut names = Vec::new();
                while let Some(TokenTree::Ident(name)) = tokens.get(at) {
                    names.push(name.to_string());
                    at += 1;
                    if !is_separator(tokens, at) {
                        break;
                    }
                    at += 2;
                }
                named.paths.extend(resolve(module, &names));
            }
            _ => at += 1,
        }
    }
}

/// A tree of a `use` declaration.
fn tree(module: &[String], prefix: &[String], tokens: &[TokenTree], named: &mut Named) {
    for branch in tokens.split(|token| is_punct(token, ',')) {
        let mut names = prefix.to_vec();
        let mut alias = None;
        let mut is_group = false;
        let mut words = branch.iter();
        while let Some(token) = words.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => alias = words.next().map(ToString::to_string),
                TokenTree::Ident(word) if word == "self" && !names.is_empty() => {}
                TokenTree::Ident(word) => names.push(word.to_string()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    is_group = true;
                    tree(module, &names, &group.stream().into_iter().collect::<Vec<_>>(), named);
                }
                _ => {}
            }
        }
        if is_group || names.is_empty() {
            continue;
        }
        let name = alias.unwrap_or_else(|| names[names.len() - 1].clone());
        if let Some(path) = resolve(module, &names) {
            named.paths.push(path.clone());
            named.uses.insert(name, path);
        } else if module.is_empty() {
            named.uses.insert(name, names);
        }
    }
}

/// The path from the crate's root; `None` if it is not within the crate, as far as the path tells.
fn resolve(module: &[String], names: &[String]) -> Option<ModulePath> {
    let (first, rest) = names.split_first()?;
    let mut path = match first.as_str() {
        "crate" => ModulePath::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().saturating_sub(1)].to_vec(),
        _ => return None,
    };
    for name in rest {
        if name == "super" {
            path.pop();
        } else {
            path.push(name.clone());
        }
    }
    Some(path)
}

/// `#[cfg(test)]`, also with other conditions beside it.
pub(super) fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [hash, TokenTree::Group(group), ..] = tokens else {
        return false;
    };
    let mut words = group.stream().into_iter();
    is_punct(hash, '#')
        && words.next().is_some_and(|word| word.to_string() == "cfg")
        && words.next().is_some_and(|condition| {
            let TokenTree::Group(condition) = condition else {
                return false;
            };
            condition.stream().into_iter().any(|token| match token {
                TokenTree::Ident(word) => word == "test",
                TokenTree::Group(group) => group.stream().into_iter().any(|token| token.to_string() == "test"),
                _ => false,
            })
        })
}

/// Where the item is over that begins here.
pub(super) fn after_item(tokens: &[TokenTree], from: usize) -> usize {
    let length = tokens[from..].iter().position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';') || is_punct(token, ','),
    });
    length.map_or(tokens.len(), |length| from + length + 1)
}

pub(super) fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| is_punct(token, ':'))
        && tokens.get(at + 1).is_some_and(|token| is_punct(token, ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(module: &str, text: &str) -> Vec<String> {
        let module: ModulePath = module.split("::").map(str::to_owned).collect();
        let named = of(&module, text).expect("Rust");
        named.all().iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_those_of_the_crate() {
        assert_eq!(
            named("a::b", "use crate::{c, d::{self, e as f}}; use std::mem;"),
            ["c", "d", "d::e"]
        );
        assert_eq!(
            named("a::b", "use super::c; fn f() { self::g::h(crate::i::J) }"),
            ["a::c", "a::b::g::h", "i::J"]
        );
        assert_eq!(
            named("a", "fn f() { x::crate_name::y(); \"crate::z\" } // crate::w"),
            [""; 0]
        );
        assert_eq!(named("a", "#[cfg(all(test, unix))] use crate::b; use crate::c;"), ["c"]);
    }

    #[test]
    fn the_root_says_where_its_names_come_from() {
        let root = of(&[], "pub use a::b::{C, D as E}; mod a;").expect("Rust");
        let reexports = root.reexports();
        assert_eq!(reexports["C"], ["a", "b", "C"]);
        assert_eq!(reexports["E"], ["a", "b", "D"]);
    }
}
