/* Start, end, processes, groups, reductions and memory of Global Arrays for Fortran. */
#include "arrays.h"

BOTH(void, initialize)(void) { GA_Initialize(); }
BOTH(void, initialize_ltd)(INTEGER *limit) { GA_Initialize_ltd((size_t)*limit); }
BOTH(LOGICAL, initialize_comm)(INTEGER *comm) { return GA_Initialize_comm(MPI_Comm_f2c((MPI_Fint)*comm)) != 0; }
BOTH(LOGICAL, initialized)(void) { return GA_Initialized() != 0; }
BOTH(void, terminate)(void) { GA_Terminate(); }
BOTH(INTEGER, nnodes)(void) { return GA_Nnodes(); }
BOTH(INTEGER, nodeid)(void) { return GA_Nodeid(); }
BOTH(void, list_nodeid)(INTEGER *list, INTEGER *count) {
    INTEGER i;
    for (i = 0; i < *count; i++) list[i] = i;
}
BOTH(void, sync)(void) { GA_Sync(); }
ALSO(ga_msg_sync, ga_sync);
ALSO(nga_msg_sync, ga_sync);
BOTH(void, mask_sync)(LOGICAL *first, LOGICAL *last) { GA_Mask_sync(*first != 0, *last != 0); }
BOTH(void, fence)(void) { GA_Fence(); }
BOTH(void, init_fence)(void) { GA_Init_fence(); }
BOTH(LOGICAL, create_mutexes)(INTEGER *number) { return GA_Create_mutexes((int)*number) != 0; }
BOTH(LOGICAL, destroy_mutexes)(void) { return GA_Destroy_mutexes() != 0; }
BOTH(void, lock)(INTEGER *mutex) { GA_Lock((int)*mutex); }
BOTH(void, unlock)(INTEGER *mutex) { GA_Unlock((int)*mutex); }
BOTH(void, error)(char *text, INTEGER *code, size_t text_length) {
    TEXT(text);
    GA_Error(c_text, (int)*code);
}
BOTH(void, version)(INTEGER *major, INTEGER *minor, INTEGER *patch) {
    *major = GA_VERSION_MAJOR;
    *minor = GA_VERSION_MINOR;
    *patch = GA_VERSION_PATCH;
}
BOTH(void, set_debug)(LOGICAL *flag) { GA_Set_debug(*flag != 0); }
BOTH(LOGICAL, get_debug)(void) { return GA_Get_debug() != 0; }
BOTH(double, wtime)(void) { return GA_Wtime(); }
BOTH(double, timer)(void) { return GA_Wtime(); }
BOTH(double, rand)(INTEGER *seed) { return GA_Rand((int)*seed); }
/* Programs find this generator in version 5.9's library; one of their own comes before it. */
__attribute__((weak)) double drand_(INTEGER *seed) {
    if (*seed != 0) srandom((unsigned)*seed);
    return (double)random() / 2147483648.0;
}
BOTH(LOGICAL, uses_ma)(void) { return GA_Uses_ma() != 0; }
BOTH(INTEGER, inquire_memory)(void) { return (INTEGER)GA_Inquire_memory(); }
BOTH(LOGICAL, memory_limited)(void) { return GA_Memory_limited() != 0; }
BOTH(void, set_memory_limit)(INTEGER *limit) { GA_Set_memory_limit((size_t)*limit); }
BOTH(INTEGER, memory_avail)(void) {
    size_t bytes = GA_Memory_avail(), most = INTEGER_BYTES == 8 ? (size_t)INT64_MAX : (size_t)INT32_MAX;
    return (INTEGER)(bytes > most ? most : bytes);
}
BOTH(INTEGER, cluster_nnodes)(void) { return GA_Cluster_nnodes(); }
BOTH(INTEGER, cluster_nodeid)(void) { return GA_Cluster_nodeid(); }
BOTH(INTEGER, cluster_nprocs)(INTEGER *node) { return GA_Cluster_nprocs((int)*node); }
BOTH(INTEGER, cluster_procid)(INTEGER *node, INTEGER *process) { return GA_Cluster_procid((int)*node, (int)*process); }
BOTH(INTEGER, cluster_proc_nodeid)(INTEGER *process) { return GA_Cluster_proc_nodeid((int)*process); }
BOTH(void, print)(INTEGER *g_a) { GA_Print((int)*g_a); }
BOTH(void, print_stats)(void) { GA_Print_stats(); }
BOTH(void, print_distribution)(INTEGER *g_a) { GA_Print_distribution((int)*g_a); }
BOTH(void, summarize)(LOGICAL *verbose) { GA_Summarize(*verbose != 0); }
void nga_print_patch_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *pretty) {
    PATCH at = patch(*g_a, lo, hi);
    NGA_Print_patch64((int)*g_a, at.lo, at.hi, *pretty != 0);
}
void ga_print_patch_(INTEGER *g_a, INTEGER *ilo, INTEGER *ihi, INTEGER *jlo, INTEGER *jhi, INTEGER *pretty) {
    PATCH at = patch2(*ilo, *ihi, *jlo, *jhi);
    NGA_Print_patch64((int)*g_a, at.lo, at.hi, *pretty != 0);
}

/* Groups. */
BOTH(INTEGER, pgroup_create)(INTEGER *list, INTEGER *count) {
    int number = *count > 0 ? (int)*count : 0, i, members[number + 1];
    for (i = 0; i < number; i++) members[i] = (int)list[i];
    return GA_Pgroup_create(members, number);
}
BOTH(LOGICAL, pgroup_destroy)(INTEGER *group) { return GA_Pgroup_destroy((int)*group) != 0; }
BOTH(INTEGER, pgroup_duplicate)(INTEGER *group) { return GA_Pgroup_duplicate((int)*group); }
BOTH(INTEGER, pgroup_self)(void) { return GA_Pgroup_self(); }
BOTH(INTEGER, pgroup_get_default)(void) { return GA_Pgroup_get_default(); }
BOTH(INTEGER, pgroup_get_mirror)(void) { return GA_Pgroup_get_mirror(); }
BOTH(INTEGER, pgroup_get_world)(void) { return GA_Pgroup_get_world(); }
BOTH(void, pgroup_set_default)(INTEGER *group) { GA_Pgroup_set_default((int)*group); }
BOTH(INTEGER, pgroup_split)(INTEGER *group, INTEGER *parts) { return GA_Pgroup_split((int)*group, (int)*parts); }
BOTH(INTEGER, pgroup_split_irreg)(INTEGER *group, INTEGER *color) { return GA_Pgroup_split_irreg((int)*group, (int)*color); }
BOTH(INTEGER, pgroup_nnodes)(INTEGER *group) { return GA_Pgroup_nnodes((int)*group); }
BOTH(INTEGER, pgroup_nodeid)(INTEGER *group) { return GA_Pgroup_nodeid((int)*group); }
BOTH(INTEGER, get_pgroup_size)(INTEGER *group) { return GA_Get_pgroup_size((int)*group); }
BOTH(INTEGER, pgroup_absolute_id)(INTEGER *group, INTEGER *process) { return GA_Pgroup_absolute_id((int)*group, (int)*process); }
BOTH(void, pgroup_sync)(INTEGER *group) { GA_Pgroup_sync((int)*group); }
void ga_mpi_comm_(INTEGER *comm) { *comm = MPI_Comm_c2f(GA_MPI_Comm()); }
void ga_mpi_comm_pgroup_(INTEGER *comm, INTEGER *group) { *comm = MPI_Comm_c2f(GA_MPI_Comm_pgroup((int)*group)); }
void ga_mpi_comm_pgroup_default_(INTEGER *comm) { *comm = MPI_Comm_c2f(GA_MPI_Comm_pgroup_default()); }

/* Reductions. The number that comes first is a message's name in upstream's library; in ga_gop it is a type. */
#if INTEGER_BYTES == 8
#define GA_REDUCE_INTEGERS GA_Lgop
#define GA_REDUCE_INTEGERS_IN GA_Pgroup_lgop
#else
#define GA_REDUCE_INTEGERS GA_Igop
#define GA_REDUCE_INTEGERS_IN GA_Pgroup_igop
#endif
#define REDUCE(name, group_name, function, of_group) \
    BOTH(void, name)(INTEGER *number, void *x, INTEGER *count, char *op, size_t op_length) { \
        TEXT(op); \
        (void)number; \
        function(x, (int)*count, c_op); \
    } \
    BOTH(void, group_name)(INTEGER *group, INTEGER *number, void *x, INTEGER *count, char *op, size_t op_length) { \
        TEXT(op); \
        (void)number; \
        of_group((int)*group, x, (int)*count, c_op); \
    }
REDUCE(igop, pgroup_igop, GA_REDUCE_INTEGERS, GA_REDUCE_INTEGERS_IN)
REDUCE(sgop, pgroup_sgop, GA_Fgop, GA_Pgroup_fgop)
REDUCE(dgop, pgroup_dgop, GA_Dgop, GA_Pgroup_dgop)
REDUCE(cgop, pgroup_cgop, GA_Cgop, GA_Pgroup_cgop)
REDUCE(zgop, pgroup_zgop, GA_Zgop, GA_Pgroup_zgop)
BOTH(void, gop)(INTEGER *type, void *x, INTEGER *count, char *op, size_t op_length) {
    TEXT(op);
    GA_Gop(type_in(*type), x, (int)*count, c_op);
}
BOTH(void, pgroup_gop)(INTEGER *group, INTEGER *type, void *x, INTEGER *count, char *op, size_t op_length) {
    TEXT(op);
    switch (type_in(*type)) {
    case MT_C_INT: case MT_F_INT: case MT_F_LOG: GA_Pgroup_igop((int)*group, x, (int)*count, c_op); break;
    case MT_C_LONGINT: GA_Pgroup_lgop((int)*group, x, (int)*count, c_op); break;
    case MT_C_FLOAT: case MT_F_REAL: GA_Pgroup_fgop((int)*group, x, (int)*count, c_op); break;
    case MT_C_DBL: case MT_F_DBL: GA_Pgroup_dgop((int)*group, x, (int)*count, c_op); break;
    case MT_C_SCPL: case MT_F_SCPL: GA_Pgroup_cgop((int)*group, x, (int)*count, c_op); break;
    case MT_C_DCPL: case MT_F_DCPL: GA_Pgroup_zgop((int)*group, x, (int)*count, c_op); break;
    default: GA_Error("ga_pgroup_gop: no type of Fortran's", (int)*type);
    }
}
BOTH(void, brdcst)(INTEGER *number, void *x, INTEGER *bytes, INTEGER *root) {
    (void)number;
    GA_Brdcst(x, (int)*bytes, (int)*root);
}
BOTH(void, pgroup_brdcst)(INTEGER *group, INTEGER *number, void *x, INTEGER *bytes, INTEGER *root) {
    (void)number;
    GA_Pgroup_brdcst((int)*group, x, (int)*bytes, (int)*root);
}
