// ranks: 3
// more ranks: 2 5 9
// mpiexec: --set cma=0
/* Random operations on random windows where single copies by the kernel are refused: ordinary memory is served by messages. */
#include "win_random.c"
