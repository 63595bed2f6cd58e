// ranks: 1 2 3
/* Partitioned communication around a ring. */
#include "check.h"

enum { ELEMENTS = 400000 };

static int out[2][ELEMENTS], in[2][ELEMENTS];
static int to, from;

/* Requests with the same tag are paired in the order in which they were made, whatever the order of starting them. */
static void pairs_by_the_order_of_init(void) {
    MPI_Request send[2], receive[2];
    for (int k = 0; k < 2; k++)
        OK(MPI_Psend_init(out[k], 4, ELEMENTS / 4, MPI_INT, to, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send[k]));
    for (int k = 0; k < 2; k++)
        OK(MPI_Precv_init(in[k], 8, ELEMENTS / 8, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive[k]));
    int flag;
    OK(MPI_Parrived(receive[0], 3, &flag));
    CHECK(flag, "not active");
    for (int round = 0; round < 10; round++) {
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < ELEMENTS; i++) out[k][i] = (k + 1) * (i + rank + round);
        memset(in, 0, sizeof in);
        int first = round % 2;
        OK(MPI_Start(&send[first]));
        OK(MPI_Start(&receive[!first]));
        OK(MPI_Start(&send[!first]));
        OK(MPI_Start(&receive[first]));
        for (int k = 0; k < 2; k++) {
            int rest[2] = {3, 0};
            OK(MPI_Pready_range(1, 2, send[k]));
            OK(MPI_Test(&send[k], &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "two partitions are not ready");
            OK(MPI_Pready_list(2, rest, send[k]));
        }
        do OK(MPI_Parrived(receive[1], 0, &flag));
        while (!flag);
        CHECK(in[1][0] == 2 * (from + round), "%d", in[1][0]);
        MPI_Status statuses[2];
        OK(MPI_Waitall(2, receive, statuses));
        CHECK(statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == 7, "tag %d", statuses[0].MPI_TAG);
        int count;
        OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
        CHECK(count == ELEMENTS, "%d", count);
        OK(MPI_Waitall(2, send, MPI_STATUSES_IGNORE));
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < ELEMENTS; i++) CHECK(in[k][i] == (k + 1) * (i + from + round), "round %d, %d", round, i);
    }
    for (int k = 0; k < 2; k++) {
        OK(MPI_Request_free(&send[k]));
        OK(MPI_Request_free(&receive[k]));
    }
}

/* The receiver waits for its own send first, before the two have heard of each other. */
static void progress(void) {
    MPI_Request send, receive;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Precv_init(in, 1, ELEMENTS, MPI_INT, from, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Start(&receive));
    OK(MPI_Psend_init(out, 1, ELEMENTS, MPI_INT, to, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Start(&send));
    OK(MPI_Pready(0, send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

/* A partition that is ready arrives before others are: what they need comes from its receiver. */
static void partitions_leave_as_they_become_ready(int length) {
    MPI_Request send, receive;
    int needed = -1, given, flag = 0;
    for (int i = 0; i < 2 * length; i++) out[0][i] = rank + i, in[0][i] = -1;
    OK(MPI_Psend_init(out[0], 2, length, MPI_INT, to, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in[0], 2, length, MPI_INT, from, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    for (int first = 0; first < 2; first++) {
        OK(MPI_Start(&send));
        OK(MPI_Start(&receive));
        OK(MPI_Pready(first, send));
        do OK(MPI_Parrived(receive, first, &flag));
        while (!flag);
        CHECK(in[0][first * length] == from + first * length, "%d", in[0][first * length]);
        OK(MPI_Parrived(receive, !first, &flag));
        CHECK(!flag, "a partition that is not ready");
        given = 7;
        OK(MPI_Sendrecv(&given, 1, MPI_INT, from, 11, &needed, 1, MPI_INT, to, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(needed == 7, "%d", needed);
        OK(MPI_Pready(!first, send));
        OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        for (int i = 0; i < 2 * length; i++) CHECK(in[0][i] == from + i, "%d", i);
        memset(in, 0, sizeof in);
    }
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

/* However the sides cut the same elements, whatever their layout is there: into as many messages as pay. */
static void cuts_differ(int partitions, int theirs) {
    enum { WHOLE = 6000 };
    MPI_Datatype pair, spread;
    MPI_Request send, receive;
    MPI_Status status;
    int count;
    /* The first and the third of four. */
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pair));
    OK(MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &spread));
    OK(MPI_Type_commit(&spread));
    for (int i = 0; i < WHOLE; i++) out[0][i] = 1000 * rank + i;
    for (int layout = 0; layout < 3; layout++) {
        int *to_here = in[0];
        if (layout == 2 && WHOLE / 2 % partitions) continue;
        memset(in, 0, sizeof in);
        if (layout == 1) {
            /* Elements of two, of which a message of the sender's may hold a half. */
            OK(MPI_Precv_init(to_here, theirs, WHOLE / 2 / theirs, spread, from, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
            OK(MPI_Psend_init(out[0], partitions, WHOLE / partitions, MPI_INT, to, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
        } else if (layout == 2) {
            OK(MPI_Psend_init(out[0], theirs, WHOLE / 4 / theirs, spread, to, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
            OK(MPI_Precv_init(to_here, partitions, WHOLE / 2 / partitions, MPI_INT, from, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
        } else {
            OK(MPI_Psend_init(out[0], partitions, WHOLE / partitions, MPI_INT, to, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
            OK(MPI_Precv_init(to_here, theirs, WHOLE / theirs, MPI_INT, from, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
        }
        int ready = layout == 2 ? theirs : partitions;
        for (int round = 0; round < 2; round++) {
            OK(MPI_Start(&receive));
            OK(MPI_Start(&send));
            /* From both ends. */
            for (int i = 0; i < ready; i++) OK(MPI_Pready(i % 2 ? ready - 1 - i / 2 : i / 2, send));
            OK(MPI_Wait(&receive, &status));
            OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
            OK(MPI_Get_count(&status, MPI_INT, &count));
            CHECK(count == (layout == 2 ? WHOLE / 2 : WHOLE), "%d", count);
            CHECK(status.MPI_TAG == 12 && status.MPI_SOURCE == from, "tag %d", status.MPI_TAG);
            for (int i = 0; i < count; i++) {
                int place = layout == 1 ? 2 * i : i, value = layout == 2 ? 2 * i : i;
                CHECK(to_here[place] == 1000 * from + value, "layout %d, %d: %d", layout, i, to_here[place]);
            }
        }
        OK(MPI_Request_free(&send));
        OK(MPI_Request_free(&receive));
    }
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&spread));
}

static void mistakes(void) {
    MPI_Request send, receive, none;
    int flag;
    OK(MPI_Psend_init(out, 4, 1, MPI_INT, to, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 4, 1, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, send));
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    FAILS(MPI_ERR_ARG, MPI_Pready(4, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(-1, send));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, receive));
    OK(MPI_Pready(0, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(0, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_range(3, 2, send));
    OK(MPI_Pready_range(1, 3, send));
    FAILS(MPI_ERR_ARG, MPI_Parrived(receive, 4, &flag));
    FAILS(MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    FAILS(MPI_ERR_RANK, MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &none));
    FAILS(MPI_ERR_TAG, MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &none));
    FAILS(MPI_ERR_ARG, MPI_Psend_init(out, -1, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &none));
}

static void to_nobody(void) {
    MPI_Request send, receive;
    MPI_Status status;
    OK(MPI_Psend_init(out, 3, 5, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 3, 5, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    OK(MPI_Pready_range(0, 2, send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "%d", status.MPI_SOURCE);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

/* Data that is not contiguous, beside an ordinary receive that would take any message. */
static void columns(void) {
    MPI_Request send, receive, ordinary;
    MPI_Datatype column;
    OK(MPI_Type_vector(10, 1, 2, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Psend_init(out[0], 3, 1, column, to, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in[0], 3, 1, column, from, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Type_free(&column));
    memset(in, 0xff, sizeof in);
    for (int i = 0; i < 57; i++) out[0][i] = i + rank;
    int one = rank, other = -1, flag;
    OK(MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &ordinary));
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    OK(MPI_Pready_range(0, 2, send));
    do OK(MPI_Parrived(receive, 2, &flag));
    while (!flag);
    /* Elements 0, 2, ... of each 19. */
    for (int i = 0; i < 57; i++) CHECK(in[0][i] == (i % 19 % 2 ? -1 : i + from), "%d: %d", i, in[0][i]);
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Send(&one, 1, MPI_INT, to, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
    CHECK(other == from, "%d", other);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    pairs_by_the_order_of_init();
    progress();
    partitions_leave_as_they_become_ready(1);
    partitions_leave_as_they_become_ready(3000);
    partitions_leave_as_they_become_ready(ELEMENTS / 2);
    cuts_differ(2, 3);
    cuts_differ(16, 4);
    cuts_differ(75, 4);
    cuts_differ(500, 1);
    cuts_differ(100, 50);
    mistakes();
    to_nobody();
    columns();
    MPI_Finalize();
    return 0;
}
