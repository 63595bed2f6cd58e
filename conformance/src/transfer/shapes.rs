//! Layouts that the kit makes up, and what they mean, by definition rather than by cleverness.

use std::ops::Range;

use isthmus_transfer::{Layout, Level, Span};

/// A layout within a region: its numbers are offsets.
#[derive(Debug, Clone)]
pub enum Form {
    /// See [`Layout::Spans`]; one span is contiguous.
    Spans(Vec<Span>),
    /// See [`Layout::Strided`].
    Strided {
        /// First byte of the first block.
        base: u64,
        /// Bytes of each block.
        block: u64,
        /// The innermost first.
        levels: Vec<Level>,
    },
}

impl Form {
    /// One block.
    pub fn contiguous(at: u64, length: u64) -> Self {
        Self::Spans(vec![Span { address: at, length }])
    }

    /// Bytes of the stream.
    pub fn length(&self) -> u64 {
        match self {
            Self::Spans(spans) => spans.iter().map(|span| span.length).sum(),
            Self::Strided { block, levels, .. } => block * levels.iter().map(|level| level.count).product::<u64>(),
        }
    }

    /// As a layout whose numbers `name` gives.
    pub fn with<R>(&self, name: impl Fn(u64) -> u64, use_it: impl FnOnce(&Layout<'_>) -> R) -> R {
        match self {
            Self::Spans(spans) => {
                let spans: Vec<Span> = spans
                    .iter()
                    .map(|span| Span {
                        address: name(span.address),
                        length: span.length,
                    })
                    .collect();
                match spans[..] {
                    [span] => use_it(&Layout::Contiguous(span)),
                    _ => use_it(&Layout::Spans(&spans)),
                }
            }
            Self::Strided { base, block, levels } => use_it(&Layout::strided(name(*base), *block, levels)),
        }
    }

    /// The blocks, in order.
    fn blocks(&self) -> Vec<Range<u64>> {
        match self {
            Self::Spans(spans) => spans
                .iter()
                .map(|span| span.address..span.address + span.length)
                .collect(),
            Self::Strided { base, block, levels } => {
                let mut starts = vec![*base];
                for level in levels.iter().rev() {
                    let inner = |start: u64| {
                        (0..level.count).map(move |index| start.wrapping_add_signed(index as i64 * level.stride))
                    };
                    starts = starts.into_iter().flat_map(inner).collect();
                }
                starts.into_iter().map(|start| start..start + block).collect()
            }
        }
    }

    /// Offsets of the stream's bytes in `range`.
    fn offsets(&self, range: &Range<u64>) -> Vec<usize> {
        let all = self.blocks().into_iter().flatten();
        let part = all.skip(range.start as usize).take((range.end - range.start) as usize);
        part.map(|offset| offset as usize).collect()
    }

    /// Call `each` with the offsets of every byte of the range, in this layout and in the other.
    pub fn each_with(&self, other: &Self, range: &Range<u64>, mut each: impl FnMut(usize, usize)) {
        if let (Self::Spans(a), Self::Spans(b)) = (self, other)
            && let (&[a], &[b]) = (&a[..], &b[..])
        {
            return range
                .clone()
                .for_each(|at| each((a.address + at) as usize, (b.address + at) as usize));
        }
        let (ours, theirs) = (self.offsets(range), other.offsets(range));
        assert_eq!(ours.len(), theirs.len(), "a range of both");
        ours.into_iter()
            .zip(theirs)
            .for_each(|(ours, theirs)| each(ours, theirs));
    }

    /// Any form, no byte twice, within `length` bytes.
    pub fn random(random: &mut Random, length: u64) -> Self {
        match random.below(4) {
            0 => {
                let at = random.below(length / 2);
                Self::contiguous(at, random.below(length / 2))
            }
            1 => Self::random_spans(random, length),
            _ => Self::random_strided(random, length),
        }
    }

    fn random_spans(random: &mut Random, length: u64) -> Self {
        let (mut spans, mut at) = (Vec::new(), random.below(100));
        let most = [3, 30, 300, 5000][random.below(4) as usize];
        while at + most < length && spans.len() < 3000 {
            let span = Span {
                address: at,
                length: random.below(most),
            };
            at += span.length + random.below(3) * random.below(most);
            spans.push(span);
        }
        random.shuffle(&mut spans);
        Self::Spans(spans)
    }

    fn random_strided(random: &mut Random, length: u64) -> Self {
        let block = [1, 2, 4, 8, 8, 16, 24, 64, 100, 1000][random.below(10) as usize];
        let mut levels = Vec::new();
        let mut extent = block;
        // How far the first block lies above the lowest.
        let mut above = 0;
        for _ in 0..1 + random.below(4) {
            let stride = extent + random.below(3) * random.below(extent.min(50));
            let count = (1 + random.below(9)).min((length / 2).saturating_sub(extent) / stride + 1);
            let reach = (count - 1) * stride;
            extent += reach;
            if random.below(3) == 0 {
                above += reach;
                levels.push(Level {
                    count,
                    stride: -(stride as i64),
                });
            } else {
                levels.push(Level {
                    count,
                    stride: stride as i64,
                });
            }
        }
        let base = above + random.below(length - extent);
        // The innermost level need not be the nearest.
        random.shuffle(&mut levels);
        Self::Strided { base, block, levels }
    }
}

/// Numbers that are the same in every run.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Less than `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11).checked_rem(bound).unwrap_or(0)
    }

    /// Put into another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
