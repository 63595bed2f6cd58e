//! What gathers and scatters have in common.

use std::ffi::c_void;

use isthmus_collective::elements::Elements;
use isthmus_collective::{Direction, Link, Root};

use super::arguments::{self, is_in_place};
use super::check::Terms;
use super::form::Form;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;

/// The calling rank's block, of the buffer and the datatype of these names: none at the root with `MPI_IN_PLACE`, where it lies among all blocks, and
/// none in the root's group of an intercommunicator.
pub(super) fn own(
    call: &impl Form,
    (name, type_name): (&str, &str),
    (buffer, count, datatype): (*const c_void, i64, Handle<Datatype>),
    root: Root,
    comm: &Comm,
) -> Result<Option<Elements<'static>>> {
    match root {
        Root::Here | Root::Elsewhere => return Ok(None),
        Root::Rank(_) if is_in_place(buffer) && root.is_me(comm.rank() as usize) => return Ok(None),
        _ => {}
    }
    arguments::buffer(call, name, buffer, count, datatype.resolve_for(count, type_name)?).map(Some)
}

/// Types that blocks are of.
pub(super) fn keep(call: &impl Form, own: Option<Elements<'_>>, block: Option<Elements<'_>>) {
    for elements in own.iter().chain(&block) {
        call.keep(elements.datatype);
    }
}

/// What ranks must agree on.
pub(super) fn state<'a>(
    terms: &mut Terms,
    direction: Direction,
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) {
    let own = own.and_then(|own| Some((root.place(link)?, own)));
    let blocks = link.peers().filter_map(|(rank, place)| Some((place, block(rank)?)));
    let terms = terms.root(root);
    match direction {
        Direction::ToRoot => terms.blocks(own, blocks),
        Direction::FromRoot => terms.blocks(blocks, own),
    };
}
