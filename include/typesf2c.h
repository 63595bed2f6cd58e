/* Types that Global Arrays and MA share with programs. */
#ifndef ISTHMUS_TYPESF2C_H
#define ISTHMUS_TYPESF2C_H

typedef long Integer;
typedef Integer Boolean;
typedef Integer Logical;
typedef float Real;
typedef double DoublePrecision;
typedef void *Pointer;

typedef struct {
    float real;
    float imag;
} SingleComplex;

typedef struct {
    double real;
    double imag;
} DoubleComplex;

#endif
