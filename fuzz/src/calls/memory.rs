//! The memory that arguments point at.

/// Buffers that calls read and write, and memory for arguments that are passed by address.
///
/// All of it stays where it is for as long as the process lives: operations that an input leaves unfinished may still
/// name it.
pub struct Memory {
    /// Read from, and written to: a call that is given the same memory for both may do anything (MPI-5.0 §2.3).
    arenas: [&'static mut [u8]; 2],
    arguments: &'static mut [u64],
    taken: usize,
}

/// Buffers begin in the middle, so that layouts reach to both sides.
const ARENA: usize = 64 << 20;
/// In words.
const ARGUMENTS: usize = 1 << 20;

impl Memory {
    /// Memory full of zeros.
    pub fn new() -> Self {
        Self {
            arenas: [vec![0; ARENA].leak(), vec![0; ARENA].leak()],
            arguments: vec![0; ARGUMENTS].leak(),
            taken: 0,
        }
    }

    /// The next input begins.
    pub fn begin(&mut self) {
        self.taken = 0;
    }

    /// The address of a buffer that reaches far to both sides.
    pub fn buffer(&mut self, only_read: bool, offset: usize) -> u64 {
        let arena = &mut self.arenas[usize::from(only_read)];
        (&raw mut arena[ARENA / 2 + offset]).addr() as u64
    }

    /// The address of `bytes` bytes of its own that are zero, and the bytes.
    pub fn argument(&mut self, bytes: usize) -> (u64, &mut [u8]) {
        let words = bytes.div_ceil(8).max(1);
        if self.taken + words > self.arguments.len() {
            // Long ago: nobody looks at what began there.
            self.taken = 0;
        }
        let room = &mut self.arguments[self.taken..self.taken + words];
        self.taken += words;
        room.fill(0);
        let address = room.as_mut_ptr().addr() as u64;
        // SAFETY: any bytes are bytes.
        let (_, bytes, _) = unsafe { room.align_to_mut::<u8>() };
        (address, bytes)
    }
}
