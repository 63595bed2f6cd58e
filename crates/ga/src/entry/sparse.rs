//! Sparse matrices.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::{Number, entries, find, indexed, tell, text};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::handles::{self, Reserved};
use crate::kind::ElementKind;
use crate::sparse::diagonal::{Change, Line};
use crate::sparse::{Sparse, assemble, convert, diagonal, multiply, sketch};

/// Bytes of a `long long` and of an `int`.
const WIDE: usize = size_of::<i64>();

fn find_sparse(handle: c_int) -> Result<Arc<Sparse>> {
    handles::find_sparse(handle)
}

/// The handle of a new array, which is reserved before it is made.
fn created(make: impl FnOnce() -> Result<Array>) -> Result<c_int> {
    let reserved = Reserved::new()?;
    Ok(reserved.array(make()?))
}

/// As [`created`], of a sparse one.
fn created_sparse(make: impl FnOnce() -> Result<Sparse>) -> Result<c_int> {
    let reserved = Reserved::new()?;
    Ok(reserved.sparse(make()?))
}

fn part(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Memory that programs give back with `free`.
fn allocate(bytes: usize) -> Result<*mut u8> {
    unsafe extern "C" {
        fn malloc(bytes: usize) -> *mut c_void;
    }
    // SAFETY: C's malloc takes any number.
    let at = unsafe { malloc(bytes.max(1)) };
    if at.is_null() {
        return Err(Error::argument(format!("there is no memory for {bytes} bytes")));
    }
    Ok(at.cast())
}

/// Numbers in memory that programs give back with `free`.
fn allocated<I: Number>(values: &[i64]) -> Result<*mut I> {
    let at = allocate(size_of_val(values))?.cast::<I>();
    // SAFETY: an `I` is no longer than an `i64`.
    unsafe { tell(at, values.iter().copied()) };
    Ok(at)
}

/// # Safety
/// The pointers must be good.
unsafe fn access<I: Number>(
    handle: c_int,
    block: c_int,
    starts: *mut *mut I,
    columns: *mut *mut I,
    values: *mut *mut c_void,
) -> Result<()> {
    let matrix = find_sparse(handle)?;
    if matrix.is_wide != (size_of::<I>() == WIDE) {
        let (has, call) = match matrix.is_wide {
            true => ("int64_t", "NGA_Sprs_array_access_col_block64"),
            false => ("int", "NGA_Sprs_array_access_col_block"),
        };
        return Err(Error::argument(format!(
            "indexes of the sparse array are {has}: call {call}"
        )));
    }
    if starts.is_null() || columns.is_null() || values.is_null() {
        return Err(Error::argument("idx, jdx or val is null"));
    }
    let found = matrix.pointers(part(block.into()))?;
    // SAFETY: the caller's promise.
    unsafe {
        starts.write(found.map_or(std::ptr::null_mut(), |at| at.starts.cast()));
        columns.write(found.map_or(std::ptr::null_mut(), |at| at.columns.cast()));
        values.write(found.map_or(std::ptr::null_mut(), |at| at.values.cast()));
    }
    Ok(())
}

/// Copy a piece into memory for the program: row starts, columns, values. None: it has no elements.
fn copied<I: Number>(matrix: &Sparse, row: usize, column: usize) -> Result<Option<(*mut I, *mut I, *mut u8)>> {
    fn of<I: Number, T: Copy>(matrix: &Sparse, row: usize, column: usize) -> Result<Option<(*mut I, *mut I, *mut u8)>> {
        let Some(piece) = matrix.fetch::<T>(row, column)? else {
            return Ok(None);
        };
        let bytes = size_of_val(&piece.values[..]);
        let values = allocate(bytes)?;
        // SAFETY: just allocated for them.
        unsafe { values.copy_from_nonoverlapping(piece.values.as_ptr().cast(), bytes) };
        Ok(Some((allocated(&piece.starts)?, allocated(&piece.columns)?, values)))
    }
    match matrix.kind.bytes() {
        4 => of::<I, u32>(matrix, row, column),
        8 => of::<I, u64>(matrix, row, column),
        _ => of::<I, [u64; 2]>(matrix, row, column),
    }
}

indexed! {
    fn isthmus_ga_NGA_Sprs_array_create, isthmus_ga_NGA_Sprs_array_create64(
        rows: Index, columns: Index, kind: c_int,
    ) -> c_int {
        let is_wide = size_of::<Index>() == WIDE;
        created_sparse(|| Sparse::create(rows.wide(), columns.wide(), ElementKind::of(kind)?, is_wide))?
    }
    fn isthmus_ga_NGA_Sprs_array_add_element, isthmus_ga_NGA_Sprs_array_add_element64(
        handle: c_int, row: Index, column: Index, value: *const c_void,
    ) { find_sparse(handle)?.add(row.wide(), column.wide(), value.cast())? }
    fn isthmus_ga_NGA_Sprs_array_row_distribution, isthmus_ga_NGA_Sprs_array_row_distribution64(
        handle: c_int, process: c_int, lo: *mut Index, hi: *mut Index,
    ) {
        let found = find_sparse(handle)?.rows_of(part(process.into()))?;
        tell(lo, [found.0]);
        tell(hi, [found.1])
    }
    fn isthmus_ga_NGA_Sprs_array_column_distribution, isthmus_ga_NGA_Sprs_array_column_distribution64(
        handle: c_int, process: c_int, lo: *mut Index, hi: *mut Index,
    ) {
        let found = find_sparse(handle)?.columns_of(part(process.into()))?;
        tell(lo, [found.0]);
        tell(hi, [found.1])
    }
    fn isthmus_ga_NGA_Sprs_array_access_col_block, isthmus_ga_NGA_Sprs_array_access_col_block64(
        handle: c_int, block: c_int, starts: *mut *mut Index, columns: *mut *mut Index, values: *mut *mut c_void,
    ) { access(handle, block, starts, columns, values)? }
    fn isthmus_ga_NGA_Sprs_array_get_block, isthmus_ga_NGA_Sprs_array_get_block64(
        handle: c_int, row: Index, column: Index, starts: *mut *mut Index, columns: *mut *mut Index,
        values: *mut *mut c_void, ilo: *mut Index, ihi: *mut Index, jlo: *mut Index, jhi: *mut Index,
    ) -> c_int {
        let matrix = find_sparse(handle)?;
        let (row, column) = (part(row.wide()), part(column.wide()));
        let (rows, cols) = (matrix.rows_of(row)?, matrix.columns_of(column)?);
        tell(ilo, [rows.0]);
        tell(ihi, [rows.1]);
        tell(jlo, [cols.0]);
        tell(jhi, [cols.1]);
        if starts.is_null() || columns.is_null() || values.is_null() {
            return Err(Error::argument("idx, jdx or data is null"));
        }
        let found = copied::<Index>(&matrix, row, column)?;
        starts.write(found.map_or(std::ptr::null_mut(), |found| found.0));
        columns.write(found.map_or(std::ptr::null_mut(), |found| found.1));
        values.write(found.map_or(std::ptr::null_mut(), |found| found.2.cast()));
        found.is_some().into()
    }
    fn isthmus_ga_NGA_Sprs_array_create_from_dense, isthmus_ga_NGA_Sprs_array_create_from_dense64(
        handle: c_int,
    ) -> c_int {
        let is_wide = size_of::<Index>() == WIDE;
        created_sparse(|| convert::from_dense(&*find(handle)?, is_wide))?
    }
    fn isthmus_ga_NGA_Sprs_array_get_column, isthmus_ga_NGA_Sprs_array_get_column64(
        handle: c_int, column: Index,
    ) -> c_int { created(|| diagonal::line(&*find_sparse(handle)?, Line::Column(column.wide())))? }
}

entries! {
    fn isthmus_ga_NGA_Sprs_array_assemble(handle: c_int) -> c_int {
        assemble::assemble(&*find_sparse(handle)?)?;
        1
    }
    fn isthmus_ga_NGA_Sprs_array_destroy(handle: c_int) -> c_int {
        handles::remove_sparse(handle)?.destroy()?;
        1
    }
    fn isthmus_ga_NGA_Sprs_array_type(handle: c_int) -> c_int { find_sparse(handle)?.kind.number() }
    fn isthmus_ga_NGA_Sprs_array_duplicate(handle: c_int) -> c_int {
        created_sparse(|| convert::duplicate(&*find_sparse(handle)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_export(handle: c_int, file: *const c_char) {
        convert::export(&*find_sparse(handle)?, &text(file))?
    }
    fn isthmus_ga_NGA_Sprs_array_col_block_list(handle: c_int, blocks: *mut *mut c_int, count: *mut c_int) {
        let matrix = find_sparse(handle)?;
        let mut found = Vec::new();
        for block in 0..matrix.processes() {
            if matrix.count(matrix.me(), block)? > 0 {
                found.push(block as i64);
            }
        }
        if blocks.is_null() {
            return Err(Error::argument("idx is null"));
        }
        blocks.write(allocated(&found)?);
        tell(count, [found.len() as i64])
    }
    fn isthmus_ga_NGA_Sprs_array_create_from_sparse(handle: c_int) -> c_int {
        created(|| convert::to_dense(&*find_sparse(handle)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_get_diag(handle: c_int, to: *mut c_int) {
        if to.is_null() {
            return Err(Error::argument("g_d is null"));
        }
        to.write(created(|| diagonal::line(&*find_sparse(handle)?, Line::Diagonal))?)
    }
    fn isthmus_ga_NGA_Sprs_array_scale(handle: c_int, factor: *const c_void) {
        diagonal::change(&*find_sparse(handle)?, Change::Scale(factor.cast()))?
    }
    fn isthmus_ga_NGA_Sprs_array_shift_diag(handle: c_int, shift: *const c_void) {
        diagonal::change(&*find_sparse(handle)?, Change::Shift(shift.cast()))?
    }
    fn isthmus_ga_NGA_Sprs_array_diag_left_multiply(handle: c_int, vector: c_int) {
        diagonal::change(&*find_sparse(handle)?, Change::Rows(&*find(vector)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_diag_right_multiply(handle: c_int, vector: c_int) {
        diagonal::change(&*find_sparse(handle)?, Change::Columns(&*find(vector)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_matvec_multiply(handle: c_int, from: c_int, to: c_int) {
        multiply::by_vector(&*find_sparse(handle)?, &*find(from)?, &*find(to)?)?
    }
    fn isthmus_ga_NGA_Sprs_array_matmat_multiply(a: c_int, b: c_int) -> c_int {
        created_sparse(|| multiply::by_sparse(&*find_sparse(a)?, &*find_sparse(b)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_sprsdns_multiply(a: c_int, b: c_int) -> c_int {
        created(|| multiply::by_dense(&*find_sparse(a)?, &*find(b)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_dnssprs_multiply(a: c_int, b: c_int) -> c_int {
        created(|| multiply::dense_by(&*find(a)?, &*find_sparse(b)?))?
    }
    fn isthmus_ga_NGA_Sprs_array_count_sketch(
        handle: c_int, height: c_int, labels: *mut c_int, weights: *mut c_int,
    ) -> c_int {
        if labels.is_null() || weights.is_null() {
            return Err(Error::argument("g_k or g_w is null"));
        }
        let reserved = [Reserved::new()?, Reserved::new()?, Reserved::new()?];
        let sketch = sketch::count_sketch(&*find_sparse(handle)?, height.into())?;
        let [of_labels, of_weights, of_sums] = reserved;
        labels.write(of_labels.array(sketch.labels));
        weights.write(of_weights.array(sketch.weights));
        of_sums.array(sketch.sums)
    }
}
