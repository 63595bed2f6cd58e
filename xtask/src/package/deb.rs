//! `deb`: packages for Debian and its kin. An installation stands as a whole in a folder of its own, since other MPIs have libraries of the same
//! names; in `/usr/bin` are its commands with the suffix `.isthmus`, and alternatives lead to them (docs/decisions/0186).

use std::fmt::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{VERSION, deb_try, entries, folder, glibc, remove, run, staged, write};
use crate::process::root;

/// The prefix, without its slash.
const PREFIX: &str = "usr/lib/isthmus";

/// Of Debian's MPIs Open MPI has 50 for both, MPICH 40.
const MPIRUN_PRIORITY: u32 = 60;
const MPICC_PRIORITY: u32 = 30;

/// A package: its name, what it depends on beside libraries of the system, what it is.
struct Package {
    name: &'static str,
    section: &'static str,
    depends: &'static str,
    summary: &'static str,
    description: &'static str,
}

const LIBRARIES: Package = Package {
    name: "libisthmus0",
    section: "libs",
    depends: "",
    summary: "MPI for Linux: libraries of three ABIs",
    description: "Isthmus moves data between the processes of one machine. Its libraries have the names and the ABIs of the MPI standard \
                  (libmpi_abi.so.1), of MPICH (libmpi.so.12) and of Open MPI (libmpi.so.40), and stand in a folder of their own.",
};
const COMMANDS: Package = Package {
    name: "isthmus",
    section: "science",
    depends: "libisthmus0 (= @VERSION@)",
    summary: "MPI for Linux: launcher, measurements, diagnosis",
    description: "mpiexec starts programs that were compiled for the standard ABI of MPI, for MPICH or for Open MPI, as Debian's are, on the \
                  libraries of Isthmus. The command isthmus says what the machine allows, and measures.",
};
const DEVELOPMENT: Package = Package {
    name: "libisthmus-dev",
    section: "libdevel",
    depends: "libisthmus0 (= @VERSION@), isthmus (= @VERSION@), gcc | c-compiler",
    summary: "MPI for Linux: compiler wrappers, headers, Fortran modules",
    description: "mpicc, mpicxx and mpifort of Isthmus, headers for three ABIs, modules for Fortran, manual pages of all procedures.",
};

/// Commands that are no part of development.
const RUNNING: [&str; 5] = ["mpiexec", "mpirun", "isthmus", "oshrun", "shmemrun"];

/// `deb [--try]`: make the packages; with `--try` also install them over a copy of this system, run Debian's programs, and remove them.
pub fn run_command(arguments: &[String]) -> Result<()> {
    let tried = match arguments {
        [] => false,
        [option] if option == "--try" => true,
        _ => bail!("usage: cargo xtask deb [--try]"),
    };
    let packages = make()?;
    for package in &packages {
        println!("{}", package.display());
    }
    if tried {
        println!("{}", try_out(&packages)?);
    }
    Ok(())
}

/// Install them over a copy of this system, run Debian's programs, and remove them. Returns a report.
pub fn try_out(packages: &[PathBuf]) -> Result<String> {
    deb_try::run(packages)
}

/// Build the packages, which stay in `target/package`.
pub fn make() -> Result<Vec<PathBuf>> {
    let architecture =
        run(Command::new("dpkg").arg("--print-architecture")).context("packages are made on Debian and its kin")?;
    let stage = staged()?;
    let (major, minor) = glibc(&stage)?;
    let system = format!("libc6 (>= {major}.{minor}), libgcc-s1");
    let work = folder().join("deb");
    remove(&work)?;
    let mut made = Vec::new();
    for (package, fill) in [
        (&LIBRARIES, libraries as fn(&Path, &Path) -> Result<()>),
        (&COMMANDS, commands),
        (&DEVELOPMENT, development),
    ] {
        let tree = work.join(package.name);
        std::fs::create_dir_all(tree.join(PREFIX)).with_context(|| format!("cannot make {}", tree.display()))?;
        fill(&stage, &tree)?;
        copyright(&tree, package)?;
        let pages = tree.join("usr/share/man");
        if pages.exists() {
            run(Command::new("gzip").arg("-9nr").arg(&pages))?;
        }
        control(&tree, package, architecture.trim(), &system)?;
        let file = folder().join(format!("{}_{VERSION}_{}.deb", package.name, architecture.trim()));
        run(Command::new("dpkg-deb")
            .args(["--build", "--root-owner-group"])
            .arg(&tree)
            .arg(&file))?;
        made.push(file);
    }
    remove(&work)?;
    Ok(made)
}

fn libraries(stage: &Path, tree: &Path) -> Result<()> {
    for below in ["lib", "lib/isthmus", "lib/isthmus/openmpi"] {
        for path in entries(&stage.join(below))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.contains(".so.") {
                take(&path, &tree.join(PREFIX).join(below))?;
            }
        }
    }
    Ok(())
}

fn commands(stage: &Path, tree: &Path) -> Result<()> {
    let prefix = tree.join(PREFIX);
    for name in RUNNING {
        take(&stage.join("bin").join(name), &prefix.join("bin"))?;
    }
    take(&stage.join("lib/python"), &prefix.join("lib"))?;
    take(&stage.join("share/isthmus/bench"), &prefix.join("share/isthmus"))?;
    take(
        &stage.join("share/isthmus/valgrind.supp"),
        &prefix.join("share/isthmus"),
    )?;
    let bin = tree.join("usr/bin");
    point(&bin.join("isthmus"), "../lib/isthmus/bin/isthmus")?;
    for name in ["mpiexec", "mpirun"] {
        point(&bin.join(format!("{name}.isthmus")), "../lib/isthmus/bin/mpiexec")?;
        page(
            &stage.join("share/man/man1/mpiexec.1"),
            tree,
            1,
            &format!("{name}.isthmus.1"),
        )?;
    }
    for path in entries(&stage.join("share/man/man1"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("isthmus") {
            page(&path, tree, 1, &name)?;
        }
    }
    page(
        &stage.join("share/man/man7/isthmus_tunables.7"),
        tree,
        7,
        "isthmus_tunables.7",
    )?;
    // Completion of mpiexec has the name of the others': it is told by the manual.
    take(
        &stage.join("share/bash-completion/completions/isthmus"),
        &tree.join("usr/share/bash-completion/completions"),
    )?;
    take(
        &stage.join("share/zsh/site-functions/_isthmus"),
        &tree.join("usr/share/zsh/vendor-completions"),
    )?;
    take(
        &stage.join("share/fish/vendor_completions.d/isthmus.fish"),
        &tree.join("usr/share/fish/vendor_completions.d"),
    )?;
    for path in entries(&stage.join("share/doc/isthmus"))? {
        take(&path, &tree.join("usr/share/doc/isthmus"))?;
    }
    let slaves = [("mpiexec", "mpiexec.isthmus")];
    let pages = ["mpiexec", "mpirun"];
    scripts(tree, "mpirun", MPIRUN_PRIORITY, "mpirun", &slaves, &pages, "")
}

fn development(stage: &Path, tree: &Path) -> Result<()> {
    let prefix = tree.join(PREFIX);
    take(&stage.join("include"), &prefix)?;
    take(&stage.join("lib/pkgconfig"), &prefix.join("lib"))?;
    if stage.join("lib/isthmus/fortran").exists() {
        take(&stage.join("lib/isthmus/fortran"), &prefix.join("lib/isthmus"))?;
    }
    take(&stage.join("share/isthmus/fortran"), &prefix.join("share/isthmus"))?;
    for path in entries(&stage.join("lib"))? {
        if path.extension().is_some_and(|end| end == "so") {
            take(&path, &prefix.join("lib"))?;
        }
    }
    for path in entries(&stage.join("bin"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if RUNNING.contains(&name.as_str()) {
            continue;
        }
        take(&path, &prefix.join("bin"))?;
        point(
            &tree.join("usr/bin").join(format!("{name}.isthmus")),
            &format!("../lib/isthmus/bin/{name}"),
        )?;
    }
    for name in WRAPPERS {
        let of = if name == "mpic++" || name == "mpicxx" {
            "mpicxx"
        } else if name == "mpicc" {
            "mpicc"
        } else {
            "mpifort"
        };
        page(
            &stage.join("share/man/man1").join(format!("{of}.1")),
            tree,
            1,
            &format!("{name}.isthmus.1"),
        )?;
    }
    // Other MPIs have pages of the same names.
    for path in entries(&stage.join("share/man/man3"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        page(&path, tree, 3, &format!("{name}isthmus"))?;
    }
    let slaves: Vec<_> = WRAPPERS[1..]
        .iter()
        .map(|name| (*name, format!("{name}.isthmus")))
        .collect();
    let slaves: Vec<_> = slaves.iter().map(|(name, own)| (*name, own.as_str())).collect();
    let made_later = format!("    rm -rf /{PREFIX}/lib/isthmus/fortran\n");
    scripts(tree, "mpi", MPICC_PRIORITY, "mpicc", &slaves, &WRAPPERS, &made_later)
}

/// The names that alternatives have for wrappers; the first leads the others.
const WRAPPERS: [&str; 6] = ["mpicc", "mpic++", "mpicxx", "mpif77", "mpif90", "mpifort"];

/// A file, link or folder of the stage, as it is.
fn take(from: &Path, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
    run(Command::new("cp").arg("-a").arg(from).arg(into)).map(drop)
}

fn point(link: &Path, to: &str) -> Result<()> {
    if let Some(folder) = link.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    symlink(to, link).with_context(|| format!("cannot link {}", link.display()))
}

/// A page of the manual; of a link the same text.
fn page(from: &Path, tree: &Path, section: u32, name: &str) -> Result<()> {
    let text = std::fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(&tree.join(format!("usr/share/man/man{section}")).join(name), &text)
}

fn copyright(tree: &Path, package: &Package) -> Result<()> {
    let mut text = String::from("Isthmus is under the Apache License 2.0 or the MIT licence, at your choice.\n");
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let path = root().join(licence);
        let licence = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        text.push('\n');
        text.push_str(&licence);
    }
    write(&tree.join("usr/share/doc").join(package.name).join("copyright"), &text)
}

fn control(tree: &Path, package: &Package, architecture: &str, system: &str) -> Result<()> {
    let size = run(Command::new("du").arg("-sk").arg(tree))?;
    let size = size.split_whitespace().next().context("du says a size")?.to_owned();
    let depends = match package.depends {
        "" => system.to_owned(),
        own => format!("{}, {system}", own.replace("@VERSION@", VERSION)),
    };
    let recommends = if package.name == "libisthmus0" {
        "Recommends: libfabric1\n"
    } else {
        ""
    };
    write(
        &tree.join("DEBIAN/control"),
        &format!(
            "Package: {}\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: Isthmus <isthmus@localhost>\nSection: {}\nPriority: optional\n\
             Installed-Size: {size}\nDepends: {depends}\n{recommends}Description: {}\n{}",
            package.name,
            package.section,
            package.summary,
            folded(package.description)
        ),
    )
}

/// A description in lines that begin with a blank.
fn folded(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 76 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!(" {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// Scripts of dpkg that add and remove an alternative `group`, whose link is `/usr/bin/LEADER`, with further commands and manual pages.
fn scripts(
    tree: &Path,
    group: &str,
    priority: u32,
    leader: &str,
    slaves: &[(&str, &str)],
    pages: &[&str],
    on_removal: &str,
) -> Result<()> {
    let mut install =
        format!("    update-alternatives --install /usr/bin/{leader} {group} /usr/bin/{leader}.isthmus {priority}");
    for (name, own) in slaves {
        write!(install, " \\\n        --slave /usr/bin/{name} {name} /usr/bin/{own}")?;
    }
    for name in pages {
        write!(
            install,
            " \\\n        --slave /usr/share/man/man1/{name}.1.gz {name}.1.gz /usr/share/man/man1/{name}.isthmus.1.gz"
        )?;
    }
    let script = |when: &str, what: &str| format!("#!/bin/sh\nset -e\nif {when}; then\n{what}fi\n");
    let removed = "[ \"$1\" = remove ] || [ \"$1\" = deconfigure ]";
    let remove_alternative = format!("    update-alternatives --remove {group} /usr/bin/{leader}.isthmus\n");
    for (name, text) in [
        ("postinst", script("[ \"$1\" = configure ]", &format!("{install}\n"))),
        ("prerm", script(removed, &format!("{remove_alternative}{on_removal}"))),
    ] {
        let path = tree.join("DEBIAN").join(name);
        write(&path, &text)?;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).with_context(|| format!("cannot make {name} executable"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_fit_a_screen() {
        let text = folded(LIBRARIES.description);
        assert!(
            text.lines().all(|line| line.starts_with(' ') && line.len() <= 78),
            "{text}"
        );
    }
}
