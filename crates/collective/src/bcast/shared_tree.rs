//! The root posts its bytes, segment by segment; one rank of each package, NUMA node and cache copies them out and posts them
//! again for those beside it.
//!
//! Source: the hierarchy of XHC (Katevenis et al., "XHC: hierarchical collectives", EuroMPI/USA 2022), copy-in-copy-out.
//! Cost: n bytes cross each border between units once, and are copied in once more for each unit; overlapped from the second
//! segment on. Preconditions: a board; all ranks know where on the machine each of them is.

use isthmus_twice::twice;

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::shared::Access;

/// # Safety
/// The elements must be readable at the root, and writable elsewhere.
#[twice]
pub async unsafe fn run(access: &Access<'_>, layout: &Layout, elements: Elements<'_>, root: usize) -> Result<()> {
    let (rank, total) = (access.rank(), elements.bytes());
    let segment = access.segment(total);
    let parent = layout.parent(rank, root);
    let is_parent = (0..access.size()).any(|other| layout.parent(other, root) == Some(rank));
    let mut done = 0;
    while done < total {
        let step = access.step();
        let length = segment.min(total - done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            if let Some(parent) = parent {
                let posted = access.read(parent, step).await?;
                access.take(parent, posted, elements, done, segment);
            }
            if is_parent {
                let draft = access.draft_part(step, elements, done, length).await?;
                access.post(&draft);
            }
        }
        done += length;
        if done < total {
            access.finish(step);
        }
    }
    Ok(())
}
