//! Message sizes on the command line.

use std::str::FromStr;

/// A number of bytes, written `64`, `8K` or `4M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u32);

/// Sizes separated by commas; what is none is left out.
pub fn list(text: &str) -> Vec<Size> {
    text.split(',').filter_map(|text| text.parse().ok()).collect()
}

/// The C programs hold sizes in an `int`, and keep two buffers of the largest.
const LARGEST: u32 = 1 << 30;

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, factor) = match text.chars().last() {
            Some('k' | 'K') => (&text[..text.len() - 1], 1 << 10),
            Some('m' | 'M') => (&text[..text.len() - 1], 1 << 20),
            _ => (text, 1),
        };
        let size = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(factor));
        size.filter(|size| *size <= LARGEST)
            .map(Size)
            .ok_or_else(|| "not a size; say 64, 8K or 4M, at most 1024M".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("0".parse(), Ok(Size(0)));
        assert_eq!("8K".parse(), Ok(Size(8192)));
        assert_eq!("4m".parse(), Ok(Size(4 << 20)));
        assert!("5000M".parse::<Size>().is_err());
        assert!("K".parse::<Size>().is_err());
        assert_eq!(list("8,x,2K"), [Size(8), Size(2048)]);
        assert!("".parse::<Size>().is_err());
    }
}
