//! Another processor, aarch64: everything compiled for it on this machine by Debian's compilers, and programs run by an emulator.
//!
//! The emulator runs processes (`qemu-user`): their memory, sockets and waits are those of this machine's kernel, and the launcher is this
//! machine's own, since the emulator lacks calls that `mpiexec` needs (`PR_SET_CHILD_SUBREAPER`), and single copies (`process_vm_readv`). It does not
//! show what another order of loads and stores would do, since it keeps the order of this machine's processor.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{INSTALL, RUN, folder, fortran, mpiexec};
use crate::process::{quiet, root};
use crate::tools::{self, Tool};

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
/// The emulator, and where it finds the C library.
const EMULATOR: &str = "qemu-aarch64 -L /usr/aarch64-linux-gnu";
/// For a program under the emulator.
const EMULATED: Duration = Duration::from_secs(600);
/// The whole workspace, on a busy machine.
const BUILD: Duration = Duration::from_secs(3600);

/// Programs of `tests/programs`, and on how many ranks they run.
const PROGRAMS: [(&str, usize); 12] = [
    ("collectives", 4),
    ("communicators", 4),
    ("datatypes", 2),
    ("errors", 2),
    ("file_random", 3),
    ("persistent", 4),
    ("point_to_point", 4),
    ("reductions", 4),
    ("threads_messages", 4),
    ("user_operation", 4),
    ("win_flavors", 3),
    ("win_results", 4),
];

/// Fetches compilers of 200 MB. Each program takes seconds, in which the emulator translates the library.
pub fn run(suite: &mut Suite, launcher: &Path) {
    if !fortran::has_packages() {
        suite.skip(
            "everything is compiled for aarch64",
            "Debian's packages for x86-64 are what it is done by",
        );
        return;
    }
    let at = folder("aarch64");
    let prefix = at.join("prefix");
    let is_ready = suite.step("compilers for aarch64 and an emulator are fetched", || {
        tools::need(&[Tool::CrossC, Tool::Emulator])?;
        rust(&at)
    });
    if !is_ready || !suite.step("everything is compiled for aarch64", || install(&at, &prefix)) {
        return;
    }
    for (name, ranks) in PROGRAMS {
        suite.step(&format!("{name} on {ranks} emulated ranks"), || {
            program(&at, &prefix, launcher, name, ranks)
        });
    }
    suite.step("isthmus info says what the emulated installation supports", || {
        let said = quiet(emulated(&prefix.join("bin/isthmus")).arg("info"), RUN)?;
        ensure!(said.contains(TRIPLE) && said.contains("libmpi.so.40"), "{said}");
        Ok(())
    });
}

/// A Rust that knows the processor, unpacked from Debian's packages: rustup's standard libraries are not among them.
fn rust(at: &Path) -> Result<()> {
    let (unpacked, wrapper) = (at.join("rust"), at.join("rustc"));
    if wrapper.exists() {
        return Ok(());
    }
    let (lists, cache) = (at.join("lists"), at.join("cache"));
    for below in [&unpacked, &lists.join("partial"), &cache.join("archives/partial")] {
        std::fs::create_dir_all(below).with_context(|| format!("cannot make {}", below.display()))?;
    }
    // This machine's own lists and architectures stay as they are.
    let apt = |words: &str| {
        let mut apt = Command::new("apt-get");
        apt.arg("-o").arg(format!("Dir::State::lists={}", lists.display()));
        apt.arg("-o").arg(format!("Dir::Cache={}", cache.display()));
        apt.args(["-o", "APT::Architectures::=amd64", "-o", "APT::Architectures::=arm64"]);
        apt.args(words.split_whitespace()).current_dir(cache.join("archives"));
        quiet(&mut apt, INSTALL)
    };
    apt("update")?;
    apt("install --download-only --no-install-recommends -y rustc-web")?;
    apt("download libstd-rust-web-dev:arm64")?;
    for entry in std::fs::read_dir(cache.join("archives"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            quiet(Command::new("dpkg").arg("-x").arg(&path).arg(&unpacked), INSTALL)?;
        }
    }
    for gone in [&lists, &cache] {
        std::fs::remove_dir_all(gone).with_context(|| format!("cannot remove {}", gone.display()))?;
    }
    let usr = unpacked.join("usr");
    let text = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH={0}/lib/x86_64-linux-gnu:{0}/lib exec {0}/bin/rustc \"$@\"\n",
        usr.display()
    );
    script(&wrapper, &text)
}

fn script(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// By this program itself, which is built for this machine.
fn install(at: &Path, prefix: &Path) -> Result<()> {
    let mut install = Command::new(std::env::current_exe().context("where this program is")?);
    install.args(["install", "--target", TRIPLE, "--prefix"]).arg(prefix);
    install.env("RUSTC", at.join("rustc")).env("CC", COMPILER);
    install
        .env("CARGO_TARGET_DIR", at.join("target"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    install.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", EMULATOR);
    quiet(&mut install, BUILD)?;
    script(&at.join("emulated"), &format!("#!/bin/sh\nexec {EMULATOR} \"$@\"\n"))
}

fn emulated(program: &Path) -> Command {
    let mut words = EMULATOR.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).arg(program);
    command
}

/// Its ranks are started by a script, since the kernel runs programs of this machine only.
fn program(at: &Path, prefix: &Path, launcher: &Path, name: &str, ranks: usize) -> Result<()> {
    let program: PathBuf = at.join(name);
    let mut compile = Command::new(prefix.join("bin/mpicc"));
    compile
        .args(["-O2", "-w", "-o"])
        .arg(&program)
        .env("ISTHMUS_CC", COMPILER);
    let source = root().join("tests/programs").join(name).with_extension("c");
    quiet(compile.arg(source).args(["-lm", "-lpthread"]), RUN)?;
    let mut run = mpiexec(launcher, ranks);
    run.env("ISTHMUS_CMA", "0").arg(at.join("emulated")).arg(&program);
    quiet(run.current_dir(at), EMULATED).map(drop)
}
