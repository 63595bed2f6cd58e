//! Arithmetic on elements of every type.

use std::fmt::Debug;

use crate::kind::ElementKind;

/// A complex number as C has it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

/// What an element can do. Integers wrap.
#[allow(missing_docs)] // The usual words.
pub trait Element: Copy + PartialEq + Debug + Send + Sync + 'static {
    const KIND: ElementKind;
    const ZERO: Self;
    const ONE: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Integers divided by 0 are 0.
    fn div(self, other: Self) -> Self;
    /// The absolute value, as an element.
    fn abs(self) -> Self;
    /// What elements are compared by: their value, or of complex ones the square of the absolute value.
    fn order(self) -> f64;
    fn from_real(value: f64) -> Self;
    fn conjugate(self) -> Self;
    /// As `GA_Print` shows it.
    fn text(self) -> String;

    /// The larger one.
    fn larger(self, other: Self) -> Self {
        if other.order() > self.order() { other } else { self }
    }

    /// The smaller one.
    fn smaller(self, other: Self) -> Self {
        if other.order() < self.order() { other } else { self }
    }
}

macro_rules! integer {
    ($($type:ty, $kind:expr;)*) => {$(
        impl Element for $type {
            const KIND: ElementKind = $kind;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn order(self) -> f64 {
                self as f64
            }
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            fn from_real(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }
            fn text(self) -> String {
                format!("{self:8}")
            }
        }
    )*};
}
integer!(i32, ElementKind::Int; i64, ElementKind::Long;);

macro_rules! float {
    ($($type:ty, $kind:expr, $complex:expr;)*) => {$(
        impl Element for $type {
            const KIND: ElementKind = $kind;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }
            #[inline(always)]
            fn order(self) -> f64 {
                f64::from(self)
            }
            fn from_real(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }
            fn text(self) -> String {
                format!("{self:11.5}")
            }
        }

        impl Element for Complex<$type> {
            const KIND: ElementKind = $complex;
            const ZERO: Self = Self { re: 0.0, im: 0.0 };
            const ONE: Self = Self { re: 1.0, im: 0.0 };
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self { re: self.re + other.re, im: self.im + other.im }
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self { re: self.re - other.re, im: self.im - other.im }
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self {
                    re: self.re * other.re - self.im * other.im,
                    im: self.re * other.im + self.im * other.re,
                }
            }
            /// Scaled by the larger part of the divisor (R. L. Smith, CACM 5, 1962), so that nothing overflows on the way.
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other.re.abs() >= other.im.abs() {
                    let ratio = other.im / other.re;
                    let scale = other.re + other.im * ratio;
                    Self {
                        re: (self.re + self.im * ratio) / scale,
                        im: (self.im - self.re * ratio) / scale,
                    }
                } else {
                    let ratio = other.re / other.im;
                    let scale = other.re * ratio + other.im;
                    Self {
                        re: (self.re * ratio + self.im) / scale,
                        im: (self.im * ratio - self.re) / scale,
                    }
                }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // Not the system's: its version asks for glibc 2.35, and all else for an older one.
                let modulus = libm::hypot(f64::from(self.re), f64::from(self.im));
                Self { re: modulus as $type, im: 0.0 }
            }
            #[inline(always)]
            fn order(self) -> f64 {
                f64::from(self.re) * f64::from(self.re) + f64::from(self.im) * f64::from(self.im)
            }
            fn from_real(value: f64) -> Self {
                Self { re: value as $type, im: 0.0 }
            }
            #[inline(always)]
            fn conjugate(self) -> Self {
                Self { re: self.re, im: -self.im }
            }
            fn text(self) -> String {
                format!("{:11.5},{:11.5}", self.re, self.im)
            }
        }
    )*};
}
float!(f32, ElementKind::Float, ElementKind::Complex; f64, ElementKind::Double, ElementKind::DoubleComplex;);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_division_undoes_multiplication() {
        let (a, b) = (Complex { re: 3.0, im: -2.0 }, Complex { re: 0.5, im: 4.0 });
        let back = a.mul(b).div(b);
        assert!((back.re - a.re).abs() < 1e-12 && (back.im - a.im).abs() < 1e-12);
        let huge = Complex { re: 1e300, im: 1e300 };
        assert_eq!(huge.div(huge), Complex { re: 1.0, im: 0.0 });
    }

    #[test]
    fn integers_do_not_trap() {
        assert_eq!(Element::div(1_i32, 0), 0);
        assert_eq!(Element::abs(i64::MIN), i64::MIN);
        assert_eq!(3_i64.larger(i64::MAX), i64::MAX);
    }
}
