//! The user's memory that an operation reads or writes: a row of bytes, or bytes here and there.
//!
//! Noncontiguous data is packed straight into the pieces of a ring and unpacked straight out of them, piece by
//! piece, so that both sides work at the same time and nobody holds a copy of the whole message.

use std::ops::Range;

use isthmus_transfer::Layout;
use isthmus_transfer::copy::{Copying, copy, copy_by};

/// A visitor of the pieces of a message's bytes.
pub type PieceVisitor<'a> = &'a mut dyn FnMut(&Layout<'_>);

/// The bytes of a message that do not lie in a row, as one stream.
pub trait Scattered: Sync {
    /// Copy bytes `range` of the stream to `to`.
    ///
    /// # Safety
    /// The operation that this belongs to is pending. `range` lies within its length, and `to` is writable for as much.
    unsafe fn pack(&self, range: Range<usize>, to: *mut u8);

    /// Put what is at `from` where bytes `range` of the stream belong.
    ///
    /// # Safety
    /// As for [`Self::pack`], with `from` readable; it may be changing (another process's doing).
    unsafe fn unpack(&self, range: Range<usize>, from: *const u8);

    /// Tell `f` where the bytes lie, if that takes only a few words, or as many as there are bytes worth a copy of their
    /// own. False: it does not.
    fn with_layout(&self, f: PieceVisitor<'_>) -> bool;

    /// Would [`Self::with_layout`] tell?
    fn has_layout(&self) -> bool;

    /// Are the bytes in memory of a device? Then the other end of [`Self::pack`] and [`Self::unpack`] may be memory of any kind.
    fn is_on_device(&self) -> bool {
        false
    }

    /// Where the bytes lie in a row in memory of a device, if they do. `sends`: they are read, and those that do not may have been packed
    /// there.
    fn device_row(&self, _sends: bool) -> Option<*mut u8> {
        None
    }
}

/// Where the bytes of an operation are. Two words, so that it travels in registers: written to memory and read back in
/// one piece, it would have to wait for every store before it, those into a ring that are still on their way included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    /// The bytes, or what knows where they are.
    at: *mut u8,
    /// How that is asked; `None`: the bytes are in a row.
    pieces: Option<&'static Pieces>,
}

/// The functions of one kind of [`Scattered`].
#[derive(Debug)]
struct Pieces {
    pack: unsafe fn(*const u8, Range<usize>, *mut u8),
    unpack: unsafe fn(*const u8, Range<usize>, *const u8),
    with_layout: unsafe fn(*const u8, PieceVisitor<'_>) -> bool,
    has_layout: unsafe fn(*const u8) -> bool,
    is_on_device: unsafe fn(*const u8) -> bool,
    device_row: unsafe fn(*const u8, bool) -> Option<*mut u8>,
}

/// # Safety
/// `data` is an `S`; and as for [`Scattered::pack`].
unsafe fn pack<S: Scattered>(data: *const u8, range: Range<usize>, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<S>()).pack(range, to) }
}

/// # Safety
/// `data` is an `S`; and as for [`Scattered::unpack`].
unsafe fn unpack<S: Scattered>(data: *const u8, range: Range<usize>, from: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<S>()).unpack(range, from) }
}

/// # Safety
/// `data` is an `S`, and its operation pending.
unsafe fn with_layout<S: Scattered>(data: *const u8, f: PieceVisitor<'_>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<S>()).with_layout(f) }
}

/// # Safety
/// As for [`with_layout`].
unsafe fn has_layout<S: Scattered>(data: *const u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<S>()).has_layout() }
}

/// # Safety
/// As for [`with_layout`].
unsafe fn is_on_device<S: Scattered>(data: *const u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<S>()).is_on_device() }
}

/// # Safety
/// As for [`with_layout`].
unsafe fn device_row<S: Scattered>(data: *const u8, sends: bool) -> Option<*mut u8> {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<S>()).device_row(sends) }
}

trait OfPieces: Scattered + Sized {
    const PIECES: &'static Pieces = &Pieces {
        pack: pack::<Self>,
        unpack: unpack::<Self>,
        with_layout: with_layout::<Self>,
        has_layout: has_layout::<Self>,
        is_on_device: is_on_device::<Self>,
        device_row: device_row::<Self>,
    };
}

impl<S: Scattered> OfPieces for S {}

/// What passes through when both ends of a message to ourselves are scattered.
const PIECE: usize = 8 << 10;

impl Buffer {
    /// Of operations that move nothing.
    pub const NOWHERE: Self = Self::target(std::ptr::null_mut());

    /// Memory that is written.
    #[inline]
    pub const fn target(at: *mut u8) -> Self {
        Self { at, pieces: None }
    }

    /// Memory that is only read.
    #[inline]
    pub fn source(at: *const u8) -> Self {
        Self::target(at.cast_mut())
    }

    /// What `data` describes. It must stay where it is while an operation with this buffer is pending.
    pub fn scattered<S: Scattered>(data: &S) -> Self {
        Self {
            at: std::ptr::from_ref(data).cast_mut().cast(),
            pieces: Some(S::PIECES),
        }
    }

    /// Where it begins, if it is a row.
    #[inline]
    pub fn row(self) -> Option<*mut u8> {
        match self.pieces {
            None => Some(self.at),
            Some(_) => None,
        }
    }

    /// Is it in memory of a device?
    pub fn is_on_device(self) -> bool {
        // SAFETY: the operation is pending, so that what describes it is there.
        self.pieces
            .is_some_and(|pieces| unsafe { (pieces.is_on_device)(self.at) })
    }

    /// Where it begins, if it is a row in memory of a device; see [`Scattered::device_row`].
    pub fn device_row(self, sends: bool) -> Option<*mut u8> {
        // SAFETY: as above.
        self.pieces
            .and_then(|pieces| unsafe { (pieces.device_row)(self.at, sends) })
    }

    /// Can its bytes be copied where they lie, by a mechanism that takes layouts?
    pub fn has_layout(self) -> bool {
        match self.pieces {
            None => true,
            // SAFETY: the operation is pending, so that what describes it is there.
            Some(pieces) => unsafe { (pieces.has_layout)(self.at) },
        }
    }

    /// What `f` answers when told where the first `length` bytes lie, or more; `None` if that cannot be told.
    pub fn with_layout<R>(self, length: u64, mut f: impl FnMut(&Layout<'_>) -> R) -> Option<R> {
        let Some(pieces) = self.pieces else {
            return Some(f(&Layout::local(self.at, length)));
        };
        let mut answer = None;
        // SAFETY: the operation is pending, so that what describes it is there.
        unsafe { (pieces.with_layout)(self.at, &mut |layout| answer = Some(f(layout))) };
        answer
    }

    /// Copy `length` bytes from `from` on to `to`.
    ///
    /// # Safety
    /// The buffer is a pending operation's, whose length the bytes lie within; `to` is writable for as many.
    #[inline]
    pub unsafe fn read(self, from: usize, length: usize, to: *mut u8) {
        match self.pieces {
            // SAFETY: the caller's promise.
            None => unsafe { copy(self.at.add(from), to, length) },
            // SAFETY: as above; the functions go with what is there.
            Some(pieces) => unsafe { (pieces.pack)(self.at, from..from + length, to) },
        }
    }

    /// As [`Self::read`], with instructions that matter only where bytes lie in a row.
    ///
    /// # Safety
    /// As for [`Self::read`].
    #[inline]
    pub unsafe fn read_by(self, copying: Copying, from: usize, length: usize, to: *mut u8) {
        match self.pieces {
            // SAFETY: the caller's promise.
            None => unsafe { copy_by(copying, self.at.add(from), to, length) },
            // SAFETY: as above.
            Some(_) => unsafe { self.read(from, length, to) },
        }
    }

    /// Store `length` bytes from `bytes`, at `at` and behind.
    ///
    /// # Safety
    /// As for [`Self::read`], with `bytes` readable.
    #[inline]
    pub unsafe fn write(self, at: usize, length: usize, bytes: *const u8) {
        match self.pieces {
            // SAFETY: the caller's promise.
            None => unsafe { copy(bytes, self.at.add(at), length) },
            // SAFETY: as above; the functions go with what is there.
            Some(pieces) => unsafe { (pieces.unpack)(self.at, at..at + length, bytes) },
        }
    }

    /// As [`Self::write`], with instructions that matter only where bytes lie in a row.
    ///
    /// # Safety
    /// As for [`Self::write`].
    #[inline]
    pub unsafe fn write_by(self, copying: Copying, at: usize, length: usize, bytes: *const u8) {
        match self.pieces {
            // SAFETY: the caller's promise.
            None => unsafe { copy_by(copying, bytes, self.at.add(at), length) },
            // SAFETY: as above.
            Some(_) => unsafe { self.write(at, length, bytes) },
        }
    }

    /// Store the first `length` bytes of another buffer of this process. The two may overlap only if the program is
    /// wrong, and then something defined still happens.
    ///
    /// # Safety
    /// Both are of pending operations that are at least so long.
    pub unsafe fn take_from(self, source: Self, length: usize) {
        // SAFETY: the caller's promise; pieces lie within `length`.
        unsafe {
            if source.is_on_device()
                && let Some(to) = self.device_row(false)
            {
                return source.read(0, length, to);
            }
            match (source.row(), self.row()) {
                (Some(from), Some(to)) => std::ptr::copy(from, to, length),
                (Some(from), None) => self.write(0, length, from),
                (None, Some(to)) => source.read(0, length, to),
                (None, None) => {
                    let mut piece = [0; PIECE];
                    for at in (0..length).step_by(PIECE) {
                        let now = PIECE.min(length - at);
                        source.read(at, now, piece.as_mut_ptr());
                        self.write(at, now, piece.as_ptr());
                    }
                }
            }
        }
    }
}

// SAFETY: the memory is the user's; only the thread inside the engine follows the pointers.
unsafe impl Send for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    /// Every second byte.
    #[derive(Debug)]
    struct Spread(UnsafeCell<Vec<u8>>);

    // SAFETY: one thread.
    unsafe impl Sync for Spread {}

    impl Scattered for Spread {
        unsafe fn pack(&self, range: Range<usize>, to: *mut u8) {
            for (i, at) in range.enumerate() {
                // SAFETY: the caller's promise.
                unsafe { *to.add(i) = (&(*self.0.get()))[2 * at] };
            }
        }
        unsafe fn unpack(&self, range: Range<usize>, from: *const u8) {
            for (i, at) in range.enumerate() {
                // SAFETY: the caller's promise.
                unsafe { (&mut (*self.0.get()))[2 * at] = *from.add(i) };
            }
        }
        fn with_layout(&self, _: PieceVisitor<'_>) -> bool {
            false
        }
        fn has_layout(&self) -> bool {
            false
        }
    }

    fn spread(length: usize) -> &'static Spread {
        Box::leak(Box::new(Spread(UnsafeCell::new(vec![0; 2 * length]))))
    }

    #[test]
    fn every_pair_of_shapes() {
        let length = 3 * PIECE + 5;
        let data: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let (first, second) = (spread(length), spread(length));
        let mut back = vec![0; length];
        // SAFETY: all are `length` bytes long.
        unsafe {
            Buffer::scattered(first).take_from(Buffer::source(data.as_ptr()), length);
            Buffer::scattered(second).take_from(Buffer::scattered(first), length);
            Buffer::target(back.as_mut_ptr()).take_from(Buffer::scattered(second), length);
        }
        assert_eq!(back, data);
        // SAFETY: nobody else uses it now.
        let holes = unsafe { &*second.0.get() };
        assert!(holes.iter().skip(1).step_by(2).all(|&hole| hole == 0));
    }
}
