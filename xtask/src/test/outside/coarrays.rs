//! Coarrays of gfortran: Debian's OpenCoarrays, built for MPICH, runs on our `libmpi.so.12`.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use super::super::suite::Suite;
use super::{RUN, folder, fortran, mpiexec};
use crate::process::{quiet, root};
use crate::tools::Tool;

/// Where Debian's package has the library.
const LIBRARY: &str = "usr/lib/x86_64-linux-gnu/open-coarrays/mpich/lib";

/// Its own tests, as Debian has compiled them.
const TESTS: &str = "usr/lib/x86_64-linux-gnu/open-coarrays/mpich/bin/OpenCoarrays-2.10.1-tests";

/// How many images these want; others take 4.
const IMAGES: [(&str, usize); 6] = [
    // Its first and last image read each other's parts, and do not synchronize with each other where there are more.
    ("coarray_burgers_pde", 2),
    ("sync_team", 8),
    ("team_number", 8),
    ("issue-493-coindex-slice", 8),
    ("issue-515-mimic-mpi-gatherv", 2),
    ("issue-552-send_by_ref-singleton", 2),
];

/// Tests that cannot pass, by the beginning of their names, and why.
const NOT: [(&str, &str); 3] = [
    ("image_", "Debian's library is built without failed images"),
    (
        "increment_my_neighbor",
        "an image reads another's coarray before that has its initial value; MPICH fails on its 32 images, too",
    ),
    ("issue-488", "it wants an argument"),
];

/// Puts, gets, collectives, events, atomics, locks and teams on 1, 2 and 4 images; and OpenCoarrays' own tests.
pub fn run(suite: &mut Suite, prefix: &Path) {
    if !Tool::Fortran.is_there() || !fortran::has_packages() {
        return;
    }
    let unpacked = folder("coarrays");
    if !suite.step("Debian's OpenCoarrays for MPICH is fetched", || {
        fortran::fetch(&unpacked, &["libcoarrays-mpich-dev"])
    }) {
        return;
    }
    let program = unpacked.join("coarrays");
    suite.step("a program with coarrays runs on our libmpi.so.12", || {
        let library = unpacked.join(LIBRARY);
        let mut compile = Command::new("gfortran");
        compile
            .args(["-fcoarray=lib", "-O1", "-g", "-o"])
            .arg(&program)
            .arg(root().join("tests/fortran/coarrays.f90"))
            .arg("-L")
            .arg(&library)
            .arg("-L")
            .arg(prefix.join("lib"))
            .args(["-Wl,--disable-new-dtags", "-lcaf_mpich", "-lmpichfort", "-lmpich"])
            .arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
        quiet(&mut compile, RUN)?;
        for images in [1, 2, 4] {
            let said = quiet(mpiexec(prefix, images).arg(&program), RUN)?;
            ensure!(said.contains("right: "), "on {images} images: {said}");
        }
        Ok(())
    });
    suite.step(
        "OpenCoarrays' own tests, built for MPICH, pass on our libmpi.so.12",
        || own_tests(&unpacked.join(TESTS), prefix),
    );
}

fn own_tests(folder: &Path, prefix: &Path) -> Result<()> {
    let mut run = 0;
    let mut failed = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if NOT.iter().any(|(start, _)| name.starts_with(start)) {
            continue;
        }
        let images = IMAGES
            .iter()
            .find(|(one, _)| *one == name)
            .map_or(4, |(_, images)| *images);
        let mut program = mpiexec(prefix, images);
        program.arg(&path).env("LD_LIBRARY_PATH", prefix.join("lib"));
        run += 1;
        match quiet(&mut program, RUN) {
            Ok(said) if said.to_lowercase().contains("test passed") => {}
            Ok(said) => failed.push(format!("{name}: it does not say that it has passed: {said}")),
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    ensure!(run > 70, "there are {run} tests only");
    if !failed.is_empty() {
        bail!("{} of {run}:\n{}", failed.len(), failed.join("\n"));
    }
    Ok(())
}
