//! Limits of this process that the shell calls `ulimit`.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many descriptors may be open (`ulimit -n`); `None`: no limit.
pub fn open_files() -> Option<u64> {
    soft(Resource::Nofile)
}

/// How many processes and threads this user may have (`ulimit -u`); `None`: no limit.
pub fn processes() -> Option<u64> {
    soft(Resource::Nproc)
}

/// How many bytes of address space this process may map (`ulimit -v`); `None`: no limit.
pub fn address_space() -> Option<u64> {
    soft(Resource::As)
}

/// How long the files are that this process may write (`ulimit -f`); `None`: no limit.
pub fn file_size() -> Option<u64> {
    soft(Resource::Fsize)
}

/// See that `wanted` descriptors can be open, or as many as the hard limit allows (`ulimit -Hn`); `Err`: that limit, if it is lower than
/// `needed`. Children inherit the raised limit.
pub fn allow_open_files(wanted: u64, needed: u64) -> Result<(), u64> {
    let limit = getrlimit(Resource::Nofile);
    let [soft, hard] = [limit.current, limit.maximum].map(|limit| limit.unwrap_or(u64::MAX));
    if soft < wanted {
        if hard < needed {
            return Err(hard);
        }
        let raised = Rlimit {
            current: Some(wanted.min(hard)),
            ..limit
        };
        // The soft limit may always be raised up to the hard one.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    Ok(())
}

/// Do something with the limit on files (`ulimit -f`) as high as it may be.
pub fn with_largest_files<R>(act: impl FnOnce() -> R) -> R {
    let limit = getrlimit(Resource::Fsize);
    let largest = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // The soft limit may always be raised up to the hard one, and lowered again.
    let is_raised = limit.current != limit.maximum && setrlimit(Resource::Fsize, largest).is_ok();
    let answer = act();
    if is_raised {
        let _ = setrlimit(Resource::Fsize, limit);
    }
    answer
}

fn soft(resource: Resource) -> Option<u64> {
    getrlimit(resource).current
}
