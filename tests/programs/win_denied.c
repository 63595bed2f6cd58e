// ranks: 1 2 4
// mpiexec: --set cma=0
/* Windows of every kind where single copies by the kernel are refused: ordinary memory is served by messages. */
#include "win_flavors.c"
