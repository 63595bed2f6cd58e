// ranks: 1 2 3 4 8
// Every routine of the table is called with every type, by its own name, and its result checked.
#define ISTHMUS_SHMEM_NO_GENERIC
#define CALLED(function, generic) function
#include "checks/all.h"
