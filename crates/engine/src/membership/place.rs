//! Where on the machine ranks run.

use std::sync::OnceLock;

use isthmus_os::cpu;
use isthmus_os::process::say;
use isthmus_os::topology::{Level, MadeUp, Place, unit};

use crate::membership::boot;
use crate::types::Peer;
use crate::{Entered, tunables};

/// The machine that the user made up. What makes no sense is reported once and ignored.
fn made_up() -> Option<&'static MadeUp> {
    static MADE_UP: OnceLock<Option<MadeUp>> = OnceLock::new();
    let read = || {
        let text = tunables::TOPOLOGY.get()?;
        let machine = MadeUp::parse(text);
        if machine.is_none() {
            say(&format!(
                "isthmus: {}={text} is no machine (as 2x4 or 0,1,0,1 would be); ignored",
                tunables::TOPOLOGY.variable()
            ));
        }
        machine
    };
    MADE_UP.get_or_init(read).as_ref()
}

/// Where a process runs on the machine that the user made up; `None` if there is no such machine. All ranks know this of
/// each other.
pub fn declared(peer: Peer) -> Option<Place> {
    made_up().map(|machine| machine.place(peer.0 as usize))
}

/// Where the process of that rank, which is the calling one, may run at this moment.
pub(crate) fn of_rank(rank: u32) -> Place {
    match made_up() {
        Some(machine) => machine.place(rank as usize),
        None => Place::of_cpus(&cpu::affinity()),
    }
}

/// Where the calling process may run at this moment: it may be bound elsewhere between two calls. Only after [`crate::membership::boot`].
pub fn here() -> Place {
    let world = boot::world().expect("MPI procedures check that the engine has booted");
    of_rank(world.rank)
}

/// The kinds of hardware that are known of, with whether the calling process may only run in one unit of it at this moment.
/// Only after [`crate::membership::boot`].
pub fn hardware() -> Vec<(Level, bool)> {
    let place = here();
    let cpus = cpu::affinity();
    let is_known = |level: Level| {
        let told = || cpus.first().is_some_and(|cpu| unit(*cpu, level).is_some());
        place.unit(level).is_some() || made_up().is_some() || told()
    };
    let known = Level::ALL.into_iter().filter(|level| is_known(*level));
    known.map(|level| (level, place.unit(level).is_some())).collect()
}

impl Entered {
    /// Where `peer` could run when it joined the job; `None` if it has not. It never changes, so ranks that know of each
    /// other that they have joined may decide by it.
    pub fn place_of(&mut self, peer: Peer) -> Option<Place> {
        let identity = self.engine().segment.slot(peer.0).identity()?;
        Some(Place::from_bits(identity.place))
    }
}
