//! Jobs that Slurm starts: its daemons on this machine, and on two nodes that are network namespaces, with keys, sockets and ports of their
//! own, and `srun --mpi=pmi2`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::network::{Nodes, OWN, wait};
use super::suite::Suite;
use crate::process::{quiet, root, target};
use crate::tools::{self, Tool};

const RUN: Duration = Duration::from_secs(60);
/// For a controller that finds its node.
const START: Duration = Duration::from_secs(30);
const RANKS: &str = "4";

/// Programs, deaths, an abort, and what is said without `--mpi=pmi2`. As root; without the right, skipped.
pub fn run(suite: &mut Suite, prefix: &Path) {
    if !tools::is_root() {
        return suite.skip("jobs started by Slurm", "its daemons take root");
    }
    let mut cluster = None;
    if suite.step("Slurm starts on this machine", || {
        tools::need(&[Tool::Slurm])?;
        cluster = Some(Cluster::start(None)?);
        Ok(())
    }) && let Some(cluster) = cluster.take()
    {
        jobs(suite, prefix, &cluster, &["--mpi=pmi2"], "");
    }
    let nodes = match Nodes::make(2) {
        Ok(nodes) => nodes,
        Err(error) => return suite.skip("jobs on two nodes started by Slurm", &format!("{error:#}")),
    };
    if suite.step("Slurm starts on two nodes", || {
        cluster = Some(Cluster::start(Some(&nodes))?);
        Ok(())
    }) && let Some(cluster) = &cluster
    {
        // In the order of ranks, and dealt out in turn.
        for (distribution, where_) in [("block", ", on 2 nodes x 2"), ("cyclic", ", on 2 nodes in turn")] {
            let options = ["--mpi=pmi2", "-N2", "-m", distribution];
            jobs(suite, prefix, cluster, &options, where_);
            suite.step(&format!("nothing is left{where_}"), || left(&nodes));
        }
    }
}

/// `where_` they run is said in their names.
fn jobs(suite: &mut Suite, prefix: &Path, cluster: &Cluster, options: &[&str], where_: &str) {
    for name in ["point_to_point", "collectives", "win_flavors", "win_random"] {
        suite.step(&format!("{name} on {RANKS} ranks by srun --mpi=pmi2{where_}"), || {
            cluster.srun(prefix, name, options, &[]).map(drop)
        });
    }
    let without: Vec<&str> = ["--mpi=none"].iter().chain(&options[1..]).copied().collect();
    for (options, arguments, said) in [
        (options, ["1", "abort=7"], "MPI_Abort"),
        (options, ["1", "exit=0"], "ended without calling MPI_Finalize"),
        (options, ["2", "signal=9"], "rank 2 (pid "),
        (&without, ["all", "late=0"], "say srun --mpi=pmi2"),
    ] {
        suite.step(
            &format!("srun {} act {}: '{said}'{where_}", options[0], arguments.join(" ")),
            || match cluster.srun(prefix, "act", options, &arguments) {
                Ok(text) => bail!("it went well; it said:\n{text}"),
                Err(error) => {
                    ensure!(format!("{error:#}").contains(said), "{error:#}");
                    Ok(())
                }
            },
        );
    }
}

/// Of the jobs there is nothing: what runs on the nodes are Slurm's daemons.
fn left(nodes: &Nodes) -> Result<()> {
    let others = || {
        let all = nodes.processes().into_iter();
        all.filter(|(_, line)| !line.contains("slurmd")).collect::<Vec<_>>()
    };
    wait("something is left on the nodes", || others().is_empty()).with_context(|| format!("{:?}", others()))
}

/// The daemons; they end with the value.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    /// On this machine, or on nodes.
    fn start(nodes: Option<&Nodes>) -> Result<Self> {
        let folder = target().join("test/slurm");
        // Left by a run that was killed.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut cluster = Self {
            folder,
            daemons: Vec::new(),
        };
        let configuration = cluster.configure(nodes)?;
        let at = |name: &str| cluster.folder.join(name).display().to_string();
        let (key, socket, pid, log, seed) = (
            at("key"),
            at("munge"),
            at("munge.pid"),
            at("munge.log"),
            at("munge.seed"),
        );
        let options = [
            "--foreground",
            "--force",
            "--key-file",
            &key,
            "--socket",
            &socket,
            "--pid-file",
            &pid,
            "--log-file",
            &log,
            "--seed-file",
            &seed,
        ];
        cluster.daemon(Command::new("munged").args(options))?;
        cluster.daemon(Command::new("slurmctld").args(["-D", "-f"]).arg(&configuration))?;
        match nodes {
            None => cluster.daemon(Command::new("slurmd").args(["-D", "-f"]).arg(&configuration))?,
            Some(nodes) => {
                for name in nodes.names() {
                    // Not ip netns exec, which hides the control groups that slurmd needs. Its node is the one with its host's name.
                    let mut enter = Command::new("nsenter");
                    enter.arg(format!("--net=/run/netns/{name}"));
                    enter.args([
                        "unshare",
                        "--ipc",
                        "--mount",
                        "--uts",
                        "--pid",
                        "--fork",
                        "--kill-child",
                    ]);
                    enter.args(["--mount-proc", "sh", "-c", "hostname $0; exec slurmd -D -f $1", name]);
                    cluster.daemon(enter.arg(&configuration))?;
                }
            }
        }
        let begun = Instant::now();
        let mut info = Command::new("sinfo");
        info.args(["--noheader", "--Node", "--format=%T"])
            .env("SLURM_CONF", &configuration);
        let count = nodes.map_or(1, |nodes| nodes.names().len());
        loop {
            match quiet(&mut info, RUN) {
                Ok(text) if text.split_whitespace().filter(|state| *state == "idle").count() == count => {
                    return Ok(cluster);
                }
                said if begun.elapsed() > START => bail!("not all nodes are idle: {said:?}"),
                _ => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    /// Key and configuration; where the latter is.
    fn configure(&self, nodes: Option<&Nodes>) -> Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let host = quiet(Command::new("hostname").arg("-s"), RUN)?;
        let folder = self.folder.display();
        // Nothing but random bytes that nobody else reads.
        let key = self.folder.join("key");
        let mut bytes = vec![0; 128];
        std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
        std::fs::write(&key, bytes)?;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o400))?;
        let [controller, node] = [free_port()?, free_port()?];
        let host = host.trim();
        let (controller_host, members) = match nodes {
            None => (host.to_owned(), vec![(host, host.to_owned())]),
            Some(nodes) => {
                let addresses = (1..).map(|node| nodes.address(node));
                let members = nodes.names().iter().map(String::as_str).zip(addresses).collect();
                (format!("{host}({})", nodes.address(OWN)), members)
            }
        };
        let mut lines = String::new();
        for (name, address) in &members {
            lines += &format!("NodeName={name} NodeAddr={address} CPUs=2 State=UNKNOWN\n");
            std::fs::create_dir_all(self.folder.join("spool").join(name))?;
        }
        let names = members.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        let text = format!(
            "ClusterName=test\nSlurmctldHost={controller_host}\nSlurmctldPort={controller}\nSlurmdPort={node}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={folder}/munge\nCredType=cred/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool/%n\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd-%n.pid\nSlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd-%n.log\n\
             ReturnToService=2\nMpiDefault=none\n{lines}PartitionName=all Nodes={names} Default=YES State=UP\n"
        );
        std::fs::create_dir_all(self.folder.join("state"))?;
        let file = self.folder.join("slurm.conf");
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }

    fn daemon(&mut self, command: &mut Command) -> Result<()> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = quiet
            .spawn()
            .with_context(|| format!("cannot run {:?}", command.get_program()))?;
        self.daemons.push(child);
        Ok(())
    }

    fn srun(&self, prefix: &Path, name: &str, options: &[&str], arguments: &[&str]) -> Result<String> {
        let program = self.folder.join(name);
        let mut compile = Command::new(prefix.join("bin/mpicc"));
        compile.arg("-o").arg(&program);
        compile
            .arg(root().join("tests/programs").join(name).with_extension("c"))
            .arg("-lm");
        quiet(&mut compile, RUN)?;
        let mut run = Command::new("srun");
        run.env("SLURM_CONF", self.folder.join("slurm.conf"))
            .env("LD_LIBRARY_PATH", prefix.join("lib"));
        run.args(["--overcommit", "-n", RANKS])
            .args(options)
            .arg(&program)
            .args(arguments);
        quiet(&mut run, RUN)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            // They have nothing to say any more.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// One that nobody listens at now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot find a free port")?;
    Ok(listener.local_addr().context("a socket has an address")?.port())
}
