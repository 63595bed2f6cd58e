//! Packed data, native and external32, of any bytes, sizes and positions, for random datatypes.
//!
//! Buffers are exactly as long as the calls say, so that a sanitizer sees a step too far.

use crate::calls::{Abi, Library};
use crate::input::Input;

/// Nothing is longer than this.
const MOST: i64 = 1 << 16;

/// One input: a datatype, then calls with it.
pub fn feed(data: &[u8]) {
    let library = Library::initialized(Abi::Standard);
    let comm = library.abi.constant("MPI_COMM_SELF").cast_unsigned();
    let returned = library.abi.constant("MPI_ERRORS_RETURN").cast_unsigned();
    library.by_name("MPI_Comm_set_errhandler", &[comm, returned]);
    library.by_name(
        "MPI_Comm_set_errhandler",
        &[library.abi.constant("MPI_COMM_WORLD").cast_unsigned(), returned],
    );
    let mut input = Input::new(data);
    let mut types = Types {
        library,
        made: Vec::new(),
    };
    let datatype = types.draw(&mut input, 4);
    let mut handle = datatype;
    if library.by_name("MPI_Type_commit", &[at(&mut handle)]) == 0
        && let Some(shape) = types.shape(datatype)
    {
        while !input.is_empty() {
            step(library, comm, datatype, &shape, &mut input);
        }
    }
    types.free();
}

/// Where the bytes of a datatype lie.
struct Shape {
    size: i64,
    extent: i64,
    true_lb: i64,
    true_extent: i64,
}

impl Shape {
    /// The first byte of `count` elements and the one behind the last, from where they begin.
    fn span(&self, count: i64) -> (i64, i64) {
        if count == 0 || self.size == 0 {
            return (0, 0);
        }
        let last = (count - 1) * self.extent;
        (
            self.true_lb + last.min(0),
            self.true_lb + self.true_extent + last.max(0),
        )
    }
}

fn step(library: Library, comm: u64, datatype: u64, shape: &Shape, input: &mut Input<'_>) {
    let what = input.byte();
    let count = i64::from(input.byte() % 5);
    let (low, high) = shape.span(count);
    let mut user = vec![0xa5_u8; usize::try_from(high - low).expect("spans go up")];
    // The address of the first element, which may lie outside.
    let user_at = (first(&mut user) as i64 - low).cast_unsigned();
    // Elements that are claimed: mostly those there is room for, or too few, or too many to be true.
    let claimed = match input.byte() {
        0..230 => count,
        230..240 => count.min(1),
        240..248 => -i64::from(input.byte()),
        // Without any bytes any number fits.
        _ if shape.size == 0 => i64::from(input.byte()) << (input.byte() % 40),
        _ => count,
    };
    let mut packed = match input.byte() {
        0..128 => input.bytes(255).to_vec(),
        _ => vec![input.byte(); (shape.size * count + i64::from(input.byte() % 9)) as usize],
    };
    let size = packed.len() as i64;
    let start = match input.byte() {
        0..150 => 0,
        150..200 => size - i64::from(input.byte() % 9),
        200..230 => i64::from(input.byte()),
        _ => input.word().cast_signed(),
    };
    let said = match input.byte() {
        0..220 => size,
        220..240 => size / 2,
        _ => -i64::from(input.byte()),
    };
    let large = what & 0x80 != 0;
    let mut position = if large { start } else { i64::from(start as i32) };
    let before = position;
    let external = what & 0x40 != 0;
    let mut datarep = match input.byte() {
        0..230 => b"external32\0".to_vec(),
        230..240 => b"native\0".to_vec(),
        _ => [input.bytes(20), &[0]].concat(),
    };
    let datarep = first(&mut datarep);
    // Plain `MPI_Pack` and `MPI_Unpack` have positions of 32 bits; the upper half stays 0 or is not looked at.
    let place = (&raw mut position).expose_provenance() as u64;
    let pack_at = first(&mut packed);
    let [said, claimed] = [said, claimed].map(i64::cast_unsigned);
    let code = match (what % 3, external, large) {
        (0, true, true) => library.by_name(
            "MPI_Unpack_external_c",
            &[datarep, pack_at, said, place, user_at, claimed, datatype],
        ),
        (0, true, false) => library.by_name(
            "MPI_Unpack_external",
            &[datarep, pack_at, said, place, user_at, claimed, datatype],
        ),
        (0, false, true) => library.by_name(
            "MPI_Unpack_c",
            &[pack_at, said, place, user_at, claimed, datatype, comm],
        ),
        (0, false, false) => library.by_name("MPI_Unpack", &[pack_at, said, place, user_at, claimed, datatype, comm]),
        (1, true, true) => library.by_name(
            "MPI_Pack_external_c",
            &[datarep, user_at, claimed, datatype, pack_at, said, place],
        ),
        (1, true, false) => library.by_name(
            "MPI_Pack_external",
            &[datarep, user_at, claimed, datatype, pack_at, said, place],
        ),
        (1, false, true) => library.by_name("MPI_Pack_c", &[user_at, claimed, datatype, pack_at, said, place, comm]),
        (1, false, false) => library.by_name("MPI_Pack", &[user_at, claimed, datatype, pack_at, said, place, comm]),
        (_, true, _) => library.by_name("MPI_Pack_external_size_c", &[datarep, claimed, datatype, place]),
        (_, false, _) => library.by_name("MPI_Pack_size_c", &[claimed, datatype, comm, place]),
    };
    let after = std::hint::black_box(position);
    if code == 0 && what % 3 < 2 {
        let (before, after) = match external || large {
            true => (before, after),
            false => (i64::from(before as i32), i64::from(after as i32)),
        };
        assert!(
            before >= 0 && after >= before && after <= said.cast_signed(),
            "from {before} to {after} of {}",
            said.cast_signed()
        );
    }
}

/// Datatypes that an input makes.
struct Types {
    library: Library,
    made: Vec<u64>,
}

impl Types {
    /// A datatype, nested at most `depth` times; `MPI_BYTE` in place of those that cannot be.
    fn draw(&mut self, input: &mut Input<'_>, depth: usize) -> u64 {
        let basic: Vec<u64> = self
            .library
            .abi
            .set("datatype")
            .filter(|(name, _)| *name != "MPI_DATATYPE_NULL")
            .map(|(_, value)| value.cast_unsigned())
            .collect();
        if depth == 0 || input.byte() < 100 {
            return input.pick(&basic);
        }
        let byte = self.library.abi.constant("MPI_BYTE").cast_unsigned();
        let old = self.draw(input, depth - 1);
        let small = |input: &mut Input<'_>| u64::from(input.byte() % 5);
        let far = |input: &mut Input<'_>| i64::from(input.byte().cast_signed()).cast_unsigned();
        let mut new = 0_u64;
        let mut numbers: [i64; 4] = std::array::from_fn(|_| i64::from(input.byte() % 4));
        let mut displacements: [i64; 4] = std::array::from_fn(|_| i64::from(input.byte().cast_signed()));
        let code = match input.byte() % 9 {
            0 => self
                .library
                .by_name("MPI_Type_contiguous", &[small(input), old, at(&mut new)]),
            1 => {
                let arguments = [small(input), small(input), far(input), old, at(&mut new)];
                self.library.by_name("MPI_Type_vector_c", &arguments)
            }
            2 => {
                let arguments = [small(input), small(input), far(input), old, at(&mut new)];
                self.library.by_name("MPI_Type_create_hvector_c", &arguments)
            }
            3 => {
                let arguments = [4, first(&mut numbers), first(&mut displacements), old, at(&mut new)];
                self.library.by_name("MPI_Type_indexed_c", &arguments)
            }
            4 => {
                let arguments = [4, small(input), first(&mut displacements), old, at(&mut new)];
                self.library.by_name("MPI_Type_create_hindexed_block_c", &arguments)
            }
            5 => {
                let mut types = [old, self.draw(input, depth - 1), input.pick(&basic), old];
                let arguments = [
                    4,
                    first(&mut numbers),
                    first(&mut displacements),
                    first(&mut types),
                    at(&mut new),
                ];
                self.library.by_name("MPI_Type_create_struct_c", &arguments)
            }
            6 => self
                .library
                .by_name("MPI_Type_create_resized", &[old, far(input), far(input), at(&mut new)]),
            7 => {
                let mut sizes = numbers.map(|number| number + 1);
                let mut starts = displacements.map(|number| number & 1);
                let mut parts = numbers.map(|number| number.max(1));
                let order = self.library.abi.constant("MPI_ORDER_C").cast_unsigned() + u64::from(input.byte() % 2);
                let arrays = [first(&mut sizes), first(&mut parts), first(&mut starts)];
                let arguments = [
                    1 + u64::from(input.byte() % 4),
                    arrays[0],
                    arrays[1],
                    arrays[2],
                    order,
                    old,
                    at(&mut new),
                ];
                self.library.by_name("MPI_Type_create_subarray_c", &arguments)
            }
            _ => self.library.by_name("MPI_Type_dup", &[old, at(&mut new)]),
        };
        if code != 0 {
            return byte;
        }
        let new = std::hint::black_box(new);
        self.made.push(new);
        new
    }

    /// Where its bytes lie; nothing if too far.
    fn shape(&self, datatype: u64) -> Option<Shape> {
        let mut numbers = [0_i64; 5];
        let base = first(&mut numbers);
        let codes = [
            self.library.by_name("MPI_Type_size_c", &[datatype, base]),
            self.library
                .by_name("MPI_Type_get_extent_c", &[datatype, base + 8, base + 16]),
            self.library
                .by_name("MPI_Type_get_true_extent_c", &[datatype, base + 24, base + 32]),
        ];
        let numbers = *std::hint::black_box(&numbers);
        let [size, _, extent, true_lb, true_extent] = numbers;
        let near = numbers.iter().all(|number| number.abs() <= MOST) && true_extent >= 0;
        (codes == [0; 3] && near).then_some(Shape {
            size,
            extent,
            true_lb,
            true_extent,
        })
    }

    fn free(self) {
        for datatype in self.made {
            let mut datatype = datatype;
            self.library.by_name("MPI_Type_free", &[at(&mut datatype)]);
        }
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
