//! On an intercommunicator: once a group is complete, its first process tells that of the other group, which tells its group.
//!
//! Source: [`dissemination`](super::dissemination) in each group, and one swap. Cost: 2 ceil(log2 p) + 1 rounds of empty messages.
//! Preconditions: an intercommunicator. Any number of ranks.

use super::dissemination;
use crate::bcast::binomial;
use crate::error::Result;
use crate::link::{Incoming, Link, Outgoing};

pub fn run(link: &impl Link) -> Result<()> {
    dissemination::run(link)?;
    let incoming = Incoming {
        from: link.across(0),
        into: std::ptr::dangling_mut(),
        len: 0,
    };
    let outgoing = Outgoing {
        to: link.across(0),
        data: std::ptr::dangling(),
        len: 0,
    };
    // SAFETY: there are no bytes.
    unsafe {
        if link.rank() == 0 {
            link.transfer(&[incoming], &[outgoing])?;
            binomial::send(link, std::ptr::dangling(), 0, 0)
        } else {
            binomial::receive(link, std::ptr::dangling_mut(), 0, 0)
        }
    }
}
