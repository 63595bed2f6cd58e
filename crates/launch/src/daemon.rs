//! The part of a job that runs on another node: `mpiexec` itself, started there by the one that the user started.
//!
//! It reads a secret from its standard input and connects back to where it was told. Both sides prove that they know the secret
//! ([`crate::connection`]), and it is told what to run. From then on it does what `mpiexec` does on one node, and says what concerns the others. When the connection ends, so does
//! its part of the job.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use isthmus_engine::control::Nonce;

use crate::connection::Connection;
use crate::failure::{Failure, Result};
use crate::supervise::{self, Uplink};
use crate::wire::{ToHead, ToNode};

/// How long one address is tried.
const CONNECT: Duration = Duration::from_secs(5);
/// How often, where the connection is closed again at once, and how long it waits in between.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);
/// How long `mpiexec` may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// The launcher to connect to, and the role there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Addresses of the machine that `mpiexec` runs on.
    pub addresses: Vec<IpAddr>,
    /// Where it listens.
    pub port: u16,
    /// Which node this is.
    pub node: u32,
}

impl Call {
    /// As an argument: `NODE@PORT@ADDRESS,ADDRESS`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('@');
        let (node, port) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let addresses = parts.next()?.split(',').map(|address| address.parse().ok());
        Some(Self {
            addresses: addresses.collect::<Option<_>>()?,
            port,
            node,
        })
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let addresses: Vec<_> = self.addresses.iter().map(IpAddr::to_string).collect();
        write!(f, "{}@{}@{}", self.node, self.port, addresses.join(","))
    }
}

/// Run this node's part of the job; the answer is the exit code. Blocks until every process of it has gone.
pub fn run(call: &Call) -> Result<u8> {
    let mut part = None;
    let mut uplink = Uplink::on(call_back(call)?);
    let began = Instant::now();
    while part.is_none() {
        for message in uplink.receive(ANSWER.saturating_sub(began.elapsed())) {
            match message {
                ToNode::Run(given) => part = Some(given),
                ToNode::Card(card) => uplink.cards.push(card),
                ToNode::End(code) => return Ok(code),
                ToNode::Branch(_) => {}
                // For when the ranks are there.
                message => uplink.pending.push(message),
            }
        }
        if part.is_none() && (uplink.is_closed() || began.elapsed() >= ANSWER) {
            return Err(failed("the mpiexec that started this node's daemon does not answer"));
        }
    }
    let part = part.expect("the loop ends with one");
    std::env::set_current_dir(&part.directory)
        .map_err(|error| {
            let directory = part.directory.to_string_lossy();
            failed(&format!("cannot enter the directory {directory}: {error}"))
        })
        .inspect_err(|failure| uplink.say_refused(failure.code))?;
    supervise::run_part(*part, uplink)
}

/// Read the secret, connect to the given launcher, and identify this daemon. Blocks until that is done.
pub fn call_back(call: &Call) -> Result<Connection> {
    let mut connection = connect(call, read_secret()?)?;
    connection.send(&ToHead::Hello {
        node: call.node,
        version: isthmus_engine::version_between_nodes(),
    });
    Ok(connection)
}

/// Said by the daemon, with the host, since the user sees it beside what other nodes say.
pub fn failed(what: &str) -> Failure {
    Failure {
        message: format!("host {}: {what}", isthmus_os::host::name()),
        code: 1,
    }
}

/// 32 hexadecimal digits and a line feed. Not a byte more is taken: the rest is for rank 0.
fn read_secret() -> Result<Nonce> {
    let mut line = [0; 33];
    // Not through the buffer that `stdin()` has.
    let mut input = std::io::BufReader::with_capacity(1, isthmus_os::stdio::input());
    let read = input.read_exact(&mut line).ok();
    let text = read.and_then(|()| std::str::from_utf8(&line[..32]).ok());
    text.and_then(Nonce::parse)
        .ok_or_else(|| failed("the launcher does not pass standard input on, by which a daemon gets its secret"))
}

/// Connect to the first address at which somebody proves to know the secret. Addresses that no route leads to are tried again
/// for a while: the kernel says that of a link that has just come back, too.
fn connect(call: &Call, secret: Nonce) -> Result<Connection> {
    let begun = Instant::now();
    let mut last = String::from("no address was given");
    loop {
        let mut is_unreachable = false;
        for address in &call.addresses {
            let address = SocketAddr::new(*address, call.port);
            let error = match connect_to(address, secret) {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            last = match error.kind() {
                ErrorKind::PermissionDenied => {
                    format!("what answers at {address} does not know the job's secret, and is not obeyed")
                }
                _ => format!("{address}: {error}"),
            };
            is_unreachable |= matches!(error.kind(), ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable);
        }
        if !is_unreachable || begun.elapsed() > CONNECT {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Err(failed(&format!(
        "cannot connect back to mpiexec ({last}): is there a firewall between, which must let the nodes connect to each other, or \
         another version of mpiexec on one of them?"
    )))
}

fn connect_to(address: SocketAddr, secret: Nonce) -> std::io::Result<Connection> {
    let mut tries = 1..TRIES;
    loop {
        let made = TcpStream::connect_timeout(&address, CONNECT);
        match made.and_then(|stream| Connection::made(stream, secret, CONNECT)) {
            // A head that many others connect to may have dropped us.
            Err(error)
                if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset)
                    && tries.next().is_some() =>
            {
                std::thread::sleep(PAUSE);
            }
            made => return made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_arguments() {
        let call = Call {
            addresses: vec!["10.0.0.1".parse().expect("one"), "fd00::1".parse().expect("one")],
            port: 4711,
            node: 3,
        };
        assert_eq!(Call::parse(&call.to_string()), Some(call));
        for wrong in ["", "1@2", "1@2@x", "a@2@::1"] {
            assert_eq!(Call::parse(wrong), None, "{wrong}");
        }
    }
}
