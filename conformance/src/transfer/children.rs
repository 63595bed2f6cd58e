//! Peers that are processes: children made by `fork`, whose memory lies elsewhere than ours.
//!
//! A test process has threads, so a child does nothing but make system calls and touch memory that it has.

use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_os::{child, process, signal};
use isthmus_transfer::Transfer;
use isthmus_transfer::cma::{Cma, Refusal};

use super::Pair;
use super::memory::Region;

/// What a child proves its identity by; each writes its own copy.
static SECRET: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// Children so far.
static BORN: AtomicU64 = AtomicU64::new(0);

/// Where each child has its copy of its secret.
pub fn own_secret_address() -> u64 {
    SECRET.as_ptr().expose_provenance() as u64
}

/// A child that holds a region at an address of its own, followed by a hole, and does nothing.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    secret: [u64; 2],
    /// Where the child has the region.
    there: u64,
    view: Region,
    length: u64,
}

impl Child {
    /// Make one. It does `prepare`, with the region's address, before this returns.
    pub fn new(length: u64, prepare: impl Fn(u64)) -> Self {
        Self::start(length, prepare, || {
            // SAFETY: takes nothing.
            unsafe { libc::pause() };
        })
    }

    /// Make one that does this again and again.
    pub fn watching(length: u64, watch: impl Fn()) -> Self {
        Self::start(length, |_| {}, watch)
    }

    /// Where it has its region.
    pub fn address(&self) -> u64 {
        self.there
    }

    fn start(length: u64, prepare: impl Fn(u64), live_on: impl Fn()) -> Self {
        let length = length.next_multiple_of(4096);
        let view = Region::new(length + 4096);
        let (parent, mut pipe) = (process::id(), [0; 2]);
        // Not the child's id: another one may have the same later.
        let secret = [u64::from(parent), BORN.fetch_add(1, Ordering::Relaxed) + 1];
        // SAFETY: the array takes two descriptors.
        assert_eq!(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        // SAFETY: the child makes system calls only.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
        if pid == 0 {
            live((parent, secret), &view, length, pipe[1], prepare, live_on);
        }
        let mut there = 0u64;
        // SAFETY: both descriptors are ours, and `there` takes eight bytes.
        let read = unsafe {
            libc::close(pipe[1]);
            let read = libc::read(pipe[0], (&raw mut there).cast(), 8);
            libc::close(pipe[0]);
            read
        };
        assert_eq!(read, 8, "the child says where its memory is");
        Self {
            pid: pid as u32,
            secret,
            there,
            view,
            length,
        }
    }

    /// What it proves its identity by.
    pub fn secret(&self) -> [u64; 2] {
        self.secret
    }

    /// Bytes of its region; a hole follows.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Its region, as the kit sees it.
    pub fn view(&self) -> &Region {
        &self.view
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Try to reach its memory.
    pub fn probe(&self) -> Result<Cma, Refusal> {
        Cma::probe(self.pid, self.secret, SECRET.as_ptr().expose_provenance() as u64)
    }

    /// Kill it, and wait until its id is nobody's.
    pub fn end(mut self) {
        self.reap();
    }

    fn reap(&mut self) {
        if self.pid != 0 {
            let _ = signal::send(self.pid, signal::KILL);
            // SAFETY: a child of ours that has not been reaped; the status is not asked for.
            unsafe { libc::waitpid(self.pid as i32, std::ptr::null_mut(), 0) };
            self.pid = 0;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
    }
}

/// Move the region, leave a hole behind it, tell the parent, live on until killed.
fn live(
    (parent, secret): (u32, [u64; 2]),
    view: &Region,
    length: u64,
    tell: i32,
    prepare: impl Fn(u64),
    live_on: impl Fn(),
) -> ! {
    if child::die_with(parent).is_err() {
        process::exit_now(1);
    }
    for (cell, value) in SECRET.iter().zip(secret) {
        cell.store(value, Ordering::Relaxed);
    }
    let whole = view.length() as usize;
    // SAFETY: the new addresses are free, as the kernel has just found; the old ones are this child's copy of a mapping
    // that nothing in it uses.
    unsafe {
        let free = libc::mmap(
            std::ptr::null_mut(),
            whole,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        let old = std::ptr::with_exposed_provenance_mut(view.address() as usize);
        let new = libc::mremap(old, whole, whole, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, free);
        if free == libc::MAP_FAILED || new == libc::MAP_FAILED {
            process::exit_now(2);
        }
        libc::munmap(new.byte_add(length as usize), whole - length as usize);
        let there = new.expose_provenance() as u64;
        prepare(there);
        libc::write(tell, (&raw const there).cast(), 8);
    }
    loop {
        live_on();
    }
}

/// Run a check in a child that has no privileges, as an ordinary user's process has none. True if it says so.
pub fn unprivileged(check: impl FnOnce() -> bool) -> bool {
    const NOBODY: libc::uid_t = 20_000;
    let parent = process::id();
    // SAFETY: the child leaves by `exit_now`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: system calls with integer arguments. Only root can change; the others need not.
        let ready = unsafe { libc::geteuid() != 0 || libc::setresuid(NOBODY, NOBODY, NOBODY) == 0 };
        let holds = child::die_with(parent).is_ok() && ready && check();
        process::exit_now(i32::from(!holds));
    }
    let mut status = -1;
    // SAFETY: the child is ours, the status too.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    status == 0
}

/// A child and Cross Memory Attach, wrapped or not.
#[derive(Debug)]
pub struct Forked {
    child: Child,
    transfer: Box<dyn Transfer>,
}

impl Forked {
    /// The mechanism made from the probe's.
    pub fn wrapped(length: u64, wrap: impl FnOnce(Cma) -> Box<dyn Transfer>) -> Self {
        let child = Child::new(length, |_| {});
        let cma = child.probe().expect("a parent may read its child");
        Self {
            child,
            transfer: wrap(cma),
        }
    }
}

impl Pair for Forked {
    const OUTLIVES: bool = false;

    fn new(length: u64) -> Self {
        Self::wrapped(length, |cma| Box::new(cma))
    }

    fn length(&self) -> u64 {
        self.child.length
    }

    fn transfer(&self) -> &dyn Transfer {
        &*self.transfer
    }

    fn remote(&self, at: u64) -> u64 {
        self.child.there + at
    }

    fn view(&self) -> &Region {
        &self.child.view
    }

    fn killer(&self) -> impl FnOnce() + Send + 'static {
        let pid = self.child.pid;
        // Not reaped before the pair is dropped, so the id stays the child's.
        move || signal::send(pid, signal::KILL).expect("a child of ours")
    }
}
