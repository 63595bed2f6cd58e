//! Where a program made what it holds: for each live handle the call that gave it, kept where programs are checked.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_os::callers::{self, LibraryCall};

use super::Map;

/// Live handles, by their numbers, and the places of calls that are known.
#[derive(Default)]
struct Sites {
    live: Map<u32, usize>,
    places: Map<usize, CallSite>,
    /// Where receives were started that the program has freed before they were complete.
    freed: Vec<usize>,
}

/// A call in the program.
struct CallSite {
    entry: LibraryCall,
    /// The stack there, whose names are looked up when it is printed.
    callers: Backtrace,
}

thread_local! {
    /// What this thread has made last, and where: mostly it is asked for next.
    static LAST: Cell<(u32, usize)> = const { Cell::new((0, 0)) };
    /// What this thread makes is kept elsewhere, with its place.
    static IS_KEPT: Cell<bool> = const { Cell::new(false) };
}

static SITES: Mutex<Option<Sites>> = Mutex::new(None);

fn sites() -> MutexGuard<'static, Option<Sites>> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's call makes this handle.
#[cold]
pub(crate) fn made(handle: u32) {
    let site = here();
    LAST.set((handle, site));
    if IS_KEPT.get() {
        return;
    }
    sites().get_or_insert_default().live.insert(handle, site);
}

/// Run this, which makes a handle; if `is_kept` the caller keeps it, with its place.
#[inline(always)]
pub(crate) fn kept_if<R>(is_kept: bool, make: impl FnOnce() -> R) -> R {
    if is_kept {
        IS_KEPT.set(true);
    }
    let made = make();
    if is_kept {
        IS_KEPT.set(false);
    }
    made
}

/// The handle is gone.
#[cold]
pub(crate) fn gone(handle: u32) {
    LAST.set((0, 0));
    if let Some(sites) = &mut *sites() {
        sites.live.remove(&handle);
    }
}

/// The program frees a request of a receive that is not complete, and was made here: nobody will know when its buffer may be used (MPI-5.0 §3.7.3).
#[cold]
pub(crate) fn freed(site: usize) {
    sites().get_or_insert_default().freed.push(site);
}

/// Where the receives were started that were freed so.
pub(crate) fn freed_early() -> Vec<usize> {
    sites().as_ref().map(|sites| sites.freed.clone()).unwrap_or_default()
}

/// The place of the call that made a live handle; 0: it is not known.
#[cold]
pub(crate) fn of(handle: u32) -> usize {
    let (last, site) = LAST.get();
    if last == handle {
        return site;
    }
    let sites = sites();
    sites
        .as_ref()
        .and_then(|sites| sites.live.get(&handle).copied())
        .unwrap_or(0)
}

/// The place of the call that the calling thread is in; 0: it is not known.
pub(crate) fn here() -> usize {
    let Some(entry) = callers::entry() else { return 0 };
    if entry.is_known {
        return entry.caller;
    }
    let mut sites = sites();
    let places = &mut sites.get_or_insert_default().places;
    places.entry(entry.caller).or_insert_with(|| CallSite {
        entry,
        callers: Backtrace::force_capture(),
    });
    entry.caller
}

/// Live handles that `wanted` picks, each with the place that it is from.
pub(crate) fn left(wanted: impl Fn(u32) -> bool) -> Vec<(u32, usize)> {
    let sites = sites();
    let live = sites.iter().flat_map(|sites| &sites.live);
    live.filter(|(handle, _)| wanted(**handle))
        .map(|(handle, site)| (*handle, *site))
        .collect()
}

/// The call at a place, as in `MPI_Comm_dup at solver.c:12`: the line where debug information is there, else the function.
#[cold]
pub(crate) fn describe(site: usize) -> String {
    match sites().as_ref().and_then(|sites| sites.places.get(&site)) {
        Some(place) => place.describe(),
        None => "a call that is not known".to_owned(),
    }
}

impl CallSite {
    fn describe(&self) -> String {
        let name = callers::name_at(self.entry.called).unwrap_or_default();
        let procedure = match name.find("MPI_").or_else(|| name.find("MPIX_")) {
            Some(at) => &name[at..],
            None => "a call",
        };
        let text = format!("{:#}", self.callers);
        match line_of(&text, self.entry.caller) {
            Some(line) => format!("{procedure} {line}"),
            None => procedure.to_owned(),
        }
    }
}

/// What a backtrace says of the frame at this address: `at file.c:12` or `in function`.
fn line_of(backtrace: &str, address: usize) -> Option<String> {
    let address = format!("{address:#x} - ");
    let mut lines = backtrace.lines().skip_while(|line| !line.contains(&address));
    let (_, function) = lines.next()?.split_once(" - ")?;
    let next = lines.next().map(str::trim).unwrap_or_default();
    match next.strip_prefix("at ") {
        Some(place) => Some(format!("at {}", without_column(place))),
        None if function.contains("unknown") => None,
        None => Some(format!("in {function}")),
    }
}

/// `/home/me/a.c:12:5`: the name of the file, and the line.
fn without_column(place: &str) -> &str {
    let name = place.rfind('/').map_or(place, |at| &place[at + 1..]);
    match name.match_indices(':').nth(1) {
        Some((at, _)) => &name[..at],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_by_its_address() {
        let text = "   0:     0x7f0000000001 - isthmus_std_MPI_Comm_dup\n   \
                    1:     0x55e1a2b3c4d5 - main\n                               at /home/me/a.c:12:5\n   \
                    2:     0x7f0000000002 - helper\n";
        assert_eq!(line_of(text, 0x55e1_a2b3_c4d5), Some("at a.c:12".to_owned()));
        assert_eq!(line_of(text, 0x7f00_0000_0002), Some("in helper".to_owned()));
        assert_eq!(line_of(text, 0x1234), None);
    }

    #[test]
    fn handles_are_counted_by_place_until_they_are_gone() {
        let count = || left(|handle| handle >= 0xffff_fff0).len();
        made(0xffff_fff1);
        made(0xffff_fff2);
        assert_eq!(count(), 2);
        gone(0xffff_fff1);
        assert_eq!(count(), 1);
        gone(0xffff_fff2);
        assert_eq!(count(), 0);
    }
}
