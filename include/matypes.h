/* Types of MA. */
#ifndef ISTHMUS_MATYPES_H
#define ISTHMUS_MATYPES_H

#include "typesf2c.h"

typedef Integer Boolean;
typedef char *Pointer;
typedef Integer MA_AccessIndex;
typedef long double MA_LongDouble;
typedef SingleComplex MA_SingleComplex;
typedef DoubleComplex MA_DoubleComplex;
typedef struct {
    long double real;
    long double imag;
} MA_LongDoubleComplex;

#endif
