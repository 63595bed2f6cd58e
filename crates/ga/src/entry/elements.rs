//! Operations on whole arrays and patches.

use std::ffi::{c_char, c_double, c_float, c_int, c_long, c_longlong, c_void};
use std::sync::Arc;

use super::{Number, entries, find, indexed, is_transposed, patch, tell, text};
use crate::array::Array;
use crate::element::{Complex, Element};
use crate::elementwise::{self, Binary, Unary, binary, unary};
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::matrix::{self, ByVector, Diagonal};
use crate::merge;
use crate::patch::Patch;
use crate::reduce::{self, Norm};
use crate::scan::{self, Scan};

const INT: [ElementKind; 1] = [ElementKind::Int];
const LONG: [ElementKind; 2] = [ElementKind::Long, ElementKind::LongLong];
const FLOAT: [ElementKind; 1] = [ElementKind::Float];
const DOUBLE: [ElementKind; 1] = [ElementKind::Double];
const COMPLEX: [ElementKind; 1] = [ElementKind::Complex];
const DOUBLE_COMPLEX: [ElementKind; 1] = [ElementKind::DoubleComplex];

fn whole_dot<T: Element>(kinds: &[ElementKind], a: c_int, b: c_int) -> Result<T> {
    let (a, b) = (find(a)?, find(b)?);
    let scalar = reduce::dot(kinds, (&a, &a.whole()), false, (&b, &b.whole()), false)?;
    Ok(reduce::real(&scalar))
}

/// An array of a call, its patch, and whether it is transposed.
type Operand<I> = (c_int, c_char, *const I, *const I);

/// # Safety
/// As the header says.
unsafe fn patch_dot<T: Element, I: Number>(kinds: &[ElementKind], a: Operand<I>, b: Operand<I>) -> Result<T> {
    let (x, y) = (find(a.0)?, find(b.0)?);
    // SAFETY: the caller's promise.
    let (p, q) = unsafe { (patch(&x, a.2, a.3)?, patch(&y, b.2, b.3)?) };
    let scalar = reduce::dot(kinds, (&x, &p), is_transposed(a.1)?, (&y, &q), is_transposed(b.1)?)?;
    Ok(reduce::real(&scalar))
}

/// # Safety
/// A scalar must be good for one element.
unsafe fn on_whole(handle: c_int, operation: Unary) -> Result<()> {
    let array = find(handle)?;
    // SAFETY: the caller's promise.
    unsafe { unary(&array, &array.whole(), operation) }
}

/// # Safety
/// As the header says.
unsafe fn on_patch<I: Number>(handle: c_int, lo: *const I, hi: *const I, operation: Unary) -> Result<()> {
    let array = find(handle)?;
    // SAFETY: the caller's promise.
    unsafe { unary(&array, &patch(&array, lo, hi)?, operation) }
}

/// # Safety
/// Scalars must be good for one element.
unsafe fn of_two(a: c_int, b: c_int, c: c_int, operation: Binary) -> Result<()> {
    let (a, b, c) = (find(a)?, find(b)?, find(c)?);
    // SAFETY: the caller's promise.
    unsafe { binary((&c, &c.whole()), (&a, &a.whole()), (&b, &b.whole()), operation) }
}

/// An array of a call, and its patch.
type Corner<I> = (c_int, *const I, *const I);

/// # Safety
/// The corners must be good.
unsafe fn part<I: Number>(corner: Corner<I>) -> Result<(Arc<Array>, Patch)> {
    let array = find(corner.0)?;
    // SAFETY: the caller's promise.
    let patch = unsafe { patch(&array, corner.1, corner.2) }?;
    Ok((array, patch))
}

/// # Safety
/// As the header says.
unsafe fn of_two_patches<I: Number>(a: Corner<I>, b: Corner<I>, c: Corner<I>, operation: Binary) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let ((a, p), (b, q), (c, r)) = (part(a)?, part(b)?, part(c)?);
        binary((&c, &r), (&a, &p), (&b, &q), operation)
    }
}

indexed! {
    fn isthmus_ga_NGA_Fill_patch, isthmus_ga_NGA_Fill_patch64(
        handle: c_int, lo: *const Index, hi: *const Index, value: *const c_void,
    ) { on_patch(handle, lo, hi, Unary::Fill(value.cast()))? }
    fn isthmus_ga_NGA_Scale_patch, isthmus_ga_NGA_Scale_patch64(
        handle: c_int, lo: *const Index, hi: *const Index, alpha: *const c_void,
    ) { on_patch(handle, lo, hi, Unary::Scale(alpha.cast()))? }
    fn isthmus_ga_GA_Add_constant_patch, isthmus_ga_GA_Add_constant_patch64(
        handle: c_int, lo: *const Index, hi: *const Index, alpha: *const c_void,
    ) { on_patch(handle, lo, hi, Unary::AddConstant(alpha.cast()))? }
    fn isthmus_ga_GA_Abs_value_patch, isthmus_ga_GA_Abs_value_patch64(handle: c_int, lo: *const Index, hi: *const Index) {
        on_patch(handle, lo, hi, Unary::Abs)?
    }
    fn isthmus_ga_GA_Recip_patch, isthmus_ga_GA_Recip_patch64(handle: c_int, lo: *const Index, hi: *const Index) {
        on_patch(handle, lo, hi, Unary::Reciprocal)?
    }
    fn isthmus_ga_NGA_Zero_patch, isthmus_ga_NGA_Zero_patch64(handle: c_int, lo: *const Index, hi: *const Index) {
        let (array, patch) = part((handle, lo, hi))?;
        elementwise::zero(&array, &patch)?
    }
    fn isthmus_ga_NGA_Add_patch, isthmus_ga_NGA_Add_patch64(
        alpha: *const c_void, a: c_int, alo: *const Index, ahi: *const Index, beta: *const c_void, b: c_int,
        blo: *const Index, bhi: *const Index, c: c_int, clo: *const Index, chi: *const Index,
    ) { of_two_patches((a, alo, ahi), (b, blo, bhi), (c, clo, chi), Binary::Add(alpha.cast(), beta.cast()))? }
    fn isthmus_ga_GA_Elem_multiply_patch, isthmus_ga_GA_Elem_multiply_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, c: c_int,
        clo: *const Index, chi: *const Index,
    ) { of_two_patches((a, alo, ahi), (b, blo, bhi), (c, clo, chi), Binary::Multiply)? }
    fn isthmus_ga_GA_Elem_divide_patch, isthmus_ga_GA_Elem_divide_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, c: c_int,
        clo: *const Index, chi: *const Index,
    ) { of_two_patches((a, alo, ahi), (b, blo, bhi), (c, clo, chi), Binary::Divide)? }
    fn isthmus_ga_GA_Elem_maximum_patch, isthmus_ga_GA_Elem_maximum_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, c: c_int,
        clo: *const Index, chi: *const Index,
    ) { of_two_patches((a, alo, ahi), (b, blo, bhi), (c, clo, chi), Binary::Maximum)? }
    fn isthmus_ga_GA_Elem_minimum_patch, isthmus_ga_GA_Elem_minimum_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, c: c_int,
        clo: *const Index, chi: *const Index,
    ) { of_two_patches((a, alo, ahi), (b, blo, bhi), (c, clo, chi), Binary::Minimum)? }
    fn isthmus_ga_GA_Median_patch, isthmus_ga_GA_Median_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, c: c_int,
        clo: *const Index, chi: *const Index, m: c_int, mlo: *const Index, mhi: *const Index,
    ) {
        let ((a, p), (b, q)) = (part((a, alo, ahi))?, part((b, blo, bhi))?);
        let ((c, r), (m, s)) = (part((c, clo, chi))?, part((m, mlo, mhi))?);
        elementwise::median((&m, &s), [(&a, &p), (&b, &q), (&c, &r)])?
    }
    fn isthmus_ga_GA_Step_max_patch, isthmus_ga_GA_Step_max_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, to: *mut c_void,
    ) {
        let ((a, p), (b, q)) = (part((a, alo, ahi))?, part((b, blo, bhi))?);
        step(&a, &p, &b, &q, to)?
    }
    fn isthmus_ga_GA_Step_bound_info_patch, isthmus_ga_GA_Step_bound_info_patch64(
        point: c_int, plo: *const Index, phi: *const Index, direction: c_int, dlo: *const Index, dhi: *const Index,
        lower: c_int, llo: *const Index, lhi: *const Index, upper: Index, ulo: *const Index, uhi: *const Index,
        least: *mut c_void, least_of_moving: *mut c_void, most: *mut c_void,
    ) {
        let upper = upper.wide() as c_int;
        let parts = [
            part((point, plo, phi))?, part((direction, dlo, dhi))?, part((lower, llo, lhi))?, part((upper, ulo, uhi))?,
        ];
        step_bounds(parts, [least, least_of_moving, most])?
    }
    fn isthmus_ga_NGA_Copy_patch, isthmus_ga_NGA_Copy_patch64(
        letter: c_char, a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index,
    ) {
        let ((a, p), (b, q)) = (part((a, alo, ahi))?, part((b, blo, bhi))?);
        matrix::copy((&a, &p), (&b, &q), is_transposed(letter)?)?
    }
    fn isthmus_ga_NGA_Merge_distr_patch, isthmus_ga_NGA_Merge_distr_patch64(
        a: c_int, alo: *const Index, ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index,
    ) {
        let ((a, p), (b, q)) = (part((a, alo, ahi))?, part((b, blo, bhi))?);
        a.check(&p)?;
        b.check(&q)?;
        if b.plan.is_mirrored {
            return Err(Error::argument(format!("array '{}' is mirrored, not distributed", b.name)));
        }
        if p.extents() != q.extents() {
            return Err(Error::argument(format!(
                "patches of {:?} and {:?} elements differ",
                p.extents(),
                q.extents()
            )));
        }
        match a.plan.is_on_nodes()? {
            true => merge::into_distributed((&a, &p), (&b, &q))?,
            // One copy is the sum of all.
            false => matrix::copy((&a, &p), (&b, &q), false)?,
        }
    }
    fn isthmus_ga_NGA_Idot_patch, isthmus_ga_NGA_Idot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> c_int { patch_dot::<i32, Index>(&INT, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Ldot_patch, isthmus_ga_NGA_Ldot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> c_long { patch_dot::<i64, Index>(&LONG, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Lldot_patch, isthmus_ga_NGA_Lldot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> c_longlong { patch_dot::<i64, Index>(&LONG, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Fdot_patch, isthmus_ga_NGA_Fdot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> c_float { patch_dot::<f32, Index>(&FLOAT, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Ddot_patch, isthmus_ga_NGA_Ddot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> c_double { patch_dot::<f64, Index>(&DOUBLE, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Cdot_patch, isthmus_ga_NGA_Cdot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> Complex<f32> { patch_dot::<Complex<f32>, Index>(&COMPLEX, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Zdot_patch, isthmus_ga_NGA_Zdot_patch64(
        a: c_int, ta: c_char, alo: *const Index, ahi: *const Index, b: c_int, tb: c_char, blo: *const Index,
        bhi: *const Index,
    ) -> Complex<f64> { patch_dot::<Complex<f64>, Index>(&DOUBLE_COMPLEX, (a, ta, alo, ahi), (b, tb, blo, bhi))? }
    fn isthmus_ga_NGA_Select_elem, isthmus_ga_NGA_Select_elem64(
        handle: c_int, operator: *const c_char, value: *mut c_void, index: *mut Index,
    ) {
        let array = find(handle)?;
        let (scalar, at) = reduce::select(&array, &text(operator))?;
        if value.is_null() {
            return Err(Error::argument("val is null"));
        }
        value.cast::<u8>().copy_from_nonoverlapping(scalar.as_ptr(), array.kind.bytes());
        tell(index, at)
    }
    fn isthmus_ga_GA_Scan_copy, isthmus_ga_GA_Scan_copy64(from: c_int, to: c_int, mask: c_int, lo: Index, hi: Index) {
        scan::scan(&*find(from)?, &*find(to)?, &*find(mask)?, lo.wide(), hi.wide(), Scan::Copy)?
    }
    fn isthmus_ga_GA_Scan_add, isthmus_ga_GA_Scan_add64(
        from: c_int, to: c_int, mask: c_int, lo: Index, hi: Index, exclusive: c_int,
    ) {
        let kind = if exclusive != 0 { Scan::AddExclusive } else { Scan::Add };
        scan::scan(&*find(from)?, &*find(to)?, &*find(mask)?, lo.wide(), hi.wide(), kind)?
    }
    fn isthmus_ga_GA_Pack, isthmus_ga_GA_Pack64(
        from: c_int, to: c_int, mask: c_int, lo: Index, hi: Index, count: *mut Index,
    ) { tell(count, [scan::pack(&*find(from)?, &*find(to)?, &*find(mask)?, lo.wide(), hi.wide(), false)?]) }
    fn isthmus_ga_GA_Unpack, isthmus_ga_GA_Unpack64(
        from: c_int, to: c_int, mask: c_int, lo: Index, hi: Index, count: *mut Index,
    ) { tell(count, [scan::pack(&*find(from)?, &*find(to)?, &*find(mask)?, lo.wide(), hi.wide(), true)?]) }
    fn isthmus_ga_GA_Patch_enum, isthmus_ga_GA_Patch_enum64(
        handle: c_int, lo: Index, hi: Index, start: *const c_void, step: *const c_void,
    ) { scan::enumerate(&*find(handle)?, lo.wide(), hi.wide(), start.cast(), step.cast())? }
}

entries! {
    fn isthmus_ga_GA_Fill(handle: c_int, value: *const c_void) { on_whole(handle, Unary::Fill(value.cast()))? }
    fn isthmus_ga_GA_Scale(handle: c_int, value: *const c_void) { on_whole(handle, Unary::Scale(value.cast()))? }
    fn isthmus_ga_GA_Add_constant(handle: c_int, value: *const c_void) {
        on_whole(handle, Unary::AddConstant(value.cast()))?
    }
    fn isthmus_ga_GA_Abs_value(handle: c_int) { on_whole(handle, Unary::Abs)? }
    fn isthmus_ga_GA_Recip(handle: c_int) { on_whole(handle, Unary::Reciprocal)? }
    fn isthmus_ga_GA_Zero(handle: c_int) {
        let array = find(handle)?;
        elementwise::zero(&array, &array.whole())?
    }
    fn isthmus_ga_GA_Randomize(handle: c_int, value: *const c_void) {
        elementwise::randomize(&*find(handle)?, value.cast())?
    }
    fn isthmus_ga_GA_Rand(seed: c_int) -> c_double {
        if seed != 0 {
            elementwise::seed(seed);
        }
        elementwise::random()
    }
    fn isthmus_ga_GA_Add(alpha: *const c_void, a: c_int, beta: *const c_void, b: c_int, c: c_int) {
        of_two(a, b, c, Binary::Add(alpha.cast(), beta.cast()))?
    }
    fn isthmus_ga_GA_Elem_multiply(a: c_int, b: c_int, c: c_int) { of_two(a, b, c, Binary::Multiply)? }
    fn isthmus_ga_GA_Elem_divide(a: c_int, b: c_int, c: c_int) { of_two(a, b, c, Binary::Divide)? }
    fn isthmus_ga_GA_Elem_maximum(a: c_int, b: c_int, c: c_int) { of_two(a, b, c, Binary::Maximum)? }
    fn isthmus_ga_GA_Elem_minimum(a: c_int, b: c_int, c: c_int) { of_two(a, b, c, Binary::Minimum)? }
    fn isthmus_ga_GA_Median(a: c_int, b: c_int, c: c_int, m: c_int) {
        let (a, b, c, m) = (find(a)?, find(b)?, find(c)?, find(m)?);
        elementwise::median((&m, &m.whole()), [(&a, &a.whole()), (&b, &b.whole()), (&c, &c.whole())])?
    }
    fn isthmus_ga_GA_Step_max(a: c_int, b: c_int, to: *mut c_void) {
        let (a, b) = (find(a)?, find(b)?);
        step(&a, &a.whole(), &b, &b.whole(), to)?
    }
    fn isthmus_ga_GA_Step_bound_info(
        point: c_int, direction: c_int, lower: c_int, upper: c_int, least: *mut c_void, least_of_moving: *mut c_void,
        most: *mut c_void,
    ) {
        let whole = |handle| find(handle).map(|array| { let patch = array.whole(); (array, patch) });
        let parts = [whole(point)?, whole(direction)?, whole(lower)?, whole(upper)?];
        step_bounds(parts, [least, least_of_moving, most])?
    }
    fn isthmus_ga_GA_Copy(a: c_int, b: c_int) {
        let (a, b) = (find(a)?, find(b)?);
        if a.dims != b.dims {
            return Err(Error::argument(format!("arrays '{}' and '{}' have different dimensions", a.name, b.name)));
        }
        matrix::copy((&a, &a.whole()), (&b, &b.whole()), false)?
    }
    fn isthmus_ga_GA_Transpose(a: c_int, b: c_int) {
        let (a, b) = (find(a)?, find(b)?);
        if !a.dims.iter().eq(b.dims.iter().rev()) {
            return Err(Error::argument(format!("array '{}' has not the dimensions of '{}' transposed", b.name, a.name)));
        }
        matrix::copy((&a, &a.whole()), (&b, &b.whole()), true)?
    }
    fn isthmus_ga_GA_Symmetrize(handle: c_int) { matrix::symmetrize(&*find(handle)?)? }
    fn isthmus_ga_GA_Shift_diagonal(handle: c_int, value: *const c_void) {
        matrix::diagonal(&*find(handle)?, Diagonal::Shift(value.cast()))?
    }
    fn isthmus_ga_GA_Zero_diagonal(handle: c_int) { matrix::diagonal(&*find(handle)?, Diagonal::Zero)? }
    fn isthmus_ga_GA_Set_diagonal(a: c_int, v: c_int) {
        matrix::by_vector(&*find(a)?, &*find(v)?, ByVector::SetDiagonal)?
    }
    fn isthmus_ga_GA_Add_diagonal(a: c_int, v: c_int) {
        matrix::by_vector(&*find(a)?, &*find(v)?, ByVector::AddDiagonal)?
    }
    fn isthmus_ga_GA_Get_diag(a: c_int, v: c_int) {
        matrix::by_vector(&*find(a)?, &*find(v)?, ByVector::GetDiagonal)?
    }
    fn isthmus_ga_GA_Scale_rows(a: c_int, v: c_int) { matrix::by_vector(&*find(a)?, &*find(v)?, ByVector::ScaleRows)? }
    fn isthmus_ga_GA_Scale_cols(a: c_int, v: c_int) {
        matrix::by_vector(&*find(a)?, &*find(v)?, ByVector::ScaleColumns)?
    }
    fn isthmus_ga_GA_Norm1(handle: c_int, to: *mut c_double) { norm(handle, Norm::One, to)? }
    fn isthmus_ga_GA_Norm_infinity(handle: c_int, to: *mut c_double) { norm(handle, Norm::Infinity, to)? }
    fn isthmus_ga_GA_Idot(a: c_int, b: c_int) -> c_int { whole_dot::<i32>(&INT, a, b)? }
    fn isthmus_ga_GA_Ldot(a: c_int, b: c_int) -> c_long { whole_dot::<i64>(&LONG, a, b)? }
    fn isthmus_ga_GA_Lldot(a: c_int, b: c_int) -> c_longlong { whole_dot::<i64>(&LONG, a, b)? }
    fn isthmus_ga_GA_Fdot(a: c_int, b: c_int) -> c_float { whole_dot::<f32>(&FLOAT, a, b)? }
    fn isthmus_ga_GA_Ddot(a: c_int, b: c_int) -> c_double { whole_dot::<f64>(&DOUBLE, a, b)? }
    fn isthmus_ga_GA_Cdot(a: c_int, b: c_int) -> Complex<f32> { whole_dot::<Complex<f32>>(&COMPLEX, a, b)? }
    fn isthmus_ga_GA_Zdot(a: c_int, b: c_int) -> Complex<f64> { whole_dot::<Complex<f64>>(&DOUBLE_COMPLEX, a, b)? }
}

/// # Safety
/// `to` must be good for a number, or null.
unsafe fn norm(handle: c_int, which: Norm, to: *mut c_double) -> Result<()> {
    let value = reduce::norm(&*find(handle)?, which)?;
    if to.is_null() {
        return Err(Error::argument("nm is null"));
    }
    // SAFETY: the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// # Safety
/// `to` must be good for an element of the array's type, or null.
unsafe fn step(a: &Array, p: &Patch, b: &Array, q: &Patch, to: *mut c_void) -> Result<()> {
    let group = a.group()?;
    let mut least = [crate::life::collectively(&group, || {
        elementwise::step_max((a, p), (b, q))
    })?];
    isthmus_armci::reduction::all_reduce(
        &group.link()?,
        crate::local::as_bytes(&mut least),
        ElementKind::Double.of_reduction()?,
        isthmus_armci::reduction::Operator::Min,
    )?;
    // SAFETY: the caller's promise.
    unsafe { write_real(a.kind, least[0], to, "step") }
}

/// Write a number as an element.
///
/// # Safety
/// `to` must be good for one, or null.
unsafe fn write_real(kind: ElementKind, value: f64, to: *mut c_void, name: &str) -> Result<()> {
    if to.is_null() {
        return Err(Error::argument(format!("{name} is null")));
    }
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            ElementKind::Double => to.cast::<f64>().write(value),
            ElementKind::Float => to.cast::<f32>().write(value as f32),
            ElementKind::Int => to.cast::<i32>().write(value as i32),
            ElementKind::Long | ElementKind::LongLong => to.cast::<i64>().write(value as i64),
            _ => return Err(Error::argument("complex numbers have no order")),
        }
    }
    Ok(())
}

/// `GA_Step_bound_info`: the point, the direction, the lower and the upper bounds; the least step, that of elements that move, the most.
///
/// # Safety
/// The pointers must be good for an element of the arrays' type, or null.
unsafe fn step_bounds(parts: [(Arc<Array>, Patch); 4], to: [*mut c_void; 3]) -> Result<()> {
    let [point, ..] = &parts;
    let group = point.0.group()?;
    let found = crate::life::collectively(&group, || {
        elementwise::step_bounds(std::array::from_fn(|n| (&*parts[n].0, &parts[n].1)))
    })?;
    let outside = if found.is_inside { 0.0 } else { -1.0 };
    let mut all = [found.least, found.least_of_moving, -found.most, outside];
    isthmus_armci::reduction::all_reduce(
        &group.link()?,
        crate::local::as_bytes(&mut all),
        ElementKind::Double.of_reduction()?,
        isthmus_armci::reduction::Operator::Min,
    )?;
    if all[3] < 0.0 {
        return Err(Error::argument(format!(
            "array '{}' has elements below the lower or above the upper bounds",
            point.0.name
        )));
    }
    let names = ["boundmin", "wolfemin", "boundmax"];
    for ((value, to), name) in [all[0], all[1], -all[2]].into_iter().zip(to).zip(names) {
        // SAFETY: the caller's promise.
        unsafe { write_real(point.0.kind, value, to, name) }?;
    }
    Ok(())
}
