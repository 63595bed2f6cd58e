//! Where on the machine a process runs: which package, NUMA node, cache and core hold all the CPUs that it may use.
//!
//! Ranks compare their localities to see what they share. A made-up machine ([`MadeUp`]) puts each rank where a test wants it.

use std::collections::BTreeSet;
use std::path::Path;

use super::{CPUS, NODES, list, numbered, word};

/// Kinds of hardware that CPUs are grouped in, the largest first. A unit of one kind lies within one unit of each kind
/// before it, on all but odd machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A whole machine, or, if the machine is made up, one of those that it is to be taken for.
    Machine,
    /// A processor package (socket).
    Package,
    /// A NUMA node.
    Numa,
    /// A third-level cache.
    L3,
    /// A second-level cache.
    L2,
    /// A core.
    Core,
}

impl Level {
    /// All, the largest first.
    pub const ALL: [Self; 6] = [Self::Machine, Self::Package, Self::Numa, Self::L3, Self::L2, Self::Core];

    /// The level that hwloc calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// What hwloc calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::Package => "Package",
            Self::Numa => "NUMANode",
            Self::L3 => "L3Cache",
            Self::L2 => "L2Cache",
            Self::Core => "Core",
        }
    }
}

/// Bits of a unit's number in [`Locality::bits`].
const WIDTH: u32 = 10;
/// Units of one kind have smaller numbers.
const UNITS: u16 = (1 << WIDTH) - 1;

/// Where a process runs: for each level the unit that all its CPUs lie in, if there is one. A process that may run
/// anywhere on a machine with two packages is in no package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Locality([Option<u16>; Level::ALL.len()]);

impl Locality {
    /// The unit of that kind which the process cannot leave.
    pub fn unit(self, level: Level) -> Option<u16> {
        self.0[level as usize]
    }

    /// The smallest kind of hardware that both are in the same unit of; `None`: they are on different machines.
    pub fn shared(self, other: Self) -> Option<Level> {
        let same = |level: &Level| self.unit(*level).is_some() && self.unit(*level) == other.unit(*level);
        Level::ALL.into_iter().rev().find(same)
    }

    /// How far apart the two are: 0 on one core, [`Level::ALL`]'s length on different machines.
    pub fn distance(self, other: Self) -> u32 {
        let levels = Level::ALL.len() as u32;
        self.shared(other).map_or(levels, |level| levels - 1 - level as u32)
    }

    /// As one number, for memory that is shared.
    pub fn bits(self) -> u64 {
        self.0.iter().fold(0, |bits, unit| {
            bits << WIDTH | u64::from(unit.filter(|unit| *unit < UNITS).unwrap_or(UNITS))
        })
    }

    /// What [`Self::bits`] made.
    pub fn from_bits(mut bits: u64) -> Self {
        let mut locality = Self::default();
        for unit in locality.0.iter_mut().rev() {
            *unit = Some(bits as u16 & UNITS).filter(|unit| *unit < UNITS);
            bits >>= WIDTH;
        }
        locality
    }

    /// Where a process is that may use these CPUs, in increasing order. A unit's number is that of its first CPU.
    pub fn of_cpus(cpus: &[usize]) -> Self {
        Self::within(cpus, |level| unit(*cpus.first()?, level))
    }

    fn within(cpus: &[usize], unit: impl Fn(Level) -> Option<Vec<usize>>) -> Self {
        let mut locality = Self::default();
        for level in Level::ALL {
            let holds = |unit: &Vec<usize>| cpus.iter().all(|cpu| unit.contains(cpu));
            if let Some(unit) = unit(level).filter(holds) {
                locality.set(level, unit[0]);
            }
        }
        // Whatever the kernel hides, it is one machine.
        locality.set(Level::Machine, 0);
        locality
    }

    /// The same, on that machine of several.
    #[must_use]
    pub fn on_machine(mut self, machine: usize) -> Self {
        self.set(Level::Machine, machine);
        self
    }

    fn set(&mut self, level: Level, unit: usize) {
        self.0[level as usize] = u16::try_from(unit).ok().filter(|unit| *unit < UNITS);
    }
}

/// The CPUs of the unit of that kind that `cpu` lies in, in increasing order; `None`: the kernel does not tell. A handful of
/// small files is read.
pub fn unit(cpu: usize, level: Level) -> Option<Vec<usize>> {
    let directory = Path::new(CPUS).join(format!("cpu{cpu}"));
    // The first names are those of kernels from 5.2 on.
    let topology = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| list(&directory.join("topology").join(name)))
    };
    match level {
        Level::Machine => list(&Path::new(CPUS).join("online")),
        Level::Package => topology(["package_cpus_list", "core_siblings_list"]),
        Level::Numa => {
            let (node, _) = numbered(&directory, "node").into_iter().next()?;
            list(&Path::new(NODES).join(format!("node{node}/cpulist")))
        }
        Level::L3 => shared_cache(&directory, "3"),
        Level::L2 => shared_cache(&directory, "2"),
        Level::Core => topology(["core_cpus_list", "thread_siblings_list"]),
    }
}

/// The CPUs that share the data cache of that level.
fn shared_cache(cpu: &Path, level: &str) -> Option<Vec<usize>> {
    let caches = numbered(&cpu.join("cache"), "index").into_iter();
    let found = caches.map(|(_, cache)| cache).find(|cache| {
        word(&cache.join("level")).as_deref() == Some(level)
            && word(&cache.join("type")).as_deref() != Some("Instruction")
    })?;
    list(&found.join("shared_cpu_list"))
}

/// A machine, or several, that somebody made up, and where on it ranks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeUp {
    /// `2x4`: packages and cores in each; `2x2x4`: with NUMA nodes between them; `2x1x2x4`: with machines before them.
    /// Rank after rank gets a core, and the first again after the last. A NUMA node has one third-level cache, a core a
    /// second-level one.
    Grid {
        /// How many there are, in each of the next larger.
        machines: usize,
        /// Of each machine.
        packages: usize,
        /// Of each package.
        nodes: usize,
        /// Of each NUMA node.
        cores: usize,
    },
    /// `0,1,0,1`: rank after rank the package it is in, and the first again after the last; `1.0` is package 0 of machine
    /// 1. A package has one NUMA node and third-level cache, and each rank has a core of its own.
    List(Vec<(usize, usize)>),
}

impl MadeUp {
    /// What the text describes; `None` if that makes no sense.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.contains('x') {
            let counts: Vec<usize> = text.split('x').map(|count| count.parse().ok()).collect::<Option<_>>()?;
            let (machines, packages, nodes, cores) = match counts[..] {
                [packages, cores] => (1, packages, 1, cores),
                [packages, nodes, cores] => (1, packages, nodes, cores),
                [machines, packages, nodes, cores] => (machines, packages, nodes, cores),
                _ => return None,
            };
            let all = [machines, packages, nodes, cores];
            let units = all.iter().try_fold(1_usize, |all, count| all.checked_mul(*count))?;
            return (1..usize::from(UNITS)).contains(&units).then_some(Self::Grid {
                machines,
                packages,
                nodes,
                cores,
            });
        }
        let number = |text: &str| text.parse().ok().filter(|unit| *unit < usize::from(UNITS));
        let entry = |entry: &str| match entry.split_once('.') {
            Some((machine, package)) => Some((number(machine)?, number(package)?)),
            None => Some((0, number(entry)?)),
        };
        text.split(',').map(entry).collect::<Option<_>>().map(Self::List)
    }

    /// Where `rank` runs.
    pub fn locality(&self, rank: usize) -> Locality {
        let mut locality = Locality::default();
        match self {
            Self::Grid {
                machines,
                packages,
                nodes,
                cores,
            } => {
                let core = rank % (machines * packages * nodes * cores);
                let node = core / cores;
                locality.set(Level::Machine, node / nodes / packages);
                locality.set(Level::Package, node / nodes);
                locality.set(Level::Numa, node);
                locality.set(Level::L3, node);
                locality.set(Level::L2, core);
                locality.set(Level::Core, core);
            }
            Self::List(entries) => {
                let own = entries[rank % entries.len()];
                // A package of the same number on another machine is another one.
                let before: BTreeSet<_> = entries.iter().filter(|entry| **entry < own).collect();
                let unit = before.len();
                let (machine, _) = own;
                locality.set(Level::Machine, machine);
                for level in [Level::Package, Level::Numa, Level::L3] {
                    locality.set(level, unit);
                }
                locality.set(Level::L2, rank);
                locality.set(Level::Core, rank);
            }
        }
        locality
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(locality: Locality) -> [Option<u16>; 6] {
        Level::ALL.map(|level| locality.unit(level))
    }

    #[test]
    fn a_process_is_where_all_its_cpus_are() {
        // Two packages of two cores of two threads, numbered as many machines do; the kernel hides the caches.
        let locality = |cpus: &[usize]| {
            let of_first = |level| {
                let units: &[&[usize]] = match level {
                    Level::Machine => &[&[0, 1, 2, 3, 4, 5, 6, 7]],
                    Level::Package => &[&[0, 1, 4, 5], &[2, 3, 6, 7]],
                    Level::Core => &[&[0, 4], &[1, 5], &[2, 6], &[3, 7]],
                    _ => &[],
                };
                units
                    .iter()
                    .find(|unit| unit.contains(&cpus[0]))
                    .map(|unit| unit.to_vec())
            };
            units(Locality::within(cpus, of_first))
        };
        assert_eq!(locality(&[5]), [Some(0), Some(0), None, None, None, Some(1)]);
        assert_eq!(locality(&[1, 4]), [Some(0), Some(0), None, None, None, None]);
        assert_eq!(locality(&[3, 7]), [Some(0), Some(2), None, None, None, Some(3)]);
        assert_eq!(locality(&[0, 2]), [Some(0), None, None, None, None, None]);
    }

    #[test]
    fn this_machine_holds_us() {
        let cpus = crate::cpu::affinity();
        assert_eq!(Locality::of_cpus(&cpus).unit(Level::Machine), Some(0));
        let bound = Locality::of_cpus(&cpus[..1]);
        for level in Level::ALL {
            let Some(unit) = unit(cpus[0], level) else { continue };
            assert!(unit.is_sorted() && unit.contains(&cpus[0]), "{level:?}: {unit:?}");
            assert_eq!(bound.unit(level).is_some(), unit[0] < usize::from(UNITS));
        }
    }

    #[test]
    fn made_up_machines() {
        let two = MadeUp::parse("2x4").expect("packages x cores");
        let localities: Vec<_> = (0..10).map(|rank| two.locality(rank)).collect();
        assert_eq!(units(localities[3]), [0, 0, 0, 0, 3, 3].map(Some));
        assert_eq!(units(localities[5]), [0, 1, 1, 1, 5, 5].map(Some));
        assert_eq!(localities[8], localities[0]);
        let large = MadeUp::parse("2x1x2x4").expect("machines x packages x nodes x cores");
        assert_eq!(units(large.locality(13)), [1, 1, 3, 3, 13, 13].map(Some));
        let list = MadeUp::parse("0,1,0.0,1.0").expect("packages");
        let localities: Vec<_> = (0..5).map(|rank| list.locality(rank)).collect();
        assert_eq!(localities[0].shared(localities[2]), Some(Level::L3));
        assert_eq!(localities[0].shared(localities[1]), Some(Level::Machine));
        assert_eq!(localities[0].shared(localities[3]), None);
        assert_eq!(units(localities[3]), [1, 2, 2, 2, 3, 3].map(Some));
        for bad in ["", "x", "0x2", "2x", "1,", "a", "1x2x3x4x5", "99999x99999", "0.0.0"] {
            assert_eq!(MadeUp::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn distances_grow_outward() {
        let at = |text: &str, rank| MadeUp::parse(text).expect("a machine").locality(rank);
        let machine = |rank| at("2x2x2x2", rank);
        assert_eq!(machine(0).distance(machine(0)), 0);
        assert_eq!(machine(0).distance(machine(1)), 2);
        assert_eq!(machine(0).distance(machine(2)), 4);
        assert_eq!(machine(0).distance(machine(4)), 5);
        assert_eq!(machine(0).distance(machine(8)), 6);
    }

    #[test]
    fn localities_travel_as_numbers() {
        let locality = MadeUp::parse("3x2").expect("a machine").locality(4);
        assert_eq!(Locality::from_bits(locality.bits()), locality);
        assert_eq!(Locality::from_bits(Locality::default().bits()), Locality::default());
        let many = MadeUp::List(vec![(0, 0)]).locality(5000);
        assert_eq!(many.unit(Level::Core), None, "too many to count");
        assert_eq!(Locality::from_bits(many.bits()), many);
        assert_eq!(Locality::default().shared(Locality::default()), None);
    }
}
