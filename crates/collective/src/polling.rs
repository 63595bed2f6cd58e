//! Algorithms that go on later: futures that are polled whenever progress is made, from inside the engine.
//!
//! No thread is woken by a waker: threads wait on the rank's doorbell. So the waker only carries the token of
//! the thread that is inside, for what an algorithm asks of the engine.

use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use isthmus_engine::Entered;

static WAKER: RawWakerVTable = RawWakerVTable::new(|data| RawWaker::new(data, &WAKER), |_| {}, |_| {}, |_| {});

/// Let a future go on as far as it can without waiting.
#[inline]
pub fn poll_inside<F: Future + ?Sized>(future: Pin<&mut F>, inside: &mut Entered) -> Poll<F::Output> {
    // SAFETY: none of the functions does anything with the data.
    let waker = ManuallyDrop::new(unsafe { Waker::new(std::ptr::from_mut(inside).cast(), &WAKER) });
    future.poll(&mut Context::from_waker(&waker))
}

/// The token of the thread that polls: for futures that are polled by [`poll_inside`] and nothing else.
#[inline]
pub fn token<'a>(context: &'a mut Context<'_>) -> &'a mut Entered {
    let waker = context.waker();
    assert!(
        std::ptr::eq(waker.vtable(), &raw const WAKER),
        "polled by another executor"
    );
    // SAFETY: the data is the token that `poll_inside` was given for itself alone; the polling thread holds the one context, which
    // is borrowed as long as the token.
    unsafe { &mut *waker.data().cast_mut().cast::<Entered>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "polled by another executor")]
    fn foreign_threads_have_no_token() {
        token(&mut Context::from_waker(Waker::noop()));
    }
}
