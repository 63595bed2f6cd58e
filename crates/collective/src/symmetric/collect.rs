//! All-gather: everybody copies from everybody, in the order of the group.

use super::{Array, Group, SHORT, between, copy_bytes, shown};

impl Group<'_> {
    /// The elements of all members, of which each gives `count` (`is_alike`: all must give as many), come to `dest` of all. Blocks.
    ///
    /// # Safety
    /// `source` must have `count` elements, and `dest` room for those of all.
    pub unsafe fn collect(self, dest: *mut u8, source: Array<*const u8>, count: usize, is_alike: bool) {
        let agreed = if is_alike { ("nelems", count as u64) } else { ("", 0) };
        let length = source.bytes(count);
        let name = self.name("source", source.address, length);
        // SAFETY: the caller's promise.
        let data = unsafe { shown(source.address, length) };
        // Of what is long the others need the name.
        let round = self.round(agreed, &[length as u64, name], data);
        let lengths = (0..self.size()).map(|member| round.word(member, 0) as usize);
        let total = lengths.clone().fold(0, usize::saturating_add);
        self.name("dest", dest, total);
        if let Some(team) = self.board.team()
            && lengths.clone().any(|length| length > SHORT)
        {
            let starts: Vec<usize> = lengths
                .clone()
                .scan(0, |next, length| {
                    let start = *next;
                    *next += length;
                    Some(start)
                })
                .collect();
            let lengths: Vec<usize> = lengths.collect();
            let block = |member: usize| between::bytes(dest.wrapping_add(starts[member]), lengths[member]);
            // SAFETY: the caller's promise for the source; dest was checked.
            unsafe { self.done(team.allgatherv_at(Some(between::bytes(source.address, length)), block)) };
            return;
        }
        let mut at = dest;
        for (member, length) in lengths.clone().enumerate() {
            let from = match length <= SHORT {
                true => round.data(member, 2),
                false => self.array_of(member, round.word(member, 1), length),
            };
            // SAFETY: the member has so many bytes, and dest has room for all: both were checked.
            unsafe {
                copy_bytes(from, at, length);
                at = at.add(length);
            }
        }
        if lengths.max().is_some_and(|longest| longest > SHORT) {
            self.round(agreed, &[], &[]);
        }
    }
}
