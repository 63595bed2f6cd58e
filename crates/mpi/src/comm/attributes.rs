//! Attributes of communicators (MPI-5.0 §7.7.2), those that we attach among them.

use std::ffi::c_void;

use super::Comm;
use crate::attribute::{Cached, Copy, Delete, Value};
use crate::constants::{ANY_SOURCE, PROC_NULL, TAG_UB};
use crate::error::Result;
use crate::process::{self, codes};

/// Values of the keys that every communicator has; `None` if `keyval` is none of them or has no value here.
fn predefined(keyval: i32) -> Option<i32> {
    let launched = || Some(process::world()).filter(|world| !world.singleton);
    match keyval {
        501 => Some(TAG_UB),
        // Every rank can do input and output.
        502 => Some(ANY_SOURCE),
        // There is no host rank.
        503 => Some(PROC_NULL),
        // The clock of all ranks is that of their common machine.
        504 => Some(1),
        505 => launched().map(|world| world.appnum),
        506 => Some(codes::last_used()),
        507 => launched().map(|world| world.size as i32),
        _ => None,
    }
}

/// The keyvals of the values that every communicator has.
fn is_predefined(keyval: i32) -> bool {
    (501..=507).contains(&keyval)
}

/// `MPI_Comm_create_keyval` (and `MPI_Keyval_create`).
pub fn comm_create_keyval(copy: Copy<Comm>, delete: Delete<Comm>, extra_state: *mut c_void) -> Result<i32> {
    Comm::keyvals().create(copy, delete, extra_state)
}

/// `MPI_Comm_free_keyval`: attributes that carry it stay.
pub fn comm_free_keyval(comm_keyval: i32) -> Result<()> {
    Comm::keyvals().free(comm_keyval)
}

/// `MPI_Comm_set_attr`: an old value is deleted first.
pub fn comm_set_attr(comm: &Comm, comm_keyval: i32, attribute_val: *mut c_void) -> Result<()> {
    comm.attributes.set(comm.handle(), comm_keyval, attribute_val)
}

/// `MPI_Comm_get_attr`.
pub fn comm_get_attr(comm: &Comm, comm_keyval: i32) -> Result<Option<Value>> {
    if is_predefined(comm_keyval) {
        return Ok(predefined(comm_keyval).map(Value::Integer));
    }
    Ok(comm.attributes.get(comm_keyval)?.map(Value::Pointer))
}

/// `MPI_Comm_delete_attr`. If the delete callback refuses, the attribute stays.
pub fn comm_delete_attr(comm: &Comm, comm_keyval: i32) -> Result<()> {
    comm.attributes.delete(comm.handle(), comm_keyval)
}
