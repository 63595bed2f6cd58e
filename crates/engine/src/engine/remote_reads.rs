//! Announced messages from other nodes, read out of their senders' memory: where operations and the network meet.

use std::time::{Duration, Instant};

use isthmus_transfer::copy::Copying;

use crate::channel::record::ReadyToSend;
use crate::counters;
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::memory::buffer::Buffer;
use crate::ops::Stage;

/// So long the provider may take to be done with reads of a process that is no more: longer than the kernel keeps a connection with its host if that
/// does not answer.
const LAST_READS: Duration = Duration::from_secs(10);

impl Engine {
    /// The bytes of a pending send can be read by its receiver, which is on another node: what the announcement says of it.
    pub fn expose(&mut self, peer: u32, descriptor: u64, buffer: Buffer, length: usize) -> Option<u64> {
        let at = buffer.row()?;
        // SAFETY: the buffer is a pending operation's, whose end withdraws it.
        unsafe { self.channels.network_mut()?.expose(peer, descriptor, at, length) }
    }

    /// The send with this descriptor is over.
    #[inline]
    pub fn end_exposure(&mut self, descriptor: u64) {
        if let Some(network) = self.channels.network_mut() {
            network.withdraw(descriptor);
        }
    }

    /// Read a taken offer into the receive `op`. False: it is not from another node, lies here and there, or cannot be read.
    pub fn read_offer(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64) -> bool {
        let (segment, id, row) = (self.segment, self.ops.id(op), self.ops[op].buffer.row());
        let network = self.channels.network_mut().filter(|_| record.address != 0);
        let (Some(network), Some(row)) = (network, row) else {
            return false;
        };
        if !network.start_read(segment, id, (peer, record), row, expected) {
            return false;
        }
        self.ops[op].sample = None;
        self.ops[op].path = DataPath::Ring(Copying::Vector);
        network.read_on();
        true
    }

    /// Is the receive `op` one that a message is being read into?
    pub fn is_reading_into(&self, op: u32) -> bool {
        let network = self.channels.network();
        network.is_some_and(|network| network.reads_into(self.ops.id(op)))
    }

    /// Go on with reads. True: something moved.
    pub fn advance_reads(&mut self) -> bool {
        let Some(network) = self.channels.network_mut() else {
            return false;
        };
        let mut moved = network.go_on_one_sided();
        if network.reads.is_empty() {
            return moved;
        }
        moved |= network.read_on();
        while let Some(read) = self.channels.network_mut().and_then(|network| network.next_read_over()) {
            moved = true;
            let Some(op) = self.ops.find(read.op) else { continue };
            if !matches!(self.ops[op].stage, Stage::Receiving { .. }) {
                continue;
            }
            if !read.failed {
                counters::NETWORK_READ_BYTES.add(read.end);
            }
            // What could not be read is asked for in frames.
            let missing = if read.failed { 0..read.end } else { 0..0 };
            self.fetched(op, read.peer, read.record, missing);
        }
        moved
    }

    /// The peer has failed: its receives are about to end, and nothing may write their buffers after that. Blocks until the provider has
    /// given up what is under way.
    pub fn end_reads(&mut self, peer: u32) {
        let began = Instant::now();
        let (segment, mut is_hurried) = (self.segment, false);
        while let Some(network) = self.channels.network_mut()
            && !network.end_reads(peer)
        {
            if !std::mem::replace(&mut is_hurried, true) {
                network.hurry_silence(segment, peer);
            }
            self.take_frames();
            self.handle_held_of(peer);
            if began.elapsed() > LAST_READS {
                let why = format!(
                    "isthmus: rank {}: reads from rank {peer}, which has failed, do not end",
                    self.me
                );
                self.abort(1, &why);
            }
        }
    }
}
