//! The bytes of a message that came before its receive.

use isthmus_os::process;

/// Kept without the heap up to this length: as much as an announcement takes in the same place.
const SHORT: usize = 30;

/// Bytes; a few of them lie right here.
#[derive(Debug)]
pub(crate) enum Payload {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Vec<u8>),
}

const _: () = assert!(size_of::<Payload>() == 32);

impl Payload {
    /// None yet.
    pub const EMPTY: Self = Self::Short {
        length: 0,
        bytes: [0; SHORT],
    };

    /// `length` bytes that `write` writes.
    #[inline]
    pub fn written(length: usize, write: impl FnOnce(*mut u8)) -> Self {
        if length <= SHORT {
            let mut bytes = [0; SHORT];
            write(bytes.as_mut_ptr());
            return Self::Short {
                length: length as u8,
                bytes,
            };
        }
        let mut bytes = Vec::new();
        make_room(&mut bytes, length);
        write(bytes.as_mut_ptr());
        // SAFETY: there is room for as many, and they have been written.
        unsafe { bytes.set_len(length) };
        Self::Long(bytes)
    }

    /// Add `length` bytes, which `write` writes.
    pub fn append(&mut self, length: usize, write: impl FnOnce(*mut u8)) {
        let mut bytes = match std::mem::replace(self, Self::EMPTY) {
            Self::Long(bytes) => bytes,
            Self::Short { length, bytes } => bytes[..usize::from(length)].to_vec(),
        };
        make_room(&mut bytes, length);
        // SAFETY: there is room for as many more, and they have been written.
        unsafe {
            write(bytes.as_mut_ptr().add(bytes.len()));
            bytes.set_len(bytes.len() + length);
        }
        *self = Self::Long(bytes);
    }
}

/// Have room for `more` bytes; without it the process ends, and so the job: what has left the ring cannot go back.
fn make_room(bytes: &mut Vec<u8>, more: usize) {
    // Room for more than is asked for may be had or not.
    if bytes.try_reserve(more).is_err() && bytes.try_reserve_exact(more).is_err() {
        no_room(more);
    }
}

#[cold]
fn no_room(bytes: usize) -> ! {
    process::flush_streams();
    process::say(&format!(
        "isthmus: pid {}: no memory for {bytes} bytes of a message that came before its receive; the process ends \
         (`ulimit -v`? ISTHMUS_UNEXPECTED_LIMIT bounds what is kept)",
        process::id()
    ));
    process::exit_now(1)
}

impl std::ops::Deref for Payload {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> impl FnOnce(*mut u8) {
        // SAFETY: `Payload` gives room for as many as were asked for.
        move |to| unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }

    #[test]
    fn short_and_long() {
        let all: Vec<u8> = (0..100).collect();
        for length in [0, 1, 8, SHORT, SHORT + 1, 100] {
            let payload = Payload::written(length, of(&all[..length]));
            assert_eq!(*payload, all[..length]);
            assert_eq!(matches!(payload, Payload::Short { .. }), length <= SHORT);
        }
    }

    #[test]
    fn pieces() {
        let all: Vec<u8> = (0..100).collect();
        for first in [0, 5, SHORT, 60] {
            let mut payload = Payload::written(first, of(&all[..first]));
            payload.append(7, of(&all[first..first + 7]));
            payload.append(93 - first, of(&all[first + 7..]));
            assert_eq!(*payload, all[..]);
        }
    }
}
