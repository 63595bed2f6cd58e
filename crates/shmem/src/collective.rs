//! Collectives (OpenSHMEM 1.6, "Collective Routines"): the members of a team meet, show one another what is short or where what is long
//! lies, and read it there. Every algorithm here works on a [`Group`], which is a team or, deprecated, an active set.

pub mod active_set;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
pub mod collect;
pub mod reduce;
pub mod scan;

use std::ffi::c_int;

use crate::board::{Board, INLINE, Meeting, Terms, Whom};
use crate::call::Call;
use crate::job::{Job, job};
use crate::numbers::Element;
use crate::team::TeamHandle;

/// Bytes that a member shows the others instead of letting them look where they lie.
pub const SHORT: usize = INLINE - 16;

/// Who takes part in a call.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    job: &'a Job,
    call: Call,
    board: &'a Board,
}

impl Group<'static> {
    /// The members of a team.
    fn of_team(call: Call, team: TeamHandle) -> Self {
        let job = job(call);
        let board = match team {
            TeamHandle::WORLD | TeamHandle::SHARED => &job.world,
            team => team.find(call).board(job),
        };
        Self { job, call, board }
    }
}

impl<'a> Group<'a> {
    fn size(&self) -> usize {
        self.board.size()
    }

    fn me(&self) -> usize {
        self.board.me()
    }

    /// Meet: all must pass the same value of an argument.
    fn meet(&self, argument: (&'static str, u64), words: &[u64], data: &[u8]) -> Meeting<'a> {
        let terms = Terms::new(self.call, argument);
        self.board.meet(self.job, terms, words, data)
    }

    /// As [`meet`](Self::meet), but with a root, and wait for these only.
    fn meet_some(
        &self,
        argument: (&'static str, u64),
        root: usize,
        words: &[u64],
        data: &[u8],
        whom: Whom,
    ) -> Meeting<'a> {
        let terms = Terms {
            root: Some(root),
            ..Terms::new(self.call, argument)
        };
        self.board.meet_some(self.job, terms, words, data, whom)
    }

    /// What everybody calls this array of ours; one of no elements may lie anywhere. One that is not symmetric ends the job.
    fn name<T>(&self, argument: &str, array: *const T, count: usize) -> u64 {
        let length = count.saturating_mul(size_of::<T>());
        match self.job.ranges.name(array.addr(), length) {
            Some(name) => name,
            None if length == 0 => 0,
            None => self
                .job
                .ranges
                .refuse(self.call, argument, array.addr(), length, self.job.me),
        }
    }

    /// Where the array of a member is that it calls so.
    fn array_of<T>(&self, member: usize, name: u64, count: usize) -> *const T {
        let pe = self.board.members()[member];
        let found = self.job.ranges.named(name, count.saturating_mul(size_of::<T>()), pe);
        match found {
            Some(address) => std::ptr::with_exposed_provenance(address),
            None => self.call.refuse(format!(
                "PE {pe} passes an array that is not as long here: {count} elements"
            )),
        }
    }

    /// A member as an argument.
    fn member(&self, argument: &str, member: c_int) -> usize {
        if member.cast_unsigned() as usize >= self.size() {
            self.call.refuse(format!(
                "{argument}={member} is not a PE of the team: they are 0 to {}",
                self.size() - 1
            ));
        }
        member as usize
    }
}

/// The bytes of an array.
///
/// # Safety
/// It must have as many elements, and nobody may write to them meanwhile.
unsafe fn bytes<'a, T: Element>(array: *const T, count: usize) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise; any bytes will do.
    unsafe { std::slice::from_raw_parts(array.cast(), count * size_of::<T>()) }
}
