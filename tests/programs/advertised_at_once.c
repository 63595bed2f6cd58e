// ranks: 4
// more ranks: 2
// mpiexec: --set peer_silence_us=0 --set eager_limit=65536
/* As advertised.c, with receives claimed as soon as that can be, and questions taken back. */
#include "away.h"
#include "counter.h"
#define AT_ONCE
#include "advertised.c"
