/* mpp/shmemx.h: as shmemx.h, below the deprecated folder. */
#include <shmem.h>
