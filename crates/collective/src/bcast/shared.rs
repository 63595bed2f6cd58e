//! The root copies its bytes to shared memory, segment by segment, and everyone copies them out.
//!
//! Source: copy-in-copy-out of XHC (Katevenis et al., "XHC: hierarchical collectives", EuroMPI/USA 2022) and the
//! release-gather of MPICH's `ch4/shm/posix`, flat: a rank that is scheduled finds all posts of the root.
//! Cost: n bytes in at the root, n bytes out elsewhere, overlapped from the second segment on. The root waits for nobody
//! until it is several segments or calls ahead.
//! Preconditions: a board.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::shared::Access;

/// # Safety
/// The elements must be readable at the root, and writable elsewhere.
#[twice]
pub async unsafe fn run(access: &Access<'_>, elements: Elements<'_>, root: usize) -> Result<()> {
    let (total, segment) = (elements.bytes(), access.segment(elements.bytes()));
    let mut done = 0;
    while done < total {
        let step = access.step();
        let length = segment.min(total - done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            if access.rank() == root {
                let draft = access.draft_part(step, elements, done, length).await?;
                access.post(&draft);
            } else {
                let posted = access.read(root, step).await?;
                if posted.length != length {
                    access.mismatch(root, done + posted.length, total);
                    elements.unpack_short(done, posted.data, posted.length);
                    return Ok(());
                }
                elements.unpack_part(done, length, posted.data);
            }
        }
        done += length;
        if done < total {
            access.finish(step);
        }
    }
    Ok(())
}
