//! The arguments of calls: which end is global memory, and vectors of pieces.

use crate::error::{Result, argument};

/// Which of the two ends is global memory of the process that the call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Of a get.
    Source,
    /// Of a put, an accumulate.
    Target,
}

/// One entry of a vector call (`armci_giov_t`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Vector {
    /// Where the pieces come from.
    pub sources: *const *mut u8,
    /// Where they go.
    pub targets: *const *mut u8,
    /// How many there are.
    pub count: i32,
    /// Bytes of each.
    pub bytes: i32,
}

impl Vector {
    /// Call `piece(source, target, bytes)` for each.
    ///
    /// # Errors
    /// A negative count, a null array, or what `piece` says.
    ///
    /// # Safety
    /// The arrays must have as many elements as `count` says.
    pub unsafe fn for_each(&self, mut piece: impl FnMut(*mut u8, *mut u8, u64) -> Result<()>) -> Result<()> {
        let (Ok(count), Ok(bytes)) = (usize::try_from(self.count), u64::try_from(self.bytes)) else {
            return Err(argument(format!(
                "ptr_array_len={} or bytes={} is negative",
                self.count, self.bytes
            )));
        };
        if count == 0 || bytes == 0 {
            return Ok(());
        }
        if self.sources.is_null() || self.targets.is_null() {
            return Err(argument("src_ptr_array or dst_ptr_array is null"));
        }
        for at in 0..count {
            // SAFETY: the caller's promise.
            let (source, target) = unsafe { (self.sources.add(at).read(), self.targets.add(at).read()) };
            piece(source, target, bytes)?;
        }
        Ok(())
    }
}

/// The entries of a vector call.
///
/// # Errors
/// A negative length, or a null array.
///
/// # Safety
/// `entries` must have `length` elements, which stay as they are while the result is used.
pub unsafe fn vectors<'a>(entries: *const Vector, length: i32) -> Result<&'a [Vector]> {
    match usize::try_from(length) {
        Ok(0) => Ok(&[]),
        // SAFETY: the caller's promise.
        Ok(length) if !entries.is_null() => Ok(unsafe { std::slice::from_raw_parts(entries, length) }),
        _ => Err(argument(format!("darr={entries:p} with len={length} is no array"))),
    }
}
