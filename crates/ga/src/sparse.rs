//! Sparse matrices (`NGA_Sprs_array_*`): rows dealt evenly among the processes of a group, and of each process's rows one piece in
//! compressed rows (CSR) per range of columns, which are cut as if they were rows.
//!
//! Elements are added anywhere, and go to the processes that have their rows when the matrix is assembled ([`assemble`]). From then on
//! only values change. Pieces lie in memory that all processes of the node map ([`block`]), so that reading another process's is a plain
//! copy.

pub mod assemble;
pub mod block;
pub mod convert;
pub mod diagonal;
pub mod multiply;
pub mod sketch;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use isthmus_armci::group::{self, Group};

use crate::array::Array;
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::life;
use crate::plan::{Cut, Plan};

/// Elements that were added and not assembled yet.
#[derive(Debug, Default)]
struct Gathered {
    /// Row and column of each.
    places: Vec<[i64; 2]>,
    /// Values, one after the other.
    values: Vec<u8>,
}

/// Where the pieces are.
#[derive(Debug)]
struct Stored {
    /// First byte of each process's part, as mapped here.
    parts: Vec<usize>,
    /// Bytes of our own.
    bytes: u64,
}

/// A sparse matrix.
#[derive(Debug)]
pub struct Sparse {
    /// Of elements.
    pub kind: ElementKind,
    /// Are indexes in memory `int64_t`, or `int`?
    pub is_wide: bool,
    /// Rows.
    pub rows: i64,
    /// Columns.
    pub columns: i64,
    /// The number of the group whose processes have it.
    pub group: i32,
    processes: usize,
    me: usize,
    gathered: Mutex<Gathered>,
    stored: OnceLock<Stored>,
}

/// First and last index that a part has of `dim`, cut into `parts`; none, if the last is below the first.
pub fn range(dim: i64, parts: usize, part: usize) -> (i64, i64) {
    let begin = |part: usize| (i128::from(dim) * part as i128 / parts as i128) as i64;
    (begin(part), begin(part + 1) - 1)
}

/// The part that has an index.
pub fn part_of(dim: i64, parts: usize, index: i64) -> usize {
    match (index + 1).checked_mul(parts as i64) {
        Some(product) => ((product - 1) / dim) as usize,
        None => (((i128::from(index) + 1) * parts as i128 - 1) / i128::from(dim)) as usize,
    }
}

impl Sparse {
    /// Without elements, for the processes of the default group. Collective.
    ///
    /// # Errors
    /// Dimensions that are not positive, or beyond narrow indexes; elements that cannot be computed with.
    pub fn create(rows: i64, columns: i64, kind: ElementKind, is_wide: bool) -> Result<Self> {
        if rows < 1 || columns < 1 {
            return Err(Error::argument(format!("idim={rows}, jdim={columns} must be positive")));
        }
        if !is_wide && i32::try_from(columns).is_err() {
            return Err(Error::argument(format!("jdim={columns} needs indexes of 64 bits")));
        }
        kind.of_reduction()?;
        let number = group::default_number();
        let group = group::find(number)?;
        let me = group.link()?.me();
        Ok(Self {
            kind,
            is_wide,
            rows,
            columns,
            group: number,
            processes: group.size(),
            me,
            gathered: Mutex::default(),
            stored: OnceLock::new(),
        })
    }

    /// The group whose processes have it.
    ///
    /// # Errors
    /// It was destroyed.
    pub fn group(&self) -> Result<Arc<Group>> {
        Ok(group::find(self.group)?)
    }

    /// How many processes have it; also the number of ranges that columns are cut into.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// The calling process's number among them.
    pub fn me(&self) -> usize {
        self.me
    }

    /// First and last row of a process.
    ///
    /// # Errors
    /// There is no such process.
    pub fn rows_of(&self, process: usize) -> Result<(i64, i64)> {
        self.check_part("iproc", process)?;
        Ok(range(self.rows, self.processes, process))
    }

    /// First and last column of a range.
    ///
    /// # Errors
    /// There is no such range.
    pub fn columns_of(&self, block: usize) -> Result<(i64, i64)> {
        self.check_part("icol", block)?;
        Ok(range(self.columns, self.processes, block))
    }

    /// Rows of the calling process: the first, and how many.
    fn own_rows(&self) -> (i64, usize) {
        let (lo, hi) = range(self.rows, self.processes, self.me);
        (lo, (hi - lo + 1) as usize)
    }

    fn check_part(&self, what: &str, part: usize) -> Result<()> {
        match part < self.processes {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "{what}={}, there are {} processes",
                part as i64, self.processes
            ))),
        }
    }

    /// Is there such an element?
    fn check(&self, row: i64, column: i64) -> Result<()> {
        match (0..self.rows).contains(&row) && (0..self.columns).contains(&column) {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "sparse array: element [{row}, {column}] is outside {} x {}",
                self.rows, self.columns
            ))),
        }
    }

    /// `NGA_Sprs_array_add_element`: elements at the same place add up. Local.
    ///
    /// # Errors
    /// It is not in the matrix, or that is assembled already; no value.
    ///
    /// # Safety
    /// `value` must be null or good for an element.
    pub unsafe fn add(&self, row: i64, column: i64, value: *const u8) -> Result<()> {
        self.check(row, column)?;
        if self.stored.get().is_some() {
            return Err(Error::argument(
                "the sparse array is assembled: no element can be added",
            ));
        }
        if value.is_null() {
            return Err(Error::argument("val is null"));
        }
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.places.push([row, column]);
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(value, self.kind.bytes()) };
        gathered.values.extend_from_slice(bytes);
        Ok(())
    }

    fn stored(&self) -> Result<&Stored> {
        let why = || Error::argument("the sparse array is not assembled: call NGA_Sprs_array_assemble first");
        self.stored.get().ok_or_else(why)
    }

    /// Give its memory back. Collective over its group. Blocks until all are here.
    ///
    /// # Errors
    /// A process has failed.
    pub fn destroy(&self) -> Result<()> {
        let Some(stored) = self.stored.get() else { return Ok(()) };
        // Waits for all before it frees.
        life::free(&*self.group()?, self.part(stored, self.me), stored.bytes)
    }

    fn part(&self, stored: &Stored, process: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(stored.parts[process])
    }

    /// A plan of a dense array whose first dimension is cut as the rows of a matrix are.
    fn plan_by_rows(&self, dims: &[i64], kind: ElementKind) -> Result<Plan> {
        let mut plan = Plan::new();
        plan.set_data(dims.to_vec(), kind)?;
        plan.group = self.group;
        let first = (0..self.processes).map(|process| range(dims[0], self.processes, process).0);
        let mut cuts = vec![vec![0]; dims.len()];
        cuts[0] = first.collect();
        plan.cut = Cut::Irregular(cuts);
        Ok(plan)
    }

    /// Are a dense array's elements of the same type, in so many dimensions?
    fn check_dense(&self, array: &Array, dims: &[Option<i64>]) -> Result<()> {
        if array.kind != self.kind {
            return Err(Error::argument(format!(
                "array '{}' and the sparse array have elements of different types",
                array.name
            )));
        }
        let fits = array.rank() == dims.len()
            && dims
                .iter()
                .zip(&array.dims)
                .all(|(wanted, dim)| wanted.is_none_or(|wanted| wanted == *dim));
        if fits {
            return Ok(());
        }
        let wanted = dims
            .iter()
            .map(|dim| dim.map_or_else(|| "any".to_owned(), |dim| dim.to_string()));
        Err(Error::argument(format!(
            "array '{}' is {:?}, and must be {}, to go with a sparse array of {} x {}",
            array.name,
            array.dims,
            wanted.collect::<Vec<_>>().join(" x "),
            self.rows,
            self.columns
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_in_the_part_that_has_it() {
        for parts in 1..9 {
            for dim in 1..20 {
                let mut next = 0;
                for part in 0..parts {
                    let (lo, hi) = range(dim, parts, part);
                    assert_eq!(lo, next);
                    assert!((lo..=hi).all(|index| part_of(dim, parts, index) == part));
                    next = hi + 1;
                }
                assert_eq!(next, dim);
            }
        }
    }
}
