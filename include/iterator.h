/* Walking over the rows of a strided section. Names and arguments are those of Global Arrays 5.9. */
#ifndef _STRIDE_INFO_H_
#define _STRIDE_INFO_H_

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char *base_ptr;
    int stride_levels;
    int stride_arr[ARMCI_MAX_STRIDE_LEVEL];
    int seg_count[ARMCI_MAX_STRIDE_LEVEL + 1];
    int size, pos, itr[ARMCI_MAX_STRIDE_LEVEL];
} stride_info_t;

extern void armci_stride_info_init(stride_info_t *sinfo, void *base_ptr, int stride_levels, const int *stride_arr,
                                   const int *seg_count);
extern void armci_stride_info_destroy(stride_info_t *sinfo);
extern int armci_stride_info_count(stride_info_t *sinfo);
extern int armci_stride_info_pos(stride_info_t *sinfo);
extern void armci_stride_info_next(stride_info_t *sinfo);
extern void *armci_stride_info_seg_ptr(stride_info_t *sinfo);
extern int armci_stride_info_seg_size(stride_info_t *sinfo);
extern int armci_stride_info_seg_off(stride_info_t *sinfo);
extern int armci_stride_info_size(stride_info_t *sinfo);
extern int armci_stride_info_has_more(stride_info_t *sinfo);

#ifdef __cplusplus
}
#endif

#endif
