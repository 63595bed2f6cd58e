//! Nodes for experiments between nodes: network namespaces joined by a bridge, each with IPC, PID and mount namespaces of its own. As
//! root; they go when this is dropped.
//!
//! Hosts are called by their addresses, which every launcher can resolve; what enters them behaves like `ssh HOST COMMAND`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use isthmus_os::subnet::Subnet;

/// The nodes, and how launchers get there.
pub struct Nodes {
    names: Vec<String>,
    bridge: String,
    subnet: Subnet,
    /// A command with the arguments of `ssh`.
    pub remote_shell: PathBuf,
    /// A command that is called with a host and a command's words.
    pub enter: PathBuf,
}

/// No experiment has more.
const MOST: u32 = 16;

impl Nodes {
    /// Make so many, and scripts in `directory`. Blocks for some tens of milliseconds each.
    ///
    /// # Errors
    /// The process may not: it takes root and iproute2.
    pub fn make(count: u32, directory: &Path) -> Result<Self> {
        let subnet = Subnet::claim(92).context("cannot claim addresses")?;
        let (id, network) = (subnet.number(), subnet.text(0));
        let network = network.trim_end_matches(".0");
        let hosts = directory.join("hosts");
        let mut known = format!("127.0.0.1 localhost\n{network}.254 {}\n", isthmus_os::host::name());
        for node in 1..=count {
            known += &format!("{network}.{node} isthb{id}-{node}\n");
        }
        fs::write(&hosts, known)?;
        let inside = format!(
            "exec ip netns exec isthb{id}-${{host##*.}} unshare --ipc --mount --pid --fork --kill-child --mount-proc"
        );
        // Launchers say where they listen by the name of this host.
        let remote_shell = format!(
            "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1\nshift\n{inside} sh -c \"mount --bind {} /etc/hosts; $*\"\n",
            hosts.display()
        );
        let enter = format!("#!/bin/sh\nhost=$1\nshift\n{inside} \"$@\"\n");
        let mut nodes = Self {
            names: Vec::new(),
            bridge: format!("isthb{id}"),
            subnet,
            remote_shell: script(directory, "remote-shell", &remote_shell)?,
            enter: script(directory, "enter", &enter)?,
        };
        // What an experiment has left that was killed: its addresses are ours now.
        nodes.names = (1..=MOST).map(|node| format!("isthb{id}-{node}")).collect();
        nodes.take_down();
        nodes.names.clear();
        let bridge = nodes.bridge.clone();
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {network}.254/24 dev {bridge}"))?;
        ip(&format!("link set {bridge} up"))?;
        for node in 1..=count {
            let (name, port) = (format!("isthb{id}-{node}"), format!("ib{id}p{node}"));
            ip(&format!("netns add {name}"))?;
            nodes.names.push(name.clone());
            again(|| ip(&format!("link add {port} type veth peer name eth0 netns {name}")))?;
            ip(&format!("link set {port} master {bridge} up"))?;
            ip(&format!("-n {name} addr add {network}.{node}/24 dev eth0"))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(nodes)
    }

    fn take_down(&self) {
        // An interface that cannot be taken down stays; nothing more can be done.
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
        let _ = ip(&format!("link del {}", self.bridge));
    }

    /// So many.
    pub fn count(&self) -> u32 {
        self.names.len() as u32
    }

    /// `10.92.1.1:2,10.92.1.2:2`: each with its share of the ranks; or without.
    pub fn hosts(&self, ranks: u32, with_ranks: bool) -> String {
        let share = ranks.div_ceil(self.count());
        let host = |node: u32| match with_ranks {
            true => format!("{}:{share}", self.subnet.text(node as u8)),
            false => self.subnet.text(node as u8),
        };
        (1..=self.count()).map(host).collect::<Vec<_>>().join(",")
    }

    /// For the floors' program: the namespaces of the first two nodes, and the address of the second.
    pub fn floors(&self) -> [String; 4] {
        let address = self.subnet.text(2);
        [
            "--nodes".to_owned(),
            self.names[..2].join(","),
            "--address".to_owned(),
            address,
        ]
    }

    /// Slow the links down: `delay 1ms`, `rate 1gbit`, in the words of tc-netem(8) and tc-tbf(8); an empty text: as they were.
    ///
    /// # Errors
    /// There is no tc here, or the kernel has no netem.
    pub fn shape(&self, how: &str) -> Result<()> {
        for name in &self.names {
            let line = match how {
                "" => format!("-n {name} qdisc del dev eth0 root"),
                how => format!("-n {name} qdisc replace dev eth0 root netem {how}"),
            };
            run("tc", &line)?;
        }
        Ok(())
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.take_down();
    }
}

fn script(directory: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = directory.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// The kernel takes namespaces down after `ip netns del` has come back, and a link of the same name with them.
fn again(mut what: impl FnMut() -> Result<()>) -> Result<()> {
    const TRIES: u32 = 40;
    for _ in 1..TRIES {
        if what().is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    what()
}

fn ip(line: &str) -> Result<()> {
    run("ip", line).context("nodes are network namespaces, which take root and iproute2")
}

fn run(program: &str, line: &str) -> Result<()> {
    let output = Command::new(program)
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("{program} {line}: {why}");
    }
    Ok(())
}
