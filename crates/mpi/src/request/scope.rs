//! The communicators of live requests that are not plain, kept alive so that errors find their error handler after
//! `MPI_Comm_free`.
//!
//! Requests of one communicator share one counted entry. Counting here is plain arithmetic inside the engine, where a
//! clone of the `Arc` per request would be two locked instructions per non-blocking collective.

use std::sync::Arc;

use crate::comm::Comm;

/// A communicator that requests point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope(u32);

/// Every communicator that has live requests, and some that had.
pub(super) struct Scopes {
    held: Vec<HeldComm>,
    /// Which entry was used last; most likely the next too.
    latest: usize,
}

struct HeldComm {
    comm: Arc<Comm>,
    /// Requests that point here. At 0 the entry may be given to another communicator.
    requests: u32,
}

impl Scope {
    /// Of requests that belong to no communicator.
    pub const NONE: Self = Self(u32::MAX);
}

impl Scopes {
    pub const fn new() -> Self {
        Self {
            held: Vec::new(),
            latest: 0,
        }
    }

    /// One more request on `comm`.
    #[inline]
    pub fn hold(&mut self, comm: &Comm) -> Scope {
        match self.held.get_mut(self.latest) {
            Some(held) if std::ptr::eq(&*held.comm, comm) => {
                held.requests += 1;
                Scope(self.latest as u32)
            }
            _ => self.hold_another(comm),
        }
    }

    #[inline(never)]
    fn hold_another(&mut self, comm: &Comm) -> Scope {
        let known = self.held.iter().position(|held| std::ptr::eq(&*held.comm, comm));
        let at = match known {
            Some(at) => at,
            None => {
                // A communicator without a handle is the library's own; nobody sees its errors.
                let Ok(comm) = comm.handle().share("comm") else {
                    return Scope::NONE;
                };
                let fresh = HeldComm { comm, requests: 0 };
                match self.held.iter().position(|held| held.requests == 0) {
                    Some(at) => {
                        self.held[at] = fresh;
                        at
                    }
                    None => {
                        self.held.push(fresh);
                        self.held.len() - 1
                    }
                }
            }
        };
        self.held[at].requests += 1;
        self.latest = at;
        Scope(at as u32)
    }

    /// One request less. The communicator may still be looked up until another one takes its place.
    #[inline]
    pub fn release(&mut self, scope: Scope) {
        if let Some(held) = self.held.get_mut(scope.0 as usize) {
            held.requests -= 1;
        }
    }

    /// A communicator with live requests.
    pub fn find(&self, wanted: impl Fn(&Comm) -> bool) -> Option<Arc<Comm>> {
        let found = self.held.iter().find(|held| held.requests > 0 && wanted(&held.comm))?;
        Some(Arc::clone(&found.comm))
    }

    /// The communicator.
    pub fn comm(&self, scope: Scope) -> Option<Arc<Comm>> {
        self.held.get(scope.0 as usize).map(|held| Arc::clone(&held.comm))
    }
}
