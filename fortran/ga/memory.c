/* MA for Fortran. Its arrays are common blocks of the program's, in which an index finds memory that lies elsewhere. */
#include "arrays.h"

_Alignas(16) char mbc_byte_[16];
_Alignas(16) INTEGER mbc_int_[2], mbc_log_[2];
_Alignas(16) float mbc_real_[2], mbc_scpl_[4];
_Alignas(16) double mbc_dbl_[2], mbc_dcpl_[4];

/* The base of a type's block, and its bytes. */
static const char *base_of(int type, int64_t *bytes) {
    switch (type) {
    case MT_C_INT: case MT_F_INT: *bytes = 4; return (const char *)mbc_int_;
    case MT_C_LONGINT: case MT_C_LONGLONG: *bytes = 8; return (const char *)mbc_int_;
    case MT_F_LOG: *bytes = sizeof(LOGICAL); return (const char *)mbc_log_;
    case MT_C_FLOAT: case MT_F_REAL: *bytes = 4; return (const char *)mbc_real_;
    case MT_C_DBL: case MT_F_DBL: *bytes = 8; return (const char *)mbc_dbl_;
    case MT_C_SCPL: case MT_F_SCPL: *bytes = 8; return (const char *)mbc_scpl_;
    case MT_C_DCPL: case MT_F_DCPL: *bytes = 16; return (const char *)mbc_dcpl_;
    default: *bytes = 1; return mbc_byte_;
    }
}

INDEX index_of(const void *address, int type) {
    int64_t bytes, distance;
    const char *base = base_of(type, &bytes);
    if (!address) return 0;
    distance = (const char *)address - base;
    if (distance % bytes != 0) GA_Error("an element lies between two of Fortran's common block of its type; off by bytes", (int)(distance % bytes));
    return distance / bytes + 1;
}

/* The types of blocks, which their indexes need, by handle. A freed type is forgotten when its handle comes again. */
enum { LISTS = 1024 };
static struct block { struct block *next; Integer handle; int type; } *blocks[LISTS];
static struct block *block_of(Integer handle) {
    struct block *block;
    for (block = blocks[(uint64_t)handle % LISTS]; block; block = block->next)
        if (block->handle == handle) break;
    return block;
}
static LOGICAL remember(Boolean made, INTEGER *to, Integer handle, INTEGER type) {
    struct block *block;
    if (!made) return 0;
    *to = (INTEGER)handle;
    block = block_of(handle);
    if (!block) {
        block = malloc(sizeof *block);
        if (!block) abort();
        block->handle = handle;
        block->next = blocks[(uint64_t)handle % LISTS];
        blocks[(uint64_t)handle % LISTS] = block;
    }
    block->type = (int)type;
    return 1;
}
/* What C knows as of Fortran's size. */
static Integer counted(INTEGER type) { return type_in(type); }

LOGICAL ma_get_index_(INTEGER *handle, INDEX *index) {
    char *address = NULL;
    struct block *block = block_of(*handle);
    if (!MA_get_pointer(*handle, &address) || !block) return 0;
    *index = index_of(address, block->type == MT_F_INT ? type_in(MT_F_INT) : block->type);
    return 1;
}
LOGICAL ma_allocate_heap_(INTEGER *type, INTEGER *count, char *name, INTEGER *handle, size_t name_length) {
    Integer made = 0;
    TEXT(name);
    Boolean is_made = MA_allocate_heap(counted(*type), *count, c_name, &made);
    return remember(is_made, handle, made, *type);
}
LOGICAL ma_push_stack_(INTEGER *type, INTEGER *count, char *name, INTEGER *handle, size_t name_length) {
    Integer made = 0;
    TEXT(name);
    Boolean is_made = MA_push_stack(counted(*type), *count, c_name, &made);
    return remember(is_made, handle, made, *type);
}
LOGICAL ma_alloc_get_(INTEGER *type, INTEGER *count, char *name, INTEGER *handle, INDEX *index, size_t name_length) {
    return ma_allocate_heap_(type, count, name, handle, name_length) && ma_get_index_(handle, index);
}
LOGICAL ma_push_get_(INTEGER *type, INTEGER *count, char *name, INTEGER *handle, INDEX *index, size_t name_length) {
    return ma_push_stack_(type, count, name, handle, name_length) && ma_get_index_(handle, index);
}
LOGICAL ma_init_(INTEGER *type, INTEGER *stack, INTEGER *heap) { return MA_init(counted(*type), *stack, *heap) != 0; }
LOGICAL ma_initialized_(void) { return MA_initialized() != 0; }
LOGICAL ma_chop_stack_(INTEGER *handle) { return MA_chop_stack(*handle) != 0; }
LOGICAL ma_pop_stack_(INTEGER *handle) { return MA_pop_stack(*handle) != 0; }
LOGICAL ma_free_heap_(INTEGER *handle) { return MA_free_heap(*handle) != 0; }
LOGICAL ma_free_heap_piece_(INTEGER *handle, INTEGER *count) { return MA_free_heap_piece(*handle, *count) != 0; }
LOGICAL ma_init_memhandle_iterator_(INTEGER *at) {
    long c_at = 0;
    LOGICAL made = MA_init_memhandle_iterator(&c_at) != 0;
    *at = (INTEGER)c_at;
    return made;
}
LOGICAL ma_get_next_memhandle_(INTEGER *at, INTEGER *handle) {
    long c_at = *at;
    Integer c_handle = 0;
    LOGICAL found = MA_get_next_memhandle(&c_at, &c_handle) != 0;
    *at = (INTEGER)c_at;
    if (found) *handle = (INTEGER)c_handle;
    return found;
}
LOGICAL ma_get_numalign_(INTEGER *value) {
    long c_value = 0;
    LOGICAL found = MA_get_numalign(&c_value) != 0;
    *value = (INTEGER)c_value;
    return found;
}
LOGICAL ma_set_numalign_(INTEGER *value) { return MA_set_numalign(*value) != 0; }
LOGICAL ma_set_auto_verify_(LOGICAL *value) { return MA_set_auto_verify(*value != 0) != 0; }
LOGICAL ma_set_error_print_(LOGICAL *value) { return MA_set_error_print(*value != 0) != 0; }
LOGICAL ma_set_hard_fail_(LOGICAL *value) { return MA_set_hard_fail(*value != 0) != 0; }
LOGICAL ma_verify_allocator_stuff_(void) { return MA_verify_allocator_stuff() != 0; }
#define INQUIRE(name, function) \
    INTEGER ma_##name##_(INTEGER *type) { \
        long found = function(counted(*type)), most = INTEGER_BYTES == 8 ? INT64_MAX : INT32_MAX; \
        return (INTEGER)(found > most ? most : found); \
    }
INQUIRE(inquire_avail, MA_inquire_avail)
INQUIRE(inquire_heap, MA_inquire_heap)
INQUIRE(inquire_heap_check_stack, MA_inquire_heap_check_stack)
INQUIRE(inquire_heap_no_partition, MA_inquire_heap_no_partition)
INQUIRE(inquire_stack, MA_inquire_stack)
INQUIRE(inquire_stack_check_heap, MA_inquire_stack_check_heap)
INQUIRE(inquire_stack_no_partition, MA_inquire_stack_no_partition)
INQUIRE(sizeof_overhead, MA_sizeof_overhead)
INTEGER ma_sizeof_(INTEGER *type, INTEGER *count, INTEGER *other) { return (INTEGER)MA_sizeof(counted(*type), *count, type_in(*other)); }
void ma_print_stats_(LOGICAL *routines) { MA_print_stats(*routines != 0); }
void ma_summarize_allocated_blocks_(void) { MA_summarize_allocated_blocks(); }
void ma_trace_(LOGICAL *value) { MA_trace(*value != 0); }
