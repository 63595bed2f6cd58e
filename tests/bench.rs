//! `isthmus bench`: every experiment runs to its end on this library, briefly, and shows its table. What the numbers are
//! is not for a test to say.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Finished, Run, command, compile, scratch, test};
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let trials = vec![
        test!(windows),
        test!(pingpong),
        test!(alloc),
        test!(bandwidth),
        test!(exchange),
        test!(calls),
        test!(growth),
        test!(strided),
        test!(overlap),
        test!(messagerate),
        test!(datatypes),
        test!(collectives),
        test!(what_is_no_matter_of_size),
        test!(results_are_written_as_json_and_as_a_page),
        test!(papers_are_pages_with_every_figure, may_copy),
        test!(a_line_that_goes_another_way_is_an_error, may_copy),
        test!(an_interrupted_page_has_what_is_there),
        test!(pages_end_with_their_time),
        test!(what_is_asked_for_is_shown),
        test!(manuals_and_completions_are_installed),
        test!(wrong_cells_are_refused),
        test!(a_reader_may_leave),
        test!(mechanisms, may_copy),
        test!(nas_kernels),
        test!(cache_misses_without_valgrind),
        test!(cache_misses, has_valgrind),
        test!(counters_of_the_kernel),
        test!(shmem),
        test!(ga),
        test!(quotas),
        test!(neighbours),
        test!(each_rule_is_left_out_in_turn),
        test!(without_a_rule_data_is_checked),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Are single copies allowed here? An error: what is missing.
fn may_copy() -> Result<(), &'static str> {
    let known = Run::program(command("isthmus")).words("info --protocols").succeed();
    match known {
        Ok(known) if known.out.contains("cma is closed") => Err("single copies are refused"),
        // The test tells its defects.
        _ => Ok(()),
    }
}

fn has_valgrind() -> Result<(), &'static str> {
    let version = Run::program("valgrind").words("--version").finish();
    version.map(drop).map_err(|_| "valgrind is missing")
}

/// Run `isthmus bench WORDS --quick`; the table called `name` must have a number in each of its `rows` rows.
fn shows(words: &str, name: &str, rows: usize) -> Result<()> {
    shows_tables(words, &[(name, rows)])
}

/// The same for several tables.
fn shows_tables(words: &str, tables: &[(&str, usize)]) -> Result<()> {
    let finished = Run::program(command("isthmus"))
        .words("bench")
        .words(words)
        .words("--quick")
        .succeed()?;
    for (name, rows) in tables {
        has_table(&finished, name, *rows)?;
    }
    Ok(())
}

fn has_table(finished: &Finished, name: &str, rows: usize) -> Result<()> {
    let text = &finished.out;
    let table = text.lines().skip_while(|line| !line.starts_with(&format!("{name}: ")));
    let mut table = table.skip(1);
    let header = table.next().with_context(|| format!("no table of {name}: {text}"))?;
    let ours = header
        .split_whitespace()
        .position(|cell| cell == "isthmus")
        .with_context(|| format!("no column of ours: {text}"))?;
    let mut found = 0;
    for line in table.take_while(|line| !line.is_empty() && !line.contains(": ")) {
        let cell = line.split_whitespace().nth(ours).context("a row is too short")?;
        ensure!(cell.parse::<f64>().is_ok(), "no number in {line:?}: {text}");
        found += 1;
    }
    ensure!(
        found == rows,
        "{found} rows of {name}, not {rows}: {text}{}",
        finished.err
    );
    Ok(())
}

fn windows() -> Result<()> {
    shows_tables(
        "rma --sizes 512,4K",
        &[
            ("rma", 12),
            ("rma-sections", 12),
            ("rma-computing", 4),
            ("rma-elements", 12),
            ("rma-synchronisation", 12),
            ("rma-armci", 12),
            ("rma-memory", 16),
        ],
    )
}

fn pingpong() -> Result<()> {
    shows("pingpong", "pingpong", 2)?;
    shows("pingpong --real --sizes 1K,64K,128K", "pingpong-real", 2)
}

fn alloc() -> Result<()> {
    shows("alloc", "alloc", 2)
}

fn bandwidth() -> Result<()> {
    shows("bandwidth", "bandwidth", 2)?;
    shows("bibandwidth", "bibandwidth", 2)
}

fn exchange() -> Result<()> {
    shows("exchange", "exchange", 6)?;
    shows("exchange --neighbours 2 --ranks 2,3,5", "exchange-2", 6)?;
    shows("exchange --neighbours 4 --real --ranks 3,8", "exchange-4-real", 4)
}

fn calls() -> Result<()> {
    shows_tables("calls --ranks 2,4", &[("calls-2", 47), ("calls-4", 47)])
}

/// More ranks than are looked at without a doorbell.
fn growth() -> Result<()> {
    shows_tables("growth --ranks 3,20", &[("growth-3", 7), ("growth-20", 7)])?;
    shows("growth --own-cpus --ranks 3", "growth-own-cpus-3", 7)
}

fn strided() -> Result<()> {
    shows("strided", "strided", 6)
}

fn overlap() -> Result<()> {
    shows("overlap --sizes 64K,256K", "overlap", 20)
}

fn messagerate() -> Result<()> {
    shows("messagerate --lengths 1,64", "messagerate", 20)
}

fn datatypes() -> Result<()> {
    shows("datatypes", "datatypes", 20)
}

fn collectives() -> Result<()> {
    shows("collectives --ranks 2", "collectives-2", 17)?;
    shows("collectives --ranks 3 --sizes 1K", "collectives-3", 9)?;
    shows(
        "collectives --ranks 4 --nonblocking --sizes 8,4K",
        "collectives-nonblocking-4",
        17,
    )?;
    shows("collectives --ranks 33 --of barrier,alltoall", "collectives-33", 3)?;
    the_model_is_shown()
}

/// Of each cell with a model: the algorithm, the time expected, the time measured, and their ratio.
fn the_model_is_shown() -> Result<()> {
    let words = "bench collectives --ranks 2 --of allreduce --sizes 8,4K --model --quick";
    let said = Run::program(command("isthmus")).words(words).succeed()?.out;
    let rows = said.lines().skip_while(|line| !line.contains("x model")).skip(1);
    let mut found = 0;
    for row in rows.take_while(|line| !line.is_empty()) {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let [collective, _, algorithm, expected, measured, ratio] = cells[..] else {
            anyhow::bail!("{row:?}: {said}");
        };
        ensure!(collective == "allreduce" && algorithm.starts_with("shared"), "{row:?}");
        for number in [expected, measured, ratio] {
            ensure!(number.parse::<f64>().is_ok_and(|number| number > 0.0), "{row:?}");
        }
        found += 1;
    }
    ensure!(found == 2, "{found} rows: {said}");
    Ok(())
}

fn what_is_no_matter_of_size() -> Result<()> {
    shows("barrier", "barrier", 3)?;
    shows("launch", "launch", 1)?;
    shows("memory", "memory", 1)?;
    shows("blocked", "blocked", 1)?;
    shows("blocked", "wake", 2)
}

fn results_are_written_as_json_and_as_a_page() -> Result<()> {
    let folder = scratch("bench")?;
    let (json, html) = (folder.join("results.json"), folder.join("report.html"));
    let run = Run::program(command("isthmus")).words("bench exchange --launches 1 --ranks 2 --sizes 8,64,4K,8K,16K");
    run.words("--json").arg(&json).words("--html").arg(&html).succeed()?;
    let text = std::fs::read_to_string(&json)?;
    for part in ["\"name\": \"exchange\"", "\"library\": \"isthmus\"", "\"launches\""] {
        ensure!(text.contains(part), "no {part} in {text}");
    }
    let page = std::fs::read_to_string(&html)?;
    ensure!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    ensure!(page.contains("<h2>exchange</h2>") && page.contains("<svg"));
    for outside in ["<script", "<link", "<img", "@import", "url("] {
        ensure!(!page.contains(outside), "the page has {outside}");
    }
    Ok(())
}

/// Lines of plots by which a figure of this title is known to have been drawn.
const DRAWN: [(&str, &[&str]); 9] = [
    ("Figure 2: process_vm_readv", &["cma_read", "cma_write", "cma_both"]),
    (
        "Figure 5: throughput of ping-pong",
        &["ring", "loopback", "cma_read", "chosen"],
    ),
    ("Figure 9: scatter", &["shared memory", "cma_read"]),
    ("Figure 10: gather", &["shared memory", "cma_read"]),
    ("Figure 11: all-to-all", &["ring", "cma_read"]),
    ("Bandwidth", &["pages of 4 KiB", "huge pages"]),
    ("Figure 7: all-to-all on 8 ranks", &["ring", "vmsplice", "cma_read"]),
    (
        "Figure 5: sections of 2-D",
        &["sendrecv", "put", "get", "armci-put", "armci-get", "ga-put", "ga-get"],
    ),
    (
        "Figure 5: MPI_Sendrecv within a node",
        &["rendezvous from 8 KiB on", "by cost"],
    ),
];

/// All five papers: each figure has the paper's words, each claim a verdict, and each line went by the mechanism that it is named after. Only what
/// this machine lacks is missing: nodes take root, and cache misses valgrind.
fn papers_are_pages_with_every_figure() -> Result<()> {
    let folder = scratch("papers")?;
    let run = Run::program(command("isthmus")).words("bench --paper all --quick --summary papers.md");
    let run = run.directory(&folder).limit(Duration::from_secs(240)).finish()?;
    let mut all = String::new();
    for name in ["cma", "limic", "rma", "nemesis", "shiba"] {
        let page = std::fs::read_to_string(folder.join(format!("isthmus-{name}.html")))?;
        ensure!(!page.contains("the run ended before"), "{name}: placeholders: {page}");
        for figure in page.split("<section>").skip(1) {
            ensure!(
                figure.contains("<strong>The paper:</strong>"),
                "nothing that the paper says: {figure}"
            );
        }
        ensure!(page.contains("class=\"overview verdicts\""), "no verdicts of {name}");
        let holes: Vec<&str> = page.split("class=\"hole\"").skip(1).collect();
        ensure!(holes.is_empty(), "holes of {name}: {holes:?}");
        all += &page;
    }
    let figures: Vec<&str> = all.split("<section>").skip(1).collect();
    for (title, lines) in DRAWN {
        let figure = figures
            .iter()
            .find(|figure| figure.starts_with(&format!("<h2>{title}")));
        let figure = figure.with_context(|| format!("no {title}"))?;
        ensure!(figure.contains("<svg"), "no plot: {figure}");
        for line in lines {
            ensure!(
                figure.contains(&format!("</i> {line}</span>")),
                "no line of {line}: {figure}"
            );
        }
    }
    let summary = std::fs::read_to_string(folder.join("papers.md"))?;
    ensure!(summary.matches("\n| ").count() > 50, "{summary}");
    ensure!(run.code == Some(0), "{:?}: {}", run.code, run.err);
    Ok(())
}

/// Single copies that fail make a line of CMA one of two copies: the page says so, there is no point, and the exit code tells.
fn a_line_that_goes_another_way_is_an_error() -> Result<()> {
    let file = scratch("broken-line")?.join("limic.html");
    let run = Run::program(command("isthmus"))
        .words("bench --paper limic --quick --html")
        .arg(&file);
    let run = run.env("ISTHMUS_FAULT", "cma.any:EPERM").finish()?;
    let page = std::fs::read_to_string(&file)?;
    ensure!(run.code == Some(1), "{:?}: {}", run.code, run.err);
    ensure!(
        page.contains("<strong>No number") && page.contains("went by cma_bytes, which must be 95 %"),
        "{page}{}",
        run.err
    );
    ensure!(run.err.contains("numbers are missing"), "{}", run.err);
    Ok(())
}

/// SIGTERM ends the launch that runs, and the page has what was measured.
fn an_interrupted_page_has_what_is_there() -> Result<()> {
    let folder = scratch("interrupted")?;
    let isthmus = command("isthmus").display().to_string();
    let script = format!(
        "{isthmus} bench --paper all --quick --summary papers.md --json all.json >out 2>&1 & \
         until grep -q '^cma-2: ' out; do kill -0 $! || exit 3; sleep 0.1; done; kill -TERM $!; wait $!"
    );
    let run = Run::program("sh").arg("-c").arg(script).directory(&folder).finish()?;
    ensure!(
        run.code == Some(1),
        "{:?}: {}",
        run.code,
        std::fs::read_to_string(folder.join("out"))?
    );
    let page = std::fs::read_to_string(folder.join("isthmus-cma.html"))?;
    ensure!(page.contains("<svg") && page.contains("the run ended before"), "{page}");
    // Papers that did not begin have no page, and their claims are in the table all the same.
    ensure!(!folder.join("isthmus-shiba.html").exists());
    let summary = std::fs::read_to_string(folder.join("papers.md"))?;
    ensure!(
        summary.contains("SHIBA") && summary.contains("| Figure 2 |"),
        "{summary}"
    );
    let json = std::fs::read_to_string(folder.join("all.json"))?;
    ensure!(
        json.contains("\"name\": \"cma-2\"") && json.contains("\"is_measured\": false"),
        "{json}"
    );
    Ok(())
}

/// What a short time has no room for is named on the page, and is no error; the whole page is there, with a verdict on each claim.
fn pages_end_with_their_time() -> Result<()> {
    let folder = scratch("minutes")?;
    let run = Run::program(command("isthmus"))
        .words("bench --paper cma --minutes 0.1 --html page.html --summary papers.md --json page.json");
    let run = run.directory(&folder).succeed()?;
    let page = std::fs::read_to_string(folder.join("page.html"))?;
    ensure!(page.contains("<strong>No time for:</strong>"), "{page}");
    ensure!(!page.contains("class=\"hole\""), "{page}{}", run.err);
    for figure in page.split("<section>").skip(1) {
        ensure!(
            figure.contains("numbers of ") || figure.contains("No time for:") || figure.contains("Not measured here:"),
            "a figure with nothing: {figure}"
        );
    }
    ensure!(run.err.contains("there was no time for"), "{}", run.err);
    let summary = std::fs::read_to_string(folder.join("papers.md"))?;
    ensure!(summary.contains("| Figure 11 |"), "{summary}");
    let json = std::fs::read_to_string(folder.join("page.json"))?;
    ensure!(json.contains("\"late\": [\n"), "{json}");
    Ok(())
}

/// Targets are for developers of the library; a page that cannot be written is said before anything is measured; nothing is
/// installed that nobody asked for.
fn what_is_asked_for_is_shown() -> Result<()> {
    let bench = |words: &str| Run::program(command("isthmus")).words("bench").words(words);
    let measure = "pingpong --sizes 8 --quick";
    let run = bench(measure).succeed()?;
    ensure!(!run.out.contains("target: "), "{}", run.out);
    let run = bench(measure).words("--targets").succeed()?;
    ensure!(run.out.contains("target: "), "{}", run.out);
    for option in ["--html", "--json"] {
        let run = bench("pingpong").words(option).arg("/no/such/folder/file").finish()?;
        ensure!(run.code == Some(1) && run.out.is_empty(), "{option}: {}", run.out);
        ensure!(
            run.err.contains("cannot write /no/such/folder/file"),
            "{option}: {}",
            run.err
        );
    }
    let folder = scratch("no-peers")?;
    let run = bench("launch --only mpich --peers").arg(&folder).finish()?;
    ensure!(
        run.code == Some(1) && run.err.contains("--install-peers"),
        "{}",
        run.err
    );
    ensure!(std::fs::read_dir(&folder)?.next().is_none(), "something was made");
    Ok(())
}

/// The manual and the completion of both commands know their options, and bash takes what is meant for it. Each procedure has a page.
fn manuals_and_completions_are_installed() -> Result<()> {
    let share = isthmus_tests::prefix().join("share");
    for (name, page, option) in [
        ("isthmus", "isthmus-bench", "install-peers"),
        ("mpiexec", "mpiexec", "report-hang"),
    ] {
        let manual = std::fs::read_to_string(share.join(format!("man/man1/{page}.1")))?;
        ensure!(manual.contains(&option.replace('-', "\\-")), "{manual}");
        let completion = share.join("bash-completion/completions").join(name);
        let script = format!(
            "source {}; COMP_WORDS=({name} bench --{}); COMP_CWORD=2; _isthmus{} {name} --{} bench; echo ${{COMPREPLY[@]}}",
            completion.display(),
            &option[..9],
            if name == "isthmus" { "" } else { "_mpiexec" },
            &option[..9],
        );
        let run = Run::program("bash").arg("-c").arg(script).succeed()?;
        ensure!(run.out.trim() == format!("--{option}"), "{}{}", run.out, run.err);
        for other in [
            format!("zsh/site-functions/_{name}"),
            format!("fish/vendor_completions.d/{name}.fish"),
        ] {
            let text = std::fs::read_to_string(share.join(&other))?;
            ensure!(text.contains(option), "{other}: {text}");
        }
    }
    for page in [
        "man1/mpicc.1",
        "man1/mpifort.1",
        "man3/MPI_Send.3",
        "man3/MPI_Send_c.3",
        "man7/isthmus_tunables.7",
    ] {
        ensure!(share.join("man").join(page).exists(), "{page}");
    }
    for name in ["unfinished.md", "debugging.md", "profiling.md"] {
        ensure!(share.join("doc/isthmus").join(name).exists(), "{name}");
    }
    Ok(())
}

fn wrong_cells_are_refused() -> Result<()> {
    for words in ["strided --of 4d", "pingpong --sizes many", "collectives --of brodcast"] {
        let finished = Run::program(command("isthmus")).words("bench").words(words).finish()?;
        ensure!(finished.code == Some(2), "{words}: {finished:?}");
    }
    Ok(())
}

/// A reader that has seen enough closes the pipe: that is no error.
fn a_reader_may_leave() -> Result<()> {
    // Longer than what a pipe takes with nobody reading.
    let isthmus = command("isthmus").display().to_string();
    let run = Run::program("sh")
        .arg("-c")
        .arg(format!(
            "for i in $(seq 40); do {isthmus} info --collectives; done | head -n 1; {isthmus} info --protocols | true"
        ))
        .succeed()?;
    ensure!(
        run.err.is_empty() && run.out.lines().count() == 1,
        "{} {}",
        run.out,
        run.err
    );
    Ok(())
}

/// Each mechanism, its bare loop, and what is chosen. Where single copies are refused their bare loops fail.
fn mechanisms() -> Result<()> {
    shows_tables(
        "mechanisms --sizes 64K,128K",
        &[("mechanisms", 18), ("mechanisms-real", 18)],
    )
}

/// Kernels of NAS: what they compute is what was published, or the program fails.
fn nas_kernels() -> Result<()> {
    let source = isthmus_tests::prefix().join("share/isthmus/bench/nas.c");
    let program = scratch("bench")?.join("nas");
    let mpicc = Run::program(command("mpicc")).words("-O2 -Wall -Wextra -Werror");
    mpicc.arg(&source).arg("-o").arg(&program).arg("-lm").succeed()?;
    for ranks in [1, 2, 4] {
        let run = Run::mpiexec(&format!("-n {ranks}"))
            .arg(&program)
            .words("ft:S is:S cg:S mg:S")
            .succeed()?;
        let verified = run.out.lines().filter(|line| line.ends_with("verified=1")).count();
        ensure!(verified == 4, "{ranks} ranks: {}", run.out);
    }
    Ok(())
}

/// The programs of cache misses, by this mechanism.
fn misses(words: &str, mechanism: &str, path: Option<&str>) -> Result<Finished> {
    let source = isthmus_tests::prefix().join("share/isthmus/bench/misses.c");
    let program = scratch("bench")?.join(path.map_or("misses", |_| "misses-alone"));
    let mpicc = Run::program(command("mpicc")).words("-O2 -Wall -Wextra -Werror");
    mpicc.arg(&source).arg("-o").arg(&program).succeed()?;
    let run = Run::mpiexec("-n 2").arg(&program).words(words);
    let run = run
        .env("ISTHMUS_MECHANISM", mechanism)
        .env("ISTHMUS_EAGER_LIMIT", "8192");
    match path {
        Some(path) => run.env("PATH", path).finish(),
        None => run.finish(),
    }
}

/// Without valgrind the program says what to install.
fn cache_misses_without_valgrind() -> Result<()> {
    let without = misses("pingpong:65536", "ring", Some("/nowhere"))?;
    ensure!(
        without.code != Some(0) && without.err.contains("apt-get install valgrind"),
        "{}",
        without.err
    );
    Ok(())
}

/// What the kernel counts of ranks is a result; a machine without a counter of cache misses is told by a line.
fn counters_of_the_kernel() -> Result<()> {
    let faults = misses("--faults pingpong:65536", "cma_read", None)?;
    ensure!(
        faults.code == Some(0) && faults.out.contains(" misses="),
        "{}{}",
        faults.out,
        faults.err
    );
    let hardware = misses("--hardware pingpong:65536", "cma_read", None)?;
    ensure!(
        hardware.out.contains(" misses=") || hardware.err.contains("this machine has no"),
        "{}{}",
        hardware.out,
        hardware.err
    );
    Ok(())
}

/// Cache misses by a simulator: two copies through a ring miss what one copy does not.
fn cache_misses() -> Result<()> {
    let lines = |run: &Finished| -> Result<f64> {
        let word = run
            .out
            .split("misses=")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        word.and_then(|word| word.parse().ok())
            .with_context(|| format!("no number: {}{}", run.out, run.err))
    };
    let ring = lines(&misses("pingpong:1048576", "ring", None)?)?;
    let single = lines(&misses("--alloc pingpong:1048576", "mapped", None)?)?;
    ensure!(single < ring, "{single} lines by one copy, {ring} by two");
    Ok(())
}

fn shmem() -> Result<()> {
    shows("shmem", "shmem-rma", 10)?;
    shows("shmem", "shmem-collectives-4", 5)
}

fn ga() -> Result<()> {
    shows("ga", "ga-patches", 16)?;
    shows("ga", "ga-ghosts-4", 6)?;
    shows("ga", "ga-together-2", 3)
}

fn quotas() -> Result<()> {
    shows("quotas --ranks 2", "quotas-2", 3)
}

fn neighbours() -> Result<()> {
    let tables = [("neighbours-loop-2", 8), ("neighbours-left-loop", 1)];
    shows_tables("neighbours --ranks 2 --beside loop", &tables)
}

/// As many ranks as have a CPU each, two at most, and one more than there are CPUs: each rule matters on the one or the other.
fn ranks_for_rules() -> [usize; 2] {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    [cpus.min(2), cpus + 1]
}

/// The rules that there are, as the library itself says when it is told to leave out one that there is not.
fn known_rules() -> Result<Vec<String>> {
    // A waiting rank asks for a CPU where ranks share them.
    let run = Run::mpiexec(&format!("-n {}", ranks_for_rules()[1])).arg(compile("attributes")?);
    let run = run.env("ISTHMUS_WITHOUT", "pigeons").succeed()?;
    let (_, known) = run
        .err
        .split_once("no rule is called [\"pigeons\"]: [")
        .with_context(|| format!("pigeons are no rule: {}", run.err))?;
    let (known, _) = known.split_once(']').context("the list has no end")?;
    Ok(known
        .split(", ")
        .map(|name| name.trim_matches('"').to_owned())
        .collect())
}

/// A wrapper in front of the measured calls of the ranks below: it records what each of them leaves out, and spoils received data where that is
/// SPOILED.
const IN_FRONT: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *last;
static const char *left_out(void) { const char *names = getenv("ISTHMUS_WITHOUT"); return names ? names : "all"; }
int MPI_Init(int *argc, char ***argv)
{
    FILE *told = fopen(getenv("TOLD"), "a");
    fprintf(told, "%s\n", left_out());
    fclose(told);
    return PMPI_Init(argc, argv);
}
int MPI_Irecv(void *at, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    last = at;
    return PMPI_Irecv(at, n, type, from, tag, comm, request);
}
int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    int code = PMPI_Waitall(n, requests, statuses);
    const char *spoiled = getenv("SPOILED");
    if (last && spoiled && strcmp(spoiled, left_out()) == 0)
        last[0] ^= 1;
    return code;
}
"#;

/// `isthmus bench rules --quick` on so many ranks, with that in front of its programs: how it went, and what the ranks left out.
fn bench_rules(name: &str, ranks: usize, spoiled: &str) -> Result<(Finished, Vec<String>)> {
    let folder = scratch(name)?;
    let (source, object, library) = (folder.join("f.c"), folder.join("f.o"), folder.join("f.so"));
    let told = folder.join(format!("told-{ranks}"));
    std::fs::write(&source, IN_FRONT)?;
    std::fs::write(&told, "")?;
    let mpicc = Run::program(command("mpicc")).words("-fPIC -O1 -c -o").arg(&object);
    mpicc.arg(&source).succeed()?;
    // It stands in front of compilers and launchers, too, which have no MPI: its symbols are looked up when it is called.
    let link = Run::program("cc").words("-shared -Wl,-z,lazy -o").arg(&library);
    link.arg(&object).succeed()?;
    let run = Run::program(command("isthmus")).words(&format!("bench rules --quick --ranks {ranks}"));
    let run = run
        .env("LD_PRELOAD", &library)
        .env("TOLD", &told)
        .env("SPOILED", spoiled);
    let run = run.succeed()?;
    let left_out = std::fs::read_to_string(told)?.lines().map(str::to_owned).collect();
    Ok((run, left_out))
}

/// The first cells of the rows of a table, each once.
fn first_cells(finished: &Finished, name: &str) -> BTreeSet<String> {
    let table = finished
        .out
        .lines()
        .skip_while(|line| !line.starts_with(&format!("{name}: ")));
    let rows = table
        .skip(2)
        .take_while(|line| !line.is_empty() && !line.contains(": "));
    rows.filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

fn each_rule_is_left_out_in_turn() -> Result<()> {
    let mut rules = BTreeSet::new();
    for ranks in ranks_for_rules() {
        let (run, told) = bench_rules("rules", ranks, "")?;
        let told: BTreeSet<String> = told.into_iter().collect();
        ensure!(told.contains("all"), "{told:?}");
        for table in ["both", "allreduce", "alltoall", "gather"] {
            let name = format!("rules-{table}-{ranks}");
            ensure!(
                first_cells(&run, &name) == told,
                "{name}, and ranks left out {told:?}: {}",
                run.out
            );
            has_table(&run, &name, 2 * told.len())?;
        }
        rules.extend(told);
    }
    rules.remove("all");
    let known: BTreeSet<String> = known_rules()?.into_iter().collect();
    ensure!(rules == known, "{rules:?} are left out, there are {known:?}");
    Ok(())
}

/// Where data is wrong there is no number, and why is said; the other rules have theirs.
fn without_a_rule_data_is_checked() -> Result<()> {
    let ranks = ranks_for_rules()[1];
    let (run, _) = bench_rules("spoiled-rules", ranks, "cells")?;
    let name = format!("rules-both-{ranks}");
    let rows = first_cells(&run, &name);
    ensure!(
        !rows.contains("cells") && rows.contains("all") && rows.contains("pieces"),
        "{}",
        run.out
    );
    ensure!(run.err.contains("received data differs"), "{}", run.err);
    ensure!(
        first_cells(&run, &format!("rules-gather-{ranks}")).contains("cells"),
        "{}",
        run.out
    );
    Ok(())
}
