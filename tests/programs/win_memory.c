// ranks: 2 8
// more ranks: 4 16
/* What windows take beside the memory that was asked for, where there are thousands of them: what is stated in docs/numbers/one-sided.md, and
 * less than 1 KiB for each window and rank on up to 8 ranks. */
#include "check.h"

enum { WINDOWS = 2000, WARM = 50, ALONE = 880, EACH = 16 };

static MPI_Win wins[WARM + WINDOWS];
static long memory[WARM + WINDOWS], *bases[WARM + WINDOWS];

/* Each shared page is counted once over its sharers. */
static double pss(void) {
    char line[256];
    long kib = 0;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    CHECK(rollup != NULL, "no /proc/self/smaps_rollup");
    while (rollup && fgets(line, sizeof line, rollup))
        if (sscanf(line, "Pss: %ld", &kib) == 1) break;
    if (rollup) fclose(rollup);
    return kib * 1024.0;
}

static double of_all(void) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    double own = pss(), sum;
    OK(MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

static void make(int kind, int i) {
    bases[i] = &memory[i];
    if (kind == 0) OK(MPI_Win_create(bases[i], sizeof(long), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]));
    if (kind == 1) OK(MPI_Win_allocate(sizeof(long), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &wins[i]));
    if (kind == 2) OK(MPI_Win_allocate_shared(sizeof(long), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &wins[i]));
    if (kind == 3) OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]));
    *bases[i] = -1;
}

static void use(int kind, int i) {
    long value = 1000L * i + rank;
    OK(MPI_Win_fence(0, wins[i]));
    if (kind < 3) OK(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, wins[i]));
    OK(MPI_Win_fence(0, wins[i]));
    if (kind < 3) CHECK(*bases[i] == 1000L * i + (rank + size - 1) % size, "%ld", *bases[i]);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    /* What one kind gave back would serve the next, and be counted nowhere: so each keeps its windows until the end. */
    static const char *const names[] = {"create", "allocate", "allocate_shared", "create_dynamic"};
    static MPI_Win kept[4][WARM + WINDOWS];
    memset(memory, 0, sizeof memory);
    memset(bases, 0, sizeof bases);
    memset(wins, 0, sizeof wins);
    memset(kept, 0, sizeof kept);
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < WARM; i++) make(kind, i), use(kind, i);
        double before = of_all();
        before = of_all();
        for (int i = WARM; i < WARM + WINDOWS; i++) make(kind, i), use(kind, i);
        double each = (of_all() - before) / WINDOWS / size;
        double most = ALONE + EACH * size;
        CHECK(each > 0 && each < most, "%s: %.0f bytes for each window and rank, not %.0f", names[kind], each, most);
        memcpy(kept[kind], wins, sizeof wins);
    }
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < WARM + WINDOWS; i++) OK(MPI_Win_free(&kept[kind][i]));
    end();
    return 0;
}
