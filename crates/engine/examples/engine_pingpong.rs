//! Half round trip between ranks 0 and 1 on the bare engine: `mpiexec -n 2 engine_pingpong [bytes]`.
#![allow(unsafe_code)] // Calls the engine as the MPI layer does.

use std::time::Instant;

use isthmus_engine::{ContextId, Mode, Peer, Posting, enter, join, part, wait_until};

fn main() {
    join().expect("booted");
    let world = isthmus_engine::world().clone();
    let sizes: Vec<usize> = match std::env::args().nth(1) {
        Some(size) => vec![size.parse().expect("a number")],
        None => [
            0,
            8,
            64,
            512,
            2048,
            8192,
            32 << 10,
            128 << 10,
            512 << 10,
            2 << 20,
            4 << 20,
        ]
        .to_vec(),
    };
    for size in sizes {
        let mut space = vec![world.rank as u8; size + 4096];
        let at = space.as_ptr().align_offset(4096);
        let buffer = &mut space[at..];
        let rounds = (2_000_000_000 / (200 + size)).min(2_000_000) / 10;
        let peer = Peer(1 - world.rank);
        let posting = Posting {
            context: ContextId(0),
            source: world.rank as i32,
            tag: 1,
        };
        let start = Instant::now();
        for _ in 0..rounds {
            // SAFETY: the buffer outlives both operations.
            let send = || unsafe { enter().send(Mode::Standard, peer, posting, buffer.as_ptr(), size) }.expect("sent");
            if world.rank == 0
                && let Some(op) = send()
            {
                wait_until(|inside| inside.take(op)).expect("sent");
            }
            // SAFETY: as above.
            let op =
                unsafe { enter().receive(Some(peer), ContextId(0), Some(1), buffer.as_mut_ptr(), size) }.expect("room");
            wait_until(|inside| inside.take(op)).expect("received");
            if world.rank == 1
                // SAFETY: as above.
                && let Some(op) = unsafe { enter().send(Mode::Standard, peer, posting, buffer.as_ptr(), size) }.expect("sent")
            {
                wait_until(|inside| inside.take(op)).expect("sent");
            }
        }
        if world.rank == 0 {
            println!(
                "{size:>8} B  {:>9.3} us",
                start.elapsed().as_secs_f64() * 1e6 / rounds as f64 / 2.0
            );
        }
    }
    part();
}
