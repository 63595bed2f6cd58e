//! What there is to do, step by step.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use isthmus_engine::OpId;

use crate::error::{Error, Result};
use crate::link::elements::Elements;
use crate::link::{Incoming, Outgoing};
use crate::memory::ScratchMemory;
use isthmus_datatype::{Custom, Kernel, Type};

/// Steps, and all that they need.
#[derive(Default)]
pub struct Program {
    /// In order.
    pub steps: Vec<Step>,
    /// Messages of all steps.
    pub receives: Vec<Incoming>,
    /// Messages of all steps.
    pub sends: Vec<Outgoing>,
    /// How it will fail, however it goes on.
    pub fault: Option<Error>,
    /// Where intermediate results lie.
    pub memory: Vec<ScratchMemory<'static>>,
    /// Room for the operations of a run.
    pub ops: Vec<Option<OpId>>,
}

/// Programs that a thread keeps when they are over: the next ones take no memory from the system.
const KEPT: usize = 16;

thread_local! {
    #[allow(clippy::vec_box)] // They come and go as boxes.
    static SPARE: RefCell<Vec<Box<Program>>> = const { RefCell::new(Vec::new()) };
}

impl Program {
    /// One without steps.
    pub fn empty() -> Box<Self> {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        spare.ok().flatten().unwrap_or_default()
    }

    /// It is over, and nobody else has it.
    pub fn recycle(mut self: Box<Self>) {
        self.steps.clear();
        self.receives.clear();
        self.sends.clear();
        self.ops.clear();
        self.fault = None;
        self.memory.clear();
        // At the end of a thread there is nothing to keep it.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT {
                spare.push(self);
            }
        });
    }
}

// SAFETY: the addresses are of the program's own memory, and of buffers that the user has left to it and may leave to it
// from any thread.
unsafe impl Send for Program {}
// SAFETY: as above; a program has one runner at a time.
unsafe impl Sync for Program {}

/// A step.
#[allow(missing_docs)] // What fields mean is what the variants say.
pub enum Step {
    /// Messages, all at once: which of the program's.
    Messages {
        receives: Range<usize>,
        sends: Range<usize>,
    },
    /// Bytes.
    Copy { from: *const u8, to: *mut u8, len: usize },
    /// Elements to bytes.
    Pack { from: OwnedElements, to: *mut u8 },
    /// Bytes to elements.
    Unpack {
        from: *const u8,
        len: usize,
        to: OwnedElements,
    },
    /// `inout[i] = left[i] op inout[i]`, an operation of ours.
    Combine {
        kernel: Kernel,
        left: *const u8,
        inout: *mut u8,
        count: usize,
    },
    /// A look at what has come.
    Judge(Box<dyn Fn() -> Result<()> + Send + Sync>),
    /// An operation by a user's function: `inout[i] = left[i] op inout[i]`.
    CallOut {
        custom: Arc<dyn Custom>,
        left: *const u8,
        inout: *mut u8,
        count: i64,
    },
}

/// Elements with a share of their datatype, which lives as long as they are needed.
pub struct OwnedElements {
    address: *mut u8,
    count: i64,
    datatype: Arc<Type>,
}

impl OwnedElements {
    pub fn of(elements: Elements<'_>) -> Self {
        Self {
            address: elements.address,
            count: elements.count,
            datatype: elements.datatype.share(),
        }
    }

    fn elements(&self) -> Elements<'_> {
        Elements::new(self.address.cast(), self.count, &self.datatype)
    }
}

impl Step {
    /// Do what needs no other rank.
    ///
    /// # Safety
    /// What the recorder was promised holds, and the steps before are done.
    pub unsafe fn perform(&self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Messages { .. } => {}
                Self::Judge(judge) => judge()?,
                Self::Copy { from, to, len } => std::ptr::copy_nonoverlapping(*from, *to, *len),
                Self::Pack { from, to } => from.elements().pack(*to),
                Self::Unpack { from, len, to } => to.elements().unpack(*from, *len),
                Self::Combine {
                    kernel,
                    left,
                    inout,
                    count,
                } => kernel(*left, *inout, *inout, *count),
                Self::CallOut {
                    custom,
                    left,
                    inout,
                    count,
                } => custom.apply(*left, *inout, *count)?,
            }
        }
        Ok(())
    }
}
