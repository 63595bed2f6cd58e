//! Files that people write: settings, lists of hosts.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// No file that is meant is longer, in bytes.
const MOST: u64 = 1 << 20;

/// The text of a file. Fails where it is longer than 1 MiB, as `/dev/zero` is. Blocks as reading does.
pub fn read(path: impl AsRef<Path>) -> Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MOST {
        true => Err(Error::new(ErrorKind::FileTooLarge, "longer than 1 MiB")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends() {
        assert!(read("/dev/zero").is_err());
        assert_eq!(read("/dev/null").expect("empty"), "");
        assert!(read("/no/such/file").is_err());
    }
}
