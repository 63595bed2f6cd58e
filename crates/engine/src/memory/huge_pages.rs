//! What of the memory that peers map is in huge pages: the tunable `huge_pages`, and what is done where there are none.

use std::sync::OnceLock;

use isthmus_os::huge;
use isthmus_shm::{Offset, Segment, segment};

use crate::warning::{Warning, warn};
use crate::{counters, tunables};

/// What of the memory that peers map is to be in huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HugePages {
    /// As the machine's settings say, of shared memory that asks for it.
    Auto,
    /// At once, whatever they say.
    Now,
    /// From the machine's pool (hugetlb), and where that has no more as [`HugePages::Now`].
    Pool,
    /// Ordinary pages.
    Off,
}

impl HugePages {
    /// What the tunable says.
    pub fn policy() -> Self {
        static POLICY: OnceLock<HugePages> = OnceLock::new();
        *POLICY.get_or_init(|| match tunables::HUGE_PAGES.get() {
            None => Self::Auto,
            Some(word) => Self::of(word).unwrap_or_else(|| {
                warn(
                    Warning::HugePages,
                    &format!("isthmus: ISTHMUS_HUGE_PAGES={word} is none of auto, thp, hugetlb and off; using auto"),
                );
                Self::Auto
            }),
        })
    }

    /// What a word asks for: `auto`, `thp`, `hugetlb` or `off`; `None`: it is none of these.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "auto" => Self::Auto,
            "thp" => Self::Now,
            "hugetlb" => Self::Pool,
            "off" => Self::Off,
            _ => return None,
        })
    }

    /// Have they been asked for by name?
    pub fn is_by_name(self) -> bool {
        matches!(self, Self::Now | Self::Pool)
    }

    /// Ask for huge pages where ordinary memory of the segment has room for some. If there are none, it keeps ordinary ones; one line says so if
    /// they were asked for by name.
    pub(crate) fn apply(self, segment: &Segment, at: Offset, length: u64) {
        let has_room = at.0.next_multiple_of(huge::BYTES) + huge::BYTES <= at.0 + length;
        if self == Self::Off || !has_room {
            return;
        }
        let bytes = segment.prefer_huge(at, length, self.is_by_name());
        counters::HUGE_BYTES.add(bytes);
        if bytes == 0 && self.is_by_name() {
            warn(
                Warning::NoHugePages,
                "isthmus: no huge pages for shared memory: ordinary ones are used. Cure: free memory, or Linux 6.1; or silence this with ISTHMUS_HUGE_PAGES=auto.",
            );
        }
    }

    /// Memory for a ring or the like, of `length` bytes and more, with all of it reserved; `None`: these are not for rings, or there are none.
    /// Only who asks for huge pages by name gets them: whole ones, of which others find little use.
    pub(crate) fn for_rings(self, segment: &Segment, length: u64) -> Option<(Offset, u64)> {
        let whole = length.next_multiple_of(huge::BYTES);
        let found = match self {
            Self::Auto | Self::Off => return None,
            Self::Now => None,
            Self::Pool => from_pool(segment, whole).inspect_err(say_pool_is_short).ok(),
        };
        let at = match found {
            Some(at) => at,
            None => collapsed(segment, whole)?,
        };
        counters::HUGE_BYTES.add(whole);
        Some((at, whole))
    }
}

/// Whole pages of the pool, reserved.
pub(crate) fn from_pool(segment: &Segment, length: u64) -> Result<Offset, segment::Error> {
    let at = segment.take_from_pool(length)?;
    match segment.back(at, length) {
        Ok(()) => Ok(at),
        Err(error) => {
            // Some may have been found.
            segment.punch(at, length);
            segment.return_to_pool(at, length);
            Err(error)
        }
    }
}

/// Memory of the segment that the kernel has made huge pages of; `None`: it does not.
fn collapsed(segment: &Segment, length: u64) -> Option<Offset> {
    let taken = segment.take(length + huge::BYTES).ok()?;
    let at = Offset(taken.0.next_multiple_of(huge::BYTES));
    segment.back(at, length).ok()?;
    let good = segment.prefer_huge(at, length, true) == length;
    if !good {
        segment.unback(at, length);
    }
    good.then_some(at)
}

/// One line: there are not as many pages in the pool.
#[cold]
pub(crate) fn say_pool_is_short(error: &segment::Error) {
    let pool = huge::pool();
    warn(
        Warning::NoPool,
        &format!(
            "isthmus: huge pages from the pool: {error}; {} of {} are free. Others are used where there are any. Cure: raise vm.nr_hugepages before the \
             job starts, or ISTHMUS_HUGE_PAGES=thp.",
            pool.free, pool.pages
        ),
    );
}
