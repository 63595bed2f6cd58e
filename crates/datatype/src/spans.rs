//! A datatype's layout in the terms of copies between address spaces.

use std::ops::ControlFlow;

use isthmus_transfer::{Layout as Spread, Level, Span};

use crate::error::{Result, room};
use crate::layout::{Body, Layout, Loop, NestedLayout, Run};
use crate::types::Type;

/// Spans that are worth telling one by one...
const MOST_SPANS: i64 = 4096;
/// ...and bytes in each, on average. Shorter ones are packed and unpacked.
const LEAST_BYTES: i64 = 64;

impl Type {
    /// Can the places of `count` elements be told at little cost?
    pub fn has_spans(&self, count: i64) -> bool {
        let layout = &self.shape().layout;
        let repeated = count * repetitions(&layout.loops);
        match layout.body {
            Body::Run(length) => length >= LEAST_BYTES && repeated > 0,
            ref body => {
                let spans = body.spans().saturating_mul(repeated);
                (1..=MOST_SPANS).contains(&spans) && body.size().saturating_mul(repeated) / spans >= LEAST_BYTES
            }
        }
    }

    /// Tell `f` where `count` elements at the address `base` lie, in order, however many places that are.
    pub fn with_places<R>(&self, base: u64, count: i64, f: impl FnOnce(&Spread<'_>) -> R) -> R {
        let layout = &self.shape().layout;
        if count == 0 || self.size() == 0 {
            return f(&Spread::contiguous(base, 0));
        }
        let elements = Loop {
            count,
            stride: self.extent(),
        };
        let base = base.wrapping_add_signed(layout.offset);
        let outer_first = || std::iter::once(&elements).chain(&layout.loops);
        if let Body::Run(length) = layout.body {
            return with_levels(elements, &layout.loops, |levels| {
                f(&Spread::strided(base, length as u64, levels))
            });
        }
        let loops: Vec<Loop> = outer_first().copied().collect();
        let mut spans = Vec::new();
        gather(&loops, &layout.body, base, &mut spans);
        f(&Spread::Spans(&spans))
    }

    /// How many runs of bytes one element has; one of no bytes if it is empty.
    pub fn segments(&self) -> i64 {
        let layout = &self.shape().layout;
        layout.body.spans().saturating_mul(repetitions(&layout.loops))
    }

    /// Tell `f` the displacements and lengths of one element's runs of bytes, in order, from the `first`-th on, until it breaks. Takes no
    /// memory, and no time for the runs before.
    pub fn visit_segments(&self, first: i64, f: &mut impl FnMut(i64, i64) -> ControlFlow<()>) {
        let Layout { offset, loops, body } = &self.shape().layout;
        let mut skip = first;
        let _ = visit(loops, body, *offset, &mut skip, f);
    }

    /// Where the bytes of one element lie: (displacement, length), in order; those that touch are one.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`: there is no memory for the list.
    pub fn runs(&self) -> Result<Vec<(i64, i64)>> {
        if self.size() == 0 {
            return Ok(Vec::new());
        }
        let mut runs: Vec<(i64, i64)> = room(self.segments() as usize, "the places of a datatype")?;
        self.visit_segments(0, &mut |at, length| {
            match runs.last_mut() {
                Some((before, so_far)) if *before + *so_far == at => *so_far += length,
                _ => runs.push((at, length)),
            }
            ControlFlow::Continue(())
        });
        Ok(runs)
    }

    /// Tell `f` where `count` elements at `buffer` lie, in order. False: [`Self::has_spans`] says no.
    pub fn with_spans(&self, buffer: *const u8, count: i64, f: &mut dyn FnMut(&Spread<'_>)) -> bool {
        if !self.has_spans(count) {
            return false;
        }
        let layout = &self.shape().layout;
        let elements = Loop {
            count,
            stride: self.extent(),
        };
        let base = (buffer.expose_provenance() as u64).wrapping_add_signed(layout.offset);
        let outer_first = || std::iter::once(&elements).chain(&layout.loops);
        if let Body::Run(length) = layout.body {
            with_levels(elements, &layout.loops, |levels| {
                f(&Spread::strided(base, length as u64, levels));
            });
            return true;
        }
        let loops: Vec<Loop> = outer_first().copied().collect();
        let mut spans = Vec::new();
        gather(&loops, &layout.body, base, &mut spans);
        f(&Spread::Spans(&spans));
        true
    }
}

fn repetitions(loops: &[Loop]) -> i64 {
    loops
        .iter()
        .fold(1, |product: i64, repeat| product.saturating_mul(repeat.count))
}

impl Body {
    /// Runs of bytes in one repetition.
    fn spans(&self) -> i64 {
        match self {
            Self::Run(_) => 1,
            Self::Blocks { offsets, .. } => offsets.len() as i64,
            Self::Runs(runs) => runs.len() as i64,
            Self::Parts(parts) => parts.iter().fold(0, |sum: i64, NestedLayout { layout, .. }| {
                sum.saturating_add(repetitions(&layout.loops).saturating_mul(layout.body.spans()))
            }),
        }
    }
}

/// Tell `f` the loops around a run, the innermost first; those of `elements` are the outermost.
#[inline]
fn with_levels<R>(elements: Loop, loops: &[Loop], f: impl FnOnce(&[Level]) -> R) -> R {
    /// Types of more loops take memory for it.
    const USUAL: usize = 8;
    let level = |repeat: &Loop| Level {
        count: repeat.count as u64,
        stride: repeat.stride,
    };
    let outermost = (elements.count != 1).then_some(&elements);
    let innermost_first = loops.iter().rev().chain(outermost).map(level);
    if loops.len() < USUAL {
        let mut levels = [Level { count: 1, stride: 0 }; USUAL];
        let mut used = 0;
        for (place, level) in levels.iter_mut().zip(innermost_first) {
            *place = level;
            used += 1;
        }
        return f(&levels[..used]);
    }
    f(&innermost_first.collect::<Vec<_>>())
}

fn gather(loops: &[Loop], body: &Body, base: u64, spans: &mut Vec<Span>) {
    let mut push = |address: u64, length: i64| {
        spans.push(Span {
            address,
            length: length as u64,
        });
    };
    match (loops, body) {
        ([outer, inner @ ..], _) => {
            for i in 0..outer.count {
                gather(
                    inner,
                    body,
                    base.wrapping_add_signed(i.wrapping_mul(outer.stride)),
                    spans,
                );
            }
        }
        ([], Body::Run(length)) => push(base, *length),
        ([], Body::Blocks { length, offsets }) => {
            for offset in offsets.iter() {
                push(base.wrapping_add_signed(*offset), *length);
            }
        }
        ([], Body::Runs(runs)) => {
            for Run { offset, length, .. } in runs.iter() {
                push(base.wrapping_add_signed(*offset), *length);
            }
        }
        ([], Body::Parts(parts)) => {
            for NestedLayout { layout, .. } in parts.iter() {
                let Layout { offset, loops, body } = layout;
                gather(loops, body, base.wrapping_add_signed(*offset), spans);
            }
        }
    }
}

/// As [`Type::visit_segments`], where `skip` runs are still to be left out.
fn visit(
    loops: &[Loop],
    body: &Body,
    base: i64,
    skip: &mut i64,
    f: &mut impl FnMut(i64, i64) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let [outer, inner @ ..] = loops else {
        return visit_body(body, base, skip, f);
    };
    let each = body.spans().saturating_mul(repetitions(inner));
    let left_out = (*skip / each).min(outer.count);
    *skip -= left_out * each;
    for i in left_out..outer.count {
        visit(inner, body, base + i * outer.stride, skip, f)?;
    }
    ControlFlow::Continue(())
}

fn visit_body(
    body: &Body,
    base: i64,
    skip: &mut i64,
    f: &mut impl FnMut(i64, i64) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let from = (*skip).min(body.spans());
    let first = from as usize;
    match body {
        Body::Parts(parts) => {
            for NestedLayout { layout, .. } in parts.iter() {
                let runs = layout.body.spans().saturating_mul(repetitions(&layout.loops));
                if *skip >= runs {
                    *skip -= runs;
                } else {
                    visit(&layout.loops, &layout.body, base + layout.offset, skip, f)?;
                }
            }
            return ControlFlow::Continue(());
        }
        Body::Run(length) if first == 0 => f(base, *length)?,
        Body::Run(_) => {}
        Body::Blocks { length, offsets } => {
            offsets[first..]
                .iter()
                .try_for_each(|offset| f(base + offset, *length))?;
        }
        Body::Runs(runs) => runs[first..]
            .iter()
            .try_for_each(|run| f(base + run.offset, run.length))?,
    }
    *skip -= from;
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bytes_from_any_of_them_on() {
        let listed = Layout::sequence([Layout::run(20, 4), Layout::run(0, 12), Layout::run(36, 8)]);
        let uneven = Layout::sequence([
            Layout::run(3, 2).repeated(3, 5),
            Layout::run(100, 7),
            listed.clone().repeated(2, 64),
        ]);
        for layout in [
            Layout::empty(),
            Layout::run(8, 4),
            Layout::run(0, 4).repeated(3, 8).repeated(2, -100),
            listed,
            uneven.repeated(4, 1000),
        ] {
            let (mut all, size) = (Vec::new(), layout.size());
            let gathered = {
                let mut spans = Vec::new();
                gather(
                    &layout.loops,
                    &layout.body,
                    (1 << 32) + layout.offset as u64,
                    &mut spans,
                );
                spans
            };
            let runs = layout.body.spans() * repetitions(&layout.loops);
            let visit_from = |first: i64, most: usize| {
                let (mut found, mut skip) = (Vec::new(), first);
                let _ = visit(
                    &layout.loops,
                    &layout.body,
                    layout.offset,
                    &mut skip,
                    &mut |at, length| {
                        found.push((at, length));
                        if found.len() == most {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    },
                );
                found
            };
            all.extend(visit_from(0, usize::MAX));
            let expected: Vec<_> = gathered
                .iter()
                .map(|span| (span.address as i64 - (1 << 32), span.length as i64))
                .collect();
            assert_eq!(all, expected);
            assert_eq!(all.len() as i64, runs);
            assert_eq!(all.iter().map(|run| run.1).sum::<i64>(), size);
            for first in 0..=runs + 2 {
                let rest = &all[(first as usize).min(all.len())..];
                assert_eq!(visit_from(first, usize::MAX), rest);
                assert_eq!(visit_from(first, 2), rest[..rest.len().min(2)]);
            }
        }
    }
}
