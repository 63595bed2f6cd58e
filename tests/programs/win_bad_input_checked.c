// ranks: 1 2 3
// mpiexec: --set check=1
/* Errors have the same classes where ISTHMUS_CHECK compares accesses: one outside the window is no access. */
#include "win_bad_input.c"
