//! Passing on what ranks print (`--tag-output`): as fast as our own output is read, and no faster.

use std::io::PipeReader;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use isthmus_os::poll::Interest;
use isthmus_os::stdio;

use super::{Awaited, Source, Supervisor};
use crate::failure::{Result, say};
use crate::output::Pipe;
use crate::sink::{self, Stream};

/// How long our output may wait for its reader after the job was ended by a signal, by its time limit, or from above.
const OUTPUT: Duration = Duration::from_secs(1);
/// How often signals are looked at while output waits for its reader.
const LOOK: Duration = Duration::from_millis(20);

/// The pipes from ranks.
#[derive(Debug, Default)]
pub(super) struct Passing {
    pipes: Vec<Pipe>,
    /// By stream: what can be read once there is room for more.
    full: [Option<PipeReader>; 2],
    /// Output could not be written.
    unwritten: bool,
    /// The length of standard output before the job, if it is a file.
    began_with: u64,
}

impl Passing {
    /// Without pipes yet.
    pub fn begin() -> Self {
        Self {
            began_with: stdio::output_length(),
            ..Self::default()
        }
    }

    /// Pass these on, too.
    pub fn add(&mut self, pipes: Vec<Pipe>) {
        self.pipes.extend(pipes);
    }

    /// The pipes.
    pub fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.pipes.iter().map(|pipe| pipe.as_fd().as_raw_fd())
    }

    /// What to wait for. Of a stream whose reader is behind: that there is room.
    pub fn awaited<'a>(&'a mut self, awaited: &mut Awaited<'a>) {
        for stream in [Stream::Out, Stream::Err] {
            let is_used = self.pipes.iter().any(|pipe| pipe.stream() == stream);
            let full = &mut self.full[stream as usize];
            if is_used && full.is_none() {
                *full = sink::room(stream).err();
            }
        }
        for (index, pipe) in self.pipes.iter().enumerate() {
            if self.full[pipe.stream() as usize].is_none() {
                awaited.push((pipe.as_fd(), Interest::Read, Source::Pipe(index)));
            }
        }
        for (stream, full) in self.full.iter().enumerate() {
            awaited.extend(
                full.iter()
                    .map(|full| (full.as_fd(), Interest::Read, Source::Room(stream))),
            );
        }
    }

    /// Pass on what these have.
    pub fn handle(&mut self, ready: &[Source]) {
        // From the back, so that the indexes before a closed pipe stay true.
        for &source in ready.iter().rev() {
            match source {
                Source::Pipe(index) if !self.pipes[index].pass_on() => drop(self.pipes.remove(index)),
                Source::Room(stream) => self.full[stream] = None,
                _ => {}
            }
        }
    }

    /// Pass on what is there now, as far as there is room. False: nothing was.
    fn pass_on(&mut self) -> bool {
        let mut awaited = Vec::new();
        self.awaited(&mut awaited);
        let ready = super::ready(awaited, Some(Duration::ZERO)).unwrap_or_default();
        self.handle(&ready);
        !ready.is_empty()
    }

    fn is_held_up(&self) -> bool {
        self.full.iter().any(Option::is_some)
    }
}

impl Supervisor<'_> {
    /// Everybody who could write has gone: what is left in the pipes is all there is. Blocks until it is written, as long as nobody ends the
    /// job from outside.
    pub(super) fn pass_the_rest_on(&mut self) -> Result<()> {
        let mut hurried = None;
        loop {
            while self.passing.pass_on() {}
            let is_written = sink::finish(&[Stream::Out, Stream::Err], LOOK);
            if is_written && !self.passing.is_held_up() {
                break;
            }
            if self.is_hurried()? {
                hurried.get_or_insert_with(Instant::now);
            }
            if hurried.is_some_and(|since| since.elapsed() >= OUTPUT) {
                break;
            }
        }
        self.say_unwritten();
        self.report_full_output();
        Ok(())
    }

    /// Has the job been ended from outside: by a signal, its time limit, or the `mpiexec` above?
    fn is_hurried(&mut self) -> Result<bool> {
        self.handle_signals()?;
        self.handle_uplink_if_ready();
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let is_ended_above = self.uplink.is_some() && self.ending.is_some();
        Ok(is_late || is_ended_above || self.told.is_some())
    }

    /// Output that cannot be written is lost: it is said once, and is a failure.
    pub(super) fn say_unwritten(&mut self) {
        if let Some(error) = sink::failure().filter(|_| !self.passing.unwritten) {
            self.passing.unwritten = true;
            say(&format!("the ranks' output cannot be written: {error}; it is lost"));
            self.verdict.get_or_insert(1);
        }
    }

    /// Ranks that write to standard output themselves may have ignored that it is full: that is said, too, and is a failure.
    fn report_full_output(&mut self) {
        let began_with = self.passing.began_with;
        if self.uplink.is_none() && !self.passing.unwritten && stdio::output_is_full(began_with) {
            self.passing.unwritten = true;
            say("standard output has no room left: output of the ranks is lost");
            self.verdict.get_or_insert(1);
        }
    }
}
