//! Which process is which node of a topology, if the program lets us choose: neighbors near one another on the machine.
//!
//! The machine is descended level by level. At each, the nodes are divided among the units of hardware that the processes at
//! hand are in, as many to each as it has processes, so that few edges cross; a part is then divided among the smaller units
//! within (T. Hoefler, M. Snir: Generic topology mapping strategies for large-scale parallel architectures, ICS 2011). The
//! units are halved until one is left. Two halves begin once as the nodes in their order, which suits grids whose units hold
//! whole rows, and once as what grows from a node with few neighbors; pairs of nodes change sides for as long as that helps
//! (B. Kernighan, S. Lin: An efficient heuristic procedure for partitioning graphs, 1970), and the better is taken.
//!
//! Cost: the square of the number of nodes, per level. The result depends on the arguments only, on which all processes agree: members
//! exchange their localities when the communicator is made (a process may have been bound after it joined), and if they give different
//! topologies, or disagree whether ranks may be reordered, all of them see that in the same exchange and get the same error.
//!
//! Ranks are kept unless the mapping is cheaper (weight of an edge times levels of hardware between its ends). Processes that may run
//! anywhere are in no package, so an unbound job sees no difference. A partitioning library would make the result depend on its version
//! and seed; jobs of one machine have few hundred ranks. A whole distributed graph goes to every member only if it may be reordered.
//! `MPI_Cart_map` and `MPI_Graph_map` keep ranks: they are local (MPI-5.0 §8.5.8).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use isthmus_engine::{Level, Locality};

/// How often all pairs of nodes are looked at for one that should change sides.
const PASSES: usize = 8;

/// How much the nodes of a topology have to say to one another.
#[derive(Debug, Clone)]
pub struct Links(Vec<BTreeMap<usize, i64>>);

impl Links {
    /// So many nodes, without edges.
    pub fn new(nodes: usize) -> Self {
        Self(vec![BTreeMap::new(); nodes])
    }

    /// An edge, in whichever direction. What a node says to itself costs nothing wherever it is.
    pub fn add(&mut self, one: usize, other: usize, weight: i64) {
        if one != other {
            for (from, to) in [(one, other), (other, one)] {
                let sum = self.0[from].entry(to).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
    }

    fn nodes(&self) -> usize {
        self.0.len()
    }

    fn of(&self, node: usize) -> impl Iterator<Item = (usize, i64)> {
        self.0[node].iter().map(|(other, weight)| (*other, *weight))
    }

    fn between(&self, one: usize, other: usize) -> i64 {
        self.0[one].get(&other).copied().unwrap_or(0)
    }

    /// The cost of a mapping: weights times distances, if each node is the process in `order`.
    fn cost(&self, localities: &[Locality], order: &[usize]) -> i128 {
        let locality = |node: usize| localities[order[node]];
        let way = |node: usize, other: usize| i128::from(locality(node).distance(locality(other)));
        (0..self.nodes())
            .flat_map(|node| {
                self.of(node)
                    .map(move |(other, weight)| i128::from(weight) * way(node, other))
            })
            .sum()
    }
}

/// The process for each node of the graph, by its index in `localities`, of which there are at least as many. A process keeps its own node unless
/// another one is cheaper.
pub fn order(localities: &[Locality], links: &Links) -> Vec<usize> {
    let kept: Vec<usize> = (0..links.nodes()).collect();
    let mut order = kept.clone();
    let processes = (0..localities.len()).collect();
    assign(&Level::ALL, localities, links, kept.clone(), processes, &mut order);
    if links.cost(localities, &order) < links.cost(localities, &kept) {
        order
    } else {
        kept
    }
}

/// Give each of these nodes one of these processes, which differ in the units of `levels` at most.
fn assign(
    levels: &[Level],
    localities: &[Locality],
    links: &Links,
    nodes: Vec<usize>,
    processes: Vec<usize>,
    order: &mut [usize],
) {
    let Some((level, below)) = levels.split_first() else {
        for (node, process) in nodes.into_iter().zip(processes) {
            order[node] = process;
        }
        return;
    };
    let mut units: BTreeMap<Option<u16>, Vec<usize>> = BTreeMap::new();
    for process in processes {
        units.entry(localities[process].unit(*level)).or_default().push(process);
    }
    let mut units: Vec<Vec<usize>> = units.into_values().collect();
    // If there are more processes than nodes, few units should do.
    units.sort_by_key(|unit| (Reverse(unit.len()), unit[0]));
    let sizes: Vec<usize> = units.iter().map(Vec::len).collect();
    let parts = divide(links, nodes, &sizes);
    for (nodes, processes) in parts.into_iter().zip(units) {
        assign(below, localities, links, nodes, processes, order);
    }
}

/// The nodes in parts of at most these sizes, with few edges between them.
fn divide(links: &Links, nodes: Vec<usize>, sizes: &[usize]) -> Vec<Vec<usize>> {
    if sizes.len() <= 1 {
        return vec![nodes];
    }
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let room = left.iter().sum::<usize>().min(nodes.len());
    let (first, second) = if sizes.iter().all(|size| *size == 1) {
        // A node without partners crosses the same edges everywhere.
        (nodes[..room].to_vec(), nodes[room..].to_vec())
    } else {
        let halves = [
            Halves::in_order(links, &nodes, room),
            Halves::grown(links, &nodes, room),
        ];
        let best = halves.map(Halves::refined).into_iter().min_by_key(Halves::cut);
        let is_second = best.map_or_else(Vec::new, |best| best.is_second);
        nodes.into_iter().partition(|&node| !is_second[node])
    };
    let mut parts = divide(links, first, left);
    parts.extend(divide(links, second, right));
    parts
}

struct Halves<'a> {
    links: &'a Links,
    nodes: &'a [usize],
    /// On which side each node of the graph is; the others' does not matter.
    is_second: Vec<bool>,
    /// How much more each node of the graph has to say to the second half than to the first.
    pull: Vec<i64>,
}

impl<'a> Halves<'a> {
    fn new(links: &'a Links, nodes: &'a [usize], first: &[usize]) -> Self {
        let mut is_second = vec![true; links.nodes()];
        first.iter().for_each(|&node| is_second[node] = false);
        let mut pull = vec![0; links.nodes()];
        for &node in nodes {
            let sign = if is_second[node] { 1 } else { -1 };
            links.of(node).for_each(|(other, weight)| pull[other] += sign * weight);
        }
        Self {
            links,
            nodes,
            is_second,
            pull,
        }
    }

    /// The first are the first.
    fn in_order(links: &'a Links, nodes: &'a [usize], room: usize) -> Self {
        Self::new(links, nodes, &nodes[..room])
    }

    /// The first half takes the node that has the most to say to it and the least to the nodes that are left, one after the
    /// other.
    fn grown(links: &'a Links, nodes: &'a [usize], room: usize) -> Self {
        let (mut first, mut left) = (Vec::new(), nodes.to_vec());
        // The weight of each node's edges to the first half, less that to the rest.
        let mut gain = vec![0_i64; links.nodes()];
        for (other, weight) in nodes.iter().flat_map(|&node| links.of(node)) {
            gain[other] -= weight;
        }
        for _ in 0..room {
            let best = (0..left.len()).min_by_key(|&at| Reverse(gain[left[at]]));
            let Some(node) = best.map(|at| left.remove(at)) else {
                break;
            };
            first.push(node);
            links.of(node).for_each(|(other, weight)| gain[other] += 2 * weight);
        }
        Self::new(links, nodes, &first)
    }

    /// Pairs of nodes have changed sides for as long as that helped.
    fn refined(mut self) -> Self {
        for _ in 0..PASSES {
            let mut changed = false;
            for (at, &one) in self.nodes.iter().enumerate() {
                let others = self.nodes[at + 1..].iter().copied();
                let gains = others.map(|other| (self.gain(one, other), Reverse(other)));
                if let Some((1.., Reverse(other))) = gains.max() {
                    self.change_side(one);
                    self.change_side(other);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        self
    }

    /// How much less crosses if the two change sides.
    fn gain(&self, one: usize, other: usize) -> i64 {
        if self.is_second[one] == self.is_second[other] {
            return 0;
        }
        self.crossing_less_staying(one) + self.crossing_less_staying(other) - 2 * self.links.between(one, other)
    }

    fn crossing_less_staying(&self, node: usize) -> i64 {
        if self.is_second[node] {
            -self.pull[node]
        } else {
            self.pull[node]
        }
    }

    fn change_side(&mut self, node: usize) {
        let sign = if self.is_second[node] { -2 } else { 2 };
        for (neighbor, weight) in self.links.of(node) {
            self.pull[neighbor] += sign * weight;
        }
        self.is_second[node] = !self.is_second[node];
    }

    /// How much crosses, and what does not change.
    fn cut(&self) -> i64 {
        self.nodes.iter().map(|&node| self.crossing_less_staying(node)).sum()
    }
}

#[cfg(test)]
mod tests {
    use isthmus_engine::MadeUp;
    use proptest::prelude::*;

    use super::*;

    fn machine(text: &str, processes: usize) -> Vec<Locality> {
        let machine = MadeUp::parse(text).expect("a machine");
        (0..processes).map(|process| machine.locality(process)).collect()
    }

    /// Each cell says 1 to the next in both directions.
    fn grid(rows: usize, columns: usize) -> Links {
        let mut links = Links::new(rows * columns);
        for cell in 0..rows * columns {
            if cell % columns + 1 < columns {
                links.add(cell, cell + 1, 1);
            }
            if cell / columns + 1 < rows {
                links.add(cell, cell + columns, 1);
            }
        }
        links
    }

    /// The weight between different units.
    fn crossing(links: &Links, localities: &[Locality], order: &[usize], level: Level) -> i64 {
        let unit = |node: usize| localities[order[node]].unit(level);
        (0..links.nodes())
            .flat_map(|node| links.of(node).filter(move |(other, _)| unit(node) != unit(*other)))
            .map(|(_, weight)| weight)
            .sum::<i64>()
            / 2
    }

    #[test]
    fn a_ring_dealt_out_to_two_packages_crosses_twice() {
        let mut ring = Links::new(8);
        (0..8).for_each(|node| ring.add(node, (node + 1) % 8, 1));
        let localities = machine("0,1", 8);
        let kept: Vec<usize> = (0..8).collect();
        assert_eq!(crossing(&ring, &localities, &kept, Level::Package), 8);
        assert_eq!(
            crossing(&ring, &localities, &order(&localities, &ring), Level::Package),
            2
        );
    }

    #[test]
    fn grids_are_cut_where_they_are_narrow() {
        // Rows of 2 in an order that does not fit; the shortest cut is across.
        for (rows, columns, text, shortest) in [
            (8, 2, "0,1", 2),
            (2, 8, "2x8", 2),
            (4, 4, "0,1,2,3", 8),
            (2, 8, "0,1,2", 5),
        ] {
            let (links, localities) = (grid(rows, columns), machine(text, rows * columns));
            let cut = crossing(&links, &localities, &order(&localities, &links), Level::Package);
            assert!(cut <= shortest, "{rows}x{columns} on {text}: {cut}");
        }
    }

    #[test]
    fn nodes_are_near_within_packages_too() {
        // 4 x 4 on 2 packages of 2 nodes: halves first, then quarters.
        let (links, localities) = (grid(4, 4), machine("2x2x4", 16));
        let order = order(&localities, &links);
        assert_eq!(crossing(&links, &localities, &order, Level::Package), 4);
        assert_eq!(crossing(&links, &localities, &order, Level::Numa), 8);
    }

    #[test]
    fn heavy_edges_count_more() {
        let mut links = Links::new(4);
        for (one, other, weight) in [(0, 1, 1), (2, 3, 1), (0, 2, 100), (1, 3, 100)] {
            links.add(one, other, weight);
        }
        let localities = machine("2x2", 4);
        assert_eq!(
            crossing(&links, &localities, &order(&localities, &links), Level::Package),
            2
        );
    }

    #[test]
    fn few_nodes_stay_together() {
        let mut links = Links::new(3);
        (0..3).for_each(|node| links.add(node, (node + 1) % 3, 1));
        let localities = machine("0,1", 6);
        assert_eq!(order(&localities, &links), [0, 2, 4]);
    }

    #[test]
    fn without_a_reason_each_keeps_its_own() {
        let kept: Vec<usize> = (0..6).collect();
        assert_eq!(order(&machine("1x6", 6), &grid(2, 3)), kept);
        assert_eq!(order(&machine("0,1", 6), &Links::new(6)), kept);
        assert_eq!(order(&[Locality::default(); 6], &grid(2, 3)), kept);
        assert!(order(&machine("0,1", 2), &Links::new(0)).is_empty());
    }

    #[test]
    fn what_is_said_may_be_huge() {
        let mut links = Links::new(4);
        for _ in 0..2 {
            links.add(0, 2, i32::MAX.into());
            links.add(1, 3, i32::MAX.into());
        }
        let localities = machine("0,0,1,1", 4);
        assert_eq!(
            crossing(&links, &localities, &order(&localities, &links), Level::Package),
            0
        );
    }

    proptest! {
        #[test]
        fn every_node_has_a_process_of_its_own_and_no_way_is_longer(
            units in proptest::collection::vec((0..2_usize, 0..3_usize), 1..20),
            edges in proptest::collection::vec((0..20_usize, 0..20_usize, 0..1000_i64), 0..60),
            spare in 0..5_usize,
        ) {
            let text = units.iter().map(|(machine, package)| format!("{machine}.{package}"));
            let localities = machine(&text.collect::<Vec<_>>().join(","), units.len());
            let nodes = units.len().saturating_sub(spare).max(1);
            let mut links = Links::new(nodes);
            for (one, other, weight) in edges {
                links.add(one % nodes, other % nodes, weight);
            }
            let order = order(&localities, &links);
            let mut distinct = order.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), nodes);
            prop_assert!(distinct.iter().all(|process| *process < localities.len()));
            let kept: Vec<usize> = (0..nodes).collect();
            prop_assert!(links.cost(&localities, &order) <= links.cost(&localities, &kept));
        }
    }
}
