//! Datatypes: how they were made, whose large-count forms have parameters of their own, and what MPI-1 asked.

use std::ffi::c_int;

use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::error::Result;
use isthmus_mpi::procedures;

use crate::abi::{Abi, DistributionArgument};
use crate::argument::{self, HandleArray, Number};
use crate::entry::{self, CHandle};
use crate::generated::constants::{Combiner, Distribution, Order};

/// `MPI_Type_get_envelope`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_get_envelope<A: Abi>(
    datatype: CHandle<A>,
    num_integers: *mut c_int,
    num_addresses: *mut c_int,
    num_datatypes: *mut c_int,
    combiner: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPI_Type_get_envelope", Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        let num_integers = argument::place(num_integers, "num_integers")?;
        let num_addresses = argument::place(num_addresses, "num_addresses")?;
        let num_datatypes = argument::place(num_datatypes, "num_datatypes")?;
        let combiner = argument::place(combiner, "combiner")?;
        let (integers, addresses, _large_counts, datatypes, how) = procedures::type_get_envelope(datatype)?;
        num_integers.put(c_int::narrow(integers));
        num_addresses.put(c_int::narrow(addresses));
        num_datatypes.put(c_int::narrow(datatypes));
        combiner.put(A::word_out::<Combiner>(how));
        Ok(())
    })
}

/// `MPI_Type_get_envelope_c`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_get_envelope_c<A: Abi>(
    datatype: CHandle<A>,
    num_integers: *mut i64,
    num_addresses: *mut i64,
    num_large_counts: *mut i64,
    num_datatypes: *mut i64,
    combiner: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPI_Type_get_envelope_c", Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        let num_integers = argument::place(num_integers, "num_integers")?;
        let num_addresses = argument::place(num_addresses, "num_addresses")?;
        let num_large_counts = argument::place(num_large_counts, "num_large_counts")?;
        let num_datatypes = argument::place(num_datatypes, "num_datatypes")?;
        let combiner = argument::place(combiner, "combiner")?;
        let (integers, addresses, large_counts, datatypes, how) = procedures::type_get_envelope(datatype)?;
        num_integers.put(integers);
        num_addresses.put(addresses);
        num_large_counts.put(large_counts);
        num_datatypes.put(datatypes);
        combiner.put(A::word_out::<Combiner>(how));
        Ok(())
    })
}

/// `MPI_Type_get_contents`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_get_contents<A: Abi>(
    datatype: CHandle<A>,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut i64,
    array_of_datatypes: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPI_Type_get_contents", Scope::Process, || {
        // SAFETY: the caller's promise.
        unsafe {
            let integers = argument::array_mut(
                array_of_integers,
                argument::length(max_integers, "max_integers")?,
                "array_of_integers",
            )?;
            let addresses = argument::array_mut(
                array_of_addresses,
                argument::length(max_addresses, "max_addresses")?,
                "array_of_addresses",
            )?;
            let most = argument::length(max_datatypes, "max_datatypes")?;
            contents::<A>(datatype, integers, addresses, &mut [], array_of_datatypes, most)
        }
    })
}

/// `MPI_Type_get_contents_c`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_get_contents_c<A: Abi>(
    datatype: CHandle<A>,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut i64,
    array_of_large_counts: *mut i64,
    array_of_datatypes: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPI_Type_get_contents_c", Scope::Process, || {
        // SAFETY: the caller's promise.
        unsafe {
            let integers = argument::array_mut(
                array_of_integers,
                argument::length(max_integers, "max_integers")?,
                "array_of_integers",
            )?;
            let addresses = argument::array_mut(
                array_of_addresses,
                argument::length(max_addresses, "max_addresses")?,
                "array_of_addresses",
            )?;
            let large_counts = argument::array_mut(
                array_of_large_counts,
                argument::length(max_large_counts, "max_large_counts")?,
                "array_of_large_counts",
            )?;
            let most = argument::length(max_datatypes, "max_datatypes")?;
            contents::<A>(datatype, integers, addresses, large_counts, array_of_datatypes, most)
        }
    })
}

/// What both forms do. Safety: `datatypes` is an array of `most` handles.
unsafe fn contents<A: Abi>(
    datatype: CHandle<A>,
    integers: &mut [c_int],
    addresses: &mut [i64],
    large_counts: &mut [i64],
    datatypes: *mut CHandle<A>,
    most: usize,
) -> Result<()> {
    let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
    // SAFETY: the caller's promise.
    let mut types = unsafe { HandleArray::<A, Datatype>::at(datatypes, most, "array_of_datatypes")? };
    procedures::type_get_contents(
        datatype,
        integers.len() as i64,
        addresses.len() as i64,
        large_counts.len() as i64,
        most as i64,
        integers,
        addresses,
        large_counts,
        types.as_mut_slice(),
    )?;
    let (written, .., how) = procedures::type_get_envelope(datatype)?;
    name_constants::<A>(how, &mut integers[..written as usize]);
    Ok(())
}

/// `MPI_COMBINER_SUBARRAY`
const SUBARRAY: i32 = 111;
/// `MPI_COMBINER_DARRAY`
const DARRAY: i32 = 112;

/// Some constructors have constants among their integers: those must be the ABI's own.
fn name_constants<A: Abi>(combiner: i32, integers: &mut [c_int]) {
    let ndims = integers.get(2).copied();
    let (SUBARRAY | DARRAY, Some((order, before))) = (combiner, integers.split_last_mut()) else {
        return;
    };
    *order = A::word_out::<Order>(*order);
    if let (DARRAY, Some(ndims)) = (combiner, ndims) {
        // Before the order stand, for each dimension: distribution, argument, processes.
        let (_, lists) = before.split_at_mut(before.len() - 3 * ndims as usize);
        let (distributions, lists) = lists.split_at_mut(ndims as usize);
        for one in distributions {
            *one = A::word_out::<Distribution>(*one);
        }
        for one in &mut lists[..ndims as usize] {
            *one = A::word_out::<DistributionArgument>(*one);
        }
    }
}

/// `MPI_Type_extent`, `MPI_Type_lb`, `MPI_Type_ub`: parts of what `MPI_Type_get_extent` answers.
fn bound<A: Abi>(
    name: &'static str,
    datatype: CHandle<A>,
    result: *mut i64,
    argument: &str,
    part: fn(i64, i64) -> i64,
) -> c_int {
    entry::enter::<A>(name, Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        let place = argument::place(result, argument)?;
        let (lower, extent) = procedures::type_get_extent(datatype)?;
        place.put(part(lower, extent));
        Ok(())
    })
}

/// `MPI_Type_extent`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_extent<A: Abi>(datatype: CHandle<A>, extent: *mut i64) -> c_int {
    bound::<A>("MPI_Type_extent", datatype, extent, "extent", |_, extent| extent)
}

/// `MPI_Type_lb`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_lb<A: Abi>(datatype: CHandle<A>, displacement: *mut i64) -> c_int {
    bound::<A>("MPI_Type_lb", datatype, displacement, "displacement", |lower, _| lower)
}

/// `MPI_Type_ub`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_ub<A: Abi>(datatype: CHandle<A>, displacement: *mut i64) -> c_int {
    bound::<A>(
        "MPI_Type_ub",
        datatype,
        displacement,
        "displacement",
        |lower, extent| lower + extent,
    )
}
