//! `isthmus.ga`, the Python module of Global Arrays, with NumPy and mpi4py: it finds our library by its own place alone.

use std::path::Path;

use anyhow::ensure;

use super::super::suite::Suite;
use super::python::Environment;
use super::{RUN, folder, mpiexec};
use crate::process::{quiet, root};

/// Random sections against NumPy on 1 to 9 ranks, beside mpi4py, and the example.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    let environment = Environment::new("arrays");
    if !suite.step("NumPy, mpi4py and matplotlib install", || {
        environment.make()?;
        environment.install("arrays", &["numpy", "mpi4py", "matplotlib"], &[])
    }) {
        return;
    }
    let python = |ranks: usize, arguments: &[&str]| {
        let mut run = mpiexec(prefix, ranks);
        run.arg(environment.program("python")).args(arguments);
        run.env("PYTHONPATH", prefix.join("lib/python"));
        run.current_dir(folder("arrays"));
        quiet(&mut run, RUN)
    };
    let tests = root().join("python/tests");
    let random = tests.join("random_sections.py").display().to_string();
    let (rounds, seeds) = if full { ("200", 1..=8) } else { ("12", 1..=1) };
    suite.step("isthmus.ga: random sections against NumPy on 1 to 9 ranks", || {
        for seed in seeds {
            for ranks in 1..=9 {
                let said = python(ranks, &[&random, rounds, &seed.to_string()])?;
                ensure!(said.contains("right"), "on {ranks}, seed {seed}: {said}");
            }
        }
        Ok(())
    });
    let linear = tests.join("linear_algebra.py").display().to_string();
    suite.step("isthmus.ga: linear algebra against NumPy on 1 to 4 ranks", || {
        for ranks in 1..=4 {
            let said = python(ranks, &[&linear])?;
            ensure!(said.contains("right"), "on {ranks}: {said}");
        }
        Ok(())
    });
    let beside = tests.join("beside_mpi4py.py").display().to_string();
    suite.step("isthmus.ga beside mpi4py, either imported first", || {
        for order in ["mpi4py", "ga"] {
            let said = python(3, &[&beside, order])?;
            ensure!(said.contains("right"), "{order} first: {said}");
        }
        Ok(())
    });
    let fock = root().join("examples/fock.py").display().to_string();
    suite.step(
        "a self-consistent field by isthmus.ga is NumPy's, on 1 to 4 ranks",
        || {
            for ranks in 1..=4 {
                let said = python(ranks, &[&fock])?;
                let error = said
                    .split("error ")
                    .nth(1)
                    .and_then(|text| text.trim().parse::<f64>().ok());
                ensure!(error.is_some_and(|error| error < 1e-8), "on {ranks}: {said}");
            }
            Ok(())
        },
    );
    let wave = root().join("examples/wave.py").display().to_string();
    suite.step("the example of isthmus.ga keeps its energy and makes a picture", || {
        let picture = folder("arrays").join("wave.png");
        // There may be one of a run before.
        let _ = std::fs::remove_file(&picture);
        let said = python(4, &[&wave, "120"])?;
        let mut energies = said.split("energy ").nth(1).unwrap_or_default().split(", then ");
        let mut energy = || {
            energies
                .next()
                .and_then(|text| text.trim().parse::<f64>().ok())
                .unwrap_or(f64::NAN)
        };
        let (first, last) = (energy(), energy());
        ensure!(first > 0.0 && (last / first - 1.0).abs() < 1e-9, "{said}");
        ensure!(picture.exists(), "no picture; it said: {said}");
        Ok(())
    });
}
