//! mpi4py: its benchmarks and its own test suite, by the wheel (on the MPICH ABI and on Open MPI's) and from source (on the standard ABI).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::cuda::driver;
use super::super::suite::Suite;
use super::python::Environment;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};

const VERSION: &str = "4.1.2";
/// For the suite on a busy machine; a test that hangs ends it long before.
const SUITE: Duration = Duration::from_secs(1500);

/// What the wheel is told by `MPI4PY_MPIABI` to use Open MPI's ABI.
const OPEN_MPI: &str = "openmpi";

/// All kinds. `full`: the whole suite, on 1 to 5 ranks, and its collectives on up to 9; and what is built from source.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    let wheel = Environment::new("mpi4py-wheel");
    let package = format!("mpi4py=={VERSION}");
    if !suite.step(&format!("mpi4py {VERSION} (wheel) installs"), || {
        wheel.make()?;
        wheel.install("mpi4py", &[&package], &[])
    }) {
        return;
    }
    benchmarks(suite, &|ranks| mpiexec(prefix, ranks), &wheel, "wheel");
    suite.step("mpi4py (wheel): arrays in the memory of a device", || {
        let mut run = mpiexec(prefix, 2);
        run.env("LD_LIBRARY_PATH", driver(prefix)?);
        run.args(["--set", "device_memory=2"]).arg(wheel.program("python"));
        quiet(run.arg(root().join("tests/mpi4py/device.py")), RUN).map(drop)
    });
    let mut sources = None;
    if !suite.step(&format!("mpi4py {VERSION} comes as source"), || {
        sources = Some(unpacked(&wheel)?);
        Ok(())
    }) {
        return;
    }
    let Some(sources) = sources else { return };
    own_suite(suite, &|ranks| mpiexec(prefix, ranks), &wheel, &sources, "wheel", full);
    let open_mpi = |ranks: usize| {
        let mut command = mpiexec(prefix, ranks);
        command.env("MPI4PY_MPIABI", OPEN_MPI);
        command
    };
    if suite.step("mpi4py (wheel) loads libmpi.so.40 of ours", || {
        loads(open_mpi(2), &wheel)
    }) {
        let kind = "wheel, Open MPI's ABI";
        match full {
            true => own_suite(suite, &open_mpi, &wheel, &sources, kind, full),
            false => on_one_rank(suite, &open_mpi, &wheel, &sources, kind),
        }
    }
    if !full {
        return;
    }
    let built = Environment::new("mpi4py-source");
    if suite.step(&format!("mpi4py {VERSION} is built from source by our mpicc"), || {
        build(&built, prefix, &sources)
    }) {
        benchmarks(suite, &|ranks| mpiexec(prefix, ranks), &built, "source");
        own_suite(suite, &|ranks| mpiexec(prefix, ranks), &built, &sources, "source", full);
    }
}

/// The sources, suite included, where they are after this.
fn unpacked(environment: &Environment) -> Result<PathBuf> {
    let folder = folder("mpi4py-sources");
    let sources = folder.join(format!("mpi4py-{VERSION}"));
    // It comes last.
    let done = folder.join(format!("unpacked-{VERSION}"));
    if done.exists() {
        return Ok(sources);
    }
    let package = format!("mpi4py=={VERSION}");
    let mut download = environment.pip("download");
    download.args(["--no-deps", "--no-binary", "mpi4py", &package, "--dest"]);
    quiet(download.arg(&folder), INSTALL)?;
    let mut unpack = std::process::Command::new(environment.program("python"));
    unpack.args(["-m", "tarfile", "-e"]);
    unpack.arg(folder.join(format!("mpi4py-{VERSION}.tar.gz"))).arg(&folder);
    quiet(&mut unpack, INSTALL)?;
    std::fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))?;
    Ok(sources)
}

fn build(environment: &Environment, prefix: &Path, sources: &Path) -> Result<()> {
    environment.make()?;
    let mpicc = prefix.join("bin/mpicc").display().to_string();
    let header = std::fs::read(prefix.join("include/mpi.h")).context("our mpi.h")?;
    let mut digest = DefaultHasher::new();
    header.hash(&mut digest);
    let digest = digest.finish().to_string();
    let sources = sources.display().to_string();
    // A wheel that pip built before is not what this mpicc makes.
    let fresh = ["--force-reinstall", "--no-cache-dir", &sources];
    // It is megabytes of generated C: optimizing them takes minutes and tests nothing of ours.
    let variables = [("MPICC", mpicc.as_str()), ("CFLAGS", "-O0"), ("MPI_H", &digest)];
    environment.install("mpi4py", &fresh, &variables)
}

/// The library of Open MPI's ABI, and ours.
fn loads(mut run: Command, environment: &Environment) -> Result<()> {
    const PROGRAM: &str = "from mpi4py import MPI; print(MPI.Get_library_version(), [line.split('/')[-1] for line in \
                           open('/proc/self/maps').read().split() if '/libmpi' in line])";
    let text = quiet(run.arg(environment.program("python")).args(["-c", PROGRAM]), RUN)?;
    ensure!(
        text.contains("libmpi.so.40") && text.contains("Isthmus") && !text.contains("libmpi.so.12"),
        "it loaded another library:\n{text}"
    );
    Ok(())
}

/// A command that starts so many ranks.
type Start<'a> = &'a dyn Fn(usize) -> Command;

fn benchmarks(suite: &mut Suite, start: Start<'_>, environment: &Environment, kind: &str) {
    for (bench, least) in [("helloworld", 1), ("ringtest", 1), ("pingpong", 2)] {
        suite.step(&format!("mpi4py ({kind}): {bench} on {least} to 8 ranks"), || {
            (least..=8).try_for_each(|ranks| {
                let mut run = start(ranks);
                run.arg(environment.program("python"))
                    .args(["-m", "mpi4py.bench", bench]);
                if bench == "pingpong" {
                    run.args([
                        "--max-size",
                        "1048576",
                        "--loop",
                        "20",
                        "--loop-large",
                        "10",
                        "--skip",
                        "2",
                    ]);
                }
                let text = quiet(&mut run, RUN)?;
                judge(bench, ranks, &text).with_context(|| format!("{bench} on {ranks} ranks; it said:\n{text}"))
            })
        });
    }
}

fn judge(bench: &str, ranks: usize, text: &str) -> Result<()> {
    match bench {
        "helloworld" => (0..ranks).try_for_each(|rank| {
            let wanted = format!("process {rank} of {ranks}");
            let found = text.lines().filter(|line| line.contains(&wanted)).count();
            ensure!(found == 1, "'{wanted}' stands there {found} times");
            Ok(())
        }),
        "ringtest" => {
            ensure!(
                text.contains(&format!("({ranks} processes")),
                "it did not see {ranks} ranks"
            );
            Ok(())
        }
        _ => {
            ensure!(text.contains("1048576"), "it did not come to the end");
            Ok(())
        }
    }
}

/// Its own test suite, by this `mpiexec` of so many ranks. What it needs and we have not is listed in `tests/mpi4py/excluded.txt`, and
/// nothing else may fail.
fn run_suite(
    mut run: Command,
    ranks: usize,
    environment: &Environment,
    sources: &Path,
    options: &[&str],
) -> Result<()> {
    run.arg(environment.program("python"))
        .arg(root().join("tests/mpi4py/run.py"))
        .arg(sources.join("test"))
        .arg(root().join("tests/mpi4py/excluded.txt"))
        .args(options);
    let text = quiet(&mut run, SUITE)?;
    let finished = text.matches("are excluded: all others passed").count();
    ensure!(
        finished == ranks,
        "{finished} of {ranks} ranks came to the end; they said:\n{text}"
    );
    Ok(())
}

/// Between two nodes with two ranks on each; in full all of it, else what sends bytes from buffers.
pub fn on_nodes(suite: &mut Suite, full: bool, mpiexec: &dyn Fn(usize) -> Command) {
    let wheel = Environment::new("mpi4py-wheel");
    let which: &[&str] = if full {
        &["--no-numpy"]
    } else {
        &[
            "--no-numpy",
            "-i",
            "test_p2p_buf",
            "-i",
            "test_cco_buf",
            "-i",
            "test_rma",
        ]
    };
    suite.step("mpi4py's own suite (wheel) on 2 nodes x 2", || {
        wheel.make()?;
        wheel.install("mpi4py", &[&format!("mpi4py=={VERSION}")], &[])?;
        let sources = unpacked(&wheel)?;
        let mut run = mpiexec(2);
        // The last one counts.
        run.arg("--timeout").arg((SUITE - RUN).as_secs().to_string());
        run_suite(run, 4, &wheel, &sources, which)
    });
}

fn on_one_rank(suite: &mut Suite, start: Start<'_>, environment: &Environment, sources: &Path, kind: &str) {
    suite.step(&format!("mpi4py's own suite ({kind}) on 1 rank"), || {
        run_suite(start(1), 1, environment, sources, &["--no-numpy"])
    });
}

fn own_suite(suite: &mut Suite, start: Start<'_>, environment: &Environment, sources: &Path, kind: &str, full: bool) {
    let run = |ranks: usize, options: &[&str]| run_suite(start(ranks), ranks, environment, sources, options);
    if !full {
        // Datatypes are most of the time, and know nothing of ranks.
        on_one_rank(suite, start, environment, sources, kind);
        suite.step(
            &format!("mpi4py's own suite ({kind}) on 3 ranks, but for datatypes"),
            || run(3, &["--no-numpy", "-e", "test_datatype"]),
        );
        suite.step(&format!("mpi4py's own suite ({kind}) on 5 ranks, windows"), || {
            run(5, &["--no-numpy", "-i", "test_rma", "-i", "test_win"])
        });
        return;
    }
    // Packages that some of its tests are about.
    if !suite.step(&format!("what mpi4py's own suite ({kind}) can use installs"), || {
        environment.install("more", &["numpy", "cffi", "dill", "pyyaml"], &[])
    }) {
        return;
    }
    for ranks in 1..=5 {
        suite.step(&format!("mpi4py's own suite ({kind}) on {ranks} ranks"), || {
            run(ranks, &[])
        });
    }
    for ranks in 6..=9 {
        suite.step(
            &format!("mpi4py's own suite ({kind}) on {ranks} ranks, collectives"),
            || run(ranks, &["--no-numpy", "-i", "test_cco"]),
        );
    }
}
