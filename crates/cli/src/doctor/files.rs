//! What MPI's files can expect of the current folder's file system.

use std::path::Path;

use isthmus_io::backend::Backend;
use isthmus_io::posix::{Create, How, Posix};

use super::Finding;

const WHAT: &str = "files of MPI in the current folder";

/// One finding: a file is made there, locked, and deleted.
pub(super) fn finding() -> Finding {
    let folder = std::env::current_dir().unwrap_or_default();
    in_folder(&folder, |file| {
        (file.is_cached_elsewhere(), file.try_lock(0..1, true).is_ok())
    })
}

/// `look`: do other nodes see it later than it is written, and has it locks?
fn in_folder(folder: &Path, look: impl FnOnce(&Posix) -> (bool, bool)) -> Finding {
    let path = folder.join(format!(".isthmus-doctor-{}", std::process::id()));
    let how = How {
        read: true,
        write: true,
        create: Create::Always,
        mode: 0o600,
    };
    let file = match Posix::open(&path, how) {
        Ok(file) => file,
        Err(error) => return Finding::good(WHAT, format!("not tried, since none can be made here: {error}")),
    };
    // It is open, which is all that is wanted of it.
    let _ = std::fs::remove_file(&path);
    match look(&file) {
        (true, true) => Finding::limited(
            WHAT,
            "NFS: each access locks its bytes, and asks the server for them, so that ranks on other nodes see what was written",
            "files that ranks of one node share are faster on a local disk, those of several on a parallel file system",
        ),
        (true, false) => Finding::limited(
            WHAT,
            "NFS without locks: accesses to files fail with MPI_ERR_UNSUPPORTED_OPERATION",
            "mount it without nolock, with a server that has a lock manager, or as version 4",
        ),
        (false, false) => Finding::limited(
            WHAT,
            "the file system has no locks: atomic mode and romio_ds_write=enable fail with MPI_ERR_UNSUPPORTED_OPERATION",
            "mount it with locks (Lustre: -o flock), if programs need them",
        ),
        (false, true) => Finding::good(WHAT, "no locks are needed but in atomic mode, and there are some"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_without_locks_are_told_and_no_file_is_left() {
        let folder = std::env::temp_dir().join(format!("isthmus-doctor-files-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("new");
        let of = |what| in_folder(&folder, |_| what);
        assert!(of((true, true)).cure.is_some() && of((true, false)).found.contains("fail"));
        assert!(of((false, false)).cure.is_some() && of((false, true)).cure.is_none());
        // The file system of this machine's temporary files.
        assert!(
            in_folder(&folder, |file| (
                file.is_cached_elsewhere(),
                file.try_lock(0..1, true).is_ok()
            ))
            .cure
            .is_none()
        );
        std::fs::remove_dir(&folder).expect("nothing is left in it");
        assert!(in_folder(&folder, |_| (true, true)).found.starts_with("not tried"));
    }
}
