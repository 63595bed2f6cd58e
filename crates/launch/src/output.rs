//! `--tag-output` and `--timestamp-output`: each line of a rank's output, whole and marked `[rank] ` or with the time.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Instant;

use crate::options::Job;
use crate::sink::{self, Stream};

/// Longer lines are cut into pieces of this size, so that a rank cannot make us hold any amount.
const LONGEST_LINE: usize = 1 << 20;

/// The reading end of one rank's pipe.
#[derive(Debug)]
pub struct Pipe {
    from: std::fs::File,
    to: Stream,
    lines: Lines,
}

impl Pipe {
    /// Pass on what a rank writes into the other end of `from`.
    pub fn new(tag: Tag, from: OwnedFd, to: Stream) -> Self {
        let from = from.into();
        let lines = Lines::new(tag);
        Self { from, to, lines }
    }

    /// Pass on what there is, after a poll found something and [`sink::room`] was there. False: the other end is closed, and all is passed on.
    /// Does not block.
    pub fn pass_on(&mut self) -> bool {
        // Not on the stack, which may have no more than that (`ulimit -s 64`).
        let mut buffer = vec![0; 64 << 10];
        let (ready, open) = match std::io::Read::read(&mut self.from, &mut buffer) {
            Ok(0) | Err(_) => (self.lines.finish(), false),
            Ok(length) => (self.lines.add(&buffer[..length]), true),
        };
        if !ready.is_empty() {
            sink::put(self.to, ready);
        }
        open
    }

    /// Where its bytes go.
    pub fn stream(&self) -> Stream {
        self.to
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}

/// What each line of a rank begins with.
#[derive(Debug, Clone)]
pub struct Tag {
    rank: Option<usize>,
    since: Option<Instant>,
}

impl Tag {
    /// As the job wants it.
    pub fn of(job: &Job, rank: usize) -> Self {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        let began = *BEGAN.get_or_init(Instant::now);
        Self {
            rank: job.tag_output.then_some(rank),
            since: job.timestamp_output.then_some(began),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let rank = self.rank.map_or_else(String::new, |rank| format!("[{rank}] "));
        let time = self.since.map(|since| format!("{:.6} ", since.elapsed().as_secs_f64()));
        format!("{rank}{}", time.unwrap_or_default()).into_bytes()
    }
}

/// Cuts a stream of bytes into tagged lines.
#[derive(Debug)]
struct Lines {
    tag: Tag,
    begun: Vec<u8>,
}

impl Lines {
    fn new(tag: Tag) -> Self {
        let begun = Vec::new();
        Self { tag, begun }
    }

    /// The lines that `bytes` complete.
    fn add(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut ready = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.begun.extend(piece);
            if piece.ends_with(b"\n") || self.begun.len() >= LONGEST_LINE {
                ready.extend(self.finish());
            }
        }
        ready
    }

    /// An unfinished line.
    fn finish(&mut self) -> Vec<u8> {
        if self.begun.is_empty() {
            return Vec::new();
        }
        let mut line = self.tag.bytes();
        line.append(&mut self.begun);
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rank: usize) -> Lines {
        Lines::new(Tag {
            rank: Some(rank),
            since: None,
        })
    }

    #[test]
    fn lines_come_whole() {
        let mut lines = of(3);
        assert_eq!(lines.add(b"one\ntw"), b"[3] one\n");
        assert_eq!(lines.add(b""), b"");
        assert_eq!(lines.add(b"o\n\nthree"), b"[3] two\n[3] \n");
        assert_eq!(lines.finish(), b"[3] three\n");
        assert_eq!(lines.finish(), b"");
    }

    #[test]
    fn endless_lines_are_cut() {
        let mut lines = of(0);
        let passed = lines.add(&vec![b'x'; LONGEST_LINE + 1]);
        assert!(passed.len() > LONGEST_LINE && lines.begun.len() < LONGEST_LINE);
    }
}
