// ranks: 1 3
// Global memory that is far larger than what is touched of it is zeroed, and takes what is touched.
#include "../programs/job_memory.h"
#include <mpi.h>
#include <parmci.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { LARGE = 192 << 20, SHORT = 3 << 20, AT = 100 << 20, SLACK = 12 << 20 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    int me = armci_msg_me(), size = armci_msg_nproc(), right = (me + 1) % size, left = (me + size - 1) % size;
    void *all[4096];
    for (int turn = 0; turn < 2; turn++) {
        long before = job_memory();
        armci_msg_barrier();
        CHECK(ARMCI_Malloc(all, LARGE) == 0);
        armci_msg_barrier();
        CHECK(!comes_when_touched() || job_memory() - before < SLACK);
        armci_msg_barrier();
        long value = me + 100, *mine = (long *)((char *)all[me] + AT);
        CHECK(mine[0] == 0 && mine[1] == 0);
        ARMCI_Barrier();
        CHECK(ARMCI_Put(&value, (char *)all[right] + AT, sizeof value, right) == 0);
        ARMCI_Barrier();
        CHECK(mine[0] == left + 100 && mine[1] == 0);
        CHECK(ARMCI_Free(all[me]) == 0);
        armci_msg_barrier();
        CHECK(job_memory() - before < SLACK);
        // Memory that was used a moment ago is zeroed, too.
        CHECK(ARMCI_Malloc(all, SHORT) == 0);
        for (char *at = all[me]; at < (char *)all[me] + SHORT; at++) {
            CHECK(*at == 0);
            *at = 7;
        }
        CHECK(ARMCI_Free(all[me]) == 0);
    }
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
