//! Events (MPI-5.0 §15.3.8): each counter is a type of events, raised whenever it counts.
//!
//! Counting happens in the middle of everything, where no callback may run. So what was counted waits in a bounded queue, with
//! its time, until the MPI procedure that is being called has done its work, and is told then: a callback may call whatever it
//! likes. What finds no room in the queue is dropped, and it is told how much that was.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use isthmus_engine::counters::{self, Counter};
use isthmus_os::switches::Switch;

use super::{Failure, Id, Result, at, check, with};

/// The one source of events, and what it is.
pub const SOURCE: (&str, &str) = (
    "engine",
    "The communication engine: what its counters count, by the clock of MPI_Wtime.",
);
/// What each event tells: how many more were counted, and how many that made.
pub const ELEMENTS: usize = 2;
/// Ticks of a timestamp in a second.
pub const TICKS_PER_SECOND: i64 = 1_000_000_000;

/// `MPI_T_event_cb_function`
pub type EventCallback =
    unsafe extern "C-unwind" fn(instance: *mut c_void, registration: *mut c_void, c_int, *mut c_void);
/// `MPI_T_event_dropped_cb_function`
pub type DroppedCallback =
    unsafe extern "C-unwind" fn(count: i64, registration: *mut c_void, source: c_int, c_int, *mut c_void);
/// `MPI_T_event_free_cb_function`
pub type FreedCallback = unsafe extern "C-unwind" fn(registration: *mut c_void, c_int, *mut c_void);

/// No more wait to be told.
const ROOM: usize = 1024;

/// How much a callback promises, from least to most: `MPI_T_CB_REQUIRE_NONE` and its kin.
const LEVELS: [i32; 4] = [0, 3, 15, 63];

/// A user's function, and what it is called with.
#[derive(Debug, Clone, Copy)]
pub struct Callback<F> {
    /// To be called.
    pub function: F,
    /// The level of safety, as the program's ABI has it.
    pub safety: c_int,
    /// The program's own.
    pub user_data: *mut c_void,
}

// SAFETY: what the pointer is good for is between the program and its callback.
unsafe impl<F: Send> Send for Callback<F> {}

/// Something was counted.
#[derive(Debug, Clone, Copy)]
struct Event {
    /// Which counter, by its place in the table.
    index: usize,
    elements: [u64; ELEMENTS],
    /// In ticks.
    at: i64,
    /// How many events came before it.
    sequence: u64,
}

/// Somebody wants to be told of events of one type.
struct Registration {
    index: usize,
    /// By level.
    callbacks: [Option<Callback<EventCallback>>; LEVELS.len()],
    on_dropped: Option<DroppedCallback>,
    /// Events dropped that it has not been told of.
    dropped: u64,
    /// The first event that is for it.
    since: u64,
}

impl Registration {
    /// The callback that promises least: nothing is asked of it.
    fn callback(&self) -> Option<Callback<EventCallback>> {
        self.callbacks.iter().flatten().next().copied()
    }
}

struct Events {
    queue: VecDeque<Event>,
    raised: u64,
    registrations: BTreeMap<Id, Registration>,
    /// A thread is telling: of this event, if its callback is running.
    telling: Option<Option<(Id, Event)>>,
    /// Registrations freed by their own callbacks: to be said once these have returned.
    freed: Vec<(Id, Callback<FreedCallback>)>,
}

static EVENTS: Mutex<Events> = Mutex::new(Events {
    queue: VecDeque::new(),
    raised: 0,
    registrations: BTreeMap::new(),
    telling: None,
    freed: Vec::new(),
});

fn lock() -> MutexGuard<'static, Events> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle as programs hold it.
fn pointer(id: Id) -> *mut c_void {
    std::ptr::without_provenance_mut(id)
}

/// The time now, in ticks.
fn now() -> i64 {
    isthmus_os::clock::now().as_nanos() as i64
}

/// A counter that is watched has counted.
fn raise(counter: &Counter, added: u64) {
    let index = counters::TABLE.iter().position(|row| std::ptr::eq(*row, counter));
    let Some(index) = index else { return };
    let mut events = lock();
    let sequence = events.raised;
    events.raised += 1;
    if events.queue.len() == ROOM {
        let wanting = events.registrations.values_mut().filter(|one| one.index == index);
        wanting.for_each(|registration| registration.dropped += 1);
    } else {
        events.queue.push_back(Event {
            index,
            elements: [added, counter.get()],
            at: now(),
            sequence,
        });
    }
    // Each call reads the word of switches.
    if !Switch::Events.is_on() {
        Switch::Events.turn_on();
    }
}

/// It is time to, if [`Switch::Events`] is on: call back for what has happened so far. What the callbacks make happen is told by the next call.
/// Outside the engine.
#[cold]
pub fn tell() {
    let mut events = lock();
    if events.telling.is_some() {
        return;
    }
    Switch::Events.turn_off();
    events.telling = Some(None);
    let batch = std::mem::take(&mut events.queue);
    for event in batch {
        let wanting = events.registrations.iter();
        let wanting = wanting.filter(|(_, one)| one.index == event.index && one.since <= event.sequence);
        let ids: Vec<Id> = wanting.map(|(id, _)| *id).collect();
        for id in ids {
            // Another callback may have freed it.
            let callback = events.registrations.get(&id).and_then(Registration::callback);
            let Some(callback) = callback else { continue };
            events.telling = Some(Some((id, event)));
            drop(events);
            // SAFETY: the program registered it as a function of this type. An instance is named by its registration: there is
            // one at a time.
            unsafe { (callback.function)(pointer(id), pointer(id), callback.safety, callback.user_data) };
            events = after_callback();
        }
    }
    let ids: Vec<Id> = events.registrations.keys().copied().collect();
    for id in ids {
        let Some(registration) = events.registrations.get_mut(&id) else {
            continue;
        };
        let count = std::mem::take(&mut registration.dropped);
        let (Some(on_dropped), Some(callback)) = (registration.on_dropped, registration.callback()) else {
            continue;
        };
        if count > 0 {
            drop(events);
            // SAFETY: as above.
            unsafe { on_dropped(count as i64, pointer(id), 0, callback.safety, callback.user_data) };
            events = after_callback();
        }
    }
    events.telling = None;
    Switch::Events.turn(!events.queue.is_empty());
}

/// A callback has returned: say which registrations were freed meanwhile.
fn after_callback() -> MutexGuard<'static, Events> {
    let mut events = lock();
    events.telling = Some(None);
    for (id, callback) in std::mem::take(&mut events.freed) {
        drop(events);
        // SAFETY: the program gave it as a function of this type.
        unsafe { (callback.function)(pointer(id), callback.safety, callback.user_data) };
        events = lock();
    }
    events
}

fn registration<R>(id: Id, f: impl FnOnce(&mut Registration) -> Result<R>) -> Result<R> {
    check()?;
    lock().registrations.get_mut(&id).map_or(Err(Failure::InvalidHandle), f)
}

/// Watch what is registered for, and nothing else.
fn watch(events: &Events) {
    for (index, counter) in counters::TABLE.iter().enumerate() {
        counter.watch(events.registrations.values().any(|one| one.index == index));
    }
}

/// `MPI_T_event_handle_alloc`: of the events from now on.
pub fn event_handle_alloc(index: i32) -> Result<Id> {
    static OBSERVE: Once = Once::new();
    OBSERVE.call_once(|| counters::observe(raise));
    let id = with(|tool| at(counters::TABLE, index).map(|_| tool.id()))?;
    let mut events = lock();
    let new = Registration {
        index: index as usize,
        callbacks: [None; LEVELS.len()],
        on_dropped: None,
        dropped: 0,
        since: events.raised,
    };
    events.registrations.insert(id, new);
    watch(&events);
    Ok(id)
}

/// `MPI_T_event_handle_free`: `freed` is called once no callback of the registration runs.
pub fn event_handle_free(id: Id, freed: Option<Callback<FreedCallback>>) -> Result<()> {
    check()?;
    let mut events = lock();
    events.registrations.remove(&id).ok_or(Failure::InvalidHandle)?;
    watch(&events);
    let Some(callback) = freed else { return Ok(()) };
    let is_running = matches!(events.telling, Some(Some((running, _))) if running == id);
    if is_running {
        events.freed.push((id, callback));
        return Ok(());
    }
    drop(events);
    // SAFETY: the program gave it as a function of this type.
    unsafe { (callback.function)(pointer(id), callback.safety, callback.user_data) };
    Ok(())
}

/// Nobody uses the interface any more.
pub(super) fn forget() {
    let mut events = lock();
    events.registrations.clear();
    events.queue.clear();
    watch(&events);
}

/// Which level of safety this is.
fn level(safety: i32) -> Result<usize> {
    LEVELS.iter().position(|one| *one == safety).ok_or(Failure::Invalid)
}

/// `MPI_T_event_register_callback`: at this level of safety, instead of what was registered there. `None`: nothing.
pub fn event_register_callback(id: Id, safety: i32, callback: Option<Callback<EventCallback>>) -> Result<()> {
    let level = level(safety)?;
    registration(id, |registration| {
        registration.callbacks[level] = callback;
        Ok(())
    })
}

/// Refuse unless there is a callback at this level of safety.
pub fn check_callback(id: Id, safety: i32) -> Result<()> {
    let level = level(safety)?;
    registration(id, |registration| {
        registration.callbacks[level].map(drop).ok_or(Failure::InvalidHandle)
    })
}

/// Refuse what is no registration.
pub fn check_registration(id: Id) -> Result<()> {
    registration(id, |_| Ok(()))
}

/// `MPI_T_event_set_dropped_handler`
pub fn event_set_dropped_handler(id: Id, on_dropped: Option<DroppedCallback>) -> Result<()> {
    registration(id, |registration| {
        registration.on_dropped = on_dropped;
        Ok(())
    })
}

/// The event that is being told.
fn instance(id: Id) -> Result<Event> {
    check()?;
    match lock().telling {
        Some(Some((running, event))) if running == id => Ok(event),
        _ => Err(Failure::InvalidHandle),
    }
}

/// `MPI_T_event_copy`: all its elements.
pub fn event_copy(id: Id) -> Result<[u64; ELEMENTS]> {
    Ok(instance(id)?.elements)
}

/// `MPI_T_event_read`: one of them.
pub fn event_read(id: Id, element: i32) -> Result<u64> {
    let elements = instance(id)?.elements;
    let found = usize::try_from(element).ok().and_then(|at| elements.get(at));
    found.copied().ok_or(Failure::InvalidIndex)
}

/// `MPI_T_event_get_timestamp`
pub fn event_get_timestamp(id: Id) -> Result<i64> {
    Ok(instance(id)?.at)
}

/// `MPI_T_event_get_source`
pub fn event_get_source(id: Id) -> Result<i32> {
    instance(id).map(|_| 0)
}

/// Refuse what is no source.
pub fn check_source(index: i32) -> Result<()> {
    check()?;
    if index == 0 { Ok(()) } else { Err(Failure::InvalidIndex) }
}

/// `MPI_T_source_get_timestamp`
pub fn source_get_timestamp(index: i32) -> Result<i64> {
    check_source(index).map(|()| now())
}
