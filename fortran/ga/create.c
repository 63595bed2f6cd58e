/* Arrays of Global Arrays for Fortran: creation, inquiry, distribution. */
#include "arrays.h"

static int64_t *as_given(const INTEGER *from, int number, int64_t *to) {
    reversed(to, from, number, 0);
    return to;
}

static LOGICAL made(INTEGER *g_a, int handle) {
    *g_a = handle;
    return handle != 0;
}

/* Starts of blocks: Fortran lists those of its first dimension first. */
static int64_t *starts(const INTEGER *map, const INTEGER *block, int number, int64_t *blocks) {
    int64_t total = 0, *all, *to;
    int d;
    reversed(blocks, block, number, 0);
    for (d = 0; d < number; d++) total += block[d] > 0 ? block[d] : 0;
    all = malloc(sizeof(int64_t) * (size_t)(total + 1));
    if (!all) abort();
    to = all + total;
    for (d = 0; d < number; d++) {
        int64_t count = block[d] > 0 ? block[d] : 0, i;
        to -= count;
        for (i = 0; i < count; i++) to[i] = (int64_t)map[i] - 1;
        map += count;
    }
    return all;
}

#define DIMS(name) int64_t c_##name[GA_MAX_DIM] = {0}; if (*ndim >= 0 && *ndim <= GA_MAX_DIM) as_given(name, (int)*ndim, c_##name)
/* Negative first: the library chooses all. */
#define CHUNK DIMS(chunk)
#define MAP(number) int64_t blocks[GA_MAX_DIM] = {0}, *all = starts(map, block, (int)(number), blocks)

LOGICAL ga_create_(INTEGER *type, INTEGER *dim1, INTEGER *dim2, char *name, INTEGER *chunk1, INTEGER *chunk2, INTEGER *g_a, size_t name_length) {
    int64_t dims[2] = {*dim2, *dim1}, chunk[2] = {*chunk2, *chunk1};
    TEXT(name);
    return made(g_a, NGA_Create64(type_in(*type), 2, dims, c_name, chunk));
}
LOGICAL nga_create_(INTEGER *type, INTEGER *ndim, INTEGER *dims, char *name, INTEGER *chunk, INTEGER *g_a, size_t name_length) {
    DIMS(dims);
    CHUNK;
    TEXT(name);
    return made(g_a, NGA_Create64(type_in(*type), (int)*ndim, c_dims, c_name, c_chunk));
}
LOGICAL nga_create_config_(INTEGER *type, INTEGER *ndim, INTEGER *dims, char *name, INTEGER *chunk, INTEGER *group, INTEGER *g_a,
                           size_t name_length) {
    DIMS(dims);
    CHUNK;
    TEXT(name);
    return made(g_a, NGA_Create_config64(type_in(*type), (int)*ndim, c_dims, c_name, c_chunk, (int)*group));
}
LOGICAL nga_create_ghosts_(INTEGER *type, INTEGER *ndim, INTEGER *dims, INTEGER *width, char *name, INTEGER *chunk, INTEGER *g_a,
                           size_t name_length) {
    DIMS(dims);
    DIMS(width);
    CHUNK;
    TEXT(name);
    return made(g_a, NGA_Create_ghosts64(type_in(*type), (int)*ndim, c_dims, c_width, c_name, c_chunk));
}
LOGICAL nga_create_ghosts_config_(INTEGER *type, INTEGER *ndim, INTEGER *dims, INTEGER *width, char *name, INTEGER *chunk, INTEGER *group,
                                  INTEGER *g_a, size_t name_length) {
    DIMS(dims);
    DIMS(width);
    CHUNK;
    TEXT(name);
    return made(g_a, NGA_Create_ghosts_config64(type_in(*type), (int)*ndim, c_dims, c_width, c_name, c_chunk, (int)*group));
}
LOGICAL nga_create_ghosts_irreg_(INTEGER *type, INTEGER *ndim, INTEGER *dims, INTEGER *width, char *name, INTEGER *map, INTEGER *block, INTEGER *g_a,
                                 size_t name_length) {
    DIMS(dims);
    DIMS(width);
    MAP(*ndim);
    TEXT(name);
    int handle = NGA_Create_ghosts_irreg64(type_in(*type), (int)*ndim, c_dims, c_width, c_name, blocks, all);
    free(all);
    return made(g_a, handle);
}
LOGICAL nga_create_ghosts_irreg_config_(INTEGER *type, INTEGER *ndim, INTEGER *dims, INTEGER *width, char *name, INTEGER *map, INTEGER *block,
                                        INTEGER *group, INTEGER *g_a, size_t name_length) {
    DIMS(dims);
    DIMS(width);
    MAP(*ndim);
    TEXT(name);
    int handle = NGA_Create_ghosts_irreg_config64(type_in(*type), (int)*ndim, c_dims, c_width, c_name, blocks, all, (int)*group);
    free(all);
    return made(g_a, handle);
}
LOGICAL nga_create_irreg_(INTEGER *type, INTEGER *ndim, INTEGER *dims, char *name, INTEGER *map, INTEGER *block, INTEGER *g_a, size_t name_length) {
    DIMS(dims);
    MAP(*ndim);
    TEXT(name);
    int handle = NGA_Create_irreg64(type_in(*type), (int)*ndim, c_dims, c_name, blocks, all);
    free(all);
    return made(g_a, handle);
}
LOGICAL nga_create_irreg_config_(INTEGER *type, INTEGER *ndim, INTEGER *dims, char *name, INTEGER *map, INTEGER *block, INTEGER *group, INTEGER *g_a,
                                 size_t name_length) {
    DIMS(dims);
    MAP(*ndim);
    TEXT(name);
    int handle = NGA_Create_irreg_config64(type_in(*type), (int)*ndim, c_dims, c_name, blocks, all, (int)*group);
    free(all);
    return made(g_a, handle);
}
LOGICAL ga_create_irreg_(INTEGER *type, INTEGER *dim1, INTEGER *dim2, char *name, INTEGER *map1, INTEGER *block1, INTEGER *map2, INTEGER *block2,
                         INTEGER *g_a, size_t name_length) {
    int64_t dims[2] = {*dim2, *dim1}, blocks[2] = {*block2, *block1}, i;
    int64_t *all = malloc(sizeof(int64_t) * (size_t)(*block1 + *block2 + 1));
    TEXT(name);
    int handle;
    if (!all) abort();
    for (i = 0; i < *block2; i++) all[i] = (int64_t)map2[i] - 1;
    for (i = 0; i < *block1; i++) all[*block2 + i] = (int64_t)map1[i] - 1;
    handle = NGA_Create_irreg64(type_in(*type), 2, dims, c_name, blocks, all);
    free(all);
    return made(g_a, handle);
}

BOTH(INTEGER, create_handle)(void) { return GA_Create_handle(); }
BOTH(LOGICAL, allocate)(INTEGER *g_a) { return GA_Allocate((int)*g_a) != 0; }
BOTH(LOGICAL, deallocate)(INTEGER *g_a) { return GA_Deallocate((int)*g_a) != 0; }
BOTH(LOGICAL, destroy)(INTEGER *g_a) {
    GA_Destroy((int)*g_a);
    return 1;
}
BOTH(LOGICAL, duplicate)(INTEGER *g_a, INTEGER *g_b, char *name, size_t name_length) {
    TEXT(name);
    return made(g_b, GA_Duplicate((int)*g_a, c_name));
}
BOTH(LOGICAL, overlay)(INTEGER *g_a, INTEGER *g_p) { return GA_Overlay((int)*g_a, (int)*g_p) != 0; }
BOTH(LOGICAL, compare_distr)(INTEGER *g_a, INTEGER *g_b) { return GA_Compare_distr((int)*g_a, (int)*g_b) == 0; }
BOTH(INTEGER, register_type)(INTEGER *bytes) { return NGA_Register_type((size_t)*bytes); }
BOTH(INTEGER, deregister_type)(INTEGER *type) { return NGA_Deregister_type((int)*type); }

/* Setting the parts of a handle. How many dimensions it has is known from nga_set_data on. */
#define OF(name) int64_t c_##name[GA_MAX_DIM] = {0}; as_given(name, dimensions(*g_a), c_##name)
BOTH(void, set_array_name)(INTEGER *g_a, char *name, size_t name_length) {
    TEXT(name);
    GA_Set_array_name((int)*g_a, c_name);
}
BOTH(void, set_data)(INTEGER *g_a, INTEGER *ndim, INTEGER *dims, INTEGER *type) {
    DIMS(dims);
    GA_Set_data64((int)*g_a, (int)*ndim, c_dims, type_in(*type));
}
BOTH(void, set_chunk)(INTEGER *g_a, INTEGER *chunk) {
    OF(chunk);
    GA_Set_chunk64((int)*g_a, c_chunk);
}
BOTH(void, set_ghosts)(INTEGER *g_a, INTEGER *width) {
    OF(width);
    GA_Set_ghosts64((int)*g_a, c_width);
}
BOTH(void, set_block_cyclic)(INTEGER *g_a, INTEGER *dims) {
    OF(dims);
    GA_Set_block_cyclic64((int)*g_a, c_dims);
}
BOTH(void, set_block_cyclic_proc_grid)(INTEGER *g_a, INTEGER *dims, INTEGER *grid) {
    OF(dims);
    OF(grid);
    GA_Set_block_cyclic_proc_grid64((int)*g_a, c_dims, c_grid);
}
BOTH(void, set_tiled_proc_grid)(INTEGER *g_a, INTEGER *dims, INTEGER *grid) {
    OF(dims);
    OF(grid);
    GA_Set_tiled_proc_grid64((int)*g_a, c_dims, c_grid);
}
BOTH(void, set_tiled_irreg_proc_grid)(INTEGER *g_a, INTEGER *map, INTEGER *block, INTEGER *grid) {
    MAP(dimensions(*g_a));
    OF(grid);
    GA_Set_tiled_irreg_proc_grid64((int)*g_a, all, blocks, c_grid);
    free(all);
}
BOTH(void, set_irreg_distr)(INTEGER *g_a, INTEGER *map, INTEGER *block) {
    MAP(dimensions(*g_a));
    GA_Set_irreg_distr64((int)*g_a, all, blocks);
    free(all);
}
BOTH(void, set_irreg_flag)(INTEGER *g_a, LOGICAL *flag) { GA_Set_irreg_flag((int)*g_a, *flag != 0); }
BOTH(void, set_pgroup)(INTEGER *g_a, INTEGER *group) { GA_Set_pgroup((int)*g_a, (int)*group); }
BOTH(void, set_restricted)(INTEGER *g_a, INTEGER *list, INTEGER *size) {
    int number = *size > 0 ? (int)*size : 0, i, processes[number + 1];
    for (i = 0; i < number; i++) processes[i] = (int)list[i];
    GA_Set_restricted((int)*g_a, processes, number);
}
BOTH(void, set_restricted_range)(INTEGER *g_a, INTEGER *lo, INTEGER *hi) { GA_Set_restricted_range((int)*g_a, (int)*lo, (int)*hi); }
BOTH(void, set_ghost_corner_flag)(INTEGER *g_a, LOGICAL *flag) { GA_Set_ghost_corner_flag((int)*g_a, *flag != 0); }
BOTH(void, set_property)(INTEGER *g_a, char *name, size_t name_length) {
    TEXT(name);
    GA_Set_property((int)*g_a, c_name);
}
BOTH(void, unset_property)(INTEGER *g_a) { GA_Unset_property((int)*g_a); }
BOTH(void, set_memory_dev)(INTEGER *g_a, char *name, size_t name_length) {
    TEXT(name);
    GA_Set_memory_dev((int)*g_a, c_name);
}

/* What arrays tell of themselves. */
void ga_inquire_(INTEGER *g_a, INTEGER *type, INTEGER *dim1, INTEGER *dim2) {
    int c_type = 0, ndim = 0;
    int64_t dims[GA_MAX_DIM] = {1};
    NGA_Inquire64((int)*g_a, &c_type, &ndim, dims);
    *type = type_out(c_type);
    *dim1 = (INTEGER)(ndim > 0 ? dims[ndim - 1] : 1);
    *dim2 = (INTEGER)(ndim > 1 ? dims[ndim - 2] : 1);
}
void nga_inquire_(INTEGER *g_a, INTEGER *type, INTEGER *ndim, INTEGER *dims) {
    int c_type = 0, c_ndim = 0;
    int64_t c_dims[GA_MAX_DIM] = {0};
    NGA_Inquire64((int)*g_a, &c_type, &c_ndim, c_dims);
    *type = type_out(c_type);
    *ndim = c_ndim;
    reversed_out(dims, c_dims, c_ndim, 0);
}
int type_of(INTEGER g_a) {
    int type = 0, ndim;
    int64_t dims[GA_MAX_DIM];
    NGA_Inquire64((int)g_a, &type, &ndim, dims);
    return type;
}
BOTH(void, inquire_name)(INTEGER *g_a, char *name, size_t name_length) { text_out(GA_Inquire_name((int)*g_a), name, name_length); }
ALSO(ga_get_array_name, ga_inquire_name);
ALSO(nga_get_array_name, ga_inquire_name);
BOTH(INTEGER, get_dimension)(INTEGER *g_a) { return GA_Get_dimension((int)*g_a); }
BOTH(INTEGER, ndim)(INTEGER *g_a) { return GA_Ndim((int)*g_a); }
BOTH(INTEGER, get_pgroup)(INTEGER *g_a) { return GA_Get_pgroup((int)*g_a); }
BOTH(LOGICAL, has_ghosts)(INTEGER *g_a) { return GA_Has_ghosts((int)*g_a) != 0; }
BOTH(LOGICAL, is_mirrored)(INTEGER *g_a) { return GA_Is_mirrored((int)*g_a) != 0; }
BOTH(LOGICAL, uses_proc_grid)(INTEGER *g_a) { return GA_Uses_proc_grid((int)*g_a) != 0; }
BOTH(LOGICAL, valid_handle)(INTEGER *g_a) { return GA_Valid_handle((int)*g_a) != 0; }
BOTH(INTEGER, verify_handle)(INTEGER *g_a) { return GA_Verify_handle((int)*g_a); }
BOTH(void, check_handle)(INTEGER *g_a, char *text, size_t text_length) {
    TEXT(text);
    GA_Check_handle((int)*g_a, c_text);
}
BOTH(INTEGER, total_blocks)(INTEGER *g_a) { return GA_Total_blocks((int)*g_a); }
BOTH(void, nblock)(INTEGER *g_a, INTEGER *counts) {
    int c_counts[GA_MAX_DIM] = {0}, number = dimensions(*g_a), i;
    GA_Nblock((int)*g_a, c_counts);
    for (i = 0; i < number; i++) counts[i] = c_counts[number - 1 - i];
}
BOTH(void, get_block_info)(INTEGER *g_a, INTEGER *counts, INTEGER *extents) {
    int c_counts[GA_MAX_DIM] = {0}, c_extents[GA_MAX_DIM] = {0}, number = dimensions(*g_a), i;
    GA_Get_block_info((int)*g_a, c_counts, c_extents);
    for (i = 0; i < number; i++) {
        counts[i] = c_counts[number - 1 - i];
        extents[i] = c_extents[number - 1 - i];
    }
}
/* C tells these in Fortran's order. */
BOTH(void, get_proc_grid)(INTEGER *g_a, INTEGER *dims) {
    int c_dims[GA_MAX_DIM] = {0}, number = dimensions(*g_a), i;
    GA_Get_proc_grid((int)*g_a, c_dims);
    for (i = 0; i < number; i++) dims[i] = c_dims[i];
}
void nga_proc_topology_(INTEGER *g_a, INTEGER *process, INTEGER *coordinates) {
    int c_coordinates[GA_MAX_DIM] = {0}, number = dimensions(*g_a), i;
    NGA_Proc_topology((int)*g_a, (int)*process, c_coordinates);
    for (i = 0; i < number; i++) coordinates[i] = c_coordinates[i];
}
void ga_proc_topology_(INTEGER *g_a, INTEGER *process, INTEGER *row, INTEGER *column) {
    int coordinates[GA_MAX_DIM] = {0};
    NGA_Proc_topology((int)*g_a, (int)*process, coordinates);
    *row = coordinates[0];
    *column = coordinates[1];
}
BOTH(void, get_proc_index)(INTEGER *g_a, INTEGER *process, INTEGER *subscript) {
    int c_subscript[GA_MAX_DIM] = {0}, number = dimensions(*g_a), i;
    GA_Get_proc_index((int)*g_a, (int)*process, c_subscript);
    for (i = 0; i < number; i++) subscript[i] = c_subscript[number - 1 - i];
}

/* Where elements are. */
void nga_distribution_(INTEGER *g_a, INTEGER *process, INTEGER *lo, INTEGER *hi) {
    PATCH at = {{0}, {0}};
    int number = dimensions(*g_a);
    NGA_Distribution64((int)*g_a, (int)*process, at.lo, at.hi);
    reversed_out(lo, at.lo, number, 1);
    reversed_out(hi, at.hi, number, 1);
}
void ga_distribution_(INTEGER *g_a, INTEGER *process, INTEGER *ilo, INTEGER *ihi, INTEGER *jlo, INTEGER *jhi) {
    INTEGER lo[GA_MAX_DIM] = {0, 1}, hi[GA_MAX_DIM] = {0, 1};
    nga_distribution_(g_a, process, lo, hi);
    *ilo = lo[0];
    *jlo = lo[1];
    *ihi = hi[0];
    *jhi = hi[1];
}
LOGICAL nga_locate_(INTEGER *g_a, INTEGER *subscript, INTEGER *owner) {
    int64_t at[GA_MAX_DIM] = {0};
    reversed(at, subscript, dimensions(*g_a), 1);
    *owner = NGA_Locate64((int)*g_a, at);
    return *owner >= 0;
}
LOGICAL ga_locate_(INTEGER *g_a, INTEGER *i, INTEGER *j, INTEGER *owner) {
    INTEGER at[2] = {*i, *j};
    return nga_locate_(g_a, at, owner);
}
INTEGER nga_locate_num_blocks_(INTEGER *g_a, INTEGER *lo, INTEGER *hi) {
    int number = dimensions(*g_a), c_lo[GA_MAX_DIM] = {0}, c_hi[GA_MAX_DIM] = {0}, i;
    for (i = 0; i < number; i++) {
        c_lo[i] = (int)lo[number - 1 - i] - 1;
        c_hi[i] = (int)hi[number - 1 - i] - 1;
    }
    return NGA_Locate_num_blocks((int)*g_a, c_lo, c_hi);
}
LOGICAL nga_locate_nnodes_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *number) {
    PATCH at = patch(*g_a, lo, hi);
    *number = NGA_Locate_nnodes64((int)*g_a, at.lo, at.hi);
    return *number > 0;
}
LOGICAL ga_locate_nnodes_(INTEGER *g_a, INTEGER *ilo, INTEGER *ihi, INTEGER *jlo, INTEGER *jhi, INTEGER *number) {
    PATCH at = patch2(*ilo, *ihi, *jlo, *jhi);
    *number = NGA_Locate_nnodes64((int)*g_a, at.lo, at.hi);
    return *number > 0;
}
/* Pieces and their processes, as C has them, in memory to be freed. */
static int pieces(INTEGER g_a, const PATCH *at, int64_t **map, int **processes) {
    int most = NGA_Locate_nnodes64((int)g_a, at->lo, at->hi);
    if (most < GA_Nnodes()) most = GA_Nnodes();
    if (most < GA_Total_blocks((int)g_a)) most = GA_Total_blocks((int)g_a);
    *map = malloc(sizeof(int64_t) * 2 * GA_MAX_DIM * (size_t)most);
    *processes = malloc(sizeof(int) * (size_t)most);
    if (!*map || !*processes) abort();
    return NGA_Locate_region64((int)g_a, at->lo, at->hi, *map, *processes);
}
LOGICAL nga_locate_region_(INTEGER *g_a, INTEGER *lo, INTEGER *hi, INTEGER *map, INTEGER *list, INTEGER *number) {
    PATCH at = patch(*g_a, lo, hi);
    int64_t *c_map;
    int *processes, n = dimensions(*g_a), found = pieces(*g_a, &at, &c_map, &processes), i;
    for (i = 0; i < found; i++) {
        reversed_out(map + 2 * n * i, c_map + 2 * n * i, n, 1);
        reversed_out(map + 2 * n * i + n, c_map + 2 * n * i + n, n, 1);
        list[i] = processes[i];
    }
    free(c_map);
    free(processes);
    *number = found;
    return found > 0;
}
LOGICAL ga_locate_region_(INTEGER *g_a, INTEGER *ilo, INTEGER *ihi, INTEGER *jlo, INTEGER *jhi, INTEGER *map, INTEGER *number) {
    PATCH at = patch2(*ilo, *ihi, *jlo, *jhi);
    int64_t *c_map;
    int *processes, found = pieces(*g_a, &at, &c_map, &processes), i;
    for (i = 0; i < found; i++) {
        const int64_t *piece = c_map + 4 * i;
        INTEGER values[5] = {(INTEGER)piece[1] + 1, (INTEGER)piece[3] + 1, (INTEGER)piece[0] + 1, (INTEGER)piece[2] + 1, processes[i]};
        memcpy(map + 5 * i, values, sizeof values);
    }
    free(c_map);
    free(processes);
    *number = found;
    return found > 0;
}
