//! `MPI_Scatter` and `MPI_Scatterv` (MPI-5.0 §6.6).

mod binomial;
mod nodes;
mod shared;
mod shared_direct;

use crate::root::rooted;
use crate::select::{Scatter, Scatterv};

rooted!(FromRoot, Scatter, Scatterv);
