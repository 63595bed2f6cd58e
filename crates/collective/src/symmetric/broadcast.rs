//! Broadcast: the root shows what is short, and goes on; what is long the others copy from where it lies, and the root waits until they have.
//! Nobody else waits for anybody but the root.

use super::board::Whom;
use super::{Array, Group, SHORT, between, copy_bytes, shown};

impl Group<'_> {
    /// The root's `count` elements at `source` come to `dest` of all others, and `at_root_too` of the root. Blocks.
    ///
    /// # Safety
    /// The root's `source` must have as many elements.
    pub unsafe fn broadcast(
        self,
        dest: *mut u8,
        source: Array<*const u8>,
        count: usize,
        root: usize,
        at_root_too: bool,
    ) {
        let length = source.bytes(count);
        let source = source.address;
        let is_root = self.me() == root;
        let wants = !is_root || at_root_too;
        if wants {
            self.name("dest", dest, length);
        }
        let name = self.name("source", source, length);
        let agreed = ("nelems", count as u64);
        let whom = match is_root {
            true => Whom::Nobody { compares: true },
            false => Whom::One(root),
        };
        if length <= SHORT {
            // SAFETY: the caller's promise.
            let data = if is_root { unsafe { shown(source, length) } } else { &[] };
            let round = self.round_with(agreed, root, &[], data, whom);
            if wants {
                // SAFETY: the root has shown as many bytes; dest was checked.
                unsafe { copy_bytes(round.data(root, 0), dest, length) };
            }
            return;
        }
        let round = self.round_with(agreed, root, &[name], &[], whom);
        if let Some(team) = self.board.team() {
            let at = if is_root { source } else { dest.cast_const() };
            // SAFETY: the caller's promise for the source; dest was checked.
            unsafe {
                self.done(team.broadcast_at(between::bytes(at, length), root));
                if is_root && at_root_too && source != dest.cast_const() {
                    copy_bytes(source, dest, length);
                }
            }
            return;
        }
        if wants {
            let from = self.array_of(root, round.word(root, 0), length);
            if from != dest.cast_const() {
                // SAFETY: both were checked; the root leaves its array alone until the end.
                unsafe { copy_bytes(from, dest, length) };
            }
        }
        let whom = match is_root {
            true => Whom::All,
            false => Whom::Nobody { compares: false },
        };
        self.round_with(agreed, root, &[], &[], whom);
    }
}
