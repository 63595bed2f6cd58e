//! A number that all members of a communicator take, without waiting for one another: rank 0 tells it. On an
//! intercommunicator both ranks 0 propose one, and the larger is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_engine::Entered;

use super::check::{self, When};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;
use crate::op::Predefined;
use isthmus_collective::Link;
use isthmus_collective::Operand;
use isthmus_collective::elements;
use isthmus_collective::{Look, Recorder, Running};

/// `MPI_UINT32_T`.
const UINT32_T: Handle<Datatype> = Handle::from_raw(0x251);

/// An agreement on its way.
pub(crate) struct Agreement {
    running: Running,
    /// The number, and the other leader's.
    words: Arc<[AtomicU32; 2]>,
}

impl Agreement {
    /// Begin; what rank 0 proposes counts. Collective.
    pub fn begin(comm: &Arc<Comm>, proposal: u32) -> Result<Self> {
        let words = Arc::new([AtomicU32::new(proposal), AtomicU32::new(0)]);
        let (own, theirs) = (words[0].as_ptr().cast::<u8>(), words[1].as_ptr().cast::<u8>());
        let width = size_of::<u32>();
        let asking = check::begin(comm, || "MPI_Comm_idup".to_owned(), When::Later)?;
        let tag = match &asking {
            None => comm.next_immediate(),
            Some(asking) => asking.tag_of_messages(),
        };
        let recorder = Recorder::new(comm);
        // SAFETY: both words live as long as the agreement, and only its steps touch them until it is complete.
        unsafe {
            if comm.is_inter() && comm.rank() == 0 {
                let other = recorder.across(0);
                let operand = Operand::predefined(UINT32_T.resolve("datatype")?, Predefined::Max)?;
                operand.swap(&recorder, other, own, theirs, 1)?;
                operand.apply(&recorder, theirs, own, 1);
            }
            isthmus_collective::bcast::run(&recorder, elements::bytes(own, width), 0)?;
        }
        let before = asking.map(|asking| asking.into_running());
        let running = Running::once(recorder.finish(), comm.team().share(), tag).after(before);
        Ok(Self { running, words })
    }

    /// Move on.
    pub fn advance(&mut self, inside: &mut Entered) -> Look {
        self.running.advance(inside)
    }

    /// The number. It must be complete.
    pub fn outcome(&mut self) -> Result<u32> {
        self.running.outcome()?;
        Ok(self.words[0].load(Ordering::Relaxed))
    }
}
