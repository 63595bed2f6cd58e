//! What the generated table is made of.

/// A C function, in both ABIs.
pub struct Function {
    /// `MPI_Send`
    pub name: &'static str,
    /// Where it is, by [`Abi`](super::abi::Abi).
    pub addresses: [Address; 2],
    /// All but those of a variadic function that need not be there.
    pub parameters: &'static [Parameter],
}

/// The address of a function of some arguments.
pub type Address = unsafe extern "C-unwind" fn();

/// A parameter as `standard/` has it.
pub struct Parameter {
    /// `buf`
    pub name: &'static str,
    /// `BUFFER`; of functions the type.
    pub kind: &'static str,
    /// Whether the call reads or writes it.
    pub direction: Direction,
    /// The form of the argument.
    pub shape: Shape,
    /// How long a value is, 0 for handles.
    pub bytes: usize,
}

/// Whether the call reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The library reads.
    In,
    /// The library writes.
    Out,
    /// The library does both.
    Inout,
}

/// The form of the argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A value.
    Value,
    /// The address of a value.
    Output,
    /// The address of values.
    Array(Length),
}

/// Where the length of an array is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// The call implies it.
    Implied,
    /// In a parameter, or it is a number.
    Of(&'static str),
}

/// A constant of both ABIs.
pub struct Constant {
    /// `MPI_ANY_TAG`
    pub name: &'static str,
    /// What it belongs to, as `standard/constants.tsv` says.
    pub set: &'static str,
    /// Its values, by [`Abi`](super::abi::Abi).
    pub values: [i64; 2],
}

/// The table of functions: `MPI_Send => [...],`.
macro_rules! functions {
    ($($name:ident => [$($parameter:expr),* $(,)?],)*) => {
        /// Every function of both ABIs.
        pub static FUNCTIONS: &[Function] = &[$({
            #[allow(unsafe_code)] // Only the addresses are wanted.
            // SAFETY: `crates/abi` exports both, and they are called with as many arguments as they have.
            unsafe extern "C-unwind" {
                #[link_name = concat!("isthmus_std_", stringify!($name))]
                fn standard();
                #[link_name = concat!("isthmus_mpich_", stringify!($name))]
                fn mpich();
            }
            Function {
                name: stringify!($name),
                addresses: [standard, mpich],
                parameters: &[$($parameter),*],
            }
        }),*];
    };
}
pub(super) use functions;
