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
    /// Bytes of a page.
    pub bytes: u64,
}

/// The pool of the usual size.
pub fn pool() -> Pool {
    fs::read_to_string("/proc/meminfo").map_or(Pool::default(), |text| parse(&text))
}

fn parse(text: &str) -> Pool {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Pool {
        pages: number("HugePages_Total"),
        free: number("HugePages_Free"),
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
        let text = "MemTotal: 1 kB\nHugePages_Total:      64\nHugePages_Free:       60\nHugePages_Rsvd: 0\nHugepagesize:       2048 kB\n";
        let pool = parse(text);
        assert_eq!((pool.pages, pool.free, pool.bytes), (64, 60, BYTES));
        assert_eq!(parse(""), Pool::default());
        assert_eq!(chosen("always [advise] never").as_deref(), Some("advise"));
        assert_eq!(chosen(""), None);
    }
}
