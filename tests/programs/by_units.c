/* by_units UNITS: reductions that combine among the ranks of a unit of the machine first, and then what came of that. Numbers that
   do not add up exactly show it: results have the very bits of a loop that does so. UNITS has a letter for each rank. */
#include "counter.h"

enum { MOST = 150001, RANKS = 32 };
static const int COUNTS[] = {1, 3, 100, 1023, 1024, 1025, 5000, 40000, MOST};

static const char *units;
static double input[MOST], output[MOST], expected[MOST];

static double element(int of, int i) {
    double small = (double)((of * 7919 + i * 104729) % 1000003) / 1000003;
    return (of + i) % 3 == 0 ? small * 1e17 : (of + i) % 3 == 1 ? -small * 1e9 : small;
}

/* Of all of them, from the first to the last. */
static double fold(const double *parts, int number) {
    double sum = parts[0];
    for (int i = 1; i < number; i++) sum = sum + parts[i];
    return sum;
}

/* The root takes part in no unit, but is the last; -1: there is none. Units come in the order of their first ranks. */
static double combined(int i, int root) {
    double parts[RANKS], sums[RANKS + 1];
    int number = 0;
    for (int first = 0; first < size; first++) {
        if (memchr(units, units[first], (size_t)first)) continue;
        int ranks = 0;
        for (int other = first; other < size; other++)
            if (units[other] == units[first] && other != root) parts[ranks++] = element(other, i);
        if (ranks > 0) sums[number++] = fold(parts, ranks);
    }
    if (root >= 0) sums[number++] = element(root, i);
    return fold(sums, number);
}

static void compare(const char *what, int call, int count, int root) {
    for (int i = 0; i < count; i++)
        CHECK(memcmp(&output[i], &expected[i], sizeof *output) == 0, "%s, call %d, root %d, element %d of %d: %.17g, not %.17g",
              what, call, root, i, count, output[i], expected[i]);
}

static int differs(int count, int root) {
    int different = 0;
    for (int i = 0; i < count; i++) {
        double in_order[RANKS];
        for (int of = 0; of < size; of++) in_order[of] = element(of, i);
        different += combined(i, root) != fold(in_order, size);
    }
    return different;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc == 2 && strlen(argv[1]) == (size_t)size && size <= RANKS, "a letter for each rank");
    units = argv[1];
    int provided;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle wanted = counter(session, "algorithms_wanted");
    OK(MPI_T_pvar_start(session, wanted));
    /* There are boards after that. */
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    unsigned long long before, after;
    OK(MPI_T_pvar_read(session, wanted, &before));
    int calls = 0;
    for (size_t at = 0; at < sizeof COUNTS / sizeof *COUNTS; at++) {
        int count = COUNTS[at];
        for (int root = -1; root < size; root++) {
            for (int i = 0; i < count; i++) expected[i] = combined(i, root);
            for (int call = 0; call < 4; call++, calls++) {
                int in_place = call % 2 && (root < 0 || root == rank), immediate = call / 2;
                MPI_Request request = MPI_REQUEST_NULL;
                for (int i = 0; i < count; i++) input[i] = element(rank, i), output[i] = in_place ? input[i] : 0;
                const void *from = in_place ? MPI_IN_PLACE : input;
                if (root < 0 && immediate) OK(MPI_Iallreduce(from, output, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
                else if (root < 0) OK(MPI_Allreduce(from, output, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
                else if (immediate) OK(MPI_Ireduce(from, output, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, &request));
                else OK(MPI_Reduce(from, output, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                if (root < 0 || root == rank) compare(root < 0 ? "allreduce" : "reduce", call, count, root);
                for (int i = 0; i < count; i++)
                    CHECK(in_place || input[i] == element(rank, i), "element %d of the input has changed", i);
            }
        }
    }
    OK(MPI_T_pvar_read(session, wanted, &after));
    CHECK(after - before == (unsigned long long)calls, "%llu of %d calls", after - before, calls);
    CHECK(differs(MOST, -1) > 0, "these numbers cannot tell");
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
