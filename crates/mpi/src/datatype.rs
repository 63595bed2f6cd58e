//! Datatypes (MPI-5.0 §5): what a handle holds. Bytes lie as `layout.rs` says, types are made in `construct.rs`, and
//! `copy.rs` moves what they describe.

mod apart;
mod attributes;
mod bounds;
mod construct;
mod contents;
mod copy;
mod darray;
mod external;
mod fortran;
mod layout;
mod pack;
mod predefined;
mod query;
mod shape;
mod signature;
mod spans;

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::attribute::{Attributes, Cached, Keyvals};
use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::{Handle, Kind, Object, Table};

pub use attributes::{
    type_create_keyval, type_delete_attr, type_dup, type_free, type_free_keyval, type_get_attr, type_set_attr,
};
pub use construct::{
    type_contiguous, type_create_hindexed, type_create_hindexed_block, type_create_hvector, type_create_indexed_block,
    type_create_resized, type_create_struct, type_create_subarray, type_indexed, type_vector,
};
pub use contents::{Combiner, type_get_contents, type_get_envelope};
pub use darray::type_create_darray;
pub use external::{pack_external, pack_external_size, unpack_external};
pub use fortran::{type_create_f90_complex, type_create_f90_integer, type_create_f90_real};
pub use layout::{Layout, Loop};
pub use pack::{pack, pack_size, unpack};
pub use predefined::{Element, Family, NAMED, Named};
pub use query::{
    get_count, get_elements, type_commit, type_get_extent, type_get_name, type_get_true_extent, type_get_value_index,
    type_match_size, type_set_name, type_size,
};
pub use shape::Shape;
pub(crate) use signature::Digest;
pub use signature::Signature;

use apart::Apart;
use contents::{Definition, Origin};
use copy::Elements;

/// A datatype as a handle names it.
pub struct Datatype {
    definition: Definition,
    /// `shape.is_contiguous()`, asked in every send.
    contiguous: bool,
    committed: AtomicBool,
    apart: Apart,
    attributes: Attributes<Datatype>,
    name: Mutex<String>,
    handle: OnceLock<Handle<Datatype>>,
    this: Weak<Datatype>,
}

/// Nothing lies before it: the first page of memory is never there.
const FIRST_ADDRESS: usize = 4096;

static KEYVALS: Keyvals<Datatype> = Keyvals::new(13);

impl Object for Datatype {
    const KIND: Kind = Kind::Datatype;
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

impl Cached for Datatype {
    fn keyvals() -> &'static Keyvals<Self> {
        &KEYVALS
    }
}

/// By distance from the null handle.
fn every_predefined() -> Vec<Option<Arc<Datatype>>> {
    let mut list = Vec::new();
    for named in NAMED {
        list.resize_with((named.raw - Datatype::NULL) as usize, || None);
        let datatype = Datatype::new(Definition {
            shape: Arc::new(Shape::named(named)),
            origin: Arc::new(Origin::Named(named)),
        });
        datatype.committed.store(true, Ordering::Relaxed);
        *datatype.name() = named.name.to_owned();
        let _ = datatype.handle.set(Handle::from_raw(named.raw));
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
fn check_packed(argument: &str, buffer: *const c_void, bytes: i64) -> Result<()> {
    if buffer.addr() >= FIRST_ADDRESS || bytes == 0 {
        return Ok(());
    }
    Err(byte().no_address(argument, buffer, bytes))
}

impl Datatype {
    fn new(definition: Definition) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            contiguous: definition.shape.is_contiguous(),
            definition,
            committed: AtomicBool::new(false),
            apart: Apart::default(),
            attributes: Attributes::new(),
            name: Mutex::default(),
            handle: OnceLock::new(),
            this: this.clone(),
        })
    }

    /// Make a datatype and hand it to the user.
    fn publish(definition: Definition) -> Result<Handle<Self>> {
        Self::insert(Self::new(definition))
    }

    fn insert(datatype: Arc<Self>) -> Result<Handle<Self>> {
        let handle = Self::table().insert(Arc::clone(&datatype))?;
        let _ = datatype.handle.set(handle);
        Ok(handle)
    }

    /// Bytes of data in one element.
    #[inline]
    pub fn size(&self) -> i64 {
        self.definition.shape.size
    }

    /// Lower bound.
    #[inline]
    pub fn lb(&self) -> i64 {
        self.definition.shape.lb
    }

    /// Bytes from one element to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.definition.shape.extent
    }

    /// Where the first byte of data lies, from the buffer's address.
    #[inline]
    pub fn true_lb(&self) -> i64 {
        self.definition.shape.true_lb
    }

    /// Bytes from the first byte of data to the last.
    #[inline]
    pub fn true_extent(&self) -> i64 {
        self.definition.shape.true_extent
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

    /// Its basic elements in order.
    pub fn signature(&self) -> &Signature {
        &self.definition.shape.signature
    }

    /// What it is, if it is predefined.
    #[inline]
    pub fn named(&self) -> Option<&'static Named> {
        match &*self.definition.origin {
            Origin::Named(named) | Origin::Kind(named, _) => Some(named),
            Origin::Made(_) => None,
        }
    }

    /// The handle by which users hold it.
    pub fn handle(&self) -> Handle<Self> {
        self.handle.get().copied().unwrap_or(Handle::NULL)
    }

    /// A share in it, for what outlives its handle.
    pub fn share(&self) -> Arc<Self> {
        let this = self.this.upgrade();
        this.unwrap_or_else(|| unreachable!("datatypes live in an Arc from the start"))
    }

    /// Do something with a handle that names it, even if the user has freed its own.
    pub fn with_handle(&self, f: impl FnOnce(Handle<Self>)) -> Result<()> {
        let own = self.handle();
        if own.resolve("datatype").is_ok_and(|live| std::ptr::eq(live, self)) {
            f(own);
            return Ok(());
        }
        let lent = Self::table().insert(self.share())?;
        f(lent);
        lent.remove("datatype").map(drop)
    }

    /// Bytes of data in `count` elements.
    pub fn bytes(&self, count: i64) -> Result<i64> {
        count
            .checked_mul(self.size())
            .ok_or_else(|| fail!(Count, "count={count} elements of {} bytes exceed 64 bits", self.size()))
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

    /// Refuse a buffer whose data would lie in the first page of memory, where nothing can be: a null pointer,
    /// `MPI_IN_PLACE` where it means nothing. `MPI_BOTTOM` with absolute displacements passes.
    #[inline]
    pub fn check_buffer(&self, argument: &str, buffer: *const c_void, count: i64) -> Result<()> {
        let start = buffer.addr().wrapping_add(self.true_lb() as usize);
        if start >= FIRST_ADDRESS || count == 0 || self.size() == 0 {
            return Ok(());
        }
        Err(self.no_address(argument, buffer, count))
    }

    #[cold]
    fn no_address(&self, argument: &str, buffer: *const c_void, count: i64) -> Error {
        fail!(
            Buffer,
            "{argument}={buffer:?} is no address of {count} elements of {}",
            self.label()
        )
    }

    /// Pack `count` elements at `src` behind what `dst` holds.
    ///
    /// # Safety
    /// `src` must be readable wherever those elements lie.
    pub unsafe fn pack(&self, src: *const u8, count: i64, dst: &mut Vec<u8>) {
        let bytes = count * self.size();
        dst.reserve(bytes as usize);
        // SAFETY: the caller's promise for `src`; the room was just reserved, and is full afterwards.
        unsafe {
            self.pack_range(src, count, 0, bytes, dst.as_mut_ptr().add(dst.len()));
            dst.set_len(dst.len() + bytes as usize);
        }
    }

    /// Unpack `src`, which may end within an element, into at most `count` elements at `dst`.
    ///
    /// # Safety
    /// `dst` must be writable wherever those elements lie.
    pub unsafe fn unpack(&self, src: &[u8], dst: *mut u8, count: i64) {
        let bytes = (src.len() as i64).min(count * self.size());
        // SAFETY: the caller's promise for `dst`; no more than `src` holds is read.
        unsafe { self.unpack_range(src.as_ptr(), dst, count, 0, bytes) }
    }

    /// Pack bytes `from..to` of the `count * size` bytes of the elements at `src` to `dst`.
    ///
    /// # Safety
    /// `src` must be readable wherever those elements lie, `dst` writable for `to - from` bytes, and
    /// `0 <= from <= to <= count * size`.
    pub unsafe fn pack_range(&self, src: *const u8, count: i64, from: i64, to: i64, dst: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.elements(count).pack(src, from, to, dst) }
    }

    /// The reverse of [`Self::pack_range`].
    ///
    /// # Safety
    /// `dst` must be writable wherever the elements lie, `src` readable for `to - from` bytes, and
    /// `0 <= from <= to <= count * size`.
    pub unsafe fn unpack_range(&self, src: *const u8, dst: *mut u8, count: i64, from: i64, to: i64) {
        // SAFETY: the caller's promise.
        unsafe { self.elements(count).unpack(dst, from, to, src) }
    }

    #[inline]
    fn elements(&self, count: i64) -> Elements<'_> {
        let shape = &*self.definition.shape;
        Elements {
            layout: &shape.layout,
            size: shape.size,
            repeat: Loop {
                count,
                stride: shape.extent,
            },
        }
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
