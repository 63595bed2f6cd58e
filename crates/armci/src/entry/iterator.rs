//! Walking over the rows of a strided section (`iterator.h` of ComEx).

use std::ffi::c_void;

use crate::section::MOST_LEVELS;

/// `stride_info_t`.
#[repr(C)]
struct StrideInfo {
    base: *mut c_void,
    levels: i32,
    strides: [i32; MOST_LEVELS],
    count: [i32; MOST_LEVELS + 1],
    size: i32,
    at: i32,
    index: [i32; MOST_LEVELS],
}

impl StrideInfo {
    /// # Safety
    /// As many strides as there are levels, and one count more.
    unsafe fn of(base: *mut c_void, levels: i32, strides: *const i32, count: *const i32) -> Self {
        let known = (levels.max(0) as usize).min(MOST_LEVELS);
        let mut new = Self {
            base,
            levels: known as i32,
            strides: [0; MOST_LEVELS],
            count: [0; MOST_LEVELS + 1],
            size: 1,
            at: 0,
            index: [0; MOST_LEVELS],
        };
        // SAFETY: the caller's promise.
        unsafe {
            new.count[0] = count.read();
            for level in 0..known {
                new.strides[level] = strides.add(level).read();
                new.count[level + 1] = count.add(level + 1).read();
                new.size = new.size.saturating_mul(new.count[level + 1]);
            }
        }
        new
    }

    fn advance(&mut self) {
        if self.at >= self.size {
            return;
        }
        self.at += 1;
        for level in 0..self.levels as usize {
            self.index[level] += 1;
            if self.index[level] < self.count[level + 1] {
                return;
            }
            self.index[level] = 0;
        }
    }

    /// Where the row is, for each in their order.
    fn for_each(mut self, mut row: impl FnMut(*mut u8, usize)) {
        let length = self.count[0].max(0) as usize;
        while self.at < self.size {
            row(self.base.wrapping_byte_offset(self.offset()).cast(), length);
            self.advance();
        }
    }

    fn offset(&self) -> isize {
        let levels = (self.levels.max(0) as usize).min(MOST_LEVELS);
        (0..levels)
            .map(|level| self.index[level] as isize * self.strides[level] as isize)
            .sum()
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_stride_info_init(
    rows: *mut StrideInfo,
    base: *mut c_void,
    levels: i32,
    strides: *const i32,
    count: *const i32,
) {
    // SAFETY: the caller's promise.
    unsafe { rows.write(StrideInfo::of(base, levels, strides, count)) };
}

/// Rows of a section into a buffer, one behind the other.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_write_strided(
    base: *mut c_void,
    levels: i32,
    strides: *const i32,
    count: *const i32,
    mut buffer: *mut u8,
) {
    // SAFETY: the caller's promise: the section, and a buffer for all of its bytes.
    unsafe {
        StrideInfo::of(base, levels, strides, count).for_each(|row, length| {
            std::ptr::copy(row, buffer, length);
            buffer = buffer.add(length);
        });
    }
}

/// The other way round.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_read_strided(
    base: *mut c_void,
    levels: i32,
    strides: *const i32,
    count: *const i32,
    mut buffer: *const u8,
) {
    // SAFETY: as above.
    unsafe {
        StrideInfo::of(base, levels, strides, count).for_each(|row, length| {
            std::ptr::copy(buffer, row, length);
            buffer = buffer.add(length);
        });
    }
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_stride_info_destroy(_rows: *mut StrideInfo) {}

macro_rules! facts {
    ($($entry:ident $rows:ident $fact:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(rows: *const StrideInfo) -> i32 {
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
unsafe extern "C" fn isthmus_armci_armci_stride_info_next(rows: *mut StrideInfo) {
    // SAFETY: the caller's promise.
    unsafe { (*rows).advance() };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_armci_stride_info_seg_ptr(rows: *const StrideInfo) -> *mut c_void {
    // SAFETY: the caller's promise.
    let rows = unsafe { &*rows };
    rows.base.wrapping_byte_offset(rows.offset())
}
