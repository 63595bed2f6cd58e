//! Kinds of memory by how it was allocated (MPI-5.0 §11.4.3): what programs ask for, and what there is.
//!
//! A kind is a name with restrictors behind it (`mpi:alloc_mem`); a list of them stands between commas. That of CUDA and its restrictors:
//! "Memory Allocation Kinds Side Document", version 1.0, of the MPI Forum.

use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_engine::{supports_devices, tunables};

use super::SessionId;

/// Memory kinds that are always supported: memory of the system, memory of MPI.
const ALWAYS: [&str; 2] = ["mpi", "system"];
/// The ways in which MPI allocates, all of them supported.
const OF_MPI: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];

/// What the user asked for when the job was started (`mpiexec -memory-alloc-kinds`).
pub(crate) fn asked_at_start() -> Option<&'static str> {
    tunables::MEMORY_ALLOC_KINDS.get()
}

/// Memory that CUDA's driver allocates, supported where it is, and in which ways it does.
const CUDA: &str = "cuda";
const OF_CUDA: [&str; 3] = ["device", "host", "managed"];

fn is_supported(kind: &str, with_devices: bool) -> bool {
    let mut parts = kind.split(':');
    match parts.next() {
        Some("system") => parts.next().is_none(),
        Some("mpi") => parts.all(|restrictor| OF_MPI.contains(&restrictor)),
        Some(CUDA) => with_devices && parts.all(|restrictor| OF_CUDA.contains(&restrictor)),
        _ => false,
    }
}

fn kinds(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|kind| !kind.is_empty())
}

/// The supported kinds, as a list: the permanent ones, and the requested ones as they were spelled.
pub(crate) fn supported(asked: Option<&str>) -> String {
    list(asked, supports_devices())
}

fn list(asked: Option<&str>, with_devices: bool) -> String {
    let mut all = ALWAYS.to_vec();
    all.extend(with_devices.then_some(CUDA));
    for kind in kinds(asked.unwrap_or_default()).filter(|kind| is_supported(kind, with_devices)) {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.join(",")
}

/// What sessions asked for that are not finalized, if it is not what was asked for at the start.
static KINDS: Mutex<Vec<(SessionId, String)>> = Mutex::new(Vec::new());

fn asked_kinds() -> MutexGuard<'static, Vec<(SessionId, String)>> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kinds of memory that are supported on what is derived from a session, or (`None`) from the world.
pub(crate) fn memory_alloc_kinds(session: Option<SessionId>) -> String {
    let all = asked_kinds();
    let own = all.iter().find(|(id, _)| Some(*id) == session);
    supported(own.map(|(_, asked)| asked.as_str()).or(asked_at_start()))
}

/// A session asked for these.
pub(crate) fn ask(session: SessionId, asked: String) {
    asked_kinds().push((session, asked));
}

/// The session is finalized.
pub(crate) fn forget(session: SessionId) {
    asked_kinds().retain(|(id, _)| *id != session);
}

/// May a program promise to use these alone? Only if all of them are supported.
pub(crate) fn are_supported(list: &str) -> bool {
    let with_devices = supports_devices();
    kinds(list).all(|kind| is_supported(kind, with_devices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_and_there_is_told() {
        assert_eq!(list(None, false), "mpi,system");
        assert_eq!(
            list(Some("system,cuda:device,mpi:alloc_mem, mpi"), false),
            "mpi,system,mpi:alloc_mem"
        );
        assert_eq!(list(Some("mpi:cuda,system:numa,,"), false), "mpi,system");
        assert_eq!(list(None, true), "mpi,system,cuda");
        assert_eq!(
            list(Some("cuda:device,cuda:host:managed,cuda,cuda:array,rocm"), true),
            "mpi,system,cuda,cuda:device,cuda:host:managed"
        );
    }

    #[test]
    fn promises_are_about_what_there_is() {
        assert!(are_supported("") && are_supported("system,mpi:win_allocate:alloc_mem"));
        assert!(!are_supported("system,rocm") && !are_supported("cuda:array"));
    }
}
