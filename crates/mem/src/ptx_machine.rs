//! Kernels run where there is no device: a machine for the assembly that they are made of. It knows the instructions that the
//! templates use, as the PTX ISA describes them, and runs one thread after the other.

#[path = "../tests/devices/numbers.rs"]
mod numbers;

use std::collections::HashMap;

use crate::kernel::{Entry, Kernel, Packing, all};
use crate::ptx::text;
use crate::{Number, Op};
use numbers::{bytes_of, expected};

/// An instruction: the register that it depends on, its name in parts, and its operands.
#[derive(Debug)]
struct Instruction {
    when: Option<String>,
    name: Vec<String>,
    operands: Vec<String>,
}

/// A kernel.
struct Machine {
    parameters: Vec<String>,
    code: Vec<Instruction>,
    labels: HashMap<String, usize>,
}

/// Threads: blocks, and threads of each.
const BLOCKS: u64 = 2;
const THREADS: u64 = 32;

fn bits_of(kind: &str) -> u32 {
    match kind {
        "pred" => 1,
        "bf16" => 16,
        _ => kind[1..].parse().expect("a type"),
    }
}

fn mask(value: u64, bits: u32) -> u64 {
    if bits == 64 { value } else { value & ((1 << bits) - 1) }
}

/// As a signed number of this type, or an unsigned one.
fn whole(value: u64, kind: &str) -> i128 {
    let bits = bits_of(kind);
    let value = mask(value, bits);
    match kind.starts_with('s') && value >> (bits - 1) != 0 {
        true => i128::from(value) - (1 << bits),
        false => i128::from(value),
    }
}

fn real(value: u64, kind: &str) -> f64 {
    match kind {
        "f32" => f64::from(f32::from_bits(value as u32)),
        _ => f64::from_bits(value),
    }
}

/// The value of binary16 bits.
fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        0 => fraction * 2_f32.powi(-24),
        _ => (1.0 + fraction / 1024.0) * 2_f32.powi(exponent - 15),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// The nearest binary16, the even one of two.
fn to_half(value: f32) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return 0x7fff;
    }
    if value.abs() >= 65520.0 {
        return sign | 0x7c00;
    }
    let distance = |bits: u16| (f64::from(from_half(bits)) - f64::from(value.abs())).abs();
    let best = (0..0x7c00_u16).min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    sign | best.expect("some")
}

impl Machine {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once('{').expect("a body");
        let parameters = head.split_once('(').expect("parameters").1;
        let mut machine = Self {
            parameters: parameters
                .trim_end()
                .trim_end_matches(')')
                .split(',')
                .map(|one| one.split_whitespace().last().expect("a name").to_owned())
                .collect(),
            code: Vec::new(),
            labels: HashMap::new(),
        };
        for line in body.lines().map(str::trim).filter(|line| !line.starts_with(".reg")) {
            if let Some(label) = line.strip_suffix(':') {
                machine.labels.insert(label.to_owned(), machine.code.len());
            } else if let Some(line) = line.strip_suffix(';') {
                machine.code.push(Instruction::of(line));
            } else {
                assert!(["", "}"].contains(&line), "{line}");
            }
        }
        machine
    }

    /// Run all threads with these parameters.
    ///
    /// # Safety
    /// The memory that the kernel accesses is there.
    unsafe fn run(&self, parameters: &[u64]) {
        assert_eq!(parameters.len(), self.parameters.len());
        for block in 0..BLOCKS {
            for thread in 0..THREADS {
                // SAFETY: the caller's promise.
                unsafe { self.run_thread(parameters, block, thread) };
            }
        }
    }

    unsafe fn run_thread(&self, parameters: &[u64], block: u64, thread: u64) {
        let mut registers: HashMap<String, u64> = [
            ("%ntid.x", THREADS),
            ("%ctaid.x", block),
            ("%tid.x", thread),
            ("%nctaid.x", BLOCKS),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        for (name, &value) in self.parameters.iter().zip(parameters) {
            registers.insert(name.clone(), value);
        }
        let mut at = 0;
        for _ in 0..1_000_000 {
            let instruction = &self.code[at];
            at += 1;
            if instruction.when.as_ref().is_some_and(|when| registers[when] == 0) {
                continue;
            }
            match instruction.name[0].as_str() {
                "ret" => return,
                "bra" => at = self.labels[&instruction.operands[0]],
                // SAFETY: the caller's promise.
                _ => unsafe { instruction.perform(&mut registers) },
            }
        }
        panic!("a thread does not end");
    }
}

impl Instruction {
    fn of(line: &str) -> Self {
        let (when, line) = match line.strip_prefix('@') {
            Some(line) => {
                let (when, line) = line.split_once(' ').expect("an instruction");
                (Some(when.to_owned()), line)
            }
            None => (None, line),
        };
        let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
        let mut depth = 0;
        let operands = operands.split(|letter| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            letter == ',' && depth == 0
        });
        Self {
            when,
            name: name.split('.').map(str::to_owned).collect(),
            operands: operands.map(|one| one.trim().to_owned()).collect(),
        }
    }

    /// The address of `[%d1+8]`.
    fn address(operand: &str, registers: &HashMap<String, u64>) -> u64 {
        let inner = operand.trim_matches(['[', ']']);
        let (register, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        registers[register] + offset.parse::<u64>().expect("an offset")
    }

    /// # Safety
    /// As for [`Machine::run`].
    unsafe fn perform(&self, registers: &mut HashMap<String, u64>) {
        let name: Vec<&str> = self.name.iter().map(String::as_str).collect();
        let kind = *name.last().expect("a type");
        let operands: Vec<&str> = self.operands.iter().map(String::as_str).collect();
        if let ["ld" | "st", "global", ref vector @ .., _] = name[..] {
            let loads = name[0] == "ld";
            let (memory, list) = if loads {
                (operands[1], operands[0])
            } else {
                (operands[0], operands[1])
            };
            let list: Vec<&str> = list.trim_matches(['{', '}']).split(", ").collect();
            let width = vector.first().map_or(1, |vector| vector[1..].parse().expect("a width"));
            assert_eq!(list.len(), width);
            let (bytes, address) = (bits_of(kind) as usize / 8, Self::address(memory, registers));
            assert_eq!(address as usize % (bytes * width), 0, "not aligned");
            for (i, register) in list.into_iter().enumerate() {
                let at: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize + i * bytes);
                let mut value = [0_u8; 8];
                // SAFETY: the caller's promise.
                unsafe {
                    if loads {
                        at.copy_to(value.as_mut_ptr(), bytes);
                        let wide = whole(u64::from_le_bytes(value), kind) as u64;
                        registers.insert(register.to_owned(), if bytes < 8 { mask(wide, 32) } else { wide });
                    } else {
                        value = registers[register].to_le_bytes();
                        at.copy_from(value.as_ptr(), bytes);
                    }
                }
            }
            return;
        }
        let value = |i: usize| -> u64 {
            let operand = operands[i].trim_matches(['[', ']']);
            registers
                .get(operand)
                .copied()
                .unwrap_or_else(|| operand.parse().expect("a number"))
        };
        let float = kind.starts_with('f');
        let wholes = |i: usize, j: usize| (whole(value(i), kind), whole(value(j), kind));
        let reals = |i: usize, j: usize| (real(value(i), kind), real(value(j), kind));
        let rounded = |exact: f64| {
            if kind == "f32" {
                u64::from((exact as f32).to_bits())
            } else {
                exact.to_bits()
            }
        };
        let result: u64 = match name[..] {
            ["ld", "param", _] | ["cvta", ..] | ["mov", _] => value(1),
            ["cvt", "f32", "f16"] => u64::from(from_half(value(1) as u16).to_bits()),
            ["cvt", "rn", "f16", "f32"] => u64::from(to_half(f32::from_bits(value(1) as u32))),
            ["cvt", to, from] => mask(mask(value(1), bits_of(from)), bits_of(to)),
            ["add", "rn", _] => rounded(reals(1, 2).0 + reals(1, 2).1),
            ["sub", "rn", _] => rounded(reals(1, 2).0 - reals(1, 2).1),
            ["mul", "rn", _] => rounded(reals(1, 2).0 * reals(1, 2).1),
            ["mul", "wide", _] => (wholes(1, 2).0 * wholes(1, 2).1) as u64,
            ["add", _] => (wholes(1, 2).0 + wholes(1, 2).1) as u64,
            ["sub", _] => (wholes(1, 2).0 - wholes(1, 2).1) as u64,
            ["mul", "lo", _] => wholes(1, 2).0.wrapping_mul(wholes(1, 2).1) as u64,
            ["mad", "lo", _] => (wholes(1, 2).0 * wholes(1, 2).1 + whole(value(3), kind)) as u64,
            ["div", _] => (wholes(1, 2).0 / wholes(1, 2).1) as u64,
            ["max", _] => wholes(1, 2).0.max(wholes(1, 2).1) as u64,
            ["min", _] => wholes(1, 2).0.min(wholes(1, 2).1) as u64,
            ["and", _] => value(1) & value(2),
            ["or", _] => value(1) | value(2),
            ["xor", _] => value(1) ^ value(2),
            ["shl", _] => value(1) << value(2),
            ["shr", _] => mask(value(1), bits_of(kind)) >> value(2),
            ["selp", _] => value(if value(3) != 0 { 1 } else { 2 }),
            ["setp", compare, _] => {
                let order = match float {
                    true => reals(1, 2).0.partial_cmp(&reals(1, 2).1),
                    false => Some(wholes(1, 2).0.cmp(&wholes(1, 2).1)),
                };
                u64::from(match compare {
                    "nan" => order.is_none(),
                    "ne" => order.is_some_and(std::cmp::Ordering::is_ne),
                    "eq" => order.is_some_and(std::cmp::Ordering::is_eq),
                    "lt" => order.is_some_and(std::cmp::Ordering::is_lt),
                    "gt" => order.is_some_and(std::cmp::Ordering::is_gt),
                    "ge" => order.is_some_and(std::cmp::Ordering::is_ge),
                    _ => panic!("{self:?}"),
                })
            }
            _ => panic!("{self:?}"),
        };
        let bits = match name[..] {
            ["setp", ..] => 1,
            ["mul", "wide", _] => 64,
            ["cvt", "f32", "f16"] => 32,
            ["cvt", "rn", "f16", "f32"] => 16,
            ["cvt", to, _] => bits_of(to),
            _ => bits_of(kind),
        };
        registers.insert(operands[0].to_owned(), mask(result, bits));
    }
}

fn address<T>(memory: &[T]) -> u64 {
    memory.as_ptr().expose_provenance() as u64
}

/// Where memory of so many bytes begins at a multiple of 16, and `odd` bytes behind.
fn aligned(memory: &mut Vec<u128>, bytes: usize, odd: usize) -> *mut u8 {
    memory.resize(bytes / 16 + 2, u128::MAX);
    let start = memory.as_mut_ptr().cast::<u8>();
    start.expose_provenance();
    start.wrapping_add(odd)
}

#[test]
fn kernels_combine_as_the_operations_say() {
    for kernel in all() {
        let Kernel::Combine(op, number) = kernel else { continue };
        let machine = Machine::of(&text(kernel));
        let signed = !matches!(number, Number::U8 | Number::U16 | Number::U32 | Number::U64);
        let complex = matches!(number, Number::C32 | Number::C64);
        for (count, odd) in [(1, 0), (267, 0), (67, 8)] {
            let value = |i: i64, step: i64| (i * step % 23) - if signed { 11 } else { 0 };
            let a: Vec<i64> = (0..count as i64).map(|i| value(i, 7)).collect();
            let b: Vec<i64> = (0..count as i64).map(|i| value(i, 5)).collect();
            let bytes = count * number.bytes();
            let (mut left, mut right, mut result) = (Vec::new(), Vec::new(), Vec::new());
            let left = aligned(&mut left, bytes, odd);
            let right = aligned(&mut right, bytes, 0);
            let result = aligned(&mut result, bytes, odd);
            let write = |at: *mut u8, values: &[i64]| {
                for (i, bytes) in values.iter().map(|&value| bytes_of(number, value)).enumerate() {
                    // SAFETY: there is room.
                    unsafe { at.add(i * bytes.len()).copy_from(bytes.as_ptr(), bytes.len()) };
                }
            };
            write(left, &a);
            write(right, &b);
            let parameters = [result, left, right].map(|at| at.addr() as u64);
            // SAFETY: all have as many elements.
            unsafe { machine.run(&[parameters[0], parameters[1], parameters[2], count as u64]) };
            for (i, (&a, &b)) in a.iter().zip(&b).enumerate() {
                let expected = match complex && op == Op::Prod {
                    true => {
                        let simple = if number == Number::C32 {
                            Number::F32
                        } else {
                            Number::F64
                        };
                        [bytes_of(simple, 0), bytes_of(simple, 2 * a * b)].concat()
                    }
                    false => bytes_of(number, expected(op, a, b)),
                };
                // SAFETY: there are as many.
                let got = unsafe { std::slice::from_raw_parts(result.add(i * number.bytes()), number.bytes()) };
                for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
                    let padding = match number {
                        Number::I16I32 => (2..4).contains(&at),
                        Number::I64I32 | Number::F64I32 => at >= 12,
                        _ => false,
                    };
                    assert!(padding || got == expected, "{kernel:?} {count} {odd} {i}: {a} {b}");
                }
            }
            // SAFETY: allocated.
            assert_eq!(unsafe { result.add(bytes).read() }, 255, "{kernel:?}");
        }
    }
}

#[test]
fn halves_are_rounded_to_the_nearest_even_one() {
    let brain = |bits: u16| f32::from_bits(u32::from(bits) << 16);
    let to_brain = |value: f32| ((value.to_bits() + 0x7fff + (value.to_bits() >> 16 & 1)) >> 16) as u16;
    let left: Vec<u16> = (0..48_u16).map(|i| 0x3f80 + i * 37).collect();
    let right: Vec<u16> = (0..48_u16).map(|i| 0x4000 - i * 91).collect();
    for op in [Op::Sum, Op::Prod] {
        let exact = |a: f32, b: f32| if op == Op::Sum { a + b } else { a * b };
        for number in [Number::F16, Number::BF16] {
            let mut got = vec![0_u16; 48];
            let result = got.as_mut_ptr().expose_provenance() as u64;
            // SAFETY: all have as many elements.
            unsafe {
                let machine = Machine::of(&text(Kernel::Combine(op, number)));
                machine.run(&[result, address(&left), address(&right), 48]);
            }
            for ((&a, &b), got) in left.iter().zip(&right).zip(got) {
                let expected = match number {
                    Number::F16 => to_half(exact(from_half(a), from_half(b))),
                    _ => to_brain(exact(brain(a), brain(b))),
                };
                assert_eq!(got, expected, "{op:?} {number:?} {a:#x} {b:#x}");
            }
        }
    }
    let (nan, one) = ([0x7f81_u16], [0x3f80_u16]);
    let mut got = [0_u16];
    let result = got.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: all have one element.
    unsafe {
        let machine = Machine::of(&text(Kernel::Combine(Op::Sum, Number::BF16)));
        machine.run(&[result, address(&nan), address(&one), 1]);
    }
    assert!(brain(got[0]).is_nan());
}

#[test]
fn rows_and_pieces_are_where_they_belong() {
    let source: Vec<u128> = (0..4096_u128)
        .map(|i| i.wrapping_mul(0x0123_4567_89ab_cdef_0246_8ace_1357_9bdf))
        .collect();
    // SAFETY: plain bytes.
    let bytes = unsafe { std::slice::from_raw_parts(source.as_ptr().cast::<u8>(), 65_536) };
    for (unit, width, rows, to_pitch, from_pitch) in [
        (16, 3, 40, 64, 96),
        (8, 1, 300, -8, 24),
        (4, 5, 50, 20, -40),
        (2, 7, 9, 30, 14),
        (1, 3, 100, 4, 5),
    ] {
        let mut target = vec![0_u128; 4096];
        let to = target.as_mut_ptr().expose_provenance() as u64 + 32_768;
        let from = address(&source) + 32_768;
        let count = (width * rows) as u64;
        // SAFETY: rows are within both.
        unsafe {
            let machine = Machine::of(&text(Kernel::Rows(unit)));
            machine.run(&[to, to_pitch as u64, from, from_pitch as u64, width as u64, count]);
        }
        // SAFETY: plain bytes.
        let target = unsafe { std::slice::from_raw_parts(target.as_ptr().cast::<u8>(), 65_536) };
        let mut expected = vec![0_u8; 65_536];
        let length = width as usize * unit as usize;
        for row in 0..rows as i64 {
            let (at, of) = ((32_768 + row * to_pitch) as usize, (32_768 + row * from_pitch) as usize);
            expected[at..at + length].copy_from_slice(&bytes[of..of + length]);
        }
        assert!(target == expected, "{unit}");
    }
    let mut entries = Vec::new();
    let (mut offset, mut position) = (-20_000_i64, 0_u64);
    for i in 0..200_u64 {
        let length = [0, 1, 3, 4, 8, 16, 24, 100, 160, 513][i as usize % 10];
        entries.push(Entry {
            offset,
            position,
            length,
        });
        offset += length as i64 + (i as i64 % 3) * 4;
        position += length;
    }
    for packing in [Packing::Gather, Packing::Scatter] {
        let mut target = vec![0_u8; 65_536];
        let there = target.as_mut_ptr().expose_provenance() as u64;
        let (memory, packed) = match packing {
            Packing::Gather => (address(&source) + 32_768, there),
            Packing::Scatter => (there + 32_768, address(&source)),
        };
        // SAFETY: pieces are within both.
        unsafe {
            let machine = Machine::of(&text(Kernel::Pieces(packing)));
            machine.run(&[memory, address(&entries), packed, 200]);
        }
        let mut expected = vec![0_u8; 65_536];
        for entry in &entries {
            let (length, gaps) = (entry.length as usize, (32_768 + entry.offset) as usize);
            let row = entry.position as usize;
            let (at, of) = if packing == Packing::Gather {
                (row, gaps)
            } else {
                (gaps, row)
            };
            expected[at..at + length].copy_from_slice(&bytes[of..of + length]);
        }
        assert!(target == expected, "{packing:?}");
    }
}
