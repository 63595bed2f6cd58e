//! The same between two groups of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const SIZES: [[usize; 2]; 8] = [[1, 1], [1, 2], [2, 1], [2, 3], [5, 1], [3, 4], [4, 4], [8, 7]];

/// Run `f` on both groups, at once and recorded: all answers must be true.
fn between(what: &str, f: impl Fn([usize; 2], &Thread) -> bool + Sync) {
    for sizes in SIZES {
        for recorded in [false, true] {
            let results = on_groups_once(sizes, recorded, &|link: &Thread| f(sizes, link));
            assert!(results.into_iter().all(|good| good), "{what}, groups of {sizes:?}");
        }
    }
}

/// The same for the last process of either group as the root: `f` is told which group, and what the root is to the caller.
fn with_roots(what: &str, f: impl Fn(&Thread, usize, Root) -> bool + Sync) {
    for group in 0..2 {
        between(what, |sizes, link| {
            let root = sizes[group] - 1;
            let seen = match link.group == group {
                false => Root::There(root),
                true if link.rank == root => Root::Here,
                true => Root::Elsewhere,
            };
            f(link, group, seen)
        });
    }
}

/// A number for each process.
fn id(group: usize, rank: usize) -> usize {
    20 * group + rank
}

/// What the other group's elements make, in the order of its ranks.
fn combined(case: &Case, link: &Thread, count: i64) -> Memory {
    let contribution = |rank| Memory::filled(case.datatype, count, id(1 - link.group, rank));
    (1..link.remote_size()).fold(contribution(0), |left, rank| {
        combine(case, &left, &contribution(rank), count)
    })
}

#[test]
fn barriers_wait_for_the_other_group() {
    for sizes in SIZES {
        for recorded in [false, true] {
            let arrived = [AtomicUsize::new(0), AtomicUsize::new(0)];
            on_groups_once(sizes, recorded, &|link: &Thread| {
                arrived[link.group].fetch_add(1, Ordering::SeqCst);
                link.end(barrier::run(link));
                assert_eq!(arrived[1 - link.group].load(Ordering::SeqCst), link.remote_size());
            });
        }
    }
}

#[test]
fn bcast_reaches_the_other_group() {
    for count in [0, 1, 900] {
        with_roots("bcast", |link, group, root| {
            let datatype = if link.rank % 2 == 0 { doubled() } else { gapped() };
            let mut memory = Memory::new(datatype, count);
            let mut expected = Memory::new(datatype, count);
            match root {
                Root::Here => memory.unpack(datatype, 0, &block(group, 0, count)),
                Root::There(_) => expected.unpack(datatype, 0, &block(group, 0, count)),
                _ => {}
            }
            let elements = memory.elements(datatype, 0, count);
            // SAFETY: the elements lie in `memory`.
            link.end(unsafe { crate::bcast::inter::run(link, elements, root) });
            root == Root::Here || memory == expected
        });
    }
}

#[test]
fn gather_and_scatter_cross_and_come_back() {
    with_roots("gather and scatter", |link, _, root| {
        let layout = uneven(link.sizes[usize::from(root == Root::Here)], 6);
        let count = layout[link.rank.min(layout.len() - 1)].0;
        let all = Memory::new(gapped(), room(&layout));
        let mut own = Memory(block(link.rank, 1, count));
        let place = |rank: usize| {
            let (count, at) = layout[rank];
            (root == Root::Here).then(|| Elements::new(all.0.as_ptr().cast(), 0, gapped()).at(at, count))
        };
        let mine = matches!(root, Root::There(_)).then_some(own.elements(doubled(), 0, count));
        // SAFETY: all elements lie in `own` and `all`.
        link.end(unsafe { crate::rooted::run_v(link, Direction::ToRoot, mine, place, root) });
        let mut expected = Memory::new(gapped(), room(&layout));
        if root == Root::Here {
            for (from, (count, at)) in layout.iter().enumerate() {
                expected.unpack(gapped(), *at, &block(from, 1, *count));
            }
        }
        let gathered = all == expected;
        let mut back = Memory::new(doubled(), count);
        let mine = matches!(root, Root::There(_)).then_some(back.elements(doubled(), 0, count));
        // SAFETY: all elements lie in `back` and `all`.
        link.end(unsafe { crate::rooted::run_v(link, Direction::FromRoot, mine, place, root) });
        gathered && (mine.is_none() || back == own)
    });
}

#[test]
fn allgather_gives_the_other_groups_blocks() {
    // What the two groups send need not be alike.
    for counts in [[0, 3], [4, 0], [1, 200]] {
        between("allgather", |_, link| {
            let (ours, theirs) = (counts[link.group], counts[1 - link.group]);
            let mut own = Memory(block(id(link.group, link.rank), 0, ours));
            let mut all = Memory::new(gapped(), theirs * link.remote_size() as i64);
            let (mine, one) = (own.elements(doubled(), 0, ours), all.elements(gapped(), 0, theirs));
            // SAFETY: all elements lie in `own` and `all`.
            link.end(unsafe { crate::allgather::run(link, Some(mine), one) });
            let mut expected = Memory::new(gapped(), theirs * link.remote_size() as i64);
            for from in 0..link.remote_size() {
                let sent = block(id(1 - link.group, from), 0, theirs);
                expected.unpack(gapped(), theirs * from as i64, &sent);
            }
            all == expected
        });
    }
    between("allgatherv", |sizes, link| {
        let (ours, theirs) = (uneven(sizes[link.group], 5), uneven(link.remote_size(), 5));
        let count = ours[link.rank].0;
        let mut own = Memory(block(id(link.group, link.rank), 0, count));
        let mut all = Memory::new(gapped(), room(&theirs));
        let (mine, start) = (own.elements(doubled(), 0, count), all.elements(gapped(), 0, 0));
        let place = |from: usize| start.at(theirs[from].1, theirs[from].0);
        // SAFETY: all elements lie in `own` and `all`.
        link.end(unsafe { crate::allgather::run_v(link, Some(mine), place) });
        let mut expected = Memory::new(gapped(), room(&theirs));
        for (from, (count, at)) in theirs.iter().enumerate() {
            expected.unpack(gapped(), *at, &block(id(1 - link.group, from), 0, *count));
        }
        all == expected
    });
}

#[test]
fn alltoall_crosses() {
    between("alltoall", |_, link| {
        let others = link.remote_size();
        let (me, other) = (id(link.group, link.rank), |rank| id(1 - link.group, rank));
        let count = |from: usize, to: usize| (from + 2 * to) as i64 % 4;
        let mut sends = Memory::new(doubled(), 4 * others as i64);
        let mut recvs = Memory::new(gapped(), 4 * others as i64);
        let mut expected = Memory::new(gapped(), 4 * others as i64);
        for rank in 0..others {
            sends.unpack(
                doubled(),
                4 * rank as i64,
                &block(me, other(rank), count(me, other(rank))),
            );
            let sent = block(other(rank), me, count(other(rank), me));
            expected.unpack(gapped(), 4 * rank as i64, &sent);
        }
        let (from, to) = (sends.elements(doubled(), 0, 0), recvs.elements(gapped(), 0, 0));
        let from = |rank: usize| from.at(4 * rank as i64, count(me, other(rank)));
        let to = |rank: usize| to.at(4 * rank as i64, count(other(rank), me));
        // SAFETY: all elements lie in `sends` and `recvs`.
        link.end(unsafe { crate::alltoall::run_v(link, from, to) });
        recvs == expected
    });
}

#[test]
fn reductions_are_of_the_other_group() {
    for case in cases() {
        for count in [0, 1, 60] {
            with_roots("reduce", |link, _, root| {
                let operand = case.operand();
                let input = Memory::filled(case.datatype, count, id(link.group, link.rank));
                let mut output = Memory::new(case.datatype, count);
                let (from, to) = (input.0.as_ptr(), output.0.as_mut_ptr());
                // SAFETY: both hold `count` elements.
                link.end(unsafe { crate::reduce::inter::run(link, &operand, from, to, count, root) });
                let expected = match root {
                    Root::Here => combined(&case, link, count),
                    _ => Memory::new(case.datatype, count),
                };
                output.pack(case.datatype, 0, count) == expected.pack(case.datatype, 0, count)
            });
            between("allreduce", |_, link| {
                let operand = case.operand();
                let input = Memory::filled(case.datatype, count, id(link.group, link.rank));
                let mut output = Memory::new(case.datatype, count);
                // SAFETY: both hold `count` elements.
                link.end(unsafe { allreduce::run(link, &operand, input.0.as_ptr(), output.0.as_mut_ptr(), count) });
                output.pack(case.datatype, 0, count) == combined(&case, link, count).pack(case.datatype, 0, count)
            });
            between("reduce_scatter", |sizes, link| {
                let operand = case.operand();
                // Both groups share out as many elements, each in its own way: the last takes what is left.
                let total = count * (sizes[0] * sizes[1]) as i64;
                let mut counts = vec![0; link.sizes[0]];
                for (rank, part) in counts.iter_mut().enumerate().skip(1) {
                    *part = count * (rank % 2) as i64;
                }
                counts[0] = total - counts.iter().sum::<i64>();
                let input = Memory::filled(case.datatype, total, id(link.group, link.rank));
                let mut output = Memory::new(case.datatype, counts[link.rank]);
                let (from, to) = (input.0.as_ptr(), output.0.as_mut_ptr());
                // SAFETY: both hold their elements.
                link.end(unsafe { crate::reduce_scatter::run(link, &operand, from, to, &counts) });
                let first = counts[..link.rank].iter().sum();
                let expected = combined(&case, link, total).pack(case.datatype, first, counts[link.rank]);
                output.pack(case.datatype, 0, counts[link.rank]) == expected
            });
        }
    }
}
