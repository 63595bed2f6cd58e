//! `MPI_Type_create_darray` (MPI-5.0 §5.1.4): a process's share of an array that is distributed over a grid.

use isthmus_datatype::shape::{Block, Shape};

use super::construct::make;
use super::contents::{Argument, Combiner};
use super::{Datatype, construct};
use crate::constants::{
    DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_DFLT_DARG_LITERALLY, DISTRIBUTE_NONE,
};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;

/// How one dimension is dealt out.
#[derive(Clone, Copy)]
struct Dimension {
    /// Elements of the whole array.
    size: i64,
    /// Elements that a process gets in a row.
    block: i64,
    /// Processes.
    processes: i64,
    /// Which of them is meant.
    process: i64,
}

/// `MPI_Type_create_darray`. The grid is row-major, whatever the order of the array.
#[allow(clippy::too_many_arguments)] // The standard's.
pub fn type_create_darray(
    size: i32,
    rank: i32,
    ndims: i32,
    array_of_gsizes: Counts<'_>,
    array_of_distribs: &[i32],
    array_of_dargs: &[i32],
    array_of_psizes: &[i32],
    order: i32,
    oldtype: &'static Datatype,
) -> Result<Handle<Datatype>> {
    if ndims < 1 {
        return Err(fail!(Arg, "ndims={ndims}, but an array has at least one dimension"));
    }
    check_grid(size, rank, array_of_psizes)?;
    let dimensions = dimensions(
        rank,
        array_of_gsizes,
        array_of_distribs,
        array_of_dargs,
        array_of_psizes,
    )?;
    let arguments = [
        Argument::Integers(&[size, rank, ndims]),
        Argument::Counts(array_of_gsizes),
        Argument::Integers(array_of_distribs),
        Argument::Integers(array_of_dargs),
        Argument::Integers(array_of_psizes),
        Argument::Integer(order),
        Argument::Type(oldtype),
    ];
    make(Combiner::Darray, array_of_gsizes.width(), &arguments, || {
        let mut shape = oldtype.shape().repeated(1, 0)?;
        let mut stride = oldtype.extent();
        for d in construct::fastest_first(ndims, order)? {
            shape = dimensions[d].share(&shape, stride)?;
            stride = stride.checked_mul(dimensions[d].size).ok_or_else(too_large)?;
        }
        shape.resized(0, stride)
    })
}

fn check_grid(size: i32, rank: i32, psizes: &[i32]) -> Result<()> {
    if let Some((d, extent)) = psizes.iter().enumerate().find(|(_, extent)| **extent < 1) {
        return Err(fail!(Arg, "array_of_psizes[{d}]={extent} is not positive"));
    }
    let processes = psizes.iter().try_fold(1i32, |all, extent| all.checked_mul(*extent));
    if processes != Some(size) {
        return Err(fail!(Arg, "size={size} is not the size of the grid {psizes:?}"));
    }
    if rank < 0 || rank >= size {
        return Err(fail!(Rank, "rank={rank}, but there are {size} processes"));
    }
    Ok(())
}

fn dimensions(
    rank: i32,
    gsizes: Counts<'_>,
    distribs: &[i32],
    dargs: &[i32],
    psizes: &[i32],
) -> Result<Vec<Dimension>> {
    let mut below: i32 = psizes.iter().product();
    let mut all = Vec::with_capacity(psizes.len());
    for d in 0..psizes.len() {
        let (size, processes) = (gsizes.get(d), psizes[d]);
        if size < 1 {
            return Err(fail!(Arg, "array_of_gsizes[{d}]={size} is not positive"));
        }
        below /= processes;
        all.push(Dimension {
            size,
            block: block(d, distribs[d], dargs[d], size, processes.into())?,
            processes: processes.into(),
            process: (rank / below % processes).into(),
        });
    }
    Ok(all)
}

/// Elements in a row for each process in turn.
fn block(d: usize, distribution: i32, argument: i32, size: i64, processes: i64) -> Result<i64> {
    let argument = match argument {
        DISTRIBUTE_DFLT_DARG => None,
        DISTRIBUTE_DFLT_DARG_LITERALLY => Some(DISTRIBUTE_DFLT_DARG.into()),
        given @ 1.. => Some(given.into()),
        wrong => return Err(fail!(Arg, "array_of_dargs[{d}]={wrong} is not positive")),
    };
    match (distribution, argument) {
        (DISTRIBUTE_NONE, _) if processes == 1 => Ok(size),
        (DISTRIBUTE_NONE, _) => Err(fail!(
            Arg,
            "array_of_psizes[{d}]={processes}, but the dimension is not distributed"
        )),
        (DISTRIBUTE_BLOCK, None) => Ok((size - 1) / processes + 1),
        (DISTRIBUTE_BLOCK, Some(block)) if i128::from(block) * i128::from(processes) < i128::from(size) => Err(fail!(
            Arg,
            "array_of_dargs[{d}]={block}: {processes} such blocks do not hold {size} elements"
        )),
        (DISTRIBUTE_CYCLIC, None) => Ok(1),
        (DISTRIBUTE_BLOCK | DISTRIBUTE_CYCLIC, Some(block)) => Ok(block),
        _ => Err(fail!(
            Arg,
            "array_of_distribs[{d}]={distribution} is not one of MPI_DISTRIBUTE_*"
        )),
    }
}

impl Dimension {
    /// What the process gets of elements of `shape` that lie `stride` bytes apart.
    fn share(self, shape: &Shape, stride: i64) -> Result<Shape> {
        let bytes = |elements: i64| elements.checked_mul(stride).ok_or_else(too_large);
        let cycle = self.block.saturating_mul(self.processes);
        let first = self.block.saturating_mul(self.process);
        let behind = (self.size - first).max(0);
        let whole = behind / cycle + i64::from(behind % cycle >= self.block);
        let rest = if behind % cycle >= self.block {
            0
        } else {
            behind % cycle
        };
        // A cycle longer than the array occurs once at most: its length does not matter then.
        let apart = if whole > 1 { bytes(cycle)? } else { 0 };
        let blocks = shape.repeated(self.block.min(behind), stride)?.repeated(whole, apart)?;
        let last = shape.repeated(rest, stride)?;
        let place = |elements: i64| bytes(elements.min(self.size));
        Shape::sequence(
            [
                (first, &blocks),
                (first.saturating_add(whole.saturating_mul(cycle)), &last),
            ]
            .map(|(at, shape)| {
                Ok(Block {
                    displacement: place(at)?,
                    count: 1,
                    shape,
                })
            })
            .into_iter()
            .collect::<Result<Vec<_>>>()?
            .into_iter(),
        )
    }
}

fn too_large() -> Error {
    fail!(ValueTooLarge, "the array's extent exceeds 64 bits")
}
