//! A wrapper that injects errors, for tests: every access does a part of what it is asked for, or is interrupted, and one fails.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::{Backend, Holder};
use crate::layout::Layout;

/// The errors that are injected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Accesses move so many bytes at most; 0: all.
    pub most: usize,
    /// Each so many-th access is interrupted; 0: none.
    pub interrupted: u64,
    /// After so many accesses, all fail with this number of the system's.
    pub fails: Option<(u64, i32)>,
}

impl Plan {
    /// As in `short=7,eintr=3,enospc=10`: `eio`, `enospc` and `edquot` are accesses that go well before.
    ///
    /// # Errors
    /// The word that is not understood.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut plan = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let parts = word.split_once('=').map(|(key, number)| (key, number.parse::<u64>()));
            let Some((key, Ok(number))) = parts else {
                return Err(word.to_owned());
            };
            match key {
                "short" => plan.most = number as usize,
                "eintr" => plan.interrupted = number,
                "eio" => plan.fails = Some((number, libc::EIO)),
                "enospc" => plan.fails = Some((number, libc::ENOSPC)),
                "edquot" => plan.fails = Some((number, libc::EDQUOT)),
                _ => return Err(word.to_owned()),
            }
        }
        Ok(plan)
    }
}

/// A file whose accesses go wrong as planned.
pub struct Fault<B> {
    inner: B,
    plan: Plan,
    accesses: AtomicU64,
}

impl<B: Backend> Fault<B> {
    /// `inner`, with these faults.
    pub fn new(inner: B, plan: Plan) -> Self {
        Self {
            inner,
            plan,
            accesses: AtomicU64::new(0),
        }
    }

    /// How many bytes of an access may be moved.
    fn allow(&self, bytes: usize) -> io::Result<usize> {
        let before = self.accesses.fetch_add(1, Ordering::Relaxed);
        if self.plan.interrupted > 0 && before % self.plan.interrupted == self.plan.interrupted - 1 {
            return Err(io::Error::from_raw_os_error(libc::EINTR));
        }
        match self.plan.fails {
            Some((good, errno)) if before >= good => Err(io::Error::from_raw_os_error(errno)),
            _ if self.plan.most > 0 => Ok(bytes.min(self.plan.most)),
            _ => Ok(bytes),
        }
    }
}

impl<B: Backend> Backend for Fault<B> {
    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let most = self.allow(into.len())?;
        self.inner.read(&mut into[..most], offset)
    }

    fn write(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        let most = self.allow(from.len())?;
        self.inner.write(&from[..most], offset)
    }

    fn read_list(&self, into: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<usize> {
        // Whole lists have no part to be cut to.
        if self.plan.most > 0 {
            let first = into.iter_mut().find(|place| !place.is_empty());
            return first.map_or(Ok(0), |place| self.read(place, offset));
        }
        self.allow(0)?;
        self.inner.read_list(into, offset)
    }

    fn write_list(&self, from: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        if self.plan.most > 0 {
            let first = from.iter().find(|place| !place.is_empty());
            return first.map_or(Ok(0), |place| self.write(place, offset));
        }
        self.allow(0)?;
        self.inner.write_list(from, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.inner.size()
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        self.inner.resize(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        self.allow(0)?;
        self.inner.allocate(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.allow(0)?;
        self.inner.sync()
    }

    fn flush(&self) -> io::Result<()> {
        self.allow(0)?;
        self.inner.flush()
    }

    fn try_lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()> {
        self.inner.try_lock(range, exclusive)
    }

    fn holder(&self, range: Range<u64>, exclusive: bool) -> io::Result<Holder> {
        self.inner.holder(range, exclusive)
    }

    fn layout(&self) -> Layout {
        self.inner.layout()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn is_called(&self, path: &Path) -> io::Result<bool> {
        self.inner.is_called(path)
    }

    fn unlock(&self, range: Range<u64>) -> io::Result<()> {
        self.inner.unlock(range)
    }

    fn is_readable(&self) -> bool {
        self.inner.is_readable()
    }

    fn is_cached_elsewhere(&self) -> bool {
        self.inner.is_cached_elsewhere()
    }

    fn is_stream(&self) -> bool {
        self.inner.is_stream()
    }
}
