//! A wire that loses frames and delays them, or is cut: two taps, joined by threads of this process. Kernels without netem have it, too.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use isthmus_os::{poll, tap};

use super::super::suite::Suite;
use super::{Job, Nodes, ip};

/// How long a thread sleeps at most.
const LOOK: Duration = Duration::from_millis(20);

/// What happens to frames, in both directions.
#[derive(Debug, Clone, Copy, Default)]
struct Quality {
    /// One in so many is lost; 0: none.
    lost_in: u64,
    delay: Duration,
}

/// The second node is plugged into the bridge by it, until it is dropped.
struct Wire<'a> {
    nodes: &'a Nodes,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    cut: AtomicBool,
    over: AtomicBool,
    passed: AtomicU64,
    /// By its quality.
    lost: AtomicU64,
    /// By the cut.
    cut_off: AtomicU64,
}

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    let names = [
        "1 % of packets lost cost time only",
        "packets that are 100 ms late cost time only",
        "lost and late packets and a cut of 5 s cost time only",
    ];
    if let Err(error) = Wire::lay(job.nodes, Quality::default()) {
        let why = format!("taps cannot be made here (/dev/net/tun): {error:#}");
        return names.iter().for_each(|name| suite.skip(name, &why));
    }
    let (lossy, late) = (100, Duration::from_millis(100));
    suite.step(names[0], || {
        let wire = Wire::lay(job.nodes, quality(lossy, Duration::ZERO))?;
        for (name, ranks) in [("remapped", 1), ("probe", 2), ("requests", 1)] {
            job.program(name, ranks)?;
        }
        wire.has_lost()
    });
    suite.step(names[1], || {
        let _wire = Wire::lay(job.nodes, quality(0, late))?;
        ["requests", "truncation"]
            .iter()
            .try_for_each(|name| job.program(name, 1))
    });
    suite.step(names[2], || {
        let wire = Wire::lay(job.nodes, quality(lossy, late))?;
        let mut child = job.random_program(2)?;
        wire.shared.cut.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs(5));
        let was_cut = job.still_runs(&mut child);
        wire.shared.cut.store(false, Ordering::Relaxed);
        was_cut?;
        job.ends_well(child)?;
        let cut_off = wire.shared.cut_off.load(Ordering::Relaxed);
        ensure!(cut_off > 0, "nothing went while the wire was cut");
        wire.has_lost()
    });
}

fn quality(lost_in: u64, delay: Duration) -> Quality {
    Quality { lost_in, delay }
}

impl<'a> Wire<'a> {
    fn lay(nodes: &'a Nodes, quality: Quality) -> Result<Self> {
        let id = nodes.subnet.number();
        let ends = [0, 1].map(|end| format!("it{id}e{end}"));
        let taps = [tap::open(&ends[0])?, tap::open(&ends[1])?];
        let wire = Self {
            nodes,
            shared: Arc::default(),
            threads: Vec::new(),
        };
        // What a run has left that was killed.
        let _ = ip(&format!("link del {}", wire.bridge()));
        ip(&format!("link add {} type bridge", wire.bridge()))?;
        ip(&format!("link set {} up", wire.bridge()))?;
        ip(&format!("link set {} master {} up", ends[0], nodes.bridge))?;
        ip(&format!("link set {} master {} up", ends[1], wire.bridge()))?;
        ip(&format!("link set {} master {}", nodes.port(2), wire.bridge()))?;
        wire.begin(taps, quality)
    }

    /// Another one, into which the node is plugged.
    fn bridge(&self) -> String {
        format!("isthw{}", self.nodes.subnet.number())
    }

    fn begin(mut self, taps: [File; 2], quality: Quality) -> Result<Self> {
        let [one, other] = taps;
        let pairs = [
            (one.try_clone()?, other.try_clone()?, 0x9e37_79b9_7f4a_7c15),
            (other, one, 0xd1b5_4a32_d192_ed03),
        ];
        for (from, to, seed) in pairs {
            let shared = self.shared.clone();
            self.threads
                .push(std::thread::spawn(move || carry(from, to, quality, &shared, seed)));
        }
        Ok(self)
    }

    fn has_lost(&self) -> Result<()> {
        let (lost, passed) = (&self.shared.lost, &self.shared.passed);
        let (lost, passed) = (lost.load(Ordering::Relaxed), passed.load(Ordering::Relaxed));
        ensure!(lost > 0, "of {passed} packets none was lost");
        Ok(())
    }
}

impl Drop for Wire<'_> {
    fn drop(&mut self) {
        // Links that cannot be restored are taken down with the nodes.
        let _ = ip(&format!("link set {} master {}", self.nodes.port(2), self.nodes.bridge));
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let _ = ip(&format!("link del {}", self.bridge()));
    }
}

/// Carry frames in one direction until it is over.
fn carry(mut from: File, mut to: File, quality: Quality, shared: &Shared, mut seed: u64) {
    let mut late: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut frame = vec![0; 1 << 16];
    while !shared.over.load(Ordering::Relaxed) {
        let now = Instant::now();
        while late.front().is_some_and(|(due, _)| *due <= now) {
            // One that the interface does not take is lost, as on any wire.
            let _ = late.pop_front().map(|(_, frame)| to.write(&frame));
        }
        let next = late.front().map(|(due, _)| due.saturating_duration_since(now));
        let limit = next.map_or(LOOK, |next| next.min(LOOK));
        if poll::readable(&[from.as_fd()], Some(limit)).is_err() {
            return;
        }
        while let Ok(length) = from.read(&mut frame) {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let is_lost = quality.lost_in > 0 && (seed >> 33).is_multiple_of(quality.lost_in);
            let count = match (shared.cut.load(Ordering::Relaxed), is_lost) {
                (true, _) => &shared.cut_off,
                (false, true) => &shared.lost,
                (false, false) => &shared.passed,
            };
            count.fetch_add(1, Ordering::Relaxed);
            if !std::ptr::eq(count, &shared.passed) {
                continue;
            }
            match quality.delay.is_zero() {
                true => drop(to.write(&frame[..length])),
                false => late.push_back((Instant::now() + quality.delay, frame[..length].to_vec())),
            }
        }
    }
}
