//! Messages from and to memory of a device: one copy by its driver, between the memory of both processes.
//!
//! A sender whose memory can be exported announces the message, with the export beside the descriptor; the receiver maps it and copies, into its
//! own memory of a device or of the host. A receiver on a device whose sender is not exports its buffer in turn, and the sender copies. What
//! neither can do goes through the ring, packed and unpacked by the driver piece by piece. [`devices`] says when.

use std::cell::Cell;

use isthmus_mem::{self as mem, Export};
use isthmus_shm::Offset;
use isthmus_transfer::copy::Copying;

use crate::Result;
use crate::channel::outbound::{Answer, Message};
use crate::channel::record::{Help, ReadyToSend};
use crate::counters;
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::limits::BESIDE;
use crate::memory::arena;
use crate::memory::buffer::Buffer;
use crate::protocol::choice::devices::{self, DeviceMover};
use crate::protocol::single_copy::Pull;
use crate::types::{Mode, Posting};

const EXPORT: u64 = size_of::<Export>() as u64;
// It lies there.
const _: () = assert!(EXPORT <= BESIDE);

impl Engine {
    /// As [`Self::send`], from memory of a device.
    ///
    /// # Safety
    /// As for [`Self::send`].
    #[cold]
    pub unsafe fn send_from_device(
        &mut self,
        mode: Mode,
        to: u32,
        posting: Posting,
        buffer: Buffer,
        length: usize,
    ) -> Result<Option<u32>> {
        let export = Cell::new(None);
        let by = devices::plan(&devices::Message {
            bytes: length as u64,
            is_near: to != self.me && !self.has_faults() && !self.channels.is_remote(to),
            sender_exports: &|| {
                export.set(buffer.device_row(true).and_then(|row| export_of(row, length as u64)));
                export.get().is_some()
            },
            receiver_exports: &|| false,
        });
        let (DeviceMover::Pull, Some(export)) = (by, export.get()) else {
            counters::DEVICE_PIECES.add(u64::from(length > 0 && to != self.me));
            // SAFETY: the caller's promise.
            return unsafe { self.send(mode, to, posting, buffer, length) };
        };
        // A channel to it must be there.
        self.outbound(to)?;
        let message = Message::of(posting, buffer, length);
        self.announce_with(to, message, None, Some(export)).map(Some)
    }

    /// Write an export where the receiver finds it with the descriptor: the flag that says so.
    pub(super) fn put_export(&self, descriptor: Offset, export: Export) -> u32 {
        match arena::beside(self.segment, descriptor, EXPORT) {
            Some(at) => {
                // SAFETY: as many bytes are mapped there, of a descriptor of ours that nobody has heard of.
                unsafe { at.cast::<Export>().as_ptr().write_unaligned(export) };
                ReadyToSend::ON_DEVICE
            }
            None => 0,
        }
    }

    /// The export beside a descriptor, which the peer has written.
    fn export_beside(&self, descriptor: u64, length: u64) -> Option<Export> {
        let at = arena::beside(self.segment, Offset(descriptor), EXPORT)?;
        // SAFETY: as many bytes are mapped there; any are an export.
        let export = unsafe { at.cast::<Export>().as_ptr().read_unaligned() };
        let end = export.offset.checked_add(length)?;
        (end <= export.size).then_some(export)
    }

    /// Have the driver copy an announced message into the receive `op`, if an end of it is in memory of a device and both can be reached.
    pub(super) fn fetch_by_device(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64) -> bool {
        let buffer = self.ops[op].buffer;
        let is_exported = record.flags & ReadyToSend::ON_DEVICE != 0;
        if !is_exported && !buffer.is_on_device() {
            return false;
        }
        let export = Cell::new(None);
        let by = devices::plan(&devices::Message {
            bytes: expected,
            is_near: !self.channels.is_remote(peer),
            sender_exports: &|| is_exported,
            // The receiver copies a message out of its block, which then changes hands, or goes back.
            receiver_exports: &|| {
                if record.lines_into_block().is_none() {
                    export.set(buffer.device_row(false).and_then(|row| export_of(row, expected)));
                }
                export.get().is_some()
            },
        });
        match (by, export.get()) {
            (DeviceMover::Pull, _) => self.pull_from_device(op, peer, record, expected),
            (DeviceMover::Push, Some(export)) => self.ask_for_push(op, peer, record, expected, export),
            _ => false,
        }
    }

    fn pull_from_device(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64) -> bool {
        let buffer = self.ops[op].buffer;
        let row = buffer.row().or_else(|| buffer.device_row(false));
        if row.is_none() && !buffer.is_on_device() {
            return false;
        }
        let from = self
            .export_beside(record.descriptor, expected)
            .and_then(|export| mem::map(u64::from(peer), &export));
        let Some(mapped) = from else { return false };
        let from = mapped.start();
        let length = expected as usize;
        // SAFETY: the receive's pending buffer has room for `expected` bytes; as many are mapped from the sender's device, which leaves them alone
        // until it hears that we have finished.
        let copied = unsafe {
            match row {
                Some(to) => mem::copy(to, from, length).is_ok(),
                None => {
                    buffer.write(0, length, from);
                    true
                }
            }
        };
        if copied {
            counters::DEVICE_PULLS.add(1);
            counters::DEVICE_BYTES.add(expected);
            self.learn_nothing(op);
            self.fetched(op, peer, record, 0..0);
        }
        copied
    }

    /// Let the sender copy the message into the memory of a device that the receive `op` is for.
    fn ask_for_push(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64, export: Export) -> bool {
        let Some(at) = arena::beside(self.segment, Offset(record.descriptor), EXPORT) else {
            return false;
        };
        let Some(descriptor) = self.descriptor(record.descriptor) else {
            return false;
        };
        // SAFETY: as many bytes are mapped there, which the sender reads when it is asked to.
        unsafe { at.cast::<Export>().as_ptr().write_unaligned(export) };
        descriptor.share(1);
        let help = Help {
            send_op: record.send_op,
            into_device: 1,
            descriptor: record.descriptor,
            address: 0,
            shared_address: 0,
            length: expected,
            chunk: expected,
        };
        self.answer(peer, Answer::Help(help));
        let path = self.learn_nothing(op);
        let pull = Pull::by_sender(path, op, peer, record, expected);
        self.transfers.pulls.push(pull);
        true
    }

    /// How long the receive `op` takes says nothing about the ways of host memory. The way of what the driver does not copy.
    fn learn_nothing(&mut self, op: u32) -> DataPath {
        self.ops[op].sample = None;
        self.ops[op].began = None;
        self.ops[op].path = DataPath::Ring(Copying::Vector);
        self.ops[op].path
    }

    /// The receiver of the announced send `op` asks for a copy into its memory of a device.
    pub(super) fn push_into_device(&mut self, op: u32, peer: u32, help: Help) {
        let copied = self.copy_into_device(op, peer, help);
        if let Some(descriptor) = self.descriptor(help.descriptor) {
            match copied {
                true => descriptor.retire(),
                false => descriptor.refuse(),
            }
        }
        self.pushed(op, help.descriptor);
        // It may wait for that.
        self.channels.order();
        self.channels.wake(peer);
    }

    fn copy_into_device(&mut self, op: u32, peer: u32, help: Help) -> bool {
        let buffer = self.ops[op].buffer;
        let is_readable = buffer.row().is_some() || buffer.is_on_device();
        let to = self
            .export_beside(help.descriptor, help.length)
            .filter(|_| is_readable)
            .and_then(|export| mem::map(u64::from(peer), &export));
        let Some(mapped) = to else { return false };
        let to = mapped.start();
        let claimed = self
            .descriptor(help.descriptor)
            .and_then(|descriptor| descriptor.claim_back());
        if claimed.is_none() {
            return false;
        }
        let length = help.length as usize;
        // SAFETY: `on_help` checked the length against our pending buffer; the receiver has given us its own until our claim has retired.
        let copied = unsafe {
            match buffer.row() {
                Some(from) => mem::copy(to, from, length).is_ok(),
                None => {
                    buffer.read(0, length, to);
                    true
                }
            }
        };
        if copied {
            counters::DEVICE_PUSHES.add(1);
            counters::DEVICE_BYTES.add(help.length);
        }
        copied
    }
}

/// An export that has all bytes of a row.
fn export_of(row: *const u8, bytes: u64) -> Option<Export> {
    let has_all = |export: &Export| export.offset.checked_add(bytes).is_some_and(|end| end <= export.size);
    mem::export(row).filter(has_all)
}
