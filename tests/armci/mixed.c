// ranks: 1 2 4 8
// MPI and ARMCI in one program: ARMCI first and ended last, or within; a subset by a communicator; profiling names.
#include <mpi.h>
#include <parmci.h>
#include <stdlib.h>

static int puts_seen;

int ARMCI_Put(void *src, void *dst, int bytes, int proc)
{
    puts_seen++;
    return PARMCI_Put(src, dst, bytes, proc);
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv)
{
    ARMCI_Init();
    int me, size, sum;
    void *early[4096];
    CHECK(ARMCI_Malloc(early, 16) == 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(me == armci_msg_me() && size == armci_msg_nproc());
    // A pointer may travel in a message: it means the same everywhere.
    long *place = early[me], *theirs;
    MPI_Sendrecv(&place, sizeof place, MPI_BYTE, (me + 1) % size, 0, &theirs, sizeof theirs, MPI_BYTE,
                 (me + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long value = me + 100;
    CHECK(ARMCI_Put(&value, theirs, sizeof value, (me + size - 1) % size) == 0 && puts_seen == 1);
    // MPI's barrier orders processes, not ARMCI's puts into memory of another node.
    ARMCI_AllFence();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*place == (me + 1) % size + 100);
    // MPI may send out of it and reduce into it.
    MPI_Allreduce(MPI_IN_PLACE, place, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(*place == 100L * size + size * (size - 1) / 2);
    int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, ARMCI_COMM_WORLD);
    CHECK(sum == size);
    ARMCI_Group low;
    int list[size], n = (size + 1) / 2;
    for (int p = 0; p < n; p++) list[p] = p;
    ARMCI_Group_create(n, list, &low);
    MPI_Comm comm = armci_group_comm(&low);
    if (me < n) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == n && comm == armci_group_comm(&low));
    } else
        CHECK(comm == MPI_COMM_NULL);
    CHECK(ARMCI_Free(early[me]) == 0);
    ARMCI_Finalize();
    // The other half by a communicator, whose ranks are the processes.
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    CHECK(ARMCI_Init_mpi_comm(half) == 1 && ARMCI_Init_mpi_comm(half) == 1);
    int mine, all;
    MPI_Comm_rank(half, &mine);
    MPI_Comm_size(half, &all);
    CHECK(armci_msg_me() == mine && armci_msg_nproc() == all);
    CHECK(ARMCI_Malloc(early, 8) == 0);
    CHECK(ARMCI_PutValueLong(me, early[(mine + 1) % all], (mine + 1) % all) == 0);
    ARMCI_Barrier();
    int expected;
    MPI_Sendrecv(&me, 1, MPI_INT, (mine + 1) % all, 0, &expected, 1, MPI_INT, (mine + all - 1) % all, 0, half,
                 MPI_STATUS_IGNORE);
    CHECK(*(long *)early[mine] == expected);
    MPI_Finalize();
    ARMCI_Finalize();
    return 0;
}
