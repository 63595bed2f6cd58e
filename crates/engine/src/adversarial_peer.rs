//! What a broken or adversarial peer may write: records of any handlers, lengths and contents. The engine must neither panic nor
//! write outside the buffers of pending receives (law 6). Fuzzers choose the records ([`feed`]), and tests random ones.

use std::sync::atomic::Ordering;

use isthmus_shm::ring::{self, Header, Producer};
use isthmus_shm::{Segment, doorbell};

use crate::channel::outbound::first_ring;
use crate::engine::Engine;
use crate::limits::SMALL_RING;
use crate::matching::queues::Pattern;
use crate::membership::control::Nonce;
use crate::memory::buffer::Buffer;
use crate::types::{ContextId, Mode, Posting};

const US: u32 = 0;
const THEM: u32 = 1;
const LARGE: usize = 200_000;

/// Behind each buffer, to be found as it was.
const GUARD: usize = 64;

/// One choice after another.
trait Choices {
    fn next(&mut self) -> u64;

    /// Mostly numbers that mean something: small ones, edges, offsets in the segment.
    fn word(&mut self) -> u64 {
        match self.next() % 6 {
            0 => self.next() % 8,
            1 => u64::MAX - self.next() % 4,
            2 => 1 << (self.next() % 64),
            3 => (self.next() % (1 << 20)) & !127,
            4 => self.next() % 70_000,
            _ => self.next(),
        }
    }
}

/// A fuzzer's input: one byte for a small choice, more where they say so. Zeros after its end.
struct Bytes<'a>(&'a [u8]);

impl Choices for Bytes<'_> {
    fn next(&mut self) -> u64 {
        let mut take = || {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            Some(u64::from(*first))
        };
        let first = take().unwrap_or(0);
        let longer = if first < 0xc0 { 0 } else { first & 7 };
        (0..longer).fold(first, |number, _| number << 8 | take().unwrap_or(0))
    }
}

/// One input of a fuzzer.
pub fn feed(data: &[u8]) {
    // A choice in eight records and their words.
    let mut bytes = Bytes(data);
    attack_until(&mut bytes, |bytes, round| bytes.0.is_empty() || round == 400);
}

/// One engine against one peer that writes nonsense, until `done`. How many of its records were taken.
fn attack_until<C: Choices>(numbers: &mut C, done: impl Fn(&C, u32) -> bool) -> u64 {
    let fd = crate::membership::job::create(2, Nonce([1; 16])).expect("memory");
    let segment: *mut Segment = Box::into_raw(Box::new(Segment::attach(fd, [1; 16]).expect("a job segment")));
    // SAFETY: just made; it goes below, after the last that names it.
    let taken = run(unsafe { &*segment }, numbers, done);
    // SAFETY: the engine is gone, and the buffers of its operations are.
    drop(unsafe { Box::from_raw(segment) });
    taken
}

fn run<C: Choices>(segment: &'static Segment, numbers: &mut C, done: impl Fn(&C, u32) -> bool) -> u64 {
    let mut engine = Engine::new(segment, US, true, None);
    // The peer's ring, as the peer would make it.
    let at = segment.allocate(ring::bytes_for(SMALL_RING)).expect("memory");
    segment.inbox(US, THEM).store(at.0, Ordering::Release);
    let mut producer = Producer::new(first_ring(segment, at.0).expect("just taken"));
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    let mut published = 0;
    let outgoing = vec![3u8; 300_000];
    let mut round = 0;
    while !done(numbers, round) {
        let handler = match numbers.next() % 1024 {
            0 => 0xff,
            1 => 9,
            2..40 => 10,
            40..200 => 11 + (numbers.next() % 4) as u8,
            // All but the switch of rings: one to nowhere ends the job, rightly.
            other => 1 + (other % 7) as u8,
        };
        let length = (numbers.next() % u64::from(ring::longest_body(SMALL_RING) + 1)) as u32;
        if let Some(room) = producer.reserve(length, 0) {
            let body = producer.memory().body(room.at);
            for word in 0..length as usize / 8 {
                // SAFETY: within the body that was reserved.
                unsafe { body.add(word * 8).cast::<u64>().write_unaligned(numbers.word()) };
            }
            published += 1;
            producer.publish(Header {
                handler,
                length,
                context: (numbers.next() % 2) as u32,
            });
        }
        doorbell::set_bit(segment.bitmap(US), THEM);
        if round % 8 == 0 {
            // A receive with a guard behind its buffer, and a send whose answers the peer may forge.
            let capacity = (numbers.next() % 3000) as usize;
            let mut buffer = vec![0xee; capacity + GUARD];
            let pattern = Pattern {
                context: ContextId((numbers.next() % 2) as u32),
                from: None,
                tag: None,
            };
            if round % 16 == 0 {
                // And a large one that the peer is told of, and may claim as it likes.
                let mut large = vec![0xee; LARGE + 64];
                let pattern = Pattern {
                    from: Some(THEM),
                    tag: Some((numbers.next() % 4) as i32),
                    ..pattern
                };
                // SAFETY: as below.
                let op = unsafe { engine.receive(pattern, Buffer::target(large.as_mut_ptr()), LARGE) }.expect("room");
                engine.advertise(op);
                if numbers.next().is_multiple_of(4) {
                    engine.cancel(op);
                }
                buffers.push(large);
            }
            // SAFETY: the buffer lives until the end of the test.
            unsafe { engine.receive(pattern, Buffer::target(buffer.as_mut_ptr()), capacity) }.expect("room");
            buffers.push(buffer);
            let posting = Posting {
                context: ContextId(0),
                source: 0,
                tag: 1,
            };
            let length = (numbers.next() % 300_000) as usize;
            // SAFETY: as above.
            let _ = unsafe { engine.send(Mode::Standard, THEM, posting, Buffer::source(outgoing.as_ptr()), length) };
        }
        engine.progress();
        round += 1;
    }
    for buffer in &buffers {
        assert!(
            buffer[buffer.len() - GUARD..].iter().all(|&byte| byte == 0xee),
            "written beyond the buffer"
        );
    }
    published
}

#[cfg(test)]
#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and repeat (splitmix64).
    struct Numbers(u64);

    impl Choices for Numbers {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }
    }

    #[test]
    fn random_records_do_no_harm() {
        // A skip that cannot be true ends a run, so there are many.
        let run = |seed| attack_until(&mut Numbers(seed), |_, round| round == 2_000);
        let taken: u64 = (0..64).map(run).sum();
        assert!(taken > 20_000, "only {taken} records were looked at");
    }

    #[test]
    fn what_fuzzers_have_found_does_no_harm() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/records.txt");
        let archive = std::fs::read_to_string(path).expect("a corpus");
        let inputs = corpus::parse(&archive).expect("an archive");
        assert!(!inputs.is_empty(), "there is nothing in {path}");
        for (name, input) in inputs {
            println!("records {name}");
            feed(&input);
        }
    }
}
