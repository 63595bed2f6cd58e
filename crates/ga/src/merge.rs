//! Copies of mirrored arrays on several nodes become one another's sum, or what is distributed does ([`mirror`]).

use isthmus_armci::reduction::{self, Operator};
use isthmus_armci::{domain, group};

use crate::array::Array;
use crate::element::Element;
use crate::error::Result;
use crate::kind::{Generic, dispatch};
use crate::life::{self, collectively};
use crate::local::{ArrayPatch, as_bytes};
use crate::onesided::{Buffer, Operation, fetch, store, transfer};
use crate::{elementwise, mirror};

/// What a process adds at a time, unless an index of the first dimension has more.
const AT_A_TIME: i64 = 1 << 20;

struct DoMerge<'a>(&'a Array);

impl Generic for DoMerge<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let array = self.0;
        let kind = array.kind.of_reduction()?;
        let domains = domain::all()?;
        let sharing = domains.iter().map(Vec::len).min().unwrap_or(1) as i64;
        let Some(group) = mirror::across_nodes()? else {
            return Ok(());
        };
        let place = mirror::place()? as i64;
        let whole = array.whole();
        let row = array.dims[1..].iter().product::<i64>() * array.kind.bytes() as i64;
        let rows = (AT_A_TIME / row.max(1)).clamp(1, (array.dims[0] / sharing).max(1));
        for first in (place * rows..array.dims[0]).step_by((sharing * rows) as usize) {
            let mut part = whole.clone();
            part.lo[0] = first;
            part.hi[0] = (first + rows).min(array.dims[0]) - 1;
            let mut values: Vec<T> = fetch(array, &part)?;
            reduction::all_reduce(&group.link()?, as_bytes(&mut values), kind, Operator::Sum)?;
            store(array, &part, &values)?;
        }
        Ok(())
    }
}

/// `GA_Merge_mirrored`: each element of each copy becomes the sum of those of all copies, the same at each node. Other arrays stay as they are.
/// Collective over all. Blocks.
///
/// # Errors
/// Elements that cannot be added, if there are several copies; a process has failed.
pub fn mirrored(array: &Array) -> Result<()> {
    if !array.plan.is_mirrored || !mirror::are_several()? {
        return collectively(&*array.group()?, || Ok(()));
    }
    collectively(&*group::find(group::WORLD)?, || dispatch(array.kind, DoMerge(array)))
}

struct DoMergeTo<'a>(ArrayPatch<'a>, ArrayPatch<'a>);

impl Generic for DoMergeTo<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let (from, to) = (self.0, self.1);
        let one = T::ONE;
        for block in from.0.own_blocks(from.1) {
            let values: Vec<T> = fetch(from.0, &block.patch)?;
            let there = block.patch.moved(&from.1.lo, &to.1.lo);
            let buffer = Buffer::dense(values.as_ptr().cast_mut().cast(), &there);
            // SAFETY: an accumulate only reads the buffer, which has all of them, and the factor.
            unsafe {
                transfer(
                    to.0,
                    &there,
                    &buffer,
                    Operation::Accumulate(std::ptr::from_ref(&one).cast()),
                )?
            };
        }
        Ok(())
    }
}

/// `NGA_Merge_distr_patch`, of a mirrored array of which there are several copies: the patch of `to` becomes the sum of those of all copies of
/// `from`. Collective over all. Blocks.
///
/// # Errors
/// Elements that cannot be added; a process has failed.
pub fn into_distributed(from: ArrayPatch<'_>, to: ArrayPatch<'_>) -> Result<()> {
    // It waits for all, before and after, unless that is masked.
    life::forget_mask();
    from.0.check_like(from.1, to.0, to.1)?;
    from.0.kind.of_reduction()?;
    elementwise::zero(to.0, to.1)?;
    life::sync_group(&*group::find(group::WORLD)?)?;
    dispatch(from.0.kind, DoMergeTo(from, to))?;
    life::sync_group(&*group::find(group::WORLD)?)
}
