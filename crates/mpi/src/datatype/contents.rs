//! How a datatype was made: envelope and contents (MPI-5.0 §5.1.13).

use std::sync::Arc;

use isthmus_datatype::{Named, Type};

use super::{Datatype, fortran};
use crate::counts::{Counts, Width};
use crate::error::{Result, room};
use crate::fail;
use crate::handle::Handle;

/// Which constructor made a datatype; the standard ABI's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // The names are the standard's.
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
}

/// What a datatype is and how it was made, without what belongs to one handle of it.
#[derive(Clone)]
pub(super) struct Definition {
    pub described: Arc<Type>,
    pub origin: Arc<Origin>,
}

/// Where a datatype comes from.
pub(super) enum Origin {
    Named(&'static Named),
    /// Predefined, but asked for by its precision and range; laid out as a named one.
    Kind(Recipe),
    Made(Recipe),
}

/// A constructor's arguments, in the order in which the standard returns them.
pub(super) struct Recipe {
    combiner: Combiner,
    width: Width,
    integers: Vec<i32>,
    addresses: Vec<i64>,
    large_counts: Vec<i64>,
    types: Vec<Definition>,
}

/// An argument of a constructor.
#[derive(Clone, Copy)]
pub(super) enum Argument<'a> {
    /// An `int` in both interfaces.
    Integer(i32),
    /// Several of them.
    Integers(&'a [i32]),
    /// An `int` in one interface and a large count in the other.
    Count(i64),
    /// Several of them.
    Counts(Counts<'a>),
    /// An address in one interface and a large count in the other.
    Address(i64),
    /// Several of them.
    Addresses(Counts<'a>),
    Type(&'static Datatype),
    /// Several, which have been found to be there.
    Types(&'a [Handle<Datatype>]),
}

impl Recipe {
    /// These arguments.
    pub fn of(combiner: Combiner, width: Width, arguments: &[Argument<'_>]) -> Result<Self> {
        let mut recipe = Self {
            combiner,
            width,
            integers: Vec::new(),
            addresses: Vec::new(),
            large_counts: Vec::new(),
            types: Vec::new(),
        };
        for argument in arguments {
            match *argument {
                Argument::Integer(value) => recipe.integers.push(value),
                Argument::Integers(values) => recipe.integers.extend_from_slice(values),
                Argument::Count(value) => recipe.add_counts([value]),
                Argument::Counts(values) => recipe.add_counts(values.iter()),
                Argument::Address(value) => recipe.add_addresses([value]),
                Argument::Addresses(values) => recipe.add_addresses(values.iter()),
                Argument::Type(datatype) => recipe.types.push(datatype.definition.clone()),
                Argument::Types(handles) => {
                    recipe.types = room(handles.len(), "array_of_types")?;
                    for handle in handles {
                        let datatype = handle.resolve("array_of_types")?;
                        recipe.types.push(datatype.definition.clone());
                    }
                }
            }
        }
        Ok(recipe)
    }

    fn add_counts(&mut self, values: impl IntoIterator<Item = i64>) {
        match self.width {
            // They came as `int`.
            Width::Int => self.integers.extend(values.into_iter().map(|value| value as i32)),
            Width::Large => self.large_counts.extend(values),
        }
    }

    fn add_addresses(&mut self, values: impl IntoIterator<Item = i64>) {
        match self.width {
            Width::Int => self.addresses.extend(values),
            Width::Large => self.large_counts.extend(values),
        }
    }

    /// Numbers among the arguments.
    pub fn numbers(&self) -> usize {
        self.integers.len() + self.addresses.len() + self.large_counts.len()
    }

    /// The datatypes among the arguments.
    pub fn types(&self) -> &[Definition] {
        &self.types
    }
}

/// `MPI_Type_get_envelope`: numbers of integers, addresses, large counts and datatypes that
/// [`type_get_contents`] gives, and the combiner.
pub fn type_get_envelope(datatype: &'static Datatype) -> Result<(i64, i64, i64, i64, i32)> {
    Ok(match &*datatype.definition.origin {
        Origin::Named(_) => (0, 0, 0, 0, Combiner::Named as i32),
        Origin::Kind(recipe) | Origin::Made(recipe) => (
            recipe.integers.len() as i64,
            recipe.addresses.len() as i64,
            recipe.large_counts.len() as i64,
            recipe.types.len() as i64,
            recipe.combiner as i32,
        ),
    })
}

/// `MPI_Type_get_contents`: the arguments that made the datatype. Datatypes that are not predefined come as new handles,
/// to be freed. Refused for predefined types, and if an array is too short.
#[allow(clippy::too_many_arguments)] // The standard's.
pub fn type_get_contents(
    datatype: &'static Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: &mut [i32],
    array_of_addresses: &mut [i64],
    array_of_large_counts: &mut [i64],
    array_of_datatypes: &mut [Handle<Datatype>],
) -> Result<()> {
    let (Origin::Kind(recipe) | Origin::Made(recipe)) = &*datatype.definition.origin else {
        return Err(fail!(
            Type,
            "datatype={} is predefined and has no contents",
            datatype.label()
        ));
    };
    fill("max_integers", max_integers, array_of_integers, &recipe.integers)?;
    fill("max_addresses", max_addresses, array_of_addresses, &recipe.addresses)?;
    fill(
        "max_large_counts",
        max_large_counts,
        array_of_large_counts,
        &recipe.large_counts,
    )?;
    let needed = recipe.types.len();
    if (max_datatypes as usize).min(array_of_datatypes.len()) < needed {
        return Err(too_short("max_datatypes", max_datatypes, needed));
    }
    for (out, definition) in array_of_datatypes.iter_mut().zip(&recipe.types) {
        *out = match &*definition.origin {
            Origin::Named(named) => Handle::from_raw(named.raw),
            Origin::Kind(recipe) => fortran::find(recipe.combiner, &recipe.integers)?,
            Origin::Made(_) => Datatype::publish(definition.clone())?,
        };
    }
    Ok(())
}

fn fill<T: Copy>(argument: &str, max: i64, out: &mut [T], values: &[T]) -> Result<()> {
    match out.get_mut(..values.len()) {
        Some(out) if max >= values.len() as i64 => {
            out.copy_from_slice(values);
            Ok(())
        }
        _ => Err(too_short(argument, max, values.len())),
    }
}

#[cold]
fn too_short(argument: &str, given: i64, needed: usize) -> crate::error::Error {
    fail!(Arg, "{argument}={given}, but the datatype was made from {needed}")
}
