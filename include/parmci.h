/* The profiling names of ARMCI: each does what the name without P, or p, does; that one may be defined again by a program. */
#ifndef _PARMCI_H_
#define _PARMCI_H_

#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

extern int PARMCI_Init(void);
extern int PARMCI_Init_args(int *argc, char ***argv);
extern int PARMCI_Init_mpi_comm(MPI_Comm comm);
extern int PARMCI_Init_thread(int level);
extern int PARMCI_Init_thread_comm(int level, MPI_Comm comm);
extern void PARMCI_Access_begin(void *ptr);
extern void PARMCI_Access_end(void *ptr);
extern int PARMCI_Initialized(void);
extern void PARMCI_Finalize(void);
extern void PARMCI_Error(const char *msg, int code);
extern void PARMCI_Cleanup(void);
extern int PARMCI_Malloc(void *ptr_arr[], armci_size_t bytes);
extern int PARMCI_Malloc_memdev(void *ptr_arr[], armci_size_t bytes, const char *device);
extern int PARMCI_Free(void *ptr);
extern int PARMCI_Free_memdev(void *ptr);
extern void *PARMCI_Malloc_local(armci_size_t bytes);
extern int PARMCI_Free_local(void *ptr);
extern void PARMCI_Set_shm_limit(unsigned long shmemlimit);
extern int PARMCI_Uses_shm(void);
extern void PARMCI_Memget(size_t bytes, armci_meminfo_t *meminfo, int memflg);
extern void *PARMCI_Memat(armci_meminfo_t *meminfo, long offset);
extern void PARMCI_Memdt(armci_meminfo_t *meminfo, long offset);
extern void PARMCI_Memctl(armci_meminfo_t *meminfo);
extern int PARMCI_Put(void *src, void *dst, int bytes, int proc);
extern int PARMCI_Get(void *src, void *dst, int bytes, int proc);
extern int PARMCI_Acc(int optype, void *scale, void *src, void *dst, int bytes, int proc);
extern int PARMCI_Put_flag(void *src, void *dst, int bytes, int *f, int v, int proc);
extern void PARMCI_Copy(void *src, void *dst, int n);
extern int PARMCI_PutS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
    int stride_levels, int proc);
extern int PARMCI_GetS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
    int stride_levels, int proc);
extern int PARMCI_AccS(int optype, void *scale, void *src_ptr, int src_stride_arr[], void *dst_ptr,
    int dst_stride_arr[], int count[], int stride_levels, int proc);
extern int PARMCI_PutS_flag(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
    int stride_levels, int *flag, int val, int proc);
extern int PARMCI_PutS_flag_dir(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[],
    int count[], int stride_levels, int *flag, int val, int proc);
extern int PARMCI_PutV(armci_giov_t darr[], int len, int proc);
extern int PARMCI_GetV(armci_giov_t darr[], int len, int proc);
extern int PARMCI_AccV(int op, void *scale, armci_giov_t darr[], int len, int proc);
extern int PARMCI_PutValueInt(int src, void *dst, int proc);
extern int PARMCI_PutValueLong(long src, void *dst, int proc);
extern int PARMCI_PutValueFloat(float src, void *dst, int proc);
extern int PARMCI_PutValueDouble(double src, void *dst, int proc);
extern int PARMCI_GetValueInt(void *src, int proc);
extern long PARMCI_GetValueLong(void *src, int proc);
extern float PARMCI_GetValueFloat(void *src, int proc);
extern double PARMCI_GetValueDouble(void *src, int proc);
extern int PARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc);
extern int PARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbAcc(int optype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbPutS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
    int stride_levels, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbGetS(void *src_ptr, int src_stride_arr[], void *dst_ptr, int dst_stride_arr[], int count[],
    int stride_levels, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbAccS(int optype, void *scale, void *src_ptr, int src_stride_arr[], void *dst_ptr,
    int dst_stride_arr[], int count[], int stride_levels, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbPutV(armci_giov_t darr[], int len, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbGetV(armci_giov_t darr[], int len, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbAccV(int op, void *scale, armci_giov_t darr[], int len, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *nb_handle);
extern int PARMCI_Wait(armci_hdl_t *nb_handle);
extern int PARMCI_Test(armci_hdl_t *nb_handle);
extern int PARMCI_WaitAll(void);
extern int PARMCI_WaitProc(int proc);
extern void PARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *nb_handle);
extern void PARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *nb_handle);
extern void PARMCI_Barrier(void);
extern void PARMCI_Fence(int proc);
extern void PARMCI_AllFence(void);
extern int PARMCI_Create_mutexes(int num);
extern int PARMCI_Destroy_mutexes(void);
extern void PARMCI_Lock(int mutex, int proc);
extern void PARMCI_Unlock(int mutex, int proc);
extern int parmci_notify(int proc);
extern int parmci_notify_wait(int proc, int *pval);
extern void PARMCI_Group_create(int n, int *pid_list, ARMCI_Group *group_out);
extern void PARMCI_Group_create_child(int n, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);
extern void PARMCI_Group_free(ARMCI_Group *group);
extern int PARMCI_Group_rank(ARMCI_Group *group, int *rank);
extern void PARMCI_Group_size(ARMCI_Group *group, int *size);
extern void PARMCI_Group_set_default(ARMCI_Group *group);
extern void PARMCI_Group_get_default(ARMCI_Group *group_out);
extern void PARMCI_Group_get_world(ARMCI_Group *group_out);
extern void PARMCI_GroupFence(ARMCI_Group *group);
extern int PARMCI_Absolute_id(ARMCI_Group *group, int group_rank);
extern int PARMCI_Uses_shm_grp(ARMCI_Group *group);
extern int PARMCI_Malloc_group(void *ptr_arr[], armci_size_t bytes, ARMCI_Group *group);
extern int PARMCI_Malloc_group_memdev(void *ptr_arr[], armci_size_t bytes, ARMCI_Group *group, const char *device);
extern int PARMCI_Free_group(void *ptr, ARMCI_Group *group);
extern MPI_Comm parmci_group_comm(ARMCI_Group *group);
extern int PARMCI_Same_node(int proc);
extern int parmci_sameclusnode(int proc);
extern int parmci_domain_nprocs(armci_domain_t domain, int id);
extern int parmci_domain_id(armci_domain_t domain, int glob_proc_id);
extern int parmci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
extern int parmci_domain_my_id(armci_domain_t domain);
extern int parmci_domain_count(armci_domain_t domain);
extern int parmci_domain_same_id(armci_domain_t domain, int proc);
extern int parmci_msg_me(void);
extern void parmci_msg_init(int *argc, char ***argv);
extern void parmci_msg_finalize(void);
extern int parmci_msg_nproc(void);
extern void parmci_msg_abort(int code);
extern double parmci_timer(void);
extern void parmci_msg_snd(int tag, void *buffer, int len, int to);
extern void parmci_msg_rcv(int tag, void *buffer, int buflen, int *msglen, int from);
extern int parmci_msg_rcvany(int tag, void *buffer, int buflen, int *msglen);
extern void parmci_msg_barrier(void);
extern void parmci_msg_bcast(void *buffer, int len, int root);
extern void parmci_msg_brdcst(void *buffer, int len, int root);
extern void parmci_msg_bcast_scope(int scope, void *buffer, int len, int root);
extern void parmci_msg_bintree(int scope, int *Root, int *Up, int *Left, int *Right);
extern void parmci_msg_gop_scope(int scope, void *x, int n, char *op, int type);
extern void parmci_msg_reduce(void *x, int n, char *op, int type);
extern void parmci_msg_reduce_scope(int scope, void *x, int n, char *op, int type);
extern void parmci_msg_igop(int *x, int n, char *op);
extern void parmci_msg_lgop(long *x, int n, char *op);
extern void parmci_msg_llgop(long long *x, int n, char *op);
extern void parmci_msg_fgop(float *x, int n, char *op);
extern void parmci_msg_dgop(double *x, int n, char *op);
extern void parmci_msg_sel_scope(int scope, void *x, int n, char *op, int type, int contribute);
extern void parmci_exchange_address(void *ptr_ar[], int n);
extern void parmci_exchange_address_grp(void *ptr_arr[], int n, ARMCI_Group *group);
extern void parmci_msg_clus_brdcst(void *buf, int len);
extern void parmci_msg_clus_igop(int *x, int n, char *op);
extern void parmci_msg_clus_lgop(long *x, int n, char *op);
extern void parmci_msg_clus_llgop(long long *x, int n, char *op);
extern void parmci_msg_clus_fgop(float *x, int n, char *op);
extern void parmci_msg_clus_dgop(double *x, int n, char *op);
extern void parmci_msg_group_gop_scope(int scope, void *x, int n, char *op, int type, ARMCI_Group *group);
extern void parmci_msg_group_igop(int *x, int n, char *op, ARMCI_Group *group);
extern void parmci_msg_group_lgop(long *x, int n, char *op, ARMCI_Group *group);
extern void parmci_msg_group_llgop(long long *x, int n, char *op, ARMCI_Group *group);
extern void parmci_msg_group_fgop(float *x, int n, char *op, ARMCI_Group *group);
extern void parmci_msg_group_dgop(double *x, int n, char *op, ARMCI_Group *group);
extern void parmci_msg_group_barrier(ARMCI_Group *group);
extern void parmci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group);
extern void parmci_grp_clus_brdcst(void *buf, int len, int grp_master, int grp_clus_nproc, ARMCI_Group *mastergroup);

#ifdef __cplusplus
}
#endif

#endif
