//! What a wait does after a look that found nothing: looks again, yields, moves to another CPU, or sleeps.
//!
//! # States
//! docs/waiting.md draws them. A wait of a rank with a CPU of its own *spins* for [`Limits::sleep_after`], in between compares its CPU
//! with those of other ranks, then *sleeps*; whatever moves begins it anew. A wait of a rank that shares CPUs *yields* between a few looks, and then
//! sleeps. Spinning for about as long as a sleep costs is never much more than what a wait would take that had known its length before
//! (Karlin, Li, Manasse, Owicki: "Empirical studies of competitive spinning for a shared-memory multiprocessor", SOSP 1991).
//!
//! Everything here is a pure function of what it is given: the module `simulation` runs it on virtual CPUs.

use std::time::Duration;

use isthmus_os::{clock, cpu};

use crate::occupancy::{self, PeerActivity};

/// One row of [`TABLE`].
#[derive(Debug)]
pub struct Limit {
    /// Lower case.
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// `looks`, `us`, `times`, or `%`.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

impl Limit {
    /// As looks, or times.
    pub const fn count(&self) -> u32 {
        self.value as u32
    }

    /// As a time.
    pub const fn time(&self) -> Duration {
        Duration::from_micros(self.value)
    }
}

macro_rules! table {
    ($($ident:ident = $value:literal, $unit:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub const $ident: Limit = Limit {
            name: stringify!($ident),
            value: $value,
            unit: $unit,
            doc: $doc,
        };)*
        /// Every constant that decides how to wait.
        pub const TABLE: &[Limit] = &[$($ident),*];
    };
}

table! {
    LOOKS = 64, "looks", "Between two readings of the clock, by a rank with a CPU of its own.";
    FIRST_COMPARISON = 8, "times", "Readings of the clock in one wait after which a rank compares its CPU with those of others, and again at twice as many.";
    UNKNOWN_SPIN = 20, "us", "Spinning while no wake has been timed.";
    LEAST_SPIN = 5, "us", "The shortest spin.";
    LONGEST_SPIN = 100, "us", "The longest spin that wakes decide.";
    SIDES = 2, "times", "A wake costs both sides: the waker's system call, and the time until the sleeper runs.";
    LOOKS_OVERSUBSCRIBED = 4, "looks", "Before a rank that shares CPUs yields, if it is not known whether the awaited ranks have one.";
    LOOKS_AWAY = 1, "looks", "The same, if an awaited rank has yielded, or sleeps.";
    LOOKS_AT_WORK = 48, "looks", "The same, if all awaited ranks have a CPU (docs/decisions/0020).";
    WAKES = 256, "times", "In one wait, wakes for something else after each of which it polls for a while before it sleeps again (docs/decisions/0028).";
    LOOKS_AT_NOTICE = 200, "looks", "At memory that ranks write in the same step of a program, before a wait that makes progress.";
    LOOKS_AT_POST = 100, "looks", "At a post of a collective, the same.";
    LOOKS_AT_REQUEST = 20, "looks", "At a collective that a request runs, the same.";
    LOOKS_AT_SIGNAL = 500, "looks", "At memory that OpenSHMEM's programs wait for, the same.";
    LOOKS_AT_ANSWER = 400, "looks", "For the answer of a target that is inside the library to a request for an operation on its ordinary memory (docs/decisions/0070), before it is taken back.";
    LOOKS_AT_ANSWER_AWAY = 64, "looks", "The same, if the target is not inside: it may be just about to.";
    LOOKS_AT_PIECE = 4000, "looks", "The same, for a piece of a longer operation: the target may be copying other ones first.";
    LOOKS_AT_COPY = 30000, "looks", "The same, for one that the target copies by the kernel.";
    LOOKS_AT_SERVED = 20000, "looks", "At a target that has begun to answer, before its life is doubted.";
    LOOKS_AT_ROUSED = 5000, "looks", "At a target that was woken for a long operation, until it is inside.";
    ROUSED = 100, "us", "So long after it was rung for a target may be on its way.";
    TESTS = 8, "times", "Tests of OpenSHMEM in a row that found nothing, after which a PE makes progress, and yields if it shares its CPU.";
    TESTED = 1000000, "us", "Calls that do not block (`MPI_Test`) and have found nothing for so long are told of where a job hangs.";
    FIRST_TIMED_TEST = 16, "times", "Such a call that reads the clock first; then each power of two does.";
    TIMED_TESTS = 1024, "times", "From that one on each multiple of it does. A power of two.";
    ROUNDS_FOR_OTHERS = 4, "times", "Rounds of progress that a thread makes for threads that rest, on its way out, before it has one of them do it.";
    LOOKS_AT_QUEUE = 200, "looks", "By the thread that polls, whether one that wants to get in has done so, before it yields.";
    LOOKS_AT_LOCK = 64, "looks", "At a lock that is held for short, between two pauses.";
    SHORT_SPIN = 100, "us", "Spinning at such a lock by a rank with a CPU of its own, before it sleeps for short.";
    SHORT_SLEEP = 50, "us", "How long it sleeps then.";
    LOOKS_AT_HOLDER = 16384, "looks", "At such a lock of ARMCI, between two checks whether its holder lives.";
    BESIDE_OTHERS = 8, "times", "As long as else (`yield_us`) does a rank with a CPU of its own spin before it sleeps while other processes take its CPU now and then: the awaited rank may be off its CPU for as long as a time slice, and one that sleeps gives its own CPU away for another.";
    TAKEN = 3, "%", "Of the time that some rank of the node wants a CPU it has none: from there on other processes take it now and then.";
    TAKEN_BY_MANY = 45, "%", "The same on average over ranks: from there on all CPUs have other processes to serve, and ranks that sleep early come to run at the same time.";
    TAKEN_PERIOD = 100000, "us", "Between two readings of that.";
    TAKEN_SMOOTHING = 4, "times", "A reading counts for one part in so many.";
    UNTIMED_YIELDS = 16, "times", "By a rank that shares CPUs, between two yields that are timed.";
    OTHERS_LAST = 2000000, "us", "So long after a yield that lasted as long as OFF_CPU, while ranks that are awake had a CPU each, other processes take what is yielded: such ranks wait as ranks with CPUs of their own do.";
    TURN_PERIOD = 10000, "us", "Between two looks of a rank that shares CPUs whether it runs on the one whose turn it is (docs/decisions/0112).";
    LOST = 25, "%", "Of the CPU time that ranks which share CPUs would have without other processes: those that get less, and yield, lose it by their yields, and sleep instead.";
    IDLE = 25, "%", "Of the time of the CPUs of ranks that sleep instead of yielding: as much idleness tells that other processes have gone, and they yield again.";
    OTHERS_LEFT = 50, "%", "Of the share of the CPUs that one other process on each has beside ranks that all want one: less for other processes tells it, too.";
    OTHERS_PERIOD = 120000, "us", "The time over which that share is taken: the kernel counts in ticks of 10 ms.";
    IDLE_PERIOD = 40000, "us", "Between two looks at these.";
    LOST_LASTS = 2000000, "us", "So long they do, until the clock's next multiple of it, then they yield again to find out.";
    LONGEST_SLEEP = 100000, "us", "A sleep is never longer: a waker that died between two instructions must not hang us, nor a launcher that is gone.";
    UNORDERED_SLEEP = 1000, "us", "The longest first sleep where the kernel refuses membarrier: a sender that does not know yet that it must fence may miss it.";
    FIRST_WATCHING_SLEEP = 200, "us", "The first sleep of a wait for memory that others may change without a bell; each is twice the one before.";
    LONGEST_WATCHING_SLEEP = 5000, "us", "The longest of those.";
    LONGEST_STRIPE_SLEEP = 10000, "us", "Between two looks whether the holder of a lock of accumulates lives.";
    OFF_CPU = 300, "us", "Between two readings of the clock by a rank that spins: it was off its CPU.";
    LATE_WAKE = 300, "us", "From the beginning of a wake until the sleeper runs: it was late.";
}

/// What decides how a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitFacts {
    /// Threads of this node that may want a CPU: its ranks, times the threads that wait in each.
    pub ranks: u32,
    /// CPUs that they may use: the affinity mask, cut by the cgroup's quota.
    pub cpus: u32,
    /// What a wake takes; `None`: not known yet.
    pub wake: Option<Duration>,
    /// The tunable `spin_us`; zero: as wakes decide.
    pub spin: Duration,
    /// The tunable `yield_us`.
    pub yield_for: Duration,
    /// Other processes take the CPUs of ranks that have their own.
    pub beside_others: bool,
}

/// How a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Looks in a row before anything else is done.
    pub looks: u32,
    /// How long it spins at least.
    pub spin: Duration,
    /// How long after the first look that found nothing it sleeps. Until then a rank with a CPU of its own looks, and others yield between looks.
    pub sleep_after: Duration,
}

impl Limits {
    /// From the facts.
    pub fn of(facts: WaitFacts) -> Self {
        if facts.ranks > facts.cpus {
            // The peer may need our CPU to get anywhere. All that share ours have their turns before it has come: a rank that slept by then
            // would have to be woken for each message, which takes as long as several turns.
            return Self {
                looks: LOOKS_OVERSUBSCRIBED.count(),
                spin: Duration::ZERO,
                sleep_after: facts.yield_for * facts.ranks.div_ceil(facts.cpus),
            };
        }
        let spin = match facts.spin {
            Duration::ZERO => facts.wake.map_or(UNKNOWN_SPIN.time(), |wake| {
                (wake * SIDES.count()).clamp(LEAST_SPIN.time(), LONGEST_SPIN.time())
            }),
            spin => spin,
        };
        let times = if facts.beside_others { BESIDE_OTHERS.count() } else { 1 };
        Self {
            looks: LOOKS.count(),
            spin,
            sleep_after: facts.yield_for * times,
        }
    }
}

/// What to do when there was nothing to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Look again.
    Look,
    /// The clock was read: look again.
    Spin,
    /// Leave this CPU if another rank of the job is on it, then look again.
    CompareCpus,
    /// Yield the CPU, then look again.
    Yield,
    /// Sleep.
    Sleep,
}

/// One wait: how long it has found nothing.
#[derive(Debug, Default)]
pub struct Backoff {
    looks: u32,
    has_yielded: bool,
    /// Readings of the clock that found nothing, by a rank with a CPU of its own.
    readings: u32,
    since: Option<Duration>,
    /// The last reading of the clock, if nothing but looks came after it, and how long it was off its CPU between two.
    read: Option<Duration>,
    off_cpu: Duration,
    /// Sleeps that ended by a wake for something else.
    wakes: u32,
    /// How often the network had been looked at when this began, or last yielded for it.
    network: u32,
}

impl Backoff {
    /// The network was looked at so often before.
    pub fn new(network: u32) -> Self {
        Self {
            network,
            ..Self::default()
        }
    }

    /// Something has moved; the network was looked at so often.
    #[inline]
    pub fn on_progress(&mut self, network: u32) {
        *self = Self::new(network);
    }

    /// It has slept and was woken, and what is awaited has not come. It sleeps again sooner than the first time, but not at once: where it
    /// waits for many, each of which wakes it, it would sleep as often (docs/decisions/0028). One that is woken over and over does.
    pub fn on_wake(&mut self) {
        self.wakes = self.wakes.saturating_add(1);
        if self.wakes <= WAKES.count() {
            self.since = None;
        }
    }

    /// How long this wait was off its CPU since the last call, as far as it noticed while it span.
    pub fn take_off_cpu(&mut self) -> Duration {
        std::mem::take(&mut self.off_cpu)
    }

    /// Nothing has moved. `oversubscribed`: there are more threads that want a CPU than CPUs; `network`: how often the network was looked at,
    /// which wraps. True: look again. Else [`Self::on_long_idle`] says what to do.
    #[inline(always)]
    pub fn looks_again(&mut self, oversubscribed: bool, network: u32) -> bool {
        self.looks = self.looks.wrapping_add(1);
        !oversubscribed && !self.yields_for(network) && !self.looks.is_multiple_of(LOOKS.count())
    }

    /// A look at the network is a system call, beside which yielding after a few costs little; and a sender may need this CPU
    /// without being a rank of this node (docs/decisions/0020). It may take as long as others have the CPU: the clock is read.
    #[inline(always)]
    fn yields_for(&self, network: u32) -> bool {
        network.wrapping_sub(self.network) >= LOOKS_OVERSUBSCRIBED.count()
    }

    /// What to do when [`Self::looks_again`] has said no. `activity`: have the awaited ranks got a CPU? The `facts` and the `clock` are asked for seldom.
    pub fn on_long_idle(
        &mut self,
        oversubscribed: bool,
        network: u32,
        activity: impl FnOnce() -> PeerActivity,
        facts: impl FnOnce() -> WaitFacts,
        clock: impl FnOnce() -> Duration,
    ) -> Next {
        let yields_for_network = self.yields_for(network);
        if yields_for_network {
            self.network = network;
        }
        if oversubscribed {
            if self.looks < looks_while(activity()) {
                return Next::Look;
            }
            self.looks = self.looks.min(LOOKS_OVERSUBSCRIBED.count());
        }
        let facts = facts();
        // Most waits that share a CPU end after their first yield: the clock is read from the second on. One that is to sleep at once does.
        if oversubscribed && !self.has_yielded && !facts.yield_for.is_zero() {
            self.has_yielded = true;
            return Next::Yield;
        }
        let now = clock();
        let gap = now.saturating_sub(self.read.unwrap_or(now));
        if gap >= OFF_CPU.time() {
            self.off_cpu += gap;
        }
        self.read = Some(now).filter(|_| !oversubscribed && !yields_for_network);
        let idle = now.saturating_sub(*self.since.get_or_insert(now));
        let limits = Limits::of(facts);
        let sleep_after = match self.wakes {
            0 => limits.sleep_after,
            _ => facts.yield_for,
        };
        if idle >= limits.spin.max(sleep_after) {
            return Next::Sleep;
        }
        if oversubscribed || yields_for_network {
            return Next::Yield;
        }
        // No rank needs this CPU, unless one is on it: what else wants it gets it from the kernel (docs/decisions/0112).
        self.readings = self.readings.saturating_add(1);
        match self.readings >= FIRST_COMPARISON.count() && self.readings.is_power_of_two() {
            true => Next::CompareCpus,
            false => Next::Spin,
        }
    }
}

/// Looks before the CPU is yielded, where ranks share CPUs.
fn looks_while(activity: PeerActivity) -> u32 {
    match activity {
        PeerActivity::Away => LOOKS_AWAY.count(),
        PeerActivity::Unknown => LOOKS_OVERSUBSCRIBED.count(),
        PeerActivity::AtWork => LOOKS_AT_WORK.count(),
    }
}

/// Has `ready` come, or does it within so many looks? Before a wait that makes progress. One look where ranks share CPUs.
#[inline(always)]
pub fn look_briefly(looks: &Limit, mut ready: impl FnMut() -> bool) -> bool {
    if ready() {
        return true;
    }
    if occupancy::is_oversubscribed() {
        return false;
    }
    (0..looks.count()).any(|_| {
        std::hint::spin_loop();
        ready()
    })
}

/// A wait for what another thread or rank does in a few instructions, without a bell that it could ring. Its holder may have lost its CPU, to
/// this thread perhaps: a rank that shares CPUs yields, others sleep for short after a while.
#[derive(Debug, Default)]
pub struct ShortWait {
    looks: u32,
    since: Option<Duration>,
}

impl ShortWait {
    /// Between two looks.
    pub fn pause(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(LOOKS_AT_LOCK.count()) {
            std::hint::spin_loop();
            return;
        }
        if occupancy::is_oversubscribed() {
            cpu::yield_now();
            return;
        }
        let now = clock::now();
        if now - *self.since.get_or_insert(now) >= SHORT_SPIN.time() {
            std::thread::sleep(SHORT_SLEEP.time());
        }
    }

    /// Looks so far; it wraps.
    pub fn looks(&self) -> u32 {
        self.looks
    }
}

#[cfg(all(test, not(loom)))]
mod simulation;
#[cfg(all(test, not(loom)))]
mod tests;
