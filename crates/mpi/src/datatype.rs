//! Datatypes (MPI-5.0 §5): what a handle holds. What one describes, and how that is moved, stands in `crates/datatype`
//! ([`Type`], which a [`Datatype`] dereferences to); here is what belongs to handles: how types are made, committed, named.

mod attributes;
mod construct;
mod contents;
mod darray;
mod external;
mod fortran;
mod known;
mod pack;
mod query;

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_os::switches::Switch;

use crate::attribute::{Attributes, Cached, Keyvals};
use crate::constants::PROC_NULL;
use crate::device;
use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind, Table, share};

pub use attributes::{
    type_create_keyval, type_delete_attr, type_dup, type_free, type_free_keyval, type_get_attr, type_set_attr,
};
pub use construct::{
    type_contiguous, type_create_hindexed, type_create_hindexed_block, type_create_hvector, type_create_indexed_block,
    type_create_resized, type_create_struct, type_create_subarray, type_indexed, type_vector,
};
pub use contents::{Combiner, type_get_contents, type_get_envelope};
pub use darray::type_create_darray;
pub(crate) use external::{from_external, to_external};
pub use external::{pack_external, pack_external_size, unpack_external};
pub use fortran::{type_create_f90_complex, type_create_f90_integer, type_create_f90_real};
pub use isthmus_datatype::{Element, Family, Layout, Loop, NAMED, Named, Shape, Signature, Type};
pub use pack::{pack, pack_size, unpack};
pub use query::{
    get_count, get_elements, status_set_elements, type_commit, type_get_extent, type_get_name, type_get_true_extent,
    type_get_value_index, type_iov, type_iov_len, type_match_size, type_set_name, type_size,
};

use contents::{Definition, Origin};

/// A datatype as a handle names it.
pub struct Datatype {
    definition: Definition,
    /// `described.is_contiguous()`, asked in every send.
    contiguous: bool,
    committed: AtomicBool,
    attributes: Attributes<Datatype>,
    name: Mutex<String>,
    /// The value of its handle; the null handle's until it has one.
    handle: AtomicU32,
}

/// Nothing lies before it: the first page of memory is never there.
const FIRST_ADDRESS: usize = 4096;

/// Is this surely an address in host memory where elements of a predefined type may lie?
#[inline]
pub(crate) fn is_host(address: *const c_void) -> bool {
    address.addr() >= FIRST_ADDRESS && !Switch::Devices.is_on()
}

static KEYVALS: Keyvals<Datatype> = Keyvals::new(13);

impl Object for Datatype {
    const KIND: ObjectKind = ObjectKind::Datatype;
    const INVALID: Class = Class::Type;
    const NULL: u32 = 0x200;
    const NAME: &'static str = "MPI_Datatype";
    #[inline]
    fn table() -> &'static Table<Self> {
        static TABLE: OnceLock<Table<Datatype>> = OnceLock::new();
        TABLE.get_or_init(|| {
            let table = Table::new();
            table.set_predefined(every_predefined());
            table
        })
    }
}

impl Deref for Datatype {
    type Target = Type;

    #[inline]
    fn deref(&self) -> &Type {
        &self.definition.described
    }
}

impl Cached for Datatype {
    fn keyvals() -> &'static Keyvals<Self> {
        &KEYVALS
    }
}

impl Handle<Datatype> {
    /// As [`Handle::resolve`], for `count` elements. Of none the null handle is a type, too, as MPICH has it: programs send empty messages so.
    #[inline]
    pub fn resolve_for(self, count: impl Into<i64>, argument: &str) -> Result<&'static Datatype> {
        self.resolve_with(count, 0, argument)
    }

    /// As [`Self::resolve_for`], of what goes to or comes from a rank: to and from `MPI_PROC_NULL` nothing does.
    #[inline(always)] // Half of what a short call costs is calls.
    pub fn resolve_with(self, count: impl Into<i64>, rank: i32, argument: &str) -> Result<&'static Datatype> {
        match Datatype::table().get(self.raw()) {
            Some(datatype) => Ok(datatype),
            None => self.resolve_null(count.into() == 0 || rank == PROC_NULL, argument),
        }
    }

    /// The type that the null handle is of no elements.
    #[cold]
    #[inline(never)]
    fn resolve_null(self, is_idle: bool, argument: &str) -> Result<&'static Datatype> {
        match self.is_null() && is_idle {
            true => Ok(byte()),
            false => self.resolve(argument),
        }
    }
}

/// By distance from the null handle.
fn every_predefined() -> Vec<Option<Arc<Datatype>>> {
    let mut list = Vec::new();
    for named in NAMED {
        list.resize_with((named.raw - Datatype::NULL) as usize, || None);
        let datatype = Datatype::new(Definition {
            described: Type::predefined(named),
            origin: Arc::new(Origin::Named(named)),
        });
        datatype.committed.store(true, Ordering::Relaxed);
        *datatype.name() = named.name.to_owned();
        datatype.handle.store(named.raw, Ordering::Relaxed);
        list.push(Some(datatype));
    }
    list
}

/// `MPI_BYTE`.
pub fn byte() -> &'static Datatype {
    static BYTE: OnceLock<&'static Datatype> = OnceLock::new();
    BYTE.get_or_init(|| {
        let handle = Handle::from_raw(0x247);
        handle
            .resolve("MPI_BYTE")
            .unwrap_or_else(|_| unreachable!("MPI_BYTE is in the table of predefined types"))
    })
}

/// Refuse a buffer of packed data, as [`Datatype::check_buffer`] refuses one of elements.
#[inline]
fn check_packed(argument: &str, buffer: *const c_void, bytes: i64) -> Result<isthmus_mem::Kind> {
    byte().check_buffer(argument, buffer, bytes)
}

impl Datatype {
    fn new(definition: Definition) -> Arc<Self> {
        Arc::new(Self {
            contiguous: definition.described.is_contiguous(),
            definition,
            committed: AtomicBool::new(false),
            attributes: Attributes::new(),
            name: Mutex::default(),
            handle: AtomicU32::new(Self::NULL),
        })
    }

    /// Make a datatype and hand it to the user.
    fn publish(definition: Definition) -> Result<Handle<Self>> {
        Self::insert(Self::new(definition))
    }

    fn insert(datatype: Arc<Self>) -> Result<Handle<Self>> {
        let handle = Self::table().insert(datatype)?;
        handle
            .resolve("datatype")?
            .handle
            .store(handle.raw(), Ordering::Relaxed);
        Ok(handle)
    }

    /// Do any number of elements take `count * size` bytes in a row, from the buffer's address on?
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// May it be used in communication?
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// Its type, for layers without handles.
    #[inline]
    pub fn described(&self) -> &Type {
        &self.definition.described
    }

    /// Does this handle name it? To be asked of predefined types: others it may not know.
    #[inline]
    pub(crate) fn is(&self, handle: Handle<Self>) -> bool {
        self.named().is_some_and(|named| named.raw == handle.raw())
    }

    /// The handle by which users hold it.
    pub fn handle(&self) -> Handle<Self> {
        Handle::from_raw(self.handle.load(Ordering::Relaxed))
    }

    /// A share in the object, for what outlives its handle.
    pub fn share_object(&self) -> Arc<Self> {
        // SAFETY: `new` alone makes datatypes, in an `Arc`, which lives as long as the reference to what is in it.
        unsafe { share(self) }
    }

    /// Do something with a handle that names it, even if the user has freed its own.
    pub fn with_handle(&self, f: impl FnOnce(Handle<Self>)) -> Result<()> {
        let own = self.handle();
        if own.resolve("datatype").is_ok_and(|live| std::ptr::eq(live, self)) {
            f(own);
            return Ok(());
        }
        let lent = Self::table().insert(self.share_object())?;
        f(lent);
        lent.remove("datatype").map(drop)
    }

    /// Refuse a type that is not committed.
    #[inline]
    pub fn check_committed(&self, argument: &str) -> Result<()> {
        if self.is_committed() {
            return Ok(());
        }
        Err(self.not_committed(argument))
    }

    #[cold]
    fn not_committed(&self, argument: &str) -> Error {
        fail!(Type, "{argument}={} is not committed", self.label())
    }

    /// Refuse a buffer whose data would lie in the first page of memory, where nothing can be (a null pointer,
    /// `MPI_IN_PLACE` where it means nothing). `MPI_BOTTOM` with absolute displacements passes.
    #[inline]
    pub(crate) fn check_address(&self, argument: &str, buffer: *const c_void, count: i64) -> Result<()> {
        let start = buffer.addr().wrapping_add(self.true_lb() as usize);
        if start >= FIRST_ADDRESS || count == 0 || self.size() == 0 {
            return Ok(());
        }
        Err(self.no_address(argument, buffer, count))
    }

    /// As [`Self::check_address`]; refuses memory of a device that has been freed, too. The kind of the buffer's memory, which is that of its
    /// first byte.
    #[inline]
    pub(crate) fn check_buffer(&self, argument: &str, buffer: *const c_void, count: i64) -> Result<isthmus_mem::Kind> {
        self.check_address(argument, buffer, count)?;
        if count == 0 || self.size() == 0 {
            return Ok(isthmus_mem::Kind::Host);
        }
        device::kind_of(argument, buffer.cast::<u8>().wrapping_offset(self.true_lb() as isize))
    }

    #[cold]
    fn no_address(&self, argument: &str, buffer: *const c_void, count: i64) -> Error {
        fail!(
            Buffer,
            "{argument}={buffer:?} is no address of {count} elements of {}",
            self.label()
        )
    }

    /// Refuse to write to `count` elements of which some share memory.
    #[inline]
    pub fn check_apart(&self, argument: &str, count: i64) -> Result<()> {
        if self.contiguous || self.described().is_apart(count) {
            return Ok(());
        }
        Err(self.overlapping(argument, count))
    }

    #[cold]
    fn overlapping(&self, argument: &str, count: i64) -> Error {
        fail!(
            Type,
            "{argument}: {count} elements of {} overlap each other, so nothing can be received there",
            self.label()
        )
    }

    /// Name and handle, for messages.
    pub(crate) fn label(&self) -> String {
        match &**self.name() {
            "" => format!("{:?}", self.handle()),
            name => name.to_owned(),
        }
    }

    fn name(&self) -> MutexGuard<'_, String> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
