//! libfabric itself: opened once per process, and never closed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::abi::{self, Fabric, FabricAttr, Info};
use crate::absent::StandIns;
use crate::relocation;
use crate::{Error, Result};

/// The functions that libfabric exports; all else goes by tables.
#[derive(Debug)]
pub(crate) struct Library {
    pub getinfo: unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int,
    pub freeinfo: unsafe extern "C" fn(*mut Info),
    pub dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    pub fabric: unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Library {
    /// Open it, at first use. Blocks for as long as the linker and the providers' constructors take.
    pub fn open() -> Result<&'static Self> {
        static LIBRARY: OnceLock<std::result::Result<Library, (Option<u32>, String)>> = OnceLock::new();
        LIBRARY
            .get_or_init(load)
            .as_ref()
            .map_err(|(version, why)| match version {
                Some(version) => Error::Old {
                    major: version >> 16,
                    minor: version & 0xffff,
                },
                None => Error::Missing(why.clone()),
            })
    }

    /// An error as the call gives it: negative.
    pub fn failed(&self, call: &'static str, code: isize) -> Error {
        let errno = code.unsigned_abs() as c_int;
        // SAFETY: any number may be asked for; the answer is a string that stays.
        let text = unsafe { CStr::from_ptr((self.strerror)(errno)) };
        Error::Failed {
            call,
            errno,
            text: text.to_string_lossy().into_owned(),
        }
    }

    /// A call's outcome: negative is an error.
    pub fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code < 0 {
            return Err(self.failed(call, code as isize));
        }
        Ok(())
    }
}

fn load() -> std::result::Result<Library, (Option<u32>, String)> {
    // SAFETY: a library of the system; its constructors are run.
    let open = || unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    let absent = StandIns::load();
    let mut handle = open();
    if handle.is_null() {
        // Another version may need more of those libraries than what stands in for them has.
        drop(absent);
        handle = open();
    } else {
        absent.keep();
    }
    if handle.is_null() {
        // SAFETY: after a failure it is a string, or null.
        let why = unsafe { libc::dlerror() };
        let why = match why.is_null() {
            true => "no reason given".into(),
            // SAFETY: as above; it stays until the next call of this family on this thread.
            false => unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned(),
        };
        return Err((None, why));
    }
    let symbol = |name: &CStr| {
        // SAFETY: the handle is open, and stays so.
        let at = unsafe { libc::dlsym(handle, name.as_ptr()) };
        match at.is_null() {
            true => Err((None, format!("it has no {}", name.to_string_lossy()))),
            false => Ok(at),
        }
    };
    // SAFETY: `fi_version` has been this since the first version.
    let version = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> u32>(symbol(c"fi_version")?) }();
    if version < abi::VERSION {
        return Err((Some(version), String::new()));
    }
    let by = open_but_for_kernel_symbols as *mut c_void;
    for name in [c"fopen", c"fopen64"] {
        // SAFETY: it stays open, and the function is like the one that it is called instead of.
        unsafe { relocation::replace(handle, name, by) };
    }
    // SAFETY: the signatures are those of <rdma/fabric.h>; newer versions of the symbols only take longer structures, which
    // `fi_dupinfo` of the same library allocates.
    unsafe {
        Ok(Library {
            getinfo: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int,
            >(symbol(c"fi_getinfo")?),
            freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(symbol(c"fi_freeinfo")?),
            dupinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(symbol(
                c"fi_dupinfo",
            )?),
            fabric: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int,
            >(symbol(c"fi_fabric")?),
            strerror: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(symbol(
                c"fi_strerror",
            )?),
        })
    }
}

/// What libfabric opens files by. Its provider `verbs` looks through all symbols of the kernel, twice, when it is first asked for anything, which
/// takes 0.1 s, to learn whether the kernel registers memory of graphics processors: we give it none of that.
extern "C" fn open_but_for_kernel_symbols(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: strings, by the promise of the caller of `fopen`.
    unsafe {
        if !path.is_null() && CStr::from_ptr(path) == c"/proc/kallsyms" {
            *libc::__errno_location() = libc::ENOENT;
            return std::ptr::null_mut();
        }
        libc::fopen(path, mode)
    }
}
