//! Are elements received as they were sent (MPI-5.0 §3.3.1)? Where programs are checked, a sender puts a [brief](Signature::brief) number of
//! its elements above its rank in the envelope, and the receive takes it out.

use isthmus_datatype::{Family, Signature};
use isthmus_engine::Arrival;
use isthmus_os::switches::Switch;

use crate::completion::of_operation;
use crate::datatype::Type;
use crate::error::Result;
use crate::fail;
use crate::status::{RANK_BITS, Status, rank_in};

/// What a sender of this rank says in its envelope: also of which types its elements are.
#[cold]
pub(crate) fn with_types(rank: i32, count: i64, datatype: &Type) -> i32 {
    let bytes = count.saturating_mul(datatype.size());
    rank | (brief(datatype, bytes) << RANK_BITS).cast_signed()
}

/// Are as many bytes of these types the same elements? Packed data is anything.
pub(crate) fn are_alike(one: &Type, other: &Type, bytes: i64) -> bool {
    let [one, other] = [one, other].map(|datatype| brief(datatype, bytes));
    one == other || one == 0 || other == 0
}

/// 0: unknown. Packed data may be received as anything.
fn brief(datatype: &Type, bytes: i64) -> u32 {
    let signature = datatype.signature();
    let is_typed = signature
        .families()
        .all(|family| !matches!(family, Family::Opaque | Family::Marker));
    if is_typed {
        signature.brief(bytes).unwrap_or(0)
    } else {
        0
    }
}

/// The status of a message that a probe has found.
#[inline(always)]
pub(crate) fn found(arrival: &Arrival) -> Status {
    let status = Status::from(arrival);
    if Switch::Check.is_on() {
        without_types(status)
    } else {
        status
    }
}

/// The status without what the sender said of its types.
#[cold]
pub(crate) fn without_types(status: Status) -> Status {
    Status {
        source: rank_in(status.source),
        ..status
    }
}

/// A message has come into `count` elements of `datatype`: its status.
///
/// # Errors
/// They are not what was sent.
#[cold]
pub(crate) fn compare(status: Status, count: i64, datatype: &Type) -> Result<Status> {
    let told = if status.source < 0 {
        0
    } else {
        status.source >> RANK_BITS
    }
    .cast_unsigned();
    let status = without_types(status);
    let expected = brief(datatype, status.bytes);
    if status.cancelled || told == 0 || expected == 0 || told == expected {
        return Ok(status);
    }
    let error = fail!(
        Type,
        "the message of {} bytes from rank {} with tag {} was sent as {}, and received as {}, into {count} elements of {}",
        status.bytes,
        status.source,
        status.tag,
        Signature::describe_brief(told),
        Signature::describe_brief(expected),
        datatype.label()
    );
    Err(of_operation(error, status))
}
