// ranks: 2 3 5 8 33
// more ranks: 4 7 13 17 64
/* Reductions of numbers that do not add up exactly give the same bits in a communicator's first calls and in later ones, in
   every form of a call, in place or not, and whoever the root is: those of a loop over the ranks. What they are goes into a number that rank 0 prints. */
#include "check.h"

#include <stdlib.h>

enum { MOST = 60000, CALLS = 5 };
static const int COUNTS[] = {1, 7, 100, 700, 5000, MOST};

/* Of all results of this rank, in their order. */
static unsigned long long hash = 0xcbf29ce484222325;

static double input[MOST], output[MOST], expected[MOST];

/* Sums of these depend on their order. */
static double value(int of, int i) {
    double small = (double)((of * 7919 + i * 104729) % 1000003) / 1000003;
    return (of + i) % 3 == 0 ? small * 1e17 : (of + i) % 3 == 1 ? -small * 1e9 : small;
}

static void prepare(int count) {
    for (int i = 0; i < count; i++) input[i] = value(rank, i);
}

/* The result is that of a loop over the ranks. */
static void check_loop(int count) {
    for (int i = 0; i < count; i++) {
        double sum = value(0, i);
        for (int other = 1; other < size; other++) sum += value(other, i);
        CHECK(memcmp(&sum, &output[i], sizeof sum) == 0, "element %d of %d: %.17g, in a loop %.17g", i, count, output[i], sum);
    }
}

static void compare(const char *what, int call, int count) {
    if (call == 0) memcpy(expected, output, sizeof *output * (size_t)count);
    for (int i = 0; call == 0 && i < count; i++) {
        unsigned long long bits;
        memcpy(&bits, &output[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3;
    }
    for (int i = 0; i < count; i++)
        CHECK(memcmp(&output[i], &expected[i], sizeof *output) == 0, "%s, call %d, element %d of %d: %.17g, first %.17g", what,
              call, i, count, output[i], expected[i]);
}

static void finish(MPI_Request request) {
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
}

/* Three blocking calls, a non-blocking and a persistent one. */
#define REPEAT(what, blocking, immediate, count, ...)                                                  \
    for (int call = 0; call < CALLS; call++) {                                                         \
        MPI_Request request = MPI_REQUEST_NULL;                                                        \
        memset(output, 0, sizeof output);                                                              \
        if (call < 3) OK(MPI_##blocking(input, output, __VA_ARGS__));                                  \
        if (call == 3) OK(MPI_##immediate(input, output, __VA_ARGS__, &request));                      \
        if (call == 4) OK(MPI_##blocking##_init(input, output, __VA_ARGS__, MPI_INFO_NULL, &request)); \
        if (call == 4) OK(MPI_Start(&request));                                                        \
        finish(request);                                                                               \
        compare(what, call, count);                                                                    \
    }

static void check_all(MPI_Comm comm, int count) {
    int each = count / size;
    prepare(count);
    REPEAT("allreduce", Allreduce, Iallreduce, count, count, MPI_DOUBLE, MPI_SUM, comm)
    if (size <= 32) check_loop(count);
    double *sums = malloc(sizeof *sums * (size_t)count);
    memcpy(sums, output, sizeof *sums * (size_t)count);
    memcpy(output, input, sizeof *output * (size_t)count);
    OK(MPI_Allreduce(MPI_IN_PLACE, output, count, MPI_DOUBLE, MPI_SUM, comm));
    compare("allreduce in place", 1, count);
    REPEAT("scan", Scan, Iscan, count, count, MPI_DOUBLE, MPI_SUM, comm)
    REPEAT("reduce_scatter", Reduce_scatter_block, Ireduce_scatter_block, each, each, MPI_DOUBLE, MPI_SUM, comm)
    for (int root = 0; root < size; root += size - 1) {
        REPEAT("reduce", Reduce, Ireduce, rank == root ? count : 0, count, MPI_DOUBLE, MPI_SUM, root, comm)
        memcpy(expected, sums, sizeof *sums * (size_t)count);
        if (rank == root) compare("reduce beside allreduce", 1, count);
    }
    free(sums);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        check_all(comm, COUNTS[i]);
        OK(MPI_Comm_free(&comm));
    }
    /* These numbers can tell: backwards they give other sums. */
    MPI_Comm backwards;
    int different = 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards));
    prepare(MOST);
    OK(MPI_Allreduce(input, expected, MOST, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Allreduce(input, output, MOST, MPI_DOUBLE, MPI_SUM, backwards));
    for (int i = 0; i < MOST; i++) different += output[i] != expected[i];
    CHECK(size <= 2 || different > 0, "%d", different);
    OK(MPI_Comm_free(&backwards));
    unsigned long long all = 0;
    hash *= (unsigned long long)(2 * rank + 1);
    OK(MPI_Reduce(&hash, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("results: %016llx\n", all);
    end();
    return 0;
}
