//! Copies of sections whose rows are short: loops made for the length of a row. A margin of an array along its last dimension is rows of one
//! element, where everything but the load and the store is too much.

use crate::section::Section;

/// Rows shorter than this are copied here.
pub(crate) const SHORT: u64 = 512;

/// Copies a row from the one address to the other.
trait Row {
    /// # Safety
    /// Both must be good for the row, and may not overlap.
    unsafe fn copy(&self, from: *const u8, to: *mut u8);
}

/// Of `N` bytes.
struct Fixed<const N: usize>;
/// Of `N` to twice as many bytes: what it begins with and what it ends with.
struct Ends<const N: usize>(usize);
/// Of so many bytes.
struct Bytes(usize);

impl<const N: usize> Row for Fixed<N> {
    #[inline(always)]
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise; bytes have no alignment.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
    }
}

impl<const N: usize> Row for Ends<N> {
    #[inline(always)]
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        let last = self.0 - N;
        // SAFETY: as above; `last` is at most `N`.
        unsafe {
            let (begin, end) = (from.cast::<[u8; N]>().read(), from.add(last).cast::<[u8; N]>().read());
            to.cast::<[u8; N]>().write(begin);
            to.add(last).cast::<[u8; N]>().write(end);
        }
    }
}

impl Row for Bytes {
    #[inline(always)]
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, self.0) };
    }
}

#[inline(always)]
unsafe fn each(section: &Section, from: u64, to: u64, row: impl Row) {
    section.for_each_run(from, to, |mut source, mut target, count, [step_from, step_to]| {
        for _ in 0..count {
            // SAFETY: the caller of `copy_short` vouches for all rows.
            unsafe {
                row.copy(
                    std::ptr::with_exposed_provenance(source as usize),
                    std::ptr::with_exposed_provenance_mut(target as usize),
                );
            }
            source = source.wrapping_add_signed(step_from);
            target = target.wrapping_add_signed(step_to);
        }
    });
}

/// Copy the rows of a section, which are shorter than [`SHORT`].
///
/// # Safety
/// Both ends must be good, and may not overlap.
pub(crate) unsafe fn copy_short(section: &Section, from: u64, to: u64) {
    let bytes = section.row as usize;
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            4 => each(section, from, to, Fixed::<4>),
            8 => each(section, from, to, Fixed::<8>),
            16 => each(section, from, to, Fixed::<16>),
            17..=32 => each(section, from, to, Ends::<16>(bytes)),
            33..=64 => each(section, from, to, Ends::<32>(bytes)),
            65..=128 => each(section, from, to, Ends::<64>(bytes)),
            _ => each(section, from, to, Bytes(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length, in three levels with gaps: the rows, and nothing else.
    #[test]
    fn rows_of_every_length_come_over() {
        for row in 1..SHORT {
            let (a, b) = (row as i64 + 3, row as i64 + 1);
            come_over(row, [(3, a, b), (2, 4 * a, 5 * b), (2, 9 * a, 11 * b)]);
            // The outer two levels are one, and all three.
            come_over(row, [(3, a, b), (2, 4 * a, 5 * b), (2, 8 * a, 10 * b)]);
            come_over(row, [(3, a, b), (2, 3 * a, 3 * b), (2, 6 * a, 6 * b)]);
        }
    }

    fn come_over(row: u64, levels: [(u64, i64, i64); 3]) {
        let (a, b) = (row as i64 + 3, row as i64 + 1);
        let section = Section::of(row, levels);
        let source: Vec<u8> = (0..18 * a as usize + 600).map(|at| (at * 7 % 251) as u8 + 1).collect();
        let mut target = vec![0_u8; 22 * b as usize + 600];
        let mut wanted = target.clone();
        let [inner, middle, outer] = levels;
        for i in 0..outer.0 as i64 {
            for j in 0..middle.0 as i64 {
                for k in 0..inner.0 as i64 {
                    let from = (i * outer.1 + j * middle.1 + k * inner.1) as usize;
                    let to = (i * outer.2 + j * middle.2 + k * inner.2) as usize;
                    wanted[to..to + row as usize].copy_from_slice(&source[from..from + row as usize]);
                }
            }
        }
        // SAFETY: both are longer than the section.
        unsafe {
            copy_short(
                &section,
                source.as_ptr().expose_provenance() as u64,
                target.as_mut_ptr().expose_provenance() as u64,
            );
        }
        assert_eq!(target, wanted, "rows of {row}");
    }
}
