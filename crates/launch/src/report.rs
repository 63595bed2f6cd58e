//! How the end of a rank is told, and which exit code it makes.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use isthmus_os::signal;

/// What a rank was doing when its process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It had not called `MPI_Init`.
    BeforeInit,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Inside,
    /// After `MPI_Finalize`.
    AfterFinalize,
}

/// `was killed by signal 9 (Killed)`, `exited with code 3`, ...
pub fn describe(status: ExitStatus, stage: Stage) -> String {
    if let Some(number) = status.signal() {
        let dump = if status.core_dumped() { ", core dumped" } else { "" };
        return format!("was killed by signal {number} ({}{dump})", signal::description(number));
    }
    match (status.code().unwrap_or(0), stage) {
        (0, _) => "exited without calling MPI_Finalize (or MPI_Session_finalize)".into(),
        (127, Stage::BeforeInit) => {
            "exited with code 127, as it does if it, or a shared library that it needs, is not found (see above, or ask ldd)".into()
        }
        (code, Stage::Inside) => format!("exited with code {code} without calling MPI_Finalize"),
        (code, _) => format!("exited with code {code}"),
    }
}

/// `0, 2-5`. In increasing order.
pub fn ranges(numbers: &[usize]) -> String {
    let runs: Vec<String> = numbers
        .chunk_by(|one, next| one + 1 == *next)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    runs.join(", ")
}

/// `rank 3`, `ranks 0, 2-5`; `None` if there is none. In increasing order.
pub fn list(ranks: impl Iterator<Item = usize>) -> Option<String> {
    let ranks: Vec<usize> = ranks.collect();
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    (!ranks.is_empty()).then(|| format!("{word} {}", ranges(&ranks)))
}

/// As shells have it: the code itself, or 128 + the signal. Never 0: this is for failures.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .signal()
        .map_or_else(|| status.code().unwrap_or(1), |number| 128 + number);
    u8::try_from(code).ok().filter(|&code| code != 0).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ranks() {
        let list = |ranks: &[usize]| list(ranks.iter().copied());
        assert_eq!(list(&[]), None);
        assert_eq!(list(&[3]).as_deref(), Some("rank 3"));
        assert_eq!(list(&[0, 2, 3, 4, 9]).as_deref(), Some("ranks 0, 2-4, 9"));
    }

    #[test]
    fn ends_of_ranks() {
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        let killed = ExitStatus::from_raw;
        assert_eq!(describe(killed(9), Stage::Inside), "was killed by signal 9 (Killed)");
        assert_eq!(
            describe(killed(11 | 0x80), Stage::Inside),
            "was killed by signal 11 (Segmentation fault, core dumped)"
        );
        assert_eq!(describe(exited(3), Stage::AfterFinalize), "exited with code 3");
        assert_eq!(
            (exit_code(killed(9)), exit_code(exited(3)), exit_code(exited(0))),
            (137, 3, 1)
        );
    }
}
