//! Error classes, codes and strings (MPI-5.0 §9.4, §9.5).

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::constants::ERR_LASTCODE;
use crate::error::{Error, Result};
use crate::fail;

/// The standard's classes: (value, name, meaning).
const CLASSES: &[(i32, &str, &str)] = &[
    (0, "MPI_SUCCESS", "no error"),
    (1, "MPI_ERR_BUFFER", "invalid buffer"),
    (2, "MPI_ERR_COUNT", "invalid count"),
    (3, "MPI_ERR_TYPE", "invalid datatype"),
    (4, "MPI_ERR_TAG", "invalid tag"),
    (5, "MPI_ERR_COMM", "invalid communicator"),
    (6, "MPI_ERR_RANK", "invalid rank"),
    (7, "MPI_ERR_REQUEST", "invalid request"),
    (8, "MPI_ERR_ROOT", "invalid root"),
    (9, "MPI_ERR_GROUP", "invalid group"),
    (10, "MPI_ERR_OP", "invalid operation"),
    (11, "MPI_ERR_TOPOLOGY", "invalid topology"),
    (12, "MPI_ERR_DIMS", "invalid dimensions"),
    (13, "MPI_ERR_ARG", "invalid argument"),
    (14, "MPI_ERR_UNKNOWN", "unknown error"),
    (15, "MPI_ERR_TRUNCATE", "message longer than the receive buffer"),
    (16, "MPI_ERR_OTHER", "error not listed"),
    (17, "MPI_ERR_INTERN", "internal error"),
    (18, "MPI_ERR_PENDING", "pending request"),
    (19, "MPI_ERR_IN_STATUS", "error code is in the status"),
    (20, "MPI_ERR_ACCESS", "permission denied"),
    (21, "MPI_ERR_AMODE", "invalid file access mode"),
    (22, "MPI_ERR_ASSERT", "invalid assertion"),
    (23, "MPI_ERR_BAD_FILE", "invalid file name"),
    (24, "MPI_ERR_BASE", "invalid base address"),
    (25, "MPI_ERR_CONVERSION", "error in a data conversion function"),
    (26, "MPI_ERR_DISP", "invalid displacement"),
    (27, "MPI_ERR_DUP_DATAREP", "data representation already defined"),
    (28, "MPI_ERR_FILE_EXISTS", "file exists"),
    (29, "MPI_ERR_FILE_IN_USE", "file in use"),
    (30, "MPI_ERR_FILE", "invalid file handle"),
    (31, "MPI_ERR_INFO_KEY", "invalid info key"),
    (32, "MPI_ERR_INFO_NOKEY", "no such info key"),
    (33, "MPI_ERR_INFO_VALUE", "invalid info value"),
    (34, "MPI_ERR_INFO", "invalid info object"),
    (35, "MPI_ERR_IO", "input or output error"),
    (36, "MPI_ERR_KEYVAL", "invalid attribute key"),
    (37, "MPI_ERR_LOCKTYPE", "invalid lock type"),
    (38, "MPI_ERR_NAME", "service name not published"),
    (39, "MPI_ERR_NO_MEM", "out of memory"),
    (40, "MPI_ERR_NOT_SAME", "arguments differ between processes"),
    (41, "MPI_ERR_NO_SPACE", "no space left"),
    (42, "MPI_ERR_NO_SUCH_FILE", "no such file"),
    (43, "MPI_ERR_PORT", "invalid port name"),
    (44, "MPI_ERR_QUOTA", "quota exceeded"),
    (45, "MPI_ERR_READ_ONLY", "read-only file or file system"),
    (46, "MPI_ERR_RMA_ATTACH", "memory cannot be attached"),
    (47, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"),
    (48, "MPI_ERR_RMA_RANGE", "target memory is not in the window"),
    (49, "MPI_ERR_RMA_SHARED", "memory cannot be shared"),
    (50, "MPI_ERR_RMA_SYNC", "wrong synchronization of a window"),
    (51, "MPI_ERR_SERVICE", "invalid service name"),
    (52, "MPI_ERR_SIZE", "invalid size"),
    (53, "MPI_ERR_SPAWN", "processes cannot be spawned"),
    (54, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation"),
    (55, "MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation"),
    (56, "MPI_ERR_WIN", "invalid window"),
    (57, "MPI_ERR_RMA_FLAVOR", "window of the wrong flavor"),
    (58, "MPI_ERR_PROC_ABORTED", "a peer process has failed"),
    (59, "MPI_ERR_VALUE_TOO_LARGE", "value does not fit"),
    (60, "MPI_ERR_SESSION", "invalid session"),
    (61, "MPI_ERR_ERRHANDLER", "invalid error handler"),
    (62, "MPI_ERR_ABI", "ABI mismatch"),
    (101, "MPIX_ERR_PROC_FAILED", "a process has failed"),
    (
        102,
        "MPIX_ERR_PROC_FAILED_PENDING",
        "a process that might have sent has failed",
    ),
    (103, "MPIX_ERR_REVOKED", "the communicator is revoked"),
    (1001, "MPI_T_ERR_CANNOT_INIT", "tool interface cannot be initialized"),
    (1002, "MPI_T_ERR_NOT_ACCESSIBLE", "tool interface not accessible"),
    (1003, "MPI_T_ERR_NOT_INITIALIZED", "tool interface not initialized"),
    (1004, "MPI_T_ERR_NOT_SUPPORTED", "not supported by the tool interface"),
    (1005, "MPI_T_ERR_MEMORY", "tool interface out of memory"),
    (1006, "MPI_T_ERR_INVALID", "invalid use of the tool interface"),
    (1007, "MPI_T_ERR_INVALID_INDEX", "invalid index"),
    (1008, "MPI_T_ERR_INVALID_ITEM", "invalid item index"),
    (1009, "MPI_T_ERR_INVALID_SESSION", "invalid tool session"),
    (1010, "MPI_T_ERR_INVALID_HANDLE", "invalid tool handle"),
    (1011, "MPI_T_ERR_INVALID_NAME", "invalid name"),
    (1012, "MPI_T_ERR_OUT_OF_HANDLES", "out of tool handles"),
    (1013, "MPI_T_ERR_OUT_OF_SESSIONS", "out of tool sessions"),
    (1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "control variable cannot be set now"),
    (1015, "MPI_T_ERR_CVAR_SET_NEVER", "control variable cannot be set"),
    (
        1016,
        "MPI_T_ERR_PVAR_NO_WRITE",
        "performance variable cannot be written",
    ),
    (
        1017,
        "MPI_T_ERR_PVAR_NO_STARTSTOP",
        "performance variable cannot be started or stopped",
    ),
    (
        1018,
        "MPI_T_ERR_PVAR_NO_ATOMIC",
        "performance variable cannot be read and written at once",
    ),
];

/// What users added, and what went wrong last.
struct Codes {
    /// Class and string of every code (or class: its own class) that users added.
    added: BTreeMap<i32, (i32, String)>,
    /// The last code handed out; they are not used again.
    last: i32,
    /// The latest error of each code: procedure and detail.
    latest: BTreeMap<i32, String>,
}

static CODES: Mutex<Codes> = Mutex::new(Codes {
    added: BTreeMap::new(),
    last: ERR_LASTCODE,
    latest: BTreeMap::new(),
});

fn lock() -> MutexGuard<'static, Codes> {
    CODES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn standard(class: i32) -> Option<(&'static str, &'static str)> {
    let at = CLASSES.binary_search_by_key(&class, |entry| entry.0).ok()?;
    Some((CLASSES[at].1, CLASSES[at].2))
}

/// The name of a class of the standard, or what a user's code is called: `MPI_ERR_RANK`, `error code 16384`.
pub(crate) fn name(code: i32) -> String {
    standard(code).map_or_else(|| format!("error code {code}"), |(name, _)| name.to_owned())
}

/// Keep what went wrong, for [`error_string`].
pub(crate) fn remember(procedure: &str, error: &Error) {
    lock()
        .latest
        .insert(error.code(), format!("{procedure}: {}", error.detail()));
}

/// The value of `MPI_LASTUSEDCODE`.
pub(crate) fn last_used() -> i32 {
    lock().last
}

/// The class of `code`, if `code` is one that the standard or the user defined.
pub(crate) fn class_of(code: i32) -> Result<i32> {
    if standard(code).is_some() {
        return Ok(code);
    }
    match lock().added.get(&code) {
        Some((class, _)) => Ok(*class),
        None => Err(fail!(Arg, "errorcode={code} is not an error code")),
    }
}

/// `MPI_Error_class`.
pub fn error_class(code: i32) -> Result<i32> {
    class_of(code)
}

/// `MPI_Error_string`: for a class of the standard its name, its meaning and what last went wrong; for a user's code what
/// the user said.
pub fn error_string(code: i32) -> Result<String> {
    let codes = lock();
    match standard(code) {
        Some((name, meaning)) => Ok(match codes.latest.get(&code) {
            Some(latest) if code != 0 => format!("{name}: {meaning} (latest: {latest})"),
            _ => format!("{name}: {meaning}"),
        }),
        None => match codes.added.get(&code) {
            Some((_, text)) => Ok(text.clone()),
            None => Err(fail!(Arg, "errorcode={code} is not an error code")),
        },
    }
}

impl Codes {
    fn add(&mut self, class: impl FnOnce(i32) -> i32) -> Result<i32> {
        let code = self
            .last
            .checked_add(1)
            .ok_or_else(|| fail!(NoMem, "no error code is left"))?;
        self.added.insert(code, (class(code), String::new()));
        self.last = code;
        Ok(code)
    }

    /// The string of what users added as `code`.
    fn text(&mut self, code: i32) -> Result<&mut String> {
        let text = self.added.get_mut(&code).map(|(_, text)| text);
        text.ok_or_else(|| fail!(Arg, "errorcode={code} was not added by the program"))
    }

    /// Forget what users added as `code` if it belongs to no class of theirs (`class`) or to one of them (`code`).
    fn remove(&mut self, code: i32, is_class: bool) -> Result<()> {
        let (argument, what) = if is_class {
            ("errorclass", "class")
        } else {
            ("errorcode", "code")
        };
        match self.added.get(&code) {
            Some((class, text)) if (*class == code) == is_class => {
                if !text.is_empty() {
                    return Err(fail!(Other, "{argument}={code} still has a string"));
                }
            }
            _ => {
                return Err(fail!(
                    Arg,
                    "{argument}={code} is not an error {what} that the program added"
                ));
            }
        }
        if is_class
            && self
                .added
                .iter()
                .any(|(other, (class, _))| *class == code && *other != code)
        {
            return Err(fail!(Other, "{argument}={code} still has error codes"));
        }
        self.added.remove(&code);
        self.latest.remove(&code);
        Ok(())
    }
}

/// `MPI_Add_error_class`: a new class, which is also a code.
pub fn add_error_class() -> Result<i32> {
    lock().add(|code| code)
}

/// `MPI_Add_error_code`: a new code of `class`.
pub fn add_error_code(class: i32) -> Result<i32> {
    match class_of(class) {
        Ok(own) if own == class => lock().add(|_| class),
        _ => Err(fail!(Arg, "errorclass={class} is not an error class")),
    }
}

/// `MPI_Add_error_string`: what [`error_string`] says of a code or class that the program added. Empty: nothing.
pub fn add_error_string(code: i32, string: &CStr) -> Result<()> {
    *lock().text(code)? = string.to_string_lossy().into_owned();
    Ok(())
}

/// `MPI_Remove_error_class`: refused while it has codes or a string.
pub fn remove_error_class(class: i32) -> Result<()> {
    lock().remove(class, true)
}

/// `MPI_Remove_error_code`: refused while it has a string.
pub fn remove_error_code(code: i32) -> Result<()> {
    lock().remove(code, false)
}

/// `MPI_Remove_error_string`.
pub fn remove_error_string(code: i32) -> Result<()> {
    lock().text(code)?.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;

    #[test]
    fn the_table_is_sorted() {
        assert!(CLASSES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(standard(Class::Abi as i32).map(|(name, _)| name), Some("MPI_ERR_ABI"));
        assert_eq!(standard(63), None);
    }

    #[test]
    fn strings_carry_the_latest_detail() {
        assert_eq!(error_string(0).as_deref(), Ok("MPI_SUCCESS: no error"));
        remember("MPI_Cart_create", &fail!(Dims, "dims[1]=-3"));
        assert_eq!(
            error_string(12).as_deref(),
            Ok("MPI_ERR_DIMS: invalid dimensions (latest: MPI_Cart_create: dims[1]=-3)")
        );
        assert_eq!(error_string(-1).map_err(|error| error.code()), Err(Class::Arg as i32));
    }

    #[test]
    fn users_codes_live_until_removed() {
        let class = add_error_class().expect("a class");
        assert!(class > ERR_LASTCODE);
        let code = add_error_code(class).expect("a code");
        assert_eq!((error_class(class), error_class(code)), (Ok(class), Ok(class)));
        assert_eq!(error_string(code).as_deref(), Ok(""));
        add_error_string(code, c"melted").expect("our code");
        assert_eq!(error_string(code).as_deref(), Ok("melted"));

        let refused = |outcome: Result<()>| outcome.map_err(|error| error.code());
        assert_eq!(refused(remove_error_class(class)), Err(Class::Other as i32));
        assert_eq!(refused(remove_error_code(code)), Err(Class::Other as i32));
        assert_eq!(refused(remove_error_code(class)), Err(Class::Arg as i32));
        assert_eq!(
            add_error_code(code).map_err(|error| error.code()),
            Err(Class::Arg as i32)
        );
        remove_error_string(code).expect("it has one");
        remove_error_code(code).expect("nothing hangs on it");
        remove_error_class(class).expect("nothing hangs on it");
        assert_eq!(refused(remove_error_class(class)), Err(Class::Arg as i32));
        for standard in [0, 16] {
            assert!(remove_error_class(standard).is_err() && remove_error_code(standard).is_err());
            assert!(remove_error_string(standard).is_err() && add_error_string(standard, c"x").is_err());
        }
    }
}
