//! Handles: checked indexes with a generation.
//!
//! A canonical handle is 31 positive bits that fit the MPICH ABI's `int`, Fortran's INTEGER and the standard ABI's
//! pointer alike:
//!
//! ```text
//! predefined   the standard ABI's own value, at most 0x2f3
//! dynamic      0 kkkk ggggggg iiiiiiiiiiiiiiiiiii      bit 30 clear
//!                kind 4 | generation 7 | index 19, index never 0
//! ```
//!
//! Bit 30 stays clear and the index is never zero, so that no dynamic handle equals a predefined or null value of
//! either ABI. A stale or garbage handle is an error class, never a crash.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_engine::counters::{HANDLES_FREED, HANDLES_MADE};
use isthmus_os::switches::Switch;

use crate::check::sites;
use crate::error::{Class, Error, Result};
use crate::fail;

const INDEX_BITS: u32 = 19;
const GENERATION_BITS: u32 = 7;
pub(crate) const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
pub(crate) const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

/// What a dynamic handle names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum ObjectKind {
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
    /// A request that is a send of the engine's: generation and index are the operation's.
    Send = 12,
    /// A request that is a receive of the engine's.
    Receive = 13,
}

/// The parts of a dynamic handle.
pub fn compose(kind: ObjectKind, generation: u32, index: u32) -> u32 {
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

/// A handle of this kind that carries, for an index and a generation, somebody else's name of what it stands for.
#[inline(always)]
pub(crate) fn carry(kind: ObjectKind, name: u32) -> u32 {
    (kind as u32) << (INDEX_BITS + GENERATION_BITS) | name
}

/// (kind bits, name) of a handle that [`carry`] made.
#[inline(always)]
pub(crate) fn carried(raw: u32) -> (u32, u32) {
    let name_bits = INDEX_BITS + GENERATION_BITS;
    (raw >> name_bits, raw & ((1 << name_bits) - 1))
}

/// An object of MPI that users hold by handle.
pub trait Object: Send + Sync + Sized + 'static {
    /// The kind in dynamic handles.
    const KIND: ObjectKind;
    /// The error class for a handle that names nothing.
    const INVALID: Class;
    /// The standard ABI's value of the null handle; predefined objects follow it.
    const NULL: u32;
    /// As in `MPI_Comm`.
    const NAME: &'static str;
    /// Where the objects live.
    fn table() -> &'static Table<Self>;
    /// Why a predefined handle names nothing now, as the rest of a sentence.
    fn absent(_raw: u32) -> Option<&'static str> {
        None
    }
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
        if T::table().get(self.0).is_none()
            && let Some(why) = T::absent(self.0)
        {
            return Error::new(T::INVALID, format!("{argument}={:#x} ({}) {why}", self.0, T::NAME));
        }
        let what = if self.is_null() {
            "the null handle"
        } else if T::table().get(self.0).is_some() {
            "predefined and cannot be freed"
        } else {
            "not a live handle"
        };
        let error = Error::new(T::INVALID, format!("{argument}={:#x} is {what} ({})", self.0, T::NAME));
        error.attach(Unresolved {
            argument: argument.to_owned(),
            raw: self.0,
            name: T::NAME,
        })
    }
}

/// Attached to the error of a handle that names nothing, for the ABI that was called: it knows the constants of others.
#[derive(Debug)]
pub struct Unresolved {
    /// The argument's name.
    pub argument: String,
    /// The canonical value that was asked for.
    pub raw: u32,
    /// As in `MPI_Comm`.
    pub name: &'static str,
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

/// Threads may look at it while another one writes, though only a thread that uses a handle after its end sees one change.
struct Slot<T> {
    generation: AtomicU32,
    /// Of a free one: the index of the next free one; 0: none.
    next_free: AtomicU32,
    /// From `Arc::into_raw`; null: none.
    object: AtomicPtr<T>,
}

/// Held while objects come and go, in whatever table: the counters of handles then need no locked instruction of their own.
static CHANGES: Mutex<()> = Mutex::new(());

/// Hold [`CHANGES`].
fn lock() -> MutexGuard<'static, ()> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Objects of one kind. Slots never move, so a look-up takes no lock.
pub struct Table<T: 'static> {
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    /// The index that was freed last, which is the first to be handed out again; 0: none. Changed under the lock, as the next two.
    free: AtomicU32,
    /// First index never used.
    unused: AtomicU32,
    /// Objects in the table.
    live: AtomicU32,
    /// Objects at `NULL ..`; null while there are none.
    predefined: AtomicPtr<Predefined<T>>,
}

/// Predefined objects, never freed: references to them may be about.
struct Predefined<T> {
    objects: Vec<Option<Arc<T>>>,
    /// Those that these have replaced, or null; never followed: searches for leaks find by it that they are still somebody's.
    _before: AtomicPtr<Self>,
}

impl<T: Object> Table<T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            free: AtomicU32::new(0),
            unused: AtomicU32::new(1),
            live: AtomicU32::new(0),
            predefined: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Give the predefined objects: entry `i` has the canonical handle `T::NULL + i` (entry 0, the null handle, is `None`).
    /// They replace earlier ones, which stay in memory: references to them may be about.
    pub fn set_predefined(&self, objects: Vec<Option<Arc<T>>>) {
        let list = Box::into_raw(Box::new(Predefined {
            objects,
            _before: AtomicPtr::new(self.predefined.load(Ordering::Relaxed)),
        }));
        // SYNC: table-predefined
        self.predefined.store(list, Ordering::Release);
    }

    /// Put an object in; its new handle.
    pub fn insert(&self, object: Arc<T>) -> Result<Handle<T>> {
        let _changing = lock();
        let (index, slot) = self.take_free()?;
        // Nobody has a handle to this slot: it holds nothing.
        // SYNC: table-object
        slot.object.store(Arc::into_raw(object).cast_mut(), Ordering::Release);
        self.live
            .store(self.live.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        HANDLES_MADE.add(1);
        let handle = compose(T::KIND, slot.generation.load(Ordering::Relaxed), index);
        if Switch::Check.is_on() {
            sites::made(handle);
        }
        Ok(Handle::from_raw(handle))
    }

    /// A slot that holds nothing, and its index; called with the lock held.
    fn take_free(&self) -> Result<(u32, &Slot<T>)> {
        let freed = self.free.load(Ordering::Relaxed);
        if freed != 0 {
            let slot = self.slot_or_make(freed);
            self.free
                .store(slot.next_free.load(Ordering::Relaxed), Ordering::Relaxed);
            return Ok((freed, slot));
        }
        let unused = self.unused.load(Ordering::Relaxed);
        if unused > INDEX_MASK {
            return Err(fail!(NoMem, "more than {INDEX_MASK} live objects ({})", T::NAME));
        }
        self.unused.store(unused + 1, Ordering::Relaxed);
        Ok((unused, self.slot_or_make(unused)))
    }

    /// A live object, predefined or not. Slow; `wanted` may neither make nor free handles.
    pub fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        // SYNC: table-predefined
        // SAFETY: null or a list that is never freed.
        let predefined = unsafe { self.predefined.load(Ordering::Acquire).as_ref() };
        if let Some(found) = predefined
            .into_iter()
            .flat_map(|list| list.objects.iter().flatten())
            .find(|object| wanted(object))
        {
            return Some(Arc::clone(found));
        }
        let _changing = lock();
        (1..self.unused.load(Ordering::Relaxed)).find_map(|index| {
            let object = self.slot_or_make(index).object.load(Ordering::Acquire);
            // SAFETY: we hold the lock, under which objects come and go.
            unsafe { object.as_ref() }.filter(|object| wanted(object))?;
            // SAFETY: as above.
            Some(unsafe { share(object) })
        })
    }

    /// Every live dynamic object, for finalize and for leak reports.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub(crate) fn get(&self, raw: u32) -> Option<&T> {
        match self.predefined(raw) {
            Some(entry) => entry.as_deref(),
            // SYNC: table-object
            // SAFETY: the reference is good until the handle is freed, which the caller must not do concurrently (see
            // `Handle::resolve`).
            None => unsafe { self.slot(raw)?.object.load(Ordering::Acquire).as_ref() },
        }
    }

    fn share(&self, raw: u32) -> Option<Arc<T>> {
        if let Some(entry) = self.predefined(raw) {
            return entry.clone();
        }
        // SYNC: table-object
        let object = self.slot(raw)?.object.load(Ordering::Acquire);
        // SAFETY: the table's share in it is there until the handle is freed, as above.
        (!object.is_null()).then(|| unsafe { share(object) })
    }

    /// The entry of a predefined or null handle.
    #[inline]
    fn predefined(&self, raw: u32) -> Option<&Option<Arc<T>>> {
        // SYNC: table-predefined
        // SAFETY: null or a list that is never freed.
        let list = unsafe { self.predefined.load(Ordering::Acquire).as_ref() }?;
        list.objects.get(raw.wrapping_sub(T::NULL) as usize)
    }

    fn remove(&self, raw: u32) -> Option<Arc<T>> {
        let _changing = lock();
        let slot = self.slot(raw)?;
        // Objects come and go under the lock alone.
        let object = slot.object.load(Ordering::Acquire);
        if object.is_null() {
            return None;
        }
        slot.object.store(std::ptr::null_mut(), Ordering::Release);
        let (_, generation, index) = decompose(raw);
        slot.generation
            .store((generation + 1) & GENERATION_MASK, Ordering::Relaxed);
        slot.next_free
            .store(self.free.load(Ordering::Relaxed), Ordering::Relaxed);
        self.free.store(index, Ordering::Relaxed);
        self.live
            .store(self.live.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        HANDLES_FREED.add(1);
        if Switch::Check.is_on() {
            sites::gone(raw);
        }
        // SAFETY: `insert` put it there, and it was ours to take.
        Some(unsafe { Arc::from_raw(object) })
    }

    /// The slot that `raw` names, if kind and generation agree.
    #[inline]
    fn slot(&self, raw: u32) -> Option<&Slot<T>> {
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
        let slot = unsafe { &*chunk.add(index as usize % CHUNK) };
        (slot.generation.load(Ordering::Relaxed) == generation).then_some(slot)
    }

    /// The slot at `index`; called with the lock held.
    fn slot_or_make(&self, index: u32) -> &Slot<T> {
        let entry = &self.chunks[index as usize / CHUNK];
        let mut chunk = entry.load(Ordering::Acquire);
        if chunk.is_null() {
            let slots: Vec<Slot<T>> = (0..CHUNK)
                .map(|_| Slot {
                    generation: AtomicU32::new(0),
                    next_free: AtomicU32::new(0),
                    object: AtomicPtr::new(std::ptr::null_mut()),
                })
                .collect();
            chunk = Box::into_raw(slots.into_boxed_slice()).cast();
            // SYNC: table-chunk
            entry.store(chunk, Ordering::Release);
        }
        // SAFETY: a chunk holds CHUNK slots.
        unsafe { &*chunk.add(index as usize % CHUNK) }
    }
}

/// One more share in what lies in an `Arc`.
///
/// # Safety
/// `object` must be from `Arc::into_raw`, or be what an `Arc` holds, and somebody's share in it be there.
pub(crate) unsafe fn share<T>(object: *const T) -> Arc<T> {
    // SAFETY: the caller's promise.
    unsafe {
        Arc::increment_strong_count(object);
        Arc::from_raw(object)
    }
}

impl<T: Object> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(u32);

    static THINGS: Table<Thing> = Table::new();

    impl Object for Thing {
        const KIND: ObjectKind = ObjectKind::Info;
        const INVALID: Class = Class::Info;
        const NULL: u32 = 0x130;
        const NAME: &'static str = "Thing";
        fn table() -> &'static Table<Self> {
            &THINGS
        }
    }

    fn code<V>(outcome: Result<V>) -> Option<i32> {
        outcome.err().map(|error| error.code())
    }

    const INVALID: Option<i32> = Some(Class::Info as i32);

    #[test]
    fn a_handle_is_good_until_it_is_freed() {
        let handle = THINGS.insert(Arc::new(Thing(7))).expect("room");
        assert_eq!(handle.resolve("thing").map(|thing| thing.0), Ok(7));
        let kept = handle.share("thing").expect("live");
        assert_eq!(handle.remove("thing").map(|thing| thing.0), Ok(7));
        assert_eq!(kept.0, 7);
        assert_eq!(code(handle.resolve("thing")), INVALID);
        assert_eq!(code(handle.remove("thing")), INVALID);
        let other = THINGS.insert(Arc::new(Thing(8))).expect("room");
        assert_ne!(handle, other);
        assert_eq!(code(handle.resolve("thing")), INVALID);
        other.remove("thing").expect("live");
    }

    #[test]
    fn generations_wrap() {
        let table: Table<Thing> = Table::new();
        let mut handles = Vec::new();
        for round in 0..=GENERATION_MASK {
            let handle = table.insert(Arc::new(Thing(round))).expect("room");
            assert!(!handles.contains(&handle));
            assert!(table.remove(handle.raw()).is_some());
            assert!(table.remove(handle.raw()).is_none());
            handles.push(handle);
        }
        assert_eq!(table.insert(Arc::new(Thing(0))), Ok(handles[0]));
        assert_eq!(table.live(), 1);
    }

    #[test]
    fn garbage_is_refused() {
        let handle = THINGS.insert(Arc::new(Thing(1))).expect("room");
        for bit in 0..32 {
            let wrong = Handle::<Thing>::from_raw(handle.raw() ^ (1 << bit));
            // A neighbour's slot may be live in another test; a wrong kind or generation never is.
            if bit >= INDEX_BITS {
                assert_eq!(code(wrong.resolve("thing")), INVALID, "bit {bit}");
            }
        }
        for raw in [
            0,
            1,
            0x131,
            0x7fff_ffff,
            u32::MAX,
            compose(ObjectKind::Info, 0, INDEX_MASK),
        ] {
            assert_eq!(code(Handle::<Thing>::from_raw(raw).resolve("thing")), INVALID);
        }
        let wrong_kind = compose(ObjectKind::Comm, 0, 1);
        assert_eq!(code(Handle::<Thing>::from_raw(wrong_kind).resolve("thing")), INVALID);
        assert_eq!(code(Handle::<Thing>::NULL.remove("thing")), INVALID);
        handle.remove("thing").expect("live");
    }

    #[test]
    fn predefined_objects_cannot_be_removed() {
        let table: Table<Thing> = Table::new();
        assert!(table.get(0x131).is_none());
        table.set_predefined(vec![None, Some(Arc::new(Thing(9)))]);
        assert_eq!(table.get(0x131).map(|thing| thing.0), Some(9));
        assert!(table.get(0x130).is_none() && table.get(0x132).is_none());
        assert!(table.remove(0x131).is_none());
        table.set_predefined(Vec::new());
        assert!(table.get(0x131).is_none());
    }

    #[test]
    fn many_objects() {
        let table: Table<Thing> = Table::new();
        let handles: Vec<_> = (0..3 * CHUNK as u32)
            .map(|n| table.insert(Arc::new(Thing(n))).expect("room"))
            .collect();
        for (handle, n) in handles.iter().zip(0..) {
            assert_eq!(table.get(handle.raw()).map(|thing| thing.0), Some(n));
        }
        assert!(handles.iter().all(|handle| table.remove(handle.raw()).is_some()));
        assert_eq!(table.live(), 0);
    }
}
