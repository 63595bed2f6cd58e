//! What a type map means: bounds, layout and signature, and the four operations every constructor is made of.

use crate::bounds::Bounds;
use crate::error::Result;
use crate::fail;
use crate::layout::Layout;
use crate::predefined::{Families, Family, LB, Named, UB};
use crate::signature::Signature;

/// A type map, condensed. Immutable, and shared by duplicates and by the types built from it.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Bytes of data in one element.
    pub size: i64,
    /// Lower bound.
    pub lb: i64,
    /// From one element to the next.
    pub extent: i64,
    /// Where the first byte of data lies.
    pub true_lb: i64,
    /// From the first byte of data to the last.
    pub true_extent: i64,
    /// Where the data lies.
    pub layout: Layout,
    /// Which basic elements it consists of.
    pub signature: Signature,
    bounds: Bounds,
}

/// `count` elements of `shape` in a row, the first at `displacement` bytes.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    /// Bytes to the first of them.
    pub displacement: i64,
    /// How many.
    pub count: i64,
    /// What each is.
    pub shape: &'a Shape,
}

impl Shape {
    /// Of a predefined type.
    pub fn named(named: &Named) -> Self {
        let mut end = 0;
        let mut bounds = Bounds::EMPTY;
        let runs = named.elements.iter().map(|element| {
            let size = element.size();
            let offset = (end as u64).next_multiple_of(element.alignment() as u64) as i64;
            end = offset + size;
            bounds = bounds.union(Bounds::basic(size, element.alignment()).shifted(i128::from(offset)));
            Layout::run(offset, size)
        });
        let layout = Layout::sequence(runs);
        match (named.family, named.raw) {
            (Family::Marker, LB) => bounds = bounds.with_lower(0),
            (Family::Marker, UB) => bounds = bounds.with_upper(0),
            _ => {}
        }
        let size = layout.size();
        Self {
            size,
            lb: 0,
            extent: bounds.ub() as i64,
            true_lb: 0,
            true_extent: end,
            layout,
            signature: Signature::basic(named.basics(), Families::of(named.family)),
            bounds: bounds.finished(),
        }
    }

    /// `count` copies, `stride` bytes apart.
    pub fn repeated(&self, count: i64, stride: i64) -> Result<Self> {
        let bounds = self.bounds.repeated(count, stride);
        let size = i128::from(self.size) * i128::from(count);
        Self::checked(bounds, size, || {
            Ok((
                self.layout.clone().repeated(count, stride),
                Signature::sequence([(count, &self.signature)]),
            ))
        })
    }

    /// The blocks in order.
    pub fn sequence<'a>(blocks: impl Iterator<Item = Block<'a>> + Clone) -> Result<Self> {
        let mut bounds = Bounds::EMPTY;
        let (mut size, mut count) = (0, 0);
        for block in blocks.clone() {
            let Block {
                shape, count: times, ..
            } = block;
            let repeated = shape.bounds.repeated(times, shape.extent);
            bounds = bounds.union(repeated.shifted(i128::from(block.displacement)));
            size += i128::from(shape.size) * i128::from(times);
            count += 1;
        }
        Self::checked(bounds, size, || {
            let parts = blocks.clone().map(|block| {
                let layout = block.shape.layout.clone();
                layout
                    .repeated(block.count, block.shape.extent)
                    .shifted(block.displacement)
            });
            Ok((
                Layout::sequence_of(count, parts)?,
                Signature::sequence(blocks.clone().map(|block| (block.count, &block.shape.signature))),
            ))
        })
    }

    /// The same, `distance` bytes further on.
    pub fn shifted(&self, distance: i64) -> Result<Self> {
        Self::checked(self.bounds.shifted(i128::from(distance)), i128::from(self.size), || {
            Ok((self.layout.clone().shifted(distance), self.signature.clone()))
        })
    }

    /// The same with other bounds.
    pub fn resized(&self, lb: i64, extent: i64) -> Result<Self> {
        let bounds = self
            .bounds
            .with_lower(lb)
            .with_upper(i128::from(lb) + i128::from(extent));
        Self::checked(bounds, i128::from(self.size), || {
            Ok((self.layout.clone(), self.signature.clone()))
        })
    }

    /// Layout and signature are only made once it is sure that nothing in them overflows.
    fn checked(bounds: Bounds, size: i128, make: impl FnOnce() -> Result<(Layout, Signature)>) -> Result<Self> {
        let narrow = |what: &str, value: i128| {
            i64::try_from(value)
                .map_err(|_| fail!(ValueTooLarge, "the new datatype's {what}, {value}, exceeds 64 bits"))
        };
        let size = narrow("size", size)?;
        let (lb, ub) = (narrow("lower bound", bounds.lb())?, narrow("upper bound", bounds.ub())?);
        let extent = narrow("extent", i128::from(ub) - i128::from(lb))?;
        let true_lb = narrow("true lower bound", bounds.true_lb())?;
        let true_ub = narrow("true upper bound", bounds.true_ub())?;
        let true_extent = narrow("true extent", i128::from(true_ub) - i128::from(true_lb))?;
        let (layout, signature) = make()?;
        Ok(Self {
            size,
            lb,
            extent,
            true_lb,
            true_extent,
            layout,
            signature,
            bounds: bounds.finished(),
        })
    }

    /// Are consecutive elements one run of bytes that starts at the buffer's address?
    pub fn is_contiguous(&self) -> bool {
        self.layout.as_run() == Some((0, self.extent))
    }
}
