//! Where the ranks of a communicator are, as far as all of them know.

use std::collections::HashMap;

use isthmus_engine::{Level, Place};

/// The units that split ranks up, from the largest kind on.
const LEVELS: [Level; 4] = [Level::Machine, Level::Package, Level::Numa, Level::L3];

/// The places of all ranks of a group.
#[derive(Debug, Clone)]
pub struct Layout {
    /// For each rank, the first of those who are in the same units down to each depth.
    leaders: Box<[[usize; LEVELS.len() + 1]]>,
    nodes: Units,
    /// Of the largest kind that there is something to follow in; nodes, if there is none.
    units: Units,
    has_structure: bool,
    is_in_order: bool,
}

/// Ranks by the unit of one kind that they are in, which are numbered in the order of their first ranks.
#[derive(Debug, Clone)]
struct Units {
    /// The ranks of each, in order.
    ranks: Box<[Vec<usize>]>,
    /// Which of them each rank is in.
    of: Box<[usize]>,
}

impl Units {
    fn new(places: &[Place], level: Level) -> Self {
        let mut units: Vec<Option<u16>> = Vec::new();
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        let mut of = Vec::with_capacity(places.len());
        for (rank, place) in places.iter().enumerate() {
            let unit = place.unit(level);
            let known = units.iter().position(|other| *other == unit);
            let number = known.unwrap_or_else(|| {
                units.push(unit);
                ranks.push(Vec::new());
                units.len() - 1
            });
            ranks[number].push(rank);
            of.push(number);
        }
        Self {
            ranks: ranks.into(),
            of: of.into(),
        }
    }
}

/// Are there several units of this kind, one of them with several ranks?
fn have_structure(places: &[Place], level: Level) -> bool {
    let units = Units::new(places, level);
    places.iter().all(|place| place.unit(level).is_some())
        && units.ranks.iter().any(|ranks| (2..places.len()).contains(&ranks.len()))
}

/// Who is first of those who are in the same units as a rank, by depth.
fn leaders(places: &[Place]) -> Box<[[usize; LEVELS.len() + 1]]> {
    let mut leaders = vec![[0; LEVELS.len() + 1]; places.len()];
    for depth in 0..=LEVELS.len() {
        let mut first = HashMap::new();
        for (rank, place) in places.iter().enumerate() {
            let mut units = [None; LEVELS.len()];
            for (unit, level) in units.iter_mut().zip(&LEVELS[..depth]) {
                *unit = place.unit(*level);
            }
            leaders[rank][depth] = *first.entry(units).or_insert(rank);
        }
    }
    leaders.into()
}

/// The place of the root among the ranks of a node, or the first.
fn place_of(ranks: &[usize], root: Option<usize>) -> usize {
    ranks.iter().position(|rank| Some(*rank) == root).unwrap_or(0)
}

impl Layout {
    /// Of ranks at these places.
    pub fn new(places: Vec<Place>) -> Self {
        let nodes = Units::new(&places, Level::Machine);
        let level = LEVELS.into_iter().find(|level| have_structure(&places, *level));
        Self {
            units: level.map_or_else(|| nodes.clone(), |level| Units::new(&places, level)),
            has_structure: level.is_some(),
            is_in_order: nodes.of.is_sorted(),
            leaders: leaders(&places),
            nodes,
        }
    }

    /// The ranks of each node, in order.
    pub fn nodes(&self) -> &[Vec<usize>] {
        &self.nodes.ranks
    }

    /// All ranks, those of the first node first.
    pub fn by_node(&self) -> impl Iterator<Item = usize> {
        self.nodes.ranks.iter().flatten().copied()
    }

    /// The place among these of the first rank of a node.
    pub fn start_of(&self, node: usize) -> usize {
        self.nodes.ranks[..node].iter().map(Vec::len).sum()
    }

    /// Which of them a rank is on.
    pub fn node_of(&self, rank: usize) -> usize {
        self.nodes.of[rank]
    }

    /// A rank for each node: the first, but `root` for its own.
    pub fn leaders(&self, root: Option<usize>) -> Vec<usize> {
        let leader = |ranks: &Vec<usize>| ranks[place_of(ranks, root)];
        self.nodes.ranks.iter().map(leader).collect()
    }

    /// The place of the leader of a rank's node among that node's ranks.
    pub fn place_of_leader(&self, rank: usize, root: Option<usize>) -> usize {
        place_of(&self.nodes.ranks[self.nodes.of[rank]], root)
    }

    /// Are all ranks of a node before those of the next?
    pub fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// Is there something to follow for a tree?
    pub fn has_structure(&self) -> bool {
        self.has_structure
    }

    /// The ranks of each unit of the largest kind of which there are several, one of them with several ranks; in order.
    pub fn units(&self) -> &[Vec<usize>] {
        &self.units.ranks
    }

    /// Which of them a rank is in.
    pub fn unit_of(&self, rank: usize) -> usize {
        self.units.of[rank]
    }

    /// Whom a rank gets the root's data from: of the largest unit that it is the first rank of (the root, if that is in
    /// it), the first rank of the next larger unit. `None` for the root.
    pub fn parent(&self, rank: usize, root: usize) -> Option<usize> {
        if rank == root {
            return None;
        }
        // Units that no rank is in are one unit.
        let leader = |depth: usize| self.leader(rank, root, depth);
        let depth = (0..=LEVELS.len()).find(|&depth| leader(depth) == rank);
        match depth {
            // Of the deepest unit, who is not its first rank hangs on that.
            None => Some(leader(LEVELS.len())),
            Some(0) => Some(root),
            Some(depth) => Some(leader(depth - 1)),
        }
    }

    /// The first of those who are in the same units as `rank` down to this depth; the root, if it is one of them.
    fn leader(&self, rank: usize, root: usize, depth: usize) -> usize {
        match self.leaders[rank][depth] {
            leader if leader == self.leaders[root][depth] => root,
            leader => leader,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_engine::MadeUp;

    fn layout(text: &str, ranks: usize) -> Layout {
        let machine = MadeUp::parse(text).expect("a machine");
        Layout::new((0..ranks).map(|rank| machine.place(rank)).collect())
    }

    #[test]
    fn trees_reach_everyone_and_cross_each_border_once() {
        for text in ["2x4", "2x2x2", "2x1x2x2", "0,1,0,1,1,2", "1x9", "2x2x9"] {
            for ranks in (1..12).chain([36]) {
                let layout = layout(text, ranks);
                let machine = MadeUp::parse(text).expect("a machine");
                for root in 0..ranks {
                    for rank in 0..ranks {
                        let mut at = rank;
                        for _ in 0..ranks {
                            at = layout.parent(at, root).unwrap_or(root);
                        }
                        assert_eq!(at, root, "{text}: {rank} of {ranks} hangs on nothing");
                    }
                    for level in LEVELS {
                        let unit = |rank: usize| machine.place(rank).unit(level);
                        let mut entered: Vec<_> = (0..ranks)
                            .filter_map(|rank| Some((unit(rank), unit(layout.parent(rank, root)?))))
                            .filter(|(to, from)| to != from)
                            .map(|(to, _)| to)
                            .collect();
                        let crossings = entered.len();
                        entered.sort_unstable();
                        entered.dedup();
                        assert_eq!(
                            crossings,
                            entered.len(),
                            "{text}: {ranks} ranks, root {root}, {level:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn nodes_are_numbered_by_their_first_ranks() {
        let scattered = layout("1.0,0.0,1.0", 6);
        assert_eq!(scattered.nodes(), [vec![0, 2, 3, 5], vec![1, 4]]);
        assert_eq!(scattered.node_of(4), 1);
        assert_eq!(scattered.by_node().collect::<Vec<_>>(), [0, 2, 3, 5, 1, 4]);
        assert_eq!((scattered.start_of(0), scattered.start_of(1)), (0, 4));
        assert!(!scattered.is_in_order());
        assert!(layout("3x1x1x2", 6).is_in_order());
        assert!(layout("2x2", 4).has_structure());
        assert!(!layout("2x2", 2).has_structure() && !layout("4x1", 4).has_structure());
    }

    #[test]
    fn units_are_of_the_largest_kind_that_splits_ranks_up() {
        let packages = layout("2x2x2", 8);
        assert_eq!(packages.units(), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        // They are all in one package.
        assert_eq!(layout("2x2x2", 4).units(), [vec![0, 1], vec![2, 3]]);
        // Each is in its own.
        assert_eq!(layout("4x1", 4).units(), [vec![0, 1, 2, 3]]);
        let scattered = layout("0,1,0,1,1", 5);
        assert_eq!(scattered.units(), [vec![0, 2], vec![1, 3, 4]]);
        assert_eq!((scattered.unit_of(2), scattered.unit_of(4)), (0, 1));
    }
}
