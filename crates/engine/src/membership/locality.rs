//! Where on the machine ranks run.

use std::sync::{Mutex, OnceLock, PoisonError};

use isthmus_os::cpu;
use isthmus_os::process::say;
use isthmus_os::topology::{Level, Locality, MadeUp, unit};
use isthmus_shm::Segment;

use crate::membership::own;
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

/// The node of each rank, where there are several.
static NODES: OnceLock<Vec<usize>> = OnceLock::new();

/// Where a process runs, as far as all ranks know that of each other: on the machine that the user made up, and on which node, if
/// there are several; `None`: they know nothing.
pub fn declared(peer: Peer) -> Option<Locality> {
    let machine = made_up().map(|machine| machine.locality(peer.0 as usize));
    match NODES.get().and_then(|nodes| nodes.get(peer.0 as usize)) {
        Some(&node) => Some(machine.unwrap_or_default().on_machine(node)),
        None => machine,
    }
}

/// Where these CPUs are, as another process of the job has found out for the same ones. What was found last is kept: it takes tens of files, and
/// programs make topologies in loops.
fn of_cpus(cpus: Vec<usize>) -> Locality {
    static LAST: Mutex<Option<(Vec<usize>, Locality)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, locality)) = &*last
        && *known == cpus
    {
        return *locality;
    }
    let note = own::notes().map(|notes| &notes.locality);
    let key = key_of(&cpus);
    let told = note.and_then(|note| note.told()).filter(|[of, _]| *of == key);
    let locality = match told {
        Some([_, bits]) => Locality::from_bits(bits),
        None => {
            let found = Locality::of_cpus(&cpus);
            if let Some(note) = note {
                note.tell([key, found.bits()]);
            }
            found
        }
    };
    *last = Some((cpus, locality));
    locality
}

/// A number that no other set of CPUs of this machine has but by rare chance: FNV-1a.
fn key_of(cpus: &[usize]) -> u64 {
    let mix = |hash: u64, cpu: &usize| (hash ^ *cpu as u64).wrapping_mul(0x0100_0000_01b3);
    cpus.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Where the process of that rank, which is the calling one, may run at this moment.
pub(crate) fn of_rank(rank: u32) -> Locality {
    let locality = match made_up() {
        Some(machine) => machine.locality(rank as usize),
        None => of_cpus(cpu::affinity()),
    };
    // Before the program binds its threads.
    let _ = cpu::at_start();
    match NODES.get().and_then(|nodes| nodes.get(rank as usize)) {
        Some(&node) => locality.on_machine(node),
        None => locality,
    }
}

/// Learn which node each rank of the job is on.
pub(crate) fn learn_nodes(segment: &Segment) {
    if segment.nodes() > 1 {
        NODES.get_or_init(|| {
            (0..segment.ranks())
                .map(|rank| segment.node_of(rank) as usize)
                .collect()
        });
    }
}

/// Where the calling process may run at this moment: it may be bound elsewhere between two calls. Only after [`crate::boot`].
pub fn own_locality() -> Locality {
    let world = own::world().expect("MPI procedures check that the engine has booted");
    of_rank(world.rank)
}

/// The kinds of hardware that are known of, with whether the calling process may only run in one unit of it at this moment.
/// Only after [`crate::boot`].
pub fn hardware() -> Vec<(Level, bool)> {
    let locality = own_locality();
    let cpus = cpu::affinity();
    let is_known = |level: Level| {
        let told = || cpus.first().is_some_and(|cpu| unit(*cpu, level).is_some());
        locality.unit(level).is_some() || made_up().is_some() || told()
    };
    let known = Level::ALL.into_iter().filter(|level| is_known(*level));
    known.map(|level| (level, locality.unit(level).is_some())).collect()
}

impl Entered {
    /// Where `peer` could run when it joined the job; `None` if it has not. It never changes, so ranks that know of each
    /// other that they have joined may decide by it.
    pub fn locality_of(&mut self, peer: Peer) -> Option<Locality> {
        let engine = self.engine();
        if engine.channels.is_remote(peer.0) {
            return declared(peer);
        }
        let identity = engine.segment.slot(peer.0).identity()?;
        Some(Locality::from_bits(identity.locality))
    }
}
