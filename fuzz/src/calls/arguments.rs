//! Drawing arguments for a call.

use std::ffi::{c_int, c_void};
use std::fmt;

use super::function::{Direction, Function, Length, Parameter, Shape};
use super::library::Library;
use super::memory::Memory;
use super::objects::{KINDS, Objects};
use super::rules;
use crate::input::Input;

/// The arguments of one call.
pub struct Arguments {
    function: &'static Function,
    /// As they are passed.
    pub values: Vec<u64>,
    /// Handles that the call may change.
    outputs: Vec<Output>,
}

/// A handle, or a number that names something, that a call may change.
struct Output {
    kind: &'static str,
    at: *const u8,
    bytes: usize,
    before: u64,
}

/// How many entries of an array are drawn, and how many there are at least.
const DRAWN: usize = 40;
/// As many as lengths that a call implies get: no more nodes than fit their list of neighbours.
const IMPLIED: usize = 2048;
/// Room for strings.
const TEXT: usize = 16 << 10;

impl Arguments {
    /// Choose.
    pub fn draw(function: &'static Function, input: &mut Input<'_>, objects: &Objects, memory: &mut Memory) -> Self {
        let mut new = Self {
            function,
            values: Vec::with_capacity(function.parameters.len()),
            outputs: Vec::new(),
        };
        let mut draw = Draw {
            with_buffers: with_buffers(function),
            function,
            input,
            objects,
            memory,
            outputs: &mut new.outputs,
        };
        new.values
            .extend(function.parameters.iter().map(|one| draw.argument(one)));
        new
    }

    /// Leave no request in it that is not complete.
    pub fn keep_only_complete(&mut self, library: Library) {
        let null = library.abi.constant("MPI_REQUEST_NULL").cast_unsigned();
        let mut flag_and_status = [0_u64; 8];
        let flag = (&raw mut flag_and_status).addr() as u64;
        let mut seen = Vec::new();
        for output in &mut self.outputs {
            if output.kind != "REQUEST" {
                continue;
            }
            let code = library.by_name("MPI_Request_get_status", &[output.before, flag, flag + 16]);
            let complete = std::hint::black_box(&flag_and_status)[0] as u32 != 0;
            // Once only: the second of the same request would wait for what is gone.
            if (code == 0 && !complete) || seen.contains(&output.before) {
                output.write(null);
            }
            seen.push(output.before);
        }
    }

    /// Note what the call has made and freed.
    pub fn learn(&self, code: i32, objects: &mut Objects) {
        for output in &self.outputs {
            let now = output.read();
            if now == output.before {
                continue;
            }
            if output.kind == "C_BUFFER" {
                if code == 0 && self.function.name == "MPI_Alloc_mem" {
                    objects.allocated.push(now);
                }
                continue;
            }
            objects.remove(output.kind, output.before);
            if now != 0 {
                objects.add(output.kind, now);
            }
        }
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_map();
        for (parameter, value) in self.function.parameters.iter().zip(&self.values) {
            list.entry(&format_args!("{}", parameter.name), &format_args!("{value:#x}"));
        }
        for output in &self.outputs {
            list.entry(&format_args!("*{}", output.kind), &format_args!("{:#x}", output.before));
        }
        list.finish()
    }
}

impl Output {
    fn read(&self) -> u64 {
        // SAFETY: `Memory` keeps it.
        unsafe {
            match self.bytes {
                4 => u64::from(self.at.cast::<u32>().read_unaligned()),
                _ => self.at.cast::<u64>().read_unaligned(),
            }
        }
    }

    fn write(&mut self, value: u64) {
        self.before = value;
        // SAFETY: `Memory` keeps it.
        unsafe {
            match self.bytes {
                4 => self.at.cast_mut().cast::<u32>().write_unaligned(value as u32),
                _ => self.at.cast_mut().cast::<u64>().write_unaligned(value),
            }
        }
    }
}

/// Does it look at memory by counts and datatypes?
fn with_buffers(function: &Function) -> bool {
    function.parameters.iter().any(|one| one.kind == "BUFFER")
}

struct Draw<'a, 'b> {
    function: &'static Function,
    with_buffers: bool,
    input: &'a mut Input<'b>,
    objects: &'a Objects,
    memory: &'a mut Memory,
    outputs: &'a mut Vec<Output>,
}

impl Draw<'_, '_> {
    fn argument(&mut self, parameter: &'static Parameter) -> u64 {
        match parameter.kind {
            "BUFFER" => return self.buffer(parameter),
            "STRING" | "STRING_ARRAY" | "STRING_2DARRAY" | "ARGUMENT_LIST" => return self.text(parameter),
            "STATUS" | "F08_STATUS" | "F90_STATUS" => return self.status(),
            "EXTRA_STATE" | "EXTRA_STATE2" | "TOOL_MPI_OBJ" if parameter.direction == Direction::In => {
                return self.input.word();
            }
            "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" if parameter.direction == Direction::In => return self.input.word(),
            function if function.ends_with("_function") || function.ends_with("_FUNCTION") => {
                return self.callback(function);
            }
            _ => {}
        }
        match parameter.shape {
            Shape::Value => self.value(parameter),
            // A null pointer, now and then.
            _ if self.input.byte() == 255 => 0,
            // Instead of weights there may be constants.
            _ if parameter.kind == "WEIGHT" && self.input.byte().is_multiple_of(3) => self.input.pick(&[10, 11]),
            Shape::Output => self.output(parameter, 1, 1),
            Shape::Array(Length::Of(_)) => self.output(parameter, DRAWN, 3 * DRAWN),
            Shape::Array(Length::Implied) => self.output(parameter, DRAWN, IMPLIED),
        }
    }

    /// The address of values.
    fn output(&mut self, parameter: &'static Parameter, drawn: usize, room: usize) -> u64 {
        let bytes = match parameter.bytes {
            0 => self.objects.library.abi.handle_bytes(),
            bytes => bytes,
        };
        // Some kinds have no size of their own: attributes, truth values.
        let (address, _) = self.memory.argument((room * bytes).max(64));
        let names_something = KINDS.iter().any(|(kind, _)| *kind == parameter.kind) || parameter.kind == "C_BUFFER";
        // Of long arrays few entries matter: the last that was chosen goes on.
        let chosen = if drawn == 1 { 1 } else { 1 + self.input.below(6) };
        let mut value = 0;
        for index in 0..drawn {
            if parameter.direction != Direction::Out && index < chosen {
                value = self.value(parameter);
            }
            let at = std::ptr::with_exposed_provenance_mut::<u8>(address as usize + index * bytes);
            let mut output = Output {
                kind: parameter.kind,
                at,
                bytes,
                before: value,
            };
            match bytes {
                4 | 8 => output.write(value),
                _ => continue,
            }
            if bytes == 4 {
                output.before = u64::from(value as u32);
            }
            if names_something && (parameter.direction != Direction::In || parameter.kind == "REQUEST") {
                self.outputs.push(output);
            }
        }
        address
    }

    /// A value.
    fn value(&mut self, parameter: &'static Parameter) -> u64 {
        if KINDS.iter().any(|(kind, _)| *kind == parameter.kind) {
            return self.named(parameter);
        }
        match parameter.kind {
            "RANK" | "RANK_NNI" => self.rank(),
            "TAG" => self.tag(),
            _ => self.number(parameter).cast_unsigned(),
        }
    }

    /// A handle, or a number that names something.
    fn named(&mut self, parameter: &'static Parameter) -> u64 {
        let value = self.any_named(parameter);
        let abi = self.objects.library.abi;
        let refused = match parameter.kind {
            "DATATYPE" => self.with_buffers && !self.objects.is_near(value),
            // They end the process.
            "ERRHANDLER" => ["MPI_ERRORS_ARE_FATAL", "MPI_ERRORS_ABORT"]
                .iter()
                .any(|name| abi.constant(name) as u32 == value as u32),
            // There would be nothing left to call with.
            "COMMUNICATOR" => self.function.name == "MPIX_Comm_revoke" && value < 0x200 || value as u32 >> 30 != 0,
            _ => false,
        };
        if refused && !(parameter.kind == "COMMUNICATOR" && self.function.name != "MPIX_Comm_revoke") {
            return 0;
        }
        value
    }

    fn any_named(&mut self, parameter: &'static Parameter) -> u64 {
        let abi = self.objects.library.abi;
        let kind = parameter.kind;
        let set = KINDS.iter().find(|(one, _)| *one == kind).map_or("", |(_, set)| *set);
        match self.input.byte() {
            // The newest.
            0..100 => self.objects.live(kind).last().copied().unwrap_or(0),
            100..225 => match self.objects.live(kind) {
                [] => 0,
                live => live[self.input.below(live.len())],
            },
            225..235 => match self.objects.stale(kind) {
                [] => 0x2c00_0001,
                stale => stale[self.input.below(stale.len())],
            },
            235..243 => {
                let null = abi.set(set).find(|(name, _)| name.ends_with("_NULL"));
                null.map_or(0, |(_, value)| value.cast_unsigned())
            }
            // Of another kind.
            243..250 => {
                let (other, _) = KINDS[self.input.below(KINDS.len())];
                match self.objects.live(other) {
                    [] => u64::MAX,
                    live => live[self.input.below(live.len())],
                }
            }
            _ => self.input.word(),
        }
    }

    fn rank(&mut self) -> u64 {
        let abi = self.objects.library.abi;
        let constant = |name| abi.constant(name);
        let none = [
            constant("MPI_PROC_NULL"),
            1,
            7,
            -77,
            i64::from(i32::MIN),
            i64::from(i32::MAX),
        ];
        let rank = if rules::waits_for_a_message(self.function.name) {
            self.input.pick(&[
                none[0], none[0], none[0], none[0], none[1], none[2], none[3], none[4], none[5],
            ])
        } else {
            match self.input.byte() {
                0..160 => 0,
                160..200 => constant("MPI_ANY_SOURCE"),
                200..220 => constant("MPI_ROOT"),
                _ => self.input.pick(&none),
            }
        };
        rank.cast_unsigned()
    }

    fn tag(&mut self) -> u64 {
        let any = self.objects.library.abi.constant("MPI_ANY_TAG");
        let tag = match self.input.byte() {
            0..100 => 0,
            100..160 => i64::from(self.input.byte() % 3),
            160..220 => any,
            _ => self.input.pick(&[
                -77,
                i64::from(i32::MIN),
                i64::from(i32::MAX),
                i64::from(i32::MAX) - 1,
                1 << 29,
            ]),
        };
        tag.cast_unsigned()
    }

    /// An integer. Positive ones stay small where memory depends on them, and so do displacements to the other side: a
    /// negative count is refused, they are not.
    fn number(&mut self, parameter: &'static Parameter) -> i64 {
        let limited = self.is_limited(parameter);
        let small = match parameter.kind {
            "DEGREE" | "WEIGHT" => 5,
            _ if self.function.name.contains("graph") || self.function.name.contains("Graph") => 5,
            _ => 17,
        };
        let number = match self.input.byte() {
            byte @ 0..180 => i64::from(byte) % small,
            byte @ 180..200 => -i64::from(byte % 17) - 1,
            200..225 => self.constant(parameter),
            225..245 => self.input.pick(&[
                -1,
                i64::from(i32::MIN),
                i64::MIN,
                i64::from(i32::MIN) - 1,
                i64::from(i32::MAX),
                i64::from(i32::MAX) + 1,
                1 << 32,
                i64::MAX,
                i64::MAX - 1,
                4096,
                65536,
            ]),
            _ => self.input.word().cast_signed() >> (self.input.byte() % 64),
        };
        // As it is passed.
        let number = if parameter.bytes == 4 {
            i64::from(number as i32)
        } else {
            number
        };
        let reaches = number > 2 * small || number < -2 * small && parameter.kind.contains("DISPLACEMENT");
        if limited && reaches { number % small } else { number }
    }

    /// A constant of the parameter's set, if it has one.
    fn constant(&mut self, parameter: &Parameter) -> i64 {
        let set = parameter.kind.to_lowercase();
        let set = match set.as_str() {
            "distrib_enum" => "distribution",
            "dtype_distribution" => "distribution_argument",
            "color" => "undefined",
            "index" => "undefined",
            other => other,
        };
        let values: Vec<i64> = self.objects.library.abi.set(set).map(|(_, value)| value).collect();
        match values.as_slice() {
            [] => 1,
            values => self.input.pick(values),
        }
    }

    /// Does a size of memory depend on it? Positions are looked at before they are used.
    fn is_limited(&self, parameter: &Parameter) -> bool {
        let parameters = self.function.parameters;
        let is_length = parameters
            .iter()
            .any(|one| one.shape == Shape::Array(Length::Of(parameter.name)));
        let implied = parameters.iter().any(|one| one.shape == Shape::Array(Length::Implied));
        let of_text = ["STRING_LENGTH", "INFO_VALUE_LENGTH"].contains(&parameter.kind);
        parameter.name != "position" && (is_length || implied || of_text || self.with_buffers)
    }

    fn buffer(&mut self, parameter: &'static Parameter) -> u64 {
        let name = self.function.name;
        if name == "MPI_Free_mem" {
            return match self.objects.allocated.as_slice() {
                [] => self.input.word(),
                allocated => allocated[self.input.below(allocated.len())],
            };
        }
        if name.contains("ttach") {
            // What the library keeps there is its own.
            let automatic = self
                .objects
                .library
                .abi
                .constant("MPI_BUFFER_AUTOMATIC")
                .cast_unsigned();
            let (address, _) = self.memory.argument(8 << 10);
            return if self.input.byte().is_multiple_of(4) {
                automatic
            } else {
                address
            };
        }
        // Of pointers to pointers.
        if parameter.direction == Direction::Out && parameter.shape == Shape::Value {
            return self.memory.argument(64).0;
        }
        let in_place = self.objects.library.abi.constant("MPI_IN_PLACE").cast_unsigned();
        match self.input.byte() {
            255 | 0x77 | 0x33 if !name.starts_with("MPI_T_") => in_place,
            byte => self
                .memory
                .buffer(parameter.direction == Direction::In, 8 * usize::from(byte)),
        }
    }

    fn text(&mut self, parameter: &'static Parameter) -> u64 {
        let choice = self.input.byte();
        if choice == 255 {
            return 0;
        }
        if parameter.kind != "STRING" {
            // Lists of strings, which end with a null pointer.
            return self.memory.argument(64 * 8).0;
        }
        let (address, room) = self.memory.argument(TEXT);
        if parameter.direction != Direction::Out {
            let text = match choice {
                0..60 => &[][..],
                60..120 => self.input.pick(crate::info::WORDS).as_bytes(),
                120..140 => &[b'x'; 300],
                _ => self.input.bytes(64),
            };
            room[..text.len()].copy_from_slice(text);
        }
        address
    }

    fn status(&mut self) -> u64 {
        let abi = self.objects.library.abi;
        let choice = self.input.byte();
        let (address, room) = self.memory.argument(DRAWN * 32);
        match choice {
            0..10 => return abi.constant("MPI_STATUS_IGNORE").cast_unsigned(),
            10..15 => return 0,
            15..80 => {
                for byte in &mut room[..32] {
                    *byte = self.input.byte();
                }
            }
            _ => {}
        }
        address
    }

    fn callback(&mut self, kind: &str) -> u64 {
        // None, where that means something, or is an error.
        if self.input.byte().is_multiple_of(4) {
            return 0;
        }
        let address = if kind.contains("opy") {
            copy_attribute as *const ()
        } else {
            nothing as *const ()
        };
        address.addr() as u64
    }
}

/// Serves as an operation, an error handler, and whatever else looks at nothing.
extern "C" fn nothing() -> c_int {
    0
}

/// Copies attributes of odd keys.
unsafe extern "C" fn copy_attribute(
    _object: *mut c_void,
    keyval: c_int,
    _state: *mut c_void,
    value: *mut c_void,
    copy: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the library gives outputs for both.
    unsafe {
        copy.write(value);
        flag.write(keyval & 1);
    }
    0
}
