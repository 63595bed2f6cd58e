//! All-to-all: everybody copies its block from everybody.

use super::{Array, Group, SHORT, between, shown};

impl Group<'_> {
    /// `count` elements for each member, a stride apart at `source` and another one at `dest`: `strides` are of `dest` and `source`, in
    /// elements. Blocks.
    ///
    /// # Safety
    /// `source` must have the elements for all members, and `dest` room for as many.
    pub unsafe fn alltoall(self, dest: *mut u8, source: Array<*const u8>, strides: (isize, isize), count: usize) {
        let (dst, sst) = strides;
        if dst < 1 || sst < 1 {
            self.caller
                .refuse(format!("dst={dst}, sst={sst}: strides are at least 1"));
        }
        let agreed = ("nelems", count as u64);
        let width = source.width;
        let total = self.size().saturating_mul(count);
        // From the first to the last element, in bytes.
        let span = |stride: usize| match total {
            0 => 0,
            total => source.bytes((total - 1).saturating_mul(stride).saturating_add(1)),
        };
        let (dst, sst) = (dst.cast_unsigned(), sst.cast_unsigned());
        self.name("dest", dest, span(dst));
        let length = span(sst);
        let name = self.name("source", source.address, length);
        // SAFETY: the caller's promise.
        let data = unsafe { shown(source.address, length) };
        // A block that is short to one member may be long to another that passes another stride.
        let round = self.round(agreed, &[name, sst as u64], data);
        let mut everything_short = length <= SHORT;
        if let Some(team) = self.board.team() {
            let is_long = |member: usize| span((round.word(member, 1) as usize).max(1)) > SHORT;
            if (0..self.size()).any(is_long) {
                let block = count * width;
                let mut out = vec![0_u8; block * self.size()];
                let mut into = vec![0_u8; block * self.size()];
                // SAFETY: the caller's promise for the source; the others are ours, and dest was checked.
                unsafe {
                    spread(source.address, sst * width, out.as_mut_ptr(), width, total, width);
                    let of = |all: &[u8], member: usize| between::bytes(all[member * block..].as_ptr(), block);
                    let place = into.as_mut_ptr();
                    let to = |member: usize| between::bytes(place.wrapping_add(member * block), block);
                    self.done(team.alltoall_at(|member| of(&out, member), to));
                    spread(into.as_ptr(), width, dest, dst * width, total, width);
                }
                return;
            }
        }
        for offset in 0..self.size() {
            let member = (self.me() + offset) % self.size();
            let stride = (round.word(member, 1) as usize).max(1);
            let its_length = span(stride);
            let from = match its_length <= SHORT {
                true => round.data(member, 2),
                false => {
                    everything_short = false;
                    self.array_of(member, round.word(member, 0), its_length)
                }
            };
            let from = from.wrapping_add(self.me() * count * stride * width);
            let to = dest.wrapping_add(member * count * dst * width);
            // SAFETY: the member has so many elements, and dest has room: both were checked.
            unsafe {
                match (stride, dst) {
                    (1, 1) => std::ptr::copy(from, to, count * width),
                    _ => spread(from, stride * width, to, dst * width, count, width),
                }
            }
        }
        if !everything_short {
            self.round(agreed, &[], &[]);
        }
    }
}

/// Copy elements that lie so many bytes apart.
///
/// # Safety
/// All must be there.
unsafe fn spread(from: *const u8, from_stride: usize, to: *mut u8, to_stride: usize, count: usize, width: usize) {
    /// With the width known to the compiler.
    ///
    /// # Safety
    /// As for [`spread`].
    unsafe fn of<T: Copy>(from: *const u8, from_stride: usize, to: *mut u8, to_stride: usize, count: usize) {
        for index in 0..count {
            let from = from.wrapping_add(index * from_stride).cast::<T>();
            let to = to.wrapping_add(index * to_stride).cast::<T>();
            // SAFETY: the caller's promise.
            unsafe { to.write_unaligned(from.read_unaligned()) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            1 => of::<u8>(from, from_stride, to, to_stride, count),
            2 => of::<u16>(from, from_stride, to, to_stride, count),
            4 => of::<u32>(from, from_stride, to, to_stride, count),
            8 => of::<u64>(from, from_stride, to, to_stride, count),
            16 => of::<[u64; 2]>(from, from_stride, to, to_stride, count),
            width => {
                for index in 0..count {
                    let (from, to) = (
                        from.wrapping_add(index * from_stride),
                        to.wrapping_add(index * to_stride),
                    );
                    std::ptr::copy(from, to, width);
                }
            }
        }
    }
}
