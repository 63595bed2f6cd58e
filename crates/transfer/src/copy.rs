//! Copying within one address space, for memory that another processor will read next or has written last.
//!
//! Which instructions do that best depends on the processor, and between some pairs of processors on the length, by
//! factors (docs/decisions/0009). So there are three ways; a receiver through a ring learns which pays.

/// Instructions that copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Copying {
    /// Loads and stores of vectors.
    Vector = 0,
    /// `rep movsb`, which some processors do without reading the lines that they overwrite. It wants a destination that
    /// begins on a line, and long pieces.
    RepMovsb = 1,
    /// Stores that pass the caches: the reader finds the bytes in memory, and not in somebody else's cache.
    Streaming = 2,
}

/// How many kinds there are.
pub const COPYINGS: usize = 3;

impl Copying {
    /// From its number, as a peer may name it; anything else is [`Self::Vector`].
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::RepMovsb,
            2 => Self::Streaming,
            _ => Self::Vector,
        }
    }

    /// What to begin with on this processor.
    #[inline]
    pub fn usual() -> Self {
        if rep_movsb() == RepMovsb::Fast {
            Self::RepMovsb
        } else {
            Self::Vector
        }
    }

    /// Can [`Self::RepMovsb`] be as fast as the others from here to there?
    #[inline]
    pub fn rep_movsb_suits(from: *const u8, to: *const u8) -> bool {
        match rep_movsb() {
            RepMovsb::Slow => false,
            RepMovsb::Fast => true,
            RepMovsb::FastApart => {
                let ahead = to.addr().wrapping_sub(from.addr()) % PAGE;
                ahead == 0 || ahead >= APART
            }
        }
    }

    /// Is it worth a try on this processor?
    pub fn is_sensible(self) -> bool {
        match self {
            Self::Vector => true,
            Self::RepMovsb => rep_movsb() == RepMovsb::Fast,
            Self::Streaming => has_vectors(),
        }
    }
}

/// From this length on it matters how. Shorter rows of sections go faster by the C library where both lie 4 KiB apart: 2 KiB each on
/// Zen 4 by a sixth, since it goes backwards there.
const LONG: usize = 4 << 10;
/// From here on `rep movsb` does not read the lines that it overwrites: 4 MiB on Zen 4 in 85 us instead of 91 to 98.
const VERY_LONG: usize = 256 << 10;

/// Copy `length` bytes in the usual way for what the caller has read or will read, and nobody else meanwhile.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`]; the bytes may be changing at the source (another process's doing): then
/// what is copied is any mixture, but nothing else goes wrong.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    if length < LONG {
        // SAFETY: the caller vouches for both ranges.
        unsafe { std::ptr::copy_nonoverlapping(from, to, length) }
    } else {
        let copying = match length {
            ..VERY_LONG => Copying::usual(),
            _ if is_beyond_caches(length) => Copying::Streaming,
            _ if Copying::rep_movsb_suits(from, to) => Copying::RepMovsb,
            _ => Copying::usual(),
        };
        // SAFETY: as above.
        unsafe { copy_by(copying, from, to, length) }
    }
}

/// Do source and destination of so many bytes not fit the last cache together? Then whoever reads the destination finds it in memory
/// anyway, and streaming stores spare reading what they overwrite: 16 MiB where the cache has 32, in 590 us instead of 740 to 990.
#[inline]
pub(crate) fn is_beyond_caches(length: usize) -> bool {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static FROM: AtomicUsize = AtomicUsize::new(0);
    let from = match FROM.load(Ordering::Relaxed) {
        0 => {
            let half = isthmus_os::cpu::last_cache().map_or(usize::MAX, |bytes| bytes / 2);
            FROM.store(half.max(VERY_LONG), Ordering::Relaxed);
            half.max(VERY_LONG)
        }
        known => known,
    };
    length >= from && Copying::Streaming.is_sensible()
}

/// Copy `length` bytes, that way as far as the processor knows it.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn copy_by(copying: Copying, from: *const u8, to: *mut u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    match copying {
        // SAFETY: the caller vouches for both ranges.
        Copying::RepMovsb => return unsafe { x86::string(from, to, length) },
        // SAFETY: as above, and the processor has vectors.
        Copying::Vector if has_vectors() => return unsafe { x86::vector(from, to, length) },
        // SAFETY: as above.
        Copying::Streaming if has_vectors() => return unsafe { x86::streaming(from, to, length) },
        _ => {}
    }
    let _ = copying;
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm256_loadu_si256, _mm256_store_si256, _mm256_storeu_si256,
        _mm256_stream_si256,
    };

    /// Bytes per round of the loops.
    const ROUND: usize = 128;
    const VECTOR: usize = size_of::<__m256i>();
    /// How far ahead of the loads lines are asked for.
    const AHEAD: usize = 1 << 10;

    /// # Safety
    /// As for [`super::copy`].
    #[inline]
    pub unsafe fn string(from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: the caller vouches for both ranges; the direction flag is clear by the calling convention.
        unsafe {
            std::arch::asm!("rep movsb", inout("rcx") length => _, inout("rsi") from => _, inout("rdi") to => _,
                options(nostack, preserves_flags));
        }
    }

    /// # Safety
    /// As for [`super::copy`]; the processor has AVX.
    #[target_feature(enable = "avx")]
    pub unsafe fn vector(from: *const u8, to: *mut u8, length: usize) {
        let mut done = 0;
        while length - done >= ROUND {
            // SAFETY: a whole round lies within both ranges.
            unsafe {
                let (from, to) = (from.add(done).cast::<__m256i>(), to.add(done).cast::<__m256i>());
                if length - done > AHEAD + ROUND {
                    // Not beyond the end: the line after a record is one that its writer is about to write.
                    _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().add(AHEAD));
                    _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().add(AHEAD + ROUND / 2));
                }
                // One by one: a closure need not be inlined, and then passes vectors through memory.
                let round = [
                    _mm256_loadu_si256(from),
                    _mm256_loadu_si256(from.add(1)),
                    _mm256_loadu_si256(from.add(2)),
                    _mm256_loadu_si256(from.add(3)),
                ];
                _mm256_storeu_si256(to, round[0]);
                _mm256_storeu_si256(to.add(1), round[1]);
                _mm256_storeu_si256(to.add(2), round[2]);
                _mm256_storeu_si256(to.add(3), round[3]);
            }
            done += ROUND;
        }
        // SAFETY: what is left of both ranges.
        unsafe { std::ptr::copy_nonoverlapping(from.add(done), to.add(done), length - done) };
    }

    /// # Safety
    /// As for [`super::copy`]; the processor has AVX.
    #[target_feature(enable = "avx")]
    pub unsafe fn streaming(from: *const u8, to: *mut u8, length: usize) {
        let mut done = to.align_offset(VECTOR).min(length);
        // SAFETY: the beginning of both ranges.
        unsafe { std::ptr::copy_nonoverlapping(from, to, done) };
        while length - done >= ROUND {
            // SAFETY: a whole round lies within both ranges, and `to + done` is aligned.
            unsafe {
                let (from, to) = (from.add(done).cast::<__m256i>(), to.add(done).cast::<__m256i>());
                // One by one: a closure need not be inlined, and then passes vectors through memory.
                let round = [
                    _mm256_loadu_si256(from),
                    _mm256_loadu_si256(from.add(1)),
                    _mm256_loadu_si256(from.add(2)),
                    _mm256_loadu_si256(from.add(3)),
                ];
                _mm256_stream_si256(to, round[0]);
                _mm256_stream_si256(to.add(1), round[1]);
                _mm256_stream_si256(to.add(2), round[2]);
                _mm256_stream_si256(to.add(3), round[3]);
            }
            done += ROUND;
        }
        while length - done >= VECTOR {
            // SAFETY: a vector lies within both ranges, and `to + done` is aligned. An ordinary store: less than a line
            // that passes the caches is slow.
            unsafe { _mm256_store_si256(to.add(done).cast(), _mm256_loadu_si256(from.add(done).cast())) };
            done += VECTOR;
        }
        // SAFETY: what is left of both ranges.
        unsafe { std::ptr::copy_nonoverlapping(from.add(done), to.add(done), length - done) };
        // Streaming stores are ordered with the flag that announces them only by this.
        _mm_sfence();
    }
}

/// Does the processor have vectors of 32 bytes?
#[inline]
fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What `rep movsb` is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum RepMovsb {
    /// Nothing.
    Slow = 1,
    /// Long copies, unless the destination is less than [`APART`] bytes ahead of the source modulo [`PAGE`].
    FastApart = 2,
    /// Everything.
    Fast = 3,
}

/// What addresses are compared in.
const PAGE: usize = 4096;
/// AMD before family 1Ah copies 3.5 GB/s where the destination is 1 to 15 bytes ahead of the source modulo 4096, 50 elsewhere
/// (measured on Zen 4, 32 and 128 KiB; glibc bug 30994). A line, to be safe.
const APART: usize = 64;

#[inline]
fn rep_movsb() -> RepMovsb {
    use std::sync::atomic::{AtomicU8, Ordering};
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        1 => RepMovsb::Slow,
        2 => RepMovsb::FastApart,
        3 => RepMovsb::Fast,
        _ => {
            let found = probe_rep_movsb();
            KNOWN.store(found as u8, Ordering::Relaxed);
            found
        }
    }
}

/// CPUID leaf 7, EBX bit 9 promises fast ones.
#[cfg(target_arch = "x86_64")]
fn probe_rep_movsb() -> RepMovsb {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let vendor = __cpuid(0);
    if vendor.eax < 7 || __cpuid_count(7, 0).ebx & (1 << 9) == 0 {
        return RepMovsb::Slow;
    }
    let signature = __cpuid(1).eax;
    let family = match signature >> 8 & 0xf {
        0xf => 0xf + (signature >> 20 & 0xff),
        family => family,
    };
    let is_amd = vendor.ebx == u32::from_le_bytes(*b"Auth");
    match is_amd && family < 0x1a {
        true => RepMovsb::FastApart,
        false => RepMovsb::Fast,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn probe_rep_movsb() -> RepMovsb {
    RepMovsb::Slow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_length_and_alignment() {
        let source: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8).collect();
        for copying in [Copying::Vector, Copying::RepMovsb, Copying::Streaming] {
            for length in [0, 1, 31, 63, 64, 127, 128, 200, 1023, 1024, 1025, 4096] {
                for (from, to) in [(0, 0), (1, 0), (0, 3), (5, 7), (0, 31)] {
                    let mut target = vec![0xee; length + 64];
                    // SAFETY: both ranges lie within the vectors.
                    unsafe { copy_by(copying, source.as_ptr().add(from), target.as_mut_ptr().add(to), length) };
                    assert_eq!(target[to..to + length], source[from..from + length], "{copying:?}");
                    let around = target[..to].iter().chain(&target[to + length..]);
                    assert!(around.into_iter().all(|&byte| byte == 0xee), "{copying:?} wrote beside");
                }
            }
        }
    }

    #[test]
    fn rep_movsb_suits_where_nothing_lies_close() {
        let from = std::ptr::without_provenance::<u8>(0x1_0040);
        let suit = |ahead: usize| Copying::rep_movsb_suits(from, from.wrapping_add(ahead));
        let always = rep_movsb() == RepMovsb::Fast;
        for (ahead, apart) in [
            (0, true),
            (1, false),
            (63, false),
            (64, true),
            (4095, true),
            (4096, true),
            (8193, false),
        ] {
            assert_eq!(
                suit(ahead),
                rep_movsb() != RepMovsb::Slow && (always || apart),
                "{ahead} bytes ahead"
            );
        }
    }

    #[test]
    fn numbers_name_ways() {
        for copying in [Copying::Vector, Copying::RepMovsb, Copying::Streaming] {
            assert_eq!(Copying::of(copying as u32), copying);
        }
        assert_eq!(Copying::of(77), Copying::Vector);
        assert!(Copying::usual().is_sensible());
    }
}
