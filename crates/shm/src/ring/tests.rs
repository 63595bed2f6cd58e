//! The ring on a heap backing: by the model checker (loom), and by real threads.

use super::*;

/// Headers and one word of body per line.
struct Heap {
    credit: Credit,
    headers: Vec<AtomicU64>,
    #[cfg(loom)]
    bodies: Vec<loom::cell::UnsafeCell<u64>>,
    #[cfg(not(loom))]
    bodies: Vec<std::cell::UnsafeCell<u64>>,
}

// SAFETY: bodies follow the ring's protocol, which is what the model checks.
unsafe impl Sync for Heap {}
// SAFETY: plain data.
unsafe impl Send for Heap {}

impl Heap {
    fn new(lines: usize) -> Arc<Self> {
        Arc::new(Self {
            credit: Credit::default(),
            headers: (0..lines).map(|_| AtomicU64::new(0)).collect(),
            bodies: (0..lines).map(|_| Default::default()).collect(),
        })
    }

    fn write(&self, at: u64, value: u64) {
        let cell = &self.bodies[(at / LINE) as usize];
        #[cfg(loom)]
        // SAFETY: the producer owns the line; loom checks it.
        cell.with_mut(|body| unsafe { *body = value });
        #[cfg(not(loom))]
        // SAFETY: the producer owns the line.
        unsafe {
            *cell.get() = value
        };
    }

    fn read(&self, at: u64) -> u64 {
        let cell = &self.bodies[(at / LINE) as usize];
        #[cfg(loom)]
        // SAFETY: the record is published and not released; loom checks it.
        return cell.with(|body| unsafe { *body });
        #[cfg(not(loom))]
        // SAFETY: the record is published and not released.
        return unsafe { *cell.get() };
    }
}

impl RingMemory for Heap {
    fn size(&self) -> u64 {
        self.headers.len() as u64 * LINE
    }
    fn credit(&self) -> &Credit {
        &self.credit
    }
    fn header(&self, at: u64) -> &AtomicU64 {
        &self.headers[(at / LINE) as usize]
    }
}

/// Send records with `bodies[i]` bytes; record `i` carries `i` in every line it covers.
fn produce(memory: Arc<Heap>, bodies: &[u32], idle: impl Fn()) {
    let mut producer = Producer::new(memory.clone());
    for (i, &body) in bodies.iter().enumerate() {
        let room = loop {
            match producer.reserve(body, 0) {
                Some(room) => break room,
                None => idle(),
            }
        };
        for line in 0..footprint(body) / LINE {
            memory.write(room.at + line * LINE, i as u64);
        }
        producer.publish(Header {
            handler: 1,
            length: body,
            context: i as u32,
        });
    }
}

fn consume(memory: Arc<Heap>, bodies: &[u32], idle: impl Fn()) {
    let mut consumer = Consumer::new(memory.clone());
    for (i, &body) in bodies.iter().enumerate() {
        let record = loop {
            match consumer.peek() {
                Some(record) => break record,
                None => idle(),
            }
        };
        assert_eq!(
            record.header,
            Header {
                handler: 1,
                length: body,
                context: i as u32
            }
        );
        for line in 0..footprint(body) / LINE {
            assert_eq!(memory.read(record.at + line * LINE), i as u64);
        }
        consumer.release(record);
    }
    assert!(consumer.peek().is_none());
}

#[cfg(loom)]
mod loom_model {
    use super::*;

    /// Every interleaving, and every reordering the C11 model allows, of a ring small enough to wrap and to be full.
    fn check(lines: usize, bodies: &'static [u32]) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let memory = Heap::new(lines);
            let theirs = memory.clone();
            let producer = loom::thread::spawn(move || produce(theirs, bodies, loom::thread::yield_now));
            consume(memory, bodies, loom::thread::yield_now);
            producer.join().expect("the producer ends");
        });
    }

    #[test]
    fn loom_single_lines_wrap() {
        check(4, &[8, 8, 8, 8, 8]);
    }

    #[test]
    fn loom_two_lines_skip_the_end() {
        check(8, &[8, 100, 8, 100, 8]);
    }
}

#[cfg(not(loom))]
mod threads {
    use super::*;

    #[test]
    fn records_of_every_length_arrive_in_order_and_whole() {
        let bodies: Vec<u32> = (0..20_000u32)
            .map(|i| i.wrapping_mul(2_654_435_761) % (longest_body(4096) + 1))
            .collect();
        let memory = Heap::new(64);
        std::thread::scope(|scope| {
            scope.spawn(|| produce(memory.clone(), &bodies, std::thread::yield_now));
            consume(memory.clone(), &bodies, std::thread::yield_now);
        });
    }

    #[test]
    fn a_full_ring_says_so_and_recovers() {
        let memory = Heap::new(64);
        let mut producer = Producer::new(memory.clone());
        let mut consumer = Consumer::new(memory.clone());
        let mut sent = 0;
        while producer.reserve(8, 0).is_some() {
            producer.publish(Header {
                handler: 1,
                length: 8,
                context: sent,
            });
            sent += 1;
        }
        assert_eq!(sent, 63, "one line stays free for the next header");
        assert!(!producer.is_drained());
        for i in 0..sent {
            let record = consumer.peek().expect("published");
            assert_eq!(record.header.context, i);
            consumer.release(record);
        }
        consumer.return_credit();
        assert!(producer.is_drained());
        assert!(producer.reserve(longest_body(4096), 0).is_some());
    }

    #[test]
    fn a_length_beyond_the_ring_is_not_followed() {
        let memory = Heap::new(16);
        let mut consumer = Consumer::new(memory.clone());
        for length in [16 * 64, 0xff_ffff] {
            memory.header(0).store(
                Header {
                    handler: 1,
                    length,
                    context: 0,
                }
                .pack(),
                Ordering::Release,
            );
            assert!(consumer.peek().is_none());
        }
    }
}
