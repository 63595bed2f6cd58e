//! Progress: when things move, and what a thread does while they do not.
//!
//! Owns the lock and the token of the thread that is inside, waiting (spin, yield, block), the threads that wait, and work that goes
//! on in the background of any call.
//!
//! Offers: [`gate`] (enter), [`wait`] and [`waiters`] (wait until something has happened), [`background`], [`thread`] (a thread that serves
//! ranks on other nodes while the program computes), [`first_frames`] (first frames of calls), [`placement`] (ranks leave CPUs that they share),
//! [`beside_others`] (when ranks that share CPUs do not, or sleep at once).

pub(crate) mod awaited;
pub(crate) mod background;
pub(crate) mod beside_others;
pub(crate) mod first_frames;
pub(crate) mod gate;
pub(crate) mod placement;
pub(crate) mod thread;
pub(crate) mod wait;
pub(crate) mod waiters;
pub mod wakes;
