//! The connection of a rank that has joined: the launcher's side of the control channel ([`isthmus_engine::control`]).

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::Instant;

use isthmus_engine::control::{Contribution, MAX_PACKET, Revocation, ToLauncher, ToRank};
use isthmus_os::pidfd::PidFd;
use isthmus_os::socket::{self, Received};

/// The connection of a rank that has joined.
#[derive(Debug)]
pub struct Lifeline {
    socket: OwnedFd,
    /// Says that the process has ended even where a child made by `fork` holds the socket open. Absent on old kernels.
    process: Option<PidFd>,
    /// It has said so.
    gone: bool,
    /// How other nodes reach it, once it has said so, until that is passed on.
    pub card: Option<Vec<u8>>,
    /// Ranks of other nodes to which it has no way any more, each with a line for the user, until they are declared failed.
    pub lost: Vec<(u32, String)>,
    /// What it contributes to agreements of ranks on several nodes, until that is passed on.
    pub contributions: Vec<Contribution>,
    /// What it has revoked that ranks on other nodes have to hear of, until that is passed on.
    pub revocations: Vec<Revocation>,
    /// Packets for it that found its socket full, in their order.
    unsent: VecDeque<Vec<u8>>,
    /// The process that called `MPI_Init`: the one we started, or one below it.
    pub pid: u32,
    /// MPI is finalized: the end of the process is no death.
    pub finalized: bool,
    /// When we saw the end, of connection or process.
    pub ended: Option<Instant>,
}

/// `MPI_Abort`.
#[derive(Debug)]
pub struct Abort {
    /// Exit code of the job.
    pub code: i32,
    /// Only these ranks are to end; empty: all.
    pub members: Vec<u32>,
    /// One line for the user, or empty.
    pub message: String,
}

impl Lifeline {
    /// Of this process, which has joined by this connection.
    pub fn of(socket: OwnedFd, pid: u32) -> Self {
        Self {
            process: PidFd::open(pid).ok(),
            socket,
            pid,
            gone: false,
            card: None,
            lost: Vec::new(),
            contributions: Vec::new(),
            revocations: Vec::new(),
            unsent: VecDeque::new(),
            finalized: false,
            ended: None,
        }
    }

    /// Take in all that the rank has said; an abort ends that. Does not block.
    pub fn handle(&mut self) -> Option<Abort> {
        // Looked at first: what a process said before it ended can be read after it has.
        self.gone = self.gone || self.process.as_ref().is_some_and(has_ended);
        if self.ended.is_some() {
            return None;
        }
        loop {
            match receive(&self.socket) {
                None => break,
                Some(Some(ToLauncher::Finalized)) => self.finalized = true,
                Some(Some(ToLauncher::Resumed)) => self.finalized = false,
                Some(Some(ToLauncher::Abort { code, members, message })) => {
                    return Some(Abort { code, members, message });
                }
                Some(Some(ToLauncher::Card { name })) => self.card = Some(name),
                Some(Some(ToLauncher::Lost { rank, message })) => self.lost.push((rank, message)),
                Some(Some(ToLauncher::Contribute(contribution))) => self.contributions.push(contribution),
                Some(Some(ToLauncher::Revoke(revocation))) => self.revocations.push(revocation),
                Some(Some(ToLauncher::Hello { .. })) => {}
                Some(None) => {
                    self.ended = Some(Instant::now());
                    return None;
                }
            }
        }
        if self.gone {
            self.ended = Some(Instant::now());
        }
        None
    }

    /// Tell the rank something; it is to be alerted then. What finds its socket full is kept, for [`Self::send_unsent`]. Does not block.
    pub fn tell(&mut self, message: &ToRank) {
        self.unsent.push_back(message.encode());
        self.send_unsent();
    }

    /// Send what is kept, as far as there is room. True: some of it has been sent, and the rank is to be alerted. Does not block.
    pub fn send_unsent(&mut self) -> bool {
        let before = self.unsent.len();
        while let Some(packet) = self.unsent.front() {
            match socket::send(&self.socket, packet, None) {
                Err(error) if error.errno == libc::EAGAIN => break,
                // One that has gone has no use for it.
                Ok(()) | Err(_) => self.unsent.pop_front(),
            };
        }
        self.unsent.len() < before
    }

    /// Is there something that it has not been told, since its socket was full?
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() && self.ended.is_none()
    }

    /// Had its process ended when it was last attended to, as far as the kernel tells?
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Does the kernel tell when its process has ended?
    pub fn can_tell(&self) -> bool {
        self.process.is_some()
    }

    /// How its process ended, if the kernel tells.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.process.as_ref()?.exit_status()
    }

    /// The descriptors to wait for, until the ends of both connection and process are seen.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let socket = self.ended.is_none().then(|| self.socket.as_fd());
        let process = self.process.as_ref().filter(|_| !self.gone).map(PidFd::as_fd);
        socket.into_iter().chain(process)
    }
}

fn has_ended(process: &PidFd) -> bool {
    let polled = isthmus_os::poll::readable(&[process.as_fd()], Some(std::time::Duration::ZERO));
    polled.is_ok_and(|ready| ready == [true])
}

/// The next packet: `None` if there is none yet, `Some(None)` at the end of the connection or of good manners.
pub fn receive(socket: &OwnedFd) -> Option<Option<ToLauncher>> {
    let mut buffer = [0; MAX_PACKET];
    match socket::receive(socket, &mut buffer) {
        Ok(Received::Nothing) => None,
        Ok(Received::Packet(length, _)) => Some(ToLauncher::decode(&buffer[..length])),
        Ok(Received::Closed) | Err(_) => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank_socket::RankSocket;
    use isthmus_engine::Agreed;
    use isthmus_engine::control::{Decision, Nonce, OF_RANK};
    use proptest::prelude::*;

    /// More packets than a socket takes are kept, and arrive once there is room.
    #[test]
    fn a_full_socket_loses_nothing() {
        let mut nonce = Nonce([0; 16]);
        isthmus_os::random::fill(&mut nonce.0).expect("random bytes");
        let mut ranks_socket = RankSocket::open(nonce, 0, 1).expect("a name of our own");
        let rank = socket::connect(&nonce.socket_name(0)).expect("it is open");
        let hello = ToLauncher::Hello {
            rank: 0,
            pid: 0,
            proof: nonce.proof(OF_RANK),
        };
        socket::send(&rank, &hello.encode(), None).expect("room");
        let (_, peer) = ranks_socket.handle().expect("descriptors").pop().expect("a rank joins");
        let segment = std::fs::File::open("/dev/null").expect("everywhere").into();
        let mut lifeline = peer.welcome(1, &segment, None);
        let said = |turn| {
            let agreed = Agreed {
                value: 0,
                failures: 0,
                unacknowledged: false,
            };
            ToRank::Decided(Decision { key: 1, turn, agreed })
        };
        (0..2000).for_each(|turn| lifeline.tell(&said(turn)));
        assert!(lifeline.has_unsent(), "a socket takes that much");
        let mut buffer = [0; MAX_PACKET];
        let mut next = || match socket::receive(&rank, &mut buffer) {
            Ok(Received::Packet(length, _)) => ToRank::decode(&buffer[..length]),
            other => panic!("{other:?}"),
        };
        assert!(matches!(next(), Some(ToRank::Welcome { .. })));
        for turn in 0..2000 {
            assert_eq!(next(), Some(said(turn)));
            lifeline.send_unsent();
        }
        assert!(!lifeline.has_unsent());
    }

    proptest! {
        /// No packet, whole, cut or made up, is more than refused.
        #[test]
        fn any_packet(bytes in proptest::collection::vec(any::<u8>(), 0..64), kind in 0u8..10, magic in any::<bool>()) {
            let mut packet = ToLauncher::Finalized.encode();
            if magic {
                packet[8] = kind;
                packet.extend(&bytes);
            } else {
                packet = bytes;
            }
            if let Some(message) = ToLauncher::decode(&packet) {
                prop_assert!(message.encode().len() <= MAX_PACKET);
            }
            let _ = ToRank::decode(&packet);
        }

        /// Whatever a rank says before it dies arrives as it was, up to the longest packet.
        #[test]
        fn aborts_arrive(code in any::<i32>(), message in "[ -~]{0,1200}") {
            let said = ToLauncher::Abort { code, members: vec![1], message: message.clone() };
            match ToLauncher::decode(&said.encode()) {
                Some(ToLauncher::Abort { code: heard, message: text, .. }) => {
                    prop_assert_eq!(heard, code);
                    prop_assert!(message.starts_with(&text) && (text == message || text.len() > 900));
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
