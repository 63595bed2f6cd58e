//! Progress: when things move, and what a thread does while they do not.
//!
//! Owns the lock and the token of the thread that is inside, waiting (spin, yield, block), the threads that wait, and work that goes
//! on in the background of any call.
//!
//! Offers: [`gate`] (enter), [`wait`] and [`waiters`] (wait until something has happened), [`background`], [`thread`] (a thread that serves
//! ranks on other nodes while the program computes), [`first_frames`] (first frames of calls), [`placement`] (ranks leave CPUs that they share),
//! [`few_awake`] (when ranks that share CPUs do not).

pub(crate) mod awaited;
pub(crate) mod background;
pub(crate) mod few_awake;
pub(crate) mod first_frames;
pub(crate) mod gate;
pub(crate) mod placement;
pub(crate) mod thread;
pub(crate) mod wait;
pub(crate) mod waiters;
pub mod wakes;
