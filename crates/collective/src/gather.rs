//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0 §6.5).

mod binomial;
mod nodes;
mod shared;
mod shared_direct;

use crate::root::rooted;
use crate::select::{Gather, Gatherv};

rooted!(ToRoot, Gather, Gatherv);
