//! `isthmus tune --mechanisms`: which mechanism carries large messages between two ranks fastest, by size.
//!
//! Each mechanism by itself, with buffers that nobody touches and with buffers that are rewritten and read in every round: the two differ by
//! up to three times, and what counts is the geometric mean. Under a minute.

use anyhow::Result;
use isthmus_os::topology;

use super::median;
use crate::bench::library::Library;
use crate::bench::process::{Limits, SILENCE_LIMIT};
use crate::bench::workshop::Workshop;
use crate::prefix::Prefix;
use crate::show;

const MECHANISMS: [&str; 4] = ["ring", "cma", "vmsplice", "writev"];
/// Beyond what goes at once.
const SIZES: [u64; 6] = [192 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20];
const QUICK: [u64; 2] = [256 << 10, 1 << 20];
const ROUNDS: usize = 3;
/// Of one mechanism in one round, with one kind of buffers.
const SECONDS: f64 = 1.5;
/// A mechanism must be so much better than those before it in [`MECHANISMS`] to get a rule of its own.
const CLEARLY: f64 = 0.95;

/// Measure; the file's text.
pub fn run(prefix: &Prefix, workshop: &Workshop, is_quick: bool) -> Result<String> {
    let (sizes, rounds, seconds) = match is_quick {
        true => (&QUICK[..], 1, 0.1),
        false => (&SIZES[..], ROUNDS, SECONDS),
    };
    // By mechanism, size, and kind of buffers.
    let mut samples = vec![vec![[Vec::new(), Vec::new()]; sizes.len()]; MECHANISMS.len()];
    for _ in 0..rounds {
        for (mechanism, by_size) in MECHANISMS.iter().zip(&mut samples) {
            for (kind, option) in [None, Some("--real")].into_iter().enumerate() {
                let mut options = vec!["--seconds".to_owned(), seconds.to_string()];
                options.extend(option.map(str::to_owned));
                options.extend(sizes.iter().map(u64::to_string));
                let library = Library::isthmus(prefix)
                    .with("ISTHMUS_MECHANISM", mechanism)
                    .with("ISTHMUS_TUNING", "none");
                let finished = workshop
                    .run(&library, 2, "pingpong", None, &options, Limits::silence(SILENCE_LIMIT))?
                    .well()?;
                for (line, kinds) in finished.results("pingpong").zip(by_size.iter_mut()) {
                    kinds[kind].extend(line.field("us"));
                }
            }
        }
    }
    let times: Vec<Vec<[f64; 2]>> = samples
        .into_iter()
        .map(|by_size| by_size.into_iter().map(|kinds| kinds.map(median)).collect())
        .collect();
    let model = topology::model().unwrap_or_else(|| "an unknown processor".to_owned());
    Ok(format!(
        "# isthmus tune --mechanisms on {model}: half round trips of two ranks in microseconds, untouched / rewritten.\n{}",
        text(sizes, &times)
    ))
}

/// The best mechanism at this size.
fn best(times: &[Vec<[f64; 2]>], at: usize) -> usize {
    let mean = |mechanism: usize| (times[mechanism][at][0] * times[mechanism][at][1]).sqrt();
    (1..times.len()).fold(0, |best, next| match mean(next) < CLEARLY * mean(best) {
        true => next,
        false => best,
    })
}

/// The measurements, as comments, and a rule for each run of sizes with the same best mechanism.
fn text(sizes: &[u64], times: &[Vec<[f64; 2]>]) -> String {
    let mut text = String::new();
    for (at, &size) in sizes.iter().enumerate() {
        let each = MECHANISMS.iter().zip(times).map(|(name, by_size)| {
            let [clean, real] = by_size[at];
            format!("{name} {clean:.1} / {real:.1}")
        });
        text += &format!("# {:<6} {}\n", show::bytes(size), each.collect::<Vec<_>>().join(", "));
    }
    let mut at = 0;
    while at < sizes.len() {
        let mechanism = best(times, at);
        let next = (at..sizes.len()).find(|&at| best(times, at) != mechanism);
        let to = next.map_or(String::new(), |next| (sizes[next] - 1).to_string());
        let from = if at == 0 { 0 } else { sizes[at] };
        text += &format!("large {from}-{to} {}\n", MECHANISMS[mechanism]);
        at = next.unwrap_or(sizes.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_buffers_count() {
        let times = vec![
            vec![[10.0, 10.0], [100.0, 100.0], [400.0, 400.0]],
            vec![[5.0, 30.0], [50.0, 60.0], [100.0, 200.0]],
            vec![[9.9, 9.9], [200.0, 200.0], [60.0, 190.0]],
            vec![[50.0, 50.0], [200.0, 200.0], [600.0, 600.0]],
        ];
        let text = text(&[1000, 64 << 10, 1 << 20], &times);
        let rules: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            rules,
            [
                "large 0-65535 ring",
                "large 65536-1048575 cma",
                "large 1048576- vmsplice"
            ]
        );
        assert!(text.contains("cma 50.0 / 60.0"));
    }
}
