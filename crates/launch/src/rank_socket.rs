//! The abstract socket by which ranks join a job ([`isthmus_engine::control`]), and the connections that have not joined yet.
//!
//! Names of abstract sockets can be listed by everybody, and every user of the machine can connect. So a round takes a bounded number of
//! connections, a flood of them pauses the socket, and the number of unproven ones is bounded. The loop of `mpiexec`
//! serves deaths, signals and time limits in between.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use isthmus_engine::control::{Nonce, OF_LAUNCHER, OF_RANK, Proof, ToLauncher, ToRank};
use isthmus_os::socket;

use crate::failure::{self, Failure};
use crate::lifeline::{self, Lifeline};
use crate::process_tree;

/// Connections that a round takes at most.
const A_ROUND: usize = 64;
/// How long the socket stays closed after a round in which a connection came to nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// How long it stays closed where no descriptor is left.
const FULL: Duration = Duration::from_millis(100);
/// Connections of other users that have not joined; and how many more than ranks there are of all that have not.
const MOST: usize = 64;

/// The socket that ranks connect to. It has a name, but in no file system.
#[derive(Debug)]
pub struct RankSocket {
    listener: OwnedFd,
    /// What a rank proves, and what we do.
    proofs: [Proof; 2],
    ranks: u32,
    unproven: Vec<UnprovenPeer>,
    closed_until: Option<Instant>,
}

/// The kernel lets nobody in, and never will (an `errno`).
#[derive(Debug, PartialEq, Eq)]
pub struct Refused(pub i32);

impl RankSocket {
    /// Open the socket of a job on a node of it.
    pub fn open(nonce: Nonce, node: u32, ranks: u32) -> failure::Result<Self> {
        let listener =
            socket::listen(&nonce.socket_name(node)).map_err(|error| Failure::machine("listen to the ranks", error))?;
        Ok(Self {
            listener,
            proofs: [OF_RANK, OF_LAUNCHER].map(|purpose| nonce.proof(purpose)),
            ranks,
            unproven: Vec::new(),
            closed_until: None,
        })
    }

    /// Take what has connected, and hear what connections say: the ranks that ask to join. All others are refused once they speak. Does not
    /// block, and takes a bounded time.
    ///
    /// # Errors
    /// If the kernel refuses for good. Where no descriptor is left connections go on waiting.
    pub fn handle(&mut self) -> Result<Vec<(u32, UnprovenPeer)>, Refused> {
        let mut taken = 0;
        while self.is_open() && taken < A_ROUND {
            match socket::accept(&self.listener) {
                Ok(None) => break,
                Ok(Some(socket)) => self.take(socket),
                Err(error) if is_final(error.errno) => return Err(Refused(error.errno)),
                // The oldest silent connection makes room.
                Err(_) if self.make_room() => {}
                Err(_) => self.close_for(FULL),
            }
            taken += 1;
        }
        let mut joining = Vec::new();
        let mut is_wasted = taken == A_ROUND;
        for peer in std::mem::take(&mut self.unproven) {
            match self.listen(&peer) {
                None => self.unproven.push(peer),
                Some(Some(rank)) => joining.push((rank, peer)),
                Some(None) => {
                    peer.refuse();
                    is_wasted |= taken > 0;
                }
            }
        }
        if is_wasted && joining.is_empty() {
            self.close_for(PAUSE);
        }
        Ok(joining)
    }

    fn take(&mut self, socket: OwnedFd) {
        let Ok(credentials) = socket::credentials(&socket) else {
            return;
        };
        let is_own = credentials.uid == socket::own_uid();
        let others = self.unproven.iter().filter(|peer| !peer.is_own).count();
        if !is_own && others >= MOST || self.unproven.len() >= self.ranks as usize + MOST {
            self.make_room();
        }
        self.unproven.push(UnprovenPeer {
            socket,
            pid: credentials.pid,
            is_own,
            proof: self.proofs[1],
        });
    }

    /// Drop a connection that has not joined, of another user if there is one. False: there is none.
    fn make_room(&mut self) -> bool {
        let of_others = self.unproven.iter().position(|peer| !peer.is_own);
        let leaves = of_others.unwrap_or(0) < self.unproven.len();
        if leaves {
            self.unproven.remove(of_others.unwrap_or(0)).refuse();
        }
        leaves
    }

    /// What the peer says: the rank that it is, if it proves that; `None` while it says nothing.
    #[expect(clippy::option_option, reason = "nothing is said yet, or one of two answers")]
    fn listen(&self, peer: &UnprovenPeer) -> Option<Option<u32>> {
        Some(match lifeline::receive(&peer.socket)? {
            // A wrapper may have changed a rank's user. Looked for last: it takes a walk through /proc.
            Some(ToLauncher::Hello { rank, proof, .. })
                if proof == self.proofs[0]
                    && rank < self.ranks
                    && (peer.is_own || process_tree::is_descendant(peer.pid)) =>
            {
                Some(rank)
            }
            _ => None,
        })
    }

    fn close_for(&mut self, pause: Duration) {
        self.closed_until = Some(Instant::now() + pause);
    }

    fn is_open(&mut self) -> bool {
        self.closed_until = self.closed_until.filter(|until| *until > Instant::now());
        self.closed_until.is_none()
    }

    /// When it opens again, if it is closed.
    pub fn opens(&self) -> Option<Instant> {
        self.closed_until.filter(|until| *until > Instant::now())
    }

    /// The descriptors to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.opens().is_none().then(|| self.listener.as_fd());
        let unproven = self.unproven.iter().map(|peer| peer.socket.as_fd());
        listener.into_iter().chain(unproven)
    }
}

/// Does the kernel refuse the call for good?
fn is_final(errno: i32) -> bool {
    matches!(
        errno,
        libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP
    )
}

/// A process that has connected and not joined.
#[derive(Debug)]
pub struct UnprovenPeer {
    socket: OwnedFd,
    pid: u32,
    /// Of the user that `mpiexec` runs as.
    is_own: bool,
    /// That we are the launcher, for it to see when it joins.
    proof: Proof,
}

impl UnprovenPeer {
    /// It joins: hand over the job segment, and its huge pages if it has any.
    pub fn welcome(self, size: u32, segment: &OwnedFd, pool: Option<&OwnedFd>) -> Lifeline {
        let welcome = ToRank::Welcome {
            size,
            launcher_pid: std::process::id(),
            pool: pool.is_some(),
            proof: self.proof,
        };
        // A process that died meanwhile shows as the end of its lifeline.
        let _ = socket::send(&self.socket, &welcome.encode(), Some(segment));
        if pool.is_some() {
            let _ = socket::send(&self.socket, &ToRank::Pool.encode(), pool);
        }
        Lifeline::of(self.socket, self.pid)
    }

    /// It has no place in the job, and shall be a singleton.
    pub fn refuse(self) {
        // One that has gone needs no answer.
        let _ = socket::send(&self.socket, &ToRank::Refused.encode(), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks_socket(ranks: u32) -> (RankSocket, Nonce) {
        let mut nonce = Nonce([0; 16]);
        isthmus_os::random::fill(&mut nonce.0).expect("random bytes");
        (RankSocket::open(nonce, 0, ranks).expect("a socket"), nonce)
    }

    fn connect(nonce: Nonce) -> OwnedFd {
        socket::connect(&nonce.socket_name(0)).expect("a connection")
    }

    fn hello(nonce: Nonce, rank: u32, proof: Proof) -> OwnedFd {
        let made = connect(nonce);
        let hello = ToLauncher::Hello { rank, pid: 0, proof };
        socket::send(&made, &hello.encode(), None).expect("room");
        made
    }

    /// How many connections wait to be taken.
    fn waiting(ranks_socket: &RankSocket) -> usize {
        std::iter::from_fn(|| socket::accept(&ranks_socket.listener).ok().flatten()).count()
    }

    #[test]
    fn a_flood_is_taken_in_rounds_with_pauses() {
        let (mut ranks_socket, nonce) = ranks_socket(2);
        (0..3 * A_ROUND).for_each(|_| drop(connect(nonce)));
        assert!(ranks_socket.handle().expect("an open socket").is_empty());
        assert!(ranks_socket.opens().is_some(), "a pause");
        assert!(ranks_socket.handle().expect("an open socket").is_empty());
        assert_eq!(waiting(&ranks_socket), 2 * A_ROUND, "none is taken in the pause");
    }

    #[test]
    fn a_rank_joins_behind_a_flood() {
        let (mut ranks_socket, nonce) = ranks_socket(2);
        (0..3 * A_ROUND).for_each(|_| drop(connect(nonce)));
        let _rank = hello(nonce, 1, nonce.proof(OF_RANK));
        let joined = std::iter::repeat_with(|| {
            std::thread::sleep(PAUSE);
            ranks_socket.handle().expect("an open socket")
        })
        .take(100)
        .find(|joining| !joining.is_empty());
        let ranks: Vec<u32> = joined.into_iter().flatten().map(|(rank, _)| rank).collect();
        assert_eq!(ranks, [1]);
    }

    #[test]
    fn the_silent_are_bounded_in_number() {
        let (mut ranks_socket, nonce) = ranks_socket(3);
        let silent: Vec<OwnedFd> = (0..2 * A_ROUND).map(|_| connect(nonce)).collect();
        for _ in 0..10 {
            std::thread::sleep(PAUSE);
            assert!(ranks_socket.handle().expect("an open socket").is_empty());
        }
        assert_eq!((ranks_socket.unproven.len(), waiting(&ranks_socket)), (3 + MOST, 0));
        drop(silent);
    }

    #[test]
    fn many_ranks_join_in_one_round() {
        let (mut ranks_socket, nonce) = ranks_socket(A_ROUND as u32 - 1);
        let _ranks: Vec<OwnedFd> = (0..ranks_socket.ranks)
            .map(|rank| hello(nonce, rank, nonce.proof(OF_RANK)))
            .collect();
        assert_eq!(ranks_socket.handle().expect("an open socket").len(), A_ROUND - 1);
        assert!(ranks_socket.opens().is_none(), "no pause");
    }

    #[test]
    fn who_does_not_know_the_nonce_is_refused() {
        let (mut ranks_socket, nonce) = ranks_socket(1);
        let _made = hello(nonce, 0, Nonce([7; 16]).proof(OF_RANK));
        assert!(ranks_socket.handle().expect("an open socket").is_empty() && ranks_socket.unproven.is_empty());
    }
}
