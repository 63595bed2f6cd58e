//! Contexts of the driver, and what is made in each at first use: streams of our own, buffers beside them, kernels.
//!
//! A context is entered for the calls that need it and left again, so that the program's current context stays as it is, and a thread
//! needs none. Each operation has a [`Lane`] to itself, so that threads do not wait for each other's copies.

use std::collections::HashMap;
use std::ffi::{c_int, c_uint};
use std::hint::spin_loop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use isthmus_os::cpu;

use crate::Device;
use crate::api::{Address, Api, Object, Ordinal, attribute, code, flag};
use crate::counts::{COUNTS, count};
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// Bytes of a lane's pinned buffer: copies between devices and host memory that is not pinned go through it up to this size.
pub const BOUNCE: usize = 64 << 10;
/// Polls of a completion between two queries to the driver whether something failed.
const POLLS_PER_QUERY: u32 = 1024;
/// Polls before a waiting thread lets others run.
const POLLS_BEFORE_YIELD: u32 = 8192;

/// The program's current context is another one while this lives.
pub struct Current<'a> {
    api: &'a Api,
    pushed: bool,
}

impl<'a> Current<'a> {
    pub fn enter(api: &'a Api, context: Object) -> Result<Self> {
        let mut now = null_mut();
        // SAFETY: the driver writes the current context, or null.
        let answer = unsafe { (api.context_current)(&raw mut now) };
        if answer == code::SUCCESS && now == context {
            return Ok(Self { api, pushed: false });
        }
        // SAFETY: the driver checks the context.
        let answer = unsafe { (api.context_push)(context) };
        api.check(answer, "cuCtxPushCurrent", || format!("cannot use context {context:?}"))?;
        Ok(Self { api, pushed: true })
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if self.pushed {
            let mut context = null_mut();
            // SAFETY: ours is the last one that this thread has pushed.
            unsafe { (self.api.context_pop)(&raw mut context) };
        }
    }
}

/// A stream with a pinned buffer, and behind that a word that the stream writes when its work is done.
pub struct Lane {
    pub stream: Object,
    /// Null: the driver had no pinned memory.
    pub pinned: *mut u8,
    /// What the word is when the stream has come to the last mark.
    marks: u32,
}

// SAFETY: streams and pinned memory may be used by any thread.
unsafe impl Send for Lane {}

/// A context, and what has been made in it.
pub struct Place {
    pub context: Object,
    pub device: Device,
    processors: u32,
    lanes: Mutex<Vec<Lane>>,
    /// The buffer id of the first lane's pinned memory: another one, and the context is gone.
    mark: Mutex<Option<(Address, u64)>>,
    /// `Err`: the driver does not take it.
    functions: RwLock<HashMap<Kernel, Result<usize>>>,
    /// Can the driver write a word when a stream comes to it?
    writes: AtomicBool,
}

// SAFETY: contexts may be used by any thread; the rest is behind locks.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

static PLACES: RwLock<Vec<&'static Place>> = RwLock::new(Vec::new());

/// By device, the context whose memory was last seen.
static LAST: [AtomicPtr<std::ffi::c_void>; 64] = [const { AtomicPtr::new(null_mut()) }; 64];
/// One more than the device whose memory was last seen; 0 if none was.
static LAST_DEVICE: AtomicU32 = AtomicU32::new(0);

/// Memory of it has been seen.
#[inline]
pub fn used(device: Device, context: Object) {
    if let Some(last) = LAST.get(device.0 as usize)
        && !context.is_null()
        && last.load(Ordering::Relaxed) != context
    {
        last.store(context, Ordering::Relaxed);
    }
    if LAST_DEVICE.load(Ordering::Relaxed) != device.0 + 1 {
        LAST_DEVICE.store(device.0 + 1, Ordering::Relaxed);
    }
}

/// The device whose memory was last seen, or else one whose primary context is active.
pub fn last_device(api: &Api) -> Option<Device> {
    match LAST_DEVICE.load(Ordering::Relaxed) {
        0 => devices(api).find(|&device| is_active(api, device)),
        last => Some(Device(last - 1)),
    }
}

/// All devices of this process.
pub fn devices(api: &Api) -> impl Iterator<Item = Device> {
    let mut count: c_int = 0;
    // SAFETY: the driver writes an int, or nothing.
    unsafe { (api.device_count)(&raw mut count) };
    (0..count as u32).map(Device)
}

/// Has the program made the device's primary context?
pub fn is_active(api: &Api, device: Device) -> bool {
    let mut flags: c_uint = 0;
    let mut active: c_int = 0;
    // SAFETY: the driver writes both, or nothing.
    let answer = unsafe { (api.primary_state)(device.0 as Ordinal, &raw mut flags, &raw mut active) };
    answer == code::SUCCESS && active != 0
}

/// Has this process memory or a context on the device?
pub fn is_used(api: &Api, device: Device) -> bool {
    LAST.get(device.0 as usize)
        .is_some_and(|last| !last.load(Ordering::Relaxed).is_null())
        || is_active(api, device)
}

/// `context`, or if it is null the one that memory of the device was last seen in, or its primary context.
pub fn context_for(api: &Api, device: Device, context: Object) -> Result<Object> {
    if !context.is_null() {
        return Ok(context);
    }
    let last = LAST.get(device.0 as usize);
    let seen = last.map_or(null_mut(), |last| last.load(Ordering::Relaxed));
    if !seen.is_null() {
        return Ok(seen);
    }
    let mut primary = null_mut();
    // SAFETY: the driver writes a context, or nothing. It is kept until the process ends.
    let answer = unsafe { (api.primary_retain)(&raw mut primary, device.0 as Ordinal) };
    api.check(answer, "cuDevicePrimaryCtxRetain", || {
        format!("cannot use device {}", device.0)
    })?;
    if let Some(last) = last {
        last.store(primary, Ordering::Relaxed);
    }
    Ok(primary)
}

/// A context to work with host memory in: the current one, or one of a device that this process uses.
pub fn any_context(api: &Api) -> Result<Object> {
    let mut current = null_mut();
    // SAFETY: the driver writes the current context, or null.
    if unsafe { (api.context_current)(&raw mut current) } == code::SUCCESS && !current.is_null() {
        return Ok(current);
    }
    let device =
        last_device(api).ok_or_else(|| Error::plain("this process has no context on any CUDA device".to_owned()))?;
    context_for(api, device, null_mut())
}

/// The place of a context; `context` as for [`context_for`].
pub fn of(api: &Api, device: Device, context: Object) -> Result<&'static Place> {
    let context = context_for(api, device, context)?;
    let find = |places: &[&'static Place]| places.iter().copied().find(|place| place.context == context);
    if let Some(place) = find(&PLACES.read().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(place);
    }
    // Memory of another device that is mapped in a context is told with its own ordinal.
    let mut own: Ordinal = device.0 as Ordinal;
    {
        let _current = Current::enter(api, context)?;
        // SAFETY: the driver writes the device of the current context.
        unsafe { (api.context_device)(&raw mut own) };
    }
    let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = find(&places) {
        return Ok(place);
    }
    let place = Box::leak(Box::new(Place {
        context,
        device: Device(own as u32),
        processors: api.attribute_of(own, attribute::MULTIPROCESSOR_COUNT).max(1) as u32,
        lanes: Mutex::default(),
        mark: Mutex::default(),
        functions: RwLock::default(),
        writes: AtomicBool::new(true),
    }));
    places.push(place);
    Ok(place)
}

/// Forget what was made in a context that is gone and whose handle names another one.
pub fn forget_if_gone(api: &Api, context: Object) {
    let place = {
        let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
        places.iter().copied().find(|place| place.context == context)
    };
    if let Some(place) = place {
        place.forget_if_gone(api);
    }
}

impl Place {
    /// See [`forget_if_gone`]. True if so.
    fn forget_if_gone(&self, api: &Api) -> bool {
        let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((address, id)) = *mark else { return false };
        if api.buffer_id(address) == Some(id) {
            return false;
        }
        *mark = None;
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.functions.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.writes.store(true, Ordering::Relaxed);
        true
    }

    /// Enough blocks of threads to occupy the device.
    pub fn most_blocks(&self) -> u32 {
        self.processors * 16
    }

    /// Do work on a lane of this place, in its context: `work` enqueues, and what it has enqueued is then waited for.
    pub fn run<T>(&self, api: &Api, mut work: impl FnMut(&mut Lane) -> Result<T>) -> Result<T> {
        self.on_lane(api, |lane| {
            let value = work(lane)?;
            self.wait(api, lane)?;
            Ok(value)
        })
    }

    /// As [`Place::run`], for work that waits for all that it has enqueued.
    pub fn on_lane<T>(&self, api: &Api, mut work: impl FnMut(&mut Lane) -> Result<T>) -> Result<T> {
        let _current = Current::enter(api, self.context)?;
        let mut again = true;
        loop {
            let mut lane = self.lane(api)?;
            match work(&mut lane) {
                Ok(value) => {
                    self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
                    return Ok(value);
                }
                Err(error) if again && is_about_handles(&error) && self.forget_if_gone(api) => again = false,
                // What else the lane has enqueued may still be under way. A lane that has failed for good is not used again.
                Err(error) => {
                    // SAFETY: a stream of ours.
                    if unsafe { (api.stream_synchronize)(lane.stream) } == code::SUCCESS {
                        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
                    }
                    return Err(error);
                }
            }
        }
    }

    fn lane(&self, api: &Api) -> Result<Lane> {
        if let Some(lane) = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(lane);
        }
        let mut stream = null_mut();
        // SAFETY: the driver writes what it has made.
        let answer = unsafe { (api.stream_create)(&raw mut stream, flag::STREAM_NON_BLOCKING) };
        api.check(answer, "cuStreamCreate", || {
            "cannot make a stream for copies".to_owned()
        })?;
        Ok(Lane {
            stream,
            pinned: self.pinned_buffer(api),
            marks: 0,
        })
    }

    /// The buffer of a lane; null if the driver has no pinned memory.
    fn pinned_buffer(&self, api: &Api) -> *mut u8 {
        let bytes = BOUNCE + size_of::<AtomicU32>();
        let mut at = null_mut();
        // SAFETY: the driver writes where the memory is, which is as long.
        unsafe {
            let answer = (api.allocate_host)(&raw mut at, bytes, flag::HOST_PORTABLE | flag::HOST_DEVICE_MAP);
            if answer != code::SUCCESS {
                count(&COUNTS.failures);
                return null_mut();
            }
            at.cast::<u8>().write_bytes(0, bytes);
        }
        let address = at.expose_provenance() as Address;
        let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if mark.is_none() {
            *mark = api.buffer_id(address).map(|id| (address, id));
        }
        at.cast()
    }

    /// Wait until all is done that the lane has enqueued.
    pub fn wait(&self, api: &Api, lane: &mut Lane) -> Result<()> {
        let mark = self.mark(api, lane);
        self.wait_for(api, lane, mark)
    }

    /// Have the stream write a word behind what it has been given. `None`: it cannot.
    pub fn mark(&self, api: &Api, lane: &mut Lane) -> Option<u32> {
        if !self.writes.load(Ordering::Relaxed) {
            return None;
        }
        let to = std::ptr::from_ref(lane.word()?).expose_provenance() as Address;
        lane.marks = lane.marks.wrapping_add(1);
        // SAFETY: pinned memory, which all devices reach.
        let answer = unsafe { (api.stream_write)(lane.stream, to, lane.marks, 0) };
        if [code::NOT_FOUND, code::NOT_SUPPORTED].contains(&answer) {
            self.writes.store(false, Ordering::Relaxed);
        }
        (answer == code::SUCCESS).then_some(lane.marks)
    }

    /// Wait until the stream has come to this mark; without one, until it has done all.
    pub fn wait_for(&self, api: &Api, lane: &Lane, mark: Option<u32>) -> Result<()> {
        let word = lane.word();
        let mut polls = 0_u32;
        loop {
            // SYNC: the device writes the word after all that it has been given before.
            if let (Some(word), Some(mark)) = (word, mark)
                && word.load(Ordering::Acquire).wrapping_sub(mark).cast_signed() >= 0
            {
                return Ok(());
            }
            if mark.is_none() || polls % POLLS_PER_QUERY == POLLS_PER_QUERY - 1 {
                // SAFETY: a stream of ours, in its context.
                match unsafe { (api.stream_query)(lane.stream) } {
                    code::SUCCESS => return Ok(()),
                    code::NOT_READY => {}
                    failed => {
                        return Err(api.error(failed, "cuStreamQuery", || "a copy or kernel has failed".to_owned()));
                    }
                }
            }
            polls = polls.wrapping_add(1);
            if polls < POLLS_BEFORE_YIELD {
                spin_loop();
            } else {
                cpu::yield_now();
            }
        }
    }

    /// The kernel in this place's context; `load` loads it there at first use, and is not called again if it fails.
    pub fn function(&self, api: &Api, kernel: Kernel, load: impl FnOnce() -> Result<Object>) -> Result<Object> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(&kernel) {
            return function.clone().map(std::ptr::with_exposed_provenance_mut);
        }
        drop(functions);
        let loaded = {
            let _current = Current::enter(api, self.context)?;
            load()
        };
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        functions.insert(kernel, loaded.clone().map(|function| function.expose_provenance()));
        loaded
    }
}

impl Lane {
    fn word(&self) -> Option<&AtomicU32> {
        // SAFETY: behind the buffer, aligned, and as long-lived as the lane.
        (!self.pinned.is_null()).then(|| unsafe { AtomicU32::from_ptr(self.pinned.add(BOUNCE).cast()) })
    }
}

/// Does it say that a handle is none any more?
fn is_about_handles(error: &Error) -> bool {
    [code::INVALID_CONTEXT, code::INVALID_HANDLE, code::CONTEXT_IS_DESTROYED].contains(&error.code())
}
