//! A connection between `mpiexec` and a daemon: TCP, proven and encrypted by the secret that the daemon got when it was started.
//!
//! It is the Noise protocol (noiseprotocol.org, revision 34), pattern NNpsk0: fresh keys for each connection, and a key that both sides knew
//! before. The daemon sends 48 bytes, the head answers with 48; each side sees by them that the other knows the secret. What follows are
//! records of a length (2 bytes) and so many encrypted bytes, whose contents, one after the other, are messages after their lengths (8 bytes).
//! Until the daemon's first record has come, which nobody can have heard before, the head takes no more than [`UNPROVEN`] bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use isthmus_engine::control::Nonce;
use isthmus_os::poll::{self, Interest};
use snow::{Builder, HandshakeState, TransportState};

use crate::wire::Message;

/// Of the Noise protocol.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Bytes of either side of the handshake: a public key and a tag.
const HANDSHAKE: usize = 48;
/// Bytes of a tag.
const TAG: usize = 16;
/// No record is longer, encrypted.
const RECORD: usize = 65_535;
/// Bytes that are taken from a side that has proven nothing.
pub const UNPROVEN: usize = 256;
/// No message is longer, and no more waits to be sent.
const LONGEST: usize = 64 << 20;

/// One connection, with what has come of a message, and what has not gone yet.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    noise: Noise,
    /// Encrypted: less than a record.
    come: Vec<u8>,
    /// Less than a message.
    clear: Vec<u8>,
    /// Encrypted.
    going: Vec<u8>,
    /// The other side has closed it, or sent nonsense.
    closed: bool,
    /// The other side takes nothing any more. What it said before may still come.
    deaf: bool,
}

#[derive(Debug)]
enum Noise {
    /// The other side has not begun.
    Awaited(Box<HandshakeState>),
    /// Both have; whether the other side has proven to be there now.
    Agreed(Box<TransportState>, bool),
    /// It went wrong.
    Over,
}

fn key(secret: Nonce) -> [u8; 32] {
    secret.derive("daemon")
}

fn builder(key: &[u8; 32]) -> io::Result<Builder<'_>> {
    let pattern = PATTERN.parse().map_err(io::Error::other)?;
    Builder::new(pattern).psk(0, key).map_err(io::Error::other)
}

/// The head's side of the handshake.
fn answer(mut responder: HandshakeState, said: &[u8]) -> Result<(TransportState, [u8; HANDSHAKE]), snow::Error> {
    let mut answer = [0; HANDSHAKE];
    responder.read_message(said, &mut [])?;
    responder.write_message(&[], &mut answer)?;
    Ok((responder.into_transport_mode()?, answer))
}

impl Connection {
    /// The head's side of one that somebody has made. Does not block.
    pub fn accepted(stream: TcpStream, secret: Nonce) -> io::Result<Self> {
        let key = key(secret);
        let responder = builder(&key)?.build_responder().map_err(io::Error::other)?;
        stream.set_nonblocking(true)?;
        Self::on(stream, Noise::Awaited(Box::new(responder)))
    }

    /// The daemon's side of one that it has made. Blocks until the head has proven that it knows the secret, for so long at most.
    ///
    /// # Errors
    /// Of kind `PermissionDenied` if somebody else answers, of the others if nobody does.
    pub fn made(stream: TcpStream, secret: Nonce, limit: Duration) -> io::Result<Self> {
        let key = key(secret);
        let mut initiator = builder(&key)?.build_initiator().map_err(io::Error::other)?;
        let mut packet = [0; HANDSHAKE];
        initiator.write_message(&[], &mut packet).map_err(io::Error::other)?;
        stream.set_read_timeout(Some(limit))?;
        (&stream).write_all(&packet)?;
        (&stream).read_exact(&mut packet)?;
        initiator
            .read_message(&packet, &mut [])
            .map_err(|_| io::Error::from(ErrorKind::PermissionDenied))?;
        let transport = initiator.into_transport_mode().map_err(io::Error::other)?;
        stream.set_nonblocking(true)?;
        // Its answer is to our fresh key, and so proves it; ours may be what somebody else has said before.
        Self::on(stream, Noise::Agreed(Box::new(transport), true))
    }

    fn on(stream: TcpStream, noise: Noise) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        isthmus_os::socket::keep_alive(stream.as_fd());
        Ok(Self {
            stream,
            noise,
            come: Vec::new(),
            clear: Vec::new(),
            going: Vec::new(),
            closed: false,
            deaf: false,
        })
    }

    /// Send one message, now or as soon as the network takes it ([`Self::interest`]). Does not block. False: the other side is gone.
    pub fn send(&mut self, message: &impl Message) -> bool {
        if self.deaf {
            return false;
        }
        let bytes = message.encode();
        let mut packet = (bytes.len() as u64).to_le_bytes().to_vec();
        packet.extend(bytes);
        for piece in packet.chunks(RECORD - TAG) {
            self.encrypt(piece);
        }
        self.go_on();
        // One that takes nothing, and for which ever more waits, is as good as gone.
        self.closed |= self.going.len() > LONGEST;
        !self.closed && !self.deaf
    }

    fn encrypt(&mut self, piece: &[u8]) {
        let Noise::Agreed(transport, _) = &mut self.noise else {
            self.closed = true;
            return;
        };
        let length = piece.len() + TAG;
        self.going.extend((length as u16).to_le_bytes());
        let at = self.going.len();
        self.going.resize(at + length, 0);
        self.closed |= transport.write_message(piece, &mut self.going[at..]).is_err();
    }

    /// Write what the network takes. Does not block.
    fn go_on(&mut self) {
        let mut gone = 0;
        while gone < self.going.len() && !self.closed {
            match self.stream.write(&self.going[gone..]) {
                Ok(length) => gone += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Its end is read, behind what it has said.
                Err(_) => {
                    self.deaf = true;
                    gone = self.going.len();
                }
            }
        }
        self.going.drain(..gone);
    }

    /// Blocks until all that was sent has gone to the network, for so long at most.
    pub fn flush(&mut self, limit: Duration) {
        let began = Instant::now();
        while !self.going.is_empty() && !self.closed && began.elapsed() < limit {
            let left = limit.saturating_sub(began.elapsed());
            // A poll that fails shows in the next write.
            let _ = poll::ready(&[(self.as_fd(), Interest::Write)], Some(left));
            self.go_on();
        }
    }

    /// The messages that have come: call it when the descriptor is ready for [`Self::interest`]. Does not block.
    pub fn receive<M: Message>(&mut self) -> Vec<M> {
        self.go_on();
        self.read();
        if matches!(self.noise, Noise::Awaited(_)) {
            self.shake_hands();
        }
        self.decrypt();
        let mut messages = Vec::new();
        while let Some((length, rest)) = self.clear.split_first_chunk::<8>() {
            let length = u64::from_le_bytes(*length) as usize;
            let message = rest.get(..length).and_then(M::decode);
            if length > LONGEST || rest.len() >= length && message.is_none() {
                self.closed = true;
                self.clear.clear();
                break;
            }
            let Some(message) = message else { break };
            messages.push(message);
            self.clear.drain(..8 + length);
        }
        messages
    }

    fn read(&mut self) {
        let most = match self.noise {
            Noise::Agreed(_, true) => 64 << 10,
            _ => UNPROVEN - self.come.len().min(UNPROVEN),
        };
        if most == 0 {
            self.closed = true;
            return;
        }
        let mut buffer = vec![0; most];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.closed = true,
            Ok(length) => self.come.extend(&buffer[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(_) => self.closed = true,
        }
    }

    /// The head's side of the handshake, once the daemon's has come.
    fn shake_hands(&mut self) {
        if self.come.len() < HANDSHAKE {
            return;
        }
        let Noise::Awaited(responder) = std::mem::replace(&mut self.noise, Noise::Over) else {
            return;
        };
        match answer(*responder, &self.come[..HANDSHAKE]) {
            Ok((transport, answer)) => {
                self.noise = Noise::Agreed(Box::new(transport), false);
                self.come.drain(..HANDSHAKE);
                self.going.extend(answer);
                self.go_on();
            }
            Err(_) => self.closed = true,
        }
    }

    /// Of the records that are whole.
    fn decrypt(&mut self) {
        let Noise::Agreed(transport, is_proven) = &mut self.noise else {
            return;
        };
        let mut at = 0;
        while let Some((length, rest)) = self.come[at..].split_first_chunk::<2>() {
            let length = usize::from(u16::from_le_bytes(*length));
            let Some(record) = rest.get(..length) else {
                // It would never be whole.
                self.closed |= !*is_proven && 2 + length > UNPROVEN;
                break;
            };
            let begin = self.clear.len();
            self.clear.resize(begin + length, 0);
            match transport.read_message(record, &mut self.clear[begin..]) {
                Ok(clear) => self.clear.truncate(begin + clear),
                Err(_) => {
                    self.clear.truncate(begin);
                    self.closed = true;
                    break;
                }
            }
            *is_proven = true;
            at += 2 + length;
        }
        self.come.drain(..at);
    }

    /// Is the other side gone?
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// What to wait for.
    pub fn interest(&self) -> Interest {
        match self.going.is_empty() {
            true => Interest::Read,
            false => Interest::ReadWrite,
        }
    }

    /// The address by which this side is reached.
    pub fn own_address(&self) -> Option<IpAddr> {
        self.stream.local_addr().ok().map(|address| address.ip())
    }

    /// The descriptor to wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::wire::{Card, ToHead, ToNode};

    const SECRET: Nonce = Nonce([7; 16]);
    const LIMIT: Duration = Duration::from_secs(10);

    fn streams() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let made = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
        (made, listener.accept().expect("the other end").0)
    }

    /// The messages that come until the connection ends or `count` messages are there.
    fn receive<M: Message>(connection: &mut Connection, count: usize) -> Vec<M> {
        let mut messages = Vec::new();
        while messages.len() < count && !connection.is_closed() {
            let ready = poll::ready(&[(connection.as_fd(), connection.interest())], Some(LIMIT));
            assert_eq!(ready, Ok(vec![true]), "nothing comes");
            messages.extend(connection.receive());
        }
        messages
    }

    fn pair(daemons: Nonce) -> (io::Result<Connection>, Connection) {
        let (made, accepted) = streams();
        let daemon = std::thread::spawn(move || Connection::made(made, daemons, LIMIT));
        let mut head = Connection::accepted(accepted, SECRET).expect("a socket");
        while matches!(head.noise, Noise::Awaited(_)) && !head.is_closed() {
            assert_eq!(poll::readable(&[head.as_fd()], Some(LIMIT)), Ok(vec![true]));
            assert!(head.receive::<ToHead>().is_empty());
        }
        if head.is_closed() {
            // As the head drops one that does not know the secret.
            let _ = head.stream.shutdown(std::net::Shutdown::Both);
        }
        (daemon.join().expect("no panic"), head)
    }

    #[test]
    fn what_a_daemon_said_before_it_ended_comes_though_it_takes_nothing() {
        let (daemon, mut head) = pair(SECRET);
        let mut daemon = daemon.expect("the same secret");
        assert!(daemon.send(&ToHead::Done(137)));
        drop(daemon);
        let began = Instant::now();
        while head.send(&ToNode::Signal(10)) {
            assert!(began.elapsed() < LIMIT, "the other side is gone");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!head.is_closed());
        let said = receive::<ToHead>(&mut head, 2);
        assert!(matches!(said[..], [ToHead::Done(137)]), "{said:?}");
        assert!(head.is_closed());
    }

    #[test]
    fn messages_of_any_length_cross() {
        let (daemon, mut head) = pair(SECRET);
        let mut daemon = daemon.expect("the same secret");
        let long = Card {
            turn: 0,
            rank: 1,
            name: (0..3 * RECORD).map(|at| at as u8).collect(),
        };
        let said = [ToHead::Ending(3), ToHead::Card(long.clone()), ToHead::Done(0)];
        let sender = std::thread::spawn(move || {
            said.iter().for_each(|message| assert!(daemon.send(message)));
            daemon.flush(LIMIT);
            daemon
        });
        let heard: Vec<ToHead> = receive(&mut head, 3);
        assert_eq!(heard, [ToHead::Ending(3), ToHead::Card(long), ToHead::Done(0)]);
        let mut daemon = sender.join().expect("no panic");
        assert!(head.send(&ToNode::SayWho));
        assert_eq!(receive::<ToNode>(&mut daemon, 1), [ToNode::SayWho]);
    }

    #[test]
    fn who_does_not_know_the_secret_gets_nowhere_on_either_side() {
        let (daemon, head) = pair(Nonce([8; 16]));
        assert!(daemon.is_err() && head.is_closed());
        // Somebody who answers with any bytes.
        let (made, mut other) = streams();
        let impostor = std::thread::spawn(move || {
            let mut said = [0; HANDSHAKE];
            other.read_exact(&mut said).expect("the daemon's side");
            other.write_all(&said).expect("room");
            (said, other)
        });
        let error = Connection::made(made, SECRET, LIMIT).expect_err("an impostor");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        let (said, _other) = impostor.join().expect("no panic");
        assert!(!said.windows(4).any(|bytes| bytes == [7; 4]), "the secret in the clear");
    }

    #[test]
    fn a_handshake_that_is_played_again_proves_nothing() {
        let (made, accepted) = streams();
        let key = key(SECRET);
        let mut initiator = builder(&key).expect("a pattern").build_initiator().expect("a key");
        let mut said = [0; HANDSHAKE];
        initiator.write_message(&[], &mut said).expect("48 bytes");
        let mut head = Connection::accepted(accepted, SECRET).expect("a socket");
        // What somebody else has said before, and what no record can be.
        (&made).write_all(&said).expect("room");
        (&made).write_all(&[30, 0]).expect("room");
        (&made).write_all(&[9; 30]).expect("room");
        assert!(receive::<ToHead>(&mut head, 1).is_empty() && head.is_closed());
    }

    #[test]
    fn an_unproven_peer_fills_no_memory() {
        let (made, accepted) = streams();
        let mut head = Connection::accepted(accepted, SECRET).expect("a socket");
        made.set_nonblocking(true).expect("a socket");
        let sender = std::thread::spawn(move || {
            let _ = (&made).write(&vec![1; 1 << 20]);
            made
        });
        let _made = sender.join().expect("no panic");
        assert!(receive::<ToHead>(&mut head, 1).is_empty() && head.is_closed());
        assert!(head.come.capacity() + head.clear.capacity() <= 2 * UNPROVEN);
    }

    #[test]
    fn a_side_that_reads_nothing_blocks_nobody() {
        let (daemon, mut head) = pair(SECRET);
        let mut daemon = daemon.expect("the same secret");
        let card = Card {
            turn: 0,
            rank: 1,
            name: vec![5; 1 << 20],
        };
        // More than sockets take.
        let sent: Vec<bool> = (0..32).map(|_| head.send(&ToNode::Card(card.clone()))).collect();
        assert!(sent.iter().all(|sent| *sent) && head.interest() == Interest::ReadWrite);
        let sender = std::thread::spawn(move || {
            head.flush(LIMIT);
            head
        });
        assert_eq!(receive::<ToNode>(&mut daemon, 32).len(), 32);
        assert_eq!(sender.join().expect("no panic").interest(), Interest::Read);
    }

    #[test]
    fn what_waits_for_a_side_that_reads_nothing_is_bounded() {
        let (daemon, mut head) = pair(SECRET);
        let card = Card {
            turn: 0,
            rank: 1,
            name: vec![5; 8 << 20],
        };
        assert!((0..32).any(|_| !head.send(&ToNode::Card(card.clone()))) && head.is_closed());
        drop(daemon);
    }

    #[test]
    fn nothing_crosses_in_the_clear() {
        let (mut daemon, wire) = {
            let (made, mut accepted) = streams();
            let daemon = std::thread::spawn(move || Connection::made(made, SECRET, LIMIT));
            let key = key(SECRET);
            let responder = builder(&key).expect("a pattern").build_responder().expect("a key");
            let mut said = [0; HANDSHAKE];
            accepted.read_exact(&mut said).expect("the daemon's side");
            let (_, answered) = answer(responder, &said).expect("the same secret");
            accepted.write_all(&answered).expect("room");
            (daemon.join().expect("no panic").expect("the same secret"), accepted)
        };
        let text = b"TOKEN=of the user";
        let card = Card {
            turn: 0,
            rank: 1,
            name: text.to_vec(),
        };
        assert!(daemon.send(&ToHead::Card(card)));
        drop(daemon);
        let mut crossed = Vec::new();
        let _ = (&wire).read_to_end(&mut crossed).expect("what crossed");
        assert!(crossed.len() > text.len() && !crossed.windows(6).any(|bytes| bytes == b"TOKEN="));
    }
}
