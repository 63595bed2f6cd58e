//! Named constants, with the standard ABI's values (MPI-5.0 §20.3.1). The ABI layer translates those that another
//! ABI spells differently.

use std::ffi::c_void;

/// Receive from any rank.
pub const ANY_SOURCE: i32 = -1;
/// Receive with any tag.
pub const ANY_TAG: i32 = -2;
/// The rank of nobody.
pub const PROC_NULL: i32 = -3;
/// The root's own root argument, on intercommunicators.
pub const ROOT: i32 = -4;
/// No rank, no colour, no number.
pub const UNDEFINED: i32 = -32766;

/// The largest tag that users may give; larger ones are the library's own.
pub const TAG_UB: i32 = 0x3fff_ffff;

/// Address zero.
pub const BOTTOM: *mut c_void = std::ptr::null_mut();
/// The other buffer is this one.
pub const IN_PLACE: *mut c_void = std::ptr::without_provenance_mut(1);
/// The library finds buffer space for buffered sends.
pub const BUFFER_AUTOMATIC: *mut c_void = std::ptr::without_provenance_mut(2);

/// Only one thread exists.
pub const THREAD_SINGLE: i32 = 0;
/// Only the main thread calls MPI.
pub const THREAD_FUNNELED: i32 = 1024;
/// Threads call MPI one at a time.
pub const THREAD_SERIALIZED: i32 = 2048;
/// Threads call MPI as they like.
pub const THREAD_MULTIPLE: i32 = 4096;

/// The same object.
pub const IDENT: i32 = 201;
/// Same members, same order, another context.
pub const CONGRUENT: i32 = 202;
/// Same members, another order.
pub const SIMILAR: i32 = 203;
/// Different members.
pub const UNEQUAL: i32 = 204;

/// Split by shared memory.
pub const COMM_TYPE_SHARED: i32 = 221;
/// Split by the next smaller piece of hardware.
pub const COMM_TYPE_HW_UNGUIDED: i32 = 222;
/// Split by the kind of hardware that the info names.
pub const COMM_TYPE_HW_GUIDED: i32 = 223;
/// Split by the kind of hardware or the process set that the info names.
pub const COMM_TYPE_RESOURCE_GUIDED: i32 = 224;

/// A Cartesian topology.
pub const CART: i32 = 211;
/// A graph topology.
pub const GRAPH: i32 = 212;
/// A distributed graph topology.
pub const DIST_GRAPH: i32 = 213;

/// Arrays whose last dimension is the fastest.
pub const ORDER_C: i32 = 12;
/// Arrays whose first dimension is the fastest.
pub const ORDER_FORTRAN: i32 = 15;

/// A dimension that is not distributed.
pub const DISTRIBUTE_NONE: i32 = 16;
/// One block for each process.
pub const DISTRIBUTE_BLOCK: i32 = 17;
/// Blocks in turn.
pub const DISTRIBUTE_CYCLIC: i32 = 18;
/// The usual block length. The standard ABI has no way to ask for blocks of so many elements.
pub const DISTRIBUTE_DFLT_DARG: i32 = 19;
/// Blocks of as many elements as [`DISTRIBUTE_DFLT_DARG`]'s value says, from an ABI where it is another one.
pub const DISTRIBUTE_DFLT_DARG_LITERALLY: i32 = -DISTRIBUTE_DFLT_DARG;

/// Fortran types to match by size: integers.
pub const TYPECLASS_INTEGER: i32 = 192;
/// Reals.
pub const TYPECLASS_REAL: i32 = 193;
/// Complex numbers.
pub const TYPECLASS_COMPLEX: i32 = 194;

/// No attribute key.
pub const KEYVAL_INVALID: i32 = 0;

/// The program sees to it that a lock, or a post, is there.
pub const MODE_NOCHECK: i32 = 1024;
/// A fence that ends nothing.
pub const MODE_NOPRECEDE: i32 = 2048;
/// Nothing will be put into the calling process's memory.
pub const MODE_NOPUT: i32 = 4096;
/// The calling process has not stored to its memory.
pub const MODE_NOSTORE: i32 = 8192;
/// A fence that begins nothing.
pub const MODE_NOSUCCEED: i32 = 16384;
/// A lock for one process.
pub const LOCK_EXCLUSIVE: i32 = 301;
/// A lock for several processes.
pub const LOCK_SHARED: i32 = 302;

/// From the start of the file.
pub const SEEK_SET: i32 = 403;
/// From where the pointer is.
pub const SEEK_CUR: i32 = 401;
/// From the end of the file.
pub const SEEK_END: i32 = 402;
/// A view begins where the shared pointer is: in the standard ABI, and in the MPICH ABI, where no displacement is negative either.
pub const DISPLACEMENT_CURRENT: [i64; 2] = [-1, -54_278_278];

/// Longest object name, with its terminator.
pub const MAX_OBJECT_NAME: usize = 128;
/// Longest info key, with its terminator.
pub const MAX_INFO_KEY: usize = 256;
/// Longest info value, with its terminator.
pub const MAX_INFO_VAL: usize = 1024;
/// Longest error string, with its terminator.
pub const MAX_ERROR_STRING: usize = 512;
/// Longest processor name, with its terminator.
pub const MAX_PROCESSOR_NAME: usize = 256;
/// Longest string tag, with its terminator.
pub const MAX_STRINGTAG_LEN: usize = 1024;

/// The largest error code that users did not add.
pub const ERR_LASTCODE: i32 = 0x3fff;

/// MPI version and subversion.
pub const VERSION: (i32, i32) = (5, 0);
/// Version of the standard ABI.
pub const ABI_VERSION: (i32, i32) = (1, 0);
