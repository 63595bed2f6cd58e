//! Every C function with arguments of all kinds: what exists, what no longer does, what never did, and numbers beyond all
//! bounds. An input is a series of calls on one rank. Calls may fail; nothing may crash, hang, or touch what it should not.
//!
//! Where a call reads or writes buffers, counts, displacements and datatypes are such that a correct library stays within
//! the arenas of `memory`: a program that lies about its memory is not the library's fault. Everything else is drawn freely.

mod abi;
mod arguments;
mod function;
mod functions {
    //! Every C function, and every constant that is a number: written by `build.rs`.
    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}
mod library;
mod memory;
mod objects;
mod rules;

use std::sync::Mutex;

pub use abi::Abi;
pub use library::Library;

use crate::input::Input;
use arguments::Arguments;
use functions::FUNCTIONS;
use memory::Memory;
use objects::Objects;

/// No input makes more calls.
const MOST_CALLS: usize = 48;

/// One input, on the standard ABI.
pub fn standard(data: &[u8]) {
    run(Abi::Standard, data);
}

/// One input, on the MPICH ABI.
pub fn mpich(data: &[u8]) {
    run(Abi::Mpich, data);
}

fn run(abi: Abi, data: &[u8]) {
    /// Later inputs find the memory that operations of earlier ones may still name.
    static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);
    let mut memory = MEMORY.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let memory = memory.get_or_insert_with(Memory::new);
    memory.begin();
    let library = Library::initialized(abi);
    let mut objects = Objects::new(library);
    let mut input = Input::new(data);
    for _ in 0..MOST_CALLS {
        if input.is_empty() {
            break;
        }
        let function = &FUNCTIONS[input.below(FUNCTIONS.len())];
        if rules::excluded(function.name).is_some() {
            continue;
        }
        if rules::waits_for_everything(function.name) {
            objects.settle();
        }
        let mut arguments = Arguments::draw(function, &mut input, &objects, memory);
        if rules::waits_for_requests(function.name) {
            arguments.keep_only_complete(library);
        }
        if std::env::var_os("ISTHMUS_FUZZ_SHOW").is_some() {
            eprintln!("{}{arguments:?}", function.name);
        }
        let code = library.call(function, &arguments.values);
        arguments.learn(code, &mut objects);
    }
    objects.release();
}
