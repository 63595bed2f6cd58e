//! What each rule about where bytes go is worth: everything as it is, and with one rule left out after the other
//! (`isthmus_engine::rules`).

use isthmus_engine::rules::{RULES, Rule};

use super::carried::Carried;
use super::experiment::{Experiment, Variant};
use super::paper::mechanisms::by_variant;
use super::quantity::Quantity;

/// Those that do nothing where each rank has a CPU.
const SHARED: [Rule; 5] = [
    Rule::AtWork,
    Rule::SharedStaging,
    Rule::RepMovsb,
    Rule::LongEager,
    Rule::Floods,
];
/// Those that do something only there.
const OWN: [Rule; 2] = [Rule::Learning, Rule::Lent];

/// Half round trips and windows on 2 ranks, exchanges with both neighbours, and collectives, on 2, 3, 4 and 8 ranks or the given
/// ones.
pub fn rules(ranks: &[u32]) -> Vec<Experiment> {
    let ranks = if ranks.is_empty() { &[2, 3, 4, 8] } else { ranks };
    ranks.iter().flat_map(|ranks| on(*ranks)).collect()
}

fn on(ranks: u32) -> Vec<Experiment> {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    let without = if ranks > cpus {
        OWN.as_slice()
    } else {
        SHARED.as_slice()
    };
    let measured = RULES.iter().filter(|row| !without.contains(&row.0));
    let all = Variant {
        name: "all",
        environment: &[],
        carried: Carried::ANYHOW,
    };
    let left_out = measured.map(|(_, name, _)| Variant {
        name,
        environment: Vec::leak(vec![("ISTHMUS_WITHOUT", *name)]),
        carried: Carried::ANYHOW,
    });
    let variants: Vec<Variant> = std::iter::once(all).chain(left_out).collect();
    let of = |name: &str, title: &str, program, quantity, kind, sizes| {
        let mut experiment = by_variant(
            &format!("rules-{name}-{ranks}"),
            program,
            quantity,
            &variants,
            (ranks, kind, sizes),
        );
        experiment.title = format!("{title} on {ranks} ranks, each rule left out in turn");
        experiment.groups.heading = "without";
        experiment.seconds = 0.4;
        experiment
    };
    let time = Quantity::Cost("us");
    let mut list = Vec::new();
    if ranks == 2 {
        let half = "half round trip";
        list.push(of("pingpong", half, "pingpong", time, "", "8,2K,32K,128K,512K,2M"));
        let real = "half round trip, rewritten and read,";
        list.push(of("real", real, "pingpong", time, "--real", "2K,32K,128K,512K,2M"));
        let windows = "windows both ways";
        list.push(of(
            "windows",
            windows,
            "bandwidth",
            Quantity::Bandwidth,
            "--both",
            "8,2K,32K,128K,512K",
        ));
    }
    let both = "exchange with both neighbours";
    list.push(of("both", both, "exchange", time, "--both", "8,2K,32K,128K,512K"));
    for kind in ["allreduce", "alltoall", "gather"] {
        list.push(of(kind, kind, "collectives", time, kind, "8,32K,128K,512K"));
    }
    list
}
