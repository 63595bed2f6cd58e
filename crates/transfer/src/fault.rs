//! A wrapper that fails on purpose: what machines do to us rarely, tests do at will.
//!
//! A plan is written as rules, separated by commas; the first that fits a call and is due strikes:
//! ```text
//! rule    = what ':' fault { ':' key '=' number }
//! what    = [ mechanism '.' ] ( pull | push | any ) | memory | frame | address
//! fault   = EPERM | ENOSYS | ESRCH | EFAULT | ENOMEM | STOP | KILL | LOST | DAMAGED
//! after=N   calls that fit go well N times first                        (0)
//! times=N   then so many of them fail                                   (all)
//! at=N      bytes of a failing call that are moved before it fails; of a
//!           damaged frame the byte that is                              (0)
//! rank=N    only in the process of this rank                            (any)
//! ```
//! Numbers may carry `K`, `M` or `G`. `push:EPERM` denies one direction from the start; `cma.pull:EFAULT:after=7:at=4K`
//! finds a hole 4 KiB into the eighth pull and all later ones; `any:KILL:after=3:at=1M:rank=1` kills rank 1 in the middle
//! of its fourth transfer, and `STOP` stops it there until somebody continues it.
//!
//! The ring is no mechanism of this crate, and only rules that name it are about it: `ring.push:KILL:after=99` kills whoever
//! has written a hundred pieces of announced messages into rings, before the last is told of, and `ring.pull:STOP` stops who
//! is about to read one. Nothing else can go wrong there.
//!
//! `memory:ENOMEM:after=9` lets a process take nine pieces of the job's memory, and no more. `frame:LOST:times=1` loses the first frame that it
//! sends to another node, without a word to anybody. `frame:DAMAGED:at=40:after=9` puts 255 into byte 40 of the tenth frame that has so many,
//! and of all later ones. `address:DAMAGED` makes nonsense of addresses of peers on other nodes when they are handed to the
//! provider.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_os::{errno, process, signal};

use crate::layout::Layout;
use crate::stream::{Drain, Feed};
use crate::transfer::{Direction, Interrupted, Pending, Transfer};

/// By which rules name the ring.
const RING: &str = "ring";

const ONLY_OF_NETWORK: &str = "LOST and DAMAGED are for frames, DAMAGED for addresses, and nothing else is";

/// The injected faults of this process, and their times. Calls are counted over all peers.
#[derive(Debug, Default)]
pub struct Plan {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    mechanism: Option<String>,
    direction: Option<Direction>,
    about: About,
    kind: FaultKind,
    after: u64,
    times: u64,
    at: u64,
    rank: Option<u64>,
    /// Calls that fitted so far.
    seen: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Copies,
    Memory,
    Frames,
    Addresses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    Errno(i32),
    Stop,
    Kill,
    Lost,
    Damaged,
}

/// Why a plan makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{rule}\" is no fault to inject: {why}")]
pub struct Unclear {
    /// The rule.
    pub rule: String,
    /// The mistake.
    pub why: String,
}

impl Plan {
    /// Read a plan as written above; an empty one has no rules.
    pub fn parse(text: &str) -> Result<Self, Unclear> {
        let rules = text.split(',').map(str::trim).filter(|rule| !rule.is_empty());
        let rules = rules.map(|rule| {
            Rule::parse(rule).map_err(|why| Unclear {
                rule: rule.to_owned(),
                why,
            })
        });
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// The plan as far as it is about this rank.
    pub fn of_rank(mut self, rank: u32) -> Self {
        self.rules
            .retain(|rule| rule.rank.is_none_or(|only| only == u64::from(rank)));
        self
    }

    /// Will anything go wrong?
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Is a piece to go wrong that is written into a ring, or read out of it? Then it does.
    pub fn strike_piece(&self, direction: Direction) {
        if let Some((kind, _)) = self.strike(RING, direction) {
            // There is no other kind for rings, and signals to oneself are not refused.
            let signal = if kind == FaultKind::Stop {
                signal::STOP
            } else {
                signal::KILL
            };
            let _ = signal_to_myself(signal);
        }
    }

    /// Is a process to be refused the memory that it is about to take?
    pub fn refuses_memory(&self) -> bool {
        let mut rules = self.rules.iter().filter(|rule| rule.about == About::Memory);
        rules.any(Rule::is_due)
    }

    /// Is a frame to be lost that a process is about to send to another node?
    pub fn loses_frame(&self) -> bool {
        let mut rules = self.rules.iter().filter(|rule| rule.kind == FaultKind::Lost);
        rules.any(Rule::is_due)
    }

    /// Is a frame to be nonsense that a process is about to send to another node? Then it is made so.
    pub fn damage_frame(&self, frame: &mut [u8]) {
        let damages = |rule: &&Rule| rule.about == About::Frames && rule.kind == FaultKind::Damaged;
        for rule in self.rules.iter().filter(damages) {
            let byte = usize::try_from(rule.at).ok().and_then(|at| frame.get_mut(at));
            // No inversion: a frame may be about to be sent twice.
            if let Some(byte) = byte
                && rule.is_due()
            {
                *byte = u8::MAX;
            }
        }
    }

    /// Is the address of a peer to be nonsense that is about to be handed to the provider? Then it is made so.
    pub fn damage_address(&self, address: &mut [u8]) {
        let mut rules = self.rules.iter().filter(|rule| rule.about == About::Addresses);
        if rules.any(Rule::is_due) {
            address.fill(u8::MAX);
        }
    }

    /// What strikes this call, and after how many bytes.
    fn strike(&self, mechanism: &str, direction: Direction) -> Option<(FaultKind, u64)> {
        let mut fitting = self.rules.iter().filter(|rule| rule.fits(mechanism, direction));
        fitting.find(|rule| rule.is_due()).map(|rule| (rule.kind, rule.at))
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let what = parts.next().unwrap_or_default();
        let (mechanism, direction) = what.rsplit_once('.').map_or((None, what), |(m, d)| (Some(m), d));
        let about = match what {
            "memory" => About::Memory,
            "frame" => About::Frames,
            "address" => About::Addresses,
            _ => About::Copies,
        };
        let direction = match direction {
            "pull" => Some(Direction::Pull),
            "push" => Some(Direction::Push),
            "any" | "memory" | "frame" | "address" => None,
            other => return Err(format!("\"{other}\" is not pull, push, any, memory, frame or address")),
        };
        let kind = match parts.next().unwrap_or_default() {
            "EPERM" => FaultKind::Errno(errno::EPERM),
            "ENOSYS" => FaultKind::Errno(errno::ENOSYS),
            "ESRCH" => FaultKind::Errno(errno::ESRCH),
            "EFAULT" => FaultKind::Errno(errno::EFAULT),
            "ENOMEM" => FaultKind::Errno(errno::ENOMEM),
            "STOP" => FaultKind::Stop,
            "KILL" => FaultKind::Kill,
            "LOST" => FaultKind::Lost,
            "DAMAGED" => FaultKind::Damaged,
            other => return Err(format!("\"{other}\" is no fault")),
        };
        let mut rule = Self {
            mechanism: mechanism.map(str::to_owned),
            direction,
            about,
            kind,
            after: 0,
            times: u64::MAX,
            at: 0,
            rank: None,
            seen: AtomicU64::new(0),
        };
        for part in parts {
            let (key, value) = part.split_once('=').ok_or(format!("\"{part}\" is not key=number"))?;
            let value = number(value).ok_or(format!("\"{value}\" is not a number"))?;
            match key {
                "after" => rule.after = value,
                "times" => rule.times = value,
                "at" => rule.at = value,
                "rank" => rule.rank = Some(value),
                other => return Err(format!("\"{other}\" is not after, times, at or rank")),
            }
        }
        if mechanism == Some(RING) && (matches!(kind, FaultKind::Errno(_)) || rule.at > 0) {
            return Err("a ring knows only STOP and KILL, between pieces".into());
        }
        let is_of_network = match about {
            About::Frames => matches!(kind, FaultKind::Lost | FaultKind::Damaged),
            About::Addresses => kind == FaultKind::Damaged,
            About::Copies | About::Memory => !matches!(kind, FaultKind::Lost | FaultKind::Damaged),
        };
        if !is_of_network {
            return Err(ONLY_OF_NETWORK.into());
        }
        Ok(rule)
    }

    fn fits(&self, mechanism: &str, direction: Direction) -> bool {
        self.about == About::Copies
            && self
                .mechanism
                .as_ref()
                .map_or(mechanism != RING, |only| only == mechanism)
            && self.direction.is_none_or(|only| only == direction)
    }

    fn is_due(&self) -> bool {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed);
        seen.checked_sub(self.after).is_some_and(|late| late < self.times)
    }
}

fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Does what it wraps does, until the plan says otherwise.
#[derive(Debug)]
pub struct Fault<T> {
    inner: T,
    plan: &'static Plan,
}

impl<T> Fault<T> {
    /// Follow the plan, which other wrappers share.
    pub fn new(inner: T, plan: &'static Plan) -> Self {
        Self { inner, plan }
    }

    /// As [`Self::planned`], of a stream.
    fn planned_stream(
        plan: &Plan,
        what: (&str, Direction),
        range: Range<u64>,
        mut call: impl FnMut(Range<u64>) -> Result<u64, Interrupted>,
    ) -> Result<u64, Interrupted> {
        let Some((kind, at)) = plan.strike(what.0, what.1) else {
            return call(range);
        };
        let cut = range.start.saturating_add(at).min(range.end);
        let done = if cut > range.start { call(range.start..cut)? } else { 0 };
        match kind {
            FaultKind::Errno(errno) => Err(Interrupted {
                done,
                ..Interrupted::at_once("injected fault", errno)
            }),
            FaultKind::Stop => signal_to_myself(signal::STOP).map(|()| done),
            FaultKind::Kill => signal_to_myself(signal::KILL).map(|()| done),
            FaultKind::Lost | FaultKind::Damaged => unreachable!("rules for copies have no such kind"),
        }
    }
}

impl<T: Transfer> Fault<T> {
    /// Make the call, or the part of it that the plan lets through.
    fn planned(
        &self,
        direction: Direction,
        range: Range<u64>,
        call: impl Fn(Range<u64>) -> Result<(), Interrupted>,
    ) -> Result<(), Interrupted> {
        let Some((kind, at)) = self.plan.strike(self.inner.name(), direction) else {
            return call(range);
        };
        let cut = range.start.saturating_add(at).min(range.end);
        let done = cut.saturating_sub(range.start);
        call(range.start..cut)?;
        let later = |stopped: Interrupted| Interrupted {
            done: done + stopped.done,
            ..stopped
        };
        match kind {
            FaultKind::Errno(errno) => Err(Interrupted::at_once("injected fault", errno)),
            FaultKind::Stop => signal_to_myself(signal::STOP).and_then(|()| call(cut..range.end)),
            FaultKind::Kill => signal_to_myself(signal::KILL),
            FaultKind::Lost | FaultKind::Damaged => unreachable!("rules for copies have no such kind"),
        }
        .map_err(later)
    }
}

fn signal_to_myself(signal: i32) -> Result<(), Interrupted> {
    signal::send(process::id(), signal).map_err(|error| Interrupted { done: 0, error })
}

impl Feed for Fault<Box<dyn Feed>> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn lends(&self) -> bool {
        self.inner.lends()
    }

    unsafe fn feed(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        let (plan, what) = (self.plan, (self.inner.name(), Direction::Push));
        // SAFETY: the caller's promise, for parts of the range.
        Self::planned_stream(plan, what, range, |part| unsafe { self.inner.feed(local, part) })
    }
}

impl Drain for Fault<Box<dyn Drain>> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    unsafe fn drain(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        let (plan, what) = (self.plan, (self.inner.name(), Direction::Pull));
        // SAFETY: as above.
        Self::planned_stream(plan, what, range, |part| unsafe { self.inner.drain(local, part) })
    }
}

impl<T: Transfer> Transfer for Fault<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise, for parts of the range.
        self.planned(Direction::Pull, range, |part| unsafe {
            self.inner.pull(remote, local, part)
        })
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise, for parts of the range.
        self.planned(Direction::Push, range, |part| unsafe {
            self.inner.push(local, remote, part)
        })
    }

    /// What a fault strikes was begun, is waited for, and counts as not copied.
    unsafe fn pull_later(
        &self,
        remote: &Layout<'_>,
        local: &Layout<'_>,
        range: Range<u64>,
    ) -> Option<Result<Pending, Interrupted>> {
        let nothing = range.start..range.start;
        // SAFETY: the caller's promise.
        let begun = unsafe { self.inner.pull_later(remote, local, range) }?;
        let struck = || self.planned(Direction::Pull, nothing, |_| Ok(()));
        Some(begun.and_then(|pending| struck().map(|()| pending)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::Cause;

    fn plan(text: &str) -> &'static Plan {
        Box::leak(Box::new(Plan::parse(text).expect("a plan")))
    }

    /// Outcomes of eight calls of ten bytes, pulls and pushes in turn, and what each left in the target.
    fn outcomes(text: &str) -> Vec<(u64, Option<Cause>, usize)> {
        let fault = Fault::new(crate::cma::tests::myself(), plan(text));
        let call = |index: u32| {
            let (from, mut to) = ([1u8; 10], [0u8; 10]);
            let (a, b) = (Layout::local(from.as_ptr(), 10), Layout::local(to.as_mut_ptr(), 10));
            // SAFETY: both are ours.
            let outcome = unsafe {
                match index % 2 {
                    0 => fault.pull(&a, &b, 0..10),
                    _ => fault.push(&a, &b, 0..10),
                }
            };
            let there = std::hint::black_box(to).iter().filter(|&&byte| byte == 1).count();
            match outcome {
                Ok(()) => (10, None, there),
                Err(stopped) => (stopped.done, Some(stopped.cause()), there),
            }
        };
        (0..8).map(call).collect()
    }

    #[test]
    fn rules_strike_when_they_should() {
        let well = (10, None, 10);
        assert_eq!(outcomes(""), [well; 8]);
        assert_eq!(outcomes("mapped.any:EPERM"), [well; 8]);
        let refused = (0, Some(Cause::Refused), 0);
        assert_eq!(outcomes("cma.any:EPERM"), [refused; 8]);
        let hole = (7, Some(Cause::Hole), 7);
        assert_eq!(
            outcomes("pull:EFAULT:after=1:times=2:at=7, push:ENOSYS:after=3"),
            [well, well, hole, well, hole, well, well, refused]
        );
        let gone = (10, Some(Cause::Gone), 10);
        assert_eq!(
            outcomes("any:ESRCH:at=1K:after=7"),
            [well, well, well, well, well, well, well, gone]
        );
    }

    #[test]
    fn the_ring_is_meant_only_by_name() {
        let strikes = |text: &str| plan(text).strike(RING, Direction::Push).map(|(kind, _)| kind);
        assert_eq!(strikes("any:KILL,push:EPERM,cma.any:STOP,ring.pull:STOP"), None);
        assert_eq!(strikes("any:EPERM,ring.any:STOP"), Some(FaultKind::Stop));
        assert_eq!(strikes("ring.push:KILL:after=1"), None);
        assert_eq!(outcomes("ring.any:KILL"), [(10, None, 10); 8]);
    }

    #[test]
    fn memory_is_refused_when_it_should_be() {
        assert_eq!(outcomes("memory:ENOMEM"), [(10, None, 10); 8]);
        let plan = plan("memory:ENOMEM:after=2:times=1, any:EPERM");
        assert_eq!([0; 4].map(|_| plan.refuses_memory()), [false, false, true, false]);
    }

    #[test]
    fn frames_are_lost_when_they_should_be() {
        assert_eq!(outcomes("frame:LOST"), [(10, None, 10); 8]);
        let plan = plan("frame:LOST:after=1:times=2, memory:ENOMEM");
        assert_eq!([0; 4].map(|_| plan.loses_frame()), [false, true, true, false]);
    }

    #[test]
    fn frames_are_damaged_where_they_should_be() {
        assert_eq!(outcomes("frame:DAMAGED"), [(10, None, 10); 8]);
        let plan = plan("frame:DAMAGED:at=2:after=1:times=1, frame:LOST:after=9");
        let frames = [4, 2, 4, 4].map(|length| {
            let mut frame = vec![0; length];
            plan.damage_frame(&mut frame);
            assert!(!plan.loses_frame());
            frame
        });
        assert_eq!(frames.iter().flatten().sum::<u8>(), u8::MAX, "one byte");
        assert_eq!(frames[2], [0, 0, u8::MAX, 0], "the second frame that has such a byte");
    }

    #[test]
    fn addresses_are_damaged_when_they_should_be() {
        assert_eq!(outcomes("address:DAMAGED"), [(10, None, 10); 8]);
        let plan = plan("address:DAMAGED:after=1:times=1, frame:DAMAGED:after=9");
        let addresses = [0; 3].map(|_| {
            let mut address = [1, 2];
            plan.damage_address(&mut address);
            address
        });
        assert_eq!(addresses, [[1, 2], [u8::MAX; 2], [1, 2]]);
    }

    #[test]
    fn ranks_are_told_apart() {
        let all = "any:EPERM:rank=1,push:ESRCH:rank=2";
        let left = |rank| Plan::parse(all).expect("a plan").of_rank(rank).rules.len();
        assert_eq!([left(0), left(1), left(2)], [0, 1, 1]);
        assert!(Plan::parse(" , ").expect("nothing").is_empty());
    }

    #[test]
    fn nonsense_is_named() {
        for (text, why) in [
            ("pull", "\"\" is no fault"),
            (
                "shove:EPERM",
                "\"shove\" is not pull, push, any, memory, frame or address",
            ),
            ("pull:LOST", ONLY_OF_NETWORK),
            ("frame:EPERM", ONLY_OF_NETWORK),
            ("address:LOST", ONLY_OF_NETWORK),
            ("pull:EPERM:after", "\"after\" is not key=number"),
            ("pull:EPERM:after=x", "\"x\" is not a number"),
            ("pull:EPERM:after=99999999999G", "\"99999999999G\" is not a number"),
            ("ring.push:EPERM", "a ring knows only STOP and KILL, between pieces"),
            ("ring.any:KILL:at=1", "a ring knows only STOP and KILL, between pieces"),
            (
                "any:EPERM,push:EPERM:when=1",
                "\"when\" is not after, times, at or rank",
            ),
        ] {
            assert_eq!(
                Plan::parse(text).map(|_| ()).map_err(|unclear| unclear.why),
                Err(why.to_owned())
            );
        }
    }
}
