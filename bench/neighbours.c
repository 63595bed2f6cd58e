/* What an operation takes while other processes use the CPUs, too: the mean over a window of a quarter of a second, in which what is
 * lost to other processes is contained, and the median over windows.
 *
 *   neighbours [--seconds S] [--gone N] [NAME:SIZE ...]
 *
 * NAME:
 *   pingpong   half a round trip between the ranks 0 and 1; the others wait in MPI_Recv
 *   allreduce  MPI_Allreduce, bitwise or
 *   alltoall   MPI_Alltoall
 *   put        MPI_Put and MPI_Win_flush from rank 0 to rank 1, in a window of MPI_Win_allocate; the others wait in MPI_Recv
 *   fence      MPI_Win_fence in such a window, after a put to the right
 *   halo       an exchange with both neighbours in a ring after 50 us of computing; what the exchange takes beyond these
 *
 * SIZE in bytes. Each cell takes its share of the seconds by the wall clock; ranks are not pinned. Results are checked in each cell.
 *
 * With --gone N busy loops on N processes run for half a second before each cell, and are ended 100 ms before its first window. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAG = 7, WINDOW_US = 250000, CHUNK_US = 2000, MAX_WINDOWS = 4096, MAX_LOOPS = 64, BEFORE_US = 500000, GONE_US = 100000 };

static int rank, ranks, size;
static char *outgoing, *incoming, *memory;
static MPI_Win window;

static void pingpong(void)
{
    if (rank == 0) {
        MPI_Send(outgoing, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(incoming, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(incoming, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void allreduce(void)
{
    MPI_Allreduce(outgoing, incoming, size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(outgoing, size, MPI_BYTE, incoming, size, MPI_BYTE, MPI_COMM_WORLD);
}

static void put(void)
{
    if (rank == 0) {
        MPI_Put(outgoing, size, MPI_BYTE, 1, 0, size, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
}

static void fence(void)
{
    MPI_Put(outgoing, size, MPI_BYTE, (rank + 1) % ranks, 0, size, MPI_BYTE, window);
    MPI_Win_fence(0, window);
}

static const double COMPUTING_US = 50;

static void halo(void)
{
    MPI_Request requests[4];
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (double began = now_us(); now_us() - began < COMPUTING_US;)
        ;
    MPI_Irecv(incoming, size, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(incoming + size, size, MPI_BYTE, right, TAG + 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(outgoing, size, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(outgoing, size, MPI_BYTE, left, TAG + 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* What arrives from `from`; negative: what all ranks have, together. */
static unsigned char pattern(int from)
{
    unsigned char all = 0;
    for (int r = 0; r < ranks; r++)
        all |= (unsigned char)(1u << (r % 8));
    return from < 0 ? all : (unsigned char)(1u << (from % 8));
}

static void check_bytes(const char *at, int from)
{
    for (int i = 0; i < size; i++)
        if ((unsigned char)at[i] != pattern(from))
            give_up("neighbours: received data differs from what was sent");
}

static void check_left(void)
{
    check_bytes(incoming, (rank + ranks - 1) % ranks);
}

static void check_pair(void)
{
    if (rank < 2)
        check_bytes(incoming, 1 - rank);
}

static void check_all(void)
{
    check_bytes(incoming, -1);
}

static void check_each(void)
{
    for (int r = 0; r < ranks; r++)
        check_bytes(incoming + (size_t)r * size, r);
}

static void check_put(void)
{
    if (rank == 1)
        check_bytes(memory, 0);
}

static void check_fence(void)
{
    check_bytes(memory, (rank + ranks - 1) % ranks);
}

static const struct kind {
    const char *name;
    void (*operation)(void), (*check)(void);
    int parts, one_sided, pair;
    double without_us;
} KINDS[] = {
    {"pingpong", pingpong, check_pair, 2, 0, 1, 0},   {"allreduce", allreduce, check_all, 1, 0, 0, 0},
    {"alltoall", alltoall, check_each, 1, 0, 0, 0},   {"put", put, check_put, 1, 1, 1, 0},
    {"fence", fence, check_fence, 1, 2, 0, 0},        {"halo", halo, check_left, 1, 0, 0, 50},
};

static const struct kind *kind_of(const char *cell)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++)
        if (cell_is(cell, KINDS[i].name))
            return &KINDS[i];
    give_up("neighbours: a cell is NAME:SIZE");
    return NULL;
}

/* What rank 0 says next: how many operations, 0 for the end of the window. Ranks that have no part in the operation wait here. */
static int next_chunk(int count)
{
    for (int r = 1; rank == 0 && r < ranks; r++)
        MPI_Send(&count, 1, MPI_INT, r, TAG + 2, MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Recv(&count, 1, MPI_INT, 0, TAG + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return count;
}

/* Operations for so long on rank 0; microseconds of one. */
static double one_window(const struct kind *kind, double length_us)
{
    int chunk = 1;
    long done = 0;
    double began = now_us(), last = began;
    for (;;) {
        int count = next_chunk(rank == 0 && done > 0 && last - began > length_us ? 0 : chunk);
        if (count == 0)
            break;
        for (int i = 0; i < count; i++)
            kind->operation();
        done += count;
        double now = now_us();
        if (now - last < CHUNK_US / 2)
            chunk = chunk < 1 << 20 ? chunk * 2 : chunk;
        else if (now - last > CHUNK_US * 2)
            chunk = chunk > 1 ? chunk / 2 : 1;
        last = now;
    }
    return (last - began) / (double)done / kind->parts - kind->without_us;
}

/* A process, forked before there is MPI, that starts busy loops (a byte: how many) and ends them (0). */
static int keeper = -1;

static void keep_loops(int commands)
{
    pid_t loops[MAX_LOOPS];
    int running = 0;
    unsigned char wanted;
    while (read(commands, &wanted, 1) == 1) {
        while (running > 0) {
            kill(loops[--running], SIGKILL);
            waitpid(loops[running], NULL, 0);
        }
        for (; running < wanted && running < MAX_LOOPS; running++) {
            loops[running] = fork();
            if (loops[running] == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                    ;
            }
        }
    }
    _exit(0);
}

static void start_keeper(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(1);
    if (fork() == 0) {
        close(ends[1]);
        keep_loops(ends[0]);
    }
    close(ends[0]);
    keeper = ends[1];
}

static void set_loops(int count)
{
    unsigned char byte = (unsigned char)count;
    if (rank == 0 && write(keeper, &byte, 1) != 1)
        give_up("neighbours: the process that keeps busy loops is gone");
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int gone = 0, first = 0;
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--gone") == 0) {
            gone = atoi(argv[i + 1]);
            first = 1; /* Its number is no cell. */
        }
    if (gone > 0)
        start_keeper();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        print_library();
    size_t bytes = (size_t)largest_size(&a) * (size_t)(ranks > 2 ? ranks : 2);
    outgoing = malloc(bytes);
    incoming = malloc(bytes);
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(outgoing, 1 << (rank % 8), bytes);
    for (int i = first; i < a.count; i++) {
        static struct samples means;
        const struct kind *kind = kind_of(a.cells[i]);
        double budget = a.seconds * 1e6 / (a.count - first);
        size = cell_size(a.cells[i]);
        memset(incoming, 0, bytes);
        memset(memory, 0, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        if (kind->one_sided == 1 && rank == 0)
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        if (kind->one_sided == 2)
            MPI_Win_fence(0, window);
        if (gone > 0) {
            set_loops(gone);
            one_window(kind, BEFORE_US);
            set_loops(0);
        }
        one_window(kind, GONE_US);
        means.count = 0;
        double began = now_us();
        for (int more = 1; more; more = next_chunk(now_us() - began + WINDOW_US < budget && means.count < MAX_WINDOWS))
            means.us[means.count++] = one_window(kind, WINDOW_US);
        if (kind->one_sided == 1 && rank == 0)
            MPI_Win_unlock(1, window);
        if (kind->one_sided == 2)
            MPI_Win_fence(0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        kind->check();
        if (rank == 0) {
            printf("result neighbours what=%s ranks=%d size=%d ", kind->name, ranks, size);
            print_samples(&means);
        }
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
