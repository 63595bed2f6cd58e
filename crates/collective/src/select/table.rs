//! The lists: what there is for each collective, and what is chosen when.
//!
//! A new algorithm is a file in the collective's folder, an entry here, and a line where the collective calls it.
//!
//! Sizes at which rules for shared memory change were measured with two to eight ranks, and some with 16 to 128, on two CPUs of Zen 4 and
//! Zen 5 with a last cache of 32 MiB. The others follow the costs that the entries state, and those for a CPU of each rank the [model](super::model);
//! `isthmus tune` measures them on a machine. What holds for few numbers of ranks is data (`profile`), and no rule here.

use super::{Algorithm, Choice, Collective, MOST_IN_RANK_ORDER, Order, Range, Rule, Traits};

const ANY: Range = Range::ALL;
const NO_MORE: Traits = Traits::NONE;
/// Numbers of ranks for which reductions keep to the order of ranks, inexact as they may be.
const IN_RANK_ORDER: Range = Range(0, MOST_IN_RANK_ORDER as u64);
/// Numbers of ranks of which each may send to each other at a time: more have so many rings that their memory counts.
const FEW: Range = up_to(32);
/// The same for long messages, of which there are few in a call.
const NOT_MANY: Range = up_to(128);

/// Blocks up to this length are shown by the root in few steps; beyond, with more ranks than CPUs, each step costs it more switches
/// than a ring to each rank does (docs/numbers/).
const SCATTERED_AT_ONCE: u64 = 128 << 10;

/// What it takes to combine straight out of the others' memory.
const DIRECT_REDUCTION: Traits = Traits::BOARD.and(Traits::SINGLE_COPIES).and(Traits::PLAIN);

const fn up_to(most: u64) -> Range {
    Range(0, most)
}

const fn from(least: u64) -> Range {
    Range(least, u64::MAX)
}

/// For each collective: its name, what counts as its bytes; its algorithms (what they need, their order, cost and source);
/// its rules (ranks, bytes, what else must be given, why).
macro_rules! collectives {
    ($(
        $(#[$about:meta])*
        $type:ident = $name:literal, $bytes:literal {
            $($algorithm:ident = $called:literal, $needs:expr, $order:ident, $cost:literal, $source:literal;)*
        }
        choose {
            $($chosen:ident($ranks:expr, $range:expr, $given:expr), $why:literal;)*
        }
    )*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $type {
                $(#[doc = $cost] $algorithm,)*
            }

            impl Choice for $type {
                const ALL: &'static [Self] = &[$(Self::$algorithm),*];
                const COLLECTIVE: &'static Collective = &Collective {
                    name: $name,
                    bytes: $bytes,
                    algorithms: &[$(Algorithm {
                        name: $called,
                        needs: $needs,
                        order: Order::$order,
                        cost: $cost,
                        source: $source,
                    }),*],
                    rules: &[$(Rule {
                        algorithm: Self::$chosen as usize,
                        ranks: $ranks,
                        bytes: $range,
                        given: $given,
                        why: $why,
                    }),*],
                    index: Index::$type as usize,
                };
            }
        )*

        enum Index {
            $($type),*
        }

        /// All of them.
        pub const ALL: &[&Collective] = &[$(<$type as Choice>::COLLECTIVE),*];
    };
}

collectives! {
    /// `MPI_Barrier`.
    Barrier = "barrier", "nothing" {
        Nodes = "nodes", Traits::NODES, None,
            "a barrier in each node, one among nodes, and word of it", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, None,
            "one store and p - 1 loads a rank", "release-gather of MPICH, without a leader";
        Dissemination = "dissemination", Traits::NONE, None,
            "log p rounds of empty messages", "Hensgen, Finkel, Manber 1988";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        Shared(ANY, ANY, NO_MORE), "each rank is scheduled once";
        Dissemination(ANY, ANY, NO_MORE), "fewest rounds";
    }

    /// `MPI_Bcast`.
    Bcast = "bcast", "bytes of the message" {
        Nodes = "nodes", Traits::NODES, None,
            "a broadcast among nodes, one in each node", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, None,
            "n in at the root, n out elsewhere, overlapped", "XHC, EuroMPI/USA 2022, flat";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "n out of the root's memory at each other rank, once; two steps", "CLUSTER 2017, throttled reads";
        Binomial = "binomial", Traits::NONE, None,
            "log p rounds of n", "Thakur, Rabenseifner, Gropp 2005";
        SharedTree = "shared_tree", Traits::BOARD.and(Traits::PLACES), None,
            "n crosses each border between units once, copied in once more for each", "XHC, EuroMPI/USA 2022";
        Tree = "tree", Traits::PLACES, None,
            "n crosses each border between units once; a round for each level", "XHC, EuroMPI/USA 2022, by messages";
        ScatterAllgather = "scatter_allgather", Traits::NONE, None,
            "log p + p - 1 rounds; 2 n at each rank, whatever p", "Barnett et al. 1994";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        SharedTree(from(4), from(16 << 10), Traits::IDLE_CPUS), "each border is crossed once";
        SharedTree(from(33), ANY, Traits::IDLE_CPUS), "few read the same line at a time";
        Binomial(from(33), up_to(1 << 10), Traits::BOARD), "a rank waits for one other, and not for the last of all to have read";
        Shared(ANY, ANY, NO_MORE), "a rank that is scheduled finds all posts of the root";
        Tree(from(4), from(64 << 10), Traits::IDLE_CPUS), "each border is crossed once";
        Binomial(ANY, ANY, NO_MORE), "no byte crosses more often than it must";
    }

    /// `MPI_Gather`.
    Gather = "gather", "bytes of a block" {
        Nodes = "nodes", Traits::NODES, None,
            "a gather in each node, a message for each node at the root", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, None,
            "n in at each rank, (p - 1) n out at the root, overlapped", "Gather_Direct, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "(p - 1) n out of the others' memory at the root, once; two steps", "Gather_Direct, CLUSTER 2017";
        Linear = "linear", Traits::NONE, None,
            "p - 1 messages of n at the root, one round", "Gather_Direct, CLUSTER 2017";
        Binomial = "binomial", Traits::NONE, None,
            "log p rounds, a block moves up to log p times", "Thakur, Rabenseifner, Gropp 2005";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        Linear(ANY, Range(24 << 10, 192 << 10), Traits::CHEAP_COPIES.and(Traits::IDLE_CPUS)), "the others copy into their rings at the same time";
        Shared(ANY, ANY, Traits::IDLE_CPUS), "only the root waits";
        Linear(Range(3, 16), Range(96 << 10, 1 << 20), NO_MORE), "memory that changes hands stays in a cache";
        Shared(ANY, ANY, NO_MORE), "only the root waits";
        Binomial(from(33), Range(1, 1 << 10), Traits::IDLE_CPUS), "few rounds rather than many messages";
        Linear(ANY, ANY, NO_MORE), "a tree moves bytes more often, and waits for ranks that may not be running";
    }

    /// `MPI_Gatherv`, whose blocks only the root knows.
    Gatherv = "gatherv", "nothing: only the root knows" {
        Shared = "shared", Traits::BOARD, None,
            "as gather", "Gather_Direct, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "as gather", "Gather_Direct, CLUSTER 2017";
        Linear = "linear", Traits::NONE, None,
            "as gather", "Gather_Direct, CLUSTER 2017";
    }
    choose {
        Shared(ANY, ANY, NO_MORE), "only the root waits";
        Linear(ANY, ANY, NO_MORE), "each byte crosses once";
    }

    /// `MPI_Scatter`.
    Scatter = "scatter", "bytes of a block" {
        Nodes = "nodes", Traits::NODES, None,
            "a message for each node at the root, a scatter in each node", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, None,
            "(p - 1) n in at the root, n out at each rank, overlapped", "Scatter_Direct, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "n out of the root's memory at each other rank, once; two steps", "Scatter_Direct, CLUSTER 2017";
        Linear = "linear", Traits::NONE, None,
            "p - 1 messages of n at the root, one round", "Scatter_Direct, CLUSTER 2017";
        Binomial = "binomial", Traits::NONE, None,
            "log p rounds, a block moves up to log p times", "Thakur, Rabenseifner, Gropp 2005";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        SharedDirect(ANY, from(24 << 10), Traits::CHEAP_COPIES), "one copy rather than two";
        Shared(ANY, ANY, Traits::IDLE_CPUS), "the root waits for nobody";
        Linear(Range(3, 16), from(16 << 10), NO_MORE), "memory that changes hands stays in a cache";
        SharedDirect(Range(17, 32), from(48 << 10), Traits::FAIR_COPIES), "the blocks of the root do not fit where it shows them";
        SharedDirect(Range(33, 64), from(24 << 10), Traits::FAIR_COPIES), "the blocks of the root do not fit where it shows them";
        SharedDirect(from(65), from(12 << 10), Traits::FAIR_COPIES), "the blocks of the root do not fit where it shows them";
        Shared(ANY, up_to(SCATTERED_AT_ONCE), NO_MORE), "the root waits for nobody";
        Binomial(from(33), Range(1, 1 << 10), Traits::IDLE_CPUS), "few rounds rather than many messages";
        Linear(ANY, ANY, NO_MORE), "a tree moves bytes more often, and waits for ranks that may not be running";
    }

    /// `MPI_Scatterv`, whose blocks only the root knows.
    Scatterv = "scatterv", "nothing: only the root knows" {
        Shared = "shared", Traits::BOARD, None,
            "as scatter", "Scatter_Direct, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "as scatter", "Scatter_Direct, CLUSTER 2017";
        Linear = "linear", Traits::NONE, None,
            "as scatter", "Scatter_Direct, CLUSTER 2017";
    }
    choose {
        Shared(ANY, ANY, NO_MORE), "the root waits for nobody";
        Linear(ANY, ANY, NO_MORE), "each byte crosses once";
    }

    /// `MPI_Allgather`.
    Allgather = "allgather", "bytes of a block" {
        Nodes = "nodes", Traits::NODES, None,
            "a gather in each node, an all-gather among nodes, a broadcast in each", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, None,
            "n in and (p - 1) n out at each rank, one step", "rotated direct reads, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "(p - 1) n out of the others' memory at each rank, once; two steps", "rotated direct reads, CLUSTER 2017";
        Bruck = "bruck", Traits::NONE, None,
            "log p rounds, each block copied twice more than need be", "Bruck et al. 1997";
        Direct = "direct", Traits::NONE, None,
            "p - 1 messages of n a rank, one round", "rotated direct reads, CLUSTER 2017";
        Ring = "ring", Traits::NONE, None,
            "p - 1 rounds of n, with two neighbours only", "Thakur, Rabenseifner, Gropp 2005";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        SharedDirect(up_to(4), from(40 << 10), Traits::CHEAP_COPIES), "one copy rather than two";
        Shared(ANY, ANY, Traits::IDLE_CPUS), "each rank is scheduled once";
        Shared(ANY, ANY, NO_MORE), "each rank is scheduled once";
        Ring(from(33), from(64 << 10), NO_MORE), "few readers of one source at a time";
        Bruck(from(12), Range(1, 512), NO_MORE), "few rounds rather than many messages";
        Direct(ANY, ANY, NO_MORE), "each byte crosses once, all at the same time";
    }

    /// `MPI_Allgatherv`.
    Allgatherv = "allgatherv", "bytes of all blocks" {
        Shared = "shared", Traits::BOARD, None,
            "as allgather", "rotated direct reads, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "as allgather", "rotated direct reads, CLUSTER 2017";
        Direct = "direct", Traits::NONE, None,
            "as allgather", "rotated direct reads, CLUSTER 2017";
        Ring = "ring", Traits::NONE, None,
            "as allgather", "Thakur, Rabenseifner, Gropp 2005";
    }
    choose {
        Shared(ANY, ANY, NO_MORE), "each rank is scheduled once";
        Direct(ANY, ANY, NO_MORE), "each byte crosses once, all at the same time";
    }

    /// `MPI_Alltoall`.
    Alltoall = "alltoall", "bytes of a block" {
        Nodes = "nodes", Traits::NODES, None,
            "a gather and a scatter of all blocks in each node, a message between two nodes", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, None,
            "(p - 1) n in and out at each rank, one step", "rotated direct reads, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "(p - 1) n out of the others' memory at each rank, once; two steps", "pairwise, XSEDE 2014 and CLUSTER 2017";
        Direct = "direct", Traits::NONE, None,
            "p - 1 messages of n a rank, one round", "rotated direct reads, CLUSTER 2017";
        Bruck = "bruck", Traits::NONE, None,
            "log p rounds of p n / 2, each block copied log p times", "Bruck et al. 1997";
        SharedMorton = "shared_morton", Traits::BOARD, None,
            "twice the bytes in two steps; sqrt p blocks in a row rather than one", "Li, Zhang, Hoefler 2018";
        Pairwise = "pairwise", Traits::NONE, None,
            "p - 1 rounds of n, one reader and one writer a rank", "Thakur, Rabenseifner, Gropp 2005; XSEDE 2014";
    }
    choose {
        Nodes(up_to(64), up_to(4 << 10), NO_MORE), "few messages between nodes";
        Nodes(ANY, up_to(1 << 10), NO_MORE), "few messages between nodes, as long as the first ranks of nodes have memory for all blocks";
        SharedDirect(ANY, from(24 << 10), Traits::CHEAP_COPIES), "one copy rather than two";
        Shared(ANY, ANY, Traits::IDLE_CPUS), "each rank is scheduled once";
        Shared(up_to(8), ANY, NO_MORE), "each rank is scheduled once";
        SharedDirect(Range(16, 32), from(48 << 10), Traits::FAIR_COPIES), "more than the caches hold is moved once rather than twice";
        SharedDirect(Range(33, 48), from(24 << 10), Traits::FAIR_COPIES), "more than the caches hold is moved once rather than twice";
        SharedDirect(from(49), from(12 << 10), Traits::FAIR_COPIES), "more than the caches hold is moved once rather than twice";
        Direct(up_to(16), Range(16 << 10, 64 << 10), Traits::BOARD), "a block is read while it is near, rather than all being copied in before";
        Shared(ANY, ANY, NO_MORE), "each rank is scheduled once";
        Bruck(from(33), Range(1, 64), NO_MORE), "few rounds rather than many messages";
        Pairwise(from(33), from(32 << 10), NO_MORE), "one reader of each source at a time";
        Direct(ANY, ANY, NO_MORE), "each byte crosses once, all at the same time";
    }

    /// `MPI_Alltoallv` and `MPI_Alltoallw`, whose blocks only their two ranks know.
    Alltoallv = "alltoallv", "nothing: only two ranks know each block" {
        Shared = "shared", Traits::BOARD, None,
            "as alltoall", "rotated direct reads, CLUSTER 2017";
        SharedDirect = "shared_direct", Traits::BOARD.and(Traits::SINGLE_COPIES), None,
            "as alltoall", "pairwise, XSEDE 2014 and CLUSTER 2017";
        Direct = "direct", Traits::NONE, None,
            "as alltoall", "rotated direct reads, CLUSTER 2017";
        Pairwise = "pairwise", Traits::NONE, None,
            "as alltoall", "Thakur, Rabenseifner, Gropp 2005; XSEDE 2014";
    }
    choose {
        Shared(ANY, ANY, NO_MORE), "each rank is scheduled once";
        Direct(ANY, ANY, NO_MORE), "each byte crosses once, all at the same time";
    }

    /// `MPI_Reduce`.
    Reduce = "reduce", "bytes of a rank's elements" {
        Nodes = "nodes", Traits::NODES, Rounds,
            "a reduction in each node, one among nodes", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, Ranks,
            "n in at each rank, (p - 1) n read and combined at the root, overlapped", "Graham, Shipman 2008, flat";
        SharedDirect = "shared_direct", DIRECT_REDUCTION, Ranks,
            "(p - 1) n out of the others' memory and combined at the root, piece by piece; two steps", "the flat form, by single copies";
        SharedSliced = "shared_sliced", Traits::BOARD.and(Traits::PLAIN).and(Traits::ELEMENT_EACH), Ranks,
            "n in and out, n combined at each rank, n more out at the root; two steps", "Rabenseifner 2004";
        SharedTwoLevel = "shared_two_level", Traits::BOARD.and(Traits::PLACES).and(Traits::PLAIN).and(Traits::COMMUTATIVE), Rounds,
            "n in at each rank, combined in its unit; n of each unit read and combined at the root", "XHC, EuroMPI/USA 2022; acoll of Open MPI";
        Linear = "linear", Traits::NONE, Ranks,
            "p - 1 messages of n at the root, which combines all", "the flat form, by messages";
        Binomial = "binomial", Traits::NONE, Rounds,
            "log p rounds of n, one operation each", "Thakur, Rabenseifner, Gropp 2005";
        Halving = "halving", Traits::NONE, Rounds,
            "2 log p rounds, 2 n in all; n combined at each rank", "Rabenseifner 2004";
        Ring = "ring", Traits::COMMUTATIVE, Rounds,
            "p - 1 rounds of n / p, and p - 1 messages of that at the root", "Patarasuk, Yuan 2009";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        SharedTwoLevel(from(4), from(16 << 10), Traits::EXACT.and(Traits::IDLE_CPUS)), "what a unit has combined crosses its border, and nothing else";
        SharedSliced(from(24), from(385), Traits::IDLE_CPUS), "each byte is read and combined once, by one of many";
        SharedSliced(from(6), from(513), Traits::IDLE_CPUS), "each byte is read and combined once, by one of several";
        SharedSliced(from(3), from(769), Traits::IDLE_CPUS), "each byte is read and combined once, by one of few";
        Shared(ANY, ANY, NO_MORE), "only the root waits";
        Linear(FEW, ANY, NO_MORE), "the same result as with a board";
        Halving(ANY, from(64 << 10), Traits::EXACT), "each element is combined once, all at the same time";
        Linear(IN_RANK_ORDER, ANY, NO_MORE), "the same result as with a board";
        Halving(ANY, from(64 << 10), NO_MORE), "each element is combined once, all at the same time";
        Binomial(ANY, ANY, NO_MORE), "the root alone would take too long";
    }

    /// `MPI_Allreduce`.
    Allreduce = "allreduce", "bytes of a rank's elements" {
        Nodes = "nodes", Traits::NODES, Rounds,
            "a reduction in each node, an all-reduce among nodes, a broadcast in each", "the two levels of Graham, Shipman 2008";
        SharedFlat = "shared_flat", Traits::BOARD, Ranks,
            "n in, (p - 1) n read and combined at each rank, one step", "Graham, Shipman 2008, flat";
        SharedSliced = "shared_sliced", Traits::BOARD.and(Traits::PLAIN).and(Traits::ELEMENT_EACH), Ranks,
            "2 n in and out, n combined at each rank, two steps", "acoll of Open MPI; Rabenseifner 2004";
        SharedDirect = "shared_direct", DIRECT_REDUCTION, Ranks,
            "(p - 1) n out of the others' memory and combined at each rank, piece by piece; two steps", "the flat form, by single copies";
        SharedTwoLevel = "shared_two_level", Traits::BOARD.and(Traits::PLACES).and(Traits::PLAIN).and(Traits::COMMUTATIVE), Rounds,
            "n combined at each rank, in its unit first; n from each unit to each other; three steps", "XHC, EuroMPI/USA 2022; acoll of Open MPI";
        Direct = "direct", Traits::NONE, Ranks,
            "p - 1 messages of n a rank, one round; p - 1 operations on n", "the flat form, by messages";
        Linear = "linear", Traits::NONE, Ranks,
            "p - 1 messages of n at the first rank, which combines all, and log p rounds of n", "the flat form, by messages";
        Sliced = "sliced", Traits::ELEMENT_EACH, Ranks,
            "two rounds of p - 1 messages of n / p; n combined at each rank", "acoll of Open MPI; Rabenseifner 2004";
        RecursiveDoubling = "recursive_doubling", Traits::NONE, Rounds,
            "log p rounds of n, one operation each", "Thakur, Rabenseifner, Gropp 2005";
        Halving = "halving", Traits::NONE, Rounds,
            "2 log p rounds, 2 n in all; n combined at each rank", "Rabenseifner 2004";
        Ring = "ring", Traits::COMMUTATIVE, Rounds,
            "2 (p - 1) rounds of n / p, with two neighbours only", "Patarasuk, Yuan 2009";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        SharedTwoLevel(from(4), from(16 << 10), Traits::EXACT.and(Traits::IDLE_CPUS)), "what a unit has combined crosses its border, and nothing else";
        SharedSliced(from(24), from(385), Traits::IDLE_CPUS), "each byte is read and combined once, by one of many";
        SharedSliced(from(6), from(513), Traits::IDLE_CPUS), "each byte is read and combined once, by one of several";
        SharedSliced(from(3), from(769), Traits::IDLE_CPUS), "each byte is read and combined once, by one of few";
        SharedSliced(from(3), from(8193), NO_MORE), "bytes are what takes the time, and each is combined once";
        SharedSliced(from(33), from(1025), NO_MORE), "bytes are what takes the time, and each is combined once";
        SharedSliced(from(129), from(257), NO_MORE), "bytes are what takes the time, and each is combined once";
        SharedFlat(ANY, ANY, NO_MORE), "each rank is scheduled once";
        RecursiveDoubling(up_to(2), up_to(16 << 10), NO_MORE), "one round, and two operands have one order";
        Direct(FEW, up_to(1 << 10), NO_MORE), "one round";
        Sliced(FEW, ANY, NO_MORE), "each element is combined once, all at the same time";
        Direct(FEW, ANY, NO_MORE), "the same result as with a board";
        RecursiveDoubling(IN_RANK_ORDER, up_to((16 << 10) - 1), Traits::EXACT), "fewest rounds";
        Halving(IN_RANK_ORDER, Range(16 << 10, 256 << 10), Traits::EXACT), "each element is combined once, in few rounds";
        Sliced(NOT_MANY, from(16 << 10), NO_MORE), "each element is combined once, all at the same time";
        Linear(IN_RANK_ORDER, ANY, NO_MORE), "the same result as with a board, in few messages";
        Halving(ANY, Range(16 << 10, 256 << 10), NO_MORE), "each element is combined once, in few rounds";
        Sliced(ANY, from(256 << 10), NO_MORE), "each element is combined once, all at the same time";
        RecursiveDoubling(ANY, ANY, NO_MORE), "fewest rounds";
    }

    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    ReduceScatter = "reduce_scatter", "bytes of a rank's elements" {
        Nodes = "nodes", Traits::NODES, Rounds,
            "a reduction in each node, a reduce-scatter among nodes, a scatter in each", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, Ranks,
            "n in, as many read and combined at each rank, one step", "Thakur, Rabenseifner, Gropp 2005, in one step";
        SharedDirect = "shared_direct", DIRECT_REDUCTION, Ranks,
            "n (p - 1) / p out of the others' memory and combined at each rank, piece by piece; two steps", "Thakur, Rabenseifner, Gropp 2005, by single copies";
        Direct = "direct", Traits::NONE, Ranks,
            "p - 1 messages of n / p a rank, one round; n combined", "Thakur, Rabenseifner, Gropp 2005, in one round";
        Halving = "halving", Traits::COMMUTATIVE, Rounds,
            "log p rounds, n in all; n combined at each rank", "Thakur, Rabenseifner, Gropp 2005";
        Pairwise = "pairwise", Traits::COMMUTATIVE, Rounds,
            "p - 1 rounds of n / p, memory for one block", "Thakur, Rabenseifner, Gropp 2005";
        Linear = "linear", Traits::NONE, Ranks,
            "p - 1 messages of n at the first rank, which combines all and sends p - 1 of n / p", "the flat form, by messages";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        Shared(ANY, ANY, NO_MORE), "each rank is scheduled once";
        Direct(FEW, ANY, NO_MORE), "the same result as with a board";
        Halving(IN_RANK_ORDER, up_to(64 << 10), Traits::EXACT), "fewest rounds";
        Direct(NOT_MANY, from(64 << 10), NO_MORE), "each byte crosses once, all at the same time";
        Linear(IN_RANK_ORDER, ANY, NO_MORE), "the same result as with a board, in few messages";
        Halving(ANY, up_to(64 << 10), NO_MORE), "fewest rounds";
        Direct(ANY, ANY, NO_MORE), "each byte crosses once, all at the same time";
    }

    /// `MPI_Scan` and `MPI_Exscan`.
    Scan = "scan", "bytes of a rank's elements" {
        Nodes = "nodes", Traits::NODES, Rounds,
            "a reduction and a scan in each node, a scan among nodes", "the two levels of Graham, Shipman 2008";
        Shared = "shared", Traits::BOARD, Ranks,
            "n in at each rank, which combines those of the ranks before it", "Graham, Shipman 2008, flat";
        Direct = "direct", Traits::NONE, Ranks,
            "a message of n to each later rank, one round; up to p - 1 operations on n", "the flat form, by messages";
        RecursiveDoubling = "recursive_doubling", Traits::NONE, Rounds,
            "log p rounds of n, two operations each", "Thakur, Rabenseifner, Gropp 2005";
        Chain = "chain", Traits::NONE, Ranks,
            "p - 1 rounds of n in a row, one message and one operation at each rank", "the definition, MPI-5.0 §6.11";
    }
    choose {
        Nodes(ANY, ANY, NO_MORE), "nodes are far from each other";
        Shared(ANY, ANY, NO_MORE), "nobody waits for a later rank";
        Direct(FEW, ANY, NO_MORE), "the same result as with a board";
        Chain(IN_RANK_ORDER, ANY, NO_MORE), "the same result as with a board, in few messages";
        RecursiveDoubling(ANY, ANY, NO_MORE), "fewest rounds";
    }
}
