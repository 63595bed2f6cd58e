//! Programs that nobody here wrote, from PyPI: they find our library by its path alone.
//!
//! Each comes into a virtual environment of its own under `target/outside` (some carry a `libmpi.so.12` themselves),
//! and stays there for the next run.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::suite::Suite;
use crate::process::{quiet, root, target};

const INSTALL: Duration = Duration::from_secs(900);
const RUN: Duration = Duration::from_secs(120);

/// All of them, against the installation in `prefix`.
pub fn run(suite: &mut Suite, prefix: &Path) {
    mpi4py(suite, prefix, "wheel", |environment| {
        environment.install(&["mpi4py==4.1.2"], &[])
    });
    mpi4py(suite, prefix, "source", |environment| {
        let mpicc = prefix.join("bin/mpicc").display().to_string();
        // A wheel that pip built before is not what this mpicc makes.
        let fresh = [
            "--force-reinstall",
            "--no-cache-dir",
            "--no-binary",
            "mpi4py",
            "mpi4py==4.1.2",
        ];
        let header = std::fs::read(prefix.join("include/mpi.h")).context("our mpi.h")?;
        let mut digest = DefaultHasher::new();
        header.hash(&mut digest);
        let digest = digest.finish().to_string();
        // It is megabytes of generated C: optimizing them takes minutes and tests nothing of ours.
        environment.install(&fresh, &[("MPICC", &mpicc), ("CFLAGS", "-O0"), ("MPI_H", &digest)])
    });
    imb(suite, prefix);
    mpich(suite, prefix);
    suite.step("CMake finds us (FindMPI), builds and runs", || cmake(prefix));
}

fn mpi4py(suite: &mut Suite, prefix: &Path, kind: &str, install: impl FnOnce(&Environment) -> Result<()>) {
    let environment = Environment::new(&format!("mpi4py-{kind}"));
    if !suite.step(&format!("mpi4py 4.1.2 ({kind}) installs"), || {
        environment.make().and_then(|()| install(&environment))
    }) {
        return;
    }
    for (bench, least) in [("helloworld", 1), ("ringtest", 1), ("pingpong", 2)] {
        suite.step(&format!("mpi4py ({kind}): {bench} on {least} to 8 ranks"), || {
            (least..=8).try_for_each(|ranks| {
                let mut run = mpiexec(prefix, ranks);
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

fn imb(suite: &mut Suite, prefix: &Path) {
    const BENCHMARKS: [&str; 12] = [
        "PingPong",
        "PingPing",
        "Sendrecv",
        "Exchange",
        "Bcast",
        "Allreduce",
        "Reduce",
        "Allgather",
        "Alltoall",
        "Gather",
        "Scatter",
        "Barrier",
    ];
    let environment = Environment::new("impi-rt");
    // It is run on our library, so what its own library needs is not needed.
    let install = || {
        environment
            .make()
            .and_then(|()| environment.install(&["--no-deps", "impi-rt==2021.19.0"], &[]))
    };
    if !suite.step("Intel MPI Benchmarks (wheel) install", install) {
        return;
    }
    for ranks in [2, 4] {
        suite.step(&format!("IMB-MPI1 on {ranks} ranks"), || {
            let mut run = mpiexec(prefix, ranks);
            run.arg(environment.program("IMB-MPI1"))
                .args(["-npmin", &ranks.to_string()]);
            run.args(["-msglog", "0:18", "-iter", "20", "-iter_policy", "off", "-mem", "0.5"])
                .args(BENCHMARKS);
            let text = quiet(&mut run, RUN)?;
            for name in BENCHMARKS {
                ensure!(
                    text.contains(&format!("# Benchmarking {name}")),
                    "{name} did not run; it said:\n{text}"
                );
            }
            ensure!(
                text.contains("All processes entering MPI_Finalize"),
                "it did not finish; it said:\n{text}"
            );
            Ok(())
        });
    }
}

/// The C surface against what others say of it, and programs compiled by MPICH's wrapper for the standard ABI.
fn mpich(suite: &mut Suite, prefix: &Path) {
    const PROGRAMS: [&str; 4] = ["point_to_point", "collectives", "communicators", "attributes"];
    let environment = Environment::new("mpich");
    let install = || {
        environment
            .make()
            .and_then(|()| environment.install(&["mpich==5.0.2", "pympistandard==0.2.0"], &[]))
    };
    if !suite.step("MPICH and pympistandard (wheels) install", install) {
        return;
    }
    suite.step("prototypes, constants, symbols, interception, garbage handles", || {
        let mut check = Command::new(environment.program("python"));
        quiet(check.arg(root().join("tests/abi/check.py")).arg(prefix), RUN).map(drop)
    });
    suite.step("programs compiled by MPICH's mpicc_abi run on our library", || {
        PROGRAMS.iter().try_for_each(|name| {
            let program = environment.folder.join(name);
            let mut compile = Command::new(environment.program("mpicc_abi"));
            compile.arg("-O2").arg("-o").arg(&program);
            compile
                .arg(root().join("tests/programs").join(name).with_extension("c"))
                .arg("-lm");
            quiet(&mut compile, RUN)?;
            quiet(mpiexec(prefix, 4).arg(&program), RUN).map(drop)
        })
    });
}

fn cmake(prefix: &Path) -> Result<()> {
    let build = target().join("test/cmake");
    if build.exists() {
        std::fs::remove_dir_all(&build).context("cannot empty target/test/cmake")?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(prefix.join("bin")).chain(std::env::split_paths(&path)))?;
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(root().join("tests/cmake"))
        .arg("-B")
        .arg(&build)
        .env("PATH", &path);
    let text = quiet(&mut configure, RUN)?;
    ensure!(text.contains("Found MPI"), "FindMPI did not find us; it said:\n{text}");
    let cache = std::fs::read_to_string(build.join("CMakeCache.txt")).context("CMake's cache")?;
    let ours = prefix.join("bin/mpiexec").display().to_string();
    ensure!(cache.contains(&ours), "FindMPI found another MPI than {ours}");
    quiet(Command::new("cmake").arg("--build").arg(&build), RUN)?;
    let mut test = Command::new("ctest");
    quiet(test.arg("--output-on-failure").current_dir(&build), RUN).map(drop)
}

fn mpiexec(prefix: &Path, ranks: usize) -> Command {
    let mut command = Command::new(prefix.join("bin/mpiexec"));
    command.args(["-n", &ranks.to_string()]);
    command
}

/// A virtual environment of Python.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    fn new(name: &str) -> Self {
        let folder = target().join("outside").join(name);
        Self { folder }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    fn make(&self) -> Result<()> {
        if self.program("pip").exists() {
            return Ok(());
        }
        quiet(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&self.folder),
            INSTALL,
        )
        .map(drop)
    }

    /// What is there already, made under the same circumstances, is not asked for again.
    fn install(&self, what: &[&str], variables: &[(&str, &str)]) -> Result<()> {
        let done = self.folder.join("installed");
        let wanted = format!("{what:?} {variables:?}");
        if std::fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        let mut pip = Command::new(self.program("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(what);
        quiet(pip.envs(variables.iter().copied()), INSTALL)?;
        if let Err(error) = std::fs::write(&done, wanted) {
            bail!("cannot write {}: {error}", done.display());
        }
        Ok(())
    }
}
