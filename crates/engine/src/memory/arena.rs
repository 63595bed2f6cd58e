//! This process's own part of the job segment: small pieces cut from larger ones. What is released serves again for
//! pieces of the same length.

use std::collections::HashMap;
use std::ptr::NonNull;

use isthmus_os::checker;
use isthmus_shm::{Advert, Descriptor, Offset, Segment, segment};
use isthmus_transfer::fault::Plan;

use crate::limits::{BESIDE, ROOMY, ROOMY_DESCRIPTORS};
use crate::memory::huge_pages::HugePages;

/// Bytes taken from the segment at a time.
const CHUNK: u64 = 64 << 10;

const HEAD: u64 = size_of::<Descriptor>() as u64;

/// Cuts rings and descriptors from chunks of the segment. Nothing is shared: a chunk belongs to one process.
#[derive(Debug, Default)]
pub struct Arena {
    next: u64,
    end: u64,
    /// As those, of huge pages.
    next_huge: u64,
    end_huge: u64,
    descriptors: Vec<Offset>,
    /// Those with more room that nobody uses, and where the first one of all is, once there are some.
    roomy: Vec<Offset>,
    first_roomy: Option<Offset>,
    /// Released memory, by length.
    released: HashMap<u64, Vec<Offset>>,
    /// Refuses available memory, for tests.
    pub plan: Option<&'static Plan>,
}

impl Arena {
    /// `length` bytes, zeroed, aligned to 128.
    pub fn allocate(&mut self, segment: &Segment, length: u64) -> Result<Offset, segment::Error> {
        let length = length.next_multiple_of(128);
        self.refuse_as_planned(length)?;
        if let Some(offset) = self.released.get_mut(&length).and_then(Vec::pop)
            && let Some(base) = segment.at(offset, length)
        {
            // SAFETY: its releaser vouched that it is unused.
            unsafe { base.write_bytes(0, length as usize) };
            return Ok(offset);
        }
        if length > CHUNK / 4 {
            return self.allocate_large(segment, length);
        }
        if self.end - self.next < length {
            self.next = segment.allocate(CHUNK)?.0;
            self.end = self.next + CHUNK;
        }
        self.next += length;
        Ok(Offset(self.next - length))
    }

    /// A piece that is no part of a chunk of ordinary pages: a part of huge ones, if that is the policy.
    fn allocate_large(&mut self, segment: &Segment, length: u64) -> Result<Offset, segment::Error> {
        match self.allocate_huge(segment, length) {
            Some(at) => Ok(at),
            None => segment.allocate(length),
        }
    }

    /// A part of huge pages, if that is the policy and there are some.
    fn allocate_huge(&mut self, segment: &Segment, length: u64) -> Option<Offset> {
        if self.end_huge - self.next_huge < length {
            let (at, whole) = HugePages::policy().for_rings(segment, length)?;
            (self.next_huge, self.end_huge) = (at.0, at.0 + whole);
        }
        self.next_huge += length;
        Some(Offset(self.next_huge - length))
    }

    /// Addresses for `length` bytes, whole pages, zeroed, whose memory comes by [`Self::back`]; and how many bytes of them have it.
    pub fn take(&mut self, segment: &Segment, length: u64) -> Result<(Offset, u64), segment::Error> {
        match self.allocate_huge(segment, length) {
            Some(at) => Ok((at, length)),
            // A checker that looks for pointers reads holes, too, and so makes pages of them.
            None if checker::is_present() => Ok((segment.allocate(length)?, length)),
            None => Ok((segment.take(length)?, 0)),
        }
    }

    /// Put memory behind whole pages that [`Self::take`] gave out, and make it present here.
    pub fn back(&self, segment: &Segment, at: Offset, length: u64) -> Result<(), segment::Error> {
        self.refuse_as_planned(length)?;
        segment.back(at, length)?;
        segment.populate(at, length);
        Ok(())
    }

    /// A fault that is injected.
    fn refuse_as_planned(&self, wanted: u64) -> Result<(), segment::Error> {
        match self.plan.is_some_and(Plan::refuses_memory) {
            true => Err(segment::Error::Exhausted {
                wanted,
                left: 0,
                limit: "a fault that is injected",
            }),
            false => Ok(()),
        }
    }

    /// Nobody, in any process, uses the `length` bytes at `offset` any more, which [`Self::allocate`] gave out.
    pub fn release(&mut self, offset: Offset, length: u64) {
        let length = length.next_multiple_of(128);
        self.released.entry(length).or_default().push(offset);
    }

    /// A descriptor that nobody uses, for a message of so many bytes: with as many behind it, if there is one.
    pub fn descriptor(&mut self, segment: &Segment, length: u64) -> Result<Offset, segment::Error> {
        if (BESIDE + 1..=ROOMY - HEAD).contains(&length)
            && let Some(offset) = self.roomy_descriptor(segment)
        {
            return Ok(offset);
        }
        match self.descriptors.pop() {
            Some(offset) => Ok(offset),
            None => self.allocate(segment, HEAD + BESIDE),
        }
    }

    #[cold]
    fn roomy_descriptor(&mut self, segment: &Segment) -> Option<Offset> {
        if self.first_roomy.is_none() {
            let first = self.allocate(segment, ROOMY_DESCRIPTORS * ROOMY).ok()?;
            self.first_roomy = Some(first);
            self.roomy = (0..ROOMY_DESCRIPTORS).map(|at| Offset(first.0 + at * ROOMY)).collect();
        }
        self.roomy.pop()
    }

    /// Bytes behind a descriptor that this process has got.
    pub fn room_beside(&self, descriptor: Offset) -> u64 {
        if self.is_roomy(descriptor) {
            ROOMY - HEAD
        } else {
            BESIDE
        }
    }

    fn is_roomy(&self, descriptor: Offset) -> bool {
        self.first_roomy
            .is_some_and(|first| (first.0..first.0 + ROOMY_DESCRIPTORS * ROOMY).contains(&descriptor.0))
    }

    /// The receiver is done with it.
    pub fn give_back(&mut self, descriptor: Offset) {
        match self.is_roomy(descriptor) {
            true => self.roomy.push(descriptor),
            false => self.descriptors.push(descriptor),
        }
    }
}

/// The advert at `offset`, which a peer may have told us.
pub fn advert(segment: &Segment, offset: Offset) -> Option<&Advert> {
    let at: NonNull<u8> = segment.at(offset, size_of::<Advert>() as u64)?;
    // SAFETY: as for descriptors.
    Some(unsafe { at.cast().as_ref() })
}

/// The `length` bytes beside the descriptor at `offset`, which a peer may have told us. `None`: there are not so many.
pub fn beside(segment: &Segment, offset: Offset, length: u64) -> Option<NonNull<u8>> {
    let at = offset.0.checked_add(HEAD)?;
    (length <= ROOMY - HEAD).then(|| segment.at(Offset(at), length))?
}

/// The descriptor at `offset`, which a peer may have told us.
pub fn descriptor(segment: &Segment, offset: Offset) -> Option<&Descriptor> {
    let at: NonNull<u8> = segment.at(offset, size_of::<Descriptor>() as u64)?;
    // SAFETY: in the arena, aligned, and a Descriptor is only an atomic.
    Some(unsafe { at.cast().as_ref() })
}
