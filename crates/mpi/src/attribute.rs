//! Attribute caching: values that users attach to communicators, datatypes and windows (MPI-5.0 §7.7).
//!
//! A keyval lives until the user has freed it *and* its last attribute is gone. Callbacks may call MPI again, so no lock
//! is held across them.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use isthmus_os::switches::Switch;

use crate::check::sites;
use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::{Handle, Object};

/// Called when an object with the attribute is duplicated: (old object, keyval, extra state, value, out: copy it?),
/// answering the new value or an error code.
pub type CopyFn<T> = Box<
    dyn Fn(Handle<T>, i32, *mut c_void, *mut c_void, &mut bool) -> std::result::Result<*mut c_void, i32> + Send + Sync,
>;

/// Called when an attribute goes: (object, keyval, value, extra state), answering an error code.
pub type DeleteFn<T> = Box<dyn Fn(Handle<T>, i32, *mut c_void, *mut c_void) -> i32 + Send + Sync>;

/// What happens to an attribute when its object is duplicated.
pub enum Copy<T> {
    /// It stays behind (`MPI_COMM_NULL_COPY_FN`).
    Null,
    /// The duplicate gets the same value (`MPI_COMM_DUP_FN`).
    Dup,
    /// A user's function decides.
    User(CopyFn<T>),
}

/// What happens when an attribute is deleted or replaced.
pub enum Delete<T> {
    /// Nothing (`MPI_COMM_NULL_DELETE_FN`).
    Null,
    /// A user's function is called.
    User(DeleteFn<T>),
}

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// What a user attached.
    Pointer(*mut c_void),
    /// What a predefined key holds: C callers are given the address of such an integer.
    Integer(i32),
}

/// Objects that carry attributes.
pub trait Cached: Object {
    /// The keyvals for objects of this kind.
    fn keyvals() -> &'static Keyvals<Self>;
}

/// A user's pointer: carried, never followed.
#[derive(Clone, Copy)]
struct Address(*mut c_void);

// SAFETY: the pointer is an opaque value here; only the user, who gave it, follows it.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

struct Keyval<T: Cached> {
    number: i32,
    copy: Copy<T>,
    delete: Delete<T>,
    extra: Address,
}

impl<T: Cached> Drop for Keyval<T> {
    fn drop(&mut self) {
        T::keyvals().lock().known.remove(&self.number);
    }
}

impl<T: Cached> Keyval<T> {
    fn call_delete(&self, owner: Handle<T>, value: Address) -> Result<()> {
        match &self.delete {
            Delete::Null => Ok(()),
            Delete::User(function) => match function(owner, self.number, value.0, self.extra.0) {
                0 => Ok(()),
                code => Err(Error::from_code(
                    code,
                    format!("the delete callback of keyval {:#x} returned {code}", self.number),
                )),
            },
        }
    }

    /// The value that a duplicate of `owner` gets, if any.
    fn call_copy(&self, owner: Handle<T>, value: Address) -> Result<Option<Address>> {
        match &self.copy {
            Copy::Null => Ok(None),
            Copy::Dup => Ok(Some(value)),
            Copy::User(function) => {
                let mut wanted = false;
                match function(owner, self.number, self.extra.0, value.0, &mut wanted) {
                    Ok(new) => Ok(wanted.then_some(Address(new))),
                    Err(code) => Err(Error::from_code(
                        code,
                        format!("the copy callback of keyval {:#x} returned {code}", self.number),
                    )),
                }
            }
        }
    }
}

/// The keyvals of one kind of object.
///
/// Numbers are handed out in turn from a range of 2^26 that no other kind, and no predefined key of either ABI, shares.
pub struct Keyvals<T: Cached> {
    first: i32,
    state: Mutex<State<T>>,
}

struct State<T: Cached> {
    /// Distance from `first` of the number to try next.
    next: i32,
    known: BTreeMap<i32, KnownKeyval<T>>,
}

struct KnownKeyval<T: Cached> {
    /// Gone once the user has freed the keyval.
    user: Option<Arc<Keyval<T>>>,
    life: Weak<Keyval<T>>,
}

const RANGE: i32 = 1 << 26;

/// Under what the place of the call is kept that made a keyval: no handle is so large.
fn site_key(number: i32) -> u32 {
    1 << 31 | number.cast_unsigned()
}

/// What a place is kept of, if it is that of a call that made a keyval.
pub(crate) fn keyval_of_site(key: u32) -> Option<&'static str> {
    let number = (key & !(1 << 31)).cast_signed();
    match (key >> 31, number / RANGE) {
        (1, 12) => Some("communicator keyval"),
        (1, 13) => Some("datatype keyval"),
        (1, 14) => Some("window keyval"),
        _ => None,
    }
}

impl<T: Cached> Keyvals<T> {
    /// Keyvals of the `kind`-th range: 12 for communicators, 13 for datatypes, 14 for windows.
    pub const fn new(kind: i32) -> Self {
        Self {
            first: kind * RANGE,
            state: Mutex::new(State {
                next: 0,
                known: BTreeMap::new(),
            }),
        }
    }

    /// Make a keyval; its number.
    pub fn create(&self, copy: Copy<T>, delete: Delete<T>, extra: *mut c_void) -> Result<i32> {
        let mut state = self.lock();
        if state.known.len() as i32 == RANGE {
            return Err(fail!(NoMem, "{RANGE} keyvals are in use"));
        }
        let number = loop {
            let number = self.first + state.next;
            state.next = (state.next + 1) % RANGE;
            if !state.known.contains_key(&number) {
                break number;
            }
        };
        let keyval = Arc::new(Keyval {
            number,
            copy,
            delete,
            extra: Address(extra),
        });
        let life = Arc::downgrade(&keyval);
        state.known.insert(
            number,
            KnownKeyval {
                user: Some(keyval),
                life,
            },
        );
        if Switch::Check.is_on() {
            sites::made(site_key(number));
        }
        Ok(number)
    }

    /// The user needs the keyval no more. Attributes that carry it stay, and as long as there are some it may be freed again, by copies of
    /// its handle: delete callbacks free their own keyval so.
    pub fn free(&self, number: i32) -> Result<()> {
        let mut state = self.lock();
        let known = state
            .known
            .get_mut(&number)
            .filter(|known| known.life.strong_count() > 0);
        let freed = known.map(|known| known.user.take()).ok_or_else(|| unknown(number))?;
        // Dropping the last reference takes the lock.
        drop(state);
        drop(freed);
        if Switch::Check.is_on() {
            sites::gone(site_key(number));
        }
        Ok(())
    }

    fn find(&self, number: i32) -> Result<Arc<Keyval<T>>> {
        let found = self.lock().known.get(&number).and_then(|known| known.life.upgrade());
        found.ok_or_else(|| unknown(number))
    }

    /// As [`Self::find`]; the user must not have freed it.
    fn find_usable(&self, number: i32) -> Result<Arc<Keyval<T>>> {
        let found = self.lock().known.get(&number).and_then(|known| known.user.clone());
        found.ok_or_else(|| unknown(number))
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn unknown(number: i32) -> Error {
    Error::new(
        Class::Keyval,
        format!("keyval={number:#x} is not a live key for this kind of object"),
    )
}

struct Attribute<T: Cached> {
    keyval: Arc<Keyval<T>>,
    value: Address,
}

impl<T: Cached> Clone for Attribute<T> {
    fn clone(&self) -> Self {
        Self {
            keyval: Arc::clone(&self.keyval),
            value: self.value,
        }
    }
}

/// The attributes of one object, oldest first. `owner` is always the handle of that object, for the callbacks. Most objects have none.
pub struct Attributes<T: Cached>(OnceLock<Box<Mutex<Vec<Attribute<T>>>>>);

impl<T: Cached> Attributes<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value under `number`, if it is set.
    pub fn get(&self, number: i32) -> Result<Option<*mut c_void>> {
        match self.find(number) {
            Some(attribute) => Ok(Some(attribute.value.0)),
            None => T::keyvals().find(number).map(|_| None),
        }
    }

    /// Attach `value` under `number`, which the user must not have freed; an old value is deleted first.
    pub fn set(&self, owner: Handle<T>, number: i32, value: *mut c_void) -> Result<()> {
        let keyval = T::keyvals().find_usable(number)?;
        let value = Address(value);
        if let Some(old) = self.find(number) {
            old.keyval.call_delete(owner, old.value)?;
        }
        let mut list = self.lock();
        match list.iter_mut().find(|attribute| attribute.keyval.number == number) {
            Some(attribute) => attribute.value = value,
            None => list.push(Attribute { keyval, value }),
        }
        Ok(())
    }

    /// Delete what is under `number`, if anything. If the callback refuses, the attribute stays.
    pub fn delete(&self, owner: Handle<T>, number: i32) -> Result<()> {
        match self.find(number) {
            Some(attribute) => self.delete_one(owner, &attribute),
            None => T::keyvals().find(number).map(drop),
        }
    }

    /// Delete all, the latest first. Ends at the first callback that refuses.
    pub fn clear(&self, owner: Handle<T>) -> Result<()> {
        loop {
            let last = self.known().and_then(|list| list.last().cloned());
            match last {
                Some(attribute) => self.delete_one(owner, &attribute)?,
                None => return Ok(()),
            }
        }
    }

    /// Give `copy`, a new object, what its callbacks want it to have. If one fails, `copy` is left without any.
    pub fn copy_to(&self, owner: Handle<T>, copy: &Self, copy_owner: Handle<T>) -> Result<()> {
        let attributes = self.known().map(|list| list.clone());
        for attribute in attributes.into_iter().flatten() {
            match attribute.keyval.call_copy(owner, attribute.value) {
                Ok(None) => {}
                Ok(Some(value)) => copy.lock().push(Attribute { value, ..attribute }),
                Err(error) => {
                    // The copy's failure is what the user hears of.
                    let _ = copy.clear(copy_owner);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn delete_one(&self, owner: Handle<T>, attribute: &Attribute<T>) -> Result<()> {
        attribute.keyval.call_delete(owner, attribute.value)?;
        let number = attribute.keyval.number;
        let mut list = self.lock();
        if let Some(at) = list.iter().position(|other| other.keyval.number == number) {
            let gone = list.remove(at);
            drop(list);
            drop(gone);
        }
        Ok(())
    }

    fn find(&self, number: i32) -> Option<Attribute<T>> {
        let list = self.known()?;
        list.iter().find(|attribute| attribute.keyval.number == number).cloned()
    }

    /// `None`: there has been none yet.
    fn known(&self) -> Option<MutexGuard<'_, Vec<Attribute<T>>>> {
        let list = self.0.get()?;
        Some(list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Attribute<T>>> {
        let list = self.0.get_or_init(Box::default);
        list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Cached> Default for Attributes<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::{ObjectKind, Table};

    struct Thing;

    static THINGS: Table<Thing> = Table::new();
    static KEYVALS: Keyvals<Thing> = Keyvals::new(14);
    const OWNER: Handle<Thing> = Handle::from_raw(77);
    const OTHER: Handle<Thing> = Handle::from_raw(78);

    impl Object for Thing {
        const KIND: ObjectKind = ObjectKind::Win;
        const INVALID: Class = Class::Win;
        const NULL: u32 = 0x110;
        const NAME: &'static str = "Thing";
        fn table() -> &'static Table<Self> {
            &THINGS
        }
    }

    impl Cached for Thing {
        fn keyvals() -> &'static Keyvals<Self> {
            &KEYVALS
        }
    }

    type Log = Arc<Mutex<Vec<(u32, usize)>>>;

    fn pointer(value: usize) -> *mut c_void {
        std::ptr::without_provenance_mut(value)
    }

    fn entries(log: &Log) -> Vec<(u32, usize)> {
        std::mem::take(&mut log.lock().expect("no test panics with it"))
    }

    /// A keyval whose deletions are written down; those of `refused` fail with code 99.
    fn logged(copy: Copy<Thing>, log: &Log, refused: Option<usize>) -> i32 {
        let log = Arc::clone(log);
        let delete = move |owner: Handle<Thing>, _, value: *mut c_void, extra: *mut c_void| {
            assert_eq!(extra.addr(), 5);
            log.lock()
                .expect("no test panics with it")
                .push((owner.raw(), value.addr()));
            if refused == Some(value.addr()) { 99 } else { 0 }
        };
        let keyval = KEYVALS.create(copy, Delete::User(Box::new(delete)), pointer(5));
        keyval.expect("few keyvals")
    }

    fn code<V>(outcome: Result<V>) -> Option<i32> {
        outcome.err().map(|error| error.code())
    }

    const BAD_KEYVAL: Option<i32> = Some(Class::Keyval as i32);

    #[test]
    fn a_freed_keyval_lives_until_its_last_attribute() {
        let log = Log::default();
        let keyval = logged(Copy::Null, &log, None);
        let list = Attributes::new();
        assert_eq!(list.get(keyval), Ok(None));
        list.set(OWNER, keyval, pointer(1)).expect("a live keyval");
        KEYVALS.free(keyval).expect("a live keyval");
        KEYVALS.free(keyval).expect("a copy of the handle of a keyval in use");
        assert_eq!(list.get(keyval), Ok(Some(pointer(1))));
        assert_eq!(code(list.set(OWNER, keyval, pointer(2))), BAD_KEYVAL);
        assert!(entries(&log).is_empty());
        list.delete(OWNER, keyval).expect("still there");
        assert_eq!(entries(&log), [(77, 1)]);
        assert_eq!(code(list.get(keyval)), BAD_KEYVAL);
        assert_eq!(code(list.set(OWNER, keyval, pointer(2))), BAD_KEYVAL);
        assert_eq!(code(list.delete(OWNER, keyval)), BAD_KEYVAL);
        assert_eq!(code(KEYVALS.free(keyval)), BAD_KEYVAL);
        assert_eq!(Arc::strong_count(&log), 1, "the callbacks are dropped with the keyval");
    }

    #[test]
    fn setting_again_deletes_the_old_value_first() {
        let log = Log::default();
        let keyval = logged(Copy::Null, &log, Some(2));
        let list = Attributes::new();
        for value in 1..=2 {
            list.set(OWNER, keyval, pointer(value)).expect("a live keyval");
        }
        assert_eq!(entries(&log), [(77, 1)]);
        assert_eq!(code(list.set(OWNER, keyval, pointer(3))), Some(99));
        assert_eq!(code(list.delete(OWNER, keyval)), Some(99));
        assert_eq!(list.get(keyval), Ok(Some(pointer(2))));
        KEYVALS.free(keyval).expect("a live keyval");
    }

    #[test]
    fn the_latest_goes_first() {
        let log = Log::default();
        let keyvals = [Some(4), None, None].map(|refused| logged(Copy::Null, &log, refused));
        let list = Attributes::new();
        for (&keyval, value) in keyvals.iter().zip(4..) {
            list.set(OWNER, keyval, pointer(value)).expect("a live keyval");
        }
        assert_eq!(code(list.clear(OWNER)), Some(99));
        assert_eq!(entries(&log), [(77, 6), (77, 5), (77, 4)]);
        assert_eq!(list.get(keyvals[0]), Ok(Some(pointer(4))));
        assert_eq!(list.get(keyvals[1]), Ok(None));
        for keyval in keyvals {
            KEYVALS.free(keyval).expect("a live keyval");
        }
    }

    #[test]
    fn copies_are_what_the_callbacks_say() {
        let log = Log::default();
        let next: CopyFn<Thing> = Box::new(|owner, _, extra, value, wanted| {
            assert_eq!((owner, extra.addr()), (OWNER, 5));
            *wanted = value.addr() != 30;
            Ok(pointer(value.addr() + 1))
        });
        let same: CopyFn<Thing> = Box::new(|_, _, _, _, _| Ok(pointer(0)));
        let failing: CopyFn<Thing> = Box::new(|_, _, _, _, _| Err(55));
        let [null, dup, user, unwanted] =
            [Copy::Null, Copy::Dup, Copy::User(next), Copy::User(same)].map(|copy| logged(copy, &log, None));
        let (old, new) = (Attributes::new(), Attributes::new());
        for (keyval, value) in [(null, 10), (dup, 20), (user, 40), (unwanted, 50)] {
            old.set(OWNER, keyval, pointer(value)).expect("a live keyval");
        }
        old.copy_to(OWNER, &new, OTHER).expect("no callback fails");
        let values = [null, dup, user, unwanted].map(|keyval| new.get(keyval).expect("live").map(|value| value.addr()));
        assert_eq!(values, [None, Some(20), Some(41), None]);
        new.clear(OTHER).expect("no callback fails");
        assert_eq!(entries(&log), [(78, 41), (78, 20)]);

        let last = logged(Copy::User(failing), &log, None);
        old.set(OWNER, last, pointer(60)).expect("a live keyval");
        assert_eq!(code(old.copy_to(OWNER, &new, OTHER)), Some(55));
        assert_eq!(entries(&log), [(78, 41), (78, 20)], "what had been copied is deleted");
        assert_eq!(new.get(dup), Ok(None));
    }

    #[test]
    fn callbacks_may_come_back() {
        static LIST: Attributes<Thing> = Attributes::new();
        static KEYVAL: std::sync::OnceLock<i32> = std::sync::OnceLock::new();
        let delete: DeleteFn<Thing> = Box::new(|owner, keyval, value, _| {
            assert_eq!(LIST.get(keyval), Ok(Some(value)));
            let inner = KEYVALS
                .create(Copy::Null, Delete::Null, pointer(0))
                .expect("few keyvals");
            LIST.set(owner, inner, value).expect("a live keyval");
            KEYVALS.free(inner).expect("a live keyval");
            LIST.delete(owner, inner).expect("it is there");
            0
        });
        let keyval = KEYVALS.create(Copy::Null, Delete::User(delete), pointer(0));
        let keyval = *KEYVAL.get_or_init(|| keyval.expect("few keyvals"));
        LIST.set(OWNER, keyval, pointer(9)).expect("a live keyval");
        KEYVALS.free(keyval).expect("a live keyval");
        LIST.clear(OWNER).expect("no callback fails");
        assert_eq!(code(LIST.get(keyval)), BAD_KEYVAL);
    }
}
