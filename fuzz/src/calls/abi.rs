//! What differs between the two ABIs.

use super::functions::CONSTANTS;

/// A C ABI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abi {
    /// Handles are pointers.
    Standard,
    /// Handles are integers.
    Mpich,
}

impl Abi {
    /// How long a handle is.
    pub fn handle_bytes(self) -> usize {
        match self {
            Self::Standard => 8,
            Self::Mpich => 4,
        }
    }

    /// The value of a constant.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn constant(self, name: &str) -> i64 {
        let constant = CONSTANTS.iter().find(|constant| constant.name == name);
        constant.unwrap_or_else(|| panic!("there is no {name}")).values[self as usize]
    }

    /// The constants of a set, by name.
    pub fn set(self, set: &str) -> impl Iterator<Item = (&'static str, i64)> {
        CONSTANTS
            .iter()
            .filter(move |constant| constant.set == set)
            .map(move |constant| (constant.name, constant.values[self as usize]))
    }
}
