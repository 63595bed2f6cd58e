//! Where a PE's copy of a symmetric object is in this process: an address is within a range, and a range has for each PE what to
//! add.

use crate::call::Call;

/// Bits of a name that are the offset.
const OFFSET_BITS: u32 = 48;

/// A stretch of addresses whose memory all PEs map: the heap, or a segment of static data.
#[derive(Debug)]
pub struct Range {
    first: usize,
    length: usize,
    /// What to add to an address to reach the object of a PE. `None`: that PE has no such range.
    displacements: Box<[Option<isize>]>,
}

impl Range {
    /// `length` bytes from `first` on, and where each PE's are here; `None`: it has none.
    pub fn new(first: usize, length: usize, theirs: impl Iterator<Item = Option<usize>>) -> Self {
        Self {
            first,
            length,
            displacements: theirs
                .map(|address| address.map(|address| address.wrapping_sub(first).cast_signed()))
                .collect(),
        }
    }

    #[inline(always)]
    fn holds(&self, address: usize, length: usize) -> bool {
        let offset = address.wrapping_sub(self.first);
        offset <= self.length && length <= self.length - offset
    }

    /// What to add to an address to reach the object of each PE; `None`: that PE has no such range.
    pub fn displacements(&self) -> &[Option<isize>] {
        &self.displacements
    }

    /// First address.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.length
    }
}

/// All ranges. The first one is the heap.
#[derive(Debug)]
pub struct Ranges {
    heap: Range,
    statics: Vec<Range>,
    /// Why there is no symmetric static data, if that is so.
    why_no_statics: Option<&'static str>,
}

impl Ranges {
    /// The heap, and static data or why there is none.
    pub fn new(heap: Range, statics: Result<Vec<Range>, &'static str>) -> Self {
        let (statics, why_no_statics) = match statics {
            Ok(statics) => (statics, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Self {
            heap,
            statics,
            why_no_statics,
        }
    }

    /// The heap.
    pub fn heap(&self) -> &Range {
        &self.heap
    }

    /// The address here of what is at `address` on `pe`, which must be one; `None`: it is not symmetric, or not for `length` bytes.
    #[inline(always)]
    pub fn find(&self, address: usize, length: usize, pe: u32) -> Option<usize> {
        if self.heap.holds(address, length) {
            return self.heap.displacements[pe as usize].map(|by| address.wrapping_add_signed(by));
        }
        self.find_static(address, length, pe)
    }

    #[inline(never)]
    fn find_static(&self, address: usize, length: usize, pe: u32) -> Option<usize> {
        let range = self.statics.iter().find(|range| range.holds(address, length))?;
        range.displacements[pe as usize].map(|by| address.wrapping_add_signed(by))
    }

    /// What these bytes are called by all PEs: the number of the range, and the offset there. `None`: they are not symmetric.
    #[inline]
    pub fn name(&self, address: usize, length: usize) -> Option<u64> {
        if self.heap.holds(address, length) {
            return Some((address - self.heap.first) as u64);
        }
        let index = self.statics.iter().position(|range| range.holds(address, length))?;
        Some((index as u64 + 1) << OFFSET_BITS | (address - self.statics[index].first) as u64)
    }

    /// The address here of what has this name, on `pe`, which must be one.
    #[inline]
    pub fn named(&self, name: u64, length: usize, pe: u32) -> Option<usize> {
        let offset = (name & ((1 << OFFSET_BITS) - 1)) as usize;
        let range = match (name >> OFFSET_BITS) as usize {
            0 => &self.heap,
            index => self.statics.get(index - 1)?,
        };
        let address = range.first.wrapping_add(offset);
        let found = range
            .holds(address, length)
            .then(|| range.displacements[pe as usize])??;
        Some(address.wrapping_add_signed(found))
    }

    /// Say that these bytes are not symmetric, and end the job.
    #[cold]
    #[inline(never)]
    pub fn refuse(&self, call: Call, name: &str, address: usize, length: usize, pe: u32) -> ! {
        let all = || std::iter::once(&self.heap).chain(&self.statics);
        if let Some(range) = all().find(|range| range.holds(address, 0)) {
            if range.holds(address, length) {
                call.refuse(format!(
                    "{name}={address:#x} is not symmetric: PE {pe} has no such static data (another program, or another library?)"
                ));
            }
            call.refuse(format!(
                "{name}={address:#x}, {length} bytes: that goes beyond symmetric memory, which ends at {:#x}",
                range.first + range.length
            ));
        }
        let why = self
            .why_no_statics
            .unwrap_or("it is neither from the symmetric heap nor static data");
        call.refuse(format!("{name}={address:#x} is not a symmetric address: {why}"))
    }
}
