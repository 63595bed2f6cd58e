/* Cache misses of an operation, counted by the cache simulator of valgrind (callgrind): the program starts itself again under it.
 *
 *   misses [--alloc] [--hardware | --faults] CELL ...
 *
 * A cell is pingpong:SIZE (half a round trip between ranks 0 and 1), alltoall:SIZE (so many bytes for each rank), or is:CLASS (the timed part of
 * the NAS kernel IS of nas_is.h, on a power of two ranks). The simulator sees what the program and the library do in user space, not what the
 * kernel copies, and each process has a cache of its own: first level 32 KiB, last level 4 MiB,
 * as two cores share in "Cache-efficient, intranode, large-message MPI communication with MPICH2-Nemesis" (ICPP'09). With --alloc buffers are from
 * MPI_Alloc_mem, so that single copies are made in user space. The result is the sum over all ranks of lines that were missed in the last level.
 * With --hardware the processor counts them (perf_event_open), copies by the kernel included; with --faults the kernel counts page faults in the same
 * way, which it can on every machine. */
#define _GNU_SOURCE
#include "nas_is.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS
#define WITHOUT_HEADER 1
#endif

/* Before it counts, all that is used in turn has been used: buffers, rings. */
enum { WARM_BYTES = 16 << 20, COUNTED = 4 };

static char file[64];

static void start_again(char **argv)
{
#ifdef WITHOUT_HEADER
    fprintf(stderr, "misses: valgrind's headers are missing: apt-get install valgrind\n");
    exit(1);
#endif
    char out[80];
    char *words[MAX_CELLS + 8] = {"valgrind", "-q", "--tool=callgrind", "--cache-sim=yes", "--D1=32768,8,64", "--LL=4194304,16,64", out};
    int count = 7;
    snprintf(out, sizeof out, "--callgrind-out-file=/tmp/isthmus-misses-%%p");
    for (int i = 0; argv[i] && count < MAX_CELLS + 7; i++)
        words[count++] = i ? argv[i] : "/proc/self/exe";
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        words[7] = self;
    }
    /* The simulator writes a file at its end, which is ours to remove. */
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], words);
        perror("misses: valgrind cannot be started (apt-get install valgrind)");
        _exit(1);
    }
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    snprintf(file, sizeof file, "/tmp/isthmus-misses-%d", (int)child);
    unlink(file);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* What the simulator has counted since it was set to zero: misses of data in the last level. `dump` is the number of the dump. */
static double counted(int dump)
{
    char name[96], line[4096];
    double misses = -1;
    int read = -1, written = -1;
    snprintf(name, sizeof name, "%s.%d", file, dump);
    FILE *dumped = fopen(name, "r");
    while (dumped && fgets(line, sizeof line, dumped)) {
        char *rest = line, *word;
        if (strncmp(line, "events:", 7) == 0) {
            rest += 7;
            for (int at = 0; (word = strsep(&rest, " \n")); ) {
                if (!*word)
                    continue;
                read = strcmp(word, "DLmr") == 0 ? at : read;
                written = strcmp(word, "DLmw") == 0 ? at : written;
                at++;
            }
        } else if (strncmp(line, "summary:", 8) == 0 || strncmp(line, "totals:", 7) == 0) {
            rest = strchr(line, ':') + 1;
            misses = 0;
            for (int at = 0; (word = strsep(&rest, " \n")); ) {
                if (!*word)
                    continue;
                misses += at == read || at == written ? atof(word) : 0;
                at++;
            }
        }
    }
    if (dumped)
        fclose(dumped);
    unlink(name);
    if (misses < 0 || read < 0 || written < 0)
        give_up("misses: the simulator's counts cannot be read");
    return misses;
}

/* A counter of this rank, in user space and in the kernel. */
static int open_counter(int faults)
{
    struct perf_event_attr event = {.size = sizeof event, .disabled = 1, .exclude_hv = 1};
    event.type = faults ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
    event.config = faults ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_HW_CACHE_MISSES;
    int counter = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0), error = errno;
    int has_one = counter >= 0, all_have_one = 0;
    MPI_Allreduce(&has_one, &all_have_one, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all_have_one)
        return counter;
    /* One rank tells; the others wait until the job ends. */
    if (rank > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    give_up(error == EACCES || error == EPERM
                ? "misses: this machine has no counters for this user: the kernel's part is not shown (kernel.perf_event_paranoid)"
                : "misses: this machine has no hardware counter of cache misses (perf_event_open)");
    return counter;
}

static int by_kernel, counter = -1, dumps;
/* Of this rank, as counted last. */
static double missed;

static void begin_misses(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    begin_count();
    CALLGRIND_ZERO_STATS;
    if (by_kernel) {
        ioctl(counter, PERF_EVENT_IOC_RESET, 0);
        ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    }
}

static void end_misses(void)
{
    uint64_t by_counter = 0;
    if (by_kernel) {
        ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
        if (read(counter, &by_counter, sizeof by_counter) != sizeof by_counter)
            give_up("misses: the counter cannot be read");
    } else {
        CALLGRIND_DUMP_STATS;
    }
    end_count();
    missed = by_kernel ? (double)by_counter : counted(++dumps);
}

static void count_timed(int begins)
{
    if (begins)
        begin_misses();
    else
        end_misses();
}

/* The NAS kernel IS: its row, and misses of this rank. */
static long long sorting(const char *class)
{
    static const char classes[] = "SWAB";
    const char *known = *class ? strchr(classes, *class) : NULL;
    if (!known || (ranks & (ranks - 1)))
        give_up("misses: is:CLASS is of class S, W, A or B, on a power of two ranks");
    traffic.due = 0;
    if (is((int)(known - classes)) < 0)
        give_up("misses: IS: the result is not the published one");
    return 2ll << 32 | (known - classes);
}

/* Of so many bytes between ranks 0 and 1, or for each rank: its row, and misses of this rank in one operation. */
static long long exchanges(int size, int all, int alloc)
{
    int bytes = all ? size * ranks : size;
    char *from = alloc ? allocated(bytes) : malloc((size_t)bytes), *to = alloc ? allocated(bytes) : malloc((size_t)bytes);
    if (!from || !to)
        give_up("misses: out of memory");
    memset(from, rank, (size_t)bytes);
    memset(to, 0, (size_t)bytes);
    int warm = WARM_BYTES / bytes + 3;
    for (int turn = 0; turn < warm + COUNTED; turn++) {
        if (turn == warm)
            begin_misses();
        traffic.due += all ? (double)size * (ranks - 1) : rank < 2 ? size : 0;
        if (all)
            MPI_Alltoall(from, size, MPI_BYTE, to, size, MPI_BYTE, MPI_COMM_WORLD);
        else if (rank == 0) {
            MPI_Send(from, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(to, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(to, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(from, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    end_misses();
    missed /= COUNTED * (all ? 1 : 2);
    if (alloc) {
        MPI_Free_mem(from);
        MPI_Free_mem(to);
    } else {
        free(from);
        free(to);
    }
    return (long long)all << 32 | size;
}

int main(int argc, char **argv)
{
    int faults = has_option(argc, argv, "--faults");
    by_kernel = faults || has_option(argc, argv, "--hardware");
    if (!by_kernel && !RUNNING_ON_VALGRIND)
        start_again(argv);
    struct arguments a = arguments(argc, argv);
    int alloc = has_option(argc, argv, "--alloc");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        print_library();
    snprintf(file, sizeof file, "/tmp/isthmus-misses-%d", (int)getpid());
    if (by_kernel) {
        pin(rank);
        counter = open_counter(faults);
    }
    nas_allocates = alloc;
    nas_times = count_timed;
    for (int i = 0; i < a.count; i++) {
        int sorts = cell_is(a.cells[i], "is"), size = sorts ? 0 : cell_size(a.cells[i]);
        long long row = sorts ? sorting(a.cells[i] + 3) : exchanges(size, cell_is(a.cells[i], "alltoall"), alloc);
        double sum = 0;
        MPI_Reduce(&missed, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("result misses row=%lld ", row);
            if (size)
                printf("size=%d ", size);
            print_counts();
            printf("misses=%.1f\n", sum);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
