//! Every program of `tests/programs` whose first line says `// ranks: 1 2 4`, on so many ranks each; in the full test also on
//! those of `// more ranks:`. If a line says `// mpiexec: OPTIONS`, it is started with these. A program checks itself: it exits
//! with 0, or says what is wrong.

use std::process::ExitCode;
use std::time::Duration;

use isthmus_tests::{Run, compile, folder, full};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let mut trials = Vec::new();
    let mut sources: Vec<_> = std::fs::read_dir(folder().join("programs"))
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    sources.sort_by_key(std::fs::DirEntry::file_name);
    for source in sources {
        let text = std::fs::read_to_string(source.path()).unwrap_or_default();
        let Some(ranks) = text.lines().next().and_then(|line| line.strip_prefix("// ranks:")) else {
            continue;
        };
        let name = source
            .path()
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let line = |what: &str| {
            text.lines()
                .take(3)
                .find_map(|line| line.strip_prefix(what))
                .unwrap_or_default()
        };
        let more = if full() { line("// more ranks:") } else { "" };
        let options = line("// mpiexec:");
        for ranks in ranks.split_whitespace().chain(more.split_whitespace()) {
            let (name, ranks, options) = (name.clone(), ranks.to_owned(), options.to_owned());
            let title = format!("{name} on {ranks}");
            trials.push(Trial::test(title, move || run(&name, &ranks, &options)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run(name: &str, ranks: &str, options: &str) -> Result<(), Failed> {
    let program = compile(name)?;
    let run = Run::mpiexec("-n")
        .words(ranks)
        .words(options)
        .arg(program)
        .limit(Duration::from_secs(if full() { 900 } else { 90 }));
    run.succeed().map(drop).map_err(|error| format!("{error:#}").into())
}
