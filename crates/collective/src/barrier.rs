//! `MPI_Barrier` (MPI-5.0 §6.3).

mod dissemination;
mod inter;
mod nodes;
mod shared;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::select::{Barrier, Case, Traits, choose};

/// Return when every member (of the other side, if there is one) has called it.
#[twice]
pub async fn run(link: &impl Link) -> Result<()> {
    if link.remote_size() > 0 {
        return inter::run(link);
    }
    match choose(&Case::on(link, 0, Traits::COMMUTATIVE))? {
        Barrier::Nodes => nodes::run(link, link.map()),
        Barrier::Shared => shared::run(link.board()).await,
        Barrier::Dissemination => dissemination::run(link),
    }
}
