//! The definition of MPI-5.0 §5.1, entry by entry, however long that takes: a type map is a list of displacements and
//! basic elements.

use crate::recipe::{BASICS, Number, Recipe};

/// A basic element and where it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    pub at: i64,
    /// Which of [`BASICS`].
    pub basic: usize,
}

#[derive(Debug, Clone, Default)]
pub struct TypeMap {
    pub entries: Vec<Entry>,
    /// Where its parts end, with their padding.
    ends: Vec<i64>,
    lower: Vec<i64>,
    upper: Vec<i64>,
}

impl Entry {
    pub fn number(self) -> Number {
        BASICS[self.basic].number
    }

    /// Where it ends.
    pub fn end(self) -> i64 {
        self.at + self.number().size
    }
}

impl TypeMap {
    pub fn of(recipe: &Recipe) -> Self {
        match recipe {
            Recipe::Basic(which) => {
                let entries = BASICS[*which]
                    .elements
                    .iter()
                    .map(|(at, basic)| Entry { at: *at, basic: *basic });
                let entries: Vec<Entry> = entries.collect();
                Self {
                    ends: entries.iter().map(|entry| entry.end()).collect(),
                    entries,
                    ..Self::default()
                }
            }
            Recipe::Dup(old) => Self::of(old),
            Recipe::Contiguous(count, old) => Self::of(old).blocks([(*count, 0)]),
            Recipe::Vector(count, length, stride, old) => {
                let old = Self::of(old);
                let step = stride * old.extent();
                old.blocks((0..*count).map(|i| (*length, i * step)))
            }
            Recipe::Hvector(count, length, stride, old) => {
                Self::of(old).blocks((0..*count).map(|i| (*length, i * stride)))
            }
            Recipe::Indexed(list, old) => {
                let old = Self::of(old);
                let extent = old.extent();
                old.blocks(list.iter().map(|(length, at)| (*length, at * extent)))
            }
            Recipe::Hindexed(list, old) => Self::of(old).blocks(list.iter().copied()),
            Recipe::IndexedBlock(length, list, old) => {
                let old = Self::of(old);
                let extent = old.extent();
                old.blocks(list.iter().map(|at| (*length, at * extent)))
            }
            Recipe::HindexedBlock(length, list, old) => Self::of(old).blocks(list.iter().map(|at| (*length, *at))),
            Recipe::Struct(list) => {
                let mut all = Self::default();
                for (length, at, old) in list {
                    all.append(&Self::of(old).blocks([(*length, *at)]), 0);
                }
                all
            }
            Recipe::Subarray(dims, c_order, old) => {
                let mut indices: Vec<(i64, Vec<i64>)> = dims
                    .iter()
                    .map(|(size, subsize, start)| (*size, (*start..start + subsize).collect()))
                    .collect();
                if !c_order {
                    indices.reverse();
                }
                Self::of(old).array(&indices)
            }
            Recipe::Darray(dims, rank, c_order, old) => {
                let mut rest = *rank;
                let mut indices = Vec::new();
                // The grid is row-major, so the last dimension comes first.
                for dim in dims.iter().rev() {
                    let process = rest % dim.processes;
                    rest /= dim.processes;
                    let mine = (0..dim.size).filter(|index| dim.is_of(*index, process));
                    indices.push((dim.size, mine.collect()));
                }
                if *c_order {
                    indices.reverse();
                }
                Self::of(old).array(&indices)
            }
            Recipe::Resized(lb, extent, old) => Self {
                lower: vec![*lb],
                upper: vec![lb + extent],
                ..Self::of(old)
            },
        }
    }

    fn append(&mut self, other: &Self, by: i64) {
        self.entries.extend(other.entries.iter().map(|entry| Entry {
            at: entry.at + by,
            ..*entry
        }));
        self.ends.extend(other.natural_ub().map(|end| end + by));
        self.lower.extend(other.lower.iter().map(|lower| lower + by));
        self.upper.extend(other.upper.iter().map(|upper| upper + by));
    }

    /// (Number of elements in a row, displacement in bytes) each.
    fn blocks(&self, list: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut all = Self::default();
        for (length, at) in list {
            for i in 0..length {
                all.append(self, at + i * self.extent());
            }
        }
        all
    }

    /// Some indices of each dimension of an array, the slowest first.
    fn array(&self, dimensions: &[(i64, Vec<i64>)]) -> Self {
        let extent = self.extent();
        let mut places = vec![0];
        let mut total = 1;
        for (size, indices) in dimensions {
            let row = |place: i64| indices.iter().map(move |index| place * size + index);
            places = places.into_iter().flat_map(row).collect();
            total *= size;
        }
        Self {
            lower: vec![0],
            upper: vec![total * extent],
            ..self.blocks(places.into_iter().map(|place| (1, place * extent)))
        }
    }

    /// First byte of data, and the one behind the last.
    pub fn true_bounds(&self) -> (i64, i64) {
        let from = self.entries.iter().map(|entry| entry.at).min();
        let to = self.entries.iter().map(|entry| entry.end()).max();
        (from.unwrap_or(0), to.unwrap_or(0))
    }

    pub fn lb(&self) -> i64 {
        let explicit = self.lower.iter().copied().min();
        explicit.unwrap_or(self.true_bounds().0)
    }

    pub fn extent(&self) -> i64 {
        let explicit = self.upper.iter().copied().max();
        explicit.or(self.natural_ub()).map_or(0, |ub| ub - self.lb())
    }

    /// The upper bound if there were no explicit one: padded as C pads structures.
    fn natural_ub(&self) -> Option<i64> {
        let alignment = self.entries.iter().map(|entry| entry.number().alignment).max()?;
        let mut ub = self.ends.iter().copied().max()?;
        while (ub - self.lb()) % alignment != 0 {
            ub += 1;
        }
        Some(ub)
    }

    pub fn size(&self) -> i64 {
        self.entries.iter().map(|entry| entry.number().size).sum()
    }

    /// The entries of `count` elements in a row.
    pub fn repeated(&self, count: i64) -> impl Iterator<Item = Entry> + '_ {
        let extent = self.extent();
        (0..count).flat_map(move |i| {
            self.entries.iter().map(move |entry| Entry {
                at: entry.at + i * extent,
                ..*entry
            })
        })
    }

    /// Do two bytes of so many elements share a place?
    pub fn overlaps(&self, count: i64) -> bool {
        let mut places = self.places(count);
        places.sort_unstable();
        places.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Where each byte of the packed form lies.
    pub fn places(&self, count: i64) -> Vec<i64> {
        self.repeated(count).flat_map(|entry| entry.at..entry.end()).collect()
    }
}
