//! Where an access goes: the target's region, and the offset in it.

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
pub(super) struct Targets(Box<[AtomicPtr<TargetMemory>]>);

/// The memory of one member.
#[derive(Debug)]
pub(super) struct TargetMemory {
    pub target: Target,
    pub unit: i64,
}

impl Targets {
    pub fn new(members: usize) -> Self {
        Self((0..members).map(|_| AtomicPtr::new(null_mut())).collect())
    }

    #[inline]
    fn known(&self, member: usize) -> Option<&TargetMemory> {
        // SYNC: window-target
        let memory = self.0.get(member)?.load(Ordering::Acquire);
        // SAFETY: null, or what `put` has made of a box, which lasts as long as this.
        unsafe { memory.as_ref() }
    }

    fn put(&self, member: usize, memory: TargetMemory) -> &TargetMemory {
        let new = Box::into_raw(Box::new(memory));
        // SYNC: window-target
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

impl Drop for Targets {
    fn drop(&mut self) {
        for memory in self.0.iter_mut().map(|memory| *memory.get_mut()) {
            if !memory.is_null() {
                // SAFETY: from a box, and nobody else has it any more.
                drop(unsafe { Box::from_raw(memory) });
            }
        }
    }
}

impl Win {
    /// The memory of a member, of a window that is not dynamic.
    #[inline(always)]
    pub(super) fn target_memory(&self, member: usize) -> Result<&TargetMemory> {
        match self.targets.known(member) {
            Some(memory) => Ok(memory),
            None => self.find_target(member),
        }
    }

    #[cold]
    fn find_target(&self, member: usize) -> Result<&TargetMemory> {
        let peer = self
            .group
            .peer(member as i32)
            .unwrap_or_else(|| unreachable!("seats are those of members"));
        let target = Target::attach(peer, self.key(member))?;
        let memory = TargetMemory {
            target,
            unit: self.unit(member),
        };
        Ok(self.targets.put(member, memory))
    }

    /// The memory of a target that may be accessed now and is known, and the offset in it of `disp`, in a window that is not checked. `None`:
    /// it is another window, or what is wrong with the arguments is found out elsewhere.
    #[inline(always)] // Half of what a short put costs is calls.
    pub(super) fn plain_target(&self, rank: i32, disp: i64) -> Option<(&TargetMemory, u64)> {
        // No member is as high as a negative rank. Nothing is known of those of a dynamic window.
        let target = rank as u32 as usize;
        let memory = self.targets.known(target)?;
        if self.is_checked || disp < 0 || !self.epochs.admits(target) {
            return None;
        }
        Some((memory, (disp as u64).checked_mul(memory.unit as u64)?))
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
        let memory = self.target_memory(member)?;
        match u64::try_from(disp)
            .ok()
            .and_then(|disp| disp.checked_mul(memory.unit as u64))
        {
            Some(at) => f(&memory.target, at).map_err(|error| self.about(error, member, disp)),
            None => Err(wrong_disp(disp, memory.unit)),
        }
    }

    /// An error of an access, with what the caller has said of the target, if that is outside.
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
