//! Accesses as operations: driven to their end at once, or by a request.

use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SendError, channel};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use isthmus_collective::poll_inside;
use isthmus_engine::{Entered, rma, wait_until};
use isthmus_io::OFFLOADED;
use isthmus_io::memory::AccessMemory;
use isthmus_io::two_phase::{self, RankPart};
use isthmus_io::worker;
use isthmus_os::switches::Switch;
use isthmus_os::thread;

use super::datarep::Back;
use super::seen::Seen;
use super::stream::turn_of;
use super::{File, locked, mode};
use crate::completion::{Completing, Completion};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::process;
use crate::request::{self, Look, Operation, Request, Work};
use crate::status::Status;

/// Drive what members do together to its end. Blocks.
pub(super) fn drive<T: Send>(future: impl Future<Output = T> + Send) -> Result<T> {
    let mut future = pin!(future);
    Ok(wait_until(|inside| match poll_inside(future.as_mut(), inside) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    })?)
}

impl File {
    /// May this process make its part of a blocking collective access before the others have come? Programs count on it that a collective read sees
    /// what another rank has written before its call, and that a collective write changes nothing that another rank is still looking at by itself,
    /// its end for instance, though the standard promises both after a synchronisation only. All ranks of most programs look, or none.
    fn may_begin(&self, writes: bool) -> bool {
        let has_looked = self.has_looked.swap(false, Ordering::Relaxed);
        match writes {
            true => !has_looked,
            false => self.is(mode::RDONLY),
        }
    }
}

/// An access whose arguments have been looked at.
pub(super) struct FileAccess {
    pub file: Arc<File>,
    pub seen: Arc<Seen>,
    pub writes: bool,
    /// The call that makes it, as in `file_write`.
    pub call: &'static str,
    pub memory: AccessMemory,
    /// Byte of the view's data.
    pub position: u64,
    /// The conversion of the data that were read.
    pub back: Back,
}

/// How an access ended: how many bytes went to or came from the file, and the memory.
type Ended = (Result<u64>, AccessMemory);

impl FileAccess {
    /// Alone, now. Blocks as long as the device takes.
    pub fn run(self) -> Result<Status> {
        if !self.writes {
            self.file.looks();
        }
        if self.file.is_stream {
            return self.run_in_turn();
        }
        let (ended, back) = self.run_alone();
        back.finish(ended)
    }

    /// As [`Self::run`], of a file that cannot seek.
    fn run_in_turn(self) -> Result<Status> {
        let file = Arc::clone(&self.file);
        let seen = Arc::clone(&self.seen);
        let (from, to) = (self.position, self.position + self.memory.bytes());
        let (ended, back) = file.in_turn(&seen.view, from..to, || self.run_alone())?;
        back.finish(ended)
    }

    fn run_alone(self) -> (Ended, Back) {
        let hints = self.file.hints();
        let view = self.seen.view.before(self.position + self.memory.bytes());
        let access = isthmus_io::independent::Access {
            file: &*self.file.backend,
            view: &view,
            hints: &hints,
            gaps: hints.ds_read,
            locked: self.file.locks(),
        };
        let done = match self.writes {
            true => access.write(&self.memory, self.position).map(|()| {
                let bytes = self.memory.bytes();
                self.file
                    .record(self.call, self.file.phase(), &view, self.position, bytes);
                bytes
            }),
            false => access.read(&self.memory, self.position),
        };
        (
            (done.map_err(|failure| self.file.failed(failure)), self.memory),
            self.back,
        )
    }

    /// With all members; what is wrong with it here, or `Err` of what is wrong before that. `blocks`: the caller waits for it, so that this process may
    /// make its part at once (decision 222).
    pub fn together(
        access: Result<Self>,
        file: &Arc<File>,
        writes: bool,
        call: &'static str,
        blocks: bool,
    ) -> (impl Future<Output = Ended> + Send + 'static, Back) {
        let phase = file.phase().wrapping_add(1);
        let exchange = file.messages();
        let (refused, access) = match access {
            Ok(access) => (None, access),
            Err(error) => (
                Some(error),
                Self {
                    file: Arc::clone(file),
                    seen: file.seen(),
                    writes,
                    call,
                    memory: AccessMemory::owned(Vec::new()),
                    position: 0,
                    back: Back::Nothing,
                },
            ),
        };
        let Self {
            file,
            seen,
            writes,
            memory,
            position,
            back,
            ..
        } = access;
        let future = async move {
            if Switch::Check.is_on()
                && let Err(error) = exchange.compare(&file.path, call).await
            {
                return (Err(error), memory);
            }
            let hints = file.hints();
            let view = seen.view.before(position + memory.bytes());
            let part = RankPart {
                file: &*file.backend,
                path: &file.path,
                view: &view,
                hints: &hints,
                memory: &memory,
                position,
                locked: file.locks(),
                may_begin: blocks && file.may_begin(writes),
                refused,
            };
            let done = match writes {
                true => two_phase::write(&exchange, part)
                    .await
                    .inspect(|bytes| file.record(call, phase, &view, position, *bytes)),
                false => two_phase::read(&exchange, part).await,
            };
            (done, memory)
        };
        (future, back)
    }

    /// A request: short accesses are complete at once, longer ones are another thread's.
    pub fn launch(self) -> Result<Handle<Request>> {
        if !self.writes {
            self.file.looks();
        }
        let file = Arc::clone(&self.file);
        if file.is_stream {
            return self.launch_in_turn();
        }
        if self.memory.bytes() < OFFLOADED {
            let (ended, back) = self.run_alone();
            return Pending::new(Stage::Over(Some((ended, back))), file).launch();
        }
        let slot = Arc::new(Slot::default());
        let (place, me) = (Arc::clone(&slot), process::me());
        let job = move || {
            *locked(&place.ended) = Some(self.run_alone());
            // SYNC: file-access
            place.is_over.store(true, Ordering::Release);
            if let Some(me) = me {
                // There is such a process: it is this one.
                let _ = rma::wake(me);
            }
        };
        if let Err(job) = worker::give(Box::new(job)) {
            job();
        }
        Pending::new(Stage::Elsewhere(slot), file).launch()
    }

    /// A request, of a file that cannot seek: a thread of its own makes the access when its turn has come, since a pipe takes as long as its other side
    /// likes. Where the turns are told on another node, or there are no more threads, the access is made here. May block then.
    fn launch_in_turn(self) -> Result<Handle<Request>> {
        let file = Arc::clone(&self.file);
        let (from, to) = (self.position, self.position + self.memory.bytes());
        let Some(turn) = turn_of(&self.seen.view, from..to).filter(|_| file.shared.is_here()) else {
            return Pending::ended(self.run_in_turn(), file).launch();
        };
        let waiting = Waiting { access: self, turn };
        Pending::new(Stage::Turn(Box::new(waiting)), file).launch()
    }
}

/// An access that waits for its turn.
struct Waiting {
    access: FileAccess,
    /// From how many bytes that are to have gone through before, to how many that then have.
    turn: Range<i64>,
}

impl Waiting {
    /// How it goes on when its turn has come, or never comes. The thread is made now: only one access has its turn at a time.
    fn go_on(self, turn: Result<()>) -> Stage {
        let Self {
            access,
            turn: Range { end, .. },
        } = self;
        if let Err(error) = turn {
            return Stage::Over(Some(((Err(error), access.memory), access.back)));
        }
        let (give, come) = channel::<(FileAccess, Arc<Slot>)>();
        // Not started, it takes nothing.
        thread::start_quiet("isthmus-stream", move || {
            if let Ok((access, slot)) = come.recv() {
                let file = Arc::clone(&access.file);
                *locked(&slot.ended) = Some(access.run_alone());
                // All members are on this node: there is nothing that fails.
                let _ = file.shared.pass(end, &file.comm);
                // The last share in a file that is closed meanwhile is to be the program's.
                drop(file);
                // SYNC: file-access
                slot.is_over.store(true, Ordering::Release);
                if let Some(me) = process::me() {
                    let _ = rma::wake(me);
                }
            }
        });
        let slot = Arc::new(Slot::default());
        match give.send((access, Arc::clone(&slot))) {
            Ok(()) => Stage::Elsewhere(slot),
            Err(SendError((access, _))) => {
                let file = Arc::clone(&access.file);
                let ended = access.run_alone();
                let _ = file.shared.pass(end, &file.comm);
                Stage::Over(Some(ended))
            }
        }
    }
}

/// Where the thread that makes an access says how it ended.
#[derive(Default)]
struct Slot {
    is_over: AtomicBool,
    ended: Mutex<Option<(Ended, Back)>>,
}

/// How far an access is.
enum Stage {
    /// All members make it.
    Together(Pin<Box<dyn Future<Output = Ended> + Send>>, Option<Back>),
    /// Its turn at a file that cannot seek has not come.
    Turn(Box<Waiting>),
    /// Another thread makes it.
    Elsewhere(Arc<Slot>),
    /// It is over; how it ended, until what it read has been converted.
    Over(Option<(Ended, Back)>),
}

fn how_it_ended(ended: Option<&(Ended, Back)>) -> Look {
    match ended {
        Some(((Err(error), _), _)) if error.is_failure() => Look::PeerFailed,
        _ => Look::Complete,
    }
}

/// An access under way.
pub(super) struct Pending {
    stage: Stage,
    outcome: Option<Result<Status>>,
    file: Arc<File>,
}

impl Pending {
    fn new(stage: Stage, file: Arc<File>) -> Self {
        Self {
            stage,
            outcome: None,
            file,
        }
    }

    /// One that is over.
    pub fn ended(outcome: Result<Status>, file: Arc<File>) -> Self {
        Self {
            stage: Stage::Over(None),
            outcome: Some(outcome),
            file,
        }
    }

    /// An access of all members, that has not begun.
    pub fn together(access: Result<FileAccess>, file: &Arc<File>, writes: bool, call: &'static str) -> Self {
        let (future, back) = FileAccess::together(access, file, writes, call, false);
        Self::new(Stage::Together(Box::pin(future), Some(back)), Arc::clone(file))
    }

    /// Begin it, and make a request of it.
    pub fn launch(mut self) -> Result<Handle<Request>> {
        request::launch(None, |inside| {
            self.advance(inside);
            Ok(Work::Other(Box::new(self)))
        })
    }

    /// Begin it, and leave it to itself: nobody waits for it here, but others do.
    pub fn detach(self) {
        request::detach(Box::new(self));
    }

    /// The error of the request: the file's error handler is to hear of it.
    #[cold]
    fn of_file(&self, error: Error) -> Error {
        let completion = Completion {
            errhandler: Some((self.file.errhandler(), self.file.handle().raw())),
            ..Completion::of(&error)
        };
        error.completing(completion)
    }
}

impl Operation for Pending {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        if let Stage::Turn(waiting) = &self.stage {
            let Some(turn) = self.file.shared.has_come(waiting.turn.start, inside, &self.file.comm) else {
                return Look::Pending;
            };
            if let Stage::Turn(waiting) = std::mem::replace(&mut self.stage, Stage::Over(None)) {
                self.stage = waiting.go_on(turn);
            }
            if let Stage::Over(ended) = &self.stage {
                inside.notice();
                return how_it_ended(ended.as_ref());
            }
        }
        let ended = match &mut self.stage {
            Stage::Turn(_) => return Look::Pending,
            Stage::Together(future, back) => match poll_inside(future.as_mut(), inside) {
                Poll::Ready(ended) => Some((ended, back.take().unwrap_or(Back::Nothing))),
                Poll::Pending => return Look::Pending,
            },
            Stage::Elsewhere(slot) => {
                // SYNC: file-access
                if !slot.is_over.load(Ordering::Acquire) {
                    return Look::Pending;
                }
                inside.notice();
                locked(&slot.ended).take()
            }
            Stage::Over(_) => return Look::Complete,
        };
        let look = how_it_ended(ended.as_ref());
        self.stage = Stage::Over(ended);
        look
    }

    fn outcome(&mut self) -> Result<Status> {
        if let Stage::Over(ended) = &mut self.stage
            && let Some((ended, back)) = ended.take()
        {
            self.outcome = Some(back.finish(ended));
        }
        match self.outcome.clone() {
            Some(Err(error)) => Err(self.of_file(error)),
            Some(Ok(status)) => Ok(status),
            None => Ok(Status::EMPTY),
        }
    }

    fn is_autonomous(&self) -> bool {
        !matches!(self.stage, Stage::Over(_))
    }

    fn is_not_cancellable(&self) -> bool {
        matches!(self.stage, Stage::Together(..))
    }
}
