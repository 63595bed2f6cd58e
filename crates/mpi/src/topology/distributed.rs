//! Distributed graph topologies (MPI-5.0 §8.5.4, §8.5.5): every process knows its own edges.

use std::ffi::c_void;

use super::mapping::Links;
use super::{MemberTerms, Shape, Topology, tell};
use crate::coll::{alltoall, alltoallv, check};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::info::Info;

/// The weights of edges in the order of the edges; `None` for `MPI_UNWEIGHTED`.
pub type Weights<'a> = Option<&'a [i32]>;

/// A process's own part of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distributed {
    /// Edges to it.
    incoming: Edges,
    /// Edges from it.
    outgoing: Edges,
    weighted: bool,
}

/// Edges by the process at the other end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Edges {
    ranks: Vec<i32>,
    /// As many, in an unweighted graph too.
    weights: Vec<i32>,
}

impl Edges {
    fn new(ranks: &[i32], weights: Weights<'_>) -> Self {
        Self {
            ranks: ranks.to_vec(),
            weights: weights.map_or_else(|| vec![1; ranks.len()], <[i32]>::to_vec),
        }
    }

    fn push(&mut self, rank: i32, weight: i32) {
        self.ranks.push(rank);
        self.weights.push(weight);
    }

    /// As much as there is room for.
    fn give(&self, ranks: &mut [i32], weights: Option<&mut [i32]>) {
        let copy = |from: &[i32], to: &mut [i32]| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = *from;
            }
        };
        copy(&self.ranks, ranks);
        if let Some(weights) = weights {
            copy(&self.weights, weights);
        }
    }
}

impl Distributed {
    fn from_edges(edges: &[Edge], weighted: bool) -> Self {
        let mut graph = Self {
            weighted,
            ..Self::default()
        };
        for &[is_outgoing, other, weight] in edges {
            let edges = if is_outgoing != 0 {
                &mut graph.outgoing
            } else {
                &mut graph.incoming
            };
            edges.push(other, weight);
        }
        graph
    }

    /// All, those that go out last.
    fn edges(&self) -> impl Iterator<Item = Edge> {
        let both = [(0, &self.incoming), (1, &self.outgoing)].into_iter();
        both.flat_map(|(is_outgoing, edges)| {
            let ends = edges.ranks.iter().zip(&edges.weights);
            ends.map(move |(rank, weight)| [is_outgoing, *rank, *weight])
        })
    }

    pub(super) fn sources(&self) -> &[i32] {
        &self.incoming.ranks
    }

    pub(super) fn destinations(&self) -> &[i32] {
        &self.outgoing.ranks
    }
}

fn distributed(comm: &Comm) -> Result<&Distributed> {
    match comm.topology.as_ref().map(|topology| &topology.shape) {
        Some(Shape::Distributed(graph)) => Ok(graph),
        _ => Err(fail!(
            Topology,
            "comm={:?} has no distributed graph topology",
            comm.handle()
        )),
    }
}

fn check_ranks(comm: &Comm, name: &str, ranks: &[i32]) -> Result<()> {
    ranks.iter().try_for_each(|rank| super::rank(comm, name, *rank))
}

fn check_weights(name: &str, weights: Weights<'_>) -> Result<()> {
    match weights.unwrap_or_default().iter().find(|weight| **weight < 0) {
        Some(weight) => Err(fail!(Arg, "weight {weight} in {name} is negative")),
        None => Ok(()),
    }
}

/// An edge as one end tells it: 1 if it goes from there, else 0; the other end; its weight.
type Edge = [i32; 3];

/// Give the communicator a graph of which each process knows its own edges. Collective.
fn publish(comm: &'static Comm, told: MemberTerms, own: Distributed, reorder: bool) -> Result<Handle<Comm>> {
    if !reorder {
        let order = told.order(comm.size(), false, || Links::new(0));
        return finish(comm, told, &order, own);
    }
    // The mapping of nodes depends on the whole graph; and a process needs the edges of its node.
    let all = exchange(comm, &vec![own.edges().collect(); comm.size() as usize])?;
    let links = || {
        let mut links = Links::new(all.len());
        for (node, edges) in all.iter().enumerate() {
            for &[_, other, weight] in edges {
                links.add(node, other as usize, weight.into());
            }
        }
        links
    };
    let order = told.order(comm.size(), true, links);
    let node = order.iter().position(|rank| *rank == comm.rank());
    let node = node.ok_or_else(|| fail!(Intern, "a process without a node of the graph"))?;
    let graph = Distributed::from_edges(&all[node], own.weighted);
    finish(comm, told, &order, graph)
}

fn finish(comm: &Comm, told: MemberTerms, order: &[i32], graph: Distributed) -> Result<Handle<Comm>> {
    let new = told.derive(comm, order)?;
    let mut new = new.ok_or_else(|| fail!(Intern, "a graph without the calling process"))?;
    new.topology = Some(Topology::new(Shape::Distributed(graph), new.rank()));
    new.publish()
}

/// `MPI_Dist_graph_create_adjacent`: each process tells its own edges, at both ends. With `reorder`, ranks are such that
/// neighbors are near one another on the machine, weights considered; no key of `info` is known. Collective; if some give
/// wrong arguments, all get an error.
#[allow(clippy::too_many_arguments)] // The standard's.
pub fn dist_graph_create_adjacent(
    comm_old: &'static Comm,
    sources: &[i32],
    sourceweights: Weights<'_>,
    destinations: &[i32],
    destweights: Weights<'_>,
    info: Option<&Info>,
    reorder: bool,
) -> Result<Handle<Comm>> {
    let _ = info;
    super::intra(comm_old)?;
    check::same(comm_old, "MPI_Dist_graph_create_adjacent")?;
    let check = || {
        check_ranks(comm_old, "sources", sources)?;
        check_ranks(comm_old, "destinations", destinations)?;
        check_weights("sourceweights", sourceweights)?;
        check_weights("destweights", destweights)?;
        if sourceweights.is_some() != destweights.is_some() {
            return Err(fail!(
                Arg,
                "only one of sourceweights and destweights is MPI_UNWEIGHTED"
            ));
        }
        Ok(sourceweights.is_some())
    };
    let weighted = check();
    let told = tell(comm_old, weighted.as_ref().ok(), reorder);
    let own = Distributed {
        incoming: Edges::new(sources, sourceweights),
        outgoing: Edges::new(destinations, destweights),
        weighted: weighted?,
    };
    publish(comm_old, told?, own, reorder)
}

/// `MPI_Dist_graph_create`: each process tells any edges. In the lists of neighbors that result, edges stand by the rank of
/// the process that told them, then in the order in which it did. Else as [`dist_graph_create_adjacent`].
#[allow(clippy::too_many_arguments)] // The standard's.
pub fn dist_graph_create(
    comm_old: &'static Comm,
    sources: &[i32],
    degrees: &[i32],
    destinations: &[i32],
    weights: Weights<'_>,
    info: Option<&Info>,
    reorder: bool,
) -> Result<Handle<Comm>> {
    let _ = info;
    super::intra(comm_old)?;
    check::same(comm_old, "MPI_Dist_graph_create")?;
    let check = || {
        check_ranks(comm_old, "sources", sources)?;
        check_ranks(comm_old, "destinations", destinations)?;
        if let Some((i, degree)) = degrees.iter().enumerate().find(|(_, degree)| **degree < 0) {
            return Err(fail!(Arg, "degrees[{i}]={degree} is negative"));
        }
        check_weights("weights", weights)?;
        Ok(weights.is_some())
    };
    let weighted = check();
    let told = tell(comm_old, weighted.as_ref().ok(), reorder);
    let weighted = weighted?;
    let told = told?;
    let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); comm_old.size() as usize];
    let each_source = sources
        .iter()
        .zip(degrees)
        .flat_map(|(source, degree)| std::iter::repeat_n(*source, *degree as usize));
    for (i, (source, &dest)) in each_source.zip(destinations).enumerate() {
        let weight = weights.map_or(1, |weights| weights[i]);
        edges[source as usize].push([1, dest, weight]);
        edges[dest as usize].push([0, source, weight]);
    }
    let own = exchange(comm_old, &edges)?.concat();
    publish(comm_old, told, Distributed::from_edges(&own, weighted), reorder)
}

/// What each tells the calling process; `told` is what it tells them.
fn exchange(comm: &'static Comm, told: &[Vec<Edge>]) -> Result<Vec<Vec<Edge>>> {
    const WIDTH: usize = size_of::<Edge>();
    let byte = datatype::byte().handle();
    let sent: Vec<i64> = told.iter().map(|edges| (edges.len() * WIDTH) as i64).collect();
    let mut received = vec![0_i64; told.len()];
    let one = size_of::<i64>() as i64;
    let (from, to): (*const c_void, *mut c_void) = (sent.as_ptr().cast(), received.as_mut_ptr().cast());
    // SAFETY: both have a number for each rank.
    unsafe { alltoall(from, one, byte, to, one, byte, comm)? };
    let starts = |lengths: &[i64]| -> Vec<i64> {
        lengths
            .iter()
            .scan(0, |end, length| Some(std::mem::replace(end, *end + length)))
            .collect()
    };
    let (sent_at, received_at) = (starts(&sent), starts(&received));
    let data = told.concat();
    let mut heard = vec![[0; 3]; received.iter().sum::<i64>() as usize / WIDTH];
    // SAFETY: the lengths are those of the blocks, which lie one after the other.
    unsafe {
        alltoallv(
            data.as_ptr().cast(),
            Counts::Large(&sent),
            Counts::Large(&sent_at),
            byte,
            heard.as_mut_ptr().cast(),
            Counts::Large(&received),
            Counts::Large(&received_at),
            byte,
            comm,
        )?;
    }
    let mut rest = heard.as_slice();
    let mut next = |length: i64| {
        let (edges, others) = rest.split_at(length as usize / WIDTH);
        rest = others;
        edges.to_vec()
    };
    Ok(received.into_iter().map(&mut next).collect())
}

/// `MPI_Dist_graph_neighbors_count`: number of edges to and from the calling process, and whether they have weights.
pub fn dist_graph_neighbors_count(comm: &Comm) -> Result<(i32, i32, bool)> {
    let graph = distributed(comm)?;
    Ok((
        graph.sources().len() as i32,
        graph.destinations().len() as i32,
        graph.weighted,
    ))
}

/// `MPI_Dist_graph_neighbors`: the edges of the calling process, as many as there is room for. Weights are left as they are
/// where they are not wanted (`None`) or the graph has none.
pub fn dist_graph_neighbors(
    comm: &Comm,
    sources: &mut [i32],
    sourceweights: Option<&mut [i32]>,
    destinations: &mut [i32],
    destweights: Option<&mut [i32]>,
) -> Result<()> {
    let graph = distributed(comm)?;
    graph.incoming.give(sources, sourceweights.filter(|_| graph.weighted));
    graph
        .outgoing
        .give(destinations, destweights.filter(|_| graph.weighted));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_come_as_far_as_there_is_room() {
        let edges = Edges::new(&[3, 1, 3], Some(&[7, 8, 2]));
        let (mut ranks, mut weights) = ([-1; 2], [-1; 4]);
        edges.give(&mut ranks, Some(&mut weights));
        assert_eq!((ranks, weights), ([3, 1], [7, 8, 2, -1]));
    }
}
