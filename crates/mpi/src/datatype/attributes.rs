//! A datatype's attributes, and what happens to them when it is duplicated or freed (MPI-5.0 §7.7.4, §5.1.9, §5.1.10).

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::contents::{Argument, Combiner, Definition, Origin, Recipe};
use super::{Datatype, Type};
use crate::attribute::{Cached, Copy, Delete};
use crate::counts::Width;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;

/// `MPI_Type_create_keyval`.
pub fn type_create_keyval(copy: Copy<Datatype>, delete: Delete<Datatype>, extra_state: *mut c_void) -> Result<i32> {
    Datatype::keyvals().create(copy, delete, extra_state)
}

/// `MPI_Type_free_keyval`. The generated code stores `MPI_KEYVAL_INVALID`.
pub fn type_free_keyval(type_keyval: i32) -> Result<()> {
    Datatype::keyvals().free(type_keyval)
}

/// `MPI_Type_set_attr`.
pub fn type_set_attr(datatype: &'static Datatype, type_keyval: i32, attribute_val: *mut c_void) -> Result<()> {
    datatype.attributes.set(datatype.handle(), type_keyval, attribute_val)
}

/// `MPI_Type_get_attr`.
pub fn type_get_attr(datatype: &'static Datatype, type_keyval: i32) -> Result<Option<*mut c_void>> {
    datatype.attributes.get(type_keyval)
}

/// `MPI_Type_delete_attr`.
pub fn type_delete_attr(datatype: &'static Datatype, type_keyval: i32) -> Result<()> {
    datatype.attributes.delete(datatype.handle(), type_keyval)
}

/// `MPI_Type_dup`: the same type, with what the attributes' callbacks copy.
pub fn type_dup(oldtype: &'static Datatype) -> Result<Handle<Datatype>> {
    let copy = Datatype::new(Definition {
        described: Type::derived(oldtype.shape().clone()),
        origin: Arc::new(Origin::Made(Recipe::of(
            Combiner::Dup,
            Width::Int,
            &[Argument::Type(oldtype)],
        )?)),
    });
    copy.committed.store(oldtype.is_committed(), Ordering::Relaxed);
    let handle = Datatype::insert(Arc::clone(&copy))?;
    let copied = oldtype.attributes.copy_to(oldtype.handle(), &copy.attributes, handle);
    match copied {
        Ok(()) => Ok(handle),
        Err(error) => {
            handle.remove("newtype")?;
            Err(error)
        }
    }
}

/// `MPI_Type_free`: delete the attributes, then the type. What uses it goes on. Predefined types are refused.
pub fn type_free(datatype: Handle<Datatype>) -> Result<()> {
    let object = datatype.resolve("datatype")?;
    if object.named().is_some() {
        return Err(fail!(
            Type,
            "datatype={} is predefined and cannot be freed",
            object.label()
        ));
    }
    object.attributes.clear(datatype)?;
    datatype.remove("datatype")?;
    Ok(())
}
