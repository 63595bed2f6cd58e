/* mpp/shmem.h: the name of shmem.h that OpenSHMEM 1.1 deprecated. */
#include <shmem.h>
