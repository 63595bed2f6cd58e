! printed HOW: as printed.c, of a Fortran program: rank 0 writes a line and waits; rank 1 ends the job meanwhile: abort, signal, or exit (_exit).
! It calls the functions of C, with the constants of the standard ABI, so that it needs no modules.
program printed
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    integer(c_int) function c_init(argc, argv) bind(C, name="MPI_Init")
      import
      type(c_ptr), value :: argc, argv
    end function
    integer(c_int) function c_comm_rank(comm, rank) bind(C, name="MPI_Comm_rank")
      import
      integer(c_intptr_t), value :: comm
      integer(c_int) :: rank
    end function
    integer(c_int) function c_barrier(comm) bind(C, name="MPI_Barrier")
      import
      integer(c_intptr_t), value :: comm
    end function
    integer(c_int) function c_abort(comm, code) bind(C, name="MPI_Abort")
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: code
    end function
    integer(c_int) function c_raise(signal) bind(C, name="raise")
      import
      integer(c_int), value :: signal
    end function
    subroutine c_exit(code) bind(C, name="_exit")
      import
      integer(c_int), value :: code
    end subroutine
    integer(c_int) function c_sleep(seconds) bind(C, name="sleep")
      import
      integer(c_int), value :: seconds
    end function
  end interface

  integer(c_intptr_t), parameter :: world = 257 ! MPI_COMM_WORLD
  integer(c_int) :: rank, ignored
  character(len=16) :: how

  call get_command_argument(1, how)
  if (c_init(c_null_ptr, c_null_ptr) /= 0) error stop "MPI_Init"
  if (c_comm_rank(world, rank) /= 0) error stop "MPI_Comm_rank"
  if (rank == 0) write (*, '(a)') "printed before the end"
  if (c_barrier(world) /= 0) error stop "MPI_Barrier"
  if (rank == 1) then
    select case (how)
    case ("abort")
      ignored = c_abort(world, 3_c_int)
    case ("signal")
      ignored = c_raise(9_c_int)
    case ("exit")
      call c_exit(3_c_int)
    end select
  end if
  ignored = c_sleep(30_c_int)
end program printed
