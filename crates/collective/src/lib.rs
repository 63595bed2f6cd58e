//! Collective operations on teams of processes: links, algorithms and their selection, schedules, shared memory. No MPI objects.
//!
//! A [`Team`] is a list of the engine's peers, the calling process's rank among them, and a context id that they agreed on. It is
//! all that a model of programming needs: OpenSHMEM teams, ARMCI groups and Global Arrays call its methods (`calls`), MPI runs the
//! same algorithms in its forms of calls (blocking, by a request, persistent).
//!
//! ```no_run
//! use isthmus_collective::{Members, Team};
//! use isthmus_datatype::Predefined;
//! use isthmus_engine::{ContextId, Peer, boot, world};
//!
//! // Without `mpiexec` a process is a job of one.
//! boot().expect("the job");
//! let everyone = Members::first(world().size);
//! let rank = world().rank as usize;
//! // A number that the model keeps for its world; an even one, which nothing else uses.
//! let team = Team::new(everyone, rank, ContextId(0xffff_fff0));
//! let mut sum = [0.0];
//! team.allreduce(&[1.0], &mut sum, Predefined::Sum).expect("all take part");
//! assert_eq!(sum[0], f64::from(world().size));
//!
//! // A team of some of them: all of those agree on a new context.
//! let context = team.new_context().expect("there are numbers left");
//! let alone = Team::new(Members::from_peers(vec![Peer(world().rank)]), 0, context);
//! alone.barrier().expect("nobody to wait for");
//! ```
//!
//! | folder | what |
//! |---|---|
//! | `team`, `members` | who takes part, and what is known of failures |
//! | `link`, `memory`, `root`, `layout`, `part` | what an algorithm sees |
//! | `call`, `lane`, `calls` | blocking calls by messages; those for other models than MPI |
//! | `shared` | boards: memory that the ranks of a node share, and calls through it |
//! | `symmetric` | collectives of members that map each other's memory: OpenSHMEM's |
//! | `schedule`, `immediate`, `task`, `polling` | calls that go on later |
//! | `select`, `traits` | which algorithm it is: lists, users' rules, explanations |
//! | `allgather` ... `scatter` | a file for each algorithm; `reduction`: what some of them share |
#![allow(unsafe_code)] // User buffers and what others share; each site argues its case.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
mod call;
mod calls;
mod immediate;
mod lane;
mod layout;
mod link;
mod members;
mod memory;
mod part;
mod polling;
pub mod reduce;
pub mod reduce_scatter;
mod reduction;
mod root;
pub mod rooted;
pub mod scan;
mod schedule;
pub mod select;
mod shared;
pub mod symmetric;
mod task;
mod team;
mod traits;
mod value;

use isthmus_datatype::{error, fail};

pub use call::{Call, Launching};
pub use immediate::{Kept, Turn, begin as begin_immediate};
pub use lane::Lane;
pub use layout::Layout;
pub use link::operand::Operand;
pub use link::{Incoming, Link, Outgoing, elements};
pub use members::Members;
pub use memory::release as release_memory;
pub use polling::{poll_inside, token};
pub use root::{Direction, Root};
pub use schedule::{Program, Recorder, Running, Step};
pub use shared::Access;
pub use task::{Look, Task};
pub use team::{Team, failure};
pub use value::Value;

#[cfg(test)]
mod tests;
