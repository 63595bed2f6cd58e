//! A look at each program before anything is started, so that what cannot work is said in one line.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::elf::{self, DT_NEEDED, ET_DYN, ET_EXEC, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use object::read::{ReadCache, ReadRef};

use crate::failure::{Failure, Result};
use crate::options::Command;

/// A program that can be started, as far as one can see from outside.
#[derive(Debug)]
pub struct Program {
    /// Where it is, relative to the directory that the command runs in.
    pub path: PathBuf,
    /// It is linked to an MPI library whose ABI is ours.
    pub linked_to_mpi: bool,
}

const OUR_LIBRARIES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"];

#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: u16 = elf::EM_X86_64;
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: u16 = elf::EM_AARCH64;

/// Find the command's program and check that it can be started.
pub fn find(command: &Command) -> Result<Program> {
    let directory = command.directory.as_deref().map_or(Path::new("."), Path::new);
    if !directory.is_dir() {
        return Err(Failure::usage(format!(
            "--wdir {}: no such directory",
            directory.display()
        )));
    }
    let path = locate(command, directory)?;
    let linked_to_mpi = inspect(&directory.join(&path))?;
    Ok(Program { path, linked_to_mpi })
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

/// Fails if the file cannot be a program for this machine and this library. Answers whether it is linked to MPI.
fn inspect(path: &Path) -> Result<bool> {
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
        return Ok(false);
    };
    let mut start = Vec::new();
    if file.by_ref().take(256).read_to_end(&mut start).is_err() {
        return Ok(false);
    }
    if start.starts_with(b"\x7fELF") {
        let elf = Elf::read(&ReadCache::new(file));
        return judge(&elf).map_err(|cause| Failure::not_runnable(format!("{shown} {cause}")));
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
        return Ok(false);
    }
    // Text without `#!` is run by sh, as shells do.
    if start.is_empty() || start.contains(&0) {
        return Err(Failure::not_runnable(format!(
            "{shown} is neither a program nor a script"
        )));
    }
    Ok(false)
}

/// What the headers of an ELF file say.
#[derive(Debug, Default)]
struct Elf {
    for_our_machine: bool,
    executable: bool,
    needed: Vec<String>,
}

impl Elf {
    /// Fields that cannot be read keep their defaults: then the kernel and the dynamic linker decide.
    fn read<'data, R: ReadRef<'data>>(data: R) -> Self {
        let mut found = Self::default();
        let Ok(header) = FileHeader64::<object::Endianness>::parse(data) else {
            return found;
        };
        let Ok(endian) = header.endian() else { return found };
        found.for_our_machine = header.e_machine(endian) == OUR_MACHINE;
        found.executable = matches!(header.e_type(endian), ET_EXEC | ET_DYN);
        let Ok(sections) = header.sections(endian, data) else {
            return found;
        };
        let Ok(Some((dynamic, link))) = sections.dynamic(endian, data) else {
            return found;
        };
        let Ok(strings) = sections.strings(endian, data, link) else {
            return found;
        };
        found.needed = dynamic
            .iter()
            .filter(|entry| entry.tag32(endian) == Some(DT_NEEDED))
            .filter_map(|entry| strings.get(entry.val32(endian)?).ok())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        found
    }
}

fn judge(elf: &Elf) -> std::result::Result<bool, String> {
    if !elf.for_our_machine {
        return Err(format!(
            "is built for another kind of machine (this one is {})",
            std::env::consts::ARCH
        ));
    }
    if !elf.executable {
        return Err("is an object file: link it first".into());
    }
    let ours = |name: &String| OUR_LIBRARIES.contains(&name.as_str());
    let foreign = elf
        .needed
        .iter()
        .find(|name| name.starts_with("libmpi.so.") && !ours(name));
    if let Some(library) = foreign {
        return Err(format!(
            "is linked to {library}, which is of none of the ABIs here (libmpi_abi.so.1, libmpi.so.12, and Open MPI's libmpi.so.40 of its \
             versions 4 and 5): compile it again with the mpicc beside this mpiexec"
        ));
    }
    Ok(elf.needed.iter().any(ours))
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
        }
    }

    #[test]
    fn programs_are_found() {
        assert!(find(&command("sh")).is_ok());
        assert!(find(&command("/bin/sh")).is_ok());
        assert_eq!(find(&command("no-such-program")).expect_err("absent").code, 127);
        assert_eq!(find(&command("./no/such")).expect_err("absent").code, 127);
        assert_eq!(find(&command("/tmp")).expect_err("a directory").code, 126);
        assert_eq!(find(&command("/etc/passwd")).expect_err("no program").code, 126);
        assert_eq!(find(&command("")).expect_err("empty").code, 127);
    }

    #[test]
    fn our_own_headers_can_be_read() {
        let own = File::open(std::env::current_exe().expect("our path")).expect("ourselves");
        let elf = Elf::read(&ReadCache::new(own));
        assert!(elf.for_our_machine && elf.executable);
        assert!(
            elf.needed.iter().any(|name| name.starts_with("libc.so")),
            "{:?}",
            elf.needed
        );
    }

    #[test]
    fn libraries_are_told_apart() {
        assert_eq!(judge(&elf(&["libmpi.so.12", "libc.so.6"])), Ok(true));
        assert_eq!(judge(&elf(&["libmpi_abi.so.1"])), Ok(true));
        assert_eq!(judge(&elf(&["libc.so.6"])), Ok(false));
        assert_eq!(judge(&elf(&["libmpi.so.40"])), Ok(true));
        assert!(
            judge(&elf(&["libmpi.so.20"]))
                .expect_err("Open MPI 3")
                .contains("mpicc")
        );
        assert!(judge(&Elf::default()).is_err());
    }
}
