//! OpenSHMEM: each operation beside what the CPU, or MPI, does in its place.

use super::catalogue::{alone, by_ranks, by_size, cells, products};
use super::experiment::{Experiment, Floor, Groups, Run, SHMEM, Value};
use super::target::{Demand, Target};

/// Of `isthmus bench shmem`.
pub fn shmem() -> Vec<Experiment> {
    let mut all = vec![rma(), contended(), signal()];
    all.extend([2, 4, 8].map(collectives));
    all.push(gups());
    all
}

fn operations(names: &[&str]) -> Groups {
    Groups {
        heading: "operation",
        field: "operation",
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn rma() -> Experiment {
    let single = ["p", "put8", "g", "get8"];
    let atomic = ["fadd", "inc"];
    let long = ["put", "get"];
    let mut all = products(&owned(&[single.as_slice(), &atomic].concat()), &cells(&[], "8"));
    all.extend(products(&owned(&long), &cells(&[], "1K,8K,64K,512K,4M")));
    let mut targets: Vec<Target> = (0..4)
        .map(|group| Target::all(Demand::AboveFloor(0.015)).of(group))
        .collect();
    targets.extend((4..6).map(|group| Target::all(Demand::AboveFloor(0.010)).of(group)));
    targets.extend((6..8).map(|group| Target::all(Demand::TimesFloor(1.0 / 0.95)).of(group)));
    Experiment {
        groups: operations(&[single.as_slice(), &atomic, &long].concat()),
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: all,
        }],
        floor: Floor::Own("the CPU"),
        targets,
        model: Some(SHMEM),
        seconds: 4.0,
        launches: 3,
        ..by_size(
            "shmem-rma",
            "OpenSHMEM from PE 0 to PE 1, beside stores, loads, memcpy and instructions",
            "shmem_rma",
        )
    }
}

fn contended() -> Experiment {
    let on = |ranks: u32| Run {
        cells: vec!["contended:8".to_owned()],
        ..alone(ranks, &[])
    };
    Experiment {
        program: "shmem_together",
        result: "shmem_together",
        runs: [1, 2, 4, 8].map(on).into(),
        floor: Floor::Own("the CPU"),
        targets: vec![Target::all(Demand::TimesFloor(1.25))],
        model: Some(SHMEM),
        seconds: 1.0,
        launches: 3,
        ..by_ranks(
            "shmem-contended",
            "shmem_long_atomic_inc by all PEs on one cell, each",
            "us",
            Value::Field("us"),
        )
    }
}

fn signal() -> Experiment {
    Experiment {
        runs: vec![Run {
            cells: products(&owned(&["signal"]), &cells(&[], "8,2K")),
            ..alone(2, &[])
        }],
        floor: Floor::Own("MPI"),
        targets: vec![Target::all(Demand::TimesFloor(1.0))],
        model: Some(SHMEM),
        launches: 3,
        ..by_size(
            "shmem-signal",
            "half round trip, put with a signal that is waited for, beside messages",
            "shmem_together",
        )
    }
}

fn collectives(ranks: u32) -> Experiment {
    let mut all = vec!["barrier:0".to_owned()];
    all.extend(products(&owned(&["broadcast", "reduce"]), &cells(&[], "8,1K,64K,1M")));
    Experiment {
        groups: operations(&["barrier", "broadcast", "reduce"]),
        runs: vec![Run {
            ranks,
            options: vec![],
            cells: all,
        }],
        floor: Floor::Own("MPI"),
        targets: vec![Target::all(Demand::TimesFloor(1.05))],
        model: Some(SHMEM),
        seconds: 4.0,
        launches: 3,
        ..by_size(
            &format!("shmem-collectives-{ranks}"),
            &format!("collectives of OpenSHMEM on {ranks} PEs, beside those of MPI"),
            "shmem_together",
        )
    }
}

fn gups() -> Experiment {
    Experiment {
        program: "shmem_gups",
        result: "shmem_gups",
        runs: [2, 4].map(|ranks| alone(ranks, &[])).into(),
        floor: Floor::Own("threads"),
        // 0.8 of their rate.
        targets: vec![Target::all(Demand::TimesFloor(1.25))],
        model: Some(SHMEM),
        launches: 1,
        ..by_ranks(
            "shmem-gups",
            "random atomic updates of 8 bytes, per update of one PE, beside threads of one process",
            "us",
            Value::Field("us"),
        )
    }
}
