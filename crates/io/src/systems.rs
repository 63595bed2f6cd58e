//! Kinds of file systems, a row each: what is different about files on them. They are told apart by the magic number that `statfs` gives.

/// A kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System {
    /// What `mount` calls it.
    pub name: &'static str,
    /// `f_type` of `struct statfs` (statfs(2); `include/uapi/linux/magic.h`).
    magic: i64,
    /// See [`OwnWrites`].
    pub own_writes: OwnWrites,
    /// Do other nodes see it, so that what they read can be old unless the bytes are locked?
    pub is_cached_elsewhere: bool,
    /// Does an attribute tell of its stripes ([`crate::layout`])?
    pub is_striped: bool,
}

/// The shortest pieces, in bytes, that each rank of a node writes by itself in a collective access; shorter ones go through aggregators
/// (decisions 182, 227).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnWrites {
    /// Within the file.
    pub inside: u64,
    /// Where the access makes the file longer: the kernel makes pages then, on some file systems as large ones as each write allows.
    pub growing: u64,
}

const KIB: u64 = 1 << 10;

/// Any that has no row, as `tmpfs`, and what rows say nothing else about. Ranks that write to one file take turns, page by page.
pub const OTHER: System = System {
    name: "others",
    magic: 0,
    own_writes: OwnWrites {
        inside: 4 * KIB,
        growing: 4 * KIB,
    },
    is_cached_elsewhere: false,
    is_striped: false,
};

/// Those with a row.
pub const SYSTEMS: [System; 6] = [
    System {
        name: "ext4",
        magic: 0xef53,
        own_writes: OwnWrites {
            inside: 8 * KIB,
            growing: 64 * KIB,
        },
        ..OTHER
    },
    System {
        name: "xfs",
        magic: 0x5846_5342,
        own_writes: OwnWrites {
            inside: 32 * KIB,
            growing: 64 * KIB,
        },
        ..OTHER
    },
    System {
        name: "btrfs",
        magic: 0x9123_683e,
        own_writes: OwnWrites {
            inside: 8 * KIB,
            growing: 64 * KIB,
        },
        ..OTHER
    },
    // Its files are those of another file system, which it does not tell: on machines with a disk, most often ext4 or xfs.
    System {
        name: "overlay",
        magic: 0x794c_7630,
        own_writes: OwnWrites {
            inside: 8 * KIB,
            growing: 64 * KIB,
        },
        ..OTHER
    },
    System {
        name: "nfs",
        magic: 0x6969,
        is_cached_elsewhere: true,
        ..OTHER
    },
    System {
        name: "lustre",
        magic: 0x0bd0_0bd0,
        is_striped: true,
        ..OTHER
    },
];

/// The row of a file system with this magic number.
pub fn of(magic: i64) -> &'static System {
    SYSTEMS.iter().find(|system| system.magic == magic).unwrap_or(&OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_one_row() {
        for system in &SYSTEMS {
            assert_eq!(of(system.magic), system);
            // Pages of the file cost less to write to than to make.
            assert!(system.own_writes.inside <= system.own_writes.growing, "{}", system.name);
        }
        assert_eq!(of(0x0102_1994), &OTHER, "tmpfs");
    }
}
