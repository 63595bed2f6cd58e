//! Process topologies (MPI-5.0 §8): what is attached to a communicator, and how.
//!
//! A program that lets us reorder ranks gets neighbors that are near one another on the machine (`mapping`), as far as
//! processes are bound to parts of it; the procedures that only ask for a rank (`MPI_Cart_map`, `MPI_Graph_map`) are local,
//! cannot ask the others where they are, and answer with the rank that is there already.

mod cartesian;
mod dims;
mod distributed;
mod graph;
mod mapping;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use isthmus_engine::Locality;

use crate::comm::{Comm, gather_both};
use crate::constants::{CART, DIST_GRAPH, GRAPH, UNDEFINED};
use crate::error::Result;
use crate::fail;
use crate::group::Members;
use crate::handle::Handle;
use mapping::Links;

pub use cartesian::{
    cart_coords, cart_create, cart_get, cart_map, cart_rank, cart_shift, cart_sub, cartdim_get, dimensions,
};
pub use dims::dims_create;
pub use distributed::{
    Weights, dist_graph_create, dist_graph_create_adjacent, dist_graph_neighbors, dist_graph_neighbors_count,
};
pub use graph::{edges, graph_create, graph_get, graph_map, graph_neighbors, graph_neighbors_count, graphdims_get};

/// The topology of a communicator.
#[derive(Debug)]
pub struct Topology {
    shape: Shape,
    /// Sources and destinations of the calling process, in the order of blocks in buffers.
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

    /// Sources of the calling process, block by block; `PROC_NULL` beyond the ends of a grid.
    pub fn sources(&self) -> &[i32] {
        &self.sources
    }

    /// Destinations of the calling process, block by block; `PROC_NULL` beyond the ends of a grid.
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

/// What members of a communicator tell one another before they give it a topology.
struct MemberTerms {
    offers: Vec<u32>,
    localities: Vec<Locality>,
}

/// Everyone tells what must be the same (`None`: something is wrong already), and where it runs if that matters. Collective;
/// if not all say the same, all get an error.
fn tell(comm: &Comm, same: Option<&impl Hash>, reorder: bool) -> Result<MemberTerms> {
    const WRONG: u32 = u32::MAX;
    let digest = same.map_or(WRONG, |same| {
        let mut hasher = DefaultHasher::new();
        (same, reorder).hash(&mut hasher);
        hasher.finish() as u32 & (WRONG >> 1)
    });
    let locality = if reorder {
        isthmus_engine::own_locality()
    } else {
        Locality::default()
    };
    let locality = locality.bits();
    let own = [comm.offer(), digest, locality as u32, (locality >> 32) as u32];
    let (told, _) = gather_both(comm, own)?;
    if told.iter().any(|[_, theirs, ..]| *theirs != digest || *theirs == WRONG) {
        return Err(fail!(Arg, "others gave wrong arguments, or other ones"));
    }
    let bits = |[_, _, low, high]: &[u32; 4]| u64::from(*low) | u64::from(*high) << 32;
    Ok(MemberTerms {
        offers: told.iter().map(|[offer, ..]| *offer).collect(),
        localities: told.iter().map(|told| Locality::from_bits(bits(told))).collect(),
    })
}

impl MemberTerms {
    /// For each node of a graph its rank in the communicator.
    fn order(&self, nodes: i32, reorder: bool, links: impl FnOnce() -> Links) -> Vec<i32> {
        if reorder {
            let order = mapping::order(&self.localities, &links());
            order.into_iter().map(|rank| rank as i32).collect()
        } else {
            (0..nodes).collect()
        }
    }

    /// A communicator of these ranks, in this order; `None` for the others.
    fn derive(self, comm: &Comm, order: &[i32]) -> Result<Option<Comm>> {
        if !order.contains(&comm.rank()) {
            return Ok(None);
        }
        let peers = order.iter().filter_map(|&rank| comm.group.peer(rank)).collect();
        let group = comm.group.with(Members::from_peers(peers));
        comm.derive(self.offers.into_iter(), group, None).map(Some)
    }
}

/// A communicator with a topology of which each process knows the whole, of as many processes as it has nodes; the null
/// handle for the others. Collective; if arguments are wrong, or differ, all get an error, not a hang.
fn attach<T: Hash>(
    comm: &Comm,
    whole: Result<T>,
    reorder: bool,
    size: impl Fn(&T) -> i32,
    neighbors: impl Fn(&T, i32) -> Box<[i32]>,
    shape: impl FnOnce(T) -> Shape,
) -> Result<Handle<Comm>> {
    let told = tell(comm, whole.as_ref().ok(), reorder);
    let whole = whole?;
    let told = told?;
    let nodes = size(&whole);
    let links = || {
        let mut links = Links::new(nodes as usize);
        for node in 0..nodes {
            for &neighbor in neighbors(&whole, node).iter().filter(|neighbor| **neighbor >= 0) {
                links.add(node as usize, neighbor as usize, 1);
            }
        }
        links
    };
    let order = told.order(nodes, reorder, links);
    let Some(mut new) = told.derive(comm, &order)? else {
        return Ok(Handle::NULL);
    };
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
