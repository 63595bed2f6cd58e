//! Every loop against the scalar formula, on unaligned elements with extreme values.

use super::Predefined::{self, *};
use super::*;
use crate::datatype::NAMED;

fn named(name: &str) -> &'static Datatype {
    let found = NAMED.iter().find(|named| named.name == name);
    Handle::from_raw(found.unwrap().raw).resolve("datatype").unwrap()
}

/// `left op right` by our loop, on memory that is aligned to nothing.
fn apply<const N: usize>(op: Predefined, name: &str, pairs: &[([u8; N], [u8; N])]) -> Vec<[u8; N]> {
    let datatype = named(name);
    assert_eq!(datatype.extent(), N as i64);
    let mut left = vec![0];
    let mut right = vec![0];
    for (a, b) in pairs {
        left.extend(a);
        right.extend(b);
    }
    let reduction = Op::predefined(op).reduction(datatype).unwrap();
    let mut elsewhere = vec![0x55; right.len()];
    if let Reduction::Kernel(kernel) = reduction {
        // SAFETY: behind the first byte of each there are so many elements.
        unsafe {
            kernel(
                left[1..].as_ptr(),
                right[1..].as_ptr(),
                elsewhere[1..].as_mut_ptr(),
                pairs.len(),
            )
        };
    }
    // SAFETY: as above.
    unsafe { reduction.apply(left[1..].as_ptr(), right[1..].as_mut_ptr(), pairs.len() as i64) }.unwrap();
    assert_eq!(right[1..], elsewhere[1..], "{op:?} of {name}, in place and not");
    right[1..].as_chunks().0.to_vec()
}

/// All pairs of values.
fn squared<T: Copy>(values: &[T]) -> Vec<(T, T)> {
    values.iter().flat_map(|a| values.iter().map(|b| (*a, *b))).collect()
}

macro_rules! check {
    ($op:expr, $name:expr, $type:ty, $values:expr, $formula:expr) => {{
        let pairs = squared::<$type>($values);
        let bytes: Vec<_> = pairs.iter().map(|(a, b)| (a.to_ne_bytes(), b.to_ne_bytes())).collect();
        let results = apply($op, $name, &bytes);
        for ((a, b), result) in pairs.into_iter().zip(results) {
            let formula: fn($type, $type) -> $type = $formula;
            let (expected, result) = (formula(a, b), <$type>::from_ne_bytes(result));
            let same = expected == result || (expected != expected && result != result);
            assert!(
                same,
                "{:?} of {a:?} and {b:?} as {}: {result:?}, not {expected:?}",
                $op, $name
            );
        }
    }};
}

macro_rules! check_integers {
    ($type:ty: $($name:literal)*) => {$(
        let values = &[0, 1, 2, 3, 77, <$type>::MAX, <$type>::MAX - 1, <$type>::MIN, <$type>::MIN + 1, <$type>::MAX / 2];
        check!(Sum, $name, $type, values, |a, b| a.wrapping_add(b));
        check!(Prod, $name, $type, values, |a, b| a.wrapping_mul(b));
        check!(Min, $name, $type, values, |a, b| a.min(b));
        check!(Max, $name, $type, values, |a, b| a.max(b));
        check!(Band, $name, $type, values, |a, b| a & b);
        check!(Bor, $name, $type, values, |a, b| a | b);
        check!(Bxor, $name, $type, values, |a, b| a ^ b);
    )*};
}

macro_rules! check_logicals {
    ($type:ty: $($name:literal)*) => {$(
        let values = &[0, 1, 2, <$type>::MAX, <$type>::MIN];
        check!(Land, $name, $type, values, |a, b| if a != 0 && b != 0 { 1 } else { 0 });
        check!(Lor, $name, $type, values, |a, b| if a != 0 || b != 0 { 1 } else { 0 });
        check!(Lxor, $name, $type, values, |a, b| if (a != 0) != (b != 0) { 1 } else { 0 });
    )*};
}

#[test]
fn integers() {
    check_integers!(i8: "MPI_SIGNED_CHAR" "MPI_INT8_T" "MPI_CHAR" "MPI_INTEGER1");
    check_integers!(u8: "MPI_UNSIGNED_CHAR" "MPI_UINT8_T");
    check_integers!(i16: "MPI_SHORT" "MPI_INT16_T" "MPI_INTEGER2");
    check_integers!(u16: "MPI_UNSIGNED_SHORT" "MPI_UINT16_T");
    check_integers!(i32: "MPI_INT" "MPI_INT32_T" "MPI_INTEGER" "MPI_INTEGER4");
    check_integers!(u32: "MPI_UNSIGNED" "MPI_UINT32_T");
    check_integers!(i64: "MPI_LONG" "MPI_LONG_LONG_INT" "MPI_INT64_T" "MPI_INTEGER8" "MPI_AINT" "MPI_OFFSET" "MPI_COUNT");
    check_integers!(u64: "MPI_UNSIGNED_LONG" "MPI_UNSIGNED_LONG_LONG" "MPI_UINT64_T");
    check_integers!(i128: "MPI_INTEGER16");
    let bytes = &[0, 1, 0x55, 0xaa, 0xff];
    check!(Band, "MPI_BYTE", u8, bytes, |a, b| a & b);
    check!(Bor, "MPI_BYTE", u8, bytes, |a, b| a | b);
    check!(Bxor, "MPI_BYTE", u8, bytes, |a, b| a ^ b);
}

#[test]
fn logicals() {
    check_logicals!(i8: "MPI_C_BOOL" "MPI_CXX_BOOL" "MPI_LOGICAL1" "MPI_SIGNED_CHAR");
    check_logicals!(u8: "MPI_UNSIGNED_CHAR");
    check_logicals!(i16: "MPI_SHORT" "MPI_LOGICAL2");
    check_logicals!(i32: "MPI_INT" "MPI_LOGICAL" "MPI_LOGICAL4");
    check_logicals!(u64: "MPI_UNSIGNED_LONG");
    check_logicals!(i64: "MPI_LONG" "MPI_LOGICAL8");
    check_logicals!(i128: "MPI_LOGICAL16");
}

macro_rules! check_floats {
    ($type:ident: $($name:literal)*) => {$(
        let values = &[
            0.0, 1.0, -1.5, 3.25, <$type>::MAX, <$type>::MIN, <$type>::MIN_POSITIVE, <$type>::INFINITY,
            <$type>::NEG_INFINITY, <$type>::EPSILON, <$type>::NAN, 1.0 / 3.0,
        ];
        check!(Sum, $name, $type, values, |a, b| a + b);
        check!(Prod, $name, $type, values, |a, b| a * b);
        check!(Min, $name, $type, values, |a, b| if a < b { a } else { b });
        check!(Max, $name, $type, values, |a, b| if a > b { a } else { b });
    )*};
}

#[test]
fn floats() {
    check_floats!(f32: "MPI_FLOAT" "MPI_REAL" "MPI_REAL4");
    check_floats!(f64: "MPI_DOUBLE" "MPI_DOUBLE_PRECISION" "MPI_REAL8");
}

/// Bits of a binary16 that holds `value`, an integer of up to 11 bits.
fn half(value: i32) -> [u8; 2] {
    if value == 0 {
        return [0; 2];
    }
    let exponent = value.unsigned_abs().ilog2();
    let fraction = (value.unsigned_abs() << (10 - exponent)) & 0x3ff;
    let sign = if value < 0 { 0x8000 } else { 0 };
    (sign | ((exponent + 15) << 10) | fraction).to_le_bytes()[..2]
        .try_into()
        .unwrap()
}

/// Bits of `value * 2^scale` in the x87's format: sign and exponent, then 64 bits with the leading one.
fn x87(value: i64, scale: i32) -> [u8; 16] {
    let mut bytes = [0; 16];
    if value != 0 {
        let exponent = value.unsigned_abs().ilog2();
        bytes[..8].copy_from_slice(&(value.unsigned_abs() << (63 - exponent)).to_le_bytes());
        let sign = if value < 0 { 0x8000 } else { 0 };
        bytes[8..10].copy_from_slice(&(sign | (16383 + exponent as i32 + scale) as u16).to_le_bytes());
    }
    bytes
}

/// Bits of `value * 2^scale` in binary128.
fn f128(value: i64, scale: i32) -> [u8; 16] {
    if value == 0 {
        return [0; 16];
    }
    let exponent = value.unsigned_abs().ilog2();
    let fraction = (u128::from(value.unsigned_abs()) << (112 - exponent)) & ((1 << 112) - 1);
    let sign = u128::from(value < 0) << 127;
    (sign | ((16383 + exponent as i32 + scale) as u128) << 112 | fraction).to_le_bytes()
}

/// Sum, product, minimum and maximum of integers in a format that holds them exactly.
fn check_exact<const N: usize>(name: &str, values: &[i64], encode: impl Fn(i64) -> [u8; N]) {
    type Formula = fn(i64, i64) -> i64;
    let formulas: [(Predefined, Formula); 4] = [
        (Sum, |a, b| a + b),
        (Prod, |a, b| a * b),
        (Min, |a, b| a.min(b)),
        (Max, |a, b| a.max(b)),
    ];
    let pairs = squared(values);
    let bytes: Vec<_> = pairs.iter().map(|(a, b)| (encode(*a), encode(*b))).collect();
    for (op, formula) in formulas {
        for (result, (a, b)) in apply(op, name, &bytes).into_iter().zip(&pairs) {
            assert_eq!(result, encode(formula(*a, *b)), "{op:?} of {a} and {b} as {name}");
        }
    }
}

/// Sum and product of complex integers.
fn check_complex<const N: usize, const M: usize>(name: &str, values: &[i64], encode: impl Fn(i64) -> [u8; N]) {
    let complex = |z: (i64, i64)| -> [u8; M] { [encode(z.0), encode(z.1)].concat().try_into().unwrap() };
    let pairs = squared(&squared(values));
    let bytes: Vec<_> = pairs.iter().map(|(a, b)| (complex(*a), complex(*b))).collect();
    for (result, (a, b)) in apply(Sum, name, &bytes).into_iter().zip(&pairs) {
        assert_eq!(result, complex((a.0 + b.0, a.1 + b.1)), "{a:?} + {b:?} as {name}");
    }
    for (result, (a, b)) in apply(Prod, name, &bytes).into_iter().zip(&pairs) {
        let product = (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
        assert_eq!(result, complex(product), "{a:?} * {b:?} as {name}");
    }
}

#[test]
fn formats_that_rust_has_not() {
    // No zeros: a product would be a negative one.
    let small = [1, 2, 3, -5, 17, -31];
    let large = [1, -3, 1 << 30, (1 << 31) - 1, -(1 << 29) - 7];
    check_exact("MPI_REAL2", &small, |value| half(value as i32));
    check_exact("MPIX_C_FLOAT16", &small, |value| half(value as i32));
    check_exact("MPIX_BFLOAT16", &[1, 2, 3, -5, 12], |value| {
        let [_, _, low, high] = (value as f32).to_le_bytes();
        [low, high]
    });
    check_exact("MPI_LONG_DOUBLE", &large, |value| x87(value, 0));
    check_exact("MPI_REAL16", &large, |value| f128(value, 0));
    // Beyond what a double can hold.
    let beyond = |encode: fn(i64, i32) -> [u8; 16], name| {
        let pair = [(encode(3, 5000), encode(5, 5000))];
        assert_eq!(apply(Prod, name, &pair), [encode(15, 10_000)]);
        assert_eq!(apply(Sum, name, &pair), [encode(8, 5000)]);
    };
    beyond(x87, "MPI_LONG_DOUBLE");
    beyond(f128, "MPI_REAL16");
}

#[test]
fn complex_numbers() {
    // No product is a negative zero in these, which the formats would tell apart.
    let few = [1, 2, 3];
    check_complex::<2, 4>("MPI_COMPLEX4", &few, |value| half(value as i32));
    for name in ["MPI_C_COMPLEX", "MPI_CXX_FLOAT_COMPLEX", "MPI_COMPLEX", "MPI_COMPLEX8"] {
        check_complex::<4, 8>(name, &few, |value| (value as f32).to_ne_bytes());
    }
    for name in [
        "MPI_C_DOUBLE_COMPLEX",
        "MPI_CXX_DOUBLE_COMPLEX",
        "MPI_DOUBLE_COMPLEX",
        "MPI_COMPLEX16",
    ] {
        check_complex::<8, 16>(name, &few, |value| (value as f64).to_ne_bytes());
    }
    for name in ["MPI_C_LONG_DOUBLE_COMPLEX", "MPI_CXX_LONG_DOUBLE_COMPLEX"] {
        check_complex::<16, 32>(name, &few, |value| x87(value, 0));
    }
    check_complex::<16, 32>("MPI_COMPLEX32", &few, |value| f128(value, 0));
}

/// The better value, and of equal ones the smaller index; padding stays as it is.
fn check_pairs<const N: usize>(
    name: &str,
    index_at: usize,
    value: impl Fn(i64) -> Vec<u8>,
    index: impl Fn(i64) -> Vec<u8>,
) {
    let encode = |pair: (i64, i64), padding: u8| -> [u8; N] {
        let mut bytes = [padding; N];
        let (value, index) = (value(pair.0), index(pair.1));
        bytes[..value.len()].copy_from_slice(&value);
        bytes[index_at..index_at + index.len()].copy_from_slice(&index);
        bytes
    };
    let items = squared(&[-7, 0, 5, 100]);
    let pairs = squared(&items);
    let bytes: Vec<_> = pairs.iter().map(|(a, b)| (encode(*a, 1), encode(*b, 0xcc))).collect();
    for op in [Minloc, Maxloc] {
        for (result, (a, b)) in apply(op, name, &bytes).into_iter().zip(&pairs) {
            let better = if op == Minloc { a.0 < b.0 } else { a.0 > b.0 };
            let expected = match (better, a.0 == b.0) {
                (true, _) => *a,
                (_, true) => (a.0, a.1.min(b.1)),
                _ => *b,
            };
            assert_eq!(result, encode(expected, 0xcc), "{op:?} of {a:?} and {b:?} as {name}");
        }
    }
}

#[test]
fn values_with_locations() {
    let int = |value: i64| (value as i32).to_ne_bytes().to_vec();
    let single = |value: i64| (value as f32).to_ne_bytes().to_vec();
    let double = |value: i64| (value as f64).to_ne_bytes().to_vec();
    check_pairs::<8>("MPI_2INT", 4, int, int);
    check_pairs::<8>("MPI_2INTEGER", 4, int, int);
    check_pairs::<8>("MPI_FLOAT_INT", 4, single, int);
    check_pairs::<8>("MPI_SHORT_INT", 4, |value| (value as i16).to_ne_bytes().to_vec(), int);
    check_pairs::<16>("MPI_DOUBLE_INT", 8, double, int);
    check_pairs::<16>("MPI_LONG_INT", 8, |value| value.to_ne_bytes().to_vec(), int);
    check_pairs::<8>("MPI_2REAL", 4, single, single);
    check_pairs::<16>("MPI_2DOUBLE_PRECISION", 8, double, double);
    check_pairs::<32>("MPI_LONG_DOUBLE_INT", 16, |value| x87(value, 0)[..10].to_vec(), int);
}

/// For which operations the standard defines each type, by the groups of MPI-5.0 §6.9.2.
/// And logical ones on MPI_AINT and its kin, as everybody has them.
#[test]
fn nothing_else_is_defined() {
    let groups: &[(&str, &[Predefined])] = &[
        (
            "MPI_INT MPI_UNSIGNED_LONG MPI_SIGNED_CHAR MPI_UINT16_T MPI_AINT MPI_OFFSET MPI_COUNT",
            &[Max, Min, Sum, Prod, Land, Lor, Lxor, Band, Bor, Bxor],
        ),
        ("MPI_INTEGER MPI_INTEGER16", &[Max, Min, Sum, Prod, Band, Bor, Bxor]),
        (
            "MPI_FLOAT MPI_DOUBLE MPI_LONG_DOUBLE MPI_REAL2 MPI_REAL16",
            &[Max, Min, Sum, Prod],
        ),
        ("MPI_LOGICAL MPI_C_BOOL MPI_CXX_BOOL MPI_LOGICAL16", &[Land, Lor, Lxor]),
        (
            "MPI_COMPLEX MPI_C_DOUBLE_COMPLEX MPI_COMPLEX4 MPI_COMPLEX32",
            &[Sum, Prod],
        ),
        ("MPI_BYTE", &[Band, Bor, Bxor]),
        (
            "MPI_DOUBLE_INT MPI_2INT MPI_2REAL MPI_LONG_DOUBLE_INT",
            &[Minloc, Maxloc],
        ),
        ("MPI_CHARACTER MPI_WCHAR MPI_PACKED MPI_LB", &[]),
    ];
    for (names, defined) in groups {
        for name in names.split(' ') {
            for op in Predefined::ALL {
                let result = Op::predefined(*op).reduction(named(name));
                assert_eq!(result.is_ok(), defined.contains(op), "{} on {name}", op.name());
                if let Err(error) = result {
                    assert_eq!(error.code(), Class::Op as i32);
                }
            }
        }
    }
    let copy = crate::datatype::type_dup(named("MPI_INT")).unwrap();
    assert!(Op::predefined(Sum).reduction(copy.resolve("copy").unwrap()).is_err());
}

#[test]
fn users_operations_see_their_elements() {
    let double_it = op_create(
        Box::new(|input, inout, count, datatype| {
            assert_eq!(datatype, named("MPI_INT").handle());
            for i in 0..count as usize {
                // SAFETY: both hold `count` ints.
                unsafe { *inout.cast::<i32>().add(i) += 2 * *input.cast::<i32>().add(i) };
            }
        }),
        false,
    )
    .unwrap();
    let op = double_it.resolve("op").unwrap();
    assert!(!op_commutative(op).unwrap() && op_commutative(Op::predefined(Sum)).unwrap());
    let (input, mut inout) = ([1, 2, 3], [10, 20, 30]);
    let call = |count, input: *const i32, inout: *mut i32| {
        // SAFETY: both hold three ints.
        unsafe { reduce_local(input.cast(), inout.cast(), count, named("MPI_INT"), op) }
    };
    call(3, input.as_ptr(), inout.as_mut_ptr()).unwrap();
    assert_eq!(inout, [12, 24, 36]);
    let code = |result: Result<()>| result.unwrap_err().code();
    assert_eq!(code(call(-1, input.as_ptr(), inout.as_mut_ptr())), Class::Count as i32);
    assert_eq!(
        code(call(1, std::ptr::null(), inout.as_mut_ptr())),
        Class::Buffer as i32
    );
    assert_eq!(code(call(1, inout.as_ptr(), inout.as_mut_ptr())), Class::Buffer as i32);
    op_free(double_it).unwrap();
    assert_eq!(code(op_free(double_it)), Class::Op as i32);
    assert_eq!(code(op_free(Handle::from_raw(Sum as u32))), Class::Op as i32);
}

#[test]
fn operations_on_integers_are_exact() {
    let is_exact = |op, name| Op::predefined(op).is_exact_on(named(name));
    for name in [
        "MPI_INT",
        "MPI_UINT8_T",
        "MPI_AINT",
        "MPI_INTEGER16",
        "MPI_C_BOOL",
        "MPI_BYTE",
    ] {
        assert!(is_exact(Bxor, name) && is_exact(Sum, name), "{name}");
    }
    assert!(is_exact(Minloc, "MPI_2INT") && is_exact(Maxloc, "MPI_SHORT_INT"));
    // Zeros have signs, and what is no number is neither larger nor smaller.
    for name in ["MPI_DOUBLE", "MPI_FLOAT", "MPI_LONG_DOUBLE", "MPI_C_DOUBLE_COMPLEX"] {
        assert!(!is_exact(Sum, name) && !is_exact(Max, name), "{name}");
    }
    assert!(!is_exact(Minloc, "MPI_DOUBLE_INT"));
    let of_user = op_create(Box::new(|_, _, _, _| ()), true).unwrap();
    assert!(!of_user.resolve("op").unwrap().is_exact_on(named("MPI_INT")));
}
