//! IEEE 754 binary16 and bfloat16, for which stable Rust has no types: computed in `f32`, rounded to nearest even after
//! each operation. Sum and product in `f32` are rounded to the same half as the exact results would be, since 24 bits are
//! at least 2 * 11 + 2 (Figueroa 1995).

use super::predefined::Number;

/// The bits of a binary16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Half(u16);

impl From<Half> for f32 {
    fn from(Half(bits): Half) -> Self {
        let sign = u32::from(bits & 0x8000) << 16;
        let exponent = u32::from(bits >> 10) & 0x1f;
        let fraction = u32::from(bits & 0x3ff);
        let magnitude = match exponent {
            // Zero or subnormal: fraction * 2^-24, which f32 holds exactly.
            0 => (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits(),
            // Infinity or NaN.
            0x1f => 0x7f80_0000 | fraction << 13,
            _ => (exponent + 127 - 15) << 23 | fraction << 13,
        };
        Self::from_bits(sign | magnitude)
    }
}

impl From<f32> for Half {
    fn from(value: f32) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 16) as u16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        Self(
            sign | match magnitude {
                0x7f80_0001.. => 0x7e00 | (magnitude >> 13) as u16 & 0x3ff,
                // From 65520 on, half-way to the next power of two, everything is infinite.
                0x477f_f000.. => 0x7c00,
                // Normal halves: rebias, and round the 13 bits that go. A carry moves into the exponent, as it should.
                0x3880_0000.. => {
                    let rebiased = magnitude - ((127 - 15) << 23);
                    ((rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13) as u16
                }
                // Subnormal halves: adding 0.5 lets the floating-point unit round at bit 2^-24.
                _ => (f32::from_bits(magnitude) + 0.5).to_bits() as u16,
            },
        )
    }
}

/// The bits of a bfloat16: the upper half of a binary32.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Brain(u16);

impl From<Brain> for f32 {
    fn from(Brain(bits): Brain) -> Self {
        Self::from_bits(u32::from(bits) << 16)
    }
}

impl From<f32> for Brain {
    fn from(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            // Quiet, whatever half its fraction was in.
            return Self((bits >> 16) as u16 | 0x40);
        }
        Self(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
}

macro_rules! computed_in_f32 {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                Self::from(f32::from(self) + f32::from(other))
            }
            fn minus(self, other: Self) -> Self {
                Self::from(f32::from(self) - f32::from(other))
            }
            fn times(self, other: Self) -> Self {
                Self::from(f32::from(self) * f32::from(other))
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                f32::from(*self) == f32::from(*other)
            }
        }

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                f32::from(*self).partial_cmp(&f32::from(*other))
            }
        }
    )*};
}
computed_in_f32!(Half, Brain);

#[cfg(test)]
mod tests {
    use super::{Brain, Half};

    /// From the definition: sign, exponent, fraction.
    fn value(bits: u16) -> f64 {
        let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
        let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
        sign * match exponent {
            0 => fraction * 2f64.powi(-24),
            0x1f if fraction == 0.0 => f64::INFINITY,
            0x1f => f64::NAN,
            _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
        }
    }

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for bits in 0..=u16::MAX {
            let (wide, expected) = (f32::from(Half(bits)), value(bits));
            if expected.is_nan() {
                assert!(wide.is_nan() && f32::from(Half::from(wide)).is_nan(), "{bits:#x}");
            } else {
                assert_eq!(f64::from(wide), expected, "{bits:#x}");
                assert_eq!(Half::from(wide).0, bits);
            }
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        // Between each two neighbours: below, at and above the middle.
        for bits in 0..0x7bff_u16 {
            let (low, high) = (f32::from(Half(bits)), f32::from(Half(bits + 1)));
            let middle = (low + high) / 2.0;
            let even = bits + (bits & 1);
            assert_eq!(Half::from(middle).0, even, "{bits:#x}");
            assert_eq!(Half::from(middle.next_down()).0, bits);
            assert_eq!(Half::from(middle.next_up()).0, bits + 1);
        }
        assert_eq!(Half::from(65519.0).0, 0x7bff);
        assert_eq!(Half::from(65520.0).0, 0x7c00);
        assert_eq!(Half::from(-1e30).0, 0xfc00);
        assert_eq!(Half::from(1e-30).0, 0);
    }

    #[test]
    fn bfloats_are_the_upper_halves_of_floats() {
        for bits in 0..=u16::MAX {
            let wide = f32::from(Brain(bits));
            if wide.is_nan() {
                assert!(f32::from(Brain::from(wide)).is_nan(), "{bits:#x}");
                continue;
            }
            assert_eq!(Brain::from(wide).0, bits);
            if wide.is_finite() {
                let middle = f32::from_bits(wide.to_bits() | 0x8000);
                assert_eq!(Brain::from(middle).0, bits + (bits & 1), "{bits:#x}");
                assert_eq!(Brain::from(f32::from_bits(middle.to_bits() - 1)).0, bits);
                assert_eq!(Brain::from(f32::from_bits(middle.to_bits() + 1)).0, bits + 1);
            }
        }
    }
}
