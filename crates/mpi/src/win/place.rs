//! Where an access goes: the target's region, and the place in it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use isthmus_engine::rma::Target;

use super::{Flavor, Win};
use crate::datatype::Datatype;
use crate::error::{Class, Error, Result};
use crate::fail;

/// The description of each member's memory, from `Box::into_raw`; looked up when it is first accessed, null before. A window of many members
/// accesses few of them.
#[derive(Debug)]
pub(super) struct Places(Box<[AtomicPtr<Place>]>);

/// The memory of one member.
#[derive(Debug)]
pub(super) struct Place {
    pub target: Target,
    pub unit: i64,
}

impl Places {
    pub fn new(members: usize) -> Self {
        Self((0..members).map(|_| AtomicPtr::new(null_mut())).collect())
    }

    #[inline]
    fn known(&self, member: usize) -> Option<&Place> {
        // SYNC: window-place
        let place = self.0.get(member)?.load(Ordering::Acquire);
        // SAFETY: null, or what `put` has made of a box, which lasts as long as this.
        unsafe { place.as_ref() }
    }

    fn put(&self, member: usize, place: Place) -> &Place {
        let new = Box::into_raw(Box::new(place));
        // SYNC: window-place
        match self.0[member].compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: from a box, which lasts as long as this.
            Ok(_) => unsafe { &*new },
            Err(known) => {
                // SAFETY: from the box above, which nobody else knows of.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: another thread's, which lasts as long as this.
                unsafe { &*known }
            }
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for place in self.0.iter_mut().map(|place| *place.get_mut()) {
            if !place.is_null() {
                // SAFETY: from a box, and nobody else has it any more.
                drop(unsafe { Box::from_raw(place) });
            }
        }
    }
}

impl Win {
    /// The memory of a member, of a window that is not dynamic.
    #[inline(always)]
    pub(super) fn place(&self, member: usize) -> Result<&Place> {
        match self.places.known(member) {
            Some(place) => Ok(place),
            None => self.find_place(member),
        }
    }

    #[cold]
    fn find_place(&self, member: usize) -> Result<&Place> {
        let peer = self
            .group
            .peer(member as i32)
            .unwrap_or_else(|| unreachable!("seats are those of members"));
        let target = Target::attach(peer, self.key(member))?;
        let place = Place {
            target,
            unit: self.unit(member),
        };
        Ok(self.places.put(member, place))
    }

    /// The memory of a target that may be accessed now and is known, and the offset in it of `disp`, in a window that is not checked. `None`:
    /// it is another window, or what is wrong with the arguments is found out elsewhere.
    #[inline(always)] // Half of what a short put costs is calls.
    pub(super) fn plain_place(&self, rank: i32, disp: i64) -> Option<(&Place, u64)> {
        // No member is as high as a negative rank. Nothing is known of those of a dynamic window.
        let target = rank as u32 as usize;
        let place = self.places.known(target)?;
        if self.is_checked || disp < 0 || !self.epochs.admits(target) {
            return None;
        }
        Some((place, (disp as u64).checked_mul(place.unit as u64)?))
    }

    /// Do something with the region, and the offset in it, where `disp` of a member lies. In a dynamic window `count` elements must lie
    /// in memory that is attached.
    #[inline]
    pub(super) fn at<R>(
        &self,
        member: usize,
        disp: i64,
        datatype: &Datatype,
        count: i64,
        f: impl FnOnce(&Target, u64) -> Result<R>,
    ) -> Result<R> {
        if self.flavor == Flavor::Dynamic {
            let (target, at) = self.attached_at(member, disp, datatype, count)?;
            return f(&target, at);
        }
        let place = self.place(member)?;
        match u64::try_from(disp)
            .ok()
            .and_then(|disp| disp.checked_mul(place.unit as u64))
        {
            Some(at) => f(&place.target, at).map_err(|error| self.about(error, member, disp)),
            None => Err(wrong_disp(disp, place.unit)),
        }
    }

    /// An error of an access, with what the caller has said of the place, if that is outside.
    #[cold]
    pub(super) fn about(&self, error: Error, member: usize, disp: i64) -> Error {
        if error.code() != Class::RmaRange as i32 {
            return error;
        }
        let unit = self.unit(member);
        let length = self.key(member).length();
        fail!(
            RmaRange,
            "{}: target_disp={disp} of rank {member} of {}, which has {} displacements of {unit} bytes",
            error.detail(),
            self.label(),
            length.checked_div(unit.unsigned_abs()).unwrap_or(length)
        )
    }
}

#[cold]
fn wrong_disp(disp: i64, unit: i64) -> Error {
    match disp {
        ..0 => fail!(Disp, "target_disp={disp} is negative"),
        _ => fail!(Disp, "target_disp={disp} units of {unit} bytes exceed 64 bits"),
    }
}
