//! ScaLAPACK of the system, opened when it is first needed. Debian's build for MPICH calls MPICH's ABI, which our `libmpi.so.12` has:
//! it is opened so that it finds this one, whichever ABI the program itself was linked with, and asked for the name of its MPI before it
//! is used.
//!
//! A program that `mpicc` links has `libmpi_abi.so.1` among its libraries: the same names with other constants. So `libmpich.so.12` is
//! opened first, from our own place (`libisthmus.so.0` has `$ORIGIN` as run path), where ScaLAPACK's loader then finds it, and ScaLAPACK with
//! `RTLD_DEEPBIND`, so that it calls the functions of its own dependencies. Both ABIs are then in use in one process; ScaLAPACK's messages
//! travel on communicators of their own, one for each group, whose processes form a grid as square as their number allows.
//!
//! Source of the interface: <https://www.netlib.org/scalapack/>; L. S. Blackford et al., "ScaLAPACK Users' Guide", 1997. Fortran's
//! conventions: arguments by reference, matrices by columns, lengths of strings behind all others.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_armci::group::{self, Group};
use libloading::os::unix::Library;

use crate::blas;
use crate::error::{Error, Result};
use crate::kind::ElementKind;

/// Files of ScaLAPACK, the surest first.
const FILES: [&str; 3] = [
    "libscalapack-mpich.so.2.2",
    "libscalapack-mpich.so.2.1",
    "libscalapack.so.2.2",
];
/// What it calls, under the name by which it asks for it.
const MPI: &str = "libmpich.so.12";
const PACKAGE: &str = "libscalapack-mpich2.2";

/// `dlopen`: bind all symbols now; those of the library's own dependencies come before the program's.
const NOW: c_int = 2;
const DEEP: c_int = 8;

/// MPICH's `MPI_COMM_WORLD`.
const COMM_WORLD: c_int = 0x4400_0000;
/// MPICH's `MPI_ERRORS_ARE_FATAL`.
const ERRORS_ARE_FATAL: c_int = 0x5400_0000;
/// Of the messages by which a group's communicator is made.
const SETUP_TAG: c_int = 24072;

/// A function of MPI, a C routine of the BLACS, or a routine of ScaLAPACK.
///
/// # Errors
/// ScaLAPACK is not there, or has it not.
///
/// # Safety
/// The type must be the function's.
pub(crate) unsafe fn function<F: Copy>(name: &str) -> Result<F> {
    let library = library().as_ref().map_err(unusable)?;
    // SAFETY: the caller's promise.
    let found = unsafe { library.get::<F>(format!("{name}\0").as_bytes()) };
    found.map(|symbol| *symbol).map_err(|error| unusable(error.to_string()))
}

fn unusable(why: impl ToString) -> Error {
    Error::Library {
        routine: "linear algebra on several processes",
        library: FILES[0],
        why: why.to_string(),
        package: PACKAGE,
    }
}

/// Can it be used here, now?
///
/// # Errors
/// It is not there, uses another MPI than ours, or MPI is not initialized.
pub fn check() -> Result<()> {
    let (mut is_initialized, mut is_finalized): (c_int, c_int) = (0, 0);
    // SAFETY: MPI's own signatures; the calls are allowed at any time.
    unsafe {
        let ask: unsafe extern "C" fn(*mut c_int) -> c_int = function("MPI_Initialized")?;
        ask(&mut is_initialized);
        let ask: unsafe extern "C" fn(*mut c_int) -> c_int = function("MPI_Finalized")?;
        ask(&mut is_finalized);
    }
    if is_initialized == 0 {
        return Err(Error::argument(
            "ScaLAPACK sends messages by MPI, which is not initialized: call MPI_Init first",
        ));
    }
    if is_finalized != 0 {
        return Err(Error::argument("ScaLAPACK sends messages by MPI, which is finalized"));
    }
    Ok(())
}

fn library() -> &'static std::result::Result<Library, String> {
    static LIBRARY: OnceLock<std::result::Result<Library, String>> = OnceLock::new();
    LIBRARY.get_or_init(open)
}

fn open() -> std::result::Result<Library, String> {
    // Ours gets the name by which it will be asked for. It stays: nothing of ours is ever unloaded.
    // SAFETY: its initializers set up its own state only.
    let ours = unsafe { Library::open(Some(MPI), NOW) }.map_err(|error| error.to_string())?;
    std::mem::forget(ours);
    let mut why = String::new();
    for file in FILES {
        // SAFETY: the initializers of these libraries set up their own state only.
        match unsafe { Library::open(Some(file), NOW | DEEP) } {
            Ok(library) => {
                let name = name_of_mpi(&library);
                if name.contains("Isthmus") {
                    blas::use_one_thread(|name| {
                        // SAFETY: the function of this name has this type, wherever there is one.
                        unsafe { library.get::<unsafe extern "C" fn(c_int)>(name) }
                            .ok()
                            .map(|symbol| *symbol)
                    });
                    return Ok(library);
                }
                why =
                    format!("{file} calls another MPI than ours, '{name}': put Isthmus's lib first in LD_LIBRARY_PATH");
                // What it has started may still run.
                std::mem::forget(library);
            }
            Err(error) if why.is_empty() => why = error.to_string(),
            Err(_) => {}
        }
    }
    Err(why)
}

/// What the MPI that a library calls says of itself.
fn name_of_mpi(library: &Library) -> String {
    const MOST: usize = 8192;
    let mut text = vec![0_u8; MOST];
    let mut length: c_int = 0;
    // SAFETY: MPI's own signature, which is the same in every ABI; no version is longer than the room.
    unsafe {
        match library.get::<unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(b"MPI_Get_library_version\0") {
            Ok(tell) => tell(text.as_mut_ptr().cast(), &mut length),
            Err(_) => return "none".into(),
        };
    }
    CStr::from_bytes_until_nul(&text)
        .map(|text| text.to_string_lossy().lines().collect::<Vec<_>>().join(", "))
        .unwrap_or_default()
}

/// The processes of a group as the rows and columns of a BLACS context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// The context's number.
    pub context: c_int,
    /// Processes in each dimension.
    pub extents: [usize; 2],
    /// The calling process's place.
    pub place: [usize; 2],
}

/// A grid, and what is given back with it.
#[derive(Debug)]
struct Made {
    grid: Grid,
    communicator: c_int,
    /// The BLACS' own name of the communicator.
    handle: c_int,
}

/// Grids of groups that have asked, by their processes' ranks: all processes go through them in the same order.
static GRIDS: Mutex<BTreeMap<Vec<c_int>, Made>> = Mutex::new(BTreeMap::new());

fn grids() -> MutexGuard<'static, BTreeMap<Vec<c_int>, Made>> {
    GRIDS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ranks_of(group: &Group) -> Vec<c_int> {
    (0..group.size()).map(|member| group.peer(member).0 as c_int).collect()
}

/// The context of the grid that a group has already.
pub(crate) fn context_of(group: &Group) -> Option<c_int> {
    grids().get(&ranks_of(group)).map(|made| made.grid.context)
}

/// Give back the grid of a group, if it has one that no other group of the same processes uses; the context that it had. Collective over the
/// group. Blocks.
pub(crate) fn forget(group: &Group) -> Option<c_int> {
    // All members have the same groups of the same members: such a group is made by all of them together.
    if group::is_there_twice(group) {
        return None;
    }
    let made = grids().remove(&ranks_of(group))?;
    let context = made.grid.context;
    made.give_back();
    Some(context)
}

/// Give back all grids. Collective. Blocks.
pub(crate) fn forget_all() {
    let all = std::mem::take(&mut *grids());
    all.into_values().for_each(Made::give_back);
}

impl Made {
    /// A context that cannot be freed any more ends with MPI.
    fn give_back(mut self) {
        type Number = unsafe extern "C" fn(c_int);
        type Free = unsafe extern "C" fn(*mut c_int) -> c_int;
        if check().is_err() || isthmus_engine::enter().failures() > 0 {
            return;
        }
        // SAFETY: signatures of the BLACS and of MPICH's ABI; nobody has the context after this.
        unsafe {
            if let Ok(exit) = function::<Number>("Cblacs_gridexit") {
                exit(self.grid.context);
            }
            if let Ok(free) = function::<Number>("Cfree_blacs_system_handle") {
                free(self.handle);
            }
            if let Ok(free) = function::<Free>("MPI_Comm_free") {
                free(&mut self.communicator);
            }
        }
    }
}

impl Grid {
    /// The grid of a group: as square as its number of processes allows. Collective over the group, the first time. Blocks.
    ///
    /// # Errors
    /// ScaLAPACK cannot be used.
    pub fn of(group: &Group) -> Result<Self> {
        let ranks = ranks_of(group);
        if let Some(known) = grids().get(&ranks) {
            return Ok(known.grid);
        }
        let made = Self::make(&ranks)?;
        let grid = made.grid;
        grids().insert(ranks, made);
        Ok(grid)
    }

    fn make(ranks: &[c_int]) -> Result<Made> {
        type Init = unsafe extern "C" fn(*mut c_int, *const c_char, c_int, c_int);
        type Info = unsafe extern "C" fn(c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
        type Handle = unsafe extern "C" fn(c_int) -> c_int;
        // All that may be missing is looked for before anything is made.
        // SAFETY: signatures of the BLACS.
        let (handle_of, init, info) = unsafe {
            (
                function::<Handle>("Csys2blacs_handle")?,
                function::<Init>("Cblacs_gridinit")?,
                function::<Info>("Cblacs_gridinfo")?,
            )
        };
        let rows = (1..=ranks.len()).filter(|rows| ranks.len().is_multiple_of(*rows));
        let rows = rows.take_while(|rows| rows * rows <= ranks.len()).last().unwrap_or(1);
        let columns = ranks.len() / rows;
        let (mut height, mut width, mut row, mut column) = (0, 0, 0, 0);
        let communicator = communicator_of(ranks)?;
        // SAFETY: as above; the communicator is good.
        let (context, handle) = unsafe {
            let handle = handle_of(communicator);
            let mut context = handle;
            init(&mut context, c"Row".as_ptr(), rows as c_int, columns as c_int);
            info(context, &mut height, &mut width, &mut row, &mut column);
            (context, handle)
        };
        let grid = Self {
            context,
            extents: [rows, columns],
            place: [row as usize, column as usize],
        };
        let made = Made {
            grid,
            communicator,
            handle,
        };
        if (height, width) != (rows as c_int, columns as c_int) {
            made.give_back();
            return Err(Error::argument(format!(
                "the BLACS made a grid of {height} x {width} processes, not {rows} x {columns}"
            )));
        }
        Ok(made)
    }
}

/// What a procedure of MPI answers.
fn good(procedure: &str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error::argument(format!("{procedure} failed with error code {code}"))),
    }
}

/// A communicator of these ranks, whose errors are fatal. Collective over them. Blocks. What was made on the way is given back, also when it fails.
fn communicator_of(ranks: &[c_int]) -> Result<c_int> {
    type CommGroup = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
    type Include = unsafe extern "C" fn(c_int, c_int, *const c_int, *mut c_int) -> c_int;
    type CreateGroup = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_int) -> c_int;
    type Free = unsafe extern "C" fn(*mut c_int) -> c_int;
    type SetHandler = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: signatures of MPICH's ABI.
    let (group_of, include, create, set_handler, free_group, free) = unsafe {
        (
            function::<CommGroup>("MPI_Comm_group")?,
            function::<Include>("MPI_Group_incl")?,
            function::<CreateGroup>("MPI_Comm_create_group")?,
            function::<SetHandler>("MPI_Comm_set_errhandler")?,
            function::<Free>("MPI_Group_free")?,
            function::<Free>("MPI_Comm_free")?,
        )
    };
    let (mut world, mut members, mut communicator) = (0, 0, 0);
    // SAFETY: as above; the list has as many ranks as it says, and each object is freed once, if it was made.
    unsafe {
        good("MPI_Comm_group", group_of(COMM_WORLD, &mut world))?;
        let count = ranks.len() as c_int;
        let included = good("MPI_Group_incl", include(world, count, ranks.as_ptr(), &mut members));
        free_group(&mut world);
        included?;
        let code = create(COMM_WORLD, members, SETUP_TAG, &mut communicator);
        free_group(&mut members);
        good("MPI_Comm_create_group", code)?;
        // ScaLAPACK does not look at what MPI answers: where errors return, it would go on with what was there before.
        let set = good("MPI_Comm_set_errhandler", set_handler(communicator, ERRORS_ARE_FATAL));
        if set.is_err() {
            free(&mut communicator);
        }
        set?;
    }
    Ok(communicator)
}

/// A routine's name for a type of elements: `gesv` is `pdgesv_` for doubles.
///
/// # Errors
/// The type is none that linear algebra knows.
pub(crate) fn name(kind: ElementKind, routine: &str) -> Result<String> {
    let letter = match kind {
        ElementKind::Float => 's',
        ElementKind::Double => 'd',
        ElementKind::Complex => 'c',
        ElementKind::DoubleComplex => 'z',
        _ => return Err(Error::argument("linear algebra needs real or complex numbers")),
    };
    Ok(format!("p{letter}{routine}_"))
}
