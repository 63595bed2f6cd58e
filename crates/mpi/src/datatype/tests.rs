//! Datatypes by hand; random ones are in `tests/datatypes`.

use super::*;
use crate::constants::{
    DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_NONE, ORDER_C, UNDEFINED,
};
use crate::counts::{Counts, Width};

fn named(name: &str) -> Handle<Datatype> {
    let found = NAMED.iter().find(|named| named.name == name);
    Handle::from_raw(found.expect("a predefined type").raw)
}

#[test]
fn external32_of_numbers_that_are_not_turned_around_whole() {
    let pack = |name, value: &[u8]| {
        let datatype = named(name).resolve("datatype").unwrap();
        let mut out = vec![0u8; pack_external_size(c"external32", 1, datatype).unwrap() as usize];
        let (mut position, size) = (0, out.len() as i64);
        // SAFETY: `value` is one element, `out` has room for it.
        unsafe {
            let (from, to) = (value.as_ptr().cast(), out.as_mut_ptr().cast());
            pack_external(c"external32", from, 1, datatype, to, size, &mut position).map(|()| out)
        }
    };
    let complex = [1.5f64.to_le_bytes(), (-2f64).to_le_bytes()].concat();
    let turned = [1.5f64.to_be_bytes(), (-2f64).to_be_bytes()].concat();
    assert_eq!(pack("MPI_C_DOUBLE_COMPLEX", &complex).unwrap(), turned);
    // One, as the x87 has it, and what stands behind its ten bytes.
    let one = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 1, 2, 3, 4, 5, 6];
    let quad = [[0x3f, 0xff].as_slice(), &[0; 14]].concat();
    assert_eq!(pack("MPI_LONG_DOUBLE", &one).unwrap(), quad);
    assert_eq!(pack("MPI_WCHAR", &[0x34, 0x92, 0, 0]).unwrap(), [0x92, 0x34]);
    assert!(pack("MPI_WCHAR", &[0, 0xf6, 1, 0]).is_err());
    assert_eq!(
        pack("MPI_UNSIGNED_LONG", &[1, 0, 0, 0x80, 0, 0, 0, 0]).unwrap(),
        [0x80, 0, 0, 1]
    );
    assert!(pack("MPI_LONG", &[1, 0, 0, 0x80, 0, 0, 0, 0]).is_err());
    let int = named("MPI_INT").resolve("int").unwrap();
    let class = pack_external_size(c"native", 1, int).unwrap_err().code();
    assert_eq!(class, Class::UnsupportedDatarep as i32);
}

#[test]
fn fortran_kinds_are_predefined() {
    let single = type_create_f90_real(6, 30).unwrap();
    assert_eq!(type_create_f90_real(6, 30).unwrap(), single);
    let datatype = single.resolve("single").unwrap();
    assert_eq!((datatype.size(), datatype.is_committed()), (4, true));
    assert_eq!(datatype.named().unwrap().name, "MPI_REAL4");
    assert_eq!(type_get_name(single).unwrap(), "");
    assert_eq!(type_free(single).unwrap_err().code(), Class::Type as i32);
    assert_eq!(
        type_get_envelope(datatype).unwrap(),
        (2, 0, 0, 0, Combiner::F90Real as i32)
    );
    let mut integers = [0; 2];
    type_get_contents(datatype, 2, 0, 0, 0, &mut integers, &mut [], &mut [], &mut []).unwrap();
    assert_eq!(integers, [6, 30]);

    let row = type_contiguous(3, datatype, Width::Int).unwrap();
    let mut inner = [Handle::NULL];
    let datatype = row.resolve("row").unwrap();
    type_get_contents(datatype, 1, 0, 0, 1, &mut integers, &mut [], &mut [], &mut inner).unwrap();
    assert_eq!(inner, [single]);
    type_free(row).unwrap();

    let size = |handle: Result<Handle<Datatype>>| handle.unwrap().resolve("kind").unwrap().size();
    assert_eq!(size(type_create_f90_real(UNDEFINED, 38)), 8);
    assert_eq!(size(type_create_f90_real(16, UNDEFINED)), 16);
    assert_eq!(size(type_create_f90_complex(19, 400)), 32);
    assert_eq!(
        [2, 3, 9, 18, 19].map(|r| size(type_create_f90_integer(r))),
        [1, 2, 4, 8, 16]
    );
    for wrong in [
        type_create_f90_real(34, 1),
        type_create_f90_real(UNDEFINED, UNDEFINED),
        type_create_f90_complex(1, 5000),
        type_create_f90_integer(39),
    ] {
        assert_eq!(wrong.unwrap_err().code(), Class::Arg as i32);
    }
}

#[test]
fn distributions_that_make_no_sense_are_refused() {
    let int = named("MPI_INT").resolve("int").unwrap();
    let make = |size, rank, gsize: i64, distribution, argument, processes| {
        let (gsizes, distribs) = ([gsize], [distribution]);
        let (dargs, psizes) = ([argument], [processes]);
        let gsizes = Counts::Large(&gsizes);
        type_create_darray(size, rank, 1, gsizes, &distribs, &dargs, &psizes, ORDER_C, int)
    };
    let class = |made: Result<Handle<Datatype>>| made.unwrap_err().code();
    let (arg, rank) = (Class::Arg as i32, Class::Rank as i32);
    let default = DISTRIBUTE_DFLT_DARG;
    assert_eq!(class(make(2, 0, 8, DISTRIBUTE_NONE, default, 2)), arg);
    assert_eq!(class(make(3, 0, 8, DISTRIBUTE_BLOCK, default, 2)), arg);
    assert_eq!(class(make(2, 2, 8, DISTRIBUTE_BLOCK, default, 2)), rank);
    assert_eq!(class(make(2, 0, 8, DISTRIBUTE_BLOCK, 3, 2)), arg);
    assert_eq!(class(make(2, 0, 8, DISTRIBUTE_CYCLIC, 0, 2)), arg);
    assert_eq!(class(make(2, 0, 0, DISTRIBUTE_CYCLIC, 1, 2)), arg);
    assert_eq!(class(make(2, 0, 8, 99, 1, 2)), arg);
    // Blocks far longer than the array.
    let wide = make(2, 1, 1 << 61, DISTRIBUTE_CYCLIC, i32::MAX, 2);
    assert_eq!(class(wide), Class::ValueTooLarge as i32);
    let large = make(2, 1, 1 << 40, DISTRIBUTE_CYCLIC, i32::MAX, 2).unwrap();
    let datatype = large.resolve("large").unwrap();
    assert_eq!(datatype.extent(), 4 << 40);
    assert_eq!(
        type_get_envelope(datatype).unwrap(),
        (7, 0, 1, 1, Combiner::Darray as i32)
    );
    type_free(large).unwrap();
}

#[test]
fn predefined_types_are_as_the_compiler_has_them() {
    let facts = |name| {
        let datatype = named(name).resolve("datatype").unwrap();
        assert!(datatype.is_committed());
        (
            datatype.size(),
            datatype.extent(),
            datatype.true_extent(),
            datatype.is_contiguous(),
        )
    };
    assert_eq!(facts("MPI_LONG_DOUBLE"), (16, 16, 16, true));
    assert_eq!(facts("MPI_DOUBLE_INT"), (12, 16, 12, false));
    assert_eq!(facts("MPI_LONG_INT"), (12, 16, 12, false));
    assert_eq!(facts("MPI_SHORT_INT"), (6, 8, 8, false));
    assert_eq!(facts("MPI_LONG_DOUBLE_INT"), (20, 32, 20, false));
    assert_eq!(facts("MPI_2INT"), (8, 8, 8, true));
    assert_eq!(facts("MPI_COMPLEX32"), (32, 32, 32, true));
    assert_eq!(facts("MPI_COMPLEX4"), (4, 4, 4, true));
    assert_eq!(facts("MPI_WCHAR"), (4, 4, 4, true));
    assert_eq!(byte().named().unwrap().name, "MPI_BYTE");
    assert!(NAMED.windows(2).all(|pair| pair[0].raw < pair[1].raw));
    for gap in [0x200, 0x204, 0x211, 0x2bf, 0x2ea, 0x2f4] {
        assert!(Handle::<Datatype>::from_raw(gap).resolve("datatype").is_err());
    }
}

#[test]
fn markers_of_mpi_1_set_bounds() {
    let types = [named("MPI_LB"), named("MPI_INT"), named("MPI_UB")];
    let (lengths, places) = ([1, 1, 1], [-8, 0, 32]);
    let new = type_create_struct(3, Counts::Int(&lengths), Counts::Large(&places), &types).unwrap();
    let datatype = new.resolve("datatype").unwrap();
    assert_eq!(
        (
            datatype.lb(),
            datatype.extent(),
            datatype.true_extent(),
            datatype.size()
        ),
        (-8, 40, 4, 4)
    );
    type_free(new).unwrap();
}

#[test]
fn large_types_neither_overflow_nor_take_memory() {
    let double = named("MPI_DOUBLE").resolve("double").unwrap();
    let column = type_vector(1 << 40, 1, 3, double, Width::Large).unwrap();
    let datatype = column.resolve("column").unwrap();
    assert_eq!(
        (datatype.size(), datatype.extent()),
        (1 << 43, ((1 << 40) - 1) * 24 + 8)
    );
    let class = |result: Result<Handle<Datatype>>| result.unwrap_err().code();
    assert_eq!(
        class(type_contiguous(1 << 30, datatype, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(
        class(type_vector(2, 1, 1 << 60, datatype, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(
        class(type_create_hvector(3, 1, i64::MAX, double, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(
        class(type_create_resized(double, i64::MAX, 1, Width::Large)),
        Class::ValueTooLarge as i32
    );
    assert_eq!(class(type_contiguous(-1, double, Width::Int)), Class::Count as i32);
    assert_eq!(class(type_vector(1, -1, 1, double, Width::Int)), Class::Arg as i32);
    assert!(datatype.bytes(1 << 22).is_err());
    type_free(column).unwrap();
}

#[test]
fn contents_come_back() {
    let int = named("MPI_INT").resolve("int").unwrap();
    let row = type_vector(3, 2, 5, int, Width::Int).unwrap();
    let pair = type_create_struct(
        2,
        Counts::Int(&[1, 4]),
        Counts::Large(&[0, 100]),
        &[named("MPI_INT"), row],
    )
    .unwrap();
    type_free(row).unwrap();
    let pair = pair.resolve("pair").unwrap();
    assert_eq!(type_get_envelope(pair).unwrap(), (3, 2, 0, 2, Combiner::Struct as i32));
    let (mut integers, mut addresses, mut types) = ([0; 3], [0; 2], [Handle::NULL; 2]);
    type_get_contents(pair, 3, 2, 0, 2, &mut integers, &mut addresses, &mut [], &mut types).unwrap();
    assert_eq!((integers, addresses, types[0]), ([2, 1, 4], [0, 100], named("MPI_INT")));
    let row = types[1].resolve("row").unwrap();
    assert_eq!(type_get_envelope(row).unwrap(), (3, 0, 0, 1, Combiner::Vector as i32));
    type_get_contents(row, 3, 0, 0, 1, &mut integers, &mut [], &mut [], &mut types[..1]).unwrap();
    assert_eq!((integers, types[0]), ([3, 2, 5], named("MPI_INT")));
    assert!(type_get_contents(row, 2, 0, 0, 1, &mut integers[..2], &mut [], &mut [], &mut types[..1]).is_err());
    assert!(type_get_contents(int, 0, 0, 0, 0, &mut [], &mut [], &mut [], &mut []).is_err());

    let wide = type_create_hindexed(1, Counts::Large(&[7]), Counts::Large(&[-3]), int).unwrap();
    let wide = wide.resolve("wide").unwrap();
    assert_eq!(
        type_get_envelope(wide).unwrap(),
        (0, 0, 3, 1, Combiner::Hindexed as i32)
    );
    let mut large = [0; 3];
    type_get_contents(wide, 0, 0, 3, 1, &mut [], &mut [], &mut large, &mut types).unwrap();
    assert_eq!(large, [1, 7, -3]);
    for handle in [pair.handle(), row.handle(), wide.handle()] {
        type_free(handle).unwrap();
    }
}

#[test]
fn sizes_are_matched() {
    use crate::constants::{TYPECLASS_COMPLEX, TYPECLASS_INTEGER, TYPECLASS_REAL};
    assert_eq!(type_match_size(TYPECLASS_REAL, 8).unwrap(), named("MPI_REAL8"));
    assert_eq!(type_match_size(TYPECLASS_INTEGER, 2).unwrap(), named("MPI_INTEGER2"));
    assert_eq!(type_match_size(TYPECLASS_COMPLEX, 16).unwrap(), named("MPI_COMPLEX16"));
    assert!(type_match_size(TYPECLASS_REAL, 5).is_err());
    assert!(type_match_size(7, 4).is_err());
}

#[test]
fn predefined_types_cannot_be_freed_and_null_buffers_are_refused() {
    assert_eq!(type_free(named("MPI_INT")).unwrap_err().code(), Class::Type as i32);
    let int = named("MPI_INT").resolve("int").unwrap();
    let null = std::ptr::null();
    assert_eq!(
        int.check_buffer("buf", null, 1).unwrap_err().code(),
        Class::Buffer as i32
    );
    assert!(int.check_buffer("buf", null, 0).is_ok());
    let value = 7i32;
    let place = (&raw const value).addr() as i64;
    let absolute = type_create_hindexed(1, Counts::Int(&[1]), Counts::Large(&[place]), int).unwrap();
    let datatype = absolute.resolve("absolute").unwrap();
    assert!(datatype.check_buffer("buf", null, 1).is_ok());
    assert!(datatype.check_committed("datatype").is_err());
    type_commit(datatype).unwrap();
    datatype.check_committed("datatype").unwrap();
    let _exposed = (&raw const value).expose_provenance();
    let mut packed = Vec::new();
    // SAFETY: from address zero, the type lies where `value` is.
    unsafe { datatype.pack(null.cast(), 1, &mut packed) };
    assert_eq!(packed, value.to_ne_bytes());
    type_free(absolute).unwrap();
}
