//! Accesses that one process makes by itself.
//!
//! Bytes that lie in a row in file and memory go straight; memory in long places goes by lists (`preadv`, `pwritev`), in short ones through a
//! buffer. Of pieces of a file that are near one
//! another a read takes what lies between them, too (*data sieving*: Thakur, Gropp, Lusk, "Data Sieving and Collective I/O in ROMIO",
//! Frontiers 1999). A write does that only if it is told to, since what lies between may be another rank's to write: it reads, changes and writes
//! a window of the file under a lock, and then all writes take that lock.

use crate::backend::{self, Backend, Lock};
use crate::failure::Result;
use crate::hints::{Choice, Hints};
use crate::memory::AccessMemory;
use crate::rooms;
use crate::view::{Piece, View};

/// A file as one process accesses it.
pub struct Access<'a> {
    /// What moves the bytes.
    pub file: &'a dyn Backend,
    /// Where they lie.
    pub view: &'a View,
    /// What the user said.
    pub hints: &'a Hints,
    /// Shall a read take what lies between pieces, too?
    pub gaps: Choice,
    /// Is the file locked as long as an access takes: so that it is atomic, or because other nodes see it?
    pub locked: bool,
}

/// Pieces are worth reading with what lies between them if they are so large a part of it at least (one of so many bytes).
pub const WORTH: u64 = 8;
/// ... and are shorter than this in the mean.
pub const LONG: u64 = 64 << 10;

impl Access<'_> {
    /// Write all of `memory` at `position`. Blocks as long as the device takes.
    pub fn write(&self, memory: &AccessMemory, position: u64) -> Result<()> {
        if memory.bytes() == 0 {
            return Ok(());
        }
        let end = position + memory.bytes();
        let whole = self.view.span(position, end);
        let sieves = self.hints.ds_write == Choice::Enable;
        let _lock = match self.locked || sieves {
            true => Some(Lock::take(self.file, whole.clone(), true)?),
            false => None,
        };
        if sieves && self.file.is_readable() && whole.end - whole.start > memory.bytes() {
            return self.write_windows(memory, position, end);
        }
        let mut buffer = Vec::new();
        for piece in self.view.pieces(position, end) {
            let from = piece.position - position;
            if let Some(bytes) = memory.slice(from, from + piece.length) {
                backend::write(self.file, bytes, piece.offset)?;
                continue;
            }
            if memory.is_listed() {
                backend::write_listed(self.file, memory, from, from + piece.length, piece.offset)?;
                continue;
            }
            let mut done = 0;
            while done < piece.length {
                let step = (piece.length - done).min(self.hints.write_buffer);
                buffer.resize(step as usize, 0);
                memory.copy_out(from + done, &mut buffer);
                backend::write(self.file, &buffer, piece.offset + done)?;
                done += step;
            }
        }
        Ok(())
    }

    /// Write what lies between the pieces, too, as it was. The lock is held.
    fn write_windows(&self, memory: &AccessMemory, position: u64, end: u64) -> Result<()> {
        let mut window = vec![0; self.hints.write_buffer as usize];
        let mut pieces = self.view.pieces(position, end).peekable();
        while let Some(first) = pieces.peek().copied() {
            let start = first.offset;
            let got = backend::read(self.file, &mut window, start)?;
            // Beyond the end of the file there are zeros.
            window[got..].fill(0);
            let mut used = 0;
            while let Some(piece) = pieces.peek_mut()
                && piece.offset < start + window.len() as u64
            {
                let at = (piece.offset - start) as usize;
                let length = (piece.length as usize).min(window.len() - at);
                memory.copy_out(piece.position - position, &mut window[at..at + length]);
                used = at + length;
                if length as u64 == piece.length {
                    pieces.next();
                } else {
                    *piece = rest(*piece, length as u64);
                }
            }
            backend::write(self.file, &window[..used], start)?;
        }
        Ok(())
    }

    /// Read what there is at `position`, at most as much as `memory` takes: how many bytes. Blocks as long as the device takes.
    pub fn read(&self, memory: &AccessMemory, position: u64) -> Result<u64> {
        if memory.bytes() == 0 {
            return Ok(0);
        }
        let end = position + memory.bytes();
        let whole = self.view.span(position, end);
        let _lock = match self.locked {
            true => Some(Lock::take(self.file, whole.clone(), false)?),
            false => None,
        };
        if self.sieves_reads(&whole, position, end) {
            return self.read_windows(memory, position, end);
        }
        let mut total = 0;
        let mut buffer = Vec::new();
        for piece in self.view.pieces(position, end) {
            let from = piece.position - position;
            let got = match memory.slice_mut(from, from + piece.length) {
                Some(place) => backend::read(self.file, place, piece.offset)? as u64,
                None if memory.is_listed() => {
                    backend::read_listed(self.file, memory, from, from + piece.length, piece.offset)?
                }
                None => self.read_scattered(memory, from, piece, &mut buffer)?,
            };
            total += got;
            if got < piece.length {
                break;
            }
        }
        Ok(total)
    }

    fn read_scattered(&self, memory: &AccessMemory, from: u64, piece: Piece, buffer: &mut Vec<u8>) -> Result<u64> {
        let mut done = 0;
        while done < piece.length {
            let step = (piece.length - done).min(self.hints.read_buffer);
            buffer.resize(step as usize, 0);
            let got = backend::read(self.file, buffer, piece.offset + done)?;
            memory.copy_in(from + done, &buffer[..got]);
            done += got as u64;
            if (got as u64) < step {
                break;
            }
        }
        Ok(done)
    }

    fn sieves_reads(&self, whole: &std::ops::Range<u64>, position: u64, end: u64) -> bool {
        let (span, bytes) = (whole.end - whole.start, end - position);
        if span == bytes || !self.view.is_apart() {
            return false;
        }
        match self.gaps {
            Choice::Enable => true,
            Choice::Disable => false,
            Choice::Automatic => span / WORTH <= bytes && self.view.mean_piece(position, end) < LONG,
        }
    }

    /// Read windows of the file, and take the pieces out of them.
    fn read_windows(&self, memory: &AccessMemory, position: u64, end: u64) -> Result<u64> {
        let last = self.view.offset_of(end - 1) + 1;
        let mut window = rooms::take(self.hints.read_buffer.min(last - self.view.offset_of(position)) as usize);
        let read = self.read_to(&mut window, memory, position, end);
        rooms::give(window);
        read
    }

    /// Read, a window at a time. The buffer is as long as a window, or as all of it.
    fn read_to(&self, buffer: &mut [u8], memory: &AccessMemory, position: u64, end: u64) -> Result<u64> {
        let last = self.view.offset_of(end - 1) + 1;
        let mut at = position;
        while at < end {
            let start = self.view.offset_of(at);
            let length = (buffer.len() as u64).min(last - start) as usize;
            let got = backend::read(self.file, &mut buffer[..length], start)?;
            let to = self.view.position_at(start + got as u64).clamp(at, end);
            let take = |place: &mut [u8]| self.view.copy_from_window(&buffer[..got], start, at, to, place);
            match memory.slice_mut(at - position, to - position) {
                Some(place) => take(place),
                None => {
                    let mut packed = rooms::take((to - at) as usize);
                    take(&mut packed);
                    memory.copy_in(at - position, &packed);
                    rooms::give(packed);
                }
            }
            at = to;
            if got < length {
                break;
            }
        }
        Ok(at - position)
    }
}

/// The rest of a piece after its first bytes.
fn rest(piece: Piece, done: u64) -> Piece {
    Piece {
        offset: piece.offset + done,
        length: piece.length - done,
        position: piece.position + done,
    }
}

/// The length of a file.
pub fn size(file: &dyn Backend) -> Result<u64> {
    backend::whole("fstat", || file.size())
}

#[cfg(test)]
mod tests;
