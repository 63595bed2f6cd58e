//! Rows and pieces, between memory of all kinds.

use super::*;

/// Rows and pieces between all kinds; what is checked is every byte of the target.
fn layouts() {
    start();
    context(0);
    let room = 2 << 20;
    let source_noise = noise(room, 5);
    for (from_name, from) in of_each_kind(room) {
        for (to_name, to) in of_each_kind(room) {
            view(from_name, from, room).copy_from_slice(&source_noise);
            for (width, rows, to_pitch, from_pitch) in [
                (8, 1000, 8, 24),
                (8, 1000, 24, 8),
                (3, 500, 7, 11),
                (16, 100, -48, 32),
                (1, 300, 1, -5),
                (5000, 40, 5000, 6000),
                (5000, 40, -6000, 5001),
                (70_000, 5, 80_000, 100_000),
                (64, 3, 64, 0),
            ] {
                let first = |pitch: isize| if pitch < 0 { (rows as isize - 1) * -pitch } else { 0 };
                let (to_first, from_first) = (first(to_pitch), first(from_pitch));
                view(to_name, to, room).fill(7);
                let mut expected = vec![7_u8; room];
                for row in 0..rows as isize {
                    let at = (to_first + row * to_pitch) as usize;
                    let of = (from_first + row * from_pitch) as usize;
                    expected[at..at + width].copy_from_slice(&source_noise[of..of + width]);
                }
                let (to_rows, from_rows) = (
                    Rows {
                        at: to.wrapping_offset(to_first),
                        pitch: to_pitch,
                    },
                    Rows {
                        at: from.wrapping_offset(from_first).cast_const(),
                        pitch: from_pitch,
                    },
                );
                // SAFETY: both have as many bytes.
                unsafe { mem::copy_rows(to_rows, from_rows, width, rows).expect("rows") };
                let same = view(to_name, to, room) == expected;
                assert!(same, "{from_name} {to_name} {width} {rows} {to_pitch} {from_pitch}");
            }
            for (count, most, regular) in [
                (3, 1000, false),
                (1000, 90, false),
                (40, 40_000, false),
                (500, 8, true),
                (300, 1, true),
            ] {
                pieces(count, most, regular, (from_name, from), (to_name, to), &source_noise);
            }
        }
    }
}

fn pieces(count: usize, most: usize, regular: bool, from: (&str, *mut u8), to: (&str, *mut u8), source: &[u8]) {
    let ((from_name, from), (to_name, to)) = (from, to);
    let room = source.len();
    let lengths = noise(count * 4, most as u64);
    let mut offset = 0_i64;
    let base = room / 2;
    let mut list: Vec<Piece> = (0..count)
        .map(|i| {
            let any = u32::from_le_bytes(lengths[4 * i..4 * i + 4].try_into().expect("4 bytes")) as usize;
            let length = if regular { most } else { any % (most + 1) };
            let piece = Piece {
                offset: offset - (base / 2) as i64,
                length: length as u64,
            };
            offset += length as i64 + if regular { 8 } else { (any >> 20) as i64 % 16 };
            piece
        })
        .collect();
    if !regular {
        list.reverse();
    }
    let total: usize = list.iter().map(|piece| piece.length as usize).sum();
    assert!(offset < room as i64 / 2 + base as i64 / 2);
    let mut packed = Vec::new();
    for piece in &list {
        let at = (base as i64 + piece.offset) as usize;
        packed.extend_from_slice(&source[at..at + piece.length as usize]);
    }
    // Pack from memory with gaps.
    view(to_name, to, room).fill(7);
    // SAFETY: both have as many bytes.
    unsafe { mem::copy_pieces(from.wrapping_add(base), &list, to, false).expect("packing") };
    let got = view(to_name, to, room);
    assert!(
        got[..total] == packed[..] && got[total..].iter().all(|&byte| byte == 7),
        "{from_name} {to_name} {count} {most}"
    );
    // And unpack what has been packed elsewhere.
    let mut expected = vec![9_u8; room];
    let mut position = 0;
    for piece in &list {
        let (at, length) = ((base as i64 + piece.offset) as usize, piece.length as usize);
        expected[at..at + length].copy_from_slice(&source[position..position + length]);
        position += length;
    }
    view(to_name, to, room).fill(9);
    // SAFETY: as above.
    unsafe { mem::copy_pieces(to.wrapping_add(base), &list, from, true).expect("unpacking") };
    assert!(
        view(to_name, to, room) == expected,
        "unpack {from_name} {to_name} {count} {most}"
    );
}

#[test]
fn rows_and_pieces_between_all_kinds() {
    if alone(
        "layouts::rows_and_pieces_between_all_kinds",
        &[("ISTHMUS_TEST_CUDA_LATE", "1")],
    ) {
        layouts();
    }
}

#[test]
fn rows_and_pieces_where_the_driver_refuses_something() {
    let name = "layouts::rows_and_pieces_where_the_driver_refuses_something";
    for refused in ["cuModuleLoadData", "cuMemHostAlloc", "cuMemcpy2DAsync"] {
        let fail = format!(
            "{refused}:CUDA_ERROR_NOT_SUPPORTED:{}",
            if refused == "cuMemHostAlloc" { 50 } else { 1 }
        );
        if alone(name, &[("ISTHMUS_TEST_CUDA_FAIL", &fail)]) {
            layouts();
            return;
        }
    }
}

#[test]
fn rows_and_pieces_between_devices_that_do_not_reach_each_other() {
    let name = "layouts::rows_and_pieces_between_devices_that_do_not_reach_each_other";
    if !alone(name, &[("ISTHMUS_TEST_DEVICES", "2"), ("ISTHMUS_TEST_CUDA_PEER", "0")]) {
        return;
    }
    start();
    let room = 1 << 20;
    context(0);
    let from = allocate(room);
    context(1);
    let to = allocate(room);
    let source = noise(room, 3);
    seen(from, room).copy_from_slice(&source);
    pieces(500, 100, false, ("device", from), ("device", to), &source);
    pieces(500, 8, true, ("device", from), ("device", to), &source);
    // SAFETY: both have as many bytes.
    unsafe {
        let (to, from) = (
            Rows { at: to, pitch: 8 },
            Rows {
                at: from.cast_const(),
                pitch: 16,
            },
        );
        mem::copy_rows(to, from, 8, 100).expect("rows");
        mem::combine(Op::Sum, Number::U8, Device(1), to.at, from.at, to.at, 10).expect("a sum");
    }
    assert_eq!(seen(to, 1)[0], source[0].wrapping_add(source[0]));
}
