//! Programs of other MPIs by mistake: old ones, ones by other names, with paths of their own, linked statically, or two in one process.
//! Each is one line and an end.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use isthmus_tests::{Finished, Run, command, compile_in, prefix, scratch};

const SOURCE: &str = "\
#include <stdlib.h>
#include <unistd.h>
static inline int lives(void) { return getenv(\"LIVES_US\") ? atoi(getenv(\"LIVES_US\")) : 400000; }
#ifdef LIBRARY
int MPI_Initialized(int *answer) { *answer = 1; return 0; }
int ompi_mpi_comm_world;
int part_of_a_library(void) { usleep(lives()); return 0; }
#else
#if defined INSIDE
const char *const texts[] = {\"PMI_FD\", \"MPIR_CVAR_ABORT_ON_LEAKED_HANDLES\"};
int part_of_a_library(void) { usleep(lives()); return texts[0] == texts[1]; }
#else
int part_of_a_library(void);
#endif
#ifdef OPEN_MPI
extern int ompi_mpi_comm_world;
int part(void) { return part_of_a_library() + ompi_mpi_comm_world; }
int main(void) { return part(); }
#else
int main(void) { return part_of_a_library(); }
#endif
#endif
";

fn cc(folder: &Path, to: &Path, options: &str, also: &[String]) -> Result<()> {
    let source = folder.join("source.c");
    std::fs::write(&source, SOURCE)?;
    let mut cc = Run::program("cc").words(options).arg("-o").arg(to).arg(&source);
    for one in also {
        cc = cc.arg(one);
    }
    cc.succeed().map(drop)
}

/// A library of this name in a folder.
fn library(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    cc(
        folder,
        &path,
        "-shared -fPIC -DLIBRARY",
        &[format!("-Wl,-soname,{name}")],
    )?;
    Ok(path)
}

/// A program that is linked to that.
fn linked(folder: &Path, to: &str, options: &str) -> Result<PathBuf> {
    let (library, program) = (library(folder, to)?, folder.join("program"));
    cc(folder, &program, options, &[library.display().to_string()])?;
    Ok(program)
}

/// By exactly one line, which has these texts.
fn refused(run: &Finished, code: i32, texts: &[&str]) -> Result<()> {
    let lines: Vec<&str> = run.err.lines().collect();
    ensure!(
        run.code == Some(code) && lines.len() == 1 && texts.iter().all(|text| lines[0].contains(text)),
        "{:?} instead of {code}, or not one line with {texts:?}:\n{}",
        run.code,
        run.err
    );
    Ok(())
}

#[test]
fn programs_of_other_abis_are_refused() -> Result<()> {
    for (name, options, says) in [
        ("libmpi.so.20", "", "Open MPI's of versions 1 to 3"),
        ("libmpi.so.1", "", "Open MPI's of versions 1 to 3"),
        ("libmpi_mpifh.so.12", "", "Open MPI's of versions 1 to 3"),
        ("libmpi_usempif08.so.20", "", "Open MPI's of versions 1 to 3"),
        ("libmpi_ibm.so.3", "", "IBM Spectrum MPI's"),
        ("libmpich.so.10", "", "an old MPICH's"),
        ("libmpi_gnu_91.so.12", "", "MPICH's ABI by another name"),
        ("libmpi.so.12", "-DOPEN_MPI", "Open MPI 1.10"),
    ] {
        let program = linked(&scratch("other")?, name, options)?;
        refused(
            &Run::mpiexec("-n 2").arg(program).finish()?,
            126,
            &[name, says, "mpicc"],
        )?;
    }
    Ok(())
}

/// Below a shell nothing is seen before it runs.
#[test]
fn a_library_of_none_of_the_abis_is_told_below_a_shell() -> Result<()> {
    let folder = scratch("old")?;
    let program = linked(&folder, "libmpi_ibm.so.3", &format!("-Wl,-rpath,{}", folder.display()))?;
    let run = Run::mpiexec("-n 2 sh -c").arg(format!("{}; true", program.display()));
    refused(&run.finish()?, 1, &["libmpi_ibm.so.3", "none of the ABIs", "mpicc"])?;
    // One that lives for a moment only, when the script has run for a while.
    let run = Run::mpiexec("-n 2 sh -c").arg(format!("sleep 1.05; {}; sleep 0.1", program.display()));
    let run = run.env("LIVES_US", "150000").finish()?;
    refused(&run, 1, &["libmpi_ibm.so.3", "none of the ABIs", "mpicc"])
}

#[test]
fn a_program_without_its_libraries_is_told() -> Result<()> {
    let folder = scratch("nowhere")?;
    let program = linked(&folder, "libnowhere.so.1", "")?;
    std::fs::remove_file(folder.join("libnowhere.so.1"))?;
    let run = Run::mpiexec("-n 2").arg(program).finish()?;
    let own: Vec<&str> = run.err.lines().filter(|line| line.starts_with("mpiexec: ")).collect();
    ensure!(
        run.code == Some(127) && own.len() == 1 && own[0].contains("shared library"),
        "{:?} {}",
        run.code,
        run.err
    );
    Ok(())
}

/// Open MPI's inner libraries: a program that is linked to them finds ours, any other finds those of the system or none.
#[test]
fn inner_libraries_are_there_for_programs_that_need_them() -> Result<()> {
    let folder = scratch("inner")?;
    let program = linked(&folder, "libopen-rte.so.40", "")?;
    std::fs::remove_file(folder.join("libopen-rte.so.40"))?;
    let run = Run::mpiexec("-n 1").arg(&program).finish()?;
    ensure!(run.err.contains("part_of_a_library"), "ours is empty: {}", run.err);
    let run = Run::mpiexec("-n 1 sh -c").arg("echo $LD_LIBRARY_PATH").succeed()?;
    ensure!(!run.out.contains("isthmus/openmpi"), "{}", run.out);
    Ok(())
}

/// A program that carries the path of another MPI: it is refused; below a shell its ranks are so many jobs of one rank, which is said. One
/// that is preloaded by the user's wish runs, and a single rank is what it is.
#[test]
fn paths_to_other_libraries_are_told() -> Result<()> {
    let folder = scratch("paths")?;
    let options = format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display());
    let program = linked(&folder, "libmpi.so.40", &options)?;
    let library = folder.join("libmpi.so.40").display().to_string();
    let run = Run::mpiexec("-n 2").arg(&program).finish()?;
    refused(&run, 126, &[&library, "DT_RPATH", "-x LD_PRELOAD="])?;
    let run = Run::mpiexec("-n 2 sh -c").arg(format!("{}; true", program.display()));
    refused(&run.finish()?, 1, &["no rank joined", &library, "(Open MPI's)"])?;
    Run::mpiexec("-n 1").arg(&program).succeed()?;
    // By $ORIGIN.
    let program = linked(&folder, "libmpi.so.40", "-Wl,--disable-new-dtags,-rpath,$ORIGIN")?;
    let run = Run::mpiexec("-n 2").arg(&program).finish()?;
    refused(&run, 126, &[&library, "DT_RPATH"])?;
    // The newer form comes behind LD_LIBRARY_PATH: ours is taken, which lacks what this program wants.
    let program = linked(&folder, "libmpi.so.40", "-Wl,--enable-new-dtags,-rpath,$ORIGIN")?;
    let run = Run::mpiexec("-n 2").arg(&program).finish()?;
    ensure!(run.err.contains("part_of_a_library"), "{}", run.err);
    Ok(())
}

#[test]
fn a_library_inside_the_program_is_told() -> Result<()> {
    let folder = scratch("inside")?;
    let program = folder.join("program");
    for options in ["-DINSIDE", "-DINSIDE -s"] {
        cc(&folder, &program, options, &[])?;
        let run = Run::mpiexec("-n 2").arg(&program).finish()?;
        refused(&run, 126, &["MPICH", "linked statically", "mpicc"])?;
        let run = Run::mpiexec("-n 2 sh -c").arg(format!("{}; true", program.display()));
        let program = program.display().to_string();
        refused(&run.finish()?, 1, &["no rank joined", &program, "linked statically"])?;
    }
    Run::mpiexec("-n 1").arg(&program).succeed()?;
    // It is not looked for in a program that is linked to MPI, nor in this launcher.
    let mpiexec = command("mpiexec").display().to_string();
    Run::mpiexec("-n 2").arg(mpiexec).words("-n 1 true").succeed()?;
    Ok(())
}

/// A library that another part of the process has loaded, by its path, and initialized.
#[test]
fn two_mpis_in_one_process_are_told() -> Result<()> {
    let program = compile_in("programs", "two_mpis", &["-ldl"])?;
    let other = library(&scratch("two")?, "libmpi.so.40")?;
    let shown = other.canonicalize()?.display().to_string();
    let run = |ranks: &str, when: &str, library: &Path| {
        Run::mpiexec("-n")
            .words(ranks)
            .arg(&program)
            .arg(when)
            .arg(library)
            .finish()
    };
    let before = run("2", "before", &other)?;
    ensure!(
        before.code.is_some_and(|code| code != 0)
            && before.err.matches(&shown).count() == 1
            && before.err.contains("each rank is a job of its own"),
        "{:?} {}",
        before.code,
        before.err
    );
    let after = run("2", "after", &other)?;
    ensure!(
        after.code == Some(0) && after.err.matches(&shown).count() == 1,
        "{:?} {}",
        after.code,
        after.err
    );
    let alone = run("1", "before", &other)?;
    ensure!(
        alone.code == Some(0) && alone.err.is_empty(),
        "{:?} {}",
        alone.code,
        alone.err
    );
    // The libraries of the other ABIs here are the same MPI.
    let same = run("2", "before", &prefix().join("lib/libmpi.so.40"))?;
    ensure!(
        same.code == Some(0) && same.err.is_empty(),
        "{:?} {}",
        same.code,
        same.err
    );
    Ok(())
}

/// A name of Cray's for the library here.
#[test]
fn a_program_of_crays_runs_by_a_link() -> Result<()> {
    let link = prefix().join("lib/libmpi_gnu_91.so.12");
    let _ = std::fs::remove_file(&link);
    let folder = scratch("cray")?;
    let library = library(&folder, "libmpi_gnu_91.so.12")?;
    let program = folder.join("program");
    let also = [
        library.display().to_string(),
        "-Wl,--unresolved-symbols=ignore-all".into(),
    ];
    cc(&folder, &program, "-DINSIDE -Wl,--no-as-needed", &also)?;
    refused(
        &Run::mpiexec("-n 2").arg(&program).finish()?,
        126,
        &["ln -s libmpi.so.12"],
    )?;
    std::os::unix::fs::symlink("libmpi.so.12", &link)?;
    let run = Run::mpiexec("-n 2").arg(&program).finish();
    std::fs::remove_file(&link)?;
    ensure!(run?.code == Some(0), "it does not run");
    Ok(())
}
