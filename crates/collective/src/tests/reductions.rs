//! What combines elements.

use super::*;

#[test]
fn allreduce_combines_in_rank_order() {
    by_every_algorithm::<select::Allreduce>(|| {
        for_all(&[0, 1, 100, 9001], |case, size, count| {
            let expected = prefixes(case, size, count).pop().unwrap();
            for in_place in [false, true] {
                let results = on_ranks(size, |link| {
                    let operand = case.operand();
                    let input = Memory::filled(case.datatype, count, link.rank());
                    let mut output = if in_place {
                        input.clone()
                    } else {
                        Memory::new(case.datatype, count)
                    };
                    let from = if in_place { output.0.as_ptr() } else { input.0.as_ptr() };
                    // SAFETY: both hold `count` elements.
                    link.end(unsafe { allreduce::run(link, &operand, from, output.0.as_mut_ptr(), count) });
                    output
                });
                for result in results {
                    assert!(result == expected, "{size} ranks, {count} elements");
                }
            }
        });
    });
}

#[test]
fn reduce_combines_in_rank_order_at_any_root() {
    by_every_algorithm::<select::Reduce>(|| {
        for_all(&[0, 1, 50], |case, size, count| {
            let expected = prefixes(case, size, count).pop().unwrap();
            for root in [0, size / 2, size - 1] {
                for in_place in [false, true] {
                    let results = on_ranks(size, |link| {
                        let operand = case.operand();
                        let mut input = Memory::filled(case.datatype, count, link.rank());
                        let mut output = Memory::new(case.datatype, count);
                        let to = if in_place {
                            input.0.as_mut_ptr()
                        } else {
                            output.0.as_mut_ptr()
                        };
                        let from = if in_place { to.cast_const() } else { input.0.as_ptr() };
                        // SAFETY: both hold `count` elements.
                        link.end(unsafe { super::reduce::run(link, &operand, from, to, count, root) });
                        if in_place { input } else { output }
                    });
                    // Sums may be taken in another order; these cases come out the same.
                    for result in [&results[root], &results[size + root]] {
                        assert!(*result == expected, "{size} ranks, {count} elements, root {root}");
                    }
                    for (rank, result) in (0..size).cycle().zip(&results).filter(|(rank, _)| *rank != root) {
                        let untouched = if in_place {
                            Memory::filled(case.datatype, count, rank)
                        } else {
                            Memory::new(case.datatype, count)
                        };
                        assert!(*result == untouched);
                    }
                }
            }
        });
    });
}

#[test]
fn scans_give_prefixes() {
    by_every_algorithm::<select::Scan>(|| {
        for_all(&[0, 1, 20], |case, size, count| {
            let expected = prefixes(case, size, count);
            for inclusive in [true, false] {
                for in_place in [false, true] {
                    let results = on_ranks(size, |link| {
                        let operand = case.operand();
                        let input = Memory::filled(case.datatype, count, link.rank());
                        let mut output = if in_place {
                            input.clone()
                        } else {
                            Memory::new(case.datatype, count)
                        };
                        let from = if in_place { output.0.as_ptr() } else { input.0.as_ptr() };
                        // SAFETY: both hold `count` elements.
                        link.end(unsafe {
                            super::scan::run(link, &operand, from, output.0.as_mut_ptr(), count, inclusive)
                        });
                        output
                    });
                    for (rank, result) in (0..size).cycle().zip(&results) {
                        if inclusive {
                            assert!(*result == expected[rank]);
                        } else if rank > 0 {
                            assert!(
                                *result == expected[rank - 1],
                                "{size} ranks, {count} elements, rank {rank}"
                            );
                        } else if !in_place {
                            assert!(*result == Memory::new(case.datatype, count));
                        }
                    }
                }
            }
        });
    });
}

#[test]
fn reduce_scatter_gives_blocks() {
    by_every_algorithm::<select::ReduceScatter>(|| {
        for_all(&[0, 1, 30], |case, size, count| {
            let counts: Vec<i64> = (0..size as i64).map(|rank| count * (rank % 3)).collect();
            let total: i64 = counts.iter().sum();
            let whole = prefixes(case, size, total).pop().unwrap();
            for in_place in [false, true] {
                let results = on_ranks(size, |link| {
                    let operand = case.operand();
                    let mut input = Memory::filled(case.datatype, total, link.rank());
                    let mut output = Memory::new(case.datatype, counts[link.rank()]);
                    let to = if in_place {
                        input.0.as_mut_ptr()
                    } else {
                        output.0.as_mut_ptr()
                    };
                    let from = if in_place { to.cast_const() } else { input.0.as_ptr() };
                    // SAFETY: both hold their elements.
                    link.end(unsafe { super::reduce_scatter::run(link, &operand, from, to, &counts) });
                    if in_place { input } else { output }
                });
                for (rank, result) in (0..size).cycle().zip(&results) {
                    let first = counts[..rank].iter().sum();
                    let expected = whole.pack(case.datatype, first, counts[rank]);
                    assert!(result.pack(case.datatype, 0, counts[rank]) == expected);
                }
            }
        });
    });
}
