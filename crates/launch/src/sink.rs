//! Standard output and standard error of `mpiexec`, each written by a thread of its own: their reader may stop reading (`| less`), and
//! the loop that watches the job goes on all the same.
//!
//! What a loop passes on is bounded: it asks for [`room`] before it takes more from a rank. Lines of our own are few, and always taken.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use isthmus_os::stdio;

/// Where bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// To standard output.
    Out,
    /// To standard error.
    Err,
}

/// Bytes that may wait to be written before [`room`] has to be waited for.
const MOST: usize = 1 << 20;
/// The stack of a thread that only writes.
const STACK: usize = 64 << 10;

struct Sink {
    state: Mutex<State>,
    /// Something waits to be written, or nothing does any more.
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of what waits and of what is being written.
    bytes: usize,
    /// There is a thread.
    is_begun: bool,
    failure: Option<io::Error>,
    /// Dropped when there is room, which shows at the other end.
    no_room: Option<PipeWriter>,
}

static SINKS: [Sink; 2] = [const {
    Sink {
        state: Mutex::new(State {
            waiting: VecDeque::new(),
            bytes: 0,
            is_begun: false,
            failure: None,
            no_room: None,
        }),
        changed: Condvar::new(),
    }
}; 2];

/// From now on threads write, if the machine lets us have them; before, and else, [`put`] blocks. Signals that are taken over must be by now.
pub fn begin() {
    for stream in [Stream::Out, Stream::Err] {
        let begun = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || SINKS[stream as usize].write_all(stream));
        SINKS[stream as usize].lock().is_begun = begun.is_ok();
    }
}

/// Write these bytes, after all that were put there before. Does not block once it is [`begin`].
pub fn put(stream: Stream, bytes: Vec<u8>) {
    let sink = &SINKS[stream as usize];
    let mut state = sink.lock();
    if !state.is_begun {
        let written = write(stream, &bytes);
        return state.keep(written);
    }
    state.bytes += bytes.len();
    state.waiting.push_back(bytes);
    sink.changed.notify_all();
}

/// May more be passed on to this stream? If not: what can be read once it may.
pub fn room(stream: Stream) -> Result<(), PipeReader> {
    let mut state = SINKS[stream as usize].lock();
    if state.bytes < MOST {
        return Ok(());
    }
    // Where no descriptor is left more waits than should.
    let Ok((reader, writer)) = io::pipe() else {
        return Ok(());
    };
    state.no_room = Some(writer);
    Err(reader)
}

/// Why something could not be written to standard output or standard error, once.
pub fn failure() -> Option<io::Error> {
    SINKS.iter().find_map(|sink| sink.lock().failure.take())
}

/// Blocks until all that was put to these streams is written, for so long at most. False: it is not.
pub fn finish(streams: &[Stream], limit: Duration) -> bool {
    let end = Instant::now() + limit;
    streams.iter().all(|stream| {
        let sink = &SINKS[*stream as usize];
        let left = end.saturating_duration_since(Instant::now());
        let waited = sink
            .changed
            .wait_timeout_while(sink.lock(), left, |state| state.bytes > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.bytes == 0
    })
}

impl Sink {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its thread does, until the process ends.
    fn write_all(&self, stream: Stream) {
        loop {
            let waits = self.changed.wait_while(self.lock(), |state| state.waiting.is_empty());
            let bytes = waits.unwrap_or_else(PoisonError::into_inner).waiting.pop_front();
            let bytes = bytes.unwrap_or_default();
            let written = write(stream, &bytes);
            let mut state = self.lock();
            state.keep(written);
            state.bytes -= bytes.len();
            if state.bytes < MOST {
                state.no_room = None;
            }
            self.changed.notify_all();
        }
    }
}

impl State {
    fn keep(&mut self, written: io::Result<()>) {
        match written {
            // A reader that has gone away (`| head`) is no reason to stop draining the ranks.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(self.failure.get_or_insert(error)),
            _ => {}
        }
    }
}

fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Out => stdio::output().write_all(bytes),
        Stream::Err => stdio::errors().write_all(bytes),
    }
}
