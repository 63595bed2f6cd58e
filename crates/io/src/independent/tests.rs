//! Accesses against a model of the file, over back ends that do less than they are asked for.

use std::sync::Arc;

use isthmus_datatype::shape::Block;
use isthmus_datatype::{Shape, Type};

use super::*;
use crate::fault::{Fault, Plan};
use crate::posix::{Create, How, Posix};

fn file(name: &str) -> Posix {
    let path = std::env::temp_dir().join(format!("isthmus-io-{}-{name}", std::process::id()));
    let how = How {
        read: true,
        write: true,
        create: Create::Missing,
        mode: 0o600,
    };
    let file = Posix::open(&path, how).expect("a file");
    std::fs::remove_file(path).expect("made above");
    file
}

/// Bytes at 1 to 3 and 7 of each 11.
fn view() -> View {
    let byte = Type::of_name("MPI_BYTE");
    let block = |at, count| Block {
        displacement: at,
        count,
        shape: byte.shape(),
    };
    let shape = Shape::sequence([block(1, 3), block(7, 1)].into_iter()).and_then(|shape| shape.resized(0, 11));
    View::new(5, &byte, &Type::derived(shape.expect("small"))).expect("good")
}

fn scattered() -> Arc<Type> {
    Type::derived(Type::of_name("MPI_BYTE").shape().repeated(2, 3).expect("small"))
}

#[test]
fn what_is_written_is_read_and_nothing_else_changes() {
    let view = view();
    for (name, plan) in [("whole", ""), ("short", "short=2,eintr=3")] {
        for choice in [Choice::Automatic, Choice::Enable, Choice::Disable] {
            let file = Fault::new(file(name), Plan::parse(plan).expect("good"));
            let background: Vec<u8> = (0..100).map(|byte| byte | 128).collect();
            backend::write(&file, &background, 0).expect("room");
            let hints = Hints {
                ds_read: choice,
                ds_write: choice,
                read_buffer: 16,
                write_buffer: 13,
                ..Hints::default()
            };
            let access = Access {
                file: &file,
                view: &view,
                hints: &hints,
                gaps: choice,
                locked: choice == Choice::Disable,
            };
            let mut elements = [0_u8; 60];
            for (value, place) in (1..).zip(&mut elements) {
                *place = value;
            }
            let of = scattered();
            // SAFETY: ten elements of four bytes and room lie in the array.
            let memory = unsafe { AccessMemory::of_elements(elements.as_mut_ptr(), 10, &of) };
            access.write(&memory, 3).expect("room");
            let mut expected = background.clone();
            let mut stream = vec![0; 20];
            memory.copy_out(0, &mut stream);
            for (at, byte) in (3..).zip(&stream) {
                expected[view.offset_of(at) as usize] = *byte;
            }
            let mut all = vec![0; 200];
            assert_eq!(backend::read(&file, &mut all, 0), Ok(100));
            assert_eq!(&all[..100], expected, "{name} {choice:?}");
            let back = AccessMemory::owned(vec![0; 50]);
            // The file ends after 100 bytes: positions before that, less the three that are skipped.
            let there = view.position_at(100) - 3;
            assert_eq!(access.read(&back, 3), Ok(there.min(50)));
            assert_eq!(&back.into_owned()[..20], stream);
        }
    }
}

#[test]
fn an_error_says_why() {
    let file = Fault::new(file("error"), Plan::parse("enospc=2").expect("good"));
    let (view, hints) = (view(), Hints::default());
    let access = Access {
        file: &file,
        view: &view,
        hints: &hints,
        gaps: Choice::Automatic,
        locked: false,
    };
    let failure = access.write(&AccessMemory::owned(vec![1; 40]), 0).expect_err("full");
    assert_eq!((failure.call, failure.errno), ("pwrite", libc::ENOSPC));
}

#[test]
fn closing_tells_of_errors_and_leaves_the_file_open() {
    let full = Fault::new(file("flushed"), Plan::parse("enospc=0").expect("good"));
    let error = full.flush().expect_err("full");
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    let file = file("flushed");
    file.flush().expect("good");
    assert_eq!(file.write(&[1; 40], 0).expect("open still"), 40);
}

#[test]
fn long_places_of_memory_go_by_lists() {
    // Two places of 5000 bytes in each element, the second one before the first.
    let byte = Type::of_name("MPI_BYTE");
    let block = |displacement| Block {
        displacement,
        count: 5000,
        shape: byte.shape(),
    };
    let shape = Shape::sequence([block(9000), block(0)].into_iter()).and_then(|shape| shape.resized(0, 15_000));
    let of = Type::derived(shape.expect("small"));
    for plan in ["", "short=700,eintr=3"] {
        for view in [View::contiguous(3, 1), view()] {
            let file = Fault::new(file("lists"), Plan::parse(plan).expect("good"));
            let hints = Hints::default();
            let access = Access {
                file: &file,
                view: &view,
                hints: &hints,
                gaps: Choice::Disable,
                locked: false,
            };
            let mut elements: Vec<u8> = (0..45_000_u32).map(|at| (at / 7 % 251) as u8).collect();
            // SAFETY: three elements lie in the vector.
            let memory = unsafe { AccessMemory::of_elements(elements.as_mut_ptr(), 3, &of) };
            assert!(memory.is_listed());
            let mut stream = vec![0; 30_000];
            memory.copy_out(0, &mut stream);
            access.write(&memory, 10).expect("room");
            let same = AccessMemory::owned(vec![0; 30_000]);
            assert_eq!(access.read(&same, 10), Ok(30_000));
            assert!(same.into_owned() == stream);
            let mut back = vec![0; 45_000];
            // SAFETY: as above.
            let memory = unsafe { AccessMemory::of_elements(back.as_mut_ptr(), 3, &of) };
            // The file ends 2000 bytes early.
            file.resize(view.offset_of(10 + 28_000)).expect("open");
            assert_eq!(access.read(&memory, 10), Ok(28_000));
            let mut read = vec![0; 30_000];
            memory.copy_out(0, &mut read);
            assert!(read[..28_000] == stream[..28_000] && read[28_000..].iter().all(|byte| *byte == 0));
            // The gap keeps its zeros.
            assert!(back[5000..9000].iter().all(|byte| *byte == 0));
        }
    }
}
