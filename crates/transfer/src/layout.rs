//! Where the bytes of a message lie in one address space.
//!
//! A layout stands for a stream of bytes: its blocks, in order. Two layouts of equal length match byte by byte, however
//! each is cut. The strided form is the one of ARMCI and of TEMPI's canonical types: any nest of vectors and
//! sections of arrays comes down to it.

use std::ops::Range;

use crate::Span;

/// One level of repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// How often.
    pub count: u64,
    /// Bytes from the beginning of one to the beginning of the next.
    pub stride: i64,
}

/// Where bytes lie, in the order in which they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout<'a> {
    /// In one block.
    Contiguous(Span),
    /// In blocks of any length; empty ones are allowed.
    Spans(&'a [Span]),
    /// In blocks of one length, repeated.
    Strided {
        /// First byte of the first block.
        base: u64,
        /// Bytes of each block.
        block: u64,
        /// The innermost first.
        levels: &'a [Level],
    },
}

impl<'a> Layout<'a> {
    /// One block.
    #[inline]
    pub const fn contiguous(address: u64, length: u64) -> Self {
        Self::Contiguous(Span { address, length })
    }

    /// One block of this process's memory.
    #[inline]
    pub fn local(buffer: *const u8, length: u64) -> Self {
        Self::contiguous(buffer.expose_provenance() as u64, length)
    }

    /// Blocks of `block` bytes, repeated by `levels` (the innermost first). What turns out to be contiguous becomes so.
    pub fn strided(base: u64, mut block: u64, mut levels: &'a [Level]) -> Self {
        while let [first, rest @ ..] = levels {
            if first.count == 1 {
                levels = rest;
            } else if i64::try_from(block) == Ok(first.stride)
                && let Some(joined) = block.checked_mul(first.count)
            {
                block = joined;
                levels = rest;
            } else {
                return Self::Strided { base, block, levels };
            }
        }
        Self::contiguous(base, block)
    }

    /// Bytes of the stream. Those of a layout that cannot be are as many as can be counted.
    #[inline]
    pub fn length(&self) -> u64 {
        match *self {
            Self::Contiguous(span) => span.length,
            Self::Spans(spans) => spans.iter().fold(0, |sum: u64, span| sum.saturating_add(span.length)),
            Self::Strided { block, levels, .. } => repeated(levels).saturating_mul(block),
        }
    }

    /// Blocks that the stream is cut into.
    pub fn blocks(&self) -> u64 {
        match *self {
            Self::Contiguous(_) => 1,
            Self::Spans(spans) => spans.len() as u64,
            Self::Strided { levels, .. } => repeated(levels),
        }
    }

    /// Addresses from the lowest that belongs to the layout to behind the highest. `None`: they do not fit into an
    /// address space, or a level reaches over half of one. A layout of no bytes has none either way, and its extent is empty.
    pub fn extent(&self) -> Option<Range<u64>> {
        match *self {
            Self::Contiguous(span) => extent(span),
            Self::Spans(spans) => {
                let mut spans = spans.iter().filter(|span| span.length > 0);
                let Some(&first) = spans.next() else { return Some(0..0) };
                spans.try_fold(extent(first)?, |whole, &span| {
                    let own = extent(span)?;
                    Some(whole.start.min(own.start)..whole.end.max(own.end))
                })
            }
            Self::Strided { base, block, levels } => {
                if block == 0 || levels.iter().any(|level| level.count == 0) {
                    return Some(0..0);
                }
                let (mut low, mut high) = (base, base.checked_add(block)?);
                for level in levels {
                    let further = i64::try_from(level.count - 1).ok()?;
                    let distance = further.checked_mul(level.stride)?;
                    low = low.checked_add_signed(distance.min(0))?;
                    high = high.checked_add_signed(distance.max(0))?;
                }
                Some(low..high)
            }
        }
    }

    /// Stand at byte `at` of the stream.
    pub fn cursor(&self, at: u64) -> Cursor<'a> {
        let mut cursor = Cursor {
            layout: *self,
            current: Span { address: 0, length: 0 },
            next: 0,
            run: 0,
            shift: 0,
        };
        cursor.seek(at);
        cursor
    }
}

fn repeated(levels: &[Level]) -> u64 {
    levels
        .iter()
        .fold(1, |product: u64, level| product.saturating_mul(level.count))
}

fn extent(span: Span) -> Option<Range<u64>> {
    Some(span.address..span.address.checked_add(span.length)?)
}

/// Blocks at even distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Bytes of each.
    pub block: u64,
    /// Bytes from the beginning of one to the beginning of the next.
    pub stride: i64,
    /// How many.
    pub count: u64,
}

/// A place in a layout's stream. Addresses wrap: users check them.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    layout: Layout<'a>,
    /// The rest of the current block; empty at the end of the stream.
    current: Span,
    /// Index of the block after it.
    next: u64,
    /// Blocks of the innermost level that follow it with that level's stride.
    run: u64,
    /// Added to all addresses.
    shift: u64,
}

impl Cursor<'_> {
    /// The rest of the current block: never empty before the end of the stream.
    #[inline]
    pub fn block(&self) -> Span {
        Span {
            address: self.current.address.wrapping_add(self.shift),
            length: self.current.length,
        }
    }

    /// From here on, answer addresses that are higher by this (which wraps): for a copy of the bytes elsewhere.
    #[inline]
    pub fn shift(&mut self, by: u64) {
        self.shift = by;
    }

    /// Go on by `bytes`, which must be within the block.
    #[inline]
    pub fn advance(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.current.length, "within the block");
        self.current.address = self.current.address.wrapping_add(bytes);
        self.current.length -= bytes;
        if self.current.length == 0 {
            self.next_block();
        }
    }

    /// Blocks of equal length and stride from here on, if we stand at the beginning of one that has such followers.
    #[inline]
    pub fn run(&self) -> Option<Run> {
        match self.layout {
            Layout::Strided { block, levels, .. } if self.run > 0 && self.current.length == block => Some(Run {
                block,
                stride: levels[0].stride,
                count: self.run + 1,
            }),
            _ => None,
        }
    }

    /// Go on by `blocks` whole blocks, which must be within the run and more than none.
    #[inline]
    pub fn skip(&mut self, blocks: u64) {
        debug_assert!(blocks > 0 && blocks <= self.run + 1, "within the run");
        let Layout::Strided { block, levels, .. } = self.layout else {
            return;
        };
        let further = (blocks - 1) as i64;
        let last = self
            .current
            .address
            .wrapping_add_signed(levels[0].stride.wrapping_mul(further));
        self.current.address = last.wrapping_add(block);
        self.current.length = 0;
        self.run -= blocks - 1;
        self.next += blocks - 1;
        self.next_block();
    }

    #[inline]
    fn next_block(&mut self) {
        match self.layout {
            Layout::Contiguous(_) => {}
            Layout::Spans(spans) => {
                while let Some(&span) = spans.get(self.next as usize) {
                    self.next += 1;
                    if span.length > 0 {
                        self.current = span;
                        return;
                    }
                }
            }
            Layout::Strided { block, levels, .. } => {
                if self.run > 0 {
                    // The block's address was advanced by its length; its beginning is what the stride counts from.
                    let begin = self.current.address.wrapping_sub(block);
                    self.run -= 1;
                    self.next += 1;
                    self.current = Span {
                        address: begin.wrapping_add_signed(levels[0].stride),
                        length: block,
                    };
                } else {
                    self.enter_row();
                }
            }
        }
    }

    /// Stand at the first block of the next row of a strided layout, whose blocks before it are behind us: with few divisions, which are what
    /// short rows cost.
    #[inline]
    fn enter_row(&mut self) {
        let Layout::Strided { base, block, levels } = self.layout else {
            return;
        };
        let [inner, outer @ ..] = levels else { return };
        let [middle, outer @ ..] = outer else { return };
        // In an empty layout nobody stands, and no count is 0 in another one.
        if self.next == 0 {
            return;
        }
        let mut rest = self.next / inner.count;
        let mut address = base;
        let mut level = middle;
        for above in outer {
            address = address.wrapping_add_signed(((rest % level.count) as i64).wrapping_mul(level.stride));
            rest /= level.count;
            level = above;
        }
        if rest >= level.count {
            return;
        }
        address = address.wrapping_add_signed((rest as i64).wrapping_mul(level.stride));
        self.run = inner.count - 1;
        self.next += 1;
        self.current = Span { address, length: block };
    }

    /// Stand at the beginning of a block of a strided layout.
    fn enter(&mut self, index: u64) {
        let Layout::Strided { base, block, levels } = self.layout else {
            return;
        };
        if block == 0 || index >= repeated(levels) {
            return;
        }
        let (mut rest, mut address) = (index, base);
        for level in levels {
            address = address.wrapping_add_signed(((rest % level.count) as i64).wrapping_mul(level.stride));
            rest /= level.count;
        }
        self.run = levels.first().map_or(0, |inner| inner.count - 1 - index % inner.count);
        self.next = index + 1;
        self.current = Span { address, length: block };
    }

    fn seek(&mut self, at: u64) {
        let mut into = at;
        match self.layout {
            Layout::Contiguous(span) => self.current = span,
            Layout::Spans(spans) => {
                while let Some(span) = spans.get(self.next as usize)
                    && span.length <= into
                {
                    into -= span.length;
                    self.next += 1;
                }
                self.next_block();
            }
            Layout::Strided { base, block, levels } if at == 0 => {
                if block > 0 && levels.iter().all(|level| level.count > 0) {
                    self.run = levels.first().map_or(0, |inner| inner.count - 1);
                    self.next = 1;
                    self.current = Span {
                        address: base,
                        length: block,
                    };
                }
                return;
            }
            Layout::Strided { block, .. } => {
                if let Some(index) = at.checked_div(block) {
                    into = at % block;
                    self.enter(index);
                }
            }
        }
        if self.current.length > 0 {
            self.advance(into.min(self.current.length));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte's address, by the definition.
    fn all(layout: &Layout<'_>) -> Vec<u64> {
        fn nest(base: u64, block: u64, levels: &[Level], into: &mut Vec<u64>) {
            match levels {
                [] => into.extend(base..base + block),
                [inner @ .., outer] => {
                    for index in 0..outer.count {
                        let base = base.wrapping_add_signed(index as i64 * outer.stride);
                        nest(base, block, inner, into);
                    }
                }
            }
        }
        let mut bytes = Vec::new();
        match *layout {
            Layout::Contiguous(span) => bytes.extend(span.address..span.address + span.length),
            Layout::Spans(spans) => spans
                .iter()
                .for_each(|span| bytes.extend(span.address..span.address + span.length)),
            Layout::Strided { base, block, levels } => nest(base, block, levels, &mut bytes),
        }
        bytes
    }

    /// Every byte's address from `at` on, by a cursor that goes on by `step` at a time.
    fn walked(layout: &Layout<'_>, at: u64, step: u64) -> Vec<u64> {
        let mut cursor = layout.cursor(at);
        let mut bytes = Vec::new();
        while cursor.block().length > 0 {
            let Span { address, length } = cursor.block();
            let length = length.min(step);
            bytes.extend(address..address + length);
            cursor.advance(length);
        }
        bytes
    }

    const fn level(count: u64, stride: i64) -> Level {
        Level { count, stride }
    }

    const fn span(address: u64, length: u64) -> Span {
        Span { address, length }
    }

    #[test]
    fn a_cursor_walks_the_definition_from_everywhere() {
        let spans = [
            span(5, 0),
            span(100, 7),
            span(50, 0),
            span(10, 3),
            span(13, 2),
            span(0, 0),
        ];
        let levels = [level(3, 5), level(2, -40), level(4, 100)];
        let never = [level(0, 5)];
        let layouts = [
            Layout::contiguous(7, 0),
            Layout::contiguous(7, 9),
            Layout::Spans(&[]),
            Layout::Spans(&spans),
            Layout::strided(1000, 3, &levels[..1]),
            Layout::strided(1000, 3, &levels),
            Layout::strided(1000, 5, &levels),
            Layout::strided(1000, 0, &levels),
            Layout::strided(1000, 1, &never),
        ];
        for layout in layouts {
            let bytes = all(&layout);
            assert_eq!(bytes.len() as u64, layout.length(), "{layout:?}");
            for at in 0..=bytes.len() {
                for step in [1, 2, 100] {
                    assert_eq!(walked(&layout, at as u64, step), bytes[at..], "{layout:?} from {at}");
                }
            }
            let extent = layout.extent().expect("small");
            if let (Some(&low), Some(&high)) = (bytes.iter().min(), bytes.iter().max()) {
                assert_eq!(extent, low..high + 1, "{layout:?}");
            }
        }
    }

    #[test]
    fn skipping_is_walking() {
        let levels = [level(3, 5), level(2, -40), level(4, 100)];
        let layout = Layout::strided(1000, 3, &levels);
        for at in 0..layout.length() {
            let from = layout.cursor(at);
            assert_eq!(from.run().is_some(), at % 3 == 0 && at % 9 != 6, "from {at}");
            for blocks in 1..=from.run().map_or(0, |run| run.count) {
                let (mut skipped, mut walked) = (from.clone(), from.clone());
                skipped.skip(blocks);
                (0..blocks).for_each(|_| walked.advance(3));
                assert_eq!(
                    (skipped.block(), skipped.run()),
                    (walked.block(), walked.run()),
                    "{blocks} from {at}"
                );
            }
        }
    }

    #[test]
    fn what_is_contiguous_becomes_so() {
        let levels = [level(4, 8), level(1, 77), level(2, 32), level(3, 100)];
        assert_eq!(
            Layout::strided(0, 8, &levels),
            Layout::Strided {
                base: 0,
                block: 64,
                levels: &levels[3..]
            }
        );
        assert_eq!(Layout::strided(0, 8, &levels[..3]), Layout::contiguous(0, 64));
    }

    #[test]
    fn layouts_that_cannot_be() {
        let far = [level(u64::MAX, i64::MAX), level(u64::MAX, i64::MIN)];
        let layout = Layout::strided(u64::MAX, 9, &far);
        assert_eq!((layout.length(), layout.extent()), (u64::MAX, None));
        assert!(layout.cursor(1 << 60).block().length > 0, "and yet no harm is done");
        assert_eq!(Layout::contiguous(u64::MAX, 2).extent(), None);
        assert_eq!(Layout::Spans(&[span(0, u64::MAX), span(0, 9)]).length(), u64::MAX);
        assert_eq!(Layout::strided(5, 1, &[level(2, -9)]).extent(), None, "below nothing");
    }
}
