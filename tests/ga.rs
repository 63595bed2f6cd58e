//! Global Arrays: every program of `tests/ga` on as many ranks as its first line says.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use isthmus_tests::{ControlGroup, Run, command, compile_in, full, named, programs, scratch};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trials = programs("ga").into_iter().map(|(name, ranks)| {
        let title = format!("{name} on {ranks}");
        Trial::test(title, move || run(&name, &ranks))
    });
    let headers = HEADERS.into_iter().flat_map(|header| {
        [("mpicc", "c", "c99"), ("mpicxx", "c++", "c++17")].map(|(compiler, language, standard)| {
            Trial::test(format!("{header} as {standard}"), move || {
                is_accepted(header, compiler, language, standard).map_err(|error| format!("{error:#}").into())
            })
        })
    });
    let solvers = [("lapack", LAPACK), ("scalapack", SCALAPACK)]
        .into_iter()
        .flat_map(|(solver, file)| {
            ["1", "2", "3", "4"].map(|ranks| {
                Trial::test(format!("linear algebra by {solver} on {ranks}"), move || {
                    solves(solver, ranks).map_err(|error| format!("{error:#}").into())
                })
                .with_ignored_flag(!is_found(file))
            })
        });
    let field = ["1", "2", "3", "4"].into_iter().map(|ranks| {
        Trial::test(format!("self-consistent field on {ranks}"), move || {
            run_with("fock", ranks, |run| run)
        })
        .with_ignored_flag(!is_found(LAPACK))
    });
    let missing = Trial::test("without ScaLAPACK an error names the package", || {
        names_the_package().map_err(|error| format!("{error:#}").into())
    });
    let names = Trial::test(
        "each name of Global Arrays 5.9 is declared, and linked with its profiling name",
        || has_all_names().map_err(|error| format!("{error:#}").into()),
    );
    let killed = OPERATIONS.into_iter().flat_map(|(operation, routines)| {
        ["", "returns"].map(|mode| {
            Trial::test(format!("killed in {operation} {mode}"), move || {
                killed(operation, routines, mode).map_err(|error| format!("{error:#}").into())
            })
            .with_ignored_flag(operation.ends_with(" together") && !is_found(SCALAPACK))
        })
    });
    let unhandled = Trial::test("what is wrong, and not handled, ends the job by its line", || {
        is_ended().map_err(|error| format!("{error:#}").into())
    });
    let full = Trial::test("all memory is taken, and given back", || {
        takes_all().map_err(|error| format!("{error:#}").into())
    })
    .with_ignored_flag(ControlGroup::with_memory(1 << 40).is_none());
    let margins = ["packed", "direct", "shift"].into_iter().flat_map(|algorithm| {
        [
            "arrays on 4",
            "random on 6",
            "margins on 2",
            "margins on 4",
            "margins on 6",
        ]
        .map(|program| {
            Trial::test(format!("margins by {algorithm}: {program}"), move || {
                let (program, ranks) = program.split_once(" on ").expect("a program and ranks");
                run_with(program, ranks, |run| run.env("ISTHMUS_GA_GHOSTS", algorithm))
            })
        })
    });
    let trials = trials
        .chain(headers)
        .chain(solvers)
        .chain(field)
        .chain(killed)
        .chain(margins);
    let trials = trials.chain([missing, names, unhandled, full]);
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Files of the system's libraries that Global Arrays open.
const LAPACK: &str = "liblapack.so.3";
const SCALAPACK: &str = "libscalapack-mpich.so.2.2";

/// Does the loader know a library? A library that is not installed is skipped.
fn is_found(file: &str) -> bool {
    let cache = Command::new("/sbin/ldconfig").arg("-p").output();
    cache.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(file))
}

fn linear(solver: &str, ranks: &str) -> Result<Run> {
    let program = compile_in("ga", "linear", &["-lga"])?;
    let run = Run::mpiexec("-n")
        .words(ranks)
        .arg(program)
        .limit(Duration::from_secs(300));
    Ok(run.env("ISTHMUS_GA_LINEAR", solver))
}

fn solves(solver: &str, ranks: &str) -> Result<()> {
    linear(solver, ranks)?.succeed().map(drop)
}

/// Files of its names that are no libraries stand before the system's.
fn names_the_package() -> Result<()> {
    let folder = scratch("ga")?.join("no-scalapack");
    std::fs::create_dir_all(&folder)?;
    for file in [SCALAPACK, "libscalapack-mpich.so.2.1", "libscalapack.so.2.2"] {
        std::fs::write(folder.join(file), "no library")?;
    }
    let run = linear("scalapack", "2")?.env("LD_LIBRARY_PATH", &folder);
    let finished = run.finish()?;
    ensure!(
        finished.code != Some(0) && finished.err.contains("apt-get install libscalapack-mpich2.2"),
        "it exits with {:?} and says:\n{}",
        finished.code,
        finished.err
    );
    Ok(())
}

/// What `tests/ga/killed.c` knows to be killed in, and the routines that tell survivors of it beside `GA_Sync`: none where nobody is waited
/// for, or what the dead one held is taken over.
const OPERATIONS: [(&str, &[&str]); 21] = [
    ("put", &[]),
    ("get", &[]),
    ("acc", &[]),
    ("strided", &[]),
    ("scatter", &[]),
    ("read_inc", &[]),
    ("mutex", &[]),
    ("held", &[]),
    ("sync", &[]),
    ("reduce", &["GA_Dgop"]),
    ("broadcast", &["GA_Brdcst"]),
    ("create", &["NGA_Create", "GA_Destroy"]),
    ("copy", &["GA_Copy"]),
    ("dot", &["GA_Ddot"]),
    ("ghosts", &["GA_Update_ghosts"]),
    ("side", &["NGA_Update_ghost_dir"]),
    ("transpose", &["GA_Transpose"]),
    ("product", &["GA_Dgemm"]),
    ("groups", &["GA_Pgroup_create", "GA_Pgroup_destroy"]),
    ("solve", &["GA_Lu_solve"]),
    ("solve together", &["GA_Lu_solve"]),
];

/// Somebody dies in the middle of an operation: the job ends by one line; or, where errors return, everybody else hears of it.
fn killed(operation: &str, routines: &[&str], mode: &str) -> Result<()> {
    let program = compile_in("ga", "killed", &["-lga"])?;
    let (operation, solver) = match operation.strip_suffix(" together") {
        Some(operation) => (operation, "scalapack"),
        None => (operation, "lapack"),
    };
    let seeds = if full() { 12 } else { 2 };
    for (seed, ranks) in (1..=seeds).map(|seed| (seed, 2 + seed % 3)) {
        // The first process, which has groups' shared words, the last one, and one between them.
        let victim = [0, ranks - 1, ranks / 2][seed % 3];
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let run = run
            .words(&format!("{operation} {seed} {victim} {mode}"))
            .env("ISTHMUS_GA_LINEAR", solver)
            .limit(Duration::from_secs(60))
            .finish()?;
        let what = format!(
            "{operation} {mode}, seed {seed}, {victim} of {ranks}: {:?}\n{}{}",
            run.code, run.out, run.err
        );
        ensure!(run.err.contains("killed by signal 9"), "{what}");
        if solver == "scalapack" && mode == "returns" {
            // ScaLAPACK cannot go on, whatever error handlers others have.
            ensure!(run.code != Some(0), "{what}");
            continue;
        }
        ensure!(run.code == Some(137), "{what}");
        if mode == "returns" {
            let victim = format!("process {victim} ");
            let survivors = run.out.lines().filter(|line| {
                let mut told = line.splitn(4, ": ");
                (told.next(), told.next()) == (Some("survived"), Some("isthmus"))
                    && told.next().is_some_and(|rank| rank.starts_with("rank "))
                    && told.next().is_some_and(|told| {
                        let routine = told.split(':').next().unwrap_or_default();
                        (routine == "GA_Sync" || routines.contains(&routine)) && told.contains(&victim)
                    })
            });
            ensure!(survivors.count() == ranks - 1, "{what}");
        }
    }
    let begun = Instant::now();
    while !named("ga/killed").is_empty() {
        ensure!(begun.elapsed() < Duration::from_secs(20), "a process lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn is_ended() -> Result<()> {
    let program = compile_in("ga", "wrong", &["-lga"])?;
    let run = Run::mpiexec("-n 2").arg(program).arg("unhandled").finish()?;
    let line = "isthmus: rank 0: NGA_Put: array 'doubles': hi[1]=11 is outside 0..11";
    ensure!(
        run.code == Some(1) && run.err.lines().any(|said| said == line),
        "it exits with {:?} and says:\n{}",
        run.code,
        run.err
    );
    Ok(())
}

/// In a group of processes whose memory is limited. Only root can try that.
fn takes_all() -> Result<()> {
    for ranks in ["1", "3"] {
        let group = ControlGroup::with_memory(256 << 20).context("making a cgroup")?;
        let run = group.run(command("mpiexec")).words("-n").arg(ranks);
        let run = run.arg(compile_in("ga", "full", &["-lga"])?).arg("all");
        run.limit(Duration::from_secs(120))
            .succeed()
            .with_context(|| format!("{ranks} ranks"))?;
    }
    Ok(())
}

/// What programs of Global Arrays and ARMCI include.
const HEADERS: [&str; 7] = [
    "ga.h",
    "ga-mpi.h",
    "macdecls.h",
    "matypes.h",
    "typesf2c.h",
    "armci.h",
    "message.h",
];

/// Does a compiler take a header by itself, without a warning?
fn is_accepted(header: &str, compiler: &str, language: &str, standard: &str) -> Result<()> {
    let source = scratch("ga")?.join(format!("{header}.{compiler}"));
    std::fs::write(
        &source,
        format!("#include <{header}>\nint main(void) {{ return 0; }}\n"),
    )?;
    let output = Command::new(command(compiler))
        .args(["-x", language, &format!("-std={standard}")])
        .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
        .arg(&source)
        .output()
        .with_context(|| format!("cannot run {compiler}"))?;
    ensure!(
        output.status.success(),
        "it says:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// A program that names each function of `standard/ga.txt`, as declared by the headers.
fn has_all_names() -> Result<()> {
    const LEAST: usize = 479;
    let list = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../standard/ga.txt"))?;
    let names = list.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    let of_arrays = names
        .iter()
        .filter(|name| name.starts_with("GA_") || name.starts_with("NGA_"))
        .count();
    ensure!(of_arrays >= LEAST, "{of_arrays} names of Global Arrays, of {LEAST}");
    let declared = names.iter().map(|name| format!("    (void (*)(void)){name},\n"));
    let profiled = names.iter().map(|name| format!("extern void P{name}(void);\n"));
    let profiled = profiled.collect::<String>();
    let pointers = names.iter().map(|name| format!("    P{name},\n")).collect::<String>();
    let source = scratch("ga")?.join("names.c");
    std::fs::write(
        &source,
        format!(
            "#include <ga.h>\n#include <ga-mpi.h>\n#include <macdecls.h>\n{profiled}typedef void (*any)(void);\n\
             static const any all[] = {{\n{}{pointers}}};\n\
             int main(void) {{\n    for (unsigned n = 0; n < sizeof all / sizeof *all; n++)\n        if (!all[n]) return 1;\n    return 0;\n}}\n",
            declared.collect::<String>()
        ),
    )?;
    let program = source.with_extension("");
    let output = Command::new(command("mpicc"))
        .args(["-std=c99", "-Wl,-z,now"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-lga")
        .output()
        .context("cannot run mpicc")?;
    ensure!(
        output.status.success(),
        "it says:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Run::mpiexec("-n 1").arg(program).succeed().map(drop)
}

fn run(name: &str, ranks: &str) -> Result<(), Failed> {
    run_with(name, ranks, |run| run)
}

/// A program, with what `set` sets.
fn run_with(name: &str, ranks: &str, set: impl Fn(Run) -> Run) -> Result<(), Failed> {
    let run = || {
        let program = compile_in("ga", name, &["-lga"])?;
        set(Run::mpiexec("-n")
            .words(ranks)
            .arg(program)
            .limit(Duration::from_secs(90)))
        .succeed()
    };
    run()
        .map(drop)
        .map_err(|error: anyhow::Error| format!("{error:#}").into())
}
