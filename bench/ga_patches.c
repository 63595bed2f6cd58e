/* Patches of doubles that process 0 puts, gets and accumulates, beside the same section by ARMCI.
 *
 *   ga_patches [--seconds S] [KIND:N ...]
 *
 * KIND is put, get or acc, then the number of dimensions, 2 or 3, then `own` if the patch lies at process 0 and not at process 1. N is bytes
 * of the patch; the block around it is twice as long in the last dimension, the buffer is dense. Process 1 waits in a barrier meanwhile.
 * Without Global Arrays: MPI_Put, MPI_Get or MPI_Accumulate with a datatype, and MPI_Win_flush, on memory of MPI_Win_allocate. */
#define _GNU_SOURCE
#include "ga_measure.h"

static int lo[3], hi[3], ld[2], dimensions, place, count[3];
static double *here;

/* Process 0 does it so often. */
#define OPERATION(name, what)                                   \
    static void name(int times)                                 \
    {                                                           \
        if (rank == 0)                                          \
            for (int i = 0; i < times; i++) {                   \
                what;                                           \
            }                                                   \
    }

static const char *const kinds[] = {"put", "get", "acc"};
enum { KINDS = 3 };

#ifdef WITH_GA

static int array, here_strides[2], there_strides[2];
static double one = 1;
static void *blocks[MAX_CPUS];
static char *there;

OPERATION(put, NGA_Put(array, lo, hi, here, ld))
OPERATION(get, NGA_Get(array, lo, hi, here, ld))
OPERATION(acc, NGA_Acc(array, lo, hi, here, ld, &one))
OPERATION(armci_put, ARMCI_PutS(here, here_strides, there, there_strides, count, dimensions - 1, place))
OPERATION(armci_get, ARMCI_GetS(there, there_strides, here, here_strides, count, dimensions - 1, place))
OPERATION(armci_acc, ARMCI_AccS(ARMCI_ACC_DBL, &one, here, here_strides, there, there_strides, count, dimensions - 1, place))

static operations *const work[] = {put, get, acc}, *const floors[] = {armci_put, armci_get, armci_acc};

/* The array around a patch: one block for each process. */
static void make(long bytes, const int *block)
{
    int dims[3], chunk[3];
    for (int d = 0; d < dimensions; d++)
        dims[d] = chunk[d] = block[d];
    dims[0] *= ranks;
    count[0] *= 8;
    here_strides[0] = count[0];
    there_strides[0] = 2 * count[0];
    here_strides[1] = here_strides[0] * count[1];
    there_strides[1] = there_strides[0] * count[1];
    array = NGA_Create(C_DBL, dimensions, dims, "patches", chunk);
    if (!array || ARMCI_Malloc(blocks, 2 * bytes))
        give_up("ga_patches: no memory");
    if (NGA_Locate(array, lo) != place || NGA_Locate(array, hi) != place)
        give_up("ga_patches: the patch is not where it was meant to be");
    there = blocks[place];
}

static void measure(int kind, const char *fields, double budget_us)
{
    compare("ga_patches", fields, work[kind], floors[kind], budget_us);
    GA_Destroy(array);
    ARMCI_Free(blocks[rank]);
}

#else

static MPI_Win window;
static MPI_Datatype section;
static int elements;

OPERATION(put, MPI_Put(here, elements, MPI_DOUBLE, place, 0, 1, section, window); MPI_Win_flush(place, window))
OPERATION(get, MPI_Get(here, elements, MPI_DOUBLE, place, 0, 1, section, window); MPI_Win_flush(place, window))
OPERATION(acc, MPI_Accumulate(here, elements, MPI_DOUBLE, place, 0, 1, section, MPI_SUM, window); MPI_Win_flush(place, window))

static operations *const work[] = {put, get, acc};

static void make(long bytes, const int *block)
{
    int extents[3], starts[3] = {0, 0, 0};
    double *memory;
    for (int d = 0; d < dimensions; d++)
        extents[d] = count[dimensions - 1 - d];
    elements = (int)(bytes / 8);
    MPI_Type_create_subarray(dimensions, block, extents, starts, MPI_ORDER_C, MPI_DOUBLE, &section);
    MPI_Type_commit(&section);
    MPI_Win_allocate(2 * bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, 2 * (size_t)bytes);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure(int kind, const char *fields, double budget_us)
{
    measure_alone("ga_patches", fields, work[kind], budget_us);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Type_free(&section);
}

#endif

/* Extents of a patch of so many bytes, powers of 2, and of the block around it. */
static void shape(long bytes, int *block)
{
    int extents[3] = {1, 1, 1}, left = (int)(bytes / 8);
    for (int d = dimensions - 1; left > 1; d = d > 0 ? d - 1 : dimensions - 1, left /= 2)
        extents[d] *= 2;
    for (int d = 0; d < dimensions; d++) {
        block[d] = extents[d] * (d == dimensions - 1 ? 2 : 1);
        lo[d] = 0;
        hi[d] = extents[d] - 1;
        count[dimensions - 1 - d] = extents[d];
    }
    for (int d = 1; d < dimensions; d++)
        ld[d - 1] = extents[d];
    lo[0] += place * block[0];
    hi[0] += place * block[0];
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    size_t room = (size_t)largest_size(&a);
    here = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    if (!here)
        give_up("ga_patches: no memory");
    memset(here, 0, room);
    for (int i = 0; i < a.count; i++)
        for (int k = 0; k < KINDS; k++)
            if (strncmp(a.cells[i], kinds[k], 3) == 0) {
                char fields[80];
                int block[3];
                dimensions = a.cells[i][3] - '0';
                place = strncmp(a.cells[i] + 4, "own", 3) == 0 ? 0 : 1;
                shape(cell_size(a.cells[i]), block);
                make(cell_size(a.cells[i]), block);
                snprintf(fields, sizeof fields, "operation=%.*s size=%d", (int)strcspn(a.cells[i], ":"), a.cells[i], cell_size(a.cells[i]));
                measure(k, fields, a.seconds * 1e6 / a.count);
            }
    free(here);
    end();
    return 0;
}
