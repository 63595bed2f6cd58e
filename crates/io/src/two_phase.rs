//! Accesses that all members of a group make together: two-phase collective buffering.
//!
//! *Aggregators*, a few of the ranks, each own a part of the range of the file that is accessed. Ranks send what they write to the owner, or get what
//! they read from it; the owner's accesses are long (del Rosario, Bordawekar, Choudhary, "Improved parallel I/O via a two-phase run-time access
//! strategy", IPPS 1993; Thakur, Gropp, Lusk, Frontiers 1999). A part is gone through in rounds, one buffer each. Where the ranks' parts of the
//! file do not interleave, each accesses its own.
//!
//! What ranks agree on: everyone's range, the file's size (the greatest that a rank sees: what a rank has written before it called is there), and
//! whether anybody has met an error, before and after. For what goes through other ranks the hints of rank 0 hold. So all go through the same rounds, and return the same class of error. A rank whose part needs nobody else makes it first, and tells how that went
//! (`ahead.rs`): where all do so they talk once.

mod agreement;
mod ahead;
pub(crate) mod pieces;

use std::ops::Range;

use isthmus_datatype::error::Error;

use crate::backend::{Backend, Lock};
use crate::error::Result;
use crate::failure::Failure;
use crate::hints::{Choice, Hints};
use crate::independent::{Access, LONG, WORTH, size};
use crate::layout::Layout;
use crate::memory::AccessMemory;
use crate::rooms;
use crate::view::View;
pub use agreement::{agree, error_of, told, verdict};
use pieces::{Cursor, Series, covered, encode};

/// A message that a rank sends in a step that all make.
pub struct Outgoing<'a> {
    /// To whom.
    pub to: usize,
    /// What.
    pub bytes: &'a [u8],
}

/// A message that a rank receives in a step that all make. It has as many bytes.
pub struct Incoming<'a> {
    /// From whom.
    pub from: usize,
    /// Where to.
    pub bytes: &'a mut [u8],
}

/// How the members of a group talk: every one makes the same calls in the same order, and waits for nothing else in between.
#[allow(async_fn_in_trait)] // Whether futures may change threads depends on who implements it, and is seen where they are boxed.
pub trait Exchange {
    /// The calling process among them.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Which node a rank is on: ranks that share one have the same number.
    fn node_of(&self, rank: usize) -> u32;
    /// Everyone's words, by rank.
    async fn gather<const N: usize>(&self, own: [u64; N]) -> Result<Vec<[u64; N]>>;
    /// Send and receive; between two ranks messages keep their order.
    async fn pass(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>]) -> Result<()>;
}

/// One rank's part of an access.
pub struct RankPart<'a> {
    /// What moves the bytes.
    pub file: &'a dyn Backend,
    /// As in messages.
    pub path: &'a str,
    /// Where they lie.
    pub view: &'a View,
    /// What the user said.
    pub hints: &'a Hints,
    /// The user's side.
    pub memory: &'a AccessMemory,
    /// Where in the view.
    pub position: u64,
    /// Is the file locked as long as an access takes? Then each rank makes its own.
    pub locked: bool,
    /// May this rank make its part before the others have come?
    pub may_begin: bool,
    /// The error that was found before the access could begin.
    pub refused: Option<Error>,
}

/// What ranks say of themselves before an access: where it begins and ends, what is wrong, the size of the file, hints, and how much it moves.
type Said = [u64; 14];

const FIRST: usize = 0;
const END: usize = 1;
const WRONG: usize = 2;
const SIZE: usize = 3;
const MODE: usize = 4;
const NODES: usize = 5;
const BUFFER: usize = 6;
const UNIT: usize = 7;
/// Bytes of a piece, in the mean.
const PIECE: usize = 8;
/// Bytes of the access.
const BYTES: usize = 9;
/// Ranks of a node that may write and read for others.
const EACH_NODE: usize = 10;
/// Has this rank nothing left to do for itself?
const DONE: usize = 11;
/// The shortest pieces that ranks of a node write by themselves within the file, and where it grows.
const INSIDE: usize = 12;
const GROWING: usize = 13;

/// Pieces of so many bytes are read by each rank itself, on one node: a call of the system costs less than to get them from another rank.
pub const LONG_READ: u64 = 2 << 10;
/// Shorter ones are read by each rank itself, on one node, if they are so large a part of what they lie in (one of so many bytes): to read what
/// lies between costs less than to get them from another rank.
pub const DENSE: u64 = 2;

/// A file that grows has more aggregators than usual, on one node, if each of them has a part of so many bytes at least (decision 227).
pub const GROWING_PART: u64 = 1 << 20;

/// Which ranks access which parts of a file for the others.
struct Plan {
    aggregators: Vec<usize>,
    /// Where the aggregators' parts begin, and where the last one ends.
    borders: Vec<u64>,
    buffer: u64,
    rounds: u64,
}

/// How many ranks of so many, on so many nodes, write and read for the others, if neither a hint nor the file system says.
pub fn usual_aggregators(size: usize, nodes: usize) -> usize {
    size.min(2 * nodes.max(1))
}

/// The first ranks of all nodes, then the second ones ...: the order in which they become aggregators, so many of each node at most. And how many
/// nodes there are.
fn order(exchange: &impl Exchange, each_node: u64) -> (Vec<usize>, usize) {
    let mut seen: Vec<(u32, u64)> = Vec::new();
    let mut ranks: Vec<(u64, usize)> = Vec::with_capacity(exchange.size());
    for rank in 0..exchange.size() {
        let node = exchange.node_of(rank);
        let at = seen.iter().position(|(other, _)| *other == node).unwrap_or_else(|| {
            seen.push((node, 0));
            seen.len() - 1
        });
        ranks.push((seen[at].1, rank));
        seen[at].1 += 1;
    }
    ranks.retain(|(before, _)| *before < each_node);
    ranks.sort_unstable();
    (ranks.into_iter().map(|(_, rank)| rank).collect(), seen.len())
}

/// The number of aggregators for a group, for a file that lies so.
pub fn aggregators(exchange: &impl Exchange, hints: &Hints, layout: Layout) -> usize {
    let (ranks, nodes) = order(exchange, hints.cb_each_node.unwrap_or(u64::MAX));
    match hints.cb_nodes.or(layout.stripes) {
        Some(number) => ranks.len().min(number as usize),
        None => usual_aggregators(ranks.len(), nodes),
    }
}

fn is_on_one_node(exchange: &impl Exchange) -> bool {
    (0..exchange.size()).all(|rank| exchange.node_of(rank) == exchange.node_of(0))
}

/// The longest part between borders.
fn longest(borders: &[u64]) -> u64 {
    borders.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

/// Where the file ends, as all have it.
fn file_end(said: &[Said]) -> u64 {
    said.iter().map(|part| part[SIZE]).max().unwrap_or(0)
}

/// How an access is made, as all ranks know it.
enum Strategy {
    /// It is: each rank has made its own.
    Made,
    /// By each rank itself. Shall its reads take what lies between pieces?
    Own(Choice),
    /// Through aggregators.
    Through(Plan),
}

impl Strategy {
    /// The cheapest one, from the words of all ranks.
    fn of(exchange: &impl Exchange, said: &[Said], writes: bool) -> Self {
        if said.iter().all(|part| part[DONE] != 0) {
            return Self::Made;
        }
        let mode = said[0][MODE];
        let ranges = || said.iter().filter(|part| part[FIRST] < part[END]);
        let mut end = 0;
        let mut interleaves = false;
        for part in ranges() {
            interleaves |= part[FIRST] < end;
            end = end.max(part[END]);
        }
        let is_automatic = mode == Choice::Automatic as u64;
        if mode == Choice::Disable as u64 || end == 0 || (is_automatic && !interleaves) {
            return Self::Own(Choice::Automatic);
        }
        let is_near = is_on_one_node(exchange);
        let grows = writes && file_end(said) < end;
        if is_automatic && is_near {
            let long = match (writes, grows) {
                (false, _) => LONG_READ,
                (true, false) => said[0][INSIDE],
                (true, true) => said[0][GROWING],
            };
            if ranges().all(|part| part[PIECE] >= long) {
                // Gaps are read by the ranks that they belong to.
                return Self::Own(Choice::Disable);
            }
            if !writes && ranges().all(|part| (part[END] - part[FIRST]) / DENSE <= part[BYTES]) {
                return Self::Own(Choice::Enable);
            }
        }
        let part = (grows && is_near).then_some(GROWING_PART);
        Plan::of(exchange, said, end, part).map_or(Self::Own(Choice::Automatic), Self::Through)
    }
}

impl Plan {
    /// The plan for what all have said, which ends at this offset; `None`: each rank's own access costs less. There may be more aggregators than
    /// usual, if each has a `part` of so many bytes.
    fn of(exchange: &impl Exchange, said: &[Said], end: u64, part: Option<u64>) -> Option<Self> {
        let ranges = || said.iter().filter(|part| part[FIRST] < part[END]);
        let first = ranges().map(|part| part[FIRST]).min().unwrap_or(0);
        let (mut ranks, nodes) = order(exchange, said[0][EACH_NODE]);
        let number = match said[0][NODES] {
            0 => {
                let parts = part.map_or(0, |part| ((end - first) / part) as usize);
                parts.max(usual_aggregators(ranks.len(), nodes)).min(ranks.len())
            }
            number => ranks.len().min(number as usize),
        };
        let unit = said[0][UNIT].max(1);
        let base = first / unit * unit;
        let each = (end - base).div_ceil(number as u64).next_multiple_of(unit);
        ranks.truncate(number);
        let borders: Vec<u64> = (0..=number as u64)
            .map(|at| (base + at * each).clamp(first, end))
            .collect();
        let buffer = said[0][BUFFER].max(1);
        let rounds = longest(&borders).div_ceil(buffer);
        // No more windows than these hold any data: most rounds would move nothing, of what is few bytes far apart.
        let useful = ranges().fold(0_u64, |sum, part| {
            let windows = part[BYTES].div_ceil(part[PIECE].max(1)) + part[BYTES].div_ceil(buffer);
            sum.saturating_add(windows)
        });
        if rounds > useful {
            return None;
        }
        Some(Self {
            aggregators: ranks,
            borders,
            buffer,
            rounds,
        })
    }

    /// Bytes of the longest part.
    fn longest(&self) -> u64 {
        longest(&self.borders)
    }

    /// What an aggregator has in its buffer in a round.
    fn window(&self, aggregator: usize, round: u64) -> (u64, u64) {
        let (first, end) = (self.borders[aggregator], self.borders[aggregator + 1]);
        let from = first.saturating_add(round * self.buffer).min(end);
        (from, from.saturating_add(self.buffer).min(end))
    }
}

/// An access that all have agreed on.
struct Begun {
    strategy: Strategy,
    said: Vec<Said>,
    /// How many bytes this rank has moved before, if its part is over.
    done: Option<u64>,
}

/// What a rank wants of an access once all is agreed on: positions from..to of its view.
struct OwnRange {
    from: u64,
    to: u64,
}

impl OwnRange {
    /// Which of its positions lie in this range of the file.
    fn within(&self, view: &View, range: (u64, u64)) -> (u64, u64) {
        if self.from == self.to {
            return (self.from, self.from);
        }
        let from = view.position_at(range.0).clamp(self.from, self.to);
        (from, view.position_at(range.1).clamp(from, self.to))
    }
}

impl RankPart<'_> {
    /// The access of this rank alone. A hint about what lies between pieces comes before `gaps`.
    fn access(&self, gaps: Choice) -> Access<'_> {
        Access {
            file: self.file,
            view: self.view,
            hints: self.hints,
            gaps: match self.hints.ds_read {
                Choice::Automatic => gaps,
                said => said,
            },
            locked: self.locked,
        }
    }

    /// Agree with the others, after what this rank can do by itself is done; how the access is made.
    async fn begin(&mut self, exchange: &impl Exchange, writes: bool) -> Result<Begun> {
        let bytes = self.memory.bytes();
        if self.refused.is_none() && bytes > 0 && self.view.is_empty() {
            self.refused = Some(crate::fail!(Arg, "{}: there is no data in the view", self.path));
        }
        let choice = self.choice(writes);
        let mut failure = None;
        let done = match self.ahead(exchange, choice, writes) {
            Some(Ok(done)) => Some(done),
            Some(Err(error)) => {
                failure = Some(error);
                Some(0)
            }
            None => None,
        };
        let layout = self.file.layout();
        let mut end = 0;
        if done.is_none() {
            match size(self.file) {
                Ok(size) => end = size,
                Err(error) => failure = Some(error),
            }
        }
        let is_some = self.refused.is_none() && bytes > 0 && done.is_none();
        let span = match is_some {
            true => self.view.span(self.position, self.position + bytes),
            false => 0..0,
        };
        let own = [
            span.start,
            span.end,
            told(self.refused.as_ref(), failure),
            end,
            choice as u64,
            self.hints.cb_nodes.or(layout.stripes).unwrap_or(0),
            self.hints.cb_buffer,
            self.hints.striping_unit.unwrap_or(layout.unit),
            if is_some {
                self.view.mean_piece(self.position, self.position + bytes)
            } else {
                0
            },
            if is_some { bytes } else { 0 },
            self.hints.cb_each_node.unwrap_or(u64::MAX),
            u64::from(done.is_some()),
            layout.own_writes.inside,
            layout.own_writes.growing,
        ];
        let mut said = exchange.gather(own).await?;
        let own = self
            .refused
            .take()
            .or_else(|| failure.map(|failure| failure.of(self.path)));
        verdict(exchange.rank(), self.path, said.iter().map(|part| part[WRONG]), own)?;
        // One that cannot go through others is enough.
        if said.iter().any(|part| part[MODE] == Choice::Disable as u64) {
            said[0][MODE] = Choice::Disable as u64;
        }
        if !writes {
            // Nothing is asked for that is not there.
            let end = file_end(&said);
            for range in &mut said {
                range[END] = range[END].min(end.max(range[FIRST]));
            }
        }
        Ok(Begun {
            strategy: Strategy::of(exchange, &said, writes),
            said,
            done,
        })
    }

    /// Write these runs of the file, out of a buffer that begins at an offset of it.
    fn write_runs(&self, runs: &[(u64, u64)], buffer: &[u8], start: u64) -> crate::failure::Result<()> {
        // Where a rank writes back what lies between its pieces, all who write take the lock.
        let span = runs.first().zip(runs.last());
        let span = span.filter(|_| self.hints.ds_write == Choice::Enable);
        let span = span.map(|(first, last)| first.0..last.0 + last.1);
        let _lock = span.clone().map(|span| Lock::take(self.file, span, true)).transpose()?;
        let bytes: u64 = runs.iter().map(|(_, length)| length).sum();
        let is_short = runs.len() > 1 && bytes / (runs.len() as u64) < LONG;
        let is_worth = |span: &Range<u64>| is_short && (span.end - span.start) / WORTH <= bytes;
        if let Some(span) = span.filter(|span| is_worth(span) && self.file.is_readable()) {
            return self.write_window(runs, buffer, start, span);
        }
        for (offset, length) in runs {
            let at = (offset - start) as usize;
            crate::backend::write(self.file, &buffer[at..at + *length as usize], *offset)?;
        }
        Ok(())
    }

    /// The same with what lies between the runs, as it was. The lock is held.
    fn write_window(
        &self,
        runs: &[(u64, u64)],
        buffer: &[u8],
        start: u64,
        span: Range<u64>,
    ) -> crate::failure::Result<()> {
        let mut window = rooms::take((span.end - span.start) as usize);
        let got = crate::backend::read(self.file, &mut window, span.start);
        let written = got.and_then(|got| {
            // Beyond the end of the file there are zeros.
            window[got..].fill(0);
            for (offset, length) in runs {
                let (from, to) = ((offset - start) as usize, (offset - span.start) as usize);
                let length = *length as usize;
                window[to..to + length].copy_from_slice(&buffer[from..from + length]);
            }
            crate::backend::write(self.file, &window, span.start)
        });
        rooms::give(window);
        written
    }

    /// Agree on how it went.
    async fn end(&self, exchange: &impl Exchange, failure: Option<Failure>) -> Result<()> {
        let all = exchange.gather([told(None, failure)]).await?;
        let own = failure.map(|failure| failure.of(self.path));
        verdict(exchange.rank(), self.path, all.iter().map(|[word]| *word), own)
    }
}

/// What an aggregator knows of what the others want in its part.
struct Wanted {
    /// Of each rank.
    cursors: Vec<Cursor>,
}

impl Wanted {
    /// Tell the aggregators, and hear as one, where in its part everyone's bytes lie.
    async fn gather(
        exchange: &impl Exchange,
        plan: &Plan,
        part: &RankPart<'_>,
        own: &OwnRange,
        said: &[Said],
    ) -> Result<Option<Self>> {
        let me = plan.aggregators.iter().position(|rank| *rank == exchange.rank());
        let meets = |rank: usize, at: usize| {
            let range = &said[rank];
            range[FIRST] < plan.borders[at + 1]
                && plan.borders[at] < range[END]
                && plan.borders[at] < plan.borders[at + 1]
        };
        let mut lists: Vec<(usize, Vec<u64>)> = Vec::new();
        for (at, aggregator) in plan.aggregators.iter().enumerate() {
            if meets(exchange.rank(), at) {
                let (from, to) = own.within(part.view, (plan.borders[at], plan.borders[at + 1]));
                lists.push((*aggregator, encode(part.view.pieces(from, to))));
            }
        }
        let talkers: Vec<usize> = match me {
            Some(at) => (0..exchange.size()).filter(|rank| meets(*rank, at)).collect(),
            None => Vec::new(),
        };
        let own_rank = exchange.rank();
        let others = || talkers.iter().copied().filter(|rank| *rank != own_rank);
        let mut lengths = vec![[0; 8]; others().count()];
        let counts: Vec<_> = lists
            .iter()
            .map(|(to, words)| (*to, (words.len() as u64).to_ne_bytes()))
            .collect();
        let sends = counts.iter().filter(|(to, _)| *to != own_rank);
        let sends: Vec<_> = sends.map(|(to, bytes)| Outgoing { to: *to, bytes }).collect();
        let mut receives: Vec<_> = others()
            .zip(&mut lengths)
            .map(|(from, bytes)| Incoming { from, bytes })
            .collect();
        exchange.pass(&sends, &mut receives).await?;
        let own_range = me.map_or((0, 0), |at| (plan.borders[at], plan.borders[at + 1]));
        // Four words for a piece of a byte at least.
        let most = (own_range.1 - own_range.0).saturating_mul(4);
        let unsound = || crate::fail!(Intern, "{}: a rank told what is no list of pieces", part.path);
        let mut heard: Vec<Vec<u8>> = Vec::with_capacity(lengths.len());
        for length in &lengths {
            let words = Some(u64::from_ne_bytes(*length))
                .filter(|words| *words <= most)
                .ok_or_else(unsound)?;
            heard.push(vec![0; 8 * words as usize]);
        }
        let bytes: Vec<(usize, Vec<u8>)> = lists
            .iter()
            .map(|(to, words)| (*to, words.iter().flat_map(|word| word.to_ne_bytes()).collect()))
            .collect();
        let sends = bytes.iter().filter(|(to, bytes)| *to != own_rank && !bytes.is_empty());
        let sends: Vec<_> = sends.map(|(to, bytes)| Outgoing { to: *to, bytes }).collect();
        let mut receives: Vec<_> = others()
            .zip(&mut heard)
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|(from, bytes)| Incoming { from, bytes })
            .collect();
        exchange.pass(&sends, &mut receives).await?;
        if me.is_none() {
            return Ok(None);
        }
        let mut cursors: Vec<Cursor> = (0..exchange.size()).map(|_| Cursor::default()).collect();
        let of = |words: &[u64]| Cursor::of(words, own_range).ok_or_else(unsound);
        for (from, bytes) in others().zip(&heard) {
            cursors[from] = of(&bytes
                .as_chunks()
                .0
                .iter()
                .map(|word| u64::from_ne_bytes(*word))
                .collect::<Vec<_>>())?;
        }
        if let Some((_, words)) = lists.iter().find(|(to, _)| *to == own_rank) {
            cursors[own_rank] = of(words)?;
        }
        Ok(Some(Self { cursors }))
    }

    /// What each rank has in this window.
    fn round(&mut self, window: (u64, u64)) -> Vec<Series> {
        self.cursors.iter_mut().map(|cursor| cursor.take(window.1)).collect()
    }
}

/// Write every rank's memory. All members call; blocks in the device only.
pub async fn write(exchange: &impl Exchange, mut part: RankPart<'_>) -> Result<u64> {
    let Begun { strategy, said, done } = part.begin(exchange, true).await?;
    let bytes = part.memory.bytes();
    let plan = match strategy {
        Strategy::Made => return Ok(bytes),
        Strategy::Through(plan) => plan,
        Strategy::Own(gaps) => {
            let result = match done {
                Some(_) => Ok(()),
                None => part.access(gaps).write(part.memory, part.position),
            };
            part.end(exchange, result.err()).await?;
            return Ok(bytes);
        }
    };
    let left = if done.is_some() { 0 } else { bytes };
    let own = OwnRange {
        from: part.position,
        to: part.position + left,
    };
    let mut wanted = Wanted::gather(exchange, &plan, &part, &own, &said).await?;
    let me = plan.aggregators.iter().position(|rank| *rank == exchange.rank());
    let mut failure = None;
    let mut buffer = rooms::take(me.map_or(0, |_| plan.buffer.min(plan.longest()) as usize));
    for round in 0..plan.rounds {
        let outgoing = own_parts(&part, &plan, &own, round);
        let packed: Vec<Vec<u8>> = outgoing
            .iter()
            .map(|(_, from, to)| packed(part.memory, *from, *to))
            .collect();
        let slices: Vec<(usize, &[u8])> = outgoing
            .iter()
            .zip(&packed)
            .map(|((to, from, end), packed)| (*to, part.memory.slice(*from, *end).unwrap_or(packed)))
            .collect();
        let sends = slices.iter().filter(|(to, _)| *to != exchange.rank());
        let sends: Vec<_> = sends.map(|(to, bytes)| Outgoing { to: *to, bytes }).collect();
        let (Some(wanted), Some(me)) = (&mut wanted, me) else {
            exchange.pass(&sends, &mut []).await?;
            packed.into_iter().for_each(rooms::give);
            continue;
        };
        let window = plan.window(me, round);
        let pieces = wanted.round(window);
        // What it holds of the last round is nowhere written: only what comes now is.
        buffer.resize((window.1 - window.0) as usize, 0);
        let mut scattered: Vec<(usize, Vec<u8>)> = Vec::new();
        {
            // Bytes that lie in a row in the file come to their place at once; ranks whose places overlap come one after the other.
            let mut receives = Vec::new();
            let mut free = Free::new(&mut buffer, window.0);
            let mut rows: Vec<(u64, usize)> = Vec::new();
            for (from, series) in pieces
                .iter()
                .enumerate()
                .filter(|(from, series)| *from != exchange.rank() && series.bytes > 0)
            {
                match series.pieces[..] {
                    [(offset, _)] => rows.push((offset, from)),
                    _ => scattered.push((from, rooms::take(series.bytes as usize))),
                }
            }
            rows.sort_unstable();
            for (offset, from) in rows {
                match free.take(offset, pieces[from].bytes) {
                    Some(bytes) => receives.push(Incoming { from, bytes }),
                    None => scattered.push((from, rooms::take(pieces[from].bytes as usize))),
                }
            }
            receives.extend(
                scattered
                    .iter_mut()
                    .map(|(from, bytes)| Incoming { from: *from, bytes }),
            );
            exchange.pass(&sends, &mut receives).await?;
        }
        let own_bytes = slices.iter().find(|(to, _)| *to == exchange.rank());
        let others = scattered.iter().map(|(from, bytes)| (*from, &bytes[..]));
        for (from, bytes) in others.chain(own_bytes.copied()) {
            let mut rest = bytes;
            for (offset, length) in &pieces[from].pieces {
                let at = (offset - window.0) as usize;
                let (here, behind) = rest.split_at(*length as usize);
                buffer[at..at + here.len()].copy_from_slice(here);
                rest = behind;
            }
        }
        if failure.is_none() {
            failure = part.write_runs(&covered(&pieces), &buffer, window.0).err();
        }
        packed
            .into_iter()
            .chain(scattered.into_iter().map(|(_, bytes)| bytes))
            .for_each(rooms::give);
    }
    rooms::give(buffer);
    part.end(exchange, failure).await?;
    Ok(bytes)
}

/// What of a window's buffer has not been given away; asked in the order of offsets.
struct Free<'a> {
    rest: &'a mut [u8],
    at: u64,
}

impl<'a> Free<'a> {
    fn new(rest: &'a mut [u8], at: u64) -> Self {
        Self { rest, at }
    }

    fn take(&mut self, offset: u64, length: u64) -> Option<&'a mut [u8]> {
        let skipped = offset.checked_sub(self.at)?;
        let rest = std::mem::take(&mut self.rest);
        let (_, rest) = rest.split_at_mut(skipped as usize);
        let (taken, rest) = rest.split_at_mut(length as usize);
        (self.rest, self.at) = (rest, offset + length);
        Some(taken)
    }
}

/// To or from which aggregators bytes go in a round, and which of the stream's they are.
fn own_parts(part: &RankPart<'_>, plan: &Plan, own: &OwnRange, round: u64) -> Vec<(usize, u64, u64)> {
    let mut parts = Vec::new();
    for (at, aggregator) in plan.aggregators.iter().enumerate() {
        let (from, to) = own.within(part.view, plan.window(at, round));
        if from < to {
            parts.push((*aggregator, from - part.position, to - part.position));
        }
    }
    parts
}

/// Bytes of the stream in a row, unless they lie so already.
fn packed(memory: &AccessMemory, from: u64, to: u64) -> Vec<u8> {
    if memory.slice(from, to).is_some() {
        return Vec::new();
    }
    let mut bytes = rooms::take((to - from) as usize);
    memory.copy_out(from, &mut bytes);
    bytes
}

/// Read to every rank's memory: how many bytes there are for this one before the end of the file. All members call; blocks in the device only.
pub async fn read(exchange: &impl Exchange, mut part: RankPart<'_>) -> Result<u64> {
    let Begun { strategy, said, done } = part.begin(exchange, false).await?;
    let plan = match strategy {
        Strategy::Made => return Ok(done.unwrap_or(0)),
        Strategy::Through(plan) => plan,
        Strategy::Own(gaps) => {
            let result = match done {
                Some(bytes) => Ok(bytes),
                None => part.access(gaps).read(part.memory, part.position),
            };
            part.end(exchange, result.err()).await?;
            return Ok(result.unwrap_or(0));
        }
    };
    let end = file_end(&said);
    let left = if done.is_some() { 0 } else { part.memory.bytes() };
    let own = OwnRange {
        from: part.position,
        to: part.view.position_at(end).clamp(part.position, part.position + left),
    };
    let mut wanted = Wanted::gather(exchange, &plan, &part, &own, &said).await?;
    let me = plan.aggregators.iter().position(|rank| *rank == exchange.rank());
    let mut failure = None;
    let mut buffer = rooms::take(me.map_or(0, |_| plan.buffer.min(plan.longest()) as usize));
    for round in 0..plan.rounds {
        let mut pieces = Vec::new();
        let mut start = 0;
        if let (Some(wanted), Some(me)) = (&mut wanted, me) {
            let window = plan.window(me, round);
            pieces = wanted.round(window);
            let ranges = || {
                pieces
                    .iter()
                    .flat_map(|series| series.pieces.first().zip(series.pieces.last()))
            };
            start = ranges().map(|(first, _)| first.0).min().unwrap_or(window.0);
            let end = ranges().map(|(_, last)| last.0 + last.1).max().unwrap_or(start);
            buffer.resize((end - start) as usize, 0);
            if failure.is_none() {
                match crate::backend::read(part.file, &mut buffer, start) {
                    // Somebody else has cut the file meanwhile.
                    Ok(got) => buffer[got..].fill(0),
                    Err(error) => failure = Some(error),
                }
            }
        }
        let incoming = own_parts(&part, &plan, &own, round);
        let mine = incoming.iter().find(|(from, ..)| *from == exchange.rank()).copied();
        // What this rank reads for itself goes straight to its place in the user's memory.
        let is_own = |rank: usize| rank == exchange.rank();
        if let Some((_, from, to)) = mine
            && let Some(place) = part.memory.slice_mut(from, to)
        {
            pieces[exchange.rank()].copy_to(&buffer, start, place);
        } else if let Some((_, from, _)) = mine {
            let bytes = pieces[exchange.rank()].collect(&buffer, start);
            part.memory.copy_in(from, &bytes);
            rooms::give(bytes);
        }
        let packed: Vec<(usize, Vec<u8>)> = pieces
            .iter()
            .enumerate()
            .filter(|(to, series)| series.pieces.len() > 1 && !is_own(*to))
            .map(|(to, series)| (to, series.collect(&buffer, start)))
            .collect();
        let single = pieces
            .iter()
            .enumerate()
            .filter_map(|(to, series)| match series.pieces[..] {
                [(offset, length)] => {
                    let at = (offset - start) as usize;
                    Some((to, &buffer[at..at + length as usize]))
                }
                _ => None,
            });
        let outgoing: Vec<(usize, &[u8])> = single
            .chain(packed.iter().map(|(to, bytes)| (*to, &bytes[..])))
            .collect();
        let sends = outgoing.iter().filter(|(to, _)| !is_own(*to));
        let sends: Vec<_> = sends.map(|(to, bytes)| Outgoing { to: *to, bytes }).collect();
        let mut scattered: Vec<(u64, Vec<u8>)> = Vec::new();
        {
            let mut receives = Vec::new();
            let foreign = || incoming.iter().filter(|(from, ..)| *from != exchange.rank());
            for (_, from, to) in foreign().filter(|(_, from, to)| part.memory.slice(*from, *to).is_none()) {
                scattered.push((*from, rooms::take((to - from) as usize)));
            }
            let mut buffers = scattered.iter_mut();
            for (aggregator, from, to) in foreign() {
                let place = match part.memory.slice_mut(*from, *to) {
                    Some(place) => Some(place),
                    None => buffers.next().map(|(_, bytes)| &mut bytes[..]),
                };
                receives.extend(place.map(|bytes| Incoming {
                    from: *aggregator,
                    bytes,
                }));
            }
            exchange.pass(&sends, &mut receives).await?;
        }
        for (from, bytes) in &scattered {
            part.memory.copy_in(*from, bytes);
        }
        let packed = packed.into_iter().map(|(_, bytes)| bytes);
        packed
            .chain(scattered.into_iter().map(|(_, bytes)| bytes))
            .for_each(rooms::give);
    }
    rooms::give(buffer);
    part.end(exchange, failure).await?;
    Ok(done.unwrap_or(own.to - own.from))
}

#[cfg(test)]
mod tests;
