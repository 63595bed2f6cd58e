/* Patches of doubles that process 0 puts, gets and accumulates, beside the same section by ARMCI.
 *
 *   ga_patches [--seconds S] [KIND:N ...]
 *
 * KIND is put, get or acc, then the number of dimensions, 2 or 3, then `own` if the patch lies at process 0 and not at process 1. N is bytes
 * of the patch; the block around it is twice as long in the last dimension, the buffer is dense. Process 1 waits in a barrier meanwhile. */
#define _GNU_SOURCE
#include "ga_measure.h"
#include <armci.h>

static int array, lo[3], hi[3], ld[2], dimensions, place, count[3], here_strides[2], there_strides[2];
static double *here, one = 1;
static char *there;

#define OPERATION(name, what)                                   \
    static void name(int times)                                 \
    {                                                           \
        if (GA_Nodeid() == 0)                                   \
            for (int i = 0; i < times; i++)                     \
                what;                                           \
    }

OPERATION(put, NGA_Put(array, lo, hi, here, ld))
OPERATION(get, NGA_Get(array, lo, hi, here, ld))
OPERATION(acc, NGA_Acc(array, lo, hi, here, ld, &one))
OPERATION(armci_put, ARMCI_PutS(here, here_strides, there, there_strides, count, dimensions - 1, place))
OPERATION(armci_get, ARMCI_GetS(there, there_strides, here, here_strides, count, dimensions - 1, place))
OPERATION(armci_acc, ARMCI_AccS(ARMCI_ACC_DBL, &one, here, here_strides, there, there_strides, count, dimensions - 1, place))

static const struct {
    const char *kind;
    operations *work, *floor;
} kinds[] = {{"put", put, armci_put}, {"get", get, armci_get}, {"acc", acc, armci_acc}};

/* Extents of a patch of so many bytes, powers of 2, and the array around it: one block for each process. */
static void make(long bytes, void **blocks)
{
    int extents[3], dims[3], chunk[3], left = (int)(bytes / 8);
    for (int d = 0; d < dimensions; d++)
        extents[d] = 1;
    for (int d = dimensions - 1; left > 1; d = d > 0 ? d - 1 : dimensions - 1, left /= 2)
        extents[d] *= 2;
    for (int d = 0; d < dimensions; d++) {
        dims[d] = extents[d] * (d == dimensions - 1 ? 2 : 1);
        chunk[d] = dims[d];
        lo[d] = 0;
        hi[d] = extents[d] - 1;
        count[dimensions - 1 - d] = extents[d];
    }
    for (int d = 1; d < dimensions; d++)
        ld[d - 1] = extents[d];
    lo[0] += place * dims[0];
    hi[0] += place * dims[0];
    dims[0] *= GA_Nnodes();
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
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strncmp(a.cells[i], kinds[k].kind, 3) == 0) {
                void *blocks[MAX_CPUS];
                char fields[80];
                dimensions = a.cells[i][3] - '0';
                place = strncmp(a.cells[i] + 4, "own", 3) == 0 ? 0 : 1;
                make(cell_size(a.cells[i]), blocks);
                snprintf(fields, sizeof fields, "operation=%.*s size=%d", (int)strcspn(a.cells[i], ":"), a.cells[i], cell_size(a.cells[i]));
                compare("ga_patches", fields, kinds[k].work, kinds[k].floor, a.seconds * 1e6 / a.count);
                GA_Destroy(array);
                ARMCI_Free(blocks[GA_Nodeid()]);
            }
    free(here);
    end();
    return 0;
}
