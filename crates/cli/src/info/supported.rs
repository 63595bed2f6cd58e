//! What this installation supports: the first part of `isthmus info`.

use std::path::Path;

use isthmus_engine::{supports_devices, tunables};
use isthmus_fabric::bare::Bare;
use isthmus_fabric::provider::ProviderFilter;
use serde::Serialize;

use crate::prefix::Prefix;

/// Procedures that are not implemented, as the generator of stubs knows them.
const UNFINISHED: &str = include_str!("../../../../standard/unfinished.txt");

/// The ABIs: name, library, what is compiled for it.
const ABIS: [(&str, &str, &str); 3] = [
    ("standard", "libmpi_abi.so.1", "mpicc"),
    (
        "MPICH",
        "libmpi.so.12",
        "mpicc -abi=mpich; also Intel MPI, MVAPICH, Cray MPICH",
    ),
    ("Open MPI 4 and 5", "libmpi.so.40", "mpicc -abi=openmpi"),
];

/// Fortran's libraries of the same ABIs.
const FORTRAN: [&str; 3] = ["libmpifort_abi.so.1", "libmpifort.so.12", "libmpi_mpifh.so.40"];

#[derive(Serialize)]
pub(super) struct Supported {
    /// Where it is installed; empty if it is not.
    prefix: String,
    abis: Vec<Abi>,
    /// Libraries of Fortran that are installed.
    fortran_libraries: Vec<&'static str>,
    /// Compilers that the modules have been made for, as these name themselves.
    fortran_modules: Vec<String>,
    files: bool,
    spawn: bool,
    /// The provider of libfabric that ranks of several nodes would use, or what is wrong.
    network: Result<String, String>,
    gpu_buffers: bool,
}

#[derive(Serialize)]
struct Abi {
    name: &'static str,
    library: &'static str,
    compile: &'static str,
    installed: bool,
}

impl Supported {
    /// Blocks for some 10 ms where libfabric looks at its devices.
    pub(super) fn of(prefix: Option<&Prefix>) -> Self {
        let is_there = |library: &str| prefix.is_some_and(|prefix| prefix.libraries().join(library).exists());
        Self {
            prefix: prefix
                .map(|prefix| prefix.root().display().to_string())
                .unwrap_or_default(),
            abis: ABIS
                .map(|(name, library, compile)| Abi {
                    name,
                    library,
                    compile,
                    installed: is_there(library),
                })
                .into(),
            fortran_libraries: FORTRAN.into_iter().filter(|library| is_there(library)).collect(),
            fortran_modules: prefix
                .map(|prefix| modules(&prefix.fortran_modules()))
                .unwrap_or_default(),
            files: is_implemented("MPI_File_open"),
            spawn: is_implemented("MPI_Comm_spawn"),
            network: Bare::open(&ProviderFilter::default())
                .map(|endpoint| endpoint.provider())
                .map_err(|error| error.to_string()),
            gpu_buffers: supports_devices(),
        }
    }

    /// Name and text of each row.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |name: &str, text: String| vec![format!("  {name}"), text];
        let mut rows = vec![row(
            "prefix",
            if self.prefix.is_empty() {
                "none: this is no installation".to_owned()
            } else {
                self.prefix.clone()
            },
        )];
        for abi in &self.abis {
            let state = if abi.installed { abi.compile } else { "not installed" };
            rows.push(row("ABI", format!("{}: {} ({state})", abi.name, abi.library)));
        }
        rows.push(row(
            "Fortran",
            match (self.fortran_libraries.as_slice(), self.fortran_modules.as_slice()) {
                ([], _) => "not installed".to_owned(),
                (libraries, []) => format!(
                    "mpif.h; no modules yet: `isthmus fortran` makes them; programs that ask for {}",
                    libraries.join(", ")
                ),
                (libraries, modules) => format!(
                    "mpif.h, modules mpi and mpi_f08 for {}; programs that ask for {}",
                    modules.join(", "),
                    libraries.join(", ")
                ),
            },
        ));
        let yes_or = |yes: bool, text: &str, no: &str| if yes { text } else { no }.to_owned();
        rows.push(row("files", yes_or(self.files, "yes (MPI-5.0 chapter 14)", "no")));
        rows.push(row(
            "spawn",
            yes_or(
                self.spawn,
                "yes (MPI_Comm_spawn)",
                "no: MPI_Comm_spawn and its kin return an error",
            ),
        ));
        rows.push(row(
            "network",
            match &self.network {
                Ok(provider) => format!("libfabric, provider {provider}{}", rails()),
                Err(reason) => format!("none, jobs of one node only: {reason}"),
            },
        ));
        rows.push(row(
            "GPUs",
            yes_or(
                self.gpu_buffers,
                "yes: buffers in the memory of CUDA devices, in every call of MPI",
                "no CUDA driver here, or ISTHMUS_DEVICE_MEMORY=0; see `isthmus doctor`",
            ),
        ));
        rows
    }
}

/// By which networks messages are to go, where there are several.
fn rails() -> String {
    let named = tunables::FABRIC_NETWORK.get().unwrap_or_default();
    match named.split_once(',') {
        Some((first, others)) => format!("; long messages by {first},{others}, all else by {first}"),
        None => String::new(),
    }
}

/// Stubs of what is not are listed.
fn is_implemented(procedure: &str) -> bool {
    UNFINISHED.lines().all(|line| line.trim() != procedure)
}

/// The folders of modules, named by compilers; `default` is a link to one of them.
fn modules(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("mpi_f08.mod").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "default")
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_said() {
        let supported = Supported::of(None);
        let text = crate::show::columns(&supported.rows(), 2);
        assert!(
            text.contains("no installation") && text.contains("libmpi.so.40 (not installed)"),
            "{text}"
        );
        assert!(supported.files, "files are implemented");
    }
}
