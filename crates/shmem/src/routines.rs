//! Everything that an entry may call.

pub use crate::atomic::*;
pub use crate::cache::*;
pub use crate::collective::active_set::*;
pub use crate::collective::{
    alltoall, alltoalls, barrier_all, broadcast, collect, fcollect, reduce, scan, sync_all, team_sync,
};
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
