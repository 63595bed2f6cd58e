//! Documents of an installation: manual pages, completion of shells, and what users are told of them.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::machine::Machine;
use super::{copy, folder, point, write};
use crate::generate::manual;
use crate::process::root;

/// A shell, where its completions are looked for below `share`, and how the file of command `@` is called there.
const SHELLS: [(&str, &str, &str); 3] = [
    ("bash", "bash-completion/completions", "@"),
    ("zsh", "zsh/site-functions", "_@"),
    ("fish", "fish/vendor_completions.d", "@.fish"),
];

/// Into a prefix whose commands are there already: they print their own manual and completion, where they can be run.
pub fn install(machine: &Machine, prefix: &Path) -> Result<()> {
    let bin = prefix.join("bin");
    let share = folder(prefix, "share")?;
    let documents = folder(&share, "doc/isthmus")?;
    for name in [
        "unfinished.md",
        "debugging.md",
        "checking.md",
        "profiling.md",
        "compatibility.md",
        "openmpi.md",
    ] {
        copy(&root().join("docs").join(name), &documents.join(name))?;
    }
    if machine.run(&bin.join("isthmus")).is_some() {
        of_commands(machine, &bin, &share)?;
    }
    let procedures = folder(&share, "man/man3")?;
    for (name, text) in manual::pages(&root())? {
        write(&procedures.join(name), &text, 0o644)?;
    }
    for (name, to) in manual::links(&root())? {
        point(&procedures.join(name), &to)?;
    }
    Ok(())
}

/// Completion of shells, and the pages that commands print.
fn of_commands(machine: &Machine, bin: &Path, share: &Path) -> Result<()> {
    for (shell, below, called) in SHELLS {
        let completions = folder(share, below)?;
        for (name, argument) in [
            ("mpiexec", format!("--print-completion={shell}")),
            ("isthmus", format!("print {shell}")),
        ] {
            write(
                &completions.join(called.replace('@', name)),
                &printed(machine, &bin.join(name), &argument)?,
                0o644,
            )?;
        }
        // zsh's file names both commands.
        if shell != "zsh" {
            let link = completions.join(called.replace('@', "mpirun"));
            point(&link, &called.replace('@', "mpiexec"))?;
        }
    }
    commands(machine, bin, &folder(share, "man/man1")?)?;
    let tunables = printed(machine, &bin.join("isthmus"), "print tunables")?;
    write(&folder(share, "man/man7")?.join("isthmus_tunables.7"), &tunables, 0o644)?;
    Ok(())
}

/// Pages of commands.
fn commands(machine: &Machine, bin: &Path, pages: &Path) -> Result<()> {
    write(
        &pages.join("mpiexec.1"),
        &printed(machine, &bin.join("mpiexec"), "--print-manual")?,
        0o644,
    )?;
    let isthmus = machine.run(&bin.join("isthmus"));
    let printed_pages = isthmus
        .context("cannot run isthmus")?
        .args(["print", "manual"])
        .arg(pages)
        .status();
    ensure!(
        printed_pages.context("cannot run isthmus")?.success(),
        "isthmus cannot write its manual pages into {}",
        pages.display()
    );
    for (name, option, purpose) in [
        ("mpicc", "-help", "compile and link C"),
        ("mpicxx", "-help", "compile and link C++"),
        ("mpifort", "-help", "compile and link Fortran"),
        ("oshcc", "-help", "compile and link OpenSHMEM programs in C"),
        ("oshcxx", "-help", "compile and link OpenSHMEM programs in C++"),
        (
            "ga-config",
            "--help",
            "print how programs that use Global Arrays are compiled and linked",
        ),
    ] {
        // A script.
        let help = printed(&Machine::default(), &bin.join(name), option)?;
        let text = format!(
            ".TH {} 1 \"\" Isthmus\n.SH NAME\n{} \\- {purpose} with Isthmus\n.SH SYNOPSIS\n.nf\n{}.fi\n.SH SEE ALSO\n\
             \\fBmpiexec\\fR(1), \\fBisthmus\\fR(1)\n",
            manual::plain(&name.to_uppercase()),
            manual::plain(name),
            manual::plain(&help)
        );
        write(&pages.join(format!("{name}.1")), &text, 0o644)?;
    }
    other_names(bin, pages)
}

/// A link to its page for each command that is a link to another.
fn other_names(bin: &Path, pages: &Path) -> Result<()> {
    for entry in std::fs::read_dir(bin).with_context(|| format!("cannot read {}", bin.display()))? {
        let path = entry?.path();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(to) = std::fs::read_link(&path) {
            point(&pages.join(format!("{}.1", name(&path))), &format!("{}.1", name(&to)))?;
        }
    }
    Ok(())
}

/// Say how the shell and man(1) find them.
pub fn told(prefix: &Path) {
    let prefix = prefix.display();
    println!(
        "commands:      export PATH={prefix}/bin:$PATH\n\
         manual pages:  man -M {prefix}/share/man MPI_Send (man finds them by itself where {prefix}/bin is in PATH)\n\
         completion:    bash: source {prefix}/share/bash-completion/completions/mpiexec (and .../isthmus)\n\
         \x20              zsh: fpath+=({prefix}/share/zsh/site-functions) before compinit\n\
         \x20              fish: set -a fish_complete_path {prefix}/share/fish/vendor_completions.d"
    );
}

/// What a program that was just built prints.
fn printed(machine: &Machine, program: &Path, arguments: &str) -> Result<String> {
    let cannot = || format!("cannot run {}", program.display());
    let output = machine
        .run(program)
        .with_context(cannot)?
        .args(arguments.split_whitespace())
        .output()
        .with_context(cannot)?;
    ensure!(
        output.status.success(),
        "{} {arguments}: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
