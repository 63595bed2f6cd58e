//! Packing with vectors of 32 bytes (AVX2).

use std::arch::x86_64::{
    __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_loadu_si256,
    _mm256_permute4x64_epi64, _mm256_set_m128i, _mm256_shuffle_pd, _mm256_storeu_si256,
};

use crate::layout::Loop;

/// Does the processor have them?
#[inline]
pub(super) fn there_are() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// `count` blocks of 8 bytes, 16 bytes apart, as often as `outer` says; the stream's end.
///
/// # Safety
/// Both sides must be good for all blocks, and must not overlap; the processor has AVX2, and `count` is at least four. What
/// lies between the blocks is read too.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn pack_every_second(memory: *const u8, stream: *mut u8, count: i64, outer: Loop) -> *mut u8 {
    let last = count as usize - 4;
    let (mut row, mut stream) = (memory, stream);
    for _ in 0..outer.count {
        let mut done = 0;
        // SAFETY: every four blocks lie among those that the caller promised.
        unsafe {
            while done < last {
                pack_four(row.add(16 * done), stream.add(8 * done));
                done += 4;
            }
            // Some of them once more, if they are no multiple of four.
            pack_four(row.add(16 * last), stream.add(8 * last));
            stream = stream.add(8 * count as usize);
        }
        row = row.wrapping_offset(outer.stride as isize);
    }
    stream
}

/// Four blocks of 8 bytes, 16 bytes apart.
///
/// # Safety
/// As for [`pack_every_second`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pack_four(from: *const u8, to: *mut u8) {
    // SAFETY: the first vector begins with the first block, the second ends with the last.
    unsafe {
        let first = _mm256_castsi256_pd(_mm256_loadu_si256(from.cast()));
        let second = _mm256_castsi256_pd(_mm256_loadu_si256(from.add(24).cast()));
        let crossed = _mm256_castpd_si256(_mm256_shuffle_pd::<0b1010>(first, second));
        _mm256_storeu_si256(to.cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(crossed));
    }
}

/// Blocks of 16 bytes of two loops; the stream's end.
///
/// # Safety
/// Both sides must be good for all blocks, and must not overlap; the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn pack_pairs(memory: *const u8, stream: *mut u8, inner: Loop, outer: Loop) -> *mut u8 {
    let stride = inner.stride as isize;
    let (mut row, mut stream) = (memory, stream);
    for _ in 0..outer.count {
        let mut place = row.cast::<__m128i>();
        // SAFETY: the caller's promise.
        unsafe {
            for _ in 0..inner.count / 2 {
                let first = _mm_loadu_si128(place);
                let second = _mm_loadu_si128(place.wrapping_byte_offset(stride));
                _mm256_storeu_si256(stream.cast(), _mm256_set_m128i(second, first));
                place = place.wrapping_byte_offset(2 * stride);
                stream = stream.add(32);
            }
            if inner.count % 2 > 0 {
                _mm_storeu_si128(stream.cast(), _mm_loadu_si128(place));
                stream = stream.add(16);
            }
        }
        row = row.wrapping_offset(outer.stride as isize);
    }
    stream
}
