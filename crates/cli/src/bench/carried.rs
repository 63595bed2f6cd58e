//! Whether the bytes of a line went the way that the line is named after, by the library's own counters: what is not so is no measurement.

use super::process::Line;

/// So much of all bytes must go the way that a line is named after.
pub const LEAST: f64 = 0.95;
/// A program that says nothing of what is due and moves less than this hardly communicates: it is the same on each way.
const SPARSE: f64 = 65536.0;

/// The counters of bytes that a program prints (bench/mpi_measure.h).
const COUNTERS: [&str; 12] = [
    "eager_bytes",
    "block_bytes",
    "ring_bytes",
    "cma_bytes",
    "kmod_bytes",
    "kmod_thread_bytes",
    "kmod_dma_bytes",
    "vmsplice_bytes",
    "writev_bytes",
    "loopback_bytes",
    "mapped_bytes",
    "staged_bytes",
];

/// Which counters must hold the bytes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Messages up to this size, in bytes, are sent at once, by the line's own setting; 0: none are looked at in this way.
    pub eager: u64,
    /// Of longer ones; none: the line is not named after a way.
    pub by: &'static [&'static str],
}

impl Carried {
    /// By whatever way the library chooses.
    pub const ANYHOW: Carried = Carried { eager: 0, by: &[] };

    /// Are these bytes of a result line where they must be? Its field `size` says how long messages are; where there is none all are looked at
    /// as long ones. `Err`: where they are instead.
    pub fn check(self, line: &Line) -> Result<(), String> {
        if self.by.is_empty() {
            return Ok(());
        }
        let counted: Vec<(&str, f64)> = COUNTERS
            .iter()
            .filter_map(|name| Some((*name, line.field(name)?)))
            .collect();
        if counted.is_empty() {
            return Err("the program printed no counters of bytes".to_owned());
        }
        let is_eager = line.field("size").is_some_and(|size| size <= self.eager as f64);
        let wanted: &[&str] = if is_eager {
            &["eager_bytes", "block_bytes"]
        } else {
            self.by
        };
        let sum = |among: &dyn Fn(&str) -> bool| -> f64 {
            let of = counted.iter().filter(|(name, _)| among(name));
            of.map(|(_, bytes)| bytes).sum()
        };
        let all = match line.field("due") {
            Some(due) if due > 0.0 => due,
            _ => sum(&|_| true),
        };
        let is_known = line.field("due").is_none_or(|due| due > 0.0);
        if !is_known && all > 0.0 && all < SPARSE {
            return Ok(());
        }
        let went = sum(&|name| wanted.contains(&name));
        if all > 0.0 && went >= LEAST * all {
            return Ok(());
        }
        let instead: Vec<String> = counted
            .iter()
            .filter(|(_, bytes)| *bytes > 0.0)
            .map(|(name, bytes)| format!("{name} {bytes:.0}"))
            .collect();
        Err(format!(
            "of {all:.0} bytes {:.1} % went by {}, which must be {:.0} % ({})",
            100.0 * went / all.max(1.0),
            wanted.join(" and "),
            LEAST * 100.0,
            if instead.is_empty() {
                "nothing was counted".to_owned()
            } else {
                instead.join(", ")
            }
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::process::Finished;
    use super::*;

    const BY_CMA: Carried = Carried {
        eager: 8192,
        by: &["cma_bytes"],
    };

    fn check(carried: Carried, fields: &str) -> Result<(), String> {
        let finished = Finished::of(&format!("result x {fields} us=1\n"));
        let line = finished.results("x").next().ok_or("no line")?;
        carried.check(&line)
    }

    #[test]
    fn nineteen_of_twenty_bytes_are_enough() {
        assert_eq!(check(BY_CMA, "size=65536 due=100 cma_bytes=95 staged_bytes=5"), Ok(()));
        let refused = check(BY_CMA, "size=65536 due=100 cma_bytes=94 staged_bytes=6");
        assert!(refused.is_err_and(|why| why.contains("94.0 %") && why.contains("staged_bytes 6")));
    }

    #[test]
    fn what_is_due_counts_rather_than_what_was_counted() {
        assert!(check(BY_CMA, "size=65536 due=100 cma_bytes=10").is_err());
        assert_eq!(check(BY_CMA, "due=0 cma_bytes=10"), Ok(()));
        assert!(check(BY_CMA, "due=0 cma_bytes=100000 eager_bytes=100000").is_err());
        assert!(check(BY_CMA, "due=0 cma_bytes=0").is_err());
    }

    #[test]
    fn a_program_that_hardly_communicates_is_the_same_on_each_way() {
        assert_eq!(check(BY_CMA, "due=0 eager_bytes=900"), Ok(()));
        assert!(check(BY_CMA, "size=65536 due=900 eager_bytes=900").is_err());
    }

    #[test]
    fn up_to_the_limit_messages_go_at_once() {
        assert_eq!(check(BY_CMA, "size=8192 due=100 eager_bytes=100 cma_bytes=0"), Ok(()));
        assert!(check(BY_CMA, "size=8192 due=100 cma_bytes=100").is_err());
    }

    #[test]
    fn without_counters_nothing_is_known() {
        assert!(check(BY_CMA, "size=65536").is_err());
        assert_eq!(check(Carried::ANYHOW, "size=65536"), Ok(()));
    }
}
