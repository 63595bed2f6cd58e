//! One endpoint: frames to and from any other endpoint of the job.

use std::ffi::c_void;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use crate::abi::{self, Av, AvAttr, Cq, CqEntry, CqErrEntry, Domain, Ep, Fabric, Fid, Info, Mr};
use crate::library::Library;
use crate::operations::{Chunk, FRAME, OperationKind, Operations, SENDS};
use crate::provider::{Offer, ProviderFilter};
use crate::queue::Queue;
use crate::{Error, Result};

/// Bytes of the longest name of an endpoint that peers are told.
pub const MAX_NAME: usize = 112;
/// Completions taken at a time.
pub(crate) const BATCH: usize = 16;

/// Where frames go: an endpoint that was [resolved](Endpoint::resolve).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination(u64);

impl Destination {
    pub(crate) fn address(self) -> u64 {
        self.0
    }
}

/// The buffer of a frame, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame(usize);

/// What became of a frame that was to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It goes.
    Going,
    /// The provider is busy, connecting perhaps: try again after some progress.
    Busy,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// A frame came: so many bytes of its buffer, which is the caller's until it [gives it back](Endpoint::give_back).
    Received(Frame, usize),
    /// A frame could not be delivered: the connection to its destination has ended. Frames that went there before may be lost, too; of those
    /// nothing more is said.
    Lost(Destination, Error),
    /// The [read](Endpoint::read) or [write](Endpoint::write) of this number is over, or has failed: then any part of its bytes may be there.
    Read(u64, Result<()>),
}

/// The state of one destination.
#[derive(Debug, Clone, Copy, Default)]
struct DestinationState {
    /// Something went there.
    delivered: bool,
    /// Frames that the provider has, and has not said to have gone.
    frames: usize,
    /// Connections that have ended, as far as frames told: so many failed frames were sent over different ones.
    connection: u32,
}

/// One endpoint, with its buffers. Everything of it is used by one thread at a time.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) library: &'static Library,
    pub(crate) offer: Offer,
    fabric: NonNull<Fabric>,
    pub(crate) domain: NonNull<Domain>,
    av: NonNull<Av>,
    pub(crate) queue: Queue,
    pub(crate) ep: NonNull<Ep>,
    /// Through which memory of others is read, where that is not to go over the connections of frames: see [`Offer::ends_reads_twice`].
    reader: Option<NonNull<Ep>>,
    inject: usize,
    name: Vec<u8>,
    pub(crate) operations: Operations,
    /// To be posted, since the provider was busy.
    unposted: Vec<usize>,
    /// Completions that were taken and not handed out.
    taken: Vec<(usize, usize)>,
    /// There were no more of them.
    was_last: bool,
    /// By destination.
    destinations: Vec<DestinationState>,
}

// SAFETY: libfabric's objects may be used from any thread, by one at a time (`FI_THREAD_DOMAIN`); the engine sees to that.
unsafe impl Send for Endpoint {}

impl Endpoint {
    /// Open one. Blocks while libfabric is loaded and looks at its devices, which takes some 10 ms.
    ///
    /// # Errors
    /// If there is no libfabric, or no provider that serves.
    pub fn open(wanted: &ProviderFilter) -> Result<Self> {
        let mut endpoint = Self::open_without_receives(wanted)?;
        endpoint.post()?;
        Ok(endpoint)
    }

    /// Open one for memory only: it neither takes nor sends frames. Blocks as [`Self::open`].
    ///
    /// # Errors
    /// As there.
    pub fn open_for_memory(wanted: &ProviderFilter) -> Result<Self> {
        let mut endpoint = Self::open_without_buffers(wanted)?;
        endpoint.make(OperationKind::Read)?;
        Ok(endpoint)
    }

    /// It receives nothing yet.
    pub(crate) fn open_without_receives(wanted: &ProviderFilter) -> Result<Self> {
        let mut endpoint = Self::open_without_buffers(wanted)?;
        endpoint.unposted = endpoint.make(OperationKind::Receive)?;
        endpoint.make(OperationKind::Send)?;
        endpoint.make(OperationKind::Read)?;
        Ok(endpoint)
    }

    fn open_without_buffers(wanted: &ProviderFilter) -> Result<Self> {
        let library = Library::open()?;
        let offer = Offer::find(library, wanted)?;
        let info = offer.info().as_ptr();
        // SAFETY: all objects are made in the order that libfabric asks for, out of the information that it gave; each is looked
        // at only after it was made.
        unsafe {
            let mut fabric = std::ptr::null_mut();
            let code = (library.fabric)((*info).fabric_attr, &raw mut fabric, std::ptr::null_mut());
            library.check("fi_fabric", code)?;
            let mut domain = std::ptr::null_mut();
            let code = ((*(*fabric).ops).domain)(fabric, info, &raw mut domain, std::ptr::null_mut());
            library.check("fi_domain", code)?;
            let mut attr: AvAttr = std::mem::zeroed();
            attr.kind = abi::AV_TABLE;
            let mut av = std::ptr::null_mut();
            let code = ((*(*domain).ops).av_open)(domain, &raw mut attr, &raw mut av, std::ptr::null_mut());
            library.check("fi_av_open", code)?;
            let queue = Queue::open(library, NonNull::new_unchecked(fabric), domain, offer.needs_wait_set())?;
            let ep = enable(library, domain, info, av, queue.cq)?;
            let mut endpoint = Self {
                inject: (*(*info).tx_attr).inject_size,
                library,
                fabric: NonNull::new_unchecked(fabric),
                domain: NonNull::new_unchecked(domain),
                av: NonNull::new_unchecked(av),
                queue,
                ep,
                reader: None,
                offer,
                name: Vec::new(),
                operations: Operations::default(),
                unposted: Vec::new(),
                taken: Vec::new(),
                was_last: false,
                destinations: Vec::new(),
            };
            endpoint.learn_name()?;
            Ok(endpoint)
        }
    }

    /// Through which memory of others is read.
    pub(crate) fn reader(&mut self) -> Result<NonNull<Ep>> {
        if !self.offer.ends_reads_twice() {
            return Ok(self.ep);
        }
        if self.reader.is_none() {
            let (info, domain, av) = (self.offer.info(), self.domain, self.av);
            // SAFETY: all of them live; the queue is that of the other endpoint.
            let ep = unsafe { enable(self.library, domain.as_ptr(), info.as_ptr(), av.as_ptr(), self.queue.cq) }?;
            self.reader = Some(ep);
        }
        Ok(self.reader.expect("just made if there was none"))
    }

    /// There are no frames to be.
    pub(crate) fn forget_buffers(&mut self) {
        self.operations.forget_buffers();
        self.unposted.clear();
    }

    /// Make more operations of a kind. The numbers of those of receives.
    pub(crate) fn make(&mut self, kind: OperationKind) -> Result<Vec<usize>> {
        let mut chunk = Chunk::new(kind);
        if !chunk.buffers.is_empty() {
            chunk.region = self.register(&chunk.buffers)?;
        }
        Ok(self.operations.add(chunk))
    }

    /// Tell the provider of buffers, if it wants to know. They live as long as what this answers, which is closed with the endpoint.
    fn register(&mut self, buffers: &[u8]) -> Result<Option<NonNull<Mr>>> {
        // SAFETY: the objects live; the buffers do so as long as the region.
        unsafe {
            let mode = (*self.offer.info().as_ref().domain_attr).mr_mode;
            if mode & abi::MR_LOCAL == 0 {
                return Ok(None);
            }
            let mut region = std::ptr::null_mut();
            let domain = self.domain.as_ptr();
            let code = ((*(*domain).mr).reg)(
                domain.cast(),
                buffers.as_ptr().cast(),
                buffers.len(),
                abi::SEND | abi::RECV,
                0,
                0,
                0,
                &raw mut region,
                std::ptr::null_mut(),
            );
            self.library.check("fi_mr_reg", code)?;
            Ok(NonNull::new(region))
        }
    }

    fn learn_name(&mut self) -> Result<()> {
        let mut name = [0_u8; MAX_NAME];
        let mut length = name.len();
        // SAFETY: the endpoint is enabled; the name has as much room as we say.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            ((*(*ep).cm).getname)(ep.cast(), name.as_mut_ptr().cast(), &raw mut length)
        };
        self.library.check("fi_getname", code)?;
        self.name = name[..length.min(name.len())].to_vec();
        Ok(())
    }

    /// What others [resolve](Self::resolve) this endpoint by.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The provider.
    pub fn provider(&self) -> String {
        self.offer.name()
    }

    /// The endpoint of that name, which another process has told us. Does not talk to it.
    ///
    /// # Errors
    /// If it is no name of this provider's.
    pub fn resolve(&mut self, name: &[u8]) -> Result<Destination> {
        let mut padded = [0_u8; MAX_NAME];
        padded[..name.len().min(MAX_NAME)].copy_from_slice(&name[..name.len().min(MAX_NAME)]);
        let mut address = abi::ADDR_UNSPEC;
        // SAFETY: the name has at least as many bytes as a provider's own names.
        let inserted = unsafe {
            let av = self.av.as_ptr();
            ((*(*av).ops).insert)(av, padded.as_ptr().cast(), 1, &raw mut address, 0, std::ptr::null_mut())
        };
        match inserted {
            1 => Ok(Destination(address)),
            code => Err(self.library.failed("fi_av_insert", (code as isize).min(-1))),
        }
    }

    /// Where the endpoint of that name listens, if the provider uses the kernel's TCP.
    pub fn tcp_address(&self, name: &[u8]) -> Option<SocketAddr> {
        self.offer.tcp_address(name)
    }

    /// Did a frame leave for there, and nothing was heard of its loss: was there a connection?
    pub fn has_delivered(&self, to: Destination) -> bool {
        self.destinations
            .get(to.0 as usize)
            .is_some_and(|state| state.delivered)
    }

    /// The connection to there has ended: what is said of it from now on counts.
    pub fn forget_delivery(&mut self, to: Destination) {
        self.state(to.0).delivered = false;
    }

    fn state(&mut self, to: u64) -> &mut DestinationState {
        let at = to as usize;
        if at >= self.destinations.len() {
            self.destinations.resize(at + 1, DestinationState::default());
        }
        &mut self.destinations[at]
    }

    /// A buffer for a frame to send there. `None`: as many are on the way there as may be, or there is no memory for another.
    pub fn take(&mut self, to: Destination) -> Option<Frame> {
        if self.state(to.0).frames >= SENDS {
            return None;
        }
        if let Some(free) = self.operations.take_send() {
            return Some(Frame(free));
        }
        self.make(OperationKind::Send).ok()?;
        self.operations.take_send().map(Frame)
    }

    /// The bytes of a frame that was taken, or that has come.
    pub fn bytes(&mut self, frame: Frame) -> &mut [u8] {
        self.operations.bytes(frame.0)
    }

    /// Copy the first bytes of a frame to another one.
    pub fn copy(&mut self, from: Frame, to: Frame, length: usize) {
        self.operations.copy(from.0, to.0, length);
    }

    /// The frame is not needed after all.
    pub fn put_back(&mut self, frame: Frame) {
        debug_assert!(!self.operations.at(frame.0).under_way);
        self.operations.at(frame.0).kept = false;
        self.operations.free(frame.0);
    }

    /// The bytes of a frame that was [taken](Self::take) are to stay after it has gone, until [it is let go](Self::let_go).
    pub fn keep(&mut self, frame: Frame) {
        self.operations.at(frame.0).kept = true;
    }

    /// A frame that was [kept](Self::keep), and has been sent or not, is not needed any more.
    pub fn let_go(&mut self, frame: Frame) {
        match self.operations.at(frame.0).under_way {
            true => self.operations.at(frame.0).kept = false,
            false => self.put_back(frame),
        }
    }

    /// The provider says that an operation is over.
    fn end(&mut self, index: usize) -> Result<()> {
        match std::mem::take(&mut self.operations.at(index).under_way) {
            true => Ok(()),
            // Another has its place by now, here and in the provider.
            false => Err(Error::EndedTwice(self.provider())),
        }
    }

    /// The provider is done with a frame.
    fn has_gone(&mut self, index: usize) -> u64 {
        let operation = self.operations.at(index);
        let (to, kept) = (operation.to, operation.kept);
        let state = self.state(to);
        state.frames = state.frames.saturating_sub(1);
        if !kept {
            self.put_back(Frame(index));
        }
        to
    }

    /// Send the first `length` bytes of a frame that was [taken](Self::take). When it goes, it is the provider's, and its bytes stay readable if
    /// it is [kept](Self::keep); otherwise it is still the caller's.
    ///
    /// # Errors
    /// If the way there is closed.
    pub fn send(&mut self, frame: Frame, length: usize, to: Destination) -> Result<Sent> {
        let Frame(index) = frame;
        debug_assert!(length <= FRAME && self.operations.kind(index) == OperationKind::Send);
        // Nothing tells what becomes of an injected one.
        let inject = length <= self.inject && self.has_delivered(to);
        let description = self.operations.description(index);
        let at: *const c_void = self.operations.bytes(index).as_ptr().cast();
        let connection = self.state(to.0).connection;
        let operation = self.operations.at(index);
        operation.to = to.0;
        operation.connection = connection;
        let operation: *mut c_void = std::ptr::from_mut(operation).cast();
        // SAFETY: the bytes are the frame's, which stays untouched until its completion; injected ones are copied.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            match inject {
                true => ((*(*ep).msg).inject)(ep, at, length, to.0),
                false => ((*(*ep).msg).send)(ep, at, length, description, to.0, operation),
            }
        };
        match code {
            0 => {
                let operation = self.operations.at(index);
                match inject {
                    true if operation.kept => {}
                    true => self.put_back(frame),
                    false => {
                        operation.under_way = true;
                        self.state(to.0).frames += 1;
                    }
                }
                Ok(Sent::Going)
            }
            code if -code == abi::EAGAIN => Ok(Sent::Busy),
            code => {
                self.ends_connection(to.0, connection);
                Err(self.library.failed("fi_send", code))
            }
        }
    }

    /// A frame that went over this connection there has failed. False: of that connection it is known already.
    fn ends_connection(&mut self, to: u64, connection: u32) -> bool {
        let state = self.state(to);
        let is_current = state.connection == connection;
        state.connection = state.connection.wrapping_add(u32::from(is_current));
        is_current
    }

    /// Give the provider the buffers that may be filled.
    fn post(&mut self) -> Result<()> {
        while let Some(index) = self.unposted.pop() {
            let description = self.operations.description(index);
            let at: *mut c_void = self.operations.bytes(index).as_mut_ptr().cast();
            let operation: *mut c_void = std::ptr::from_mut(self.operations.at(index)).cast();
            // SAFETY: the buffer is nobody's until its completion.
            let code = unsafe {
                let ep = self.ep.as_ptr();
                ((*(*ep).msg).recv)(ep, at, FRAME, description, abi::ADDR_UNSPEC, operation)
            };
            if code != 0 {
                self.unposted.push(index);
                return match -code == abi::EAGAIN {
                    true => Ok(()),
                    false => Err(self.library.failed("fi_recv", code)),
                };
            }
        }
        Ok(())
    }

    /// A frame that came is handled: its buffer may be filled again.
    pub fn give_back(&mut self, frame: Frame) {
        debug_assert!(self.operations.kind(frame.0) == OperationKind::Receive);
        self.unposted.push(frame.0);
    }

    /// Let the provider do its work: what has happened next, if anything. Does not block.
    ///
    /// # Errors
    /// If the endpoint itself has failed.
    pub fn poll(&mut self) -> Result<Option<Event>> {
        if !self.unposted.is_empty() {
            self.post()?;
        }
        loop {
            if let Some((index, length)) = self.taken.pop() {
                match self.operations.kind(index) {
                    OperationKind::Receive => return Ok(Some(Event::Received(Frame(index), length))),
                    OperationKind::Read => {
                        self.end(index)?;
                        return Ok(Some(Event::Read(self.end_read(index), Ok(()))));
                    }
                    OperationKind::Send => {
                        self.end(index)?;
                        let to = self.has_gone(index);
                        self.state(to).delivered = true;
                    }
                }
                continue;
            }
            // Another look now would be a system call for nothing, most of the time.
            if std::mem::take(&mut self.was_last) {
                return Ok(None);
            }
            let empty = CqEntry {
                context: std::ptr::null_mut(),
                flags: 0,
                length: 0,
            };
            let mut entries = [empty; BATCH];
            // SAFETY: the queue's format is that of the entries, of which there are as many as we say.
            let count = unsafe {
                let cq = self.queue.cq.as_ptr();
                ((*(*cq).ops).read)(cq, entries.as_mut_ptr().cast(), BATCH)
            };
            match count {
                1.. => {
                    let ours = entries[..count as usize].iter().rev();
                    let done = ours.filter_map(|entry| Some((self.operations.index_of(entry.context)?, entry.length)));
                    let done: Vec<_> = done.collect();
                    self.taken.extend(done);
                    self.was_last = (count as usize) < BATCH;
                }
                0 => return Ok(None),
                code if -code == abi::EAGAIN => return Ok(None),
                code if -code == abi::EAVAIL => {
                    if let Some(lost) = self.failure()? {
                        return Ok(Some(lost));
                    }
                }
                code => return Err(self.library.failed("fi_cq_read", code)),
            }
        }
    }

    /// An operation has failed.
    fn failure(&mut self) -> Result<Option<Event>> {
        // SAFETY: numbers and pointers, for which zero is a value.
        let mut entry: CqErrEntry = unsafe { std::mem::zeroed() };
        // SAFETY: the entry is ours to write.
        let read = unsafe {
            let cq = self.queue.cq.as_ptr();
            ((*(*cq).ops).readerr)(cq, &raw mut entry, 0)
        };
        if read <= 0 {
            return match -read == abi::EAGAIN || read == 0 {
                true => Ok(None),
                false => Err(self.library.failed("fi_cq_readerr", read)),
            };
        }
        let error = self.library.failed("the network", -(entry.err as isize));
        let Some(index) = self.operations.index_of(entry.context) else {
            return Ok(None);
        };
        match self.operations.kind(index) {
            OperationKind::Read => {
                self.end(index)?;
                Ok(Some(Event::Read(self.end_read(index), Err(error))))
            }
            OperationKind::Send => {
                self.end(index)?;
                let connection = self.operations.at(index).connection;
                let to = self.has_gone(index);
                let is_current = self.ends_connection(to, connection);
                Ok(is_current.then_some(Event::Lost(Destination(to), error)))
            }
            // A frame longer than any of ours, or a connection that ended within one.
            OperationKind::Receive => {
                self.unposted.push(index);
                Ok(None)
            }
        }
    }

    /// Is every frame on its way that was sent, as far as the provider tells?
    pub fn is_quiet(&self) -> bool {
        self.destinations.iter().all(|state| state.frames == 0)
    }

    /// What becomes readable when [`Self::poll`] has something to do; `None`: the provider has nothing of the kind.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the queue's, and open as long as it is.
        self.queue.descriptor.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// May somebody sleep until the [descriptor](Self::descriptor) is readable? False: there is something to [poll](Self::poll).
    pub fn may_sleep(&mut self) -> bool {
        self.taken.is_empty() && self.unposted.is_empty() && self.queue.may_sleep()
    }
}

/// Open an endpoint of libfabric's, and enable it.
///
/// # Safety
/// All that it uses must live until it is closed.
unsafe fn enable(
    library: &Library,
    domain: *mut Domain,
    info: *mut Info,
    av: *mut Av,
    cq: NonNull<Cq>,
) -> Result<NonNull<Ep>> {
    let mut ep: *mut Ep = std::ptr::null_mut();
    // SAFETY: the caller's promise; the endpoint is looked at only after it was made.
    unsafe {
        let code = ((*(*domain).ops).endpoint)(domain, info, &raw mut ep, std::ptr::null_mut());
        library.check("fi_endpoint", code)?;
        let bind = (*(*ep).fid.ops).bind;
        let (bound_to, queue) = (av.cast(), cq.as_ptr().cast());
        let enabled = library
            .check("fi_ep_bind", bind(ep.cast(), bound_to, 0))
            .and_then(|()| library.check("fi_ep_bind", bind(ep.cast(), queue, abi::TRANSMIT | abi::RECV)))
            .and_then(|()| {
                let code = ((*(*ep).fid.ops).control)(ep.cast(), abi::ENABLE, std::ptr::null_mut());
                library.check("fi_enable", code)
            });
        if enabled.is_err() {
            ((*(*ep).fid.ops).close)(ep.cast());
        }
        enabled.map(|()| NonNull::new_unchecked(ep))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: each object is closed once, those that use others first.
        unsafe {
            let close = |fid: *mut Fid| ((*(*fid).ops).close)(fid);
            for ep in self.reader.into_iter().chain([self.ep]) {
                close(ep.as_ptr().cast());
            }
            for region in self.operations.regions() {
                close(region.as_ptr().cast());
            }
            self.queue.close();
            close(self.av.as_ptr().cast());
            close(self.domain.as_ptr().cast());
            close(self.fabric.as_ptr().cast());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    use super::*;

    /// Two endpoints of one process, over the loopback interface, if there is a libfabric here.
    pub(crate) fn pair() -> Option<(Endpoint, Endpoint)> {
        let wanted = ProviderFilter {
            interface: Some([127, 0, 0, 1].into()),
            ..ProviderFilter::default()
        };
        match (Endpoint::open(&wanted), Endpoint::open(&wanted)) {
            (Ok(one), Ok(other)) => Some((one, other)),
            (Err(error @ (Error::Missing(_) | Error::NoProvider(_))), _) => {
                eprintln!("not run: {error}");
                None
            }
            (one, other) => panic!("{:?} {:?}", one.err(), other.err()),
        }
    }

    /// Once all that has come was taken, the descriptor cannot be read, and can when something comes.
    #[test]
    fn the_descriptor_tells_what_has_come() {
        let Some((mut one, mut other)) = pair() else { return };
        let there = one.resolve(other.name()).expect("a name");
        for round in 0..20 {
            let mut came = send(&mut one, b"words", there, &mut other);
            let began = Instant::now();
            while came.is_empty() && began.elapsed() < Duration::from_secs(20) {
                came.extend(receive(&mut one, &mut other));
            }
            assert_eq!(came, [b"words"], "round {round}");
            // What the provider does beside messages may make it readable for a while.
            let quiet = || receive(&mut one, &mut other).is_empty() && other.may_sleep() && !is_readable(&other);
            let mut tries = std::iter::repeat_with(quiet).take(1000);
            assert!(tries.any(|quiet| quiet), "it stays readable in round {round}");
        }
        let frame = one.take(there).expect("a frame");
        assert_eq!(one.send(frame, 8, there).expect("a way"), Sent::Going);
        let began = Instant::now();
        while !is_readable(&other) && began.elapsed() < Duration::from_secs(20) {
            // Sending may take progress.
            assert!(one.poll().expect("a working endpoint").is_none());
        }
        assert!(is_readable(&other));
    }

    fn is_readable(endpoint: &Endpoint) -> bool {
        let descriptor = endpoint.descriptor().expect("one to wait for");
        let mut poll = libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }

    fn send(from: &mut Endpoint, text: &[u8], to: Destination, other: &mut Endpoint) -> Vec<Vec<u8>> {
        let mut came = Vec::new();
        let frame = loop {
            match from.take(to) {
                Some(frame) => break frame,
                None => came.extend(receive(from, other)),
            }
        };
        from.bytes(frame)[..text.len()].copy_from_slice(text);
        while from.send(frame, text.len(), to).expect("a way") == Sent::Busy {
            came.extend(receive(from, other));
        }
        came
    }

    fn receive(one: &mut Endpoint, other: &mut Endpoint) -> Vec<Vec<u8>> {
        let mut came = Vec::new();
        for endpoint in [one, other] {
            while let Some(event) = endpoint.poll().expect("a working endpoint") {
                match event {
                    Event::Received(frame, length) => {
                        came.push(endpoint.bytes(frame)[..length].to_vec());
                        endpoint.give_back(frame);
                    }
                    Event::Lost(_, error) => panic!("{error}"),
                    Event::Read(..) => panic!("nothing is read"),
                }
            }
        }
        came
    }

    /// One event for one connection: what is sent again then includes frames whose failure is told later, since they went before.
    #[test]
    fn frames_that_are_lost_with_one_connection_are_told_once() {
        let Some((mut one, mut other)) = pair() else { return };
        let there = one.resolve(other.name()).expect("a name");
        let mut came = send(&mut one, b"words", there, &mut other);
        let began = Instant::now();
        while (came.is_empty() || !one.is_quiet()) && began.elapsed() < Duration::from_secs(20) {
            came.extend(receive(&mut one, &mut other));
        }
        drop(other);
        // Longer than what is injected, so that it is told of each what becomes of it; the provider may know already, and take none.
        let mut told = 0;
        for _ in 0..SENDS {
            let Some(frame) = one.take(there) else { break };
            match one.send(frame, FRAME, there) {
                Ok(Sent::Going) => {}
                Ok(Sent::Busy) => one.put_back(frame),
                Err(_) => {
                    one.put_back(frame);
                    told += 1;
                    break;
                }
            }
        }
        while (told == 0 || !one.is_quiet()) && began.elapsed() < Duration::from_secs(20) {
            match one.poll().expect("a working endpoint") {
                Some(Event::Lost(to, _)) => told += i32::from(to == there),
                Some(event) => panic!("{event:?}"),
                None => {}
            }
        }
        assert_eq!(told, 1);
    }

    /// The buffer of a kept frame is nobody else's until it is let go, whether the provider is done with it or not.
    #[test]
    fn kept_frames_stay() {
        let Some((mut one, mut other)) = pair() else { return };
        let there = one.resolve(other.name()).expect("a name");
        for (length, before) in [(8, false), (FRAME, false), (FRAME, true)] {
            let frame = one.take(there).expect("a frame");
            one.bytes(frame)[..length].fill(7);
            one.keep(frame);
            let mut came = Vec::new();
            while one.send(frame, length, there).expect("a way") == Sent::Busy {
                came.extend(receive(&mut one, &mut other));
            }
            if before {
                one.let_go(frame);
            }
            let began = Instant::now();
            while came.is_empty() && began.elapsed() < Duration::from_secs(20) {
                came.extend(receive(&mut one, &mut other));
            }
            assert_eq!(came, [vec![7; length]]);
            while !one.is_quiet() && began.elapsed() < Duration::from_secs(20) {
                came.extend(receive(&mut one, &mut other));
            }
            if !before {
                assert!(one.bytes(frame)[..length].iter().all(|byte| *byte == 7));
                let others: Vec<_> = std::iter::from_fn(|| one.take(there)).take(SENDS).collect();
                assert!(!others.contains(&frame), "it is kept");
                others.into_iter().for_each(|other| one.put_back(other));
                one.let_go(frame);
            }
            assert_eq!(one.operations.sends_in_use(), 0, "{length} bytes");
        }
    }

    #[test]
    fn what_ends_twice_is_told() {
        let Some((mut one, mut other)) = pair() else { return };
        let there = one.resolve(other.name()).expect("a name");
        let frame = one.take(there).expect("a frame");
        one.keep(frame);
        let began = Instant::now();
        while one.send(frame, FRAME, there).expect("a way") == Sent::Busy {
            receive(&mut one, &mut other);
        }
        while !one.is_quiet() && began.elapsed() < Duration::from_secs(20) {
            receive(&mut one, &mut other);
        }
        assert!(matches!(one.end(frame.0), Err(Error::EndedTwice(_))));
    }

    /// Nobody can replace a connection over which memory is read, where that would end a read twice.
    #[test]
    fn reads_have_connections_of_their_own_where_those_of_frames_may_be_replaced() {
        let Some((mut one, _)) = pair() else { return };
        let reader = one.reader().expect("an endpoint");
        assert_eq!(reader != one.ep, one.offer.ends_reads_twice());
        assert_eq!(one.reader().expect("an endpoint"), reader, "it is made once");
    }

    /// A peer that takes nothing has its share of frames, and another gets its own.
    #[test]
    fn frames_for_a_silent_peer_hold_up_no_others() {
        let Some((mut one, mut silent)) = pair() else { return };
        let Some((mut other, _)) = pair() else { return };
        let nowhere = one.resolve(silent.name()).expect("a name");
        let there = one.resolve(other.name()).expect("a name");
        let come = |one: &mut Endpoint, to, other: &mut Endpoint| {
            let mut came = send(one, b"words", to, other);
            let began = Instant::now();
            while came.is_empty() && began.elapsed() < Duration::from_secs(20) {
                came.extend(receive(one, other));
            }
            assert_eq!(came, [b"words"]);
        };
        // There is a connection; from now on its end makes no progress.
        come(&mut one, nowhere, &mut silent);
        let mut stuck = 0;
        while stuck < 1000 {
            if let Some(event) = one.poll().expect("a working endpoint") {
                panic!("{event:?}");
            }
            stuck += 1;
            match one.take(nowhere) {
                None => {}
                Some(frame) if one.send(frame, FRAME, nowhere).expect("a way") == Sent::Busy => one.put_back(frame),
                Some(_) => stuck = 0,
            }
        }
        assert!(!one.is_quiet(), "the provider takes all, and nothing is shown");
        come(&mut one, there, &mut other);
    }

    /// Providers that move long messages by RMA are done with short ones before long ones that were sent earlier.
    #[test]
    fn frames_come_whole() {
        let Some((mut one, mut other)) = pair() else { return };
        let there = one.resolve(other.name()).expect("a name");
        let text = |at: usize| vec![at as u8; [8, 100, 5000, FRAME][at % 4]];
        let mut came = Vec::new();
        for at in 0..100 {
            came.extend(send(&mut one, &text(at), there, &mut other));
        }
        let began = Instant::now();
        while came.len() < 100 && began.elapsed() < Duration::from_secs(20) {
            came.extend(receive(&mut one, &mut other));
        }
        assert_eq!(came.len(), 100);
        came.sort_by_key(|bytes| bytes[0]);
        for (at, bytes) in came.iter().enumerate() {
            assert!(*bytes == text(at), "frame {at}: {} bytes", bytes.len());
        }
    }
}
