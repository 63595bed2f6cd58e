//! Between the x87's extended numbers and IEEE binary128: one sign, fifteen bits of exponent with one bias; the former
//! have 64 bits of significand with the leading one written out, the latter 112 without it.

const EXPONENT: u32 = 0x7fff;
const LEADING: u64 = 1 << 63;
/// Bits by which a fraction of binary128 is longer.
const LONGER: u32 = 112 - 63;

/// Exact.
pub fn from_extended(bytes: [u8; 16]) -> u128 {
    let word = u128::from_le_bytes(bytes);
    let significand = word as u64;
    let top = (word >> 64) as u32 & 0xffff;
    let (sign, exponent) = (top >> 15, top & EXPONENT);
    let fraction = u128::from(significand & !LEADING) << LONGER;
    match (exponent, significand & LEADING != 0) {
        // Pseudo-denormal: the number that it stands for is normal.
        (0, true) => compose(sign, 1, fraction),
        // No numbers since the 387; it takes them as invalid.
        (1..EXPONENT, false) => compose(sign, EXPONENT, 1 << 111),
        _ => compose(sign, exponent, fraction),
    }
}

/// Rounded to nearest, ties to even.
pub fn to_extended(number: u128) -> [u8; 16] {
    let (sign, exponent) = ((number >> 127) as u32, (number >> 112) as u32 & EXPONENT);
    let fraction = number & ((1 << 112) - 1);
    let leading = if exponent == 0 { 0 } else { LEADING };
    let (exponent, significand) = match (exponent, fraction) {
        (EXPONENT, 0) => (EXPONENT, LEADING),
        // Not a number; a quiet one, so that it stays one when its low bits are cut.
        (EXPONENT, _) => (EXPONENT, LEADING | 1 << 62 | (fraction >> LONGER) as u64),
        _ => {
            let (kept, cut) = (leading | (fraction >> LONGER) as u64, fraction & ((1 << LONGER) - 1));
            let half = 1 << (LONGER - 1);
            let up = cut > half || cut == half && kept & 1 == 1;
            match kept.checked_add(up.into()) {
                // Carried out of the significand.
                None => (exponent + 1, LEADING),
                // The largest denormal became the smallest normal number.
                Some(LEADING) if exponent == 0 => (1, LEADING),
                Some(kept) => (exponent, kept),
            }
        }
    };
    (u128::from(sign << 15 | exponent) << 64 | u128::from(significand)).to_le_bytes()
}

fn compose(sign: u32, exponent: u32, fraction: u128) -> u128 {
    u128::from(sign) << 127 | u128::from(exponent) << 112 | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(top: u16, significand: u64) -> [u8; 16] {
        (u128::from(top) << 64 | u128::from(significand)).to_le_bytes()
    }

    #[test]
    fn known_numbers() {
        let one = 0x3fff_0000_0000_0000_0000_0000_0000_0000;
        for (top, significand, quad) in [
            (0, 0, 0),
            (0x8000, 0, 1 << 127),
            (0x3fff, LEADING, one),
            (0xc000, LEADING | LEADING >> 1, 0xc000_8000 << 96),
            (0x7fff, LEADING, 0x7fff << 112),
            (0, 1, 1 << 49),
            (1, LEADING, 1 << 112),
            (0x7ffe, u64::MAX, (0x7fff << 112) - (1 << 49)),
        ] {
            assert_eq!(
                from_extended(extended(top, significand)),
                quad,
                "{top:x} {significand:x}"
            );
            assert_eq!(to_extended(quad), extended(top, significand), "{quad:x}");
        }
        // Pi, as glibc prints it in both formats.
        let pi = extended(0x4000, 0xc90f_daa2_2168_c235);
        assert_eq!(from_extended(pi), 0x4000_921f_b544_42d1_846a << 48);
        assert_eq!(to_extended(0x4000_921f_b544_42d1_8469_898c_c517_01b8), pi);
    }

    #[test]
    fn rounding_goes_to_the_nearest_and_then_to_even() {
        let half = 1 << (LONGER - 1);
        let one: u128 = 0x3fff << 112;
        assert_eq!(to_extended(one + half), extended(0x3fff, LEADING));
        assert_eq!(to_extended(one + half + 1), extended(0x3fff, LEADING + 1));
        assert_eq!(to_extended(one + 3 * half), extended(0x3fff, LEADING + 2));
        assert_eq!(to_extended((0x4000 << 112) - 1), extended(0x4000, LEADING));
        assert_eq!(to_extended((0x7fff << 112) - 1), extended(0x7fff, LEADING));
        assert_eq!(to_extended((1 << 112) - 1), extended(1, LEADING));
    }

    #[test]
    fn what_is_not_a_number_stays_none() {
        let nan = to_extended(0x7fff << 112 | 1);
        assert_eq!(nan, extended(0x7fff, LEADING | 1 << 62));
        assert_ne!(from_extended(nan) & ((1 << 112) - 1), 0);
        assert_eq!(from_extended(extended(0x3fff, 1)) >> 111, 0xffff);
        assert_eq!(from_extended(extended(0, LEADING)), 1 << 112);
    }
}
