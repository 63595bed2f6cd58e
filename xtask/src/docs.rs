//! `check-docs`: decision pages have a head and are in the index, citations of decisions resolve, lines of documents are short, words are
//! plain, and tables of numbers are what their data say. `--write` writes the index and the tables, and lowers the maxima of `words.txt` to
//! what is there.

mod decisions;
mod lines;
mod numbers;
mod words;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::root;

/// A file of the repository that is text.
pub struct Document {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// `check-docs [--write]`. Lists everything that is wrong, and fails then.
pub fn run(arguments: &[String]) -> Result<()> {
    let write = match arguments {
        [] => false,
        [only] if only == "--write" => true,
        _ => bail!("usage: cargo xtask check-docs [--write]"),
    };
    let root = root();
    let documents = documents(&root)?;
    let mut wrong = decisions::check(&root, &documents, write)?;
    wrong.extend(lines::check(&documents));
    wrong.extend(numbers::check(&root, &documents, write)?);
    wrong.extend(words::check(&root, &documents, write)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// All tracked and new text files that are written by hand.
fn documents(root: &Path) -> Result<Vec<Document>> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files ended with {}", output.status);
    let names = String::from_utf8(output.stdout).context("names of files")?;
    let mut documents = Vec::new();
    for name in names.lines().filter(|name| is_text(name)) {
        // A file may be deleted and not yet be so in the index.
        if let Ok(text) = std::fs::read_to_string(root.join(name)) {
            documents.push(Document {
                path: name.to_owned(),
                text,
            });
        }
    }
    Ok(documents)
}

fn is_text(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|end| end.to_str());
    matches!(extension, Some("md" | "rs" | "c" | "h" | "py" | "sh")) && !name.contains("/generated")
}
