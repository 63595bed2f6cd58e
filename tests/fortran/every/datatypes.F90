! Constructors of datatypes: each is sent, and the elements that arrive are those that it selects.
#include "form.h"
subroutine datatypes
  use form
  implicit none
  DATATYPE :: t, pair, types(2)
  integer(nk) :: places(3), lengths(3), wide(3), sizes(2), subs(2), starts(2)
  integer :: i
  integer(xk) :: bytes
  ! Displacements in bytes: addresses, or large counts.
#if defined(LARGE)
  integer(xk) :: far(3), stride
#else
  integer(ak) :: far(3), stride
#endif
  family = 'datatypes'
  places = [1, 4, 9]
  lengths = [1, 2, 1]
  far = 4 * places
  wide = 2
  call MPI_Type_contiguous(3_nk, MPI_INTEGER, t, ierr); OK
  call selects([1, 2, 3])
  call MPI_Type_vector(2_nk, 2_nk, 5_nk, MPI_INTEGER, t, ierr); OK
  call selects([1, 2, 6, 7])
  stride = 12
  call MPI_Type_create_hvector(3_nk, 1_nk, stride, MPI_INTEGER, t, ierr); OK
  call selects([1, 4, 7])
  call MPI_Type_indexed(3_nk, lengths, places, MPI_INTEGER, t, ierr); OK
  call selects([2, 5, 6, 10])
  call MPI_Type_create_hindexed(3_nk, lengths, far, MPI_INTEGER, t, ierr); OK
  call selects([2, 5, 6, 10])
  call MPI_Type_create_indexed_block(2_nk, 2_nk, places, MPI_INTEGER, t, ierr); OK
  call selects([2, 3, 5, 6])
  call MPI_Type_create_hindexed_block(2_nk, 2_nk, far, MPI_INTEGER, t, ierr); OK
  call selects([2, 3, 5, 6])
  call MPI_Type_contiguous(2_nk, MPI_INTEGER, pair, ierr); OK
  types(1) = MPI_INTEGER
  types(2) = pair
  call MPI_Type_create_struct(2_nk, lengths, far, types, t, ierr); OK
  call selects([2, 5, 6, 7, 8])
  stride = 16
  far(1) = 4
  call MPI_Type_create_resized(pair, far(1), stride, types(1), ierr); OK
  call MPI_Type_contiguous(2_nk, types(1), t, ierr); OK
  call MPI_Type_free(types(1), ierr); OK
  call selects([1, 2, 5, 6])
  call MPI_Type_dup(pair, t, ierr); OK
  call selects([1, 2])
  call MPI_Type_free(pair, ierr); OK
  sizes = [4, 5]
  subs = [2, 2]
  starts = [1, 2]
  call MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_FORTRAN, MPI_INTEGER, t, ierr); OK
  call selects([10, 11, 14, 15])
  call MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_INTEGER, t, ierr); OK
  call selects([8, 9, 13, 14])
  ! The second of two processes, which deal eight elements cyclically, two at a time.
  sizes = 8
  call MPI_Type_create_darray(2, 1, 1, sizes(1:1), [MPI_DISTRIBUTE_CYCLIC], [2], [2], MPI_ORDER_FORTRAN, MPI_INTEGER, t, ierr); OK
  call selects([3, 4, 7, 8])
  call MPI_Type_create_f90_integer(9, t, ierr); OK
  call is_of(4)
  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, t, ierr); OK
  call is_of(8)
  call MPI_Type_create_f90_complex(6, 30, t, ierr); OK
  call is_of(8)
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, t, ierr); OK
  call is_of(8)
#if !defined(OLD)
  call MPI_Type_get_value_index(MPI_DOUBLE_PRECISION, MPI_INTEGER, t, ierr); OK
  call MPI_Type_get_value_index(MPI_REAL, MPI_INTEGER, t, ierr); OK
  call MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, t, ierr); OK
  CHECK(t == MPI_2INTEGER)
#endif
contains
  subroutine selects(elements)
    integer, intent(in) :: elements(:)
    integer :: a(20), b(20), n
    STATUS(s)
    integer(nk) :: count
    call MPI_Type_commit(t, ierr); OK
    n = size(elements)
    a = [(100 * rank + i, i = 1, 20)]
    b = -1
    call MPI_Sendrecv(a, 1_nk, t, next, 1, b, 20_nk, MPI_INTEGER, last, 1, MPI_COMM_WORLD, s, ierr); OK
    CHECK(all(b(:n) == 100 * last + elements) .and. all(b(n + 1:) == -1))
    b = -1
    call MPI_Sendrecv(a, int(n, nk), MPI_INTEGER, next, 1, b, 1_nk, t, last, 1, MPI_COMM_WORLD, s, ierr); OK
    CHECK(all(b(elements) == [(100 * last + i, i = 1, n)]) .and. count_of(b) == n)
    call MPI_Get_count(s, t, count, ierr); OK
    CHECK(count == 1)
    call MPI_Get_elements(s, t, count, ierr); OK
    CHECK(count == n)
    call MPI_Type_free(t, ierr); OK
    CHECK(t == MPI_DATATYPE_NULL)
  end subroutine
  integer function count_of(b)
    integer, intent(in) :: b(:)
    count_of = count(b /= -1)
  end function
  subroutine is_of(wanted)
    integer, intent(in) :: wanted
    call MPI_Type_size_x(t, bytes, ierr); OK
    CHECK(bytes == wanted)
  end subroutine
end subroutine

! What datatypes tell of themselves; packing; addresses.
subroutine describing
  use form
  implicit none
  DATATYPE :: t, parts(4)
  integer :: combiner, n, a(12), b(12)
  integer(nk) :: size, position, integers, addresses, larges, types, bytes
#if defined(LARGE)
  integer(xk) :: low, extent
  integer(nk) :: some_larges(8)
#else
  integer(ak) :: low, extent
#endif
  integer :: some_integers(8)
  integer(ak) :: some_addresses(8), here, there, external, packed
  integer(nk) :: external_size, external_position
  integer(xk) :: low_x, extent_x, size_x
  character :: packet(200)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  family = 'what datatypes tell'
  call MPI_Type_vector(3_nk, 2_nk, 4_nk, MPI_INTEGER, t, ierr); OK
  call MPI_Type_commit(t, ierr); OK
  call MPI_Type_size(t, size, ierr); OK
  CHECK(size == 24)
  call MPI_Type_size_x(t, size_x, ierr); OK
  CHECK(size_x == 24)
  call MPI_Type_get_extent(t, low, extent, ierr); OK
  CHECK(low == 0 .and. extent == 40)
  call MPI_Type_get_extent_x(t, low_x, extent_x, ierr); OK
  CHECK(low_x == 0 .and. extent_x == 40)
  call MPI_Type_get_true_extent(t, low, extent, ierr); OK
  CHECK(low == 0 .and. extent == 40)
  call MPI_Type_get_true_extent_x(t, low_x, extent_x, ierr); OK
  CHECK(low_x == 0 .and. extent_x == 40)
#if defined(LARGE)
  call MPI_Type_get_envelope(t, integers, addresses, larges, types, combiner, ierr); OK
  CHECK(integers == 0 .and. addresses == 0 .and. larges == 3 .and. types == 1 .and. combiner == MPI_COMBINER_VECTOR)
  call MPI_Type_get_contents(t, integers, addresses, larges, types, some_integers, some_addresses, some_larges, parts, ierr); OK
  CHECK(all(some_larges(:3) == [3, 2, 4]))
#else
  larges = 0
  call MPI_Type_get_envelope(t, integers, addresses, types, combiner, ierr); OK
  CHECK(integers == 3 .and. addresses == 0 .and. types == 1 .and. combiner == MPI_COMBINER_VECTOR)
  call MPI_Type_get_contents(t, integers, addresses, types, some_integers, some_addresses, parts, ierr); OK
  CHECK(all(some_integers(:3) == [3, 2, 4]))
#endif
  CHECK(parts(1) == MPI_INTEGER)
  call MPI_Type_set_name(t, 'stripes', ierr); OK
  call MPI_Type_get_name(t, name, n, ierr); OK
  CHECK(name == 'stripes' .and. n == 7)
  call MPI_Type_get_name(MPI_INTEGER, name, n, ierr); OK
  CHECK(name == 'MPI_INTEGER' .and. n == 11)
  ! Packing.
  a = [(100 * rank + n, n = 1, 12)]
  call MPI_Pack_size(1_nk, t, MPI_COMM_WORLD, bytes, ierr); OK
  CHECK(bytes >= 24)
  position = 0
  call MPI_Pack(a, 1_nk, t, packet, 200_nk, position, MPI_COMM_WORLD, ierr); OK
  call MPI_Pack(rank, 1_nk, MPI_INTEGER, packet, 200_nk, position, MPI_COMM_WORLD, ierr); OK
  CHECK(position >= 28 .and. position <= 200)
  call MPI_Sendrecv_replace(packet, position, MPI_PACKED, next, 1, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr); OK
  b = -1
  bytes = position
  position = 0
  call MPI_Unpack(packet, bytes, position, b, 6_nk, MPI_INTEGER, MPI_COMM_WORLD, ierr); OK
  CHECK(all(b(:6) == 100 * last + [1, 2, 5, 6, 9, 10]) .and. all(b(7:) == -1))
  call MPI_Unpack(packet, bytes, position, n, 1_nk, MPI_INTEGER, MPI_COMM_WORLD, ierr); OK
  CHECK(n == last .and. position == bytes)
#if defined(LARGE)
  call MPI_Pack_external_size('external32', 1_nk, t, external_size, ierr); OK
  CHECK(external_size == 24)
  external_position = 0
  call MPI_Pack_external('external32', a, 1_nk, t, packet, 200_nk, external_position, ierr); OK
  CHECK(external_position == 24 .and. packet(4) == char(mod(100 * rank + 1, 256)))
  external_position = 0
  b = -1
  call MPI_Unpack_external('external32', packet, 24_nk, external_position, b, 1_nk, t, ierr); OK
#else
  call MPI_Pack_external_size('external32', 1, t, external, ierr); OK
  CHECK(external == 24)
  packed = 0
  call MPI_Pack_external('external32', a, 1, t, packet, 200_ak, packed, ierr); OK
  CHECK(packed == 24 .and. packet(4) == char(mod(100 * rank + 1, 256)))
  packed = 0
  b = -1
  call MPI_Unpack_external('external32', packet, 24_ak, packed, b, 1, t, ierr); OK
#endif
  CHECK(all(b(1:2) == a(1:2)) .and. all(b(3:4) == -1) .and. all(b(5:6) == a(5:6)) .and. all(b(11:) == -1))
  call MPI_Type_free(t, ierr); OK
  ! Addresses.
  call MPI_Get_address(a(1), here, ierr); OK
  call MPI_Get_address(a(4), there, ierr); OK
  CHECK(there - here == 12)
#if !defined(OLD)
  CHECK(MPI_Aint_diff(there, here) == 12 .and. MPI_Aint_add(here, 12_ak) == there)
#endif
#if !defined(INCLUDE)
  call MPI_Sizeof(here, n, ierr); OK
  CHECK(n == 8)
#endif
end subroutine
