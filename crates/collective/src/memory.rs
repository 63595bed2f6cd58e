//! Memory for intermediate results.
//!
//! A thread keeps what its last calls had, and its next calls get it: it is in the caches, and its pages are there, which the C
//! library would give back to the kernel. It is let go when the process runs out of memory, or by [`release`].

use std::cell::{Cell, RefCell};
use std::mem::{self, MaybeUninit};

use crate::error::Result;
use crate::fail;

/// A thread keeps no more bytes than this, in so many pieces.
const KEPT: (usize, usize) = (1 << 20, 32);
/// A piece serves a call that needs at least this part of it.
const WASTE: usize = 8;
/// Where memory begins: at a line of the caches.
const LINE: usize = 64;

type Allocation = Vec<MaybeUninit<u8>>;

/// What a thread keeps, the oldest first.
#[derive(Default)]
struct Kept {
    blocks: Vec<Allocation>,
    bytes: usize,
}

thread_local! {
    static SPARE: RefCell<Kept> = const { RefCell::new(Kept { blocks: Vec::new(), bytes: 0 }) };
}

/// Give what the calling thread keeps for its next calls back to the system.
pub fn release() {
    // A thread that ends keeps nothing.
    let _ = SPARE.try_with(|spare| mem::take(&mut *spare.borrow_mut()));
}

/// The shortest of these that has so many bytes, and not far more.
fn fitting(blocks: &[Allocation], len: usize) -> Option<usize> {
    let fits = |block: &Allocation| block.len() >= len && block.len() / WASTE <= len;
    (0..blocks.len())
        .filter(|at| fits(&blocks[*at]))
        .min_by_key(|at| blocks[*at].len())
}

impl Kept {
    fn take(&mut self, len: usize) -> Option<Allocation> {
        let block = self.blocks.remove(fitting(&self.blocks, len)?);
        self.bytes -= block.len();
        Some(block)
    }

    fn give(&mut self, block: Allocation) {
        if block.is_empty() || block.len() > KEPT.0 {
            return;
        }
        self.bytes += block.len();
        self.blocks.push(block);
        while self.bytes > KEPT.0 || self.blocks.len() > KEPT.1 {
            self.bytes -= self.blocks.remove(0).len();
        }
    }
}

/// Memory for what an algorithm keeps in between. Holds nothing at first. The calling thread keeps it in the end.
pub struct ScratchMemory<'a> {
    block: Allocation,
    /// The later owner, because recorded operations have not been executed yet.
    heir: Option<&'a Pool>,
}

/// Memory of a call that goes on later.
#[derive(Default)]
pub struct Pool(Cell<Vec<Allocation>>);

impl Pool {
    /// All of it, for as long as the call goes on.
    pub fn take(&self) -> Vec<ScratchMemory<'static>> {
        let owned = |block| ScratchMemory { block, heir: None };
        self.0.take().into_iter().map(owned).collect()
    }
}

impl<'a> ScratchMemory<'a> {
    /// Memory for `len` bytes, or an error.
    pub fn allocate(len: usize) -> Result<Self> {
        if len == 0 {
            return Ok(Self {
                block: Allocation::new(),
                heir: None,
            });
        }
        let len = len.saturating_add(LINE);
        let spare = SPARE.try_with(|spare| spare.borrow_mut().take(len)).ok().flatten();
        let block = match spare {
            Some(block) => block,
            None => Self::fresh(len)?,
        };
        Ok(Self { block, heir: None })
    }

    /// Memory for `len` bytes that goes back to `pool`, and comes from there if there is enough: what used it before will
    /// have happened by then.
    pub fn from_pool(len: usize, pool: &'a Pool) -> Result<Self> {
        let mut free = pool.0.take();
        let reused = fitting(&free, len.saturating_add(LINE)).map(|at| free.swap_remove(at));
        pool.0.set(free);
        let mut memory = match reused {
            Some(block) => Self { block, heir: None },
            None => Self::allocate(len)?,
        };
        memory.heir = Some(pool);
        Ok(memory)
    }

    fn fresh(len: usize) -> Result<Allocation> {
        let mut block = Allocation::new();
        if block.try_reserve_exact(len).is_err() {
            release();
            block
                .try_reserve_exact(len)
                .map_err(|_| fail!(NoMem, "no memory for {len} bytes of intermediate results"))?;
        }
        block.resize(len, MaybeUninit::uninit());
        Ok(block)
    }

    /// Its address, at the beginning of a cache line.
    pub fn start(&mut self) -> *mut u8 {
        let start = self.block.as_mut_ptr();
        start.wrapping_add(start.align_offset(LINE)).cast()
    }
}

impl Drop for ScratchMemory<'_> {
    #[inline]
    fn drop(&mut self) {
        let block = mem::take(&mut self.block);
        if block.is_empty() {
            return;
        }
        match self.heir {
            Some(pool) => {
                let mut free = pool.0.take();
                free.push(block);
                pool.0.set(free);
            }
            // A thread that ends keeps nothing.
            None => drop(SPARE.try_with(|spare| spare.borrow_mut().give(block))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(len: usize) -> *mut u8 {
        ScratchMemory::allocate(len).unwrap().start()
    }

    #[test]
    fn the_next_call_gets_what_the_last_one_had() {
        release();
        let start = address(1000);
        assert!(start.addr().is_multiple_of(LINE));
        let (mut second, mut other) = (
            ScratchMemory::allocate(900).unwrap(),
            ScratchMemory::allocate(900).unwrap(),
        );
        assert_eq!(second.start(), start);
        assert_ne!(other.start(), start, "two at a time");
    }

    #[test]
    fn a_long_piece_does_not_serve_a_short_call() {
        release();
        drop(ScratchMemory::allocate(1 << 16).unwrap());
        drop(ScratchMemory::allocate(100).unwrap());
        assert_eq!(SPARE.with(|spare| spare.borrow().blocks.len()), 2);
    }

    #[test]
    fn what_is_kept_is_bounded_and_given_back() {
        release();
        drop(ScratchMemory::allocate(KEPT.0).unwrap());
        assert_eq!(SPARE.with(|spare| spare.borrow().bytes), 0, "too long to be kept");
        let many: Vec<_> = (0..100).map(|_| ScratchMemory::allocate(100 << 10).unwrap()).collect();
        drop(many);
        let (bytes, blocks) = SPARE.with(|spare| (spare.borrow().bytes, spare.borrow().blocks.len()));
        assert!(
            bytes <= KEPT.0 && bytes > KEPT.0 / 2 && blocks <= KEPT.1,
            "{bytes} bytes"
        );
        release();
        assert_eq!(SPARE.with(|spare| spare.borrow().bytes), 0);
    }

    #[test]
    fn memory_of_a_call_that_goes_on_is_its_own() {
        release();
        let pool = Pool::default();
        let start = ScratchMemory::from_pool(5000, &pool).unwrap().start();
        assert_ne!(address(5000), start, "steps that are not done yet need it");
        assert_eq!(ScratchMemory::from_pool(4000, &pool).unwrap().start(), start);
        let held = pool.take();
        assert_eq!(held.len(), 1);
        drop(held);
        let mut again = ScratchMemory::allocate(5000).unwrap();
        let mut both = ScratchMemory::allocate(5000).unwrap();
        assert!(again.start() == start || both.start() == start);
    }
}
