//! Sender and receiver of each protocol, two engines in one process: what each side does after each record.

use isthmus_shm::Segment;

use crate::engine::Engine;
use crate::matching::queues::Pattern;
use crate::membership::control::Nonce;
use crate::memory::buffer::Buffer;
use crate::ops::Stage;
use crate::types::{ContextId, Mode, Outcome, Posting};

const LONG: usize = 1 << 20;

fn pair() -> [Engine; 2] {
    let fd = crate::membership::job::create(2, Nonce([1; 16])).expect("memory");
    let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [1; 16]).expect("a job segment")));
    [0, 1].map(|me| Engine::new(segment, me, true, None))
}

fn pattern(from: Option<u32>, tag: Option<i32>) -> Pattern {
    Pattern {
        context: ContextId(0),
        from,
        tag,
    }
}

fn receive(engine: &mut Engine, tag: i32, buffer: &mut [u8]) -> u32 {
    let wanted = pattern(Some(1 - engine.me), Some(tag));
    // SAFETY: the buffers of these tests live longer than their engines are used.
    unsafe { engine.receive(wanted, Buffer::target(buffer.as_mut_ptr()), buffer.len()) }.expect("room")
}

fn send_as(mode: Mode, engine: &mut Engine, tag: i32, data: &[u8]) -> Option<u32> {
    let posting = Posting {
        context: ContextId(0),
        source: engine.me as i32,
        tag,
    };
    // SAFETY: as in `receive`.
    unsafe { engine.send(mode, 1 - engine.me, posting, Buffer::source(data.as_ptr()), data.len()) }.expect("room")
}

fn send(engine: &mut Engine, tag: i32, data: &[u8]) -> Option<u32> {
    send_as(Mode::Standard, engine, tag, data)
}

fn outcome(engine: &Engine, op: u32) -> Option<Outcome> {
    (engine.ops[op].stage == Stage::Complete).then(|| engine.ops[op].outcome)
}

/// Both make progress until nothing moves any more.
fn settle(engines: &mut [Engine; 2]) {
    let mut idle = 0;
    while idle < 200 {
        let moved = engines
            .iter_mut()
            .fold(false, |moved, engine| engine.progress() | moved);
        idle = if moved { 0 } else { idle + 1 };
    }
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 256) as u8).collect()
}

#[test]
fn eager_messages_of_every_length_arrive_posted_or_not() {
    for length in [0, 1, 8, 511, 512, 2048, 2049, 16 << 10, 128 << 10] {
        for posted in [true, false] {
            let mut engines = pair();
            let (data, mut room) = (bytes(length), vec![0; length]);
            let before = posted.then(|| receive(&mut engines[0], 5, &mut room));
            let sent = send(&mut engines[1], 5, &data);
            settle(&mut engines);
            let op = before.unwrap_or_else(|| receive(&mut engines[0], 5, &mut room));
            settle(&mut engines);
            let outcome = outcome(&engines[0], op).expect("complete");
            assert_eq!((outcome.arrival.bytes, outcome.arrival.tag), (length as u64, 5));
            assert!(!outcome.truncated && room == data, "{length} bytes, posted: {posted}");
            assert!(sent.is_none_or(|op| engines[1].ops[op].stage == Stage::Complete) && engines[1].is_quiet());
        }
    }
}

#[test]
fn a_rendezvous_completes_at_the_sender_when_all_bytes_are_there() {
    for posted in [true, false] {
        let mut engines = pair();
        let (data, mut room) = (bytes(LONG), vec![0; LONG]);
        let before = posted.then(|| receive(&mut engines[0], 5, &mut room));
        let sent = send(&mut engines[1], 5, &data).expect("announced");
        assert_eq!(engines[1].ops[sent].stage, Stage::Offered);
        if !posted {
            settle(&mut engines);
            assert_eq!(outcome(&engines[1], sent), None, "nobody has taken it");
        }
        let op = before.unwrap_or_else(|| receive(&mut engines[0], 5, &mut room));
        settle(&mut engines);
        assert!(outcome(&engines[0], op).is_some_and(|outcome| outcome.arrival.bytes == LONG as u64));
        assert!(outcome(&engines[1], sent).is_some() && room == data, "posted: {posted}");
    }
}

#[test]
fn a_synchronous_send_waits_for_its_receive_however_short() {
    for length in [8, 192, 193, 1000, 4032, 4033] {
        let mut engines = pair();
        let (data, mut room) = (bytes(length), vec![0; length]);
        let sent = send_as(Mode::Synchronous, &mut engines[1], 1, &data).expect("announced");
        settle(&mut engines);
        assert_eq!(outcome(&engines[1], sent), None);
        let op = receive(&mut engines[0], 1, &mut room);
        settle(&mut engines);
        assert!(outcome(&engines[0], op).is_some() && outcome(&engines[1], sent).is_some());
        assert!(room == data, "{length} bytes");
    }
}

#[test]
fn more_synchronous_sends_than_have_room_beside_them() {
    const MANY: usize = 50;
    let mut engines = pair();
    for _ in 0..3 {
        let data: Vec<_> = (0..MANY).map(|at| vec![at as u8; 1000]).collect();
        let sent: Vec<_> = data
            .iter()
            .map(|data| send_as(Mode::Synchronous, &mut engines[1], 1, data).expect("announced"))
            .collect();
        for data in &data {
            let mut room = vec![0; 1000];
            let op = receive(&mut engines[0], 1, &mut room);
            settle(&mut engines);
            assert!(outcome(&engines[0], op).is_some() && room == *data);
            engines[0].ops.release(op);
        }
        for sent in sent {
            assert!(outcome(&engines[1], sent).is_some());
            engines[1].ops.release(sent);
        }
    }
    assert!(engines[1].is_quiet());
}

#[test]
fn what_does_not_fit_is_cut_off_and_said() {
    for length in [100, 8 << 10, LONG] {
        let mut engines = pair();
        let (data, mut room) = (bytes(length), [vec![0; 64], vec![9; 64]].concat());
        let op = receive(&mut engines[0], 1, &mut room[..64]);
        send(&mut engines[1], 1, &data);
        settle(&mut engines);
        assert!(outcome(&engines[0], op).expect("complete").truncated);
        assert!(room[..64] == data[..64] && room[64..] == [9; 64], "{length} bytes");
        assert!(engines[1].is_quiet());
    }
}

#[test]
fn messages_without_room_wait_in_order() {
    const MANY: usize = 8000;
    let mut engines = pair();
    let data: Vec<_> = (0..MANY).map(|at| [at as u8; 700]).collect();
    for data in &data {
        send(&mut engines[1], 1, data);
    }
    assert!(!engines[1].is_quiet(), "more than the largest ring holds");
    for data in &data {
        let mut room = [0; 700];
        let op = receive(&mut engines[0], 1, &mut room);
        settle(&mut engines);
        assert!(outcome(&engines[0], op).is_some() && room == *data);
        engines[0].ops.release(op);
    }
    assert!(engines[1].is_quiet());
}

#[test]
fn a_withdrawn_offer_consumes_no_receive() {
    let mut engines = pair();
    let (data, mut room) = (bytes(LONG), vec![0; LONG]);
    let sent = send(&mut engines[1], 1, &data).expect("announced");
    assert!(engines[1].cancel(sent) && outcome(&engines[1], sent).is_some_and(|outcome| outcome.cancelled));
    let second = send(&mut engines[1], 1, &data).expect("announced");
    settle(&mut engines);
    let op = receive(&mut engines[0], 1, &mut room);
    settle(&mut engines);
    assert!(outcome(&engines[0], op).is_some_and(|outcome| !outcome.cancelled) && room == data);
    assert!(outcome(&engines[1], second).is_some(), "the second one was received");
    assert!(!engines[1].cancel(second), "too late");
}

#[test]
fn a_cancelled_receive_takes_nothing() {
    let mut engines = pair();
    let (mut first, mut second) = ([0; 8], [0; 8]);
    let op = receive(&mut engines[0], 1, &mut first);
    assert!(engines[0].cancel(op));
    send(&mut engines[1], 1, &[3; 8]);
    settle(&mut engines);
    let op = receive(&mut engines[0], 1, &mut second);
    assert!(outcome(&engines[0], op).is_some() && first == [0; 8] && second == [3; 8]);
}

#[test]
fn a_matched_probe_takes_the_offer_for_its_own_receive() {
    let mut engines = pair();
    let (data, mut room, mut other) = (bytes(LONG), vec![0; LONG], vec![0; LONG]);
    let sent = send(&mut engines[1], 1, &data).expect("announced");
    settle(&mut engines);
    let (message, arrival) = engines[0]
        .matched_probe(pattern(None, None))
        .expect("room")
        .expect("it is announced");
    assert_eq!((arrival.bytes, arrival.tag), (LONG as u64, 1));
    assert!(!engines[1].cancel(sent), "it is taken");
    let waiting = receive(&mut engines[0], 1, &mut other);
    // SAFETY: as in `receive`.
    let op = unsafe { engines[0].receive_matched(message, Buffer::target(room.as_mut_ptr()), LONG) }.expect("room");
    settle(&mut engines);
    assert!(outcome(&engines[0], op).is_some() && room == data);
    assert_eq!(outcome(&engines[0], waiting), None, "the message was not for this one");
}

#[test]
fn messages_through_new_ring_memory_teach_nothing() {
    let mut engines = pair();
    let data = bytes(100_000);
    let mut pass = |count| {
        for _ in 0..count {
            let mut room = vec![0; data.len()];
            let op = receive(&mut engines[0], 1, &mut room);
            send(&mut engines[1], 1, &data);
            settle(&mut engines);
            assert!(outcome(&engines[0], op).is_some() && room == data);
            engines[0].ops.release(op);
        }
        engines[0].transfers.learned[1].is_some()
    };
    assert!(!pass(3), "all of it was new");
    // No ring is longer than 4 MiB.
    assert!(pass(100), "it has come round");
}

/// Two that share CPUs.
fn crowded_pair() -> [Engine; 2] {
    let mut engines = pair();
    for engine in &mut engines {
        engine.transfers.open_blocks(17);
    }
    engines
}

#[test]
fn a_message_in_a_block_is_sent_at_once_and_its_block_changes_hands() {
    for posted in [true, false] {
        let mut engines = crowded_pair();
        let (data, mut room) = (bytes(100_000), vec![0; 100_000]);
        for (from, to) in [(1, 0), (0, 1), (1, 0)] {
            room.fill(0);
            let before = posted.then(|| receive(&mut engines[to], 5, &mut room));
            let mut sent = data.clone();
            assert_eq!(send(&mut engines[from], 5, &sent), None, "it is complete");
            sent.fill(9);
            assert_eq!(engines[from].transfers.blocks.here_and_away(), (0, 1));
            settle(&mut engines);
            let op = before.unwrap_or_else(|| receive(&mut engines[to], 5, &mut room));
            settle(&mut engines);
            assert!(outcome(&engines[to], op).is_some_and(|outcome| outcome.arrival.bytes == 100_000));
            assert!(room == data, "posted: {posted}");
            assert_eq!(engines[from].transfers.blocks.here_and_away(), (0, 0));
            assert_eq!(engines[to].transfers.blocks.here_and_away(), (1, 0));
            engines[to].ops.release(op);
        }
        assert!(engines.iter().all(Engine::is_quiet));
    }
}

#[test]
fn what_finds_no_block_goes_through_the_ring_and_stays_in_order() {
    let mut engines = crowded_pair();
    let length = 40_000;
    let mut sent: Vec<_> = (0..20).map(|number| vec![number; length]).collect();
    for data in &mut sent {
        send(&mut engines[1], 1, data);
    }
    settle(&mut engines);
    for number in 0..20 {
        let mut room = vec![0; length];
        let op = receive(&mut engines[0], 1, &mut room);
        settle(&mut engines);
        assert!(outcome(&engines[0], op).is_some() && room.iter().all(|&byte| byte == number));
        engines[0].ops.release(op);
    }
    assert!(engines[1].is_quiet());
    let (here, away) = engines[0].transfers.blocks.here_and_away();
    assert!(here > 1 && away == 0, "some were kept, but {here}");
    let mut room = vec![0; length];
    let op = receive(&mut engines[1], 2, &mut room);
    assert_eq!(send(&mut engines[0], 2, &sent[3]), None);
    settle(&mut engines);
    assert!(outcome(&engines[1], op).is_some() && room == sent[3]);
}

#[test]
fn a_block_of_another_size_goes_back() {
    let mut engines = crowded_pair();
    engines[0].transfers.open_blocks(18);
    let (data, mut room) = (bytes(50_000), vec![0; 50_000]);
    let op = receive(&mut engines[0], 1, &mut room);
    assert_eq!(send(&mut engines[1], 1, &data), None);
    settle(&mut engines);
    assert!(outcome(&engines[0], op).is_some() && room == data);
    assert_eq!(engines[0].transfers.blocks.here_and_away(), (0, 0));
    assert_eq!(send(&mut engines[1], 2, &data), None);
    assert_eq!(
        engines[1].transfers.blocks.here_and_away(),
        (0, 1),
        "the same one again"
    );
}

#[test]
fn a_block_with_a_message_to_a_dead_process_is_not_used_again() {
    let mut engines = crowded_pair();
    let data = bytes(50_000);
    assert_eq!(send(&mut engines[1], 1, &data), None);
    engines[1].transfers.forget(0);
    assert_eq!(engines[1].transfers.blocks.here_and_away(), (0, 0));
}
