// ranks: 1 3
// Every routine that C11's generic selection finds by one name, with every type, by that name.
#define CALLED(function, generic) generic
#include "checks/all.h"
