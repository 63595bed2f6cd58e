/* pshmem.h: the profiling interface of OpenSHMEM, which shmem.h declares, too. */
#include <shmem.h>
