//! Each mechanism of large messages by itself, beside a bare loop of its system calls, and what is chosen beside the best of them
//! (bench/mechanisms.c).

use super::carried::Carried;
use super::experiment::{Experiment, Floor, Variant};
use super::paper::mechanisms::{CMA_BOTH, CMA_READ, CMA_WRITE, LOOPBACK, RING, VMSPLICE, WRITEV, by_variant};
use super::quantity::Quantity;
use super::size::Size;
use super::target::{Demand, Target};

/// What Isthmus chooses without a file of measurements.
const CHOSEN: Variant = Variant {
    name: "chosen",
    environment: &[("ISTHMUS_TUNING", "none")],
    carried: Carried::ANYHOW,
};
/// What it chooses by the file that `ISTHMUS_TUNING` names here, or by the user's.
const TUNED: Variant = Variant {
    name: "tuned",
    environment: &[],
    carried: Carried::ANYHOW,
};

/// With buffers that nobody touches, and with buffers that are rewritten and read in every round.
pub fn mechanisms(sizes: &[Size]) -> Vec<Experiment> {
    let named = [CMA_READ, CMA_WRITE, CMA_BOTH, VMSPLICE, WRITEV, LOOPBACK];
    let variants: Vec<Variant> = named.into_iter().chain([RING, CHOSEN, TUNED]).collect();
    let usual: Vec<String> = sizes.iter().map(|size| size.0.to_string()).collect();
    let sizes = match usual.is_empty() {
        true => "64K,256K,1M,4M".to_owned(),
        false => usual.join(","),
    };
    let of = |name, title: &str, kind| {
        let mut experiment = by_variant(name, "mechanisms", Quantity::Cost("us"), &variants, (2, kind, &sizes));
        title.clone_into(&mut experiment.title);
        for (run, variant) in experiment.runs.iter_mut().zip(&named) {
            run.options.extend(["--bare".to_owned(), variant.name.to_owned()]);
        }
        let (chosen, tuned) = (named.len() + 1, named.len() + 2);
        Experiment {
            floor: Floor::Own("system calls"),
            targets: (0..named.len())
                .map(|group| Target::all(Demand::TimesFloor(1.1)).of(group))
                .chain([
                    Target::all(Demand::TimesBest(1.0 / 0.95)).of(chosen),
                    Target::all(Demand::TimesBest(1.1)).of(tuned),
                ])
                .collect(),
            ..experiment
        }
    };
    vec![
        of(
            "mechanisms",
            "half round trip by each mechanism, beside a bare loop of its system calls; buffers untouched",
            "",
        ),
        of(
            "mechanisms-real",
            "half round trip by each mechanism; the buffer is rewritten before and read after each message",
            "--real",
        ),
    ]
}
