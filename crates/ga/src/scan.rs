//! Prefix operations on vectors, by a vector of marks; collective. Each process works on what it has of the result.

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::{Generic, dispatch};
use crate::life::{collectively, sync_group};
use crate::local::{for_each_row, scalar};
use crate::onesided::fetch;
use crate::patch::Patch;

/// Which positions of a vector are marked.
fn marks(mask: &Array, lo: i64, hi: i64) -> Result<Vec<bool>> {
    struct Marks<'a>(&'a Array, Patch);
    impl Generic for Marks<'_> {
        type Output = Vec<bool>;

        fn call<T: Element>(self) -> Result<Vec<bool>> {
            let values: Vec<T> = fetch(self.0, &self.1)?;
            Ok(values.into_iter().map(|value| value != T::ZERO).collect())
        }
    }
    dispatch(mask.kind, Marks(mask, Patch::new([lo], [hi])))
}

/// Are these vectors of one type that have `lo..=hi`?
fn check(vectors: &[&Array], lo: i64, hi: i64) -> Result<Patch> {
    let patch = Patch::new([lo], [hi]);
    for array in vectors {
        if array.rank() != 1 {
            return Err(Error::argument(format!("array '{}' is no vector", array.name)));
        }
        array.check(&patch)?;
    }
    Ok(patch)
}

/// What a prefix operation makes of a segment, which begins at each mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// Each element becomes the segment's first one.
    Copy,
    /// The sum from the segment's first one to it.
    Add,
    /// The sum up to the one before it.
    AddExclusive,
}

struct DoScan<'a>(&'a Array, &'a Array, &'a Array, Patch, Scan);

impl Generic for DoScan<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(from, to, mask, patch, scan) = self;
        let (lo, hi) = (patch.lo[0], patch.hi[0]);
        let (marks, values) = (marks(mask, lo, hi)?, fetch::<T>(from, &patch)?);
        let mut results = Vec::with_capacity(values.len());
        let mut so_far = None;
        for (mark, value) in marks.iter().zip(&values) {
            let before = if *mark { None } else { so_far };
            let (result, next) = match scan {
                Scan::Copy => {
                    let first = if *mark { Some(*value) } else { before };
                    (first, first)
                }
                Scan::Add => {
                    let sum = before.map_or(*value, |before: T| before.add(*value));
                    let sum = (*mark || before.is_some()).then_some(sum);
                    (sum, sum)
                }
                Scan::AddExclusive => {
                    let is_within = *mark || before.is_some();
                    let before = before.unwrap_or(T::ZERO);
                    (is_within.then_some(before), is_within.then(|| before.add(*value)))
                }
            };
            results.push(result);
            so_far = next;
        }
        for_each_row(to, &patch, |first, row: &mut [T]| {
            for (at, element) in (first[0]..).zip(row) {
                // Elements before the first mark belong to no segment, and stay.
                if let Some(result) = results[(at - lo) as usize] {
                    *element = result;
                }
            }
            Ok(())
        })
    }
}

/// `GA_Scan_copy`, `GA_Scan_add`. Collective.
///
/// # Errors
/// These are no vectors, or have no such elements; different types; the destination is the source or the mask.
pub fn scan(from: &Array, to: &Array, mask: &Array, lo: i64, hi: i64, scan: Scan) -> Result<()> {
    if [from, mask].iter().any(|other| std::ptr::eq(*other, to)) {
        return Err(Error::argument(format!(
            "array '{}' is source or mask, and destination: these must be different arrays",
            to.name
        )));
    }
    collectively(&*to.group()?, || {
        let patch = check(&[from, to, mask], lo, hi)?;
        to.check_like(&patch, from, &patch)?;
        dispatch(to.kind, DoScan(from, to, mask, patch, scan))
    })
}

struct DoPack<'a>(&'a Array, &'a Array, &'a Array, Patch, bool);

impl Generic for DoPack<'_> {
    type Output = i64;

    fn call<T: Element>(self) -> Result<i64> {
        let Self(from, to, mask, patch, unpack) = self;
        let (lo, hi) = (patch.lo[0], patch.hi[0]);
        let marks = marks(mask, lo, hi)?;
        let marked: Vec<i64> = (lo..)
            .zip(&marks)
            .filter(|(_, mark)| **mark)
            .map(|(at, _)| at)
            .collect();
        if marked.is_empty() {
            return Ok(0);
        }
        let count = marked.len() as i64;
        let source = if unpack {
            Patch::new([0], [count - 1])
        } else {
            patch.clone()
        };
        let values: Vec<T> = fetch(from, &source)?;
        if [from, mask].iter().any(|other| std::ptr::eq(*other, to)) {
            // Nobody writes before everybody has read.
            sync_group(&*to.group()?)?;
        }
        if unpack {
            for_each_row(to, &patch, |first, row: &mut [T]| {
                for (at, element) in (first[0]..).zip(row) {
                    if let Ok(place) = marked.binary_search(&at) {
                        *element = values[place];
                    }
                }
                Ok(())
            })?;
        } else {
            for_each_row(to, &Patch::new([0], [count - 1]), |first, row: &mut [T]| {
                for (at, element) in (first[0]..).zip(row) {
                    *element = values[(marked[at as usize] - lo) as usize];
                }
                Ok(())
            })?;
        }
        Ok(count)
    }
}

/// `GA_Pack`: the marked elements of `lo..=hi` one after the other; `GA_Unpack`: back to where the marks are. How many. Collective.
///
/// # Errors
/// As for [`scan`].
pub fn pack(from: &Array, to: &Array, mask: &Array, lo: i64, hi: i64, unpack: bool) -> Result<i64> {
    collectively(&*to.group()?, || {
        let marked = if unpack { to } else { from };
        let patch = check(&[marked, mask], lo, hi)?;
        if from.kind != to.kind || from.rank() != 1 || to.rank() != 1 {
            return Err(Error::argument("source and destination must be vectors of one type"));
        }
        dispatch(to.kind, DoPack(from, to, mask, patch, unpack))
    })
}

struct DoEnumerate<'a>(&'a Array, Patch, *const u8, *const u8);

impl Generic for DoEnumerate<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        // SAFETY: `enumerate`'s caller vouches for the scalars.
        let (start, step) = unsafe { (scalar::<T>(self.2, "start")?, scalar::<T>(self.3, "inc")?) };
        let lo = self.1.lo[0];
        for_each_row(self.0, &self.1, |first, row: &mut [T]| {
            for (at, element) in (first[0]..).zip(row) {
                *element = start.add(step.mul(T::from_real((at - lo) as f64)));
            }
            Ok(())
        })
    }
}

/// `GA_Patch_enum`: start, start + inc, ... Collective.
///
/// # Errors
/// As for [`scan`].
///
/// # Safety
/// The scalars must be good for one element.
pub unsafe fn enumerate(array: &Array, lo: i64, hi: i64, start: *const u8, step: *const u8) -> Result<()> {
    collectively(&*array.group()?, || {
        let patch = check(&[array], lo, hi)?;
        dispatch(array.kind, DoEnumerate(array, patch, start, step))
    })
}
