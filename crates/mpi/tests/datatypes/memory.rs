//! Memory around elements, every byte of which is watched.

use crate::type_map::TypeMap;

pub struct Memory {
    pub bytes: Vec<u8>,
    /// The buffer's address, from the first byte; may lie outside.
    base: i64,
}

const MARGIN: i64 = 24;

impl Memory {
    /// For `count` elements, with a margin.
    pub fn around(map: &TypeMap, count: i64) -> Self {
        let low = map.repeated(count).map(|entry| entry.at).min().unwrap_or(0) - MARGIN;
        let high = map.repeated(count).map(|entry| entry.end()).max().unwrap_or(0) + MARGIN;
        Self {
            bytes: (low..high).map(|i| (i * 37 % 251) as u8).collect(),
            base: -low,
        }
    }

    /// What the calls take. The bytes are the callee's until it has returned.
    pub fn address(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_offset(self.base as isize)
    }

    pub fn at(&self, place: i64) -> u8 {
        self.bytes[(place + self.base) as usize]
    }

    pub fn set(&mut self, place: i64, byte: u8) {
        self.bytes[(place + self.base) as usize] = byte;
    }
}
