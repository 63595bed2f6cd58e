//! A connection of this process with itself through the network stack (TCP on 127.0.0.1), one end of which may go to another
//! process.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use crate::error::{Error, Result};

/// Connections of others that may come between before we give up: anybody may connect to a port.
const STRANGERS: u32 = 16;

/// Two ends of one connection, which never block and delay nothing. Waits for nobody else.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    let listener = of("bind", TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = of("getsockname", listener.local_addr())?;
    let ours = of("connect", TcpStream::connect(address))?;
    let expected = of("getsockname", ours.local_addr())?;
    for _ in 0..STRANGERS {
        let (theirs, from) = of("accept", listener.accept())?;
        if from == expected {
            for end in [&ours, &theirs] {
                of("setsockopt(TCP_NODELAY)", end.set_nodelay(true))?;
                of("fcntl", end.set_nonblocking(true))?;
            }
            return Ok((ours.into(), theirs.into()));
        }
    }
    Err(Error {
        call: "accept",
        errno: libc::ECONNREFUSED,
    })
}

fn of<T>(call: &'static str, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| Error {
        call,
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn what_goes_in_comes_out() {
        let (ours, theirs) = pair().expect("a loopback device");
        let (mut ours, mut theirs) = (TcpStream::from(ours), TcpStream::from(theirs));
        theirs.set_nonblocking(false).expect("a socket");
        ours.write_all(b"across").expect("room");
        let mut bytes = [0; 6];
        theirs.read_exact(&mut bytes).expect("the same");
        assert_eq!(&bytes, b"across");
    }
}
