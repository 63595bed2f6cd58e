//! One engine that lives and one that dies, in one process.

use isthmus_shm::Segment;

use super::*;
use crate::matching::queues::Pattern;
use crate::membership::control::Nonce;
use crate::memory::buffer::Buffer;
use crate::types::{Mode, Posting};

const LONG: usize = 1 << 20;

fn pair() -> (Engine, Engine) {
    let fd = crate::membership::job::create(2, Nonce([1; 16])).expect("memory");
    let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [1; 16]).expect("a job segment")));
    (Engine::new(segment, 0, true, None), Engine::new(segment, 1, true, None))
}

fn die(who: &Engine) {
    who.segment.declare_failed(Failure {
        rank: who.me,
        in_peace: false,
    });
    (0..who.segment.ranks()).for_each(|rank| who.segment.alert(rank));
}

fn receive(engine: &mut Engine, from: Option<u32>, context: u32, tag: i32, buffer: &mut [u8]) -> u32 {
    let pattern = Pattern {
        context: ContextId(context),
        from,
        tag: Some(tag),
    };
    // SAFETY: the buffers of these tests live longer than their engines are used.
    unsafe { engine.receive(pattern, Buffer::target(buffer.as_mut_ptr()), buffer.len()) }.expect("room")
}

fn send(engine: &mut Engine, to: u32, context: u32, tag: i32, data: &[u8]) -> Option<u32> {
    let posting = Posting {
        context: ContextId(context),
        source: engine.me as i32,
        tag,
    };
    // SAFETY: as in `receive`.
    unsafe { engine.send(Mode::Standard, to, posting, Buffer::source(data.as_ptr()), data.len()) }.expect("room")
}

/// `None`: not over. Else (failed, revoked).
fn ended(engine: &Engine, op: u32) -> Option<(bool, bool)> {
    let op = &engine.ops[op];
    (op.stage == Stage::Complete).then_some((op.outcome.peer_failed, op.outcome.revoked))
}

#[test]
fn a_death_ends_what_needs_the_dead_and_nothing_else() {
    let (mut us, mut them) = pair();
    let (long, mut room, mut small) = (vec![7; LONG], vec![0; LONG], [[0; 8]; 6]);
    let [one, two, three, four, five, six] = &mut small;
    let arrives = receive(&mut us, Some(1), 0, 1, one);
    let never = receive(&mut us, Some(1), 0, 2, two);
    let any = receive(&mut us, None, 0, 3, three);
    let ours = receive(&mut us, Some(0), 0, 4, four);
    let announced = send(&mut us, 1, 0, 5, &long).expect("too long to be over");
    assert_eq!(send(&mut them, 0, 0, 1, &[1; 8]), None);
    assert_eq!(send(&mut them, 0, 0, 6, &[6; 8]), None);
    send(&mut them, 0, 0, 7, &long);
    die(&them);
    assert!(us.progress());
    assert_eq!(ended(&us, arrives), Some((false, false)), "it was sent before");
    assert_eq!(ended(&us, never), Some((true, false)));
    assert_eq!(ended(&us, announced), Some((true, false)));
    assert_eq!(ended(&us, any), None, "somebody else may send it");
    assert_eq!(ended(&us, ours), None);
    assert_eq!(send(&mut us, 0, 0, 4, &[4; 8]), None, "we live");
    assert_eq!(ended(&us, ours), Some((false, false)));
    // Later operations: what came before the death is there, what was only announced is not.
    let kept = receive(&mut us, Some(1), 0, 6, five);
    assert_eq!(ended(&us, kept), Some((false, false)));
    let gone = receive(&mut us, Some(1), 0, 7, &mut room);
    assert_eq!(ended(&us, gone), Some((true, false)));
    let late = send(&mut us, 1, 0, 8, six).expect("a failure is an operation");
    assert_eq!(ended(&us, late), Some((true, false)));
    assert!(us.is_quiet());
    assert_eq!((*one, *five), ([1; 8], [6; 8]));
}

#[test]
fn a_message_under_way_dies_with_its_sender() {
    let (mut us, mut them) = pair();
    // More than a ring holds.
    them.transfers.set_eager_limit(4 * LONG);
    let (data, mut room) = (vec![7; 4 * LONG], vec![0; 4 * LONG]);
    let begun = receive(&mut us, Some(1), 0, 1, &mut room);
    send(&mut them, 0, 0, 1, &data).expect("there is no room for all of it");
    us.progress();
    assert!(matches!(us.ops[begun].stage, Stage::Receiving { .. }));
    die(&them);
    us.progress();
    assert_eq!(ended(&us, begun), Some((true, false)));
}

#[test]
fn a_taken_message_may_be_lost_too() {
    let (mut us, mut them) = pair();
    let (long, mut room) = (vec![7; LONG], vec![0; LONG]);
    send(&mut them, 0, 0, 1, &long);
    us.progress();
    let pattern = Pattern {
        context: ContextId(0),
        from: Some(1),
        tag: Some(1),
    };
    let (message, _) = us.matched_probe(pattern).expect("room").expect("announced");
    die(&them);
    us.progress();
    // SAFETY: the buffer lives.
    let op = unsafe { us.receive_matched(message, Buffer::target(room.as_mut_ptr()), LONG) }.expect("room");
    assert_eq!(ended(&us, op), Some((true, false)));
}

#[test]
fn a_revoked_space_takes_nothing_any_more() {
    let (mut us, mut them) = pair();
    let (long, mut small) = (vec![7; LONG], [[0; 8]; 4]);
    let [one, two, three, four] = &mut small;
    let posted = receive(&mut us, Some(1), 6, 1, one);
    let other = receive(&mut us, Some(1), 0, 1, two);
    let announced = send(&mut us, 1, 7, 2, &long).expect("too long to be over");
    let at = them.segment.allocate(revocation::bytes_for(1)).expect("memory");
    revocation::publish(them.segment, at, 1, (6, 2), &[0]).expect("ours");
    us.segment.alert(0);
    us.progress();
    assert_eq!(ended(&us, posted), Some((true, true)));
    assert_eq!(ended(&us, announced), Some((true, true)));
    assert_eq!(ended(&us, other), None);
    let late = receive(&mut us, None, 6, 1, three);
    assert_eq!(ended(&us, late), Some((true, true)));
    let late = send(&mut us, 0, 7, 1, four).expect("a failure is an operation");
    assert_eq!(ended(&us, late), Some((true, true)));
    // The others' announcement was withdrawn: nobody fetches it.
    them.progress();
    assert_eq!(send(&mut them, 0, 0, 1, &[9; 8]), None);
    us.progress();
    assert_eq!(ended(&us, other), Some((false, false)));
    assert_eq!(*two, [9; 8]);
}
