/* Reductions on the C types that Rust has not: 80-bit long double and binary128 (MPI-5.0 6.9.2).
 *
 * C rather than inline assembly: the compiler knows the x87's stack and libgcc's binary128, and the loops say what they
 * do. Types are declared without alignment, since MPI promises none. inout[i] = in[i] op inout[i]. */
#include <stddef.h>

typedef long double x87 __attribute__((aligned(1)));
#ifdef __SIZEOF_FLOAT128__
typedef __float128 f128 __attribute__((aligned(1)));
#else /* As on aarch64, where long double is binary128. */
typedef long double f128 __attribute__((aligned(1)));
#endif
typedef struct { x87 re, im; } cx87;
typedef struct { f128 re, im; } c128;
typedef struct { long double value; int index; } x87_int_aligned;
typedef x87_int_aligned x87_int __attribute__((aligned(1)));

#define KERNEL(name, type, body)                                        \
    void isthmus_##name(const void *in, void *inout, size_t count);     \
    void isthmus_##name(const void *in, void *inout, size_t count)      \
    {                                                                   \
        const type *a = in;                                             \
        type *b = inout;                                                \
        for (size_t i = 0; i < count; i++)                              \
            body;                                                       \
    }

#define ORDERED(type)                                                   \
    KERNEL(type##_sum, type, b[i] = a[i] + b[i])                        \
    KERNEL(type##_prod, type, b[i] = a[i] * b[i])                       \
    KERNEL(type##_min, type, b[i] = a[i] < b[i] ? a[i] : b[i])          \
    KERNEL(type##_max, type, b[i] = a[i] > b[i] ? a[i] : b[i])

#define COMPLEX(type)                                                   \
    KERNEL(type##_sum, type,                                            \
           (b[i].re = a[i].re + b[i].re, b[i].im = a[i].im + b[i].im))  \
    KERNEL(type##_prod, type, b[i] = ((type){                           \
               a[i].re * b[i].re - a[i].im * b[i].im,                   \
               a[i].re * b[i].im + a[i].im * b[i].re}))

#define LOCATED(name, better)                                           \
    KERNEL(name, x87_int,                                               \
           if (a[i].value better b[i].value) {                          \
               b[i].value = a[i].value;                                 \
               b[i].index = a[i].index;                                 \
           } else if (a[i].value == b[i].value && a[i].index < b[i].index) \
               b[i].index = a[i].index)

ORDERED(x87)
ORDERED(f128)
COMPLEX(cx87)
COMPLEX(c128)
LOCATED(x87_int_minloc, <)
LOCATED(x87_int_maxloc, >)
