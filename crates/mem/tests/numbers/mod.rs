//! Elements as bytes, and what operations make of whole numbers: shared by tests of kernels.

use super::{Number, Op};

/// An element whose values are this whole number, up to 2048.
pub fn bytes_of(number: Number, value: i64) -> Vec<u8> {
    use Number::*;
    let two = |first: Number, second: Number| {
        let mut bytes = bytes_of(first, value);
        bytes.resize(first.bytes().max(second.bytes()), 0);
        bytes.extend(bytes_of(second, value));
        bytes.resize(number.bytes(), 0);
        bytes
    };
    match number {
        F32 => (value as f32).to_le_bytes().to_vec(),
        F64 => (value as f64).to_le_bytes().to_vec(),
        BF16 => (value as f32).to_le_bytes()[2..].to_vec(),
        F16 => {
            let size = value.abs();
            let exponent = size.checked_ilog2().map_or(0, i64::from);
            let bits = match size {
                0 => 0,
                _ => (exponent + 15) << 10 | (size << 10 >> exponent & 1023) | i64::from(value < 0) << 15,
            };
            (bits as u16).to_le_bytes().to_vec()
        }
        C32 | F32F32 => two(F32, F32),
        C64 | F64F64 => two(F64, F64),
        I16I32 => two(I16, I32),
        I32I32 => two(I32, I32),
        I64I32 => two(I64, I32),
        F32I32 => two(F32, I32),
        F64I32 => two(F64, I32),
        _ => value.to_le_bytes()[..number.bytes()].to_vec(),
    }
}

/// What an operation on two of them makes.
pub fn expected(op: Op, a: i64, b: i64) -> i64 {
    match op {
        Op::Max | Op::Maxloc => a.max(b),
        Op::Min | Op::Minloc => a.min(b),
        Op::Sum => a + b,
        Op::Prod => a * b,
        Op::Land => i64::from(a != 0 && b != 0),
        Op::Lor => i64::from(a != 0 || b != 0),
        Op::Lxor => i64::from((a != 0) != (b != 0)),
        Op::Band => a & b,
        Op::Bor => a | b,
        Op::Bxor => a ^ b,
    }
}
