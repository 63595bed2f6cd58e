//! Counting and telling what passed.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::process::quiet;

/// Steps taken so far.
#[derive(Debug, Default)]
pub struct Suite {
    passed: u32,
    failed: u32,
    skipped: u32,
    /// The names of steps that failed.
    failures: Vec<String>,
    /// How long each part took.
    parts: Vec<(&'static str, Duration)>,
}

impl Suite {
    /// A part of the test command, which takes steps.
    pub fn part(&mut self, name: &'static str, steps: impl FnOnce(&mut Self)) {
        let begun = Instant::now();
        steps(self);
        self.parts.push((name, begun.elapsed()));
    }

    /// Something that cannot be tested here, and why. The closing line counts it.
    pub fn skip(&mut self, name: &str, why: &str) {
        println!("{name} ... SKIPPED: {why}");
        self.skipped += 1;
    }

    /// One step that counts as one test. Prints one line, and what went wrong if something did. Answers whether it passed.
    pub fn step(&mut self, name: &str, body: impl FnOnce() -> Result<()>) -> bool {
        self.tell(name, || match body() {
            Ok(()) => Outcome::passed(1),
            Err(error) => Outcome::failed(0, 1, error),
        })
    }

    /// A run of `cargo test`; each test counts.
    pub fn cargo_tests(&mut self, name: &str, command: &mut Command, limit: Duration) -> bool {
        self.tell(name, || match quiet(command, limit) {
            Ok(text) => match tally(&text) {
                (0, _) => Outcome::failed(0, 1, anyhow!("no test ran; it said:\n{text}")),
                (passed, _) => Outcome::passed(passed),
            },
            Err(error) => {
                let (passed, failed) = tally(&format!("{error:#}"));
                // It may not even have compiled.
                Outcome::failed(passed, failed.max(1), error)
            }
        })
    }

    /// Print how long each part took, what failed, and the closing line; fails if anything did.
    pub fn close(self) -> Result<()> {
        let parts: Vec<_> = self
            .parts
            .iter()
            .map(|(name, took)| format!("{name} {:.0}", took.as_secs_f64()))
            .collect();
        println!("seconds: {}", parts.join(", "));
        for name in &self.failures {
            println!("failed: {name}");
        }
        match self.skipped {
            0 => println!("{} passed, {} failed", self.passed, self.failed),
            skipped => println!("{} passed, {} failed, {skipped} skipped", self.passed, self.failed),
        }
        if self.failed > 0 {
            bail!("not everything passed");
        }
        Ok(())
    }

    fn tell(&mut self, name: &str, body: impl FnOnce() -> Outcome) -> bool {
        print!("{name} ... ");
        // Only progress: a terminal that has gone changes nothing.
        let _ = std::io::stdout().flush();
        let begun = Instant::now();
        let Outcome { passed, failed, error } = body();
        let seconds = begun.elapsed().as_secs_f64();
        let tests = if passed + failed > 1 {
            format!("{passed} of {} tests, ", passed + failed)
        } else {
            String::new()
        };
        match &error {
            None => println!("ok ({tests}{seconds:.1} s)"),
            Some(error) => println!("FAILED ({tests}{seconds:.1} s)\n{error:#}"),
        }
        self.passed += passed;
        self.failed += failed;
        if error.is_some() {
            self.failures.push(name.to_owned());
        }
        error.is_none()
    }
}

struct Outcome {
    passed: u32,
    failed: u32,
    error: Option<anyhow::Error>,
}

impl Outcome {
    fn passed(passed: u32) -> Self {
        Self {
            passed,
            failed: 0,
            error: None,
        }
    }

    fn failed(passed: u32, failed: u32, error: anyhow::Error) -> Self {
        let error = Some(error);
        Self { passed, failed, error }
    }
}

/// Passed and failed, by all the `test result: ok. 3 passed; 1 failed; ...` in the text.
fn tally(text: &str) -> (u32, u32) {
    let count = |line: &str, what: &str| -> u32 {
        let before = line.split(what).next().unwrap_or("");
        before
            .split_whitespace()
            .last()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    };
    text.lines()
        .filter(|line| line.starts_with("test result: "))
        .map(|line| (count(line, " passed"), count(line, " failed")))
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let text = "test result: ok. 3 passed; 0 failed; 0 ignored\nnoise\ntest result: FAILED. 4 passed; 1 failed; 2 ignored\n";
        assert_eq!(tally(text), (7, 1));
        assert_eq!(tally("nothing"), (0, 0));
    }
}
