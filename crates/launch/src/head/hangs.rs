//! Do the ranks of all nodes wait, and for one another? Each node says when its own do nothing but wait, and when they do so no more; only
//! where all of them say so may it be a hang.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::wire::Wait;

/// A node whose ranks go on says so within this time.
const DOUBT: Duration = Duration::from_secs(3);

/// What the nodes have said.
#[derive(Debug)]
pub struct Hangs {
    nodes: u32,
    waits: HashMap<u32, Wait>,
    complete: HashSet<u32>,
    /// All wait: when it is said, unless one takes it back.
    due: Option<Instant>,
    is_said: bool,
}

impl Hangs {
    /// Of a job on so many nodes.
    pub fn of(nodes: u32) -> Self {
        Self {
            nodes,
            waits: HashMap::new(),
            complete: HashSet::new(),
            due: None,
            is_said: false,
        }
    }

    /// A node's ranks do nothing but wait, or one of them does something again.
    pub fn hear(&mut self, node: u32, wait: Option<Wait>) {
        match wait {
            Some(wait) => drop(self.waits.insert(node, wait)),
            None => drop(self.waits.remove(&node)),
        }
        self.consider();
    }

    /// Nothing of the job is left on a node.
    pub fn leave(&mut self, node: u32) {
        self.waits.remove(&node);
        self.complete.insert(node);
        self.consider();
    }

    fn consider(&mut self) {
        let is_waiting = self.waits.values().any(|wait| wait.seconds.is_some());
        let all = self.waits.len() + self.complete.len() >= self.nodes as usize;
        self.due = match self.due {
            _ if !is_waiting || !all || self.is_said => None,
            None => Some(Instant::now() + DOUBT),
            due => due,
        };
    }

    /// The lines of a report, once; each rank tells its own wait.
    pub fn judge(&mut self, now: Instant) -> Option<String> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        self.is_said = true;
        let seconds = self.waits.values().filter_map(|wait| wait.seconds).min()?;
        Some(sentence(
            f64::from(seconds),
            self.waits.values().any(|wait| wait.stopped),
        ))
    }
}

/// All have waited for so long.
pub fn sentence(seconds: f64, some_are_stopped: bool) -> String {
    match some_are_stopped {
        false => format!("every rank has waited for {seconds:.0} s or more; do they wait for one another?"),
        true => format!(
            "every rank that is not stopped has waited for {seconds:.0} s or more; do they wait for one that is?"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wait_of_all_is_a_hang() {
        let wait = |seconds| {
            Some(Wait {
                seconds,
                stopped: seconds.is_none(),
            })
        };
        let later = Instant::now() + 2 * DOUBT;
        let mut hangs = Hangs::of(3);
        hangs.hear(0, wait(Some(60)));
        hangs.hear(1, wait(Some(70)));
        assert_eq!(hangs.judge(later), None, "node 2 may compute");
        hangs.hear(2, wait(Some(61)));
        assert_eq!(hangs.judge(Instant::now()), None, "one may take it back");
        hangs.hear(1, None);
        assert_eq!(hangs.judge(later), None, "node 1 goes on");
        hangs.leave(1);
        assert!(
            hangs
                .judge(later)
                .is_some_and(|said| said.contains("for 60 s or more; do they wait for one another"))
        );
        hangs.hear(0, wait(Some(99)));
        assert_eq!(hangs.judge(later), None, "it has been said");

        let mut stopped = Hangs::of(2);
        stopped.hear(0, wait(None));
        stopped.leave(1);
        assert_eq!(stopped.judge(later), None, "nobody waits");
        let mut stopped = Hangs::of(2);
        stopped.hear(0, wait(None));
        stopped.hear(1, wait(Some(60)));
        assert!(stopped.judge(later).is_some_and(|said| said.contains("one that is")));
    }
}
