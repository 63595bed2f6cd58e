//! Ranks that are threads.

use super::*;

/// A rank that is a thread.
pub(super) struct Thread {
    /// 0, or 1 for the other group.
    pub(super) group: usize,
    pub(super) rank: usize,
    /// Of its group and of the other one.
    pub(super) sizes: [usize; 2],
    pub(super) to: Vec<Sender<Vec<u8>>>,
    pub(super) from: Vec<Receiver<Vec<u8>>>,
    pub(super) faults: Cell<usize>,
    /// Writes down what algorithms ask for, until they have ended.
    pub(super) recorder: Option<Recorder>,
    pub(super) layout: Option<Layout>,
}

impl Thread {
    /// The algorithm has returned: do what it asked for, if that has not happened yet.
    pub(super) fn end(&self, result: Result<()>) {
        result.unwrap();
        let Some(recorder) = &self.recorder else { return };
        let Some(program) = recorder.take() else { return };
        assert!(program.fault.is_none());
        for step in &program.steps {
            // SAFETY: what the tests promise to the algorithm.
            unsafe {
                match step {
                    Step::Messages { receives, sends } => {
                        self.exchange(&program.receives[receives.clone()], &program.sends[sends.clone()]);
                    }
                    step => step.perform().unwrap(),
                }
            }
        }
    }

    /// # Safety
    /// As for [`Link::transfer`].
    unsafe fn exchange(&self, receives: &[Incoming], sends: &[Outgoing]) {
        for send in sends {
            assert_ne!(send.to, self.rank);
            let mut message = vec![0; send.len];
            if send.len > 0 {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(send.data, message.as_mut_ptr(), send.len) };
            }
            self.to[send.to].send(message).unwrap();
        }
        for receive in receives {
            let message = self.from[receive.from].recv().unwrap();
            if message.len() != receive.len {
                self.mismatch(receive.from, message.len(), receive.len);
            }
            let len = message.len().min(receive.len);
            if len > 0 {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), receive.into, len) };
            }
        }
    }
}

impl Link for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.sizes[0]
    }

    fn remote_size(&self) -> usize {
        self.sizes[1]
    }

    fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    fn fault(&self, _error: Error) {
        self.faults.set(self.faults.get() + 1);
    }

    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.transfer(receives, sends)?,
                None => self.exchange(receives, sends),
            }
        }
        Ok(())
    }

    unsafe fn pack(&self, from: Elements<'_>, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.pack(from, to),
                None => from.pack(to),
            }
        }
    }

    unsafe fn unpack(&self, from: *const u8, len: usize, to: Elements<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.unpack(from, len, to),
                None => to.unpack(from, len),
            }
        }
    }

    unsafe fn apply(&self, operand: &Operand<'_>, left: *const u8, inout: *mut u8, count: i64) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.recorder {
                Some(recorder) => recorder.apply(operand, left, inout, count),
                None => operand.combine(left, inout, count),
            }
        }
    }

    fn memory(&self, len: usize) -> Result<Room<'_>> {
        match &self.recorder {
            Some(recorder) => recorder.memory(len),
            None => Room::allocate(len),
        }
    }
}

/// Numbers of ranks that are tried; in the full test the last two as well, which are most of the time.
pub(super) fn sizes() -> &'static [usize] {
    const ALL: [usize; 10] = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17];
    match std::env::var_os("ISTHMUS_TEST_FULL") {
        Some(_) => &ALL,
        None => &ALL[..8],
    }
}

/// Run `f` on `size` ranks, once at once and once recorded; what each returns, by rank.
pub(super) fn on_ranks<T: Send>(size: usize, f: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
    let mut results = on_groups_once([size, 0], false, &f);
    results.extend(on_groups_once([size, 0], true, &f));
    results
}

/// Run `f` on the ranks of two groups, `sizes[0]` of the first and then those of the second. Nothing may be left in flight.
pub(super) fn on_groups_once<T: Send>(sizes: [usize; 2], recorded: bool, f: &(impl Fn(&Thread) -> T + Sync)) -> Vec<T> {
    let (first, all) = (sizes[0], sizes[0] + sizes[1]);
    let mut channels: Vec<Vec<_>> = (0..all)
        .map(|_| {
            (0..all)
                .map(|_| channel())
                .map(|(to, from)| (Some(to), Some(from)))
                .collect()
        })
        .collect();
    let ranks: Vec<Thread> = (0..all)
        .map(|place| {
            let (group, rank, own, other, sizes) = if place < first {
                (0, place, 0..first, first..all, sizes)
            } else {
                (1, place - first, first..all, 0..first, [sizes[1], sizes[0]])
            };
            // Its own group comes first.
            let others = || own.clone().chain(other.clone());
            Thread {
                group,
                rank,
                sizes,
                to: others().map(|other| channels[place][other].0.take().unwrap()).collect(),
                from: others().map(|other| channels[other][place].1.take().unwrap()).collect(),
                faults: Cell::new(0),
                recorder: recorded.then(|| Recorder::with(rank, sizes)),
                layout: if sizes[1] == 0 { layout_of(sizes[0]) } else { None },
            }
        })
        .collect();
    let wanted = WANTED.get();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|rank| {
                scope.spawn(move || {
                    WANTED.set(wanted);
                    let result = f(&rank);
                    assert_eq!(rank.faults.get(), 0);
                    // Once everyone has finished, nothing may have been sent that nobody received.
                    rank.end(barrier::run(&rank));
                    for receiver in &rank.from {
                        assert!(receiver.try_recv().is_err(), "a message was left behind");
                    }
                    result
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
