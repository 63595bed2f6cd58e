//! The driver's procedures that are used, found by name in its library.
//!
//! Names, types and numbers: CUDA Driver API (<https://docs.nvidia.com/cuda/cuda-driver-api/>). Procedures whose types have changed since
//! CUDA 3.2 carry `_v2` in the library. Another vendor's driver would be another table of this kind: HIP's procedures have the same shapes.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use isthmus_os::{device, process};

use crate::error::{Error, Result};

/// `CUresult`.
pub type Code = c_int;
/// `CUdeviceptr`.
pub type Address = u64;
/// `CUdevice`.
pub type Ordinal = c_int;

/// `CUcontext`, `CUstream`, `CUmodule` or `CUfunction`.
pub type Object = *mut c_void;

/// Codes that are told apart.
pub mod code {
    use super::Code;

    pub const SUCCESS: Code = 0;
    pub const OUT_OF_MEMORY: Code = 2;
    pub const NOT_INITIALIZED: Code = 3;
    pub const DEINITIALIZED: Code = 4;
    pub const INVALID_CONTEXT: Code = 201;
    pub const INVALID_HANDLE: Code = 400;
    pub const NOT_FOUND: Code = 500;
    pub const NOT_READY: Code = 600;
    pub const CONTEXT_IS_DESTROYED: Code = 709;
    pub const NOT_SUPPORTED: Code = 801;
}

/// `CUpointer_attribute`.
pub mod pointer {
    use super::c_int;

    pub const CONTEXT: c_int = 1;
    pub const MEMORY_TYPE: c_int = 2;
    pub const SYNC_MEMOPS: c_int = 6;
    pub const BUFFER_ID: c_int = 7;
    pub const IS_MANAGED: c_int = 8;
    pub const DEVICE_ORDINAL: c_int = 9;
    pub const RANGE_START: c_int = 11;
    pub const RANGE_SIZE: c_int = 12;
    pub const MAPPING_SIZE: c_int = 18;
    pub const MAPPING_BASE: c_int = 19;
    pub const MEMORY_BLOCK_ID: c_int = 20;
}

/// `CUmemorytype`.
pub mod memory_type {
    use super::c_uint;

    pub const NONE: c_uint = 0;
    pub const HOST: c_uint = 1;
    pub const DEVICE: c_uint = 2;
}

/// `CUdevice_attribute`.
pub mod attribute {
    use super::c_int;

    pub const MULTIPROCESSOR_COUNT: c_int = 16;
    pub const CONCURRENT_MANAGED_ACCESS: c_int = 89;
}

/// Flags of several procedures.
pub mod flag {
    use super::c_uint;

    pub const STREAM_NON_BLOCKING: c_uint = 1;
    /// Pinned for all contexts.
    pub const HOST_PORTABLE: c_uint = 1;
    pub const HOST_DEVICE_MAP: c_uint = 2;
    pub const IPC_LAZY_ENABLE_PEER_ACCESS: c_uint = 1;
}

/// `CUipcMemHandle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IpcHandle(pub [u8; 64]);

/// `CUuuid`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Uuid(pub [u8; 16]);

/// `CUmemGenericAllocationHandle`: physical memory of a device.
pub type Physical = u64;

/// `CUmemAccessDesc`: how a device accesses mapped memory.
#[repr(C)]
pub struct AccessFlags {
    location_type: c_int,
    device: Ordinal,
    flags: c_int,
}

impl AccessFlags {
    /// A device reads and writes.
    pub fn of(device: Ordinal) -> Self {
        /// `CU_MEM_LOCATION_TYPE_DEVICE`.
        const DEVICE: c_int = 1;
        /// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
        const READ_WRITE: c_int = 3;
        Self {
            location_type: DEVICE,
            device,
            flags: READ_WRITE,
        }
    }
}

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub const DESCRIPTOR: c_int = 1;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
pub struct Copy2D {
    pub from_x: usize,
    pub from_y: usize,
    pub from_type: c_uint,
    pub from_host: *const c_void,
    pub from_device: Address,
    pub from_array: *mut c_void,
    pub from_pitch: usize,
    pub to_x: usize,
    pub to_y: usize,
    pub to_type: c_uint,
    pub to_host: *mut c_void,
    pub to_device: Address,
    pub to_array: *mut c_void,
    pub to_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// The table: one field for each procedure. What a driver does not have answers `CUDA_ERROR_NOT_FOUND`.
macro_rules! table {
    ($($field:ident = $name:literal: ($($argument:ident: $type:ty),*);)*) => {
        /// The driver's procedures.
        pub struct Api {
            $(pub $field: unsafe extern "C" fn($($argument: $type),*) -> Code,)*
        }

        impl Api {
            fn of(library: *mut c_void) -> Self {
                $(unsafe extern "C" fn $field($(_: $type),*) -> Code {
                    code::NOT_FOUND
                })*
                Self {
                    $($field: {
                        // SAFETY: the library is loaded; the driver's procedure of this name has this type.
                        unsafe {
                            let name: &CStr = $name;
                            let found = libc::dlsym(library, name.as_ptr());
                            if found.is_null() {
                                $field
                            } else {
                                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> Code>(found)
                            }
                        }
                    },)*
                }
            }
        }
    };
}

table! {
    error_name = c"cuGetErrorName": (code: Code, name: *mut *const c_char);
    device_count = c"cuDeviceGetCount": (count: *mut c_int);
    device_uuid = c"cuDeviceGetUuid": (uuid: *mut Uuid, device: Ordinal);
    device_attribute = c"cuDeviceGetAttribute": (value: *mut c_int, attribute: c_int, device: Ordinal);
    device_can_access_peer = c"cuDeviceCanAccessPeer": (can: *mut c_int, device: Ordinal, peer: Ordinal);
    primary_retain = c"cuDevicePrimaryCtxRetain": (context: *mut Object, device: Ordinal);
    primary_state = c"cuDevicePrimaryCtxGetState": (device: Ordinal, flags: *mut c_uint, active: *mut c_int);
    context_current = c"cuCtxGetCurrent": (context: *mut Object);
    context_push = c"cuCtxPushCurrent_v2": (context: Object);
    context_pop = c"cuCtxPopCurrent_v2": (context: *mut Object);
    context_device = c"cuCtxGetDevice": (device: *mut Ordinal);
    pointer_attribute = c"cuPointerGetAttribute": (value: *mut c_void, attribute: c_int, pointer: Address);
    pointer_attributes = c"cuPointerGetAttributes":
        (count: c_uint, attributes: *mut c_int, values: *mut *mut c_void, pointer: Address);
    set_pointer_attribute = c"cuPointerSetAttribute": (value: *const c_void, attribute: c_int, pointer: Address);
    address_range = c"cuMemGetAddressRange_v2": (base: *mut Address, size: *mut usize, pointer: Address);
    allocate = c"cuMemAlloc_v2": (pointer: *mut Address, bytes: usize);
    free = c"cuMemFree_v2": (pointer: Address);
    allocate_host = c"cuMemHostAlloc": (pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    free_host = c"cuMemFreeHost": (pointer: *mut c_void);
    copy = c"cuMemcpyAsync": (to: Address, from: Address, bytes: usize, stream: Object);
    copy_2d = c"cuMemcpy2DAsync_v2": (copy: *const Copy2D, stream: Object);
    stream_create = c"cuStreamCreate": (stream: *mut Object, flags: c_uint);
    stream_query = c"cuStreamQuery": (stream: Object);
    stream_synchronize = c"cuStreamSynchronize": (stream: Object);
    stream_write = c"cuStreamWriteValue32_v2": (stream: Object, to: Address, value: u32, flags: c_uint);
    module_load = c"cuModuleLoadData": (module: *mut Object, image: *const c_void);
    module_function = c"cuModuleGetFunction": (function: *mut Object, module: Object, name: *const c_char);
    launch = c"cuLaunchKernel":
        (function: Object, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
         shared: c_uint, stream: Object, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    ipc_handle = c"cuIpcGetMemHandle": (handle: *mut IpcHandle, pointer: Address);
    ipc_open = c"cuIpcOpenMemHandle_v2": (pointer: *mut Address, handle: IpcHandle, flags: c_uint);
    ipc_close = c"cuIpcCloseMemHandle": (pointer: Address);
    physical_of = c"cuMemRetainAllocationHandle": (physical: *mut Physical, pointer: *mut c_void);
    physical_release = c"cuMemRelease": (physical: Physical);
    physical_export = c"cuMemExportToShareableHandle":
        (shareable: *mut c_void, physical: Physical, kind: c_int, flags: u64);
    physical_import = c"cuMemImportFromShareableHandle": (physical: *mut Physical, shareable: *mut c_void, kind: c_int);
    reserve = c"cuMemAddressReserve":
        (pointer: *mut Address, bytes: usize, alignment: usize, wanted: Address, flags: u64);
    reserve_free = c"cuMemAddressFree": (pointer: Address, bytes: usize);
    map = c"cuMemMap": (pointer: Address, bytes: usize, offset: usize, physical: Physical, flags: u64);
    unmap = c"cuMemUnmap": (pointer: Address, bytes: usize);
    set_access = c"cuMemSetAccess": (pointer: Address, bytes: usize, access: *const AccessFlags, count: usize);
}

static API: AtomicPtr<Api> = AtomicPtr::new(null_mut());
/// A process made by `fork` cannot use what its parent had of the driver.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The driver, if this process has loaded it, and not its parent before a `fork`.
#[inline]
pub fn driver() -> Option<&'static Api> {
    let api = API.load(Ordering::Acquire);
    if api.is_null() {
        return load();
    }
    if FORKED.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: made by `load`, and never freed.
    Some(unsafe { &*api })
}

#[cold]
fn load() -> Option<&'static Api> {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    let library = device::library()?;
    let api = Box::into_raw(Box::new(Api::of(library.as_ptr())));
    match API.compare_exchange(null_mut(), api, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            process::on_fork_in_child(in_child);
            // SAFETY: just made, and never freed.
            Some(unsafe { &*api })
        }
        Err(other) => {
            // SAFETY: nobody has seen ours; the other thread's is never freed.
            unsafe {
                drop(Box::from_raw(api));
                Some(&*other)
            }
        }
    }
}

impl Api {
    /// The driver's name for `code`.
    pub fn name_of(&self, code: Code) -> String {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: the driver writes a pointer to a constant text.
        unsafe {
            if (self.error_name)(code, &raw mut name) == code::SUCCESS && !name.is_null() {
                return CStr::from_ptr(name).to_string_lossy().into_owned();
            }
        }
        match code {
            code::NOT_FOUND => "CUDA_ERROR_NOT_FOUND".to_owned(),
            _ => format!("CUDA error {code}"),
        }
    }

    /// `Ok`, or an error that tells what was being done.
    #[inline]
    pub fn check(&self, code: Code, call: &str, what: impl FnOnce() -> String) -> Result<()> {
        if code == code::SUCCESS {
            Ok(())
        } else {
            Err(self.error(code, call, what))
        }
    }

    #[cold]
    pub fn error(&self, code: Code, call: &str, what: impl FnOnce() -> String) -> Error {
        crate::counts::COUNTS.failures.fetch_add(1, Ordering::Relaxed);
        Error::of_driver(code, &self.name_of(code), call, &what())
    }

    /// An attribute of a device; 0 where the driver does not know it.
    pub fn attribute_of(&self, device: Ordinal, attribute: c_int) -> c_int {
        let mut value = 0;
        // SAFETY: the driver writes an int, or nothing.
        unsafe { (self.device_attribute)(&raw mut value, attribute, device) };
        value
    }

    /// The buffer id of the allocation that `address` lies in.
    pub fn buffer_id(&self, address: Address) -> Option<u64> {
        self.id(pointer::BUFFER_ID, address)
    }

    /// The id of the physical memory that is mapped at `address`, of virtual memory management. No other memory of the process has it, at any time.
    pub fn block_id(&self, address: Address) -> Option<u64> {
        self.id(pointer::MEMORY_BLOCK_ID, address)
    }

    fn id(&self, attribute: c_int, address: Address) -> Option<u64> {
        let mut id = 0_u64;
        // SAFETY: the attribute is an `unsigned long long`.
        let code = unsafe { (self.pointer_attribute)((&raw mut id).cast(), attribute, address) };
        (code == code::SUCCESS && id != 0).then_some(id)
    }

    /// Where the physical memory that is mapped at `address` begins there, and its bytes.
    pub fn mapping_of(&self, address: Address) -> Option<(Address, usize)> {
        let (mut base, mut size) = (0, 0_usize);
        // SAFETY: the driver writes both, or nothing; the attributes have these types.
        unsafe {
            let start = (self.pointer_attribute)((&raw mut base).cast(), pointer::MAPPING_BASE, address);
            let bytes = (self.pointer_attribute)((&raw mut size).cast(), pointer::MAPPING_SIZE, address);
            (start == code::SUCCESS && bytes == code::SUCCESS && size > 0).then_some((base, size))
        }
    }

    /// Where the allocation that `address` lies in begins, and its bytes. A context must be current.
    pub fn range_of(&self, address: Address) -> Option<(Address, usize)> {
        let (mut base, mut size) = (0, 0_usize);
        // SAFETY: the driver writes both, or nothing; the attributes have these types.
        unsafe {
            if (self.address_range)(&raw mut base, &raw mut size, address) == code::SUCCESS {
                return Some((base, size));
            }
            let start = (self.pointer_attribute)((&raw mut base).cast(), pointer::RANGE_START, address);
            let bytes = (self.pointer_attribute)((&raw mut size).cast(), pointer::RANGE_SIZE, address);
            (start == code::SUCCESS && bytes == code::SUCCESS).then_some((base, size))
        }
    }
}
