//! Cartesian topologies (MPI-5.0 §8.5.1, §8.5.5, §8.5.6): grids of ranks in row-major order.

use super::{Shape, Topology, attach};
use crate::coll::check;
use crate::comm::{Comm, split};
use crate::constants::{PROC_NULL, UNDEFINED};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;

/// A grid, some of whose dimensions may be rings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cartesian {
    dims: Box<[i32]>,
    periods: Box<[bool]>,
}

impl Cartesian {
    /// A grid for at most `room` processes.
    fn new(dims: &[i32], periods: &[i32], room: i32) -> Result<Self> {
        let mut size = 1_i64;
        for (i, &dim) in dims.iter().enumerate() {
            // A grid without places is none that is too large: nobody finds a place in it.
            if dim < 0 {
                return Err(fail!(Dims, "dims[{i}]={dim} is negative"));
            }
            size = size.saturating_mul(dim.into());
        }
        if size > room.into() {
            return Err(fail!(
                Dims,
                "the grid has {size} places, but the communicator has {room} ranks"
            ));
        }
        Ok(Self {
            dims: dims.into(),
            periods: periods.iter().map(|period| *period != 0).collect(),
        })
    }

    /// Number of places.
    fn size(&self) -> i32 {
        if self.dims.contains(&0) {
            return 0;
        }
        self.dims.iter().product()
    }

    /// Where `rank` is; last dimension fastest.
    fn coords(&self, rank: i32) -> Vec<i32> {
        let mut rest = rank;
        let mut coords: Vec<i32> = self
            .dims
            .iter()
            .rev()
            .map(|&dim| {
                let coord = rest % dim;
                rest /= dim;
                coord
            })
            .collect();
        coords.reverse();
        coords
    }

    /// The rank at a place, which may lie around the grid where it is a ring; or the dimension in which it lies outside.
    fn rank(&self, coords: impl IntoIterator<Item = i64>) -> std::result::Result<i32, usize> {
        let mut rank = 0;
        for (i, coord) in coords.into_iter().take(self.dims.len()).enumerate() {
            let dim = i64::from(self.dims[i]);
            if !self.periods[i] && !(0..dim).contains(&coord) {
                return Err(i);
            }
            rank = rank * self.dims[i] + coord.rem_euclid(dim) as i32;
        }
        Ok(rank)
    }

    /// The rank `distance` steps along a dimension from `rank`.
    fn neighbor(&self, rank: i32, direction: usize, distance: i64) -> i32 {
        let mut coords: Vec<i64> = self.coords(rank).into_iter().map(i64::from).collect();
        coords[direction] += distance;
        self.rank(coords).unwrap_or(PROC_NULL)
    }

    /// In each dimension who is before `rank`, then who is after it.
    pub(super) fn neighbors(&self, rank: i32) -> Box<[i32]> {
        let around = |direction| [-1, 1].map(|distance| self.neighbor(rank, direction, distance));
        (0..self.dims.len()).flat_map(around).collect()
    }

    /// The grid of the dimensions that remain.
    fn sub(&self, remain: impl Fn(usize) -> bool) -> Self {
        let kept = || (0..self.dims.len()).filter(|i| remain(*i));
        Self {
            dims: kept().map(|i| self.dims[i]).collect(),
            periods: kept().map(|i| self.periods[i]).collect(),
        }
    }

    /// Which of the grids of the dimensions that remain `rank` is in.
    fn slice(&self, rank: i32, remain: impl Fn(usize) -> bool) -> i32 {
        let coords = self.coords(rank);
        self.sub(|i| !remain(i))
            .dims
            .iter()
            .zip(coords.iter().enumerate().filter(|(i, _)| !remain(*i)))
            .fold(0, |slice, (dim, (_, coord))| slice * dim + coord)
    }
}

fn cartesian(comm: &Comm) -> Result<&Cartesian> {
    match comm.topology.as_ref().map(|topology| &topology.shape) {
        Some(Shape::Cartesian(grid)) => Ok(grid),
        _ => Err(fail!(Topology, "comm={:?} has no Cartesian topology", comm.handle())),
    }
}

/// Number of dimensions of a communicator's grid.
pub fn dimensions(comm: &Comm) -> Result<usize> {
    Ok(cartesian(comm)?.dims.len())
}

/// `MPI_Cart_create`: a grid of the first ranks; the null handle for those that find no place in it. With `reorder`, of those
/// ranks, in that order, which brings neighbors near one another on the machine. Collective; if ranks give different grids,
/// all get an error, not a hang.
pub fn cart_create(comm_old: &Comm, dims: &[i32], periods: &[i32], reorder: bool) -> Result<Handle<Comm>> {
    super::intra(comm_old)?;
    check::same(comm_old, "MPI_Cart_create")?;
    let grid = Cartesian::new(dims, periods, comm_old.size());
    attach(
        comm_old,
        grid,
        reorder,
        Cartesian::size,
        Cartesian::neighbors,
        Shape::Cartesian,
    )
}

/// `MPI_Cart_map`: the rank that [`cart_create`] gives without reordering. Local.
pub fn cart_map(comm: &Comm, dims: &[i32], periods: &[i32]) -> Result<i32> {
    super::intra(comm)?;
    let grid = Cartesian::new(dims, periods, comm.size())?;
    Ok(if comm.rank() < grid.size() {
        comm.rank()
    } else {
        UNDEFINED
    })
}

/// `MPI_Cart_sub`: the grid falls into grids of the dimensions that remain. Collective.
pub fn cart_sub(comm: &Comm, remain_dims: &[i32]) -> Result<Handle<Comm>> {
    let grid = cartesian(comm)?;
    check::same(comm, "MPI_Cart_sub")?;
    let remain = |i: usize| remain_dims[i] != 0;
    let sub = grid.sub(remain);
    let new = split(comm, grid.slice(comm.rank(), remain), comm.rank())?;
    let mut new = new.ok_or_else(|| fail!(Intern, "a slice of a grid without the calling process"))?;
    if new.size() != sub.size() {
        return Err(fail!(Arg, "remain_dims differ between processes"));
    }
    new.topology = Some(Topology::new(Shape::Cartesian(sub), new.rank()));
    new.publish()
}

/// `MPI_Cartdim_get`: number of dimensions.
pub fn cartdim_get(comm: &Comm) -> Result<i32> {
    Ok(dimensions(comm)? as i32)
}

fn fits(grid: &Cartesian, maxdims: usize) -> Result<()> {
    if maxdims < grid.dims.len() {
        return Err(fail!(
            Arg,
            "maxdims={maxdims}, but the grid has {} dimensions",
            grid.dims.len()
        ));
    }
    Ok(())
}

/// `MPI_Cart_get`: the grid, and the place of the calling process. Entries beyond its dimensions are left as they are.
pub fn cart_get(comm: &Comm, dims: &mut [i32], periods: &mut [i32], coords: &mut [i32]) -> Result<()> {
    let grid = cartesian(comm)?;
    fits(grid, dims.len())?;
    let count = grid.dims.len();
    dims[..count].copy_from_slice(&grid.dims);
    coords[..count].copy_from_slice(&grid.coords(comm.rank()));
    for (out, period) in periods.iter_mut().zip(&grid.periods) {
        *out = i32::from(*period);
    }
    Ok(())
}

/// `MPI_Cart_rank`: the rank at a place. Where the grid is a ring, places lie around it.
pub fn cart_rank(comm: &Comm, coords: &[i32]) -> Result<i32> {
    let grid = cartesian(comm)?;
    let outside = |i: usize| {
        let (coord, dim) = (coords[i], grid.dims[i]);
        fail!(
            Arg,
            "coords[{i}]={coord} is not in 0..{dim}, and the dimension is no ring"
        )
    };
    grid.rank(coords.iter().map(|coord| i64::from(*coord))).map_err(outside)
}

/// `MPI_Cart_coords`: where `rank` is. Entries beyond the grid's dimensions are left as they are.
pub fn cart_coords(comm: &Comm, rank: i32, coords: &mut [i32]) -> Result<()> {
    let grid = cartesian(comm)?;
    super::rank(comm, "rank", rank)?;
    fits(grid, coords.len())?;
    coords[..grid.dims.len()].copy_from_slice(&grid.coords(rank));
    Ok(())
}

/// `MPI_Cart_shift`: source and destination of data that moves `disp` steps along a dimension; `PROC_NULL` is beyond the
/// end.
pub fn cart_shift(comm: &Comm, direction: i32, disp: i32) -> Result<(i32, i32)> {
    let grid = cartesian(comm)?;
    let dimension = usize::try_from(direction).ok().filter(|i| *i < grid.dims.len());
    let Some(dimension) = dimension else {
        return Err(fail!(
            Dims,
            "direction={direction}, but the grid has {} dimensions",
            grid.dims.len()
        ));
    };
    let at = |distance| grid.neighbor(comm.rank(), dimension, distance);
    Ok((at(-i64::from(disp)), at(disp.into())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Class;

    fn grids() -> impl Strategy<Value = Cartesian> {
        proptest::collection::vec((1..6_i32, any::<bool>()), 0..5).prop_map(|dims| Cartesian {
            dims: dims.iter().map(|(dim, _)| *dim).collect(),
            periods: dims.iter().map(|(_, period)| *period).collect(),
        })
    }

    /// Sum over the dimensions of coordinate times the product of the dimensions after it.
    fn naive_rank(grid: &Cartesian, coords: &[i32]) -> i32 {
        (0..coords.len())
            .map(|i| coords[i] * grid.dims[i + 1..].iter().product::<i32>())
            .sum()
    }

    proptest! {
        #[test]
        fn places_and_ranks(grid in grids()) {
            for rank in 0..grid.size() {
                let coords = grid.coords(rank);
                prop_assert!(coords.iter().zip(&grid.dims).all(|(coord, dim)| (0..*dim).contains(coord)));
                prop_assert_eq!(naive_rank(&grid, &coords), rank);
                prop_assert_eq!(grid.rank(coords.iter().map(|coord| i64::from(*coord))), Ok(rank));
            }
        }

        #[test]
        fn shifts_go_step_by_step(grid in grids(), steps in -12..13_i32) {
            for rank in 0..grid.size() {
                for direction in 0..grid.dims.len() {
                    let mut coords = grid.coords(rank);
                    let dim = grid.dims[direction];
                    let mut here = Some(());
                    for _ in 0..steps.abs() {
                        let next = coords[direction] + steps.signum();
                        if grid.periods[direction] {
                            coords[direction] = if next == dim { 0 } else if next < 0 { dim - 1 } else { next };
                        } else {
                            coords[direction] = next;
                            here = (0..dim).contains(&next).then_some(()).and(here);
                        }
                    }
                    let expected = here.map_or(PROC_NULL, |()| naive_rank(&grid, &coords));
                    prop_assert_eq!(grid.neighbor(rank, direction, steps.into()), expected);
                }
            }
        }

        #[test]
        fn slices_hold_each_rank_once(grid in grids(), bits in any::<u8>()) {
            let remain = |i: usize| bits >> i & 1 != 0;
            let sub = grid.sub(remain);
            let slices = grid.size() / sub.size();
            for slice in 0..slices {
                let members: Vec<i32> = (0..grid.size()).filter(|rank| grid.slice(*rank, remain) == slice).collect();
                prop_assert_eq!(members.len() as i32, sub.size());
                for (rank, member) in (0..).zip(members) {
                    let coords = grid.coords(member);
                    let kept: Vec<i32> = (0..coords.len()).filter(|i| remain(*i)).map(|i| coords[i]).collect();
                    prop_assert_eq!(sub.coords(rank), kept);
                }
            }
        }
    }

    #[test]
    fn distances_may_be_huge() {
        let grid = Cartesian::new(&[3, 2], &[1, 0], 6).unwrap();
        assert_eq!(grid.neighbor(0, 0, i64::from(i32::MIN)), 2);
        assert_eq!(grid.neighbor(0, 0, -i64::from(i32::MIN)), 4);
        assert_eq!(grid.neighbor(0, 1, i64::from(i32::MAX)), PROC_NULL);
    }

    #[test]
    fn neighbors_are_before_and_after() {
        let grid = Cartesian::new(&[3, 2], &[1, 0], 6).unwrap();
        assert_eq!(*grid.neighbors(0), [4, 2, PROC_NULL, 1]);
        assert!(Cartesian::new(&[], &[], 1).unwrap().neighbors(0).is_empty());
    }

    #[test]
    fn nobody_is_in_a_grid_without_places() {
        let grid = Cartesian::new(&[i32::MAX, i32::MAX, 0], &[0; 3], 4).unwrap();
        assert_eq!(grid.size(), 0);
    }

    #[test]
    fn grids_that_cannot_be() {
        let class = |dims: &[i32]| Cartesian::new(dims, &vec![0; dims.len()], 4).unwrap_err().code();
        assert_eq!(class(&[-2, -2]), Class::Dims as i32);
        assert_eq!(class(&[5]), Class::Dims as i32);
        assert_eq!(class(&[i32::MAX; 9]), Class::Dims as i32);
    }
}
