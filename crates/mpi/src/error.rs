//! Errors, and their classes.

pub use isthmus_datatype::error::{Class, Error, Result, room};
