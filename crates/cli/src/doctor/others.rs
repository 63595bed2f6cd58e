//! Another MPI that is found before this one: by the shell, by the linker at run time, or by Python.

use std::path::{Path, PathBuf};

use super::Finding;
use crate::prefix::Prefix;

const WHAT: &str = "other MPI libraries";

/// One finding for each way in which another MPI comes first, or that none does.
pub(super) fn findings() -> Vec<Finding> {
    let Ok(prefix) = Prefix::own() else {
        return Vec::new();
    };
    let list = |name: &str| {
        let value = std::env::var_os(name).unwrap_or_default();
        std::env::split_paths(&value).collect::<Vec<_>>()
    };
    let environments: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().flat_map(list).collect();
    let found: Vec<Finding> = command(&prefix, &list("PATH"))
        .into_iter()
        .chain(library(&prefix, &list("LD_LIBRARY_PATH")))
        .chain(environments.iter().find_map(|root| python(root)))
        .collect();
    if found.is_empty() {
        return vec![Finding::good(WHAT, "none comes before this one")];
    }
    found
}

/// The commands that the shell takes.
fn command(prefix: &Prefix, path: &[PathBuf]) -> Option<Finding> {
    let foreign = ["mpiexec", "mpirun", "mpicc"].into_iter().find_map(|name| {
        let first = path
            .iter()
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())?;
        (!is_same(&first, &prefix.command(name))).then_some(first)
    })?;
    Some(Finding::limited(
        WHAT,
        format!("the shell takes {}", foreign.display()),
        "put the bin folder of this installation first in PATH, or name its mpiexec by its path; programs need not be compiled again",
    ))
}

/// The libraries that programs take without our mpiexec.
fn library(prefix: &Prefix, path: &[PathBuf]) -> Option<Finding> {
    let first = path.iter().find_map(|folder| mpi_in(folder))?;
    (!is_same(first.parent()?, &prefix.libraries())).then(|| {
        Finding::limited(
            WHAT,
            format!("LD_LIBRARY_PATH leads to {} first", first.display()),
            "start programs by this installation's mpiexec, which puts its own libraries first",
        )
    })
}

/// A Python environment that brings an MPI of its own.
fn python(root: &Path) -> Option<Finding> {
    let own = mpi_in(&root.join("lib"))?;
    Some(Finding::limited(
        WHAT,
        format!("the Python environment has its own, {}", own.display()),
        "mpi4py takes that one unless our mpiexec starts it: set MPI4PY_LIBMPI to lib/libmpi.so.12 of this installation, or uninstall the package that brings it",
    ))
}

/// An MPI library in a folder.
fn mpi_in(folder: &Path) -> Option<PathBuf> {
    ["libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1", "libmpi.so"]
        .into_iter()
        .map(|name| folder.join(name))
        .find(|file| file.exists())
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_is_told() {
        let root = std::env::temp_dir().join(format!("isthmus-others-{}", std::process::id()));
        for folder in ["ours/bin", "ours/lib", "theirs/bin", "theirs/lib"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        for file in [
            "ours/bin/mpiexec",
            "ours/lib/libmpi.so.12",
            "theirs/bin/mpiexec",
            "theirs/lib/libmpi.so.40",
        ] {
            std::fs::write(root.join(file), "").expect("a file");
        }
        let prefix = Prefix::at(root.join("ours"));
        let [ours, theirs] = ["ours", "theirs"].map(|name| root.join(name));
        let both = |first: &Path, second: &Path, below: &str| [first.join(below), second.join(below)];
        assert!(command(&prefix, &both(&ours, &theirs, "bin")).is_none());
        assert!(command(&prefix, &both(&theirs, &ours, "bin")).is_some());
        assert!(library(&prefix, &both(&ours, &theirs, "lib")).is_none());
        assert!(library(&prefix, &both(&theirs, &ours, "lib")).is_some());
        assert!(library(&prefix, &[]).is_none());
        assert!(python(&theirs).is_some());
        assert!(python(&root).is_none());
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
