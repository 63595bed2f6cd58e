// ranks: 1 3
// Every routine of which C++ has overloads, with every type, by the one name; the others by their own.
#define CALLED(function, generic) generic
#include "checks/all.h"
