//! On an intercommunicator: the root sends to the first of the other group, which tells its group.
//!
//! Source: [`binomial`](super::binomial) in the other group, after one message. Cost: one message more than a broadcast there.
//! Preconditions: an intercommunicator. Any number of ranks.

use crate::error::Result;
use crate::link::elements::{self, Elements, Packed};
use crate::link::{Incoming, Link};
use crate::root::Root;

/// # Safety
/// The elements must be readable at the root, and writable in the other group.
pub unsafe fn run(link: &impl Link, elements: Elements<'_>, root: Root) -> Result<()> {
    if elements.bytes() == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Here => elements::transfer(link, [], [(link.across(0), elements)]),
            Root::There(root) => {
                let landing = Packed::room(link, elements)?;
                if link.rank() == 0 {
                    let incoming = Incoming {
                        from: link.across(root),
                        into: landing.data,
                        len: landing.len,
                    };
                    link.transfer(&[incoming], &[])?;
                }
                super::run(link, landing.bytes(), 0)?;
                landing.settle(link, elements);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
