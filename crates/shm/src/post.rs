//! What a member of a group posts for the others, and how far it is with their posts: the two kinds of lines that a board of
//! collectives is made of.
//!
//! # Layout
//! ```text
//! Progress   finished, left, withdrawn   u64 each, in 128 bytes
//! Post       mark, what                  u64 each, then INLINE bytes of payload: 128 bytes
//! ```
//!
//! # Fields
//! All of them are written by one member. A post's mark says which step it is for; what the other fields mean is the board's
//! business. `finished` is the first step that the member has not done with: before it, it needs nobody's posts any more.
//! It only grows. `withdrawn` is the last call in which it took back memory that it had lent to its readers, before all of them had
//! finished. `left` is raised when it gives up the board.
//!
//! # Ordering
//! A mark is stored with release after what it stands for, and loaded with acquire before that (`SYNC: board-post`).
//! `finished` is stored with release after the last read of a step, and loaded with acquire before its post, or the memory
//! that it named, is written again (`SYNC: board-finished`). `withdrawn` is stored before lent memory may change, with a
//! fence between, and loaded after it was read, with another (`SYNC: board-withdrawn`): so who finds nothing there has read
//! what was lent.
//!
//! # Safety
//! What a member says is data to the others: they check places and lengths. One that dies leaves its marks where they are.

use crate::sync::{AtomicU64, Ordering, fence};

/// Between what different members write, and between posts.
pub const LINE: usize = 128;
/// Bytes of payload that fit into a post itself.
pub const INLINE: usize = LINE - 16;

/// How far a member is.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Progress {
    finished: AtomicU64,
    left: AtomicU64,
    withdrawn: AtomicU64,
}

/// What a member posts for a step.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Post {
    mark: AtomicU64,
    what: AtomicU64,
    payload: [AtomicU64; INLINE / 8],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Progress>() == LINE && size_of::<Post>() == LINE);

impl Progress {
    /// The member is done with everything before this mark, and will read no such post again. Only the member itself.
    #[inline]
    pub fn finish_before(&self, mark: u64) {
        // SYNC: board-finished
        self.finished.store(mark, Ordering::Release);
    }

    /// What the member is done with everything before.
    #[inline]
    pub fn finished(&self) -> u64 {
        // SYNC: board-finished
        self.finished.load(Ordering::Acquire)
    }

    /// The member looks at the board no more. Only the member itself.
    pub fn leave(&self) {
        // SYNC: board-left
        self.left.store(1, Ordering::Release);
    }

    /// Does it look at the board no more?
    pub fn has_left(&self) -> bool {
        // SYNC: board-left
        self.left.load(Ordering::Acquire) != 0
    }

    /// The member takes back what it has lent up to this call: after this it may change. Only the member itself.
    #[cold]
    pub fn withdraw(&self, call: u64) {
        self.withdrawn.fetch_max(call, Ordering::Relaxed);
        // SYNC: board-withdrawn
        fence(Ordering::SeqCst);
    }

    /// Has it taken back what it lent in this call? Then what was read of that before may be anything.
    #[inline]
    pub fn has_withdrawn(&self, call: u64) -> bool {
        // SYNC: board-withdrawn
        fence(Ordering::Acquire);
        self.withdrawn.load(Ordering::Relaxed) >= call
    }
}

impl Post {
    /// Post, for this mark, what lies in [`Self::payload`] and this word. Only the member itself, when everyone has finished what the
    /// post was for before.
    #[inline]
    pub fn publish(&self, mark: u64, what: u64) {
        self.what.store(what, Ordering::Relaxed);
        // SYNC: board-post
        self.mark.store(mark, Ordering::Release);
    }

    /// Is there something for this mark?
    #[inline]
    pub fn is_for(&self, mark: u64) -> bool {
        // SYNC: board-post
        self.mark.load(Ordering::Acquire) == mark
    }

    /// The word that was posted.
    #[inline]
    pub fn what(&self) -> u64 {
        self.what.load(Ordering::Relaxed)
    }

    /// Where the payload lies.
    #[inline]
    pub fn payload(&self) -> &[AtomicU64; INLINE / 8] {
        &self.payload
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    struct Member {
        progress: Progress,
        post: Post,
        /// Of the user, where all can read it.
        memory: [AtomicU64; 2],
    }

    fn member() -> Arc<Member> {
        let zero = || AtomicU64::new(0);
        Arc::new(Member {
            progress: Progress {
                finished: zero(),
                left: zero(),
                withdrawn: zero(),
            },
            post: Post {
                mark: zero(),
                what: zero(),
                payload: std::array::from_fn(|_| zero()),
            },
            memory: [zero(), zero()],
        })
    }

    fn set(words: &[AtomicU64], value: u64) {
        words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
    }

    fn get(words: &[AtomicU64]) -> [u64; 2] {
        [0, 1].map(|at| words[at].load(Ordering::Relaxed))
    }

    /// A post is used again once its reader has finished: what is read is always all of one step.
    #[test]
    fn loom_posts_are_whole() {
        loom::model(|| {
            let (writer, reader) = (member(), member());
            let (ours, theirs) = (writer.clone(), reader.clone());
            let reading = loom::thread::spawn(move || {
                for step in 1..=2 {
                    if !ours.post.is_for(step) {
                        return;
                    }
                    assert_eq!(ours.post.what(), step);
                    assert_eq!(get(&ours.post.payload()[..2]), [step; 2]);
                    theirs.progress.finish_before(step + 1);
                }
            });
            for step in 1..=2 {
                if reader.progress.finished() < step && step > 1 {
                    break;
                }
                set(&writer.post.payload()[..2], step);
                writer.post.publish(step, step);
            }
            reading.join().unwrap();
        });
    }

    /// A reader of lent memory that finds that it was not withdrawn has read the lent data.
    #[test]
    fn loom_what_was_not_withdrawn_is_whole() {
        loom::model(|| {
            let lender = member();
            let theirs = lender.clone();
            let reading = loom::thread::spawn(move || {
                if !theirs.post.is_for(1) {
                    return;
                }
                let read = get(&theirs.memory);
                if !theirs.progress.has_withdrawn(7) {
                    assert_eq!(read, [5; 2]);
                }
            });
            set(&lender.memory, 5);
            lender.post.publish(1, 0);
            lender.progress.withdraw(7);
            set(&lender.memory, 9);
            reading.join().unwrap();
        });
    }

    /// A lender that sees that its reader has finished may write there again.
    #[test]
    fn loom_what_was_read_is_back() {
        loom::model(|| {
            let (lender, reader) = (member(), member());
            let (theirs, ours) = (lender.clone(), reader.clone());
            let reading = loom::thread::spawn(move || {
                if theirs.post.is_for(1) {
                    assert_eq!(get(&theirs.memory), [5; 2]);
                    ours.progress.finish_before(2);
                }
            });
            set(&lender.memory, 5);
            lender.post.publish(1, 0);
            if reader.progress.finished() > 1 {
                set(&lender.memory, 9);
            }
            reading.join().unwrap();
        });
    }
}
