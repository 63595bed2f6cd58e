//! The exchange of `isthmus_io` among the ranks that have a file open: messages, in steps that are polled whenever progress is made.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use isthmus_collective::token;
use isthmus_engine::rma::node_of;
use isthmus_engine::{Entered, OpId, Outcome, enter, fault_events};
use isthmus_io::two_phase::{Exchange, Incoming, Outgoing};

use crate::coll::check::report;
use crate::comm::Comm;
use crate::completion::{received, sent};
use crate::error::{Error, Result};
use crate::fail;
use crate::p2p::internal::{post_recv, post_send};

/// The messages of one call.
pub(super) struct Messages {
    comm: Arc<Comm>,
    tag: i32,
}

impl Messages {
    pub fn new(comm: &Arc<Comm>, tag: i32) -> Self {
        Self {
            comm: Arc::clone(comm),
            tag,
        }
    }

    /// Start everything: receives, then sends.
    fn post(&self, inside: &mut Entered, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>]) -> Passing<'_> {
        let mut passing = Passing {
            comm: &self.comm,
            ops: Vec::with_capacity(sends.len() + receives.len()),
            broken: None,
        };
        let start = || -> Result<()> {
            self.comm.check_whole(inside)?;
            for Incoming { from, bytes } in receives {
                // SAFETY: the bytes are borrowed until the step is over: `Passing` ends only when the operation has.
                let op = unsafe {
                    post_recv(
                        inside,
                        &self.comm,
                        *from as i32,
                        self.tag,
                        bytes.as_mut_ptr(),
                        bytes.len(),
                    )
                }?;
                passing.ops.extend(op.map(|op| (op, true)));
            }
            for Outgoing { to, bytes } in sends {
                // SAFETY: as above.
                let op = unsafe { post_send(inside, &self.comm, *to as i32, self.tag, bytes.as_ptr(), bytes.len()) }?;
                passing.ops.extend(op.map(|op| (op, false)));
            }
            Ok(())
        };
        if let Err(error) = start() {
            passing.withdraw(inside, error);
        }
        passing
    }
}

/// A name of a call, as others are told.
type Name = [u64; 4];

fn encoded(call: &str) -> Name {
    let mut bytes = [0; size_of::<Name>()];
    let length = call.len().min(bytes.len());
    bytes[..length].copy_from_slice(&call.as_bytes()[..length]);
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}

fn decoded(name: &Name) -> String {
    let bytes = name.map(u64::to_ne_bytes);
    let text: Vec<u8> = bytes
        .as_flattened()
        .iter()
        .copied()
        .take_while(|byte| *byte != 0)
        .collect();
    let text = String::from_utf8_lossy(&text);
    // As the standard writes it.
    format!("MPI_F{}", text.get(1..).unwrap_or_default())
}

impl Messages {
    /// Fails on all members if one makes another call than the others. The name is as in `file_sync`.
    pub async fn compare(&self, path: &str, call: &str) -> Result<()> {
        let said = self.gather(encoded(call)).await?;
        if said.iter().all(|name| *name == said[0]) {
            return Ok(());
        }
        let mut calls: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (rank, name) in said.iter().enumerate() {
            calls.entry(decoded(name)).or_default().push(rank);
        }
        let text: Vec<String> = calls
            .iter()
            .map(|(call, ranks)| format!("{call} on {}", report::list(ranks)))
            .collect();
        let line = format!("ranks disagree in a collective call on {path}: {}", text.join(", "));
        // Programs often look at no error codes of files.
        if self.rank() == 0 {
            isthmus_os::process::say(&format!("isthmus: {line}"));
        }
        Err(fail!(NotSame, "{line}"))
    }
}

impl Exchange for Messages {
    fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    fn size(&self) -> usize {
        self.comm.size() as usize
    }

    fn node_of(&self, rank: usize) -> u32 {
        self.comm.peer(rank as i32).map_or(0, node_of)
    }

    /// A dissemination all-gather (Bruck et al., IEEE TPDS 8(11), 1997).
    async fn gather<const N: usize>(&self, own: [u64; N]) -> Result<Vec<[u64; N]>> {
        let (size, rank) = (self.size(), self.rank());
        let bytes = |words: &[u64; N]| words.map(u64::to_ne_bytes).as_flattened().to_vec();
        let width = 8 * N;
        // Of the ranks from ours on.
        let mut known = bytes(&own);
        let mut distance = 1;
        while distance < size {
            let blocks = distance.min(size - distance);
            let (to, from) = ((rank + size - distance) % size, (rank + distance) % size);
            let mut heard = vec![0; blocks * width];
            let sends = [Outgoing {
                to,
                bytes: &known[..blocks * width],
            }];
            self.pass(
                &sends,
                &mut [Incoming {
                    from,
                    bytes: &mut heard,
                }],
            )
            .await?;
            known.extend_from_slice(&heard);
            distance *= 2;
        }
        known.rotate_right(width * rank);
        let words = |block: &[u8]| {
            let mut words = [0; N];
            for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
                *word = u64::from_ne_bytes(*bytes);
            }
            words
        };
        Ok(known.chunks_exact(width).map(words).collect())
    }

    async fn pass(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>]) -> Result<()> {
        if sends.is_empty() && receives.is_empty() {
            return Ok(());
        }
        let passing = poll_fn(|context| Poll::Ready(self.post(token(context), sends, receives))).await;
        passing.await
    }
}

/// Messages of one step. Over when all of them are.
struct Passing<'a> {
    comm: &'a Comm,
    /// Which, and whether it is a receive.
    ops: Vec<(OpId, bool)>,
    broken: Option<Error>,
}

impl Passing<'_> {
    /// Others may not come to their part.
    #[cold]
    fn withdraw(&mut self, inside: &mut Entered, error: Error) {
        self.broken.get_or_insert(error);
        for (op, _) in &self.ops {
            inside.cancel(*op);
        }
    }

    /// Let go of what is over.
    fn settle(&mut self, inside: &mut Entered) {
        let broken = &mut self.broken;
        self.ops.retain(|(op, is_receive)| match inside.take(*op) {
            None => true,
            Some(outcome) => {
                if let Err(error) = ended(&outcome, *is_receive) {
                    broken.get_or_insert(error);
                }
                false
            }
        });
    }
}

fn ended(outcome: &Outcome, is_receive: bool) -> Result<()> {
    let ended = if is_receive { received(outcome) } else { sent(outcome) };
    ended.map(drop)
}

impl Future for Passing<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let inside = token(context);
        let this = self.get_mut();
        this.settle(inside);
        if !this.ops.is_empty()
            && fault_events() > 0
            && this.broken.is_none()
            && let Err(error) = this.comm.check_whole(inside)
        {
            this.withdraw(inside, error);
            this.settle(inside);
        }
        if !this.ops.is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(this.broken.take().map_or(Ok(()), Err))
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        if self.ops.is_empty() {
            return;
        }
        // Nobody polls any more: a request is dropped at the end of the process, outside the engine.
        let mut inside = enter();
        for (op, _) in &self.ops {
            inside.cancel(*op);
            inside.detach(*op);
        }
    }
}
