//! Jobs that Slurm starts: its daemons on this machine, with keys, sockets and ports of their own, and `srun --mpi=pmi2`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::suite::Suite;
use crate::process::{quiet, root, target};
use crate::tools::{self, Tool};

const RUN: Duration = Duration::from_secs(60);
/// For a controller that finds its node.
const START: Duration = Duration::from_secs(30);
const RANKS: &str = "4";

/// Programs, an abort, and what is said without `--mpi=pmi2`. As root; without the right, skipped.
pub fn run(suite: &mut Suite, prefix: &Path) {
    let mut cluster = None;
    if !tools::is_root() {
        return suite.skip("jobs started by Slurm", "its daemons take root");
    }
    if !suite.step("Slurm starts on this machine", || {
        tools::need(&[Tool::Slurm])?;
        cluster = Some(Cluster::start()?);
        Ok(())
    }) {
        return;
    }
    let Some(cluster) = cluster else { return };
    for name in ["point_to_point", "collectives", "win_flavors"] {
        suite.step(&format!("{name} on {RANKS} ranks by srun --mpi=pmi2"), || {
            cluster.srun(prefix, name, &["--mpi=pmi2"], &[]).map(drop)
        });
    }
    for (options, arguments, said) in [
        (&["--mpi=pmi2"][..], ["1", "abort=7"], "MPI_Abort"),
        (&["--mpi=pmi2"], ["1", "exit=0"], "ended without calling MPI_Finalize"),
        (&["--mpi=none"], ["all", "late=0"], "say srun --mpi=pmi2"),
    ] {
        suite.step(
            &format!("srun {} act {}: '{said}'", options.join(" "), arguments.join(" ")),
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

/// The daemons; they end with the value.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    fn start() -> Result<Self> {
        let folder = target().join("test/slurm");
        // What was left by a run that was killed.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut cluster = Self {
            folder,
            daemons: Vec::new(),
        };
        let configuration = cluster.configure()?;
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
        cluster.daemon(Command::new("slurmd").args(["-D", "-f"]).arg(&configuration))?;
        let begun = Instant::now();
        let mut info = Command::new("sinfo");
        info.args(["--noheader", "--format=%T"])
            .env("SLURM_CONF", &configuration);
        loop {
            match quiet(&mut info, RUN) {
                Ok(text) if text.trim() == "idle" => return Ok(cluster),
                said if begun.elapsed() > START => bail!("the node is not idle: {said:?}"),
                _ => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    /// Key and configuration; where the latter is.
    fn configure(&self) -> Result<PathBuf> {
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
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}\nSlurmctldPort={controller}\nSlurmdPort={node}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={folder}/munge\nCredType=cred/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.pid\nSlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd.log\n\
             ReturnToService=2\nMpiDefault=none\nNodeName={host} CPUs=2 State=UNKNOWN\nPartitionName=all Nodes={host} Default=YES State=UP\n"
        );
        std::fs::create_dir_all(self.folder.join("state"))?;
        std::fs::create_dir_all(self.folder.join("spool"))?;
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
