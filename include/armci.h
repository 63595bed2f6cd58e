/* ARMCI, the Aggregate Remote Memory Copy Interface, by Isthmus.
 *
 * Names and arguments are those of Global Arrays 5.9, so that its programs, and Global Arrays itself, compile against this.
 * Processes are named by their rank. Global memory comes from ARMCI_Malloc; a pointer into another process's block names it
 * in every process (docs/armci.md). Errors end the job with one line that names the call; memory that cannot be had makes a
 * call return FAIL at every process. */
#ifndef _ARMCI_H
#define _ARMCI_H

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef long armci_size_t;

/* ---- Start, end, errors ---- */

/* Collective. Before or after MPI_Init, with or without it; as often as ARMCI_Finalize. */
extern int ARMCI_Init(void);
extern int ARMCI_Init_args(int *argc, char ***argv);
/* The processes of a communicator are all that there are; needs MPI_Init. */
extern int ARMCI_Init_mpi_comm(MPI_Comm comm);
/* As without a level of threads, as ARMCI-MPI has them: all functions may be called by several threads where MPI's may. */
extern int ARMCI_Init_thread(int level);
extern int ARMCI_Init_thread_comm(int level, MPI_Comm comm);
extern int ARMCI_Initialized(void);
extern void ARMCI_Finalize(void);
extern void ARMCI_Error(const char *msg, int code);
extern void ARMCI_Cleanup(void);

#define FAIL -1
#define FAIL2 -2
#define FAIL3 -3
#define FAIL4 -4
#define FAIL5 -5
#define FAIL6 -6
#define FAIL7 -7
#define FAIL8 -8

/* ---- Memory ---- */

/* Collective. `bytes` may differ, and be 0 (then the pointer is NULL); the memory is zeroed. */
extern int ARMCI_Malloc(void *ptr_arr[], armci_size_t bytes);
extern int ARMCI_Malloc_memdev(void *ptr_arr[], armci_size_t bytes, const char *device);
/* Collective, by the own block's pointer. */
extern int ARMCI_Free(void *ptr);
extern int ARMCI_Free_memdev(void *ptr);
/* Around loads and stores of the own block, in programs that were written for ARMCI-MPI. They may be made at any time here. */
extern void ARMCI_Access_begin(void *ptr);
extern void ARMCI_Access_end(void *ptr);
extern void *ARMCI_Malloc_local(armci_size_t bytes);
extern int ARMCI_Free_local(void *ptr);
extern void ARMCI_Set_shm_limit(unsigned long shmemlimit);
extern int ARMCI_Uses_shm(void);

/* Not collective: one process allocates, and gives the meminfo to the processes that use the memory. */
typedef struct armci_meminfo_ds {
    char *armci_addr;
    char *addr;
    size_t size;
    int cpid;
    long idlist[128];
} armci_meminfo_t;

extern void ARMCI_Memget(size_t bytes, armci_meminfo_t *meminfo, int memflg);
extern void *ARMCI_Memat(armci_meminfo_t *meminfo, long offset);
extern void ARMCI_Memdt(armci_meminfo_t *meminfo, long offset);
extern void ARMCI_Memctl(armci_meminfo_t *meminfo);

/* ---- One-sided operations ---- */

/* Of an accumulate: dst += scale * src. */
#define ARMCI_ACC_OFF 36
#define ARMCI_ACC_INT (ARMCI_ACC_OFF + 1)
#define ARMCI_ACC_DBL (ARMCI_ACC_OFF + 2)
#define ARMCI_ACC_FLT (ARMCI_ACC_OFF + 3)
#define ARMCI_ACC_CPL (ARMCI_ACC_OFF + 4)
#define ARMCI_ACC_DCP (ARMCI_ACC_OFF + 5)
#define ARMCI_ACC_LNG (ARMCI_ACC_OFF + 6)

extern int ARMCI_Put(void *src, void *dst, int bytes, int proc);
extern int ARMCI_Get(void *src, void *dst, int bytes, int proc);
extern int ARMCI_Acc(int optype, void *scale, void *src, void *dst, int bytes, int proc);
extern int ARMCI_Put_flag(void *src, void *dst, int bytes, int *f, int v, int proc);
extern void ARMCI_Copy(void *src, void *dst, int n);

/* Local memory only, as before. */
#define ARMCI_Put1(_s, _d, _b, _p) memcpy(_d, _s, _b), 0

/* Strided: count[0] bytes a row, count[i] rows of level i at distances stride_arr[i - 1]. */
#define ARMCI_MAX_STRIDE_LEVEL 8

extern int ARMCI_PutS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
                      int stride_levels, int proc);
extern int ARMCI_GetS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
                      int stride_levels, int proc);
extern int ARMCI_AccS(int optype, void *scale, void *src_ptr, int src_stride_arr[], void *dst_ptr,
                      int dst_stride_arr[], int count[], int stride_levels, int proc);
extern int ARMCI_PutS_flag(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
                           int stride_levels, int *flag, int val, int proc);
extern int ARMCI_PutS_flag_dir(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
                               int stride_levels, int *flag, int val, int proc);

/* Vectors: pieces of one length, here and there. */
typedef struct {
    void **src_ptr_array;
    void **dst_ptr_array;
    int ptr_array_len;
    int bytes;
} armci_giov_t;

extern int ARMCI_PutV(armci_giov_t darr[], int len, int proc);
extern int ARMCI_GetV(armci_giov_t darr[], int len, int proc);
extern int ARMCI_AccV(int op, void *scale, armci_giov_t darr[], int len, int proc);

extern int ARMCI_PutValueInt(int src, void *dst, int proc);
extern int ARMCI_PutValueLong(long src, void *dst, int proc);
extern int ARMCI_PutValueFloat(float src, void *dst, int proc);
extern int ARMCI_PutValueDouble(double src, void *dst, int proc);
extern int ARMCI_GetValueInt(void *src, int proc);
extern long ARMCI_GetValueLong(void *src, int proc);
extern float ARMCI_GetValueFloat(void *src, int proc);
extern double ARMCI_GetValueDouble(void *src, int proc);

#define ARMCI_SWAP 10
#define ARMCI_SWAP_LONG 11
#define ARMCI_FETCH_AND_ADD 12
#define ARMCI_FETCH_AND_ADD_LONG 13

extern int ARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc);

/* ---- Non-blocking ---- */

/* A null handle is the implicit one. ARMCI_Test returns 0 for what is complete. */
typedef int armci_hdl_t;
#define armci_req_t armci_hdl_t
#define ARMCI_INIT_HANDLE(hdl)                                                                                         \
    do {                                                                                                               \
        *(hdl) = 0;                                                                                                    \
    } while (0)

extern int ARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbAcc(int optype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbPutS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
                        int stride_levels, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbGetS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
                        int stride_levels, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbAccS(int optype, void *scale, void *src_ptr, int src_stride_arr[], void *dst_ptr,
                        int dst_stride_arr[], int count[], int stride_levels, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbPutV(armci_giov_t darr[], int len, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbGetV(armci_giov_t darr[], int len, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbAccV(int op, void *scale, armci_giov_t darr[], int len, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int ARMCI_Wait(armci_hdl_t *nb_handle);
extern int ARMCI_Test(armci_hdl_t *nb_handle);
extern int ARMCI_WaitAll(void);
extern int ARMCI_WaitProc(int proc);
extern void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *nb_handle);
extern void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *nb_handle);

/* ---- Synchronization ---- */

extern void ARMCI_Barrier(void);
extern void ARMCI_Fence(int proc);
extern void ARMCI_AllFence(void);
extern int ARMCI_Create_mutexes(int num);
extern int ARMCI_Destroy_mutexes(void);
extern void ARMCI_Lock(int mutex, int proc);
extern void ARMCI_Unlock(int mutex, int proc);
extern int armci_notify(int proc);
extern int armci_notify_wait(int proc, int *pval);

/* ---- Groups ---- */

typedef int ARMCI_Group;

/* Collective over the members; numbers are those in the default group, or in the parent. */
extern void ARMCI_Group_create(int n, int *pid_list, ARMCI_Group *group_out);
extern void ARMCI_Group_create_child(int n, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);
extern void ARMCI_Group_free(ARMCI_Group *group);
extern int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
extern void ARMCI_Group_size(ARMCI_Group *group, int *size);
extern void ARMCI_Group_set_default(ARMCI_Group *group);
extern void ARMCI_Group_get_default(ARMCI_Group *group_out);
extern void ARMCI_Group_get_world(ARMCI_Group *group_out);
extern void ARMCI_GroupFence(ARMCI_Group *group);
extern int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);
extern int ARMCI_Uses_shm_grp(ARMCI_Group *group);
extern int ARMCI_Malloc_group(void *ptr_arr[], armci_size_t bytes, ARMCI_Group *group);
extern int ARMCI_Malloc_group_memdev(void *ptr_arr[], armci_size_t bytes, ARMCI_Group *group, const char *device);
extern int ARMCI_Free_group(void *ptr, ARMCI_Group *group);

/* Communicators of all processes, and of a group. */
extern MPI_Comm ARMCI_COMM_WORLD;
extern MPI_Comm armci_group_comm(ARMCI_Group *group);

/* ---- Where processes are ---- */

typedef int armci_domain_t;
#define ARMCI_DOMAIN_SMP 0

extern int ARMCI_Same_node(int proc);
extern int armci_sameclusnode(int proc);
extern int armci_domain_nprocs(armci_domain_t domain, int id);
extern int armci_domain_id(armci_domain_t domain, int glob_proc_id);
extern int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
extern int armci_domain_my_id(armci_domain_t domain);
extern int armci_domain_count(armci_domain_t domain);
extern int armci_domain_same_id(armci_domain_t domain, int proc);

/* ---- Assertions of programs ---- */

extern int armci_msg_me(void);
extern int dassertp_fail(const char *cond_string, const char *file, const char *func, unsigned int line, int code);

#define derr_printf(...) fprintf(stderr, __VA_ARGS__)
#define dassertc(_enable, _cond, _plist, _code)                                                                        \
    do {                                                                                                               \
        if ((_enable) && !(_cond)) {                                                                                   \
            derr_printf _plist;                                                                                        \
            dassertp_fail(#_cond, __FILE__, __func__, __LINE__, (_code));                                              \
        }                                                                                                              \
    } while (0)
#define dassertp(_enable, _cond, _plist) dassertc(_enable, _cond, _plist, 1)
#define dassert(_enable, _cond) dassertp((_enable), (_cond), ("%s", ""))
#define dassert1(_enable, _cond, _ival)                                                                                \
    dassertp((_enable), (_cond), ("%d: error ival=%d\n", armci_msg_me(), (int)(_ival)))
#define armci_die(_msg, _code) dassertc(1, 0, ("%d:%s: %d\n", armci_msg_me(), (_msg), (_code)), _code)
#define armci_die2(_msg, _code1, _code2)                                                                               \
    dassertc(1, 0, ("%d:%s: (%d,%d)\n", armci_msg_me(), (_msg), (_code1), (_code2)), _code1)

#ifdef __cplusplus
}
#endif

#endif
