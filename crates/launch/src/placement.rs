//! Which CPUs each rank of a node may use: what `--bind-to` and `--map-by` ask for, on this machine.

use isthmus_os::{cpu, topology};
use serde::{Deserialize, Serialize};

/// What a rank is bound to, and what ranks are mapped by.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bind {
    /// The kernel places ranks.
    #[default]
    None,
    /// Each rank on so many cores of its own, going round when there are more ranks than cores.
    Cores(u32),
    /// Each on a hyper-thread.
    Hwthread,
    /// Each on all CPUs that share a cache of this level.
    Cache(u32),
    /// Each on a NUMA node.
    Numa,
    /// Each on a package, that is, a socket.
    Package,
}

impl Bind {
    /// As users write it. The words of MPICH and Open MPI.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "none" | "board" | "machine" | "user" => Self::None,
            "core" => Self::Cores(1),
            "hwthread" | "hwt" | "pu" => Self::Hwthread,
            "l1" | "l1cache" => Self::Cache(1),
            "l2" | "l2cache" => Self::Cache(2),
            "l3" | "l3cache" | "cache" => Self::Cache(3),
            "numa" | "numanode" => Self::Numa,
            "socket" | "package" => Self::Package,
            other => Self::Cores(other.strip_prefix("core:")?.parse().ok().filter(|cores| *cores > 0)?),
        })
    }

    /// The CPUs of each such unit of this machine that this process may use; none of [`Bind::None`].
    pub fn units(self) -> Vec<Vec<usize>> {
        let own = cpu::affinity();
        let by = |place: &dyn Fn(usize) -> Vec<usize>| {
            let mut units: Vec<Vec<usize>> = Vec::new();
            for &cpu in &own {
                if units.iter().any(|unit| unit.contains(&cpu)) {
                    continue;
                }
                let mut unit: Vec<usize> = place(cpu).into_iter().filter(|cpu| own.contains(cpu)).collect();
                // A machine that does not tell is one place.
                if unit.is_empty() {
                    unit.clone_from(&own);
                }
                units.push(unit);
            }
            units
        };
        match self {
            Self::None => Vec::new(),
            Self::Cores(count) => {
                let cores = topology::cores(own.iter().copied());
                cores.chunks(count as usize).map(<[_]>::concat).collect()
            }
            Self::Hwthread => own.iter().map(|cpu| vec![*cpu]).collect(),
            Self::Cache(level) => by(&|cpu| {
                let caches = topology::caches(cpu);
                let cache = caches
                    .into_iter()
                    .find(|cache| cache.level == level && cache.kind != "Instruction");
                cache.map(|cache| cache.shared_by).unwrap_or_default()
            }),
            Self::Numa => {
                let nodes = topology::nodes();
                by(&|cpu| {
                    let node = nodes.iter().find(|node| node.cpus.contains(&cpu));
                    node.map(|node| node.cpus.clone()).unwrap_or_default()
                })
            }
            Self::Package => by(&topology::package),
        }
    }
}

/// In which order the ranks of a node get its CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// The units that are taken in turn.
    pub unit: Bind,
    /// How many neighbouring ranks each unit gets before the next one does.
    pub ranks: u32,
}

/// The CPUs of this node's ranks.
#[derive(Debug)]
pub struct Placement {
    /// Of each unit that ranks are mapped by, what ranks are bound to there. Empty if ranks are not bound.
    units: Vec<Vec<Vec<usize>>>,
    /// See [`Map::ranks`].
    ranks: usize,
}

impl Placement {
    /// For `ranks` ranks on this machine. Ranks that are mapped by a unit and bound to nothing by name are bound to that unit, unless there are
    /// more ranks than CPUs.
    pub fn new(bind: Option<Bind>, map: Option<Map>, ranks: usize) -> Self {
        let bind = bind.unwrap_or_else(|| match map {
            Some(map) if ranks <= cpu::affinity().len() => map.unit,
            _ => Bind::None,
        });
        let mapped = map.map_or_else(Vec::new, |map| map.unit.units());
        Self {
            units: arranged(&mapped, &bind.units()),
            ranks: map.map_or(1, |map| map.ranks.max(1) as usize),
        }
    }

    /// What the rank of this number on its node may use; empty: everything.
    pub fn of(&self, local: usize) -> &[usize] {
        let count = self.units.len();
        if count == 0 {
            return &[];
        }
        let (round, within) = (local / (self.ranks * count), local % self.ranks);
        let places = &self.units[local / self.ranks % count];
        &places[(round * self.ranks + within) % places.len()]
    }
}

/// For each unit of `mapped` (all CPUs are one if there is none) those of `bound` that have a CPU in it.
fn arranged(mapped: &[Vec<usize>], bound: &[Vec<usize>]) -> Vec<Vec<Vec<usize>>> {
    if mapped.is_empty() {
        return [bound.to_vec()].into_iter().filter(|all| !all.is_empty()).collect();
    }
    let within = |unit: &Vec<usize>| -> Vec<Vec<usize>> {
        let meets = |place: &&Vec<usize>| place.iter().any(|cpu| unit.contains(cpu));
        bound.iter().filter(meets).cloned().collect()
    };
    mapped.iter().map(within).filter(|places| !places.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mapped: &[&[usize]], bound: &[&[usize]], ranks: usize, count: usize) -> Vec<Vec<usize>> {
        let owned = |units: &[&[usize]]| units.iter().map(|unit| unit.to_vec()).collect::<Vec<_>>();
        let placement = Placement {
            units: arranged(&owned(mapped), &owned(bound)),
            ranks,
        };
        (0..count).map(|local| placement.of(local).to_vec()).collect()
    }

    #[test]
    fn ranks_take_units_in_turn() {
        let (sockets, cores): ([&[usize]; 2], [&[usize]; 4]) = ([&[0, 1], &[2, 3]], [&[0], &[1], &[2], &[3]]);
        // --bind-to core
        assert_eq!(all(&[], &cores, 1, 5), [[0], [1], [2], [3], [0]]);
        // --map-by socket --bind-to core
        assert_eq!(all(&sockets, &cores, 1, 5), [[0], [2], [1], [3], [0]]);
        // --map-by ppr:2:socket --bind-to core
        assert_eq!(all(&sockets, &cores, 2, 5), [[0], [1], [2], [3], [0]]);
        // --map-by socket
        assert_eq!(all(&sockets, &sockets, 1, 3), [[0, 1], [2, 3], [0, 1]]);
        // --map-by core --bind-to socket
        assert_eq!(all(&cores, &sockets, 1, 4), [[0, 1], [0, 1], [2, 3], [2, 3]]);
        // --map-by socket --bind-to none
        assert_eq!(all(&sockets, &[], 1, 2), [[], []] as [[usize; 0]; 2]);
    }

    #[test]
    fn more_ranks_than_cpus_are_bound_by_name_only() {
        let map = Some(Map {
            unit: Bind::Hwthread,
            ranks: 1,
        });
        let cpus = cpu::affinity().len();
        assert_eq!(Placement::new(None, map, cpus).of(0).len(), 1);
        assert!(Placement::new(None, map, cpus + 1).of(0).is_empty());
        assert_eq!(Placement::new(Some(Bind::Hwthread), map, cpus + 1).of(0).len(), 1);
    }
}
