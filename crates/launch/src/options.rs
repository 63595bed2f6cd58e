//! The command line, parsed into a [`Job`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::daemon::Call;
use crate::failure::{Failure, Result};
use crate::nodes;

/// What `mpiexec` was asked to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Print [`HELP`].
    Help,
    /// Print the version.
    Version,
    /// Run a job.
    Run(Job),
    /// Run the part of a job that is this node's.
    Daemon(Call),
}

/// A job: one or more commands whose ranks share a world.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// In the order of their ranks; never empty.
    pub commands: Vec<Command>,
    /// Mark each line of output with its rank.
    pub tag_output: bool,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// Where ranks may run.
    pub bind: Bind,
    /// The machines that are named.
    pub hosts: nodes::Wanted,
}

/// One command of the job (`MPI_APPNUM` is its index).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
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
    pub directory: Option<PathBuf>,
}

/// Binding of ranks to CPUs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Bind {
    /// The kernel places ranks.
    #[default]
    None,
    /// Each rank on a core of its own, going round when there are more ranks than cores.
    Core,
}

/// The answer to `--help`.
pub const HELP: &str = "\
usage: mpiexec [-n RANKS] [options] PROGRAM [arguments] [: [-n RANKS] [options] PROGRAM [arguments]]...

  -n, -np RANKS          ranks to start (default 1); more than there are cores is fine
  -env NAME VALUE        set an environment variable for this command
  -genv NAME VALUE       set it for all commands
  -x NAME[=VALUE]        as -env; without a value, pass it on (all variables are)
  --set NAME=VALUE       set a tunable for all commands (see: isthmus info)
  -memory-alloc-kinds LIST
                         kinds of memory that the program asks support for (MPI-5.0 11.4.3)
  --wdir DIR             run this command in DIR
  --bind-to none|core    leave placement to the kernel (default), or give each rank a core
  -l, --tag-output       start each line of output with its rank: [3] ...
  --timeout SECONDS      end the job after this time (exit code 124)
  --host A:2,B:2         hosts to run on, with how many ranks each; --hostfile FILE: a line each (A:2 or A slots=2)
  -ppn RANKS             ranks per host
  --launcher COMMAND     what starts a program on a host, as ssh does: COMMAND HOST PROGRAM arguments... (default ssh)
  --version, --help

Standard input goes to rank 0. The exit code is that of the first rank that failed (128 + signal if one was killed).
When a rank dies, the others are ended. Options of other launchers that mean nothing here (--oversubscribe,
--allow-run-as-root, --mca A B, --map-by X, ...) are accepted.
";

/// Options of other launchers that change nothing here, and how many values they take.
const ACCEPTED: &[(&str, usize)] = &[
    ("oversubscribe", 0),
    ("nooversubscribe", 0),
    ("allow-run-as-root", 0),
    ("report-bindings", 0),
    ("use-hwthread-cpus", 0),
    ("genvall", 0),
    ("envall", 0),
    ("q", 0),
    ("quiet", 0),
    ("v", 0),
    ("verbose", 0),
    ("map-by", 1),
    ("rank-by", 1),
    ("genvlist", 1),
    ("envlist", 1),
    ("rmk", 1),
    ("iface", 1),
    ("mca", 2),
    ("gmca", 2),
    ("prtemca", 2),
    ("pmixmca", 2),
];

/// The limit of MPI's `int` ranks, and of sense.
const MOST_RANKS: u32 = isthmus_engine::job::MAX_RANKS;

/// Parse the arguments (without the program's own name).
pub fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Request> {
    let mut parser = Parser {
        arguments: arguments.into_iter().map(Into::into).collect::<Vec<_>>().into_iter(),
        attached: None,
        job: Job::default(),
        everywhere: Vec::new(),
    };
    if let Some(request) = parser.commands()? {
        return Ok(request);
    }
    let Parser {
        mut job, everywhere, ..
    } = parser;
    // What is set for one command comes later, so it wins over what is set for all.
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
        Some(total) if total <= MOST_RANKS => Ok(Request::Run(job)),
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
}

impl Parser {
    /// All commands, up to the end.
    fn commands(&mut self) -> Result<Option<Request>> {
        loop {
            let mut command = Command {
                ranks: 1,
                ..Command::default()
            };
            match self.options(&mut command)? {
                Some(Found::Program(program)) => command.program = program,
                Some(Found::Request(request)) => return Ok(Some(request)),
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
    fn options(&mut self, command: &mut Command) -> Result<Option<Found>> {
        while let Some(argument) = self.arguments.next() {
            let Some(name) = option_name(&argument) else {
                if argument == ":" {
                    return Ok(None);
                }
                return Ok(Some(Found::Program(argument)));
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.into())),
                None => (name.to_owned(), None),
            };
            self.attached = value;
            if let Some(request) = self.option(&name, command)? {
                return Ok(Some(Found::Request(request)));
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
            "version" | "V" | "info" => return Ok(Some(Request::Version)),
            "n" | "np" | "c" => command.ranks = self.number(name)?,
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
                self.everywhere.push((tunable_variable(tunable)?.into(), value.into()));
            }
            "memory-alloc-kinds" | "memory-allocation-kinds" => {
                let variable = isthmus_engine::tunables::MEMORY_ALLOC_KINDS.variable();
                let kinds = self.value(name)?;
                self.everywhere.push((variable.into(), kinds));
            }
            "wdir" | "wd" => command.directory = Some(self.value(name)?.into()),
            "bind-to" => {
                let text = self.text(name)?;
                self.job.bind = match text.as_str() {
                    "none" => Bind::None,
                    "core" => Bind::Core,
                    other => {
                        return Err(Failure::usage(format!(
                            "--bind-to {other}: only none and core are known"
                        )));
                    }
                };
            }
            "bind-to-none" => self.job.bind = Bind::None,
            "bind-to-core" => self.job.bind = Bind::Core,
            "l" | "tag-output" | "prepend-rank" => self.job.tag_output = true,
            "timeout" => {
                let text = self.text(name)?;
                let seconds = text.parse::<f64>().ok();
                let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let wrong = || Failure::usage(format!("--timeout {text}: not a number of seconds"));
                self.job.timeout = Some(limit.filter(|limit| !limit.is_zero()).ok_or_else(wrong)?);
            }
            "host" | "hosts" | "H" => {
                let list = self.text(name)?;
                self.job.hosts.add_list(&list)?;
            }
            "f" | "hostfile" | "machinefile" => {
                let path = self.text(name)?;
                self.job.hosts.add_file(&path)?;
            }
            "ppn" | "perhost" | "npernode" | "N" => self.job.hosts.per_host = Some(self.number(name)?),
            "launcher" | "bootstrap" => {
                let launcher = self.text(name)?;
                self.job.hosts.launcher = Some(launcher).filter(|launcher| launcher != "fork");
            }
            "daemon" => {
                let text = self.text(name)?;
                let call = Call::parse(&text);
                let wrong = || Failure::usage(format!("--daemon {text}: this is for mpiexec's own use"));
                return Ok(Some(Request::Daemon(call.ok_or_else(wrong)?)));
            }
            other => {
                let known = ACCEPTED.iter().find(|(accepted, _)| *accepted == other);
                let &(_, values) =
                    known.ok_or_else(|| Failure::usage(format!("unknown option -{other}; see mpiexec --help")))?;
                for _ in 0..values {
                    self.value(name)?;
                }
            }
        }
        Ok(None)
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

enum Found {
    Program(OsString),
    Request(Request),
}

/// The name behind one or two dashes, if this is an option. What is not UTF-8 is a program.
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
            Err(Failure::usage(format!(
                "--set {name}: no such tunable; there are: {}",
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
            Ok(Request::Run(job)) => job,
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
        assert_eq!(job.bind, Bind::Core);
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
            "--bind-to socket a",
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
        assert!(refused("-n 60000 a : -n 60000 a").contains("ranks"));
    }

    #[test]
    fn questions() {
        assert_eq!(parse(["--help"]), Ok(Request::Help));
        assert_eq!(parse(["-n", "2", "--version"]), Ok(Request::Version));
    }

    proptest! {
        /// Whatever is typed, the answer is a job that can be started or one line.
        #[test]
        fn any_line(words in proptest::collection::vec(
            prop_oneof![
                "(-|--)?(n|np|env|genv|x|set|wdir|bind-to|l|timeout|host|mca|ppn)(=[a-z0-9=]{0,4})?",
                "[a-z0-9:=./-]{0,6}",
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
