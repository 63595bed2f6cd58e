//! Packages: recipes are linted; wheel, source distribution and Debian packages are made, installed, used and removed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{RUN, folder, mpiexec};
use crate::package::{deb, wheel};
use crate::process::{cargo, quiet, root};
use crate::tools;

/// Building once more, elsewhere.
const BUILD: Duration = Duration::from_secs(3600);

/// All of it. The packages are made of an installation of their own.
pub fn run(suite: &mut Suite) {
    let environment = Environment::new("packages");
    if suite.step("linters of recipes install", || {
        environment.make()?;
        environment.install("linters", &["py-rattler-build==0.73.0", "ruff"], &[])
    }) {
        suite.step("recipes for Conda and Spack are well-formed", || {
            let mut lint = Command::new(environment.program("python"));
            quiet(lint.arg(root().join("packaging/lint.py")), RUN).map(drop)
        });
    }
    suite.step(
        "a wheel goes with mpi4py and MPICH's wheel in one environment, and leaves nothing",
        || wheel::try_out(&wheel::make()?),
    );
    suite.step(
        "install --destdir has all of a prefix below a folder, which runs there",
        || {
            let (to, prefix) = (folder("destdir"), "/opt/isthmus of a package");
            let mut install = cargo();
            install
                .args(["xtask", "install", "--prefix", prefix, "--destdir"])
                .arg(&to);
            quiet(&mut install, BUILD)?;
            ensure!(!Path::new(prefix).exists(), "{prefix} was made");
            let run = mpiexec(&to.join(&prefix[1..]), 2).arg("true").output()?;
            ensure!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            std::fs::remove_dir_all(&to).with_context(|| format!("cannot remove {}", to.display()))
        },
    );
    suite.step("a wheel is made from the source distribution alone", || {
        from_sources(&environment)
    });
    let name = "Debian's packages run its programs, and leave nothing";
    if !Path::new("/etc/debian_version").exists() || !tools::is_root() {
        suite.skip(name, "they are installed on Debian, by root");
        return;
    }
    suite.step(name, || deb::try_out(&deb::make()?).map(drop));
}

/// The source distribution of this checkout, unpacked elsewhere, has all that pip needs to make the wheel.
fn from_sources(environment: &Environment) -> Result<()> {
    let work = folder("sdist");
    let _ = std::fs::remove_dir_all(&work); // From the last time.
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let mut pack = Command::new(environment.program("python"));
    pack.args(["-c", "import sys, backend; print(backend.build_sdist(sys.argv[1]))"])
        .arg(&work);
    let name = quiet(pack.env("PYTHONPATH", root().join("packaging/python")), RUN)?;
    let archive = work.join(name.trim());
    let mut wheel = environment.pip("wheel");
    wheel
        .args(["--no-deps", "--no-build-isolation", "--wheel-dir"])
        .arg(&work)
        .arg(&archive);
    // Cargo's outputs stay for the next time; the code need not be fast.
    wheel
        .env("CARGO_TARGET_DIR", folder("sdist-target"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    quiet(&mut wheel, BUILD)?;
    let made = std::fs::read_dir(&work)?.flatten();
    let is_wheel = |path: &Path| path.extension().is_some_and(|extension| extension == "whl");
    ensure!(
        made.into_iter().any(|entry| is_wheel(&entry.path())),
        "pip made no wheel"
    );
    std::fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))
}
