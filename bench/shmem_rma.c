/* Puts, gets and atomics of PE 0 on memory of PE 1, beside what the CPU can do with the same memory mapped.
 *
 *   shmem_rma [--seconds S] [KIND:N ...]
 *
 * KIND is, N in bytes,
 *   p, put8      a value or 8 bytes, with a quiet; the floor is a store with a fence
 *   g, get8      a value or 8 bytes; the floor is a load
 *   put, get     N bytes; the floor is memcpy
 *   fadd, inc    an atomic on 8 bytes; the floor is the CPU's instruction
 * PE 1 sleeps in a barrier meanwhile. */
#define _GNU_SOURCE
#include "shmem_measure.h"
#include <stdatomic.h>

static char *there, *mapped, *here;
static int size;

/* The compiler may assume nothing about memory. */
#define FORGET __asm__ volatile("" ::: "memory")
#define OPERATION(name, what)                                   \
    static void name(int count)                                 \
    {                                                           \
        if (shmem_my_pe() == 0)                                 \
            for (int i = 0; i < count; i++) {                   \
                what;                                           \
                FORGET;                                         \
            }                                                   \
    }

static volatile long taken;

OPERATION(p, (shmem_long_p((long *)there, i, 1), shmem_quiet()))
OPERATION(put8, (shmem_long_put((long *)there, (long *)here, 1, 1), shmem_quiet()))
OPERATION(g, taken = shmem_long_g((long *)there, 1))
OPERATION(get8, shmem_long_get((long *)here, (long *)there, 1, 1))
OPERATION(put, shmem_putmem(there, here, (size_t)size, 1))
OPERATION(get, shmem_getmem(here, there, (size_t)size, 1))
OPERATION(fadd, taken = shmem_long_atomic_fetch_add((long *)there, 1, 1))
OPERATION(inc, shmem_long_atomic_inc((long *)there, 1))
OPERATION(store, (*(volatile long *)mapped = i, atomic_thread_fence(memory_order_seq_cst)))
OPERATION(load, taken = *(volatile long *)mapped)
OPERATION(copy_there, memcpy(mapped, here, (size_t)size))
OPERATION(copy_here, memcpy(here, mapped, (size_t)size))
OPERATION(add, taken = atomic_fetch_add((_Atomic long *)mapped, 1))

static const struct {
    const char *kind;
    operations *work, *floor;
} kinds[] = {
    {"p", p, store}, {"put8", put8, store}, {"g", g, load}, {"get8", get8, load},
    {"put", put, copy_there}, {"get", get, copy_here}, {"fadd", fadd, add}, {"inc", inc, add},
};

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    size_t room = (size_t)largest_size(&a);
    there = shmem_align(4096, room);
    here = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    if (!there || !here)
        give_up("shmem_rma: no memory");
    memset(there, 1, room);
    memset(here, 2, room);
    mapped = shmem_ptr(there, 1);
    shmem_barrier_all();
    for (int i = 0; i < a.count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (cell_is(a.cells[i], kinds[k].kind)) {
                char fields[64];
                size = cell_size(a.cells[i]);
                snprintf(fields, sizeof fields, "operation=%s size=%d", kinds[k].kind, size);
                compare("shmem_rma", fields, kinds[k].work, kinds[k].floor, 1, a.seconds * 1e6 / a.count);
            }
    /* The data of the put is there. */
    memset(here, 7, room);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        shmem_putmem(there, here, room, 1);
    shmem_barrier_all();
    if (shmem_my_pe() == 1 && memcmp(there, here, room) != 0)
        give_up("shmem_rma: data differs from what was put");
    end();
    return 0;
}
