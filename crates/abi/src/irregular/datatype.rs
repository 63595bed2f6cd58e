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
        let num_integers = argument::output(num_integers, "num_integers")?;
        let num_addresses = argument::output(num_addresses, "num_addresses")?;
        let num_datatypes = argument::output(num_datatypes, "num_datatypes")?;
        let combiner = argument::output(combiner, "combiner")?;
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
        let num_integers = argument::output(num_integers, "num_integers")?;
        let num_addresses = argument::output(num_addresses, "num_addresses")?;
        let num_large_counts = argument::output(num_large_counts, "num_large_counts")?;
        let num_datatypes = argument::output(num_datatypes, "num_datatypes")?;
        let combiner = argument::output(combiner, "combiner")?;
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
            contents::<A>(
                datatype,
                (array_of_integers, argument::count(max_integers, "max_integers")?),
                (array_of_addresses, argument::count(max_addresses, "max_addresses")?),
                (std::ptr::null_mut(), 0),
                (array_of_datatypes, argument::count(max_datatypes, "max_datatypes")?),
            )
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
            contents::<A>(
                datatype,
                (array_of_integers, argument::count(max_integers, "max_integers")?),
                (array_of_addresses, argument::count(max_addresses, "max_addresses")?),
                (
                    array_of_large_counts,
                    argument::count(max_large_counts, "max_large_counts")?,
                ),
                (array_of_datatypes, argument::count(max_datatypes, "max_datatypes")?),
            )
        }
    })
}

/// What both forms do, for arrays of at most so many entries each: the bounds may be any numbers, and of the arrays no more is used than
/// there is to give. Safety: as for the C functions.
unsafe fn contents<A: Abi>(
    datatype: CHandle<A>,
    integers: (*mut c_int, i64),
    addresses: (*mut i64, i64),
    large_counts: (*mut i64, i64),
    datatypes: (*mut CHandle<A>, i64),
) -> Result<()> {
    let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
    let (of_integers, of_addresses, of_large_counts, of_datatypes, how) = procedures::type_get_envelope(datatype)?;
    let used = |most: i64, there: i64| most.min(there) as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let numbers = argument::array_mut(integers.0, used(integers.1, of_integers), "array_of_integers")?;
        procedures::type_get_contents(
            datatype,
            integers.1,
            addresses.1,
            large_counts.1,
            datatypes.1,
            numbers,
            argument::array_mut(addresses.0, used(addresses.1, of_addresses), "array_of_addresses")?,
            argument::array_mut(
                large_counts.0,
                used(large_counts.1, of_large_counts),
                "array_of_large_counts",
            )?,
            HandleArray::<A, Datatype>::at(datatypes.0, used(datatypes.1, of_datatypes), "array_of_datatypes")?
                .as_mut_slice(),
        )?;
        name_constants::<A>(how, numbers);
    }
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
        let output = argument::output(result, argument)?;
        let (lower, extent) = procedures::type_get_extent(datatype)?;
        output.put(part(lower, extent));
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
