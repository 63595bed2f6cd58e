//! Info objects: ordered lists of (key, value) hints (MPI-5.0 §10). Keys and values are bytes, in whatever encoding.

pub(crate) mod env;

use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::constants::{MAX_INFO_KEY, MAX_INFO_VAL};
use crate::error::{Class, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind, Table};

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// An ordered list of (key, value) pairs.
#[derive(Debug, Default)]
pub struct Info {
    entries: Mutex<Vec<Pair>>,
    /// `MPI_INFO_ENV` cannot be changed.
    read_only: bool,
}

impl Object for Info {
    const KIND: ObjectKind = ObjectKind::Info;
    const INVALID: Class = Class::Info;
    const NULL: u32 = 0x130;
    const NAME: &'static str = "MPI_Info";
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Info> = Table::new();
        &TABLE
    }
}

impl Info {
    /// These pairs, in this order. The keys must differ.
    pub fn from_pairs<K: Into<Vec<u8>>, V: Into<Vec<u8>>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let entries = pairs
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        Self {
            entries: Mutex::new(entries),
            read_only: false,
        }
    }

    /// Hand it to the user.
    pub fn publish(self) -> Result<Handle<Self>> {
        Self::table().insert(Arc::new(self))
    }

    /// All pairs, oldest first.
    pub fn pairs(&self) -> Vec<Pair> {
        self.lock().clone()
    }

    /// The value of `key`, to be understood.
    pub fn value(&self, key: &str) -> Option<String> {
        let bytes = self.bytes(key.as_bytes())?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The value of `key`, as it was given.
    fn bytes(&self, key: &[u8]) -> Option<Vec<u8>> {
        let entries = self.lock();
        entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
    }

    /// Give `key` a value. A key that exists keeps its place.
    pub fn set(&self, key: &[u8], value: &[u8]) {
        let mut entries = self.lock();
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => value.clone_into(old),
            None => entries.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Forget `key`; was it there?
    fn delete(&self, key: &[u8]) -> bool {
        let mut entries = self.lock();
        let at = entries.iter().position(|(name, _)| name == key);
        at.map(|at| entries.remove(at)).is_some()
    }

    fn check_writable(&self) -> Result<()> {
        if self.read_only {
            return Err(fail!(Info, "MPI_INFO_ENV cannot be changed"));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pair>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `key` as we keep it, if its length is one that the standard allows.
fn checked_key(key: &CStr) -> Result<&[u8]> {
    let length = key.to_bytes().len();
    if length == 0 || length >= MAX_INFO_KEY {
        return Err(fail!(
            InfoKey,
            "key has {length} characters, 1 to {} are allowed",
            MAX_INFO_KEY - 1
        ));
    }
    Ok(key.to_bytes())
}

/// `MPI_Info_create`: an empty one.
pub fn info_create() -> Result<Handle<Info>> {
    Info::default().publish()
}

/// `MPI_Info_create_env`: what `MPI_INFO_ENV` would tell a program that was given `argv`. May be called before
/// MPI is initialized.
pub fn info_create_env(argv: &[&CStr]) -> Result<Handle<Info>> {
    let arguments: Vec<String> = argv.iter().map(|text| text.to_string_lossy().into_owned()).collect();
    Info::from_pairs(env::env_pairs(&arguments)).publish()
}

/// `MPI_Info_dup`: a copy in the same order.
pub fn info_dup(info: &Info) -> Result<Handle<Info>> {
    Info::from_pairs(info.pairs()).publish()
}

/// `MPI_Info_set`: give `key` a value.
pub fn info_set(info: &Info, key: &CStr, value: &CStr) -> Result<()> {
    info.check_writable()?;
    let name = checked_key(key)?;
    let length = value.to_bytes().len();
    if length >= MAX_INFO_VAL {
        return Err(fail!(
            InfoValue,
            "value of key {key:?} has {length} characters, {} are allowed",
            MAX_INFO_VAL - 1
        ));
    }
    info.set(name, value.to_bytes());
    Ok(())
}

/// `MPI_Info_delete`: forget `key`.
pub fn info_delete(info: &Info, key: &CStr) -> Result<()> {
    info.check_writable()?;
    if !info.delete(checked_key(key)?) {
        return Err(fail!(InfoNokey, "key={key:?} is not set"));
    }
    Ok(())
}

/// `MPI_Info_get` (`value`, `flag`): the caller cuts the value to `valuelen`.
pub fn info_get(info: &Info, key: &CStr, valuelen: i32) -> Result<(Vec<u8>, bool)> {
    if valuelen < 0 {
        return Err(fail!(Arg, "valuelen={valuelen} is negative"));
    }
    let value = info.bytes(checked_key(key)?);
    Ok((value.clone().unwrap_or_default(), value.is_some()))
}

/// `MPI_Info_get_string`: the whole value; the caller cuts it and says how long it is.
pub fn info_get_string(info: &Info, key: &CStr) -> Result<Option<Vec<u8>>> {
    Ok(info.bytes(checked_key(key)?))
}

/// `MPI_Info_get_valuelen` (`valuelen`, `flag`).
pub fn info_get_valuelen(info: &Info, key: &CStr) -> Result<(i32, bool)> {
    let value = info.bytes(checked_key(key)?);
    Ok((value.as_ref().map_or(0, |value| value.len() as i32), value.is_some()))
}

/// `MPI_Info_get_nkeys`.
pub fn info_get_nkeys(info: &Info) -> Result<i32> {
    Ok(info.lock().len() as i32)
}

/// `MPI_Info_get_nthkey`: keys keep the order in which they were first set.
pub fn info_get_nthkey(info: &Info, n: i32) -> Result<Vec<u8>> {
    let entries = info.lock();
    let entry = usize::try_from(n).ok().and_then(|n| entries.get(n));
    match entry {
        Some((key, _)) => Ok(key.clone()),
        None => Err(fail!(Arg, "n={n}, but the info has {} keys", entries.len())),
    }
}

/// `MPI_Info_free`.
pub fn info_free(handle: Handle<Info>) -> Result<()> {
    handle.remove("info").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn code<V>(outcome: Result<V>) -> Option<Class> {
        let code = outcome.err()?.code();
        [
            Class::Arg,
            Class::Info,
            Class::InfoKey,
            Class::InfoNokey,
            Class::InfoValue,
        ]
        .into_iter()
        .find(|class| *class as i32 == code)
    }

    #[test]
    fn order_is_kept() {
        let info = Info::default();
        for (key, value) in [(c"zebra", c"1"), (c"ant", c"2"), (c"mole", c"3"), (c"ant", c"4")] {
            info_set(&info, key, value).expect("good arguments");
        }
        let keys = |info: &Info| -> Vec<Vec<u8>> {
            (0..info_get_nkeys(info).expect("a number"))
                .map(|n| info_get_nthkey(info, n).expect("in range"))
                .collect()
        };
        assert_eq!(keys(&info), [b"zebra".as_slice(), b"ant", b"mole"]);
        assert_eq!(info_get(&info, c"ant", 10), Ok((b"4".to_vec(), true)));
        info_delete(&info, c"zebra").expect("it is there");
        info_set(&info, c"zebra", c"5").expect("good arguments");
        assert_eq!(keys(&info), [b"ant".as_slice(), b"mole", b"zebra"]);
        let copy = info_dup(&info).expect("room");
        assert_eq!(copy.resolve("info").map(keys), Ok(keys(&info)));
        info_free(copy).expect("live");
        assert_eq!(code(info_free(copy)), Some(Class::Info));
    }

    #[test]
    fn any_bytes_come_back() {
        let info = Info::default();
        info_set(&info, c"k\xe9y", c"\xff\xfe").expect("good arguments");
        assert_eq!(info_get_string(&info, c"k\xe9y"), Ok(Some(b"\xff\xfe".to_vec())));
        assert_eq!(info_get_string(&info, c"k\xeay"), Ok(None));
        assert_eq!(info_get_nthkey(&info, 0), Ok(b"k\xe9y".to_vec()));
        assert_eq!(info_get_valuelen(&info, c"k\xe9y"), Ok((2, true)));
    }

    #[test]
    fn missing_and_out_of_range() {
        let info = Info::default();
        assert_eq!(info_get_string(&info, c"key"), Ok(None));
        assert_eq!(info_get_valuelen(&info, c"key"), Ok((0, false)));
        assert_eq!(code(info_delete(&info, c"key")), Some(Class::InfoNokey));
        for n in [-1, 0, i32::MAX] {
            assert_eq!(code(info_get_nthkey(&info, n)), Some(Class::Arg));
        }
        assert_eq!(code(info_get(&info, c"key", -1)), Some(Class::Arg));
    }

    #[test]
    fn lengths_are_checked() {
        let info = Info::default();
        let text = |length: usize| CString::new("x".repeat(length)).expect("no zero inside");
        info_set(&info, &text(255), &text(1023)).expect("just short enough");
        assert_eq!(info_get_valuelen(&info, &text(255)), Ok((1023, true)));
        assert_eq!(code(info_set(&info, &text(256), c"v")), Some(Class::InfoKey));
        assert_eq!(code(info_set(&info, c"", c"v")), Some(Class::InfoKey));
        assert_eq!(code(info_get(&info, &text(256), 9)), Some(Class::InfoKey));
        assert_eq!(code(info_set(&info, c"k", &text(1024))), Some(Class::InfoValue));
    }

    #[test]
    fn the_environment_is_read_only() {
        let env = Info {
            read_only: true,
            ..Info::from_pairs([("command", "a.out")])
        };
        assert_eq!(code(info_set(&env, c"command", c"b.out")), Some(Class::Info));
        assert_eq!(code(info_delete(&env, c"command")), Some(Class::Info));
        assert_eq!(info_get_string(&env, c"command"), Ok(Some(b"a.out".to_vec())));
    }
}
