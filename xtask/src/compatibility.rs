//! `compatibility`: which programs run on Isthmus: a table, and the programs of it that are installed here, run again.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::install;
use crate::process::{quiet, root, target};

/// A program may compute for so long.
const RUN: Duration = Duration::from_secs(120);

/// Where the table and its scripts are.
fn folder() -> PathBuf {
    root().join("tests/compatibility")
}

/// A line of the table.
struct Row {
    program: String,
    version: String,
    abi: String,
    had: String,
    /// A command or a path that must be there; empty if it is not run by a script.
    needs: String,
    /// A script, `test PART`, or empty.
    run: String,
    result: String,
    when: String,
    note: String,
}

const USAGE: &str = "usage: cargo xtask compatibility [--prefix DIR] [PROGRAM]...";

/// `compatibility [--prefix DIR] [PROGRAM]...`: run the scripts of installed programs (all if none is named), and write
/// table and page.
pub fn run(arguments: &[String]) -> Result<()> {
    let (mut prefix, mut wanted) = (None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--prefix" => prefix = Some(std::env::current_dir()?.join(rest.next().context(USAGE)?)),
            option if option.starts_with('-') => bail!(USAGE),
            name => wanted.push(name.to_lowercase()),
        }
    }
    let prefix = match prefix {
        Some(prefix) => prefix,
        None => {
            let prefix = target().join("compatibility/prefix");
            install::into(&prefix)?;
            prefix
        }
    };
    let (head, mut rows) = read(&folder().join("table.tsv"))?;
    let today = quiet(Command::new("date").args(["-u", "+%Y-%m-%d"]), RUN)?
        .trim()
        .to_owned();
    let mut failed = 0;
    for row in rows.iter_mut().filter(|row| row.run.ends_with(".sh")) {
        if !wanted.is_empty() && !wanted.iter().any(|name| row.program.to_lowercase().contains(name)) {
            continue;
        }
        if !is_there(&row.needs) {
            println!("{}: {} is not installed; {}", row.program, row.needs, row.had);
            continue;
        }
        let outcome = script(&prefix, &row.run);
        row.when.clone_from(&today);
        row.result = match &outcome {
            Ok(_) => "runs".to_owned(),
            Err(_) => "fails".to_owned(),
        };
        println!("{}: {}", row.program, row.result);
        if let Err(error) = outcome {
            println!("{error:#}");
            failed += 1;
        }
    }
    write(&folder().join("table.tsv"), &head, &rows)?;
    ensure!(failed == 0, "{failed} programs failed");
    Ok(())
}

/// Run a script in a folder of its own, which is made anew.
fn script(prefix: &Path, name: &str) -> Result<()> {
    let work = target().join("compatibility").join(Path::new(name).with_extension(""));
    if work.exists() {
        std::fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let mut sh = Command::new("sh");
    sh.arg("-e")
        .arg(folder().join(name))
        .current_dir(&work)
        .env("MPIEXEC", prefix.join("bin/mpiexec"))
        .env("HERE", folder())
        .env("RANKS", "2")
        .stdin(Stdio::null());
    quiet(&mut sh, RUN).map(drop)
}

fn is_there(needs: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Path::new(needs).is_absolute() && Path::new(needs).exists()
        || std::env::split_paths(&path).any(|folder| folder.join(needs).is_file())
}

/// The lines before the table, and its rows.
fn read(path: &Path) -> Result<(String, Vec<Row>)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (head, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let head = head.iter().map(|line| format!("{line}\n")).collect();
    let rows = lines.into_iter().map(|line| {
        let fields: Vec<String> = line
            .split('\t')
            .map(|field| if field == "-" { "" } else { field }.to_owned())
            .collect();
        let fields: [String; 9] = fields
            .try_into()
            .map_err(|_| anyhow::anyhow!("nine fields wanted: {line}"))?;
        let [program, version, abi, had, needs, run, result, when, note] = fields;
        Ok(Row {
            program,
            version,
            abi,
            had,
            needs,
            run,
            result,
            when,
            note,
        })
    });
    Ok((head, rows.collect::<Result<_>>()?))
}

fn write(path: &Path, head: &str, rows: &[Row]) -> Result<()> {
    let mut text = head.to_owned();
    for row in rows {
        let fields = [
            &row.program,
            &row.version,
            &row.abi,
            &row.had,
            &row.needs,
            &row.run,
            &row.result,
            &row.when,
            &row.note,
        ];
        let fields = fields.map(|field| if field.is_empty() { "-" } else { field.as_str() });
        writeln!(text, "{}", fields.join("\t"))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

const TOP: &str = "\
# Programs on Isthmus

*Generated by `cargo xtask gen` from `tests/compatibility/table.tsv`.* `cargo xtask compatibility` runs again what is installed and has a script,
and writes the results; `cargo xtask test --only PART` runs what is part of the tests. Where *again by* is empty a run was by hand, and the
result is that of its day. A program of another ABI needs nothing: `mpiexec PROGRAM` ([openmpi.md](openmpi.md)).

| program | version | ABI | how it was had | result | last run | again by |
|---|---|---|---|---|---|---|
";

/// `docs/compatibility.md`.
pub fn page(root: &Path) -> Result<String> {
    let (_, rows) = read(&root.join("tests/compatibility/table.tsv"))?;
    let mut text = TOP.to_owned();
    for row in &rows {
        let result = match row.note.as_str() {
            "" => row.result.clone(),
            note => format!("{}: {note}", row.result),
        };
        let again = match row.run.strip_prefix("test ") {
            Some(part) => format!("`test --only {part}`"),
            None if row.run.is_empty() => String::new(),
            None => "`compatibility`".to_owned(),
        };
        let when = if row.when.is_empty() { "never" } else { &row.when };
        writeln!(
            text,
            "| {} | {} | {} | {} | {result} | {when} | {again} |",
            row.program, row.version, row.abi, row.had
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_the_table_are_there_and_all_are_in_it() {
        let (_, rows) = read(&folder().join("table.tsv")).expect("the table is readable");
        assert!(rows.len() >= 40, "{} programs", rows.len());
        let named: Vec<&str> = rows
            .iter()
            .map(|row| row.run.as_str())
            .filter(|run| run.ends_with(".sh"))
            .collect();
        for entry in std::fs::read_dir(folder()).expect("the folder is readable").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(
                name == "table.tsv" || named.contains(&name.as_str()),
                "{name} is not in the table"
            );
        }
        for name in named {
            assert!(folder().join(name).exists(), "{name} is not there");
        }
    }
}
