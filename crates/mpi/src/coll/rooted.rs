//! Gathers and scatters: one text for both directions.

use std::ffi::c_void;

use isthmus_collective::elements::Elements;
use isthmus_collective::rooted::{run, run_later, run_v, run_v_later};
use isthmus_collective::{Link, Root};

pub(super) use isthmus_collective::Direction;

use super::arguments::{self, is_in_place};
use super::check::Terms;
use super::form::{Form, run};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;

/// The arguments of one side of a call: a buffer, `N` elements (a count, or counts and displacements) and their datatype. Errors use the
/// standard's names of that side.
#[derive(Clone, Copy)]
pub(super) struct Side<N> {
    names: (&'static str, &'static str),
    buffer: *const c_void,
    count: N,
    datatype: Handle<Datatype>,
}

impl<N> Side<N> {
    /// What the standard calls `sendbuf` and so on.
    pub(super) fn sent(buffer: *const c_void, count: N, datatype: Handle<Datatype>) -> Self {
        Self {
            names: ("sendbuf", "sendtype"),
            buffer,
            count,
            datatype,
        }
    }

    /// What the standard calls `recvbuf` and so on.
    pub(super) fn received(buffer: *mut c_void, count: N, datatype: Handle<Datatype>) -> Self {
        Self {
            names: ("recvbuf", "recvtype"),
            buffer: buffer.cast_const(),
            count,
            datatype,
        }
    }
}

/// The collective `name` with blocks of one length: each rank has its `own`, the root has `all`.
///
/// # Safety
/// As for the procedure.
pub(super) unsafe fn equal_blocks<F: Form>(
    name: &str,
    direction: Direction,
    own_side: Side<i64>,
    all_side: Side<i64>,
    root: i32,
    comm: &'static Comm,
) -> Result<F::Done> {
    let call = F::begin(comm, name)?;
    let root = arguments::root(root, comm)?;
    let own = own(&call, own_side, root, comm)?;
    let mut all = None;
    if root.is_me(call.link().rank()) {
        let Side {
            names,
            buffer,
            count,
            datatype,
        } = all_side;
        let datatype = datatype.resolve_for(count, names.1)?;
        let one = arguments::blocks_in_a_row(&call, names.0, buffer, count, arguments::peers(&call), datatype)?;
        arguments::distinct(
            own_side.buffer,
            buffer,
            one.count > 0 && own.is_some_and(|own| own.count > 0),
        )?;
        all = Some(one);
    }
    let block = move |rank: usize| all.map(|one| one.nth(rank));
    call.compare(|terms| state(terms, direction, call.link(), own, block, root))?;
    keep(&call, own, all);
    // SAFETY: the caller's promise.
    run!(call, run, run_later, (direction, own, block, root))
}

/// As [`equal_blocks`], with a count and a displacement for each block.
///
/// # Safety
/// As for the procedure.
pub(super) unsafe fn any_blocks<F: Form>(
    name: &str,
    direction: Direction,
    own_side: Side<i64>,
    all_side: Side<(Counts<'_>, Counts<'_>)>,
    root: i32,
    comm: &'static Comm,
) -> Result<F::Done> {
    let call = F::begin(comm, name)?;
    let Side {
        names,
        buffer,
        count: (counts, displs),
        datatype,
    } = all_side;
    // SAFETY: they are used for this call only.
    let (counts, displs) = unsafe { (call.keep_counts(counts), call.keep_counts(displs)) };
    let root = arguments::root(root, comm)?;
    let own = own(&call, own_side, root, comm)?;
    let mut all = None;
    if root.is_me(call.link().rank()) {
        let blocks = arguments::blocks(&call, names.0, buffer, counts, displs, datatype, comm)?;
        arguments::distinct(own_side.buffer, buffer, own.is_some_and(|own| own.count > 0))?;
        all = Some(blocks);
    }
    let block = |rank: usize| all.as_ref().map(|blocks| blocks.at(rank));
    call.compare(|terms| state(terms, direction, call.link(), own, block, root))?;
    keep(&call, own, all.as_ref().map(|blocks| blocks.at(0)));
    let block = move |rank: usize| all.as_ref().map(|blocks| blocks.at(rank));
    // SAFETY: the caller's promise.
    run!(call, run_v, run_v_later, (direction, own, block, root))
}

/// The calling rank's block: none at the root with `MPI_IN_PLACE`, where it lies among all blocks, and none in the root's group of an
/// intercommunicator.
fn own(call: &impl Form, side: Side<i64>, root: Root, comm: &Comm) -> Result<Option<Elements<'static>>> {
    let Side {
        names,
        buffer,
        count,
        datatype,
    } = side;
    match root {
        Root::Here | Root::Elsewhere => return Ok(None),
        Root::Rank(_) if is_in_place(buffer) && root.is_me(comm.rank() as usize) => return Ok(None),
        _ => {}
    }
    arguments::buffer(call, names.0, buffer, count, datatype.resolve_for(count, names.1)?).map(Some)
}

/// Types that blocks are of.
fn keep(call: &impl Form, own: Option<Elements<'_>>, block: Option<Elements<'_>>) {
    for elements in own.iter().chain(&block) {
        call.keep(elements.datatype);
    }
}

/// What ranks must agree on.
fn state<'a>(
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
