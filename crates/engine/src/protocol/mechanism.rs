//! The mechanisms that this process uses, wrapped for tests and traces as the tunables say, and which of them is forced.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::Duration;

use isthmus_os::kmod::Later;
use isthmus_os::xpmem::{self, Device};
use isthmus_os::{Error, clock, errno, kmod, process};
use isthmus_shm::slot::Identity;
use isthmus_transfer::attached::Xpmem;
use isthmus_transfer::cma::{Cma, Refusal};
use isthmus_transfer::fault::Fault;
use isthmus_transfer::kmod::{Kmod, Options};
use isthmus_transfer::mapped::Mapped;
use isthmus_transfer::stream::{Drain, Feed, StreamKind};
use isthmus_transfer::trace::{Event, Trace};
use isthmus_transfer::{Direction, Interrupted, Pending, Shape, Transfer};

use crate::data_path::DataPath;
use crate::fault::plan;
use crate::membership::own;
use crate::memory::heap::REGISTRY;
use crate::tunables;
use crate::warning::{Warning, warn};

/// Any mechanism, for as long as the process lives. Each call leaks a little memory: once per peer.
pub(crate) fn keep(transfer: impl Transfer + 'static) -> &'static dyn Transfer {
    let mut kept: &'static dyn Transfer = Box::leak(Box::new(transfer));
    if let Some(plan) = plan() {
        kept = Box::leak(Box::new(Fault::new(kept, plan)));
    }
    if tunables::TRACE.get() != 0 {
        kept = Box::leak(Box::new(Trace::new(kept, tell)));
    }
    kept
}

/// The peer's own memory, tried for real.
pub(crate) fn probe(peer: &Identity) -> Result<&'static dyn Transfer, Refusal> {
    // What a device refuses is worth a second try.
    match exposure() {
        Some(Exposure::Xpmem(device, _)) if peer.access[0] != 0 => {
            if let Ok(attached) = Xpmem::probe(device, peer.access[0] as i64, peer.pid, peer.nonce, peer.nonce_address)
            {
                return Ok(keep(attached));
            }
        }
        Some(Exposure::Module(device, _)) if peer.access != [0; 2] => {
            let mut cookie = [0; 16];
            for (bytes, word) in cookie.chunks_exact_mut(8).zip(peer.access) {
                bytes.copy_from_slice(&word.to_ne_bytes());
            }
            let options = Options {
                small_mappings: tunables::KMOD.get() == 2,
                later: copied_later().or(device.has_dma_engine().then_some(Later::Dma)),
            };
            match Kmod::probe(device, cookie, (peer.nonce, peer.nonce_address), peer.pid, options) {
                Ok(kmod) => return Ok(keep(kmod)),
                Err(refusal) if is_module_named() => return Err(refusal),
                Err(_) => {}
            }
        }
        _ if is_module_named() => {
            return Err(Refusal::Os(Error {
                call: "open(/dev/isthmus)",
                errno: errno::ENOENT,
            }));
        }
        _ => {}
    }
    Cma::probe(peer.pid, peer.nonce, peer.nonce_address).map(keep)
}

/// By what this process gives peers access to its memory.
#[derive(Debug)]
enum Exposure {
    Xpmem(Device, i64),
    Module(kmod::Device, kmod::Cookie),
}

/// By what peers of the job with this secret get access to our memory; zeros: by no device.
pub(crate) fn exposed(job: [u8; 16]) -> [u64; 2] {
    match EXPOSURE.get_or_init(|| expose(job)) {
        None => [0; 2],
        Some(Exposure::Xpmem(_, id)) => [*id as u64, 0],
        Some(Exposure::Module(_, cookie)) => {
            [0, 8].map(|at| u64::from_ne_bytes(cookie[at..at + 8].try_into().expect("eight bytes")))
        }
    }
}

static EXPOSURE: OnceLock<Option<Exposure>> = OnceLock::new();

fn exposure() -> Option<&'static Exposure> {
    EXPOSURE.get().and_then(Option::as_ref)
}

/// The device that is wanted, if the machine has it.
fn expose(job: [u8; 16]) -> Option<Exposure> {
    if let Some(exposure) = xpmem() {
        return Some(exposure);
    }
    if tunables::KMOD.get() == 0 || forced().is_some_and(|choice| choice.single_copies_by == Some("cma")) {
        return None;
    }
    let opened =
        kmod::Device::open(kmod::DEVICE, job).and_then(|device| device.expose().map(|cookie| (device, cookie)));
    match opened {
        Ok((device, cookie)) => Some(Exposure::Module(device, cookie)),
        // Few machines have it.
        Err(error) if error.errno == errno::ENOENT && !is_module_named() => None,
        Err(error) => {
            let cure = match error.errno {
                errno::ENOENT => "load it (kmod/README.md)",
                errno::EACCES | errno::EPERM => "chmod 0666 /dev/isthmus, or a udev rule",
                errno::EPROTO => "load the module of this version",
                _ => "see `dmesg`",
            };
            // Named, it is that or two copies.
            let (instead, or) = match is_module_named() {
                true => ("large messages take two copies", "another ISTHMUS_MECHANISM"),
                false => ("cross memory attach is", "ISTHMUS_KMOD=0"),
            };
            warn(
                Warning::NoModule,
                &format!("isthmus: the kernel module is not used ({error}); {instead}. Cure: {cure}; or {or}."),
            );
            None
        }
    }
}

/// The device and our id, if it is wanted and the machine has it.
fn xpmem() -> Option<Exposure> {
    if tunables::XPMEM.get() == 0 {
        return None;
    }
    let device = Device::open(xpmem::DEVICE).and_then(|device| device.expose().map(|id| (device, id)));
    device
        .map(|(device, id)| Exposure::Xpmem(device, id))
        .map_err(|error| warn(Warning::NoXpmem, &format!("isthmus: no XPMEM: {error}")))
        .ok()
}

/// Memory that both sides map.
pub(crate) fn mapped() -> &'static dyn Transfer {
    static MAPPED: OnceLock<&'static dyn Transfer> = OnceLock::new();
    *MAPPED.get_or_init(|| keep(Mapped::new(&REGISTRY)))
}

/// A copy that began so long ago, as other copies are told of, if they are.
pub(crate) fn tell_later(pending: &Pending, began: Duration, outcome: Result<(), Interrupted>) {
    if tunables::TRACE.get() != 0 {
        tell(&Event {
            mechanism: pending.name(),
            direction: Direction::Pull,
            shape: Shape::contiguous(pending.bytes()),
            took: clock::now() - began,
            outcome,
        });
    }
}

fn tell(event: &Event) {
    let Event {
        mechanism,
        direction,
        shape,
        took,
        outcome,
    } = event;
    let how = outcome.map_or_else(|stopped| stopped.to_string(), |()| "done".into());
    process::say(&format!(
        "isthmus: rank {}: {mechanism} {direction:?} of {} bytes took {took:?}: {how}",
        own::world().map_or(0, |world| world.rank),
        shape.bytes
    ));
}

/// Which side copies, where the user says that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Any side that gains.
    Any,
    /// The receiver alone (`process_vm_readv`).
    Receiver,
    /// The sender alone (`process_vm_writev`).
    Sender,
    /// Both, whatever the size.
    Both,
}

/// What the user has named by the tunable `mechanism`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// What moves the bytes of long messages: the path's name, see [`DataPath::mechanism`].
    pub mechanism: &'static str,
    /// Which side is to make single copies.
    pub sides: Sides,
}

/// What the tunable `mechanism` may be.
#[derive(Debug, Clone, Copy)]
struct Choice {
    name: &'static str,
    /// The path's, see [`DataPath::mechanism`].
    mechanism: &'static str,
    sides: Sides,
    /// What makes single copies; `None`: what there is.
    single_copies_by: Option<&'static str>,
}

const fn choice(
    name: &'static str,
    mechanism: &'static str,
    sides: Sides,
    single_copies_by: Option<&'static str>,
) -> Choice {
    Choice {
        name,
        mechanism,
        sides,
        single_copies_by,
    }
}

const CHOICES: [Choice; 12] = [
    choice("ring", "ring", Sides::Any, None),
    choice("cma", "cma", Sides::Any, Some("cma")),
    choice("cma_read", "cma", Sides::Receiver, Some("cma")),
    choice("cma_write", "cma", Sides::Sender, Some("cma")),
    choice("cma_both", "cma", Sides::Both, Some("cma")),
    choice("kmod", "cma", Sides::Any, Some("kmod")),
    choice("kmod_thread", "cma", Sides::Receiver, Some("kmod")),
    choice("kmod_dma", "cma", Sides::Receiver, Some("kmod")),
    choice("mapped", "mapped", Sides::Any, None),
    choice("vmsplice", "vmsplice", Sides::Any, None),
    choice("writev", "writev", Sides::Any, None),
    choice("loopback", "loopback", Sides::Any, None),
];

/// The mechanism that large messages must take where they can, if the user names one.
fn forced() -> Option<&'static Choice> {
    static FORCED: OnceLock<Option<&'static Choice>> = OnceLock::new();
    *FORCED.get_or_init(|| {
        let text = tunables::MECHANISM.get()?;
        let known = CHOICES.iter().find(|choice| choice.name == text);
        if known.is_none() {
            let names = CHOICES.map(|choice| choice.name).join(", ");
            warn(
                Warning::Mechanism,
                &format!(
                    "isthmus: {}={text} is none of {names}; ignored",
                    tunables::MECHANISM.variable()
                ),
            );
        }
        known
    })
}

/// What moves the bytes of large messages, and which side, if the user says so. The module (`kmod`) copies as `cma` does.
pub(crate) fn named() -> Option<Named> {
    forced().map(|choice| Named {
        mechanism: choice.mechanism,
        sides: choice.sides,
    })
}

/// Is the module to make single copies, and nothing else?
fn is_module_named() -> bool {
    forced().is_some_and(|choice| choice.single_copies_by == Some("kmod"))
}

/// What the user has named that makes the module's copies while the rank goes on.
pub(crate) fn copied_later() -> Option<Later> {
    match forced()?.name {
        "kmod_thread" => Some(Later::Thread),
        "kmod_dma" => Some(Later::Dma),
        _ => None,
    }
}

/// May large messages go this way?
pub(crate) fn is_open(path: DataPath) -> bool {
    forced().is_none_or(|choice| choice.mechanism == path.mechanism())
}

/// Has the user named this way?
pub(crate) fn is_forced(path: DataPath) -> bool {
    forced().is_some_and(|choice| choice.mechanism == path.mechanism())
}

/// May the receiver copy, this way?
pub(crate) fn may_pull(path: DataPath) -> bool {
    is_open(path) && sides() != Sides::Sender
}

/// May the sender copy, this way?
pub(crate) fn may_push(path: DataPath) -> bool {
    is_open(path) && sides() != Sides::Receiver
}

/// Which side is to make single copies.
pub(crate) fn sides() -> Sides {
    forced().map_or(Sides::Any, |choice| choice.sides)
}

/// A new stream to a peer, wrapped as [`keep`] wraps.
pub(crate) fn open_stream(kind: StreamKind) -> Result<(Box<dyn Feed>, OwnedFd), Error> {
    let (mut feed, descriptor) = kind.open()?;
    if let Some(plan) = plan() {
        feed = Box::new(Fault::new(feed, plan));
    }
    if tunables::TRACE.get() != 0 {
        feed = Box::new(Trace::new(feed, tell));
    }
    Ok((feed, descriptor))
}

/// The other end of a stream that a peer has made.
pub(crate) fn drain_stream(kind: StreamKind, descriptor: OwnedFd) -> Box<dyn Drain> {
    let mut drain = kind.drain(descriptor);
    if let Some(plan) = plan() {
        drain = Box::new(Fault::new(drain, plan));
    }
    if tunables::TRACE.get() != 0 {
        drain = Box::new(Trace::new(drain, tell));
    }
    drain
}
