//! CPUs for the first two ranks by what they share, as the papers tell their figures apart.

use anyhow::{Context, Result};
use clap::ValueEnum;
use isthmus_os::topology;

/// What the CPUs of ranks 0 and 1 have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// A cache of the second level or above, on different cores
    Cache,
    /// The socket, but no such cache
    Socket,
    /// Nothing: they are on different sockets
    Sockets,
}

/// A CPU, as far as the kernel tells.
struct CpuInfo {
    cpu: usize,
    core: usize,
    package: Vec<usize>,
    /// Those with which it shares a cache above the first level.
    near: Vec<usize>,
}

impl Placement {
    /// These CPUs, with two that are placed like this in front.
    ///
    /// # Errors
    /// The machine has no such two, or does not tell.
    pub fn order(self, cpus: &[usize]) -> Result<Vec<usize>> {
        let cores = topology::cores(cpus.iter().copied());
        let known: Vec<CpuInfo> = cpus
            .iter()
            .map(|&cpu| CpuInfo {
                cpu,
                core: cores.iter().position(|core| core.contains(&cpu)).unwrap_or(cpu),
                package: topology::package(cpu),
                near: topology::caches(cpu)
                    .into_iter()
                    .filter(|cache| cache.level > 1)
                    .flat_map(|cache| cache.shared_by)
                    .collect(),
            })
            .collect();
        let (first, second) = self.pair(&known).with_context(|| {
            format!(
                "--placement: of CPUs {} no two {}",
                crate::show::cpus(cpus),
                match self {
                    Placement::Cache => "share a cache of the second level or above",
                    Placement::Socket => "are on one socket and share no cache",
                    Placement::Sockets => "are on different sockets",
                }
            )
        })?;
        let rest = cpus.iter().copied().filter(|cpu| ![first, second].contains(cpu));
        Ok([first, second].into_iter().chain(rest).collect())
    }

    fn pair(self, known: &[CpuInfo]) -> Option<(usize, usize)> {
        let is_so = |a: &CpuInfo, b: &CpuInfo| {
            let shares_cache = a.near.contains(&b.cpu);
            let shares_socket = a.package.contains(&b.cpu);
            a.core != b.core
                && match self {
                    Placement::Cache => shares_cache,
                    Placement::Socket => shares_socket && !shares_cache,
                    // Where nothing is told nothing is known to be apart.
                    Placement::Sockets => !a.package.is_empty() && !shares_socket,
                }
        };
        let pairs = known
            .iter()
            .enumerate()
            .flat_map(|(at, a)| known[at + 1..].iter().map(move |b| (a, b)));
        pairs
            .into_iter()
            .find(|(a, b)| is_so(a, b))
            .map(|(a, b)| (a.cpu, b.cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of four cores, of which pairs share a cache, and the second threads of the first socket's cores.
    fn machine() -> Vec<CpuInfo> {
        let known = |cpu: usize| CpuInfo {
            cpu,
            core: cpu % 8,
            package: if cpu % 8 < 4 {
                vec![0, 1, 2, 3, 8, 9, 10, 11]
            } else {
                vec![4, 5, 6, 7]
            },
            near: (0..12).filter(|other| other % 8 / 2 == cpu % 8 / 2).collect(),
        };
        [0, 8, 1, 2, 3, 4, 5, 6, 7].map(known).into()
    }

    #[test]
    fn pairs_share_what_was_asked_for() {
        let pairs =
            [Placement::Cache, Placement::Socket, Placement::Sockets].map(|placement| placement.pair(&machine()));
        assert_eq!(pairs, [Some((0, 1)), Some((0, 2)), Some((0, 4))]);
    }

    #[test]
    fn a_machine_that_does_not_tell_has_none() {
        let mute = |cpu| CpuInfo {
            cpu,
            core: cpu,
            package: vec![],
            near: vec![],
        };
        let machine = [0, 1].map(mute);
        for placement in [Placement::Cache, Placement::Socket, Placement::Sockets] {
            assert_eq!(placement.pair(&machine), None);
        }
    }
}
