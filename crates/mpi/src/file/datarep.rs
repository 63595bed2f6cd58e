//! Representations of data in files (MPI-5.0 §14.5): `native` and `internal` are the machine's own, `external32` is the same everywhere, and
//! programs register others.
//!
//! Converted data go through a copy: a write converts first, a read when the access is over.

use std::ffi::CStr;
use std::sync::{Arc, Mutex};

use isthmus_datatype::{Element, NAMED};
use isthmus_io::memory::AccessMemory;

use super::locked;
use crate::datatype::{Datatype, from_external, to_external};
use crate::device::Mirrors;
use crate::error::{Error, Result, room};
use crate::fail;
use crate::handle::Handle;
use crate::status::Status;

/// Longest name of a representation, with its terminator.
pub(super) const MAX_NAME: usize = 128;

/// Converts `count` elements of a datatype: (user's buffer, datatype, count, buffer of the file, position); an error code.
pub type ConversionFn = Box<dyn Fn(*mut u8, Handle<Datatype>, i64, *mut u8, i64) -> i32 + Send + Sync>;

/// The bytes that an element of a predefined datatype takes in a file, or an error code.
pub type ExtentFn = Box<dyn Fn(Handle<Datatype>) -> std::result::Result<i64, i32> + Send + Sync>;

/// A representation that the program has registered.
pub(super) struct Registered {
    name: Box<str>,
    /// `None`: as in memory.
    read: Option<ConversionFn>,
    write: Option<ConversionFn>,
    extent: ExtentFn,
}

static REGISTERED: Mutex<Vec<Arc<Registered>>> = Mutex::new(Vec::new());

/// `MPI_Register_datarep`: a representation for views to come; it cannot be taken back. `None`: no conversion.
pub fn register_datarep(
    datarep: &CStr,
    read: Option<ConversionFn>,
    write: Option<ConversionFn>,
    extent: ExtentFn,
) -> Result<()> {
    let name = datarep.to_string_lossy();
    if name.is_empty() || name.len() >= MAX_NAME {
        return Err(fail!(
            Arg,
            "datarep={name:?} has {} characters, 1 to {} are allowed",
            name.len(),
            MAX_NAME - 1
        ));
    }
    let mut list = locked(&REGISTERED);
    if ["native", "internal", "external32"].contains(&&*name) || list.iter().any(|one| *one.name == *name) {
        return Err(fail!(DupDatarep, "datarep={name:?} is there already"));
    }
    list.push(Arc::new(Registered {
        name: name.into(),
        read,
        write,
        extent,
    }));
    Ok(())
}

/// How data are represented in a file.
#[derive(Clone)]
pub(super) enum Datarep {
    Native,
    Internal,
    External32,
    Registered(Arc<Registered>),
}

impl Datarep {
    /// The one of this name.
    pub fn of(name: &CStr) -> Result<Self> {
        match name.to_bytes() {
            b"native" => return Ok(Self::Native),
            b"internal" => return Ok(Self::Internal),
            b"external32" => return Ok(Self::External32),
            _ => {}
        }
        let text = name.to_string_lossy();
        let list = locked(&REGISTERED);
        let found = list.iter().find(|one| *one.name == *text).cloned();
        found.map(Self::Registered).ok_or_else(|| {
            fail!(
                UnsupportedDatarep,
                "datarep={text:?} is neither native, internal, external32 nor registered by MPI_Register_datarep"
            )
        })
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::External32 => "external32",
            Self::Registered(one) => &one.name,
        }
    }

    /// Is what lies in the file what lies in memory?
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Native | Self::Internal)
    }

    /// Does a function of the program convert what is read?
    pub fn is_converted_by_program(&self) -> bool {
        matches!(self, Self::Registered(one) if one.read.is_some())
    }

    /// Bytes of an element's data in the file.
    pub fn size_of(&self, datatype: &Datatype) -> Result<i64> {
        match self {
            Self::Native | Self::Internal => Ok(datatype.size()),
            Self::External32 => Ok(datatype.signature().foreign_size()),
            Self::Registered(one) => {
                let mut bytes = 0;
                datatype.signature().visit_runs(&mut |element, _, count| {
                    let each =
                        (one.extent)(named(element)?).map_err(|code| one.refused("dtype_file_extent_fn", code))?;
                    bytes += each * count;
                    Ok(())
                })?;
                Ok(bytes)
            }
        }
    }

    /// What `count` elements at `buffer` are in the file.
    ///
    /// # Safety
    /// The elements are readable.
    pub unsafe fn exported(&self, buffer: *mut u8, count: i64, datatype: &Datatype) -> Result<Vec<u8>> {
        match self {
            // SAFETY: the caller's promise.
            Self::External32 => unsafe { to_external(datatype, buffer, count) },
            Self::Registered(one) if one.write.is_some() => {
                let bytes = self.size_of(datatype)? * count;
                let mut converted = room(bytes as usize, "converted data")?;
                converted.resize(bytes as usize, 0);
                one.convert(
                    one.write.as_ref(),
                    "write_conversion_fn",
                    buffer,
                    count,
                    datatype,
                    &mut converted,
                )?;
                Ok(converted)
            }
            _ => {
                let mut bytes = room(datatype.bytes(count)? as usize, "a packed copy")?;
                // SAFETY: the caller's promise.
                unsafe { datatype.pack(buffer, count, &mut bytes) };
                Ok(bytes)
            }
        }
    }
}

impl Registered {
    #[cold]
    fn refused(&self, function: &str, code: i32) -> Error {
        Error::from_code(
            code,
            format!("{function} of datarep={:?} returned this code", self.name),
        )
    }

    fn convert(
        &self,
        function: Option<&ConversionFn>,
        name: &str,
        buffer: *mut u8,
        count: i64,
        datatype: &Datatype,
        bytes: &mut [u8],
    ) -> Result<()> {
        let Some(function) = function else { return Ok(()) };
        let mut code = 0;
        datatype.with_handle(|handle| code = function(buffer, handle, count, bytes.as_mut_ptr(), 0))?;
        match code {
            0 => Ok(()),
            code => Err(self.refused(name, code)),
        }
    }
}

/// A predefined datatype that is one such element.
fn named(element: Element) -> Result<Handle<Datatype>> {
    let is_it = |one: &&isthmus_datatype::Named| one.elements.len() == 1 && one.elements[0] == element;
    NAMED
        .iter()
        .find(is_it)
        .map(|one| Handle::from_raw(one.raw))
        .ok_or_else(|| fail!(Conversion, "there is no predefined datatype of one {element:?}"))
}

/// The conversion of the data that were read.
pub(super) enum Back {
    /// It is where it belongs.
    Nothing,
    /// It is converted to the user's buffer.
    Convert {
        datarep: Datarep,
        buffer: *mut u8,
        count: i64,
        datatype: Arc<Datatype>,
    },
    /// It was converted to be written: bytes of an element in the file, and in memory.
    Written { there: i64, here: i64 },
    /// The access has worked on host memory that stands for memory of a device, and then comes the rest.
    OnDevice { mirrors: Mirrors, rest: Box<Self> },
}

// SAFETY: the buffer is the user's, who has left it to the access, from whichever thread that goes on.
unsafe impl Send for Back {}

impl Back {
    /// The status of an access that ended so. May run the program's conversions.
    pub fn finish(self, (done, memory): (Result<u64>, AccessMemory)) -> Result<Status> {
        if let Self::OnDevice { mut mirrors, rest } = self {
            let finished = rest.finish((done, memory));
            return mirrors.stored(finished);
        }
        let bytes = done? as i64;
        let bytes = match self {
            Self::Nothing | Self::OnDevice { .. } => bytes,
            Self::Written { there, here } => bytes.checked_div(there).unwrap_or(0) * here,
            Self::Convert {
                datarep,
                buffer,
                count,
                datatype,
            } => {
                let mut read = memory.into_owned();
                read.truncate(bytes as usize);
                // SAFETY: the user's promise, for as long as the access is not complete.
                unsafe { import(&datarep, &mut read, buffer, count, &datatype)? }
            }
        };
        Ok(Status { bytes, ..Status::SENT })
    }
}

/// Convert what was read, which may end early, to the user's buffer: how many bytes it is there.
///
/// # Safety
/// The elements are writable.
unsafe fn import(datarep: &Datarep, read: &mut [u8], buffer: *mut u8, count: i64, datatype: &Datatype) -> Result<i64> {
    match datarep {
        // SAFETY: the caller's promise.
        Datarep::External32 => unsafe { from_external(datatype, read, buffer, count) },
        Datarep::Registered(one) if one.read.is_some() => {
            let each = datarep.size_of(datatype)?;
            let whole = (read.len() as i64).checked_div(each).unwrap_or(0).min(count);
            if whole > 0 {
                one.convert(one.read.as_ref(), "read_conversion_fn", buffer, whole, datatype, read)?;
            }
            Ok(whole * datatype.size())
        }
        _ => {
            // SAFETY: the caller's promise.
            unsafe { datatype.unpack(read, buffer, count) };
            Ok(read.len() as i64)
        }
    }
}
