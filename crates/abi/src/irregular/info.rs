//! Info objects and process sets: strings whose room the caller states.

use std::ffi::{CStr, c_char, c_int};

use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::error::Result;
use isthmus_mpi::fail;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::info::Info;
use isthmus_mpi::procedures;
use isthmus_mpi::session::Session;

use crate::abi::Abi;
use crate::argument::{self, HandleOutput, Text};
use crate::entry::{self, CHandle};

/// `MPI_Info_get`: at most `valuelen` characters, and a zero after them.
///
/// # Safety
/// As for the C function.
pub unsafe fn info_get<A: Abi>(
    info: CHandle<A>,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> c_int {
    entry::any_time::<A>("MPI_Info_get", Scope::Process, || {
        let info = A::handle_in::<Info>(info).resolve("info")?;
        // SAFETY: the caller's promise.
        let key = unsafe { argument::string(key, "key")? };
        let room = argument::length(valuelen, "valuelen")? + 1;
        let value = Text::at(value, room, "value")?;
        let flag = argument::output(flag, "flag")?;
        let (text, found) = procedures::info_get(info, key, valuelen)?;
        flag.put(c_int::from(found));
        if found {
            value.put(&text);
        }
        Ok(())
    })
}

/// `MPI_Info_get_valuelen`: nothing is said of a key that is not there.
///
/// # Safety
/// As for the C function.
pub unsafe fn info_get_valuelen<A: Abi>(
    info: CHandle<A>,
    key: *const c_char,
    valuelen: *mut c_int,
    flag: *mut c_int,
) -> c_int {
    entry::any_time::<A>("MPI_Info_get_valuelen", Scope::Process, || {
        let info = A::handle_in::<Info>(info).resolve("info")?;
        // SAFETY: the caller's promise.
        let key = unsafe { argument::string(key, "key")? };
        let valuelen = argument::output(valuelen, "valuelen")?;
        let flag = argument::output(flag, "flag")?;
        let (length, found) = procedures::info_get_valuelen(info, key)?;
        flag.put(c_int::from(found));
        if found {
            valuelen.put(length);
        }
        Ok(())
    })
}

/// `MPI_Info_get_string`: `buflen` is the room, then the room that the value needs.
///
/// # Safety
/// As for the C function.
pub unsafe fn info_get_string<A: Abi>(
    info: CHandle<A>,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> c_int {
    entry::any_time::<A>("MPI_Info_get_string", Scope::Process, || {
        let info = A::handle_in::<Info>(info).resolve("info")?;
        // SAFETY: the caller's promise.
        let key = unsafe { argument::string(key, "key")? };
        let flag = argument::output(flag, "flag")?;
        let found = procedures::info_get_string(info, key)?;
        flag.put(c_int::from(found.is_some()));
        match found {
            Some(text) => sized(&text, buflen, value, "value", "buflen"),
            None => Ok(()),
        }
    })
}

/// Give `text` to a caller who says in `room` how much fits; 0: only how much would be needed.
fn sized(
    text: impl AsRef<[u8]>,
    room: *mut c_int,
    value: *mut c_char,
    value_name: &str,
    room_name: &str,
) -> Result<()> {
    let room = argument::output(room, room_name)?;
    match argument::length(room.get(), room_name)? {
        0 => {}
        most => {
            Text::at(value, most, value_name)?.put(&text);
        }
    }
    room.put(text.as_ref().len() as c_int + 1);
    Ok(())
}

/// `MPI_Session_get_nth_pset`
///
/// # Safety
/// As for the C function.
pub unsafe fn session_get_nth_pset<A: Abi>(
    session: CHandle<A>,
    info: CHandle<A>,
    n: c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
) -> c_int {
    entry::enter::<A>("MPI_Session_get_nth_pset", entry::on_session::<A>(session), || {
        let session = A::handle_in::<Session>(session).resolve("session")?;
        let info = argument::info::<A>(info, "info")?;
        let name = procedures::session_get_nth_pset(session, info, n)?;
        sized(&name, pset_len, pset_name, "pset_name", "pset_len")
    })
}

/// `MPI_Info_create_env`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn info_create_env<A: Abi>(argc: c_int, argv: *mut *mut c_char, info: *mut CHandle<A>) -> c_int {
    entry::any_time::<A>("MPI_Info_create_env", Scope::Process, || {
        let output = HandleOutput::<A>::at(info, "info")?;
        let count = usize::try_from(argc).map_err(|_| fail!(Arg, "argc={argc} is negative"))?;
        let count = if argv.is_null() { 0 } else { count };
        // SAFETY: the caller gives the arguments of its program: so many strings.
        let arguments: Vec<&CStr> = unsafe { argument::array(argv.cast_const(), count, "argv")? }
            .iter()
            .take_while(|argument| !argument.is_null())
            // SAFETY: as above; not null.
            .map(|argument| unsafe { CStr::from_ptr(*argument) })
            .collect();
        let made: Handle<Info> = procedures::info_create_env(&arguments)?;
        output.put(made);
        Ok(())
    })
}
