//! The command line, parsed into a [`Job`].
//!
//! Parsed by hand: launchers have options with one dash and several letters (`-np`, `-genv`), take `-x` and `--x` alike, end options at the
//! program's name, and repeat everything after `:`. `lexopt` and `clap` read `-np 4` as `-n p`. A property test feeds the parser arbitrary
//! words.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use isthmus_engine::tunables;
use serde::{Deserialize, Serialize};

use crate::agent::JobSpec;
use crate::daemon::Call;
use crate::failure::{Failure, Result};
use crate::nodes;
use crate::placement::{Bind, Map};

mod openmpi;
pub mod table;
mod words;

/// What `mpiexec` was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Print [`table::help`].
    Help,
    /// Print this: the manual, or completion for a shell.
    Show(String),
    /// Print the version.
    Version,
    /// Run a job.
    Run(Box<Job>),
    /// Run the part of a job that is this node's.
    Daemon(Call),
    /// Be the head of a group of the job's nodes.
    Branch(Call),
    /// Keep the job of so many ranks that another launcher has started.
    Agent(JobSpec),
}

/// A job: one or more commands whose ranks share a world. Nodes get all of it but what is skipped, which the head keeps or has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// In the order of their ranks; never empty.
    pub commands: Vec<Command>,
    /// Mark each line of output with its rank.
    pub tag_output: bool,
    /// End the job after this time.
    #[serde(skip)]
    pub timeout: Option<Duration>,
    /// Where ranks may run, if that was said.
    pub bind: Option<Bind>,
    /// In which order they get the CPUs of their node, if that was said.
    pub map: Option<Map>,
    /// Say which CPUs each rank may use.
    pub report_bindings: bool,
    /// Mark each line of output with the seconds since the job began.
    pub timestamp_output: bool,
    /// Files for the ranks' standard output and standard error.
    pub output_files: [Option<Pattern>; 2],
    /// Standard error goes where standard output goes.
    pub merges_errors: bool,
    /// The rank that gets our standard input; `None`: nobody does.
    pub stdin: Option<u32>,
    /// The only variables of our environment that ranks get; `None`: all.
    pub inherit: Option<Vec<OsString>>,
    /// Run each rank in a debugger of its own.
    #[serde(skip)]
    pub debugger: bool,
    /// Others are never ended when a rank fails.
    pub never_end_others: bool,
    /// Report the waits of all ranks when all have waited for so long.
    pub report_hang: Option<Duration>,
    /// The machines that are named.
    #[serde(skip)]
    pub hosts: nodes::HostOptions,
    /// What to tell the user before the job runs: options that do less here than elsewhere.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            tag_output: false,
            timeout: None,
            bind: None,
            map: None,
            report_bindings: false,
            timestamp_output: false,
            output_files: [None, None],
            merges_errors: false,
            stdin: Some(0),
            inherit: None,
            debugger: false,
            never_end_others: false,
            report_hang: Some(HANG),
            hosts: nodes::HostOptions::default(),
            notes: Vec::new(),
        }
    }
}

impl Job {
    /// Does output come through us?
    pub fn pipes_output(&self) -> bool {
        self.tag_output || self.timestamp_output
    }
}

/// When all ranks have waited for so long, their waits are reported.
const HANG: Duration = Duration::from_secs(60);

/// No time on the command line is longer: a century.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The name of a file per rank: `%r` is the rank, `%h` the host, `%%` a percent sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern(String);

impl Pattern {
    /// Parse the value of this option.
    ///
    /// # Errors
    /// It has a mark that is not known.
    pub fn parse(option: &str, text: &str) -> Result<Self> {
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            if character == '%' && !matches!(rest.next(), Some('r' | 'h' | '%')) {
                return Err(Failure::usage(format!(
                    "-{option} {text}: only %r (rank), %h (host) and %% are known"
                )));
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// `NAME.RANK.out` and `NAME.RANK.err`. What Open MPI has behind a colon (`:nocopy`) is no part of the name: nothing is copied here.
    fn of_both(name: &str) -> [Option<Self>; 2] {
        let name = name.strip_suffix(":nocopy").unwrap_or(name).replace('%', "%%");
        ["out", "err"].map(|ending| Some(Self(format!("{name}.%r.{ending}"))))
    }

    /// The name for a rank.
    pub fn name(&self, rank: u32) -> PathBuf {
        let mut name = String::new();
        let mut rest = self.0.chars();
        while let Some(character) = rest.next() {
            match character {
                '%' => match rest.next() {
                    Some('r') => name.push_str(&rank.to_string()),
                    Some('h') => name.push_str(&isthmus_os::host::name()),
                    other => name.extend(other),
                },
                other => name.push(other),
            }
        }
        name.into()
    }
}

/// One command of the job (`MPI_APPNUM` is its index).
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// How many ranks run it.
    pub ranks: u32,
    /// What to run, as the user wrote it.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Added to the environment, in this order.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to run it.
    pub directory: Option<OsString>,
}

/// The limit of MPI's `int` ranks, and of sense.
const MOST_RANKS: u32 = isthmus_engine::job::MAX_RANKS;

/// Parse the arguments (without the program's own name).
pub fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Request> {
    let mut parser = Parser {
        arguments: arguments.into_iter().map(Into::into).collect::<Vec<_>>().into_iter(),
        attached: None,
        job: Job::default(),
        everywhere: Vec::new(),
        per_node: None,
        counted: Vec::new(),
        by_node: None,
    };
    if let Some(request) = parser.commands()? {
        return Ok(request);
    }
    let Parser {
        mut job,
        everywhere,
        per_node,
        counted,
        by_node,
        ..
    } = parser;
    if let Some(option) = by_node.filter(|_| job.hosts.count() > 1) {
        job.notes.push(format!(
            "-{option} does nothing here: neighbouring ranks are on one host; ppr:N:node says how many each gets"
        ));
    }
    // So many ranks on each node.
    if let Some(per_node) = per_node {
        let nodes = job.hosts.count().max(1) as u32;
        for (command, _) in job.commands.iter_mut().zip(counted).filter(|(_, counted)| !counted) {
            command.ranks = per_node.saturating_mul(nodes);
        }
    }
    let all = everywhere
        .iter()
        .chain(job.commands.iter().flat_map(|command| &command.environment));
    let objections: Vec<String> = all
        .filter_map(|(name, _)| tunables::unknown_variable_hint(name.to_str()?))
        .collect();
    job.notes.extend(objections);
    // Variables of one command come later, so they override those of all.
    for command in &mut job.commands {
        command.environment = everywhere
            .iter()
            .cloned()
            .chain(command.environment.drain(..))
            .collect();
    }
    let total = job
        .commands
        .iter()
        .try_fold(0u32, |total, command| total.checked_add(command.ranks));
    match total {
        Some(total) if total <= MOST_RANKS => Ok(Request::Run(Box::new(job))),
        _ => Err(Failure::usage(format!("more than {MOST_RANKS} ranks"))),
    }
}

struct Parser {
    arguments: std::vec::IntoIter<OsString>,
    /// The value of `--option=value`.
    attached: Option<OsString>,
    job: Job,
    /// Environment for all commands.
    everywhere: Vec<(OsString, OsString)>,
    /// Ranks per node, if that was said.
    per_node: Option<u32>,
    /// Of each command: was its number of ranks said?
    counted: Vec<bool>,
    /// The option that asked for neighbouring ranks on different hosts.
    by_node: Option<String>,
}

impl Parser {
    /// All commands, up to the end.
    fn commands(&mut self) -> Result<Option<Request>> {
        loop {
            let mut command = Command {
                ranks: 1,
                ..Command::default()
            };
            self.counted.push(false);
            match self.options(&mut command)? {
                Some(Parsed::Program(program)) => command.program = program,
                Some(Parsed::Request(request)) => return Ok(Some(*request)),
                None => return Err(Failure::usage("no program to run; see mpiexec --help")),
            }
            let mut more = false;
            for argument in self.arguments.by_ref() {
                if argument == ":" {
                    more = true;
                    break;
                }
                command.arguments.push(argument);
            }
            self.job.commands.push(command);
            if !more {
                return Ok(None);
            }
        }
    }

    /// The options of one command, up to its program.
    fn options(&mut self, command: &mut Command) -> Result<Option<Parsed>> {
        while let Some(argument) = self.arguments.next() {
            let Some(name) = option_name(&argument) else {
                if argument == ":" {
                    return Ok(None);
                }
                return Ok(Some(Parsed::Program(argument)));
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.into())),
                None => (name.to_owned(), None),
            };
            self.attached = value;
            if let Some(request) = self.option(&name, command)? {
                return Ok(Some(Parsed::Request(Box::new(request))));
            }
            if self.attached.is_some() {
                return Err(Failure::usage(format!("the option {name} takes no value of this form")));
            }
        }
        Ok(None)
    }

    fn option(&mut self, name: &str, command: &mut Command) -> Result<Option<Request>> {
        match name {
            "help" | "h" | "?" => return Ok(Some(Request::Help)),
            "print-manual" => return Ok(Some(Request::Show(table::manual()))),
            "print-completion" => {
                let shell = self.text(name)?;
                let unknown = || Failure::usage(format!("-{name} {shell}: {} are known", table::SHELLS.join(", ")));
                return Ok(Some(Request::Show(table::completion(&shell).ok_or_else(unknown)?)));
            }
            "version" | "V" | "info" => return Ok(Some(Request::Version)),
            "n" | "np" | "c" => {
                command.ranks = self.number(name)?;
                self.counted.pop();
                self.counted.push(true);
            }
            "ppn" | "perhost" | "npernode" | "N" => {
                self.per_node = Some(self.number(name)?);
                self.job.hosts.per_host = self.per_node;
            }
            "pernode" => self.mapped("ppr:1:node", name)?,
            "npersocket" => {
                let ranks = self.number(name)?;
                self.mapped(&format!("ppr:{ranks}:socket"), name)?;
            }
            "map-by" => {
                let text = self.text(name)?;
                self.mapped(&text, name)?;
            }
            "bynode" | "byslot" | "bycore" | "bysocket" | "bynuma" => self.mapped(&name[2..], name)?,
            "cpus-per-rank" | "cpus-per-proc" => {
                let cores = self.number(name)?;
                self.job.bind = Some(Bind::Cores(cores));
            }
            "configfile" | "app" => {
                let path = self.text(name)?;
                let words = words::of_file(&path)?;
                let rest = std::mem::take(&mut self.arguments);
                self.arguments = words.into_iter().chain(rest).collect::<Vec<_>>().into_iter();
            }
            "env" => command.environment.push(self.pair(name)?),
            "genv" => {
                let pair = self.pair(name)?;
                self.everywhere.push(pair);
            }
            "x" => {
                let text = self.text(name)?;
                // All of our environment is passed on, so a bare name asks for nothing more.
                if let Some((name, value)) = text.split_once('=') {
                    command.environment.push((name.into(), value.into()));
                }
            }
            "set" => {
                let text = self.text(name)?;
                let Some((tunable, value)) = text.split_once('=') else {
                    return Err(Failure::usage(format!("--set {text}: write NAME=VALUE")));
                };
                let variable = tunable_variable(tunable)?;
                let number = tunables::TABLE.iter().find(|row| row.variable() == variable);
                if let Some(row) = number.filter(|row| row.parse(value).is_none()) {
                    return Err(Failure::usage(format!("--set {text}: not a number (of {})", row.unit)));
                }
                self.everywhere.push((variable.into(), value.into()));
            }
            "stats" => {
                let variable = tunables::STATS.variable();
                self.everywhere.push((variable.into(), "1".into()));
            }
            "memory-alloc-kinds" | "memory-allocation-kinds" => {
                let variable = isthmus_engine::tunables::MEMORY_ALLOC_KINDS.variable();
                let kinds = self.value(name)?;
                self.everywhere.push((variable.into(), kinds));
            }
            "wdir" | "wd" => command.directory = Some(self.value(name)?),
            "bind-to" | "binding" | "bind" => {
                let text = self.text(name)?;
                self.bound(&text)?;
            }
            "bind-to-none" => self.job.bind = Some(Bind::None),
            "bind-to-core" => self.job.bind = Some(Bind::Cores(1)),
            "bind-to-socket" => self.job.bind = Some(Bind::Package),
            "report-bindings" | "display-map" | "display-allocation" => self.job.report_bindings = true,
            "display" => {
                let list = self.text(name)?;
                self.displayed(&list)?;
            }
            "l" | "tag-output" | "prepend-rank" => self.job.tag_output = true,
            "timestamp-output" => self.job.timestamp_output = true,
            "merge-stderr-to-stdout" => self.job.merges_errors = true,
            "output" => {
                let list = self.text(name)?;
                self.output(&list)?;
            }
            "outfile-pattern" | "outfile" => self.job.output_files[0] = Some(self.pattern(name)?),
            "errfile-pattern" | "errfile" => self.job.output_files[1] = Some(self.pattern(name)?),
            "output-filename" => {
                let text = self.text(name)?;
                self.job.output_files = Pattern::of_both(&text);
            }
            "stdin" | "s" => {
                let text = self.text(name)?;
                self.job.stdin = match text.as_str() {
                    "none" => None,
                    rank => Some(rank.parse().map_err(|_| {
                        Failure::usage(format!(
                            "--stdin {text}: a rank or none; input cannot go to several ranks"
                        ))
                    })?),
                };
            }
            "genvnone" | "envnone" => self.job.inherit = Some(Vec::new()),
            "genvlist" | "envlist" => {
                let list = self.text(name)?;
                self.job.inherit = Some(list.split(',').map(OsString::from).collect());
            }
            "gdb" => self.job.debugger = true,
            "disable-auto-cleanup" | "continuous" | "enable-recovery" => self.job.never_end_others = true,
            "report-hang" => {
                let text = self.text(name)?;
                self.job.report_hang = match text.as_str() {
                    "0" | "never" => None,
                    _ => Some(seconds(name, &text)?),
                };
            }
            "timeout" => {
                let text = self.text(name)?;
                self.job.timeout = Some(seconds(name, &text)?);
            }
            "host" | "hosts" | "H" => {
                let list = self.text(name)?;
                self.job.hosts.add_list(&list)?;
            }
            "f" | "hostfile" | "machinefile" | "default-hostfile" => {
                let path = self.text(name)?;
                self.job.hosts.add_file(&path)?;
            }
            "launcher" | "bootstrap" => {
                let launcher = self.text(name)?;
                self.job.hosts.launcher = Some(launcher).filter(|launcher| launcher != "fork");
            }
            "daemon" | "branch" => {
                let text = self.text(name)?;
                let wrong = || Failure::usage(format!("--{name} {text}: this is for mpiexec's own use"));
                let call = Call::parse(&text).ok_or_else(wrong)?;
                return Ok(Some(match name {
                    "daemon" => Request::Daemon(call),
                    _ => Request::Branch(call),
                }));
            }
            "agent" => {
                let text = self.text(name)?;
                let spec = JobSpec::parse(&text);
                let wrong = || Failure::usage(format!("--agent {text}: this is for the library's own use"));
                return Ok(Some(Request::Agent(spec.ok_or_else(wrong)?)));
            }
            other => {
                let known = table::ACCEPTED.iter().find(|accepted| accepted.name == other);
                let accepted = known.ok_or_else(|| unknown(other))?;
                let values = accepted.values;
                if let Some(note) = accepted.note {
                    let note = format!("-{other} does nothing here: {note}");
                    if !self.job.notes.contains(&note) {
                        self.job.notes.push(note);
                    }
                }
                for _ in 0..values {
                    self.value(name)?;
                }
            }
        }
        Ok(None)
    }

    fn pattern(&mut self, option: &str) -> Result<Pattern> {
        let text = self.text(option)?;
        Pattern::parse(option, &text)
    }

    fn value(&mut self, option: &str) -> Result<OsString> {
        let missing = || Failure::usage(format!("the option -{option} lacks its value"));
        self.attached
            .take()
            .or_else(|| self.arguments.next())
            .ok_or_else(missing)
    }

    fn text(&mut self, option: &str) -> Result<String> {
        let wrong = |value: OsString| Failure::usage(format!("-{option} {}: not UTF-8", value.to_string_lossy()));
        self.value(option)?.into_string().map_err(wrong)
    }

    fn number(&mut self, option: &str) -> Result<u32> {
        let text = self.text(option)?;
        match text.parse() {
            Ok(number) if (1..=MOST_RANKS).contains(&number) => Ok(number),
            _ => Err(Failure::usage(format!(
                "-{option} {text}: not a number of ranks from 1 to {MOST_RANKS}"
            ))),
        }
    }

    fn pair(&mut self, option: &str) -> Result<(OsString, OsString)> {
        let name = self.text(option)?;
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Failure::usage(format!(
                "-{option} {name:?}: not the name of an environment variable"
            )));
        }
        Ok((name.into(), self.value(option)?))
    }
}

/// The time limit that the environment gives a job, as Hydra has it (`MPIEXEC_TIMEOUT`).
pub fn timeout_of_environment() -> Result<Option<Duration>> {
    const NAME: &str = "MPIEXEC_TIMEOUT";
    let Some(text) = std::env::var_os(NAME).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let limit = seconds("timeout", &text.to_string_lossy());
    let wrong = |_| Failure::usage(format!("{NAME}={}: not a number of seconds", text.to_string_lossy()));
    limit.map(Some).map_err(wrong)
}

fn seconds(option: &str, text: &str) -> Result<Duration> {
    let seconds = text.parse::<f64>().ok();
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wrong = || Failure::usage(format!("--{option} {text}: not a number of seconds"));
    // Later than any clock tells is never.
    let limit = limit.map(|limit| limit.min(NEVER));
    limit.filter(|limit| !limit.is_zero()).ok_or_else(wrong)
}

fn unknown(option: &str) -> Failure {
    let near = tunables::nearest(option, table::names());
    let cure = near.map_or_else(String::new, |near| format!("; did you mean -{near}?"));
    Failure::usage(format!("unknown option -{option}{cure} (see mpiexec --help)"))
}

enum Parsed {
    Program(OsString),
    Request(Box<Request>),
}

/// The name behind one or two dashes, if this is an option. A word that is not UTF-8 is a program.
fn option_name(argument: &OsString) -> Option<&str> {
    let name = argument.to_str()?.strip_prefix('-')?;
    Some(name.strip_prefix('-').unwrap_or(name)).filter(|name| !name.is_empty())
}

/// `eager_limit` is set by `ISTHMUS_EAGER_LIMIT`. A name that no tunable has is an error, not silence.
fn tunable_variable(name: &str) -> Result<String> {
    let mut wanted = name.to_ascii_lowercase().replace('-', "_");
    if let Some((old, new)) = isthmus_engine::tunables::RENAMED.iter().find(|(old, _)| *old == wanted) {
        eprintln!("mpiexec: --set {old}: it is called {new} now; the old name is read in this release only");
        wanted = (*new).to_owned();
    }
    let numbers = isthmus_engine::tunables::TABLE
        .iter()
        .map(|tunable| (tunable.name, tunable.variable()));
    let texts = isthmus_engine::tunables::TEXTS
        .iter()
        .map(|tunable| (tunable.name, tunable.variable()));
    let all: Vec<_> = numbers.chain(texts).collect();
    match all.iter().find(|(name, _)| *name == wanted) {
        Some((_, variable)) => Ok(variable.clone()),
        None => {
            let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let near = tunables::nearest(&wanted, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(Failure::usage(format!(
                "--set {name}: no such tunable{near}; there are: {}",
                known.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(line: &str) -> Job {
        match parse(line.split_whitespace()) {
            Ok(Request::Run(job)) => *job,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        parse(line.split_whitespace()).expect_err(line).message
    }

    #[test]
    fn plain() {
        let job = job("-n 4 ./a.out -n 7 --help");
        assert_eq!(job.commands.len(), 1);
        assert_eq!(
            (job.commands[0].ranks, &job.commands[0].program),
            (4, &"./a.out".into())
        );
        assert_eq!(job.commands[0].arguments, ["-n", "7", "--help"]);
        assert_eq!(super::tests::job("a").commands[0].ranks, 1);
    }

    #[test]
    fn several_commands() {
        let job = job("-genv G 1 -n 2 -env A b one x : -np 3 -env G 2 -wdir /tmp two");
        assert_eq!(job.commands.len(), 2);
        assert_eq!(job.commands[0].arguments, ["x"]);
        assert_eq!(
            job.commands[0].environment,
            [("G".into(), "1".into()), ("A".into(), "b".into())]
        );
        // The later entry wins.
        assert_eq!(
            job.commands[1].environment,
            [("G".into(), "1".into()), ("G".into(), "2".into())]
        );
        assert_eq!(job.commands[1].directory, Some("/tmp".into()));
        assert_eq!(job.commands[1].ranks, 3);
    }

    #[test]
    fn forms_of_options() {
        let job = job("--np=2 -bind-to core -l --timeout=1.5 -x A=1=2 -x HOME --set eager-limit=4K a");
        assert_eq!(job.commands[0].ranks, 2);
        assert_eq!(job.bind, Some(Bind::Cores(1)));
        assert!(job.tag_output);
        assert_eq!(job.timeout, Some(Duration::from_millis(1500)));
        let environment = [("ISTHMUS_EAGER_LIMIT".into(), "4K".into()), ("A".into(), "1=2".into())];
        assert_eq!(job.commands[0].environment, environment);
    }

    #[test]
    fn hosts_and_what_starts_programs_there() {
        let job = job("--host a:2,b -ppn 3 --launcher rsh -n 2 a");
        let names: Vec<&str> = job.hosts.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            (job.hosts.per_host, job.hosts.launcher.as_deref()),
            (Some(3), Some("rsh"))
        );
        assert!(job.hosts.is_elsewhere());
        assert!(!super::tests::job("--host localhost:2 -ppn 4 a").hosts.is_elsewhere());
    }

    #[test]
    fn options_of_other_launchers() {
        let line =
            "--oversubscribe --allow-run-as-root --mca btl self -ppn 2 --map-by core:OVERSUBSCRIBE -host localhost a";
        assert_eq!(job(line).commands[0].program, "a");
    }

    #[test]
    fn wrong_lines() {
        for line in [
            "",
            "-n 2",
            "-n",
            "-n 0 a",
            "-n -1 a",
            "-n x a",
            "-n 70000 a",
            "-n 2 a :",
            ": a",
            "--frobnicate a",
        ] {
            refused(line);
        }
        for line in [
            "--timeout 0 a",
            "--timeout -1 a",
            "--timeout x a",
            "-env A",
            "-l=3 a",
            "--bind-to nonsense a",
        ] {
            refused(line);
        }
        assert_eq!(
            tunable_variable("absent-us").expect("an old name"),
            "ISTHMUS_PEER_SILENCE_US"
        );
        let named = refused("--set nonsense=1 a");
        assert!(named.contains("eager_limit") && named.contains("topology"));
        assert!(refused("-n 1 -host far:x a").contains("far"));
        assert!(refused("-n 1 --daemon nonsense").contains("own use"));
        assert!(refused("--agent 0").contains("own use"));
        assert!(refused("-n 60000 a : -n 60000 a").contains("ranks"));
    }

    #[test]
    fn info_requests() {
        assert_eq!(parse(["--help"]), Ok(Request::Help));
        assert_eq!(parse(["-n", "2", "--version"]), Ok(Request::Version));
    }

    proptest! {
        /// Any command line gives a job that can be started or one line.
        #[test]
        fn any_line(words in proptest::collection::vec(
            prop_oneof![
                "(-|--)?(n|np|env|genv|x|set|wdir|bind-to|map-by|output|display|npersocket|l|timeout|host|mca|ppn)(=[a-z0-9=]{0,4})?",
                "[a-z0-9:=./-]{0,6}",
                "(ppr:[0-9]{1,5}:)?(core|socket|node)(:pe=[0-9])?",
                Just(":".to_owned()),
                Just("4".to_owned()),
            ],
            0..12,
        )) {
            match parse(words) {
                Ok(Request::Run(job)) => {
                    prop_assert!(!job.commands.is_empty());
                    prop_assert!(job.commands.iter().all(|command| (1..=MOST_RANKS).contains(&command.ranks)));
                }
                Ok(_) => {}
                Err(failure) => {
                    prop_assert!(!failure.message.contains('\n'));
                    prop_assert_eq!(failure.code, 2);
                }
            }
        }

        /// The program's own arguments arrive as they are.
        #[test]
        fn arguments_pass(arguments in proptest::collection::vec("[ -~]{0,9}", 0..8)) {
            prop_assume!(arguments.iter().all(|argument| argument != ":"));
            let line = ["-n", "2", "a"].into_iter().map(String::from).chain(arguments.clone());
            let Ok(Request::Run(job)) = parse(line) else { panic!("a right line") };
            let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
            prop_assert_eq!(&job.commands[0].arguments, &arguments);
        }
    }
}
