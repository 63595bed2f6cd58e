// ranks: 2 3 4 8
/* Collectives on memory that all ranks map (MPI_Alloc_mem) read it where it lies. So who gives such memory to a call must not get it
   back before all have read it, whoever comes late; and what is written in place must not be read after that. Every second
   buffer is such memory, so both kinds meet in each call. */
#define _GNU_SOURCE
#include "counter.h"

#include <unistd.h>

enum { KINDS = 11, MOST = 100000, SIZES = 4, EXTRA = 16 };
static const int SIZE[SIZES] = {5000, 8192, 30001, MOST};

static int *buffers[4];

static int value(int from, int to, int number, int i) { return from * 1009 + to * 97 + number * 31 + i % 777; }
static int is_personal(int kind) { return kind == 3 || kind == 4 || kind == 9; }
static int has_blocks(int kind) { return is_personal(kind) || kind == 1 || kind == 2; }

/* What rank `to` gets at i of the block of `from`. */
static int sum_of(int first, int last, int to, int number, int i) {
    int sum = 0;
    for (int from = first; from < last; from++) sum += value(from, to, number, i);
    return sum;
}

static void check(const int *out, int kind, int count, int root, int number) {
    int blocks = kind == 1 ? (rank == root ? size : 0) : kind == 2 || kind == 3 ? size : 1;
    for (int from = 0; from < blocks; from++)
        for (int i = 0; i < count; i++) {
            int wanted, found = out[from * count + i];
            if (kind == 0) wanted = value(root, 0, number, i);
            else if (kind == 1 || kind == 2) wanted = value(from, 0, number, i);
            else if (kind == 3) wanted = value(from, rank, number, i);
            else if (kind == 4) wanted = value(root, rank, number, i);
            else if (kind == 5) wanted = rank == root ? sum_of(0, size, 0, number, i) : found;
            else if (kind == 8 || kind == 10) wanted = sum_of(0, rank + 1, 0, number, i);
            else if (kind == 9) wanted = sum_of(0, size, rank, number, i);
            else wanted = sum_of(0, size, 0, number, i);
            CHECK(found == wanted, "kind %d, count %d, root %d, from %d, element %d: %d and not %d", kind, count, root, from, i,
                  found, wanted);
        }
}

static void start(int kind, int *in, int *out, int count, int root, int blocking, MPI_Comm comm, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    switch (kind) {
    case 0: OK(blocking ? MPI_Bcast(rank == root ? in : out, count, MPI_INT, root, comm)
                        : MPI_Ibcast(rank == root ? in : out, count, MPI_INT, root, comm, request)); break;
    case 1: OK(blocking ? MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm)
                        : MPI_Igather(in, count, MPI_INT, out, count, MPI_INT, root, comm, request)); break;
    case 2: OK(blocking ? MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm)
                        : MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, comm, request)); break;
    case 3: OK(blocking ? MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm)
                        : MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, comm, request)); break;
    case 4: OK(blocking ? MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm)
                        : MPI_Iscatter(in, count, MPI_INT, out, count, MPI_INT, root, comm, request)); break;
    case 5: OK(blocking ? MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm)
                        : MPI_Ireduce(in, out, count, MPI_INT, MPI_SUM, root, comm, request)); break;
    case 6: OK(blocking ? MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm)
                        : MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    case 7: OK(blocking ? MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm)
                        : MPI_Iallreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    case 8: OK(blocking ? MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm)
                        : MPI_Iscan(in, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    case 9: OK(blocking ? MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm)
                        : MPI_Ireduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    case 10: OK(blocking ? MPI_Scan(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm)
                         : MPI_Iscan(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    }
}

int main(int argc, char **argv) {
    MPI_T_pvar_session session;
    MPI_Request request;
    MPI_Comm comm;
    int provided;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle lent = counter(session, "lent");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    size_t bytes = sizeof(int) * (size_t)(MOST + EXTRA) * (size_t)size;
    for (int i = 0; i < 4; i++) {
        if (i % 2) OK(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &buffers[i]));
        else buffers[i] = malloc(bytes);
        CHECK(buffers[i], "%zu bytes", bytes);
    }
    /* Before there are boards, nothing is lent. */
    for (int i = 0; i < 4; i++) {
        OK(MPI_Barrier(comm));
        OK(MPI_Ibarrier(comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    unsigned long long before, after, called[2] = {0, 0};
    int number = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int at = 0; at < SIZES; at++)
            for (int form = 0; form < 4; form++, number++) {
                int blocking = form & 1, count = SIZE[at], root = (number / 2 + kind) % size, late = (number / 3) % size;
                if (has_blocks(kind) && count == MOST) count /= 4;
                int in_place = kind == 7 || kind == 10, blocks = is_personal(kind) ? size : 1;
                /* Sometimes from within, not aligned to anything but elements. */
                int *in = buffers[(rank + number / 4) % 2] + number % 3, *out = buffers[2 + (rank / 2 + number / 8) % 2] + number % 5;
                int *from = in_place ? out : in;
                memset(out, 0x5a, sizeof(int) * (size_t)count * (size_t)(has_blocks(kind) ? size : 1));
                for (int to = 0; to < blocks; to++)
                    for (int i = 0; i < count; i++) from[to * count + i] = value(rank, to, number, i);
                OK(MPI_T_pvar_read(session, lent, &before));
                if (rank == late) usleep(3000);
                start(kind, in, out, count, root, blocking, comm, &request);
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                /* It is ours again. */
                if (!in_place && !(kind == 0 && rank != root)) memset(in, 0xee, sizeof(int) * (size_t)count * (size_t)blocks);
                OK(MPI_T_pvar_read(session, lent, &after));
                called[blocking] += after - before;
                if (kind != 0 || rank != root) check(out, kind, count, root, number);
            }
    CHECK(called[0] > 0 && called[1] > 0, "lent %llu and %llu times", called[0], called[1]);
    for (int i = 0; i < 4; i++) {
        if (i % 2) OK(MPI_Free_mem(buffers[i]));
        else free(buffers[i]);
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    OK(MPI_Comm_free(&comm));
    end();
    return 0;
}
