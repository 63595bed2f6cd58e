//! Injected faults of this process, for tests (`ISTHMUS_FAULT`).

use std::sync::OnceLock;

use isthmus_transfer::Direction;
use isthmus_transfer::fault::Plan;

use crate::membership::own;
use crate::tunables;
use crate::warning::{Warning, warn};

/// A piece of an announced message is written into a ring, or about to be read out of one: what is to go wrong does.
#[inline]
pub(crate) fn strike_piece(direction: Direction) {
    if let Some(plan) = plan() {
        plan.strike_piece(direction);
    }
}

/// A frame is about to go to another node. True: it is to be lost.
#[inline]
pub(crate) fn loses_frame() -> bool {
    plan().is_some_and(Plan::loses_frame)
}

/// A frame is about to go to another node. If it is to be nonsense it is now.
#[inline]
pub(crate) fn damage_frame(frame: &mut [u8]) {
    if let Some(plan) = plan() {
        plan.damage_frame(frame);
    }
}

/// The address of a peer is about to be handed to the provider. If it is to be nonsense it is now.
pub(crate) fn damage_address(address: &mut [u8]) {
    if let Some(plan) = plan() {
        plan.damage_address(address);
    }
}

/// The injected faults of this process.
#[inline]
pub(crate) fn plan() -> Option<&'static Plan> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    PLAN.get_or_init(read_plan).as_ref()
}

#[cold]
fn read_plan() -> Option<Plan> {
    let rules = tunables::FAULT.get().unwrap_or_default();
    let plan = Plan::parse(rules).unwrap_or_else(|unclear| {
        warn(
            Warning::Fault,
            &format!("isthmus: {}: {unclear}", tunables::FAULT.variable()),
        );
        Plan::default()
    });
    let plan = plan.of_rank(own::world().map_or(0, |world| world.rank));
    (!plan.is_empty()).then_some(plan)
}
