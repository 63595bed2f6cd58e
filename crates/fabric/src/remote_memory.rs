//! Memory that peers read and write: the buffer of one message, registered for as long as that is under way, or the region of a window, until
//! it is no more.
//!
//! Exposed memory is withdrawn before it is freed. Memory that is
//! registered again and again, libfabric keeps in a cache of its own, which watches what is unmapped, for the providers for which that is
//! dear (docs/decisions/0082).

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::{self, Mr, MsgRma, RmaIov};
use crate::endpoint::{Destination, Endpoint, Sent};
use crate::operations::OperationKind;
use crate::{Error, Result};

/// Keys that may be taken before one is free.
const TRIES: u32 = 8;

/// Memory that peers who know its key may read, or read and write. It stays so until it is [withdrawn](Endpoint::withdraw).
#[derive(Debug)]
pub struct Exposed {
    region: NonNull<Mr>,
    key: u64,
}

// SAFETY: as the endpoint, used by one thread at a time.
unsafe impl Send for Exposed {}

impl Exposed {
    /// What peers name it by.
    pub fn key(&self) -> u64 {
        self.key
    }
}

impl Endpoint {
    /// Can memory of others be read?
    pub fn can_read(&self) -> bool {
        self.offer.has_rma()
    }

    /// Are keys as they are chosen here? Not where the provider picks them.
    pub fn takes_keys(&self) -> bool {
        let (mode, bits) = self.offer.registration();
        mode & abi::MR_PROV_KEY == 0 && bits == 64
    }

    /// Let peers read `length` bytes at `at`. `key` is random: any process that knows it may read; a provider that picks keys
    /// itself (`FI_MR_PROV_KEY`) takes no notice of it. Does not block, but for as long as the provider
    /// takes to pin memory.
    ///
    /// # Errors
    /// If the provider has no room for it.
    ///
    /// # Safety
    /// The bytes must stay readable until this is [withdrawn](Self::withdraw).
    pub unsafe fn expose(&mut self, at: *const u8, length: usize, key: u64) -> Result<Exposed> {
        // SAFETY: the caller's promise.
        unsafe { self.expose_for(at, length, key, abi::REMOTE_READ) }
    }

    /// As [`Self::expose`], and let peers [write](Self::write) there.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// The bytes must stay, and be nobody's who minds, until this is [withdrawn](Self::withdraw).
    pub unsafe fn expose_to_writes(&mut self, at: *mut u8, length: usize, key: u64) -> Result<Exposed> {
        // SAFETY: the caller's promise.
        unsafe { self.expose_for(at, length, key, abi::REMOTE_READ | abi::REMOTE_WRITE) }
    }

    /// # Safety
    /// As for the two above.
    unsafe fn expose_for(&mut self, at: *const u8, length: usize, key: u64, access: u64) -> Result<Exposed> {
        let (_, bits) = self.offer.registration();
        let mut key = if bits < 64 { key & ((1 << bits) - 1) } else { key };
        for _ in 0..TRIES {
            // SAFETY: the caller's promise.
            match unsafe { self.register_memory(at, length, access, key) } {
                Err(Error::Failed { errno, .. }) if errno as isize == abi::ENOKEY => key = key.wrapping_add(1),
                region => {
                    let region = region?;
                    // SAFETY: just made, and whole.
                    let key = unsafe { region.as_ref() }.key;
                    return Ok(Exposed { region, key });
                }
            }
        }
        Err(self.library.failed("fi_mr_reg", -abi::ENOKEY))
    }

    /// Nobody may read it any more.
    pub fn withdraw(&mut self, exposed: Exposed) {
        close(exposed.region);
    }

    /// Read `length` bytes, `offset` bytes into what a peer has exposed by this key and begins there at `address`, to `into`. An event tells
    /// `number` when it is over.
    ///
    /// # Errors
    /// If the way there is closed, or the memory cannot be registered.
    ///
    /// # Safety
    /// There must be as many bytes, which nobody else touches until the event.
    pub unsafe fn read(
        &mut self,
        from: Destination,
        (key, address, offset): (u64, u64, u64),
        (into, length): (*mut u8, usize),
        number: u64,
    ) -> Result<Sent> {
        let ep = self.reader()?.as_ptr();
        // SAFETY: the caller's promise.
        let (index, operation, description) = unsafe { self.prepare(into, length, abi::READ, number) }?;
        let remote = self.remote_address(address).wrapping_add(offset);
        let from = from.address();
        // SAFETY: an open endpoint with RMA; the caller's promise for the bytes; the operation stays ours until its completion.
        let code = unsafe { ((*(*ep).rma).read)(ep, into.cast(), length, description, from, remote, key, operation) };
        self.begun(index, "fi_read", code)
    }

    /// The other way round: write `length` bytes to what a peer has [exposed to writes](Self::expose_to_writes). The event comes when the
    /// peer has them.
    ///
    /// # Errors
    /// As for [`Self::read`].
    ///
    /// # Safety
    /// The bytes must stay as they are until the event.
    pub unsafe fn write(
        &mut self,
        to: Destination,
        (key, address, offset): (u64, u64, u64),
        (from, length): (*mut u8, usize),
        number: u64,
    ) -> Result<Sent> {
        // SAFETY: the caller's promise.
        let (index, operation, mut description) = unsafe { self.prepare(from, length, abi::WRITE, number) }?;
        let here = libc::iovec {
            iov_base: from.cast(),
            iov_len: length,
        };
        let there = RmaIov {
            addr: self.remote_address(address).wrapping_add(offset),
            len: length,
            key,
        };
        let message = MsgRma {
            msg_iov: &raw const here,
            desc: &raw mut description,
            iov_count: 1,
            addr: to.address(),
            rma_iov: &raw const there,
            rma_iov_count: 1,
            context: operation,
            data: 0,
        };
        // SAFETY: as for reads; the message is the provider's for the call only.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            ((*(*ep).rma).writemsg)(ep, &raw const message, abi::COMPLETION | abi::DELIVERY_COMPLETE)
        };
        self.begun(index, "fi_writemsg", code)
    }

    /// What the provider counts offsets from, where the peer's memory begins at this address.
    fn remote_address(&self, address: u64) -> u64 {
        let (mode, _) = self.offer.registration();
        if mode & abi::MR_VIRT_ADDR == 0 { 0 } else { address }
    }

    /// An operation with its number, and what the provider wants to know of the memory here.
    ///
    /// # Safety
    /// The bytes must stay until the operation is over.
    unsafe fn prepare(
        &mut self,
        at: *mut u8,
        length: usize,
        access: u64,
        number: u64,
    ) -> Result<(usize, *mut c_void, *mut c_void)> {
        let index = match self.operations.take_read() {
            Some(index) => index,
            None => {
                self.make(OperationKind::Read)?;
                self.operations.take_read().expect("just made")
            }
        };
        let (mode, _) = self.offer.registration();
        let mut region = None;
        if mode & abi::MR_LOCAL != 0 {
            // SAFETY: the caller's promise.
            match unsafe { self.register_memory(at, length, access, index as u64) } {
                Ok(made) => region = Some(made),
                Err(error) => {
                    self.operations.free(index);
                    return Err(error);
                }
            }
        }
        let operation = self.operations.at(index);
        operation.number = number;
        operation.region = region;
        let operation: *mut c_void = std::ptr::from_mut(operation).cast();
        // SAFETY: a region that was just made.
        let description = region.map_or(std::ptr::null_mut(), |region| unsafe { region.as_ref() }.mem_desc);
        Ok((index, operation, description))
    }

    fn begun(&mut self, index: usize, call: &'static str, code: isize) -> Result<Sent> {
        if code == 0 {
            self.operations.at(index).under_way = true;
            return Ok(Sent::Going);
        }
        self.end_read(index);
        match -code == abi::EAGAIN {
            true => Ok(Sent::Busy),
            false => Err(self.library.failed(call, code)),
        }
    }

    /// The operation of a read is free again: the read's number.
    pub(crate) fn end_read(&mut self, index: usize) -> u64 {
        let operation = self.operations.at(index);
        operation.region.take().into_iter().for_each(close);
        let number = operation.number;
        self.operations.free(index);
        number
    }

    /// # Safety
    /// The bytes must stay until the region is closed.
    unsafe fn register_memory(&self, at: *const u8, length: usize, access: u64, key: u64) -> Result<NonNull<Mr>> {
        let (mode, _) = self.offer.registration();
        let mut region: *mut Mr = std::ptr::null_mut();
        // SAFETY: the domain lives; the caller's promise for the bytes; a region is bound and enabled where the provider wants it.
        unsafe {
            let domain = self.domain.as_ptr();
            let (at, made) = (at.cast(), &raw mut region);
            let code = ((*(*domain).mr).reg)(domain.cast(), at, length, access, 0, key, 0, made, std::ptr::null_mut());
            self.library.check("fi_mr_reg", code)?;
            if mode & abi::MR_ENDPOINT != 0 {
                let ops = (*region).fid.ops;
                let bound = ((*ops).bind)(region.cast(), self.ep.as_ptr().cast(), 0);
                let enabled = match bound {
                    0 => ((*ops).control)(region.cast(), abi::ENABLE, std::ptr::null_mut()),
                    code => code,
                };
                if enabled < 0 {
                    close(NonNull::new_unchecked(region));
                }
                self.library.check("fi_mr_enable", enabled)?;
            }
        }
        NonNull::new(region).ok_or_else(|| self.library.failed("fi_mr_reg", -22))
    }
}

fn close(region: NonNull<Mr>) {
    // SAFETY: a region that lives, and is not used after this.
    unsafe { ((*region.as_ref().fid.ops).close)(region.as_ptr().cast()) };
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use crate::endpoint::tests::pair;
    use crate::{Event, Sent};

    /// A closed endpoint ends its reads: their memory may be used for something else.
    #[test]
    fn a_closed_endpoint_writes_nothing_any_more() {
        let wanted = crate::provider::ProviderFilter {
            interface: Some([127, 0, 0, 1].into()),
            ..crate::provider::ProviderFilter::default()
        };
        let Some((frames, _)) = pair() else { return };
        if !frames.can_read() {
            return;
        }
        const LENGTH: usize = 4 << 20;
        let open = || crate::Endpoint::open_for_memory(&wanted).expect("as the one above");
        let (mut one, mut other) = (open(), open());
        let theirs = vec![7_u8; LENGTH];
        let mut ours = vec![0_u8; LENGTH];
        // SAFETY: `theirs` lives longer than the endpoint.
        let exposed = unsafe { other.expose(theirs.as_ptr(), LENGTH, 5) }.expect("memory to register");
        let from = one.resolve(other.name()).expect("a name");
        let remote = (exposed.key(), theirs.as_ptr() as u64, 0);
        let began = Instant::now();
        // SAFETY: `ours` lives longer than the endpoint.
        while unsafe { one.read(from, remote, (ours.as_mut_ptr(), LENGTH), 1) }.expect("an open way") == Sent::Busy {
            assert!(began.elapsed() < Duration::from_secs(20), "no connection");
            for endpoint in [&mut one, &mut other] {
                assert!(endpoint.poll().expect("a working endpoint").is_none());
            }
        }
        while !ours.contains(&7) {
            assert!(began.elapsed() < Duration::from_secs(20), "nothing comes");
            for endpoint in [&mut other, &mut one] {
                let _ = endpoint.poll().expect("a working endpoint");
            }
        }
        drop(one);
        ours.fill(0);
        for _ in 0..1000 {
            let _ = other.poll();
        }
        assert!(!ours.contains(&7));
        other.withdraw(exposed);
    }

    /// Pieces of a peer's memory, read one after the other; the peer only makes progress.
    #[test]
    fn memory_of_a_peer_is_read() {
        let Some((mut one, mut other)) = pair() else { return };
        if !one.can_read() {
            eprintln!("not run: {} does not read", one.provider());
            return;
        }
        const LENGTH: usize = 1 << 20;
        let theirs: Vec<u8> = (0..LENGTH).map(|at| (at * 7 + at / 256) as u8).collect();
        let mut ours = vec![0_u8; LENGTH];
        let from = one.resolve(other.name()).expect("a name");
        for key in [5, 5 + (1 << 40)] {
            // SAFETY: withdrawn below, and `theirs` lives longer.
            let exposed = unsafe { other.expose(theirs.as_ptr(), LENGTH, key) }.expect("memory to register");
            ours.fill(0);
            let (mut next, mut done) = (0, 0);
            let began = Instant::now();
            while done < LENGTH {
                assert!(began.elapsed() < Duration::from_secs(20), "{done} bytes were read");
                let length = (LENGTH - next).min(100_000);
                if length > 0 {
                    let remote = (exposed.key(), theirs.as_ptr() as u64, next as u64);
                    let into = ours.as_mut_ptr().wrapping_add(next);
                    // SAFETY: within `ours`, at which nobody looks until all is read.
                    match unsafe { one.read(from, remote, (into, length), next as u64) }.expect("an open way") {
                        Sent::Going => next += length,
                        Sent::Busy => {}
                    }
                }
                match one.poll().expect("a working endpoint") {
                    Some(Event::Read(at, result)) => {
                        result.expect("memory that is exposed");
                        done += (LENGTH - at as usize).min(100_000);
                    }
                    Some(event) => panic!("{event:?}"),
                    None => {}
                }
                assert!(other.poll().expect("a working endpoint").is_none(), "nothing is sent");
            }
            assert!(ours == theirs);
            other.withdraw(exposed);
        }
    }
}
