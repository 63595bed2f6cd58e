//! Archives of inputs: `fuzz/corpus/TARGET.txt` has a line `NAME HEXADECIMAL` for each input, in the order of names. Inputs that have been
//! crashes have names that say so, others the beginning of a digest.

/// The inputs of an archive, by name.
///
/// # Errors
/// A line has another form: which one.
pub fn parse(archive: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
    let input = |line: &str| {
        let (name, digits) = line.split_once(' ')?;
        let pairs = digits.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = pairs
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
            .collect();
        Some((name.to_owned(), bytes?))
    };
    let lines = archive.lines();
    lines
        .map(|line| input(line).ok_or_else(|| format!("not NAME HEXADECIMAL: {line}")))
        .collect()
}
