//! The one table of counters. Each is bumped by the thread inside the engine, if not said otherwise, and may be read at any
//! time.
//!
//! A new counter is one line in the table below; it then shows in `isthmus info`, MPI_T and the manual.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Told that a counter has counted so many more, in the middle of whatever counts: it must neither enter the engine nor wait.
pub type Observer = fn(&Counter, u64);

static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// The observer of counters that are [watched](Counter::watch). The first one given stays.
pub fn observe(observer: Observer) {
    OBSERVER.get_or_init(|| observer);
}

/// One row.
#[derive(Debug)]
pub struct Counter {
    /// Lower case, as in `eager_sent`.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    value: AtomicU64,
    is_watched: AtomicBool,
}

impl Counter {
    /// Count `n` more, from inside, or under a lock that all who count hold: no locked instruction.
    #[inline]
    pub fn add(&self, n: u64) {
        self.value
            .store(self.value.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        self.show(n);
    }

    /// Count `n` more, from wherever. Never together with [`Self::add`].
    #[inline]
    pub fn add_anywhere(&self, n: u64) {
        self.value.fetch_add(n, Ordering::Relaxed);
        self.show(n);
    }

    /// Is the observer to be told of it?
    pub fn watch(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Relaxed);
    }

    #[inline(always)]
    fn show(&self, n: u64) {
        if self.is_watched.load(Ordering::Relaxed) {
            self.tell(n);
        }
    }

    #[cold]
    fn tell(&self, n: u64) {
        if let Some(observer) = OBSERVER.get() {
            observer(self, n);
        }
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

macro_rules! table {
    ($($ident:ident = $name:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub static $ident: Counter = Counter {
            name: $name,
            doc: $doc,
            value: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
        };)*
        /// Every counter.
        pub static TABLE: &[&Counter] = &[$(&$ident),*];
    };
}

table! {
    EAGER_SENT = "eager_sent", "Messages sent through a ring.";
    EAGER_BYTES = "eager_bytes", "Bytes of these messages.";
    IN_CELLS = "in_cells", "Of messages through a ring, those whose bytes lay in a cell that their receiver answers in.";
    RENDEZVOUS_SENT = "rendezvous_sent", "Messages announced and fetched or streamed.";
    IN_BLOCKS = "in_blocks", "Of these, messages that lay in a block of shared memory, where ranks share CPUs.";
    BLOCK_BYTES = "block_bytes", "Bytes of these messages.";
    UNEXPECTED = "unexpected", "Messages that arrived before their receive was posted.";
    CMA_BYTES = "cma_bytes", "Bytes copied by process_vm_readv.";
    DEVICE_PULLS = "device_pulls", "Messages that their receiver's driver copied out of exported memory of a device.";
    DEVICE_PUSHES = "device_pushes", "Messages that their sender's driver copied into exported memory of a device.";
    DEVICE_BYTES = "device_bytes", "Bytes of these two.";
    DEVICE_PIECES = "device_pieces", "Messages out of memory of a device that went in pieces, through the ring or the network.";
    DEVICE_REDUCTIONS = "device_reductions", "Reductions that were combined by kernels in memory of devices.";
    DEVICE_MIRRORS = "device_mirrors", "Buffers in memory of devices of which a call made a copy in host memory.";
    KMOD_BYTES = "kmod_bytes", "Bytes copied by our kernel module while this rank waited for it.";
    KMOD_THREAD_BYTES = "kmod_thread_bytes", "Bytes copied by a thread of our kernel module while this rank went on.";
    KMOD_DMA_BYTES = "kmod_dma_bytes", "Bytes copied by a DMA engine, or the module's channel that stands for one, while this rank went on.";
    SINGLE_COPIES = "single_copies", "Times the kernel was asked to copy a message, or a part of it, from or to a peer's own memory.";
    HELPED = "helped", "Messages that the helper thread, or our kernel module while this rank went on, copied.";
    VMSPLICE_BYTES = "vmsplice_bytes", "Bytes that came here as pages attached to a pipe.";
    WRITEV_BYTES = "writev_bytes", "Bytes that came here through a pipe by two copies.";
    LOOPBACK_BYTES = "loopback_bytes", "Bytes that came here through a socket of this host.";
    NETWORK_RMA_BYTES = "network_rma_bytes", "Bytes of puts and gets that the network has written to, or read from, windows of ranks on other nodes.";
    NETWORK_READ_BYTES = "network_read_bytes", "Bytes that were read out of the memory of ranks on other nodes.";
    RAIL_BYTES = "rail_bytes", "Bytes of messages, puts and gets that this rank moved by another network than the first of `fabric_network`.";
    RING_BYTES = "ring_bytes", "Bytes of rendezvous that streamed through a ring.";
    ADVERTISED = "advertised", "Receives whose senders were told where they lie.";
    CLAIMED = "claimed", "Receives of peers that computed, and that this rank wrote into.";
    TAKEN_BACK = "taken_back", "Messages asked for through a ring and then pulled, since their senders computed.";
    RING_LINES = "ring_lines", "Lines of rings and cells that this rank has written records and their payload into.";
    LOOKS_ENDED = "looks_ended", "Looks at a ring that the reading scheme (ISTHMUS_READING) ended although more may have lain there; immediate ends none.";
    FRAMES_AGAIN = "frames_again", "Frames that were sent to another node once more, since the connection had broken or the frame was missing there.";
    NETWORK_LOOKS = "network_looks", "Times this rank looked at the network.";
    NODE_ROUNDS = "node_rounds", "Rounds of progress between them in which the progress engine (ISTHMUS_PROGRESS_ENGINE) had it look at the node alone.";
    RINGS_LEASED = "rings_leased", "Times a pair was given a large ring.";
    BACKLOGGED = "backlogged", "Times something was queued for want of room in a ring.";
    BACKLOG_LOOKS = "backlog_looks", "Times what is queued for a peer was tried again, and there was no room yet.";
    DOORBELL_RINGS = "doorbell_rings", "Times this rank set its bit at a peer that does not look at its ring by itself.";
    STAGED_BYTES = "staged_bytes", "Bytes of memory in which this rank has shown others what does not fit into a post.";
    MAPPED_BYTES = "mapped_bytes", "Bytes copied straight from or to a peer's buffer in memory that both map.";
    LENT = "lent", "Contributions to collectives that others read where this rank has them, rather than a copy.";
    HEAP_BYTES = "heap_bytes", "Bytes given to this rank's program in memory that its peers map.";
    HUGE_BYTES = "huge_bytes", "Of these, bytes for which huge pages were asked, and not refused.";
    HANDLES_MADE = "handles_made", "Handles given out, for objects of every kind but requests and messages.";
    HANDLES_FREED = "handles_freed", "Handles taken back: what is missing is live, or leaks.";
    ALGORITHMS_WANTED = "algorithms_wanted", "Collectives whose algorithm ISTHMUS_COLLECTIVES said.";
    LOCKS_TAKEN_OVER = "locks_taken_over", "Locks of accumulates that this rank took over from a rank that died with them.";
    RMA_LOCKED_REGIONS = "rma_locked_regions", "Regions of any rank that this rank made go over from atomic instructions to locks, by a long accumulate.";
    RMA_CALLS = "rma_calls", "One-sided operations, or pieces of them, that asked their target for help, since single copies are refused.";
    RMA_HELD = "rma_held", "Puts of others that came together, and that this rank did.";
    RMA_SERVED = "rma_served", "One-sided operations of others that this rank helped.";
    SPINS = "spins", "Times this rank, which has a CPU of its own, had polled 64 times without success and went on polling.";
    YIELDS = "yields", "Times this rank, which shares CPUs with others of its job or waits for another node, yielded its CPU, since nothing came.";
    MOVES = "moves", "Times this rank left a CPU on which another rank of its job was.";
    FENCES = "fences", "Times this rank fenced all processes, before a sleep or to look at another ring: a system call (membarrier).";
    SLEEPS = "sleeps", "Times this rank went to sleep on its doorbell.";
    WAKES = "wakes", "Times this rank woke another.";
    LATE_WAKES = "late_wakes", "Sleeps after which this rank ran 0.3 ms or more after it was woken: another process had its CPU.";
    OFF_CPU_US = "off_cpu_us", "Microseconds for which this rank, which has a CPU of its own, was off it while it span: another process had it.";
    LOST_WAKES = "lost_wakes", "Sleeps that ran into their bound although something was waiting.";
}
