//! Messages among the members of a group, and collectives made of them.
//!
//! Barrier: that of [`isthmus_collective`], on shared memory where it can be. All-gather: dissemination (J. Bruck et al., "Efficient Algorithms for All-to-All Communications", 1997). Broadcast and reduction: a
//! binomial tree. Everything blocks until this process's part is done.

use isthmus_collective::{Team, failure};
use isthmus_engine::{ContextId, Entered, Mode, OpId, Outcome, Peer, Posting, enter};

use crate::error::{Error, Result, argument};

/// Bytes that a reduction combines at a time, at most, and so the memory that it takes for another member's. A multiple of every element.
pub(crate) const AT_A_TIME: usize = 1 << 20;

/// Tags of the collectives, in a message space that nothing else uses. Messages of a pair do not overtake one another, so
/// calls that follow one another need none of their own.
#[derive(Debug, Clone, Copy)]
enum Tag {
    Gather,
    Broadcast,
    Reduce,
}

/// The members of a group as one of them sees them, and their message space.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    members: &'a [Peer],
    me: usize,
    context: ContextId,
    team: &'a Team,
}

impl<'a> Link<'a> {
    /// Among `members`, of which the calling process is number `me`, and which are that team.
    pub fn new(members: &'a [Peer], me: usize, context: ContextId, team: &'a Team) -> Self {
        Self {
            members,
            me,
            context,
            team,
        }
    }

    /// Our number.
    pub fn me(&self) -> usize {
        self.me
    }

    /// The engine's name of a member.
    pub fn peer(&self, member: usize) -> Peer {
        self.members[member]
    }

    /// How many members there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    fn start_sending(&self, inside: &mut Entered, to: usize, tag: i32, data: &[u8]) -> Result<Option<OpId>> {
        let posting = Posting {
            context: self.context,
            source: self.me as i32,
            tag,
        };
        // SAFETY: callers wait for the operation before the borrow of `data` ends.
        let op = unsafe { inside.send(Mode::Standard, self.members[to], posting, data.as_ptr(), data.len()) }?;
        Ok(op)
    }

    fn start_receiving(&self, inside: &mut Entered, from: Option<usize>, tag: i32, buffer: &mut [u8]) -> Result<OpId> {
        let from = from.map(|from| self.members[from]);
        // SAFETY: callers wait for the operation before the borrow of `buffer` ends.
        let op = unsafe { inside.receive(from, self.context, Some(tag), buffer.as_mut_ptr(), buffer.len()) }?;
        Ok(op)
    }

    fn finish(&self, inside: &mut Entered, op: OpId, with: usize) -> Result<Outcome> {
        let outcome = inside.wait_for_operations(|inside| inside.take(op))?;
        self.judge(inside, &outcome, with)?;
        Ok(outcome)
    }

    /// Wait for messages of a call that all members make. It ends when any of them has failed: others, who have heard of that, leave.
    fn settle(&self, inside: &mut Entered, ops: &[Option<OpId>], with: [usize; 2]) -> Result<()> {
        let mut outcomes = Vec::with_capacity(ops.len());
        let settled = self.team.settle(inside, ops, |at, outcome| {
            outcomes.push((at, *outcome));
            Ok(())
        });
        for (at, outcome) in &outcomes {
            self.judge(inside, outcome, with[*at])?;
        }
        settled.map_err(|error| match self.first_failed(inside) {
            Some(failed) => Error::Failed(failed),
            None => Error::Collective(error.to_string()),
        })
    }

    fn judge(&self, inside: &mut Entered, outcome: &Outcome, with: usize) -> Result<()> {
        if outcome.peer_failed | outcome.revoked {
            return Err(Error::Failed(self.first_failed(inside).unwrap_or(with)));
        }
        if outcome.truncated {
            return Err(argument(format!(
                "a message of {} bytes from process {with} is longer than the buffer",
                outcome.arrival.bytes
            )));
        }
        Ok(())
    }

    /// The first member that failed; not one that left since, because it heard of that.
    fn first_failed(&self, inside: &mut Entered) -> Option<usize> {
        let failed = (0..inside.failures()).filter_map(|index| inside.failure(index));
        let failed: Vec<Peer> = failed.filter(|(_, in_peace)| !in_peace).map(|(peer, _)| peer).collect();
        failed
            .iter()
            .find_map(|peer| self.members.iter().position(|member| member == peer))
    }

    /// Send to a member. Blocks until `data` may change.
    ///
    /// # Errors
    /// It has failed, or there is no memory.
    pub fn send(&self, to: usize, tag: i32, data: &[u8]) -> Result<()> {
        let mut inside = enter();
        if let Some(op) = self.start_sending(&mut inside, to, tag, data)? {
            self.finish(&mut inside, op, to)?;
        }
        Ok(())
    }

    /// Receive from a member, or from any: the sender, and the number of bytes. Blocks until the message is there.
    ///
    /// # Errors
    /// The sender has failed, or the message is longer than the buffer.
    pub fn receive(&self, from: Option<usize>, tag: i32, buffer: &mut [u8]) -> Result<(usize, usize)> {
        let mut inside = enter();
        let op = self.start_receiving(&mut inside, from, tag, buffer)?;
        let arrival = self.finish(&mut inside, op, from.unwrap_or(0))?.arrival;
        Ok((arrival.source as usize, arrival.bytes as usize))
    }

    /// Receive from a member in a call that `others` make: it ends when one of these has failed, since members that have heard of that leave
    /// the call. Blocks until the message is there.
    ///
    /// # Errors
    /// One of them has failed.
    pub fn receive_among(&self, others: &[Peer], from: usize, tag: i32, buffer: &mut [u8]) -> Result<()> {
        let mut inside = enter();
        let op = self.start_receiving(&mut inside, Some(from), tag, buffer)?;
        let check = |inside: &mut Entered| {
            let dead = others.iter().find(|peer| inside.has_failed(**peer));
            dead.map_or(Ok(()), |peer| Err(failure::failed(*peer)))
        };
        let mut outcome = None;
        let settled = self.team.settle_while(&mut inside, &[Some(op)], check, |_, ended| {
            outcome = Some(*ended);
            Ok(())
        });
        if let Some(outcome) = &outcome {
            self.judge(&mut inside, outcome, from)?;
        }
        settled.map_err(|_| Error::Failed(self.first_failed(&mut inside).unwrap_or(from)))
    }

    /// Send to one member while receiving from another, in a call that all make.
    fn exchange(&self, tag: Tag, to: usize, data: &[u8], from: usize, buffer: &mut [u8]) -> Result<()> {
        let mut inside = enter();
        let receiving = self.start_receiving(&mut inside, Some(from), tag as i32, buffer)?;
        let sending = self.start_sending(&mut inside, to, tag as i32, data);
        let ops = [Some(receiving), sending.as_ref().ok().copied().flatten()];
        let settled = self.settle(&mut inside, &ops, [from, to]);
        sending.and(settled)
    }

    /// Give a member its part in a call that all make.
    fn hand(&self, to: usize, tag: Tag, data: &[u8]) -> Result<()> {
        let mut inside = enter();
        let op = self.start_sending(&mut inside, to, tag as i32, data)?;
        self.settle(&mut inside, &[op], [to; 2])
    }

    /// Get a member's part in a call that all make.
    fn get(&self, from: usize, tag: Tag, buffer: &mut [u8]) -> Result<()> {
        let mut inside = enter();
        let op = self.start_receiving(&mut inside, Some(from), tag as i32, buffer)?;
        self.settle(&mut inside, &[Some(op)], [from; 2])
    }

    /// Wait for all members.
    ///
    /// # Errors
    /// A member has failed.
    pub fn barrier(&self) -> Result<()> {
        self.team
            .barrier()
            .map_err(|error| Error::Collective(error.to_string()))
    }

    /// `data` of the member `root` goes to all.
    ///
    /// # Errors
    /// A member has failed.
    pub fn broadcast(&self, data: &mut [u8], root: usize) -> Result<()> {
        let size = self.size();
        let relative = (self.me + size - root) % size;
        let mut mask = 1;
        while mask < size && relative & mask == 0 {
            mask <<= 1;
        }
        if relative != 0 {
            let parent = (relative - mask + root) % size;
            self.get(parent, Tag::Broadcast, data)?;
        }
        while mask > 1 {
            mask >>= 1;
            if relative + mask < size {
                self.hand((relative + mask + root) % size, Tag::Broadcast, data)?;
            }
        }
        Ok(())
    }

    /// What every member has, of the same length, in the order of members.
    ///
    /// # Errors
    /// A member has failed.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>> {
        let (size, length) = (self.size(), mine.len());
        let mut all = vec![0; size * length];
        all[..length].copy_from_slice(mine);
        let mut have = 1;
        while have < size {
            let count = have.min(size - have);
            let to = (self.me + size - have) % size;
            let from = (self.me + have) % size;
            let (old, new) = all.split_at_mut(have * length);
            self.exchange(
                Tag::Gather,
                to,
                &old[..count * length],
                from,
                &mut new[..count * length],
            )?;
            have += count;
        }
        // The first is ours, and then those that come after us.
        all.rotate_right(self.me * length);
        Ok(all)
    }

    /// Combine what all members have; all get the same result. `combine(inout, other)` must not depend on the order of
    /// members.
    ///
    /// # Errors
    /// A member has failed.
    pub fn all_reduce(&self, data: &mut [u8], mut combine: impl FnMut(&mut [u8], &[u8])) -> Result<()> {
        let mut other = Vec::new();
        let mut pieces = data.chunks_mut(AT_A_TIME);
        loop {
            // The last one is shorter, and may be empty: members whose lengths differ meet in it, where that is an error.
            let piece = pieces.next().unwrap_or_default();
            let is_last = piece.len() < AT_A_TIME;
            self.all_reduce_piece(piece, &mut other, &mut combine)?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// `other`: memory for what comes from another member.
    fn all_reduce_piece(
        &self,
        data: &mut [u8],
        other: &mut Vec<u8>,
        combine: &mut impl FnMut(&mut [u8], &[u8]),
    ) -> Result<()> {
        let size = self.size();
        let mut mask = 1;
        while mask < size {
            if self.me & mask != 0 {
                self.hand(self.me - mask, Tag::Reduce, data)?;
                break;
            }
            if self.me + mask < size {
                other.resize(data.len(), 0);
                self.get(self.me + mask, Tag::Reduce, other)?;
                combine(data, other);
            }
            mask <<= 1;
        }
        self.broadcast(data, 0)
    }
}
