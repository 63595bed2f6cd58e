//! Parts of the job's segment that the driver has pinned for us: copies between them and a device need no buffer between, and both ends of a
//! message through the ring are under way at the same time.
//!
//! A part is registered when the first copy touches it, and stays so: the segment is mapped as long as the process lives.

use std::ffi::{c_uint, c_void};
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::sync::{Mutex, PoisonError};

use crate::api::{Api, Object, code, flag};
use crate::counts::{COUNTS, count};
use crate::place::Current;
use crate::ranges;

/// Bytes of a part, at most; parts begin at multiples of it.
const PART: usize = 1 << 20;
/// Parts that are registered, at most: memory that the kernel cannot move or give away.
const MOST: usize = 64;
/// Shorter copies go through a lane's buffer, which is near.
const FROM: usize = 8 << 10;

static PARTS: Mutex<Parts> = Mutex::new(Parts {
    starts: Vec::new(),
    is_refused: false,
});

struct Parts {
    starts: Vec<usize>,
    /// The driver does not pin them: it is not asked again.
    is_refused: bool,
}

/// Are these bytes in parts of the segment that are pinned, or can be, in this context? May take as long as pinning 1 MiB.
pub fn are_pinned(api: &Api, context: Object, address: usize, bytes: usize) -> bool {
    if bytes < FROM {
        return false;
    }
    let Some(segment) = ranges::told_range(address) else {
        return false;
    };
    if address + bytes > segment.end {
        return false;
    }
    let mut parts = PARTS.lock().unwrap_or_else(PoisonError::into_inner);
    let first = address / PART * PART;
    (first..address + bytes)
        .step_by(PART)
        .all(|start| parts.have(api, context, start, &segment))
}

impl Parts {
    fn have(&mut self, api: &Api, context: Object, start: usize, segment: &Range<usize>) -> bool {
        if self.starts.contains(&start) {
            return true;
        }
        if self.is_refused || self.starts.len() >= MOST {
            return false;
        }
        let Ok(_current) = Current::enter(api, context) else {
            return false;
        };
        const FLAGS: c_uint = flag::HOST_PORTABLE | flag::HOST_DEVICE_MAP;
        let (from, to) = (start.max(segment.start), (start + PART).min(segment.end));
        let place = with_exposed_provenance_mut::<c_void>(from);
        // SAFETY: memory that stays mapped.
        let answer = unsafe { (api.register_host)(place, to - from, FLAGS) };
        // A library beside this one may have registered it.
        if answer != code::SUCCESS && answer != code::ALREADY_REGISTERED {
            count(&COUNTS.failures);
            self.is_refused = true;
            return false;
        }
        count(&COUNTS.pinned_parts);
        self.starts.push(start);
        true
    }
}
