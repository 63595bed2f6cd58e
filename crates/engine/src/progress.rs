//! Progress: when things move, and what a thread does while they do not.
//!
//! Owns the lock and the token of the thread that is inside, waiting (spin, yield, block), the threads that wait, and work that goes
//! on in the background of any call.
//!
//! Offers: [`gate`] (enter), [`wait`] and [`waiters`] (wait until something has happened), [`background`], [`attend`] (a thread for
//! programs that compute), [`see_off`] (what calls leave behind).

pub(crate) mod attend;
pub(crate) mod awaited;
pub(crate) mod background;
pub(crate) mod gate;
pub(crate) mod see_off;
pub(crate) mod wait;
pub mod wait_limits;
pub(crate) mod waiters;
