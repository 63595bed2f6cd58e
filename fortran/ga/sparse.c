/* Sparse matrices of Global Arrays for Fortran. Dense ones are turned for C, which has rows where Fortran has columns. */
#include "arrays.h"

/* The transpose of a matrix, in an array of its own. */
static int transposed(int g_a) {
    int type, ndim, made;
    int64_t dims[GA_MAX_DIM] = {0}, other[2], chunk[2] = {0, 0};
    NGA_Inquire64(g_a, &type, &ndim, dims);
    if (ndim != 2) GA_Error("an array beside a sparse matrix is no matrix, it has this many dimensions", ndim);
    other[0] = dims[1];
    other[1] = dims[0];
    made = NGA_Create_config64(type, 2, other, "turned", chunk, GA_Get_pgroup(g_a));
    if (!made) GA_Error("there is no memory for the transpose of an array of rows", (int)dims[0]);
    GA_Transpose(g_a, made);
    return made;
}
/* What C has made of it, as Fortran has it. */
static INTEGER turned_back(int g_a) {
    int made = transposed(g_a);
    GA_Destroy(g_a);
    return made;
}

/* C has sparse arrays with indexes of 4 bytes, and of 8: those of INTEGERs. */
#if INTEGER_BYTES == 8
#define SPARSE(name) NGA_Sprs_array_##name##64
#else
#define SPARSE(name) NGA_Sprs_array_##name
#endif
INTEGER nga_sprs_array_create_(INTEGER *rows, INTEGER *columns, INTEGER *type) {
    return SPARSE(create)(*rows, *columns, type_in(*type));
}
INTEGER nga_sprs_array_create_from_dense_(INTEGER *g_a) {
    int dense = transposed((int)*g_a), made = SPARSE(create_from_dense)(dense);
    GA_Destroy(dense);
    return made;
}
INTEGER nga_sprs_array_create_from_sparse_(INTEGER *s_a) { return NGA_Sprs_array_create_from_sparse((int)*s_a); }
INTEGER nga_sprs_array_duplicate_(INTEGER *s_a) { return NGA_Sprs_array_duplicate((int)*s_a); }
LOGICAL nga_sprs_array_destroy_(INTEGER *s_a) { return NGA_Sprs_array_destroy((int)*s_a) != 0; }
void nga_sprs_array_add_element_(INTEGER *s_a, INTEGER *i, INTEGER *j, void *value) {
    NGA_Sprs_array_add_element64((int)*s_a, (int64_t)*i - 1, (int64_t)*j - 1, value);
}
LOGICAL nga_sprs_array_assemble_(INTEGER *s_a) { return NGA_Sprs_array_assemble((int)*s_a) != 0; }
void nga_sprs_array_row_distribution_(INTEGER *s_a, INTEGER *process, INTEGER *lo, INTEGER *hi) {
    int64_t first = 0, last = -1;
    NGA_Sprs_array_row_distribution64((int)*s_a, (int)*process, &first, &last);
    *lo = (INTEGER)first + 1;
    *hi = (INTEGER)last + 1;
}
void nga_sprs_array_column_distribution_(INTEGER *s_a, INTEGER *process, INTEGER *lo, INTEGER *hi) {
    int64_t first = 0, last = -1;
    NGA_Sprs_array_column_distribution64((int)*s_a, (int)*process, &first, &last);
    *lo = (INTEGER)first + 1;
    *hi = (INTEGER)last + 1;
}
void nga_sprs_array_col_block_list_(INTEGER *s_a, INTEGER *list, INTEGER *count) {
    int *found = NULL, number = 0, i;
    NGA_Sprs_array_col_block_list((int)*s_a, &found, &number);
    if (*count < number) GA_Error("nga_sprs_array_col_block_list: the list is too short; there are blocks", number);
    for (i = 0; i < number; i++) list[i] = found[i];
    *count = number;
    free(found);
}
/* Starts of rows and columns are in INTEGERs of the common block, from 0 on, as C has them; values in the block of their type. A block without
 * elements has the indexes 0. Upstream's second and third index are one too low (sparse.array.c of 5.9 adds it to the first alone). */
void nga_sprs_array_access_col_block_(INTEGER *s_a, INTEGER *block, INDEX *starts, INDEX *columns, INDEX *values) {
    INTEGER *i = NULL, *j = NULL;
    void *first = NULL;
    SPARSE(access_col_block)((int)*s_a, (int)*block, &i, &j, &first);
    *starts = index_of(i, type_in(MT_F_INT));
    *columns = index_of(j, type_in(MT_F_INT));
    *values = index_of(first, NGA_Sprs_array_type((int)*s_a));
}
void nga_sprs_array_matvec_multiply_(INTEGER *s_a, INTEGER *g_a, INTEGER *g_v) { NGA_Sprs_array_matvec_multiply((int)*s_a, (int)*g_a, (int)*g_v); }
INTEGER nga_sprs_array_matmat_multiply_(INTEGER *s_a, INTEGER *s_b) { return NGA_Sprs_array_matmat_multiply((int)*s_a, (int)*s_b); }
INTEGER nga_sprs_array_sprsdns_multiply_(INTEGER *s_a, INTEGER *g_b) {
    int dense = transposed((int)*g_b);
    INTEGER made = turned_back(NGA_Sprs_array_sprsdns_multiply((int)*s_a, dense));
    GA_Destroy(dense);
    return made;
}
INTEGER nga_sprs_array_dnssprs_multiply_(INTEGER *g_a, INTEGER *s_b) {
    int dense = transposed((int)*g_a);
    INTEGER made = turned_back(NGA_Sprs_array_dnssprs_multiply(dense, (int)*s_b));
    GA_Destroy(dense);
    return made;
}
/* The sketch; rows (from 0) are in an array of C's int, as C has them. */
INTEGER nga_sprs_array_count_sketch_(INTEGER *s_a, INTEGER *height, INTEGER *g_k, INTEGER *g_w) {
    int rows = 0, signs = 0, made = NGA_Sprs_array_count_sketch((int)*s_a, (int)*height, &rows, &signs);
    *g_k = rows;
    *g_w = signs;
    return turned_back(made);
}
void nga_sprs_array_get_diag_(INTEGER *s_a, INTEGER *g_d) {
    int made = 0;
    NGA_Sprs_array_get_diag((int)*s_a, &made);
    *g_d = made;
}
void nga_sprs_array_diag_left_multiply_(INTEGER *s_a, INTEGER *g_d) { NGA_Sprs_array_diag_left_multiply((int)*s_a, (int)*g_d); }
void nga_sprs_array_diag_right_multiply_(INTEGER *s_a, INTEGER *g_d) { NGA_Sprs_array_diag_right_multiply((int)*s_a, (int)*g_d); }
void nga_sprs_array_scale_(INTEGER *s_a, void *factor) { NGA_Sprs_array_scale((int)*s_a, factor); }
void nga_sprs_array_shift_diag_(INTEGER *s_a, void *value) { NGA_Sprs_array_shift_diag((int)*s_a, value); }
void nga_sprs_array_export_(INTEGER *s_a, char *file, size_t file_length) {
    TEXT(file);
    NGA_Sprs_array_export((int)*s_a, c_file);
}
