//! What a broken or hostile peer may write: records of random handlers, lengths and contents. The engine must neither
//! panic nor write outside the buffers of pending receives (law 6).

use std::sync::atomic::Ordering;

use isthmus_shm::ring::{self, Header, Producer};
use isthmus_shm::{Segment, doorbell};

use crate::buffer::Buffer;
use crate::control::Nonce;
use crate::engine::Engine;
use crate::matching::Pattern;
use crate::outbound::first_ring;
use crate::types::{ContextId, Mode, Posting};

const US: u32 = 0;
const THEM: u32 = 1;
const SMALL_RING: u64 = 4 << 10;
const LARGE: usize = 200_000;

/// Numbers that look random and repeat (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

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

#[test]
fn random_records_do_no_harm() {
    // A skip that cannot be true ends a run, so there are many.
    let taken: u64 = (0..64).map(attack).sum();
    assert!(taken > 20_000, "only {taken} records were looked at");
}

/// One engine against one peer that writes nonsense. How many of its records were taken.
fn attack(seed: u64) -> u64 {
    let fd = crate::job::create(2, Nonce([1; 16])).expect("memory");
    let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [1; 16]).expect("a job segment")));
    let mut engine = Engine::new(segment, US, true, None);
    // The peer's ring, as the peer would make it.
    let at = segment.allocate(ring::bytes_for(SMALL_RING)).expect("memory");
    segment.inbox(US, THEM).store(at.0, Ordering::Release);
    let mut producer = Producer::new(first_ring(segment, at.0).expect("just taken"));
    let mut numbers = Numbers(seed);
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    let mut published = 0;
    let outgoing = vec![3u8; 300_000];
    for round in 0..2_000u32 {
        let handler = match numbers.next() % 1024 {
            0 => 0xff,
            1 => 9,
            2..40 => 10,
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
            let mut buffer = vec![0xee; capacity + 64];
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
    }
    for buffer in &buffers {
        assert!(
            buffer[buffer.len() - 64..].iter().all(|&byte| byte == 0xee),
            "written beyond the buffer"
        );
    }
    published
}
