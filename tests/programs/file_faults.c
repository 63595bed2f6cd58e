// ranks: 1 3
// mpiexec: --set file_fault=short=100,eintr=3
/* The random checker of files, where each access of the system does a part of what it is asked for, or is interrupted. */
#include "file_random.c"
