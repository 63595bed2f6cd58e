//! The tool interface (MPI-5.0 §15.3): tunables as control variables, counters as performance variables and as types of
//! events, in one category. No enumerations.
//!
//! It works whether MPI is initialized or not. It has no error handlers: what fails is a [`Failure`].

pub mod events;

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_engine::counters::{self, Counter};
use isthmus_engine::tunables::{self, Text, Tunable};

/// Error codes of the tool interface, with the standard ABI's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // The names are the standard's.
pub enum Failure {
    NotInitialized = 1003,
    Memory = 1005,
    Invalid = 1006,
    InvalidIndex = 1007,
    InvalidSession = 1009,
    InvalidHandle = 1010,
    InvalidName = 1011,
    CvarSetNotNow = 1014,
}

/// What functions of the tool interface answer.
pub type Result<T> = std::result::Result<T, Failure>;

/// Handles and sessions of the tool interface, as numbers; 0 is none.
pub type Id = usize;

/// `MPI_T_PVAR_ALL_HANDLES`
pub const ALL_HANDLES: Id = 1;
const FIRST_ID: Id = 16;

/// The one category.
pub const CATEGORY: (&str, &str) = ("engine", "The communication engine: tunables, counters, events.");

/// A control variable.
#[derive(Debug, Clone, Copy)]
pub enum Control {
    /// One number.
    Number(&'static Tunable),
    /// Up to [`TEXT_ROOM`] characters, the zero at the end among them.
    Text(&'static Text),
}

/// How long a text of a control variable may be.
pub const TEXT_ROOM: usize = 4096;

impl Control {
    fn all() -> impl Iterator<Item = Self> {
        let numbers = tunables::TABLE.iter().map(|row| Self::Number(row));
        numbers.chain(tunables::TEXTS.iter().map(|row| Self::Text(row)))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number(row) => row.name,
            Self::Text(row) => row.name,
        }
    }
}

/// The value of a control variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // As in `Control`.
pub enum Value {
    Number(u64),
    Text(String),
}

/// The interface while someone uses it.
struct Tool {
    /// How often it has been initialized more than finalized.
    users: u32,
    next: Id,
    controls: HashMap<Id, Control>,
    sessions: HashMap<Id, HashMap<Id, Gauge>>,
}

/// A performance variable as one handle sees it: counting since it was started.
struct Gauge {
    counter: &'static Counter,
    /// Counted before the last start.
    counted: u64,
    /// Where the counter stood at the last start; `None`: stopped.
    since: Option<u64>,
}

impl Gauge {
    fn value(&self) -> u64 {
        let running = self.since.map_or(0, |since| self.counter.get().wrapping_sub(since));
        self.counted.wrapping_add(running)
    }

    fn start(&mut self) {
        self.since.get_or_insert(self.counter.get());
    }

    fn stop(&mut self) {
        self.counted = self.value();
        self.since = None;
    }

    /// The value so far; from now on it is `value`.
    fn replace(&mut self, value: u64) -> u64 {
        let now = self.counter.get();
        let old = self
            .counted
            .wrapping_add(self.since.map_or(0, |since| now.wrapping_sub(since)));
        self.counted = value;
        self.since = self.since.map(|_| now);
        old
    }
}

static TOOL: Mutex<Option<Tool>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Tool>> {
    TOOL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<R>(f: impl FnOnce(&mut Tool) -> Result<R>) -> Result<R> {
    lock().as_mut().map_or(Err(Failure::NotInitialized), f)
}

impl Tool {
    fn id(&mut self) -> Id {
        self.next += 1;
        self.next
    }
}

/// `MPI_T_init_thread`, as often as one likes.
pub fn init() {
    let mut tool = lock();
    let tool = tool.get_or_insert_with(|| Tool {
        users: 0,
        next: FIRST_ID,
        controls: HashMap::new(),
        sessions: HashMap::new(),
    });
    tool.users += 1;
}

/// `MPI_T_finalize`: the last one frees everything.
pub fn finalize() -> Result<()> {
    let mut slot = lock();
    let tool = slot.as_mut().ok_or(Failure::NotInitialized)?;
    tool.users -= 1;
    if tool.users == 0 {
        *slot = None;
        events::forget();
    }
    Ok(())
}

/// Refuse unless the interface is initialized.
pub fn check() -> Result<()> {
    with(|_| Ok(()))
}

/// A control variable.
pub fn control(index: i32) -> Result<Control> {
    with(|_| {
        let found = usize::try_from(index).ok().and_then(|index| Control::all().nth(index));
        found.ok_or(Failure::InvalidIndex)
    })
}

/// A performance variable.
pub fn performance(index: i32) -> Result<&'static Counter> {
    with(|_| at(counters::TABLE, index))
}

fn at<T>(table: &[&'static T], index: i32) -> Result<&'static T> {
    let found = usize::try_from(index).ok().and_then(|index| table.get(index));
    found.copied().ok_or(Failure::InvalidIndex)
}

/// How many control variables there are.
pub fn controls() -> Result<i32> {
    with(|_| Ok(Control::all().count() as i32))
}

/// How many performance variables there are.
pub fn performances() -> Result<i32> {
    with(|_| Ok(counters::TABLE.len() as i32))
}

/// The index of a control variable.
pub fn control_index(name: &CStr) -> Result<i32> {
    with(|_| find(Control::all().map(Control::name), name))
}

/// The index of a performance variable.
pub fn performance_index(name: &CStr) -> Result<i32> {
    with(|_| find(counters::TABLE.iter().map(|row| row.name), name))
}

/// The index of a category.
pub fn category_index(name: &CStr) -> Result<i32> {
    with(|_| find([CATEGORY.0].into_iter(), name))
}

/// Refuse what is no category.
pub fn check_category(index: i32) -> Result<()> {
    with(|_| if index == 0 { Ok(()) } else { Err(Failure::InvalidIndex) })
}

fn find(mut names: impl Iterator<Item = &'static str>, name: &CStr) -> Result<i32> {
    let at = names.position(|other| other.as_bytes() == name.to_bytes());
    at.map(|at| at as i32).ok_or(Failure::InvalidName)
}

/// `MPI_T_cvar_handle_alloc`; and how many elements the variable has.
pub fn cvar_handle_alloc(index: i32) -> Result<(Id, usize)> {
    let control = control(index)?;
    let count = match control {
        Control::Number(_) => 1,
        Control::Text(_) => TEXT_ROOM,
    };
    with(|tool| {
        let id = tool.id();
        tool.controls.insert(id, control);
        Ok((id, count))
    })
}

/// `MPI_T_cvar_handle_free`.
pub fn cvar_handle_free(handle: Id) -> Result<()> {
    with(|tool| tool.controls.remove(&handle).map(drop).ok_or(Failure::InvalidHandle))
}

/// The variable that a handle stands for.
pub fn cvar(handle: Id) -> Result<Control> {
    with(|tool| tool.controls.get(&handle).copied().ok_or(Failure::InvalidHandle))
}

/// `MPI_T_cvar_read`.
pub fn cvar_read(handle: Id) -> Result<Value> {
    Ok(match cvar(handle)? {
        Control::Number(row) => Value::Number(row.peek().0),
        Control::Text(row) => Value::Text(row.peek().unwrap_or_default()),
    })
}

/// `MPI_T_cvar_write`: possible until the variable is first used.
pub fn cvar_write(handle: Id, value: Value) -> Result<()> {
    let is_set = match (cvar(handle)?, value) {
        (Control::Number(row), Value::Number(number)) => row.set(number),
        (Control::Text(row), Value::Text(text)) => row.set(text),
        _ => return Err(Failure::Invalid),
    };
    if is_set { Ok(()) } else { Err(Failure::CvarSetNotNow) }
}

/// `MPI_T_pvar_session_create`.
pub fn pvar_session_create() -> Result<Id> {
    with(|tool| {
        let id = tool.id();
        tool.sessions.insert(id, HashMap::new());
        Ok(id)
    })
}

/// `MPI_T_pvar_session_free`, with its handles.
pub fn pvar_session_free(session: Id) -> Result<()> {
    with(|tool| tool.sessions.remove(&session).map(drop).ok_or(Failure::InvalidSession))
}

fn in_session<R>(session: Id, f: impl FnOnce(&mut HashMap<Id, Gauge>) -> Result<R>) -> Result<R> {
    with(|tool| tool.sessions.get_mut(&session).map_or(Err(Failure::InvalidSession), f))
}

fn gauge<R>(session: Id, handle: Id, f: impl FnOnce(&mut Gauge) -> R) -> Result<R> {
    in_session(session, |gauges| {
        gauges.get_mut(&handle).map(f).ok_or(Failure::InvalidHandle)
    })
}

/// As [`gauge`], of all of the session for [`ALL_HANDLES`].
fn gauges(session: Id, handle: Id, f: impl Fn(&mut Gauge)) -> Result<()> {
    if handle != ALL_HANDLES {
        return gauge(session, handle, f);
    }
    in_session(session, |gauges| {
        gauges.values_mut().for_each(f);
        Ok(())
    })
}

/// `MPI_T_pvar_handle_alloc`: stopped, at 0.
pub fn pvar_handle_alloc(session: Id, index: i32) -> Result<Id> {
    with(|tool| {
        let counter = at(counters::TABLE, index)?;
        let id = tool.id();
        let gauges = tool.sessions.get_mut(&session).ok_or(Failure::InvalidSession)?;
        let gauge = Gauge {
            counter,
            counted: 0,
            since: None,
        };
        gauges.insert(id, gauge);
        Ok(id)
    })
}

/// `MPI_T_pvar_handle_free`.
pub fn pvar_handle_free(session: Id, handle: Id) -> Result<()> {
    in_session(session, |gauges| {
        gauges.remove(&handle).map(drop).ok_or(Failure::InvalidHandle)
    })
}

/// `MPI_T_pvar_start`.
pub fn pvar_start(session: Id, handle: Id) -> Result<()> {
    gauges(session, handle, Gauge::start)
}

/// `MPI_T_pvar_stop`.
pub fn pvar_stop(session: Id, handle: Id) -> Result<()> {
    gauges(session, handle, Gauge::stop)
}

/// `MPI_T_pvar_read`.
pub fn pvar_read(session: Id, handle: Id) -> Result<u64> {
    gauge(session, handle, |gauge| gauge.value())
}

/// `MPI_T_pvar_write`.
pub fn pvar_write(session: Id, handle: Id, value: u64) -> Result<()> {
    gauge(session, handle, |gauge| gauge.replace(value)).map(drop)
}

/// `MPI_T_pvar_reset`.
pub fn pvar_reset(session: Id, handle: Id) -> Result<()> {
    gauges(session, handle, |gauge| {
        gauge.replace(0);
    })
}

/// `MPI_T_pvar_readreset`.
pub fn pvar_readreset(session: Id, handle: Id) -> Result<u64> {
    gauge(session, handle, |gauge| gauge.replace(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_can_list_read_and_set() {
        assert_eq!(controls(), Err(Failure::NotInitialized));
        assert_eq!(finalize(), Err(Failure::NotInitialized));
        init();
        let index = control_index(c"eager_limit").unwrap();
        assert_eq!(control(index).unwrap().name(), "eager_limit");
        assert_eq!(control_index(c"no_such"), Err(Failure::InvalidName));
        assert!(control(controls().unwrap()).is_err() && control(-1).is_err());
        let (handle, count) = cvar_handle_alloc(index).unwrap();
        assert_eq!(count, 1);
        assert_eq!(cvar_read(handle), Ok(Value::Number(tunables::EAGER_LIMIT.default)));
        assert_eq!(cvar_write(handle, Value::Number(4096)), Ok(()));
        assert_eq!(cvar_read(handle), Ok(Value::Number(4096)));
        assert_eq!(cvar_write(handle, Value::Number(1)), Err(Failure::CvarSetNotNow));
        assert_eq!(cvar_write(handle, Value::Text("1".to_owned())), Err(Failure::Invalid));
        cvar_handle_free(handle).unwrap();
        assert_eq!(cvar_read(handle), Err(Failure::InvalidHandle));

        let session = pvar_session_create().unwrap();
        let index = performance_index(c"lost_wakes").unwrap();
        let counter = performance(index).unwrap();
        let (one, other) = (
            pvar_handle_alloc(session, index).unwrap(),
            pvar_handle_alloc(session, index).unwrap(),
        );
        let read = |handle| pvar_read(session, handle).unwrap();
        counter.add(5);
        assert_eq!(read(one), 0);
        pvar_start(session, one).unwrap();
        counter.add(2);
        assert_eq!((read(one), read(other)), (2, 0));
        pvar_start(session, ALL_HANDLES).unwrap();
        counter.add(3);
        assert_eq!((read(one), read(other)), (5, 3));
        pvar_stop(session, one).unwrap();
        counter.add(1);
        assert_eq!((read(one), pvar_readreset(session, other)), (5, Ok(4)));
        counter.add(1);
        pvar_write(session, one, 100).unwrap();
        assert_eq!((read(one), read(other)), (100, 1));
        pvar_reset(session, ALL_HANDLES).unwrap();
        assert_eq!((read(one), read(other)), (0, 0));
        assert_eq!(pvar_read(session + 1, one), Err(Failure::InvalidSession));
        pvar_handle_free(session, one).unwrap();
        assert_eq!(pvar_start(session, one), Err(Failure::InvalidHandle));
        init();
        finalize().unwrap();
        pvar_session_free(session).unwrap();
        finalize().unwrap();
        assert_eq!(pvar_session_create(), Err(Failure::NotInitialized));
    }
}
