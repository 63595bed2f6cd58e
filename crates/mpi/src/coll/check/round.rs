//! Rounds in which processes tell one another words, and judge what they hear.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::report;
use super::terms::{self, PeerTerms, SEQUENCE, Sequence, TERMS, TEXT, Terms};
use crate::comm::Comm;
use crate::error::{Error, Result};
use isthmus_collective::{Incoming, Outgoing};
use isthmus_collective::{Program, Step};

/// The finding of a process about its incoming data: is anything wrong; the sender, the data, and the expectation.
const FINDING: usize = 2 + 2 * SEQUENCE;

/// The participants of a check. Places are ranks, those of the other group of an intercommunicator behind those of the own.
pub struct Whom {
    pub comm: Arc<Comm>,
    /// Which check of the communicator it is.
    pub call: u32,
}

impl Whom {
    pub fn new(comm: &Comm, call: u32) -> Result<Arc<Self>> {
        let comm = comm.handle().share("comm")?;
        Ok(Arc::new(Self { comm, call }))
    }

    pub fn size(&self) -> usize {
        self.comm.size() as usize
    }

    pub fn places(&self) -> usize {
        let remote = self.comm.remote_group().map_or(0, |group| group.size());
        self.size() + remote as usize
    }

    pub fn me(&self) -> usize {
        self.comm.rank() as usize
    }

    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me();
        (0..self.places()).filter(move |place| *place != me)
    }

    /// As which place another process, at `place`, sees us or anyone else that it says is at `seen`.
    fn seen_by(&self, place: usize, seen: usize) -> usize {
        let theirs = self.places() - self.size();
        if place < self.size() {
            seen
        } else if seen < theirs {
            self.size() + seen
        } else {
            seen - theirs
        }
    }

    fn disagree(&self, text: &str) -> Error {
        report::disagreement(self, text)
    }
}

/// Words of each process.
struct Table {
    words: Box<[AtomicU64]>,
    width: usize,
}

impl Table {
    fn new(places: usize, width: usize) -> Arc<Self> {
        Arc::new(Self {
            words: (0..places * width).map(|_| AtomicU64::new(0)).collect(),
            width,
        })
    }

    fn row(&self, place: usize) -> &[AtomicU64] {
        &self.words[place * self.width..][..self.width]
    }

    fn read(&self, place: usize) -> Vec<u64> {
        self.row(place)
            .iter()
            .map(|word| word.load(Ordering::Relaxed))
            .collect()
    }

    fn write(&self, place: usize, words: &[u64]) {
        for (to, word) in self.row(place).iter().zip(words) {
            to.store(*word, Ordering::Relaxed);
        }
    }

    fn address(&self, place: usize) -> *mut u8 {
        self.row(place).as_ptr().cast_mut().cast()
    }

    fn bytes(&self) -> usize {
        self.width * size_of::<u64>()
    }
}

/// Everyone else gets the row that is for it, and gives one of its own. The tables must live as long as the program: what
/// judges them holds them.
fn exchange(program: &mut Program, whom: &Whom, told: impl Fn(usize) -> *const u8, heard: &Table) {
    let before = (program.receives.len(), program.sends.len());
    let len = heard.bytes();
    for other in whom.others() {
        let into = heard.address(other);
        program.receives.push(Incoming { from: other, into, len });
        let data = told(other);
        program.sends.push(Outgoing { to: other, data, len });
    }
    program.steps.push(Step::Messages {
        receives: before.0..program.receives.len(),
        sends: before.1..program.sends.len(),
    });
}

/// Everyone gets everyone's row; ours is in its place already.
fn share(program: &mut Program, whom: &Whom, table: &Table) {
    let own = table.address(whom.me()).cast_const();
    exchange(program, whom, |_| own, table);
}

fn judge(program: &mut Program, verdict: impl Fn() -> Result<()> + Send + Sync + 'static) {
    program.steps.push(Step::Judge(Box::new(verdict)));
}

/// How the name of a procedure is told.
pub fn names(procedure: &str) -> [u64; TEXT] {
    terms::text_out(procedure)
}

/// Everyone is told this, and tells something of its own, which nobody looks at.
pub fn exchange_names(program: &mut Program, whom: &Whom, procedure: &str) {
    let table = Table::new(whom.places(), TEXT);
    table.write(whom.me(), &names(procedure));
    share(program, whom, &table);
    judge(program, move || {
        // It is what the messages before this step are told from and heard into.
        let _ = &table;
        Ok(())
    });
}

/// Does everyone call this?
pub fn ask_names(program: &mut Program, whom: &Arc<Whom>, procedure: &str) {
    let table = Table::new(whom.places(), TEXT);
    table.write(whom.me(), &names(procedure));
    share(program, whom, &table);
    let whom = Arc::clone(whom);
    judge(program, move || {
        let name = |place: usize| Some(terms::text_in(&table.read(place)));
        report::all_alike(&whom, "", name).map_err(|text| whom.disagree(&text))
    });
}

/// Does everyone mean the same?
pub fn ask_terms(program: &mut Program, whom: &Arc<Whom>, procedure: &str, terms: Terms) {
    let table = Table::new(whom.places(), TERMS);
    table.write(whom.me(), &terms.words());
    share(program, whom, &table);
    let asked = (Arc::clone(whom), format!("{procedure}: "));
    judge(program, move || {
        let (whom, prefix) = &asked;
        let theirs: Vec<PeerTerms> = (0..whom.places())
            .map(|place| PeerTerms::read(&table.read(place)))
            .collect();
        let found = report::terms_alike(whom, &theirs);
        found.map_err(|text| whom.disagree(&format!("{prefix}{text}")))
    });
    if let Some([sends, expected]) = terms.blocks {
        ask_blocks(program, whom, procedure, &sends, expected);
    }
}

/// Does everyone send what the other side expects?
fn ask_blocks(program: &mut Program, whom: &Arc<Whom>, procedure: &str, sends: &[Sequence], expected: Vec<Sequence>) {
    let (told, heard) = (Table::new(whom.places(), SEQUENCE), Table::new(whom.places(), SEQUENCE));
    for (to, sequence) in sends.iter().enumerate() {
        told.write(to, &sequence.words());
    }
    exchange(program, whom, |to| told.address(to).cast_const(), &heard);
    let findings = Table::new(whom.places(), FINDING);
    let (asked, own) = (Arc::clone(whom), Arc::clone(&findings));
    judge(program, move || {
        // It is read by the messages before this step, and held here as long as the program lives.
        let _ = &told;
        let differs = |from: &usize| !Sequence::read(&heard.read(*from)).matches(&expected[*from]);
        if let Some(from) = asked.others().find(differs) {
            let words = [&[1, from as u64], &heard.read(from)[..], &expected[from].words()];
            own.write(asked.me(), &words.concat());
        }
        Ok(())
    });
    share(program, whom, &findings);
    let (asked, prefix) = (Arc::clone(whom), format!("{procedure}: "));
    judge(program, move || {
        let finding = |place: usize| (place, findings.read(place));
        let Some((place, words)) = (0..asked.places()).map(finding).find(|(_, words)| words[0] != 0) else {
            return Ok(());
        };
        let from = asked.seen_by(place, words[1] as usize);
        let (sent, expected) = words[2..].split_at(SEQUENCE);
        let text = format!(
            "{prefix}{} sends {} to {}, which expects {}",
            report::rank(&asked, from),
            Sequence::read(sent).text(),
            report::rank(&asked, place),
            Sequence::read(expected).text()
        );
        Err(asked.disagree(&text))
    });
}
