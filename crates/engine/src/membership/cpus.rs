//! Whether ranks share CPUs.

/// Whether ranks have CPUs of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpus {
    /// Each rank has one.
    Own,
    /// More ranks than CPUs, but at most three to two: some CPUs serve one rank, others two.
    PartlyShared,
    /// More ranks than that.
    Shared,
}

impl Cpus {
    /// Of so many ranks on so many CPUs.
    pub fn of(ranks: u32, cpus: u32) -> Self {
        match () {
            () if ranks <= cpus => Self::Own,
            () if ranks <= Self::most_partly_shared(cpus) => Self::PartlyShared,
            () => Self::Shared,
        }
    }

    /// Up to so many ranks not all of these CPUs are shared: three to two.
    pub fn most_partly_shared(cpus: u32) -> u32 {
        cpus.saturating_add(cpus / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_cpus_as_before() {
        let grid = [
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 2),
            (3, 3),
            (4, 3),
            (5, 3),
            (6, 4),
            (7, 4),
            (8, 2),
            (1, u32::MAX),
        ];
        use Cpus::{Own, PartlyShared, Shared};
        let expected = [
            Own,
            Own,
            PartlyShared,
            Shared,
            Own,
            PartlyShared,
            Shared,
            PartlyShared,
            Shared,
            Shared,
            Own,
        ];
        assert_eq!(grid.map(|(ranks, cpus)| Cpus::of(ranks, cpus)), expected);
    }
}
