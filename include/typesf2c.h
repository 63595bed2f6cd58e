/* Types that Global Arrays and MA share with programs. */
#ifndef ISTHMUS_TYPESF2C_H
#define ISTHMUS_TYPESF2C_H

/* What functions that Fortran calls are declared with. */
#ifndef FATR
#define FATR
#endif

typedef long Integer;
typedef Integer logical;
typedef Integer Logical;
typedef float Real;
typedef double DoublePrecision;
typedef long intp;

typedef struct {
    float real;
    float imag;
} SingleComplex;

typedef struct {
    double real;
    double imag;
} DoubleComplex;

#endif
