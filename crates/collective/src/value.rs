//! Rust types whose values cross as elements.

use std::sync::{Arc, OnceLock};

use isthmus_datatype::Type;

/// A number that is an element of a predefined datatype.
pub trait Value: Copy + Send + Sync + 'static {
    /// The datatype.
    fn datatype() -> &'static Type;
}

macro_rules! values {
    ($($type:ty = $name:literal;)*) => {
        $(impl Value for $type {
            fn datatype() -> &'static Type {
                static TYPE: OnceLock<Arc<Type>> = OnceLock::new();
                TYPE.get_or_init(|| Type::of_name($name))
            }
        })*
    };
}

values! {
    i8 = "MPI_INT8_T";
    i16 = "MPI_INT16_T";
    i32 = "MPI_INT32_T";
    i64 = "MPI_INT64_T";
    u8 = "MPI_UINT8_T";
    u16 = "MPI_UINT16_T";
    u32 = "MPI_UINT32_T";
    u64 = "MPI_UINT64_T";
    f32 = "MPI_FLOAT";
    f64 = "MPI_DOUBLE";
}
