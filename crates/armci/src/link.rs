//! What the members of a group do together, and messages among them.
//!
//! Collective calls are those of the group's [`Team`]. Everything blocks until this process's part is done.

use isthmus_collective::{Operand, Team, failure};
use isthmus_datatype::error::Result as TeamResult;
use isthmus_engine::{ContextId, Entered, Mode, OpId, Outcome, Peer, Posting, enter};

use crate::error::{Error, Result, argument};

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
        self.finish_among(&mut inside, others, op, from)
    }

    /// The same of a send, which waits where its member has not taken earlier ones.
    ///
    /// # Errors
    /// One of them has failed.
    pub fn send_among(&self, others: &[Peer], to: usize, tag: i32, data: &[u8]) -> Result<()> {
        let mut inside = enter();
        match self.start_sending(&mut inside, to, tag, data)? {
            Some(op) => self.finish_among(&mut inside, others, op, to),
            None => Ok(()),
        }
    }

    fn finish_among(&self, inside: &mut Entered, others: &[Peer], op: OpId, with: usize) -> Result<()> {
        let check = |inside: &mut Entered| {
            let dead = others.iter().find(|peer| inside.has_failed(**peer));
            dead.map_or(Ok(()), |peer| Err(failure::failed(*peer)))
        };
        let mut outcome = None;
        let settled = self.team.settle_while(inside, &[Some(op)], check, |_, ended| {
            outcome = Some(*ended);
            Ok(())
        });
        if let Some(outcome) = &outcome {
            self.judge(inside, outcome, with)?;
        }
        settled.map_err(|_| Error::Failed(self.first_failed(inside).unwrap_or(with)))
    }

    /// How a call of the team ended.
    fn ended(&self, result: TeamResult<()>) -> Result<()> {
        result.map_err(|error| match self.first_failed(&mut enter()) {
            Some(failed) => Error::Failed(failed),
            None => Error::Collective(error.to_string()),
        })
    }

    /// Wait for all members.
    ///
    /// # Errors
    /// A member has failed.
    pub fn barrier(&self) -> Result<()> {
        self.ended(self.team.barrier())
    }

    /// `data` of the member `root` goes to all. Nothing to send is a barrier: a member that expects something learns it.
    ///
    /// # Errors
    /// A member has failed, or lengths differ.
    pub fn broadcast(&self, data: &mut [u8], root: usize) -> Result<()> {
        match data.is_empty() {
            true => self.barrier(),
            false => self.ended(self.team.broadcast(data, root)),
        }
    }

    /// What every member has, of the same length, in the order of members.
    ///
    /// # Errors
    /// A member has failed, or lengths differ.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>> {
        let mut all = vec![0; self.size() * mine.len()];
        self.ended(self.team.allgather(mine, &mut all))?;
        Ok(all)
    }

    /// Combine what all members have, elements of the operand; all get the same result. As for [`broadcast`](Self::broadcast), no elements
    /// are a barrier.
    ///
    /// # Errors
    /// A member has failed, or lengths differ.
    pub fn all_reduce(&self, data: &mut [u8], operand: &Operand<'_>) -> Result<()> {
        let count = data.len() / operand.crossing(1);
        if count == 0 {
            return self.barrier();
        }
        let at = data.as_mut_ptr();
        // SAFETY: the bytes are borrowed for the call, and there are so many elements.
        self.ended(unsafe { self.team.allreduce_at(operand, at, at, count as i64) })
    }
}
