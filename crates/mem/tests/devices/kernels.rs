//! Reductions.

use super::*;

fn write(number: Number, at: *mut u8, values: &[i64]) {
    let bytes: Vec<u8> = values.iter().flat_map(|&value| bytes_of(number, value)).collect();
    seen(at, bytes.len()).copy_from_slice(&bytes);
}

#[test]
fn each_operation_of_each_number_has_a_kernel() {
    if !alone("kernels::each_operation_of_each_number_has_a_kernel", &[]) {
        return;
    }
    start();
    context(0);
    let count = 100;
    let (left, right, result) = (allocate(16 * count), allocate(16 * count), allocate(16 * count));
    for number in Number::ALL {
        let a: Vec<i64> = (0..count as i64).map(|i| i % 11).collect();
        let b: Vec<i64> = (0..count as i64).map(|i| i % 7).collect();
        write(number, left, &a);
        write(number, right, &b);
        let bytes = count * number.bytes();
        for op in Op::ALL {
            seen(result, bytes).fill(0);
            // SAFETY: all have as many elements.
            let answer = unsafe { mem::combine(op, number, Device(0), result, left, right, count) };
            if !mem::combines(op, number) {
                assert!(answer.is_err());
                continue;
            }
            answer.expect("a kernel");
            let got = seen(result, bytes).to_vec();
            match number {
                Number::C32 | Number::C64 if op == Op::Prod => {
                    // (a + ia) * (b + ib) = i * 2ab
                    let product = a.iter().zip(&b).flat_map(|(a, b)| [0, 2 * a * b]).collect::<Vec<_>>();
                    let simple = if number == Number::C32 {
                        Number::F32
                    } else {
                        Number::F64
                    };
                    write(simple, result, &product);
                }
                _ => {
                    let values = a.iter().zip(&b).map(|(&a, &b)| expected(op, a, b)).collect::<Vec<_>>();
                    write(number, result, &values);
                }
            }
            assert!(got == seen(result, bytes), "{op:?} {number:?}");
        }
    }
    // Memory that no kernel reaches, and elements that are not aligned.
    let (host, mut sum) = (vec![3_i32; 1000], vec![0_i32; 1000]);
    let odd = allocate(4001);
    for (to, from) in [
        (sum.as_mut_ptr().cast(), host.as_ptr().cast::<u8>()),
        (odd.wrapping_add(1), host.as_ptr().cast()),
    ] {
        // SAFETY: all have as many elements.
        unsafe { mem::combine(Op::Sum, Number::I32, Device(0), to, from, from, 1000).expect("a sum") };
    }
    assert_eq!(sum, vec![6; 1000]);
    assert_eq!(seen(odd.wrapping_add(1), 4)[..], 6_i32.to_ne_bytes());
}
