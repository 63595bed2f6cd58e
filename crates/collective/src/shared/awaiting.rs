//! What an algorithm has to wait for: blocking, as a blocking call does, or later, as a request does.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use isthmus_engine::backoff::{LOOKS_AT_POST, look_briefly};
use isthmus_engine::{Board, Entered, Staged, Step, allows_threads, enter, is_oversubscribed};
use isthmus_os::clock;

use super::Access;
use super::lending::Loan;
use crate::error::{Error, Result};
use crate::fail;
use crate::polling::token;
use crate::team::Team;

/// How long a call of one of several threads waits for room among what it shows and others show.
const SPILL_AFTER: Duration = Duration::from_millis(20);

impl Access<'_> {
    /// Our place for what we post in a step is free, and with it [enough](Board::enough) others: everyone has read what was there.
    #[cold]
    pub(super) fn await_cell(&self, step: Step) -> Result<()> {
        let enough = Board::enough(step, is_oversubscribed());
        let board = self.board;
        self.team.wait_until(|inside| is_finished(board, enough, inside))
    }

    pub(super) async fn await_cell_later(&self, step: Step) -> Result<()> {
        poll_fn(|_| match self.board.is_free(step) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        })
        .await
    }

    /// Those who read what is lent have done so.
    pub(super) fn await_readers(&self, loan: Loan) -> Result<()> {
        let board = self.board;
        self.team.wait_until(|inside| match (loan.is_read(board), loan.reader) {
            (true, _) => Some(()),
            (false, Some(reader)) => {
                board.await_member(inside, reader);
                None
            }
            (false, None) => is_finished(board, loan.step.next(), inside),
        })
    }

    pub(super) async fn await_readers_later(&self, loan: Loan) -> Result<()> {
        poll_fn(|_| match loan.is_read(self.board) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        })
        .await
    }

    /// Why a rank has left the call.
    #[cold]
    pub(super) fn why_left(&self, member: usize) -> Error {
        left(self.team, member, &mut enter())
    }

    pub(super) async fn why_left_later(&self, member: usize) -> Error {
        poll_fn(|context| Poll::Ready(left(self.team, member, token(context)))).await
    }

    /// Memory that everyone can read.
    ///
    /// Threads that call collectives on different communicators share it. One that waits for what another one's pieces take, which may be
    /// there until that one makes its next call, may in truth wait for itself, by way of another rank. So it has memory of its own after a while.
    #[inline(never)]
    pub(super) fn stage(&self, step: Step, length: usize) -> Result<Staged> {
        let (board, mut since) = (self.board, None);
        self.team
            .wait_until(|inside| {
                let staged = inside.stage(board, step, length).transpose();
                if staged.is_some() || !allows_threads() {
                    return staged;
                }
                let now = clock::now();
                let waited = now - *since.get_or_insert(now);
                (waited >= SPILL_AFTER).then(|| inside.stage_or_spill(board, step, length))
            })?
            .map_err(Error::from)
    }

    pub(super) async fn stage_later(&self, step: Step, length: usize) -> Result<Staged> {
        poll_fn(|context| Poll::Ready(token(context).stage_apart(self.board, step, length)))
            .await
            .map_err(Error::from)
    }

    /// A rank has posted for a step.
    #[inline]
    pub(super) fn await_post(&self, member: usize, step: Step) -> Result<()> {
        match look_briefly(&LOOKS_AT_POST, || self.board.has_posted(member, step)) {
            true => Ok(()),
            false => self.wait_for_post(member, step),
        }
    }

    #[inline(never)]
    fn wait_for_post(&self, member: usize, step: Step) -> Result<()> {
        let (board, team) = (self.board, self.team);
        team.wait_until(|inside| look(board, team, member, step, inside))?
    }

    pub(super) async fn await_post_later(&self, member: usize, step: Step) -> Result<()> {
        poll_fn(
            |context| match look(self.board, self.team, member, step, token(context)) {
                Some(result) => Poll::Ready(result),
                None => Poll::Pending,
            },
        )
        .await
    }
}

/// Has everyone finished everything before a step? If not, one who has not is awaited.
fn is_finished(board: &Board, step: Step, inside: &mut Entered) -> Option<()> {
    if board.is_finished_before(step) {
        return Some(());
    }
    if let Some(member) = board.unfinished_before(step) {
        board.await_member(inside, member);
    }
    None
}

/// Has a rank posted for a step, or will it never?
fn look(board: &Board, team: &Team, member: usize, step: Step, inside: &mut Entered) -> Option<Result<()>> {
    if board.has_posted(member, step) {
        return Some(Ok(()));
    }
    if !board.has_skipped(member, step) {
        board.await_member(inside, member);
        return None;
    }
    Some(Err(left(team, member, inside)))
}

/// The error of a call that a rank has left before it had done its part.
#[cold]
fn left(team: &Team, member: usize, inside: &mut Entered) -> Error {
    // Perhaps because somebody has failed, which it may have learned before us.
    inside.learn();
    let why = team.check_whole(inside).err();
    why.unwrap_or_else(|| {
        fail!(
            Other,
            "rank {member} left the call without its part: its call failed, or was another one"
        )
    })
}
