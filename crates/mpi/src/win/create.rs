//! Making windows, and ending them (MPI-5.0 §12.2).
//!
//! All members tell one another where their part of the control memory lies, or that they cannot: then the call fails on all. What a
//! part says of its member's memory is looked up when that is first accessed.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

use isthmus_engine::rma::{self, Atomicity, Flow, RegionKey, Target};
use isthmus_engine::{ProgressThread, heap};
use isthmus_os::switches::Switch;

use super::check::BarrierRound;
use super::control::{self, MemberPart, OwnPart, Plan, Seat, Seats};
use super::epoch::{Epochs, Mode};
use super::hints::Hints;
use super::remote::Away;
use super::target::Targets;
use super::{Flavor, Win, WindowMemory, record, remote};
use crate::attribute::Attributes;
use crate::coll::check;
use crate::comm::{Comm, gather_both};
use crate::errhandler::ERRORS_ARE_FATAL;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::{Handle, Object};
use crate::info::Info;
use crate::liveness;

/// Memory that a member brings to a window.
struct Brought {
    base: *mut u8,
    bytes: i64,
    unit: i64,
    memory: WindowMemory,
}

impl Brought {
    fn discard(&self) {
        if let WindowMemory::Ours(base) = self.memory {
            heap::free(base);
        }
    }
}

/// Arguments that all flavours share.
fn check_arguments(size: i64, unit: i64) -> Result<()> {
    if size < 0 {
        return Err(fail!(Size, "size={size} is negative"));
    }
    if unit <= 0 {
        return Err(fail!(Disp, "disp_unit={unit} is not positive"));
    }
    Ok(())
}

fn check_comm(comm: &Comm) -> Result<()> {
    if comm.is_inter() {
        return Err(fail!(Comm, "comm={:?} is an intercommunicator", comm.handle()));
    }
    Ok(())
}

/// `MPI_Win_create`: opens memory of the user's. Collective.
pub fn win_create(
    base: *mut c_void,
    size: i64,
    disp_unit: i64,
    info: Option<&Info>,
    comm: &Comm,
) -> Result<Handle<Win>> {
    check_comm(comm)?;
    check::same(comm, "MPI_Win_create")?;
    let hints = Hints::of(info);
    let brought = check_arguments(size, disp_unit).and_then(|()| {
        if base.is_null() && size > 0 {
            return Err(fail!(Base, "base is null, and size={size}"));
        }
        Ok(Brought {
            base: base.cast(),
            bytes: size,
            unit: disp_unit,
            memory: WindowMemory::Foreign,
        })
    });
    make(comm, Flavor::Create, hints, brought)
}

/// `MPI_Win_create_dynamic`: opens memory that is attached later. Collective.
pub fn win_create_dynamic(info: Option<&Info>, comm: &Comm) -> Result<Handle<Win>> {
    check_comm(comm)?;
    check::same(comm, "MPI_Win_create_dynamic")?;
    let nothing = Brought {
        base: null_mut(),
        bytes: 0,
        unit: 1,
        memory: WindowMemory::Foreign,
    };
    make(comm, Flavor::Dynamic, Hints::of(info), Ok(nothing))
}

/// `MPI_Win_allocate`: memory that every rank of the node maps. Collective.
pub fn win_allocate(size: i64, disp_unit: i64, info: Option<&Info>, comm: &Comm) -> Result<(*mut c_void, Handle<Win>)> {
    check_comm(comm)?;
    check::same(comm, "MPI_Win_allocate")?;
    let hints = Hints::of(info);
    let brought = check_arguments(size, disp_unit).and_then(|()| allocate(size, disp_unit, &hints));
    let base = brought.as_ref().map_or(null_mut(), |brought| brought.base);
    let win = make(comm, Flavor::Allocate, hints, brought)?;
    Ok((base.cast(), win))
}

/// Memory of the job, as the hints want it.
fn take(bytes: u64, hints: &Result<Hints>) -> isthmus_engine::Result<NonNull<u8>> {
    let hints = hints.as_ref().ok();
    let alignment = hints.map_or(0, Hints::alignment).max(64);
    match hints.and_then(Hints::huge_pages) {
        Some(pages) => heap::allocate_in(bytes, alignment, pages),
        None => heap::allocate(bytes, alignment),
    }
}

fn allocate(size: i64, unit: i64, hints: &Result<Hints>) -> Result<Brought> {
    let base = take(size as u64, hints).map_err(|error| fail!(NoMem, "size={size} bytes cannot be had: {error}"))?;
    Ok(Brought {
        base: base.as_ptr(),
        bytes: size,
        unit,
        memory: WindowMemory::Ours(base),
    })
}

/// `MPI_Win_allocate_shared`: one row of memory for all members, or, if the info says `alloc_shared_noncontig`, memory of each. Collective.
pub fn win_allocate_shared(
    size: i64,
    disp_unit: i64,
    info: Option<&Info>,
    comm: &Comm,
) -> Result<(*mut c_void, Handle<Win>)> {
    check_comm(comm)?;
    check::same(comm, "MPI_Win_allocate_shared")?;
    if Away::of(&comm.group, comm.rank() as usize).is_some() {
        return Err(fail!(
            RmaShared,
            "comm={:?} has members on several nodes, which share no memory: MPI_Comm_split_type makes one of each node",
            comm.handle()
        ));
    }
    let hints = Hints::of(info);
    let checked = check_arguments(size, disp_unit);
    let apart = hints.as_ref().is_ok_and(Hints::is_noncontiguous);
    // Sizes of all, and whether all want memory of their own: then nobody need have the same.
    let own = if checked.is_ok() { size as u64 } else { 0 };
    let (said, _) = gather_both(comm, [own as u32, (own >> 32) as u32, u32::from(apart)])?;
    if said.iter().all(|[.., apart]| *apart != 0) {
        let brought = checked.and_then(|()| allocate(size, disp_unit, &hints));
        let base = brought.as_ref().map_or(null_mut(), |brought| brought.base);
        let win = make(comm, Flavor::Shared, hints, brought)?;
        return Ok((base.cast(), win));
    }
    let size_of = |[low, high, _]: &[u32; 3]| u64::from(*low) | u64::from(*high) << 32;
    let total = said.iter().fold(0_u64, |sum, words| sum.saturating_add(size_of(words)));
    let before: u64 = said[..comm.rank() as usize]
        .iter()
        .map(size_of)
        .fold(0, u64::saturating_add);
    let row = match comm.rank() {
        0 => take(total, &hints).ok(),
        _ => None,
    };
    let key = row.and_then(|row| rma::register(row.as_ptr(), total.max(1)).ok());
    let key = key.map_or(RegionKey::NONE, |region| region.key());
    let (keys, _) = gather_both(comm, to_words(key))?;
    let first = comm.group.peer(0).unwrap_or_else(|| unreachable!("there is a rank 0"));
    // Only its place was told; what is accessed are the members' own regions.
    rma::deregister(key);
    let target = Target::attach(first, from_words(keys[0]))
        .map_err(|_| fail!(NoMem, "{total} bytes for all ranks cannot be had, says rank 0"));
    let brought = checked.and(target).map(|target| Brought {
        base: target
            .mapped()
            .map_or(null_mut(), |first| first.as_ptr().wrapping_add(before as usize)),
        bytes: size,
        unit: disp_unit,
        memory: row.map_or(WindowMemory::Foreign, WindowMemory::Ours),
    });
    if brought.is_err()
        && let Some(row) = row
    {
        heap::free(row);
    }
    let base = brought.as_ref().map_or(null_mut(), |brought| brought.base);
    let win = make(comm, Flavor::Shared, hints, brought)?;
    Ok((base.cast(), win))
}

const KEY_WORDS: usize = size_of::<RegionKey>() / 4;

fn to_words(key: RegionKey) -> [u32; KEY_WORDS] {
    // SAFETY: a key is plain data of that size, without holes.
    unsafe { std::mem::transmute(key) }
}

fn from_words(words: [u32; KEY_WORDS]) -> RegionKey {
    // SAFETY: any bits are a key.
    unsafe { std::mem::transmute(words) }
}

/// What a member tells the others: the code of its error or 0, the number of its part; to other nodes also bytes of a displacement, in two
/// halves, and what is exposed.
type MemberWords = [u32; 4 + KEY_WORDS];

/// Tell one another.
fn tell(comm: &Comm, own: MemberWords, spans: bool) -> Result<Vec<MemberWords>> {
    if spans {
        return Ok(gather_both(comm, own)?.0);
    }
    let (said, _) = gather_both(comm, [own[0], own[1]])?;
    let whole = |&[code, number]: &[u32; 2]| {
        let mut told = [0; 4 + KEY_WORDS];
        (told[0], told[1]) = (code, number);
        told
    };
    Ok(said.iter().map(whole).collect())
}

/// The data of a member, from its message.
fn seat(told: &MemberWords, is_here: bool, plan: Plan) -> Option<Seat> {
    if is_here {
        return MemberPart::at(told[1], plan).map(Seat::Here);
    }
    let [_, number, low, high, key @ ..] = *told;
    Some(Seat::Away {
        number,
        key: from_words(key),
        unit: (u64::from(low) | u64::from(high) << 32) as i64,
    })
}

/// Make the window of what each member brings, or fails to bring.
fn make(comm: &Comm, flavor: Flavor, hints: Result<Hints>, brought: Result<Brought>) -> Result<Handle<Win>> {
    let (size, rank) = (comm.size() as usize, comm.rank() as usize);
    let mut away = Away::of(&comm.group, rank).map(Box::new);
    let plan = Plan::of(size, away.is_some());
    let own = match (&hints, &brought) {
        (Ok(hints), Ok(brought)) => prepare(flavor, brought, hints.atomicity(), plan),
        (Err(error), _) | (_, Err(error)) => Err(error.clone()),
    };
    let mut told = [0; 4 + KEY_WORDS];
    match &own {
        Ok(own) => {
            let unit = own.part.unit();
            told[1..4].copy_from_slice(&[own.number, unit as u32, (unit >> 32) as u32]);
            told[4..].copy_from_slice(&to_words(own.part.key()));
            if away.is_some() {
                // A member ahead of us may ask at once.
                remote::open(*own, plan, &comm.group, rank);
            }
        }
        Err(error) => told[0] = error.code() as u32,
    }
    let undo = || {
        if let Ok(brought) = &brought {
            brought.discard();
        }
        if let Ok(own) = &own {
            remote::close(*own);
            rma::deregister(own.part.key());
            control::give_back(*own, plan);
        }
    };
    let said = tell(comm, told, away.is_some()).inspect_err(|_| undo())?;
    if let Some(rank) = said.iter().position(|told| told[0] != 0) {
        undo();
        let code = said[rank][0] as i32;
        return Err(own.err().unwrap_or_else(|| {
            Error::from_code(code, format!("rank {rank} could not do its part of making the window"))
        }));
    }
    let node_of = |member: usize| comm.group.peer(member as i32).map(rma::node_of);
    let seats = match &away {
        None => own
            .as_ref()
            .ok()
            .and_then(|own| Seats::here(*own, said.iter().map(|told| told[1]).collect(), plan)),
        Some(_) => said
            .iter()
            .enumerate()
            .map(|(member, told)| seat(told, node_of(member) == node_of(rank), plan))
            .collect::<Option<_>>()
            .map(Seats::Spread),
    };
    let Some(seats) = seats else {
        undo();
        return Err(fail!(
            Intern,
            "a rank's part of the window lies outside the job's memory"
        ));
    };
    let (own, brought, hints) = (own?, brought?, hints?);
    if let Some(away) = &mut away {
        away.thread = ProgressThread::begin();
        remote::introduce(own, (0..size).filter_map(|member| Some((member, seats.part(member)?))));
    }
    let win = Arc::new(Win {
        flavor,
        group: Arc::clone(&comm.group),
        size,
        plan,
        own,
        seats,
        away,
        base: brought.base,
        bytes: brought.bytes,
        unit: brought.unit,
        memory: brought.memory,
        targets: Targets::new(size),
        attachments: (flavor == Flavor::Dynamic).then(Box::default),
        flow: Flow::new(),
        epochs: Epochs::new(size),
        hints,
        attributes: Attributes::new(),
        is_checked: Switch::Check.is_on(),
        errhandler: Mutex::new(ERRORS_ARE_FATAL.share("errhandler")?),
        name: Mutex::default(),
        words: OnceLock::new(),
        handle: OnceLock::new(),
    });
    let handle = Win::table().insert(Arc::clone(&win))?;
    // The window was made here, so its handle is not set yet.
    let _ = win.handle.set(handle);
    Ok(handle)
}

/// Our part, which tells of our memory.
fn prepare(flavor: Flavor, brought: &Brought, atomicity: Atomicity, plan: Plan) -> Result<OwnPart> {
    let key = match flavor {
        Flavor::Dynamic => RegionKey::NONE,
        _ => rma::register_as(brought.base, brought.bytes as u64, atomicity)?.key(),
    };
    let own = control::take(plan)?;
    own.part.expose(key, brought.unit);
    if Switch::Check.is_on() {
        // Without a list nothing is compared.
        let list = rma::take_shared(record::BYTES).unwrap_or(0);
        own.part.record().store(list, Ordering::Relaxed);
    }
    Ok(own)
}

/// `MPI_Win_free`: after all members have called, and what they did is over. Collective; blocks.
pub fn win_free(handle: Handle<Win>) -> Result<()> {
    let win = handle.resolve("win")?;
    match win.epochs.mode() {
        Mode::None | Mode::Fenced | Mode::Fence => {}
        mode => win.check_idle("MPI_Win_free", mode)?,
    }
    if win.epochs.is_exposed() {
        return Err(fail!(
            RmaSync,
            "MPI_Win_free of {}, whose memory is exposed by MPI_Win_post until MPI_Win_wait",
            win.label()
        ));
    }
    win.attributes.clear(handle)?;
    let kept = win.end_loans(|_| true);
    // In any case the others wait for us.
    let flushed = win.flow.flush_all();
    let mut done = win.barrier(BarrierRound::Free);
    if win.is_checked && win.away.is_some() && done.is_ok() {
        // Until then members on other nodes ask by which call this one has reached the first.
        done = win.barrier(BarrierRound::Inner);
    }
    let is_whole = done.is_ok();
    liveness::forgive(done)?;
    let mut lookers = 0;
    for part in (0..win.size).filter_map(|member| win.part(member)) {
        // SYNC: window-left
        part.left().fetch_add(1, Ordering::Release);
        lookers += 1;
    }
    let win = handle.remove("win")?;
    // Where a member has died, others may not have heard of it, and use what we have.
    if is_whole {
        rma::deregister(win.own.part.key());
        if let Some(attachments) = &win.attachments {
            attachments.deregister();
        }
        if let WindowMemory::Ours(base) = win.memory {
            heap::free(base);
        }
        remote::close(win.own);
        let list = win.own.part.record().load(Ordering::Relaxed);
        if list != 0 {
            rma::give_shared(list, record::BYTES);
        }
        control::retire(win.own, win.plan, lookers);
    }
    liveness::forgive(flushed.map_err(Error::from))?;
    kept
}
