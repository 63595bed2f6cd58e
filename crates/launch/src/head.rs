//! A job on several nodes, seen from where the user started it: a daemon on each node ([`crate::daemon`]), which connects back. Of many
//! nodes it is a tree ([`branch`]).
//!
//! Output and standard input travel by the descriptors of the launcher that started the daemon (`ssh` passes them on), all else
//! over the connections: what to run, how ranks are reached, the end of the job. A daemon whose connection ends takes its ranks with
//! it, and one that is lost, or whose launcher has ended before it, ends the job, or what is left of it goes on ([`losses`]).

pub mod branch;
mod failures;
pub mod hangs;
mod losses;

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use isthmus_engine::control::Nonce;
use isthmus_engine::tunables;
use isthmus_os::poll::{self, Interest};
use isthmus_os::signal::Signals;
use isthmus_os::{network, random, stdio};

use crate::connection::Connection;
use crate::daemon::Call;
use crate::failure::{Failure, Result, say};
use crate::nodes::{self, Node};
use crate::options::Job;
use crate::sink;
use crate::wire::{Card, Loss, NodePart, ToHead, ToNode};
use failures::Coordinator;
use hangs::Hangs;

/// How long a daemon may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long daemons have to end their parts once the job ends, and then their launchers to end themselves; and how much later than its
/// launcher a daemon may end.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last output of a daemon may take whose launcher has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Connections that have not proven that they know the secret: how many there may be, and how long they have for that.
const UNIDENTIFIED: usize = 64;
const PROOF: Duration = Duration::from_secs(10);
/// How long nobody is listened to after one that did not know it, and where no descriptor is left.
const PAUSE: Duration = Duration::from_millis(5);
const FULL: Duration = Duration::from_millis(100);
/// How often the launchers are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Two signals closer together are one wish.
const SAME_SIGNAL: Duration = Duration::from_millis(200);
/// Exit code when `--timeout` ends the job, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

const TAKEN: [i32; 6] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Run the job on these nodes; the answer is the exit code. Blocks until nothing of it is left, as far as the daemons say.
pub fn run(job: Job, nodes: Vec<Node>) -> Result<u8> {
    if job.debugger {
        return Err(Failure::usage(
            "-gdb opens windows on this machine, and so works without --host; elsewhere: gdb -p PID on the host (SIGUSR1 \
             makes mpiexec show hosts and pids)"
                .to_owned(),
        ));
    }
    let mut nonce = [0; 16];
    random::fill(&mut nonce).map_err(|error| Failure::machine("make the job's nonce", error))?;
    let fan_out = tunables::FAN_OUT.get().clamp(1, u32::MAX.into()) as u32;
    let mut head = Head::new(
        part(&job, nonce, &nodes),
        job.hosts.launcher.clone(),
        fan_out,
        network::addresses(),
    )?;
    head.timeout = job.timeout;
    head.deadline = job.timeout.map(|limit| Instant::now() + limit);
    let spots = nodes
        .into_iter()
        .zip(0..)
        .map(|(node, index)| Spot { index, host: node.host });
    // What a name like `localhost` means is known here alone: a branch on another machine would take it for its own.
    let is_here = |spot: &Spot| job.hosts.launcher.is_none() && nodes::is_here(&spot.host);
    let (here, elsewhere): (Vec<Spot>, Vec<Spot>) = spots.partition(is_here);
    let here = here.into_iter().map(|spot| vec![spot]).collect();
    let begun = head.begin(here, branch::split(&elsewhere, fan_out as usize));
    head.watch()?;
    begun?;
    Ok(head.verdict.unwrap_or(0))
}

/// What each node is told; which it is comes last.
fn part(job: &Job, nonce: [u8; 16], nodes: &[Node]) -> NodePart {
    let of = nodes.iter().zip(0_u16..);
    let of = of.flat_map(|(node, index)| node.ranks.clone().map(move |_| index));
    // What belongs to the login on this machine, and not to the job.
    let own = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("SSH_") || ["HOSTNAME", "DISPLAY", "TMPDIR", "XDG_RUNTIME_DIR"].contains(&&*name)
    };
    let is_wanted = |name: &std::ffi::OsString| match &job.inherit {
        Some(names) => names.contains(name),
        None => !own(name),
    };
    NodePart {
        nonce,
        node: 0,
        of: of.collect(),
        job: Job {
            // Chosen here, where the user's environment is.
            inherit: job.inherit.as_ref().map(|_| Vec::new()),
            ..job.clone()
        },
        environment: std::env::vars_os().filter(|(name, _)| is_wanted(name)).collect(),
        directory: std::env::current_dir().map(Into::into).unwrap_or_default(),
    }
}

/// A node, by its number and its host's name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spot {
    /// Which node.
    pub index: u32,
    /// Its name, as the user wrote it.
    pub host: String,
}

/// A process that starts daemons, or branches, and passes on their messages: `mpiexec` itself, or a branch.
struct Head {
    part: NodePart,
    launcher: Option<String>,
    fan_out: u32,
    /// By which children may reach us.
    addresses: Vec<IpAddr>,
    secret: Nonce,
    signals: Signals,
    listener: TcpListener,
    port: u16,
    /// Of a branch.
    above: Option<Connection>,
    /// Connections that have proven nothing yet, and when they were made: the oldest first.
    unidentified: Vec<(Instant, Connection)>,
    /// Nobody is listened to before.
    deaf_until: Option<Instant>,
    children: Vec<Child>,
    /// All that are known.
    cards: Vec<Card>,
    /// Ranks that are no more, in the order that all nodes know.
    losses: Vec<Loss>,
    /// Decisions about them, by the head of all.
    coordinator: Coordinator,
    /// Which nodes' ranks do nothing but wait; looked after by the head of all.
    hangs: Hangs,
    /// Nodes that were lost as a whole, as the user is told.
    lost_hosts: Vec<LostHost>,
    verdict: Option<u8>,
    /// The job is being ended; when we stop waiting for the daemons.
    ending: Option<Instant>,
    told: Option<Instant>,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
}

/// A host that was lost, with all of its ranks.
struct LostHost {
    host: String,
    why: String,
    ranks: Vec<u32>,
}

/// A daemon or a branch.
struct Child {
    /// The nodes that it stands for; it runs on the first.
    spots: Vec<Spot>,
    launcher: Process,
    /// As long as it is open, `mpiexec` lives.
    input: Option<ChildStdin>,
    connection: Option<Connection>,
    started: Instant,
    /// It has said that nothing of the job is left there.
    done: bool,
    /// The launcher has ended: when, and how.
    gone: Option<(Instant, ExitStatus)>,
}

impl Child {
    fn host(&self) -> &str {
        &self.spots[0].host
    }

    fn is_daemon(&self) -> bool {
        self.spots.len() == 1
    }

    /// Has it connected, and not said that it is done?
    fn is_at_work(&self) -> bool {
        !self.done
            && self
                .connection
                .as_ref()
                .is_some_and(|connection| !connection.is_closed())
    }
}

enum Source {
    Signals,
    Listener,
    Above,
    Unidentified,
    Child(usize),
}

impl Head {
    fn new(part: NodePart, launcher: Option<String>, fan_out: u32, addresses: Vec<IpAddr>) -> Result<Self> {
        let signals = Signals::take_over(&TAKEN).map_err(|error| Failure::machine("take over signals", error))?;
        sink::begin();
        let unheard = |error| Failure::machine("listen to the nodes", error);
        let any = SocketAddr::new(IpAddr::from([0_u16; 8]), 0);
        let listener = TcpListener::bind(any)
            .or_else(|_| TcpListener::bind(SocketAddr::new(IpAddr::from([0_u8; 4]), 0)))
            .map_err(unheard)?;
        let port = listener.local_addr().map_err(unheard)?.port();
        listener.set_nonblocking(true).map_err(unheard)?;
        let nodes = part.of.iter().max().map_or(1, |last| u32::from(*last) + 1);
        let mut secret = Nonce([0; 16]);
        random::fill(&mut secret.0).map_err(|error| Failure::machine("make the daemons' secret", error))?;
        Ok(Self {
            part,
            launcher,
            fan_out,
            addresses,
            secret,
            signals,
            listener,
            port,
            above: None,
            unidentified: Vec::new(),
            deaf_until: None,
            children: Vec::new(),
            cards: Vec::new(),
            losses: Vec::new(),
            coordinator: Coordinator::of(nodes),
            hangs: Hangs::of(nodes),
            lost_hosts: Vec::new(),
            verdict: None,
            ending: None,
            told: None,
            timeout: None,
            deadline: None,
        })
    }

    /// Start a daemon or a branch for each group: of the machine that we run on, and of others.
    fn begin(&mut self, here: Vec<Vec<Spot>>, elsewhere: Vec<Vec<Spot>>) -> Result<()> {
        let here = here.into_iter().map(|spots| (spots, true));
        let elsewhere = elsewhere.into_iter().map(|spots| (spots, false));
        for (spots, is_here) in here.chain(elsewhere) {
            match self.start(&spots, is_here) {
                Ok((launcher, input)) => self.children.push(Child {
                    spots,
                    launcher,
                    input,
                    connection: None,
                    started: Instant::now(),
                    done: false,
                    gone: None,
                }),
                Err(failure) => {
                    self.end(1);
                    return Err(branch::on_host(failure, self.above.is_some()));
                }
            }
        }
        self.pass_input_on();
        Ok(())
    }

    /// Start what stands for these nodes, on the first of them; where we are ourselves that takes no launcher.
    fn start(&self, spots: &[Spot], is_here: bool) -> Result<(Process, Option<ChildStdin>)> {
        let host = &spots[0].host;
        let failed = |what: &dyn std::fmt::Display| Failure {
            message: format!("host {host}: {what}"),
            code: 1,
        };
        let own = std::env::current_exe().map_err(|error| failed(&error))?;
        let call = Call {
            addresses: self.addresses.clone(),
            port: self.port,
            node: spots[0].index,
        };
        let what = if spots.len() == 1 { "--daemon" } else { "--branch" };
        let mut command = match self.launcher.as_deref() {
            _ if is_here => Command::new(&own),
            None | Some("ssh") => {
                let mut command = Command::new("ssh");
                command.args(["-T", "-o", "BatchMode=yes", host, "exec"]);
                command.arg(quoted(&own));
                command
            }
            Some(launcher) => {
                let mut words = launcher.split_whitespace();
                let mut command = Command::new(words.next().unwrap_or("ssh"));
                command.args(words).arg(host).arg(&own);
                command
            }
        };
        command.arg(what).arg(call.to_string());
        let mask = self.signals.mask_before();
        command.stdin(Stdio::piped()).process_group(0);
        isthmus_os::child::with_signals(&mut command, mask);
        let mut launcher = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            failed(&format!(
                "cannot start {program}: {error}: install it, or name another launcher (--launcher COMMAND)"
            ))
        })?;
        let mut input = launcher.stdin.take();
        let line = format!("{}\n", self.secret);
        if let Some(input) = &mut input {
            // One that has ended already is noticed below.
            let _ = input.write_all(line.as_bytes());
        }
        Ok((launcher, input))
    }

    /// What we read from standard input is for one rank.
    fn pass_input_on(&mut self) {
        let reader = self.part.job.stdin.and_then(|rank| self.part.of.get(rank as usize));
        let Some(node) = reader.map(|node| u32::from(*node)) else {
            return;
        };
        let is_there = |child: &&mut Child| child.spots.iter().any(|spot| spot.index == node);
        let child = self.children.iter_mut().find(is_there);
        if let Some(mut input) = child.and_then(|child| child.input.take()) {
            std::thread::spawn(move || {
                // A daemon that reads no more is not written to.
                let _ = std::io::copy(&mut stdio::input(), &mut input);
            });
        }
    }

    fn watch(&mut self) -> Result<()> {
        loop {
            self.handle_launchers();
            self.handle_cut_off();
            self.handle_clock();
            let is_late = self.ending.is_some_and(|limit| Instant::now() >= limit);
            let is_over = |child: &Child| child.gone.is_some() && (is_late || !child.is_at_work());
            if self.children.iter().all(is_over) {
                self.hear_the_last();
                return Ok(());
            }
            for source in self.wait()? {
                match source {
                    Source::Signals => self.handle_signals(),
                    Source::Listener => self.handle_listener(),
                    Source::Above => self.handle_above(),
                    Source::Unidentified => {}
                    Source::Child(index) => self.handle_child(index),
                }
            }
            self.handle_unidentified();
        }
    }

    /// What daemons have said before they ended.
    fn hear_the_last(&mut self) {
        for index in 0..self.children.len() {
            while let Some(connection) = self.children[index].connection.as_ref()
                && !connection.is_closed()
                && !self.children[index].done
                && poll::readable(&[connection.as_fd()], Some(LAST_OUTPUT)) == Ok(vec![true])
            {
                self.handle_child(index);
            }
        }
    }

    fn wait(&mut self) -> Result<Vec<Source>> {
        let mut descriptors = vec![(self.signals.as_fd(), Interest::Read)];
        let mut sources = vec![Source::Signals];
        let mut limit = LOOK;
        match self
            .deaf_until
            .map(|until| until.saturating_duration_since(Instant::now()))
        {
            Some(left) if !left.is_zero() => limit = limit.min(left),
            _ => {
                descriptors.push((self.listener.as_fd(), Interest::Read));
                sources.push(Source::Listener);
            }
        }
        let above = branch::open(&self.above).map(|above| (above, Source::Above));
        let unidentified = self
            .unidentified
            .iter()
            .map(|(_, connection)| (connection, Source::Unidentified));
        let children = self.children.iter().enumerate().filter_map(|(index, child)| {
            let connection = child.connection.as_ref().filter(|connection| !connection.is_closed());
            Some((connection?, Source::Child(index)))
        });
        for (connection, source) in above.into_iter().chain(unidentified).chain(children) {
            descriptors.push((connection.as_fd(), connection.interest()));
            sources.push(source);
        }
        let ready =
            poll::ready(&descriptors, Some(limit)).map_err(|error| Failure::machine("wait for the nodes", error))?;
        let ready: Vec<_> = sources.into_iter().zip(ready).filter(|(_, ready)| *ready).collect();
        Ok(ready.into_iter().map(|(source, _)| source).collect())
    }

    /// Take what has connected: anybody can, so it is a bounded number a round, and newcomers take the place of the oldest.
    fn handle_listener(&mut self) {
        for _ in 0..UNIDENTIFIED {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.unidentified.len() >= UNIDENTIFIED {
                        self.unidentified.remove(0);
                    }
                    let connection = Connection::accepted(stream, self.secret).ok();
                    self.unidentified
                        .extend(connection.map(|connection| (Instant::now(), connection)));
                }
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // There is no descriptor left.
                Err(_) if !self.unidentified.is_empty() => drop(self.unidentified.remove(0)),
                Err(_) => {
                    self.deaf_until = Some(Instant::now() + FULL);
                    return;
                }
            }
        }
    }

    /// A connection proves that it is a daemon of this job and names its node, or is dropped.
    fn handle_unidentified(&mut self) {
        for (since, mut connection) in std::mem::take(&mut self.unidentified) {
            let said = connection.receive::<ToHead>();
            match said.into_iter().next() {
                Some(ToHead::Hello { node, version }) => self.welcome(node as usize, &version, connection),
                None if !connection.is_closed() && since.elapsed() < PROOF => {
                    self.unidentified.push((since, connection))
                }
                _ => self.deaf_until = Some(Instant::now() + PAUSE),
            }
        }
    }

    fn welcome(&mut self, index: usize, version: &str, mut connection: Connection) {
        let is_awaited = |child: &Child| child.connection.is_none() && !child.done;
        let of = |child: &Child| child.spots[0].index as usize == index && is_awaited(child);
        let Some(index) = self.children.iter().position(of) else {
            return;
        };
        let child = &self.children[index];
        let own = isthmus_engine::version_between_nodes();
        if version != own {
            say(&format!(
                "host {}: its mpiexec is of version {version}, this one of {own}: install the same on all nodes",
                child.host()
            ));
            connection.send(&ToNode::End(1));
            return self.end(1);
        }
        if let Some(code) = self.ending.and(self.verdict) {
            connection.send(&ToNode::End(code));
        } else {
            connection.send(&self.task(child));
            for card in &self.cards {
                connection.send(&ToNode::Card(card.clone()));
            }
            for loss in &self.losses {
                connection.send(&ToNode::Lost(*loss));
            }
        }
        self.children[index].connection = Some(connection);
    }

    fn handle_child(&mut self, index: usize) {
        let Some(connection) = self.children[index].connection.as_mut() else {
            return;
        };
        let said = connection.receive::<ToHead>();
        let is_closed = connection.is_closed();
        for message in said {
            match message {
                ToHead::Card(card) => {
                    let others = self
                        .children
                        .iter_mut()
                        .enumerate()
                        .filter(|(other, _)| *other != index);
                    for connection in others.filter_map(|(_, child)| child.connection.as_mut()) {
                        connection.send(&ToNode::Card(card.clone()));
                    }
                    self.tell_above(&ToHead::Card(card.clone()));
                    self.cards.push(card);
                }
                ToHead::Ending(code) => self.end(code),
                ToHead::Done(code) => {
                    self.children[index].done = true;
                    if code != 0 {
                        self.verdict.get_or_insert(code);
                    }
                    for spot in self.children[index].spots.clone() {
                        self.handle_failures(ToHead::Over(spot.index));
                    }
                }
                ToHead::Hello { .. } => {}
                message => self.handle_failures(message),
            }
        }
        if is_closed && !self.children[index].done {
            self.children[index].done = true;
            match self.ending {
                None => self.child_lost(index, "its daemon, or the network to it, is gone"),
                Some(_) => self.end(1),
            }
        }
    }

    /// Launchers that have ended, and daemons that do not come.
    fn handle_launchers(&mut self) {
        let mut failed = None;
        for child in &mut self.children {
            if child.gone.is_some() {
                continue;
            }
            let status = child.launcher.try_wait().ok().flatten();
            if let Some(status) = status {
                child.gone = Some((Instant::now(), status));
                if child.connection.is_none() && self.ending.is_none() {
                    let host = &child.host();
                    failed = Some(format!(
                        "host {host}: its launcher ended ({status}) before a daemon was there: can this user log in there without a \
                         password, and does {} exist there?",
                        std::env::current_exe().unwrap_or_default().display()
                    ));
                }
            } else if child.connection.is_none() && self.ending.is_none() && child.started.elapsed() > CONNECT_TIMEOUT {
                failed = Some(format!(
                    "host {}: no daemon has connected back in {} s: is there a firewall between?",
                    child.host(),
                    CONNECT_TIMEOUT.as_secs()
                ));
            }
        }
        if let Some(why) = failed {
            say(&why);
            self.end(1);
        }
    }

    /// Daemons that are still at work some time after their launchers have ended: what their ranks write comes nowhere.
    fn handle_cut_off(&mut self) {
        for index in 0..self.children.len() {
            let is_cut_off = |head: &Self| {
                let child = &head.children[index];
                let is_late = |(when, _): &(Instant, ExitStatus)| when.elapsed() >= GRACE;
                child
                    .gone
                    .filter(is_late)
                    .filter(|_| child.is_at_work() && head.ending.is_none())
            };
            if is_cut_off(self).is_none() {
                continue;
            }
            // It may have said that it is done.
            let connection = self.children[index].connection.as_ref();
            let has_more = |of: &Connection| poll::readable(&[of.as_fd()], Some(Duration::ZERO)) == Ok(vec![true]);
            if connection.is_some_and(has_more) {
                self.handle_child(index);
            }
            if let Some((_, status)) = is_cut_off(self) {
                let child = &mut self.children[index];
                // It ends its part then.
                child.connection = None;
                child.done = true;
                let why =
                    "and with it the way of output; it has to stay until the program ends (ssh: ServerAliveInterval)";
                self.child_lost(
                    index,
                    &format!("its launcher ended ({status}) before its daemon, {why}"),
                );
            }
        }
    }

    fn handle_clock(&mut self) {
        let now = Instant::now();
        if let Some(limit) = self.ending {
            if now >= limit {
                for child in self.children.iter_mut().filter(|child| child.gone.is_none()) {
                    // It has ended its part, or cannot be reached.
                    let _ = child.launcher.kill();
                }
            }
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
            let limit = self.timeout.unwrap_or_default().as_secs_f64();
            say(&format!("the job has not ended within {limit} s; ending it"));
            self.tell_all(&ToNode::SayWho);
            self.end(TIMED_OUT);
        } else if let Some(sentence) = self.hangs.judge(now) {
            say(&sentence);
            self.tell_all(&ToNode::SayWho);
        }
    }

    fn handle_signals(&mut self) {
        while let Ok(Some(arrived)) = self.signals.next() {
            let signal = arrived.signal;
            let ends = ![libc::SIGUSR1, libc::SIGUSR2].contains(&signal);
            match self.told {
                Some(told) if ends && told.elapsed() < SAME_SIGNAL => {}
                Some(_) if ends => {
                    say("ending the job");
                    self.end(128 + signal as u8);
                }
                _ => {
                    self.tell_all(&ToNode::Signal(signal));
                    if ends {
                        self.told = Some(Instant::now());
                    }
                }
            }
        }
    }

    fn end(&mut self, code: u8) {
        self.verdict.get_or_insert(code);
        if self.ending.is_none() {
            self.ending = Some(Instant::now() + GRACE);
            self.tell_all(&ToNode::End(code));
            self.tell_above(&ToHead::Ending(code));
            for child in &mut self.children {
                // One that has not connected yet ends when this does.
                child.input = None;
                if child.connection.is_none() {
                    let _ = child.launcher.kill(); // It may have ended.
                }
            }
        }
    }

    fn tell_all(&mut self, message: &ToNode) {
        for connection in self.children.iter_mut().filter_map(|child| child.connection.as_mut()) {
            connection.send(message);
        }
    }
}

/// For the shell that `ssh` hands its arguments to.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_for_the_shell() {
        assert_eq!(quoted(Path::new("/a b/c'd")), r"'/a b/c'\''d'");
    }
}
