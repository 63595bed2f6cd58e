//! A look at each program before anything is started, so that what cannot work is said in one line.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use isthmus_engine::other_mpi::MpiFamily;
use object::read::ReadCache;

use crate::elf::Elf;
use crate::failure::{Failure, Result};
use crate::options::Command;

/// A program that can be started, as far as one can see from outside.
#[derive(Debug)]
pub struct Program {
    /// Where it is, relative to the directory that the command runs in.
    pub path: PathBuf,
    /// What it is linked to.
    pub linked: Linked,
}

/// Libraries that a program needs, as far as they concern us.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linked {
    /// An MPI library whose ABI is ours.
    pub to_mpi: bool,
    /// Inner libraries of Open MPI, of which programs call nothing. Its launcher does.
    pub to_inner: bool,
}

const INNER: [&str; 2] = ["libopen-rte.so.40", "libopen-pal.so.40"];

/// Find the command's program and check that it can be started, in a job of so many ranks.
pub fn find(command: &Command, ranks: u32) -> Result<Program> {
    let directory = command.directory.as_deref().map_or(Path::new("."), Path::new);
    if !directory.is_dir() {
        return Err(Failure::usage(format!(
            "--wdir {}: no such directory",
            directory.display()
        )));
    }
    let path = locate(command, directory)?;
    let whole = directory.join(&path);
    let origin = whole.canonicalize().unwrap_or_else(|_| whole.clone());
    let set = command.environment.iter().any(|(name, _)| name == "LD_PRELOAD");
    let ours = own_folder();
    let around = ProgramContext {
        origin: origin.parent().unwrap_or(directory),
        ours: ours.as_deref(),
        is_several: ranks > 1,
        is_preloaded: set || std::env::var_os("LD_PRELOAD").is_some(),
    };
    let linked = inspect(&whole, &around)?;
    Ok(Program { path, linked })
}

/// As a shell does: a name with a slash is a path, any other is looked up in `PATH`; then, as other launchers do, in
/// the directory itself.
fn locate(command: &Command, directory: &Path) -> Result<PathBuf> {
    let program = &command.program;
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let set = command.environment.iter().rev().find(|(name, _)| name == "PATH");
    let search = set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"));
    let runnable = |path: &Path| {
        path.metadata()
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(search.as_deref().unwrap_or(OsStr::new("/usr/bin:/bin")))
        .map(|entry| entry.join(program))
        .find(|path| runnable(&directory.join(path)));
    if let Some(path) = found {
        return Ok(path);
    }
    let here = Path::new(".").join(program);
    if !program.is_empty() && directory.join(&here).is_file() {
        return Ok(here);
    }
    Err(Failure::not_found(format!("{}: not found in PATH", program.display())))
}

/// Where our libraries are.
pub fn own_folder() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.parent()?.parent()?.join("lib"))
}

/// Fails if the file cannot be a program for this machine and this library. Answers what it is linked to.
fn inspect(path: &Path, around: &ProgramContext<'_>) -> Result<Linked> {
    let shown = path
        .strip_prefix(".")
        .ok()
        .filter(|_| path.starts_with("./.") || path.starts_with("././"));
    let shown = shown.unwrap_or(path).display();
    let file = match path.metadata() {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Failure::not_found(format!("{shown}: no such file")));
        }
        Err(error) => return Err(Failure::not_runnable(format!("{shown}: {error}"))),
    };
    if file.is_dir() {
        return Err(Failure::not_runnable(format!("{shown} is a directory, not a program")));
    }
    if file.permissions().mode() & 0o111 == 0 {
        let cure = "make it so with chmod +x, or name its interpreter before it (python3, sh)";
        return Err(Failure::not_runnable(format!("{shown} is not executable: {cure}")));
    }
    // The kernel runs programs that we may not read; they are not looked into.
    let Ok(mut file) = File::open(path) else {
        return Ok(Linked::default());
    };
    let mut start = Vec::new();
    if file.by_ref().take(256).read_to_end(&mut start).is_err() {
        return Ok(Linked::default());
    }
    if start.starts_with(b"\x7fELF") {
        let elf = Elf::read(&ReadCache::new(file));
        let to_mpi = judge(&elf, around).map_err(|cause| Failure::not_runnable(format!("{shown} {cause}")))?;
        let to_inner = elf.needed.iter().any(|name| INNER.contains(&name.as_str()));
        return Ok(Linked { to_mpi, to_inner });
    }
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or(line);
        let interpreter = String::from_utf8_lossy(line);
        let interpreter = interpreter.split_whitespace().next().unwrap_or("");
        if !Path::new(interpreter).exists() {
            return Err(Failure::not_runnable(format!(
                "{shown} asks for the interpreter '{interpreter}', which does not exist"
            )));
        }
        return Ok(Linked::default());
    }
    // Text without `#!` is run by sh, as shells do.
    if start.is_empty() || start.contains(&0) {
        return Err(Failure::not_runnable(format!(
            "{shown} is neither a program nor a script"
        )));
    }
    Ok(Linked::default())
}

/// Where a program is, and what surrounds it.
struct ProgramContext<'a> {
    /// The folder of the program, for `$ORIGIN`.
    origin: &'a Path,
    /// Where our libraries are, if `mpiexec` stands in an installed prefix.
    ours: Option<&'a Path>,
    /// The ranks of the job are more than one, which another MPI's library would not make one job of.
    is_several: bool,
    /// The user preloads a library, so what the program would find by itself says little.
    is_preloaded: bool,
}

/// Why the program cannot run here; else whether it is linked to MPI.
fn judge(elf: &Elf, around: &ProgramContext<'_>) -> std::result::Result<bool, String> {
    if !elf.for_our_machine {
        return Err(format!(
            "is built for another kind of machine (this one is {})",
            std::env::consts::ARCH
        ));
    }
    if !elf.executable {
        return Err("is an object file: link it first".into());
    }
    let mut linked = false;
    for name in &elf.needed {
        linked |= judge_library(name, elf, around)?;
    }
    if linked && elf.interpreter.contains("ld-musl") {
        return Err(format!(
            "is built for another C library, musl ({}), than the libraries here are, glibc: compile it with glibc and the mpicc beside this \
             mpiexec",
            elf.interpreter
        ));
    }
    match elf.inside {
        Some(kind) if !linked && around.is_several => Err(format!(
            "has a library of MPI inside ({}, linked statically), with which each rank would be a job of its own: {AGAIN}",
            kind.name()
        )),
        _ => Ok(linked),
    }
}

const AGAIN: &str = "compile it again with the mpicc beside this mpiexec";

/// Why a program that needs this library cannot run here; else whether it is a library of MPI.
fn judge_library(name: &str, elf: &Elf, around: &ProgramContext<'_>) -> std::result::Result<bool, String> {
    let Some(kind) = MpiFamily::of_any(name) else {
        return Ok(false);
    };
    let is_ours = |file: &Path| {
        let folder = file
            .canonicalize()
            .ok()
            .and_then(|file| file.parent().map(Path::to_owned));
        folder.is_some() && folder == around.ours.and_then(|folder| folder.canonicalize().ok())
    };
    let whose = kind.name();
    if name.contains('/') {
        return match is_ours(Path::new(name)) {
            true => Ok(true),
            false => Err(format!(
                "is linked to {name} by its path, so that no other library is taken: {AGAIN}"
            )),
        };
    }
    match kind {
        MpiFamily::Standard | MpiFamily::Mpich | MpiFamily::OpenMpi => {}
        MpiFamily::Cray => {
            let ours = around.ours.unwrap_or(Path::new("our lib folder"));
            if !is_ours(&ours.join(name)) {
                return Err(format!(
                    "is linked to {name} ({whose}), which is MPICH's ABI by another name: ln -s libmpi.so.12 {}, or {AGAIN}",
                    ours.join(name).display()
                ));
            }
        }
        MpiFamily::WithoutVersion if elf.wants_open_mpi => {
            let ours = around.ours.unwrap_or(Path::new("lib")).join("libmpi.so.40");
            return match around.is_preloaded {
                true => Ok(true),
                false => Err(format!(
                    "is linked to {name} without a version, of Open MPI's ABI: say -x LD_PRELOAD={}, or {AGAIN}",
                    ours.display()
                )),
            };
        }
        _ => {
            return Err(format!(
                "is linked to {name} ({whose}), which is of none of the ABIs here (libmpi_abi.so.1, libmpi.so.12, and Open MPI's libmpi.so.40 \
                 of its versions 4 and 5): {AGAIN}"
            ));
        }
    }
    if kind == MpiFamily::Mpich && elf.wants_open_mpi {
        return Err(format!(
            "is linked to the {name} of Open MPI 1.10, which is of none of the ABIs here: {AGAIN}"
        ));
    }
    let before = elf.rpath.iter().map(|folder| folder.replace("${ORIGIN}", "$ORIGIN"));
    let before =
        before.map(|folder| PathBuf::from(folder.replace("$ORIGIN", &around.origin.to_string_lossy())).join(name));
    let other = before.filter(|file| file.exists()).find(|file| !is_ours(file));
    match other {
        Some(file) if around.is_several && !around.is_preloaded => Err(format!(
            "carries the path of {} (DT_RPATH), which is taken before the library here, and would make a job of each rank: say -x LD_PRELOAD={}, \
             or {AGAIN}",
            file.display(),
            around.ours.unwrap_or(Path::new("lib")).join(name).display(),
        )),
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &str) -> Command {
        Command {
            program: program.into(),
            ..Command::default()
        }
    }

    fn elf(needed: &[&str]) -> Elf {
        Elf {
            for_our_machine: true,
            executable: true,
            needed: needed.iter().map(ToString::to_string).collect(),
            ..Elf::default()
        }
    }

    /// In a job of several ranks.
    fn judged(elf: &Elf) -> std::result::Result<bool, String> {
        let around = ProgramContext {
            origin: Path::new("/home/user/bin"),
            ours: Some(Path::new("/opt/isthmus/lib")),
            is_several: true,
            is_preloaded: false,
        };
        judge(elf, &around)
    }

    #[test]
    fn programs_are_found() {
        let found = |program| find(&command(program), 2);
        assert!(found("sh").is_ok());
        assert!(found("/bin/sh").is_ok());
        assert_eq!(found("no-such-program").expect_err("absent").code, 127);
        assert_eq!(found("./no/such").expect_err("absent").code, 127);
        assert_eq!(found("/tmp").expect_err("a directory").code, 126);
        assert_eq!(found("/etc/passwd").expect_err("no program").code, 126);
        assert_eq!(found("").expect_err("empty").code, 127);
    }

    #[test]
    fn libraries_are_told_apart() {
        for (needed, linked) in [
            (&["libmpi.so.12", "libc.so.6"][..], true),
            (&["libmpi_abi.so.1"], true),
            (&["libc.so.6"], false),
            (&["libmpi.so.40"], true),
            (&["libmpi_mpifh.so.40"], true),
        ] {
            assert_eq!(judged(&elf(needed)), Ok(linked), "{needed:?}");
        }
        for (needed, says) in [
            ("libmpi.so.20", "Open MPI's of versions 1 to 3"),
            ("libmpi.so.1", "Open MPI's of versions 1 to 3"),
            ("libmpi_mpifh.so.20", "Open MPI's of versions 1 to 3"),
            ("libmpi_ibm.so.3", "IBM Spectrum MPI's"),
            ("libmpi.so", "HPE MPT's"),
            (
                "libmpi_gnu_91.so.12",
                "ln -s libmpi.so.12 /opt/isthmus/lib/libmpi_gnu_91.so.12",
            ),
            ("/opt/openmpi/lib/libmpi.so.40", "by its path"),
        ] {
            let said = judged(&elf(&["libc.so.6", needed])).expect_err(needed);
            assert!(said.contains(says) && said.contains("mpicc"), "{needed}: {said}");
        }
        assert!(judge_default().is_err());
    }

    fn judge_default() -> std::result::Result<bool, String> {
        judged(&Elf::default())
    }

    #[test]
    fn open_mpi_1_10_has_the_name_of_mpich() {
        let program = Elf {
            wants_open_mpi: true,
            ..elf(&["libmpi.so.12"])
        };
        assert!(judged(&program).expect_err("Open MPI 1.10").contains("Open MPI 1.10"));
    }

    #[test]
    fn a_library_of_open_mpi_without_a_version_is_preloaded() {
        let program = Elf {
            wants_open_mpi: true,
            ..elf(&["libmpi.so"])
        };
        let said = judged(&program).expect_err("no version");
        assert!(said.contains("-x LD_PRELOAD=/opt/isthmus/lib/libmpi.so.40"), "{said}");
    }

    #[test]
    fn another_c_library_is_told_if_it_matters() {
        let program = |needed: &str| Elf {
            interpreter: "/lib/ld-musl-x86_64.so.1".into(),
            ..elf(&[needed, "libc.musl-x86_64.so.1"])
        };
        assert_eq!(judged(&program("libz.so.1")), Ok(false));
        assert!(judged(&program("libmpi.so.12")).expect_err("musl").contains("musl"));
    }

    #[test]
    fn an_mpi_inside_the_program_is_told_unless_our_library_is_linked_too() {
        let program = |needed: &[&str]| Elf {
            inside: Some(MpiFamily::Mpich),
            ..elf(needed)
        };
        assert!(
            judged(&program(&["libc.so.6"]))
                .expect_err("static")
                .contains("statically")
        );
        assert_eq!(judged(&program(&["libmpi.so.12"])), Ok(true));
    }
}
