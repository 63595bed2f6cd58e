//! Calls of a group that have failed at one member, as far as this process knows, and who has not been told yet.

use std::collections::HashSet;

use crate::types::ContextId;

/// Calls that failed: a call is a message space and a tag.
#[derive(Debug, Default)]
pub(crate) struct FailedCalls {
    known: HashSet<(u32, i32)>,
    /// For whom there is no ring: (receiver, notice).
    notices: Vec<(u32, u64)>,
}

/// A notice: what stands in an inbox word instead of the place of a ring, which is even.
fn notice(context: ContextId, tag: i32) -> u64 {
    u64::from(context.0) << 32 | u64::from(tag as u32) << 1 | 1
}

/// Is this word of an inbox a notice?
#[inline]
pub(crate) fn is_notice(word: u64) -> bool {
    word & 1 == 1
}

/// The call that a notice names.
pub(crate) fn named_by(notice: u64) -> (ContextId, i32) {
    (ContextId((notice >> 32) as u32), (notice as u32 >> 1) as i32)
}

impl FailedCalls {
    /// This call has failed. False: that was known.
    pub fn add(&mut self, context: ContextId, tag: i32) -> bool {
        self.known.insert((context.0, tag))
    }

    /// Has this call failed?
    #[inline]
    pub fn contains(&self, context: ContextId, tag: i32) -> bool {
        !self.known.is_empty() && self.known.contains(&(context.0, tag))
    }

    /// Another call may have this tag.
    pub fn forget(&mut self, context: ContextId, tag: i32) {
        self.known.remove(&(context.0, tag));
    }

    /// There will be no more calls in this message space.
    pub fn forget_all(&mut self, context: ContextId) {
        self.known.retain(|(other, _)| *other != context.0);
    }

    /// `peer`, to which there is no ring, must be told of this call.
    pub fn add_notice(&mut self, peer: u32, context: ContextId, tag: i32) {
        self.notices.push((peer, notice(context, tag)));
    }

    /// The first notice for `peer` that is not left yet.
    pub fn next_notice(&self, peer: u32) -> Option<u64> {
        let mut notices = self.notices.iter();
        notices.find(|(to, _)| *to == peer).map(|(_, notice)| *notice)
    }

    /// It is left now.
    pub fn remove_notice(&mut self, peer: u32, left: u64) {
        if let Some(at) = self.notices.iter().position(|notice| *notice == (peer, left)) {
            self.notices.remove(at);
        }
    }

    /// There is a ring to `peer` now, or the peer is gone: the calls that notices which were not left yet name.
    pub fn take_back_notices(&mut self, peer: u32) -> Vec<(ContextId, i32)> {
        let notices = self.notices.extract_if(.., |(to, _)| *to == peer);
        notices.map(|(_, notice)| named_by(notice)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_name_calls_and_are_no_places_of_rings() {
        for (context, tag) in [(0, 0), (u32::MAX - 6, i32::MAX - 2), (7, 5)] {
            let notice = notice(ContextId(context), tag);
            assert!(is_notice(notice));
            assert_eq!(named_by(notice), (ContextId(context), tag));
        }
        assert!(!is_notice(0) && !is_notice(4096));
    }

    #[test]
    fn each_notice_is_left_once_or_comes_back() {
        let mut calls = FailedCalls::default();
        for tag in [1, 2] {
            calls.add_notice(3, ContextId(9), tag);
        }
        let first = calls.next_notice(3).expect("one waits");
        calls.remove_notice(3, first);
        assert_eq!(calls.take_back_notices(3), [(ContextId(9), 2)]);
        assert_eq!(calls.next_notice(3), None);
    }
}
