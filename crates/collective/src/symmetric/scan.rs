//! Prefix reductions: each member combines what those before it have.

use super::{Combine, Group, SHORT, between, shown};

impl Group<'_> {
    /// Combine the `count` elements of members up to the calling one, itself `inclusive` or not (the first then gets zeros), to `dest`; it may
    /// be `source`. Blocks.
    ///
    /// # Safety
    /// Both must have as many elements.
    pub unsafe fn scan(self, combine: Combine, dest: *mut u8, source: *const u8, count: usize, inclusive: bool) {
        let agreed = ("nelems", count as u64);
        let length = count.saturating_mul(combine.width);
        self.name("dest", dest, length);
        let from = self.name("source", source, length);
        // SAFETY: the caller's promise.
        let round = self.round(agreed, &[from], unsafe { shown(source, length) });
        let is_short = length <= SHORT;
        if let Some(team) = self.board.team().filter(|_| !is_short) {
            let mut result = vec![0_u8; length];
            let operand = between::operand(combine);
            // SAFETY: the caller's promise; the result has room, and dest was checked.
            unsafe {
                self.done(team.scan_at(&operand, source, result.as_mut_ptr(), count as i64, inclusive));
                std::ptr::copy_nonoverlapping(result.as_ptr(), dest, length);
            }
            return;
        }
        let sources: Vec<*const u8> = (0..self.me() + usize::from(inclusive))
            .map(|member| match is_short {
                true => round.data(member, 1),
                false => self.array_of(member, round.word(member, 0), length),
            })
            .collect();
        // Others may read the source until the next round, which may be `dest`.
        let mut result = vec![0_u8; length];
        // SAFETY: every member has as many elements, and leaves them alone until the end.
        unsafe { combine.all(sources.len(), |member| sources[member], result.as_mut_ptr(), count) };
        if !is_short {
            self.round(agreed, &[], &[]);
        }
        // SAFETY: dest was checked.
        unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), dest, length) };
    }
}
