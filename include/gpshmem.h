/* gpshmem.h: older names, as programs for GPSHMEM and for Cray's first SHMEM use them, for what shmem.h has today. */

#ifndef ISTHMUS_GPSHMEM_H
#define ISTHMUS_GPSHMEM_H

#include <shmem.h>

/* Setup and memory. */
#define gpshmem_init() shmem_init()
#define gpshmem_finalize() shmem_finalize()
#define gpmype() shmem_my_pe()
#define gpnumpes() shmem_n_pes()
#define gpshmalloc(size) shmem_malloc(size)
#define gpshfree(ptr) shmem_free(ptr)
#define gpshrealloc(ptr, size) shmem_realloc(ptr, size)
#define num_pes() shmem_n_pes()
#define my_pe() shmem_my_pe()

/* Copies of 32 and 64 bits, contiguous, strided, and in strided blocks. */
#define gpshmem_put32 shmem_put32
#define gpshmem_put64 shmem_put64
#define gpshmem_putmem shmem_putmem
#define gpshmem_get32 shmem_get32
#define gpshmem_get64 shmem_get64
#define gpshmem_getmem shmem_getmem
#define gpshmem_iput32 shmem_iput32
#define gpshmem_iput64 shmem_iput64
#define gpshmem_iget32 shmem_iget32
#define gpshmem_iget64 shmem_iget64
#define gpshmem_ibput32 shmem_ibput32
#define gpshmem_ibput64 shmem_ibput64
#define gpshmem_ibget32 shmem_ibget32
#define gpshmem_ibget64 shmem_ibget64

/* Synchronization. */
#define gpshmem_fence shmem_fence
#define gpshmem_quiet shmem_quiet
#define gpshmem_barrier_all shmem_barrier_all
#define gpshmem_barrier shmem_barrier
#define gpshmem_wait shmem_wait
#define gpshmem_set_lock shmem_set_lock
#define gpshmem_test_lock shmem_test_lock
#define gpshmem_clear_lock shmem_clear_lock

#endif
