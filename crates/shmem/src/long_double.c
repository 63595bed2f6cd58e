/* What only C can say: functions that pass a long double by value, and variable arguments. */

#include <stddef.h>

typedef struct isthmus_shmem_ctx *shmem_ctx_t;

/* Entries of routines.rs. The name is the routine that the program called. */
void isthmus_shmem_long_double_put(const char *name, shmem_ctx_t ctx, void *dest, const void *source, int pe);
void isthmus_shmem_long_double_get(const char *name, shmem_ctx_t ctx, void *dest, const void *source, int pe);

#define DEFAULT ((shmem_ctx_t) 1)

void isthmus_openshmem_shmem_longdouble_p(long double *dest, long double value, int pe)
{
    isthmus_shmem_long_double_put("shmem_longdouble_p", DEFAULT, dest, &value, pe);
}

void isthmus_openshmem_shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe)
{
    isthmus_shmem_long_double_put("shmem_ctx_longdouble_p", ctx, dest, &value, pe);
}

long double isthmus_openshmem_shmem_longdouble_g(const long double *source, int pe)
{
    long double value;
    isthmus_shmem_long_double_get("shmem_longdouble_g", DEFAULT, &value, source, pe);
    return value;
}

long double isthmus_openshmem_shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe)
{
    long double value;
    isthmus_shmem_long_double_get("shmem_ctx_longdouble_g", ctx, &value, source, pe);
    return value;
}

/* Profiling libraries replace it. */
void isthmus_openshmem_shmem_pcontrol(int level, ...)
{
    (void) level;
}
