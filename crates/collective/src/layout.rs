//! Where the ranks of a communicator are, as far as all of them know.

use std::collections::HashMap;

use isthmus_engine::{Level, Locality};

/// The units that split ranks up, from the largest kind on.
const LEVELS: [Level; 4] = [Level::Machine, Level::Package, Level::Numa, Level::L3];

/// The localities of all ranks of a group. In each process and communicator at most 28 bytes for each of them: 8 for nodes, 8 for units of
/// another kind, 4 for each kind that splits units up; and 4 for each unit.
#[derive(Debug, Clone)]
pub struct Layout {
    nodes: Units,
    /// Of the largest kind that there is something to follow in; `None`: nodes, or there is none.
    units: Option<Units>,
    /// The first rank in the same units as each rank, down to one kind. From the largest kind on, the kinds that split up the units of
    /// larger ones.
    leaders: Box<[Box<[u32]>]>,
    has_structure: bool,
    is_in_order: bool,
}

/// Ranks by the unit of one kind that they are in, which are numbered in the order of their first ranks.
#[derive(Debug, Clone)]
struct Units {
    /// Those of the first unit, then those of the next; in order.
    ranks: Box<[u32]>,
    /// Where those of each unit end there.
    ends: Box<[u32]>,
    /// Which unit each rank is in.
    of: Box<[u32]>,
}

impl Units {
    fn new(localities: &[Locality], level: Level) -> Self {
        let mut known: Vec<Option<u16>> = Vec::new();
        let number = |locality: &Locality| {
            let unit = locality.unit(level);
            known.iter().position(|other| *other == unit).unwrap_or_else(|| {
                known.push(unit);
                known.len() - 1
            }) as u32
        };
        let of: Box<[u32]> = localities.iter().map(number).collect();
        let mut ends = vec![0; known.len()];
        of.iter().for_each(|unit| ends[*unit as usize] += 1);
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let mut ranks: Box<[u32]> = (0..localities.len() as u32).collect();
        // The sort is stable.
        ranks.sort_by_key(|rank| of[*rank as usize]);
        Self {
            ranks,
            ends: ends.into(),
            of,
        }
    }

    fn start(&self, unit: usize) -> usize {
        unit.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    /// The ranks of one, in order.
    fn ranks(&self, unit: usize) -> &[u32] {
        &self.ranks[self.start(unit)..self.ends[unit] as usize]
    }

    /// The ranks of each.
    fn all(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        (0..self.ends.len()).map(|unit| self.ranks(unit))
    }

    /// Are there several of them, one with several ranks?
    fn have_structure(&self) -> bool {
        self.all().any(|ranks| (2..self.of.len()).contains(&ranks.len()))
    }
}

/// The units of this kind, if all ranks are in one, and there is something to follow in them.
fn structure(localities: &[Locality], level: Level) -> Option<Units> {
    let are_known = localities.iter().all(|locality| locality.unit(level).is_some());
    are_known
        .then(|| Units::new(localities, level))
        .filter(Units::have_structure)
}

/// The first rank in the same units as a rank, for each kind that splits units up.
fn leaders(localities: &[Locality]) -> Box<[Box<[u32]>]> {
    let mut leaders: Vec<Box<[u32]>> = Vec::new();
    for depth in 1..=LEVELS.len() {
        let mut first = HashMap::new();
        let leader = |(rank, locality): (usize, &Locality)| {
            let mut units = [None; LEVELS.len()];
            for (unit, level) in units.iter_mut().zip(&LEVELS[..depth]) {
                *unit = locality.unit(*level);
            }
            *first.entry(units).or_insert(rank as u32)
        };
        let of_kind: Box<[u32]> = localities.iter().enumerate().map(leader).collect();
        let splits = match leaders.last() {
            Some(larger) => of_kind != *larger,
            None => of_kind.iter().any(|leader| *leader != 0),
        };
        if splits {
            leaders.push(of_kind);
        }
    }
    leaders.into()
}

/// The index of the root among the ranks of a node, or the first.
fn index_of_root(ranks: &[u32], root: Option<usize>) -> usize {
    ranks.iter().position(|rank| Some(*rank as usize) == root).unwrap_or(0)
}

impl Layout {
    /// Of ranks at these localities.
    pub fn new(localities: &[Locality]) -> Self {
        let nodes = Units::new(localities, Level::Machine);
        let found = LEVELS
            .into_iter()
            .find_map(|level| structure(localities, level).map(|units| (level, units)));
        Self {
            has_structure: found.is_some(),
            units: found.and_then(|(level, units)| (level != Level::Machine).then_some(units)),
            is_in_order: nodes.of.is_sorted(),
            leaders: leaders(localities),
            nodes,
        }
    }

    /// The ranks of each node, in order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.nodes.all()
    }

    /// The ranks of one node, in order.
    pub fn node(&self, node: usize) -> &[u32] {
        self.nodes.ranks(node)
    }

    /// All ranks, those of the first node first.
    pub fn by_node(&self) -> impl Iterator<Item = usize> {
        self.nodes.ranks.iter().map(|rank| *rank as usize)
    }

    /// The index among these of the first rank of a node.
    pub fn start_of(&self, node: usize) -> usize {
        self.nodes.start(node)
    }

    /// Which of them a rank is on.
    pub fn node_of(&self, rank: usize) -> usize {
        self.nodes.of[rank] as usize
    }

    /// A rank for each node: the first, but `root` for its own.
    pub fn leaders(&self, root: Option<usize>) -> Vec<u32> {
        self.nodes().map(|ranks| ranks[index_of_root(ranks, root)]).collect()
    }

    /// The index of the leader of a rank's node among that node's ranks.
    pub fn index_of_leader(&self, rank: usize, root: Option<usize>) -> usize {
        index_of_root(self.node(self.node_of(rank)), root)
    }

    /// Are all ranks of a node before those of the next?
    pub fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// Is there something to follow for a tree?
    pub fn has_structure(&self) -> bool {
        self.has_structure
    }

    fn largest_units(&self) -> &Units {
        self.units.as_ref().unwrap_or(&self.nodes)
    }

    /// The ranks of each unit of the largest kind of which there are several, one of them with several ranks; in order.
    pub fn units(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.largest_units().all()
    }

    /// The ranks of the one that a rank is in.
    pub fn unit_of(&self, rank: usize) -> &[u32] {
        let units = self.largest_units();
        units.ranks(units.of[rank] as usize)
    }

    /// The rank from which a rank gets the root's data: of the largest unit that it is the first rank of (the root, if that is in
    /// it), the first rank of the next larger unit. `None` for the root.
    pub fn parent(&self, rank: usize, root: usize) -> Option<usize> {
        if rank == root {
            return None;
        }
        let mut parent = root;
        // Units that no rank is in are one unit.
        for leaders in &self.leaders {
            let leader = match leaders[rank] {
                leader if leader == leaders[root] => root,
                leader => leader as usize,
            };
            if leader == rank {
                break;
            }
            parent = leader;
        }
        Some(parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_engine::MadeUp;

    fn layout(text: &str, ranks: usize) -> Layout {
        let machine = MadeUp::parse(text).expect("a machine");
        Layout::new(&(0..ranks).map(|rank| machine.locality(rank)).collect::<Vec<_>>())
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
                        let unit = |rank: usize| machine.locality(rank).unit(level);
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
        assert!(scattered.nodes().eq([&[0, 2, 3, 5][..], &[1, 4]]));
        assert_eq!((scattered.node(0).len(), scattered.node(1)), (4, &[1, 4][..]));
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
        assert!(packages.units().eq([&[0, 1, 2, 3][..], &[4, 5, 6, 7]]));
        // They are all in one package.
        assert!(layout("2x2x2", 4).units().eq([&[0, 1][..], &[2, 3]]));
        // Each is in its own.
        assert!(layout("4x1", 4).units().eq([&[0, 1, 2, 3][..]]));
        let scattered = layout("0,1,0,1,1", 5);
        assert!(scattered.units().eq([&[0, 2][..], &[1, 3, 4]]));
        assert_eq!(
            (scattered.unit_of(2), scattered.unit_of(4)),
            (&[0, 2][..], &[1, 3, 4][..])
        );
        let nodes = layout("2x2x2x2", 16);
        assert!(nodes.units().eq(nodes.nodes()));
    }

    /// Bytes for each rank beside what does not grow with them.
    fn bytes_a_rank(text: &str, ranks: usize) -> usize {
        let layout = layout(text, ranks);
        let of = |units: &Units| size_of_val(&*units.ranks) + size_of_val(&*units.of);
        let lists = layout
            .leaders
            .iter()
            .map(|leaders| size_of_val(&**leaders))
            .sum::<usize>();
        (of(&layout.nodes) + layout.units.as_ref().map_or(0, of) + lists) / ranks
    }

    #[test]
    fn what_is_kept_of_a_rank_grows_with_the_kinds_of_units_that_there_are() {
        for (text, bytes) in [("1x256", 8), ("4x64", 20), ("2x4x32", 24), ("2x1x1x128", 12)] {
            assert_eq!(bytes_a_rank(text, 256), bytes, "{text}");
        }
    }
}
