//! Graph topologies (MPI-5.0 §8.5.3, §8.5.5, §8.5.6): every process knows the whole graph.

use super::{Shape, attach};
use crate::coll::check;
use crate::comm::Comm;
use crate::constants::UNDEFINED;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;

/// A graph by its lists of neighbors, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Graph {
    /// Where the list of each node ends.
    index: Box<[i32]>,
    edges: Box<[i32]>,
}

impl Graph {
    /// A graph for at most `room` processes.
    fn new(index: &[i32], edges: &[i32], room: i32) -> Result<Self> {
        let nodes = index.len() as i64;
        if nodes > room.into() {
            return Err(fail!(Arg, "nnodes={nodes}, but the communicator has {room} ranks"));
        }
        let mut before = 0;
        for (i, &end) in index.iter().enumerate() {
            if end < before {
                return Err(fail!(Arg, "index[{i}]={end} is less than {before}"));
            }
            before = end;
        }
        if let Some((i, edge)) = edges
            .iter()
            .enumerate()
            .find(|(_, edge)| !(0..nodes).contains(&i64::from(**edge)))
        {
            return Err(fail!(Rank, "edges[{i}]={edge}, but the graph has {nodes} nodes"));
        }
        Ok(Self {
            index: index.into(),
            edges: edges.into(),
        })
    }

    fn size(&self) -> i32 {
        self.index.len() as i32
    }

    /// The neighbors of a node, in the order in which they were given.
    pub(super) fn neighbors(&self, node: i32) -> &[i32] {
        let node = node as usize;
        let start = node.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start as usize..self.index[node] as usize]
    }
}

fn graph(comm: &Comm) -> Result<&Graph> {
    match comm.topology.as_ref().map(|topology| &topology.shape) {
        Some(Shape::Graph(graph)) => Ok(graph),
        _ => Err(fail!(Topology, "comm={:?} has no graph topology", comm.handle())),
    }
}

/// Number of edges of a graph that is given by `index`.
pub fn edges(index: &[i32]) -> usize {
    index.last().map_or(0, |end| (*end).max(0) as usize)
}

/// `MPI_Graph_create`: a graph of the first ranks; the null handle for the others. With `reorder`, of those ranks, in that
/// order, which brings neighbors near one another on the machine. Collective; if ranks give different graphs, all get an
/// error, not a hang.
pub fn graph_create(comm_old: &Comm, index: &[i32], edges: &[i32], reorder: bool) -> Result<Handle<Comm>> {
    super::intra(comm_old)?;
    check::same(comm_old, "MPI_Graph_create")?;
    let graph = Graph::new(index, edges, comm_old.size());
    let neighbors = |graph: &Graph, node| graph.neighbors(node).into();
    attach(comm_old, graph, reorder, Graph::size, neighbors, Shape::Graph)
}

/// `MPI_Graph_map`: the rank that [`graph_create`] gives without reordering. Local.
pub fn graph_map(comm: &Comm, index: &[i32], edges: &[i32]) -> Result<i32> {
    super::intra(comm)?;
    let graph = Graph::new(index, edges, comm.size())?;
    Ok(if comm.rank() < graph.size() {
        comm.rank()
    } else {
        UNDEFINED
    })
}

/// `MPI_Graphdims_get`: number of nodes and of edges.
pub fn graphdims_get(comm: &Comm) -> Result<(i32, i32)> {
    let graph = graph(comm)?;
    Ok((graph.size(), graph.edges.len() as i32))
}

/// `values` to the start of `out`, which must have room for them.
fn give(name: &str, values: &[i32], out: &mut [i32]) -> Result<()> {
    let room = out.len();
    let Some(out) = out.get_mut(..values.len()) else {
        return Err(fail!(Arg, "{name}={room}, but there are {}", values.len()));
    };
    out.copy_from_slice(values);
    Ok(())
}

/// `MPI_Graph_get`: the graph as it was given. Entries beyond it are left as they are.
pub fn graph_get(comm: &Comm, index: &mut [i32], edges: &mut [i32]) -> Result<()> {
    let graph = graph(comm)?;
    give("maxindex", &graph.index, index)?;
    give("maxedges", &graph.edges, edges)
}

/// `MPI_Graph_neighbors_count`: of any rank.
pub fn graph_neighbors_count(comm: &Comm, rank: i32) -> Result<i32> {
    let graph = graph(comm)?;
    super::rank(comm, "rank", rank)?;
    Ok(graph.neighbors(rank).len() as i32)
}

/// `MPI_Graph_neighbors`: of any rank. Entries beyond them are left as they are.
pub fn graph_neighbors(comm: &Comm, rank: i32, neighbors: &mut [i32]) -> Result<()> {
    let graph = graph(comm)?;
    super::rank(comm, "rank", rank)?;
    give("maxneighbors", graph.neighbors(rank), neighbors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;

    #[test]
    fn lists_of_neighbors() {
        // The example of MPI-5.0 §8.5.3.
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2], 4).unwrap();
        let lists = [0, 1, 2, 3].map(|node| graph.neighbors(node).to_vec());
        assert_eq!(lists, [vec![1, 3], vec![0], vec![3], vec![0, 2]]);
    }

    #[test]
    fn nodes_may_have_no_neighbors_or_the_same_one_twice() {
        let graph = Graph::new(&[0, 3, 3], &[1, 0, 0], 4).unwrap();
        let lists = [0, 1, 2].map(|node| graph.neighbors(node).to_vec());
        assert_eq!(lists, [vec![], vec![1, 0, 0], vec![]]);
    }

    #[test]
    fn graphs_that_cannot_be() {
        let class = |index: &[i32], edges: &[i32]| Graph::new(index, edges, 2).unwrap_err().code();
        assert_eq!(class(&[1, 2, 3], &[0, 0, 0]), Class::Arg as i32);
        assert_eq!(class(&[2, 1], &[0]), Class::Arg as i32);
        assert_eq!(class(&[-1, 1], &[0]), Class::Arg as i32);
        assert_eq!(class(&[1, 2], &[1, 2]), Class::Rank as i32);
        assert_eq!(class(&[1, 2], &[1, -3]), Class::Rank as i32);
    }
}
