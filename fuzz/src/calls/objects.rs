//! What an input has made so far.

use std::collections::HashMap;

use super::library::Library;

/// Kinds of values that live in sets: handles, and numbers that name something.
pub const KINDS: &[(&str, &str)] = &[
    // The kind of parameter, the set of its constants.
    ("COMMUNICATOR", "comm"),
    ("DATATYPE", "datatype"),
    ("ERRHANDLER", "errhandler"),
    ("FILE", "file"),
    ("GROUP", "group"),
    ("INFO", "info"),
    ("MESSAGE", "message"),
    ("OPERATION", "op"),
    ("REQUEST", "request"),
    ("SESSION", "session"),
    ("WINDOW", "win"),
    ("CVAR", "tool_cvar"),
    ("PVAR", "tool_pvar"),
    ("PVAR_SESSION", "tool_pvar_session"),
    ("TOOLS_ENUM", "tool_enum"),
    ("EVENT_INSTANCE", ""),
    ("EVENT_REGISTRATION", ""),
    ("KEYVAL", "keyval"),
    ("ERROR_CODE", "error_class"),
    ("ERROR_CLASS", "error_class"),
];

/// Live and stale objects, by kind.
pub struct Objects {
    /// Where they live.
    pub library: Library,
    live: HashMap<&'static str, Vec<u64>>,
    stale: HashMap<&'static str, Vec<u64>>,
    /// Datatypes whose layout reaches beyond what buffers have.
    far: Vec<u64>,
    /// What `MPI_Alloc_mem` gave.
    pub allocated: Vec<u64>,
}

/// Datatypes up to this size and extent are used with buffers.
const NEAR: i64 = 16 << 10;

impl Objects {
    /// What exists from the start.
    pub fn new(library: Library) -> Self {
        let abi = library.abi;
        // Handlers that end the process are not to be had.
        let deadly = ["MPI_ERRORS_ARE_FATAL", "MPI_ERRORS_ABORT"];
        let of_set = |set: &str| {
            abi.set(set)
                .filter(|(name, _)| !name.ends_with("_NULL") && !deadly.contains(name))
                .map(|(_, value)| value.cast_unsigned())
                .collect()
        };
        let objects = Self {
            library,
            live: KINDS.iter().map(|(kind, set)| (*kind, of_set(set))).collect(),
            stale: HashMap::new(),
            far: Vec::new(),
            allocated: Vec::new(),
        };
        objects.errors_return();
        objects
    }

    fn errors_return(&self) {
        let abi = self.library.abi;
        for comm in ["MPI_COMM_WORLD", "MPI_COMM_SELF"] {
            let [comm, errhandler] = [comm, "MPI_ERRORS_RETURN"].map(|name| abi.constant(name).cast_unsigned());
            let code = self.library.by_name("MPI_Comm_set_errhandler", &[comm, errhandler]);
            assert_eq!(code, 0, "MPI_Comm_set_errhandler");
        }
    }

    /// What exists of a kind; nothing for kinds that have no objects.
    pub fn live(&self, kind: &str) -> &[u64] {
        self.live.get(kind).map_or(&[], Vec::as_slice)
    }

    /// What no longer exists of a kind.
    pub fn stale(&self, kind: &str) -> &[u64] {
        self.stale.get(kind).map_or(&[], Vec::as_slice)
    }

    /// May a call with buffers use it?
    pub fn is_near(&self, datatype: u64) -> bool {
        !self.far.contains(&datatype)
    }

    /// A call has made it.
    pub fn add(&mut self, kind: &'static str, value: u64) {
        let abi = self.library.abi;
        let set = KINDS.iter().find(|(one, _)| *one == kind).map_or("", |(_, set)| *set);
        if abi.set(set).any(|(_, constant)| constant.cast_unsigned() == value) {
            return;
        }
        if kind == "DATATYPE" {
            // Its number may have belonged to another.
            self.far.retain(|far| *far != value);
            if !self.reaches_little(value) {
                self.far.push(value);
            }
        }
        let live = self.live.entry(kind).or_default();
        if !live.contains(&value) {
            live.push(value);
        }
    }

    /// A call has freed it.
    pub fn remove(&mut self, kind: &'static str, value: u64) {
        let live = self.live.entry(kind).or_default();
        if let Some(at) = live.iter().position(|one| *one == value) {
            live.remove(at);
            self.stale.entry(kind).or_default().push(value);
        }
    }

    fn reaches_little(&self, datatype: u64) -> bool {
        let mut numbers = [0_i64; 5];
        let at = |index: usize| (&raw const numbers[index]).addr() as u64;
        let places = [0, 1, 2, 3, 4].map(at);
        let answers = [
            self.library.by_name("MPI_Type_size_c", &[datatype, places[0]]),
            self.library
                .by_name("MPI_Type_get_extent_c", &[datatype, places[1], places[2]]),
            self.library
                .by_name("MPI_Type_get_true_extent_c", &[datatype, places[3], places[4]]),
        ];
        // The calls wrote there.
        let numbers = std::hint::black_box(&mut numbers);
        answers == [0; 3] && numbers.iter().all(|number| number.unsigned_abs() <= NEAR as u64)
    }

    /// No request, and no message that was not received.
    pub fn settle(&mut self) {
        let library = self.library;
        for request in self.drained("REQUEST") {
            let mut handle = request;
            let place = (&raw mut handle).addr() as u64;
            let mut flag = [0_u64; 8];
            let flag = (&raw mut flag).addr() as u64;
            library.by_name("MPI_Grequest_complete", &[request]);
            library.by_name("MPI_Cancel", &[place]);
            library.by_name("MPI_Test", &[place, flag, flag + 16]);
            library.by_name("MPI_Request_free", &[place]);
        }
        let comms = self.live("COMMUNICATOR").to_vec();
        let abi = library.abi;
        let [any_source, any_tag, byte] =
            ["MPI_ANY_SOURCE", "MPI_ANY_TAG", "MPI_BYTE"].map(|name| abi.constant(name).cast_unsigned());
        let mut room = vec![0_u64; 1 << 10];
        let place = room.as_mut_ptr().addr() as u64;
        let receive = |place: u64| library.by_name("MPI_Mrecv", &[place + 256, 0, byte, place, place + 64]);
        for message in self.drained("MESSAGE") {
            room[0] = message;
            receive(place);
        }
        for comm in comms {
            // Communicators may promise not to use wildcards.
            for (source, tag) in [(any_source, any_tag), (0, 0), (0, 1), (0, 2)] {
                loop {
                    room[2] = 0;
                    let code = library.by_name("MPI_Improbe", &[source, tag, comm, place + 16, place, place + 64]);
                    if code != 0 || std::hint::black_box(&room)[2] as u32 == 0 {
                        break;
                    }
                    receive(place);
                }
            }
        }
    }

    /// Free all that was made.
    pub fn release(&mut self) {
        self.settle();
        let library = self.library;
        const FREE: &[(&str, &[&str])] = &[
            ("COMMUNICATOR", &["MPI_Comm_free"]),
            ("GROUP", &["MPI_Group_free"]),
            ("DATATYPE", &["MPI_Type_free"]),
            ("OPERATION", &["MPI_Op_free"]),
            ("ERRHANDLER", &["MPI_Errhandler_free"]),
            ("INFO", &["MPI_Info_free"]),
            ("KEYVAL", &["MPI_Comm_free_keyval", "MPI_Type_free_keyval"]),
            ("CVAR", &["MPI_T_cvar_handle_free"]),
            ("PVAR_SESSION", &["MPI_T_pvar_session_free"]),
            ("SESSION", &["MPI_Session_finalize"]),
        ];
        let mut room = [0_u64; 2];
        let place = (&raw mut room).addr() as u64;
        library.by_name("MPI_Buffer_detach", &[place, place + 8]);
        for (kind, functions) in FREE {
            for value in self.drained(kind) {
                for function in *functions {
                    let mut handle = value;
                    library.by_name(function, &[(&raw mut handle).addr() as u64]);
                }
            }
        }
        for base in std::mem::take(&mut self.allocated) {
            library.by_name("MPI_Free_mem", &[base]);
        }
        self.errors_return();
    }

    /// Take an object of a kind out of the list.
    fn drained(&mut self, kind: &'static str) -> Vec<u64> {
        let predefined = Self::constants(self.library, kind);
        let live = self.live.entry(kind).or_default();
        let (kept, made) = live.iter().partition(|value| predefined.contains(value));
        *live = kept;
        made
    }

    fn constants(library: Library, kind: &str) -> Vec<u64> {
        let set = KINDS.iter().find(|(one, _)| *one == kind).map_or("", |(_, set)| *set);
        library.abi.set(set).map(|(_, value)| value.cast_unsigned()).collect()
    }
}
