// ranks: 3 8
/* Long messages where ranks share CPUs: with both neighbours, before their receives and in another order, more than there are blocks
   for, scattered, cut short, probed for, and one that is received after its sender has begun to finalize. */
#include "counter.h"

enum { LONGEST = 600000, MANY = 20 };

static const int lengths[] = {32767, 32768, 100001, 262144, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned char *out[2], *in[2];
static int left, right;

static unsigned seed(int from, int number) { return (unsigned)(from * 131 + number * 17 + 5); }

/* What a neighbour sends is ours again when the call is over, and goes on changing hands. */
static void exchange(int length, int rounds) {
    for (int round = 0; round < rounds; round++) {
        MPI_Request requests[4];
        fill(out[0], (size_t)length, seed(rank, 2 * round));
        fill(out[1], (size_t)length, seed(rank, 2 * round + 1));
        OK(MPI_Irecv(in[0], length, MPI_BYTE, left, 0, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(in[1], length, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Isend(out[0], length, MPI_BYTE, right, 0, MPI_COMM_WORLD, &requests[2]));
        OK(MPI_Isend(out[1], length, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[3]));
        OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        CHECK_BYTES(in[0], (size_t)length, seed(left, 2 * round));
        CHECK_BYTES(in[1], (size_t)length, seed(right, 2 * round + 1));
    }
}

/* All are sent before the first is received, the last one first. */
static void flood(int length) {
    MPI_Request requests[MANY];
    unsigned char *all = malloc((size_t)MANY * (size_t)length);
    for (int i = 0; i < MANY; i++) {
        fill(all + (size_t)i * (size_t)length, (size_t)length, seed(rank, i));
        OK(MPI_Isend(all + (size_t)i * (size_t)length, length, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = MANY - 1; i >= 0; i--) {
        OK(MPI_Recv(in[0], length, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_BYTES(in[0], (size_t)length, seed(left, i));
    }
    OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    free(all);
}

/* Every second byte at the sender and at the receiver; half of a message; one that a probe takes. */
static void otherwise(int length) {
    MPI_Datatype pairs;
    MPI_Message message;
    MPI_Status status;
    int count = length / 2, got;
    OK(MPI_Type_vector(count, 1, 2, MPI_BYTE, &pairs));
    OK(MPI_Type_commit(&pairs));
    fill(out[0], (size_t)length, seed(rank, 1));
    fill(in[1], (size_t)length, seed(left, 1));
    memset(in[0], 0x55, (size_t)length);
    OK(MPI_Sendrecv(out[0], 1, pairs, right, 1, in[0], 1, pairs, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * count; i++)
        CHECK(in[0][i] == (i % 2 == 0 ? in[1][i] : 0x55), "byte %d is %d", i, in[0][i]);
    OK(MPI_Type_free(&pairs));

    MPI_Request request;
    OK(MPI_Isend(out[0], length, MPI_BYTE, right, 2, MPI_COMM_WORLD, &request));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memset(in[0], 0x55, (size_t)length);
    FAILS(MPI_ERR_TRUNCATE, MPI_Recv(in[0], count, MPI_BYTE, left, 2, MPI_COMM_WORLD, &status));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(memcmp(in[0], in[1], (size_t)count) == 0 && in[0][count] == 0x55, "of %d bytes", length);

    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Isend(out[0], length, MPI_BYTE, right, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Mprobe(left, 3, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK(got == length, "%d", got);
    OK(MPI_Mrecv(in[0], length, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(memcmp(in[0], in[1], (size_t)length) == 0, "of %d bytes", length);
}

int main(int argc, char **argv) {
    MPI_T_pvar_session session;
    unsigned long long in_blocks;
    int provided;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle handle = counter(session, "in_blocks");
    OK(MPI_T_pvar_start(session, handle));
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < 2; i++)
        out[i] = malloc(LONGEST), in[i] = malloc(LONGEST);
    for (int i = 0; i < LENGTHS; i++) {
        exchange(lengths[i], 10);
        flood(lengths[i]);
        otherwise(lengths[i]);
    }
    OK(MPI_T_pvar_read(session, handle, &in_blocks));
    CHECK(in_blocks > 0 || sysconf(_SC_NPROCESSORS_ONLN) >= size || !on_one_node(), "no message lay in a block");
    /* The send is over; its receive is not posted for a while. */
    fill(out[0], 100001, seed(rank, 7));
    if (rank != 0)
        OK(MPI_Send(out[0], 100001, MPI_BYTE, 0, 7, MPI_COMM_WORLD));
    if (rank == 0)
        usleep(100000);
    for (int from = 1; from < size && rank == 0; from++) {
        OK(MPI_Recv(in[0], 100001, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_BYTES(in[0], 100001, seed(from, 7));
    }
    end();
    return 0;
}
