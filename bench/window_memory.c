/* What a window takes beside the memory that the user asked for, in bytes per window and rank: proportional set size (each shared page
 * counted once over its sharers) of all ranks, before and after many windows were made and used.
 *
 *   window_memory [--windows N] KIND:RANKS
 *
 *   create allocate shared dynamic   how each window is made, of 8 bytes (dynamic: nothing is attached); RANKS is what is running
 *
 * One cell a launch: what was freed before would serve again, and be counted nowhere.
 *
 * In each window every rank puts 8 bytes into its right neighbour's memory between two fences (dynamic: it fences only), which is checked.
 * `mappings` of a result line is by how many a rank's memory map has grown for each window. */
#define _GNU_SOURCE
#include "mpi_measure.h"

/* Some libraries have no more than 2048 communicators, and take one for each window. */
enum { FIRST = 8, WINDOWS = 250, MOST = 100000 };

static int rank, ranks;
static MPI_Win *windows;
static int64_t *memory, **bases;

static double pss_bytes(void)
{
    char line[256];
    long kib = -1;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof line, rollup))
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            break;
    if (rollup)
        fclose(rollup);
    return (double)kib * 1024;
}

static double mappings(void)
{
    double lines = 0;
    int c;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && (c = getc(maps)) != EOF)
        lines += c == '\n';
    if (maps)
        fclose(maps);
    return lines;
}

static int is(const char *cell, const char *kind)
{
    return cell_is(cell, kind);
}

static void make(const char *cell, int i)
{
    bases[i] = &memory[i];
    if (is(cell, "create"))
        MPI_Win_create(bases[i], 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]);
    else if (is(cell, "allocate"))
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &windows[i]);
    else if (is(cell, "shared"))
        MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &windows[i]);
    else
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]);
}

static void use(const char *cell, int i)
{
    int64_t value = 1000LL * i + rank, left = 1000LL * i + (rank + ranks - 1) % ranks;
    *bases[i] = -1;
    MPI_Win_fence(0, windows[i]);
    if (is(cell, "dynamic")) {
        MPI_Win_fence(0, windows[i]);
        return;
    }
    MPI_Put(&value, 8, MPI_BYTE, (rank + 1) % ranks, 0, 8, MPI_BYTE, windows[i]);
    MPI_Win_fence(0, windows[i]);
    if (*bases[i] != left)
        give_up("window_memory: the data is wrong");
}

/* Sums over all ranks. */
static void sums(double into[2])
{
    MPI_Barrier(MPI_COMM_WORLD);
    double own[2] = {pss_bytes(), mappings()};
    MPI_Allreduce(own, into, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void measure(const char *cell, int count)
{
    double before[2], after[2], each = (double)count * ranks;
    /* What the first windows bring along is no window's. */
    for (int i = 0; i < FIRST; i++) {
        make(cell, i);
        use(cell, i);
    }
    sums(before);
    sums(before);
    for (int i = FIRST; i < FIRST + count; i++)
        make(cell, i);
    for (int i = FIRST; i < FIRST + count; i++)
        use(cell, i);
    sums(after);
    double asked = is(cell, "allocate") || is(cell, "shared") ? 8 : 0;
    if (rank == 0) {
        printf("result window_memory kind=%.*s ranks=%d bytes=%.0f mappings=%.2f windows=%d\n", (int)strcspn(cell, ":"), cell, ranks,
               (after[0] - before[0]) / each - asked, (after[1] - before[1]) / each, count);
        fflush(stdout);
    }
    for (int i = 0; i < FIRST + count; i++)
        MPI_Win_free(&windows[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        print_library();
    int count = WINDOWS;
    const char *cell = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--windows") == 0 && i + 1 < argc)
            count = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0)
            i++;
        else if (cell)
            give_up("window_memory: one cell a launch");
        else
            cell = argv[i];
    }
    if (!cell)
        give_up("window_memory: no cell");
    if (count < 1 || count > MOST)
        give_up("window_memory: --windows is from 1 to 100000");
    size_t all = (size_t)(FIRST + count);
    windows = malloc(all * sizeof *windows);
    memory = malloc(all * sizeof *memory);
    bases = malloc(all * sizeof *bases);
    memset(windows, 0, all * sizeof *windows);
    memset(memory, 0, all * sizeof *memory);
    memset(bases, 0, all * sizeof *bases);
    measure(cell, count);
    MPI_Finalize();
    return 0;
}
