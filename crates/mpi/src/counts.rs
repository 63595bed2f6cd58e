//! Arrays of counts and displacements, as either interface gives them.

use std::any::Any;
use std::sync::Arc;

/// Counts, sizes or displacements in the caller's own width: 32 bits, or 64 (large counts and addresses).
#[derive(Debug, Clone, Copy)]
pub enum Counts<'a> {
    /// `const int []`
    Int(&'a [i32]),
    /// `const MPI_Count []` or `const MPI_Aint []`
    Large(&'a [i64]),
}

/// Which interface a procedure was called through, where no array tells: datatypes remember it (MPI-5.0 §5.1.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Counts are `int`, addresses `MPI_Aint`.
    Int,
    /// All are `MPI_Count`.
    Large,
}

impl<'a> Counts<'a> {
    /// The interface that such an array comes through, if its entries are counts in one and large counts in the other.
    pub fn width(self) -> Width {
        match self {
            Self::Int(_) => Width::Int,
            Self::Large(_) => Width::Large,
        }
    }

    /// The entry at `index`.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub fn get(self, index: usize) -> i64 {
        match self {
            Self::Int(values) => i64::from(values[index]),
            Self::Large(values) => values[index],
        }
    }

    /// The same under another lifetime.
    ///
    /// # Safety
    /// They must not be used after they have ended.
    pub(crate) unsafe fn lasting(self) -> Counts<'static> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Int(values) => Counts::Int(&*std::ptr::from_ref(values)),
                Self::Large(values) => Counts::Large(&*std::ptr::from_ref(values)),
            }
        }
    }

    /// A copy, and what owns it.
    ///
    /// # Safety
    /// The copy must not be used after its owner has ended.
    pub(crate) unsafe fn copied(self) -> (Counts<'static>, Arc<dyn Any + Send + Sync>) {
        // SAFETY: the caller's promise; what a vector holds stays where it is.
        unsafe {
            match self {
                Self::Int(values) => {
                    let owner = Arc::new(values.to_vec());
                    (Counts::Int(&owner).lasting(), owner)
                }
                Self::Large(values) => {
                    let owner = Arc::new(values.to_vec());
                    (Counts::Large(&owner).lasting(), owner)
                }
            }
        }
    }

    /// Number of entries.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Large(values) => values.len(),
        }
    }

    /// No entries?
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The entries in order.
    pub fn iter(self) -> impl Iterator<Item = i64> + Clone + 'a {
        (0..self.len()).map(move |index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn both_widths_read_alike() {
        let narrow = [1, -2, i32::MAX, i32::MIN];
        let wide = narrow.map(i64::from);
        assert!(Counts::Int(&narrow).iter().eq(Counts::Large(&wide).iter()));
        assert_eq!(Counts::Int(&narrow).get(3), i64::from(i32::MIN));
        assert_eq!(Counts::Large(&[1 << 40]).get(0), 1 << 40);
        assert_eq!(Counts::Large(&wide).len(), 4);
        assert!(Counts::Int(&[]).is_empty());
    }
}
