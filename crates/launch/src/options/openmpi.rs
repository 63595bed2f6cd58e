//! Options of Open MPI's launcher that have a language of their own: where ranks go, and what is shown of them.

use super::{Bind, MOST_RANKS, Map, Parser, Pattern};
use crate::failure::{Failure, Result};

/// What may stand behind a unit and asks for nothing that is not so here.
const QUALIFIERS: [&str; 12] = [
    "oversubscribe",
    "nooversubscribe",
    "span",
    "overload-allowed",
    "no-overload",
    "if-supported",
    "inherit",
    "noinherit",
    "hwtcpus",
    "corecpus",
    "nolocal",
    "ordered",
];

impl Parser {
    /// `--map-by UNIT`, `--map-by ppr:N:UNIT`, with `:PE=N` or other words behind.
    pub(super) fn mapped(&mut self, text: &str, option: &str) -> Result<()> {
        let wrong = || {
            Failure::usage(format!(
                "-{option} {text}: slot, node, core, hwthread, l1, l2, l3, numa, socket, and ppr:N:UNIT for N ranks on each are known"
            ))
        };
        let lower = text.to_ascii_lowercase();
        let mut words = lower.split([':', ',']);
        let mut unit = words.next().unwrap_or_default();
        let mut ranks = None;
        if unit == "ppr" {
            let number = words.next().and_then(|word| word.parse().ok());
            ranks = Some(
                number
                    .filter(|number| (1..=MOST_RANKS).contains(number))
                    .ok_or_else(wrong)?,
            );
            unit = words.next().ok_or_else(wrong)?;
        }
        for word in words {
            match word.strip_prefix("pe=").map(str::parse) {
                Some(Ok(cores @ 1..)) => self.job.bind = Some(Bind::Cores(cores)),
                None if QUALIFIERS.contains(&word) => {}
                _ => return Err(wrong()),
            }
        }
        let bind = match unit {
            "" | "slot" => return Ok(()),
            "node" => None,
            unit => Bind::parse(unit),
        };
        match (bind, unit) {
            (None | Some(Bind::None), "node" | "board" | "machine") => match ranks {
                Some(ranks) => self.per_node(ranks),
                None => self.by_node = Some(format!("{option} {text}")),
            },
            (None | Some(Bind::None), _) => return Err(wrong()),
            (Some(unit), _) => {
                if let Some(ranks) = ranks {
                    let count = unit.units().len().max(1) as u32;
                    self.per_node(
                        Some(ranks.saturating_mul(count))
                            .filter(|all| *all <= MOST_RANKS)
                            .ok_or_else(wrong)?,
                    );
                }
                self.job.map = Some(Map {
                    unit,
                    ranks: ranks.unwrap_or(1),
                });
            }
        }
        Ok(())
    }

    fn per_node(&mut self, ranks: u32) {
        self.per_node = Some(ranks);
        self.job.hosts.per_host = Some(ranks);
    }

    /// `--bind-to WHAT`, with words behind that change nothing here.
    pub(super) fn bound(&mut self, text: &str) -> Result<()> {
        let lower = text.to_ascii_lowercase();
        let mut words: Vec<&str> = lower.split([':', ',']).collect();
        if words.contains(&"report") {
            self.job.report_bindings = true;
        }
        words.retain(|word| !QUALIFIERS.contains(word) && *word != "report");
        let bind = Bind::parse(&words.join(":")).ok_or_else(|| {
            Failure::usage(format!(
                "--bind-to {text}: none, core, core:N, hwthread, l1, l2, l3, numa and socket are known"
            ))
        })?;
        self.job.bind = Some(bind);
        Ok(())
    }

    /// `--display LIST`.
    pub(super) fn displayed(&mut self, list: &str) -> Result<()> {
        for word in list.split([',', ':']) {
            match word {
                "map" | "map-devel" | "bind" | "bindings" | "allocation" => self.job.report_bindings = true,
                _ => {
                    return Err(Failure::usage(format!(
                        "--display {list}: map, bind and allocation are known"
                    )));
                }
            }
        }
        Ok(())
    }

    /// `--output LIST`.
    pub(super) fn output(&mut self, list: &str) -> Result<()> {
        for word in list.split(',') {
            let word = word.split_once(':').map_or(word, |(word, _)| word);
            match word.split_once('=').unwrap_or((word, "")) {
                ("tag" | "tag-detailed" | "tag-fullname" | "rank", "") => self.job.tag_output = true,
                ("timestamp", "") => self.job.timestamp_output = true,
                ("merge" | "merge-stderr-to-stdout", "") => self.job.merges_errors = true,
                ("file" | "dir" | "directory", name) if !name.is_empty() => {
                    self.job.output_files = Pattern::of_both(name)
                }
                _ => {
                    return Err(Failure::usage(format!(
                        "--output {list}: tag, timestamp, merge-stderr-to-stdout and file=NAME are known"
                    )));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Job, Request, parse};
    use super::*;

    fn job(line: &str) -> Job {
        match parse(line.split_whitespace()) {
            Ok(Request::Run(job)) => *job,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn ranks_are_mapped_by_units() {
        let by = |unit, ranks| Some(Map { unit, ranks });
        assert_eq!(job("--map-by core:OVERSUBSCRIBE a").map, by(Bind::Cores(1), 1));
        assert_eq!(job("--map-by l3cache a").map, by(Bind::Cache(3), 1));
        assert_eq!(job("-bysocket a").map, by(Bind::Package, 1));
        let with_cores = job("--map-by slot:PE=2 a");
        assert_eq!((with_cores.map, with_cores.bind), (None, Some(Bind::Cores(2))));
        let per_thread = job("--map-by ppr:2:hwthread:OVERSUBSCRIBE a");
        assert_eq!(per_thread.map, by(Bind::Hwthread, 2));
        let threads = Bind::Hwthread.units().len() as u32;
        assert_eq!(per_thread.commands[0].ranks, 2 * threads);
        assert_eq!(job("-pernode a").commands[0].ranks, 1);
        assert_eq!(job("--map-by ppr:3:node:PE=1 a").commands[0].ranks, 3);
        assert!(job("--map-by node a").notes.is_empty());
        assert_eq!(job("--map-by node --host a,b -n 2 a").notes.len(), 1);
        assert_eq!(job("--bind-to core:overload-allowed a").bind, Some(Bind::Cores(1)));
        let reported = job("--bind-to core:2:report a");
        assert_eq!((reported.bind, reported.report_bindings), (Some(Bind::Cores(2)), true));
        for line in [
            "--map-by nonsense a",
            "--map-by ppr:0:node a",
            "--map-by ppr:2 a",
            "--map-by core:PE=x a",
            "--map-by core:nonsense a",
            "--map-by none a",
            "--bind-to core:nonsense a",
        ] {
            assert!(parse(line.split_whitespace()).is_err(), "{line}");
        }
    }

    #[test]
    fn output_is_a_list() {
        let all = job("--output tag,timestamp,merge-stderr-to-stdout,file=out:nocopy --display map,bind a");
        assert!(all.tag_output && all.timestamp_output && all.merges_errors && all.report_bindings);
        assert_eq!(all.output_files, job("--output-filename out a").output_files);
        for line in [
            "--output xml a",
            "--output file a",
            "--output tag=3 a",
            "--display nothing a",
        ] {
            assert!(parse(line.split_whitespace()).is_err(), "{line}");
        }
    }
}
