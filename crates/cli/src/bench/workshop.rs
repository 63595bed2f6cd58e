//! A temporary directory in which the C programs are compiled and run, removed afterwards.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use isthmus_os::interrupt;

use super::experiment::Model;
use super::library::Library;
use super::nodes::Nodes;
use super::npb::{self, Npb};
use super::process::{self, Finished, Limits, SILENCE_LIMIT};
use crate::prefix::Prefix;

/// A program, its compiler, and further flags.
type Compilation = (String, PathBuf, Vec<String>);

/// Where programs are made and run.
pub struct Workshop {
    directory: PathBuf,
    sources: PathBuf,
    /// Programs that need not be compiled.
    made: Option<PathBuf>,
    mpicc: PathBuf,
    cpus: String,
    compiled: RefCell<HashMap<Compilation, PathBuf>>,
    /// Made when an experiment first needs them.
    nodes: RefCell<Option<Rc<Nodes>>>,
    npb: Option<Npb>,
}

impl Workshop {
    /// A new one. Programs bind themselves to `cpus`, rank by rank; `made` may have some of them already.
    pub fn new(prefix: &Prefix, cpus: &str, made: Option<PathBuf>) -> Result<Self> {
        let sources = prefix.bench_sources();
        ensure!(
            sources.is_dir(),
            "{} is missing; install Isthmus again",
            sources.display()
        );
        let directory = std::env::temp_dir().join(format!("isthmus-bench-{}", std::process::id()));
        fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        Ok(Self {
            directory,
            sources,
            made,
            mpicc: prefix.command("mpicc"),
            cpus: cpus.to_owned(),
            compiled: RefCell::default(),
            nodes: RefCell::default(),
            npb: None,
        })
    }

    /// Programs called [`npb::PROGRAM`] are the NAS kernels in this folder.
    ///
    /// # Errors
    /// It has none, or there is no Fortran compiler.
    pub fn open_npb(&mut self, folder: &Path, prefix: &Prefix) -> Result<()> {
        self.npb = Some(Npb::open(folder, &self.directory, prefix)?);
        Ok(())
    }

    /// Run an MPI program on `ranks` ranks of `library`. Whether it ended well is for the caller to see; that it runs on
    /// another library is an error.
    pub fn run(
        &self,
        library: &Library,
        ranks: u32,
        program: &str,
        model: Option<Model>,
        arguments: &[String],
        limits: Limits,
    ) -> Result<Finished> {
        if program == npb::PROGRAM {
            return self.run_kernels(library, ranks, arguments, limits);
        }
        let wrapper = library.wrapper.as_ref().unwrap_or(&self.mpicc);
        let flags = model.map_or_else(|| library.flags(program), |model| model.flags);
        let flags = match &library.global_arrays {
            Some(others) => {
                let definitions = flags.iter().filter(|flag| flag.starts_with("-D"));
                let definitions = definitions.map(|flag| (*flag).to_owned());
                definitions.chain(others.iter().cloned()).collect()
            }
            None => owned(flags),
        };
        let program = self.compile(program, wrapper, flags)?;
        let mut command = library.command(ranks, &program, arguments);
        command.env("ISTHMUS_BENCH_CPUS", &self.cpus);
        let neighbour =
            library.start_neighbour(ranks, &program, || self.compile("neighbour", &c_compiler(), vec![]))?;
        let mut finished = process::run(command, &self.directory, limits)?;
        if let Some(neighbour) = neighbour {
            let printed = neighbour
                .end()
                .replace("result neighbour ", &format!("result neighbour ranks={ranks} "));
            finished.append(&printed);
        }
        match finished.library() {
            Some(says) => ensure!(
                says.contains(library.says),
                "the library that was loaded calls itself {says:?}"
            ),
            None => ensure!(finished.failure.is_some(), "the program does not say what it runs on"),
        }
        Ok(finished)
    }

    /// Run the NAS kernels that these arguments name, one after the other.
    fn run_kernels(&self, library: &Library, ranks: u32, arguments: &[String], limits: Limits) -> Result<Finished> {
        let npb = self.npb.as_ref().context("name the NAS kernels' folder by --npb DIR")?;
        let mut all = Finished::of(&npb.says());
        for cell in arguments.iter().filter(|argument| argument.contains(':')) {
            let program = match npb.program(cell, ranks, &self.directory) {
                Ok(program) => program,
                Err(_) if interrupt::noted() => bail!("interrupted"),
                Err(error) => {
                    all.failure = Some(format!("{error:#}"));
                    break;
                }
            };
            let mut command = library.command(ranks, &program, &[]);
            command.env("ISTHMUS_BENCH_CPUS", &self.cpus).env("ISTHMUS_STATS", "1");
            let finished = process::run(command, &self.directory, limits)?;
            all.took += finished.took;
            all.is_late = finished.is_late;
            all.failure = match (&finished.failure, Npb::result(cell, &finished)) {
                (None, Ok(line)) => {
                    all.append(&line);
                    continue;
                }
                (Some(why), _) => Some(format!("{cell}: {why}")),
                (None, Err(why)) => Some(format!("{cell}: {why:#}")),
            };
            break;
        }
        Ok(all)
    }

    /// Run the floors' program, which needs no MPI.
    pub fn run_floors(&self, arguments: &[String]) -> Result<Finished> {
        let mut command = Command::new(self.compile("floors", &c_compiler(), vec![])?);
        command.args(arguments).env("ISTHMUS_BENCH_CPUS", &self.cpus);
        process::run(command, &self.directory, Limits::silence(SILENCE_LIMIT))?.well()
    }

    /// So many nodes, with links like this.
    ///
    /// # Errors
    /// They cannot be made, or their links not be slowed down.
    pub fn nodes(&self, count: u32, links: &str) -> Result<Rc<Nodes>> {
        let mut kept = self.nodes.borrow_mut();
        let nodes = match kept.take().filter(|nodes| nodes.count() == count) {
            Some(nodes) => nodes,
            None => Rc::new(Nodes::make(count, &self.directory)?),
        };
        *kept = Some(Rc::clone(&nodes));
        if !links.is_empty() {
            nodes.shape(links)?;
        }
        Ok(nodes)
    }

    /// Run the floors' program for two nodes.
    pub fn run_network_floors(&self, nodes: &Nodes, arguments: &[String]) -> Result<Finished> {
        let mut command = Command::new(self.compile("network_floors", &c_compiler(), vec![])?);
        command
            .args(nodes.floors())
            .args(arguments)
            .env("ISTHMUS_BENCH_CPUS", &self.cpus);
        process::run(command, &self.directory, Limits::silence(SILENCE_LIMIT))?.well()
    }

    /// Run the loop on bare libfabric between two nodes.
    pub fn run_bare_fabric(&self, nodes: &Nodes, arguments: &[String]) -> Result<Finished> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command
            .arg("bare-fabric")
            .args(nodes.floors())
            .args(arguments)
            .env("ISTHMUS_BENCH_CPUS", &self.cpus);
        process::run(command, &self.directory, Limits::silence(SILENCE_LIMIT))?.well()
    }

    /// Compile once, with `compiler` and these flags.
    fn compile(&self, program: &str, compiler: &Path, flags: Vec<String>) -> Result<PathBuf> {
        let made = self.made.as_ref().map(|folder| folder.join(program));
        if let Some(made) = made.filter(|made| flags.is_empty() && made.is_file()) {
            return Ok(made);
        }
        let key = (program.to_owned(), compiler.to_owned(), flags);
        if let Some(path) = self.compiled.borrow().get(&key) {
            return Ok(path.clone());
        }
        let path = self
            .directory
            .join(format!("{program}-{}", self.compiled.borrow().len()));
        let mut command = Command::new(compiler);
        command.args(["-O3", "-pthread", "-o"]).arg(&path);
        command.arg(self.sources.join(program).with_extension("c"));
        command.args(&key.2).arg("-lm");
        process::run(command, &self.directory, Limits::silence(SILENCE_LIMIT))?.well()?;
        self.compiled.borrow_mut().insert(key, path.clone());
        Ok(path)
    }
}

fn owned(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|flag| (*flag).to_owned()).collect()
}

fn c_compiler() -> PathBuf {
    std::env::var_os("CC").map_or_else(|| PathBuf::from("cc"), PathBuf::from)
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
