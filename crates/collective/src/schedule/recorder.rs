//! Writing down what an algorithm asks for.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;

use isthmus_datatype::Reduction;

use super::program::{OwnedElements, Program, Step};
use crate::error::{Error, Result};
use crate::fail;
use crate::layout::Layout;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use crate::link::{Incoming, Link, Outgoing};
use crate::memory::{Pool, ScratchMemory};
use crate::shared::Access;
use crate::team::Team;

/// A link that does nothing yet. It may have a board, through which algorithms go at once.
pub struct Recorder {
    rank: usize,
    /// Of its group and of the other one.
    sizes: [usize; 2],
    /// `None`: nothing is recorded.
    program: RefCell<Option<Box<Program>>>,
    memory: Pool,
    layout: Option<Arc<Layout>>,
    access: Option<Access<'static>>,
}

impl Recorder {
    /// For calls on a communicator.
    pub fn new(team: &Team) -> Self {
        let remote = team.remote_size();
        Self {
            layout: team.shared.declared(team),
            ..Self::with(team.rank() as usize, [team.size() as usize, remote as usize])
        }
    }

    /// For the process with this rank in its group, and groups of these sizes: its own, and the other one.
    pub fn with(rank: usize, sizes: [usize; 2]) -> Self {
        Self {
            rank,
            sizes,
            program: RefCell::new(None),
            memory: Pool::default(),
            layout: None,
            access: None,
        }
    }

    /// For a call on a communicator that has a board.
    pub fn on_board(team: &Team, access: Access<'static>) -> Self {
        Self {
            access: Some(access),
            ..Self::new(team)
        }
    }

    /// All that was asked for.
    pub fn finish(self) -> Box<Program> {
        self.finish_if_any().unwrap_or_else(Program::empty)
    }

    /// The same, if anything was.
    pub fn finish_if_any(self) -> Option<Box<Program>> {
        if let Some(fault) = self.access.as_ref().and_then(Access::take_fault) {
            self.fault(fault);
        }
        self.take()
    }

    /// All that was asked for since this was called last, if anything was.
    pub fn take(&self) -> Option<Box<Program>> {
        let mut program = self.program.take()?;
        program.memory = self.memory.take();
        Some(program)
    }

    fn program(&self) -> RefMut<'_, Box<Program>> {
        RefMut::map(self.program.borrow_mut(), |program| {
            program.get_or_insert_with(Program::empty)
        })
    }

    /// Where there is no memory for it, the call fails, though it goes on.
    fn push(&self, step: Step) {
        let program = &mut **self.program();
        match program.steps.try_reserve(1) {
            Ok(()) => program.steps.push(step),
            Err(_) => drop(program.fault.get_or_insert_with(no_memory)),
        }
    }
}

#[cold]
fn no_memory() -> Error {
    fail!(NoMem, "no memory for the steps of a call that goes on later")
}

impl Link for Recorder {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.sizes[0]
    }

    fn remote_size(&self) -> usize {
        self.sizes[1]
    }

    fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    #[inline]
    fn shared(&self) -> Option<&Access<'_>> {
        self.access.as_ref()
    }

    fn fault(&self, error: Error) {
        self.program().fault.get_or_insert(error);
    }

    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()> {
        let program = &mut **self.program();
        let before = (program.receives.len(), program.sends.len());
        let reserved = (program.steps.try_reserve(1))
            .and_then(|()| program.receives.try_reserve(receives.len()))
            .and_then(|()| program.sends.try_reserve(sends.len()));
        reserved.map_err(|_| no_memory())?;
        program.receives.extend_from_slice(receives);
        program.sends.extend_from_slice(sends);
        program.steps.push(Step::Messages {
            receives: before.0..program.receives.len(),
            sends: before.1..program.sends.len(),
        });
        Ok(())
    }

    unsafe fn pack(&self, from: Elements<'_>, to: *mut u8) {
        match from.bytes() {
            0 => {}
            len if from.datatype.is_contiguous() => self.push(Step::Copy {
                from: from.address,
                to,
                len,
            }),
            _ => self.push(Step::Pack {
                from: OwnedElements::of(from),
                to,
            }),
        }
    }

    unsafe fn unpack(&self, from: *const u8, len: usize, to: Elements<'_>) {
        match len.min(to.bytes()) {
            0 => {}
            len if to.datatype.is_contiguous() => self.push(Step::Copy {
                from,
                to: to.address,
                len,
            }),
            len => self.push(Step::Unpack {
                from,
                len,
                to: OwnedElements::of(to),
            }),
        }
    }

    unsafe fn apply(&self, operand: &Operand<'_>, left: *const u8, inout: *mut u8, count: i64) {
        self.push(match &operand.reduction {
            Reduction::Kernel(kernel) => Step::Combine {
                kernel: *kernel,
                left,
                inout,
                count: count as usize,
            },
            Reduction::Custom(custom) => Step::CallOut {
                custom: Arc::clone(custom),
                left,
                inout,
                count,
            },
        });
    }

    fn memory(&self, len: usize) -> Result<ScratchMemory<'_>> {
        ScratchMemory::from_pool(len, &self.memory)
    }
}
