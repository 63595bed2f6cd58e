/* What the parts of a copy by the kernel module take, by its own clock: LiMIC's breakdown of a copy.
 *
 *   breakdown [--seconds S] SIZE ...
 *
 * Rank 1 declares a region, rank 0 copies from it, both through a device that the program opens by itself: no message is copied. For each size three
 * kinds of memory and mapping: pages of 4 KiB; huge pages (transparent, where the machine gives them) with a mapping per 4 KiB, as LiMIC2 had it at
 * first; huge pages with a mapping each. The parts are pin (find and pin pages of the region, and let them go), map, and copy; call is the whole
 * call without the clock. Each is the median over calls, in us. */
#define _GNU_SOURCE
#include "mpi_measure.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#if __has_include("isthmus_uapi.h")
#include "isthmus_uapi.h"
#else
#include "../kmod/isthmus_uapi.h"
#endif

enum { PIN, MAP, COPY, CALL, PARTS, MOST_CALLS = 1000, LEAST_CALLS = 5, HUGE_PAGE = 2 << 20 };
static const char *const part_names[PARTS] = {"pin", "map", "copy", "call"};
static const struct {
    int huge, flags;
} kinds[] = {{0, ISTHMUS_COPY_SMALL_MAPPINGS}, {1, ISTHMUS_COPY_SMALL_MAPPINGS}, {1, 0}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int device;

/* Of this process, for the job with this key; all ranks know whether each has it. */
static void open_device(const __u8 *key)
{
    struct isthmus_version version = {.min = ISTHMUS_VERSION_MIN, .max = ISTHMUS_VERSION_MAX};
    struct isthmus_join join;
    int has_it, all_have_it;
    device = open(ISTHMUS_DEVICE, O_RDWR | O_CLOEXEC);
    memcpy(join.key, key, sizeof join.key);
    has_it = device >= 0 && ioctl(device, ISTHMUS_IOC_VERSION, &version) == 0 && (version.features & ISTHMUS_FEATURE_TIMED) &&
             ioctl(device, ISTHMUS_IOC_JOIN, &join) == 0;
    MPI_Allreduce(&has_it, &all_have_it, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_have_it)
        give_up("breakdown: this machine has no kernel module /dev/isthmus that times its copies (kmod/README.md)");
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Whole huge pages, written to. */
static char *memory(size_t bytes, int huge)
{
    size_t all = whole_pages(bytes);
    char *at = mmap(NULL, all + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        give_up("breakdown: out of memory");
    at += (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
    madvise(at, all, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(at, 7, all);
    return at;
}

static void must(int result, const char *call)
{
    if (result < 0) {
        fprintf(stderr, "breakdown: %s: %s\n", call, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void measure(int kind, int size, const __u8 *cookie, char *to, double budget_us)
{
    static struct samples samples[PARTS];
    struct isthmus_segment segment = {(uintptr_t)to, (__u64)size};
    struct isthmus_timed timed = {.copy = {.segments = (uintptr_t)&segment, .count = 1, .flags = (__u32)kinds[kind].flags}};
    double end = now_us() + budget_us;
    int calls = 0;
    memcpy(timed.copy.cookie, cookie, ISTHMUS_KEY);
    /* The first one is not counted: pages of both sides are met. */
    must(ioctl(device, ISTHMUS_IOC_TIMED, &timed), "a timed copy");
    while (calls < MOST_CALLS && (calls < LEAST_CALLS || now_us() < end)) {
        struct isthmus_copy plain = timed.copy;
        must(ioctl(device, ISTHMUS_IOC_TIMED, &timed), "a timed copy");
        double begun = now_us();
        must(ioctl(device, ISTHMUS_IOC_COPY, &plain), "a copy");
        samples[CALL].us[calls] = now_us() - begun;
        samples[PIN].us[calls] = (double)timed.pin_ns / 1e3;
        samples[MAP].us[calls] = (double)timed.map_ns / 1e3;
        samples[COPY].us[calls++] = (double)timed.copy_ns / 1e3;
        if (timed.copy.done != (__u64)size || plain.done != (__u64)size)
            give_up("breakdown: a copy was short");
    }
    for (int i = 0; i < size; i++)
        if (to[i] != 7)
            give_up("breakdown: copied data differs");
    for (int part = 0; part < PARTS; part++) {
        samples[part].count = calls;
        printf("result breakdown row=%lld size=%d kind=%d part=%s ", (long long)kind << 32 | size, size, kind, part_names[part]);
        print_samples(&samples[part]);
    }
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int rank, ranks;
    __u8 key[ISTHMUS_KEY] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("breakdown: needs 2 ranks");
    pin(rank);
    if (rank == 0) {
        print_library();
        int pid = getpid();
        memcpy(key, &pid, sizeof pid);
    }
    MPI_Bcast(key, sizeof key, MPI_BYTE, 0, MPI_COMM_WORLD);
    open_device(key);
    for (int i = 0; i < a.count; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            int size = cell_size(a.cells[i]);
            char *bytes = memory((size_t)size, kinds[kind].huge);
            if (rank == 1) {
                struct isthmus_segment segment = {(uintptr_t)bytes, (__u64)size};
                struct isthmus_declare declare = {.segments = (uintptr_t)&segment, .count = 1, .flags = ISTHMUS_REGION_READ};
                struct isthmus_retire retire;
                must(ioctl(device, ISTHMUS_IOC_DECLARE, &declare), "a region");
                MPI_Send(declare.cookie, ISTHMUS_KEY, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
                MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                memcpy(retire.cookie, declare.cookie, ISTHMUS_KEY);
                must(ioctl(device, ISTHMUS_IOC_RETIRE, &retire), "a region's end");
            } else {
                __u8 cookie[ISTHMUS_KEY];
                MPI_Recv(cookie, ISTHMUS_KEY, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                memset(bytes, 0, (size_t)size);
                measure(kind, size, cookie, bytes, a.seconds * 1e6 / a.count / KINDS);
                fflush(stdout);
                MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            }
            munmap(bytes, whole_pages((size_t)size));
        }
    }
    close(device);
    MPI_Finalize();
    return 0;
}
