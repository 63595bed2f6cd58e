/* One-sided operations of Global Arrays for Fortran, and access to what a process has itself. */
#include "arrays.h"

/* Leading dimensions, one less than the array has dimensions. */
#define LD int64_t c_ld[GA_MAX_DIM] = {0}; reversed(c_ld, ld, dimensions(*g_a) - 1, 0)
#define AT PATCH at = patch(*g_a, lo, hi); LD
#define AT2 PATCH at = patch2(*ilo, *ihi, *jlo, *jhi); int64_t c_ld[GA_MAX_DIM] = {*ld}
#define CORNERS INTEGER *ilo, INTEGER *ihi, INTEGER *jlo, INTEGER *jhi

void nga_put_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld) {
    AT;
    NGA_Put64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
void ga_put_(INTEGER *g_a, CORNERS, void *buf, INTEGER *ld) {
    AT2;
    NGA_Put64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
void nga_get_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld) {
    AT;
    NGA_Get64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
void ga_get_(INTEGER *g_a, CORNERS, void *buf, INTEGER *ld) {
    AT2;
    NGA_Get64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
void nga_acc_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld, void *alpha) {
    AT;
    NGA_Acc64((int)*g_a, at.lo, at.hi, buf, c_ld, alpha);
}
void ga_acc_(INTEGER *g_a, CORNERS, void *buf, INTEGER *ld, void *alpha) {
    AT2;
    NGA_Acc64((int)*g_a, at.lo, at.hi, buf, c_ld, alpha);
}
void nga_nbput_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    AT;
    NGA_NbPut64((int)*g_a, at.lo, at.hi, buf, c_ld, &c_handle);
    *handle = (INTEGER)c_handle;
}
void ga_nbput_(INTEGER *g_a, CORNERS, void *buf, INTEGER *ld, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    AT2;
    NGA_NbPut64((int)*g_a, at.lo, at.hi, buf, c_ld, &c_handle);
    *handle = (INTEGER)c_handle;
}
void nga_nbget_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    AT;
    NGA_NbGet64((int)*g_a, at.lo, at.hi, buf, c_ld, &c_handle);
    *handle = (INTEGER)c_handle;
}
void ga_nbget_(INTEGER *g_a, CORNERS, void *buf, INTEGER *ld, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    AT2;
    NGA_NbGet64((int)*g_a, at.lo, at.hi, buf, c_ld, &c_handle);
    *handle = (INTEGER)c_handle;
}
void nga_nbacc_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld, void *alpha, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    AT;
    NGA_NbAcc64((int)*g_a, at.lo, at.hi, buf, c_ld, alpha, &c_handle);
    *handle = (INTEGER)c_handle;
}
void ga_nbacc_(INTEGER *g_a, CORNERS, void *buf, INTEGER *ld, void *alpha, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    AT2;
    NGA_NbAcc64((int)*g_a, at.lo, at.hi, buf, c_ld, alpha, &c_handle);
    *handle = (INTEGER)c_handle;
}
BOTH(void, nbwait)(INTEGER *handle) {
    ga_nbhdl_t c_handle = *handle;
    NGA_NbWait(&c_handle);
    *handle = (INTEGER)c_handle;
}
BOTH(INTEGER, nbtest)(INTEGER *handle) {
    ga_nbhdl_t c_handle = *handle;
    int done = NGA_NbTest(&c_handle);
    *handle = (INTEGER)c_handle;
    return done;
}
/* A put, and an element that arrives after it: a process that sees the element sees what was put, too. The element may be one of those put. */
void nga_nbput_notify_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld, INTEGER *g_b, INTEGER *element, void *value, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    PATCH one = patch(*g_b, element, element);
    int64_t none[GA_MAX_DIM] = {0};
    AT;
    GA_Init_fence();
    NGA_Put64((int)*g_a, at.lo, at.hi, buf, c_ld);
    GA_Fence();
    NGA_NbPut64((int)*g_b, one.lo, one.hi, value, none, &c_handle);
    *handle = (INTEGER)c_handle;
}
ALSO(nga_nbwait_notify, ga_nbwait);
#define SKIP int64_t c_skip[GA_MAX_DIM] = {0}; reversed(c_skip, skip, dimensions(*g_a), 0)
void nga_strided_put_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *skip, void *buf, INTEGER *ld) {
    AT;
    SKIP;
    NGA_Strided_put64((int)*g_a, at.lo, at.hi, c_skip, buf, c_ld);
}
void nga_strided_get_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *skip, void *buf, INTEGER *ld) {
    AT;
    SKIP;
    NGA_Strided_get64((int)*g_a, at.lo, at.hi, c_skip, buf, c_ld);
}
void nga_strided_acc_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *skip, void *buf, INTEGER *ld, void *alpha) {
    AT;
    SKIP;
    NGA_Strided_acc64((int)*g_a, at.lo, at.hi, c_skip, buf, c_ld, alpha);
}
void nga_periodic_put_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld) {
    AT;
    NGA_Periodic_put64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
void nga_periodic_get_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld) {
    AT;
    NGA_Periodic_get64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
void nga_periodic_acc_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld, void *alpha) {
    AT;
    NGA_Periodic_acc64((int)*g_a, at.lo, at.hi, buf, c_ld, alpha);
}

/* Fields of elements of registered types; C has them with 32-bit indexes. */
#define FIELD PATCH at = patch(*g_a, lo, hi); LD; int narrow[3][GA_MAX_DIM], i; \
    for (i = 0; i < GA_MAX_DIM; i++) { narrow[0][i] = (int)at.lo[i]; narrow[1][i] = (int)at.hi[i]; narrow[2][i] = (int)c_ld[i]; }
void nga_put_field_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *offset, INTEGER *bytes, void *buf, INTEGER *ld) {
    FIELD;
    NGA_Put_field((int)*g_a, narrow[0], narrow[1], (int)*offset, (int)*bytes, buf, narrow[2]);
}
void nga_get_field_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *offset, INTEGER *bytes, void *buf, INTEGER *ld) {
    FIELD;
    NGA_Get_field((int)*g_a, narrow[0], narrow[1], (int)*offset, (int)*bytes, buf, narrow[2]);
}
void nga_nbput_field_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *offset, INTEGER *bytes, void *buf, INTEGER *ld, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    FIELD;
    NGA_Nbput_field((int)*g_a, narrow[0], narrow[1], (int)*offset, (int)*bytes, buf, narrow[2], &c_handle);
    *handle = (INTEGER)c_handle;
}
void nga_nbget_field_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *offset, INTEGER *bytes, void *buf, INTEGER *ld, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    FIELD;
    NGA_Nbget_field((int)*g_a, narrow[0], narrow[1], (int)*offset, (int)*bytes, buf, narrow[2], &c_handle);
    *handle = (INTEGER)c_handle;
}

/* Elements here and there: subscripts one after another; of matrices rows and columns each by themselves. */
static int64_t *subscripts(INTEGER g_a, const INTEGER *at, INTEGER count) {
    int number = dimensions(g_a);
    int64_t total = count > 0 ? count : 0, i, *made = malloc(sizeof(int64_t) * (size_t)(total * number + 1));
    if (!made) abort();
    for (i = 0; i < total; i++) reversed(made + number * i, at + number * i, number, 1);
    return made;
}
static int64_t *rows_and_columns(const INTEGER *i, const INTEGER *j, INTEGER count) {
    int64_t total = count > 0 ? count : 0, k, *made = malloc(sizeof(int64_t) * (size_t)(total * 2 + 1));
    if (!made) abort();
    for (k = 0; k < total; k++) {
        made[2 * k] = (int64_t)j[k] - 1;
        made[2 * k + 1] = (int64_t)i[k] - 1;
    }
    return made;
}
void nga_gather_(INTEGER *g_a, void *v, INTEGER *at, INTEGER *count) {
    int64_t *made = subscripts(*g_a, at, *count);
    NGA_Gather_flat64((int)*g_a, v, made, *count);
    free(made);
}
void ga_gather_(INTEGER *g_a, void *v, INTEGER *i, INTEGER *j, INTEGER *count) {
    int64_t *made = rows_and_columns(i, j, *count);
    NGA_Gather_flat64((int)*g_a, v, made, *count);
    free(made);
}
void nga_scatter_(INTEGER *g_a, void *v, INTEGER *at, INTEGER *count) {
    int64_t *made = subscripts(*g_a, at, *count);
    NGA_Scatter_flat64((int)*g_a, v, made, *count);
    free(made);
}
void ga_scatter_(INTEGER *g_a, void *v, INTEGER *i, INTEGER *j, INTEGER *count) {
    int64_t *made = rows_and_columns(i, j, *count);
    NGA_Scatter_flat64((int)*g_a, v, made, *count);
    free(made);
}
void nga_scatter_acc_(INTEGER *g_a, void *v, INTEGER *at, INTEGER *count, void *alpha) {
    int64_t *made = subscripts(*g_a, at, *count);
    NGA_Scatter_acc_flat64((int)*g_a, v, made, *count, alpha);
    free(made);
}
void ga_scatter_acc_(INTEGER *g_a, void *v, INTEGER *i, INTEGER *j, INTEGER *count, void *alpha) {
    int64_t *made = rows_and_columns(i, j, *count);
    NGA_Scatter_acc_flat64((int)*g_a, v, made, *count, alpha);
    free(made);
}
void nga_alloc_gatscat_buf_(INTEGER *count) { NGA_Alloc_gatscat_buf((int)*count); }
void nga_free_gatscat_buf_(void) { NGA_Free_gatscat_buf(); }
INTEGER nga_read_inc_(INTEGER *g_a, INTEGER *at, INTEGER *by) {
    int64_t c_at[GA_MAX_DIM] = {0};
    reversed(c_at, at, dimensions(*g_a), 1);
    return (INTEGER)NGA_Read_inc64((int)*g_a, c_at, (long)*by);
}
INTEGER ga_read_inc_(INTEGER *g_a, INTEGER *i, INTEGER *j, INTEGER *by) {
    int64_t at[2] = {(int64_t)*j - 1, (int64_t)*i - 1};
    return (INTEGER)NGA_Read_inc64((int)*g_a, at, (long)*by);
}

/* The own part: an index into the common block of the array's type. */
#define FOUND(number) \
    reversed_out(ld, c_ld, number, 0); \
    *index = index_of(address, type_of(*g_a))
void nga_access_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INDEX *index, INTEGER *ld) {
    PATCH at = patch(*g_a, lo, hi);
    void *address = NULL;
    int64_t c_ld[GA_MAX_DIM] = {0};
    NGA_Access64((int)*g_a, at.lo, at.hi, &address, c_ld);
    FOUND(dimensions(*g_a) - 1);
}
void ga_access_(INTEGER *g_a, CORNERS, INDEX *index, INTEGER *ld) {
    PATCH at = patch2(*ilo, *ihi, *jlo, *jhi);
    void *address = NULL;
    int64_t c_ld[GA_MAX_DIM] = {0};
    NGA_Access64((int)*g_a, at.lo, at.hi, &address, c_ld);
    FOUND(1);
}
void nga_access_block_(INTEGER *g_a, INTEGER *number, INDEX *index, INTEGER *ld) {
    void *address = NULL;
    int64_t c_ld[GA_MAX_DIM] = {0};
    NGA_Access_block64((int)*g_a, *number, &address, c_ld);
    FOUND(dimensions(*g_a) - 1);
}
void nga_access_block_grid_(INTEGER *g_a, INTEGER *subscript, INDEX *index, INTEGER *ld) {
    void *address = NULL;
    int64_t c_ld[GA_MAX_DIM] = {0}, at[GA_MAX_DIM] = {0};
    reversed(at, subscript, dimensions(*g_a), 0);
    NGA_Access_block_grid64((int)*g_a, at, &address, c_ld);
    FOUND(dimensions(*g_a) - 1);
}
void nga_access_block_segment_(INTEGER *g_a, INTEGER *process, INDEX *index, INTEGER *length) {
    void *address = NULL;
    int64_t c_length = 0;
    NGA_Access_block_segment64((int)*g_a, (int)*process, &address, &c_length);
    *length = (INTEGER)c_length;
    *index = index_of(address, type_of(*g_a));
}
void nga_access_ghosts_(INTEGER *g_a, INTEGER *dims, INDEX *index, INTEGER *ld) {
    void *address = NULL;
    int64_t c_ld[GA_MAX_DIM] = {0}, c_dims[GA_MAX_DIM] = {0};
    NGA_Access_ghosts64((int)*g_a, c_dims, &address, c_ld);
    reversed_out(dims, c_dims, dimensions(*g_a), 0);
    FOUND(dimensions(*g_a) - 1);
}
/* The subscript of a ghost element counts within the own part, from 1. */
void nga_access_ghost_element_(INTEGER *g_a, INDEX *index, INTEGER *subscript, INTEGER *ld) {
    void *address = NULL;
    int64_t c_ld[GA_MAX_DIM] = {0}, at[GA_MAX_DIM] = {0};
    reversed(at, subscript, dimensions(*g_a), 0);
    NGA_Access_ghost_element64((int)*g_a, &address, at, c_ld);
    FOUND(dimensions(*g_a) - 1);
}
void nga_release_(INTEGER *g_a, INTEGER *lo, INTEGER *hi) {
    PATCH at = patch(*g_a, lo, hi);
    NGA_Release64((int)*g_a, at.lo, at.hi);
}
void ga_release_(INTEGER *g_a, CORNERS) {
    PATCH at = patch2(*ilo, *ihi, *jlo, *jhi);
    NGA_Release64((int)*g_a, at.lo, at.hi);
}
void nga_release_update_(INTEGER *g_a, INTEGER *lo, INTEGER *hi) {
    PATCH at = patch(*g_a, lo, hi);
    NGA_Release_update64((int)*g_a, at.lo, at.hi);
}
void ga_release_update_(INTEGER *g_a, CORNERS) {
    PATCH at = patch2(*ilo, *ihi, *jlo, *jhi);
    NGA_Release_update64((int)*g_a, at.lo, at.hi);
}
#define NARROW(index) int at[GA_MAX_DIM] = {0}, n = dimensions(*g_a), i; for (i = 0; i < n; i++) at[i] = (int)index[n - 1 - i]
void nga_release_block_(INTEGER *g_a, INTEGER *number) { NGA_Release_block((int)*g_a, (int)*number); }
void nga_release_block_grid_(INTEGER *g_a, INTEGER *subscript) {
    NARROW(subscript);
    NGA_Release_block_grid((int)*g_a, at);
}
void nga_release_block_segment_(INTEGER *g_a, INTEGER *process) { NGA_Release_block_segment((int)*g_a, (int)*process); }
void nga_release_update_block_(INTEGER *g_a, INTEGER *number) { NGA_Release_update_block((int)*g_a, (int)*number); }
void nga_release_update_block_grid_(INTEGER *g_a, INTEGER *subscript) {
    NARROW(subscript);
    NGA_Release_update_block_grid((int)*g_a, at);
}
void nga_release_update_block_segment_(INTEGER *g_a, INTEGER *process) { NGA_Release_update_block_segment((int)*g_a, (int)*process); }
void nga_release_ghosts_(INTEGER *g_a) { NGA_Release_ghosts((int)*g_a); }
void nga_release_update_ghosts_(INTEGER *g_a) { NGA_Release_update_ghosts((int)*g_a); }
void nga_release_ghost_element_(INTEGER *g_a, INTEGER *subscript) {
    NARROW(subscript);
    NGA_Release_ghost_element((int)*g_a, at);
}
void nga_release_update_ghost_element_(INTEGER *g_a, INTEGER *subscript) {
    NARROW(subscript);
    NGA_Release_update_ghost_element((int)*g_a, at);
}

/* Ghost cells. */
BOTH(void, update_ghosts)(INTEGER *g_a) { GA_Update_ghosts((int)*g_a); }
BOTH(LOGICAL, update2_ghosts)(INTEGER *g_a) {
    GA_Update_ghosts((int)*g_a);
    return 1;
}
/* Upstream's algorithms by number: there is one that chooses. */
#define CHOSEN(number) ALSO(ga_update##number##_ghosts, ga_update2_ghosts); ALSO(nga_update##number##_ghosts, ga_update2_ghosts)
CHOSEN(1);
CHOSEN(3);
CHOSEN(4);
CHOSEN(44);
CHOSEN(5);
CHOSEN(55);
CHOSEN(6);
CHOSEN(7);
BOTH(LOGICAL, set_ghost_info)(INTEGER *g_a) { return GA_Has_ghosts((int)*g_a) != 0; }
ALSO(ga_set_update4_info, ga_set_ghost_info);
ALSO(nga_set_update4_info, ga_set_ghost_info);
ALSO(ga_set_update5_info, ga_set_ghost_info);
ALSO(nga_set_update5_info, ga_set_ghost_info);
LOGICAL nga_update_ghost_dir_(INTEGER *g_a, INTEGER *dimension, INTEGER *side, LOGICAL *corners) {
    return NGA_Update_ghost_dir((int)*g_a, dimensions(*g_a) - (int)*dimension, (int)*side, *corners != 0) != 0;
}
void nga_update_ghosts_nb_(INTEGER *g_a, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    NGA_Update_ghosts_nb((int)*g_a, &c_handle);
    *handle = (INTEGER)c_handle;
}
void nga_nbget_ghost_dir_(INTEGER *g_a, INTEGER *mask, INTEGER *handle) {
    ga_nbhdl_t c_handle = 0;
    int64_t c_mask[GA_MAX_DIM] = {0};
    reversed(c_mask, mask, dimensions(*g_a), 0);
    NGA_NbGet_ghost_dir64((int)*g_a, c_mask, &c_handle);
    *handle = (INTEGER)c_handle;
}
void nga_get_ghost_block_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, void *buf, INTEGER *ld) {
    AT;
    NGA_Get_ghost_block64((int)*g_a, at.lo, at.hi, buf, c_ld);
}
BOTH(void, ghost_barrier)(void) { GA_Sync(); }
