//! Which buffers of which peers this process may read and write, and by what.
//!
//! Permission is tried for real, once per peer, when it is first needed, by reading the peer's secret. What fails later
//! stops what its cause stops: a refusal of the machine that direction with that peer, for good; a hole in one of two
//! buffers, or a kernel without memory, only the transfer that met it.

use std::ops::Range;

use isthmus_os::{Error as OsError, errno, process};
use isthmus_shm::{Segment, SharedAddress};
use isthmus_transfer::Pending;
use isthmus_transfer::cma::Refusal;
use isthmus_transfer::{Cause, Direction, Interrupted, Layout, Transfer};

use crate::channel::record::ReadyToSend;
use crate::counters;
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::memory::buffer::Buffer;
use crate::memory::heap::{self, REGISTRY};
use crate::protocol::mechanism;
use crate::tunables;
use crate::warning::{Warning, warn};

/// How one side reaches the other's buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub path: DataPath,
    transfer: &'static dyn Transfer,
    /// Where the peer's buffer begins, in the numbers of the mechanism.
    base: u64,
}

/// Of a buffer that was asked before.
const NO_LAYOUT: Interrupted = Interrupted {
    done: 0,
    error: OsError {
        call: "layout",
        errno: errno::EINVAL,
    },
};

impl Access {
    /// # Safety
    /// `buffer` must be writable for `length` bytes, and `range` lie within them.
    pub unsafe fn pull(self, buffer: Buffer, length: u64, range: Range<u64>) -> Result<(), Interrupted> {
        let remote = Layout::contiguous(self.base, length);
        self.count_copy();
        // SAFETY: the caller's promise.
        let pulled = buffer.with_layout(length, |local| unsafe {
            self.transfer.pull(&remote, local, range.clone())
        });
        pulled.unwrap_or(Err(NO_LAYOUT))
    }

    /// Begin to pull, by what copies while this rank goes on. `None`: nothing does.
    ///
    /// # Safety
    /// As for [`Self::pull`], until the copy is over.
    pub unsafe fn pull_later(
        self,
        buffer: Buffer,
        length: u64,
        range: Range<u64>,
    ) -> Option<Result<Pending, Interrupted>> {
        let remote = Layout::contiguous(self.base, length);
        // SAFETY: the caller's promise.
        let begun = buffer.with_layout(length, |local| unsafe {
            self.transfer.pull_later(&remote, local, range.clone())
        });
        let begun = begun.flatten();
        if begun.is_some() {
            self.count_copy();
        }
        begun
    }

    /// # Safety
    /// `buffer` must be readable for `length` bytes, and `range` lie within them; the peer has given us its own.
    pub unsafe fn push(self, buffer: Buffer, length: u64, range: Range<u64>) -> Result<(), Interrupted> {
        let remote = Layout::contiguous(self.base, length);
        self.count_copy();
        // SAFETY: the caller's promise.
        let pushed = buffer.with_layout(length, |local| unsafe {
            self.transfer.push(local, &remote, range.clone())
        });
        pushed.unwrap_or(Err(NO_LAYOUT))
    }

    /// Where the peer's buffer has its byte `at`; `None`: it is memory of the job.
    pub fn address(self, at: u64) -> Option<u64> {
        (self.path == DataPath::SingleCopy).then(|| self.base.wrapping_add(at))
    }

    /// By what.
    pub fn transfer(self) -> &'static dyn Transfer {
        self.transfer
    }

    fn count_copy(self) {
        if self.path != DataPath::Mapped {
            counters::SINGLE_COPIES.add_anywhere(1);
        }
    }

    pub fn count(self, bytes: u64) {
        match self.path {
            DataPath::Mapped => counters::MAPPED_BYTES.add(bytes),
            _ if self.transfer.name() == "kmod" => counters::KMOD_BYTES.add(bytes),
            _ => counters::CMA_BYTES.add(bytes),
        }
    }
}

/// Access to one peer's own memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Permissions {
    probed: Probed,
    /// The machine has refused.
    no_pull: bool,
    no_push: bool,
}

/// By what a peer's own memory is reached.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Probed {
    /// It was not tried: the peer may still be on its way into the job.
    #[default]
    NotYet,
    Yes(&'static dyn Transfer),
    No,
}

/// Try it. What refuses is said, once.
#[cold]
pub(crate) fn probe(segment: &Segment, peer: u32) -> Probed {
    if tunables::CMA.get() == 0 {
        return Probed::No;
    }
    let Some(identity) = segment.slot(peer).identity() else {
        return Probed::NotYet;
    };
    // A checker runs it, which would not see what we write there.
    if identity.nonce_address == 0 {
        return Probed::No;
    }
    match mechanism::probe(&identity) {
        Ok(transfer) => Probed::Yes(transfer),
        Err(refusal) => {
            report(Direction::Pull, peer, &refusal);
            Probed::No
        }
    }
}

impl Permissions {
    /// Of a peer that is no more.
    pub const NONE: Self = Self {
        probed: Probed::No,
        no_pull: true,
        no_push: true,
    };

    fn is_closed(&self, direction: Direction) -> bool {
        match direction {
            Direction::Pull => self.no_pull,
            Direction::Push => self.no_push,
        }
    }

    fn close(&mut self, direction: Direction) {
        match direction {
            Direction::Pull => self.no_pull = true,
            Direction::Push => self.no_push = true,
        }
    }
}

/// Where a sender can push a message that lies here and there. In announcements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pushable(pub u32);

impl Pushable {
    /// Nowhere.
    pub const NO: Self = Self(0);
    const INTO_MAPPED: u32 = 1;
    const BY_SINGLE_COPY: u32 = 2;

    /// Into a buffer that is reached this way?
    pub fn by(self, path: DataPath) -> bool {
        let needed = match path {
            DataPath::Mapped => Self::INTO_MAPPED,
            _ => Self::BY_SINGLE_COPY,
        };
        self.0 & needed != 0
    }
}

impl Engine {
    /// How an announced message may be pulled.
    pub(crate) fn pull_access(&mut self, peer: u32, record: ReadyToSend, length: u64) -> Option<Access> {
        if record.address == 0 {
            return None;
        }
        let access = self
            .mapped_access(record.shared_address, length)
            .or_else(|| self.single_access(peer, record.address, Direction::Pull))?;
        mechanism::may_pull(access.path).then_some(access)
    }

    /// How the peer's buffer of `length` bytes may be written: by its shared address if it has one, by its
    /// address if not.
    pub(crate) fn push_access(&mut self, peer: u32, address: u64, shared_address: u64, length: u64) -> Option<Access> {
        self.mapped_access(shared_address, length)
            .or_else(|| self.single_access(peer, address, Direction::Push))
    }

    /// A buffer at that shared address, if it makes sense.
    pub(crate) fn mapped_access(&self, shared_address: u64, length: u64) -> Option<Access> {
        (shared_address != 0 && REGISTRY.at(SharedAddress(shared_address), length).is_some()).then(|| Access {
            path: DataPath::Mapped,
            transfer: mechanism::mapped(),
            base: shared_address,
        })
    }

    /// A buffer at that address of the peer, if its memory may be reached in this direction.
    pub(crate) fn single_access(&mut self, peer: u32, address: u64, direction: Direction) -> Option<Access> {
        if self.transfers.permissions[peer as usize].is_closed(direction) {
            return None;
        }
        if matches!(self.transfers.permissions[peer as usize].probed, Probed::NotYet) {
            self.transfers.permissions[peer as usize].probed = probe(self.segment, peer);
        }
        let Probed::Yes(transfer) = self.transfers.permissions[peer as usize].probed else {
            return None;
        };
        Some(Access {
            path: DataPath::SingleCopy,
            transfer,
            base: address,
        })
    }

    /// Where we can push a buffer that lies here and there, as far as we know.
    pub(crate) fn pushable(&self, peer: u32, buffer: Buffer) -> Pushable {
        if buffer.row().is_some() || !buffer.has_layout() {
            return Pushable::NO;
        }
        let permissions = &self.transfers.permissions[peer as usize];
        match permissions.no_push || matches!(permissions.probed, Probed::No) {
            true => Pushable(Pushable::INTO_MAPPED),
            false => Pushable(Pushable::INTO_MAPPED | Pushable::BY_SINGLE_COPY),
        }
    }

    /// The way of the receive's buffer `row` for a sender that pushes into it.
    pub(crate) fn path_into(row: *mut u8, length: u64) -> DataPath {
        match heap::shared_address_of(row, length) {
            Some(_) => DataPath::Mapped,
            None => DataPath::SingleCopy,
        }
    }

    /// Has the machine refused such copies, perhaps since this one began?
    pub(crate) fn is_refused(&self, peer: u32, path: DataPath, direction: Direction) -> bool {
        path == DataPath::SingleCopy && self.transfers.permissions[peer as usize].is_closed(direction)
    }

    /// A copy has failed at that address of the peer, if it is known, and its transfer goes on without.
    #[cold]
    pub(crate) fn copy_failed(
        &mut self,
        peer: u32,
        path: DataPath,
        direction: Direction,
        stopped: Interrupted,
        address: Option<u64>,
    ) {
        if path == DataPath::SingleCopy && is_for_good(stopped.cause()) {
            self.transfers.permissions[peer as usize].close(direction);
        }
        if let Some(address) = address.filter(|address| self.is_unmapped(peer, stopped, *address)) {
            return report_unmapped(direction, peer, address, stopped.error);
        }
        report(direction, peer, &Refusal::Os(stopped.error));
    }

    /// Has the peer no memory at that address? False where the kernel does not say.
    fn is_unmapped(&self, peer: u32, stopped: Interrupted, address: u64) -> bool {
        let identity = self.segment.slot(peer).identity();
        let mapped = |pid| process::is_mapped(pid, address);
        stopped.cause() == Cause::Hole && identity.and_then(|identity| mapped(identity.pid)) == Some(false)
    }
}

/// One line, once per job: the program has passed a buffer that is none.
fn report_unmapped(direction: Direction, peer: u32, address: u64, error: OsError) {
    let (buffer, touches) = match direction {
        Direction::Pull => ("send", "read"),
        Direction::Push => ("receive", "written"),
    };
    warn(
        Warning::CopyFailed,
        &format!(
            "isthmus: rank {peer} has no memory at {address:#x}, in a {buffer} buffer of its ({error}): a wrong pointer, count or \
             datatype, or memory that was freed; the rank ends where that address is {touches}."
        ),
    );
}

/// Will later copies with this peer fail, too?
fn is_for_good(cause: Cause) -> bool {
    match cause {
        Cause::Refused | Cause::Gone => true,
        Cause::Hole | Cause::Misused | Cause::Failed => false,
    }
}

/// One line, once per job, of what stops all copies, and one of what stops single ones: cause and cure.
fn report(direction: Direction, peer: u32, refusal: &Refusal) {
    let cause = match refusal {
        Refusal::Os(error) => Interrupted { done: 0, error: *error }.cause(),
        Refusal::OtherProcess(_) => Cause::Refused,
    };
    let what = match direction {
        Direction::Pull => "read",
        Direction::Push => "write to",
    };
    match cause {
        // The peer has died. The launcher reports that.
        Cause::Gone => {}
        // The device that the user named is missing. That was said when it was looked for.
        Cause::Refused
            if matches!(
                refusal,
                Refusal::Os(OsError {
                    errno: errno::ENOENT,
                    ..
                })
            ) => {}
        Cause::Refused => {
            let cure = match refusal {
                Refusal::Os(OsError {
                    errno: errno::ENOSYS, ..
                }) => "the kernel or a seccomp filter lacks process_vm_readv",
                Refusal::Os(_) => {
                    "allow it (same user, Yama ptrace_scope 0 or 1, no seccomp filter on process_vm_readv)"
                }
                Refusal::OtherProcess(_) => "start the ranks in one pid namespace",
            };
            warn(
                Warning::NoSingleCopies,
                &format!(
                    "isthmus: cannot {what} the memory of rank {peer} ({refusal}); large messages take two copies instead of one. \
                 Cure: {cure}; or silence this with ISTHMUS_CMA=0."
                ),
            );
        }
        Cause::Hole | Cause::Misused | Cause::Failed => {
            let cure = match cause {
                Cause::Hole => "a buffer of ordinary memory, whole and mapped, unlike that of a device",
                _ => "more memory for the kernel, if it is that; see `isthmus doctor`",
            };
            warn(
                Warning::CopyFailed,
                &format!(
                    "isthmus: cannot {what} memory of rank {peer} this time ({refusal}); the rest of the message takes two copies. \
                 Cure: {cure}; or silence this with ISTHMUS_CMA=0."
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_that_last() {
        let lasts = |errno| is_for_good(Interrupted::at_once("process_vm_readv", errno).cause());
        assert!(
            [errno::EPERM, errno::EACCES, errno::ENOSYS, errno::ESRCH]
                .into_iter()
                .all(lasts)
        );
        assert!(![errno::EFAULT, errno::ENOMEM, errno::EINVAL].into_iter().any(lasts));
    }

    #[test]
    fn what_may_be_pushed_where() {
        let paths = [DataPath::Mapped, DataPath::SingleCopy];
        let by = |bits| paths.map(|path| Pushable(bits).by(path));
        assert_eq!(
            [by(0), by(1), by(2), by(3)],
            [[false; 2], [true, false], [false, true], [true; 2]]
        );
    }
}
