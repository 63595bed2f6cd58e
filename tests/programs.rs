//! Every program of `tests/programs` whose first line says `// ranks: 1 2 4`, on so many ranks each; in the full test also on
//! those of `// more ranks:`. If a line says `// mpiexec: OPTIONS`, it is started with these. A program checks itself: it exits
//! with 0, or says what is wrong.
//!
//! A program that other tests run begins with `/*`. A header that is mistyped, and a folder that cannot be read, fail.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use isthmus_tests::{Run, compile, compile_ahead, folder, full};
use libtest_mimic::{Arguments, Failed, Trial};

/// How a program is run.
#[derive(Debug, Default, PartialEq)]
struct Header {
    ranks: Vec<u32>,
    more_ranks: Vec<u32>,
    options: String,
}

fn main() -> ExitCode {
    let mut trials = vec![Trial::test("headers are read", || {
        headers_are_read();
        Ok(())
    })];
    let arguments = Arguments::from_args();
    match programs() {
        Ok(programs) => trials.extend(programs),
        Err(error) => {
            eprintln!("tests/programs: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    let names = trials.iter().filter_map(|trial| trial.name().split_once(" on "));
    let names = names.map(|(name, _)| name.to_owned()).collect();
    compile_ahead(&arguments, names, compile);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn programs() -> Result<Vec<Trial>> {
    let sources = folder().join("programs");
    let mut entries = std::fs::read_dir(&sources)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot list {}", sources.display()))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut trials = Vec::new();
    for path in entries.iter().map(std::fs::DirEntry::path) {
        if path.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Some(header) = header(&text).with_context(|| format!("the header of {}", path.display()))? else {
            continue;
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let more = if full() { header.more_ranks } else { Vec::new() };
        for ranks in header.ranks.into_iter().chain(more) {
            let (name, options) = (name.clone(), header.options.clone());
            let title = format!("{name} on {ranks}");
            trials.push(Trial::test(title, move || run(&name, ranks, &options)));
        }
    }
    ensure!(!trials.is_empty(), "there is no program in {}", sources.display());
    Ok(trials)
}

/// `None`: other tests run this program.
fn header(text: &str) -> Result<Option<Header>> {
    let mut lines = text.lines().take(3);
    let first = lines.next().context("it is empty")?;
    if first.starts_with("/*") {
        return Ok(None);
    }
    let Some(ranks) = first.strip_prefix("// ranks: ") else {
        bail!("it begins with {first:?}, neither with `// ranks: 1 2` nor, if other tests run it, with `/*`");
    };
    let mut header = Header {
        ranks: numbers(ranks)?,
        ..Header::default()
    };
    ensure!(!header.ranks.is_empty(), "it names no number of ranks");
    for line in lines.map_while(|line| line.strip_prefix("//")) {
        match line.trim().split_once(':') {
            Some(("more ranks", more)) => header.more_ranks = numbers(more)?,
            Some(("mpiexec", options)) => options.trim().clone_into(&mut header.options),
            Some((key, _)) if !key.contains(['.', ',']) && key.split_whitespace().count() <= 2 => {
                bail!("it says {key:?}, which is neither `more ranks` nor `mpiexec`");
            }
            _ => {}
        }
    }
    Ok(Some(header))
}

fn numbers(text: &str) -> Result<Vec<u32>> {
    let number = |word: &str| word.parse().with_context(|| format!("{word:?} is no number of ranks"));
    text.split_whitespace().map(number).collect()
}

fn headers_are_read() {
    let read = header("// ranks: 1 2\n// more ranks: 7\n// mpiexec: --set ring=4K\n").expect("a header");
    let expected = Header {
        ranks: vec![1, 2],
        more_ranks: vec![7],
        options: "--set ring=4K".into(),
    };
    assert_eq!(read, Some(expected));
    assert_eq!(header("/* act: run by bad_days */\n").expect("a comment"), None);
    for wrong in [
        "",
        "// rank: 2\n",
        "//ranks: 2\n",
        "// ranks: two\n",
        "// ranks: \n",
        "#include <mpi.h>\n",
    ] {
        assert!(header(wrong).is_err(), "{wrong:?}");
    }
    assert!(header("// ranks: 2\n// mpirun: -x\n").is_err());
    assert!(header("// ranks: 2\n// more rank: 8\n").is_err());
}

fn run(name: &str, ranks: u32, options: &str) -> Result<(), Failed> {
    let program = compile(name)?;
    let run = Run::mpiexec("-n")
        .words(&ranks.to_string())
        .words(options)
        .arg(program)
        .limit(Duration::from_secs(if full() { 900 } else { 90 }));
    run.succeed().map(drop).map_err(|error| format!("{error:#}").into())
}
