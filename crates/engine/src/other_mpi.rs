//! Libraries of other MPIs: which one it is by the name of its file, and whether one of them is initialized in this process.

use std::path::{Path, PathBuf};

use isthmus_os::{libraries, process};

/// The MPI that a library belongs to, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MpiFamily {
    /// `libmpi_abi.so.1`, the library of the standard ABI.
    Standard,
    /// `libmpi.so.12`: MPICH, Intel MPI and their kin.
    Mpich,
    /// MPICH's ABI by a name of Cray's, as `libmpi_gnu_91.so.12`.
    Cray,
    /// `libmpi.so.40`: Open MPI 4 and 5.
    OpenMpi,
    /// `libmpi.so.20`, `libmpi.so.1`, `libmpi.so.0`: Open MPI 1 to 3, and others of these names.
    OldOpenMpi,
    /// `libmpich.so.10` and others before the common ABI of MPICH's family.
    OldMpich,
    /// `libmpi_ibm.so.3`.
    Spectrum,
    /// `libmpi.so`: HPE's MPT and others that count no versions.
    WithoutVersion,
}

/// Compilers in names of Cray's libraries.
const CRAY: [&str; 7] = ["gnu", "cray", "intel", "nvidia", "aocc", "amd", "pgi"];
/// Names of other languages' libraries in MPICH's family, each with that of the C library beside it.
const MPICH_LANGUAGES: [(&str, &str); 4] = [
    ("libmpichfort", "libmpich"),
    ("libmpichcxx", "libmpich"),
    ("libmpifort", "libmpi"),
    ("libmpicxx", "libmpi"),
];
/// And in Open MPI's.
const OPEN_MPI_LANGUAGES: [&str; 5] = [
    "libmpi_mpifh",
    "libmpi_usempi",
    "libmpi_cxx",
    "libmpi_f77",
    "libmpi_f90",
];

impl MpiFamily {
    /// Of a C library, `None` for any other: also for those that lie above one, such as `libmpi_cxx.so.40`.
    pub fn of(file: &Path) -> Option<Self> {
        let name = file.file_name()?.to_str()?;
        let (stem, version) = name.split_once(".so")?;
        // What `auditwheel` copies into a wheel has a digest in its name.
        let stem = stem.split_once('-').map_or(stem, |(stem, _)| stem);
        let version = version.trim_start_matches('.').split('.').next().unwrap_or("");
        match (stem, version) {
            ("libmpi_abi", _) => Some(Self::Standard),
            ("libmpi" | "libmpich", "12") => Some(Self::Mpich),
            ("libmpi", "40") => Some(Self::OpenMpi),
            ("libmpi", "") => Some(Self::WithoutVersion),
            ("libmpi", _) => Some(Self::OldOpenMpi),
            ("libmpich", _) => Some(Self::OldMpich),
            ("libmpi_ibm", _) => Some(Self::Spectrum),
            _ => {
                let compiler = stem.strip_prefix("libmpi_")?.split('_').next()?;
                CRAY.contains(&compiler).then_some(Self::Cray)
            }
        }
    }

    /// Of a library of any language, as programs name those that they need.
    pub fn of_any(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name);
        if name.starts_with("libmpi_ibm_") {
            return Some(Self::Spectrum);
        }
        if OPEN_MPI_LANGUAGES.iter().any(|start| name.starts_with(start)) {
            let is_served = name.contains(".so.40");
            return Some(if is_served { Self::OpenMpi } else { Self::OldOpenMpi });
        }
        let mut mpich = MPICH_LANGUAGES.iter();
        let c = mpich.find_map(|(language, c)| Some(format!("{c}{}", name.strip_prefix(language)?)));
        Self::of(Path::new(c.as_deref().unwrap_or(name)))
    }

    /// The name of the MPI, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "another library of the standard ABI",
            Self::Mpich => "MPICH's or one of its kin",
            Self::Cray => "Cray's",
            Self::OpenMpi => "Open MPI's",
            Self::OldOpenMpi => "Open MPI's of versions 1 to 3, or another of that name",
            Self::OldMpich => "an old MPICH's",
            Self::Spectrum => "IBM Spectrum MPI's",
            Self::WithoutVersion => "HPE MPT's, or another one without a version",
        }
    }

    /// The library here that has what this one has.
    pub fn counterpart(self) -> Option<&'static str> {
        match self {
            Self::Standard => Some("libmpi_abi.so.1"),
            Self::Mpich | Self::Cray => Some("libmpi.so.12"),
            Self::OpenMpi => Some("libmpi.so.40"),
            Self::OldOpenMpi | Self::OldMpich | Self::Spectrum | Self::WithoutVersion => None,
        }
    }
}

/// The C library of another MPI that is initialized in this process, and whose it is. Does not block.
pub fn initialized() -> Option<(PathBuf, MpiFamily)> {
    let own = process::own_file()?.parent()?.to_owned();
    let is_ours = |file: &Path| file.canonicalize().is_ok_and(|file| file.parent() == Some(&own));
    let others = libraries::loaded(|file| MpiFamily::of(file).is_some());
    // SAFETY: in every MPI this function has this type, and may be called at any time (MPI-5.0 §11.4.1).
    let is_initialized = |file: &Path| unsafe { libraries::answer(file, c"MPI_Initialized") } == Some(1);
    let file = others.into_iter().find(|file| !is_ours(file) && is_initialized(file))?;
    let kind = MpiFamily::of(&file)?;
    Some((file, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_names() {
        for (file, kind) in [
            ("/usr/lib/libmpi.so.40.30.4", Some(MpiFamily::OpenMpi)),
            ("/usr/lib/libmpi.so.20", Some(MpiFamily::OldOpenMpi)),
            ("/opt/platform/libmpi.so.1", Some(MpiFamily::OldOpenMpi)),
            ("/usr/lib/libmpi.so.12", Some(MpiFamily::Mpich)),
            ("/usr/lib/libmpich.so.12.1.8", Some(MpiFamily::Mpich)),
            ("/usr/lib/libmpich.so.10.0.4", Some(MpiFamily::OldMpich)),
            ("/opt/cray/lib/libmpi_gnu_91.so.12", Some(MpiFamily::Cray)),
            ("/opt/ibm/lib/libmpi_ibm.so.3.0.0", Some(MpiFamily::Spectrum)),
            ("/opt/hpe/lib/libmpi.so", Some(MpiFamily::WithoutVersion)),
            (
                "/site-packages/some.libs/libmpi-0a1b2c3d.so.12.4.1",
                Some(MpiFamily::Mpich),
            ),
            ("/usr/lib/libmpi_cxx.so.40", None),
            ("/usr/lib/libmpifort.so.12", None),
            ("/usr/lib/libmpi4py.so", None),
            ("/usr/lib/libc.so.6", None),
        ] {
            assert_eq!(MpiFamily::of(Path::new(file)), kind, "{file}");
        }
    }

    #[test]
    fn libraries_of_other_languages_are_told_too() {
        for (name, kind) in [
            ("libmpi.so.40", Some(MpiFamily::OpenMpi)),
            ("/opt/openmpi/lib/libmpi.so.40", Some(MpiFamily::OpenMpi)),
            ("libmpi_mpifh.so.20", Some(MpiFamily::OldOpenMpi)),
            ("libmpi_usempif08.so.40", Some(MpiFamily::OpenMpi)),
            ("libmpi_usempi_ignore_tkr.so.6", Some(MpiFamily::OldOpenMpi)),
            ("libmpi_mpifh.so.12", Some(MpiFamily::OldOpenMpi)),
            ("libmpi_f77.so.1", Some(MpiFamily::OldOpenMpi)),
            ("libmpi_cxx.so.40", Some(MpiFamily::OpenMpi)),
            ("libmpifort.so.12", Some(MpiFamily::Mpich)),
            ("libmpifort_gnu_91.so.12", Some(MpiFamily::Cray)),
            ("libmpi_ibm_mpifh.so.3", Some(MpiFamily::Spectrum)),
            ("libmpifort_abi.so.1", Some(MpiFamily::Standard)),
            ("libm.so.6", None),
        ] {
            assert_eq!(MpiFamily::of_any(name), kind, "{name}");
        }
    }

    #[test]
    fn a_process_without_another_mpi_has_none() {
        assert_eq!(initialized(), None);
    }
}
