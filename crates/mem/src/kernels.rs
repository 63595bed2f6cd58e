//! Kernels: what is computed or gathered on a device.

use std::ffi::{CString, c_uint, c_void};
use std::fmt::Debug;
use std::ptr::null_mut;

use crate::api::{Api, Object};
use crate::counts::{COUNTS, count};
use crate::error::Result;
use crate::place::{Lane, Place};
use crate::{Number, Op, ptx};

/// Threads of a block.
const BLOCK: u32 = 256;

/// From memory with gaps to packed bytes, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    Gather,
    Scatter,
}

/// A kernel; each is a module of its own, since a program uses few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    Combine(Op, Number),
    /// Copies rows, in units of so many bytes.
    Rows(u32),
    Pieces(Way),
}

/// Where a piece is in memory with gaps and among the packed bytes, as the kernel reads it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Entry {
    pub offset: i64,
    pub position: u64,
    pub length: u64,
}

impl Kernel {
    /// Its name in the module.
    pub fn name(self) -> String {
        let lower = |value: &dyn Debug| format!("{value:?}").to_lowercase();
        match self {
            Self::Combine(op, number) => format!("isthmus_{}_{}", lower(&op), lower(&number)),
            Self::Rows(unit) => format!("isthmus_rows_{unit}"),
            Self::Pieces(way) => format!("isthmus_{}", lower(&way)),
        }
    }

    /// Have the driver compile it for the current context.
    pub fn load(self, api: &Api) -> Result<Object> {
        let name = self.name();
        let c_text = |text: String| CString::new(text).unwrap_or_else(|_| unreachable!("no zero in a kernel's text"));
        let (text, c_name) = (c_text(ptx::text(self)), c_text(name.clone()));
        let mut module = null_mut();
        let mut function = null_mut();
        // SAFETY: the text is that of a module; the module is kept, so that the function stays.
        unsafe {
            let answer = (api.module_load)(&raw mut module, text.as_ptr().cast());
            api.check(answer, "cuModuleLoadData", || format!("cannot compile {name}"))?;
            let answer = (api.module_function)(&raw mut function, module, c_name.as_ptr());
            api.check(answer, "cuModuleGetFunction", || format!("cannot find {name}"))?;
        }
        Ok(function)
    }

    /// Have `lane` run it with `threads` threads or fewer. `parameters` point to the values that it takes.
    ///
    /// # Safety
    /// The parameters are what the kernel's text takes, and the memory that they name is reached by the device.
    pub unsafe fn launch(
        self,
        api: &Api,
        place: &Place,
        lane: &Lane,
        threads: u64,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let function = place.function(api, self)?;
        let blocks = threads
            .div_ceil(u64::from(BLOCK))
            .clamp(1, u64::from(place.most_blocks())) as c_uint;
        // SAFETY: the caller's promise; the driver copies the parameters before it returns.
        let answer = unsafe {
            (api.launch)(
                function,
                blocks,
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                lane.stream,
                parameters.as_mut_ptr(),
                null_mut(),
            )
        };
        count(&COUNTS.kernels);
        api.check(answer, "cuLaunchKernel", || format!("cannot run {}", self.name()))
    }
}

/// Where a value is, as [`Kernel::launch`] takes it.
pub fn parameter<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// Every kernel that there is.
#[cfg(test)]
pub fn all() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = [16, 8, 4, 2, 1].into_iter().map(Kernel::Rows).collect();
    all.extend([Kernel::Pieces(Way::Gather), Kernel::Pieces(Way::Scatter)]);
    for op in Op::ALL {
        let known = Number::ALL.into_iter().filter(|&number| crate::combines(op, number));
        all.extend(known.map(|number| Kernel::Combine(op, number)));
    }
    all
}
