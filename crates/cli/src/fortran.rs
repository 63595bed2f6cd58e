//! `isthmus fortran`: the modules `mpi` and `mpi_f08` for a compiler, from their installed sources.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::prefix::Prefix;

/// In the order in which they need each other.
const SOURCES: [&str; 3] = ["mpi_f08_types.F90", "mpi.F90", "mpi_f08.F90"];

/// Options of the command.
#[derive(clap::Args)]
pub struct Arguments {
    /// The compiler, as mpifort is told it by ISTHMUS_FC
    #[arg(long, value_name = "COMPILER", default_value = "gfortran")]
    fc: String,
}

/// Compile the modules, and put them where `mpifort` looks for those of this compiler. Blocks for seconds.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let prefix = Prefix::own()?;
    let words: Vec<&str> = arguments.fc.split_whitespace().collect();
    let (compiler, options) = words.split_first().context("--fc names no compiler")?;
    let longer = longer_reals(options);
    let version = version(compiler, options)? + longer;
    // Another version of Isthmus may have had other modules.
    let all = prefix.fortran_modules();
    let folder = all.join(&version);
    let new = all.join(format!("{version}.{}", std::process::id()));
    std::fs::create_dir_all(&new).with_context(|| {
        format!(
            "cannot make {}: the owner of the installation can make the modules",
            new.display()
        )
    })?;
    let made = compile(&prefix, compiler, options, &new).and_then(|()| replace(&new, &folder));
    if made.is_err() {
        // The rest is of no use, and the first error is the one to report.
        let _ = std::fs::remove_dir_all(&new);
    }
    made?;
    println!("Fortran modules for {}: {}", arguments.fc, folder.display());
    // pkg-config's are those for REALs as they are.
    if !longer.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let default = all.join("default");
    let link = all.join(format!("default.{}", std::process::id()));
    std::os::unix::fs::symlink(&version, &link)
        .and_then(|()| std::fs::rename(&link, &default))
        .with_context(|| format!("cannot link {}", default.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Options that make REALs longer are part of the folder's name, since datatypes are others in these modules; `mpifort` does the same.
fn longer_reals(options: &[&str]) -> &'static str {
    let is_real = |option: &&str| ["-fdefault-real-8", "-r8", "-autodouble"].contains(option);
    let has_reals = options.iter().any(is_real) || options.windows(2).any(|pair| pair == ["-real-size", "64"]);
    match (has_reals, options.contains(&"-fdefault-double-8")) {
        (true, true) => "-r8-d8",
        (true, false) => "-r8",
        (false, true) => "-d8",
        (false, false) => "",
    }
}

/// What the compiler says of its version, as the name of a folder; `mpifort` does the same.
fn version(compiler: &str, options: &[&str]) -> Result<String> {
    let output = Command::new(compiler)
        .args(options)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {compiler}; Debian, Ubuntu: apt install gfortran"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = folder_name(&text);
    ensure!(
        !name.is_empty(),
        "'{compiler} --version' does not say which version it is"
    );
    Ok(name)
}

/// The first line that is not empty, of which letters, digits and dots stay, and the others are one `-`.
fn folder_name(text: &str) -> String {
    let line = text.lines().find(|line| !line.is_empty()).unwrap_or_default();
    let mut name = String::new();
    for letter in line.chars() {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            name.push(letter);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

fn compile(prefix: &Prefix, compiler: &str, options: &[&str], folder: &Path) -> Result<()> {
    for source in SOURCES {
        let object = Path::new(source).with_extension("o");
        let output = Command::new(compiler)
            .args(options)
            .current_dir(folder)
            .arg("-c")
            .arg(prefix.fortran_sources().join(source))
            .arg("-o")
            .arg(&object)
            .output()
            .with_context(|| format!("cannot run {compiler}"))?;
        ensure!(
            output.status.success(),
            "{compiler} cannot compile {source}:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        // The modules have no code: all of it is in the library.
        std::fs::remove_file(folder.join(&object)).with_context(|| format!("cannot remove {}", object.display()))?;
    }
    Ok(())
}

/// Put a folder in the place of another.
fn replace(new: &Path, folder: &Path) -> Result<()> {
    // There may be one from before.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::rename(new, folder).with_context(|| format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_by_versions() {
        let gnu = "GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright\n";
        assert_eq!(folder_name(gnu), "GNU-Fortran-Debian-12.2.0-14-deb12u1-12.2.0");
        assert_eq!(folder_name("\nflang version 19 (x)\n"), "flang-version-19-x");
        assert_eq!(folder_name(""), "");
    }

    #[test]
    fn folders_are_named_by_the_length_of_reals() {
        assert_eq!(longer_reals(&["-O2", "-r9"]), "");
        assert_eq!(longer_reals(&["-real-size", "64"]), "-r8");
        assert_eq!(longer_reals(&["-fdefault-double-8", "-fdefault-real-8"]), "-r8-d8");
    }
}
