//! Costs that one process of a node has probed serve all of its job there.

use std::sync::OnceLock;

use isthmus_os::checker;
use isthmus_shm::noted::{Noted, Notes};

static NOTES: OnceLock<&'static Notes> = OnceLock::new();

/// Costs, in picoseconds, are less than so many: others are not believed.
const MOST: u64 = 1_000_000_000;

/// From now on take costs from these notes, and note there what this process probes. Before the first probe.
pub fn share(notes: &'static Notes) {
    let _ = NOTES.set(notes);
}

/// The costs that are noted, or else those that `probe` finds; `None`: it could not. A process under a checker neither takes nor tells any.
pub(crate) fn shared<const N: usize>(
    note: fn(&Notes) -> &Noted<N>,
    probe: impl FnOnce() -> Option<[u64; N]>,
) -> Option<[u64; N]> {
    let notes = NOTES.get().filter(|_| !checker::is_present());
    by(notes.map(|notes| note(notes)), probe)
}

fn by<const N: usize>(note: Option<&Noted<N>>, probe: impl FnOnce() -> Option<[u64; N]>) -> Option<[u64; N]> {
    let told = note.and_then(Noted::told);
    if let Some(costs) = told.filter(|costs| costs.iter().all(|cost| *cost < MOST)) {
        return Some(costs);
    }
    let costs = probe()?;
    if let Some(note) = note {
        note.tell(costs);
    }
    Some(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_probed_once_and_what_makes_no_sense_is_not_believed() {
        let note = Noted::default();
        assert_eq!(
            by(Some(&note), || None),
            None,
            "usual costs are not told as if they had been probed"
        );
        assert_eq!(by(Some(&note), || Some([1, 2])), Some([1, 2]));
        assert_eq!(by(Some(&note), || unreachable!("noted")), Some([1, 2]));
        assert_eq!(by(None, || Some([3])), Some([3]), "a process of no job");
        let damaged = Noted::default();
        damaged.tell([7, u64::MAX]);
        assert_eq!(by(Some(&damaged), || Some([1, 2])), Some([1, 2]));
    }
}
