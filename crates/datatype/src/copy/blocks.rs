//! The innermost loops: blocks of one length between their places in memory and the stream.
//!
//! A loop is specialised by what moves one block, so that a block of up to 64 bytes is a few moves and no call: lengths
//! that are common by moves that just fit, others by two that overlap. Packing is compiled once more for processors with
//! vectors of 32 bytes, which double how fast the stream is written. Unpacking is not: each block is a line of its own
//! then, where such stores gain nothing, and lose half where lines evict one another (docs/numbers/).

use std::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
use super::vectors;
use crate::layout::Loop;

/// Which way the bytes go.
pub(super) trait Direction {
    /// Is the stream what is written?
    const PACKS: bool;
    /// Move a block.
    ///
    /// # Safety
    /// Both sides must be good for the block, and must not overlap.
    unsafe fn block<B: BlockCopy>(block: B, memory: *mut u8, stream: *mut u8);
}

/// From memory to the stream.
pub(super) struct Pack;
/// From the stream to memory.
pub(super) struct Unpack;

impl Direction for Pack {
    const PACKS: bool = true;
    #[inline(always)]
    unsafe fn block<B: BlockCopy>(block: B, memory: *mut u8, stream: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { block.copy(memory, stream) }
    }
}

impl Direction for Unpack {
    const PACKS: bool = false;
    #[inline(always)]
    unsafe fn block<B: BlockCopy>(block: B, memory: *mut u8, stream: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { block.copy(stream, memory) }
    }
}

/// How the bytes of one block are moved.
pub(super) trait BlockCopy: Copy {
    /// A block of so many bytes.
    fn of(length: usize) -> Self;
    /// Bytes.
    fn length(self) -> usize;
    /// Copy them.
    ///
    /// # Safety
    /// As for `copy_nonoverlapping`.
    unsafe fn copy(self, from: *const u8, to: *mut u8);
}

/// `N` bytes.
#[derive(Clone, Copy)]
struct Fixed<const N: usize>;

impl<const N: usize> BlockCopy for Fixed<N> {
    #[inline(always)]
    fn of(_: usize) -> Self {
        Self
    }
    #[inline(always)]
    fn length(self) -> usize {
        N
    }
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) }
    }
}

/// `N` bytes, a multiple of 4, in ascending order: stores that neighbours follow upwards leave the processor faster than
/// the compiler's own order, which begins with the end.
#[derive(Clone, Copy)]
struct Ascending<const N: usize>;

impl<const N: usize> BlockCopy for Ascending<N> {
    #[inline(always)]
    fn of(_: usize) -> Self {
        Self
    }
    #[inline(always)]
    fn length(self) -> usize {
        N
    }
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        const { assert!(N.is_multiple_of(4)) };
        let (eight, four) = (N / 16 * 16, N / 8 * 8);
        // SAFETY: all pieces lie within the block.
        unsafe {
            for at in (0..eight).step_by(16) {
                Fixed::<16>.copy(from.add(at), to.add(at));
            }
            if eight < four {
                Fixed::<8>.copy(from.add(eight), to.add(eight));
            }
            if four < N {
                Fixed::<4>.copy(from.add(four), to.add(four));
            }
        }
    }
}

/// `N` to `2 N` bytes: the first and the last `N`.
#[derive(Clone, Copy)]
struct Ends<const N: usize>(usize);

impl<const N: usize> BlockCopy for Ends<N> {
    #[inline(always)]
    fn of(length: usize) -> Self {
        Self(length)
    }
    #[inline(always)]
    fn length(self) -> usize {
        self.0
    }
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        let rest = self.0 - N;
        // SAFETY: both windows lie within the block.
        unsafe {
            let first = from.cast::<[u8; N]>().read();
            let last = from.add(rest).cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write(first);
            to.add(rest).cast::<[u8; N]>().write(last);
        }
    }
}

/// 64 to [`LONG`] bytes: vectors, of which the last two may overlap.
#[derive(Clone, Copy)]
struct Vectors(usize);

impl BlockCopy for Vectors {
    #[inline(always)]
    fn of(length: usize) -> Self {
        Self(length)
    }
    #[inline(always)]
    fn length(self) -> usize {
        self.0
    }
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        const N: usize = 32;
        let last = self.0 - N;
        let mut at = 0;
        // SAFETY: every window lies within the block.
        unsafe {
            while at < last {
                Fixed::<N>.copy(from.add(at), to.add(at));
                at += N;
            }
            Fixed::<N>.copy(from.add(last), to.add(last));
        }
    }
}

/// From here on a call does not show.
const LONG: usize = 512;

/// Any length.
#[derive(Clone, Copy)]
struct Bytes(usize);

impl BlockCopy for Bytes {
    #[inline(always)]
    fn of(length: usize) -> Self {
        Self(length)
    }
    #[inline(always)]
    fn length(self) -> usize {
        self.0
    }
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, self.0) }
    }
}

/// Blocks per round of a loop.
const ROUND: usize = 4;

/// The blocks of two loops; the stream's end.
///
/// # Safety
/// Both sides must be good for all blocks, and must not overlap.
#[inline(always)]
unsafe fn each_of_nest<D: Direction, B: BlockCopy>(
    memory: *mut u8,
    stream: *mut u8,
    length: usize,
    inner: Loop,
    outer: Loop,
) -> *mut u8 {
    let block = B::of(length);
    let (length, stride) = (block.length(), inner.stride as isize);
    let (whole, rest) = (
        inner.count as usize / ROUND * ROUND * length,
        inner.count as usize % ROUND * length,
    );
    let (mut row, mut stream) = (memory, stream);
    for _ in 0..outer.count {
        let mut place = row;
        // SAFETY: the caller's promise covers each block.
        unsafe {
            let end = stream.add(whole);
            while stream != end {
                D::block(block, place, stream);
                D::block(block, place.wrapping_offset(stride), stream.add(length));
                D::block(block, place.wrapping_offset(2 * stride), stream.add(2 * length));
                D::block(block, place.wrapping_offset(3 * stride), stream.add(3 * length));
                place = place.wrapping_offset(4 * stride);
                stream = kept_simple(stream.add(ROUND * length));
            }
            let end = stream.add(rest);
            while stream != end {
                D::block(block, place, stream);
                place = place.wrapping_offset(stride);
                stream = kept_simple(stream.add(length));
            }
        }
        row = row.wrapping_offset(outer.stride as isize);
    }
    stream
}

/// The same, which the compiler does not know: else it would unroll the loop further, which costs more to set up than it
/// saves in what is a few cycles altogether.
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing happens to the pointer")]
fn kept_simple(stream: *mut u8) -> *mut u8 {
    let mut stream = stream;
    // SAFETY: no instruction.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) stream, options(pure, nomem, nostack, preserves_flags)) };
    stream
}

/// The blocks at `offsets`; the stream's end.
///
/// # Safety
/// Both sides must be good for all blocks, and must not overlap.
#[inline(always)]
unsafe fn each_of_list<D: Direction, B: BlockCopy>(
    memory: *mut u8,
    stream: *mut u8,
    length: usize,
    offsets: &[i64],
) -> *mut u8 {
    let block = B::of(length);
    let mut stream = stream;
    for offset in offsets {
        // SAFETY: the caller's promise covers each block.
        unsafe {
            D::block(block, memory.wrapping_offset(*offset as isize), stream);
            stream = stream.add(block.length());
        }
    }
    stream
}

/// Move the blocks of `length` bytes of two loops; the stream's end.
///
/// # Safety
/// Both sides must be good for all blocks, and must not overlap.
#[inline(always)]
pub(super) unsafe fn nest<D: Direction>(
    memory: *mut u8,
    stream: *mut u8,
    length: usize,
    inner: Loop,
    outer: Loop,
) -> *mut u8 {
    #[cfg(target_arch = "x86_64")]
    if D::PACKS && vectors::there_are() {
        // SAFETY: the caller's promise, and the processor has what it takes.
        return unsafe {
            match length {
                8 if inner.stride == 16 && inner.count >= 4 => {
                    vectors::pack_every_second(memory, stream, inner.count, outer)
                }
                16 => vectors::pack_pairs(memory, stream, inner, outer),
                _ => by_length::<VectorNest<D>>(length)(memory, stream, length, inner, outer),
            }
        };
    }
    // SAFETY: the caller's promise.
    unsafe { by_length::<PlainNest<D>>(length)(memory, stream, length, inner, outer) }
}

/// Move blocks of `length` bytes at `offsets`; the stream's end.
///
/// # Safety
/// Both sides must be good for all blocks, and must not overlap.
#[inline(always)]
pub(super) unsafe fn listed<D: Direction>(memory: *mut u8, stream: *mut u8, length: usize, offsets: &[i64]) -> *mut u8 {
    #[cfg(target_arch = "x86_64")]
    if D::PACKS && vectors::there_are() {
        // SAFETY: the caller's promise, and the processor has what it takes.
        return unsafe { by_length::<VectorList<D>>(length)(memory, stream, length, offsets) };
    }
    // SAFETY: the caller's promise.
    unsafe { by_length::<PlainList<D>>(length)(memory, stream, length, offsets) }
}

/// Loops of one kind, by what moves a block. Each is a function of its own, which saves no more registers than it needs.
trait Kernels {
    type Kernel;
    fn of<B: BlockCopy>() -> Self::Kernel;
}

/// Memory, stream, length, inner loop and outer loop; the stream's end. Safe to call as [`nest`] is.
type NestKernel = unsafe fn(*mut u8, *mut u8, usize, Loop, Loop) -> *mut u8;
/// Memory, stream, length and offsets; the stream's end. Safe to call as [`listed`] is.
type ListKernel = unsafe fn(*mut u8, *mut u8, usize, &[i64]) -> *mut u8;

struct PlainNest<D>(PhantomData<D>);
struct PlainList<D>(PhantomData<D>);
/// For processors with AVX2.
#[cfg(target_arch = "x86_64")]
struct VectorNest<D>(PhantomData<D>);
/// For processors with AVX2.
#[cfg(target_arch = "x86_64")]
struct VectorList<D>(PhantomData<D>);

impl<D: Direction> Kernels for PlainNest<D> {
    type Kernel = NestKernel;
    #[inline(always)]
    fn of<B: BlockCopy>() -> NestKernel {
        each_of_nest::<D, B>
    }
}

impl<D: Direction> Kernels for PlainList<D> {
    type Kernel = ListKernel;
    #[inline(always)]
    fn of<B: BlockCopy>() -> ListKernel {
        each_of_list::<D, B>
    }
}

#[cfg(target_arch = "x86_64")]
impl<D: Direction> Kernels for VectorNest<D> {
    type Kernel = NestKernel;
    #[inline(always)]
    fn of<B: BlockCopy>() -> NestKernel {
        /// # Safety
        /// As for [`nest`]; the processor has AVX2.
        #[target_feature(enable = "avx2")]
        unsafe fn kernel<D: Direction, B: BlockCopy>(
            memory: *mut u8,
            stream: *mut u8,
            length: usize,
            inner: Loop,
            outer: Loop,
        ) -> *mut u8 {
            // SAFETY: the caller's promise.
            unsafe { each_of_nest::<D, B>(memory, stream, length, inner, outer) }
        }
        kernel::<D, B>
    }
}

#[cfg(target_arch = "x86_64")]
impl<D: Direction> Kernels for VectorList<D> {
    type Kernel = ListKernel;
    #[inline(always)]
    fn of<B: BlockCopy>() -> ListKernel {
        /// # Safety
        /// As for [`listed`]; the processor has AVX2.
        #[target_feature(enable = "avx2")]
        unsafe fn kernel<D: Direction, B: BlockCopy>(
            memory: *mut u8,
            stream: *mut u8,
            length: usize,
            offsets: &[i64],
        ) -> *mut u8 {
            // SAFETY: the caller's promise.
            unsafe { each_of_list::<D, B>(memory, stream, length, offsets) }
        }
        kernel::<D, B>
    }
}

/// The loop for blocks of `length` bytes.
#[inline(always)]
fn by_length<K: Kernels>(length: usize) -> K::Kernel {
    match length {
        1 => K::of::<Fixed<1>>(),
        2 => K::of::<Fixed<2>>(),
        4 => K::of::<Fixed<4>>(),
        8 => K::of::<Fixed<8>>(),
        12 => K::of::<Ascending<12>>(),
        16 => K::of::<Fixed<16>>(),
        20 => K::of::<Ascending<20>>(),
        24 => K::of::<Ascending<24>>(),
        28 => K::of::<Ascending<28>>(),
        32 => K::of::<Fixed<32>>(),
        40 => K::of::<Ascending<40>>(),
        48 => K::of::<Fixed<48>>(),
        64 => K::of::<Fixed<64>>(),
        3 => K::of::<Ends<2>>(),
        5..8 => K::of::<Ends<4>>(),
        9..16 => K::of::<Ends<8>>(),
        17..32 => K::of::<Ends<16>>(),
        33..64 => K::of::<Ends<32>>(),
        65..LONG => K::of::<Vectors>(),
        _ => K::of::<Bytes>(),
    }
}

/// Move `length` bytes in a row.
///
/// # Safety
/// Both sides must be good for them, and must not overlap.
#[inline(always)]
pub(super) unsafe fn run<D: Direction>(length: usize, memory: *mut u8, stream: *mut u8) {
    // SAFETY: the caller's promise; each arm moves `length` bytes.
    unsafe {
        match length {
            0 => {}
            1 => D::block(Fixed::<1>, memory, stream),
            2..4 => D::block(Ends::<2>(length), memory, stream),
            4..8 => D::block(Ends::<4>(length), memory, stream),
            8..=16 => D::block(Ends::<8>(length), memory, stream),
            17..=32 => D::block(Ends::<16>(length), memory, stream),
            _ => D::block(Bytes(length), memory, stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of `length` bytes, at places that lie apart, moved both ways by `pack` and `unpack` and byte by byte.
    fn compare(
        places: &[usize],
        length: usize,
        pack: impl Fn(*mut u8, *mut u8) -> *mut u8,
        unpack: impl Fn(*mut u8, *mut u8) -> *mut u8,
    ) {
        let span = places.iter().max().map_or(0, |last| last + length);
        let bytes = places.len() * length;
        // No room behind, so that a tool that watches memory sees what reads too far.
        let mut memory: Vec<u8> = (0..span).map(|i| (i * 31 % 251) as u8).collect();
        let wanted: Vec<u8> = places.iter().flat_map(|at| memory[*at..at + length].to_vec()).collect();
        let mut stream = vec![0; bytes];
        let end = pack(memory.as_mut_ptr(), stream.as_mut_ptr());
        assert_eq!(end, stream.as_mut_ptr_range().end, "{length} bytes at {places:?}");
        assert_eq!(stream, wanted, "{length} bytes at {places:?}");

        let mut expected = vec![255; span];
        for (at, block) in places.iter().zip(wanted.chunks(length)) {
            expected[*at..at + length].copy_from_slice(block);
        }
        memory.fill(255);
        let end = unpack(memory.as_mut_ptr(), stream.as_mut_ptr());
        assert_eq!(end, stream.as_mut_ptr_range().end, "{length} bytes at {places:?}");
        assert_eq!(memory, expected, "{length} bytes at {places:?}");
    }

    fn lengths() -> impl Iterator<Item = usize> {
        (1..=130).chain([LONG - 1, LONG, LONG + 1])
    }

    #[test]
    fn two_loops_of_blocks_of_any_length() {
        for length in lengths() {
            for (inner_count, outer_count) in [(1, 1), (2, 1), (3, 2), (4, 3), (5, 1), (7, 2), (8, 1), (13, 2)] {
                for stride in [length + 1, 2 * length, length + 8] {
                    let inner = Loop {
                        count: inner_count,
                        stride: stride as i64,
                    };
                    let outer = Loop {
                        count: outer_count,
                        stride: inner_count * stride as i64 + 3,
                    };
                    let places: Vec<usize> = (0..outer_count)
                        .flat_map(|i| (0..inner_count).map(move |j| (i * outer.stride + j * inner.stride) as usize))
                        .collect();
                    // SAFETY: all places lie in what `compare` gives.
                    unsafe {
                        compare(
                            &places,
                            length,
                            |memory, stream| nest::<Pack>(memory, stream, length, inner, outer),
                            |memory, stream| nest::<Unpack>(memory, stream, length, inner, outer),
                        );
                        compare(
                            &places,
                            length,
                            |memory, stream| by_length::<PlainNest<Pack>>(length)(memory, stream, length, inner, outer),
                            |memory, stream| {
                                by_length::<PlainNest<Unpack>>(length)(memory, stream, length, inner, outer)
                            },
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn listed_blocks_of_any_length() {
        for length in lengths() {
            let places: Vec<usize> = (0..9).map(|i| (8 - i) * (length + 5) + i * i % 5).collect();
            let offsets: Vec<i64> = places.iter().map(|at| *at as i64).collect();
            // SAFETY: all places lie in what `compare` gives.
            unsafe {
                compare(
                    &places,
                    length,
                    |memory, stream| listed::<Pack>(memory, stream, length, &offsets),
                    |memory, stream| listed::<Unpack>(memory, stream, length, &offsets),
                );
                compare(
                    &places,
                    length,
                    |memory, stream| by_length::<PlainList<Pack>>(length)(memory, stream, length, &offsets),
                    |memory, stream| by_length::<PlainList<Unpack>>(length)(memory, stream, length, &offsets),
                );
            }
        }
    }

    #[test]
    fn runs_of_any_length() {
        for length in lengths() {
            // SAFETY: the place lies in what `compare` gives.
            let moved = |stream: *mut u8| unsafe { stream.add(length) };
            compare(
                &[0],
                length,
                |memory, stream| {
                    // SAFETY: as above.
                    unsafe { run::<Pack>(length, memory, stream) };
                    moved(stream)
                },
                |memory, stream| {
                    // SAFETY: as above.
                    unsafe { run::<Unpack>(length, memory, stream) };
                    moved(stream)
                },
            );
        }
    }
}
