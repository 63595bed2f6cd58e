//! The numbers from which on something is done in another way: sizes, counts and times that decide how bytes travel, in one table.
//!
//! What decides how long a rank waits before it sleeps is a table of its own ([`isthmus_shm::backoff`]), and what users may change a third
//! ([`crate::tunables`]). A number that describes a layout, or the format of a record, is no limit: it stands where the layout does.
//! `cargo xtask check-layers` refuses limits in other files of this crate.

/// A row of [`TABLE`].
#[derive(Debug)]
pub struct Limit {
    /// Upper case, as in the source.
    pub name: &'static str,
    /// The value, in its unit.
    pub value: u64,
    /// `bytes`, `times`, `ranks`, `us`, `ns`, or `%`.
    pub unit: &'static str,
    /// The processor that it was measured on; `-`: it does not depend on that, or the decision does not say.
    pub machine: &'static str,
    /// The number of the decision under `docs/decisions` that says why; `-`: none does.
    pub decision: &'static str,
    /// What it decides.
    pub doc: &'static str,
}

macro_rules! limits {
    ($($name:ident: $type:ty = $value:expr, $unit:literal, $machine:literal, $decision:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: $type = $value;)*
        /// All of them.
        pub const TABLE: &[Limit] = &[$(Limit {
            name: stringify!($name),
            value: $name as u64,
            unit: $unit,
            machine: $machine,
            decision: $decision,
            doc: $doc,
        }),*];
    };
}

limits! {
    // Which protocol a message takes.
    MAPPED_FROM: usize = 32 << 10, "bytes", "-", "-", "From this length on a message in memory that its receiver maps is announced: one copy instead of two.";
    NETWORK_FROM: usize = 16 << 10, "bytes", "-", "0082", "No shorter message is announced to another node, whatever `network_eager` says.";
    NETWORK_PIECE: u64 = 512 << 10, "bytes", "Zen 5", "0082", "The longest part of a long message, put or get that goes to another node by one request, unless `network_piece` says another.";
    NETWORK_PIECE_PACED: u64 = 176 << 10, "bytes", "Zen 5", "0082", "The same where the kernel's congestion control is BBR, which paces a connection with more under way at a third of what the network carries.";
    RAIL_PIECE: u64 = 64 << 10, "bytes", "-", "0230", "The shortest piece into which a long message, put or get is divided for several networks.";
    RAIL_PATIENCE_US: u64 = 3_000_000, "us", "-", "0230", "A network of several by which nothing comes for so long, while the peer answers by the first one, is given up.";
    RAIL_SAID_US: u64 = 500_000, "us", "-", "0230", "So long after a network of several was given up a line says so, if the job has not ended.";
    SHARED_FROM: u64 = 64 << 10, "bytes", "-", "-", "From this length on a receiver that copies asks its sender to copy from the other end.";
    DEVICE_EXPORTED_FROM: u64 = 1, "bytes", "-", "0219", "From this length on a message from memory of a device is announced with a handle of that memory, by which its receiver's driver copies it.";
    DEVICE_REDUCED_FROM: u64 = 256 << 10, "bytes", "-", "0219", "From this length on a blocking reduction asks all ranks whether their elements are in memory of devices, and combines them there by kernels if they are.";
    DEVICE_PUSHED_FROM: u64 = 16 << 10, "bytes", "-", "0219", "From this length on a sender copies into memory of a device that its receiver has exported; below it the bytes come through the ring.";
    PUSHED_FROM: u64 = 32 << 10, "bytes", "-", "0014", "From this length on a sender claims the receive of a peer that computes, and a receiver pulls from a sender that does.";
    ANSWERS_WITHIN: u64 = 2, "us", "-", "0014", "A peer that is inside the library answers within this time.";
    BYTES_PER_US: u64 = 256 << 10, "bytes", "-", "0014", "So many bytes of a message are worth another microsecond of waiting for its peer: a tenth of what copying them takes.";
    BLOCK_FROM: usize = 32 << 10, "bytes", "-", "0007", "From this length on a message between ranks that share CPUs lies in a block; shorter ones are over sooner through a ring.";
    BLOCK_FROM_TO_MANY: usize = 128 << 10, "bytes", "-", "0007", "The same in a job of more ranks than BLOCK_RANKS, where a rank may have messages to more peers than it has blocks: an all-to-all of 32 KiB on 16 ranks takes 1.5 times as long through blocks.";
    BLOCK_RANKS: u32 = 8, "ranks", "-", "0007", "More ranks are many.";
    BLOCK_LONGEST: u64 = 1 << 20, "bytes", "-", "0007", "The longest message in a block; longer ones are over sooner in pieces.";
    BLOCKS: usize = 8, "times", "-", "0007", "Blocks that one process has, those with messages under way among them.";
    BLOCKS_KEPT: usize = 4, "times", "-", "0007", "A receiver that has fewer blocks keeps the block of a message.";
    BLOCK_BYTES: u64 = 256 << 20, "bytes", "-", "0007", "Bytes that the blocks of all ranks take at most.";

    // What the model of costs that `isthmus info` prints adds to the copies.
    RECORD_COSTS: u64 = 200, "ns", "-", "-", "A record to the other side, by the model of costs: two lines are handed over, and the code around that.";
    LAST_PIECE: u64 = 16 << 10, "bytes", "-", "-", "The last piece in a ring is copied out while nobody copies in, by the model of costs.";

    // How the receiver of long messages learns which way is fastest.
    TRIALS: u32 = 3, "times", "Zen 5", "0007", "Transfers by each way before the first comparison.";
    RETRY: u32 = 512, "times", "Zen 5", "0007", "After so many transfers a slower way is tried again.";
    FIRST_RETRY: u32 = 32, "times", "Zen 5", "0007", "The same at first, since the first transfers also pay for memory that nobody has touched; twice as many each time.";
    TRIED_AGAIN: u32 = 8, "times", "Zen 4", "0007", "A slower way is tried in so many transfers in a row at most; fewer, the more it costs.";
    NOT_TRIED_AGAIN: u32 = 16, "times", "Zen 4", "0007", "A way that is slower by more than this factor is not tried again.";
    PATH_COST_RISES: u32 = 8, "times", "Zen 5", "0007", "The estimate of a path rises by one part in so many of what a slower transfer took longer.";
    LEARNED_CLASSES: usize = 20, "times", "-", "0007", "Size classes, by powers of two, that are learned apart.";
    ASKED_CLASSES: usize = 12, "times", "-", "0009", "Of these so many have room beside a ring's credit for the instructions that the receiver asks for.";
    TIMED_WHOLE_FROM: u64 = 16 << 10, "bytes", "Zen 4", "0009", "From this length on a message through the ring is timed as a whole; of shorter ones both copies of the first record are.";

    // Single copies.
    SLICE: u64 = 4 << 20, "bytes", "-", "-", "Bytes of a single copy between two looks at everything else.";
    SHORT_CHUNK: u64 = 128 << 10, "bytes", "-", "-", "What one side of a copy from both ends claims at a time: half of a message, up to this;";
    LONG_CHUNK: u64 = 512 << 10, "bytes", "-", "-", "and an eighth of a long message, up to this, since one side may be slower.";
    FED_RECORDS: usize = 8, "times", "-", "0044", "Records that tell what was fed into a stream, and that wait for room, at most.";
    FED_PIECES: usize = 4, "times", "-", "0044", "Pieces of one stream between two looks at everything else.";

    // How a message is cut into records of a ring.
    ONE_RECORD: usize = 2 << 10, "bytes", "-", "0009", "Messages up to this length go in one record.";
    ONE_LINE: usize = 512, "bytes", "-", "0009", "Messages below this length share their first line with the header.";
    EDGE: usize = 16 << 10, "bytes", "Zen 5", "0009", "The first and the last record of a message in several, by string copies: while one side copies it, the other can only wait.";
    VECTOR_PIECE_LEAST: usize = 4 << 10, "bytes", "Zen 4", "0009", "Least payload of a record by vectors, of which there are two to a message between;";
    VECTOR_PIECE_MOST: usize = 64 << 10, "bytes", "Zen 4", "0009", "and most: in windows and exchanges there is always another message to copy meanwhile.";
    OVERSUBSCRIBED_PIECE: usize = 128 << 10, "bytes", "Zen 4", "0007", "Most payload of a record by vectors where ranks share CPUs: nobody reads while the next is written.";
    STREAMING_PIECE_LEAST: usize = 4 << 10, "bytes", "Zen 4", "0009", "Least payload of a record by stores that pass the caches;";
    STREAMING_PIECE_MOST: usize = 8 << 10, "bytes", "Zen 4", "0009", "and most.";
    MEASURED: u32 = 4, "times", "Zen 4", "0009", "Longer messages that are timed after the receiver has asked for other instructions,";
    MEASURE_EVERY: u32 = 8, "times", "Zen 4", "0009", "and one of so many later.";

    // Rings.
    SMALL_RING: u64 = 4 << 10, "bytes", "-", "-", "Data of the ring that a pair starts with.";
    LARGEST_RING: u64 = 4 << 20, "bytes", "Zen 4", "0009", "Data of the largest ring that a streaming pair may lease.";
    LARGEST_CACHE: u64 = 1 << 40, "bytes", "-", "0240", "A cache that another process has noted as larger is not believed.";
    NEAR_CACHE_MOST: u64 = 96 << 20, "bytes", "Emerald Rapids", "0009", "The largest last cache that is taken to be near: as much as eight cores of a Zen have with stacked memory; 300 MiB are spread over a mesh.";
    LEASES: u32 = 16, "times", "-", "0009", "Large rings that one process holds at a time.";
    LEASED_BYTES: u64 = 256 << 20, "bytes", "-", "0009", "Bytes that the large rings of all ranks take at most.";
    FULL_BEFORE_LEASE: u32 = 8, "times", "-", "-", "So often a small ring may be full before the pair leases a large one.";
    POLLED_RINGS: usize = 16, "times", "-", "0020", "Rings that are looked at in every round of progress; the others ring the doorbell.";
    RUNG_BEFORE_POLLED: u32 = 64, "times", "-", "0020", "So often at least, and four times for each ring that there is, peers whose rings are not looked at have rung before one of them takes the place of a silent peer: that takes a fence of every process.";
    RECORDS_A_TURN: usize = 32, "times", "-", "-", "Records taken from one ring before the next has its turn.";
    DEFERRED_FROM: u64 = 4 << 10, "bytes", "-", "-", "Unmatched messages from this length on stay in their ring while other things move,";
    COPIED_FRAME: usize = 2 << 10, "bytes", "-", "0208", "The longest frame to another node that is kept by a copy until it has come; of longer ones the network's buffer is kept.";
    ASKED_AFTER: usize = 64, "times", "-", "0208", "After each so many frames that are kept for a rank on another node it is asked which have come.";
    FLUSHED_WITHIN: u64 = 1000, "us", "-", "-", "A rank that leaves a call with unanswered first frames flushes them for so long.";
    DEFERRED_ROUNDS: u32 = 64, "times", "-", "-", "for so many rounds of progress.";

    // Cells.
    CELL_FROM: usize = 128, "bytes", "-", "0007", "The shortest message that travels in a cell. Below, the lines of a ring that it takes are fewer than a cell's and the record's that names it.";
    CELL_LONGEST: u64 = 512 << 10, "bytes", "Zen 5", "0007", "The longest message in a cell, and the bytes of a cell in a job of up to four ranks.";
    CELL_SMALLEST: u64 = 4 << 10, "bytes", "-", "0007", "The fewest bytes of a cell.";
    CELLS_OF_RANK: u64 = 2 << 20, "bytes", "-", "0007", "Bytes that the cells that one process makes take at most,";
    CELLS_OF_ALL: u64 = 256 << 20, "bytes", "-", "0007", "and those of all ranks.";
    CELL_AFTER: u32 = 4, "times", "-", "0007", "So many longer messages in each direction, and a pair has a cell.";
    CELLS_OF_PAIR: usize = 2, "times", "-", "0007", "Cells that one side of a pair can have: one that it made, one that the other made.";

    // Memory that is shown to all, or kept.
    SHORT_STAGED: usize = 2 << 10, "bytes", "Zen 4", "0009", "Pieces of staged memory up to this length have slots of their own.";
    STAGED_SLOTS: usize = 8, "times", "Zen 4", "0009", "Such slots that are in use where each rank has a CPU.";
    STAGED_SLOTS_OVERSUBSCRIBED: usize = 32, "times", "Zen 4", "0009", "The same where ranks share CPUs: as many as there are calls that one rank may be ahead.";
    SHORT_RING_PIECE: usize = 32 << 10, "bytes", "Zen 5", "0009", "Where ranks share CPUs, longer pieces than those with slots, up to this length, have the short staging ring.";
    SHORT_RING: u64 = 256 << 10, "bytes", "Zen 5", "0009", "The short staging ring, where ranks share CPUs.";
    ROOMY_SEGMENT: u64 = 256 << 20, "bytes", "-", "0240", "In a job's segment that is smaller (`ulimit -v`) no pair leases a large ring, and there is no short staging ring.";
    STAGED_SMALLEST: u64 = 1 << 20, "bytes", "-", "0009", "The smallest staging ring that will do: three of the longest pieces, and some.";
    STAGED_STEP: u64 = 64 << 10, "bytes", "-", "0240", "What the staging ring is given of memory at first, and at least when it grows.";
    STAGED_LARGEST: u64 = 64 << 20, "bytes", "-", "0009", "More is never of use.";
    CHOSEN_FROM: usize = 1 << 10, "bytes", "Zen 4", "0009", "Copies to others that are shorter are not worth a choice of instructions.";
    REP_MOVSB_FROM: usize = 64 << 10, "bytes", "Zen 4", "0009", "From this length on ranks that share CPUs copy to others by `rep movsb`.";
    REP_MOVSB_TRIED_FROM: usize = 16 << 10, "bytes", "Zen 4", "0009", "From this length on copies by `rep movsb` are tried.";
    COPIES_TIMED: u32 = 16, "times", "Zen 4", "0009", "One copy to others in so many is timed,";
    COPIES_TRIED: u32 = 32, "times", "Zen 4", "0009", "and one timed copy in so many tries other instructions.";
    COPIES_TIMED_FIRST: u32 = 12, "times", "Zen 4", "0009", "Copies that are timed at first.";
    COPY_COST_RISES: u32 = 4, "times", "Zen 4", "0009", "The estimate of copies to others, and of long one-sided operations, rises by one part in so many of what a slower one took longer.";
    PAST_CACHES_READER: u64 = 150, "ns", "Zen 4", "0009", "What the reader pays for stores past the caches, once,";
    PAST_CACHES_READER_LINE: u64 = 3, "ns", "Zen 4", "0009", "and for each 64 bytes.";
    PAST_CACHES_FROM: u64 = 1 << 20, "bytes", "-", "-", "No shorter message is stored past the caches: no last cache is so small that a quarter of it is less.";
    BESIDE: u64 = 192, "bytes", "-", "-", "Bytes behind each descriptor, for a copy of a message as short as that.";
    ROOMY: u64 = 4 << 10, "bytes", "-", "-", "The same of some descriptors, since synchronous sends are announced, however short;";
    ROOMY_DESCRIPTORS: u64 = 16, "times", "-", "-", "so many of a process.";
    SPARE_FROM: usize = 4 << 10, "bytes", "-", "-", "Memory of shorter unmatched payload is the allocator's business.";
    COLLAPSED: u64 = 64 << 20, "bytes", "Xeon", "0046", "A symmetric block up to this length is made huge pages when it is allocated, which takes the kernel 2 ms for each; longer ones get their memory when they are touched.";
    SPARE_KEPT: usize = 4 << 20, "bytes", "-", "-", "Bytes of memory of unmatched payload that are kept at most.";
    BELIEVED: usize = 1 << 20, "bytes", "-", "-", "Unmatched payload beyond this has no memory before it comes: a peer only said how long its message is.";

    // One-sided operations on ordinary memory of a target on this node.
    BOXES: usize = 8, "times", "-", "0070", "Mailboxes of a process.";
    BOX_BYTES: usize = 16 << 10, "bytes", "-", "0070", "Bytes of data that an operation in a mailbox and its answer may have.";
    BOX_HELD: usize = 2 << 10, "bytes", "Zen 5", "0070", "A put of so many bytes at most may wait in a mailbox for others to the same region, until something completes them.";
    BOX_TRIES: u16 = 3, "times", "-", "0070", "So many times in a row an operation may be posted to a target that is not inside the library before that is done more seldom,";
    BOX_SELDOM: u16 = 16, "times", "-", "0070", "one of so many times.";
    BOX_MISSES: u8 = 8, "times", "-", "0070", "Operations that are not posted after many that nobody took: two to the power of this at most.";
    WAKE_FROM: u64 = 128 << 10, "bytes", "Zen 4", "0070", "Operations from this length on wake a target that sleeps inside the library.";
    BYTES_PER_LOOK: u64 = 128, "bytes", "Zen 4", "0070", "One that the target is to combine waits for it as many looks longer as there are such bytes in it.";
    ALONE_DEAR_FROM: u64 = 1 << 20, "bytes", "Zen 4", "0070", "From this length on an operation takes longer without the target than to wake it.";
    ROUSED_AT: u16 = 4, "times", "-", "0070", "An origin that finds a target asleep inside the library so many times in a row wakes it, and again at twice as many.";
    BOXES_AT_A_TIME: usize = 4, "times", "Zen 4", "0070", "Mailboxes that one operation uses at a time.";
    BOX_PIECES: u64 = 2, "times", "Zen 4", "0070", "An operation goes in so many pieces at least,";
    BOX_PIECE_LEAST: u64 = 8 << 10, "bytes", "Zen 4", "0070", "if each has so many bytes.";
    PIECES_MISSED: u32 = 8, "times", "Zen 4", "0070", "Pieces of one accumulate that nobody took before the rest is done another way: a target that lost its CPU for a while comes back.";
    BOTH_FROM: u64 = 128 << 10, "bytes", "Zen 4", "0070", "From this length on both sides copy a put or a get.";
    BOTH_PIECES: u64 = 8, "times", "Zen 4", "0070", "Pieces that it has then at most,";
    BOTH_PIECE_LEAST: u64 = 128 << 10, "bytes", "Zen 4", "0070", "of so many bytes at least,";
    BOTH_PIECE_MOST: u64 = 512 << 10, "bytes", "Zen 4", "0070", "and at most.";
    BOTH_AHEAD: usize = 2, "times", "Zen 4", "0070", "Pieces that the target is asked for ahead.";
    BOTH_OPERANDS: usize = 128 << 10, "bytes", "Zen 4", "0070", "Bytes of operands that a target has room for.";
    BOX_ROWS: u64 = 1 << 10, "bytes", "Sapphire Rapids", "0198", "A put on rows of ordinary memory is asked of the target if each row has so many bytes at most.";
    BOUNCE_BUFFER: usize = 32 << 10, "bytes", "Zen 4", "0070", "Bytes of a bounce buffer, and so of the longest piece.";
    BOUNCE_BUFFERS: usize = 64, "times", "Zen 4", "0070", "Bounce buffers of a process.";
    BOUNCE_GROWS_AFTER: usize = 512 << 10, "bytes", "Zen 4", "0070", "Bytes that go through the bounce buffers before there is one more.";
    BOUNCE_COSTS: u64 = 3, "times", "Zen 4", "0070", "Until a bounce buffer has been used by both sides it has cost so many times what its allocation takes.";
    LONG_PERIOD: u32 = 64, "times", "Zen 4", "0070", "Of so many long operations";
    LONG_TRIED: u32 = 3, "times", "Zen 4", "0070", "each way does so many, whatever was learned,";
    LONG_SELDOM: u32 = 8 * LONG_PERIOD, "times", "Zen 4", "0070", "and of so many the way that costs more than twice as much as the other.";
    LONG_FIRST: u32 = 4, "times", "Zen 4", "0070", "At first each way is taken so many times.";
    LONG_SPEEDS_UP: u64 = 3, "times", "Zen 4", "0070", "By the target, an operation will take so many times less once there are all bounce buffers.";

    // Accumulates, and operations on other nodes.
    LOCKED_FROM: usize = 64, "bytes", "-", "0032", "So many bytes of elements in a row are combined by vectors, under locks, sooner than element by element.";
    GATHERED_BLOCKS: usize = 512, "times", "-", "0135", "Blocks at the target that scattered elements which are combined at a time lie in, at most.";
    GATHERED_FROM: usize = 4, "times", "-", "0135", "A target that is inside the library combines fewer pieces than this sooner, one by one.";
    UNANSWERED_CALLS: usize = 128, "times", "-", "0072", "Calls that may be without an answer of one peer,";
    UNANSWERED_BYTES: usize = 2 << 20, "bytes", "-", "0072", "and bytes of them.";
    KEPT_BUFFER_FROM: usize = 128 << 10, "bytes", "Zen 5", "0072", "Buffers of calls and answers are kept from this length on, which allocators give back to the system,";
    KEPT_BUFFERS: usize = 8 << 20, "bytes", "-", "0072", "so many bytes of them in a process.";
    HURRIED_FROM: u64 = 256 << 10, "bytes", "Zen 5", "0228", "From so many bytes to one peer on, started and not waited for, the progress thread goes on with them at once, if it has a CPU of its own.";
    BATCHED_MOST: usize = 8 << 10, "bytes", "-", "0072", "A call with more bytes, or more bytes of results, goes by itself,";
    BATCH: usize = 32 << 10, "bytes", "-", "0072", "and shorter ones make a batch of so many bytes.";
    // Memory that is taken back.
    REVOCATIONS_LOOKED_AT: usize = 4, "times", "-", "-", "When a rank makes a revocation, so many of its earlier ones are looked at: several, so that the list of those that members have not taken yet becomes shorter.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_say_what_they_are() {
        let names: BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for row in TABLE {
            let units = ["bytes", "times", "ranks", "us", "ns", "%"];
            assert!(units.contains(&row.unit) && row.value > 0, "{row:?}");
            let is_number = row.decision.len() == 4 && row.decision.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_number || row.decision == "-", "{row:?}");
        }
    }

    /// Each decision that a row names is there.
    #[test]
    fn decisions_exist() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/decisions");
        let files: Vec<String> = std::fs::read_dir(folder)
            .expect("the repository has decisions")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        for row in TABLE.iter().filter(|row| row.decision != "-") {
            assert!(files.iter().any(|file| file.starts_with(row.decision)), "{row:?}");
        }
    }
}
