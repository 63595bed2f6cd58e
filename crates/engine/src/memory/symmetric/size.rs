//! How large the symmetric heap is: `SHMEM_SYMMETRIC_SIZE` (OpenSHMEM 1.6, "Environment Variables").

/// Bytes per PE unless somebody says otherwise; memory comes only as it is allocated.
pub const DEFAULT: u64 = 1 << 30;

/// What the environment says, and true; or [`DEFAULT`].
///
/// # Errors
/// It says what is no size: the variable, and what it says.
pub fn wanted() -> Result<(u64, bool), (&'static str, String)> {
    for name in [
        "SHMEM_SYMMETRIC_SIZE",
        "SMA_SYMMETRIC_SIZE",
        "SHMEM_SYMMETRIC_HEAP_SIZE",
    ] {
        if let Ok(text) = std::env::var(name) {
            return parse(&text).map(|size| (size, true)).ok_or((name, text));
        }
    }
    Ok((DEFAULT, false))
}

/// A number that may have a fraction and one of the suffixes k, m, g and t; what follows the suffix is ignored.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let factor = match suffix.chars().next() {
        None => 1_u64,
        Some('k' | 'K') => 1 << 10,
        Some('m' | 'M') => 1 << 20,
        Some('g' | 'G') => 1 << 30,
        Some('t' | 'T') => 1 << 40,
        Some(_) => return None,
    };
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let bytes = (digits.parse::<f64>().ok()? * factor as f64).ceil();
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_as_the_specification_says() {
        assert_eq!(parse("20m"), Some(20_971_520));
        assert_eq!(parse("3.1M"), Some(3_250_586));
        assert_eq!(parse(".5m"), parse("0.5m"));
        assert_eq!(parse("20kk"), Some(20 << 10));
        assert_eq!(parse("1t"), Some(1 << 40));
        assert_eq!(parse("4096"), Some(4096));
        for nonsense in ["nonsense", "", "-1", "12q", "1.2.3", "99999999999999999999g"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }
}
