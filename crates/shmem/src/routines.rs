//! Everything that an entry may call.

pub use crate::atomic::*;
pub use crate::cache::*;
pub use crate::collective::active_set::*;
pub use crate::collective::alltoall::*;
pub use crate::collective::barrier::*;
pub use crate::collective::broadcast::*;
pub use crate::collective::collect::*;
pub use crate::collective::reduce::*;
pub use crate::collective::scan::*;
pub use crate::context::*;
pub use crate::lock::*;
pub use crate::memory::routines::*;
pub use crate::numbers::{And, Max, Min, Or, Prod, Sum, Xor};
pub use crate::order::*;
pub use crate::rma::*;
pub use crate::setup::*;
pub use crate::signal::*;
pub use crate::team::*;
pub use crate::wait::*;
