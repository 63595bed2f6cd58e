// ranks: 1 2 3
// mpiexec: --set check=1
/* What is wrong is told by the same classes where ISTHMUS_CHECK compares accesses: one outside the window is no access. */
#include "win_bad_input.c"
