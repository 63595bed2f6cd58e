//! The mechanisms that this process uses, wrapped for tests and traces as the tunables say, and which of them is forced.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use isthmus_os::xpmem::{self, Device};
use isthmus_os::{Error, process};
use isthmus_shm::slot::Identity;
use isthmus_transfer::attached::Xpmem;
use isthmus_transfer::cma::{Cma, Refusal};
use isthmus_transfer::fault::{Fault, Plan};
use isthmus_transfer::mapped::Mapped;
use isthmus_transfer::stream::{Drain, Feed, Kind};
use isthmus_transfer::trace::{Event, Trace};
use isthmus_transfer::{Direction, Transfer};

use crate::membership::boot;
use crate::memory::heap::REGISTRY;
use crate::protocol::choice::select::Way;
use crate::tunables;

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
pub(crate) fn reach(peer: &Identity) -> Result<&'static dyn Transfer, Refusal> {
    // What XPMEM refuses is worth a second try.
    if let Some((device, _)) = xpmem()
        && peer.xpmem != 0
        && let Ok(attached) = Xpmem::probe(device, peer.xpmem as i64, peer.pid, peer.nonce, peer.nonce_address)
    {
        return Ok(keep(attached));
    }
    Cma::probe(peer.pid, peer.nonce, peer.nonce_address).map(keep)
}

/// The id by which peers get access to our memory by XPMEM; 0: they do not.
pub(crate) fn exposed() -> u64 {
    xpmem().map_or(0, |&(_, id)| id as u64)
}

/// The device and our id, if it is wanted and the machine has it.
fn xpmem() -> Option<&'static (Device, i64)> {
    static DEVICE: OnceLock<Option<(Device, i64)>> = OnceLock::new();
    let open = || {
        let device = Device::open(xpmem::DEVICE).and_then(|device| device.expose().map(|id| (device, id)));
        device
            .map_err(|error| process::say(&format!("isthmus: no XPMEM: {error}")))
            .ok()
    };
    DEVICE
        .get_or_init(|| (tunables::XPMEM.get() != 0).then(open).flatten())
        .as_ref()
}

/// Memory that both sides map.
pub(crate) fn mapped() -> &'static dyn Transfer {
    static MAPPED: OnceLock<&'static dyn Transfer> = OnceLock::new();
    *MAPPED.get_or_init(|| keep(Mapped::new(&REGISTRY)))
}

/// A piece of an announced message is written into a ring, or about to be read out of one: what is to go wrong does.
#[inline]
pub(crate) fn strike_piece(direction: Direction) {
    if let Some(plan) = plan() {
        plan.strike_piece(direction);
    }
}

/// What is to go wrong in this process.
#[inline]
pub(crate) fn plan() -> Option<&'static Plan> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    PLAN.get_or_init(read_plan).as_ref()
}

#[cold]
fn read_plan() -> Option<Plan> {
    let rules = tunables::FAULT.get().unwrap_or_default();
    let plan = Plan::parse(rules).unwrap_or_else(|unclear| {
        process::say(&format!("isthmus: {}: {unclear}", tunables::FAULT.variable()));
        Plan::default()
    });
    let plan = plan.of_rank(boot::world().map_or(0, |world| world.rank));
    (!plan.is_empty()).then_some(plan)
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
        boot::world().map_or(0, |world| world.rank),
        shape.bytes
    ));
}

/// Which side copies, where the user says that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sides {
    /// Who finds out that it gains.
    Any,
    /// The receiver alone (`process_vm_readv`).
    Receiver,
    /// The sender alone (`process_vm_writev`).
    Sender,
    /// Both, whatever the size.
    Both,
}

/// What `mechanism` may be: its name, the mechanism, and who copies.
const CHOICES: [(&str, &str, Sides); 9] = [
    ("ring", "ring", Sides::Any),
    ("cma", "cma", Sides::Any),
    ("cma_read", "cma", Sides::Receiver),
    ("cma_write", "cma", Sides::Sender),
    ("cma_both", "cma", Sides::Both),
    ("mapped", "mapped", Sides::Any),
    ("vmsplice", "vmsplice", Sides::Any),
    ("writev", "writev", Sides::Any),
    ("loopback", "loopback", Sides::Any),
];

/// The mechanism that large messages must take where they can, if the user names one.
fn forced() -> Option<(&'static str, Sides)> {
    static FORCED: OnceLock<Option<(&'static str, Sides)>> = OnceLock::new();
    *FORCED.get_or_init(|| {
        let text = tunables::MECHANISM.get()?;
        let known = CHOICES.into_iter().find(|(name, ..)| *name == text);
        if known.is_none() {
            let names = CHOICES.map(|(name, ..)| name).join(", ");
            process::say(&format!(
                "isthmus: {}={text} is none of {names}; ignored",
                tunables::MECHANISM.variable()
            ));
        }
        known.map(|(_, mechanism, sides)| (mechanism, sides))
    })
}

/// May large messages go this way?
pub(crate) fn is_open(way: Way) -> bool {
    forced().is_none_or(|(name, _)| name == way.mechanism())
}

/// Has the user named this way?
pub(crate) fn is_forced(way: Way) -> bool {
    forced().is_some_and(|(name, _)| name == way.mechanism())
}

/// May the receiver copy, this way?
pub(crate) fn may_pull(way: Way) -> bool {
    is_open(way) && sides() != Sides::Sender
}

/// May the sender copy, this way?
pub(crate) fn may_push(way: Way) -> bool {
    is_open(way) && sides() != Sides::Receiver
}

/// Which side is to make single copies.
pub(crate) fn sides() -> Sides {
    forced().map_or(Sides::Any, |(_, sides)| sides)
}

/// A new stream to a peer, wrapped as [`keep`] wraps.
pub(crate) fn open_stream(kind: Kind) -> Result<(Box<dyn Feed>, OwnedFd), Error> {
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
pub(crate) fn drain_stream(kind: Kind, descriptor: OwnedFd) -> Box<dyn Drain> {
    let mut drain = kind.drain(descriptor);
    if let Some(plan) = plan() {
        drain = Box::new(Fault::new(drain, plan));
    }
    if tunables::TRACE.get() != 0 {
        drain = Box::new(Trace::new(drain, tell));
    }
    drain
}
