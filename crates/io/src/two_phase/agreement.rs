//! How members of a call tell one another what went wrong, so that all return the same class of error.

use super::Exchange;
use crate::error::{Error, Result};
use crate::failure::Failure;

/// An error in a word that others understand; 0: none.
pub fn told(error: Option<&Error>, failure: Option<Failure>) -> u64 {
    match (error, failure) {
        (Some(error), _) => u64::from(error.code().cast_unsigned()),
        (None, Some(failure)) => {
            u64::from((failure.class() as i32).cast_unsigned()) | u64::from(failure.errno.cast_unsigned()) << 32
        }
        (None, None) => 0,
    }
}

/// The error of a call in which rank `rank` has told of what was wrong with it.
#[cold]
pub fn error_of(path: &str, rank: usize, word: u64) -> Error {
    let (code, errno) = ((word as u32).cast_signed(), (word >> 32) as u32);
    let why = match errno {
        0 => "the call failed there".to_owned(),
        errno => std::io::Error::from_raw_os_error(errno.cast_signed()).to_string(),
    };
    Error::from_code(code, format!("{path}: rank {rank} could not do its part: {why}"))
}

/// End a call that all make with what went wrong here or, if nothing did, elsewhere: the first rank's error, for all.
pub async fn agree(exchange: &impl Exchange, path: &str, result: Result<()>) -> Result<()> {
    let error = result.err();
    if error.as_ref().is_some_and(Error::is_failure) {
        // A rank that has lost a member does not meet the others again.
        return error.map_or(Ok(()), Err);
    }
    let all = exchange.gather([told(error.as_ref(), None)]).await?;
    verdict(exchange.rank(), path, all.iter().map(|[word]| *word), error)
}

/// The error of a call in which members told these words, by rank: the first that is one, for all. `own` is that of the calling rank `me`, in
/// its own words.
pub fn verdict(me: usize, path: &str, mut words: impl Iterator<Item = u64>, own: Option<Error>) -> Result<()> {
    let Some((rank, word)) = (0..).zip(words.by_ref()).find(|(_, word)| *word != 0) else {
        return own.map_or(Ok(()), Err);
    };
    let error = error_of(path, rank, word);
    Err(own
        .filter(|own| rank == me || own.code() == error.code())
        .unwrap_or(error))
}
