//! Nodes that are on two networks: messages go by the one that is asked for.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use isthmus_os::subnet::Subnet;

use super::super::suite::Suite;
use super::{Job, Nodes, RUN, SOON, ip};
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
    suite.step("a network that a node is not on is named", || {
        let mut run = job.tuned("requests", 1, &["fabric_network=eth7"])?;
        job.ends_in_error(&mut run, ["cannot open the network", "on the network eth7 only"])
    });
}

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

    fn sent(&self) -> Result<u64> {
        let mut read = Command::new("ip");
        read.args(["netns", "exec", &self.nodes.names()[0]]);
        let text = quiet(read.args(["cat", "/sys/class/net/eth1/statistics/tx_bytes"]), SOON)?;
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
