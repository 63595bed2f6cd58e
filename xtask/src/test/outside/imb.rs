//! The Intel MPI Benchmarks.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{RUN, mpiexec};
use crate::process::quiet;

/// For all benchmarks of a program with more ranks than CPUs, on a busy machine.
const WHOLE: Duration = Duration::from_secs(1200);

/// One launch of one of the programs.
struct Launch {
    program: &'static str,
    ranks: usize,
    /// None: all that there are.
    benchmarks: &'static [&'static str],
    /// Messages are of up to 2 to the power of this many bytes.
    longest: u32,
    rounds: u32,
    limit: Duration,
}

/// A slice of them; `full`: all, on 2, 3, 4 and 8 ranks. Their numbers are not looked at.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    let environment = Environment::new("impi-rt");
    // It is run on our library, so what its own library needs is not needed.
    let install = || {
        environment.make()?;
        environment.install("impi-rt", &["--no-deps", "impi-rt==2021.19.0"], &[])
    };
    if !suite.step("Intel MPI Benchmarks (wheel) install", install) {
        return;
    }
    for launch in if full { whole() } else { slice() } {
        suite.step(&format!("{} on {} ranks", launch.program, launch.ranks), || {
            launch.run(prefix, &environment)
        });
    }
}

/// A slice of them between two nodes, with one rank and with two on each; `full`: all, also with four.
pub fn on_nodes(suite: &mut Suite, prefix: &Path, full: bool, mpiexec: &dyn Fn(usize) -> Command) {
    let environment = Environment::new("impi-rt");
    let install = || {
        environment.make()?;
        environment.install("impi-rt", &["--no-deps", "impi-rt==2021.19.0"], &[])
    };
    if !suite.step("Intel MPI Benchmarks (wheel) install for several nodes", install) {
        return;
    }
    let launches = if full { whole() } else { slice() };
    let launches = launches.into_iter().filter(|launch| [2, 4, 8].contains(&launch.ranks));
    for launch in launches {
        let (program, share) = (launch.program, launch.ranks / 2);
        suite.step(&format!("{program} on 2 nodes x {share}"), || {
            launch.run_by(mpiexec(share), prefix, &environment)
        });
    }
}

/// All of IMB-RMA: its list has remarks among the names.
static RMA: [&str; 19] = [
    "Accumulate",
    "All_get_all",
    "All_put_all",
    "Bidir_get",
    "Bidir_put",
    "Exchange_get",
    "Exchange_put",
    "Get_accumulate",
    "Get_all_local",
    "Get_local",
    "One_get_all",
    "One_put_all",
    "Put_all_local",
    "Put_local",
    "Truly_passive_put",
    "Unidir_get",
    "Unidir_put",
    "Fetch_and_op",
    "Compare_and_swap",
];

fn slice() -> Vec<Launch> {
    let launch = |program, ranks, benchmarks| Launch {
        program,
        ranks,
        benchmarks,
        longest: 18,
        rounds: 20,
        limit: RUN,
    };
    let mpi1: &[&str] = &[
        "PingPong",
        "PingPing",
        "Sendrecv",
        "Exchange",
        "Bcast",
        "Allreduce",
        "Reduce",
        "Allgather",
        "Alltoall",
        "Gather",
        "Scatter",
        "Barrier",
    ];
    let nbc: &[&str] = &["Ialltoallv_pure", "Iallreduce_pure", "Ibcast_pure", "Ibarrier_pure"];
    vec![
        launch("IMB-MPI1", 2, mpi1),
        launch("IMB-MPI1", 4, mpi1),
        launch("IMB-NBC", 3, nbc),
        launch("IMB-RMA", 2, &RMA),
        // The last two are of two ranks.
        launch("IMB-RMA", 4, &RMA[..RMA.len() - 2]),
    ]
}

fn whole() -> Vec<Launch> {
    let launch = |program, ranks| Launch {
        program,
        ranks,
        benchmarks: &[],
        longest: 22,
        rounds: 10,
        limit: WHOLE,
    };
    let ranks = [2, 3, 4, 8];
    let mpi1 = ranks.map(|ranks| launch("IMB-MPI1", ranks));
    let nbc = ranks.map(|ranks| launch("IMB-NBC", ranks));
    let rma = ranks.map(|ranks| Launch {
        benchmarks: &RMA[..RMA.len() - if ranks == 2 { 0 } else { 2 }],
        ..launch("IMB-RMA", ranks)
    });
    mpi1.into_iter().chain(nbc).chain(rma).collect()
}

impl Launch {
    fn run(&self, prefix: &Path, environment: &Environment) -> Result<()> {
        self.run_by(mpiexec(prefix, self.ranks), prefix, environment)
    }

    fn run_by(&self, mut run: Command, prefix: &Path, environment: &Environment) -> Result<()> {
        let program = environment.program(self.program);
        let benchmarks = match self.benchmarks {
            [] => all(prefix, &program)?,
            some => some.iter().map(|&name| name.to_owned()).collect(),
        };
        // Whatever limit it has had.
        let seconds = self.limit.as_secs().saturating_sub(20);
        run.args(["--timeout", &seconds.to_string()])
            .arg(program)
            .args(["-npmin", &self.ranks.to_string()])
            .args(["-msglog", &format!("0:{}", self.longest)])
            .args(["-iter", &self.rounds.to_string(), "-iter_policy", "off"])
            .args(["-mem", "1"])
            .args(&benchmarks);
        let text = quiet(&mut run, self.limit)?;
        for name in &benchmarks {
            ensure!(
                text.contains(&format!("# Benchmarking {name}")),
                "{name} did not run; it said:\n{text}"
            );
        }
        ensure!(
            text.contains("All processes entering MPI_Finalize"),
            "it did not finish; it said:\n{text}"
        );
        Ok(())
    }
}

/// Every benchmark that the program has, those included that it does not run by itself.
fn all(prefix: &Path, program: &Path) -> Result<Vec<String>> {
    let text = quiet(mpiexec(prefix, 1).arg(program).arg("-list"), RUN)?;
    let list = text
        .split("List of benchmarks:")
        .nth(1)
        .context("it has no list of benchmarks")?;
    let names = list
        .lines()
        .filter(|line| line.starts_with("    "))
        .filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names.map(str::to_owned).collect();
    ensure!(
        names.len() > 20,
        "its list of benchmarks is {} long; it said:\n{text}",
        names.len()
    );
    Ok(names)
}
