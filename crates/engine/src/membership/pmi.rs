//! Joining a job that another launcher has started: the process management interface PMI-1, which MPICH's Hydra and Slurm's
//! `srun --mpi=pmi2` speak. Lines of `key=value` over a socket whose number is in `PMI_FD`
//! (<https://wiki.mpich.org/mpich/index.php/PMI_v1_Wire_Protocol>).
//!
//! The launcher tells all ranks which of them can share memory, and the nonce that rank 0 has. The first rank of each node starts
//! `mpiexec --agent`, which hands out the job's memory there and watches over the ranks as `mpiexec` does over its own. Where all are on one node,
//! the launcher only sees how processes end from then on. Else it also tells how ranks are reached over the network, and ends the job when one dies: the
//! connection stays until `MPI_Finalize` (docs/decisions/0085).

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use isthmus_os::{child, host, process, random, socket};

use crate::membership::control::Nonce;
use crate::membership::job::Nodes;
use crate::{Error, Result};

/// Under which name the nonce is kept.
const KEY: &str = "isthmus-job";
/// No answer is longer.
const MAX_LINE: u64 = 4096;

/// What the launcher has put into our environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invited {
    descriptor: i32,
    rank: u32,
    /// Ranks of the job.
    pub size: u32,
}

impl Invited {
    /// Whether the connection is open here: an environment that was inherited names one that is not.
    pub fn is_connected(&self) -> bool {
        process::is_socket(self.descriptor)
    }
}

/// The launcher of a job on several nodes.
pub type Session = Open<UnixStream>;

/// What the other launcher has assigned to this process.
#[derive(Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Its nonce, by which its socket is found.
    pub nonce: Nonce,
    /// Our rank.
    pub rank: u32,
    /// Which of the launcher's commands we run.
    pub appnum: u32,
}

/// Has a launcher that speaks PMI-1 started more than this process?
pub fn invited(variable: impl Fn(&str) -> Option<String>) -> Option<Invited> {
    let number = |name| variable(name)?.parse::<u32>().ok();
    let (rank, size) = (number("PMI_RANK")?, number("PMI_SIZE")?);
    let descriptor = variable("PMI_FD")?.parse().ok()?;
    (rank < size && size > 1).then_some(Invited { descriptor, rank, size })
}

/// Learn our assignment; rank 0 makes the job. `None`: the connection is not ours, typically that of a parent whose environment we inherited.
/// Waits for all ranks.
///
/// # Errors
/// The launcher does not answer as it should, or the job cannot be made.
pub fn join(invited: &Invited) -> Result<Option<(Assignment, Option<Session>)>> {
    let Some(socket) = process::inherited_socket(invited.descriptor) else {
        return Ok(None);
    };
    // Not a file: writing to a launcher that has hung up would end the process by SIGPIPE.
    let socket = UnixStream::from(socket);
    let keepers = socket.try_clone().map_err(|error| failed(&error.to_string()))?;
    let launcher = Launcher::on(socket).map_err(|error| failed(&error))?;
    exchange(launcher, invited, &host::sharing_domain(), |wanted| {
        make_job(wanted, &keepers)
    })
    .map(Some)
}

fn failed(what: &str) -> Error {
    Error::Boot(format!("the launcher that started us (PMI-1): {what}"))
}

/// What a node's keeper is made of: ranks of the job, and if they are on several nodes, which, and the job's nonce.
type Wanted<'a> = (u32, Option<(&'a Nodes, &'a Nonce)>);

fn exchange<S: Read + Write>(
    mut launcher: Launcher<S>,
    invited: &Invited,
    domain: &str,
    make: impl Fn(Wanted<'_>) -> Result<Nonce>,
) -> Result<(Assignment, Option<Open<S>>)> {
    let &Invited { rank, size, .. } = invited;
    let mut ask = |line: &str, answer: &str| launcher.ask(line, answer).map_err(|error| failed(&error));
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
    let space = ask("cmd=get_my_kvsname", "my_kvsname")?.value("kvsname")?;
    let appnum = ask("cmd=get_appnum", "appnum")?.value("appnum")?.parse().unwrap_or(0);
    let mut open = Open { launcher, space };
    open.put(&format!("isthmus-node-{rank}"), domain)?;
    open.barrier()?;
    let mut domains = Vec::new();
    let mut of = Vec::new();
    for other in 0..size {
        let theirs = open.value(&format!("isthmus-node-{other}"))?;
        let at = domains.iter().position(|known| *known == theirs).unwrap_or_else(|| {
            domains.push(theirs);
            domains.len() - 1
        });
        of.push(u16::try_from(at).map_err(|_| failed("more nodes than there may be"))?);
    }
    let own = of[rank as usize];
    let is_first = of.iter().position(|node| *node == own) == Some(rank as usize);
    let nodes = (domains.len() > 1).then_some(Nodes { own, of });
    if rank == 0 {
        let nonce = match &nodes {
            None => make((size, None))?,
            Some(_) => {
                let mut nonce = Nonce([0; 16]);
                random::fill(&mut nonce.0).map_err(|error| failed(&error.to_string()))?;
                nonce
            }
        };
        open.put(KEY, &nonce.to_string())?;
        open.barrier()?;
        if let Some(nodes) = &nodes {
            make((size, Some((nodes, &nonce))))?;
            open.barrier()?;
        }
        return open.assigned(nonce, (rank, appnum), nodes.is_some());
    }
    open.barrier()?;
    let text = open.value(KEY)?;
    let nonce = Nonce::parse(&text).ok_or_else(|| failed("what rank 0 said did not arrive"))?;
    if let Some(nodes) = &nodes {
        if is_first {
            make((size, Some((nodes, &nonce))))?;
        }
        open.barrier()?;
    }
    open.assigned(nonce, (rank, appnum), nodes.is_some())
}

/// The key-value space of a launcher: what all ranks of a job tell each other by.
#[derive(Debug)]
pub struct Open<S> {
    launcher: Launcher<S>,
    /// Its name.
    space: String,
}

impl<S: Read + Write> Open<S> {
    fn ask(&mut self, line: &str, answer: &str) -> Result<Answer> {
        self.launcher.ask(line, answer).map_err(|error| failed(&error))
    }

    /// Say something to all who ask for it after the next barrier. Waits for the launcher.
    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        let line = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.ask(&line, "put_result").map(drop)
    }

    /// Wait for all ranks.
    fn barrier(&mut self) -> Result<()> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    /// The answer. Waits for the launcher.
    fn value(&mut self, key: &str) -> Result<String> {
        let line = format!("cmd=get kvsname={} key={key}", self.space);
        self.ask(&line, "get_result")?.value("value")
    }

    fn assigned(mut self, nonce: Nonce, (rank, appnum): (u32, u32), stays: bool) -> Result<(Assignment, Option<Self>)> {
        let assignment = Assignment { nonce, rank, appnum };
        if stays {
            return Ok((assignment, Some(self)));
        }
        // Nothing more is asked; and a rank's end is no accident of the launcher's from now on.
        self.ask("cmd=finalize", "finalize_ack")?;
        Ok((assignment, None))
    }

    /// Tell all ranks how `rank` is reached. Waits for all of them.
    ///
    /// # Errors
    /// The launcher does not answer as it should.
    pub fn say_card(&mut self, rank: u32, name: &[u8]) -> Result<()> {
        let text: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        self.put(&format!("isthmus-card-{rank}"), &text)?;
        self.barrier()
    }

    /// How a rank is reached that has [said so](Self::say_card).
    ///
    /// # Errors
    /// The launcher does not answer as it should.
    pub fn card(&mut self, rank: u32) -> Result<Vec<u8>> {
        let text = self.value(&format!("isthmus-card-{rank}"))?;
        let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        let bytes = (0..text.len()).step_by(2).map(byte).collect::<Option<_>>();
        bytes.ok_or_else(|| failed(&format!("'{text}' is no name of rank {rank}")))
    }

    /// This rank leaves: its end is no accident any more.
    pub fn finalize(mut self) {
        // A launcher that is gone has ended us.
        let _ = self.ask("cmd=finalize", "finalize_ack");
    }
}

/// Start `mpiexec --agent`, beside this library; it says the nonce of the job that it has made. On several nodes it has the connection
/// to the launcher as its standard input, to [end the job](abort_by_launcher) by.
fn make_job((size, nodes): Wanted<'_>, launcher: &UnixStream) -> Result<Nonce> {
    let failed = |what: String| Error::Boot(format!("cannot make a job of {size} ranks: {what}"));
    let library = process::own_file();
    let beside = library
        .as_deref()
        .and_then(|file| Some(file.parent()?.parent()?.join("bin/mpiexec")));
    let program = beside.filter(|path| path.exists()).ok_or_else(|| {
        failed("the mpiexec of Isthmus, which keeps the job's memory, is not in bin beside the library's folder".into())
    })?;
    let mut command = Command::new(&program);
    command.stdin(Stdio::null());
    let mut ranks = size.to_string();
    if let Some((nodes, nonce)) = nodes {
        let launcher = launcher.try_clone().map_err(|error| failed(error.to_string()))?;
        command.stdin(Stdio::from(OwnedFd::from(launcher)));
        let of: Vec<_> = nodes.of.iter().map(u16::to_string).collect();
        ranks += &format!("@{}@{}", nodes.own, of.join(","));
        // Arguments are seen by everybody.
        command.env("ISTHMUS_JOB", nonce.to_string());
    }
    command.args(["--agent", &ranks]).stdout(Stdio::piped());
    child::apart(&mut command);
    let said = |error: std::io::Error| failed(format!("{}: {error}", program.display()));
    let mut child = command.spawn().map_err(said)?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output.take(MAX_LINE))
            .read_line(&mut line)
            .map_err(said)?;
    }
    let _ = child.wait(); // It has ended: the program itself is nobody's child.
    Nonce::parse(line.trim_end()).ok_or_else(|| failed(format!("{} --agent said no nonce", program.display())))
}

/// Have the launcher end the job on all nodes, with this exit code. `connection`: one to it, of any rank that has not finalized. Does
/// not wait.
///
/// # Errors
/// The launcher has hung up.
pub fn abort_by_launcher(connection: &OwnedFd, code: u8) -> isthmus_os::Result<()> {
    socket::send(connection, format!("cmd=abort exitcode={code}\n").as_bytes(), None)
}

/// The connection to the launcher.
#[derive(Debug)]
struct Launcher<S> {
    stream: BufReader<S>,
}

impl<S: Read + Write> Launcher<S> {
    fn on(stream: S) -> std::result::Result<Self, String> {
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Say a line, and wait for the answer, which must be this one and tell of no failure.
    fn ask(&mut self, line: &str, wanted: &str) -> std::result::Result<Answer, String> {
        let io = |error: std::io::Error| format!("{line}: {error}");
        self.stream
            .get_mut()
            .write_all(format!("{line}\n").as_bytes())
            .map_err(io)?;
        let mut text = String::new();
        (&mut self.stream).take(MAX_LINE).read_line(&mut text).map_err(io)?;
        if text.is_empty() {
            return Err(format!("{line}: it hung up"));
        }
        let answer = Answer(text.trim_end().to_owned());
        let is_it = answer.find("cmd") == Some(wanted) && answer.find("rc").is_none_or(|code| code == "0");
        if is_it {
            Ok(answer)
        } else {
            Err(format!("{line}: it answers '{}'", answer.0))
        }
    }
}

/// One line of it: `key=value` and blanks.
struct Answer(String);

impl Answer {
    fn find(&self, key: &str) -> Option<&str> {
        let mut words = self.0.split_ascii_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn value(&self, key: &str) -> Result<String> {
        let found = self.find(key).map(str::to_owned);
        found.ok_or_else(|| failed(&format!("there is no {key} in '{}'", self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            pairs
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn invitations() {
        let whole = variables(&[("PMI_FD", "7"), ("PMI_RANK", "1"), ("PMI_SIZE", "4")]);
        let wanted = Invited {
            descriptor: 7,
            rank: 1,
            size: 4,
        };
        assert_eq!(invited(whole), Some(wanted));
        assert_eq!(invited(variables(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")])), None);
        assert_eq!(
            invited(variables(&[("PMI_FD", "7"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")])),
            None
        );
        assert_eq!(
            invited(variables(&[("PMI_FD", "7"), ("PMI_RANK", "4"), ("PMI_SIZE", "4")])),
            None
        );
    }

    /// A launcher that gives these answers, and what it was asked.
    fn against(answers: &'static [&str], rank: u32, size: u32) -> (Result<Assignment>, Vec<String>) {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        let launcher = std::thread::spawn(move || {
            let mut stream = BufReader::new(theirs);
            let mut asked = Vec::new();
            for answer in answers {
                let mut line = String::new();
                if stream.read_line(&mut line).expect("a line") == 0 {
                    break;
                }
                asked.push(line.trim_end().to_owned());
                stream
                    .get_mut()
                    .write_all(format!("{answer}\n").as_bytes())
                    .expect("written");
            }
            asked
        });
        let connection = Launcher::on(ours).expect("a connection");
        let invited = Invited {
            descriptor: -1,
            rank,
            size,
        };
        let assignment = exchange(connection, &invited, "here", |_| Ok(Nonce([7; 16]))).map(|(assignment, open)| {
            if let Some(mut open) = open {
                open.say_card(rank, &[0, 255]).expect("the launcher listens");
                assert_eq!(open.card(0).expect("a card"), [2, 254]);
                open.finalize();
            }
            assignment
        });
        (assignment, launcher.join().expect("it ends"))
    }

    const HERE: &str = "cmd=get_result rc=0 value=here";
    const NONCE: &str = "cmd=get_result rc=0 msg=success value=07070707070707070707070707070707";

    #[test]
    fn the_first_rank_tells_the_others() {
        let (assignment, asked) = against(
            &[
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "cmd=my_kvsname kvsname=space_0",
                "cmd=appnum appnum=2 rc=0",
                "cmd=put_result rc=0 msg=success",
                "cmd=barrier_out rc=0",
                HERE,
                HERE,
                "cmd=put_result rc=0 msg=success",
                "cmd=barrier_out rc=0",
                "cmd=finalize_ack rc=0",
            ],
            0,
            2,
        );
        let wanted = Assignment {
            nonce: Nonce([7; 16]),
            rank: 0,
            appnum: 2,
        };
        assert_eq!(assignment.expect("an assignment"), wanted);
        assert_eq!(asked[3], "cmd=put kvsname=space_0 key=isthmus-node-0 value=here");
        assert_eq!(
            asked[7],
            "cmd=put kvsname=space_0 key=isthmus-job value=07070707070707070707070707070707"
        );
    }

    #[test]
    fn other_ranks_ask() {
        let (assignment, asked) = against(
            &[
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "cmd=my_kvsname kvsname=s",
                "cmd=appnum appnum=-1",
                "cmd=put_result rc=0",
                "cmd=barrier_out",
                HERE,
                HERE,
                "cmd=barrier_out",
                NONCE,
                "cmd=finalize_ack",
            ],
            1,
            2,
        );
        assert_eq!(assignment.expect("an assignment").rank, 1);
        assert!(
            !asked.iter().any(|line| line.contains("key=isthmus-job value")),
            "{asked:?}"
        );
        assert_eq!(asked.last().map(String::as_str), Some("cmd=finalize"));
    }

    /// The first of its node makes a keeper there, tells how it is reached, and stays with the launcher until it finalizes.
    #[test]
    fn on_several_nodes_the_launcher_tells_how_ranks_are_reached() {
        let (assignment, asked) = against(
            &[
                "cmd=response_to_init rc=0",
                "cmd=my_kvsname kvsname=s",
                "cmd=appnum appnum=0",
                "cmd=put_result rc=0",
                "cmd=barrier_out",
                "cmd=get_result rc=0 value=there",
                HERE,
                "cmd=barrier_out",
                NONCE,
                "cmd=barrier_out",
                "cmd=put_result rc=0",
                "cmd=barrier_out",
                "cmd=get_result rc=0 value=02fe",
                "cmd=finalize_ack",
            ],
            1,
            2,
        );
        assert_eq!(assignment.expect("an assignment").nonce, Nonce([7; 16]));
        assert_eq!(asked[10], "cmd=put kvsname=s key=isthmus-card-1 value=00ff");
        assert_eq!(asked.len(), 14, "{asked:?}");
    }

    #[test]
    fn nonsense_is_an_error() {
        for answers in [
            &["cmd=response_to_init rc=-1"][..],
            &["hello"],
            &[""],
            &["cmd=response_to_init rc=0", "cmd=my_kvsname"],
            &[
                "cmd=response_to_init rc=0",
                "cmd=my_kvsname kvsname=s",
                "cmd=appnum appnum=0",
                "cmd=put_result rc=0",
                "cmd=barrier_out",
                HERE,
                HERE,
                "cmd=barrier_out",
                "cmd=get_result rc=0 value=x",
            ],
        ] {
            let (assignment, _) = against(answers, 1, 2);
            assert!(assignment.is_err(), "{answers:?}");
        }
    }
}
