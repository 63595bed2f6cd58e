use super::*;

const YIELD_FOR: Duration = Duration::from_micros(1000);

fn facts(ranks: u32, cpus: u32, wake_us: Option<u64>) -> WaitFacts {
    WaitFacts {
        ranks,
        cpus,
        wake: wake_us.map(Duration::from_micros),
        spin: Duration::ZERO,
        yield_for: YIELD_FOR,
        beside_others: false,
    }
}

fn spin(ranks: u32, cpus: u32, wake_us: Option<u64>) -> Duration {
    Limits::of(facts(ranks, cpus, wake_us)).spin
}

#[test]
fn a_rank_with_a_cpu_spins_as_long_as_a_sleep_costs() {
    assert_eq!(spin(3, 2, Some(10)), Duration::ZERO);
    assert_eq!(spin(2, 2, Some(10)), Duration::from_micros(20));
    assert_eq!(spin(2, 8, Some(30)), Duration::from_micros(60));
    assert_eq!(spin(2, 8, None), UNKNOWN_SPIN.time());
    assert_eq!(
        spin(2, 8, Some(0)),
        LEAST_SPIN.time(),
        "a machine where nothing costs anything"
    );
    assert_eq!(
        spin(2, 8, Some(5000)),
        LONGEST_SPIN.time(),
        "one whose CPUs sleep deeply"
    );
    let told = WaitFacts {
        spin: Duration::from_micros(7),
        ..facts(2, 2, Some(10))
    };
    assert_eq!(Limits::of(told).spin, Duration::from_micros(7));
}

#[test]
fn a_rank_that_shares_its_cpu_with_many_sleeps_later() {
    let after = |ranks, cpus| Limits::of(facts(ranks, cpus, None)).sleep_after;
    assert_eq!(
        [after(2, 2), after(3, 2), after(4, 2), after(64, 2), after(64, 64)],
        [YIELD_FOR, YIELD_FOR * 2, YIELD_FOR * 2, YIELD_FOR * 32, YIELD_FOR]
    );
}

#[test]
fn a_rank_beside_other_processes_spins_longer_before_it_sleeps() {
    let beside = |ranks| WaitFacts {
        beside_others: true,
        ..facts(ranks, 2, None)
    };
    assert_eq!(Limits::of(beside(2)).sleep_after, YIELD_FOR * BESIDE_OTHERS.count());
    let shared = Limits::of(beside(4)).sleep_after;
    assert_eq!(shared, YIELD_FOR * 2, "one that shares its CPU leaves it to ranks");
}

/// A wait with a clock of its own.
#[derive(Default)]
struct Wait {
    backoff: Backoff,
    now: Duration,
    network: u32,
}

impl Wait {
    fn idle(&mut self, oversubscribed: bool, activity: PeerActivity) -> Next {
        let now = self.now;
        let facts = facts(if oversubscribed { 2 } else { 1 }, 1, None);
        match self.backoff.looks_again(oversubscribed, self.network) {
            true => Next::Look,
            false => self
                .backoff
                .on_long_idle(oversubscribed, self.network, || activity, || facts, || now),
        }
    }

    /// Looks until something else is to be done.
    fn looks(&mut self, activity: PeerActivity) -> u32 {
        let mut looks = 1;
        while self.idle(true, activity) == Next::Look {
            looks += 1;
        }
        looks
    }

    /// Until it sleeps, if each look takes so long: how often it yields and compares CPUs.
    fn until_sleep(&mut self, oversubscribed: bool, look: Duration) -> (u32, u32) {
        let (mut yields, mut comparisons) = (0, 0);
        loop {
            match self.idle(oversubscribed, PeerActivity::Away) {
                Next::Look | Next::Spin => {}
                Next::CompareCpus => comparisons += 1,
                Next::Yield => yields += 1,
                Next::Sleep => return (yields, comparisons),
            }
            self.now += look;
        }
    }
}

#[test]
fn a_rank_that_shares_a_cpu_yields_soon_and_later_if_the_awaited_ranks_have_one() {
    let mut wait = Wait::default();
    assert_eq!(wait.looks(PeerActivity::Unknown), LOOKS_OVERSUBSCRIBED.count());
    assert_eq!(wait.looks(PeerActivity::Unknown), 1, "nothing has come meanwhile");
    assert_eq!(
        wait.looks(PeerActivity::AtWork),
        LOOKS_AT_WORK.count() - LOOKS_OVERSUBSCRIBED.count()
    );
    wait.backoff.on_progress(0);
    assert_eq!(wait.looks(PeerActivity::AtWork), LOOKS_AT_WORK.count());
    wait.backoff.on_progress(0);
    assert_eq!(wait.looks(PeerActivity::Away), LOOKS_AWAY.count());
}

#[test]
fn a_rank_that_was_woken_for_something_else_does_not_sleep_at_once() {
    let mut wait = Wait::default();
    wait.until_sleep(true, YIELD_FOR);
    assert_eq!(wait.idle(true, PeerActivity::Away), Next::Sleep, "nothing has woken it");
    wait.backoff.on_wake();
    assert_eq!(wait.idle(true, PeerActivity::Away), Next::Yield);
    wait.now += YIELD_FOR;
    assert_eq!(wait.idle(true, PeerActivity::Away), Next::Sleep);
    (1..WAKES.count()).for_each(|_| wait.backoff.on_wake());
    wait.until_sleep(true, YIELD_FOR);
    wait.backoff.on_wake();
    assert_eq!(
        wait.idle(true, PeerActivity::Away),
        Next::Sleep,
        "it was woken too often"
    );
}

#[test]
fn a_rank_that_shares_a_cpu_yields_and_sleeps_in_the_end() {
    let (yields, comparisons) = Wait::default().until_sleep(true, YIELD_FOR / 10);
    assert!(yields > 10 && comparisons == 0, "{yields} {comparisons}");
}

#[test]
fn a_rank_with_its_own_cpu_never_yields_and_compares_cpus_now_and_then() {
    let (yields, comparisons) = Wait::default().until_sleep(false, Duration::from_nanos(30));
    assert!(yields == 0 && (5..=10).contains(&comparisons), "{yields} {comparisons}");
}

#[test]
fn a_rank_that_spins_notices_that_it_was_off_its_cpu() {
    let mut wait = Wait::default();
    let until_reading = |wait: &mut Wait| while wait.idle(false, PeerActivity::Unknown) == Next::Look {};
    until_reading(&mut wait);
    wait.now += OFF_CPU.time() / 2;
    until_reading(&mut wait);
    assert_eq!(wait.backoff.take_off_cpu(), Duration::ZERO);
    wait.now += OFF_CPU.time();
    until_reading(&mut wait);
    assert_eq!(wait.backoff.take_off_cpu(), OFF_CPU.time());
    assert_eq!(wait.backoff.take_off_cpu(), Duration::ZERO);
}

#[test]
fn a_rank_that_looks_at_the_network_yields_after_a_few_looks() {
    let mut wait = Wait {
        backoff: Backoff::new(7),
        network: 7,
        ..Wait::default()
    };
    for _ in 0..3 {
        let looks = (1..).find(|_| {
            wait.network += 1;
            wait.idle(false, PeerActivity::Unknown) != Next::Look
        });
        assert_eq!(looks, Some(LOOKS_OVERSUBSCRIBED.count()));
    }
    // Not after looks at the node.
    for _ in 1..LOOKS_OVERSUBSCRIBED.count() {
        assert_eq!(wait.idle(false, PeerActivity::Unknown), Next::Look);
    }
}

#[test]
fn a_rank_that_looks_at_the_network_sleeps_in_time_however_long_a_look_takes() {
    let mut wait = Wait::default();
    let mut yields = 0;
    loop {
        wait.network += 1;
        match wait.idle(false, PeerActivity::Unknown) {
            // Another process has the CPU for so long.
            Next::Yield => {
                yields += 1;
                wait.now += YIELD_FOR / 4;
            }
            Next::Sleep => break,
            _ => {}
        }
    }
    assert!((1..=4).contains(&yields), "{yields} yields");
}

#[test]
fn brief_looks_end_and_short_waits_go_on() {
    let mut looks = 0;
    assert!(!look_briefly(&LOOKS_AT_POST, || {
        looks += 1;
        false
    }));
    assert_eq!(looks, LOOKS_AT_POST.count() + 1);
    assert!(look_briefly(&LOOKS_AT_POST, || true));
    let mut wait = ShortWait::default();
    let began = clock::now();
    while clock::now() - began < SHORT_SPIN.time() + SHORT_SLEEP.time() {
        wait.pause();
    }
    assert!(wait.looks() > LOOKS_AT_LOCK.count());
}

#[test]
fn each_limit_has_a_name_of_its_own() {
    let mut names: Vec<_> = TABLE.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TABLE.len());
    assert!(
        TABLE
            .iter()
            .all(|row| row.value > 0 && ["looks", "us", "times", "%"].contains(&row.unit))
    );
}
