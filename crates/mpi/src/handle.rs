//! Handles: checked indexes with a generation.
//!
//! A canonical handle is 31 positive bits that fit the MPICH ABI's `int`, Fortran's INTEGER and the standard ABI's
//! pointer alike:
//!
//! ```text
//! predefined   the standard ABI's own value, at most 0x2eb
//! dynamic      0 kkkk ggggggg iiiiiiiiiiiiiiiiiii      bit 30 clear
//!                kind 4 | generation 7 | index 19, index never 0
//! ```
//!
//! Bit 30 stays clear and the index is never zero, so that no dynamic handle equals a predefined or null value of
//! either ABI. A stale or garbage handle is an error class, never a crash.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::{Class, Error, Result};

const INDEX_BITS: u32 = 19;
const GENERATION_BITS: u32 = 7;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

/// What a dynamic handle names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Kind {
    Comm = 1,
    Group = 2,
    Datatype = 3,
    Op = 4,
    Request = 5,
    Errhandler = 6,
    Info = 7,
    Win = 8,
    File = 9,
    Session = 10,
    Message = 11,
}

/// The parts of a dynamic handle.
pub fn compose(kind: Kind, generation: u32, index: u32) -> u32 {
    debug_assert!(index != 0 && index <= INDEX_MASK);
    ((kind as u32) << (INDEX_BITS + GENERATION_BITS)) | ((generation & GENERATION_MASK) << INDEX_BITS) | index
}

/// (kind bits, generation, index) of a dynamic handle.
pub fn decompose(raw: u32) -> (u32, u32, u32) {
    (
        raw >> (INDEX_BITS + GENERATION_BITS),
        (raw >> INDEX_BITS) & GENERATION_MASK,
        raw & INDEX_MASK,
    )
}

/// An object of MPI that users hold by handle.
pub trait Object: Send + Sync + Sized + 'static {
    /// The kind in dynamic handles.
    const KIND: Kind;
    /// The error class for a handle that names nothing.
    const INVALID: Class;
    /// The standard ABI's value of the null handle; predefined objects follow it.
    const NULL: u32;
    /// As in `MPI_Comm`.
    const NAME: &'static str;
    /// Where the objects live.
    fn table() -> &'static Table<Self>;
}

/// A canonical handle to a `T`. Copying it says nothing about the object's life.
pub struct Handle<T>(u32, PhantomData<fn() -> T>);

impl<T> Handle<T> {
    /// From the canonical value; anything goes, [`Handle::resolve`] checks.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw, PhantomData)
    }

    /// The canonical value.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl<T: Object> Handle<T> {
    /// The null handle.
    pub const NULL: Self = Self::from_raw(T::NULL);

    /// Is it the null handle?
    pub fn is_null(self) -> bool {
        self.0 == T::NULL
    }

    /// The object, or an error that names the argument. The reference stays good until the handle is freed
    /// (MPI-5.0 §2.5.1: freeing a handle while another thread uses it is erroneous).
    #[inline]
    pub fn resolve(self, argument: &str) -> Result<&'static T> {
        match T::table().get(self.0) {
            Some(object) => Ok(object),
            None => Err(self.invalid(argument)),
        }
    }

    /// As [`Self::resolve`], and keep the object alive after its handle is freed.
    pub fn share(self, argument: &str) -> Result<Arc<T>> {
        T::table().share(self.0).ok_or_else(|| self.invalid(argument))
    }

    /// Take the object out of its table: the handle is stale from now on. Predefined objects are refused.
    pub fn remove(self, argument: &str) -> Result<Arc<T>> {
        T::table().remove(self.0).ok_or_else(|| self.invalid(argument))
    }

    #[cold]
    fn invalid(self, argument: &str) -> Error {
        let what = if self.is_null() {
            "the null handle"
        } else {
            "not a live handle"
        };
        Error::new(T::INVALID, format!("{argument}={:#x} is {what} ({})", self.0, T::NAME))
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Handle<T> {}
impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

const CHUNK: usize = 1024;
const CHUNKS: usize = 1 << (INDEX_BITS as usize - 10);

struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

struct Free {
    /// Indexes that can be handed out again, oldest last.
    indexes: Vec<u32>,
    /// First index never used.
    next: u32,
}

/// Objects of one kind. Slots never move, so a look-up takes no lock.
pub struct Table<T: 'static> {
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: Mutex<Free>,
    /// Objects at `NULL + 1 ..`, in a list that only grows.
    predefined: std::sync::OnceLock<Vec<Option<Arc<T>>>>,
}

impl<T: Object> Table<T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            free: Mutex::new(Free {
                indexes: Vec::new(),
                next: 1,
            }),
            predefined: std::sync::OnceLock::new(),
        }
    }

    /// Give the predefined objects: entry `i` has the canonical handle `T::NULL + i` (entry 0, the null handle, is `None`).
    /// Later calls change nothing.
    pub fn set_predefined(&self, objects: Vec<Option<Arc<T>>>) {
        let _ = self.predefined.set(objects);
    }

    /// Put an object in; its new handle.
    pub fn insert(&self, object: Arc<T>) -> Result<Handle<T>> {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let index = match free.indexes.pop() {
            Some(index) => index,
            None if free.next <= INDEX_MASK => {
                free.next += 1;
                free.next - 1
            }
            None => {
                return Err(Error::new(
                    Class::NoMem,
                    format!("more than {INDEX_MASK} live objects ({})", T::NAME),
                ));
            }
        };
        let slot = self.slot_or_make(index);
        // SAFETY: we hold the lock, and nobody has a handle to this slot: its object is None.
        let generation = unsafe {
            (*slot).object = Some(object);
            (*slot).generation
        };
        Ok(Handle::from_raw(compose(T::KIND, generation, index)))
    }

    /// Every live dynamic object, for finalize and for leak reports.
    pub fn live(&self) -> usize {
        let free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        free.next as usize - 1 - free.indexes.len()
    }

    #[inline]
    fn get(&self, raw: u32) -> Option<&T> {
        self.object(raw).map(|object| &**object)
    }

    fn share(&self, raw: u32) -> Option<Arc<T>> {
        self.object(raw).cloned()
    }

    #[inline]
    fn object(&self, raw: u32) -> Option<&Arc<T>> {
        if let Some(index) = raw.checked_sub(T::NULL)
            && let Some(entry) = self.predefined.get().and_then(|list| list.get(index as usize))
        {
            return entry.as_ref();
        }
        let slot = self.slot(raw)?;
        // SAFETY: slots live for ever; the reference is good until the handle is freed, which the caller must not do
        // concurrently (see `Handle::resolve`).
        unsafe { (*slot).object.as_ref() }
    }

    fn remove(&self, raw: u32) -> Option<Arc<T>> {
        let mut free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let slot = self.slot(raw)?;
        // SAFETY: we hold the lock; no reference to the slot itself outlives a look-up.
        let object = unsafe {
            let object = (*slot).object.take()?;
            (*slot).generation = ((*slot).generation + 1) & GENERATION_MASK;
            object
        };
        free.indexes.push(decompose(raw).2);
        Some(object)
    }

    /// The slot that `raw` names, if kind and generation agree.
    #[inline]
    fn slot(&self, raw: u32) -> Option<*mut Slot<T>> {
        let (kind, generation, index) = decompose(raw);
        if kind != T::KIND as u32 || index == 0 {
            return None;
        }
        // SYNC: table-chunk
        let chunk = self.chunks[index as usize / CHUNK].load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk holds CHUNK slots and is never freed.
        let slot = unsafe { chunk.add(index as usize % CHUNK) };
        // SAFETY: as above.
        (unsafe { (*slot).generation } == generation).then_some(slot)
    }

    /// The slot at `index`; called with the lock held.
    fn slot_or_make(&self, index: u32) -> *mut Slot<T> {
        let entry = &self.chunks[index as usize / CHUNK];
        let mut chunk = entry.load(Ordering::Acquire);
        if chunk.is_null() {
            let slots: Vec<Slot<T>> = (0..CHUNK)
                .map(|_| Slot {
                    generation: 0,
                    object: None,
                })
                .collect();
            chunk = Box::into_raw(slots.into_boxed_slice()).cast();
            // SYNC: table-chunk
            entry.store(chunk, Ordering::Release);
        }
        // SAFETY: a chunk holds CHUNK slots.
        unsafe { chunk.add(index as usize % CHUNK) }
    }
}

impl<T: Object> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}
