//! Barriers and synchronisations: one meeting at which nobody has anything to show.

use std::ffi::c_int;

use super::Group;
use crate::call::Call;
use crate::order;
use crate::team::TeamHandle;

fn sync(group: Group<'_>) {
    group.meet(("", 0), &[], &[]);
}

/// `shmem_barrier_all`: with the completion of everything before. Blocks until all PEs have come.
///
/// # Safety
/// None is needed.
pub unsafe fn barrier_all(call: Call) {
    order::complete();
    sync(Group::of_team(call, TeamHandle::WORLD));
}

/// `shmem_sync_all`. Blocks until all PEs have come.
///
/// # Safety
/// None is needed.
pub unsafe fn sync_all(call: Call) {
    sync(Group::of_team(call, TeamHandle::WORLD));
}

/// `shmem_team_sync`. Blocks until all members have come.
///
/// # Safety
/// None is needed.
pub unsafe fn team_sync(call: Call, team: TeamHandle) -> c_int {
    sync(Group::of_team(call, team));
    0
}

/// On an active set, with or without completion.
pub(super) fn of_set(group: Group<'_>, completes: bool) {
    if completes {
        order::complete();
    }
    sync(group);
}
