//! Hints of windows (MPI-5.0 §12.2.7, §12.2.1): what is promised, what follows from it, and what is told back.
//!
//! A hint is worth code if it gains 5 % or more of something that a program can see. Used are `alloc_shared_noncontig`,
//! `mpi_minimum_memory_alignment`, `mpi_accumulate_granularity` (256 and more: locks from the beginning, docs/decisions/0032) and
//! `isthmus_huge_pages`. These are told back, and change only what is refused:
//! - `no_locks` would save 16 bytes and one per member of a member's part, which begins at a multiple of 128 bytes anyway; `MPI_Win_lock` is
//!   refused.
//! - `same_size`: no sizes are kept; a member's key is read when that member is first accessed. `same_disp_unit` is read with the key.
//! - `accumulate_ordering=none`: an accumulate on the node has completed when its call returns.
//! - `accumulate_ops=same_op`: an element is changed by one instruction or under one lock, whatever the operation is.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_engine::heap::HugePages;
use isthmus_engine::rma::Atomicity;

use super::Win;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::info::Info;
use crate::process::kinds;

/// Hints that are true or false; if nothing is said, they are false.
const FLAGS: [&str; 4] = ["no_locks", "same_size", "same_disp_unit", "alloc_shared_noncontig"];
const ORDERING: &str = "accumulate_ordering";
const OPERATIONS: &str = "accumulate_ops";
const GRANULARITY: &str = "mpi_accumulate_granularity";
const ALIGNMENT: &str = "mpi_minimum_memory_alignment";
const USED_KINDS: &str = "mpi_assert_memory_alloc_kinds";
const SUPPORTED_KINDS: &str = "mpi_memory_alloc_kinds";
/// Of ours: as the tunable `huge_pages`, for the memory of one window.
const HUGE_PAGES: &str = "isthmus_huge_pages";
const PAGES: [&str; 4] = ["auto", "thp", "hugetlb", "off"];
/// Accumulates whose elements are said to be combined so many bytes at a time, or more, take locks from the beginning.
const COARSE: u64 = 256;
const ORDERS: [&str; 4] = ["rar", "raw", "war", "waw"];

/// The hints in use, once something was said: each lock of a window asks.
#[derive(Debug, Default)]
pub(super) struct Hints(OnceLock<Box<Mutex<Known>>>);

#[derive(Debug, Clone)]
struct Known {
    flags: [bool; FLAGS.len()],
    ordering: String,
    operations: String,
    granularity: String,
    alignment: u64,
    kinds: Option<String>,
    huge_pages: Option<String>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            flags: [false; FLAGS.len()],
            ordering: ORDERS.join(","),
            operations: "same_op_no_op".to_owned(),
            granularity: "0".to_owned(),
            alignment: 0,
            kinds: None,
            huge_pages: None,
        }
    }
}

impl Hints {
    /// What an info brings to a new window. Unknown or malformed hints are ignored, except for an alignment, which cannot be.
    pub fn of(info: Option<&Info>) -> Result<Self> {
        let hints = Self::default();
        if let Some(info) = info {
            hints.update(info);
            let mut known = hints.change();
            if let Some(text) = info.value(ALIGNMENT) {
                known.alignment = alignment(&text)?;
            }
            known.huge_pages = info.value(HUGE_PAGES).filter(|word| PAGES.contains(&word.as_str()));
            drop(known);
        }
        Ok(hints)
    }

    fn update(&self, info: &Info) {
        let mut known = self.change();
        for (flag, key) in known.flags.iter_mut().zip(FLAGS) {
            match info.value(key).as_deref() {
                Some("true") => *flag = true,
                Some("false") => *flag = false,
                _ => {}
            }
        }
        if let Some(orders) = info.value(ORDERING)
            && (orders == "none" || orders.split(',').all(|order| ORDERS.contains(&order.trim())))
        {
            known.ordering = orders;
        }
        if let Some(operations) = info.value(OPERATIONS)
            && ["same_op", "same_op_no_op"].contains(&operations.as_str())
        {
            known.operations = operations;
        }
        if let Some(granularity) = info.value(GRANULARITY)
            && granularity.parse::<u64>().is_ok()
        {
            known.granularity = granularity;
        }
        if let Some(list) = info.value(USED_KINDS).filter(|list| kinds::are_supported(list)) {
            known.kinds = Some(list);
        }
    }

    /// `None`: nothing was said.
    #[inline]
    fn said(&self) -> Option<MutexGuard<'_, Known>> {
        let known = self.0.get()?;
        Some(known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self) -> MutexGuard<'_, Known> {
        let known = self.0.get_or_init(Box::default);
        known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flag(&self, key: &str) -> bool {
        let Some(known) = self.said() else { return false };
        FLAGS.iter().zip(known.flags).any(|(name, value)| *name == key && value)
    }

    /// Is nothing ever locked?
    pub fn no_locks(&self) -> bool {
        self.flag("no_locks")
    }

    /// May the members' parts of shared memory lie apart?
    pub fn is_noncontiguous(&self) -> bool {
        self.flag("alloc_shared_noncontig")
    }

    /// What memory that the window allocates begins at a multiple of; 0: nothing was said.
    pub fn alignment(&self) -> u64 {
        self.said().map_or(0, |known| known.alignment)
    }

    /// In what pages memory that the window allocates is to lie; `None`: as all does.
    pub fn huge_pages(&self) -> Option<HugePages> {
        self.said()?.huge_pages.as_deref().and_then(HugePages::of)
    }

    /// How accumulates are made atomic in memory that all map: the granularity that is asked for says whether elements come one by one.
    pub fn atomicity(&self) -> Atomicity {
        let granularity = self.said().map(|known| known.granularity.parse::<u64>());
        match granularity {
            Some(Ok(bytes)) if bytes >= COARSE => Atomicity::Locked,
            _ => Atomicity::Elements,
        }
    }

    fn pairs(&self, supported: String) -> Vec<(&'static str, String)> {
        let known = self.said().map(|known| known.clone()).unwrap_or_default();
        let mut pairs: Vec<_> = FLAGS
            .iter()
            .zip(known.flags)
            .map(|(key, value)| (*key, value.to_string()))
            .collect();
        pairs.push((ORDERING, known.ordering));
        pairs.push((OPERATIONS, known.operations));
        pairs.push((GRANULARITY, known.granularity));
        pairs.push((SUPPORTED_KINDS, supported));
        if known.alignment > 0 {
            pairs.push((ALIGNMENT, known.alignment.to_string()));
        }
        pairs.extend(known.kinds.map(|kinds| (USED_KINDS, kinds)));
        pairs.extend(known.huge_pages.map(|word| (HUGE_PAGES, word)));
        pairs
    }
}

fn alignment(text: &str) -> Result<u64> {
    match text.parse::<u64>() {
        Ok(asked) if asked.is_power_of_two() => Ok(asked),
        _ => Err(wrong_alignment(text)),
    }
}

#[cold]
fn wrong_alignment(text: &str) -> Error {
    fail!(InfoValue, "{ALIGNMENT}=\"{text}\" is not a power of two")
}

/// `MPI_Win_set_info`: hints that we do not know are ignored, others keep their values.
pub fn win_set_info(win: &Win, info: Option<&Info>) -> Result<()> {
    if let Some(info) = info {
        win.hints.update(info);
    }
    Ok(())
}

/// `MPI_Win_get_info`: all hints that we know, with the values in use.
pub fn win_get_info(win: &Win) -> Result<Handle<Info>> {
    let supported = kinds::memory_alloc_kinds(win.group.session());
    Info::from_pairs(win.hints.pairs(supported)).publish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_stays() {
        let info = Info::from_pairs([
            ("no_locks", "true"),
            ("same_size", "maybe"),
            ("accumulate_ordering", "rar,waw"),
            ("accumulate_ops", "any"),
            ("mpi_minimum_memory_alignment", "4096"),
            ("mpi_accumulate_granularity", "4096"),
            ("isthmus_huge_pages", "thp"),
        ]);
        let hints = Hints::of(Some(&info)).expect("good hints");
        assert!(hints.no_locks() && !hints.is_noncontiguous());
        assert_eq!(hints.alignment(), 4096);
        let pairs = hints.pairs("mpi".to_owned());
        let value = |key: &str| {
            pairs
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(value("accumulate_ordering"), Some("rar,waw"));
        assert_eq!(value("accumulate_ops"), Some("same_op_no_op"));
        assert_eq!(value("same_size"), Some("false"));
        assert_eq!(value("isthmus_huge_pages"), Some("thp"));
        assert_eq!(hints.huge_pages(), Some(HugePages::Now));
        assert_eq!(hints.atomicity(), Atomicity::Locked);
        let none = Hints::of(Some(&Info::from_pairs([("isthmus_huge_pages", "large")]))).expect("ignored");
        assert_eq!((none.huge_pages(), none.atomicity()), (None, Atomicity::Elements));
        assert!(
            none.pairs("mpi".to_owned())
                .iter()
                .all(|(name, _)| *name != "isthmus_huge_pages")
        );
        let odd = Info::from_pairs([("mpi_minimum_memory_alignment", "3")]);
        assert!(Hints::of(Some(&odd)).is_err());
    }
}
