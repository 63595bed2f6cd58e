/* Global Arrays for C: distributed dense arrays with one-sided access. Source-compatible with the header of Global Arrays 5.9.
 *
 * Dimensions are in C's order, indexes begin at 0, patches include both corners. ld[d] is the extent of dimension d + 1 in the
 * program's buffer. A mistake ends the job with a line that names the routine, the array and the index, unless a handler that was
 * set by GA_Set_error_handler leaves first. What each function does, and what is not there: docs/ga.md. */
#ifndef ISTHMUS_GA_H
#define ISTHMUS_GA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include "gacommon.h"
#include "typesf2c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A non-blocking operation. */
typedef Integer ga_nbhdl_t;

/* Start, end, waiting, mutexes. */
int GA_Cluster_nnodes(void);
int GA_Cluster_nodeid(void);
int GA_Cluster_nprocs(int node);
int GA_Cluster_proc_nodeid(int process);
int GA_Cluster_procid(int node, int process);
int GA_Create_mutexes(int number);
int GA_Destroy_mutexes(void);
void GA_Error(const char *message, int code);
void GA_Fence(void);
int GA_Get_debug(void);
void GA_Init_fence(void);
void GA_Initialize(void);
void GA_Initialize_args(int argc[], void *argv);
int GA_Initialize_comm(MPI_Comm comm);
void GA_Initialize_ltd(size_t limit);
int GA_Initialized(void);
void GA_List_nodeid(int list[], int count);
void GA_Lock(int mutex);
void GA_Mask_sync(int first, int last);
int GA_Nnodes(void);
int GA_Nodeid(void);
void GA_Set_debug(int flag);
void GA_Set_error_handler(void (*handler)(const char *message, int code));
void GA_Sync(void);
void GA_Terminate(void);
void GA_Unlock(int mutex);
int GA_Uses_fapi(void);
int GA_Uses_ma(void);
double GA_Wtime(void);
int NGA_Destroy_mutexes(void);
void NGA_Error(const char *message, int code);
void NGA_Fence(void);
int NGA_Get_debug(void);
void NGA_Init_fence(void);
void NGA_Initialize(void);
int NGA_Initialize_comm(MPI_Comm comm);
void NGA_Initialize_ltd(size_t limit);
int NGA_Initialized(void);
void NGA_List_nodeid(int list[], int count);
void NGA_Lock(int mutex);
void NGA_Mask_sync(int first, int last);
int NGA_Nnodes(void);
int NGA_Nodeid(void);
void NGA_Set_debug(int flag);
void NGA_Sync(void);
void NGA_Terminate(void);
void NGA_Unlock(int mutex);
int NGA_Uses_ma(void);
double NGA_Wtime(void);

/* Creation. */
int GA_Allocate(int g_a);
int GA_Create_handle(void);
int GA_Deallocate(int g_a);
void GA_Destroy(int g_a);
int GA_Duplicate(int g_a, const char *name);
void GA_Merge_mirrored(int g_a);
void GA_Set_array_name(int g_a, const char *name);
void GA_Set_block_cyclic(int g_a, const int dims[]);
void GA_Set_block_cyclic64(int g_a, const int64_t dims[]);
void GA_Set_block_cyclic_proc_grid(int g_a, const int block[], const int grid[]);
void GA_Set_block_cyclic_proc_grid64(int g_a, const int64_t block[], const int64_t grid[]);
void GA_Set_chunk(int g_a, const int chunk[]);
void GA_Set_chunk64(int g_a, const int64_t chunk[]);
void GA_Set_data(int g_a, int ndim, const int dims[], int type);
void GA_Set_data64(int g_a, int ndim, const int64_t dims[], int type);
void GA_Set_ghost_corner_flag(int g_a, int flag);
void GA_Set_ghosts(int g_a, const int width[]);
void GA_Set_ghosts64(int g_a, const int64_t width[]);
void GA_Set_irreg_distr(int g_a, const int map[], const int block[]);
void GA_Set_irreg_distr64(int g_a, const int64_t map[], const int64_t block[]);
void GA_Set_irreg_flag(int g_a, int flag);
void GA_Set_memory_dev(int g_a, const char *device);
void GA_Set_pgroup(int g_a, int group);
void GA_Set_property(int g_a, const char *property);
void GA_Set_restricted(int g_a, const int processes[], int size);
void GA_Set_restricted_range(int g_a, int lo, int hi);
void GA_Set_tiled_irreg_proc_grid(int g_a, const int map[], const int blocks[], const int grid[]);
void GA_Set_tiled_irreg_proc_grid64(int g_a, const int64_t map[], const int64_t blocks[], const int64_t grid[]);
void GA_Set_tiled_proc_grid(int g_a, const int block[], const int grid[]);
void GA_Set_tiled_proc_grid64(int g_a, const int64_t block[], const int64_t grid[]);
void GA_Unset_property(int g_a);
int NGA_Allocate(int g_a);
int NGA_Create(int type, int ndim, const int dims[], const char *name, const int chunk[]);
int NGA_Create64(int type, int ndim, const int64_t dims[], const char *name, const int64_t chunk[]);
int NGA_Create_config(int type, int ndim, const int dims[], const char *name, const int chunk[], int group);
int NGA_Create_config64(int type, int ndim, const int64_t dims[], const char *name, const int64_t chunk[], int group);
int NGA_Create_ghosts(int type, int ndim, const int dims[], const int width[], const char *name, const int chunk[]);
int NGA_Create_ghosts64(int type, int ndim, const int64_t dims[], const int64_t width[], const char *name, const
    int64_t chunk[]);
int NGA_Create_ghosts_config(int type, int ndim, const int dims[], const int width[], const char *name, const int
    chunk[], int group);
int NGA_Create_ghosts_config64(int type, int ndim, const int64_t dims[], const int64_t width[], const char *name,
    const int64_t chunk[], int group);
int NGA_Create_ghosts_irreg(int type, int ndim, const int dims[], const int width[], const char *name, const int
    block[], const int map[]);
int NGA_Create_ghosts_irreg64(int type, int ndim, const int64_t dims[], const int64_t width[], const char *name, const
    int64_t block[], const int64_t map[]);
int NGA_Create_ghosts_irreg_config(int type, int ndim, const int dims[], const int width[], const char *name, const
    int block[], const int map[], int group);
int NGA_Create_ghosts_irreg_config64(int type, int ndim, const int64_t dims[], const int64_t width[], const char
    *name, const int64_t block[], const int64_t map[], int group);
int NGA_Create_handle(void);
int NGA_Create_irreg(int type, int ndim, const int dims[], const char *name, const int block[], const int map[]);
int NGA_Create_irreg64(int type, int ndim, const int64_t dims[], const char *name, const int64_t block[], const
    int64_t map[]);
int NGA_Create_irreg_config(int type, int ndim, const int dims[], const char *name, const int block[], const int
    map[], int group);
int NGA_Create_irreg_config64(int type, int ndim, const int64_t dims[], const char *name, const int64_t block[], const
    int64_t map[], int group);
int NGA_Deallocate(int g_a);
int NGA_Deregister_type(int type);
void NGA_Destroy(int g_a);
int NGA_Duplicate(int g_a, const char *name);
void NGA_Merge_mirrored(int g_a);
int NGA_Register_type(size_t bytes);
void NGA_Set_array_name(int g_a, const char *name);
void NGA_Set_block_cyclic(int g_a, const int dims[]);
void NGA_Set_block_cyclic64(int g_a, const int64_t dims[]);
void NGA_Set_block_cyclic_proc_grid(int g_a, const int block[], const int grid[]);
void NGA_Set_block_cyclic_proc_grid64(int g_a, const int64_t block[], const int64_t grid[]);
void NGA_Set_chunk(int g_a, const int chunk[]);
void NGA_Set_chunk64(int g_a, const int64_t chunk[]);
void NGA_Set_data(int g_a, int ndim, const int dims[], int type);
void NGA_Set_data64(int g_a, int ndim, const int64_t dims[], int type);
void NGA_Set_ghosts(int g_a, const int width[]);
void NGA_Set_ghosts64(int g_a, const int64_t width[]);
void NGA_Set_irreg_distr(int g_a, const int map[], const int block[]);
void NGA_Set_irreg_distr64(int g_a, const int64_t map[], const int64_t block[]);
void NGA_Set_irreg_flag(int g_a, int flag);
void NGA_Set_memory_dev(int g_a, const char *device);
void NGA_Set_pgroup(int g_a, int group);
void NGA_Set_property(int g_a, const char *property);
void NGA_Set_restricted(int g_a, const int processes[], int size);
void NGA_Set_restricted_range(int g_a, int lo, int hi);
void NGA_Set_tiled_irreg_proc_grid(int g_a, const int map[], const int blocks[], const int grid[]);
void NGA_Set_tiled_irreg_proc_grid64(int g_a, const int64_t map[], const int64_t blocks[], const int64_t grid[]);
void NGA_Set_tiled_proc_grid(int g_a, const int block[], const int grid[]);
void NGA_Set_tiled_proc_grid64(int g_a, const int64_t block[], const int64_t grid[]);
void NGA_Unset_property(int g_a);

/* Inquiry. */
void GA_Check_handle(int g_a, const char *what);
int GA_Compare_distr(int a, int b);
void GA_Get_block_info(int g_a, int counts[], int extents[]);
int GA_Get_dimension(int g_a);
int GA_Get_pgroup(int g_a);
void GA_Get_proc_grid(int g_a, int dims[]);
void GA_Get_proc_index(int g_a, int process, int subscript[]);
int GA_Has_ghosts(int g_a);
size_t GA_Inquire_memory(void);
char *GA_Inquire_name(int g_a);
int GA_Is_mirrored(int g_a);
size_t GA_Memory_avail(void);
int GA_Memory_limited(void);
void GA_Nblock(int g_a, int counts[]);
int GA_Ndim(int g_a);
void GA_Set_memory_limit(size_t limit);
int GA_Total_blocks(int g_a);
int GA_Uses_proc_grid(int g_a);
int GA_Valid_handle(int g_a);
int GA_Verify_handle(int g_a);
int NGA_Compare_distr(int a, int b);
void NGA_Distribution(int g_a, int process, int lo[], int hi[]);
void NGA_Distribution64(int g_a, int process, int64_t lo[], int64_t hi[]);
void NGA_Get_block_info(int g_a, int counts[], int extents[]);
int NGA_Get_dimension(int g_a);
int NGA_Get_pgroup(int g_a);
void NGA_Get_proc_grid(int g_a, int dims[]);
void NGA_Get_proc_index(int g_a, int process, int subscript[]);
int NGA_Has_ghosts(int g_a);
void NGA_Inquire(int g_a, int type[], int ndim[], int dims[]);
void NGA_Inquire64(int g_a, int type[], int ndim[], int64_t dims[]);
size_t NGA_Inquire_memory(void);
char *NGA_Inquire_name(int g_a);
int NGA_Is_mirrored(int g_a);
int NGA_Locate(int g_a, const int subscript[]);
int NGA_Locate64(int g_a, const int64_t subscript[]);
int NGA_Locate_nnodes(int g_a, const int lo[], const int hi[]);
int NGA_Locate_nnodes64(int g_a, const int64_t lo[], const int64_t hi[]);
int NGA_Locate_num_blocks(int g_a, const int lo[], const int hi[]);
int NGA_Locate_region(int g_a, const int lo[], const int hi[], int map[], int processes[]);
int NGA_Locate_region64(int g_a, const int64_t lo[], const int64_t hi[], int64_t map[], int processes[]);
size_t NGA_Memory_avail(void);
int NGA_Memory_limited(void);
void NGA_Nblock(int g_a, int counts[]);
int NGA_Ndim(int g_a);
void NGA_Proc_topology(int g_a, int process, int coordinates[]);
void NGA_Set_memory_limit(size_t limit);
int NGA_Total_blocks(int g_a);
int NGA_Uses_proc_grid(int g_a);
int NGA_Valid_handle(int g_a);
int NGA_Verify_handle(int g_a);

/* Access to the own part. */
void NGA_Access(int g_a, const int lo[], const int hi[], void *ptr, int ld[]);
void NGA_Access64(int g_a, const int64_t lo[], const int64_t hi[], void *ptr, int64_t ld[]);
void NGA_Access_block(int g_a, int number, void *ptr, int ld[]);
void NGA_Access_block64(int g_a, int64_t number, void *ptr, int64_t ld[]);
void NGA_Access_block_grid(int g_a, const int index[], void *ptr, int ld[]);
void NGA_Access_block_grid64(int g_a, const int64_t index[], void *ptr, int64_t ld[]);
void NGA_Access_block_segment(int g_a, int process, void *ptr, int length[]);
void NGA_Access_block_segment64(int g_a, int process, void *ptr, int64_t length[]);
void NGA_Access_ghost_element(int g_a, void *ptr, const int subscript[], int ld[]);
void NGA_Access_ghost_element64(int g_a, void *ptr, const int64_t subscript[], int64_t ld[]);
void NGA_Access_ghosts(int g_a, int dims[], void *ptr, int ld[]);
void NGA_Access_ghosts64(int g_a, int64_t dims[], void *ptr, int64_t ld[]);
void NGA_Release(int g_a, const int lo[], const int hi[]);
void NGA_Release64(int g_a, const int64_t lo[], const int64_t hi[]);
void NGA_Release_block(int g_a, int number);
void NGA_Release_block_grid(int g_a, const int index[]);
void NGA_Release_block_segment(int g_a, int process);
void NGA_Release_ghost_element(int g_a, const int index[]);
void NGA_Release_ghost_element64(int g_a, const int64_t index[]);
void NGA_Release_ghosts(int g_a);
void NGA_Release_update(int g_a, const int lo[], const int hi[]);
void NGA_Release_update64(int g_a, const int64_t lo[], const int64_t hi[]);
void NGA_Release_update_block(int g_a, int number);
void NGA_Release_update_block_grid(int g_a, const int index[]);
void NGA_Release_update_block_segment(int g_a, int process);
void NGA_Release_update_ghost_element(int g_a, const int index[]);
void NGA_Release_update_ghost_element64(int g_a, const int64_t index[]);
void NGA_Release_update_ghosts(int g_a);

/* One-sided operations. */
void NGA_Acc(int g_a, const int lo[], const int hi[], void *at, const int ld[], const void *alpha);
void NGA_Acc64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[], const void *alpha);
void NGA_Alloc_gatscat_buf(int count);
void NGA_Free_gatscat_buf(void);
void NGA_Gather(int g_a, void *values, int *at[], int count);
void NGA_Gather64(int g_a, void *values, int64_t *at[], int64_t count);
void NGA_Gather_flat(int g_a, void *values, const int at[], int count);
void NGA_Gather_flat64(int g_a, void *values, const int64_t at[], int64_t count);
void NGA_Get(int g_a, const int lo[], const int hi[], void *at, const int ld[]);
void NGA_Get64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[]);
void NGA_NbAcc(int g_a, const int lo[], const int hi[], void *at, const int ld[], const void *alpha, ga_nbhdl_t
    *nbhandle);
void NGA_NbAcc64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[], const void *alpha,
    ga_nbhdl_t *nbhandle);
void NGA_NbGet(int g_a, const int lo[], const int hi[], void *at, const int ld[], ga_nbhdl_t *nbhandle);
void NGA_NbGet64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[], ga_nbhdl_t
    *nbhandle);
void NGA_NbPut(int g_a, const int lo[], const int hi[], void *at, const int ld[], ga_nbhdl_t *nbhandle);
void NGA_NbPut64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[], ga_nbhdl_t
    *nbhandle);
int NGA_NbTest(ga_nbhdl_t *nbhandle);
void NGA_NbWait(ga_nbhdl_t *nbhandle);
void NGA_Periodic_acc(int g_a, const int lo[], const int hi[], void *at, const int ld[], const void *alpha);
void NGA_Periodic_acc64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[], const void
    *alpha);
void NGA_Periodic_get(int g_a, const int lo[], const int hi[], void *at, const int ld[]);
void NGA_Periodic_get64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[]);
void NGA_Periodic_put(int g_a, const int lo[], const int hi[], void *at, const int ld[]);
void NGA_Periodic_put64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[]);
void NGA_Put(int g_a, const int lo[], const int hi[], void *at, const int ld[]);
void NGA_Put64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[]);
long NGA_Read_inc(int g_a, const int subscript[], long by);
long NGA_Read_inc64(int g_a, const int64_t subscript[], long by);
void NGA_Scatter(int g_a, void *values, int *at[], int count);
void NGA_Scatter64(int g_a, void *values, int64_t *at[], int64_t count);
void NGA_Scatter_acc(int g_a, void *values, int *at[], int count, const void *alpha);
void NGA_Scatter_acc64(int g_a, void *values, int64_t *at[], int64_t count, const void *alpha);
void NGA_Scatter_acc_flat(int g_a, void *values, const int at[], int count, const void *alpha);
void NGA_Scatter_acc_flat64(int g_a, void *values, const int64_t at[], int64_t count, const void *alpha);
void NGA_Scatter_flat(int g_a, void *values, const int at[], int count);
void NGA_Scatter_flat64(int g_a, void *values, const int64_t at[], int64_t count);
void NGA_Strided_acc(int g_a, const int lo[], const int hi[], const int skip[], void *at, const int ld[], const
    void *alpha);
void NGA_Strided_acc64(int g_a, const int64_t lo[], const int64_t hi[], const int64_t skip[], void *at, const
    int64_t ld[], const void *alpha);
void NGA_Strided_get(int g_a, const int lo[], const int hi[], const int skip[], void *at, const int ld[]);
void NGA_Strided_get64(int g_a, const int64_t lo[], const int64_t hi[], const int64_t skip[], void *at, const
    int64_t ld[]);
void NGA_Strided_put(int g_a, const int lo[], const int hi[], const int skip[], void *at, const int ld[]);
void NGA_Strided_put64(int g_a, const int64_t lo[], const int64_t hi[], const int64_t skip[], void *at, const
    int64_t ld[]);

/* Ghost cells. */
void GA_Update_ghosts(int g_a);
void NGA_Get_ghost_block(int g_a, const int lo[], const int hi[], void *at, const int ld[]);
void NGA_Get_ghost_block64(int g_a, const int64_t lo[], const int64_t hi[], void *at, const int64_t ld[]);
void NGA_NbGet_ghost_dir(int g_a, const int mask[], ga_nbhdl_t *nbhandle);
void NGA_NbGet_ghost_dir64(int g_a, const int64_t mask[], ga_nbhdl_t *nbhandle);
int NGA_Update_ghost_dir(int g_a, int dimension, int side, int corners);
void NGA_Update_ghosts(int g_a);
void NGA_Update_ghosts_nb(int g_a, ga_nbhdl_t *nbhandle);

/* Whole arrays and patches. */
void GA_Abs_value(int g_a);
void GA_Abs_value_patch(int g_a, const int lo[], const int hi[]);
void GA_Abs_value_patch64(int g_a, const int64_t lo[], const int64_t hi[]);
void GA_Add(const void *alpha, int a, const void *beta, int b, int c);
void GA_Add_constant(int g_a, const void *value);
void GA_Add_constant_patch(int g_a, const int lo[], const int hi[], const void *alpha);
void GA_Add_constant_patch64(int g_a, const int64_t lo[], const int64_t hi[], const void *alpha);
void GA_Add_diagonal(int a, int v);
SingleComplex GA_Cdot(int a, int b);
void GA_Copy(int a, int b);
double GA_Ddot(int a, int b);
void GA_Elem_divide(int a, int b, int c);
void GA_Elem_divide_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[], int c,
    const int clo[], const int chi[]);
void GA_Elem_divide_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const int64_t
    bhi[], int c, const int64_t clo[], const int64_t chi[]);
void GA_Elem_maximum(int a, int b, int c);
void GA_Elem_maximum_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[], int c,
    const int clo[], const int chi[]);
void GA_Elem_maximum_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const
    int64_t bhi[], int c, const int64_t clo[], const int64_t chi[]);
void GA_Elem_minimum(int a, int b, int c);
void GA_Elem_minimum_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[], int c,
    const int clo[], const int chi[]);
void GA_Elem_minimum_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const
    int64_t bhi[], int c, const int64_t clo[], const int64_t chi[]);
void GA_Elem_multiply(int a, int b, int c);
void GA_Elem_multiply_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[], int c,
    const int clo[], const int chi[]);
void GA_Elem_multiply_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const
    int64_t bhi[], int c, const int64_t clo[], const int64_t chi[]);
float GA_Fdot(int a, int b);
void GA_Fill(int g_a, const void *value);
void GA_Get_diag(int a, int v);
int GA_Idot(int a, int b);
long GA_Ldot(int a, int b);
long long GA_Lldot(int a, int b);
void GA_Median(int a, int b, int c, int m);
void GA_Median_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[], int c, const
    int clo[], const int chi[], int m, const int mlo[], const int mhi[]);
void GA_Median_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const int64_t
    bhi[], int c, const int64_t clo[], const int64_t chi[], int m, const int64_t mlo[], const int64_t mhi[]);
void GA_Norm1(int g_a, double *to);
void GA_Norm_infinity(int g_a, double *to);
void GA_Pack(int from, int to, int mask, int lo, int hi, int count[]);
void GA_Pack64(int from, int to, int mask, int64_t lo, int64_t hi, int64_t count[]);
void GA_Patch_enum(int g_a, int lo, int hi, const void *start, const void *step);
void GA_Patch_enum64(int g_a, int64_t lo, int64_t hi, const void *start, const void *step);
double GA_Rand(int seed);
void GA_Randomize(int g_a, const void *value);
void GA_Recip(int g_a);
void GA_Recip_patch(int g_a, const int lo[], const int hi[]);
void GA_Recip_patch64(int g_a, const int64_t lo[], const int64_t hi[]);
void GA_Scale(int g_a, const void *value);
void GA_Scale_cols(int a, int v);
void GA_Scale_rows(int a, int v);
void GA_Scan_add(int from, int to, int mask, int lo, int hi, int exclusive);
void GA_Scan_add64(int from, int to, int mask, int64_t lo, int64_t hi, int exclusive);
void GA_Scan_copy(int from, int to, int mask, int lo, int hi);
void GA_Scan_copy64(int from, int to, int mask, int64_t lo, int64_t hi);
void GA_Set_diagonal(int a, int v);
void GA_Shift_diagonal(int g_a, const void *value);
void GA_Step_max(int a, int b, void *to);
void GA_Step_max_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[], void *to);
void GA_Step_max_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const int64_t
    bhi[], void *to);
void GA_Symmetrize(int g_a);
void GA_Transpose(int a, int b);
void GA_Unpack(int from, int to, int mask, int lo, int hi, int count[]);
void GA_Unpack64(int from, int to, int mask, int64_t lo, int64_t hi, int64_t count[]);
DoubleComplex GA_Zdot(int a, int b);
void GA_Zero(int g_a);
void GA_Zero_diagonal(int g_a);
void NGA_Add_patch(const void *alpha, int a, const int alo[], const int ahi[], const void *beta, int b, const int
    blo[], const int bhi[], int c, const int clo[], const int chi[]);
void NGA_Add_patch64(const void *alpha, int a, const int64_t alo[], const int64_t ahi[], const void *beta, int b,
    const int64_t blo[], const int64_t bhi[], int c, const int64_t clo[], const int64_t chi[]);
SingleComplex NGA_Cdot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const
    int bhi[]);
SingleComplex NGA_Cdot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t
    blo[], const int64_t bhi[]);
void NGA_Copy_patch(char letter, int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[]);
void NGA_Copy_patch64(char letter, int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const
    int64_t bhi[]);
double NGA_Ddot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const int
    bhi[]);
double NGA_Ddot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t blo[],
    const int64_t bhi[]);
float NGA_Fdot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const int
    bhi[]);
float NGA_Fdot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t blo[],
    const int64_t bhi[]);
void NGA_Fill(int g_a, const void *value);
void NGA_Fill_patch(int g_a, const int lo[], const int hi[], const void *value);
void NGA_Fill_patch64(int g_a, const int64_t lo[], const int64_t hi[], const void *value);
int NGA_Idot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const int
    bhi[]);
int NGA_Idot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t blo[],
    const int64_t bhi[]);
long NGA_Ldot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const int
    bhi[]);
long NGA_Ldot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t blo[],
    const int64_t bhi[]);
long long NGA_Lldot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const int
    bhi[]);
long long NGA_Lldot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t
    blo[], const int64_t bhi[]);
void NGA_Merge_distr_patch(int a, const int alo[], const int ahi[], int b, const int blo[], const int bhi[]);
void NGA_Merge_distr_patch64(int a, const int64_t alo[], const int64_t ahi[], int b, const int64_t blo[], const
    int64_t bhi[]);
double NGA_Rand(int seed);
void NGA_Randomize(int g_a, const void *value);
void NGA_Scale_patch(int g_a, const int lo[], const int hi[], const void *alpha);
void NGA_Scale_patch64(int g_a, const int64_t lo[], const int64_t hi[], const void *alpha);
void NGA_Select_elem(int g_a, const char *op, void *value, int index[]);
void NGA_Select_elem64(int g_a, const char *op, void *value, int64_t index[]);
DoubleComplex NGA_Zdot_patch(int a, char ta, const int alo[], const int ahi[], int b, char tb, const int blo[], const
    int bhi[]);
DoubleComplex NGA_Zdot_patch64(int a, char ta, const int64_t alo[], const int64_t ahi[], int b, char tb, const int64_t
    blo[], const int64_t bhi[]);
void NGA_Zero(int g_a);
void NGA_Zero_patch(int g_a, const int lo[], const int hi[]);
void NGA_Zero_patch64(int g_a, const int64_t lo[], const int64_t hi[]);

/* Process groups, reductions. */
void GA_Brdcst(void *at, int length, int root);
void GA_Cgop(SingleComplex x[], int n, const char *op);
void GA_Dgop(double x[], int n, const char *op);
void GA_Fgop(float x[], int n, const char *op);
int GA_Get_pgroup_size(int number);
void GA_Gop(int type, void *at, int count, const char *op);
void GA_Igop(int x[], int n, const char *op);
void GA_Lgop(long x[], int n, const char *op);
void GA_Llgop(long long x[], int n, const char *op);
int GA_Pgroup_absolute_id(int number, int process);
void GA_Pgroup_brdcst(int number, void *at, int length, int root);
void GA_Pgroup_cgop(int grp, SingleComplex x[], int n, const char *op);
int GA_Pgroup_create(const int members[], int count);
int GA_Pgroup_destroy(int number);
void GA_Pgroup_dgop(int grp, double x[], int n, const char *op);
int GA_Pgroup_duplicate(int number);
void GA_Pgroup_fgop(int grp, float x[], int n, const char *op);
int GA_Pgroup_get_default(void);
int GA_Pgroup_get_mirror(void);
int GA_Pgroup_get_world(void);
void GA_Pgroup_igop(int grp, int x[], int n, const char *op);
void GA_Pgroup_lgop(int grp, long x[], int n, const char *op);
void GA_Pgroup_llgop(int grp, long long x[], int n, const char *op);
int GA_Pgroup_nnodes(int number);
int GA_Pgroup_nodeid(int number);
int GA_Pgroup_self(void);
void GA_Pgroup_set_default(int number);
int GA_Pgroup_split(int number, int parts);
int GA_Pgroup_split_irreg(int number, int color);
void GA_Pgroup_sync(int number);
void GA_Pgroup_zgop(int grp, DoubleComplex x[], int n, const char *op);
void GA_Zgop(DoubleComplex x[], int n, const char *op);
void NGA_Dgop(double x[], int n, const char *op);
int NGA_Get_pgroup_size(int number);
void NGA_Igop(int x[], int n, const char *op);
int NGA_Pgroup_absolute_id(int number, int process);
int NGA_Pgroup_create(const int members[], int count);
int NGA_Pgroup_destroy(int number);
void NGA_Pgroup_dgop(int grp, double x[], int n, const char *op);
int NGA_Pgroup_duplicate(int number);
void NGA_Pgroup_fgop(int grp, float x[], int n, const char *op);
int NGA_Pgroup_get_default(void);
int NGA_Pgroup_get_mirror(void);
int NGA_Pgroup_get_world(void);
void NGA_Pgroup_igop(int grp, int x[], int n, const char *op);
void NGA_Pgroup_lgop(int grp, long x[], int n, const char *op);
void NGA_Pgroup_llgop(int grp, long long x[], int n, const char *op);
int NGA_Pgroup_nnodes(int number);
int NGA_Pgroup_nodeid(int number);
int NGA_Pgroup_self(void);
void NGA_Pgroup_set_default(int number);
int NGA_Pgroup_split(int number, int parts);
int NGA_Pgroup_split_irreg(int number, int color);
void NGA_Pgroup_sync(int number);
void NGA_Pgroup_zgop(int grp, DoubleComplex x[], int n, const char *op);

/* Linear algebra. */
void GA_Cgemm(char ta, char tb, int m, int n, int k, SingleComplex alpha, int g_a, int g_b, SingleComplex beta, int
    g_c);
void GA_Cgemm64(char ta, char tb, int64_t m, int64_t n, int64_t k, SingleComplex alpha, int g_a, int g_b,
    SingleComplex beta, int g_c);
void GA_Dgemm(char ta, char tb, int m, int n, int k, double alpha, int g_a, int g_b, double beta, int g_c);
void GA_Dgemm64(char ta, char tb, int64_t m, int64_t n, int64_t k, double alpha, int g_a, int g_b, double beta, int
    g_c);
void GA_Diag(int a, int s, int v, void *values);
void GA_Diag_reuse(int reuse, int a, int s, int v, void *values);
void GA_Diag_seq(int a, int s, int v, void *values);
void GA_Diag_std(int a, int v, void *values);
void GA_Diag_std_seq(int a, int v, void *values);
int GA_Llt_solve(int a, int b);
void GA_Lu_solve(char letter, int a, int b);
void GA_Matmul_patch(char ta, char tb, const void *alpha, const void *beta, int a, int ailo, int aihi, int ajlo, int
    ajhi, int b, int bilo, int bihi, int bjlo, int bjhi, int c, int cilo, int cihi, int cjlo, int cjhi);
void GA_Matmul_patch64(char ta, char tb, const void *alpha, const void *beta, int a, int64_t ailo, int64_t aihi,
    int64_t ajlo, int64_t ajhi, int b, int64_t bilo, int64_t bihi, int64_t bjlo, int64_t bjhi, int c, int64_t cilo,
    int64_t cihi, int64_t cjlo, int64_t cjhi);
void GA_Sgemm(char ta, char tb, int m, int n, int k, float alpha, int g_a, int g_b, float beta, int g_c);
void GA_Sgemm64(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, int g_a, int g_b, float beta, int
    g_c);
int GA_Solve(int a, int b);
int GA_Spd_invert(int a);
void GA_Zgemm(char ta, char tb, int m, int n, int k, DoubleComplex alpha, int g_a, int g_b, DoubleComplex beta, int
    g_c);
void GA_Zgemm64(char ta, char tb, int64_t m, int64_t n, int64_t k, DoubleComplex alpha, int g_a, int g_b,
    DoubleComplex beta, int g_c);
void NGA_Matmul_patch(char ta, char tb, const void *alpha, const void *beta, int a, const int alo[], const int ahi[],
    int b, const int blo[], const int bhi[], int c, const int clo[], const int chi[]);
void NGA_Matmul_patch64(char ta, char tb, const void *alpha, const void *beta, int a, const int64_t alo[], const
    int64_t ahi[], int b, const int64_t blo[], const int64_t bhi[], int c, const int64_t clo[], const int64_t chi[]);

/* Output. */
void GA_Print(int g_a);
void GA_Print_distribution(int g_a);
void GA_Print_file(FILE *file, int g_a);
void GA_Print_patch(int g_a, int ilo, int ihi, int jlo, int jhi, int pretty);
void GA_Print_stats(void);
void GA_Summarize(int verbose);
void NGA_Print_patch(int g_a, const int lo[], const int hi[], int pretty);
void NGA_Print_patch64(int g_a, const int64_t lo[], const int64_t hi[], int pretty);

/* Memory. */
void GA_Freemem(void *at);
void *GA_Getmem(int type, int count, int group);
void GA_Register_stack_memory(const void *allocate, const void *free);

/* Arrays in memory of others, bounds of steps, fields of elements, sparse matrices. */
int GA_Assemble_duplicate(int g_a, char *name, void *ptr);
int GA_Overlay(int g_a, int g_p);
void GA_Step_bound_info(int g_xx, int g_vv, int g_xxll, int g_xxuu, void *boundmin, void *wolfemin, void *boundmax);
void GA_Step_bound_info_patch(int g_xx, int *xxlo, int *xxhi, int g_vv, int *vvlo, int *vvhi, int g_xxll, int *xxlllo,
    int *xxllhi, int g_xxuu, int *xxuulo, int *xxuuhi, void *boundmin, void *wolfemin, void *boundmax);
void GA_Step_bound_info_patch64(int g_xx, int64_t xxlo[], int64_t xxhi[], int g_vv, int64_t vvlo[], int64_t vvhi[],
    int g_xxll, int64_t xxlllo[], int64_t xxllhi[], int64_t g_xxuu, int64_t xxuulo[], int64_t xxuuhi[], void
    *boundmin, void *wolfemin, void *boundmax);
void NGA_Get_field(int g_a, int *lo, int *hi, int foff, int fsize, void *buf, int *ld);
void NGA_Nbget_field(int g_a, int *lo, int *hi, int foff, int fsize,void *buf, int *ld, ga_nbhdl_t *nbhandle);
void NGA_Nbput_field(int g_a, int *lo, int *hi, int foff, int fsize, void *buf, int *ld, ga_nbhdl_t *nbhandle);
int NGA_Overlay(int g_a, int g_p);
void NGA_Put_field(int g_a, int *lo, int *hi, int foff, int fsize, void *buf, int *ld);
void NGA_Sprs_array_access_col_block(int s_a, int icol, int **idx, int **jdx, void **val);
void NGA_Sprs_array_access_col_block64(int s_a, int icol, int64_t **idx, int64_t **jdx, void **val);
void NGA_Sprs_array_add_element(int s_a, int idx, int jdx, void *val);
void NGA_Sprs_array_add_element64(int s_a, int64_t idx, int64_t jdx, void *val);
int NGA_Sprs_array_assemble(int s_a);
void NGA_Sprs_array_col_block_list(int s_a, int **idx, int *n);
void NGA_Sprs_array_column_distribution(int s_a, int iproc, int *lo, int *hi);
void NGA_Sprs_array_column_distribution64(int s_a, int iproc, int64_t *lo, int64_t *hi);
int NGA_Sprs_array_count_sketch(int s_a, int size_k, int *g_k, int* g_w);
int NGA_Sprs_array_create(int idim, int jdim, int type);
int NGA_Sprs_array_create64(int64_t idim, int64_t jdim, int type);
int NGA_Sprs_array_create_from_dense(int g_a);
int NGA_Sprs_array_create_from_dense64(int g_a);
int NGA_Sprs_array_create_from_sparse(int s_a);
int NGA_Sprs_array_destroy(int s_a);
void NGA_Sprs_array_diag_left_multiply(int s_a, int g_d);
void NGA_Sprs_array_diag_right_multiply(int s_a, int g_d);
int NGA_Sprs_array_dnssprs_multiply(int g_a, int s_b);
int NGA_Sprs_array_duplicate(int s_a);
void NGA_Sprs_array_export(int s_a, const char* file);
int NGA_Sprs_array_get_block(int s_a, int irow, int icol, int **idx, int **jdx, void **data, int *ilo, int *ihi, int
    *jlo, int *jhi);
int NGA_Sprs_array_get_block64(int s_a, int64_t irow, int64_t icol, int64_t **idx, int64_t **jdx, void **data, int64_t
    *ilo, int64_t *ihi, int64_t *jlo, int64_t *jhi);
int NGA_Sprs_array_get_column(int s_a, int irow);
int NGA_Sprs_array_get_column64(int s_a, int64_t irow);
void NGA_Sprs_array_get_diag(int s_a, int *g_d);
int NGA_Sprs_array_matmat_multiply(int s_a, int s_b);
void NGA_Sprs_array_matvec_multiply(int s_a, int g_a, int g_v);
void NGA_Sprs_array_row_distribution(int s_a, int iproc, int *lo, int *hi);
void NGA_Sprs_array_row_distribution64(int s_a, int iproc, int64_t *lo, int64_t *hi);
void NGA_Sprs_array_scale(int s_a, void *scale);
void NGA_Sprs_array_shift_diag(int s_a, void *shift);
int NGA_Sprs_array_sprsdns_multiply(int s_a, int g_b);
/* The type of its elements; version 5.9 has no such function. Not collective. */
int NGA_Sprs_array_type(int s_a);

#ifdef __cplusplus
}
#endif

#endif
