//! Process topologies (MPI-5.0 §8): what is attached to a communicator, and how.
//!
//! Ranks are never reordered, which the standard allows: processes are not bound to processors unless the user asks for
//! it, so no order is nearer to the machine than another.

mod cartesian;
mod dims;
mod distributed;
mod graph;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::comm::{Comm, split};
use crate::constants::{CART, DIST_GRAPH, GRAPH, UNDEFINED};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;

pub use cartesian::{
    cart_coords, cart_create, cart_get, cart_map, cart_rank, cart_shift, cart_sub, cartdim_get, dimensions,
};
pub use dims::dims_create;
pub use distributed::{
    Weights, dist_graph_create, dist_graph_create_adjacent, dist_graph_neighbors, dist_graph_neighbors_count,
};
pub use graph::{edges, graph_create, graph_get, graph_map, graph_neighbors, graph_neighbors_count, graphdims_get};

/// What a communicator knows about who talks to whom.
#[derive(Debug)]
pub struct Topology {
    shape: Shape,
    /// Whom the calling process receives from and sends to, in the order of blocks in buffers.
    sources: Box<[i32]>,
    destinations: Box<[i32]>,
}

#[derive(Debug)]
enum Shape {
    Cartesian(cartesian::Cartesian),
    Graph(graph::Graph),
    Distributed(distributed::Distributed),
}

impl Topology {
    /// As the process at `rank` sees it.
    fn new(shape: Shape, rank: i32) -> Arc<Self> {
        let (sources, destinations): (Box<[i32]>, Box<[i32]>) = match &shape {
            Shape::Cartesian(grid) => (grid.neighbors(rank), grid.neighbors(rank)),
            Shape::Graph(graph) => (graph.neighbors(rank).into(), graph.neighbors(rank).into()),
            Shape::Distributed(graph) => (graph.sources().into(), graph.destinations().into()),
        };
        Arc::new(Self {
            shape,
            sources,
            destinations,
        })
    }

    /// Whom the calling process receives from, block by block; `PROC_NULL` beyond the ends of a grid.
    pub fn sources(&self) -> &[i32] {
        &self.sources
    }

    /// Whom the calling process sends to, block by block; `PROC_NULL` beyond the ends of a grid.
    pub fn destinations(&self) -> &[i32] {
        &self.destinations
    }

    /// The blocks to receive, in the order in which messages from one process are for them if it sends its blocks in their
    /// order. In a grid, what goes one way comes from the other way, which matters in rings of one or two processes
    /// (MPI-5.0 §8.6): block 2d is for block 2d + 1 and the other way round.
    pub fn arrivals(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let swap = usize::from(matches!(self.shape, Shape::Cartesian(_)));
        (0..self.sources.len()).map(move |block| block ^ swap)
    }
}

/// The topology of a communicator.
pub fn topology(comm: &Comm) -> Result<&Topology> {
    comm.topology
        .as_deref()
        .ok_or_else(|| fail!(Topology, "comm={:?} has no topology", comm.handle()))
}

/// Number of blocks that the calling process receives in a neighborhood collective.
pub fn indegree(comm: &Comm) -> Result<usize> {
    Ok(topology(comm)?.sources.len())
}

/// Number of blocks that the calling process sends in a neighborhood collective.
pub fn outdegree(comm: &Comm) -> Result<usize> {
    Ok(topology(comm)?.destinations.len())
}

/// `MPI_Topo_test`: `CART`, `GRAPH`, `DIST_GRAPH`, or `UNDEFINED` for none.
pub fn topo_test(comm: &Comm) -> Result<i32> {
    Ok(match comm.topology.as_ref().map(|topology| &topology.shape) {
        Some(Shape::Cartesian(_)) => CART,
        Some(Shape::Graph(_)) => GRAPH,
        Some(Shape::Distributed(_)) => DIST_GRAPH,
        None => UNDEFINED,
    })
}

/// A communicator of the first ranks, `size` of them, with a topology of which each knows the whole; the null handle for the
/// others. Collective; whose arguments are wrong, or differ from those of others, gets an error, not a hang.
fn attach<T: Hash>(
    comm: &Comm,
    whole: Result<T>,
    size: impl Fn(&T) -> i32,
    shape: impl FnOnce(T) -> Shape,
) -> Result<Handle<Comm>> {
    // Only those who say the same find one another.
    let digest = |whole: &T| {
        let mut hasher = DefaultHasher::new();
        whole.hash(&mut hasher);
        hasher.finish() as i32 & i32::MAX
    };
    let color = match &whole {
        Ok(whole) if comm.rank() < size(whole) => digest(whole),
        _ => UNDEFINED,
    };
    let new = split(comm, color, comm.rank())?;
    let whole = whole?;
    let Some(mut new) = new else {
        return Ok(Handle::NULL);
    };
    if new.size() != size(&whole) {
        return Err(fail!(Arg, "others gave wrong arguments, or another topology"));
    }
    new.topology = Some(Topology::new(shape(whole), new.rank()));
    new.publish()
}

fn intra(comm: &Comm) -> Result<()> {
    if comm.is_inter() {
        return Err(fail!(Comm, "comm={:?} is an intercommunicator", comm.handle()));
    }
    Ok(())
}

fn rank(comm: &Comm, name: &str, rank: i32) -> Result<()> {
    if !(0..comm.size()).contains(&rank) {
        return Err(fail!(
            Rank,
            "{name}: {rank}, but the communicator has {} ranks",
            comm.size()
        ));
    }
    Ok(())
}
