//! The commands that compile: one text for all languages and models.

use super::versioned;

/// Name and text of each.
pub fn all() -> Vec<(&'static str, String)> {
    let mut all: Vec<_> = [
        ("mpicc", &MPI, C),
        ("mpicxx", &MPI, CXX),
        ("oshcc", &OPENSHMEM, C),
        ("oshcxx", &OPENSHMEM, CXX),
    ]
    .into_iter()
    .map(|(name, api, language)| (name, plain(&wrapper(api, language))))
    .collect();
    all.push(("mpifort", with_modules(&wrapper(&MPI_FORTRAN, FORTRAN))));
    all
}

/// What a wrapper compiles for: its name, what is said of it beside, and what links it.
struct Api {
    name: &'static str,
    against: &'static str,
    libraries: &'static str,
}

const MPI: Api = Api {
    name: "MPI",
    against: ", for the standard ABI or another (-abi)",
    libraries: "$library",
};
const MPI_FORTRAN: Api = Api {
    libraries: "-lmpifort_abi $library",
    ..MPI
};
/// Programs that use MPI too need nothing else.
const OPENSHMEM: Api = Api {
    name: "OpenSHMEM",
    against: "",
    libraries: "-loshmem -Wl,--push-state,--as-needed $library -Wl,--pop-state",
};

/// Language, variable, option, compiler, package.
const C: [&str; 5] = ["C", "CC", "-cc", "cc", "gcc"];
const CXX: [&str; 5] = ["C++", "CXX", "-cxx", "c++", "g++"];
const FORTRAN: [&str; 5] = ["Fortran", "FC", "-fc", "gfortran", "gfortran"];

/// A wrapper without the lines that only Fortran needs; these end in `# Fortran`.
fn plain(text: &str) -> String {
    lines(text, "  # Fortran").replace("  # C\n", "\n")
}

/// A wrapper with them, and without those of the other languages.
fn with_modules(text: &str) -> String {
    lines(text, "  # C").replace("  # Fortran\n", "\n")
}

/// A text without the lines that end so.
fn lines(text: &str, end: &str) -> String {
    let kept = text.lines().filter(|line| !line.ends_with(end));
    kept.map(|line| format!("{line}\n")).collect()
}

fn wrapper(api: &Api, [language, variable, flag, compiler, package]: [&str; 5]) -> String {
    versioned(include_str!("../../templates/mpicc.sh"))
        .replace("@API@", api.name)
        .replace("@AGAINST@", api.against)
        .replace("@LIBRARIES@", api.libraries)
        .replace("@LANGUAGE@", language)
        .replace("@VARIABLE@", variable)
        .replace("@FLAG@", flag)
        .replace("@COMPILER@", compiler)
        .replace("@PACKAGE@", package)
}
