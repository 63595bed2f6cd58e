//! Limits of this process that the shell calls `ulimit`.

/// How many descriptors may be open (`ulimit -n`); `None`: no limit.
pub fn open_files() -> Option<u64> {
    soft(libc::RLIMIT_NOFILE)
}

/// How many processes and threads this user may have (`ulimit -u`); `None`: no limit.
pub fn processes() -> Option<u64> {
    soft(libc::RLIMIT_NPROC)
}

/// How many bytes of address space this process may map (`ulimit -v`); `None`: no limit.
pub fn address_space() -> Option<u64> {
    soft(libc::RLIMIT_AS)
}

/// See that `wanted` descriptors can be open, or as many as the hard limit allows (`ulimit -Hn`); `Err`: that limit, if it is lower than
/// `needed`. Children inherit the raised limit.
pub fn allow_open_files(wanted: u64, needed: u64) -> Result<(), u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is ours. The soft limit may always be raised up to the hard one.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < wanted {
            if limit.rlim_max < needed {
                return Err(limit.rlim_max);
            }
            limit.rlim_cur = wanted.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
    Ok(())
}

/// Do something with the limit on files (`ulimit -f`) as high as it may be.
pub fn with_largest_files<R>(act: impl FnOnce() -> R) -> R {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structures are ours. The soft limit may always be raised up to the hard one, and lowered again.
    unsafe {
        let known = libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) == 0 && limit.rlim_cur != limit.rlim_max;
        if known {
            let raised = libc::rlimit {
                rlim_cur: limit.rlim_max,
                ..limit
            };
            libc::setrlimit(libc::RLIMIT_FSIZE, &raised);
        }
        let answer = act();
        if known {
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
        }
        answer
    }
}

fn soft(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the structure is ours.
    unsafe { libc::getrlimit(resource, &mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
