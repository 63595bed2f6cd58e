//! Every program of `tests/programs` whose first line says `// ranks: 1 2 4`, on so many ranks each; on those of the
//! second line (`// more ranks: 17`) too where tests are to take their time. A program checks itself: it exits with 0, or
//! says what is wrong.

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
        let more = text.lines().nth(1).and_then(|line| line.strip_prefix("// more ranks:"));
        let more = more.filter(|_| full()).unwrap_or_default();
        for ranks in ranks.split_whitespace().chain(more.split_whitespace()) {
            let (name, ranks) = (name.clone(), ranks.to_owned());
            trials.push(Trial::test(format!("{name} on {ranks}"), move || run(&name, &ranks)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run(name: &str, ranks: &str) -> Result<(), Failed> {
    let program = compile(name)?;
    let run = Run::mpiexec("-n")
        .words(ranks)
        .arg(program)
        .limit(Duration::from_secs(if full() { 900 } else { 90 }));
    run.succeed().map(drop).map_err(|error| format!("{error:#}").into())
}
