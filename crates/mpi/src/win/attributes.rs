//! Attributes of windows (MPI-5.0 §7.7.3, §12.2.6), those that every window has among them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use super::Win;
use crate::attribute::{Cached, Copy, Delete};
use crate::error::Result;
use crate::fail;

/// `MPI_WIN_UNIFIED`.
const UNIFIED: i32 = 321;

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// What a user attached, or `MPI_WIN_BASE`.
    Pointer(*mut c_void),
    /// `MPI_WIN_SIZE`: C callers are given the address of such an integer.
    Size(i64),
    /// `MPI_WIN_DISP_UNIT`.
    Unit(i32),
    /// `MPI_WIN_CREATE_FLAVOR`.
    Flavor(i32),
    /// `MPI_WIN_MODEL`.
    Model(i32),
}

/// Integers of a window whose addresses C callers are given, in the values of one ABI. They stay where they are while the window lives.
#[derive(Debug, Default)]
pub struct Words {
    size: AtomicI64,
    integers: [AtomicI32; 3],
}

impl Words {
    /// Where the size stands.
    pub fn size(&self, value: i64) -> *mut i64 {
        self.size.store(value, Ordering::Relaxed);
        self.size.as_ptr()
    }

    /// Where the `index`-th integer stands.
    pub fn integer(&self, index: usize, value: i32) -> *mut i32 {
        let place = &self.integers[index];
        place.store(value, Ordering::Relaxed);
        place.as_ptr()
    }
}

/// How many ABIs there are, each with values of its own.
pub const ABIS: usize = 3;

impl Win {
    /// The integers in the values of an ABI, which is below [`ABIS`].
    pub fn words(&self, abi: usize) -> &Words {
        &self.words.get_or_init(Box::default)[abi]
    }
}

const BASE: i32 = 601;
const DISP_UNIT: i32 = 602;
const SIZE: i32 = 603;
const CREATE_FLAVOR: i32 = 604;
const MODEL: i32 = 605;

/// `MPI_Win_create_keyval`.
pub fn win_create_keyval(copy: Copy<Win>, delete: Delete<Win>, extra_state: *mut c_void) -> Result<i32> {
    Win::keyvals().create(copy, delete, extra_state)
}

/// `MPI_Win_free_keyval`: attributes that carry it stay.
pub fn win_free_keyval(win_keyval: i32) -> Result<()> {
    Win::keyvals().free(win_keyval)
}

fn check_own(keyval: i32) -> Result<()> {
    if (BASE..=MODEL).contains(&keyval) {
        return Err(fail!(Keyval, "win_keyval={keyval:#x} is predefined"));
    }
    Ok(())
}

/// `MPI_Win_set_attr`: an old value is deleted first.
pub fn win_set_attr(win: &Win, win_keyval: i32, attribute_val: *mut c_void) -> Result<()> {
    check_own(win_keyval)?;
    win.attributes.set(win.handle(), win_keyval, attribute_val)
}

/// `MPI_Win_get_attr`.
pub fn win_get_attr(win: &Win, win_keyval: i32) -> Result<Option<Value>> {
    Ok(match win_keyval {
        BASE => Some(Value::Pointer(win.base.cast())),
        DISP_UNIT => Some(Value::Unit(i32::try_from(win.unit).unwrap_or(i32::MAX))),
        SIZE => Some(Value::Size(win.bytes)),
        CREATE_FLAVOR => Some(Value::Flavor(win.flavor as i32)),
        MODEL => Some(Value::Model(UNIFIED)),
        _ => win.attributes.get(win_keyval)?.map(Value::Pointer),
    })
}

/// `MPI_Win_delete_attr`. If the delete callback refuses, the attribute stays.
pub fn win_delete_attr(win: &Win, win_keyval: i32) -> Result<()> {
    check_own(win_keyval)?;
    win.attributes.delete(win.handle(), win_keyval)
}
