//! Huge pages: what the machine has of them, and what its settings say.

use std::fs;

/// Bytes of a huge page that processors map in one entry of the second level.
pub const BYTES: u64 = 2 << 20;

/// Pages of a pool that is set aside at boot or by the administrator (hugetlb).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pool {
    /// Pages in it.
    pub pages: u64,
    /// Pages that nobody has.
    pub free: u64,
    /// Of the free ones, those that somebody may take as they touch them.
    pub promised: u64,
    /// Pages that the kernel may add while they are wanted (`vm.nr_overcommit_hugepages`).
    pub more: u64,
    /// Bytes of a page.
    pub bytes: u64,
}

impl Pool {
    /// Pages that could be had now.
    pub fn left(&self) -> u64 {
        self.free.saturating_sub(self.promised) + self.more
    }
}

/// The pool of the usual size.
pub fn pool() -> Pool {
    let more = fs::read_to_string("/proc/sys/vm/nr_overcommit_hugepages");
    let more = more.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    fs::read_to_string("/proc/meminfo").map_or(Pool::default(), |text| parse(&text, more))
}

fn parse(text: &str, more: u64) -> Pool {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Pool {
        pages: number("HugePages_Total"),
        free: number("HugePages_Free"),
        promised: number("HugePages_Rsvd"),
        // Those that it has added are in the total, and free or not.
        more: more.saturating_sub(number("HugePages_Surp")),
        bytes: number("Hugepagesize") << 10,
    }
}

/// Whether the kernel makes huge pages of shared memory by itself: `never`, `advise`, `within_size`, `always`, `deny` or
/// `force`; `None`: it cannot.
pub fn shared_memory_setting() -> Option<String> {
    chosen(&fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled").ok()?)
}

fn chosen(text: &str) -> Option<String> {
    text.split_whitespace()
        .find_map(|word| Some(word.strip_prefix('[')?.strip_suffix(']')?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_prints_is_understood() {
        let text = "MemTotal: 1 kB\nHugePages_Total:      64\nHugePages_Free:       60\nHugePages_Rsvd: 10\nHugePages_Surp: 3\nHugepagesize:       2048 kB\n";
        let pool = parse(text, 5);
        assert_eq!((pool.pages, pool.free, pool.bytes), (64, 60, BYTES));
        assert_eq!(pool.left(), 60 - 10 + 5 - 3);
        assert_eq!(parse("", 0), Pool::default());
        assert_eq!(chosen("always [advise] never").as_deref(), Some("advise"));
        assert_eq!(chosen(""), None);
    }
}
