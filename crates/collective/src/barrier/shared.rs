//! Barrier through shared control: post one's own mark, wait for the others'.
//!
//! Source: the flat form of the release-gather of MPICH's `ch4/shm/posix` and of XHC, without a leader: every rank sees
//! every mark, so each is scheduled once per barrier, which is what counts when ranks outnumber CPUs.
//! Cost: one store and p - 1 loads a rank; one line crossing where each rank has a CPU.
//! Preconditions: a board.

use isthmus_twice::twice;

use crate::error::Result;
use crate::shared::Access;

#[twice]
pub async fn run(access: &Access<'_>) -> Result<()> {
    let step = access.step();
    access.post(&access.draft(step, 0).await?);
    access.everyone(step).await
}
