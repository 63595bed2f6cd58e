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

/// Every program runs on as many.
const RANKS: [&str; 2] = ["2", "4"];
/// The launcher that programs of Open MPI's ABI have in Debian.
const OPEN_MPI: &str = "/usr/bin/mpiexec.openmpi";

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
        let outcome: Result<Vec<bool>> = RANKS.iter().map(|ranks| on(&prefix, row, ranks)).collect();
        row.when.clone_from(&today);
        row.result = match &outcome {
            Ok(compared) if compared.iter().all(|compared| *compared) => "runs, with Open MPI's results".to_owned(),
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

/// Run a program's script on so many ranks by our launcher, and, if it leaves a result and Open MPI is installed, by Open MPI's: the results
/// must be the same. Whether they were compared.
fn on(prefix: &Path, row: &Row, ranks: &str) -> Result<bool> {
    let ours = script(&row.run, &prefix.join("bin/mpiexec"), ranks)?;
    let other = Path::new(OPEN_MPI);
    let Some(ours) = ours.filter(|_| row.abi == "Open MPI" && other.exists()) else {
        return Ok(false);
    };
    let theirs = script(&row.run, other, ranks)?.unwrap_or_default();
    ensure!(
        ours == theirs && !ours.trim().is_empty(),
        "results on {ranks} ranks:\n{ours}with Open MPI:\n{theirs}"
    );
    Ok(true)
}

/// Run a script in a folder of its own, which is made anew. What it leaves in `result.txt`.
fn script(name: &str, mpiexec: &Path, ranks: &str) -> Result<Option<String>> {
    let work = target().join("compatibility").join(Path::new(name).with_extension(""));
    if work.exists() {
        std::fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let mut sh = Command::new("sh");
    sh.arg("-e")
        .arg(folder().join(name))
        .current_dir(&work)
        .env("MPIEXEC", mpiexec)
        .env("HERE", folder())
        .env("RANKS", ranks)
        // Open MPI refuses root, and more ranks than CPUs, else.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .stdin(Stdio::null());
    quiet(&mut sh, RUN)?;
    Ok(std::fs::read_to_string(work.join("result.txt")).ok())
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
        let again = rows.iter().filter(|row| !row.run.is_empty()).count();
        assert!(again >= 40, "{again} programs are run again by a command");
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
