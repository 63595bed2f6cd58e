//! Fortran solvers that Debian has built for other MPIs: ScaLAPACK's own tests for MPICH, on our `libmpi.so.12`; examples of MUMPS for Open MPI, on our
//! `libmpi.so.40`; and dtFFT from PyPI.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{RUN, folder, fortran};
use crate::process::{quiet, root};
use crate::tools::{self, Tool};

/// Where Debian's packages have files of this processor.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// What ScaLAPACK's tests are run of unless all are wanted: factorizations, a least-squares problem, eigenvalues, products.
const SLICE: [&str; 6] = ["xdlu", "xzllt", "xdls", "xsnep", "xcdtlu", "PBLAS/dpb2tst"];

/// All of them, on 4 ranks; dtFFT on fewer, too.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    if !fortran::has_packages() {
        return;
    }
    let unpacked = folder("scalapack");
    let fetched = suite.step("Debian's tests of ScaLAPACK for MPICH are fetched", || {
        tools::need(&[Tool::Scalapack])?;
        fortran::fetch(&unpacked, &["scalapack-mpi-test", "scalapack-test-common"])
    });
    if fetched {
        let tests = unpacked.join(LIBRARIES).join("scalapack/mpich-tests");
        suite.step("ScaLAPACK's tests pass on our libmpi.so.12", || {
            scalapack(prefix, &tests, full)
        });
    }
    let unpacked = folder("mumps");
    let fetched = suite.step("Debian's MUMPS for Open MPI is fetched", || {
        tools::need(&[Tool::OpenMpiScalapack])?;
        fortran::fetch(&unpacked, &["mumps-test", "libmumps-5.5"])
    });
    if fetched {
        suite.step("MUMPS solves its examples on our libmpi.so.40", || {
            mumps(prefix, &unpacked)
        });
    }
    transforms(suite, prefix);
}

/// The wheel is compiled for MPICH, whose C++ library it names and calls nothing of: Debian has that by another name.
fn transforms(suite: &mut Suite, prefix: &Path) {
    let environment = Environment::new("dtfft");
    let library = folder("mpich-fortran").join(LIBRARIES).join("libmpichcxx.so.12");
    let fetched = suite.step("dtFFT for MPICH installs", || {
        tools::need(&[Tool::Fftw])?;
        environment.make()?;
        environment.install("dtfft", &["dtfft-fftw-mpich==3.2.0", "numpy", "mpi4py"], &[])?;
        fortran::fetch(&folder("mpich-fortran"), &["libmpich-dev", "libmpich12"])?;
        std::fs::copy(&library, environment.folder.join("libmpicxx.so.12"))
            .map(drop)
            .context("cannot copy libmpichcxx.so.12")
    });
    if fetched {
        suite.step("transforms by dtFFT are NumPy's on our libmpifort.so.12", || {
            for ranks in [1, 3, 4] {
                let mut run = launched(prefix, ranks, &environment.folder);
                run.arg(environment.program("python"))
                    .arg(root().join("tests/fortran/transform.py"));
                let said = quiet(&mut run, RUN)?;
                ensure!(said.contains("right: 6 ways"), "on {ranks} ranks: {said}");
            }
            Ok(())
        });
    }
}

/// Both libraries first by their path, and one thread a rank.
fn launched(prefix: &Path, ranks: usize, libraries: &Path) -> Command {
    let mut command = super::mpiexec(prefix, ranks);
    command.env(
        "LD_LIBRARY_PATH",
        format!("{}:{}", prefix.join("lib").display(), libraries.display()),
    );
    command.env("OPENBLAS_NUM_THREADS", "1");
    command
}

/// Each says how many of its problems were right.
fn scalapack(prefix: &Path, tests: &Path, full: bool) -> Result<()> {
    let mut failed = Vec::new();
    let programs = if full {
        all(tests)?
    } else {
        SLICE.map(str::to_owned).to_vec()
    };
    for name in &programs {
        let path = tests.join(name);
        let folder = path.parent().context("a program is in a folder")?;
        let mut program = launched(prefix, 4, &tests.join("../.."));
        match quiet(program.arg(&path).current_dir(folder), RUN) {
            Ok(said) => match results(&said) {
                (passed, 0) if passed > 0 => {}
                _ => failed.push(format!("{name}: {said}")),
            },
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    if full {
        failed.extend(["xFbtest", "xCbtest"].iter().filter_map(|name| {
            blacs(prefix, tests, name)
                .err()
                .map(|error| format!("{name}: {error:#}"))
        }));
    }
    if !failed.is_empty() {
        bail!("{} of {}:\n{}", failed.len(), programs.len(), failed.join("\n"));
    }
    Ok(())
}

/// Every program of the package, but those that measure.
fn all(tests: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in ["", "PBLAS/"] {
        for entry in std::fs::read_dir(tests.join(folder))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with('x') && !name.ends_with("btest") || name.ends_with("tst") {
                found.push(format!("{folder}{name}"));
            }
        }
    }
    found.sort();
    ensure!(found.len() > 80, "there are {} tests only", found.len());
    Ok(found)
}

/// The tests of what ScaLAPACK sends by. Their last one ends all processes by an error, and is left out.
fn blacs(prefix: &Path, tests: &Path, name: &str) -> Result<()> {
    let made = folder("blacs");
    std::fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
    for entry in std::fs::read_dir(tests.join("../../../../share/scalapack/BLACS"))? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let lines = text.lines().map(|line| match line.contains("Run AUX?") {
            true => "'F'".to_owned(),
            false => line.to_owned(),
        });
        let text = lines.map(|line| line + "\n").collect::<String>();
        std::fs::write(made.join(path.file_name().unwrap_or_default()), text)?;
    }
    let mut program = launched(prefix, 4, &tests.join("../.."));
    let said = quiet(program.arg(tests.join(name)).current_dir(&made), RUN)?;
    let (passed, failed) = results(&said);
    ensure!(passed > 10_000 && failed == 0, "{said}");
    Ok(())
}

/// How many problems passed, and how many did not: by a line that counts each, by a table of routines, by counts in one line; or, where there is no count,
/// by lines that begin or end with the word.
fn results(said: &str) -> (u32, u32) {
    let mut counted = (0, 0);
    let mut named = (0, 0);
    let number = |word: Option<&&str>| word.and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = |what: &str| {
            number(
                words
                    .iter()
                    .position(|word| *word == what)
                    .and_then(|at| words.get(at.wrapping_sub(1))),
            )
        };
        if line.contains("tests completed and passed") {
            counted.0 += number(words.first());
        } else if line.contains("tests completed and failed") {
            counted.1 += number(words.first());
        } else if words.first() == Some(&"|") && words.len() == 6 {
            counted.0 += number(words.get(3));
            counted.1 += number(words.get(4));
        } else if line.contains(" PASSED,") && line.ends_with(" FAILED.") {
            counted.0 += before("PASSED,");
            counted.1 += before("FAILED.");
        }
        let is = |what: &str| {
            [words.first(), words.last()]
                .into_iter()
                .flatten()
                .any(|word| word.eq_ignore_ascii_case(what))
        };
        named.0 += u32::from(is("passed"));
        named.1 += u32::from(is("failed"));
    }
    if counted == (0, 0) { named } else { counted }
}

/// The solution of the package's example, a matrix of 5 rows, in each kind of numbers: 1 to 5.
fn mumps(prefix: &Path, unpacked: &Path) -> Result<()> {
    let programs = unpacked.join("usr/lib/mumps");
    for (name, input) in [
        ("ssimpletest", "input_simpletest_real"),
        ("dsimpletest", "input_simpletest_real"),
        ("csimpletest", "input_simpletest_cmplx"),
        ("zsimpletest", "input_simpletest_cmplx"),
    ] {
        let mut program = launched(prefix, 4, &unpacked.join(LIBRARIES));
        program
            .args(["sh", "-c", "exec \"$0\" < \"$1\""])
            .arg(programs.join(name))
            .arg(programs.join(input));
        let said = quiet(&mut program, RUN)?;
        let solution = said
            .split("Solution is")
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default();
        let numbers: Vec<f64> = solution
            .split(['(', ')', ' '])
            .filter(|text| !text.is_empty())
            .filter_map(|text| text.split(',').next().and_then(|real| real.parse().ok()))
            .collect();
        let is_right = numbers.len() == 5 && numbers.iter().zip(1..).all(|(x, n)| (x - f64::from(n)).abs() < 1e-4);
        ensure!(is_right, "{name}: {solution}; it said:\n{said}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_in_each_form() {
        let lines =
            "  240 tests completed and passed residual checks.\n    1 tests completed and failed residual checks.\n";
        assert_eq!(results(lines), (240, 1));
        assert_eq!(
            results("  |  PDSWAP           16        15        1       0\n"),
            (15, 1)
        );
        assert_eq!(
            results("INTEGER TESTS:   75 TESTS;   50 PASSED,   24 SKIPPED,    1 FAILED.\n"),
            (50, 1)
        );
        assert_eq!(
            results("  500  50    2    2     0.60 PASSED\nFailed 1 2\nRESULT : passed; or not\n"),
            (1, 1)
        );
        assert_eq!(results("nothing"), (0, 0));
    }
}
