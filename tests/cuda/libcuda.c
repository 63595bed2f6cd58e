/* A library that stands in for NVIDIA's driver library in tests (libcuda.so.1), where there is no GPU.
 *
 * What it does is from the public documentation of the CUDA Driver API. Memory of a "device" is a range of addresses that the process
 * cannot touch; its bytes are in a memfd, which is mapped a second time for the stand-in's copies alone. So each touch of it by the
 * processor ends the process. Freed ranges stay out of reach, until an allocation takes them again.
 *
 * Settings, by environment variables:
 *   ISTHMUS_TEST_DEVICES=n              devices (1)
 *   CUDA_VISIBLE_DEVICES=1,0            which of them, in which order, this process sees
 *   ISTHMUS_TEST_CUDA_PEER=0            devices do not reach each other's memory
 *   ISTHMUS_TEST_CUDA_LATE=n            work on a stream is done when it is asked after for the n-th time (0: at once)
 *   ISTHMUS_TEST_CUDA_FAIL=name:code[:n],...  the procedure fails with this code, by name or number, from the n-th call on (1)
 *   ISTHMUS_TEST_CUDA_MANAGED=0         the processor must not touch managed memory while kernels run
 */
#define _GNU_SOURCE
#include "cuda_standin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096ull
#define DEVICES 16
/* Addresses of each device's memory, and bytes of memory that it is said to have. */
#define SPACE (64ull << 30)
#define TOTAL (16ull << 30)
#define STACK_OF_CONTEXTS 64

/* ---- objects ------------------------------------------------------------------------------------------------------------------------ */

enum { CONTEXT = 0x434f4e54, STREAM = 0x53545245, EVENT = 0x45564e54, MODULE = 0x4d4f4455, FUNCTION = 0x46554e43, PHYSICAL = 0x50485953 };

struct context {
    int magic, device, is_primary, is_alive, retained;
    CUresult broken;
    struct stream *legacy;
    unsigned peers; /* devices whose memory its kernels reach */
    struct context *next;
};

struct task;
struct stream {
    int magic, is_alive, flags;
    struct context *context;
    struct task *first, **last;
    int polls_left;
    CUresult failed;
    struct stream *next;
};

struct event {
    int magic, is_pending;
    struct stream *stream;
};

struct module {
    int magic, is_alive;
    struct context *context;
    struct function *functions;
    struct module *next;
};

struct function {
    int magic;
    struct module *module;
    char name[64];
    struct function *next;
};

enum kind { DEVICE, POOL, OPENED, MAPPED, MANAGED, PINNED, REGISTERED, RESERVED };

/* Memory of virtual memory management: it has an address where it is mapped only. */
struct physical {
    int magic, fd, device, references, has_descriptor, is_imported;
    unsigned long long bytes, id;
};

struct allocation {
    enum kind kind;
    unsigned long long start, bytes, room;
    char *backing;
    int fd, device, sync, others_fd_pid, others_fd, opens;
    unsigned long long id, inode;
    struct context *context;
    struct physical *physical;
    unsigned access; /* devices that may access what is mapped */
    struct allocation *next;
};

enum what { COPY, ROWS, FILL, WRITE, KERNEL, RECORD };

struct task {
    enum what what;
    CUdeviceptr to, from;
    size_t bytes;
    char *staged;
    CUDA_MEMCPY2D rows;
    uint32_t value;
    struct function *function;
    uint64_t parameters[6];
    struct event *event;
    struct task *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialized_by, device_count, physical[DEVICES], late, peer = 1, managed_concurrent = 1;
static unsigned long long next_id = 1, space[DEVICES];
static struct allocation *allocations;
static struct context *contexts, *primary[DEVICES];
static struct stream *streams;
static struct module *modules;
static _Thread_local struct context *stack[STACK_OF_CONTEXTS];
static _Thread_local int depth;

/* ---- calls are counted, and fail if told so ------------------------------------------------------------------------------------------ */

enum procedure {
#define NUMBER(name, arguments) P_##name,
    PROCEDURES(NUMBER)
#undef NUMBER
    PROCEDURE_COUNT
};
static const char *const names[] = {
#define NAME(name, arguments) #name,
    PROCEDURES(NAME)
#undef NAME
};
static long calls[PROCEDURE_COUNT], fails_from[PROCEDURE_COUNT], all_calls[PROCEDURE_COUNT];
static CUresult fails_with[PROCEDURE_COUNT];

static const struct {
    CUresult code;
    const char *name;
} codes[] = {
#define CODE(name) {name, #name}
    CODE(CUDA_SUCCESS),
    CODE(CUDA_ERROR_INVALID_VALUE),
    CODE(CUDA_ERROR_OUT_OF_MEMORY),
    CODE(CUDA_ERROR_NOT_INITIALIZED),
    CODE(CUDA_ERROR_DEINITIALIZED),
    CODE(CUDA_ERROR_NO_DEVICE),
    CODE(CUDA_ERROR_INVALID_DEVICE),
    CODE(CUDA_ERROR_INVALID_IMAGE),
    CODE(CUDA_ERROR_INVALID_CONTEXT),
    CODE(CUDA_ERROR_MAP_FAILED),
    CODE(CUDA_ERROR_ALREADY_MAPPED),
    CODE(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
    CODE(CUDA_ERROR_INVALID_PTX),
    CODE(CUDA_ERROR_INVALID_HANDLE),
    CODE(CUDA_ERROR_NOT_FOUND),
    CODE(CUDA_ERROR_NOT_READY),
    CODE(CUDA_ERROR_ILLEGAL_ADDRESS),
    CODE(CUDA_ERROR_CONTEXT_IS_DESTROYED),
    CODE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
    CODE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
    CODE(CUDA_ERROR_MISALIGNED_ADDRESS),
    CODE(CUDA_ERROR_LAUNCH_FAILED),
    CODE(CUDA_ERROR_NOT_PERMITTED),
    CODE(CUDA_ERROR_NOT_SUPPORTED),
    CODE(CUDA_ERROR_UNKNOWN),
#undef CODE
};

static int procedure_of(const char *name) {
    for (int i = 0; i < PROCEDURE_COUNT; i++)
        if (!strcmp(names[i], name)) return i;
    fprintf(stderr, "stand-in for CUDA: it has no procedure %s\n", name);
    abort();
}

static CUresult code_of(const char *text) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(codes[i].name, text)) return codes[i].code;
    return atoi(text);
}

__attribute__((constructor)) static void settings(void) {
    const char *text = getenv("ISTHMUS_TEST_CUDA_FAIL");
    if (text) {
        char *copy = strdup(text), *rest = NULL;
        for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
            char *part = NULL, *name = strtok_r(one, ":", &part), *code = strtok_r(NULL, ":", &part);
            char *from = strtok_r(NULL, ":", &part);
            int at = procedure_of(name);
            fails_with[at] = code ? code_of(code) : CUDA_ERROR_UNKNOWN;
            fails_from[at] = from ? atol(from) : 1;
        }
        free(copy);
    }
    int all = (text = getenv("ISTHMUS_TEST_DEVICES")) ? atoi(text) : 1;
    if (all > DEVICES) all = DEVICES;
    text = getenv("CUDA_VISIBLE_DEVICES");
    if (text) {
        char *copy = strdup(text), *rest = NULL;
        for (char *one = strtok_r(copy, ",", &rest); one && device_count < DEVICES; one = strtok_r(NULL, ",", &rest)) {
            if (atoi(one) < 0 || atoi(one) >= all) break;
            physical[device_count++] = atoi(one);
        }
        free(copy);
    } else {
        for (; device_count < all; device_count++) physical[device_count] = device_count;
    }
    if ((text = getenv("ISTHMUS_TEST_CUDA_LATE"))) late = atoi(text);
    if ((text = getenv("ISTHMUS_TEST_CUDA_PEER"))) peer = atoi(text);
    if ((text = getenv("ISTHMUS_TEST_CUDA_MANAGED"))) managed_concurrent = atoi(text);
}

static CUresult leave(CUresult code) {
    pthread_mutex_unlock(&lock);
    return code;
}

/* At the begin of each procedure: take the lock, count, fail if told so. */
static CUresult enter(enum procedure which) {
    pthread_mutex_lock(&lock);
    calls[which]++;
    all_calls[which]++;
    if (fails_with[which] && all_calls[which] >= fails_from[which]) return fails_with[which];
    if (which == P_cuInit || which == P_cuGetErrorName || which == P_cuGetErrorString || which == P_cuDriverGetVersion) return 0;
    return initialized_by && initialized_by == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* The procedure's number is made of its name before the name is replaced by the one with a version. */
#define ENTER(name) ENTER_AS(P_##name)
#define ENTER_AS(which)                                                                                                                      \
    do {                                                                                                                                     \
        CUresult entered = enter(which);                                                                                                     \
        if (entered) return leave(entered);                                                                                                  \
    } while (0)

/* The same for what needs a current context, which is `context` then. */
#define ENTER_IN_CONTEXT(name) ENTER_IN_CONTEXT_AS(P_##name)
#define ENTER_IN_CONTEXT_AS(which)                                                                                                           \
    ENTER_AS(which);                                                                                                                         \
    struct context *context = depth ? stack[depth - 1] : NULL;                                                                               \
    if (!context) return leave(CUDA_ERROR_INVALID_CONTEXT);                                                                                  \
    if (!context->is_alive) return leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);                                                                   \
    if (context->broken) return leave(context->broken)

#define CHECK(condition, code)                                                                                                               \
    do {                                                                                                                                     \
        if (!(condition)) return leave(code);                                                                                                \
    } while (0)

/* ---- memory --------------------------------------------------------------------------------------------------------------------------- */

static struct allocation *allocation_of(unsigned long long address) {
    for (struct allocation *a = allocations; a; a = a->next)
        if (a->kind != RESERVED && address >= a->start && address - a->start < a->bytes) return a;
    return NULL;
}

static int is_of_devices(unsigned long long address) {
    for (int i = 0; i < device_count; i++)
        if (space[i] && address >= space[i] && address - space[i] < SPACE) return 1;
    return 0;
}

/* The lowest addresses of the device that are free: those of freed memory are given again. */
static unsigned long long place_for(int device, unsigned long long room) {
    if (!space[device]) {
        void *at = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) return 0;
        space[device] = (unsigned long long)at;
    }
    unsigned long long at = space[device];
    for (int again = 1; again;) {
        again = 0;
        for (struct allocation *a = allocations; a; a = a->next)
            if (a->start < at + room && at < a->start + a->room) at = a->start + a->room, again = 1;
    }
    return at + room <= space[device] + SPACE ? at : 0;
}

static struct allocation *add(struct allocation what) {
    struct allocation *a = malloc(sizeof *a);
    *a = what;
    a->id = next_id++;
    a->next = allocations;
    allocations = a;
    return a;
}

static void let_go(struct physical *physical) {
    if (--physical->references) return;
    close(physical->fd);
    physical->magic = 0;
    free(physical);
}

static void drop(struct allocation *gone) {
    for (struct allocation **a = &allocations; *a; a = &(*a)->next) {
        if (*a != gone) continue;
        *a = gone->next;
        break;
    }
    if (gone->kind == DEVICE || gone->kind == POOL || gone->kind == OPENED) {
        munmap(gone->backing, gone->room);
        close(gone->fd);
    }
    if (gone->kind == MAPPED) munmap(gone->backing, gone->room), let_go(gone->physical);
    if (gone->kind == MANAGED) mmap((void *)gone->start, gone->room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (gone->kind == PINNED) munmap((void *)gone->start, gone->room);
    free(gone);
}

static unsigned long long rounded(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static CUresult allocate(struct context *context, enum kind kind, CUdeviceptr *pointer, size_t bytes) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    unsigned long long used = 0;
    for (struct allocation *a = allocations; a; a = a->next)
        if ((a->kind == DEVICE || a->kind == POOL) && a->device == context->device) used += a->room;
    if (bytes > TOTAL || used + bytes > TOTAL) return CUDA_ERROR_OUT_OF_MEMORY;
    struct allocation new = {.kind = kind, .bytes = bytes, .room = rounded(bytes), .device = context->device, .context = context};
    new.start = place_for(context->device, new.room);
    if (!new.start) return CUDA_ERROR_OUT_OF_MEMORY;
    new.fd = memfd_create("device memory", MFD_CLOEXEC);
    struct stat file;
    if (new.fd < 0 || ftruncate(new.fd, new.room) || fstat(new.fd, &file)) return CUDA_ERROR_OUT_OF_MEMORY;
    new.inode = file.st_ino;
    new.backing = mmap(NULL, new.room, PROT_READ | PROT_WRITE, MAP_SHARED, new.fd, 0);
    if (new.backing == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    if (kind == POOL) new.context = NULL;
    *pointer = add(new)->start;
    return CUDA_SUCCESS;
}

/* Where the stand-in has these bytes, or null. A copy may name host memory that the driver does not know. */
static char *bytes_at(unsigned long long address, size_t bytes) {
    struct allocation *a = allocation_of(address);
    if (!a) return is_of_devices(address) ? NULL : (char *)address;
    if (a->kind == MAPPED && !a->access) return NULL;
    if (bytes > a->bytes - (address - a->start)) return a->kind < MANAGED ? NULL : (char *)address;
    return a->kind < MANAGED ? a->backing + (address - a->start) : (char *)address;
}

/* The same for a kernel of this context. */
static char *reached(struct context *context, unsigned long long address, size_t bytes) {
    struct allocation *a = allocation_of(address);
    if (!a || bytes > a->bytes - (address - a->start)) return NULL;
    if (a->kind >= MANAGED) return (char *)address;
    if (a->kind == MAPPED) return a->access >> context->device & 1 ? a->backing + (address - a->start) : NULL;
    int own = a->context ? a->context == context : a->device == context->device;
    if (!own && !(a->device != context->device && (context->peers >> a->device & 1))) return NULL;
    return a->backing + (address - a->start);
}

static int is_pageable(unsigned long long address) { return !allocation_of(address); }

/* ---- kernels --------------------------------------------------------------------------------------------------------------------------- */

#define COMBINE(name, type, expression)                                                                                                      \
    if (!strcmp(kernel, name)) {                                                                                                             \
        type *r = (type *)result;                                                                                                            \
        const type *x = (const type *)left, *y = (const type *)right;                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                                                 \
            type a = x[i], b = y[i];                                                                                                         \
            r[i] = (type)(expression);                                                                                                       \
        }                                                                                                                                    \
        return 1;                                                                                                                            \
    }
#define ARITHMETIC(number, type, wide)                                                                                                       \
    COMBINE("isthmus_max_" number, type, a > b ? a : b)                                                                                      \
    COMBINE("isthmus_min_" number, type, a < b ? a : b)                                                                                      \
    COMBINE("isthmus_sum_" number, type, (wide)a + (wide)b)                                                                                  \
    COMBINE("isthmus_prod_" number, type, (wide)a *(wide)b)
#define INTEGERS(number, type)                                                                                                               \
    ARITHMETIC(number, type, uint64_t)                                                                                                       \
    COMBINE("isthmus_land_" number, type, a &&b)                                                                                             \
    COMBINE("isthmus_lor_" number, type, a || b)                                                                                             \
    COMBINE("isthmus_lxor_" number, type, !a != !b)                                                                                          \
    COMBINE("isthmus_band_" number, type, a &b)                                                                                              \
    COMBINE("isthmus_bor_" number, type, a | b)                                                                                              \
    COMBINE("isthmus_bxor_" number, type, a ^ b)

/* Halves: by their bits, computed as float and rounded to nearest even. */
static float from_half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction ? __builtin_nanf("") : sign * __builtin_inff();
    float value = exponent ? 1024 + fraction : fraction;
    for (int i = exponent ? exponent : 1; i < 25; i++) value /= 2;
    for (int i = exponent; i > 25; i--) value *= 2;
    return sign * value;
}

static uint16_t to_half(float value) {
    /* The nearest of all, the even one of two. */
    uint16_t sign = __builtin_signbit(value) ? 0x8000 : 0, low = 0, high = 0x7c00;
    float size = __builtin_fabsf(value);
    if (size != size) return 0x7fff;
    if (size >= 65520) return sign | 0x7c00;
    while (high - low > 1) {
        uint16_t middle = (low + high) / 2;
        if (from_half(middle) <= size) low = middle;
        else high = middle;
    }
    float above = high == 0x7c00 ? 65536 : from_half(high), up = above - size, down = size - from_half(low);
    return sign | (up < down || (up == down && low & 1) ? high : low);
}

static float from_brain(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static uint16_t to_brain(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return value != value ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#define HALVES(number, from, to)                                                                                                             \
    COMBINE("isthmus_max_" number, uint16_t, from(a) > from(b) ? a : b)                                                                      \
    COMBINE("isthmus_min_" number, uint16_t, from(a) < from(b) ? a : b)                                                                      \
    COMBINE("isthmus_sum_" number, uint16_t, to(from(a) + from(b)))                                                                          \
    COMBINE("isthmus_prod_" number, uint16_t, to(from(a) * from(b)))

#define PAIR(number, value, place)                                                                                                           \
    do {                                                                                                                                     \
        int least = !strcmp(kernel, "isthmus_minloc_" number);                                                                               \
        if (!least && strcmp(kernel, "isthmus_maxloc_" number)) break;                                                                       \
        struct {                                                                                                                             \
            value v;                                                                                                                         \
            place i;                                                                                                                         \
        } *r = (void *)result, *x = (void *)left, *y = (void *)right;                                                                        \
        for (; count--; r++, x++, y++) {                                                                                                     \
            int better = least ? x->v < y->v : x->v > y->v, sooner = x->v == y->v && x->i < y->i;                                            \
            value v = better ? x->v : y->v;                                                                                                  \
            place i = better || sooner ? x->i : y->i;                                                                                        \
            r->v = v, r->i = i;                                                                                                              \
        }                                                                                                                                    \
        return 1;                                                                                                                            \
    } while (0)

#define COMPLEX(number, type)                                                                                                                \
    do {                                                                                                                                     \
        int sum = !strcmp(kernel, "isthmus_sum_" number);                                                                                    \
        if (!sum && strcmp(kernel, "isthmus_prod_" number)) break;                                                                           \
        type *r = (void *)result, *x = (void *)left, *y = (void *)right;                                                                     \
        for (; count--; r += 2, x += 2, y += 2) {                                                                                            \
            type re = sum ? x[0] + y[0] : x[0] * y[0] - x[1] * y[1], im = sum ? x[1] + y[1] : x[0] * y[1] + x[1] * y[0];                     \
            r[0] = re, r[1] = im;                                                                                                            \
        }                                                                                                                                    \
        return 1;                                                                                                                            \
    } while (0)

static int combine(const char *kernel, char *result, char *left, char *right, size_t count) {
    INTEGERS("i8", int8_t)
    INTEGERS("i16", int16_t)
    INTEGERS("i32", int32_t)
    INTEGERS("i64", int64_t)
    INTEGERS("u8", uint8_t)
    INTEGERS("u16", uint16_t)
    INTEGERS("u32", uint32_t)
    INTEGERS("u64", uint64_t)
    ARITHMETIC("f32", float, float)
    ARITHMETIC("f64", double, double)
    HALVES("f16", from_half, to_half)
    HALVES("bf16", from_brain, to_brain)
    COMPLEX("c32", float);
    COMPLEX("c64", double);
    PAIR("i16i32", int16_t, int32_t);
    PAIR("i32i32", int32_t, int32_t);
    PAIR("i64i32", int64_t, int32_t);
    PAIR("f32i32", float, int32_t);
    PAIR("f64i32", double, int32_t);
    PAIR("f32f32", float, float);
    PAIR("f64f64", double, double);
    return 0;
}

static CUresult run_kernel(struct context *context, const char *kernel, const uint64_t *p) {
    int unit;
    if (sscanf(kernel, "isthmus_rows_%d", &unit) == 1) {
        uint32_t width = p[4], count = p[5];
        for (uint32_t i = 0; i < count; i++) {
            uint64_t to = p[0] + (i / width) * p[1] + (uint64_t)(i % width) * unit;
            uint64_t from = p[2] + (i / width) * p[3] + (uint64_t)(i % width) * unit;
            if ((to | from) % unit) return CUDA_ERROR_MISALIGNED_ADDRESS;
            char *x = reached(context, to, unit), *y = reached(context, from, unit);
            if (!x || !y) return CUDA_ERROR_ILLEGAL_ADDRESS;
            memcpy(x, y, unit);
        }
        return CUDA_SUCCESS;
    }
    int gather = !strcmp(kernel, "isthmus_gather");
    if (gather || !strcmp(kernel, "isthmus_scatter")) {
        uint32_t count = p[3];
        uint64_t *entry = (uint64_t *)reached(context, p[1], 24ull * count);
        if (!entry) return CUDA_ERROR_ILLEGAL_ADDRESS;
        for (; count--; entry += 3) {
            if (!entry[2]) continue;
            char *memory = reached(context, p[0] + entry[0], entry[2]), *packed = reached(context, p[2] + entry[1], entry[2]);
            if (!memory || !packed) return CUDA_ERROR_ILLEGAL_ADDRESS;
            if (gather) memcpy(packed, memory, entry[2]);
            else memcpy(memory, packed, entry[2]);
        }
        return CUDA_SUCCESS;
    }
    const char *number = strrchr(kernel, '_');
    if (!number) return CUDA_ERROR_LAUNCH_FAILED;
    /* Names end in the element's type: letters and bits, of one value or two. */
    size_t first = atoi(number + 1 + strcspn(number + 1, "0123456789")) / 8, count = p[3], size = first, aligned = first;
    const char *second = number + 1 + strcspn(number + 1, "0123456789");
    second += strspn(second, "0123456789");
    if (*second) aligned = first > 4 ? first : 4, size = 2 * aligned;
    if (number[1] == 'c') size = 2 * first;
    if (!size) return CUDA_ERROR_LAUNCH_FAILED;
    if ((p[0] | p[1] | p[2]) % aligned) return CUDA_ERROR_MISALIGNED_ADDRESS;
    char *result = reached(context, p[0], count * size), *left = reached(context, p[1], count * size);
    char *right = reached(context, p[2], count * size);
    if (!result || !left || !right) return CUDA_ERROR_ILLEGAL_ADDRESS;
    return combine(kernel, result, left, right, count) ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

/* ---- streams ---------------------------------------------------------------------------------------------------------------------------- */

static CUresult do_rows(const CUDA_MEMCPY2D *c) {
    unsigned long long to = c->dstMemoryType == CU_MEMORYTYPE_HOST ? (unsigned long long)c->dstHost : c->dstDevice;
    unsigned long long from = c->srcMemoryType == CU_MEMORYTYPE_HOST ? (unsigned long long)c->srcHost : c->srcDevice;
    to += c->dstY * c->dstPitch + c->dstXInBytes;
    from += c->srcY * c->srcPitch + c->srcXInBytes;
    for (size_t i = 0; i < c->Height; i++) {
        char *x = bytes_at(to + i * c->dstPitch, c->WidthInBytes), *y = bytes_at(from + i * c->srcPitch, c->WidthInBytes);
        if (!x || !y) return CUDA_ERROR_INVALID_VALUE;
        memmove(x, y, c->WidthInBytes);
    }
    return CUDA_SUCCESS;
}

static CUresult perform(struct stream *stream, struct task *t) {
    char *to, *from;
    switch (t->what) {
    case COPY:
        to = bytes_at(t->to, t->bytes);
        from = t->staged ? t->staged : bytes_at(t->from, t->bytes);
        if (!to || !from) return CUDA_ERROR_ILLEGAL_ADDRESS;
        memmove(to, from, t->bytes);
        return CUDA_SUCCESS;
    case ROWS: return do_rows(&t->rows);
    case FILL:
        to = bytes_at(t->to, t->bytes);
        if (!to) return CUDA_ERROR_ILLEGAL_ADDRESS;
        memset(to, t->value, t->bytes);
        return CUDA_SUCCESS;
    case WRITE:
        to = bytes_at(t->to, 4);
        if (!to) return CUDA_ERROR_ILLEGAL_ADDRESS;
        __atomic_store_n((uint32_t *)to, t->value, __ATOMIC_RELEASE);
        return CUDA_SUCCESS;
    case KERNEL: return run_kernel(stream->context, t->function->name, t->parameters);
    case RECORD: t->event->is_pending = 0; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_UNKNOWN;
}

/* Do all that the stream has been given. */
static CUresult drain(struct stream *stream) {
    while (stream->first) {
        struct task *t = stream->first;
        if (!stream->failed) {
            stream->failed = perform(stream, t);
            /* Errors of kernels and copies under way stay with the context. */
            if (stream->failed) stream->context->broken = stream->failed;
        }
        stream->first = t->next;
        if (!stream->first) stream->last = &stream->first;
        free(t->staged);
        free(t);
    }
    return stream->failed;
}

/* Asked after: done, if it has been asked after often enough. */
static CUresult ask(struct stream *stream) {
    if (!stream->first) return stream->failed;
    if (--stream->polls_left > 0) return CUDA_ERROR_NOT_READY;
    return drain(stream);
}

static struct stream *new_stream(struct context *context, int flags) {
    struct stream *s = calloc(1, sizeof *s);
    s->magic = STREAM;
    s->is_alive = 1;
    s->context = context;
    s->flags = flags;
    s->last = &s->first;
    s->next = streams;
    streams = s;
    return s;
}

/* The stream, if it may be used in this context. */
static struct stream *stream_of(struct context *context, CUstream handle) {
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return context->legacy;
    for (struct stream *s = streams; s; s = s->next)
        if (s == handle) return s->is_alive && s->context == context ? s : NULL;
    return NULL;
}

static CUresult enqueue(struct stream *stream, struct task what) {
    struct task *t = malloc(sizeof *t);
    /* The default stream and those that block wait for each other. */
    if (stream == stream->context->legacy) {
        for (struct stream *s = streams; s; s = s->next)
            if (s->is_alive && s->context == stream->context && s != stream && !(s->flags & CU_STREAM_NON_BLOCKING)) drain(s);
    } else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
        drain(stream->context->legacy);
    }
    *t = what;
    if (!stream->first) stream->polls_left = late;
    *stream->last = t;
    stream->last = &t->next;
    t->next = NULL;
    return late > 0 ? CUDA_SUCCESS : drain(stream);
}

/* A copy, as a stream does it. Host memory that is not pinned is read before the call returns, and written before it returns. */
static CUresult copy_on(struct stream *stream, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    if (!bytes) return CUDA_SUCCESS;
    char *there = bytes_at(to, bytes), *here = bytes_at(from, bytes);
    if (!there || !here) return CUDA_ERROR_INVALID_VALUE;
    struct task t = {.what = COPY, .to = to, .from = from, .bytes = bytes};
    if (is_pageable(from)) t.staged = memcpy(malloc(bytes), here, bytes);
    CUresult code = enqueue(stream, t);
    return code || !is_pageable(to) ? code : drain(stream);
}

/* A copy by a call that is said to be synchronous: on the default stream. Between memory of devices, and from host memory that is not
 * pinned, it can return before the bytes are there, unless CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set. */
static CUresult copy_now(struct context *context, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    CUresult code = copy_on(context->legacy, to, from, bytes);
    struct allocation *a = allocation_of(to), *b = allocation_of(from);
    int is_late = a && a->kind < MANAGED && (!b || b->kind < MANAGED) && !a->sync && !(b && b->sync);
    return code || is_late ? code : drain(context->legacy);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------------------------------- */

static struct context *new_context(int device, int is_primary) {
    struct context *c = calloc(1, sizeof *c);
    c->magic = CONTEXT;
    c->device = device;
    c->is_primary = is_primary;
    c->is_alive = 1;
    c->next = contexts;
    contexts = c;
    c->legacy = new_stream(c, 0);
    return c;
}

static struct context *known(CUcontext handle) {
    for (struct context *c = contexts; c; c = c->next)
        if (c == handle) return c;
    return NULL;
}

/* All that was made in it is gone. */
static void empty(struct context *context) {
    for (struct stream *s = streams; s; s = s->next) {
        if (s->context != context) continue;
        drain(s);
        if (s != context->legacy) s->is_alive = 0;
    }
    for (struct module *m = modules; m; m = m->next)
        if (m->context == context) m->is_alive = 0;
    for (struct allocation *a = allocations, *next; a; a = next) {
        next = a->next;
        if (a->context == context) drop(a);
    }
}

CUresult cuInit(unsigned flags) {
    ENTER(cuInit);
    CHECK(!flags, CUDA_ERROR_INVALID_VALUE);
    CHECK(device_count, CUDA_ERROR_NO_DEVICE);
    CHECK(!initialized_by || initialized_by == getpid(), CUDA_ERROR_NOT_INITIALIZED);
    initialized_by = getpid();
    return leave(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version) {
    ENTER(cuDriverGetVersion);
    *version = 12080;
    return leave(CUDA_SUCCESS);
}

CUresult cuGetErrorName(CUresult code, const char **name) {
    ENTER(cuGetErrorName);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code != code) continue;
        *name = codes[i].name;
        return leave(CUDA_SUCCESS);
    }
    *name = NULL;
    return leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGetErrorString(CUresult code, const char **text) { return cuGetErrorName(code, text); }

CUresult cuDeviceGetCount(int *count) {
    ENTER(cuDeviceGetCount);
    *count = device_count;
    return leave(CUDA_SUCCESS);
}

#define CHECK_DEVICE(device) CHECK((device) >= 0 && (device) < device_count, CUDA_ERROR_INVALID_DEVICE)

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER(cuDeviceGet);
    CHECK_DEVICE(ordinal);
    *device = ordinal;
    return leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER(cuDeviceGetName);
    CHECK_DEVICE(device);
    snprintf(name, length, "Stand-in %d", physical[device]);
    return leave(CUDA_SUCCESS);
}

static CUuuid uuid_of(int device) {
    CUuuid uuid = {"stand-in device"};
    uuid.bytes[15] = (char)physical[device];
    return uuid;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    ENTER(cuDeviceGetUuid);
    CHECK_DEVICE(device);
    *uuid = uuid_of(device);
    return leave(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    ENTER(cuDeviceTotalMem);
    CHECK_DEVICE(device);
    *bytes = TOTAL;
    return leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    ENTER(cuDeviceGetAttribute);
    CHECK_DEVICE(device);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *value = managed_concurrent; break;
    default: *value = 0;
    }
    return leave(CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice other) {
    ENTER(cuDeviceCanAccessPeer);
    CHECK_DEVICE(device);
    CHECK_DEVICE(other);
    *can = peer && device != other;
    return leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER(cuDevicePrimaryCtxRetain);
    CHECK_DEVICE(device);
    if (!primary[device]) primary[device] = new_context(device, 1);
    primary[device]->retained++;
    primary[device]->is_alive = 1;
    *context = primary[device];
    return leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    ENTER(cuDevicePrimaryCtxRelease);
    CHECK_DEVICE(device);
    CHECK(primary[device] && primary[device]->retained, CUDA_ERROR_INVALID_CONTEXT);
    if (!--primary[device]->retained) {
        empty(primary[device]);
        primary[device]->is_alive = 0;
    }
    return leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    ENTER(cuDevicePrimaryCtxReset);
    CHECK_DEVICE(device);
    if (primary[device]) {
        empty(primary[device]);
        primary[device]->broken = primary[device]->legacy->failed = CUDA_SUCCESS;
    }
    return leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER(cuDevicePrimaryCtxGetState);
    CHECK_DEVICE(device);
    *flags = 0;
    *active = primary[device] && primary[device]->is_alive;
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device) {
    (void)flags;
    ENTER(cuCtxCreate);
    CHECK_DEVICE(device);
    CHECK(depth < STACK_OF_CONTEXTS, CUDA_ERROR_INVALID_VALUE);
    *context = stack[depth++] = new_context(device, 0);
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxDestroy(CUcontext context) {
    ENTER(cuCtxDestroy);
    CHECK(known(context) && !context->is_primary && context->is_alive, CUDA_ERROR_INVALID_CONTEXT);
    empty(context);
    context->is_alive = 0;
    if (depth && stack[depth - 1] == context) depth--;
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent(CUcontext context) {
    ENTER(cuCtxPushCurrent);
    CHECK(known(context), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(context->is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(depth < STACK_OF_CONTEXTS, CUDA_ERROR_INVALID_VALUE);
    stack[depth++] = context;
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent(CUcontext *context) {
    ENTER(cuCtxPopCurrent);
    CHECK(depth, CUDA_ERROR_INVALID_CONTEXT);
    depth--;
    if (context) *context = stack[depth];
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext context) {
    ENTER(cuCtxSetCurrent);
    CHECK(!context || known(context), CUDA_ERROR_INVALID_CONTEXT);
    if (!context) {
        if (depth) depth--;
    } else if (depth) {
        stack[depth - 1] = context;
    } else {
        stack[depth++] = context;
    }
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    ENTER(cuCtxGetCurrent);
    *context = depth ? stack[depth - 1] : NULL;
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER_IN_CONTEXT(cuCtxGetDevice);
    *device = context->device;
    return leave(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void) {
    ENTER_IN_CONTEXT(cuCtxSynchronize);
    for (struct stream *s = streams; s; s = s->next)
        if (s->is_alive && s->context == context) drain(s);
    return leave(context->broken);
}

CUresult cuCtxEnablePeerAccess(CUcontext other, unsigned flags) {
    ENTER_IN_CONTEXT(cuCtxEnablePeerAccess);
    CHECK(!flags, CUDA_ERROR_INVALID_VALUE);
    CHECK(known(other), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(peer && other->device != context->device, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    context->peers |= 1u << other->device;
    return leave(CUDA_SUCCESS);
}

/* ---- allocation --------------------------------------------------------------------------------------------------------------------------- */

CUresult cuMemGetInfo(size_t *left, size_t *total) {
    ENTER_IN_CONTEXT(cuMemGetInfo);
    unsigned long long used = 0;
    for (struct allocation *a = allocations; a; a = a->next)
        if ((a->kind == DEVICE || a->kind == POOL) && a->device == context->device) used += a->room;
    *left = TOTAL - used;
    *total = TOTAL;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes) {
    ENTER_IN_CONTEXT(cuMemAlloc);
    return leave(allocate(context, DEVICE, pointer, bytes));
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream handle) {
    ENTER_IN_CONTEXT(cuMemAllocAsync);
    CHECK(stream_of(context, handle), CUDA_ERROR_INVALID_HANDLE);
    return leave(allocate(context, POOL, pointer, bytes));
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned flags) {
    ENTER_IN_CONTEXT(cuMemAllocManaged);
    CHECK(bytes && flags, CUDA_ERROR_INVALID_VALUE);
    struct allocation new = {.kind = MANAGED, .bytes = bytes, .room = rounded(bytes), .device = context->device, .context = context};
    new.start = place_for(context->device, new.room);
    CHECK(new.start, CUDA_ERROR_OUT_OF_MEMORY);
    void *at = mmap((void *)new.start, new.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = add(new)->start;
    return leave(CUDA_SUCCESS);
}

static CUresult give_back(CUdeviceptr pointer) {
    if (!pointer) return CUDA_SUCCESS;
    struct allocation *a = allocation_of(pointer);
    if (!a || a->start != pointer || (a->kind != DEVICE && a->kind != POOL && a->kind != MANAGED)) return CUDA_ERROR_INVALID_VALUE;
    for (struct stream *s = streams; s; s = s->next)
        if (s->is_alive) drain(s);
    drop(a);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr pointer) {
    ENTER_IN_CONTEXT(cuMemFree);
    return leave(give_back(pointer));
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
    ENTER_IN_CONTEXT(cuMemFreeAsync);
    CHECK(stream_of(context, handle), CUDA_ERROR_INVALID_HANDLE);
    return leave(give_back(pointer));
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER_IN_CONTEXT(cuMemHostAlloc);
    CHECK(bytes, CUDA_ERROR_INVALID_VALUE);
    void *at = mmap(NULL, rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    add((struct allocation){.kind = PINNED, .start = (unsigned long long)at, .bytes = bytes, .room = rounded(bytes), .context = context});
    *pointer = at;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *pointer) {
    ENTER_IN_CONTEXT(cuMemFreeHost);
    struct allocation *a = allocation_of((unsigned long long)pointer);
    CHECK(a && a->start == (unsigned long long)pointer && a->kind == PINNED, CUDA_ERROR_INVALID_VALUE);
    drop(a);
    return leave(CUDA_SUCCESS);
}

CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER_IN_CONTEXT(cuMemHostRegister);
    unsigned long long start = (unsigned long long)pointer;
    CHECK(bytes && pointer && !is_of_devices(start), CUDA_ERROR_INVALID_VALUE);
    for (struct allocation *a = allocations; a; a = a->next)
        CHECK(!(a->start < start + bytes && start < a->start + a->bytes), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    add((struct allocation){.kind = REGISTERED, .start = start, .bytes = bytes, .room = bytes, .context = context});
    return leave(CUDA_SUCCESS);
}

CUresult cuMemHostUnregister(void *pointer) {
    ENTER_IN_CONTEXT(cuMemHostUnregister);
    struct allocation *a = allocation_of((unsigned long long)pointer);
    CHECK(a && a->start == (unsigned long long)pointer && a->kind == REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    drop(a);
    return leave(CUDA_SUCCESS);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *pointer, unsigned flags) {
    ENTER_IN_CONTEXT(cuMemHostGetDevicePointer);
    struct allocation *a = allocation_of((unsigned long long)pointer);
    CHECK(!flags && a && a->kind >= PINNED, CUDA_ERROR_INVALID_VALUE);
    *device = (unsigned long long)pointer;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer) {
    ENTER_IN_CONTEXT(cuMemGetAddressRange);
    struct allocation *a = allocation_of(pointer);
    CHECK(a && a->kind <= MANAGED, CUDA_ERROR_NOT_FOUND);
    if (base) *base = a->start;
    if (bytes) *bytes = a->bytes;
    return leave(CUDA_SUCCESS);
}

/* An attribute's value, or what it is where the driver does not know the address. */
static CUresult attribute_of(struct allocation *a, void *value, int attribute, CUdeviceptr pointer) {
    int is_host = a && a->kind >= PINNED;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)value = a ? a->context : NULL; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)value = !a ? 0 : is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = a ? pointer : 0; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (a && a->kind < MANAGED) return CUDA_ERROR_INVALID_VALUE;
        *(void **)value = a ? (void *)pointer : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)value = a ? a->sync : 0; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)value = a ? a->id : 0; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = a && a->kind == MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = !a ? -2 : is_host ? a->context->device : a->device; break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(unsigned *)value = a && a->kind == DEVICE; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)value = a ? a->start : 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)value = a ? a->bytes : 0; break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *(size_t *)value = a ? a->bytes : 0; break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *(CUdeviceptr *)value = a ? a->start : 0; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *(unsigned long long *)value = a && a->kind == MAPPED ? a->physical->id : 0; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)value = a != NULL; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr pointer) {
    ENTER(cuPointerGetAttribute);
    struct allocation *a = allocation_of(pointer);
    CHECK(a, CUDA_ERROR_INVALID_VALUE);
    return leave(attribute_of(a, value, attribute, pointer));
}

CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **values, CUdeviceptr pointer) {
    ENTER(cuPointerGetAttributes);
    struct allocation *a = allocation_of(pointer);
    for (unsigned i = 0; i < count; i++) {
        CUresult code = attribute_of(a, values[i], attributes[i], pointer);
        CHECK(!code, code);
    }
    return leave(CUDA_SUCCESS);
}

CUresult cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr pointer) {
    ENTER(cuPointerSetAttribute);
    struct allocation *a = allocation_of(pointer);
    CHECK(a && a->kind < MANAGED && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CUDA_ERROR_INVALID_VALUE);
    a->sync = *(const unsigned *)value != 0;
    return leave(CUDA_SUCCESS);
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------------------- */

#define COPY_NOW(name, to_type, from_type)                                                                                                   \
    CUresult name(to_type to, from_type from, size_t bytes) {                                                                                \
        ENTER_IN_CONTEXT_AS(P_##name);                                                                                                           \
        return leave(copy_now(context, (CUdeviceptr)to, (CUdeviceptr)from, bytes));                                                          \
    }
#define COPY_ASYNC(name, to_type, from_type)                                                                                                 \
    CUresult name(to_type to, from_type from, size_t bytes, CUstream handle) {                                                               \
        ENTER_IN_CONTEXT_AS(P_##name);                                                                                                           \
        struct stream *stream = stream_of(context, handle);                                                                                  \
        CHECK(stream, CUDA_ERROR_INVALID_HANDLE);                                                                                            \
        return leave(copy_on(stream, (CUdeviceptr)to, (CUdeviceptr)from, bytes));                                                            \
    }
COPY_NOW(cuMemcpy, CUdeviceptr, CUdeviceptr)
COPY_NOW(cuMemcpyHtoD, CUdeviceptr, const void *)
COPY_NOW(cuMemcpyDtoH, void *, CUdeviceptr)
COPY_NOW(cuMemcpyDtoD, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyHtoDAsync, CUdeviceptr, const void *)
COPY_ASYNC(cuMemcpyDtoHAsync, void *, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync, CUdeviceptr, CUdeviceptr)

static CUresult rows_on(struct stream *stream, const CUDA_MEMCPY2D *copy, int now) {
    if (copy->WidthInBytes > copy->dstPitch || copy->WidthInBytes > copy->srcPitch) return CUDA_ERROR_INVALID_VALUE;
    if (copy->srcArray || copy->dstArray) return CUDA_ERROR_NOT_SUPPORTED;
    if (!copy->WidthInBytes || !copy->Height) return CUDA_SUCCESS;
    CUresult code = enqueue(stream, (struct task){.what = ROWS, .rows = *copy});
    unsigned long long to = copy->dstMemoryType == CU_MEMORYTYPE_HOST ? (unsigned long long)copy->dstHost : copy->dstDevice;
    unsigned long long from = copy->srcMemoryType == CU_MEMORYTYPE_HOST ? (unsigned long long)copy->srcHost : copy->srcDevice;
    return code || !(now || is_pageable(to) || is_pageable(from)) ? code : drain(stream);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy) {
    ENTER_IN_CONTEXT(cuMemcpy2D);
    return leave(rows_on(context->legacy, copy, 1));
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream handle) {
    ENTER_IN_CONTEXT(cuMemcpy2DAsync);
    struct stream *stream = stream_of(context, handle);
    CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    return leave(rows_on(stream, copy, 0));
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
    ENTER_IN_CONTEXT(cuMemsetD8);
    struct allocation *a = allocation_of(to);
    CHECK(a && bytes_at(to, count), CUDA_ERROR_INVALID_VALUE);
    if (!count) return leave(CUDA_SUCCESS);
    CUresult code = enqueue(context->legacy, (struct task){.what = FILL, .to = to, .bytes = count, .value = value});
    return leave(a->sync && !code ? drain(context->legacy) : code);
}

/* ---- streams and events --------------------------------------------------------------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    ENTER_IN_CONTEXT(cuStreamCreate);
    CHECK(flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    *stream = new_stream(context, flags);
    return leave(CUDA_SUCCESS);
}

#define ENTER_ON_STREAM(name, handle)                                                                                                        \
    ENTER_IN_CONTEXT_AS(P_##name);                                                                                                              \
    struct stream *stream = stream_of(context, handle);                                                                                      \
    CHECK(stream, CUDA_ERROR_INVALID_HANDLE)

CUresult cuStreamDestroy(CUstream handle) {
    ENTER_ON_STREAM(cuStreamDestroy, handle);
    CHECK(stream != context->legacy, CUDA_ERROR_INVALID_HANDLE);
    drain(stream);
    stream->is_alive = 0;
    return leave(CUDA_SUCCESS);
}

CUresult cuStreamQuery(CUstream handle) {
    ENTER_ON_STREAM(cuStreamQuery, handle);
    return leave(ask(stream));
}

CUresult cuStreamSynchronize(CUstream handle) {
    ENTER_ON_STREAM(cuStreamSynchronize, handle);
    return leave(drain(stream));
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
    (void)flags;
    ENTER_ON_STREAM(cuStreamWaitEvent, handle);
    CHECK(event && event->magic == EVENT, CUDA_ERROR_INVALID_HANDLE);
    return leave(event->is_pending ? drain(event->stream) : CUDA_SUCCESS);
}

CUresult cuStreamWriteValue32(CUstream handle, CUdeviceptr to, uint32_t value, unsigned flags) {
    (void)flags;
    ENTER_ON_STREAM(cuStreamWriteValue32, handle);
    struct allocation *a = allocation_of(to);
    CHECK(a && to % 4 == 0, CUDA_ERROR_INVALID_VALUE);
    return leave(enqueue(stream, (struct task){.what = WRITE, .to = to, .value = value}));
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    (void)flags;
    ENTER_IN_CONTEXT(cuEventCreate);
    *event = calloc(1, sizeof **event);
    (*event)->magic = EVENT;
    (*event)->stream = context->legacy;
    return leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent event) {
    ENTER_IN_CONTEXT(cuEventDestroy);
    CHECK(event && event->magic == EVENT, CUDA_ERROR_INVALID_HANDLE);
    if (event->is_pending) drain(event->stream);
    event->magic = 0;
    return leave(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
    ENTER_ON_STREAM(cuEventRecord, handle);
    CHECK(event && event->magic == EVENT, CUDA_ERROR_INVALID_HANDLE);
    event->is_pending = 1;
    event->stream = stream;
    return leave(enqueue(stream, (struct task){.what = RECORD, .event = event}));
}

CUresult cuEventQuery(CUevent event) {
    ENTER_IN_CONTEXT(cuEventQuery);
    CHECK(event && event->magic == EVENT, CUDA_ERROR_INVALID_HANDLE);
    return leave(event->is_pending ? ask(event->stream) : CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event) {
    ENTER_IN_CONTEXT(cuEventSynchronize);
    CHECK(event && event->magic == EVENT, CUDA_ERROR_INVALID_HANDLE);
    return leave(event->is_pending ? drain(event->stream) : CUDA_SUCCESS);
}

/* ---- modules -------------------------------------------------------------------------------------------------------------------------------- */

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    ENTER_IN_CONTEXT(cuModuleLoadData);
    const char *text = image;
    CHECK(!strncmp(text, ".version", 8), CUDA_ERROR_INVALID_IMAGE);
    CHECK(strstr(text, ".target") && strstr(text, ".address_size 64"), CUDA_ERROR_INVALID_PTX);
    struct module *m = calloc(1, sizeof *m);
    m->magic = MODULE;
    m->is_alive = 1;
    m->context = context;
    for (const char *at = text; (at = strstr(at, ".entry "));) {
        struct function *f = calloc(1, sizeof *f);
        f->magic = FUNCTION;
        f->module = m;
        at += 7;
        snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(at, "( \n"), at);
        f->next = m->functions;
        m->functions = f;
    }
    m->next = modules;
    modules = m;
    *module = m;
    return leave(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module) {
    ENTER_IN_CONTEXT(cuModuleUnload);
    CHECK(module && module->magic == MODULE && module->is_alive && module->context == context, CUDA_ERROR_INVALID_HANDLE);
    module->is_alive = 0;
    return leave(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    ENTER_IN_CONTEXT(cuModuleGetFunction);
    CHECK(module && module->magic == MODULE && module->is_alive && module->context == context, CUDA_ERROR_INVALID_HANDLE);
    for (struct function *f = module->functions; f; f = f->next) {
        if (strcmp(f->name, name)) continue;
        *function = f;
        return leave(CUDA_SUCCESS);
    }
    return leave(CUDA_ERROR_NOT_FOUND);
}

/* How many parameters the kernels of ours take, and which of them have 4 bytes. */
static int parameters_of(const char *name, unsigned *short_ones) {
    *short_ones = 0;
    if (!strncmp(name, "isthmus_rows_", 13)) return *short_ones = 1 << 4 | 1 << 5, 6;
    if (!strcmp(name, "isthmus_gather") || !strcmp(name, "isthmus_scatter")) return *short_ones = 1 << 3, 4;
    return strncmp(name, "isthmus_", 8) ? 0 : 4;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        CUstream handle, void **parameters, void **extra) {
    (void)shared;
    ENTER_ON_STREAM(cuLaunchKernel, handle);
    CHECK(function && function->magic == FUNCTION && function->module->is_alive && function->module->context == context,
          CUDA_ERROR_INVALID_HANDLE);
    CHECK(gx && gy && gz && bx && by && bz && bx * by * bz <= 1024 && !extra, CUDA_ERROR_INVALID_VALUE);
    struct task t = {.what = KERNEL, .function = function};
    unsigned short_ones;
    int count = parameters_of(function->name, &short_ones);
    CHECK(count, CUDA_ERROR_LAUNCH_FAILED);
    for (int i = 0; i < count; i++) t.parameters[i] = short_ones >> i & 1 ? *(uint32_t *)parameters[i] : *(uint64_t *)parameters[i];
    return leave(enqueue(stream, t));
}

/* ---- memory of other processes ---------------------------------------------------------------------------------------------------------------- */

struct shared {
    char magic[8];
    int pid, fd, device;
    unsigned long long inode, bytes;
};
_Static_assert(sizeof(struct shared) <= sizeof(CUipcMemHandle), "a handle holds it");

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer) {
    ENTER_IN_CONTEXT(cuIpcGetMemHandle);
    struct allocation *a = allocation_of(pointer);
    CHECK(a && a->kind == DEVICE, CUDA_ERROR_INVALID_VALUE);
    struct shared shared = {"standin", getpid(), a->fd, physical[a->device], a->inode, a->bytes};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &shared, sizeof shared);
    return leave(CUDA_SUCCESS);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags) {
    ENTER_IN_CONTEXT(cuIpcOpenMemHandle);
    struct shared shared;
    memcpy(&shared, &handle, sizeof shared);
    CHECK(!memcmp(shared.magic, "standin", 8), CUDA_ERROR_INVALID_VALUE);
    CHECK(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE);
    CHECK(shared.pid != getpid(), CUDA_ERROR_INVALID_CONTEXT);
    int device = context->device;
    for (int i = 0; i < device_count; i++)
        if (physical[i] == shared.device) device = i;
    CHECK(physical[device] == shared.device, CUDA_ERROR_INVALID_DEVICE);
    CHECK(device == context->device || peer, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    for (struct allocation *a = allocations; a; a = a->next)
        if (a->kind == OPENED && a->inode == shared.inode && a->others_fd_pid == shared.pid && a->context == context) {
            a->opens++;
            *pointer = a->start;
            return leave(CUDA_SUCCESS);
        }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.pid, shared.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0, CUDA_ERROR_MAP_FAILED);
    struct stat file;
    struct allocation new = {.kind = OPENED, .bytes = shared.bytes, .room = rounded(shared.bytes), .fd = fd, .device = device,
                             .context = context, .inode = shared.inode, .others_fd_pid = shared.pid, .others_fd = shared.fd};
    if (fstat(fd, &file) || file.st_ino != shared.inode || (unsigned long long)file.st_size != new.room) {
        close(fd);
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    new.start = place_for(device, new.room);
    new.backing = mmap(NULL, new.room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(new.start && new.backing != MAP_FAILED, CUDA_ERROR_MAP_FAILED);
    *pointer = add(new)->start;
    return leave(CUDA_SUCCESS);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
    ENTER_IN_CONTEXT(cuIpcCloseMemHandle);
    struct allocation *a = allocation_of(pointer);
    CHECK(a && a->start == pointer && a->kind == OPENED, CUDA_ERROR_INVALID_VALUE);
    if (a->opens-- > 0) return leave(CUDA_SUCCESS);
    for (struct stream *s = streams; s; s = s->next)
        if (s->is_alive) drain(s);
    drop(a);
    return leave(CUDA_SUCCESS);
}

/* ---- virtual memory management ----------------------------------------------------------------------------------------------------------------- */

/* Sizes and places of physical memory are multiples of it. */
#define GRANULARITY (2ull << 20)

static struct physical *physical_of(CUmemGenericAllocationHandle handle) {
    struct physical *physical = (struct physical *)handle;
    return physical && physical->magic == PHYSICAL ? physical : NULL;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags) {
    ENTER(cuMemCreate);
    CHECK(bytes && bytes % GRANULARITY == 0 && !flags && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
    CHECK(prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0 && prop->location.id < device_count, CUDA_ERROR_INVALID_VALUE);
    struct physical new = {PHYSICAL, -1, prop->location.id, 1, prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0, bytes, next_id++};
    char name[32];
    snprintf(name, sizeof name, "device %d", physical[new.device]);
    new.fd = memfd_create(name, MFD_CLOEXEC);
    CHECK(new.fd >= 0 && !ftruncate(new.fd, bytes), CUDA_ERROR_OUT_OF_MEMORY);
    struct physical *made = malloc(sizeof *made);
    *made = new;
    *handle = (CUmemGenericAllocationHandle)made;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    ENTER(cuMemRelease);
    CHECK(physical_of(handle), CUDA_ERROR_INVALID_VALUE);
    let_go(physical_of(handle));
    return leave(CUDA_SUCCESS);
}

static struct allocation *reservation_of(CUdeviceptr pointer, size_t bytes) {
    for (struct allocation *a = allocations; a; a = a->next)
        if (a->kind == RESERVED && pointer >= a->start && pointer + bytes <= a->start + a->room) return a;
    return NULL;
}

/* The mapping that begins there and has so many bytes. */
static struct allocation *mapped(CUdeviceptr pointer, size_t bytes) {
    struct allocation *a = allocation_of(pointer);
    return a && a->kind == MAPPED && a->start == pointer && a->room == bytes ? a : NULL;
}

CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t bytes, size_t alignment, CUdeviceptr wanted, unsigned long long flags) {
    ENTER(cuMemAddressReserve);
    (void)wanted;
    CHECK(bytes && bytes % GRANULARITY == 0 && !flags && (alignment & (alignment - 1)) == 0, CUDA_ERROR_INVALID_VALUE);
    unsigned long long start = place_for(0, bytes);
    CHECK(start, CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = add((struct allocation){.kind = RESERVED, .start = start, .bytes = bytes, .room = bytes})->start;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
    ENTER(cuMemAddressFree);
    struct allocation *a = reservation_of(pointer, bytes);
    CHECK(a && a->start == pointer && a->room == bytes, CUDA_ERROR_INVALID_VALUE);
    for (struct allocation *b = allocations; b; b = b->next)
        CHECK(b->kind != MAPPED || b->start < a->start || b->start >= a->start + a->room, CUDA_ERROR_INVALID_VALUE);
    drop(a);
    return leave(CUDA_SUCCESS);
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
    ENTER(cuMemMap);
    struct physical *physical = physical_of(handle);
    CHECK(physical && !offset && !flags && bytes == physical->bytes && reservation_of(pointer, bytes), CUDA_ERROR_INVALID_VALUE);
    for (struct allocation *a = allocations; a; a = a->next)
        CHECK(a->kind != MAPPED || a->start >= pointer + bytes || pointer >= a->start + a->room, CUDA_ERROR_INVALID_VALUE);
    struct allocation new = {.kind = MAPPED, .start = pointer, .bytes = bytes, .room = bytes, .device = physical->device, .physical = physical};
    new.backing = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, physical->fd, 0);
    CHECK(new.backing != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    physical->references++;
    add(new);
    return leave(CUDA_SUCCESS);
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
    ENTER(cuMemUnmap);
    CHECK(mapped(pointer, bytes), CUDA_ERROR_INVALID_VALUE);
    for (struct stream *s = streams; s; s = s->next)
        if (s->is_alive) drain(s);
    drop(mapped(pointer, bytes));
    return leave(CUDA_SUCCESS);
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access, size_t count) {
    ENTER(cuMemSetAccess);
    struct allocation *a = mapped(pointer, bytes);
    CHECK(a, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        int device = access[i].location.id;
        CHECK(access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && device >= 0 && device < device_count, CUDA_ERROR_INVALID_VALUE);
        CHECK(device == a->device || peer, CUDA_ERROR_INVALID_DEVICE);
        if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) a->access |= 1u << device;
    }
    return leave(CUDA_SUCCESS);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *pointer) {
    ENTER(cuMemRetainAllocationHandle);
    struct allocation *a = allocation_of((unsigned long long)pointer);
    CHECK(a && a->kind == MAPPED, CUDA_ERROR_INVALID_VALUE);
    a->physical->references++;
    *handle = (CUmemGenericAllocationHandle)a->physical;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags) {
    ENTER(cuMemExportToShareableHandle);
    struct physical *physical = physical_of(handle);
    CHECK(physical && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !flags && physical->has_descriptor, CUDA_ERROR_INVALID_VALUE);
    int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
    CHECK(fd >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    *(int *)shareable = fd;
    return leave(CUDA_SUCCESS);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable, int type) {
    ENTER(cuMemImportFromShareableHandle);
    int fd = (int)(intptr_t)shareable, of = -1;
    char path[64], name[64] = "";
    struct stat file;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && readlink(path, name, sizeof name - 1) > 0, CUDA_ERROR_INVALID_VALUE);
    CHECK(sscanf(name, "/memfd:device %d", &of) == 1 && !fstat(fd, &file), CUDA_ERROR_INVALID_VALUE);
    struct physical new = {PHYSICAL, -1, -1, 1, 1, 1, (unsigned long long)file.st_size, next_id++};
    for (int i = 0; i < device_count; i++)
        if (physical[i] == of) new.device = i;
    CHECK(new.device >= 0, CUDA_ERROR_INVALID_DEVICE);
    new.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CHECK(new.fd >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    struct physical *made = malloc(sizeof *made);
    *made = new;
    *handle = (CUmemGenericAllocationHandle)made;
    return leave(CUDA_SUCCESS);
}

/* ---- the stand-in's own ----------------------------------------------------------------------------------------------------------------------- */

long cuda_calls(const char *name) {
    pthread_mutex_lock(&lock);
    long count = calls[procedure_of(name)];
    pthread_mutex_unlock(&lock);
    return count;
}

void cuda_reset_calls(void) {
    pthread_mutex_lock(&lock);
    memset(calls, 0, sizeof calls);
    pthread_mutex_unlock(&lock);
}

void *cuda_backing(CUdeviceptr pointer) {
    pthread_mutex_lock(&lock);
    struct allocation *a = allocation_of(pointer);
    void *at = a ? bytes_at(pointer, 1) : NULL;
    pthread_mutex_unlock(&lock);
    return at;
}

void cuda_fail(const char *name, CUresult code) {
    pthread_mutex_lock(&lock);
    int at = procedure_of(name);
    fails_with[at] = code;
    fails_from[at] = 1;
    pthread_mutex_unlock(&lock);
}

static long count_of(int opened) {
    long count = 0;
    pthread_mutex_lock(&lock);
    for (struct allocation *a = allocations; a; a = a->next)
        count += opened ? a->kind == OPENED || (a->kind == MAPPED && a->physical->is_imported) : a->kind == DEVICE || a->kind == POOL;
    pthread_mutex_unlock(&lock);
    return count;
}

long cuda_allocations(void) { return count_of(0); }

long cuda_opened(void) { return count_of(1); }
