//! The lock of one member of a window (MPI-5.0 §12.5.3), in the member's part: taken with others or alone, given back, and who is woken
//! then. Origins of the member's node do this themselves; for those on other nodes the member does it (`remote.rs`).

use std::sync::atomic::Ordering;

use isthmus_engine::rma;

use super::control::{MemberPart, Plan};
use super::epoch::{EXCLUSIVE, SHARED};
use crate::group::Group;

/// The lock of `owner`, as the calling process, which is on the owner's node, reaches it.
#[derive(Clone, Copy)]
pub(super) struct Lock<'a> {
    pub part: MemberPart,
    pub plan: Plan,
    pub group: &'a Group,
    pub owner: usize,
    /// The calling process.
    pub me: usize,
}

impl Lock<'_> {
    /// For `origin`, show that it shares the lock; taken back if somebody has it alone.
    pub fn try_shared(&self, origin: usize) -> bool {
        let flag = self.part.shared(self.plan, origin);
        // SYNC: window-lock
        flag.swap(1, Ordering::SeqCst);
        let holder = self.part.exclusive().load(Ordering::SeqCst);
        if holder == 0 {
            return true;
        }
        flag.store(0, Ordering::SeqCst);
        // It may have seen the flag, and wait for us.
        self.wake(holder as usize - 1);
        false
    }

    /// For `origin`, take the word that names the exclusive holder.
    pub fn try_exclusive(&self, origin: usize) -> bool {
        // SYNC: window-lock
        self.part
            .exclusive()
            .compare_exchange(0, origin as u32 + 1, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Has `origin` that word?
    pub fn is_taken_by(&self, origin: usize) -> bool {
        self.part.exclusive().load(Ordering::Relaxed) == origin as u32 + 1
    }

    /// Does nobody share the lock whose exclusive word is held, but the dead?
    pub fn is_alone(&self, mut is_dead: impl FnMut(usize) -> bool) -> bool {
        (0..self.group.size() as usize).all(|member| {
            // SYNC: window-lock
            self.part.shared(self.plan, member).load(Ordering::SeqCst) == 0 || is_dead(member)
        })
    }

    /// A member, not the calling one, that has the lock, alone or with others.
    pub fn holder(&self) -> Option<usize> {
        let alone = self.part.exclusive().load(Ordering::Relaxed) as usize;
        let shares = |member: &usize| self.part.shared(self.plan, *member).load(Ordering::Relaxed) != 0;
        let mut members = 0..self.group.size() as usize;
        match alone.checked_sub(1).filter(|&member| member != self.me) {
            None => members.find(|member| *member != self.me && shares(member)),
            alone => alone,
        }
    }

    /// If who has the lock alone has died with it, it is free from now on, and that is said. True: try again.
    pub fn take_over(&self, mut is_dead: impl FnMut(usize) -> bool, label: impl FnOnce() -> String) -> bool {
        let word = self.part.exclusive();
        let holder = word.load(Ordering::Relaxed);
        if holder == 0 {
            return true;
        }
        let member = holder as usize - 1;
        if member >= self.group.size() as usize || !is_dead(member) {
            return false;
        }
        let freed = word
            .compare_exchange(holder, 0, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok();
        if freed {
            isthmus_os::process::say(&format!(
                "isthmus: rank {member} died while it had a lock on {} alone; the lock is free again, and what it guards may be half changed",
                label()
            ));
        }
        freed
    }

    /// `origin` gives the lock back.
    pub fn release(&self, origin: usize, how: u8) {
        match how {
            // SYNC: window-lock
            SHARED => self.part.shared(self.plan, origin).store(0, Ordering::Release),
            EXCLUSIVE => self.part.exclusive().store(0, Ordering::Release),
            _ => return,
        }
        rma::published();
        for (index, word) in self.part.waiters(self.plan).enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                self.wake(index * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Wake whoever waits for this member.
    fn wake(&self, member: usize) {
        let place = |member: usize| self.group.peer(member as i32);
        let (Some(peer), Some(owner)) = (place(member), place(self.owner)) else {
            return;
        };
        // The owner waits for those on other nodes.
        let (member, peer) = match rma::node_of(peer) == rma::node_of(owner) {
            true => (member, peer),
            false => (self.owner, owner),
        };
        if member != self.me {
            // There is such a process.
            let _ = rma::wake(peer);
        }
    }
}
