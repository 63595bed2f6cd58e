//! The libraries that this process has loaded.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files of loaded libraries whose path `is_wanted` accepts. Does not block, but for the loader's lock.
pub fn loaded(is_wanted: fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut search = Search {
        is_wanted,
        found: Vec::new(),
    };
    // SAFETY: `look` gets this place, which lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

struct Search {
    is_wanted: fn(&Path) -> bool,
    found: Vec<PathBuf>,
}

unsafe extern "C" fn look(library: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader describes a library that is loaded, and the search is what `loaded` gave.
    let (library, search) = unsafe { (&*library, &mut *search.cast::<Search>()) };
    if !library.dlpi_name.is_null() {
        // SAFETY: the name ends with a zero and stays as long as this call.
        let name = unsafe { CStr::from_ptr(library.dlpi_name) };
        let path = Path::new(OsStr::from_bytes(name.to_bytes()));
        if (search.is_wanted)(path) {
            search.found.push(path.to_owned());
        }
    }
    0
}

/// What `int function(int *answer)` of a loaded library answers. `None` if the library is not loaded, has no such function, or the
/// function fails.
///
/// # Safety
/// A function of this name must have this type there, and may be called at any time.
pub unsafe fn answer(library: &Path, function: &CStr) -> Option<c_int> {
    type Ask = unsafe extern "C" fn(*mut c_int) -> c_int;
    let path = std::ffi::CString::new(library.as_os_str().as_bytes()).ok()?;
    // SAFETY: nothing is loaded; what is there stays loaded as long as this handle, which is not closed.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the handle is open. The search begins with the library itself.
    let address = unsafe { libc::dlsym(handle, function.as_ptr()) };
    // SAFETY: the caller's promise; null is `None`.
    let ask = unsafe { std::mem::transmute::<*mut c_void, Option<Ask>>(address) }?;
    let mut answer = 0;
    // SAFETY: the caller's promise, and there is room for the answer.
    (unsafe { ask(&raw mut answer) } == 0).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_loaded() {
        let is_libc = |path: &Path| {
            path.file_name()
                .is_some_and(|name| name.as_bytes().starts_with(b"libc.so"))
        };
        assert_eq!(loaded(is_libc).len(), 1);
        assert_eq!(loaded(|_| false), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_is_not_there_answers_nothing() {
        // SAFETY: there is neither the library nor, in the other one, the function.
        unsafe {
            assert_eq!(answer(Path::new("/no/such/library"), c"function"), None);
            assert_eq!(answer(Path::new("libc.so.6"), c"no_function_of_this_name"), None);
        }
    }
}
