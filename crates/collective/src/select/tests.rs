use std::cell::Cell;

use super::table::ALL;
use super::*;

thread_local! {
    /// The place in its list of the algorithm that calls of this thread use, if it can be.
    pub static WANTED: Cell<Option<usize>> = const { Cell::new(None) };
}

pub fn wanted(collective: &Collective, case: &Case) -> Option<usize> {
    let index = WANTED.get()?;
    let algorithm = collective.algorithms.get(index)?;
    algorithm.needs.are_in(case.offers).then_some(index)
}

/// Sizes around every border.
fn sizes(collective: &Collective) -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..30).map(|bit| 1 << bit).collect();
    for rule in collective.rules {
        for border in [rule.bytes.0, rule.bytes.1] {
            sizes.extend([border.saturating_sub(1), border, border.saturating_add(1)]);
        }
    }
    sizes.extend(overrides::profile().borders(collective));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// All numbers of ranks that the profile tells apart, and both sides of those that the collective's rules do.
fn ranks(collective: &Collective) -> Vec<u64> {
    let most = MOST_IN_RANK_ORDER as u64;
    let mut ranks: Vec<u64> = (1..10).chain([most - 1, most, most + 1]).collect();
    for rule in collective.rules {
        for border in [rule.ranks.0, rule.ranks.1] {
            ranks.extend([border.saturating_sub(1), border, border.saturating_add(1)]);
        }
    }
    ranks.retain(|ranks| (1..=most + 1).contains(ranks));
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

fn every_case(collective: &Collective, mut f: impl FnMut(Case)) {
    let most = MOST_IN_RANK_ORDER as u64;
    for ranks in ranks(collective) {
        for bytes in sizes(collective) {
            for offers in Traits::sets() {
                if Traits::BOARD.are_in(offers) && ranks > most {
                    continue;
                }
                f(Case { ranks, bytes, offers });
            }
        }
    }
}

#[test]
fn something_is_chosen_for_everything() {
    for collective in ALL {
        every_case(collective, |case| {
            let rule = collective.chosen(&case);
            assert!(
                collective.algorithms[rule.algorithm].needs.are_in(case.offers),
                "{case:?}"
            );
        });
    }
}

#[test]
fn results_repeat_with_and_without_a_board() {
    for collective in ALL {
        every_case(collective, |case| {
            if Traits::EXACT.are_in(case.offers) {
                return;
            }
            // What may differ between two calls for the same elements: is there a board, with which ranks learn where all of
            // them are and how they copy, and a CPU for each rank?
            let learnt = Traits::BOARD | Traits::PLACES | Traits::SINGLE_COPIES | Traits::CHEAP_COPIES;
            let same = case.offers.without(learnt | Traits::IDLE_CPUS);
            let order = |case: &Case| collective.algorithms[collective.chosen(case).algorithm].order;
            let bare = Case { offers: same, ..case };
            // Two operands have one order.
            if case.ranks > 2 {
                assert_eq!(order(&case), order(&bare), "{}: {case:?}", collective.name);
            }
            // In their own order the rounds must be those of one algorithm.
            if order(&case) == Order::Rounds {
                assert_eq!(collective.chosen(&case).algorithm, collective.chosen(&bare).algorithm);
            }
        });
    }
}

#[test]
fn boards_and_the_order_of_ranks_end_at_the_same_number_of_ranks() {
    const MOST: u64 = 1024;
    let at_most = collectives(MOST, Traits::NONE).expect("no rules of the user's");
    let beyond = collectives(MOST + 1, Traits::NONE).expect("no rules of the user's");
    for (at_most, beyond) in at_most.iter().zip(&beyond) {
        let collective = at_most.collective;
        let steps = [&at_most.with_board, &at_most.without_board, &beyond.with_board];
        let needs_board = steps.map(|steps| {
            let find = |step: &Step| {
                collective
                    .algorithms
                    .iter()
                    .find(|algorithm| algorithm.name == step.algorithm)
            };
            let mut chosen = steps.iter().filter_map(find);
            chosen.any(|algorithm| Traits::BOARD.are_in(algorithm.needs))
        });
        assert_eq!(needs_board, [true, false, false], "{}", collective.name);
        assert_eq!(beyond.with_board, beyond.without_board, "{}", collective.name);
        let keeps_order = |ranks| {
            let case = Case {
                ranks,
                bytes: 8,
                offers: Traits::PLAIN | Traits::COMMUTATIVE,
            };
            collective.algorithms[collective.chosen(&case).algorithm].order == Order::Ranks
        };
        let combines = collective
            .algorithms
            .iter()
            .any(|algorithm| algorithm.order != Order::None);
        assert_eq!(
            (keeps_order(MOST), keeps_order(MOST + 1)),
            (combines, false),
            "{}",
            collective.name
        );
    }
}

#[test]
fn exact_operations_are_combined_by_units_where_there_are_some() {
    let both = [
        <table::Allreduce as Choice>::COLLECTIVE,
        <table::Reduce as Choice>::COLLECTIVE,
    ];
    for collective in both {
        let offers = Traits::BOARD | Traits::PLACES | Traits::PLAIN | Traits::COMMUTATIVE | Traits::IDLE_CPUS;
        let name = |ranks, bytes, offers| {
            let case = Case { ranks, bytes, offers };
            collective.algorithms[collective.chosen(&case).algorithm].name
        };
        assert_eq!(name(8, 1 << 20, offers | Traits::EXACT), "shared_two_level");
        for (ranks, bytes, offers) in [
            (8, 1 << 20, offers),
            (8, 1 << 10, offers | Traits::EXACT),
            (3, 1 << 20, offers | Traits::EXACT),
            (8, 1 << 20, offers.without(Traits::PLACES) | Traits::EXACT),
            (8, 1 << 20, offers.without(Traits::IDLE_CPUS) | Traits::EXACT),
        ] {
            assert_ne!(
                name(ranks, bytes, offers),
                "shared_two_level",
                "{ranks} ranks, {bytes} bytes, {offers}"
            );
        }
    }
}

#[test]
fn two_ranks_with_cheap_copies_combine_out_of_their_memory() {
    let offers = Traits::BOARD | Traits::SINGLE_COPIES | Traits::CHEAP_COPIES | Traits::PLAIN | Traits::IDLE_CPUS;
    for (collective, first, last) in [
        (<table::Reduce as Choice>::COLLECTIVE, 12 << 10, 64 << 10),
        (<table::Allreduce as Choice>::COLLECTIVE, 16 << 10, 256 << 10),
        (<table::ReduceScatter as Choice>::COLLECTIVE, 48 << 10, u64::MAX),
    ] {
        let is_direct = |ranks, bytes, offers| {
            let case = Case { ranks, bytes, offers };
            collective.algorithms[collective.chosen(&case).algorithm].name == "shared_direct"
        };
        assert!(
            is_direct(2, first, offers) && is_direct(2, last, offers),
            "{}",
            collective.name
        );
        assert!(!is_direct(2, first - 1, offers), "{}", collective.name);
        assert!(
            last == u64::MAX || !is_direct(2, last + 1, offers),
            "{}",
            collective.name
        );
        assert!(!is_direct(3, first, offers), "{}", collective.name);
        for missing in [
            Traits::IDLE_CPUS,
            Traits::PLAIN,
            Traits::CHEAP_COPIES,
            Traits::SINGLE_COPIES,
            Traits::BOARD,
        ] {
            assert!(
                !is_direct(2, first, offers.without(missing)),
                "{}: {missing}",
                collective.name
            );
        }
    }
}

#[test]
fn all_to_all_by_nodes_gathers_only_what_has_room() {
    let collective = Alltoall::COLLECTIVE;
    let by_nodes = |ranks, bytes| {
        let rule = collective.chosen(&Case {
            ranks,
            bytes,
            offers: Traits::NODES,
        });
        collective.algorithms[rule.algorithm].name == "nodes"
    };
    assert!(by_nodes(64, 4 << 10) && by_nodes(65, 1 << 10) && by_nodes(1000, 1 << 10));
    assert!(!by_nodes(64, 5 << 10) && !by_nodes(65, 4 << 10));
}

#[test]
fn what_exceeds_the_caches_goes_by_single_copies_where_ranks_share_cpus() {
    let fair = Traits::BOARD | Traits::SINGLE_COPIES | Traits::FAIR_COPIES;
    for (collective, ranks, first) in [
        (Scatter::COLLECTIVE, 17, 48 << 10),
        (Scatter::COLLECTIVE, 33, 24 << 10),
        (Scatter::COLLECTIVE, 65, 12 << 10),
        (Alltoall::COLLECTIVE, 16, 48 << 10),
        (Alltoall::COLLECTIVE, 33, 24 << 10),
        (Alltoall::COLLECTIVE, 49, 12 << 10),
    ] {
        let is_direct = |ranks, bytes, offers| {
            let rule = collective.chosen(&Case { ranks, bytes, offers });
            collective.algorithms[rule.algorithm].name == "shared_direct"
        };
        let text = format!("{} {ranks} {first}", collective.name);
        assert!(is_direct(ranks, first, fair), "{text}");
        assert!(!is_direct(ranks, first - 1, fair), "{text}");
        assert!(!is_direct(ranks - 1, first, fair), "{text}");
        assert!(!is_direct(ranks, first, fair | Traits::IDLE_CPUS), "{text}");
        for missing in [Traits::FAIR_COPIES, Traits::SINGLE_COPIES, Traits::BOARD] {
            assert!(!is_direct(ranks, first, fair.without(missing)), "{text}: {missing}");
        }
    }
}

#[test]
fn lists_are_tidy() {
    for (index, collective) in ALL.iter().enumerate() {
        assert_eq!(collective.index, index);
        for (at, algorithm) in collective.algorithms.iter().enumerate() {
            let same = |other: &Algorithm| other.name == algorithm.name;
            assert_eq!(
                collective.algorithms.iter().position(same),
                Some(at),
                "two are called {}",
                algorithm.name
            );
        }
        let last = collective.rules.last().expect("rules");
        assert_eq!(
            (last.ranks, last.bytes, last.given),
            (Range::ALL, Range::ALL, Traits::NONE)
        );
        assert_eq!(collective.algorithms[last.algorithm].needs, Traits::NONE);
    }
}

/// The folder of a collective's algorithms, which forms with blocks of their own share with the others, and gathers with scatters.
fn folder(collective: &Collective) -> std::path::PathBuf {
    let name = match collective.name.strip_suffix('v').unwrap_or(collective.name) {
        "gather" | "scatter" => "rooted",
        name => name,
    };
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).join(name)
}

#[test]
fn each_algorithm_has_a_file_that_says_where_it_is_from_what_it_costs_and_what_it_needs() {
    for collective in ALL {
        let folder = folder(collective);
        for algorithm in collective.algorithms {
            let file = folder.join(algorithm.name).with_extension("rs");
            assert!(file.is_file(), "{}:{}", collective.name, algorithm.name);
        }
        for file in std::fs::read_dir(&folder).expect("a folder for each collective") {
            let path = file.expect("readable").path();
            let text = std::fs::read_to_string(&path).expect("readable");
            let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
            for word in ["Source: ", "Cost: ", "Preconditions: "] {
                assert!(header.contains(word), "{} has no {word}", path.display());
            }
        }
    }
}
