/* Transfer of contiguous data, of every second double and of sections of arrays between ranks, by messages and by one-sided operations,
 * by size of what is moved: the experiments of Figures 1 to 8 of Guiang, Purkayastha, Milfeld, "Remote memory operations on Linux
 * clusters: expressiveness and efficiency of current implementations".
 *
 *   rma_sections [--ring] [--shape SHAPE] [--seconds S] [WAY:SIZE ...]
 *
 * SHAPE is contiguous, vector (every second double), 2d or 3d (sections.h). WAY is
 *   sendrecv              MPI_Send and MPI_Recv with a datatype (MPI_Sendrecv in the ring)
 *   put, get              MPI_Put or MPI_Get with a datatype on memory of MPI_Win_allocate
 *   armci-put, armci-get  ARMCI_PutS or ARMCI_GetS on memory of ARMCI_Malloc (compiled with -DWITH_ARMCI)
 *   ga-put, ga-get        NGA_Put or NGA_Get on a global array with a block for each rank (compiled with -DWITH_GA; shapes 2d and 3d)
 * Between two ranks the time is half a round trip: after its operation is complete at the target (MPI_Win_flush, ARMCI_Fence) a
 * rank tells the other one by an empty message. With --ring every rank moves data to (a get: from) both of its neighbours, and
 * MPI_Win_fence, ARMCI_Barrier or GA_Sync ends the step. Data, and that nothing beside it was written, is checked before and after the
 * timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "sections.h"
#ifdef WITH_ARMCI
#include <armci.h>
#endif
#ifdef WITH_GA
#include <ga.h>
#endif

enum { TAG = 7, OUTSIDE = -1 };
enum way { SENDRECV, PUT, GET, ARMCI_PUT, ARMCI_GET, GA_PUT, GA_GET };

static int rank, ranks, ring;
static enum way way;
static struct section section;
/* Everybody has what comes from the left (or from the only peer), behind it what comes from the right, behind it what it sends. */
enum { AREAS = 3 };
static double *incoming[2], *outgoing;
static double **memories;
static MPI_Win window = MPI_WIN_NULL;

static int is_armci(void)
{
    return way == ARMCI_PUT || way == ARMCI_GET;
}

static int is_ga(void)
{
    return way == GA_PUT || way == GA_GET;
}

#ifdef WITH_GA
static int array;

/* An area is this long in each dimension; a matrix is one plane of planes that are counted in rows. */
static void area_of(int *extents)
{
    extents[0] = section.extent[0] > 1 ? section.extent[0] : section.extent[1];
    extents[1] = section.extent[0] > 1 ? section.stride[0] / section.stride[1] : section.stride[1];
    extents[2] = section.stride[1];
}

static int dimensions(void)
{
    return section.extent[0] > 1 ? 3 : 2;
}

static void ga_move(int peer, int side)
{
    int extents[3], area = AREAS * peer + (way == GA_PUT ? side : 2);
    area_of(extents);
    int lo[3] = {area * extents[0], 0, 0};
    int hi[3] = {lo[0] + extents[0] - 1, section.extent[dimensions() == 3 ? 1 : 2] - 1, section.extent[2] - 1};
    if (way == GA_PUT)
        NGA_Put(array, lo, hi, outgoing, extents + 1);
    else
        NGA_Get(array, lo, hi, incoming[side], extents + 1);
}

/* The block of this rank, which has all areas one behind the other. */
static double *open_array(void)
{
    int extents[3], first = AREAS * rank;
    double *at;
    area_of(extents);
    int dims[3] = {ranks * AREAS * extents[0], extents[1], extents[2]}, chunk[3] = {AREAS * extents[0], extents[1], extents[2]};
    array = NGA_Create(C_DBL, dimensions(), dims, "sections", chunk);
    if (!array)
        give_up("rma_sections: no memory for a global array");
    int lo[3] = {first * extents[0], 0, 0}, hi[3] = {(first + AREAS) * extents[0] - 1, extents[1] - 1, extents[2] - 1}, ld[2];
    NGA_Access(array, lo, hi, &at, ld);
    return at;
}
#endif

#ifdef WITH_ARMCI
static void armci_move(int peer, int side)
{
    int bytes = (int)sizeof(double), levels = 0;
    int strides[2] = {0, 0}, counts[3] = {section.extent[2] * bytes, 1, 1};
    double *theirs = memories[peer];
    if (section.stride[2] != 1) {
        counts[0] = bytes;
        counts[++levels] = section.extent[2];
        strides[levels - 1] = section.stride[2] * bytes;
    }
    for (int level = 1; level >= 0; level--)
        if (section.extent[level] > 1) {
            counts[++levels] = section.extent[level];
            strides[levels - 1] = section.stride[level] * bytes;
        }
    if (way == ARMCI_PUT) {
        ARMCI_PutS(outgoing, strides, theirs + (size_t)side * section.span, strides, counts, levels, peer);
        if (!ring)
            ARMCI_Fence(peer);
    } else
        ARMCI_GetS(theirs + 2 * section.span, strides, incoming[side], strides, counts, levels, peer);
}
#endif

/* Put to `peer`, for which it comes from this side, or get from the peer that is on this side. */
static void move(int peer, int side)
{
    switch (way) {
    case PUT:
        MPI_Put(outgoing, 1, section.type, peer, (MPI_Aint)((size_t)side * section.span), 1, section.type, window);
        break;
    case GET:
        MPI_Get(incoming[side], 1, section.type, peer, (MPI_Aint)(2 * section.span), 1, section.type, window);
        break;
#ifdef WITH_ARMCI
    case ARMCI_PUT:
    case ARMCI_GET:
        armci_move(peer, side);
        return;
#endif
#ifdef WITH_GA
    case GA_PUT:
    case GA_GET:
        ga_move(peer, side);
        return;
#endif
    default:
        give_up("rma_sections: this was compiled without that way");
    }
    if (!ring)
        MPI_Win_flush(peer, window);
}

static void tell(int peer)
{
    MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

static void hear(int peer)
{
    MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pingpong(int count)
{
    int peer = 1 - rank;
    for (int i = 0; i < count; i++) {
        if (way == SENDRECV && rank == 0) {
            MPI_Send(outgoing, 1, section.type, peer, TAG, MPI_COMM_WORLD);
            MPI_Recv(incoming[0], 1, section.type, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (way == SENDRECV) {
            MPI_Recv(incoming[0], 1, section.type, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(outgoing, 1, section.type, peer, TAG, MPI_COMM_WORLD);
        } else if (rank == 0) {
            move(peer, 0);
            tell(peer);
            hear(peer);
        } else {
            hear(peer);
            move(peer, 0);
            tell(peer);
        }
    }
}

static void ring_steps(int count)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    int is_get = way == GET || way == ARMCI_GET || way == GA_GET;
    for (int i = 0; i < count; i++) {
        if (way == SENDRECV) {
            MPI_Sendrecv(outgoing, 1, section.type, right, TAG, incoming[0], 1, section.type, left, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            MPI_Sendrecv(outgoing, 1, section.type, left, TAG, incoming[1], 1, section.type, right, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            continue;
        }
        move(is_get ? left : right, 0);
        move(is_get ? right : left, 1);
#ifdef WITH_ARMCI
        if (is_armci()) {
            ARMCI_Barrier();
            continue;
        }
#endif
#ifdef WITH_GA
        if (is_ga()) {
            GA_Sync();
            continue;
        }
#endif
        MPI_Win_fence(0, window);
    }
}

static void steps(int count)
{
    if (ring)
        ring_steps(count);
    else
        pingpong(count);
}

static void check_data(double seed)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    fill(outgoing, &section, OUTSIDE - 1);
    fill(incoming[0], &section, OUTSIDE);
    fill(incoming[1], &section, OUTSIDE);
    rewrite_section(outgoing, &section, seed + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    steps(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_written_section(incoming[0], &section, seed + left, OUTSIDE) ||
        (ring && !is_written_section(incoming[1], &section, seed + right, OUTSIDE)))
        give_up("rma_sections: received data differs from what was sent");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Memory that the way needs. */
static void open_memory(void)
{
    MPI_Aint bytes = AREAS * (MPI_Aint)section.span * (MPI_Aint)sizeof(double);
    double *memory = NULL;
    if (way == SENDRECV)
        memory = (double *)buffer((int)bytes);
    else if (!is_armci() && !is_ga()) {
        MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
        if (ring)
            MPI_Win_fence(0, window);
        else
            MPI_Win_lock_all(0, window);
    }
#ifdef WITH_ARMCI
    else if (is_armci()) {
        memories = malloc((size_t)ranks * sizeof *memories);
        if (ARMCI_Malloc((void **)memories, (armci_size_t)bytes) != 0)
            give_up("rma_sections: no memory from ARMCI_Malloc");
        memory = memories[rank];
    }
#endif
#ifdef WITH_GA
    else if (section.stride[2] == 1 && section.stride[1] > 0)
        memory = open_array();
#endif
    if (memory == NULL)
        give_up("rma_sections: this was compiled without that way");
    incoming[0] = memory;
    incoming[1] = memory + section.span;
    outgoing = memory + 2 * section.span;
}

static void close_memory(void)
{
    if (way == SENDRECV)
        free(incoming[0]);
    else if (!is_armci() && !is_ga()) {
        if (ring)
            MPI_Win_fence(0, window);
        else
            MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
#ifdef WITH_ARMCI
    else if (is_armci()) {
        ARMCI_Free(incoming[0]);
        free(memories);
    }
#endif
#ifdef WITH_GA
    else
        GA_Destroy(array);
#endif
}

static enum way way_of(const char *cell)
{
    static const char *const names[] = {"sendrecv", "put", "get", "armci-put", "armci-get", "ga-put", "ga-get"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (cell_is(cell, names[i]))
            return (enum way)i;
    give_up("rma_sections: a cell is WAY:SIZE; WAY is sendrecv, put, get, armci-put, armci-get, ga-put or ga-get");
    return SENDRECV;
}

static struct section section_of(const char *shape, int doubles)
{
    if (strcmp(shape, "contiguous") == 0)
        return section_2d(1, doubles, doubles);
    if (strcmp(shape, "vector") == 0)
        return every_second(doubles);
    if (strcmp(shape, "2d") == 0) {
        int columns = 1;
        while (columns * columns < doubles)
            columns *= 2;
        return section_2d(doubles / columns, columns, 2 * columns);
    }
    if (strcmp(shape, "3d") == 0) {
        int edge = 1;
        while (edge * edge * edge * 8 <= doubles)
            edge *= 2;
        return section_3d(doubles / edge / edge, edge, edge, 2 * edge, 2 * edge);
    }
    give_up("rma_sections: --shape is contiguous, vector, 2d or 3d");
    return section;
}

int main(int argc, char **argv)
{
    const char *shape = "contiguous";
    int kept = 1;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--shape") == 0 && i + 1 < argc)
            shape = argv[++i];
        else
            argv[kept++] = argv[i];
    argc = kept;
    struct arguments a = arguments(argc, argv);
    ring = has_option(argc, argv, "--ring");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!ring && ranks != 2)
        give_up("rma_sections: needs 2 ranks, or --ring");
    pin(rank);
    if (rank == 0)
        print_library();
#ifdef WITH_ARMCI
    ARMCI_Init();
#endif
#ifdef WITH_GA
    GA_Initialize();
#endif

    for (int i = 0; i < a.count; i++) {
        int size = cell_size(a.cells[i]);
        way = way_of(a.cells[i]);
        section = section_of(shape, size / (int)sizeof(double));
        open_memory();
        check_data(1);
        struct samples *samples = time_operations(steps, ring ? 1 : 2, a.seconds * 1e6 / a.count);
        check_data(1000);
        if (rank == 0) {
            printf("result rma_sections way=%.*s size=%d ", (int)strcspn(a.cells[i], ":"), a.cells[i], size);
            print_samples(samples);
        }
        close_memory();
        MPI_Type_free(&section.type);
    }
#ifdef WITH_GA
    GA_Terminate();
#endif
#ifdef WITH_ARMCI
    ARMCI_Finalize();
#endif
    MPI_Finalize();
    return 0;
}
