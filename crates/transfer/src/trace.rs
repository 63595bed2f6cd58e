//! A wrapper that tells of each call.

use std::ops::Range;
use std::time::Duration;

use isthmus_os::clock;

use crate::layout::Layout;
use crate::stream::{Drain, Feed};
use crate::transfer::{Direction, Interrupted, Pending, Shape, Transfer};

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// Which way.
    pub direction: Direction,
    /// The range to move.
    pub shape: Shape,
    /// How long it took.
    pub took: Duration,
    /// How it went.
    pub outcome: Result<(), Interrupted>,
}

impl Event {
    /// Bytes that are where they should be.
    pub fn moved(&self) -> u64 {
        self.outcome.map_or_else(|stopped| stopped.done, |()| self.shape.bytes)
    }
}

/// Calls `sink` after each pull and push; otherwise it is what it wraps.
#[derive(Debug)]
pub struct Trace<T> {
    inner: T,
    sink: fn(&Event),
}

impl<T> Trace<T> {
    /// Tell `sink`, which runs inside the call: it must not wait.
    pub fn new(inner: T, sink: fn(&Event)) -> Self {
        Self { inner, sink }
    }

    /// Tell of a step of a stream that moved something, or failed.
    fn timed_stream(
        sink: fn(&Event),
        (mechanism, direction): (&'static str, Direction),
        call: impl FnOnce() -> Result<u64, Interrupted>,
    ) -> Result<u64, Interrupted> {
        let before = clock::now();
        let moved = call();
        if moved != Ok(0) {
            sink(&Event {
                mechanism,
                direction,
                shape: Shape::contiguous(moved.unwrap_or_else(|stopped| stopped.done)),
                took: clock::now() - before,
                outcome: moved.map(drop),
            });
        }
        moved
    }
}

impl<T: Transfer> Trace<T> {
    fn timed(
        &self,
        direction: Direction,
        shape: Shape,
        call: impl FnOnce() -> Result<(), Interrupted>,
    ) -> Result<(), Interrupted> {
        let before = clock::now();
        let outcome = call();
        let event = Event {
            mechanism: self.inner.name(),
            direction,
            shape,
            took: clock::now() - before,
            outcome,
        };
        (self.sink)(&event);
        outcome
    }
}

impl Feed for Trace<Box<dyn Feed>> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn lends(&self) -> bool {
        self.inner.lends()
    }

    unsafe fn feed(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        let what = (self.inner.name(), Direction::Push);
        // SAFETY: the caller's promise.
        Self::timed_stream(self.sink, what, || unsafe { self.inner.feed(local, range) })
    }
}

impl Drain for Trace<Box<dyn Drain>> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    unsafe fn drain(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        let what = (self.inner.name(), Direction::Pull);
        // SAFETY: the caller's promise.
        Self::timed_stream(self.sink, what, || unsafe { self.inner.drain(local, range) })
    }
}

impl<T: Transfer> Transfer for Trace<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        let shape = Shape::of(local, remote, &range);
        // SAFETY: the caller's promise.
        self.timed(Direction::Pull, shape, || unsafe {
            self.inner.pull(remote, local, range)
        })
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        let shape = Shape::of(local, remote, &range);
        // SAFETY: the caller's promise.
        self.timed(Direction::Push, shape, || unsafe {
            self.inner.push(local, remote, range)
        })
    }

    /// What begins it tells of its end.
    unsafe fn pull_later(
        &self,
        remote: &Layout<'_>,
        local: &Layout<'_>,
        range: Range<u64>,
    ) -> Option<Result<Pending, Interrupted>> {
        // SAFETY: the caller's promise.
        unsafe { self.inner.pull_later(remote, local, range) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Fault, Plan};
    use std::sync::Mutex;

    static SEEN: Mutex<Vec<Event>> = Mutex::new(Vec::new());

    fn see(event: &Event) {
        SEEN.lock().expect("no test panics with it").push(*event);
    }

    #[test]
    fn each_call_is_told_of_with_what_it_moved() {
        let plan: &'static Plan = Box::leak(Box::new(Plan::parse("push:EFAULT:at=3").expect("a plan")));
        let traced = Trace::new(Fault::new(crate::cma::tests::myself(), plan), see);
        let (from, mut to) = ([1u8; 10], [0u8; 10]);
        let (a, b) = (Layout::local(from.as_ptr(), 10), Layout::local(to.as_mut_ptr(), 10));
        // SAFETY: both are ours.
        let outcomes = unsafe { [traced.pull(&a, &b, 2..10), traced.push(&a, &b, 0..5)] };
        let seen = SEEN.lock().expect("no test panics with it");
        assert_eq!(seen.len(), 2);
        for (event, outcome) in seen.iter().zip(outcomes) {
            assert_eq!((event.mechanism, event.outcome), ("cma", outcome));
        }
        assert_eq!((seen[0].direction, seen[0].moved()), (Direction::Pull, 8));
        assert_eq!((seen[1].direction, seen[1].moved()), (Direction::Push, 3));
        assert_eq!(seen[1].shape, Shape::contiguous(5));
    }
}
