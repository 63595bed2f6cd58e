//! Ranks and other processes on virtual CPUs: whether a disturbance leads into a slow state that lasts.
//!
//! A step is a microsecond. The scheduler is the worst that Linux was seen to be where it matters here: time slices of 3 ms; a CPU that becomes
//! idle takes a thread that waits for another CPU; a thread that is woken starts on the CPU that it slept on if that is idle, else on any idle
//! one, else on that of its waker, where it preempts other processes, but no rank. A yield gives the CPU to all that wait for it. Queues of different
//! lengths are evened out, a thread in each slice.

use std::collections::VecDeque;
use std::time::Duration;

use super::*;

/// Microseconds.
const SLICE: u32 = 3000;
const WAKE: u32 = 10;
const LOOKS_PER_STEP: u32 = 16;
const SECOND: u32 = 1_000_000;

type Thread = usize;

#[derive(Default)]
struct Rank {
    backoff: Backoff,
    /// Messages that have come, and that it has taken.
    come: u64,
    taken: u64,
    /// The last one is seen from this step on.
    seen_from: u32,
    sleeps: bool,
    /// It runs again at this step at the earliest.
    starts: u32,
    /// The CPU that it shows.
    shown: usize,
    moves: u32,
    /// Steps since ranks were last asked in which it ran, and in which it wanted a CPU and had none.
    ran: u32,
    waited: u32,
}

struct Machine {
    /// Of each CPU: what runs on it, then what waits for it.
    cpus: Vec<VecDeque<Thread>>,
    used: Vec<u32>,
    /// Threads from here on are busy loops.
    ranks: Vec<Rank>,
    now: u32,
    /// Whether ranks leave CPUs that they share.
    moves: bool,
    /// Whether ranks sleep where yields are lost; until this step they do.
    sleeps: bool,
    lost_until: u32,
    /// Steps since CPUs were last looked at in which one was idle, and in which one ran a loop.
    idle: u32,
    others: u32,
    round_trips: u64,
}

impl Machine {
    fn new(cpus: usize, ranks: usize, moves: bool) -> Self {
        let mut machine = Self {
            cpus: vec![VecDeque::new(); cpus],
            used: vec![0; cpus],
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
            now: 0,
            moves,
            sleeps: true,
            lost_until: 0,
            idle: 0,
            others: 0,
            round_trips: 0,
        };
        for rank in 0..ranks {
            machine.cpus[rank % cpus].push_back(rank);
            machine.ranks[rank].shown = rank % cpus;
        }
        machine.ranks[0].come = 1;
        machine
    }

    fn start_loops(&mut self, loops: usize) {
        for number in 0..loops {
            let at = number % self.cpus.len();
            self.cpus[at].push_back(self.ranks.len() + number);
        }
    }

    fn loops(&self) -> usize {
        let threads = self.cpus.iter().flatten();
        threads.filter(|thread| **thread >= self.ranks.len()).count()
    }

    fn end_loops(&mut self) {
        let ranks = self.ranks.len();
        self.cpus
            .iter_mut()
            .for_each(|cpu| cpu.retain(|thread| *thread < ranks));
    }

    /// Round trips in so many steps.
    fn run(&mut self, steps: u32) -> u64 {
        let before = self.round_trips;
        for _ in 0..steps {
            for cpu in 0..self.cpus.len() {
                self.step(cpu);
            }
            self.now += 1;
            if self.now.is_multiple_of(SLICE) {
                self.balance();
            }
            if self.now.is_multiple_of(IDLE_PERIOD.value as u32) {
                self.look_at_cpus();
            }
            if self.now.is_multiple_of(TAKEN_PERIOD.value as u32) {
                self.ask();
            }
        }
        self.round_trips - before
    }

    fn look_at_cpus(&mut self) {
        let all = (IDLE_PERIOD.value * self.cpus.len() as u64) as f64;
        let (idle, others) = (f64::from(self.idle) / all, f64::from(self.others) / all);
        let (ranks, cpus) = (self.ranks.len() as u32, self.cpus.len() as u32);
        if self.now < self.lost_until && occupancy::have_others_gone(Some(idle), Some(others), ranks, cpus) {
            self.lost_until = self.now;
            self.forget();
        }
        (self.idle, self.others) = (0, 0);
    }

    /// Each rank knows what others took.
    fn ask(&mut self) {
        let (ranks, cpus) = (self.ranks.len() as u32, self.cpus.len() as u32);
        if self.now >= self.lost_until {
            let known = self
                .ranks
                .iter()
                .filter(|rank| !rank.sleeps || rank.ran + rank.waited > 0);
            let taken =
                known.map(|rank| Some(100.0 * f64::from(rank.waited) / f64::from(rank.ran + rank.waited).max(1.0)));
            if self.sleeps && ranks > cpus && occupancy::are_yields_lost(taken, ranks, cpus) {
                let lasts = LOST_LASTS.value as u32;
                self.lost_until = (self.now + lasts / 2).next_multiple_of(lasts);
            }
        }
        self.forget();
    }

    /// What ranks knew of their turns counts no more.
    fn forget(&mut self) {
        self.ranks.iter_mut().for_each(|rank| (rank.ran, rank.waited) = (0, 0));
    }

    fn step(&mut self, cpu: usize) {
        let Some(&thread) = self.cpus[cpu].front() else {
            self.idle += 1;
            self.pull(cpu);
            return;
        };
        self.used[cpu] += 1;
        self.others += u32::from(thread >= self.ranks.len());
        for (behind, &thread) in self.cpus[cpu].iter().enumerate() {
            if let Some(rank) = self.ranks.get_mut(thread) {
                *(if behind == 0 { &mut rank.ran } else { &mut rank.waited }) += 1;
            }
        }
        if thread < self.ranks.len() && self.ranks[thread].starts <= self.now {
            self.step_rank(cpu, thread);
        }
        if self.used[cpu] >= SLICE {
            self.next_turn(cpu);
        }
    }

    /// What runs goes behind all that wait.
    fn next_turn(&mut self, cpu: usize) {
        self.used[cpu] = 0;
        self.cpus[cpu].rotate_left(1);
    }

    /// Now and then the shortest queue takes a thread that waits in the longest.
    fn balance(&mut self) {
        let by_length = |cpu: &usize| self.cpus[*cpu].len();
        let (Some(least), Some(most)) = (
            (0..self.cpus.len()).min_by_key(by_length),
            (0..self.cpus.len()).max_by_key(by_length),
        ) else {
            return;
        };
        if self.cpus[least].len() + 1 < self.cpus[most].len() {
            let thread = self.cpus[most].pop_back().expect("it waits");
            self.cpus[least].push_back(thread);
        }
    }

    /// An idle CPU takes the thread that waits longest in the longest queue.
    fn pull(&mut self, cpu: usize) {
        let busiest = (0..self.cpus.len())
            .max_by_key(|other| self.cpus[*other].len())
            .expect("there are CPUs");
        if self.cpus[cpu].is_empty() && self.cpus[busiest].len() > 1 {
            let thread = self.cpus[busiest].remove(1).expect("it waits");
            self.cpus[cpu].push_front(thread);
            self.used[cpu] = 0;
        }
    }

    fn step_rank(&mut self, cpu: usize, rank: Thread) {
        if self.ranks[rank].taken < self.ranks[rank].come && self.ranks[rank].seen_from <= self.now {
            self.ranks[rank].taken += 1;
            self.ranks[rank].backoff.on_progress(0);
            self.send(cpu, (rank + 1) % self.ranks.len());
            self.round_trips += u64::from(rank == 0);
            return;
        }
        let shares = self.ranks.len() > self.cpus.len();
        let facts = WaitFacts {
            ranks: self.ranks.len() as u32,
            cpus: self.cpus.len() as u32,
            wake: Some(Duration::from_micros(WAKE.into())),
            spin: Duration::ZERO,
            yield_for: Duration::from_micros(if self.now < self.lost_until { 0 } else { 1000 }),
            beside_others: (1..self.cpus.len()).contains(&self.loops()),
        };
        for _ in 0..LOOKS_PER_STEP {
            let now = Duration::from_micros(self.now.into());
            let backoff = &mut self.ranks[rank].backoff;
            if backoff.looks_again(shares, 0) {
                continue;
            }
            match backoff.on_long_idle(shares, 0, || PeerActivity::Unknown, || facts, || now) {
                Next::Look | Next::Spin => {}
                Next::CompareCpus => {
                    self.compare(cpu, rank);
                    return;
                }
                Next::Yield => {
                    self.next_turn(cpu);
                    return;
                }
                // The last look before it sleeps sees what is on its way.
                Next::Sleep if self.ranks[rank].taken < self.ranks[rank].come => return,
                Next::Sleep => {
                    self.ranks[rank].sleeps = true;
                    self.ranks[rank].shown = cpu;
                    self.cpus[cpu].pop_front();
                    self.used[cpu] = 0;
                    self.pull(cpu);
                    return;
                }
            }
        }
    }

    fn compare(&mut self, cpu: usize, rank: Thread) {
        self.ranks[rank].shown = cpu;
        let others = || self.ranks.iter().enumerate().filter(|(other, _)| *other != rank);
        let is_shared = others().any(|(_, other)| other.shown == cpu && !other.sleeps);
        let free = (0..self.cpus.len()).find(|free| others().all(|(_, other)| other.shown != *free));
        if let (true, true, Some(free)) = (self.moves, is_shared, free) {
            self.cpus[cpu].pop_front();
            self.used[cpu] = 0;
            self.place(free, rank);
            self.ranks[rank].shown = free;
            self.ranks[rank].moves += 1;
            self.pull(cpu);
        }
    }

    fn send(&mut self, from: usize, to: Thread) {
        self.ranks[to].come += 1;
        self.ranks[to].seen_from = self.now + 1;
        if !self.ranks[to].sleeps {
            return;
        }
        self.ranks[to].sleeps = false;
        if self.ranks.len() > self.cpus.len() {
            self.ranks[to].backoff.on_wake();
        }
        self.ranks[to].starts = self.now + WAKE;
        let slept = self.ranks[to].shown;
        let idle = (0..self.cpus.len()).find(|cpu| self.cpus[*cpu].is_empty());
        let at = if self.cpus[slept].is_empty() {
            slept
        } else {
            idle.unwrap_or(from)
        };
        self.place(at, to);
    }

    /// Before other processes, behind ranks.
    fn place(&mut self, cpu: usize, rank: Thread) {
        let ranks = self.ranks.len();
        let behind = self.cpus[cpu].iter().take_while(|thread| **thread < ranks).count();
        self.cpus[cpu].insert(behind, rank);
        if behind == 0 {
            self.used[cpu] = 0;
        }
    }
}

/// Round trips in 50 ms: alone, beside so many loops, and 100 ms after they have ended.
fn disturbed(cpus: usize, ranks: usize, loops: usize, moves: bool) -> [u64; 3] {
    const LONG: u32 = SECOND / 20;
    let mut machine = Machine::new(cpus, ranks, moves);
    let alone = machine.run(LONG);
    machine.start_loops(loops);
    machine.run(2 * LONG);
    let beside = machine.run(4 * LONG) / 4;
    machine.end_loops();
    machine.run(2 * LONG);
    [alone, beside, machine.run(LONG)]
}

#[test]
fn ranks_with_their_own_cpus_come_back_after_a_disturbance() {
    let ranks = match std::env::var_os("ISTHMUS_TEST_FULL") {
        Some(_) => 2..=8,
        None => 2..=4,
    };
    for ranks in ranks {
        for cpus in [ranks, ranks + 2] {
            for loops in [1, cpus, 2 * cpus] {
                let [alone, beside, after] = disturbed(cpus, ranks, loops, true);
                assert!(
                    after * 10 >= alone * 9,
                    "{ranks} on {cpus}, {loops} loops: {alone}, then {after}"
                );
                // Loops as many as ranks may take half of each CPU, and ranks wait for each other's turns.
                assert!(
                    beside > 0,
                    "{ranks} on {cpus}, {loops} loops: nothing moves beside them"
                );
            }
        }
    }
}

#[test]
fn two_ranks_beside_loops_keep_a_fair_share() {
    for loops in [1, 2] {
        let [alone, beside, _] = disturbed(2, 2, loops, true);
        assert!(beside * 4 >= alone, "{loops} loops: {alone} alone, {beside} beside");
    }
}

/// The machine shows what it is made for: ranks that stay on one CPU are slow beside loops.
#[test]
fn two_ranks_that_stay_on_one_cpu_are_slow() {
    let mut machine = Machine::new(2, 2, false);
    let alone = machine.run(SECOND / 20);
    // A loop on one CPU, both ranks on the other.
    machine.cpus = vec![VecDeque::from([0, 1]), VecDeque::from([2])];
    let stuck = machine.run(SECOND / 20);
    assert!(stuck * 20 < alone, "{alone} alone, {stuck} on one CPU");
    machine.moves = true;
    machine.run(SECOND / 100);
    let moved = machine.run(SECOND / 20);
    assert!(moved * 4 > alone, "{alone} alone, {moved} after the move");
    assert!(machine.ranks.iter().map(|rank| rank.moves).sum::<u32>() > 0);
}

#[test]
fn ranks_that_share_cpus_and_lose_what_they_yield_sleep() {
    let beside = |sleeps| {
        let mut machine = Machine::new(2, 4, true);
        machine.sleeps = sleeps;
        machine.start_loops(2);
        machine.run(SECOND / 2);
        machine.run(SECOND / 2)
    };
    let (yields, sleeps) = (beside(false), beside(true));
    assert!(
        sleeps > 10 * yields,
        "{yields} round trips with yields, {sleeps} with sleep"
    );
}

#[test]
fn ranks_that_share_cpus_come_back_after_a_disturbance() {
    for (cpus, ranks) in [(2, 3), (2, 4), (2, 8), (4, 8)] {
        let [alone, _, after] = disturbed(cpus, ranks, 2, true);
        assert!(after * 10 >= alone * 9, "{ranks} on {cpus}: {alone}, then {after}");
    }
}
