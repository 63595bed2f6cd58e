//! Where the ranks of a communicator are, as far as all of them know.

use isthmus_engine::{Level, Place};

/// The units that split ranks up, from the largest kind on.
const LEVELS: [Level; 4] = [Level::Machine, Level::Package, Level::Numa, Level::L3];

/// The places of all ranks of a group.
#[derive(Debug, Clone)]
pub struct Layout {
    places: Box<[Place]>,
    /// The node of each rank, numbered in the order of their first ranks.
    node_of: Box<[usize]>,
    /// The ranks of each node, in order.
    nodes: Box<[Vec<usize>]>,
    has_structure: bool,
    is_in_order: bool,
}

/// Are there several units of some kind, one of them with several ranks?
fn have_structure(places: &[Place]) -> bool {
    LEVELS.iter().any(|level| {
        let unit = |place: &Place| place.unit(*level);
        let beside = |one: &Place| places.iter().filter(|other| unit(other) == unit(one)).count();
        places.iter().all(|place| unit(place).is_some())
            && places.iter().any(|place| (2..places.len()).contains(&beside(place)))
    })
}

/// The place of the root among the ranks of a node, or the first.
fn place_of(ranks: &[usize], root: Option<usize>) -> usize {
    ranks.iter().position(|rank| Some(*rank) == root).unwrap_or(0)
}

impl Layout {
    /// Of ranks at these places.
    pub fn new(places: Vec<Place>) -> Self {
        let mut units: Vec<Option<u16>> = Vec::new();
        let mut nodes: Vec<Vec<usize>> = Vec::new();
        let mut node_of = Vec::with_capacity(places.len());
        for (rank, place) in places.iter().enumerate() {
            let unit = place.unit(Level::Machine);
            let known = units.iter().position(|other| *other == unit);
            let node = known.unwrap_or_else(|| {
                units.push(unit);
                nodes.push(Vec::new());
                units.len() - 1
            });
            nodes[node].push(rank);
            node_of.push(node);
        }
        Self {
            has_structure: have_structure(&places),
            is_in_order: node_of.is_sorted(),
            places: places.into(),
            node_of: node_of.into(),
            nodes: nodes.into(),
        }
    }

    /// The ranks of each node, in order.
    pub fn nodes(&self) -> &[Vec<usize>] {
        &self.nodes
    }

    /// All ranks, those of the first node first.
    pub fn by_node(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().flatten().copied()
    }

    /// The place among these of the first rank of a node.
    pub fn start_of(&self, node: usize) -> usize {
        self.nodes[..node].iter().map(Vec::len).sum()
    }

    /// Which of them a rank is on.
    pub fn node_of(&self, rank: usize) -> usize {
        self.node_of[rank]
    }

    /// A rank for each node: the first, but `root` for its own.
    pub fn leaders(&self, root: Option<usize>) -> Vec<usize> {
        let leader = |ranks: &Vec<usize>| ranks[place_of(ranks, root)];
        self.nodes.iter().map(leader).collect()
    }

    /// The place of the leader of a rank's node among that node's ranks.
    pub fn place_of_leader(&self, rank: usize, root: Option<usize>) -> usize {
        place_of(&self.nodes[self.node_of[rank]], root)
    }

    /// Are all ranks of a node before those of the next?
    pub fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// Is there something to follow for a tree?
    pub fn has_structure(&self) -> bool {
        self.has_structure
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
        let units = |rank: usize| LEVELS[..depth].iter().map(move |level| self.places[rank].unit(*level));
        let beside = |other: &usize| units(*other).eq(units(rank));
        if beside(&root) {
            return root;
        }
        (0..self.places.len()).find(beside).unwrap_or(rank)
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
        for text in ["2x4", "2x2x2", "2x1x2x2", "0,1,0,1,1,2", "1x9"] {
            for ranks in 1..12 {
                let layout = layout(text, ranks);
                for root in 0..ranks {
                    for rank in 0..ranks {
                        let mut at = rank;
                        for _ in 0..ranks {
                            at = layout.parent(at, root).unwrap_or(root);
                        }
                        assert_eq!(at, root, "{text}: {rank} of {ranks} hangs on nothing");
                    }
                    for level in LEVELS {
                        let unit = |rank: usize| layout.places[rank].unit(level);
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
}
