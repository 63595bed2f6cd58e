//! All ranks of a group as threads, against a model of the file.

use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, Mutex};
use std::task::{Context, Poll, Waker};

use isthmus_datatype::Type;

use isthmus_datatype::error::Class;

use super::*;
use crate::backend::Holder;
use crate::fault::{Fault, Plan as Faults};
use crate::posix::{Create, How, Posix};
use crate::systems::{OTHER, OwnWrites, SYSTEMS};

/// Ranks that are threads: each pair has a channel.
struct Threads {
    rank: usize,
    nodes: u32,
    sends: Vec<Sender<Vec<u8>>>,
    receives: Vec<Receiver<Vec<u8>>>,
}

impl Exchange for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.sends.len()
    }

    fn node_of(&self, rank: usize) -> u32 {
        rank as u32 % self.nodes
    }

    async fn gather<const N: usize>(&self, own: [u64; N]) -> Result<Vec<[u64; N]>> {
        let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut all = vec![[0; N]; self.size()];
        for to in &self.sends {
            to.send(bytes.clone()).expect("alive");
        }
        for (from, place) in self.receives.iter().zip(&mut all) {
            let bytes = from.recv().expect("alive");
            for (word, bytes) in place.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_ne_bytes(*bytes);
            }
        }
        Ok(all)
    }

    async fn pass(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>]) -> Result<()> {
        for Outgoing { to, bytes } in sends {
            self.sends[*to].send(bytes.to_vec()).expect("alive");
        }
        for Incoming { from, bytes } in receives {
            bytes.copy_from_slice(&self.receives[*from].recv().expect("alive"));
        }
        Ok(())
    }
}

fn group(size: usize) -> Vec<Threads> {
    let mut ranks: Vec<Threads> = (0..size)
        .map(|rank| Threads {
            rank,
            nodes: 2,
            sends: Vec::new(),
            receives: Vec::new(),
        })
        .collect();
    for from in 0..size {
        for to in 0..size {
            let (send, receive) = channel();
            ranks[from].sends.push(send);
            ranks[to].receives.push(receive);
        }
    }
    ranks
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("threads wait in their channels"),
    }
}

fn file() -> Posix {
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let number = {
        let mut number = NUMBER.lock().expect("no panic");
        *number += 1;
        *number
    };
    let path = std::env::temp_dir().join(format!("isthmus-two-phase-{}-{number}", std::process::id()));
    let how = How {
        read: true,
        write: true,
        create: Create::Missing,
        mode: 0o600,
    };
    let file = Posix::open(&path, how).expect("a file");
    std::fs::remove_file(path).expect("made above");
    file
}

/// Each rank has `length` bytes of every `size * length + gap`, its own after those of lower ranks.
fn view(rank: usize, size: usize, length: i64, gap: i64) -> View {
    let byte = Type::of_name("MPI_BYTE");
    let tile = byte
        .shape()
        .repeated(length, 1)
        .and_then(|shape| shape.resized(0, size as i64 * length + gap));
    View::new(7 + rank as i64 * length, &byte, &Type::derived(tile.expect("small"))).expect("good")
}

fn each_rank(size: usize, act: impl Fn(Threads) + Sync) {
    std::thread::scope(|scope| {
        for rank in group(size) {
            scope.spawn(|| act(rank));
        }
    });
}

#[test]
fn every_rank_writes_and_reads_its_own() {
    for (size, length, gap, cb_nodes, buffer) in [
        (1, 5, 0, None, 64),
        (3, 5, 0, Some(2), 16),
        (4, 7, 3, Some(4), 33),
        (5, 64, 0, Some(9), 1 << 20),
        (4, 3, 50, None, 20),
    ] {
        let file = file();
        let meet = Barrier::new(size);
        let hints = Hints {
            cb_nodes,
            cb_buffer: buffer,
            striping_unit: Some(8),
            cb_write: Choice::Enable,
            cb_read: Choice::Enable,
            ..Hints::default()
        };
        let byte = |rank: usize, at: usize| (rank * 50 + at * 3 + 1) as u8;
        each_rank(size, |exchange| {
            let rank = exchange.rank;
            // The last one has nothing, in groups that are not of one.
            let bytes = if rank + 1 == size && size > 1 { 0 } else { 40 + rank };
            let view = view(rank, size, length, gap);
            let data: Vec<u8> = (0..bytes).map(|at| byte(rank, at)).collect();
            let part = |memory| RankPart {
                file: &file,
                path: "file",
                view: &view,
                hints: &hints,
                memory,
                position: 2,
                locked: false,
                may_begin: false,
                refused: None,
            };
            let memory = AccessMemory::owned(data.clone());
            assert_eq!(now(write(&exchange, part(&memory))), Ok(bytes as u64));
            meet.wait();
            // More than there is: the file ends somewhere.
            let memory = AccessMemory::owned(vec![0; bytes + 30]);
            let got = now(read(&exchange, part(&memory))).expect("good") as usize;
            let back = memory.into_owned();
            assert!(
                got >= bytes && back[..bytes] == data,
                "rank {rank} of {size}: {got} {back:?}"
            );
            assert!(back[got..].iter().all(|byte| *byte == 0));
        });
    }
}

#[test]
fn a_rank_whose_part_needs_nobody_makes_it_first() {
    // Ranks have 90 bytes in a row, 90 bytes in pieces of 3, or nothing, and may begin or not. If all could make their parts they talk once.
    for (kinds, may_begin, once) in [
        ("rrr", "yyy", true),
        ("r-r", "yyy", true),
        ("---", "yyy", true),
        ("rrr", "yyn", false),
        ("rpp", "yyy", false),
        ("ppr-p", "yyyyy", false),
        ("ppr-p", "nynyn", false),
    ] {
        let file = file();
        let size = kinds.len();
        let meet = Barrier::new(size);
        let hints = Hints {
            cb_buffer: 16,
            ..Hints::default()
        };
        each_rank(size, |exchange| {
            let rank = exchange.rank;
            let kind = kinds.as_bytes()[rank];
            let mut view = view(rank, size, 3, 0);
            if kind == b'r' {
                view = View::contiguous(1000 + 90 * rank as u64, 1);
            }
            let bytes = if kind == b'-' { 0 } else { 90 };
            let data: Vec<u8> = (0..bytes).map(|at| (rank * 41 + at + 1) as u8).collect();
            let exchange = Counted {
                exchange,
                talks: AtomicU64::new(0),
            };
            let part = |memory| RankPart {
                file: &file,
                path: "file",
                view: &view,
                hints: &hints,
                memory,
                position: 0,
                locked: false,
                may_begin: may_begin.as_bytes()[rank] == b'y',
                refused: None,
            };
            let memory = AccessMemory::owned(data.clone());
            assert_eq!(now(write(&exchange, part(&memory))), Ok(bytes as u64));
            assert_eq!(exchange.talks.load(Ordering::Relaxed) == 1, once, "{kinds} {may_begin}");
            meet.wait();
            let memory = AccessMemory::owned(vec![0; bytes]);
            assert_eq!(now(read(&exchange, part(&memory))), Ok(bytes as u64));
            assert_eq!(memory.into_owned(), data, "{kinds} {may_begin}: rank {rank}");
        });
    }
}

#[test]
fn an_error_of_a_part_that_was_made_first_is_one_of_all() {
    let file = Fault::new(file(), Faults::parse("enospc=1").expect("good"));
    let hints = Hints::default();
    each_rank(3, |exchange| {
        let view = View::contiguous(64 * exchange.rank as u64, 1);
        let memory = AccessMemory::owned(vec![1; 64]);
        let part = RankPart {
            file: &file,
            path: "the file",
            view: &view,
            hints: &hints,
            memory: &memory,
            position: 0,
            locked: false,
            may_begin: true,
            refused: None,
        };
        let error = now(write(&exchange, part)).expect_err("full");
        assert_eq!(error.code(), Class::NoSpace as i32);
    });
}

#[test]
fn an_error_of_one_part_that_was_made_first_is_one_of_those_that_go_through_others() {
    let (whole, full) = (file(), Fault::new(file(), Faults::parse("enospc=1").expect("good")));
    let hints = Hints {
        cb_buffer: 16,
        ..Hints::default()
    };
    each_rank(3, |exchange| {
        let is_first = exchange.rank == 0;
        let view = match is_first {
            true => View::contiguous(1000, 1),
            false => view(exchange.rank, 3, 3, 0),
        };
        let memory = AccessMemory::owned(vec![1; 90]);
        let part = RankPart {
            file: if is_first { &full as &dyn Backend } else { &whole },
            path: "the file",
            view: &view,
            hints: &hints,
            memory: &memory,
            position: 0,
            locked: false,
            may_begin: true,
            refused: None,
        };
        let error = now(write(&exchange, part)).expect_err("full");
        assert_eq!(error.code(), Class::NoSpace as i32);
    });
}

/// An exchange, and how often its members have gathered words.
struct Counted {
    exchange: Threads,
    talks: AtomicU64,
}

impl Exchange for Counted {
    fn rank(&self) -> usize {
        self.exchange.rank()
    }

    fn size(&self) -> usize {
        self.exchange.size()
    }

    fn node_of(&self, rank: usize) -> u32 {
        self.exchange.node_of(rank)
    }

    async fn gather<const N: usize>(&self, own: [u64; N]) -> Result<Vec<[u64; N]>> {
        self.talks.fetch_add(1, Ordering::Relaxed);
        self.exchange.gather(own).await
    }

    async fn pass(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>]) -> Result<()> {
        self.exchange.pass(sends, receives).await
    }
}

/// How ranks make an access of 100 pieces each, in turn, to a file of `size` bytes; `None`: through aggregators.
fn strategy(nodes: u32, ranks: usize, piece: u64, writes: Option<OwnWrites>, size: u64) -> Option<Choice> {
    let members = group(ranks).into_iter().map(|member| Threads { nodes, ..member });
    let members: Vec<_> = members.collect();
    let step = ranks as u64 * piece;
    let said: Vec<Said> = (0..ranks as u64)
        .map(|rank| {
            let mut said = [0; 14];
            said[EACH_NODE] = u64::MAX;
            said[FIRST] = rank * piece;
            said[END] = rank * piece + 99 * step + piece;
            (said[PIECE], said[BYTES]) = (piece, 100 * piece);
            (said[BUFFER], said[UNIT]) = (1 << 20, 1);
            // One has seen the end that the others have not.
            said[SIZE] = if rank == 1 { size } else { 0 };
            let own = writes.unwrap_or(OTHER.own_writes);
            (said[INSIDE], said[GROWING]) = (own.inside, own.growing);
            said
        })
        .collect();
    match Strategy::of(&members[0], &said, writes.is_some()) {
        Strategy::Own(gaps) => Some(gaps),
        Strategy::Through(_) | Strategy::Made => None,
    }
}

#[test]
fn on_one_node_long_pieces_and_dense_reads_are_each_ranks_own() {
    let read = |nodes, ranks, piece| strategy(nodes, ranks, piece, None, 0);
    assert_eq!(read(1, 4, LONG_READ), Some(Choice::Disable));
    // Gaps as long as the pieces, or three times as long.
    assert_eq!(read(1, 2, 64), Some(Choice::Enable));
    assert_eq!(read(1, 4, 64), None);
    assert_eq!(strategy(1, 2, 64, Some(OTHER.own_writes), 0), None);
    // Ranks of several nodes do not share the pages.
    assert_eq!(read(2, 4, 64 << 10), None);
}

#[test]
fn pieces_are_each_ranks_own_to_write_from_the_length_on_that_the_table_has_for_the_file_system() {
    for system in SYSTEMS.iter().chain([&OTHER]) {
        let own = system.own_writes;
        let write = |piece, size| strategy(1, 4, piece, Some(own), size);
        for (long, grows) in [(own.inside, false), (own.growing, true)] {
            let size = |piece| 400 * piece - u64::from(grows);
            assert_eq!(write(long, size(long)), Some(Choice::Disable), "{}", system.name);
            assert_eq!(write(long - 1, size(long - 1)), None, "{}", system.name);
        }
    }
}

#[test]
fn a_file_that_grows_is_written_in_long_rows_where_pages_are_as_large_as_writes() {
    const PIECE: usize = 16 << 10;
    let own = SYSTEMS[0].own_writes;
    assert!((own.inside..own.growing).contains(&(PIECE as u64)));
    for may_begin in [false, true] {
        let posix = file();
        let meet = Barrier::new(3);
        let (accesses, locks, starts) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        each_rank(3, |exchange| {
            let exchange = Threads { nodes: 1, ..exchange };
            let view = view(exchange.rank, 3, PIECE as i64, 0);
            let file = Seen {
                file: &posix,
                is_early: false,
                accesses: &accesses,
                locks: &locks,
                layout: Layout::of_blocks(4096, &SYSTEMS[0]),
                starts: Some(&starts),
            };
            let hints = Hints::default();
            // It grows, then it is written to again: two aggregators write, then each rank its four pieces.
            for writes in [2, 2 + 3 * 4] {
                let memory = AccessMemory::owned(vec![exchange.rank as u8 + 1; 4 * PIECE]);
                let part = RankPart {
                    file: &file,
                    path: "file",
                    view: &view,
                    hints: &hints,
                    memory: &memory,
                    position: 0,
                    locked: false,
                    may_begin,
                    refused: None,
                };
                assert_eq!(now(write(&exchange, part)), Ok(4 * PIECE as u64));
                meet.wait();
                assert_eq!(starts.lock().expect("no panic").len(), writes);
                meet.wait();
            }
        });
        let mut back = vec![0; 12 * PIECE];
        assert_eq!(crate::backend::read(&posix, &mut back, 7), Ok(12 * PIECE));
        assert!(
            back.iter()
                .enumerate()
                .all(|(at, byte)| usize::from(*byte) == at / PIECE % 3 + 1)
        );
    }
}

#[test]
fn a_long_access_that_makes_a_file_longer_has_more_aggregators_on_one_node() {
    // How many ranks write, of six on so many nodes, in all so many bytes in pieces of 64, to a file that ends there.
    let writers = |nodes, bytes: u64, size| {
        let members = group(6).into_iter().map(|member| Threads { nodes, ..member });
        let members: Vec<_> = members.collect();
        let said: Vec<Said> = (0..6)
            .map(|rank| {
                let mut said = [0; 14];
                (said[EACH_NODE], said[BUFFER], said[UNIT]) = (u64::MAX, 16 << 20, 1);
                (said[FIRST], said[END]) = (64 * rank, bytes - 64 * (5 - rank));
                (said[PIECE], said[BYTES], said[SIZE]) = (64, bytes / 6, size);
                (said[INSIDE], said[GROWING]) = (4096, 4096);
                said
            })
            .collect();
        match Strategy::of(&members[0], &said, true) {
            Strategy::Through(plan) => plan.aggregators.len(),
            Strategy::Own(_) | Strategy::Made => 0,
        }
    };
    let long = 6 * GROWING_PART;
    assert_eq!(
        [long, long - 192, long / 2, long / 6].map(|bytes| writers(1, bytes, 0)),
        [6, 5, 3, 2]
    );
    // Within the file, and on two nodes, as many as usual.
    assert_eq!([writers(1, long, long), writers(2, long, 0)], [2, 4]);
}

#[test]
fn runs_are_what_pieces_cover() {
    let mut state = 7_u64;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % most
    };
    for _ in 0..200 {
        let mut covers = [false; 300];
        let ranks = below(5);
        let pieces: Vec<Series> = (0..ranks)
            .map(|_| {
                let mut series = Series::default();
                let mut at = below(40);
                while at < 250 {
                    let length = 1 + below(9);
                    series.pieces.push((at, length));
                    covers[at as usize..][..length as usize].fill(true);
                    at += length + below(30);
                }
                series
            })
            .collect();
        let mut found = [false; 300];
        let mut last = None;
        for (start, length) in covered(&pieces) {
            // They are in order, and no two of them are one.
            assert!(last.is_none_or(|last| last < start), "{pieces:?}");
            last = Some(start + length);
            found[start as usize..][..length as usize].fill(true);
        }
        assert_eq!(found, covers, "{pieces:?}");
    }
}

#[test]
fn a_hint_says_how_many_aggregators_a_node_has() {
    let number = |list: &str| {
        let members = group(6).into_iter().map(|member| Threads { nodes: 2, ..member });
        let members: Vec<_> = members.collect();
        let mut hints = Hints::default();
        hints.set("cb_config_list", list);
        aggregators(&members[0], &hints, Layout::default())
    };
    assert_eq!(["", "*:1", "*:3", "*:*"].map(number), [4, 2, 4, 4]);
}

#[test]
fn an_error_of_one_is_an_error_of_all() {
    for faults in ["enospc=1", "eio=0"] {
        let file = Fault::new(file(), Faults::parse(faults).expect("good"));
        let hints = Hints {
            cb_buffer: 16,
            cb_nodes: Some(2),
            ..Hints::default()
        };
        let class = if faults.starts_with("eio") {
            Class::Io
        } else {
            Class::NoSpace
        };
        each_rank(3, |exchange| {
            let view = view(exchange.rank, 3, 4, 0);
            let memory = AccessMemory::owned(vec![1; 64]);
            let part = |refused| RankPart {
                file: &file,
                path: "the file",
                view: &view,
                hints: &hints,
                memory: &memory,
                position: 0,
                locked: false,
                may_begin: false,
                refused,
            };
            let error = now(write(&exchange, part(None))).expect_err("full");
            assert_eq!(error.code(), class as i32);
            assert!(error.detail().contains("the file"), "{}", error.detail());
            let refused = (exchange.rank == 1).then(|| Error::new(Class::Count, "count=-1 is negative"));
            let error = now(read(&exchange, part(refused))).expect_err("refused");
            assert_eq!(error.code(), Class::Count as i32);
        });
    }
}

/// A file as one rank sees it, with what is particular to that rank.
struct Seen<'a> {
    file: &'a Posix,
    /// It saw the file before the others had written.
    is_early: bool,
    accesses: &'a AtomicU64,
    locks: &'a AtomicU64,
    /// Stripes that the file is said to have.
    layout: Layout,
    /// Where writes began.
    starts: Option<&'a Mutex<Vec<u64>>>,
}

impl Backend for Seen<'_> {
    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.accesses.fetch_add(1, Ordering::Relaxed);
        self.file.read(into, offset)
    }

    fn write(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        self.accesses.fetch_add(1, Ordering::Relaxed);
        if let Some(starts) = self.starts {
            starts.lock().expect("no panic").push(offset);
        }
        self.file.write(from, offset)
    }

    fn size(&self) -> io::Result<u64> {
        if self.is_early { Ok(0) } else { self.file.size() }
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        self.file.resize(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        self.file.allocate(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn flush(&self) -> io::Result<()> {
        self.file.flush()
    }

    fn try_lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()> {
        self.locks.fetch_add(1, Ordering::Relaxed);
        self.file.try_lock(range, exclusive)
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn holder(&self, range: Range<u64>, exclusive: bool) -> io::Result<Holder> {
        self.file.holder(range, exclusive)
    }

    fn name(&self) -> String {
        self.file.name()
    }

    fn unlock(&self, range: Range<u64>) -> io::Result<()> {
        self.file.unlock(range)
    }
}

#[test]
fn a_read_ends_where_the_rank_that_came_last_sees_the_end() {
    let posix = file();
    crate::backend::write(&posix, &[7; 120], 0).expect("room");
    let (accesses, locks) = (AtomicU64::new(0), AtomicU64::new(0));
    let hints = Hints {
        cb_read: Choice::Enable,
        ..Hints::default()
    };
    each_rank(3, |exchange| {
        let view = view(exchange.rank, 3, 4, 0);
        let file = Seen {
            file: &posix,
            is_early: exchange.rank == 0,
            accesses: &accesses,
            locks: &locks,
            layout: Layout::default(),
            starts: None,
        };
        let memory = AccessMemory::owned(vec![0; 16]);
        let part = RankPart {
            file: &file,
            path: "file",
            view: &view,
            hints: &hints,
            memory: &memory,
            position: 0,
            locked: false,
            may_begin: false,
            refused: None,
        };
        assert_eq!(now(read(&exchange, part)), Ok(16));
        assert_eq!(memory.into_owned(), [7; 16]);
    });
}

#[test]
fn bytes_far_apart_do_not_take_a_round_for_each_window_between() {
    let posix = file();
    let (accesses, locks) = (AtomicU64::new(0), AtomicU64::new(0));
    let hints = Hints {
        cb_buffer: 16,
        cb_write: Choice::Enable,
        ..Hints::default()
    };
    each_rank(2, |exchange| {
        // Two bytes each, 2^40 from one another.
        let view = view(exchange.rank, 2, 1, (1 << 40) - 2);
        let file = Seen {
            file: &posix,
            is_early: false,
            accesses: &accesses,
            locks: &locks,
            layout: Layout::default(),
            starts: None,
        };
        let memory = AccessMemory::owned(vec![1; 2]);
        let part = RankPart {
            file: &file,
            path: "file",
            view: &view,
            hints: &hints,
            memory: &memory,
            position: 0,
            locked: false,
            may_begin: false,
            refused: None,
        };
        assert_eq!(now(write(&exchange, part)), Ok(2));
    });
    assert_eq!(accesses.into_inner(), 4);
}

#[test]
fn aggregators_take_the_lock_where_ranks_write_back_what_lies_between() {
    for (choice, locked) in [(Choice::Enable, true), (Choice::Automatic, false)] {
        let posix = file();
        let (accesses, locks) = (AtomicU64::new(0), AtomicU64::new(0));
        let hints = Hints {
            cb_write: Choice::Enable,
            ds_write: choice,
            ..Hints::default()
        };
        each_rank(3, |exchange| {
            let view = view(exchange.rank, 3, 4, 5);
            let file = Seen {
                file: &posix,
                is_early: false,
                accesses: &accesses,
                locks: &locks,
                layout: Layout::default(),
                starts: None,
            };
            let memory = AccessMemory::owned(vec![1; 16]);
            let part = RankPart {
                file: &file,
                path: "file",
                view: &view,
                hints: &hints,
                memory: &memory,
                position: 0,
                locked: false,
                may_begin: false,
                refused: None,
            };
            assert_eq!(now(write(&exchange, part)), Ok(16));
        });
        assert_eq!(locks.into_inner() > 0, locked);
    }
}

#[test]
fn stripes_of_a_file_are_the_parts_of_aggregators() {
    const UNIT: u64 = 64 << 10;
    let attribute = crate::layout::tests::attribute(UNIT as u32, 3);
    let layout = Layout::of_lustre(&attribute).expect("good");
    let posix = file();
    let (accesses, locks, starts) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
    each_rank(5, |exchange| {
        let view = view(exchange.rank, 5, 100, 0);
        let file = Seen {
            file: &posix,
            is_early: false,
            accesses: &accesses,
            locks: &locks,
            layout,
            starts: Some(&starts),
        };
        let hints = Hints::default();
        assert_eq!(aggregators(&exchange, &hints, layout), 3);
        let mut bytes = vec![exchange.rank as u8 + 1; 100 * 1000];
        let memory = AccessMemory::owned(std::mem::take(&mut bytes));
        let part = RankPart {
            file: &file,
            path: "file",
            view: &view,
            hints: &hints,
            memory: &memory,
            position: 0,
            locked: false,
            may_begin: false,
            refused: None,
        };
        assert_eq!(now(write(&exchange, part)).map_err(|error| error.code()), Ok(100_000));
    });
    // 500000 bytes from 7 on: three parts, of which two begin with a stripe.
    let mut starts = starts.into_inner().expect("no panic");
    starts.sort_unstable();
    assert_eq!(starts, [7, 3 * UNIT, 6 * UNIT]);
    let mut back = vec![0; 500_000];
    assert_eq!(crate::backend::read(&posix, &mut back, 7), Ok(500_000));
    assert!(
        back.iter()
            .enumerate()
            .all(|(at, byte)| u64::from(*byte) == (at as u64 / 100) % 5 + 1)
    );
}

/// Pieces of few ranks and of many, with gaps, neighbours and overlaps, are the same runs as by bytes.
#[test]
fn runs_of_few_and_of_many_ranks_are_those_of_their_bytes() {
    for ranks in [1, MERGED_AT_MOST, MERGED_AT_MOST + 1, 40] {
        let mut bytes = [false; 2000];
        let pieces: Vec<Series> = (0..ranks)
            .map(|rank| {
                let of_rank =
                    (0..10u64).map(|piece| (piece * 200 + (rank as u64 * 37) % 180, 1 + (rank as u64 + piece) % 12));
                let pieces: Vec<(u64, u64)> = of_rank.collect();
                for &(offset, length) in &pieces {
                    bytes[offset as usize..(offset + length) as usize].fill(true);
                }
                Series { pieces, bytes: 0 }
            })
            .chain([Series::default()])
            .collect();
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for at in (0..bytes.len()).filter(|at| bytes[*at]) {
            match runs.last_mut().filter(|run| run.0 + run.1 == at as u64) {
                Some(run) => run.1 += 1,
                None => runs.push((at as u64, 1)),
            }
        }
        assert_eq!(covered(&pieces), runs, "{ranks} ranks");
    }
}
