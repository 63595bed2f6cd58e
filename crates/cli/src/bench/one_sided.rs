//! Windows, and ARMCI beside them (bench/rma.c, bench/window_memory.c).

use super::catalogue::{by_size, cells, products};
use super::experiment::{ARMCI, Experiment, Floor, Groups, Rows, Run, Value};
use super::quantity::Quantity;
use super::size::Size;
use super::target::{Demand, Target};

/// Puts, gets and accumulates by size; sections; a target that computes; contended elements; synchronisation; ARMCI; messages; memory.
pub fn experiments(sizes: &[Size]) -> Vec<Experiment> {
    vec![
        transfers(sizes),
        brief(),
        sections(sizes),
        away(),
        elements(),
        synchronisation(),
        armci(sizes),
        messages(sizes),
        memory(),
    ]
}

const ARMCI_SIZES: &str = "8,512,8K,64K,512K,4M,16M";

fn names(kinds: &[&str]) -> Vec<String> {
    kinds.iter().map(|kind| (*kind).to_owned()).collect()
}

fn on(ranks: u32, cells: Vec<String>) -> Run {
    Run {
        ranks,
        options: vec![],
        cells,
    }
}

fn of_kinds(name: &str, title: &str, kinds: &[&str]) -> Experiment {
    Experiment {
        groups: Groups {
            heading: "kind",
            field: "kind",
            names: names(kinds),
        },
        seconds: 4.0,
        launches: 3,
        floor: Floor::Steadiness,
        ..by_size(name, title, "rma")
    }
}

fn speed_up(mean: f64, least: f64) -> Vec<Target> {
    vec![Target::all(Demand::SpeedUp { mean, least, but: 0.0 })]
}

fn transfers(sizes: &[Size]) -> Experiment {
    let kinds = [
        "put-allocate",
        "get-allocate",
        "acc-allocate",
        "put-create",
        "get-create",
        "acc-create",
    ];
    let title = "a put, a get, a sum of doubles and its flush, to memory of MPI_Win_allocate and to ordinary memory";
    Experiment {
        runs: vec![on(2, products(&names(&kinds), &cells(sizes, "8,512,8K,64K,512K,4M")))],
        targets: speed_up(1.3, 0.95),
        ..of_kinds("rma", title, &kinds)
    }
}

fn brief() -> Experiment {
    let kinds = ["short-gacc", "short-fop", "short-cas", "short-lock", "short-puts"];
    let title = "short operations in their epochs: a get-accumulate, a fetch and add, a compare and swap with their flush after a long sum; \
                 lock, put, unlock; 32 puts to ordinary memory with one flush";
    let sizes = ["8,512,4K", "8", "8", "8", "8,512"];
    let of = |(kind, sizes): (&&str, &str)| products(&names(&[*kind]), &cells(&[], sizes));
    Experiment {
        runs: vec![on(2, kinds.iter().zip(sizes).flat_map(of).collect())],
        targets: speed_up(1.0, 0.95),
        ..of_kinds("rma-short", title, &kinds)
    }
}

fn sections(sizes: &[Size]) -> Experiment {
    let kinds = ["put-vector", "get-vector", "put-2d", "get-2d", "put-3d", "get-3d"];
    let title = "a put or a get and its flush, of every second double, of a section of a matrix and of a cube";
    Experiment {
        runs: vec![on(2, products(&names(&kinds), &cells(sizes, "4K,32K,512K,4M,16M")))],
        targets: speed_up(2.0, 0.0),
        ..of_kinds("rma-sections", title, &kinds)
    }
}

fn away() -> Experiment {
    let kinds = ["put-idle", "put-computing", "put-create-idle", "put-create-computing"];
    let title = "a put and its flush, to a target that waits in MPI and to one that computes for a second, on memory of MPI_Win_allocate and on \
                 ordinary memory";
    Experiment {
        runs: vec![on(2, products(&names(&kinds), &cells(&[], "8,1M")))],
        targets: vec![
            Target::all(Demand::TimesGroup(0, 2.0)).of(1),
            Target::all(Demand::TimesGroup(2, 2.0)).of(3),
        ],
        ..of_kinds("rma-computing", title, &kinds)
    }
}

fn elements() -> Experiment {
    let kinds = ["accumulate", "fetch", "compare"];
    let title = "MPI_Accumulate, MPI_Fetch_and_op and MPI_Compare_and_swap of 8 bytes and their flush, by ranks that do it at once";
    let run = |ranks: u32, origins: &[&str]| on(ranks, products(&names(&kinds), &names(origins)));
    Experiment {
        rows: Rows {
            heading: "origins",
            field: "origins",
            label: |origins| origins.to_string(),
        },
        runs: vec![run(2, &["1", "2"]), run(4, &["4"]), run(8, &["8"])],
        targets: speed_up(1.0, 0.95),
        ..of_kinds("rma-elements", title, &kinds)
    }
}

fn synchronisation() -> Experiment {
    let kinds = ["fence", "general", "lock", "create"];
    let title = "MPI_Win_fence; post, start, put, complete, wait in a ring; MPI_Win_lock and unlock of the neighbour; MPI_Win_create and free";
    let run = |ranks: u32| on(ranks, products(&names(&kinds), &[ranks.to_string()]));
    Experiment {
        rows: Rows {
            heading: "ranks",
            field: "ranks",
            label: |ranks| ranks.to_string(),
        },
        runs: [2, 4, 8].map(run).into(),
        targets: speed_up(1.3, 1.0),
        ..of_kinds("rma-synchronisation", title, &kinds)
    }
}

fn armci(sizes: &[Size]) -> Experiment {
    let kinds = [
        "armci-put",
        "armci-get",
        "armci-acc",
        "armci-put-2d",
        "armci-get-2d",
        "armci-acc-2d",
    ];
    let title = "ARMCI: a put, a get or a sum of doubles and ARMCI_Fence";
    Experiment {
        runs: vec![on(2, products(&names(&kinds), &cells(sizes, ARMCI_SIZES)))],
        model: Some(ARMCI),
        ..of_kinds("rma-armci", title, &kinds)
    }
}

fn messages(sizes: &[Size]) -> Experiment {
    let kinds = ["send", "send-2d"];
    let title = "MPI_Send and MPI_Recv of as many bytes as ARMCI's: half a round trip";
    Experiment {
        runs: vec![on(2, products(&names(&kinds), &cells(sizes, ARMCI_SIZES)))],
        ..of_kinds("rma-messages", title, &kinds)
    }
}

fn memory() -> Experiment {
    let kinds = ["create", "allocate", "shared", "dynamic"];
    let title = "bytes that one of 250 windows takes at each rank beside the memory asked for: all ranks' proportional set size";
    // What one kind gave back would serve the next.
    let runs = kinds
        .iter()
        .flat_map(|kind| [2, 4, 8, 16].map(|ranks| on(ranks, vec![format!("{kind}:{ranks}")])));
    Experiment {
        quantity: Quantity::Cost("B"),
        value: Value::Field("bytes"),
        rows: Rows {
            heading: "ranks",
            field: "ranks",
            label: |ranks| ranks.to_string(),
        },
        runs: runs.collect(),
        floor: Floor::None,
        targets: vec![Target::all(Demand::Under(1024.0))],
        launches: 1,
        ..of_kinds("rma-memory", title, &kinds)
    }
    .running("window_memory")
}
