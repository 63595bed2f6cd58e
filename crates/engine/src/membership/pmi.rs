//! Joining a job that another launcher has started: the process management interface PMI-1, which MPICH's Hydra and Slurm's
//! `srun --mpi=pmi2` speak. Lines of `key=value` over a socket whose number is in `PMI_FD`
//! (<https://wiki.mpich.org/mpich/index.php/PMI_v1_Wire_Protocol>).
//!
//! The launcher is asked for one thing: to tell all ranks the nonce that rank 0 has. Rank 0 starts `mpiexec --guests`, which hands out the
//! job's memory and watches over the ranks as `mpiexec` does over its own. From then on the launcher only sees how processes end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use isthmus_os::{child, process};

use crate::membership::control::Nonce;
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

/// A place in the job.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
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

/// Learn our place; rank 0 makes the job. `None`: the connection is not ours, typically that of a parent whose environment we inherited.
/// Waits for all ranks.
///
/// # Errors
/// The launcher does not answer as it should, or the job cannot be made.
pub fn join(invited: &Invited) -> Result<Option<Place>> {
    let Some(socket) = process::inherited_socket(invited.descriptor) else {
        return Ok(None);
    };
    // Not a file: writing to a launcher that has hung up would end the process by SIGPIPE.
    let mut launcher = Launcher::over(UnixStream::from(socket)).map_err(|error| failed(&error))?;
    let make = || make_job(invited.size);
    exchange(&mut launcher, invited.rank, make).map(Some)
}

fn failed(what: &str) -> Error {
    Error::Boot(format!("the launcher that started us (PMI-1): {what}"))
}

fn exchange<S: Read + Write>(
    launcher: &mut Launcher<S>,
    rank: u32,
    make: impl FnOnce() -> Result<Nonce>,
) -> Result<Place> {
    let mut ask = |line: &str, answer: &str| launcher.ask(line, answer).map_err(|error| failed(&error));
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
    let space = ask("cmd=get_my_kvsname", "my_kvsname")?.value("kvsname")?;
    let appnum = ask("cmd=get_appnum", "appnum")?.value("appnum")?.parse().unwrap_or(0);
    if rank == 0 {
        let nonce = make()?;
        ask(
            &format!("cmd=put kvsname={space} key={KEY} value={nonce}"),
            "put_result",
        )?;
    }
    ask("cmd=barrier_in", "barrier_out")?;
    let text = ask(&format!("cmd=get kvsname={space} key={KEY}"), "get_result")?.value("value")?;
    let nonce = Nonce::parse(&text).ok_or_else(|| failed("what rank 0 said did not arrive"))?;
    // Nothing more is asked; and a rank's end is no accident of the launcher's from now on.
    ask("cmd=finalize", "finalize_ack")?;
    Ok(Place { nonce, rank, appnum })
}

/// Start `mpiexec --guests`, beside this library; it says the nonce of the job that it has made.
fn make_job(size: u32) -> Result<Nonce> {
    let failed = |what: String| Error::Boot(format!("cannot make a job of {size} ranks: {what}"));
    let library = process::own_file();
    let beside = library
        .as_deref()
        .and_then(|file| Some(file.parent()?.parent()?.join("bin/mpiexec")));
    let program = beside.filter(|path| path.exists()).ok_or_else(|| {
        failed("the mpiexec of Isthmus, which keeps the job's memory, is not in bin beside the library's folder".into())
    })?;
    let mut command = Command::new(&program);
    command
        .args(["--guests", &size.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
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
    Nonce::parse(line.trim_end()).ok_or_else(|| failed(format!("{} --guests said no nonce", program.display())))
}

/// The connection to the launcher.
struct Launcher<S> {
    stream: BufReader<S>,
}

impl<S: Read + Write> Launcher<S> {
    fn over(stream: S) -> std::result::Result<Self, String> {
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
    fn against(answers: &'static [&str], rank: u32) -> (Result<Place>, Vec<String>) {
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
        let mut connection = Launcher::over(ours).expect("a connection");
        let place = exchange(&mut connection, rank, || Ok(Nonce([7; 16])));
        drop(connection);
        (place, launcher.join().expect("it ends"))
    }

    const NONCE: &str = "cmd=get_result rc=0 msg=success value=07070707070707070707070707070707";

    #[test]
    fn the_first_rank_tells_the_others() {
        let (place, asked) = against(
            &[
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "cmd=my_kvsname kvsname=space_0",
                "cmd=appnum appnum=2 rc=0",
                "cmd=put_result rc=0 msg=success",
                "cmd=barrier_out rc=0",
                NONCE,
                "cmd=finalize_ack rc=0",
            ],
            0,
        );
        let wanted = Place {
            nonce: Nonce([7; 16]),
            rank: 0,
            appnum: 2,
        };
        assert_eq!(place.expect("a place"), wanted);
        assert_eq!(
            asked[3],
            "cmd=put kvsname=space_0 key=isthmus-job value=07070707070707070707070707070707"
        );
    }

    #[test]
    fn other_ranks_ask() {
        let (place, asked) = against(
            &[
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "cmd=my_kvsname kvsname=s",
                "cmd=appnum appnum=-1",
                "cmd=barrier_out",
                NONCE,
                "cmd=finalize_ack",
            ],
            3,
        );
        assert_eq!(place.expect("a place").rank, 3);
        assert!(!asked.iter().any(|line| line.starts_with("cmd=put")), "{asked:?}");
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
                "cmd=barrier_out",
                "cmd=get_result rc=0 value=x",
            ],
        ] {
            let (place, _) = against(answers, 1);
            assert!(place.is_err(), "{answers:?}");
        }
    }
}
