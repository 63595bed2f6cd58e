//! `mpiexec`: starts the ranks of a job on this machine, watches over them, and leaves nothing behind.
//!
//! The way of a job: [`options`] makes a [`Job`](options::Job) of the command line, `program` looks at each program
//! before anything runs, `start` starts the ranks, and `supervise` stays with them in one loop over signals,
//! lifelines (`lifeline`) and, where lines are to be tagged, pipes (`output`); what it prints is written by threads (`sink`). Ending a job means ending every
//! descendant (`process_tree`). Of ranks that another launcher has started, `agent` keeps the memory.

use std::process::ExitCode;
use std::time::Duration;

mod agent;
mod connection;
mod daemon;
mod debugger;
mod elf;
pub mod failure;
mod head;
mod hosts;
mod lifeline;
pub mod nodes;
pub mod options;
mod output;
mod placement;
mod process_tree;
mod program;
mod rank_socket;
mod report;
mod sink;
mod start;
mod supervise;
mod watcher;
mod wire;

use options::Request;

/// How long whoever reads standard error may take for our last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// The whole of `mpiexec`.
pub fn main() -> ExitCode {
    isthmus_os::process::end_where_output_fails("mpiexec");
    let outcome = options::parse(std::env::args_os().skip(1)).and_then(|request| match request {
        Request::Help => {
            print!("{}", options::table::help());
            Ok(0)
        }
        Request::Show(text) => {
            print!("{text}");
            Ok(0)
        }
        Request::Version => {
            println!("mpiexec (Isthmus) {}", env!("CARGO_PKG_VERSION"));
            Ok(0)
        }
        Request::Daemon(call) => daemon::run(&call),
        Request::Branch(call) => head::branch::run(&call),
        Request::Agent(spec) => agent::run(spec),
        Request::Run(mut job) => {
            if job.timeout.is_none() {
                job.timeout = options::timeout_of_environment()?;
            }
            let own = std::env::vars_os()
                .filter_map(|(name, _)| isthmus_engine::tunables::unknown_variable_hint(name.to_str()?));
            job.notes
                .iter()
                .cloned()
                .chain(own)
                .for_each(|note| failure::say(&note));
            if job.hosts.is_elsewhere() {
                nodes::assign(&job.hosts, &job.commands).and_then(|nodes| head::run(*job, nodes))
            } else {
                supervise::run(&job)
            }
        }
    });
    let code = outcome.unwrap_or_else(|failure| {
        failure::say(&failure.message);
        failure.code
    });
    // What ranks print has been waited for.
    sink::finish(&[sink::Stream::Err], LAST_LINES);
    ExitCode::from(code)
}
