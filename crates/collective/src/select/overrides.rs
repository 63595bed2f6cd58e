//! Rules for the choice of algorithms that are data: what users say (`ISTHMUS_COLLECTIVES`), and behind that the profile.
//!
//! Rules, with commas, semicolons or line ends between them, the first that fits a call wins:
//!
//! ```text
//! allreduce:ring                    always
//! bcast@64K-:scatter_allgather      from 64 KiB on
//! alltoall[5-8]@-256:bruck?         on five to eight ranks, up to 256 bytes; another where it cannot be
//! gather{idle_cpus !nodes}:linear?  where each rank has a CPU, and not on several nodes
//! @FILE                             what is written there (isthmus tune makes such files)
//! ```
//!
//! An algorithm whose preconditions are not met is an error in the call, at every rank, unless the rule ends in `?`.
//! From `#` to the end of a line is a comment.
//!
//! The profile has rules that hold for few numbers of ranks, as they were fitted to certain machines, in the same form, which `isthmus tune` writes
//! for other machines.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_engine::counters::ALGORITHMS_WANTED;
use isthmus_engine::tunables::{COLLECTIVES, COLLECTIVES_REPORT, speaks_for_job};

use super::table::ALL;
use super::{Case, Collective, Range, Traits};
use crate::error::Result;
use crate::fail;

/// Why an algorithm of the profile is chosen.
pub const WHY_PROFILE: &str = "measured, profiles/default.rules";

const PROFILE: &str = include_str!("../../profiles/default.rules");

/// One of the user's rules, or of the profile.
#[derive(Debug)]
pub struct Rule {
    /// Which of the collective's.
    pub algorithm: usize,
    ranks: Range,
    bytes: Range,
    /// What the call must offer.
    given: Traits,
    /// What it must not.
    absent: Traits,
    /// It is not an error if it cannot be.
    optional: bool,
    /// As it was written.
    text: String,
    /// Calls of this process that went by it.
    calls: AtomicU64,
}

/// Rules, by the collective's index in the table.
#[derive(Debug, Default)]
pub struct Overrides(Vec<Vec<Rule>>);

/// `Err`: what is wrong with them.
static GIVEN: OnceLock<std::result::Result<Option<Overrides>, String>> = OnceLock::new();

fn read() -> &'static std::result::Result<Option<Overrides>, String> {
    GIVEN.get_or_init(|| COLLECTIVES.get().map(Overrides::read).transpose())
}

/// Do the user's rules make sense?
pub fn check() -> Result<()> {
    match read() {
        Ok(_) => Ok(()),
        Err(text) => Err(fail!(Arg, "{}: {text}", COLLECTIVES.variable())),
    }
}

/// The user's rules, if there are any.
#[inline]
pub fn given() -> Option<&'static Overrides> {
    read().as_ref().ok()?.as_ref()
}

/// The rules of the profile.
#[inline]
pub fn profile() -> &'static Overrides {
    static RULES: OnceLock<Overrides> = OnceLock::new();
    RULES.get_or_init(|| {
        Overrides::parse(PROFILE).unwrap_or_else(|error| unreachable!("a test reads the profile: {error}"))
    })
}

/// At the end of the process: how many calls went by each of the user's rules, if that is asked for. The first rank says it.
pub fn report() {
    let Some(overrides) = given().filter(|_| COLLECTIVES_REPORT.get() != 0 && speaks_for_job()) else {
        return;
    };
    for rule in overrides.0.iter().flatten() {
        let calls = rule.calls.load(Ordering::Relaxed);
        let line = format!("isthmus: {}: {}: {calls} calls", COLLECTIVES.variable(), rule.text);
        isthmus_os::process::say(&line);
    }
}

impl Overrides {
    /// From the tunable's text.
    pub fn read(text: &str) -> std::result::Result<Self, String> {
        match text.trim().strip_prefix('@') {
            Some(path) => {
                let text = isthmus_os::small_file::read(path).map_err(|error| format!("{path}: {error}"))?;
                Self::parse(&text)
            }
            None => Self::parse(text),
        }
    }

    /// From the rules themselves.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut overrides: Vec<Vec<Rule>> = Vec::new();
        overrides.resize_with(ALL.len(), Vec::new);
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let rules = lines.flat_map(|line| line.split([',', ';'])).map(str::trim);
        for text in rules.filter(|text| !text.is_empty()) {
            let (collective, rule) = rule(text)?;
            overrides[collective.index].push(rule);
        }
        Ok(Self(overrides))
    }

    /// Sizes at which the user's rules change.
    pub fn borders(&self, collective: &Collective) -> impl Iterator<Item = u64> {
        let rules = self.0[collective.index].iter();
        rules.flat_map(|rule| [rule.bytes.0, rule.bytes.1.saturating_add(1)])
    }

    /// The first rule that fits a call, and whose algorithm can be.
    #[inline]
    pub fn fitting(&self, collective: &Collective, case: &Case) -> Option<&Rule> {
        let can_be = |rule: &&Rule| collective.algorithms[rule.algorithm].needs.are_in(case.offers);
        let mut fit = self.0[collective.index].iter().filter(|rule| rule.fits(case));
        fit.find(can_be)
    }

    /// The algorithm that the user wants for a call, if any is wanted.
    pub fn choose(&self, collective: &Collective, case: &Case) -> Result<Option<usize>> {
        for rule in self.0[collective.index].iter().filter(|rule| rule.fits(case)) {
            let needs = collective.algorithms[rule.algorithm].needs;
            if needs.are_in(case.offers) {
                ALGORITHMS_WANTED.add_anywhere(1);
                rule.calls.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(rule.algorithm));
            }
            if !rule.optional {
                return Err(refused(rule, needs.without(case.offers)));
            }
        }
        Ok(None)
    }
}

impl Rule {
    #[inline]
    fn fits(&self, case: &Case) -> bool {
        self.ranks.holds(case.ranks)
            && self.bytes.holds(case.bytes)
            && self.given.are_in(case.offers)
            && !self.absent.meets(case.offers)
    }
}

#[cold]
fn refused(rule: &Rule, missing: Traits) -> crate::error::Error {
    fail!(
        UnsupportedOperation,
        "{} says {}, which needs {missing}; {}? would take another algorithm here",
        COLLECTIVES.variable(),
        rule.text,
        rule.text
    )
}

fn rule(text: &str) -> std::result::Result<(&'static Collective, Rule), String> {
    let wrong = |what: String| format!("{text}: {what}");
    let (case, algorithm) = text
        .split_once(':')
        .ok_or_else(|| wrong("write COLLECTIVE:ALGORITHM, as in allreduce:ring".to_owned()))?;
    let optional = algorithm.ends_with('?');
    let algorithm = algorithm.trim_end_matches('?').trim();
    let (case, conditions) = match case.split_once('{') {
        None => (case, ""),
        Some((case, conditions)) => {
            let conditions = conditions.trim().strip_suffix('}');
            (case, conditions.ok_or_else(|| wrong("} is missing".to_owned()))?)
        }
    };
    let (case, bytes) = case
        .split_once('@')
        .map_or((case, None), |(case, bytes)| (case, Some(bytes)));
    let (name, ranks) = match case.split_once('[') {
        None => (case, None),
        Some((name, ranks)) => {
            let ranks = ranks.trim().strip_suffix(']');
            (name, Some(ranks.ok_or_else(|| wrong("] is missing".to_owned()))?))
        }
    };
    let name = name.trim();
    let collective = ALL.iter().find(|collective| collective.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|collective| collective.name).collect();
        wrong(format!("no such collective as {name}; there are: {}", known.join(", ")))
    })?;
    let mut algorithms = collective.algorithms.iter();
    let algorithm = algorithms.position(|one| one.name == algorithm).ok_or_else(|| {
        let known: Vec<_> = collective.algorithms.iter().map(|one| one.name).collect();
        wrong(format!(
            "no such algorithm as {algorithm}; {name} has: {}",
            known.join(", ")
        ))
    })?;
    let range = |text: Option<&str>| match text {
        None => Ok(Range::ALL),
        Some(text) => range(text).ok_or_else(|| wrong(format!("{text} is no range, as 4, 4-8, 64K- or -64K would be"))),
    };
    let (ranks, bytes) = (range(ranks)?, range(bytes)?);
    let (mut given, mut absent) = (Traits::NONE, Traits::NONE);
    for word in conditions.split_whitespace() {
        let (of, name) = match word.strip_prefix('!') {
            None => (&mut given, word),
            Some(name) => (&mut absent, name),
        };
        let one = Traits::called(name).ok_or_else(|| {
            let known: Vec<_> = Traits::CALLED.iter().map(|(_, name)| *name).collect();
            wrong(format!("no such condition as {name}; there are: {}", known.join(", ")))
        })?;
        *of = of.and(one);
    }
    let text = text.trim_end_matches('?').to_owned();
    Ok((
        collective,
        Rule {
            algorithm,
            ranks,
            bytes,
            given,
            absent,
            optional,
            text,
            calls: AtomicU64::new(0),
        },
    ))
}

/// `4`, `4-8`, `64K-`, `-64K`.
fn range(text: &str) -> Option<Range> {
    let number = |text: &str, missing: u64| match text.trim() {
        "" => Some(missing),
        text => isthmus_engine::tunables::parse(text),
    };
    let text = text.trim();
    let (first, last) = match text.split_once('-') {
        None => (number(text, 0)?, number(text, u64::MAX)?),
        Some((first, last)) => (number(first, 0)?, number(last, u64::MAX)?),
    };
    (!text.is_empty() && first <= last).then_some(Range(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_read() {
        profile();
        let lines = PROFILE
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        assert!(lines.filter(|line| !line.is_empty()).all(|line| line.ends_with('?')));
    }

    fn case(ranks: u64, bytes: u64, offers: Traits) -> Case {
        Case { ranks, bytes, offers }
    }

    fn chosen(text: &str, collective: &str, case: &Case) -> Result<Option<&'static str>> {
        let overrides = Overrides::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let collective = ALL.iter().find(|one| one.name == collective).expect("a collective");
        let algorithm = overrides.choose(collective, case)?;
        Ok(algorithm.map(|index| collective.algorithms[index].name))
    }

    #[test]
    fn the_first_that_fits_wins() {
        let text = "bcast@-4K:shared?  # small\n barrier:dissemination; bcast[3-5]@64K-:binomial,bcast:shared?";
        let all = Traits::BOARD;
        let bcast = |ranks, bytes| chosen(text, "bcast", &case(ranks, bytes, all)).ok().flatten();
        assert_eq!(bcast(4, 4096), Some("shared"));
        assert_eq!(bcast(4, 1 << 20), Some("binomial"));
        assert_eq!(bcast(6, 1 << 20), Some("shared"));
        assert_eq!(chosen(text, "bcast", &case(6, 1, Traits::NONE)).ok(), Some(None));
        assert_eq!(chosen(text, "allreduce", &case(6, 1, all)).ok(), Some(None));
    }

    #[test]
    fn conditions_are_what_a_call_offers() {
        let text = "bcast@4K-{board !idle_cpus}:shared, bcast:binomial";
        let bcast = |offers| chosen(text, "bcast", &case(4, 4096, offers)).ok().flatten();
        assert_eq!(bcast(Traits::BOARD), Some("shared"));
        assert_eq!(bcast(Traits::BOARD | Traits::IDLE_CPUS), Some("binomial"));
        assert_eq!(bcast(Traits::NONE), Some("binomial"));
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let error = chosen("bcast@64K-:shared", "bcast", &case(4, 1 << 20, Traits::NONE)).expect_err("no board");
        let text = error.to_string();
        assert!(text.contains("bcast@64K-:shared, which needs a board"), "{text}");
    }

    #[test]
    fn nonsense_is_refused() {
        for (text, about) in [
            ("allreduce", "COLLECTIVE:ALGORITHM"),
            (
                "allreduce:fast",
                "no such algorithm as fast; allreduce has: nodes, shared_flat",
            ),
            ("reduceall:ring", "no such collective as reduceall; there are: barrier"),
            ("bcast@4-2:shared", "is no range"),
            ("bcast@:shared", "is no range"),
            ("bcast[many]:shared", "is no range"),
            ("bcast[4:shared", "] is missing"),
            ("bcast{board:shared", "} is missing"),
            (
                "bcast{idle}:shared",
                "no such condition as idle; there are: board, idle_cpus",
            ),
            ("@/no/such/file", "/no/such/file"),
        ] {
            let error = Overrides::read(text).expect_err(text);
            assert!(error.contains(about), "{text}: {error}");
        }
    }
}
