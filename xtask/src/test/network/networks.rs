//! Nodes that are on two networks: messages go by the one that is asked for, and long ones by both if both are.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use isthmus_os::subnet::Subnet;

use super::super::suite::Suite;
use super::{Job, Nodes, RUN, SOON, ip, wait};
use crate::process::quiet;

/// More than a job sends there that uses the other one.
const MUCH: u64 = 1 << 20;

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    suite.step("messages go by the network that is asked for", || {
        let second = Second::plug_in(job.nodes)?;
        ensure!(second.sent_by(job, None)? < MUCH, "the second network is used unasked");
        for name in ["eth1", &format!("{}/24", second.subnet.text(0))] {
            let sent = second.sent_by(job, Some(name))?;
            ensure!(sent > MUCH, "asked for {name}, {sent} bytes went there");
        }
        Ok(())
    });
    suite.step("long messages go by both networks that are asked for", || {
        let second = Second::plug_in(job.nodes)?;
        let first = second.sent_on("eth0")?;
        let sent = second.sent_by(job, Some(BOTH))?;
        let first = second.sent_on("eth0")? - first;
        ensure!(
            sent > MUCH && first > MUCH,
            "{first} bytes went by the first, {sent} by the second"
        );
        Ok(())
    });
    for (program, ranks) in ON_BOTH {
        suite.step(&format!("{program} on 2 nodes x {ranks} by two networks"), || {
            let _second = Second::plug_in(job.nodes)?;
            let both = [format!("fabric_network={BOTH}"), "network_rma=4096".to_owned()];
            quiet(
                &mut job.tuned(program, ranks, &both.each_ref().map(String::as_str))?,
                RUN,
            )?;
            job.nodes.emptied()
        });
    }
    suite.step(
        "long messages, puts and gets go on by one network when the other is cut for good",
        || Second::plug_in(job.nodes)?.is_cut(job),
    );
    suite.step("a network that a node is not on is named", || {
        let mut run = job.tuned("requests", 1, &["fabric_network=eth7"])?;
        job.ends_in_error(&mut run, ["cannot open the network", "on the network eth7 only"])
    });
}

/// What the tunable says of both.
const BOTH: &str = "eth0,eth1";

/// Programs, and ranks on each node.
const ON_BOTH: [(&str, usize); 4] = [
    ("win_random", 1),
    ("random_matching", 2),
    ("win_computing", 1),
    ("remapped", 1),
];

/// A second network; it goes when this is dropped.
struct Second<'a> {
    nodes: &'a Nodes,
    subnet: Subnet,
    bridge: String,
}

impl<'a> Second<'a> {
    fn plug_in(nodes: &'a Nodes) -> Result<Self> {
        let subnet = Subnet::claim(92).context("cannot claim addresses")?;
        let bridge = format!("isti{}", subnet.number());
        // What a run has left that was killed.
        let _ = ip(&format!("link del {bridge}"));
        let second = Self { nodes, subnet, bridge };
        let Self { subnet, bridge, .. } = &second;
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("link set {bridge} up"))?;
        for (node, name) in (1..).zip(nodes.names()) {
            let port = format!("iw{}p{node}", subnet.number());
            let _ = ip(&format!("link del {port}"));
            ip(&format!("link add {port} type veth peer name eth1 netns {name}"))?;
            ip(&format!("link set {port} master {bridge} up"))?;
            ip(&format!("-n {name} addr add {}/24 dev eth1", subnet.text(node)))?;
            ip(&format!("-n {name} link set eth1 up"))?;
        }
        Ok(second)
    }

    /// Bytes that the first node sends there during a program with long messages.
    fn sent_by(&self, job: &Job<'_>, network: Option<&str>) -> Result<u64> {
        let before = self.sent()?;
        let set = network.map(|network| format!("fabric_network={network}"));
        let set: Vec<&str> = set.as_deref().into_iter().collect();
        quiet(job.tuned("bulk", 1, &set)?.args(["2", "4"]), RUN)?;
        job.nodes.emptied()?;
        Ok(self.sent()? - before)
    }

    /// The program ends well though the second network is cut once much has gone there.
    fn is_cut(&self, job: &Job<'_>) -> Result<()> {
        let before = self.sent()?;
        let both = [format!("fabric_network={BOTH}"), "network_rma=4096".to_owned()];
        let mut run = job.tuned("network_rails", 1, &both.each_ref().map(String::as_str))?;
        // Longer than it takes until a network is given up.
        let mut child = run.arg("8").stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let is_used = || self.sent().is_ok_and(|sent| sent - before > MUCH);
        let used = wait("nothing goes there", || {
            is_used() || child.try_wait().is_ok_and(|ended| ended.is_some())
        });
        let was_running = child.try_wait()?.is_none();
        let cut = ip(&format!("link set {} down", self.bridge));
        let began = Instant::now();
        while child.try_wait()?.is_none() && began.elapsed() < RUN {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let output = child.wait_with_output().context("cannot wait for mpiexec")?;
        job.nodes.emptied()?;
        used.and(cut)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "mpiexec ended with {}:\n{said}", output.status);
        ensure!(was_running, "it was over before the cut");
        ensure!(
            said.contains("the network eth1 is not used any more"),
            "it said:\n{said}"
        );
        Ok(())
    }

    fn sent(&self) -> Result<u64> {
        self.sent_on("eth1")
    }

    fn sent_on(&self, interface: &str) -> Result<u64> {
        let mut read = Command::new("ip");
        read.args(["netns", "exec", &self.nodes.names()[0]]);
        let statistics = format!("/sys/class/net/{interface}/statistics/tx_bytes");
        let text = quiet(read.args(["cat", &statistics]), SOON)?;
        text.trim().parse().with_context(|| format!("the kernel says {text}"))
    }
}

impl Drop for Second<'_> {
    fn drop(&mut self) {
        for name in self.nodes.names() {
            let _ = ip(&format!("-n {name} link del eth1"));
        }
        let _ = ip(&format!("link del {}", self.bridge));
    }
}
