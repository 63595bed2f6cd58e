/* MA, the memory allocator of Global Arrays' programs. Blocks lie on the heap of the process; an index counts elements from address 0. */
#ifndef ISTHMUS_MACDECLS_H
#define ISTHMUS_MACDECLS_H

#include "macommon.h"
#include "matypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types, by the names that C programs use. */
#define MT_CHAR MT_C_CHAR
#define MT_INT MT_C_INT
#define MT_LONGINT MT_C_LONGINT
#define MT_LONGLONG MT_C_LONGLONG
#define MT_REAL MT_C_FLOAT
#define MT_DBL MT_C_DBL
#define MT_LDBL MT_C_LDBL
#define MT_SCPL MT_C_SCPL
#define MT_DCPL MT_C_DCPL
#define MT_LDCPL MT_C_LDCPL
#define MT_C_FIRST MT_CHAR
#define MT_C_LAST MT_LDCPL

/* The arrays that indexes belong to. */
#define ma_cb_char ((char *)MA_get_mbase(MT_C_CHAR))
#define ma_cb_int ((int *)MA_get_mbase(MT_C_INT))
#define ma_cb_long ((long *)MA_get_mbase(MT_C_LONGINT))
#define ma_cb_longlong ((long long *)MA_get_mbase(MT_C_LONGLONG))
#define ma_cb_float ((float *)MA_get_mbase(MT_C_FLOAT))
#define ma_cb_dbl ((double *)MA_get_mbase(MT_C_DBL))
#define ma_cb_ldbl ((MA_LongDouble *)MA_get_mbase(MT_C_LDBL))
#define ma_cb_scpl ((MA_SingleComplex *)MA_get_mbase(MT_C_SCPL))
#define ma_cb_dcpl ((MA_DoubleComplex *)MA_get_mbase(MT_C_DCPL))
#define ma_cb_ldcpl ((MA_LongDoubleComplex *)MA_get_mbase(MT_C_LDCPL))

Boolean MA_alloc_get(Integer datatype, Integer nelem, const char *name, Integer *memhandle, MA_AccessIndex *index);
Boolean MA_allocate_heap(Integer datatype, Integer nelem, const char *name, Integer *memhandle);
Boolean MA_chop_stack(Integer memhandle);
Boolean MA_free_heap(Integer memhandle);
Boolean MA_free_heap_piece(Integer memhandle, Integer nelem);
Boolean MA_get_index(Integer memhandle, MA_AccessIndex *index);
Pointer MA_get_mbase(Integer datatype);
Boolean MA_get_next_memhandle(long *at, Integer *memhandle);
Boolean MA_get_numalign(long *value);
Boolean MA_get_pointer(Integer memhandle, void *pointer);
Boolean MA_init(Integer datatype, long stack, long heap);
Boolean MA_init_memhandle_iterator(long *at);
Boolean MA_initialized(void);
long MA_inquire_avail(Integer datatype);
long MA_inquire_heap(Integer datatype);
long MA_inquire_heap_check_stack(Integer datatype);
long MA_inquire_heap_no_partition(Integer datatype);
long MA_inquire_stack(Integer datatype);
long MA_inquire_stack_check_heap(Integer datatype);
long MA_inquire_stack_no_partition(Integer datatype);
Boolean MA_pop_stack(Integer memhandle);
void MA_print_stats(long routines);
Boolean MA_push_get(Integer datatype, Integer nelem, const char *name, Integer *memhandle, MA_AccessIndex *index);
Boolean MA_push_stack(Integer datatype, Integer nelem, const char *name, Integer *memhandle);
Boolean MA_set_auto_verify(Boolean value);
/* Called with a line and a code. */
void MA_set_error_callback(void (*callback)(const char *line, int code));
Boolean MA_set_error_print(Boolean value);
Boolean MA_set_hard_fail(Boolean value);
Boolean MA_set_numalign(long value);
long MA_sizeof(Integer datatype, Integer nelem, long other);
long MA_sizeof_overhead(Integer datatype);
void MA_summarize_allocated_blocks(void);
void MA_trace(Boolean value);
Boolean MA_verify_allocator_stuff(void);

#ifdef __cplusplus
}
#endif

#endif
