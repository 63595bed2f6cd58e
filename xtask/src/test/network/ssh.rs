//! Jobs that `mpiexec` starts as it does by itself: by `ssh`, from a server on each of two nodes that has nothing of its user's settings and
//! of this machine's.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, RUN, SOON, wait};
use crate::process::{quiet, target};
use crate::tools::{self, SSH, SSHD, Tool};

/// Nothing else listens on a node.
const PORT: u16 = 22022;

/// A server needs an empty directory in `/run`, which is the node's own here.
const START: &str = "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec \"$0\" \"$@\"";

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    let name = "mpiexec by ssh";
    let servers = match tools::need(&[Tool::Ssh]).and_then(|()| Servers::start(job)) {
        Ok(servers) => servers,
        Err(error) => return suite.skip(name, &format!("{error:#}")),
    };
    suite.step(&format!("{name}: input, output and exit codes"), || ends(&servers));
    suite.step(&format!("{name}: a program of MPI, and its environment"), || {
        program(&servers)
    });
    suite.step(&format!("{name}: a login that is refused is named"), || {
        refused(&servers)
    });
    suite.step(&format!("{name}: a rank that is killed ends the job"), || {
        killed(&servers)
    });
    suite.step(&format!("{name}: an ssh that is killed ends the job"), || {
        cut_off(&servers)
    });
    suite.step(&format!("{name}: nothing is left after kill -9 of mpiexec"), || {
        orphaned(&servers)
    });
}

/// They end with the value, and their files go.
struct Servers<'a> {
    job: &'a Job<'a>,
    folder: PathBuf,
    servers: Vec<Child>,
}

impl<'a> Servers<'a> {
    fn start(job: &'a Job<'a>) -> Result<Self> {
        let folder = target().join("test/network/ssh");
        // What a run has left that was killed.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("bin")).context("cannot make a folder")?;
        let mut servers = Self {
            job,
            folder,
            servers: Vec::new(),
        };
        for key in ["host", "user", "stranger"] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-C", key, "-f"]);
            quiet(make.arg(servers.folder.join(key)), SOON)?;
        }
        let shell = format!("#!/bin/sh\nexec {SSH} -F '{}' \"$@\"\n", servers.at("config"));
        let client = servers.folder.join("bin/ssh");
        std::fs::write(&client, shell).context("cannot write the client")?;
        std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).context("chmod")?;
        servers.let_in(&["user", "user"])?;
        for node in 1..=2 {
            servers.serve(node)?;
        }
        Ok(servers)
    }

    fn at(&self, file: &str) -> String {
        self.folder.join(file).display().to_string()
    }

    fn serve(&mut self, node: u8) -> Result<()> {
        let address = self.job.nodes.address(node);
        // A node has no accounts of its own, and so no sessions that PAM could open.
        let settings = format!(
            "Port {PORT}\nListenAddress {address}\nHostKey \"{}\"\nAuthorizedKeysFile \"{}\"\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPrintMotd no\n",
            self.at("host"),
            self.at("user.pub"),
        );
        let file = self.at(&format!("sshd-{node}"));
        std::fs::write(&file, settings).context("cannot write the server's settings")?;
        let mut start = Command::new("ip");
        start.args([
            "netns",
            "exec",
            &self.job.nodes.names()[usize::from(node) - 1],
            "unshare",
        ]);
        start.args(["--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        start.args([
            "sh",
            "-c",
            START,
            SSHD,
            "-D",
            "-f",
            &file,
            "-E",
            &self.at(&format!("log-{node}")),
        ]);
        start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.servers.push(start.spawn().context("cannot start a server")?);
        let socket = (address, PORT);
        wait("the server does not answer", || TcpStream::connect(&socket).is_ok())
            .with_context(|| std::fs::read_to_string(self.folder.join(format!("log-{node}"))).unwrap_or_default())?;
        self.emptied()
    }

    /// The client shows these keys to the two nodes from now on.
    fn let_in(&self, keys: &[&str; 2]) -> Result<()> {
        let mut settings = String::new();
        for ((name, key), node) in self.job.nodes.names().iter().zip(keys).zip(1..) {
            let address = self.job.nodes.address(node);
            settings += &format!(
                "Host {name}\n    HostName {address}\n    IdentityFile \"{}\"\n",
                self.at(key)
            );
        }
        settings += &format!(
            "Host *\n    Port {PORT}\n    User root\n    IdentitiesOnly yes\n    IdentityAgent none\n    StrictHostKeyChecking no\n    \
             UserKnownHostsFile \"{}\"\n    GlobalKnownHostsFile /dev/null\n    LogLevel ERROR\n",
            self.at("known"),
        );
        std::fs::write(self.folder.join("config"), settings).context("cannot write the client's settings")
    }

    /// Two ranks on each node.
    fn mpiexec(&self) -> Command {
        let hosts: Vec<String> = self.job.nodes.names().iter().map(|name| format!("{name}:2")).collect();
        let mut run = Command::new(self.job.prefix.join("bin/mpiexec"));
        run.args(["--timeout", "60", "-n", "4", "--host", &hosts.join(",")]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let first = std::iter::once(self.folder.join("bin"));
        // Directories that were in a PATH can be put into one.
        let path = std::env::join_paths(first.chain(std::env::split_paths(&path))).unwrap_or(path);
        run.env("PATH", path);
        run
    }

    fn shell(&self, script: &str) -> Command {
        let mut run = self.mpiexec();
        run.args(["sh", "-c", script]).stdin(Stdio::null());
        run.stdout(Stdio::piped()).stderr(Stdio::piped());
        run
    }

    /// Ranks that wait without end.
    fn waiting(&self) -> Result<Child> {
        let mut mpiexec = self.shell("sleep 1000").spawn().context("cannot start mpiexec")?;
        wait("the ranks are not there", || self.job.sleepers() == 4).inspect_err(|_| drop(mpiexec.kill()))?;
        Ok(mpiexec)
    }

    /// What runs there beside the servers, and here for them.
    fn left(&self) -> Vec<(u32, String)> {
        let settings = self.at("sshd-");
        let mut left = self.job.nodes.processes();
        left.retain(|(_, line)| !line.contains(&settings));
        left.extend(self.clients());
        left
    }

    /// Of this machine.
    fn clients(&self) -> Vec<(u32, String)> {
        let settings = self.at("config");
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let lines = pids.filter_map(|pid: u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
        });
        lines.filter(|(_, line)| line.contains(&settings)).collect()
    }

    /// Wait until nothing runs any more but the servers.
    fn emptied(&self) -> Result<()> {
        wait("something is left", || self.left().is_empty()).with_context(|| format!("{:?}", self.left()))
    }

    /// Wait for its end, which leaves nothing.
    fn end(&self, mpiexec: Child) -> Result<(Output, String)> {
        let output = mpiexec.wait_with_output().context("cannot wait for mpiexec")?;
        self.emptied()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output, text))
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // With the first process of the node all others of it go.
            let _ = server.kill();
            let _ = server.wait();
        }
        // The steps that follow want the nodes empty.
        let _ = self.job.nodes.emptied();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Of ours: what begins with our name.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("mpiexec: ")).collect()
}

fn ends(servers: &Servers<'_>) -> Result<()> {
    let file = servers.at("input");
    std::fs::write(&file, "from the user\n").context("cannot write the input")?;
    let mut run = servers.shell("read -r line; echo $ISTHMUS_RANK: $line; echo at $ISTHMUS_RANK >&2");
    run.stdin(std::fs::File::open(&file).context("no input")?);
    let (output, text) = servers.end(run.spawn().context("cannot start mpiexec")?)?;
    ensure!(output.status.success(), "{}: {text}", output.status);
    for (said, wanted) in [
        (
            String::from_utf8_lossy(&output.stdout),
            ["0: from the user", "1:", "2:", "3:"],
        ),
        (text.as_str().into(), ["at 0", "at 1", "at 2", "at 3"]),
    ] {
        let mut said: Vec<&str> = said.lines().collect();
        said.sort_unstable();
        ensure!(said == wanted, "{said:?}");
    }
    for rank in [1, 2] {
        let mut run = servers.shell(&format!("test $ISTHMUS_RANK = {rank} && exit 7; sleep 1000"));
        let (output, text) = servers.end(run.spawn().context("cannot start mpiexec")?)?;
        ensure!(output.status.code() == Some(7), "{}: {text}", output.status);
    }
    Ok(())
}

fn program(servers: &Servers<'_>) -> Result<()> {
    for name in ["point_to_point", "collectives"] {
        let program = servers.job.compile(name)?;
        quiet(servers.mpiexec().arg(program), RUN)?;
        servers.emptied()?;
    }
    // What the login on this machine has, and the one there has not.
    let mut run = servers.shell("echo $ONE of $PWD by ${SSH_CONNECTION:-nobody}");
    run.env("ONE", "1 2")
        .env("SSH_CONNECTION", "ours")
        .current_dir(&servers.folder);
    let (output, text) = servers.end(run.spawn().context("cannot start mpiexec")?)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let here = std::fs::canonicalize(&servers.folder).context("no folder")?;
    let begin = format!("1 2 of {} by ", here.display());
    let is_right = |line: &str| line.starts_with(&begin) && !line.ends_with("ours");
    ensure!(
        output.status.success() && said.lines().count() == 4 && said.lines().all(is_right),
        "{}: {said}{text}",
        output.status
    );
    Ok(())
}

fn refused(servers: &Servers<'_>) -> Result<()> {
    let [first, second] = [0, 1].map(|node| servers.job.nodes.names()[node].as_str());
    for (keys, named) in [
        (["user", "stranger"], vec![second]),
        (["stranger", "user"], vec![first]),
        (["stranger"; 2], vec![first, second]),
    ] {
        servers.let_in(&keys)?;
        let ended = servers
            .shell("sleep 1000")
            .spawn()
            .context("cannot start mpiexec")
            .and_then(|mpiexec| servers.end(mpiexec));
        servers.let_in(&["user", "user"])?;
        let (output, text) = ended?;
        let of_host = |line: &str| {
            named
                .iter()
                .any(|host| line.starts_with(&format!("mpiexec: host {host}: ")))
        };
        let lines = lines(&text);
        ensure!(
            output.status.code() == Some(1)
                && lines.len() == 1
                && of_host(lines[0])
                && lines[0].contains("can this user log in there without a password"),
            "{keys:?}: mpiexec ended with {}:\n{text}",
            output.status
        );
    }
    Ok(())
}

fn killed(servers: &Servers<'_>) -> Result<()> {
    let mut run = servers.shell("test $ISTHMUS_RANK = 3 && kill -9 $$; sleep 1000");
    let (output, text) = servers.end(run.spawn().context("cannot start mpiexec")?)?;
    ensure!(
        output.status.code() == Some(137) && lines(&text).len() == 1,
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    Ok(())
}

/// The way of output and input is gone then. The first alone, in full also all of them.
fn cut_off(servers: &Servers<'_>) -> Result<()> {
    let counts: &[usize] = if servers.job.full { &[1, 2] } else { &[1] };
    for &count in counts {
        let mpiexec = servers.waiting()?;
        let clients = servers.clients();
        ensure!(clients.len() == 2, "{clients:?}");
        for (pid, _) in &clients[..count] {
            quiet(Command::new("kill").args(["-9", &pid.to_string()]), SOON)?;
        }
        let (output, text) = servers.end(mpiexec)?;
        let lines = lines(&text);
        ensure!(
            output.status.code() == Some(1) && lines.len() == 1 && lines[0].contains("its launcher ended"),
            "{count}: mpiexec ended with {}:\n{text}",
            output.status
        );
    }
    Ok(())
}

fn orphaned(servers: &Servers<'_>) -> Result<()> {
    let mut mpiexec = servers.waiting()?;
    mpiexec.kill().context("cannot kill mpiexec")?;
    mpiexec.wait().context("cannot wait for mpiexec")?;
    servers.emptied()
}
