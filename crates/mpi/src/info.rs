//! Info objects: ordered lists of (key, value) hints (MPI-5.0 §10).

use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::constants::{MAX_INFO_KEY, MAX_INFO_VAL};
use crate::error::{Class, Result};
use crate::fail;
use crate::handle::{Handle, Kind, Object, Table};

/// An ordered list of (key, value) pairs.
#[derive(Debug, Default)]
pub struct Info {
    entries: Mutex<Vec<(String, String)>>,
}

impl Object for Info {
    const KIND: Kind = Kind::Info;
    const INVALID: Class = Class::Info;
    const NULL: u32 = 0x130;
    const NAME: &'static str = "MPI_Info";
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Info> = Table::new();
        &TABLE
    }
}

impl Info {
    /// These pairs, in this order.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Arc<Self> {
        let entries = pairs
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        Arc::new(Self {
            entries: Mutex::new(entries),
        })
    }

    /// All pairs, oldest first.
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.lock().clone()
    }

    /// The value of `key`.
    pub fn value(&self, key: &str) -> Option<String> {
        let entries = self.lock();
        entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
    }

    /// Give `key` a value. A key that exists keeps its place.
    pub fn set(&self, key: &str, value: &str) {
        let mut entries = self.lock();
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value.to_owned(),
            None => entries.push((key.to_owned(), value.to_owned())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
