//! Hints of communicators (MPI-5.0 §7.4.4): what a process promises not to do, or to do only so.
//!
//! A promise is for the calling process alone and for its own calls. Duplicates do not inherit promises; those that
//! an info brings to a new communicator hold from the beginning.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Comm;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::info::Info;
use crate::process::kinds;

/// Something that a program may promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// No receive and no probe names `MPI_ANY_TAG`.
    NoAnyTag,
    /// No receive and no probe names `MPI_ANY_SOURCE`.
    NoAnySource,
    /// Messages are as long as the buffers of their receives.
    ExactLength,
    /// Nothing depends on the order of messages.
    AllowOvertaking,
    /// Persistent collectives are started in the same order everywhere.
    StrictOrder,
}

impl Promise {
    const ALL: [Self; 5] = [
        Self::NoAnyTag,
        Self::NoAnySource,
        Self::ExactLength,
        Self::AllowOvertaking,
        Self::StrictOrder,
    ];

    fn key(self) -> &'static str {
        match self {
            Self::NoAnyTag => "mpi_assert_no_any_tag",
            Self::NoAnySource => "mpi_assert_no_any_source",
            Self::ExactLength => "mpi_assert_exact_length",
            Self::AllowOvertaking => "mpi_assert_allow_overtaking",
            Self::StrictOrder => "mpi_assert_strict_persistent_collective_ordering",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

const USED_KINDS: &str = "mpi_assert_memory_alloc_kinds";
const SUPPORTED_KINDS: &str = "mpi_memory_alloc_kinds";

/// The hints in use.
#[derive(Debug, Default)]
pub struct Hints {
    promises: AtomicU8,
    /// The kinds of memory that are used alone, if that was promised.
    kinds: Mutex<Option<String>>,
}

impl Hints {
    /// Is that promised?
    #[inline]
    pub fn has(&self, promise: Promise) -> bool {
        self.promises.load(Ordering::Relaxed) & promise.bit() != 0
    }

    /// Take over what `info` says. Unknown or malformed hints are ignored.
    fn update(&self, info: &Info) {
        for promise in Promise::ALL {
            match info.value(promise.key()).as_deref() {
                Some("true") => self.promises.fetch_or(promise.bit(), Ordering::Relaxed),
                Some("false") => self.promises.fetch_and(!promise.bit(), Ordering::Relaxed),
                _ => continue,
            };
        }
        if let Some(list) = info.value(USED_KINDS).filter(|list| kinds::are_supported(list)) {
            *self.kinds() = Some(list);
        }
    }

    fn kinds(&self) -> MutexGuard<'_, Option<String>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that there are, with their values; `supported` kinds of memory.
    fn pairs(&self, supported: String) -> Vec<(&'static str, String)> {
        let mut pairs: Vec<_> = Promise::ALL
            .iter()
            .map(|promise| (promise.key(), self.has(*promise).to_string()))
            .collect();
        pairs.push((SUPPORTED_KINDS, supported));
        pairs.extend(self.kinds().clone().map(|kinds| (USED_KINDS, kinds)));
        pairs
    }
}

impl Comm {
    /// Refuse what the calling process promised not to do: a receive or probe with these wildcards.
    #[inline]
    pub(crate) fn check_wildcards(&self, any_source: bool, any_tag: bool) -> Result<()> {
        if any_source && self.hints.has(Promise::NoAnySource) {
            return Err(fail!(
                Rank,
                "source=MPI_ANY_SOURCE on a communicator with {}",
                Promise::NoAnySource.key()
            ));
        }
        if any_tag && self.hints.has(Promise::NoAnyTag) {
            return Err(fail!(
                Tag,
                "tag=MPI_ANY_TAG on a communicator with {}",
                Promise::NoAnyTag.key()
            ));
        }
        Ok(())
    }
}

/// `MPI_Comm_set_info`: hints that we do not know are ignored, others keep their values.
pub fn comm_set_info(comm: &Comm, info: Option<&Info>) -> Result<()> {
    if let Some(info) = info {
        comm.hints.update(info);
    }
    Ok(())
}

/// `MPI_Comm_get_info`: all hints that we know, with the values in use.
pub fn comm_get_info(comm: &Comm) -> Result<Handle<Info>> {
    let supported = kinds::memory_alloc_kinds(comm.group.session());
    Info::from_pairs(comm.hints.pairs(supported)).publish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays() {
        let hints = Hints::default();
        hints.update(&Info::from_pairs([
            ("mpi_assert_no_any_tag", "true"),
            ("mpi_assert_exact_length", "yes"),
            ("no_such_hint", "true"),
            (USED_KINDS, "cuda"),
        ]));
        hints.update(&Info::from_pairs([
            ("mpi_assert_no_any_source", "true"),
            (USED_KINDS, "system"),
        ]));
        hints.update(&Info::from_pairs([("mpi_assert_no_any_source", "false")]));
        assert!(hints.has(Promise::NoAnyTag));
        assert!(!hints.has(Promise::NoAnySource) && !hints.has(Promise::ExactLength));
        let pairs = hints.pairs("mpi,system".to_owned());
        let value = |key: &str| {
            pairs
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(value("mpi_assert_no_any_tag"), Some("true"));
        assert_eq!(value("mpi_assert_strict_persistent_collective_ordering"), Some("false"));
        assert_eq!(
            (value(SUPPORTED_KINDS), value(USED_KINDS)),
            (Some("mpi,system"), Some("system"))
        );
        assert_eq!(pairs.len(), 7);
    }
}
