//! Opening files, and closing them (MPI-5.0 §14.2).

use std::ffi::{CStr, OsStr};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};

use isthmus_engine::rma::node_of;
use isthmus_engine::warning::{self, Warning};
use isthmus_io::backend::{Backend, remove, whole};
use isthmus_io::failure::Failure;
use isthmus_io::fault::{Fault, Plan};
use isthmus_io::hints::{Choice, Hints};
use isthmus_io::posix::{Create, How, Posix};
use isthmus_io::stream::Stream;
use isthmus_io::two_phase::{Exchange, agree, told, verdict};
use isthmus_os::switches::Switch;

use super::exchange::Messages;
use super::seen::Seen;
use super::shared::{self, Shared};
use super::{File, mode, operation};
use crate::coll::check;
use crate::comm::{Comm, gather_both};
use crate::errhandler;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::{Handle, Object};
use crate::info::Info;
use crate::liveness;

/// ROMIO's names of file systems, which some programs put before a path.
const PREFIXES: [&[u8]; 4] = [b"ufs:", b"nfs:", b"lustre:", b"xfs:"];

fn path_of(filename: &CStr) -> &Path {
    let bytes = filename.to_bytes();
    let bare = PREFIXES.iter().find_map(|prefix| bytes.strip_prefix(*prefix));
    Path::new(OsStr::from_bytes(bare.unwrap_or(bytes)))
}

fn check_amode(amode: i32) -> Result<()> {
    use mode::{APPEND, CREATE, DELETE_ON_CLOSE, EXCL, RDONLY, RDWR, SEQUENTIAL, UNIQUE_OPEN, WRONLY};
    const ALL: i32 = APPEND | CREATE | DELETE_ON_CLOSE | EXCL | RDONLY | RDWR | SEQUENTIAL | UNIQUE_OPEN | WRONLY;
    if amode & !ALL != 0 {
        return Err(fail!(Amode, "amode={amode:#x} has bits that mean nothing"));
    }
    if [RDONLY, RDWR, WRONLY].iter().filter(|bit| amode & **bit != 0).count() != 1 {
        return Err(fail!(
            Amode,
            "amode has to be exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY"
        ));
    }
    if amode & RDONLY != 0 && amode & (CREATE | EXCL) != 0 {
        return Err(fail!(
            Amode,
            "amode has MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL, which make files to be written to"
        ));
    }
    if amode & RDWR != 0 && amode & SEQUENTIAL != 0 {
        return Err(fail!(Amode, "amode has MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL"));
    }
    Ok(())
}

/// Faults of the files of this process, for tests (`ISTHMUS_FILE_FAULT`).
fn faults() -> Option<Plan> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    *PLAN.get_or_init(|| {
        let text = isthmus_engine::tunables::FILE_FAULT.get().unwrap_or_default();
        match Plan::parse(text) {
            Ok(plan) => (plan != Plan::default()).then_some(plan),
            Err(word) => {
                isthmus_os::process::say(&format!(
                    "isthmus: {}: {word} is no fault of files",
                    isthmus_engine::tunables::FILE_FAULT.variable()
                ));
                None
            }
        }
    })
}

/// No file of hints is longer.
const LONGEST_HINTS: u64 = 64 << 10;

/// Hints of the file that `ROMIO_HINTS` names, as users of ROMIO know it: they come before the program's. A file that cannot be read has none, and one
/// line says so.
fn take_named_hints(hints: &mut Hints) {
    let Some(place) = std::env::var_os("ROMIO_HINTS") else {
        return;
    };
    match read_hints(Path::new(&place)) {
        Ok(text) => hints.set_all(&text),
        Err(error) => {
            let line = format!(
                "isthmus: ROMIO_HINTS={}: {error}; there are no hints of it",
                place.display()
            );
            warning::warn(Warning::NamedHints, &line);
        }
    }
}

fn read_hints(place: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let longest = std::fs::File::open(place)?
        .take(LONGEST_HINTS + 1)
        .read_to_string(&mut text)?;
    match longest as u64 > LONGEST_HINTS {
        true => Err(std::io::Error::other(format!(
            "it is longer than {LONGEST_HINTS} bytes"
        ))),
        false => Ok(text),
    }
}

/// Open it, as this rank sees it.
fn open(path: &Path, amode: i32, hints: &Hints, create: Create) -> std::io::Result<Arc<dyn Backend>> {
    let how = How {
        read: amode & mode::WRONLY == 0,
        write: amode & mode::RDONLY == 0,
        create,
        mode: hints.permissions,
    };
    // A write of a window of the file reads the window first; where that cannot be, pieces are written under the lock.
    let is_sequential = amode & mode::SEQUENTIAL != 0;
    let sieves = hints.ds_write == Choice::Enable && !how.read && !is_sequential;
    let both = sieves.then(|| Posix::open(path, How { read: true, ..how }));
    let file = match both {
        Some(Ok(file)) => file,
        _ => Posix::open(path, how)?,
    };
    let file = match is_sequential {
        true => Stream::of(file),
        false => Err(file),
    };
    Ok(match (faults(), file) {
        (Some(plan), Ok(stream)) => Arc::new(Fault::new(stream, plan)),
        (Some(plan), Err(file)) => Arc::new(Fault::new(file, plan)),
        (None, Ok(stream)) => Arc::new(stream),
        (None, Err(file)) => Arc::new(file),
    })
}

/// What a member says of its part: its error, the place of the shared pointer, the size of the file with [`STREAM`], and which file it is.
type Said = [u64; 4];

/// With the size of a file: it cannot seek. No size is so great.
const STREAM: u64 = 1 << 63;

/// Which file it is on this node, where programs are checked.
fn identity(place: &Path) -> u64 {
    let about = if Switch::Check.is_on() {
        std::fs::metadata(place).ok()
    } else {
        None
    };
    about.map_or(0, |about| about.dev().rotate_left(40) ^ about.ino())
}

/// Members that share a node have opened one file.
fn same_file(exchange: &Messages, path: &str, said: &[Said]) -> Result<()> {
    for (rank, [.., file]) in said.iter().enumerate() {
        let is_beside = |other: &usize| exchange.node_of(*other) == exchange.node_of(rank);
        let first = (0..rank).find(is_beside).filter(|first| said[*first][3] != *file);
        if let Some(first) = first {
            return Err(fail!(
                NotSame,
                "{path}: rank {rank} has opened another file than rank {first}"
            ));
        }
    }
    Ok(())
}

fn opening(error: &std::io::Error) -> Failure {
    Failure::new("open", error)
}

/// All are here, with the same mode of access, and arguments that are good: what they offer for a new communicator.
fn agree_to_open(comm: &Comm, path: &str, amode: i32, checked: Result<()>) -> Result<Vec<u32>> {
    check::same(comm, "MPI_File_open")?;
    let error = checked.err();
    let code = error.as_ref().map_or(0, |error| error.code().cast_unsigned());
    let (said, _) = gather_both(comm, [comm.offer(), amode.cast_unsigned(), code])?;
    verdict(
        comm.rank() as usize,
        path,
        said.iter().map(|[.., code]| u64::from(*code)),
        error,
    )?;
    match said.iter().position(|[_, theirs, _]| *theirs != said[0][1]) {
        None => Ok(said.into_iter().map(|[offer, ..]| offer).collect()),
        Some(rank) => Err(fail!(
            NotSame,
            "amode differs between ranks: rank {rank} has another one than rank 0"
        )),
    }
}

/// The arguments of `MPI_File_open` were refused: tell the other members. Blocks until all have called.
#[cold]
pub fn file_open_refused(comm: &Comm, error: Error) -> Error {
    if comm.is_inter() {
        return error;
    }
    agree_to_open(comm, "MPI_File_open", 0, Err(error.clone()))
        .err()
        .unwrap_or(error)
}

/// `MPI_File_open`: open a file together. Collective; blocks until all have called. If one cannot, all get its error.
pub fn file_open(comm: &Comm, filename: &CStr, amode: i32, info: Option<&Info>) -> Result<Handle<File>> {
    if comm.is_inter() {
        return Err(fail!(Comm, "comm={:?} is an intercommunicator", comm.handle()));
    }
    let text: Box<str> = path_of(filename).to_string_lossy().into();
    let offers = agree_to_open(comm, &text, amode, check_amode(amode))?;
    let own = comm.derive(offers.into_iter(), Arc::clone(&comm.group), None)?;
    let comm = Arc::new(own);
    let exchange = Messages::new(&comm, 0);
    let mut hints = Hints::default();
    for (key, value) in info.map(Info::pairs).unwrap_or_default() {
        hints.set(&String::from_utf8_lossy(&key), &String::from_utf8_lossy(&value));
    }
    take_named_hints(&mut hints);
    let path = path_of(filename);
    // Without a current directory the name is as good as the program's.
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let create = match amode & mode::CREATE {
        0 => Create::Never,
        _ => Create::Missing,
    };
    let mut opened = None;
    if amode & mode::EXCL != 0 && create == Create::Missing {
        // One makes it, then the others find it.
        if comm.rank() == 0 {
            opened = Some(open(path, amode, &hints, Create::Always));
        }
        let failure = opened.as_ref().and_then(|opened| opened.as_ref().err()).map(opening);
        let said = operation::drive(exchange.gather([told(None, failure)]))??;
        let own = failure.map(|failure| failure.of(&text));
        verdict(exchange.rank(), &text, said.iter().map(|[word]| *word), own)?;
    }
    let opened = opened.unwrap_or_else(|| open(path, amode, &hints, create));
    finish(comm, Name { text, place }, amode, hints, opened)
}

/// What a file is called.
struct Name {
    /// In messages.
    text: Box<str>,
    /// To the system, wherever the process goes.
    place: PathBuf,
}

/// All tell how it went, and where the shared pointer is.
fn finish(
    comm: Arc<Comm>,
    name: Name,
    amode: i32,
    hints: Hints,
    opened: std::io::Result<Arc<dyn Backend>>,
) -> Result<Handle<File>> {
    let exchange = Messages::new(&comm, 0);
    let Name { text, place } = name;
    let node = |rank: i32| comm.peer(rank).map(node_of);
    let is_on_one_node = (0..comm.size()).all(|rank| node(rank) == node(0));
    let is_first = comm.rank() == 0;
    let word = match is_first && is_on_one_node {
        true => shared::take().map(Some),
        false => Ok(None),
    };
    let about = |file: &Arc<dyn Backend>| {
        if file.is_stream() {
            STREAM
        } else {
            file.size().unwrap_or(0)
        }
    };
    let size = opened.as_ref().map_or(0, about);
    let failure = opened.as_ref().err().map(opening);
    let wrong = told(word.as_ref().err(), failure);
    let offset = word.as_ref().ok().copied().flatten();
    let said: Result<Vec<Said>> =
        operation::drive(exchange.gather([wrong, offset.unwrap_or(0), size, identity(&place)]))?;
    let own = word.err().or_else(|| failure.map(|failure| failure.of(&text)));
    let judged = said.and_then(|said| {
        verdict(exchange.rank(), &text, said.iter().map(|words| words[0]), own)?;
        same_file(&exchange, &text, &said)?;
        Ok(said)
    });
    let said = judged.inspect_err(|_| _ = offset.map(shared::give_back))?;
    let backend = opened.map_err(|error| opening(&error).of(&text))?;
    // One is enough: a rank whose file has places takes its turn with the others.
    let is_stream = said.iter().any(|words| words[2] & STREAM != 0);
    let at = if amode & mode::APPEND != 0 && !is_stream {
        said[0][2] as i64
    } else {
        0
    };
    let path = text.clone();
    let made = || -> Result<Handle<File>> {
        let shared = match is_on_one_node {
            true => Shared::here(said[0][1], is_first)?,
            false => Shared::away(&comm)?,
        };
        if is_first && at != 0 {
            shared.store(at)?;
        }
        let file = Arc::new(File {
            comm: Arc::clone(&comm),
            path,
            place,
            backend,
            amode,
            hints: Mutex::new(Arc::new(hints)),
            seen: Mutex::new(Arc::new(Seen::bytes())),
            pointer: AtomicI64::new(at),
            shared,
            is_stream,
            is_atomic: AtomicBool::new(false),
            has_looked: AtomicBool::new(false),
            written: Mutex::default(),
            has_told: AtomicBool::new(false),
            split: Mutex::default(),
            calls: AtomicU32::new(1),
            errhandler: Mutex::new(errhandler::for_new_files()?),
            handle: OnceLock::new(),
        });
        let handle = File::table().insert(Arc::clone(&file))?;
        // It was made here, so its handle is not set yet.
        let _ = file.handle.set(handle);
        Ok(handle)
    };
    let made = made();
    // All have it, and the first rank to return may use the pointer: it is placed before.
    let met = made.as_ref().map(drop).map_err(Clone::clone);
    let met = operation::drive(agree(&exchange, &text, met)).and_then(|met| met);
    if let Err(error) = met {
        if let Ok(handle) = made {
            drop(handle.remove("fh"));
        }
        // Where a member has died others may have it.
        if let Some(offset) = offset.filter(|_| !error.is_failure()) {
            shared::give_back(offset);
        }
        return Err(error);
    }
    made
}

/// `MPI_File_close`: closes after all members have called. Other processes of the machine see the data that were written; `MPI_File_sync` brings
/// them to the device. Collective; blocks until all members have called.
///
/// # Errors
/// The handle is null once the file is closed, even if the file system tells of an error of an earlier write, or it could not be deleted.
pub fn file_close(fh: &mut Handle<File>) -> Result<()> {
    let file = fh.resolve("fh")?;
    // The file stays open on all members if one cannot close it. Where a member has died nobody waits for it.
    let idle = file.check_not_split("MPI_File_close");
    let is_deleted = file.is(mode::DELETE_ON_CLOSE);
    let flushed = match is_deleted {
        true => None,
        false => whole("close", || file.backend.flush()).err(),
    };
    let mut met = meet_to_close(file, idle, flushed)?;
    let freed = file.shared.free();
    if is_deleted {
        let left = match file.comm.rank() {
            0 => remove(&*file.backend, &file.place),
            _ => Ok(()),
        };
        let own = left.map_err(|failure| file.failed(failure));
        met = liveness::forgive(file.agree_on(left.err())).and(own);
    }
    let apart = liveness::forgive(file.check_overlaps());
    drop(std::mem::replace(fh, Handle::NULL).remove("fh")?);
    met.and(liveness::forgive(freed)).and(apart)
}

/// All come to close the file, and tell whether they can, and what the file system has told them (decision 225). Blocks until all have called.
/// Within: the error of the first rank that was told of one.
fn meet_to_close(file: &File, idle: Result<()>, flushed: Option<Failure>) -> Result<Result<()>> {
    let own = flushed.map(|failure| file.failed(failure));
    let meet = || -> Result<Result<()>> {
        file.same("file_close")?;
        let exchange = file.messages();
        let refused = idle.err();
        let said = operation::drive(exchange.gather([told(refused.as_ref(), None), told(None, flushed)]))??;
        let me = exchange.rank();
        verdict(me, &file.path, said.iter().map(|[word, _]| *word), refused)?;
        Ok(verdict(me, &file.path, said.iter().map(|[_, word]| *word), own.clone()))
    };
    match meet() {
        // Where a member has died the others close the file for themselves.
        Err(error) if error.is_failure() => Ok(own.clone().map_or(Ok(()), Err)),
        met => met,
    }
}

/// `MPI_File_delete`: of this name. Not collective.
pub fn file_delete(filename: &CStr, _info: Option<&Info>) -> Result<()> {
    let path = path_of(filename);
    std::fs::remove_file(path).map_err(|error| Failure::new("unlink", &error).of(&path.to_string_lossy()))
}
