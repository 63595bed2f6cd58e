//! `-configfile`: arguments in a file.

use std::ffi::OsString;

use crate::failure::{Failure, Result};

/// The words of a file: one command a line, as after `mpiexec`; `#` starts a comment, and quotes hold words together.
pub fn of_file(path: &str) -> Result<Vec<OsString>> {
    let text = isthmus_os::small_file::read(path)
        .map_err(|error| Failure::usage(format!("cannot read the configuration file {path}: {error}")))?;
    Ok(of_text(&text))
}

fn of_text(text: &str) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    for line in text.lines() {
        let mut words = of_line(line);
        if words.last().is_some_and(|word| word == ":") {
            words.pop();
        }
        if !words.is_empty() && !all.is_empty() {
            all.push(":".into());
        }
        all.extend(words.into_iter().map(OsString::from));
    }
    all
}

fn of_line(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        let text = "# two of these\n-n 2 ./a 'one word' :\n\n-n 1 ./b \"\" # and one\n";
        assert_eq!(of_text(text), ["-n", "2", "./a", "one word", ":", "-n", "1", "./b", ""]);
    }
}
