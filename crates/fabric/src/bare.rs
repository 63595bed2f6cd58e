//! The provider without anything of ours around it: sends and receives of whole buffers, one call each, as `fi_pingpong` makes them. For
//! measurements only, which compare what we make of the provider with it.

use std::ffi::c_void;

use crate::abi::{self, CqEntry};
use crate::endpoint::{BATCH, Destination, Endpoint, Sent};
use crate::operations::{FIRST_SEND, OperationKind, RECEIVES, SENDS};
use crate::provider::ProviderFilter;
use crate::{Error, Result};

/// One endpoint, and what is under way.
#[derive(Debug)]
pub struct Bare {
    endpoint: Endpoint,
    /// Sends and receives that were begun.
    begun: [usize; 2],
    /// And are over.
    over: [usize; 2],
}

/// So many sends may be under way, and so many receives.
pub const DEPTH: usize = if SENDS < RECEIVES { SENDS } else { RECEIVES };

impl Bare {
    /// As [`Endpoint::open`], but for providers that want no memory registered.
    ///
    /// # Errors
    /// As there, or if the provider does.
    pub fn open(wanted: &ProviderFilter) -> Result<Self> {
        let mut endpoint = Endpoint::open_without_receives(wanted)?;
        if endpoint.operations.description(FIRST_SEND).is_null() {
            endpoint.forget_buffers();
            return Ok(Self {
                endpoint,
                begun: [0; 2],
                over: [0; 2],
            });
        }
        Err(Error::NoProvider(format!(
            "{} wants memory registered, which the bare loop does not do",
            endpoint.provider()
        )))
    }

    /// What others reach it by.
    pub fn name(&self) -> &[u8] {
        self.endpoint.name()
    }

    /// The provider.
    pub fn provider(&self) -> String {
        self.endpoint.provider()
    }

    /// As [`Endpoint::resolve`].
    ///
    /// # Errors
    /// If it is no name of this provider's.
    pub fn resolve(&mut self, name: &[u8]) -> Result<Destination> {
        self.endpoint.resolve(name)
    }

    /// Sends that are over.
    pub fn sent(&self) -> usize {
        self.over[0]
    }

    /// Receives that are over.
    pub fn received(&self) -> usize {
        self.over[1]
    }

    /// Begin to send. Busy: after some progress.
    ///
    /// # Errors
    /// If the way there is closed.
    ///
    /// # Safety
    /// The bytes must stay as they are until so many sends are [over](Self::sent) as were begun.
    pub unsafe fn send(&mut self, bytes: *const u8, length: usize, to: Destination) -> Result<Sent> {
        if self.begun[0] - self.over[0] == DEPTH {
            return Ok(Sent::Busy);
        }
        let context = self.context(FIRST_SEND + self.begun[0] % DEPTH);
        // SAFETY: the caller's promise; the operation is not under way.
        let code = unsafe {
            let ep = self.endpoint.ep.as_ptr();
            let none = std::ptr::null_mut();
            ((*(*ep).msg).send)(ep, bytes.cast(), length, none, to.address(), context)
        };
        self.begin(0, "fi_send", code)
    }

    /// Begin to receive. Busy: after some progress.
    ///
    /// # Errors
    /// If the endpoint has failed.
    ///
    /// # Safety
    /// The bytes must be nobody else's until so many receives are [over](Self::received) as were begun.
    pub unsafe fn receive(&mut self, bytes: *mut u8, length: usize) -> Result<Sent> {
        if self.begun[1] - self.over[1] == DEPTH {
            return Ok(Sent::Busy);
        }
        let context = self.context(self.begun[1] % DEPTH);
        // SAFETY: the caller's promise; the operation is not under way.
        let code = unsafe {
            let ep = self.endpoint.ep.as_ptr();
            let none = std::ptr::null_mut();
            ((*(*ep).msg).recv)(ep, bytes.cast(), length, none, abi::ADDR_UNSPEC, context)
        };
        self.begin(1, "fi_recv", code)
    }

    fn context(&mut self, index: usize) -> *mut c_void {
        std::ptr::from_mut(self.endpoint.operations.at(index)).cast()
    }

    fn begin(&mut self, kind: usize, call: &'static str, code: isize) -> Result<Sent> {
        match code {
            0 => {
                self.begun[kind] += 1;
                Ok(Sent::Going)
            }
            code if -code == abi::EAGAIN => Ok(Sent::Busy),
            code => Err(self.endpoint.library.failed(call, code)),
        }
    }

    /// Let the provider do its work. Does not block.
    ///
    /// # Errors
    /// If anything has failed.
    pub fn progress(&mut self) -> Result<()> {
        let empty = CqEntry {
            context: std::ptr::null_mut(),
            flags: 0,
            length: 0,
        };
        let mut entries = [empty; BATCH];
        // SAFETY: the queue's format is that of the entries, of which there are as many as we say.
        let count = unsafe {
            let cq = self.endpoint.queue.cq.as_ptr();
            ((*(*cq).ops).read)(cq, entries.as_mut_ptr().cast(), BATCH)
        };
        if count < 0 && -count != abi::EAGAIN {
            return Err(self.endpoint.library.failed("fi_cq_read", count));
        }
        for entry in &entries[..count.max(0) as usize] {
            let operations = &self.endpoint.operations;
            match operations.index_of(entry.context).map(|index| operations.kind(index)) {
                Some(OperationKind::Receive) => self.over[1] += 1,
                Some(OperationKind::Send) => self.over[0] += 1,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn whole_buffers_go() {
        let wanted = ProviderFilter {
            interface: Some([127, 0, 0, 1].into()),
            ..ProviderFilter::default()
        };
        let (mut one, mut other) = match (Bare::open(&wanted), Bare::open(&wanted)) {
            (Ok(one), Ok(other)) => (one, other),
            (one, other) => return eprintln!("not run: {:?} {:?}", one.err(), other.err()),
        };
        const LENGTH: usize = 300_000;
        let there = one.resolve(other.name()).expect("a name");
        let from: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
        let mut into = vec![0_u8; LENGTH];
        let began = Instant::now();
        let (mut sent, mut posted) = (0, 0);
        while one.sent() < 3 || other.received() < 3 {
            assert!(began.elapsed() < Duration::from_secs(20), "{one:?} {other:?}");
            // SAFETY: both vectors live to the end of this function, and are looked at after the last receive.
            unsafe {
                if posted < 3 {
                    posted +=
                        usize::from(other.receive(into.as_mut_ptr(), LENGTH).expect("an endpoint") == Sent::Going);
                }
                if sent < 3 {
                    sent += usize::from(one.send(from.as_ptr(), LENGTH, there).expect("a way") == Sent::Going);
                }
            }
            one.progress().expect("progress");
            other.progress().expect("progress");
        }
        assert!(from == into);
    }
}
