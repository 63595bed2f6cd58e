//! One-sided operations of a process with itself: every form of layout, operator and lock, against what they are defined to do.
#![allow(unsafe_code)] // Operations take addresses.

use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_engine::layout::{Layout, Level, Span};
use isthmus_engine::rma::{self, Atomicity, Class, Combine, Flow, Operator, Region, RegionKey, Target};
use isthmus_engine::{Error, Peer, boot, heap};

const LENGTH: usize = 64 << 10;

/// Regions of every kind: mapped and ordinary, by instructions and under locks.
fn regions() -> Vec<(Target, *mut u8)> {
    boot().expect("a job of one");
    let mut all = Vec::new();
    for atomicity in [Atomicity::Elements, Atomicity::Locked] {
        let mapped = heap::allocate(LENGTH as u64, 64).expect("memory").as_ptr();
        let own = Box::leak(vec![0u8; LENGTH].into_boxed_slice()).as_mut_ptr();
        for base in [mapped, own] {
            // SAFETY: as long as we say.
            unsafe { base.write_bytes(0, LENGTH) };
            let region: Region = rma::register_as(base, LENGTH as u64, atomicity).expect("registered");
            all.push((Target::attach(Peer(0), region.key()).expect("our own key"), base));
        }
    }
    all
}

fn local(bytes: &[u8]) -> u64 {
    bytes.as_ptr().expose_provenance() as u64
}

#[test]
fn puts_and_gets_of_every_form() {
    let source: Vec<u8> = (0..LENGTH).map(|at| (at * 7 + at / 256) as u8).collect();
    let levels = [Level { count: 10, stride: 100 }, Level { count: 5, stride: 1500 }];
    let spans: Vec<Span> = (0..50)
        .map(|at| Span {
            address: 40_000 + at * 64,
            length: 24,
        })
        .collect();
    for (target, base) in regions() {
        let flow = Flow::new();
        let forms = [
            Layout::contiguous(3, 1200),
            Layout::strided(2000, 24, &levels),
            Layout::Spans(&spans),
        ];
        for there in &forms {
            for here in &forms {
                let mut own = source.clone();
                let shifted: Vec<Span> = spans
                    .iter()
                    .map(|span| Span {
                        address: span.address + local(&own),
                        ..*span
                    })
                    .collect();
                let here = match *here {
                    Layout::Contiguous(span) => Layout::contiguous(local(&own) + span.address, span.length),
                    Layout::Strided { base, block, levels } => Layout::strided(local(&own) + base, block, levels),
                    Layout::Spans(_) => Layout::Spans(&shifted),
                };
                // SAFETY: ours.
                unsafe {
                    base.write_bytes(0xee, LENGTH);
                    flow.put(&target, there, &here).expect("put");
                    flow.flush(|| Peer(0)).expect("flushed");
                }
                for at in 0..1200 {
                    let (to, from) = (
                        there.cursor(at).block().address,
                        here.cursor(at).block().address - local(&own),
                    );
                    // SAFETY: within the region.
                    assert_eq!(unsafe { base.add(to as usize).read() }, source[from as usize]);
                }
                // SAFETY: within the region.
                let bytes = unsafe { std::slice::from_raw_parts(base, LENGTH) };
                let untouched = bytes.iter().filter(|&&byte| byte == 0xee).count();
                assert!(untouched >= LENGTH - 1200, "nothing beside");
                own.fill(0);
                // SAFETY: ours.
                unsafe { flow.get(&target, there, &here).expect("get") };
                for at in 0..1200 {
                    let from = (here.cursor(at).block().address - local(&own)) as usize;
                    assert_eq!(own[from], source[from]);
                }
            }
        }
    }
}

#[test]
fn what_is_outside_is_refused_and_not_touched() {
    for (target, base) in regions() {
        let (flow, word) = (Flow::new(), [1u8; 16]);
        let outside = |result: isthmus_engine::Result<()>| {
            assert!(matches!(result, Err(Error::OutOfRange { .. })), "{result:?}");
        };
        let far = [Level {
            count: 3,
            stride: LENGTH as i64 / 2,
        }];
        let here = Layout::local(word.as_ptr(), 9);
        let sum = Combine::of(Class::Signed, 8, Operator::Sum).expect("usual");
        let mut result = [0u8; 16];
        // SAFETY: nothing is touched.
        unsafe {
            outside(flow.put_bytes(&target, LENGTH as u64 - 7, word.as_ptr(), 8));
            outside(flow.put_bytes(&target, u64::MAX, word.as_ptr(), 8));
            outside(flow.get_bytes(&target, LENGTH as u64, result.as_mut_ptr(), 1));
            outside(flow.put(&target, &Layout::strided(8, 3, &far), &here));
            outside(flow.fetch_op(&target, LENGTH as u64 - 4, word.as_ptr(), result.as_mut_ptr(), sum));
            outside(flow.compare_swap(
                &target,
                LENGTH as u64,
                4,
                word.as_ptr(),
                word.as_ptr(),
                result.as_mut_ptr(),
            ));
            assert!(
                flow.put(&target, &Layout::contiguous(0, 8), &here).is_err(),
                "lengths differ"
            );
            assert!(
                flow.accumulate(&target, &Layout::contiguous(0, 9), &here, sum).is_err(),
                "no whole elements"
            );
            assert!(std::slice::from_raw_parts(base, LENGTH).iter().all(|&byte| byte == 0));
        }
    }
}

#[test]
fn accumulates_of_every_form() {
    let levels = [Level { count: 100, stride: 12 }];
    // Elements that lie in pieces, and at odd addresses.
    let halves: Vec<Span> = (0..200)
        .map(|at| Span {
            address: 5000 + at * 7,
            length: 4,
        })
        .collect();
    for (target, base) in regions() {
        let flow = Flow::new();
        for (class, width) in [
            (Class::Signed, 8u32),
            (Class::Float, 8),
            (Class::Signed, 4),
            (Class::Complex, 8),
        ] {
            let count = 800 / u64::from(width);
            let sum = Combine::of(class, width, Operator::Sum).expect("usual");
            let one: Vec<u8> = match (class, width) {
                (Class::Float, _) => (0..count).flat_map(|at| (at as f64).to_ne_bytes()).collect(),
                (Class::Complex, _) => (0..2 * count).flat_map(|at| (at as f32).to_ne_bytes()).collect(),
                (_, 4) => (0..count).flat_map(|at| (at as u32).to_ne_bytes()).collect(),
                _ => (0..count).flat_map(|at| at.to_ne_bytes()).collect(),
            };
            let twice: Vec<u8> = match (class, width) {
                (Class::Float, _) => (0..count).flat_map(|at| (2.0 * at as f64).to_ne_bytes()).collect(),
                (Class::Complex, _) => (0..2 * count).flat_map(|at| (2.0 * at as f32).to_ne_bytes()).collect(),
                (_, 4) => (0..count).flat_map(|at| (2 * at as u32).to_ne_bytes()).collect(),
                _ => (0..count).flat_map(|at| (2 * at).to_ne_bytes()).collect(),
            };
            let eights = [Level { count: 100, stride: 12 }];
            let forms = [
                Layout::contiguous(0, 800),
                Layout::contiguous(4093, 800),
                Layout::strided(1, 8, &eights),
                Layout::strided(16, 8, &levels),
                Layout::Spans(&halves),
            ];
            for there in &forms {
                let mut before = vec![9u8; 800];
                // SAFETY: ours.
                unsafe {
                    base.write_bytes(0, LENGTH);
                    let (here, result) = (
                        Layout::local(one.as_ptr(), 800),
                        Layout::local(before.as_mut_ptr(), 800),
                    );
                    flow.accumulate(&target, there, &here, sum).expect("accumulate");
                    flow.get_accumulate(&target, there, &here, &result, sum)
                        .expect("get_accumulate");
                    assert_eq!(before, one, "{class:?} {there:?}");
                    let nothing = Combine::of(Class::Opaque, width, Operator::NoOp).expect("usual");
                    flow.get_accumulate(&target, there, &here, &result, nothing)
                        .expect("no-op");
                    assert_eq!(before, twice, "{class:?} {there:?}");
                    let replace = Combine::of(Class::Opaque, width, Operator::Replace).expect("usual");
                    flow.accumulate(&target, there, &here, replace).expect("replace");
                    flow.get(&target, there, &result).expect("get");
                }
                assert_eq!(before, one, "{class:?} {there:?}");
            }
        }
    }
}

#[test]
fn one_element_at_a_time() {
    for (target, base) in regions() {
        let flow = Flow::new();
        let sum = Combine::of(Class::Unsigned, 8, Operator::Sum).expect("usual");
        for at in [0u64, 4090] {
            let (five, mut old) = (5u64, 0u64);
            let (operand, result) = ((&raw const five).cast::<u8>(), (&raw mut old).cast::<u8>());
            for round in 0..3 {
                // SAFETY: ours.
                unsafe { flow.fetch_op(&target, at, operand, result, sum) }.expect("fetch_op");
                assert_eq!(old, 5 * round);
            }
            let (fifteen, seven) = (15u64, 7u64);
            let (compare, swap) = ((&raw const fifteen).cast::<u8>(), (&raw const seven).cast::<u8>());
            for found in [15, 7] {
                // SAFETY: ours.
                unsafe { flow.compare_swap(&target, at, 8, compare, swap, result) }.expect("compare_swap");
                assert_eq!(old, found);
            }
            // SAFETY: in the region.
            assert_eq!(unsafe { base.add(at as usize).cast::<u64>().read_unaligned() }, 7);
        }
    }
}

#[test]
fn keys_are_checked() {
    boot().expect("a job of one");
    let memory = heap::allocate(4096, 64).expect("memory").as_ptr();
    let key = rma::register(memory, 4096).expect("registered").key();
    assert!(Target::attach(Peer(0), key).is_ok());
    assert!(Target::attach(Peer(1), key).is_err());
    assert!(Target::attach(Peer(0), RegionKey::NONE).is_err());
    // Any bits.
    for word in 0..6 {
        for value in [0u64, 1, u64::MAX, 1 << 40, 0x0101_0101_0101_0101] {
            // SAFETY: plain numbers.
            let mut words: [u64; 6] = unsafe { std::mem::transmute(key) };
            words[word] = value;
            // SAFETY: plain numbers.
            let forged: RegionKey = unsafe { std::mem::transmute(words) };
            let _ = Target::attach(Peer(0), forged);
        }
    }
}

#[test]
fn notifications_are_seen() {
    boot().expect("a job of one");
    let memory = heap::allocate(4096, 64).expect("memory").as_ptr();
    // SAFETY: ours.
    unsafe { memory.write_bytes(0, 4096) };
    let key = rma::register(memory, 4096).expect("registered").key();
    let target = Target::attach(Peer(0), key).expect("our own");
    let flow = Flow::new();
    rma::notify(&flow, &target, 64, 2).expect("notified");
    assert!(rma::notify(&flow, &target, 4096, 2).is_err());
    assert!(rma::notify(&flow, &target, 3, 2).is_err());
    // SAFETY: in the region, aligned.
    let counter = unsafe { AtomicU64::from_ptr(memory.add(64).cast()) };
    assert_eq!(rma::wait_for(counter, 2).expect("raised"), 2);
    counter.store(0, Ordering::Relaxed);
}
