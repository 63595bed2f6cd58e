/* What test programs use of CUDA's driver interface, and of the stand-in for its library (libcuda.c beside this file).
 *
 * Names, types and numbers are those of NVIDIA's public documentation (CUDA Driver API). A program links to the stand-in (or to the real
 * library) or opens it at run time. `cuda_` procedures at the end are the stand-in's own. */
#ifndef CUDA_STANDIN_H
#define CUDA_STANDIN_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct pool *CUmemoryPool;
typedef struct { char bytes[16]; } CUuuid;
typedef struct { char reserved[64]; } CUipcMemHandle;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_MAP_FAILED = 205,
    CUDA_ERROR_ALREADY_MAPPED = 208,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_UNKNOWN = 999
};

enum {
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    CU_POINTER_ATTRIBUTE_MAPPED = 13,
    CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
    CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
    CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20
};
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4 };
enum {
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89
};
enum { CU_CTX_SCHED_AUTO = 0 };
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2, CU_MEMHOSTREGISTER_PORTABLE = 1, CU_MEMHOSTREGISTER_DEVICEMAP = 2 };
enum { CU_MEM_ATTACH_GLOBAL = 1 };
enum { CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1 };
enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_LOCATION_TYPE_DEVICE = 1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
       CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
typedef struct { int type, id; } CUmemLocation;
typedef struct {
    int type, requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct { unsigned char compressionType, gpuDirectRDMACapable; unsigned short usage; unsigned char reserved[4]; } allocFlags;
} CUmemAllocationProp;
typedef struct { CUmemLocation location; int flags; } CUmemAccessDesc;
typedef unsigned long long CUmemGenericAllocationHandle;
#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)

typedef struct {
    size_t srcXInBytes, srcY;
    unsigned srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    unsigned dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* Names that the library has with a version. */
#define cuCtxCreate cuCtxCreate_v2
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemcpy2D cuMemcpy2D_v2
#define cuMemcpy2DAsync cuMemcpy2DAsync_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuStreamWriteValue32 cuStreamWriteValue32_v2
#define cuIpcOpenMemHandle cuIpcOpenMemHandle_v2

#define PROCEDURES(one)                                                                                                                      \
    one(cuInit, (unsigned flags))                                                                                                            \
    one(cuDriverGetVersion, (int *version))                                                                                                  \
    one(cuGetErrorName, (CUresult code, const char **name))                                                                                  \
    one(cuGetErrorString, (CUresult code, const char **text))                                                                                \
    one(cuDeviceGetCount, (int *count))                                                                                                      \
    one(cuDeviceGet, (CUdevice * device, int ordinal))                                                                                       \
    one(cuDeviceGetName, (char *name, int length, CUdevice device))                                                                          \
    one(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device))                                                                                   \
    one(cuDeviceTotalMem, (size_t * bytes, CUdevice device))                                                                                 \
    one(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                                                  \
    one(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                                                                   \
    one(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                                                    \
    one(cuDevicePrimaryCtxRelease, (CUdevice device))                                                                                        \
    one(cuDevicePrimaryCtxReset, (CUdevice device))                                                                                          \
    one(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active))                                                         \
    one(cuCtxCreate, (CUcontext * context, unsigned flags, CUdevice device))                                                                 \
    one(cuCtxDestroy, (CUcontext context))                                                                                                   \
    one(cuCtxPushCurrent, (CUcontext context))                                                                                               \
    one(cuCtxPopCurrent, (CUcontext * context))                                                                                              \
    one(cuCtxSetCurrent, (CUcontext context))                                                                                                \
    one(cuCtxGetCurrent, (CUcontext * context))                                                                                              \
    one(cuCtxGetDevice, (CUdevice * device))                                                                                                 \
    one(cuCtxSynchronize, (void))                                                                                                            \
    one(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                                                                             \
    one(cuMemGetInfo, (size_t *left, size_t *total))                                                                                         \
    one(cuMemAlloc, (CUdeviceptr * pointer, size_t bytes))                                                                                   \
    one(cuMemAllocManaged, (CUdeviceptr * pointer, size_t bytes, unsigned flags))                                                            \
    one(cuMemAllocAsync, (CUdeviceptr * pointer, size_t bytes, CUstream stream))                                                             \
    one(cuMemFree, (CUdeviceptr pointer))                                                                                                    \
    one(cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream))                                                                              \
    one(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                                                                      \
    one(cuMemFreeHost, (void *pointer))                                                                                                      \
    one(cuMemHostRegister, (void *pointer, size_t bytes, unsigned flags))                                                                    \
    one(cuMemHostUnregister, (void *pointer))                                                                                                \
    one(cuMemHostGetDevicePointer, (CUdeviceptr * device, void *pointer, unsigned flags))                                                    \
    one(cuMemGetAddressRange, (CUdeviceptr * base, size_t *bytes, CUdeviceptr pointer))                                                      \
    one(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr pointer))                                                            \
    one(cuPointerGetAttributes, (unsigned count, int *attributes, void **values, CUdeviceptr pointer))                                       \
    one(cuPointerSetAttribute, (const void *value, int attribute, CUdeviceptr pointer))                                                      \
    one(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                                                          \
    one(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                                                    \
    one(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes))                                                                      \
    one(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes))                                                                            \
    one(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                                                      \
    one(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                                                \
    one(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                                      \
    one(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                                                \
    one(cuMemcpy2D, (const CUDA_MEMCPY2D *copy))                                                                                             \
    one(cuMemcpy2DAsync, (const CUDA_MEMCPY2D *copy, CUstream stream))                                                                       \
    one(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t count))                                                                     \
    one(cuStreamCreate, (CUstream * stream, unsigned flags))                                                                                 \
    one(cuStreamDestroy, (CUstream stream))                                                                                                  \
    one(cuStreamQuery, (CUstream stream))                                                                                                    \
    one(cuStreamSynchronize, (CUstream stream))                                                                                              \
    one(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                                                 \
    one(cuStreamWriteValue32, (CUstream stream, CUdeviceptr to, uint32_t value, unsigned flags))                                             \
    one(cuEventCreate, (CUevent * event, unsigned flags))                                                                                    \
    one(cuEventDestroy, (CUevent event))                                                                                                     \
    one(cuEventRecord, (CUevent event, CUstream stream))                                                                                     \
    one(cuEventQuery, (CUevent event))                                                                                                       \
    one(cuEventSynchronize, (CUevent event))                                                                                                 \
    one(cuModuleLoadData, (CUmodule * module, const void *image))                                                                            \
    one(cuModuleUnload, (CUmodule module))                                                                                                   \
    one(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                                                     \
    one(cuLaunchKernel, (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
                         CUstream stream, void **parameters, void **extra))                                                                  \
    one(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr pointer))                                                                   \
    one(cuIpcOpenMemHandle, (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags))                                                  \
    one(cuIpcCloseMemHandle, (CUdeviceptr pointer))                                                                                          \
    one(cuMemCreate, (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags))       \
    one(cuMemRelease, (CUmemGenericAllocationHandle handle))                                                                                 \
    one(cuMemAddressReserve, (CUdeviceptr * pointer, size_t bytes, size_t alignment, CUdeviceptr wanted, unsigned long long flags))          \
    one(cuMemAddressFree, (CUdeviceptr pointer, size_t bytes))                                                                               \
    one(cuMemMap, (CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags))         \
    one(cuMemUnmap, (CUdeviceptr pointer, size_t bytes))                                                                                     \
    one(cuMemSetAccess, (CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access, size_t count))                                    \
    one(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *pointer))                                                 \
    one(cuMemExportToShareableHandle, (void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags))            \
    one(cuMemImportFromShareableHandle, (CUmemGenericAllocationHandle * handle, void *shareable, int type))

#define DECLARE(name, arguments) CUresult name arguments;
PROCEDURES(DECLARE)
#undef DECLARE

/* The stand-in's own. */

/* How often the program, or a library in it, has called a procedure, by its name without a version: "cuMemcpyAsync". */
long cuda_calls(const char *name);
/* Count again from 0. */
void cuda_reset_calls(void);
/* Bytes of device memory from the other side, past the checks of the driver: to fill and to compare. Null: not memory of a device. */
void *cuda_backing(CUdeviceptr pointer);
/* Make a procedure fail from now on with this code (0: no more), as ISTHMUS_TEST_CUDA_FAIL does from the start. */
void cuda_fail(const char *name, CUresult code);
/* Allocations of device memory, and opened handles, that have not been given back. */
long cuda_allocations(void);
long cuda_opened(void);

#endif
