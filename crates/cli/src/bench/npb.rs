//! The NAS parallel benchmarks from a folder that the user names (NPB-MPI 3.3 or 3.4): a program for each kernel and class, made by our `mpifort` and
//! `mpicc` in a copy of the folder. Their licence keeps them out of this repository.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::process::{self, Finished, Limits};
use crate::prefix::Prefix;

/// Its name among the programs of experiments; results are called `nas`, as those of bench/nas.c.
pub const PROGRAM: &str = "npb";
/// The benchmark's kernels, in the order of rows: first those that bench/nas.c has, too.
pub const KERNELS: [&str; 8] = ["ft", "is", "cg", "mg", "ep", "lu", "bt", "sp"];
/// The classes, in the order of rows.
pub const CLASSES: &str = "SWABC";
/// A make that prints nothing for so long hangs; a kernel of class C takes minutes.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(900);

/// The row of this kernel and class.
pub const fn row(kernel: usize, class: usize) -> u64 {
    (kernel * CLASSES.len() + class) as u64
}

/// Whether a kernel runs on so many ranks: BT and SP on squares, the others on powers of two.
pub fn runs_on(kernel: &str, ranks: u32) -> bool {
    match kernel {
        "bt" | "sp" => ranks.isqrt().pow(2) == ranks,
        _ => ranks.is_power_of_two(),
    }
}

/// A copy of the benchmarks.
pub struct Npb {
    /// What the user named.
    source: PathBuf,
    copy: PathBuf,
    /// By kernel, class and number of ranks, as older versions are compiled for one.
    made: RefCell<HashMap<(String, u32), PathBuf>>,
}

impl Npb {
    /// Copy the benchmarks in `source` into `directory`, for our compilers. Blocks.
    ///
    /// # Errors
    /// The folder has no NPB-MPI, or cannot be copied; `bench/npb.c` cannot be compiled.
    pub fn open(source: &Path, directory: &Path, prefix: &Prefix) -> Result<Self> {
        ensure!(
            is_npb(source),
            "--npb {}: it has no sys/setparams.c, common/print_results.f or .f90, and FT/Makefile; name the folder NPB3.4-MPI of the NAS parallel benchmarks",
            source.display()
        );
        let copy = directory.join("npb");
        copy_folder(source, &copy)?;
        fs::create_dir_all(copy.join("bin"))?;
        let start = copy.join("start.o");
        let mut command = Command::new(prefix.command("mpicc"));
        command.args(["-O2", "-c", "-o"]).arg(&start);
        command.arg(prefix.bench_sources().join("npb.c"));
        process::run(command, directory, Limits::silence(SILENCE))?.well()?;
        let mut command = Command::new(prefix.command("mpifort"));
        command.arg("--version");
        let compiler = process::run(command, directory, Limits::silence(SILENCE))?
            .well()
            .context("--npb: the kernels are in Fortran; install a compiler (gfortran), and say isthmus fortran")?;
        // They pass numbers of different types for one choice buffer, and write constants as X'F', which gfortran refuses otherwise.
        let is_gnu = compiler.lines().any(|line| line.contains("GNU Fortran"));
        let legacy = if is_gnu {
            " -fallow-argument-mismatch -fallow-invalid-boz -w"
        } else {
            ""
        };
        fs::write(copy.join("config/make.def"), settings(prefix, &start, legacy))?;
        Ok(Self {
            source: source.to_owned(),
            copy,
            made: RefCell::default(),
        })
    }

    /// The program of a cell, KERNEL:CLASS, made when it is first asked for. Blocks.
    pub fn program(&self, cell: &str, ranks: u32, directory: &Path) -> Result<PathBuf> {
        let key = (cell.to_owned(), ranks);
        if let Some(known) = self.made.borrow().get(&key) {
            return Ok(known.clone());
        }
        let (kernel, class) = cell.split_once(':').context("a cell is KERNEL:CLASS")?;
        let folder = self.copy.join(kernel.to_uppercase());
        for target in ["clean", "default"] {
            let mut command = Command::new("make");
            command.arg("-C").arg(&folder).arg(target);
            command.arg(format!("CLASS={class}")).arg(format!("NPROCS={ranks}"));
            process::run(command, directory, Limits::silence(SILENCE))?
                .well()
                .with_context(|| format!("cannot make {kernel} of class {class}"))?;
        }
        // Of version 3.4 and 3.3.
        let names = [format!("{kernel}.{class}.x"), format!("{kernel}.{class}.{ranks}")];
        let made = names.map(|name| self.copy.join("bin").join(name));
        let made = made.into_iter().find(|program| program.is_file());
        let made = made.with_context(|| format!("make has left no program of {kernel} in bin"))?;
        self.made.borrow_mut().insert(key, made.clone());
        Ok(made)
    }

    /// What one run of a cell says, as a result line of ours.
    ///
    /// # Errors
    /// The program does not say that its result is right, or how long it took.
    pub fn result(cell: &str, finished: &Finished) -> Result<String> {
        let (kernel, class) = cell.split_once(':').context("a cell is KERNEL:CLASS")?;
        let said = |name: &str| {
            // LU, BT and SP say `Verification being performed` before.
            let mut lines = finished.lines().filter(|line| line.trim_start().starts_with(name));
            lines.find_map(|line| Some(line.split_once('=')?.1.trim().to_owned()))
        };
        let verified = said("Verification").context("it does not say whether its result is right")?;
        ensure!(verified == "SUCCESSFUL", "its verification is {verified}");
        let seconds: f64 = said("Time in seconds")
            .and_then(|text| text.parse().ok())
            .context("it does not say how long it took")?;
        let kernel_at = KERNELS.iter().position(|known| *known == kernel);
        let (kernel_at, class_at) = kernel_at
            .zip(CLASSES.find(class))
            .context("an unknown kernel or class")?;
        let mut line = format!(
            "result nas row={} kernel={kernel} class={class} due=0",
            row(kernel_at, class_at)
        );
        for (name, bytes) in finished.counters() {
            if name.ends_with("_bytes") {
                let _ = write!(line, " {name}={bytes}");
            }
        }
        Ok(format!("{line} ms={:.0} verified=1\n", seconds * 1e3))
    }

    /// What stands on a page as the library's name.
    pub fn says(&self) -> String {
        format!(
            "library Isthmus {}, NAS kernels of {}\n",
            env!("CARGO_PKG_VERSION"),
            self.source.display()
        )
    }
}

/// Does this folder hold NPB-MPI? Its sources end in `.f` up to version 3.4, and in `.f90` from 3.4.1 on.
fn is_npb(folder: &Path) -> bool {
    let has = |part: &str| folder.join(part).is_file();
    let prints = ["common/print_results.f", "common/print_results.f90"];
    has("sys/setparams.c") && prints.iter().any(|part| has(part)) && has("FT/Makefile")
}

/// config/make.def, for both versions.
fn settings(prefix: &Prefix, start: &Path, flags: &str) -> String {
    let (mpifort, mpicc) = (prefix.command("mpifort"), prefix.command("mpicc"));
    let (mpifort, mpicc, start) = (mpifort.display(), mpicc.display(), start.display());
    format!(
        "MPIFC = {mpifort}\nMPIF77 = {mpifort}\nFLINK = {mpifort}\nFMPI_LIB = {start}\nFFLAGS = -O3{flags}\nFLINKFLAGS = -O3\n\
         MPICC = {mpicc}\nCLINK = {mpicc}\nCMPI_LIB = {start}\nCFLAGS = -O3\nCLINKFLAGS = -O3\nCC = cc -O2\n\
         BINDIR = ../bin\nRAND = randi8\n"
    )
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = " FT Benchmark Completed\n Time in seconds =                     4.25\n Verification    =               SUCCESSFUL\n\
                        isthmus: counter     all  rank 0\nisthmus: cma_bytes   300     150\nisthmus: sleeps       3     3\n";

    #[test]
    fn folders_of_both_forms_are_taken() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("isthmus-npb-{}", std::process::id()));
        let make = |part: &str| -> Result<()> {
            let file = folder.join(part);
            fs::create_dir_all(file.parent().context("a file has a folder")?)?;
            Ok(fs::write(file, "")?)
        };
        make("sys/setparams.c")?;
        make("FT/Makefile")?;
        let without = is_npb(&folder);
        make("common/print_results.f90")?;
        let newer = is_npb(&folder);
        fs::rename(
            folder.join("common/print_results.f90"),
            folder.join("common/print_results.f"),
        )?;
        let older = is_npb(&folder);
        fs::remove_dir_all(&folder)?;
        assert_eq!([without, newer, older], [false, true, true]);
        Ok(())
    }

    #[test]
    fn a_kernel_that_is_right_is_a_result() -> Result<()> {
        let line = Npb::result("ft:A", &Finished::of(SAID))?;
        assert_eq!(
            line,
            "result nas row=2 kernel=ft class=A due=0 cma_bytes=300 ms=4250 verified=1\n"
        );
        assert!(Npb::result("ft:A", &Finished::of(&SAID.replace("SUCCESSFUL", "UNSUCCESSFUL"))).is_err());
        assert!(Npb::result("ft:A", &Finished::of("")).is_err());
        let before = format!(" Verification being performed for class A\n{SAID}");
        assert!(Npb::result("lu:A", &Finished::of(&before)).is_ok());
        Ok(())
    }

    #[test]
    fn kernels_run_on_squares_or_powers_of_two() {
        let on = |ranks| KERNELS.iter().filter(|kernel| runs_on(kernel, ranks)).count();
        assert_eq!([4, 8, 9, 6].map(on), [8, 6, 2, 0]);
    }
}
