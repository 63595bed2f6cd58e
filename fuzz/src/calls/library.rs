//! Calling C functions by name.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{LazyLock, Once};

// The functions that the table names are in there.
use isthmus_abi as _;

use super::abi::Abi;
use super::function::Function;
use super::functions::FUNCTIONS;

/// The library through one ABI.
#[derive(Clone, Copy)]
pub struct Library {
    /// Which.
    pub abi: Abi,
}

/// The longest list of arguments.
const MOST: usize = 16;

impl Library {
    /// The library, initialized as a job of one, whose errors return.
    pub fn initialized(abi: Abi) -> Self {
        static ONCE: Once = Once::new();
        let library = Self { abi };
        ONCE.call_once(|| {
            let mut provided: c_int = 0;
            assert_eq!(library.by_name("MPI_Init", &[0, 0]), 0, "MPI_Init");
            let provided = (&raw mut provided).addr() as u64;
            assert_eq!(
                library.by_name("MPI_T_init_thread", &[0, provided]),
                0,
                "MPI_T_init_thread"
            );
        });
        library
    }

    /// What the function returns. Addresses among `arguments` must be as the function wants them.
    pub fn by_name(self, name: &str, arguments: &[u64]) -> i32 {
        static BY_NAME: LazyLock<HashMap<&str, &Function>> =
            LazyLock::new(|| FUNCTIONS.iter().map(|function| (function.name, function)).collect());
        let function = BY_NAME.get(name).unwrap_or_else(|| panic!("there is no {name}"));
        self.call(function, arguments)
    }

    /// As [`Self::by_name`].
    ///
    /// All arguments of C functions of MPI are integers or addresses. On the machines that Isthmus runs on each has a
    /// register or eight bytes on the stack to itself, whatever its width, so all are passed as 64 bits.
    pub fn call(self, function: &Function, arguments: &[u64]) -> i32 {
        type Word = u64;
        type Plain = unsafe extern "C-unwind" fn(
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
        ) -> c_int;
        assert!(arguments.len() <= MOST, "{} has many arguments", function.name);
        let mut all = [0; MOST];
        all[..arguments.len()].copy_from_slice(arguments);
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = all;
        // SAFETY: a function that takes fewer arguments leaves the others alone; the rest is what this module is for.
        unsafe {
            let function: Plain = std::mem::transmute(function.addresses[self.abi as usize]);
            function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
        }
    }
}
