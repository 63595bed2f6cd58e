//! Libraries of hardware that is not there, which libfabric is linked to all the same.
//!
//! Debian's libfabric needs `libpsm_infinipath.so.1` and `libpsm2.so.2`. Each has a constructor that sleeps for 0.1 s to learn how fast the
//! processor's counter runs (`init_picos_per_cycle` in <https://github.com/intel/psm>), which nothing turns off. Where there is no device of
//! theirs, libraries of the same names that refuse everything are loaded before libfabric, and satisfy the linker; our installation has them in
//! `lib/isthmus` (`crates/fabric/absent/`, docs/decisions/0092).

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A library, and how the names of its devices begin in `/dev`.
const LIBRARIES: [(&str, &str); 2] = [("libpsm_infinipath.so.1", "ipath"), ("libpsm2.so.2", "hfi1")];

/// The libraries that stand in; closed when this is dropped, unless something else needs them then.
#[derive(Debug)]
pub(crate) struct StandIns(Vec<*mut c_void>);

impl StandIns {
    /// Load those whose hardware is not here. None, if we are not installed, or nobody can tell.
    pub fn load() -> Self {
        let devices = std::fs::read_dir("/dev").map(|list| list.flatten().map(|entry| entry.file_name()).collect());
        let devices: Vec<_> = devices.unwrap_or_default();
        let is_absent = |begins: &str| {
            let begins = begins.as_bytes();
            !devices.is_empty() && !devices.iter().any(|name| name.as_encoded_bytes().starts_with(begins))
        };
        let absent = LIBRARIES.iter().filter(|(_, begins)| is_absent(begins));
        let Some(folder) = folder() else {
            return Self(Vec::new());
        };
        Self(absent.filter_map(|(name, _)| open(&folder.join(name))).collect())
    }

    /// They stay for good.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for &handle in &self.0 {
            // SAFETY: opened here, and closed once.
            unsafe { libc::dlclose(handle) };
        }
    }
}

fn open(path: &Path) -> Option<*mut c_void> {
    let path = CString::new(path.to_path_buf().into_os_string().into_vec()).ok()?;
    // SAFETY: a library of ours, without constructors. One that is not there is no failure.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!handle.is_null()).then_some(handle)
}

/// `lib/isthmus` of the installation that the library or command that this is part of lies in.
fn folder() -> Option<PathBuf> {
    let own = isthmus_os::process::own_file()?;
    Some(own.parent()?.parent()?.join("lib/isthmus"))
}
