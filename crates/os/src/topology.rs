//! The machine's shape as `/sys` and `/proc` describe it: processors, caches, NUMA nodes, huge pages.
//!
//! Virtual machines and containers may hide any of it, so everything here may be absent.

mod locality;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

pub use locality::{Level, Locality, MadeUp, unit};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// One cache, as one CPU sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Capacity in bytes.
    pub bytes: u64,
    /// Length of a line in bytes; 0 if the kernel does not tell.
    pub line: u64,
    /// The CPUs that share it.
    pub shared_by: Vec<usize>,
}

/// One NUMA node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: usize,
    /// Its CPUs; none for a node that only has memory.
    pub cpus: Vec<usize>,
    /// Its memory in bytes.
    pub memory: u64,
}

/// The processor's marketing name.
pub fn model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// CPUs the machine has switched on, ours to use or not.
pub fn online() -> Vec<usize> {
    list(&Path::new(CPUS).join("online")).unwrap_or_default()
}

/// `cpus` grouped by physical core: the hyper-threads of one core together, in increasing order.
pub fn cores(cpus: impl IntoIterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut cores = BTreeMap::<(usize, usize), Vec<usize>>::new();
    for cpu in cpus {
        let topology = Path::new(CPUS).join(format!("cpu{cpu}/topology"));
        let number = |name: &str| word(&topology.join(name))?.parse().ok();
        // Where nothing is told, each CPU counts as a core of its own.
        let core = number("physical_package_id").zip(number("core_id"));
        cores.entry(core.unwrap_or((usize::MAX, cpu))).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// The CPUs of the package (socket) that `cpu` is in; none if the machine does not tell.
pub fn package(cpu: usize) -> Vec<usize> {
    let topology = Path::new(CPUS).join(format!("cpu{cpu}/topology"));
    let told = ["package_cpus_list", "core_siblings_list"].map(|name| list(&topology.join(name)));
    told.into_iter().flatten().next().unwrap_or_default()
}

/// The caches above the first CPU that this process may use, or might when this was first asked; nearest first.
pub fn own_caches() -> &'static [Cache] {
    static OWN: OnceLock<Vec<Cache>> = OnceLock::new();
    OWN.get_or_init(|| caches(crate::cpu::affinity().first().copied().unwrap_or(0)))
}

/// The caches above `cpu`, nearest first.
pub fn caches(cpu: usize) -> Vec<Cache> {
    let mut caches: Vec<Cache> = numbered(&Path::new(CPUS).join(format!("cpu{cpu}/cache")), "index")
        .into_iter()
        .filter_map(|(_, directory)| {
            Some(Cache {
                level: word(&directory.join("level"))?.parse().ok()?,
                kind: word(&directory.join("type"))?,
                bytes: size(&word(&directory.join("size"))?)?,
                line: word(&directory.join("coherency_line_size")).map_or(0, |text| text.parse().unwrap_or(0)),
                shared_by: list(&directory.join("shared_cpu_list"))?,
            })
        })
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// The NUMA nodes, in order.
pub fn nodes() -> Vec<Node> {
    numbered(Path::new(NODES), "node")
        .into_iter()
        .map(|(id, directory)| {
            let memory = fs::read_to_string(directory.join("meminfo")).unwrap_or_default();
            Node {
                id,
                cpus: list(&directory.join("cpulist")).unwrap_or_default(),
                memory: memory.lines().next().and_then(kibibytes).unwrap_or(0),
            }
        })
        .collect()
}

/// When the kernel backs memory by huge pages of its own accord: `always`, `madvise` or `never`.
pub fn transparent_huge_pages() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// The kernel's release (`uname -r`).
pub fn kernel() -> Option<String> {
    word(Path::new("/proc/sys/kernel/osrelease"))
}

/// CPUs and nodes have smaller numbers: no kernel is built for more.
const NUMBERS: usize = 1 << 16;

/// Numbers as the kernel writes sets of CPUs: `0-3,8,10-11`.
pub fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= NUMBERS || numbers.len() > NUMBERS {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

fn list(file: &Path) -> Option<Vec<usize>> {
    parse_list(&fs::read_to_string(file).ok()?)
}

fn word(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

/// A cache's size: `48K`, `32M`, or plain bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// The amount in a line like `Node 0 MemTotal:  4679892 kB`, in bytes.
fn kibibytes(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace().rev();
    (words.next()? == "kB").then_some(())?;
    words.next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Entries of `directory` called `<prefix><number>`, by number.
fn numbered(directory: &Path, prefix: &str) -> Vec<(usize, std::path::PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_prefix(prefix)?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list("\n"), Some(vec![]));
        assert_eq!(parse_list("0-x"), None);
        assert_eq!(parse_list("0-9999999999999"), None);
    }

    #[test]
    fn sizes_of_caches_and_nodes() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("32M"), Some(32 << 20));
        assert_eq!(size(""), None);
        assert_eq!(kibibytes("Node 0 MemTotal:    4 kB"), Some(4096));
        assert_eq!(kibibytes("HugePages_Total: 4"), None);
    }
}
