//! What moves elements, or nothing.

use super::*;

#[test]
fn bcast_reaches_everyone() {
    by_every_algorithm::<select::Bcast>(|| {
        on_every_machine(|| {
            for &size in sizes() {
                for root in [0, size / 3, size - 1] {
                    for count in [0, 1, 1000] {
                        let results = on_ranks(size, |link| {
                            // Every second rank keeps its pairs with gaps.
                            let datatype = if link.rank() % 2 == 0 { doubled() } else { gapped() };
                            let mut memory = Memory::new(datatype, count);
                            if link.rank() == root {
                                memory.unpack(datatype, 0, &block(root, 0, count));
                            }
                            let elements = memory.elements(datatype, 0, count);
                            // SAFETY: the elements lie in `memory`.
                            link.end(unsafe { super::bcast::run(link, elements, root) });
                            let mut expected = Memory::new(datatype, count);
                            expected.unpack(datatype, 0, &block(root, 0, count));
                            memory == expected
                        });
                        assert!(
                            results.into_iter().all(|good| good),
                            "{size} ranks, root {root}, {count}"
                        );
                    }
                }
            }
        });
    });
}

#[test]
fn gather_and_scatter_are_inverse() {
    by_every_algorithm::<select::Gatherv>(|| {
        for &size in sizes() {
            for root in [0, size - 1] {
                for in_place in [false, true] {
                    let layout = uneven(size, 7);
                    let results = on_ranks(size, |link| {
                        let rank = link.rank();
                        let (count, at) = layout[rank];
                        let mut own = Memory(block(rank, root, count));
                        let mut all = Memory::new(gapped(), room(&layout));
                        if rank == root && in_place {
                            all.unpack(gapped(), at, &own.0);
                        }
                        let base = all.clone().0.len();
                        let at_root = |place: usize| {
                            let (count, at) = layout[place];
                            (rank == root).then(|| Elements::new(all.0.as_ptr().cast(), 0, gapped()).at(at, count))
                        };
                        let mine = own.elements(doubled(), 0, count);
                        let mine = (rank != root || !in_place).then_some(mine);
                        // SAFETY: all elements lie in `own` and `all`.
                        link.end(unsafe {
                            super::rooted::run_v(link, Direction::ToRoot, mine, at_root, Root::Rank(root))
                        });
                        let mut expected = Memory::new(gapped(), room(&layout));
                        for (from, (count, at)) in layout.iter().enumerate().filter(|_| rank == root) {
                            expected.unpack(gapped(), *at, &block(from, root, *count));
                        }
                        assert_eq!(base, expected.0.len());
                        let gathered = all == expected;
                        // And back again.
                        let mut back = Memory::new(doubled(), count);
                        let mine = (rank != root || !in_place).then_some(back.elements(doubled(), 0, count));
                        let at_root = |place: usize| {
                            let (count, at) = layout[place];
                            (rank == root).then(|| Elements::new(all.0.as_ptr().cast(), 0, gapped()).at(at, count))
                        };
                        // SAFETY: all elements lie in `back` and `all`.
                        link.end(unsafe {
                            super::rooted::run_v(link, Direction::FromRoot, mine, at_root, Root::Rank(root))
                        });
                        gathered && (mine.is_none() || back == own)
                    });
                    assert!(
                        results.into_iter().all(|good| good),
                        "{size} ranks, root {root}, in place: {in_place}"
                    );
                }
            }
        }
    });
}

#[test]
fn allgather_gives_everyone_every_block() {
    by_every_algorithm::<select::Allgather>(|| {
        for &size in sizes() {
            for in_place in [false, true] {
                for count in [0, 1, 200] {
                    for datatype in [doubled(), gapped()] {
                        let results = on_ranks(size, |link| {
                            let rank = link.rank();
                            let mut own = Memory(block(rank, 0, count));
                            let mut all = Memory::new(datatype, count * size as i64);
                            if in_place {
                                all.unpack(datatype, count * rank as i64, &own.0);
                            }
                            let mine = (!in_place).then_some(own.elements(doubled(), 0, count));
                            let one = all.elements(datatype, 0, count);
                            // SAFETY: all elements lie in `own` and `all`.
                            link.end(unsafe { super::allgather::run(link, mine, one) });
                            let mut expected = Memory::new(datatype, count * size as i64);
                            for from in 0..size {
                                expected.unpack(datatype, count * from as i64, &block(from, 0, count));
                            }
                            all == expected
                        });
                        assert!(results.into_iter().all(|good| good), "{size} ranks, {count}");
                    }
                }
                let layout = uneven(size, 5);
                let results = on_ranks(size, |link| {
                    let rank = link.rank();
                    let (count, at) = layout[rank];
                    let mut own = Memory(block(rank, 0, count));
                    let mut all = Memory::new(gapped(), room(&layout));
                    if in_place {
                        all.unpack(gapped(), at, &own.0);
                    }
                    let mine = (!in_place).then_some(own.elements(doubled(), 0, count));
                    let start = all.elements(gapped(), 0, 0);
                    // SAFETY: all elements lie in `own` and `all`.
                    link.end(unsafe {
                        super::allgather::run_v(link, mine, |from| start.at(layout[from].1, layout[from].0))
                    });
                    let mut expected = Memory::new(gapped(), room(&layout));
                    for (from, (count, at)) in layout.iter().enumerate() {
                        expected.unpack(gapped(), *at, &block(from, 0, *count));
                    }
                    all == expected
                });
                assert!(results.into_iter().all(|good| good), "{size} ranks, uneven");
            }
        }
    });
}

#[test]
fn alltoall_transposes() {
    by_every_algorithm::<select::Alltoallv>(|| {
        for &size in sizes() {
            for in_place in [false, true] {
                // In place, both directions of a pair must be alike.
                let count = |from: usize, to: usize| {
                    if in_place {
                        (from + to) as i64 % 4
                    } else {
                        (from + 2 * to) as i64 % 4
                    }
                };
                let results = on_ranks(size, |link| {
                    let rank = link.rank();
                    let mut sends = Memory::new(doubled(), 4 * size as i64);
                    let mut recvs = Memory::new(gapped(), 4 * size as i64);
                    let mut expected = Memory::new(gapped(), 4 * size as i64);
                    for other in 0..size {
                        let out = block(rank, other, count(rank, other));
                        if in_place {
                            recvs.unpack(gapped(), 4 * other as i64, &out);
                        } else {
                            sends.unpack(doubled(), 4 * other as i64, &out);
                        }
                        expected.unpack(gapped(), 4 * other as i64, &block(other, rank, count(other, rank)));
                    }
                    let (from, to) = (sends.elements(doubled(), 0, 0), recvs.elements(gapped(), 0, 0));
                    let from = |other: usize| from.at(4 * other as i64, count(rank, other));
                    let to = |other: usize| to.at(4 * other as i64, count(other, rank));
                    // SAFETY: all elements lie in `sends` and `recvs`.
                    link.end(unsafe {
                        if in_place {
                            super::alltoall::run_in_place(link, to, false)
                        } else {
                            super::alltoall::run_v(link, from, to)
                        }
                    });
                    recvs == expected
                });
                assert!(
                    results.into_iter().all(|good| good),
                    "{size} ranks, in place: {in_place}"
                );
            }
        }
    });
}

#[test]
fn barriers_hold_everyone_back() {
    by_every_algorithm::<select::Barrier>(|| {
        use std::sync::atomic::{AtomicUsize, Ordering};
        for &size in sizes() {
            let arrived = AtomicUsize::new(0);
            on_ranks(size, |link| {
                arrived.fetch_add(1, Ordering::SeqCst);
                link.end(super::barrier::run(link));
                assert_eq!(arrived.load(Ordering::SeqCst) % size, 0);
            });
        }
    });
}
