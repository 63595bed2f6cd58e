//! What devices a machine has, for commands that ask before any program runs: only they load the driver's library by themselves.

use std::ffi::{CStr, c_char, c_int, c_uint};

use isthmus_os::switches::Switch;

use crate::{Device, Error, Result};

/// What the driver tells.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The version of the driver's interface: 12080 is 12.8.
    pub version: u32,
    /// In the driver's order.
    pub devices: Vec<DeviceFacts>,
    /// Pairs of devices of which the first cannot read the memory of the second.
    pub apart: Vec<(Device, Device)>,
}

/// A device.
#[derive(Debug, Clone)]
pub struct DeviceFacts {
    /// As the driver names it.
    pub name: String,
    /// Bytes of its memory.
    pub memory: u64,
}

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type TotalMemory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
type CanAccess = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
type ErrorName = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// Room for a name.
const NAME: usize = 256;

/// The driver's library, loaded by [`load`].
struct Library(*mut std::ffi::c_void);

impl Library {
    /// A procedure of the driver.
    ///
    /// # Safety
    /// `F` is its type.
    unsafe fn procedure<F: Copy>(&self, name: &CStr) -> Result<F> {
        const { assert!(size_of::<F>() == size_of::<*mut std::ffi::c_void>()) };
        // SAFETY: the library is loaded.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() {
            return Err(Error::plain(format!("the driver has no {}", name.to_string_lossy())));
        }
        // SAFETY: a pointer to a function, of this type by the caller's promise.
        Ok(unsafe { std::mem::transmute_copy::<*mut std::ffi::c_void, F>(&found) })
    }

    fn check(&self, answer: c_int, call: &str) -> Result<()> {
        if answer == 0 {
            return Ok(());
        }
        let mut name = std::ptr::null();
        // SAFETY: the procedure's type; the driver writes the address of a constant text.
        let named = unsafe {
            let error_name = self.procedure::<ErrorName>(c"cuGetErrorName")?;
            error_name(answer, &raw mut name) == 0 && !name.is_null()
        };
        let name = match named {
            // SAFETY: as above.
            true => unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned(),
            false => format!("CUDA error {answer}"),
        };
        Err(Error::plain(format!("{call} answers {name}")))
    }
}

/// Load the driver's library into this process, and initialize it. From then on addresses are asked about.
///
/// # Errors
/// There is none, or it says why not.
fn load() -> Result<Library> {
    // SAFETY: the driver's library runs its constructors.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        // SAFETY: the text of the failure above, which stays until the next call.
        let why = unsafe { libc::dlerror() };
        return Err(Error::plain(match why.is_null() {
            true => "libcuda.so.1 cannot be loaded".to_owned(),
            // SAFETY: as above.
            false => unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned(),
        }));
    }
    let library = Library(library);
    // SAFETY: the procedure's type.
    let answer = unsafe { library.procedure::<Init>(c"cuInit")?(0) };
    library.check(answer, "cuInit")?;
    Switch::Devices.turn_on();
    Ok(library)
}

/// Load the driver and ask it.
///
/// # Errors
/// There is no driver, or it does not work; in its words.
pub fn survey() -> Result<Survey> {
    let library = load()?;
    let mut version = 0;
    let mut count = 0;
    // SAFETY: the procedures' types; the driver writes an int each.
    unsafe {
        let answer = library.procedure::<Number>(c"cuDriverGetVersion")?(&raw mut version);
        library.check(answer, "cuDriverGetVersion")?;
        let answer = library.procedure::<Number>(c"cuDeviceGetCount")?(&raw mut count);
        library.check(answer, "cuDeviceGetCount")?;
    }
    let ordinals = (0..count)
        .map(|number| library.device(number))
        .collect::<Result<Vec<_>>>()?;
    let devices = ordinals
        .iter()
        .map(|&device| library.facts(device))
        .collect::<Result<_>>()?;
    let mut apart = Vec::new();
    for (own, &device) in ordinals.iter().enumerate() {
        for (other, &peer) in ordinals.iter().enumerate() {
            if own != other && !library.reaches(device, peer)? {
                apart.push((Device(own as u32), Device(other as u32)));
            }
        }
    }
    Ok(Survey {
        version: version.unsigned_abs(),
        devices,
        apart,
    })
}

impl Library {
    fn device(&self, number: c_int) -> Result<c_int> {
        let mut device = 0;
        // SAFETY: the procedure's type; the driver writes an int.
        let answer = unsafe { self.procedure::<Get>(c"cuDeviceGet")?(&raw mut device, number) };
        self.check(answer, "cuDeviceGet").map(|()| device)
    }

    fn facts(&self, device: c_int) -> Result<DeviceFacts> {
        let mut name = [0; NAME];
        let mut memory = 0;
        // SAFETY: the procedures' types; there is room for a name, and the driver ends it with a zero.
        let name = unsafe {
            let answer = self.procedure::<Name>(c"cuDeviceGetName")?(name.as_mut_ptr(), NAME as c_int - 1, device);
            self.check(answer, "cuDeviceGetName")?;
            let answer = self.procedure::<TotalMemory>(c"cuDeviceTotalMem_v2")?(&raw mut memory, device);
            self.check(answer, "cuDeviceTotalMem")?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        Ok(DeviceFacts {
            name,
            memory: memory as u64,
        })
    }

    fn reaches(&self, device: c_int, peer: c_int) -> Result<bool> {
        let mut can = 0;
        // SAFETY: the procedure's type; the driver writes an int.
        let answer = unsafe { self.procedure::<CanAccess>(c"cuDeviceCanAccessPeer")?(&raw mut can, device, peer) };
        self.check(answer, "cuDeviceCanAccessPeer").map(|()| can != 0)
    }
}
