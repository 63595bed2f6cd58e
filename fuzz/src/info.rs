//! Info objects of any keys and values, and every procedure that takes one.

use crate::calls::{Abi, Library};
use crate::input::Input;

/// Keys and values that mean something, for the generator of texts.
pub const WORDS: &[&str] = &[
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
    "mpi_assert_memory_alloc_kinds",
    "mpi_memory_alloc_kinds",
    "mpi_minimum_memory_alignment",
    "mpi_hw_resource_type",
    "mpi_pset_name",
    "mpi_size",
    "mpi_initial_errhandler",
    "mpi_errors_return",
    "thread_level",
    "MPI_THREAD_MULTIPLE",
    "MPI_THREAD_SINGLE",
    "mpi://WORLD",
    "mpi://SELF",
    "hwloc://Core",
    "host",
    "arch",
    "wdir",
    "soft",
    "command",
    "argv",
    "maxprocs",
    "true",
    "false",
    "TRUE",
    "1",
    "0",
    "64",
    "4096",
    "18446744073709551616",
    "system",
    "mpi",
    "mpi:alloc_mem,win_allocate",
    "cuda:device",
    "external32",
    "native",
    "",
    " ",
];

/// How many info objects there are at a time.
const INFOS: usize = 4;

/// One input: a series of calls.
pub fn feed(data: &[u8]) {
    let library = Library::initialized(Abi::Standard);
    let mut world = World::new(library, Input::new(data));
    while !world.input.is_empty() {
        world.step();
    }
    world.release();
}

struct World<'a> {
    library: Library,
    input: Input<'a>,
    infos: [u64; INFOS],
    /// A communicator of our own, with whatever hints it has been given.
    comm: u64,
    null: u64,
}

impl<'a> World<'a> {
    fn new(library: Library, input: Input<'a>) -> Self {
        let null = library.abi.constant("MPI_INFO_NULL").cast_unsigned();
        let mut new = Self {
            library,
            input,
            infos: [null; INFOS],
            comm: 0,
            null,
        };
        let own = new.constant("MPI_COMM_SELF");
        let returned = new.constant("MPI_ERRORS_RETURN");
        new.call("MPI_Comm_set_errhandler", &[new.constant("MPI_COMM_WORLD"), returned]);
        new.call("MPI_Comm_set_errhandler", &[own, returned]);
        let mut comm = 0;
        assert_eq!(new.call("MPI_Comm_dup", &[own, at(&mut comm)]), 0, "MPI_Comm_dup");
        new.comm = comm;
        new
    }

    fn constant(&self, name: &str) -> u64 {
        self.library.abi.constant(name).cast_unsigned()
    }

    fn call(&self, name: &str, arguments: &[u64]) -> i32 {
        self.library.by_name(name, arguments)
    }

    /// A text that ends in a zero.
    fn text(&mut self) -> Vec<u8> {
        let mut text = match self.input.byte() {
            0..100 => self.input.pick(WORDS).as_bytes().to_vec(),
            100..110 => vec![b'k'; usize::from(self.input.byte()) + 200],
            110..120 => vec![b','; 5000],
            _ => self.input.bytes(80).to_vec(),
        };
        text.push(0);
        text
    }

    fn info(&mut self) -> u64 {
        match self.input.byte() {
            250.. => self.input.word(),
            byte => self.infos[usize::from(byte) % INFOS],
        }
    }

    fn step(&mut self) {
        let slot = self.input.below(INFOS);
        match self.input.byte() % 22 {
            0 => self.make(slot, "MPI_Info_create", &[]),
            1 => {
                let info = self.info();
                self.make(slot, "MPI_Info_dup", &[info]);
            }
            2 => self.make_env(slot),
            3..8 => self.set(),
            8 => {
                let (info, mut key) = (self.info(), self.text());
                self.call("MPI_Info_delete", &[info, first(&mut key)]);
            }
            9 => self.get(),
            10 => self.keys(),
            11 => {
                let info = self.info();
                self.call("MPI_Comm_set_info", &[self.comm, info]);
            }
            12 => self.make(slot, "MPI_Comm_get_info", &[self.comm]),
            13 => self.dup_with_info(),
            14 => self.split_type(),
            15 => self.alloc_mem(),
            16 => self.session(slot),
            17 => self.topology(),
            18 => self.persistent(),
            19 => self.create_from_group(),
            20 => self.free(slot),
            _ => {
                let info = self.info();
                let mut port = [0_u64; 64];
                self.call("MPI_Open_port", &[info, first(&mut port)]);
                self.make(slot, "MPI_Get_hw_resource_info", &[]);
            }
        }
    }

    /// A new info object from a call whose last argument is its place.
    fn make(&mut self, slot: usize, function: &str, arguments: &[u64]) {
        let mut info = self.null;
        let arguments: Vec<u64> = arguments.iter().copied().chain([at(&mut info)]).collect();
        if self.call(function, &arguments) == 0 {
            self.free(slot);
            self.infos[slot] = std::hint::black_box(info);
        }
    }

    fn make_env(&mut self, slot: usize) {
        let mut texts = [self.text(), self.text()];
        let mut list = [first(&mut texts[0]), first(&mut texts[1]), 0];
        let count = self.input.below(3) as u64;
        self.make(slot, "MPI_Info_create_env", &[count, first(&mut list)]);
    }

    fn set(&mut self) {
        let (info, mut key, mut value) = (self.info(), self.text(), self.text());
        let (key, value) = (first(&mut key), first(&mut value));
        if self.call("MPI_Info_set", &[info, key, value]) != 0 {
            return;
        }
        // The value set is there, without the blanks around it.
        let mut flag = 0;
        let mut length = 0;
        let code = self.call("MPI_Info_get_valuelen", &[info, key, at(&mut length), at(&mut flag)]);
        assert!(
            code == 0 && std::hint::black_box(flag) as u32 == 1,
            "a key was set and is not there"
        );
    }

    fn get(&mut self) {
        let (info, mut key) = (self.info(), self.text());
        let key = first(&mut key);
        let room = 1 + self.input.below(1200);
        let (mut value, mut flag, mut length) = (vec![0xee_u8; room + 1], 0, room as u64);
        self.call("MPI_Info_get_valuelen", &[info, key, at(&mut length), at(&mut flag)]);
        self.call(
            "MPI_Info_get",
            &[info, key, room as u64 - 1, first(&mut value), at(&mut flag)],
        );
        assert_eq!(value[room], 0xee, "written beyond the room");
        length = room as u64;
        self.call(
            "MPI_Info_get_string",
            &[info, key, at(&mut length), first(&mut value), at(&mut flag)],
        );
        assert_eq!(value[room], 0xee, "written beyond the room");
    }

    fn keys(&mut self) {
        let info = self.info();
        let mut count = 0;
        self.call("MPI_Info_get_nkeys", &[info, at(&mut count)]);
        let mut key = [0_u8; 256];
        for n in [0, 1, std::hint::black_box(count), self.input.word()] {
            self.call("MPI_Info_get_nthkey", &[info, n, first(&mut key)]);
            assert!(key.contains(&0), "a key that does not end");
        }
    }

    fn free(&mut self, slot: usize) {
        let mut info = std::mem::replace(&mut self.infos[slot], self.null);
        if info != self.null {
            self.call("MPI_Info_free", &[at(&mut info)]);
        }
    }

    fn dup_with_info(&mut self) {
        let info = self.info();
        let mut comm = 0;
        if self.input.byte().is_multiple_of(2) {
            if self.call("MPI_Comm_dup_with_info", &[self.comm, info, at(&mut comm)]) == 0 {
                self.call("MPI_Comm_free", &[at(&mut comm)]);
            }
            return;
        }
        let mut request = 0;
        if self.call(
            "MPI_Comm_idup_with_info",
            &[self.comm, info, at(&mut comm), at(&mut request)],
        ) == 0
        {
            self.call("MPI_Wait", &[at(&mut request), self.constant("MPI_STATUS_IGNORE")]);
            self.call("MPI_Comm_free", &[at(&mut comm)]);
        }
    }

    fn split_type(&mut self) {
        let info = self.info();
        let kinds = ["SHARED", "HW_GUIDED", "HW_UNGUIDED", "RESOURCE_GUIDED"];
        let name = self.input.pick(&kinds);
        let kind = self.constant(&format!("MPI_COMM_TYPE_{name}"));
        let mut comm = 0;
        let null = self.constant("MPI_COMM_NULL");
        let code = self.call("MPI_Comm_split_type", &[self.comm, kind, 0, info, at(&mut comm)]);
        if code == 0 && std::hint::black_box(comm) != null {
            self.call("MPI_Comm_free", &[at(&mut comm)]);
        }
    }

    fn alloc_mem(&mut self) {
        let info = self.info();
        let size = u64::from(self.input.byte()) * 100;
        let mut base = 0_u64;
        if self.call("MPI_Alloc_mem", &[size, info, at(&mut base)]) == 0 {
            self.call("MPI_Free_mem", &[std::hint::black_box(base)]);
        }
    }

    fn session(&mut self, slot: usize) {
        let info = self.info();
        let returned = self.constant("MPI_ERRORS_RETURN");
        let mut session = 0;
        if self.call("MPI_Session_init", &[info, returned, at(&mut session)]) != 0 {
            return;
        }
        let session_handle = std::hint::black_box(session);
        self.make(slot, "MPI_Session_get_info", &[session_handle]);
        let mut name = self.text();
        self.make(slot, "MPI_Session_get_pset_info", &[session_handle, first(&mut name)]);
        let mut count = 0;
        self.call("MPI_Session_get_num_psets", &[session_handle, info, at(&mut count)]);
        let mut length = 8_u64;
        let mut room = [0_u8; 8];
        let nth = u64::from(self.input.byte() % 4);
        self.call(
            "MPI_Session_get_nth_pset",
            &[session_handle, info, nth, at(&mut length), first(&mut room)],
        );
        self.call("MPI_Session_finalize", &[at(&mut session)]);
    }

    fn topology(&mut self) {
        let info = self.info();
        let mut comm = 0;
        let mut zero = [0_u32; 1];
        let (ranks, weights) = (first(&mut zero), self.constant("MPI_UNWEIGHTED"));
        let arguments = [self.comm, 1, ranks, weights, 1, ranks, weights, info, 0, at(&mut comm)];
        if self.call("MPI_Dist_graph_create_adjacent", &arguments) == 0 {
            self.call("MPI_Comm_free", &[at(&mut comm)]);
        }
    }

    fn persistent(&mut self) {
        let info = self.info();
        let mut request = 0;
        let mut data = [0_u64; 2];
        let (int, sum) = (self.constant("MPI_INT"), self.constant("MPI_SUM"));
        let (from, to) = (first(&mut data), first(&mut data) + 8);
        let code = match self.input.byte() % 3 {
            0 => self.call("MPI_Barrier_init", &[self.comm, info, at(&mut request)]),
            1 => self.call(
                "MPI_Allreduce_init",
                &[from, to, 1, int, sum, self.comm, info, at(&mut request)],
            ),
            _ => self.call(
                "MPI_Psend_init",
                &[from, 1, 1, int, 0, 0, self.comm, info, at(&mut request)],
            ),
        };
        if code == 0 {
            self.call("MPI_Request_free", &[at(&mut request)]);
        }
    }

    fn create_from_group(&mut self) {
        let info = self.info();
        let (mut group, mut comm, mut tag) = (0, 0, self.text());
        if self.call("MPI_Comm_group", &[self.comm, at(&mut group)]) != 0 {
            return;
        }
        let returned = self.constant("MPI_ERRORS_RETURN");
        let given = std::hint::black_box(group);
        let arguments = [given, first(&mut tag), info, returned, at(&mut comm)];
        if self.call("MPI_Comm_create_from_group", &arguments) == 0 {
            self.call("MPI_Comm_free", &[at(&mut comm)]);
        }
        self.call("MPI_Group_free", &[at(&mut group)]);
    }

    fn release(&mut self) {
        for slot in 0..INFOS {
            self.free(slot);
        }
        let mut comm = self.comm;
        self.call("MPI_Comm_free", &[at(&mut comm)]);
    }
}

/// The address of a place.
fn at(place: &mut u64) -> u64 {
    (&raw mut *place).expose_provenance() as u64
}

/// The address of the first of some.
fn first<T>(places: &mut [T]) -> u64 {
    places.as_mut_ptr().expose_provenance() as u64
}
