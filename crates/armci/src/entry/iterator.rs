//! Walking over the rows of a strided section (`iterator.h` of ComEx).

use std::ffi::c_void;

use crate::section::MOST_LEVELS;

/// `stride_info_t`.
#[repr(C)]
struct Rows {
    base: *mut c_void,
    levels: i32,
    strides: [i32; MOST_LEVELS],
    count: [i32; MOST_LEVELS + 1],
    size: i32,
    at: i32,
    index: [i32; MOST_LEVELS],
}

impl Rows {
    fn offset(&self) -> isize {
        let levels = (self.levels.max(0) as usize).min(MOST_LEVELS);
        (0..levels)
            .map(|level| self.index[level] as isize * self.strides[level] as isize)
            .sum()
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_stride_info_init(
    rows: *mut Rows,
    base: *mut c_void,
    levels: i32,
    strides: *const i32,
    count: *const i32,
) {
    let known = (levels.max(0) as usize).min(MOST_LEVELS);
    let mut new = Rows {
        base,
        levels: known as i32,
        strides: [0; MOST_LEVELS],
        count: [0; MOST_LEVELS + 1],
        size: 1,
        at: 0,
        index: [0; MOST_LEVELS],
    };
    // SAFETY: the caller's promise: as many elements as there are levels, and one count more.
    unsafe {
        new.count[0] = count.read();
        for level in 0..known {
            new.strides[level] = strides.add(level).read();
            new.count[level + 1] = count.add(level + 1).read();
            new.size = new.size.saturating_mul(new.count[level + 1]);
        }
        rows.write(new);
    }
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_stride_info_destroy(_rows: *mut Rows) {}

macro_rules! facts {
    ($($entry:ident $rows:ident $fact:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(rows: *const Rows) -> i32 {
            // SAFETY: the caller's promise.
            let $rows = unsafe { &*rows };
            $fact
        }
    )*};
}
facts! {
    isthmus_armci_armci_stride_info_size rows rows.size;
    isthmus_armci_armci_stride_info_count rows rows.size;
    isthmus_armci_armci_stride_info_pos rows rows.at;
    isthmus_armci_armci_stride_info_seg_size rows rows.count[0];
    isthmus_armci_armci_stride_info_seg_off rows rows.offset() as i32;
    isthmus_armci_armci_stride_info_has_more rows (rows.at < rows.size).into();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_stride_info_next(rows: *mut Rows) {
    // SAFETY: the caller's promise.
    let rows = unsafe { &mut *rows };
    if rows.at >= rows.size {
        return;
    }
    rows.at += 1;
    for level in 0..rows.levels as usize {
        rows.index[level] += 1;
        if rows.index[level] < rows.count[level + 1] {
            return;
        }
        rows.index[level] = 0;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_stride_info_seg_ptr(rows: *const Rows) -> *mut c_void {
    // SAFETY: the caller's promise.
    let rows = unsafe { &*rows };
    rows.base.wrapping_byte_offset(rows.offset())
}
