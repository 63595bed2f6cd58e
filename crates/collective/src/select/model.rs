//! What a collective takes, from the costs of its steps: for `isthmus bench collectives --model`, and for a test that holds the rules to it on
//! machines that nobody here has.
//!
//! A rank that looks at what another one has written waits for the first line, and gets the lines behind it at the pace of a stream.
//! Steps in which all wait for all take a hand-over, and some more for each further rank. Where ranks share CPUs each step takes as many switches as there
//! are ranks on a CPU, which also work one after the other. A model of these few prices is right to a factor, not to a tenth: it says
//! which of two algorithms is the better one where they differ by much, and whether a number was to be expected.

use super::{Case, Collective, Traits};

/// Prices, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct MachineCosts {
    /// CPUs that the ranks have.
    pub cpus: u64,
    /// The hand-over of a line from one CPU to another.
    pub line: f64,
    /// A byte that one CPU copies out of its own cache.
    pub copy: f64,
    /// A switch from one process to another.
    pub switch: f64,
}

/// Bytes of a cache line.
const LINE: f64 = 64.0;
/// Of a hand-over: what the first line takes where several are waited for at a time, each line behind it (135 lines of 15 ranks in 2.3 us where a
/// hand-over takes 0.1, an Emerald Rapids server of 16 CPUs), and each line behind [`PREFETCHED_FROM`] (gathers of 32 KiB to 1 MiB on two CPUs of
/// Zen 5).
const FIRST: f64 = 0.5;
const NEXT: f64 = 0.1;
const LATER: f64 = 0.02;
/// Lines of a run after which those behind are there before they are asked for: a page.
const PREFETCHED_FROM: f64 = 64.0;
/// What a call takes without its steps, and a message without its bytes.
const CALL: f64 = 50.0;
const MESSAGE: f64 = 60.0;
/// Two operands are read and a result is written: of a copy.
const COMBINE: f64 = 1.5;
/// A single copy by the kernel: the call, and a byte, of a copy.
const KERNEL: f64 = 400.0;
const KERNEL_COPY: f64 = 1.3;

/// A machine with so many ranks on it.
struct Costs {
    machine: MachineCosts,
    ranks: f64,
}

impl Costs {
    /// A step in which all wait for all.
    fn step(&self) -> f64 {
        let MachineCosts { line, switch, cpus, .. } = self.machine;
        match self.ranks > cpus as f64 {
            true => self.ranks / cpus as f64 * switch,
            false => line * (1.0 + (self.ranks - 2.0).max(0.0) / 4.0),
        }
    }

    /// How many ranks work one after the other, if all have as much to do.
    fn each(&self) -> f64 {
        (self.ranks / self.machine.cpus as f64).max(1.0)
    }

    /// So many bytes into memory of one's own.
    fn write(&self, bytes: f64) -> f64 {
        bytes * self.machine.copy
    }

    /// So many bytes that each of so many ranks has written.
    fn read(&self, ranks: f64, bytes: f64) -> f64 {
        let is_near = self.ranks > self.machine.cpus as f64;
        // What a rank of the same CPU has written lies in its cache.
        let line = if is_near {
            LINE * self.machine.copy / NEXT
        } else {
            self.machine.line
        };
        let lines = (bytes / LINE).max(1.0);
        let later = (lines - PREFETCHED_FROM).max(0.0);
        let lines = FIRST + (lines - 1.0 - later) * NEXT + later * LATER;
        ranks * (lines * line).max(bytes * self.machine.copy)
    }

    /// So many bytes of operands.
    fn combine(&self, bytes: f64) -> f64 {
        bytes * self.machine.copy * COMBINE
    }

    /// So many single copies of so many bytes.
    fn single(&self, copies: f64, bytes: f64) -> f64 {
        copies * (KERNEL + bytes * self.machine.copy * KERNEL_COPY)
    }
}

/// What a call of a collective takes by an algorithm, in nanoseconds; `None`: there is no model of it.
pub fn predict(collective: &Collective, algorithm: &str, case: &Case, machine: &MachineCosts) -> Option<f64> {
    let of = Costs {
        machine: *machine,
        ranks: case.ranks as f64,
    };
    let (n, p, each) = (case.bytes as f64, of.ranks, of.each());
    let others = p - 1.0;
    // (steps, what all ranks do at a time, what one does while the others wait or go on).
    let (steps, all, one) = match (collective.name, algorithm) {
        ("barrier", "shared") => (1.0, 0.0, 0.0),
        ("bcast", "shared") => (1.0, of.read(1.0, n), of.write(n) / 2.0),
        ("bcast", "shared_direct") => (2.0, of.single(1.0, n), 0.0),
        ("gather", "shared") => (1.0, of.write(n), of.read(others, n)),
        ("gather", "shared_direct") => (2.0, 0.0, of.single(others, n)),
        ("gather", "linear") => (1.0, of.write(n), of.read(others, n) + others * MESSAGE),
        ("scatter", "shared") => (1.0, of.read(1.0, n), of.write(others * n)),
        ("scatter", "shared_direct") => (2.0, of.single(1.0, n), 0.0),
        ("scatter", "linear") => (1.0, of.read(1.0, n), of.write(others * n) + others * MESSAGE),
        ("allgather", "shared") => (1.0, of.write(n) + of.read(others, n), 0.0),
        ("allgather" | "alltoall", "shared_direct") => (2.0, of.single(others, n), 0.0),
        ("alltoall", "shared") => (1.0, of.write(others * n) + of.read(others, n), 0.0),
        ("alltoall", "direct") => (1.0, of.write(others * n) + of.read(others, n) + others * MESSAGE, 0.0),
        ("reduce", "shared") => (1.0, of.write(n), of.read(others, n) + of.combine(others * n)),
        ("reduce", "shared_sliced") => (
            2.0,
            of.write(n + n / p) + of.read(others, n / p) + of.combine(n * others / p),
            of.read(others, n / p),
        ),
        ("allreduce", "shared_flat") => (1.0, of.write(n) + of.read(others, n) + of.combine(others * n), 0.0),
        ("allreduce", "shared_sliced") => (
            2.0,
            of.write(n + n / p) + 2.0 * of.read(others, n / p) + of.combine(n * others / p),
            0.0,
        ),
        ("reduce_scatter", "shared") => (
            1.0,
            of.write(n) + of.read(others, n / p) + of.combine(n * others / p),
            0.0,
        ),
        ("scan", "shared") => (1.0, of.write(n), of.read(others, n) + of.combine(others * n)),
        _ => return None,
    };
    Some(CALL + steps * of.step() + all * each + one)
}

/// The algorithm that is chosen for a call, and what the call takes by it.
pub fn predicted(collective: &Collective, case: &Case, machine: &MachineCosts) -> Option<(&'static str, f64)> {
    let algorithm = collective.algorithms[collective.chosen(case).algorithm].name;
    predict(collective, algorithm, case, machine).map(|cost| (algorithm, cost))
}

/// The same for a call of contiguous elements once there is a board, on so many ranks of a machine of one unit.
pub fn on(
    collective: &Collective,
    ranks: u64,
    bytes: u64,
    machine: &MachineCosts,
    copies: Traits,
) -> Option<(&'static str, f64)> {
    let case = case_on(ranks, bytes, machine, copies);
    predicted(collective, &case, machine)
}

fn case_on(ranks: u64, bytes: u64, machine: &MachineCosts, copies: Traits) -> Case {
    let offers = Traits::BOARD | Traits::PLAIN | Traits::COMMUTATIVE | copies;
    Case {
        ranks,
        bytes,
        offers: offers | Traits::ELEMENT_EACH.when(bytes >= 8 * ranks) | Traits::IDLE_CPUS.when(ranks <= machine.cpus),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::ALL;
    use super::*;

    /// Servers of 2 to 256 CPUs, whose lines cross in 50 to 250 ns.
    fn machines() -> impl Iterator<Item = MachineCosts> {
        let cpus = [2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256];
        let lines = [50.0, 100.0, 250.0];
        cpus.into_iter().flat_map(move |cpus| {
            lines.map(|line| MachineCosts {
                cpus,
                line,
                copy: 0.04,
                switch: 1500.0,
            })
        })
    }

    fn sizes() -> impl Iterator<Item = u64> {
        (3..=22).flat_map(|bit| [1 << bit, 3 << (bit - 1)])
    }

    /// Another algorithm takes over at a size at which it takes about what the one before it takes.
    #[test]
    fn no_choice_jumps() {
        const MOST: f64 = 1.3;
        let mut jumps = Vec::new();
        for machine in machines() {
            for collective in ALL {
                let borders = collective
                    .rules
                    .iter()
                    .flat_map(|rule| [rule.bytes.0, rule.bytes.1.saturating_add(1)]);
                for border in borders.filter(|border| (64..1 << 26).contains(border)) {
                    let at = |bytes| on(collective, machine.cpus, bytes, &machine, Traits::NONE);
                    let (Some((before, least)), Some((after, most))) = (at(border - 1), at(border)) else {
                        continue;
                    };
                    let jump = (most / least).max(least / most);
                    if before != after && jump > MOST {
                        jumps.push(format!(
                            "{} at {border}: {before} {least:.0}, {after} {most:.0} on {machine:?}",
                            collective.name
                        ));
                    }
                }
            }
        }
        assert!(jumps.is_empty(), "{} jumps:\n{}", jumps.len(), jumps.join("\n"));
    }

    /// The algorithm that is chosen takes no more than half as long again as the best one.
    #[test]
    fn no_choice_is_far_from_the_best() {
        const MOST: f64 = 1.5;
        let mut misses = Vec::new();
        for machine in machines() {
            for collective in ALL {
                for bytes in sizes() {
                    let ranks = machine.cpus;
                    let Some((chosen, cost)) = on(collective, ranks, bytes, &machine, Traits::NONE) else {
                        continue;
                    };
                    let case = case_on(ranks, bytes, &machine, Traits::NONE);
                    let possible = collective
                        .algorithms
                        .iter()
                        .filter(|algorithm| algorithm.needs.are_in(case.offers));
                    let costs = possible.filter_map(|algorithm| {
                        Some((algorithm.name, predict(collective, algorithm.name, &case, &machine)?))
                    });
                    let Some((best, least)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else {
                        continue;
                    };
                    if cost > least * MOST {
                        misses.push(format!(
                            "{} {bytes}: {chosen} {cost:.0}, {best} {least:.0} on {machine:?}",
                            collective.name
                        ));
                    }
                }
            }
        }
        assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
    }
}
