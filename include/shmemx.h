/* shmemx.h: extensions of OpenSHMEM: there are none. */
#include <shmem.h>
