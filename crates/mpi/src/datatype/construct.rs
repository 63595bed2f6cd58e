//! Datatype constructors (MPI-5.0 §5.1.2 to §5.1.7).

use std::sync::Arc;

use isthmus_datatype::shape::{Block, Shape};

use super::contents::Argument::{self, Address, Addresses, Count, Integer, Type, Types};
use super::contents::{Combiner, Definition, Origin, Recipe};
use super::{Datatype, known};
use crate::constants::{ORDER_C, ORDER_FORTRAN};
use crate::counts::{Counts, Width};
use crate::error::{Result, room};
use crate::fail;
use crate::handle::Handle;

/// `MPI_Type_contiguous`.
pub fn type_contiguous(count: i64, oldtype: &'static Datatype, width: Width) -> Result<Handle<Datatype>> {
    check_count("count", count)?;
    make(Combiner::Contiguous, width, &[Count(count), Type(oldtype)], || {
        oldtype.shape().repeated(count, oldtype.extent())
    })
}

/// `MPI_Type_vector`: `stride` in extents of `oldtype`.
pub fn type_vector(
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &'static Datatype,
    width: Width,
) -> Result<Handle<Datatype>> {
    let bytes = in_extents("stride", stride, oldtype)?;
    make(
        Combiner::Vector,
        width,
        &[Count(count), Count(blocklength), Count(stride), Type(oldtype)],
        || blocks_apart(count, blocklength, bytes, oldtype),
    )
}

/// `MPI_Type_create_hvector`: `stride` in bytes.
pub fn type_create_hvector(
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &'static Datatype,
    width: Width,
) -> Result<Handle<Datatype>> {
    make(
        Combiner::Hvector,
        width,
        &[Count(count), Count(blocklength), Address(stride), Type(oldtype)],
        || blocks_apart(count, blocklength, stride, oldtype),
    )
}

/// `MPI_Type_indexed`: displacements in extents of `oldtype`.
pub fn type_indexed(
    count: i64,
    array_of_blocklengths: Counts<'_>,
    array_of_displacements: Counts<'_>,
    oldtype: &'static Datatype,
) -> Result<Handle<Datatype>> {
    check_count("count", count)?;
    let arguments = [
        Count(count),
        Argument::Counts(array_of_blocklengths),
        Argument::Counts(array_of_displacements),
        Type(oldtype),
    ];
    make(Combiner::Indexed, array_of_blocklengths.width(), &arguments, || {
        let bytes = all_in_extents(array_of_displacements, oldtype)?;
        indexed(array_of_blocklengths, Counts::Large(&bytes), oldtype)
    })
}

/// `MPI_Type_create_hindexed`: displacements in bytes.
pub fn type_create_hindexed(
    count: i64,
    array_of_blocklengths: Counts<'_>,
    array_of_displacements: Counts<'_>,
    oldtype: &'static Datatype,
) -> Result<Handle<Datatype>> {
    check_count("count", count)?;
    let arguments = [
        Count(count),
        Argument::Counts(array_of_blocklengths),
        Addresses(array_of_displacements),
        Type(oldtype),
    ];
    make(Combiner::Hindexed, array_of_blocklengths.width(), &arguments, || {
        indexed(array_of_blocklengths, array_of_displacements, oldtype)
    })
}

/// `MPI_Type_create_indexed_block`: displacements in extents of `oldtype`.
pub fn type_create_indexed_block(
    count: i64,
    blocklength: i64,
    array_of_displacements: Counts<'_>,
    oldtype: &'static Datatype,
) -> Result<Handle<Datatype>> {
    check_count("count", count)?;
    let arguments = [
        Count(count),
        Count(blocklength),
        Argument::Counts(array_of_displacements),
        Type(oldtype),
    ];
    make(
        Combiner::IndexedBlock,
        array_of_displacements.width(),
        &arguments,
        || {
            let bytes = all_in_extents(array_of_displacements, oldtype)?;
            indexed_block(blocklength, Counts::Large(&bytes), oldtype)
        },
    )
}

/// `MPI_Type_create_hindexed_block`: displacements in bytes.
pub fn type_create_hindexed_block(
    count: i64,
    blocklength: i64,
    array_of_displacements: Counts<'_>,
    oldtype: &'static Datatype,
    width: Width,
) -> Result<Handle<Datatype>> {
    check_count("count", count)?;
    let arguments = [
        Count(count),
        Count(blocklength),
        Addresses(array_of_displacements),
        Type(oldtype),
    ];
    make(Combiner::HindexedBlock, width, &arguments, || {
        indexed_block(blocklength, array_of_displacements, oldtype)
    })
}

/// `MPI_Type_create_struct`: displacements in bytes.
pub fn type_create_struct(
    count: i64,
    array_of_blocklengths: Counts<'_>,
    array_of_displacements: Counts<'_>,
    array_of_types: &[Handle<Datatype>],
) -> Result<Handle<Datatype>> {
    check_count("count", count)?;
    check_blocklengths(array_of_blocklengths)?;
    for (i, handle) in array_of_types.iter().enumerate() {
        if handle.resolve("array_of_types").is_err() {
            // The name takes longer to write than all the rest.
            handle.resolve(&format!("array_of_types[{i}]"))?;
        }
    }
    let arguments = [
        Count(count),
        Argument::Counts(array_of_blocklengths),
        Addresses(array_of_displacements),
        Types(array_of_types),
    ];
    make(Combiner::Struct, array_of_blocklengths.width(), &arguments, || {
        let mut shapes = room(array_of_types.len(), "array_of_types")?;
        for handle in array_of_types {
            shapes.push(handle.resolve("array_of_types")?.shape());
        }
        let blocks = array_of_blocklengths
            .iter()
            .zip(array_of_displacements.iter())
            .zip(shapes);
        Shape::sequence(blocks.map(|((count, displacement), shape)| Block {
            displacement,
            count,
            shape,
        }))
    })
}

/// `MPI_Type_create_subarray`: a block of an array of `ndims` dimensions, with the whole array's extent.
pub fn type_create_subarray(
    ndims: i32,
    array_of_sizes: Counts<'_>,
    array_of_subsizes: Counts<'_>,
    array_of_starts: Counts<'_>,
    order: i32,
    oldtype: &'static Datatype,
) -> Result<Handle<Datatype>> {
    if ndims < 1 {
        return Err(fail!(Arg, "ndims={ndims}, but an array has at least one dimension"));
    }
    for d in 0..ndims as usize {
        let (size, subsize, start) = (array_of_sizes.get(d), array_of_subsizes.get(d), array_of_starts.get(d));
        if size < 1 || subsize < 1 || subsize > size || start < 0 || start > size - subsize {
            return Err(fail!(
                Arg,
                "dimension {d}: subsize {subsize} from {start} does not lie in size {size}"
            ));
        }
    }
    let arguments = [
        Integer(ndims),
        Argument::Counts(array_of_sizes),
        Argument::Counts(array_of_subsizes),
        Argument::Counts(array_of_starts),
        Integer(order),
        Type(oldtype),
    ];
    make(Combiner::Subarray, array_of_sizes.width(), &arguments, || {
        let too_large = || fail!(ValueTooLarge, "the array's extent exceeds 64 bits");
        let mut shape = oldtype.shape().repeated(1, 0)?;
        let (mut stride, mut first) = (oldtype.extent(), 0i64);
        for d in fastest_first(ndims, order)? {
            shape = shape.repeated(array_of_subsizes.get(d), stride)?;
            let skipped = array_of_starts.get(d).checked_mul(stride).ok_or_else(too_large)?;
            first = first.checked_add(skipped).ok_or_else(too_large)?;
            stride = stride.checked_mul(array_of_sizes.get(d)).ok_or_else(too_large)?;
        }
        shape.shifted(first)?.resized(0, stride)
    })
}

/// `MPI_Type_create_resized`.
pub fn type_create_resized(oldtype: &'static Datatype, lb: i64, extent: i64, width: Width) -> Result<Handle<Datatype>> {
    let arguments = [Address(lb), Address(extent), Type(oldtype)];
    make(Combiner::Resized, width, &arguments, || {
        oldtype.shape().resized(lb, extent)
    })
}

/// The dimensions of an array, the one whose elements are closest together first.
pub(super) fn fastest_first(ndims: i32, order: i32) -> Result<Vec<usize>> {
    let dimensions = 0..ndims as usize;
    match order {
        ORDER_C => Ok(dimensions.rev().collect()),
        ORDER_FORTRAN => Ok(dimensions.collect()),
        _ => Err(fail!(Arg, "order={order} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN")),
    }
}

/// A datatype made from these arguments, of this shape.
pub(super) fn make(
    combiner: Combiner,
    width: Width,
    arguments: &[Argument<'_>],
    shape: impl FnOnce() -> Result<Shape>,
) -> Result<Handle<Datatype>> {
    let definition = known::definition(combiner, width, arguments, || {
        Ok(Definition {
            described: isthmus_datatype::Type::derived(shape()?),
            origin: Arc::new(Origin::Made(Recipe::of(combiner, width, arguments)?)),
        })
    })?;
    Datatype::publish(definition)
}

/// `count` blocks, `stride` bytes apart.
fn blocks_apart(count: i64, blocklength: i64, stride: i64, oldtype: &Datatype) -> Result<Shape> {
    check_count("count", count)?;
    check_blocklength(blocklength)?;
    oldtype
        .shape()
        .repeated(blocklength, oldtype.extent())?
        .repeated(count, stride)
}

/// Blocks at displacements in bytes.
fn indexed(blocklengths: Counts<'_>, displacements: Counts<'_>, oldtype: &Datatype) -> Result<Shape> {
    check_blocklengths(blocklengths)?;
    let shape = oldtype.shape();
    Shape::sequence(
        blocklengths
            .iter()
            .zip(displacements.iter())
            .map(|(count, displacement)| Block {
                displacement,
                count,
                shape,
            }),
    )
}

/// Blocks of one length at displacements in bytes.
fn indexed_block(blocklength: i64, displacements: Counts<'_>, oldtype: &Datatype) -> Result<Shape> {
    check_blocklength(blocklength)?;
    Shape::sequence(displacements.iter().map(|displacement| Block {
        displacement,
        count: blocklength,
        shape: oldtype.shape(),
    }))
}

fn all_in_extents(displacements: Counts<'_>, oldtype: &Datatype) -> Result<Vec<i64>> {
    let mut bytes = room(displacements.len(), "array_of_displacements")?;
    for displacement in displacements.iter() {
        bytes.push(in_extents("displacement", displacement, oldtype)?);
    }
    Ok(bytes)
}

fn in_extents(what: &str, value: i64, oldtype: &Datatype) -> Result<i64> {
    let extent = oldtype.extent();
    let bytes = value.checked_mul(extent);
    bytes.ok_or_else(|| {
        fail!(
            ValueTooLarge,
            "{what}={value} times the extent {extent} exceeds 64 bits"
        )
    })
}

fn check_count(argument: &str, count: i64) -> Result<()> {
    if count < 0 {
        return Err(fail!(Count, "{argument}={count} is negative"));
    }
    Ok(())
}

fn check_blocklength(blocklength: i64) -> Result<()> {
    if blocklength < 0 {
        return Err(fail!(Arg, "blocklength={blocklength} is negative"));
    }
    Ok(())
}

fn check_blocklengths(blocklengths: Counts<'_>) -> Result<()> {
    match blocklengths.iter().enumerate().find(|(_, length)| *length < 0) {
        Some((i, length)) => Err(fail!(Arg, "array_of_blocklengths[{i}]={length} is negative")),
        None => Ok(()),
    }
}
