! Coarrays by OpenCoarrays: puts, gets, collectives, events, atomics, locks, teams. Compiled with -fcoarray=lib, run on several images.
program coarrays
  use, intrinsic :: iso_fortran_env
  implicit none
  integer :: me, images, next, i, total, largest, text, old, rounds
  integer :: here(10)[*], counter[*], grid(4, 6)[*]
  integer(atomic_int_kind) :: atomic[*]
  logical(atomic_logical_kind) :: mark[*]
  type(event_type) :: event[*]
  type(lock_type) :: lock[*]
  type(team_type) :: team
  real(real64) :: x
  me = this_image()
  images = num_images()
  next = merge(1, me + 1, me == images)
  ! Puts and gets, of rows and of sections.
  here = me
  grid = 100 * me
  sync all
  here(3:5)[next] = [10, 20, 30] + me
  grid(2, ::2)[next] = me
  sync all
  i = merge(images, me - 1, me == 1)
  call check(all(here(3:5) == [10, 20, 30] + i) .and. here(2) == me .and. here(6) == me, 'a put')
  call check(all(grid(2, ::2) == i) .and. all(grid(2, 2::2) == 100 * me) .and. all(grid(1, :) == 100 * me), 'a put with strides')
  call check(all(here(3:5)[next] == [10, 20, 30] + me), 'a get')
  call check(all(grid(2, 1::2)[next] == me), 'a get with strides')
  sync all
  ! Collectives.
  total = me
  call co_sum(total)
  call check(total == images * (images + 1) / 2, 'co_sum')
  x = me
  call co_sum(x, result_image=1)
  if (me == 1) call check(x == images * (images + 1) / 2, 'co_sum to one image')
  largest = me * 3
  call co_max(largest)
  call check(largest == 3 * images, 'co_max')
  largest = me * 3
  call co_min(largest)
  call check(largest == 3, 'co_min')
  text = merge(77, 0, me == images)
  call co_broadcast(text, source_image=images)
  call check(text == 77, 'co_broadcast')
  ! Events go round.
  counter = 0
  do rounds = 1, 10
    if (me == 1) then
      event post (event[next])
      if (images > 1) event wait (event)
      if (images == 1) event wait (event)
    else
      event wait (event)
      event post (event[next])
    end if
  end do
  call event_query(event, i)
  call check(i == 0, 'events')
  sync all
  ! Atomics.
  atomic = 0
  sync all
  do i = 1, 100
    call atomic_add(atomic[1], 1)
  end do
  sync all
  call atomic_ref(i, atomic[1])
  call check(i == 100 * images, 'atomic_add')
  sync all
  call atomic_define(atomic, 0)
  sync all
  call atomic_cas(atomic[1], old, 0, me)
  sync all
  call atomic_ref(i, atomic[1])
  call check(i >= 1 .and. i <= images .and. ((old == 0) .eqv. (i == me)), 'atomic_cas')
  call atomic_define(mark, .true._atomic_logical_kind)
  sync all
  ! One at a time.
  do i = 1, 20
    lock (lock[1])
    counter[1] = counter[1] + 1
    unlock (lock[1])
    critical
      counter[1] = counter[1] + 1
    end critical
  end do
  sync all
  if (me == 1) call check(counter == 40 * images, 'locks')
  ! Teams of images with even and odd numbers.
  form team (1 + mod(me, 2), team)
  change team (team)
    total = 1
    call co_sum(total)
    call check(total == (images + mod(me, 2)) / 2, 'co_sum of a team')
    call check(num_images() == total .and. this_image() == (me + 1) / 2, 'images of a team')
  end team
  sync all
  call check(this_image() == me, 'after a team')
  if (me == 1) print '(a,i0)', 'right: images ', images
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print *, 'wrong: ', what, ' on image ', me
    error stop 1
  end subroutine
end program
