//! Jobs on several nodes: network namespaces joined by a bridge, each with IPC, PID and mount namespaces of its own, so that
//! nothing but the network joins them. As root; without the right it says what was not run.

mod broken;
mod checked;
mod checksum;
mod cuda;
mod everything;
mod first_message;
mod launching;
mod models;
mod networks;
mod nonsense;
mod other_launcher;
mod rma;
mod shares;
mod ssh;
mod survivors;
mod tree;
mod unlike;
mod wire;

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use isthmus_os::subnet::Subnet;

use first_message::{Cut, comes_back, computes, is_lost, is_lost_later, is_refused, stays_away};

use super::outside::{imb, mpi4py};
use super::suite::Suite;
use crate::process::{quiet, root, target};

/// For one program.
const RUN: Duration = Duration::from_secs(120);
/// For what must be gone.
const SOON: Duration = Duration::from_secs(60);

/// Programs of `tests/programs` for 2 ranks, one on each of 2 nodes.
const PAIRS: &[&str] = &[
    "network_start",
    "requests",
    "derived",
    "truncation",
    "remapped",
    "freed_memory",
    "win_computing",
    "win_random",
];

/// Others, on 2 nodes with 2 ranks each.
const PROGRAMS: &[&str] = &[
    "point_to_point",
    "wildcards",
    "probe",
    "unexpected",
    "flood",
    "persistent",
    "collectives",
    "nonblocking_collectives",
    "file_basic",
    "file_errors",
    "file_refused",
    "file_random",
    "file_views",
    "file_stream",
    "persistent_collectives",
    "reductions",
    "user_operation",
    "neighbors",
    "intercommunicators",
    "network_idle",
    "cancel",
    "win_flavors",
    "win_bad_input",
    "win_errors",
    "win_litmus",
    "win_many",
    "win_results",
    "win_threads",
    "win_random",
    "win_computing",
    "random_matching",
    "random_collectives",
    "random_communicators",
    "threads_messages",
    "threads_collectives",
    "sessions",
    "storm",
];

/// A start that is refused: arguments of mpiexec, an environment, and what must be said.
struct Wrong {
    hosts: Option<&'static str>,
    launcher: Option<&'static str>,
    program: &'static str,
    environment: (&'static str, &'static str),
    says: [&'static str; 2],
}

const RIGHT: Wrong = Wrong {
    hosts: None,
    launcher: None,
    program: "true",
    environment: ("ISTHMUS_FABRIC", ""),
    says: [""; 2],
};

const WRONG: [(&str, Wrong); 5] = [
    (
        "an unknown host is named",
        Wrong {
            hosts: Some("no-such-host:2"),
            says: ["host no-such-host", "log in there"],
            ..RIGHT
        },
    ),
    (
        "a launcher that is refused is named",
        Wrong {
            launcher: Some("false"),
            says: ["its launcher ended", "without a password"],
            ..RIGHT
        },
    ),
    (
        "a program that is not there is named",
        Wrong {
            program: "/no/such/program",
            says: ["/no/such/program", "no such file"],
            ..RIGHT
        },
    ),
    (
        "a provider that is not there is named",
        Wrong {
            program: "requests",
            environment: ("ISTHMUS_FABRIC", "no-such-provider"),
            says: ["libfabric has no provider here that serves", "no-such-provider"],
            ..RIGHT
        },
    ),
    (
        "shared memory is no network",
        Wrong {
            program: "requests",
            environment: ("ISTHMUS_FABRIC", "shm"),
            says: ["libfabric has no provider here that serves", "asked for shm"],
            ..RIGHT
        },
    ),
];

/// A link on which few packets may wait: what a burst has more is lost. Kernels have this where they have no netem.
const SHORT_QUEUE: &str = "tbf rate 400mbit burst 16kb limit 24kb";

/// What enters a node.
const LAUNCHER: &str = "#!/bin/sh
# The host is the name of a network namespace.
host=$1
shift
exec ip netns exec \"$host\" unshare --ipc --mount --pid --fork --kill-child --mount-proc \"$@\"
";

/// All of it.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    let nodes = match Nodes::make(2) {
        Ok(nodes) => nodes,
        Err(error) => {
            let why = format!("namespaces cannot be made here (it takes root and iproute2): {error:#}");
            return suite.skip("jobs on several nodes", &why);
        }
    };
    let job = Job {
        prefix,
        nodes: &nodes,
        full,
    };
    for (programs, ranks) in [(PAIRS, 1), (PROGRAMS, 2)] {
        for name in programs {
            suite.step(&format!("{name} on 2 nodes x {ranks}"), || job.program(name, ranks));
        }
    }
    let reads = "network_reads on 2 nodes x 1";
    match job.reads() {
        Ok(false) => suite.skip(reads, "libfabric has no provider net here"),
        ran => {
            suite.step(reads, || ran.map(drop));
        }
    }
    rma::run(suite, &job);
    shares::run(suite, &job);
    networks::run(suite, &job);
    imb::on_nodes(suite, prefix, full, &|ranks| job.mpiexec(ranks));
    mpi4py::on_nodes(suite, full, &|ranks| job.mpiexec(ranks));
    other_launcher::run(suite, &job);
    suite.step("isthmus bench network --quick", || job.bench());
    suite.step("isthmus bench --paper shiba --quick", || job.paper());
    for (name, wrong) in &WRONG {
        suite.step(name, || job.refuses(wrong));
    }
    unlike::run(suite, &job);
    launching::run(suite, &job);
    ssh::run(suite, &job);
    models::run(suite, &job);
    cuda::run(suite, &job);
    suite.step("a firewall between a node and mpiexec is named", || job.firewall());
    suite.step("a job is started over a link that has just come back", || {
        job.link_is_back()
    });
    broken::run(suite, &job);
    suite.step("a link that is cut before the first message costs time only", || {
        comes_back(&job, Cut::Link)?;
        comes_back(&job, Cut::Route)
    });
    suite.step("a link that stays cut before the first message ends the job", || {
        stays_away(&job, Cut::Link)?;
        stays_away(&job, Cut::Route)
    });
    suite.step("a node that computes before the first message is waited for", || {
        computes(&job)
    });
    suite.step("a first message that is lost comes while its sender computes", || {
        is_lost(&job)
    });
    suite.step("a peer whose address the provider refuses is named", || {
        is_refused(&job)
    });
    suite.step("a later message that is lost comes, too", || is_lost_later(&job));
    suite.step("nonsense that comes to a port of a rank changes nothing", || {
        job.nonsense()
    });
    nonsense::run(suite, &job);
    checksum::run(suite, &job);
    checked::run(suite, &job);
    let lost = "lost packets cost time only";
    match nodes.shape(SHORT_QUEUE) {
        Ok(()) => {
            suite.step(lost, || {
                let ran = job.program("remapped", 1);
                let lost = nodes.unshape()?;
                ran?;
                ensure!(lost > 0, "no packet was lost");
                Ok(())
            });
        }
        Err(error) => suite.skip(lost, &format!("{error:#}")),
    }
    wire::run(suite, &job);
    suite.step("a rank that is killed ends the job on all nodes", || job.dead_rank());
    survivors::run(suite, &job);
    suite.step("a daemon that is killed ends the job on all nodes", || {
        job.dead_daemon()
    });
    suite.step("nothing is left on any node after kill -9 of mpiexec", || {
        job.dead_mpiexec()
    });
    tree::run(suite, prefix, full);
    drop(nodes);
    everything::run(suite, prefix, full);
}

/// The nodes; they go when this is dropped.
pub(super) struct Nodes {
    names: Vec<String>,
    bridge: String,
    launcher: PathBuf,
    subnet: Subnet,
}

/// On the bridge, which is this machine's.
pub(super) const OWN: u8 = 254;
/// No run makes more nodes.
const MOST: u32 = 16;

impl Nodes {
    pub(super) fn make(count: u32) -> Result<Self> {
        let subnet = Subnet::claim(91).context("cannot claim addresses")?;
        let id = subnet.number();
        let folder = target().join("test/network");
        std::fs::create_dir_all(&folder).context("cannot make a folder")?;
        let launcher = folder.join("enter");
        std::fs::write(&launcher, LAUNCHER).context("cannot write the launcher")?;
        std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).context("chmod")?;
        let mut nodes = Self {
            names: Vec::new(),
            bridge: format!("isth{id}"),
            launcher,
            subnet,
        };
        // What a run has left that was killed: its addresses are ours now.
        nodes.names = (1..=MOST).map(|node| format!("isth{id}-{node}")).collect();
        nodes.take_down();
        nodes.names.clear();
        // Held by what still runs there.
        (1..=MOST).for_each(|node| drop(ip(&format!("link del {}", nodes.port(node)))));
        let bridge = nodes.bridge.clone();
        // Otherwise it has the smallest of the plugged-in ones, and nodes remember another when that changes.
        ip(&format!(
            "link add {bridge} address 02:00:0a:5b:{id:02x}:fe type bridge"
        ))?;
        ip(&format!("addr add {}/24 dev {bridge}", nodes.address(OWN)))?;
        ip(&format!("link set {bridge} up"))?;
        for node in 1..=count {
            let name = format!("isth{id}-{node}");
            let port = nodes.port(node);
            ip(&format!("netns add {name}"))?;
            nodes.names.push(name.clone());
            ip(&format!("link add {port} type veth peer name eth0 netns {name}"))?;
            ip(&format!("link set {port} master {bridge} up"))?;
            ip(&format!("-n {name} addr add {}/24 dev eth0", nodes.address(node as u8)))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(nodes)
    }

    /// Of their namespaces.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Of a node, or of this machine: [`OWN`].
    pub(super) fn address(&self, node: u8) -> String {
        self.subnet.text(node)
    }

    /// Where the node is plugged in.
    fn port(&self, node: u32) -> String {
        format!("iv{}p{node}", self.subnet.number())
    }

    /// Plug a node in, or pull its plug. Once this returns after the former, the node and this machine reach each other.
    pub(super) fn link(&self, node: u8, is_up: bool) -> Result<()> {
        let state = if is_up { "up" } else { "down" };
        ip(&format!("link set {} {state}", self.port(u32::from(node))))?;
        match is_up {
            true => self.is_back(node),
            false => Ok(()),
        }
    }

    /// Wait until a node answers to this machine. The next job's daemon cannot connect back as long as the node's kernel
    /// remembers that nothing answered.
    pub(super) fn is_back(&self, node: u8) -> Result<()> {
        wait("the node is not back", || {
            let address = SocketAddr::from((self.subnet.address(node), 1));
            let connected = TcpStream::connect_timeout(&address, Duration::from_secs(1));
            // No process listens there.
            connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        })
    }

    fn take_down(&self) {
        // An interface that cannot be taken down stays; nothing more can be done.
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
        let _ = ip(&format!("link del {}", self.bridge));
    }

    /// From now on packets of each node are treated so, in the words of tc(8).
    fn shape(&self, how: &str) -> Result<()> {
        let shaped = self.names.iter().try_for_each(|name| {
            let line = format!("-n {name} qdisc replace dev eth0 root {how}");
            quiet(Command::new("tc").args(line.split_whitespace()), SOON).map(drop)
        });
        // Some may be shaped already; there is nothing to take away from the others.
        shaped.inspect_err(|_| drop(self.unshape()))
    }

    /// As before [`Self::shape`], on all nodes, also if one of them fails. How many packets were lost.
    fn unshape(&self) -> Result<u64> {
        let lost: Vec<Result<u64>> = self.names.iter().map(|name| unshape(name)).collect();
        lost.into_iter().sum()
    }

    /// The connections of a node, as the kernel lists them: local port, remote address, state.
    fn connections(&self, node: usize) -> Result<Vec<(u16, String, String)>> {
        let mut read = Command::new("ip");
        let text = quiet(
            read.args(["netns", "exec", &self.names[node], "cat", "/proc/net/tcp"]),
            SOON,
        )?;
        let lines = text.lines().filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
            let port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
            Some((port, remote.to_owned(), state.to_owned()))
        });
        Ok(lines.collect())
    }

    /// Are ranks of the first node connected to some of the second?
    fn are_connected(&self) -> bool {
        let second = u32::from_ne_bytes(self.subnet.address(2));
        let of_second = format!("{second:08X}:");
        let all = self.connections(0).unwrap_or_default();
        all.iter()
            .any(|(_, remote, state)| remote.starts_with(&of_second) && state == "01")
    }

    /// Processes that run there, each with its command line.
    pub(super) fn processes(&self) -> Vec<(u32, String)> {
        let of = |name: &String| {
            let output = Command::new("ip").args(["netns", "pids", name]).output();
            let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let pids = text.unwrap_or_default();
            let pids = pids.split_whitespace().filter_map(|pid| pid.parse().ok());
            pids.collect::<Vec<u32>>()
        };
        let all = self.names.iter().flat_map(of);
        all.map(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
    }

    /// Wait until nothing runs there any more.
    pub(super) fn emptied(&self) -> Result<()> {
        wait("something is left on the nodes", || self.processes().is_empty())
            .with_context(|| format!("{:?}", self.processes()))
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.take_down();
    }
}

/// One node. How many packets were lost there.
fn unshape(name: &str) -> Result<u64> {
    let show = format!("-s -n {name} qdisc show dev eth0");
    let shown = quiet(Command::new("tc").args(show.split_whitespace()), SOON);
    let remove = format!("-n {name} qdisc del dev eth0 root");
    quiet(Command::new("tc").args(remove.split_whitespace()), SOON)?;
    let text = shown?;
    let after = text.split("(dropped ").nth(1).unwrap_or_default();
    let number = after.split(',').next().unwrap_or_default();
    number.parse().with_context(|| format!("tc says {text}"))
}

fn ip(line: &str) -> Result<()> {
    quiet(Command::new("ip").args(line.split_whitespace()), SOON).map(drop)
}

pub(super) fn wait(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_so() {
        ensure!(begun.elapsed() < SOON, "{what} after {} s", SOON.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

struct Job<'a> {
    prefix: &'a Path,
    nodes: &'a Nodes,
    /// Everything is wanted.
    full: bool,
}

impl Job<'_> {
    fn mpiexec(&self, ranks: usize) -> Command {
        let mut command = Command::new(self.prefix.join("bin/mpiexec"));
        let hosts: Vec<String> = self.nodes.names.iter().map(|name| format!("{name}:{ranks}")).collect();
        let all = (ranks * hosts.len()).to_string();
        command.args(["--timeout", "100", "--host", &hosts.join(","), "-n", &all]);
        command.arg("--launcher").arg(&self.nodes.launcher);
        command
    }

    fn compile(&self, name: &str) -> Result<PathBuf> {
        let source = root().join("tests/programs").join(format!("{name}.c"));
        let program = target().join("test/network").join(name);
        let mut compile = Command::new(self.prefix.join("bin/mpicc"));
        quiet(
            compile
                .args(["-O1", "-pthread", "-o"])
                .arg(&program)
                .arg(source)
                .arg("-lm"),
            RUN,
        )?;
        Ok(program)
    }

    /// With these tunables, and the provider that Debian's libfabric has.
    fn tuned(&self, name: &str, ranks: usize, set: &[&str]) -> Result<Command> {
        let mut run = self.mpiexec(ranks);
        run.args(set.iter().flat_map(|setting| ["--set", setting]));
        run.arg(self.compile(name)?);
        Ok(run)
    }

    fn program(&self, name: &str, ranks: usize) -> Result<()> {
        self.program_with(name, ranks, &[])
    }

    /// The same, with these options of `mpiexec`.
    fn program_with(&self, name: &str, ranks: usize, options: &[String]) -> Result<()> {
        let program = self.compile(name)?;
        quiet(self.mpiexec(ranks).args(options).arg(program), RUN)?;
        self.nodes.emptied()
    }

    /// Long messages are read out of their senders' memory by the provider net. False: it is not here.
    fn reads(&self) -> Result<bool> {
        let mut run = self.mpiexec(1);
        run.env("ISTHMUS_FABRIC", "net").arg(self.compile("network_reads")?);
        let output = run.stdin(Stdio::null()).output().context("cannot run mpiexec")?;
        let text = String::from_utf8_lossy(&output.stderr);
        self.nodes.emptied()?;
        if text.contains("libfabric has no provider here that serves") {
            return Ok(false);
        }
        ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
        Ok(true)
    }

    /// It makes nodes of its own.
    fn bench(&self) -> Result<()> {
        let text = quiet(
            Command::new(self.prefix.join("bin/isthmus")).args(["bench", "network", "--quick"]),
            RUN,
        )?;
        for name in [
            "pingpong",
            "bandwidth",
            "idle",
            "collectives",
            "rma",
            "rma-elements",
            "puts",
            "gets",
            "launch",
            "memory",
        ] {
            ensure!(
                text.contains(&format!("network-{name}: ")),
                "no table of {name}; it said:\n{text}"
            );
        }
        // Where there are no peers each column has its number: ours, the bare provider, and the bare socket.
        ensure!(
            text.matches(" x libfabric ").count() == 4 && !text.contains(" - "),
            "a floor is missing; it said:\n{text}"
        );
        Ok(())
    }

    fn paper(&self) -> Result<()> {
        let page = target().join("test/network/shiba.html");
        let mut bench = Command::new(self.prefix.join("bin/isthmus"));
        let text = quiet(
            bench
                .args(["bench", "--paper", "shiba", "--quick", "--html"])
                .arg(&page),
            RUN,
        )?;
        // Where tc is missing one figure has no numbers, and says so.
        for name in ["3-node", "3-network", "reading", "5", "6", "7"] {
            ensure!(
                text.contains(&format!("shiba-{name}: ")),
                "no table of {name}; it said:\n{text}"
            );
        }
        let page = std::fs::read_to_string(page).context("no page")?;
        ensure!(
            page.contains("Figure 7") && page.contains("<svg"),
            "the page has no plots"
        );
        Ok(())
    }

    /// Ranks that wait for each other without end; one of them does something else first.
    fn waiting(&self, rank: u32, does: &str) -> Result<Child> {
        let script = format!("test $ISTHMUS_RANK = {rank} && {does}; sleep 1000");
        let child = self
            .mpiexec(2)
            .args(["sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        child.context("cannot start mpiexec")
    }

    /// Two ranks on each node that sleep.
    fn sleeping(&self) -> Result<Child> {
        let mut mpiexec = self.waiting(9, "true")?;
        match wait("the ranks are not there", || self.sleepers() == 4) {
            Ok(()) => Ok(mpiexec),
            Err(error) => {
                // It may have ended by itself.
                let _ = mpiexec.kill();
                let output = mpiexec.wait_with_output().context("cannot wait for mpiexec")?;
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                Err(error.context(said))
            }
        }
    }

    fn ends_with(&self, mut mpiexec: Child, code: i32) -> Result<()> {
        let mut status = None;
        wait("mpiexec has not ended", || {
            status = mpiexec.try_wait().ok().flatten();
            status.is_some()
        })
        .inspect_err(|_| drop(mpiexec.kill()))?;
        let ended = status.and_then(|status| status.code());
        ensure!(ended == Some(code), "mpiexec ended with {ended:?}, not with {code}");
        self.nodes.emptied()
    }

    fn refuses(&self, wrong: &Wrong) -> Result<()> {
        let mut command = Command::new(self.prefix.join("bin/mpiexec"));
        let hosts: Vec<String> = self.nodes.names.iter().map(|name| format!("{name}:1")).collect();
        command.args([
            "--timeout",
            "60",
            "-n",
            "2",
            "--host",
            wrong.hosts.unwrap_or(&hosts.join(",")),
        ]);
        match wrong.launcher {
            Some(launcher) => command.args(["--launcher", launcher]),
            None => command.arg("--launcher").arg(&self.nodes.launcher),
        };
        let program = match wrong.program {
            // One of those that were compiled before.
            "requests" => target().join("test/network/requests"),
            other => other.into(),
        };
        let (name, value) = wrong.environment;
        if !value.is_empty() {
            command.env(name, value);
        }
        self.ends_in_error(command.arg(program), wrong.says)
    }

    /// It says so, and blames no network that is well.
    fn ends_in_error(&self, command: &mut Command, says: [&str; 2]) -> Result<()> {
        let output = command.stdin(Stdio::null()).output().context("cannot run mpiexec")?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success(), "it succeeded");
        for part in says {
            ensure!(text.contains(part), "it does not say {part:?}, but:\n{text}");
        }
        ensure!(!text.contains("or the network to it, is gone"), "it also says:\n{text}");
        self.nodes.emptied()
    }

    fn firewall(&self) -> Result<()> {
        let last = self.nodes.names.last().context("no nodes")?;
        let own = self.nodes.address(OWN);
        ip(&format!("-n {last} route add blackhole {own}/32"))?;
        let refused = self.ends_in_error(self.mpiexec(1).arg("true"), ["cannot connect back", "firewall"]);
        ip(&format!("-n {last} route del blackhole {own}/32"))?;
        refused
    }

    /// A link has come back, and the node's kernel still says that there is no way to `mpiexec`.
    fn link_is_back(&self) -> Result<()> {
        self.nodes.link(2, false)?;
        // Makes the kernel ask for the address, which it does for 3 s.
        let asks = format!("timeout 5 bash -c 'exec 3<>/dev/tcp/{}/1'", self.nodes.address(OWN));
        let asking = Command::new("ip")
            .args(["netns", "exec", &self.nodes.names[1], "sh", "-c", &asks])
            .stderr(Stdio::null())
            .spawn();
        std::thread::sleep(Duration::from_millis(2500));
        ip(&format!("link set {} up", self.nodes.port(2)))?;
        let ran = quiet(self.mpiexec(1).arg("true"), RUN);
        asking.and_then(|mut asking| asking.wait()).context("cannot run ip")?;
        ran?;
        self.nodes.emptied()
    }

    /// A program of a rank on each node that runs for seconds, once the two are connected.
    fn long_program(&self) -> Result<Child> {
        self.random_program(4000)
    }

    /// The same, with so many rounds.
    fn random_program(&self, rounds: u32) -> Result<Child> {
        let program = target().join("test/network/win_random").display().to_string();
        let child = self
            .mpiexec(1)
            .arg(&program)
            .args(["7", &rounds.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start mpiexec")?;
        wait("the ranks are not connected", || self.nodes.are_connected())?;
        Ok(child)
    }

    /// The fault was injected into a job that ran.
    fn still_runs(&self, child: &mut Child) -> Result<()> {
        let ended = child.try_wait().context("cannot look at mpiexec")?;
        ensure!(ended.is_none(), "mpiexec ended before, with {ended:?}");
        Ok(())
    }

    fn ends_well(&self, mut child: Child) -> Result<()> {
        let status = child.wait().context("cannot wait for mpiexec")?;
        ensure!(status.success(), "mpiexec ended with {status}");
        self.nodes.emptied()
    }

    fn nonsense(&self) -> Result<()> {
        let mut child = self.long_program()?;
        let all = self.nodes.connections(1)?;
        let listens: Vec<u16> = all
            .iter()
            .filter(|(_, _, state)| state == "0A")
            .map(|(port, ..)| *port)
            .collect();
        ensure!(!listens.is_empty(), "nobody listens on the second node");
        for port in listens {
            let mut connection = TcpStream::connect((self.nodes.address(2), port)).context("cannot connect")?;
            let nonsense: Vec<u8> = (0..4000_u32)
                .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
                .collect();
            // It may hang up before it has read all.
            let _ = connection.write_all(&nonsense);
        }
        self.still_runs(&mut child)?;
        self.ends_well(child)
    }

    fn dead_rank(&self) -> Result<()> {
        self.ends_with(self.waiting(3, "kill -9 $$")?, 137)
    }

    fn sleepers(&self) -> usize {
        let all = self.nodes.processes();
        all.iter().filter(|(_, line)| line.starts_with("sleep 1000")).count()
    }

    /// The daemon of the last node.
    fn last_daemon(&self) -> Result<u32> {
        let all = self.nodes.processes();
        // What watches over a daemon looks like it, but has started nobody.
        let has_children = |pid: &u32| {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            children.is_ok_and(|list| !list.trim().is_empty())
        };
        let Some((pid, _)) = all
            .iter()
            .filter(|(_, line)| line.contains("--daemon") && !line.contains("unshare"))
            .rfind(|(pid, _)| has_children(pid))
        else {
            bail!("no daemon: {all:?}");
        };
        Ok(*pid)
    }

    fn dead_daemon(&self) -> Result<()> {
        let mpiexec = self.sleeping()?;
        quiet(
            Command::new("kill").args(["-9", &self.last_daemon()?.to_string()]),
            SOON,
        )?;
        self.ends_with(mpiexec, 1)
    }

    fn dead_mpiexec(&self) -> Result<()> {
        let mut mpiexec = self.sleeping()?;
        mpiexec.kill().context("cannot kill mpiexec")?;
        mpiexec.wait().context("cannot wait for mpiexec")?;
        self.nodes.emptied()
    }
}
