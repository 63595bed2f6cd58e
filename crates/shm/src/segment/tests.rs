//! Segments made and mapped in one process.

use isthmus_os::{huge, memory};

use super::*;

#[test]
fn two_mappings_see_the_same_memory() {
    let fd = create(3, [7; 16]).expect("memfd");
    let other = fd.try_clone().expect("dup");
    let (a, b) = (
        Segment::attach(fd, [7; 16]).expect("attach"),
        Segment::attach(other, [7; 16]).expect("attach"),
    );
    assert!(a.slot(2).claim());
    assert!(!b.slot(2).claim());
    let offset = a.allocate(5000).expect("memory");
    assert!(a.at(offset, 8192).is_some());
    assert!(b.at(offset, 8193).is_none(), "beyond what was taken");
    assert!(b.at(Offset(0), 8).is_none(), "the header is nobody's");
    assert!(b.at(Offset(u64::MAX), 8).is_none());
    // SAFETY: both addresses are valid for a byte.
    unsafe {
        a.at(offset, 1).expect("ours").write(7);
        assert_eq!(b.at(offset, 1).expect("the same").read(), 7);
    }
}

#[test]
fn only_what_is_taken_is_open_where_a_checker_runs() {
    let accessible = |segment: &Segment| {
        let base = format!("{:x}-", segment.base().addr());
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let line = maps
            .lines()
            .find(|line| line.starts_with(&base))
            .expect("the mapping")
            .to_owned();
        let end = line[base.len()..].split(' ').next().expect("its end");
        u64::from_str_radix(end, 16).expect("an address") - segment.base().addr().get() as u64
    };
    let fd = create(2, [7; 16]).expect("memfd");
    let segment = Segment::attach(fd, [7; 16]).expect("attach");
    segment.close();
    assert_eq!(accessible(&segment), segment.arena);
    let at = segment.allocate(5 << 20).expect("memory");
    let first = segment.at(at, 5 << 20).expect("taken");
    // SAFETY: taken, and nobody else's.
    unsafe { first.add((5 << 20) - 1).write(7) };
    assert!((5 << 20..6 << 20).contains(&accessible(&segment)));
}

#[test]
fn addresses_first_and_memory_later() {
    let fd = create(1, [7; 16]).expect("memfd");
    let segment = Segment::attach(fd, [7; 16]).expect("attach");
    let before = segment.memory().expect("a number");
    let used = || segment.memory().expect("a number") - before;
    let at = segment.take(8 << 20).expect("addresses");
    assert_eq!(used(), PAGE, "the last page");
    let first = segment.at(at, 8 << 20).expect("taken");
    // SAFETY: taken, and nobody else's.
    unsafe { first.add(1 << 20).write(7) };
    assert!(segment.lend(at, 8 << 20));
    segment.back(at, 4 << 20).expect("memory");
    assert_eq!(used(), (4 << 20) + PAGE);
    // SAFETY: as above.
    assert_eq!(unsafe { first.add(1 << 20).read() }, 7, "what had memory keeps it");
    assert!(segment.punch(at, 8 << 20));
    assert_eq!(used(), 0);
    // SAFETY: as above.
    assert_eq!(unsafe { first.add(1 << 20).read() }, 0, "gone, but still there");
    assert!(!segment.lend(Offset(at.0), 9 << 20), "not all of it was taken");
}

#[test]
fn promised_memory_comes_when_it_is_touched() {
    let fd = create(1, [7; 16]).expect("memfd");
    let segment = Segment::attach(fd, [7; 16]).expect("attach");
    let at = segment.take(64 << 20).expect("addresses");
    let before = segment.memory().expect("a number");
    let granted = segment.account().granted.load(Ordering::Relaxed);
    segment.promise(at, 64 << 20).expect("memory");
    assert_eq!(segment.account().granted.load(Ordering::Relaxed), granted + (64 << 20));
    let used = || segment.memory().expect("a number") - before;
    if !memory::comes_when_touched() {
        println!("this kernel counts what could be touched");
        assert!(used() >= (64 << 20) - PAGE);
        return;
    }
    assert_eq!(used(), 0);
    let first = segment.at(at, 64 << 20).expect("taken");
    // SAFETY: taken, and nobody else's.
    unsafe {
        assert_eq!(first.add(32 << 20).read(), 0);
        first.write(7);
    }
    assert!((PAGE..8 << 20).contains(&used()), "{}", used());
    assert!(segment.unback(at, 64 << 20));
    assert_eq!(segment.account().granted.load(Ordering::Relaxed), granted);
    // SAFETY: as above.
    assert_eq!(unsafe { first.read() }, 0);
}

#[test]
fn ranks_on_other_nodes() {
    let nodes = Nodes {
        own: 1,
        of: vec![0, 0, 1, 1, 1],
    };
    let fd = create_on(5, [7; 16], Some(&nodes)).expect("memfd");
    let overview = Segment::oversee(&fd, [7; 16]).expect("attach");
    let segment = Segment::attach(fd, [7; 16]).expect("attach");
    assert_eq!((segment.nodes(), segment.node(), segment.ranks_here()), (2, 1, 3));
    let elsewhere: Vec<bool> = (0..5).map(|rank| segment.is_elsewhere(rank)).collect();
    assert_eq!(elsewhere, [true, true, false, false, false]);
    assert!(!segment.slot(0).is_at_work() && segment.slot(2).is_at_work());
    assert!(overview.card(0).expect("a card").write(b"over there"));
    assert_eq!(segment.card(0).and_then(Card::name), Some(b"over there".to_vec()));
    let first = segment.allocate(1).expect("memory");
    let (slots, ranks, before) = segment.slots_of_all(3).expect("addresses");
    assert_eq!(slots.0, plan(5).arena + PAGE, "the arena begins behind the cards");
    assert_eq!((ranks, before), (3, 1), "of this node");
    assert_eq!(first.0, slots.0 + 3 * SLOTS_OF_EACH);
    assert!(
        segment.at(Offset(plan(5).arena), 64).is_none(),
        "the cards are not of it"
    );
}

#[test]
fn foreign_descriptors_are_refused() {
    let fd = memfd::create(c"other").expect("memfd");
    assert!(matches!(Segment::attach(fd, [7; 16]), Err(Error::Foreign)));
    let fd = memfd::create(c"other").expect("memfd");
    memfd::reserve(&fd, 0, 1 << 20).expect("memory");
    assert!(matches!(Segment::attach(fd, [7; 16]), Err(Error::Foreign)));
    assert!(matches!(create(MAX_RANKS + 1, [7; 16]), Err(Error::TooManyRanks(_))));
}

/// Huge pages from the pool, where this machine has one: another mapping finds them at the same offset, they come back, and what is not there
/// is an error. Says so where there is no pool; `tests/mechanisms.rs` tries programs where it can make one.
#[test]
fn huge_pages_come_from_the_pool_and_go_back() {
    let fd = create(1, [7; 16]).expect("memfd");
    let other = fd.try_clone().expect("dup");
    let Some(pool) = create_pool(&fd) else {
        println!("this machine has no pool of huge pages");
        let segment = Segment::attach(fd, [7; 16]).expect("attach");
        assert!(!segment.has_pool() && segment.take_from_pool(1).is_err());
        return;
    };
    let second = pool.try_clone().expect("dup");
    let a = Segment::attach_with(fd, Some(pool), [7; 16]).expect("attach");
    let b = Segment::attach_with(other, Some(second), [7; 16]).expect("attach");
    // The second lies elsewhere, since the first is where both want to be.
    let (at, length) = (a.take_from_pool(huge::BYTES).expect("addresses"), huge::BYTES);
    if a.back(at, length).is_err() {
        println!("nothing is left in the pool");
        return;
    }
    assert!(a.range(at.0, length).is_some() && a.range(at.0, length + 1).is_none());
    if let Some(there) = b.range(at.0, length).filter(|_| b.has_pool()) {
        // SAFETY: both are backed.
        unsafe {
            a.range(at.0, 1).expect("ours").write(7);
            assert_eq!(there.read(), 7);
        }
    }
    assert!(a.unback(at, length));
    assert!(a.back(at, u64::MAX / 2).is_err(), "no pool is so large");
}
