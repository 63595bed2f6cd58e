// ranks: 1 2 4 7 16
/* dup, split, split_type, create; messages of one communicator never show in another. */
#include "check.h"

static void isolation(MPI_Comm a, MPI_Comm b) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, one = 1000 + rank, two = 2000 + rank, got[2] = {0, 0};
    MPI_Request requests[2];
    OK(MPI_Isend(&one, 1, MPI_INT, next, 5, a, &requests[0]));
    OK(MPI_Isend(&two, 1, MPI_INT, next, 5, b, &requests[1]));
    OK(MPI_Recv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, b, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, a, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(got[0] == 1000 + previous && got[1] == 2000 + previous, "%d and %d", got[0], got[1]);
}

static void split(void) {
    int color = rank % 3, new_rank, new_size, members = 0, before = 0;
    MPI_Comm part;
    /* In reverse order. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, color, -rank, &part));
    OK(MPI_Comm_rank(part, &new_rank));
    OK(MPI_Comm_size(part, &new_size));
    for (int other = 0; other < size; other++)
        if (other % 3 == color) members++, before += other > rank;
    CHECK(new_size == members && new_rank == before, "rank %d of %d instead of %d of %d", new_rank, new_size, before, members);
    int sum = -1, expected = 0;
    for (int other = color; other < size; other += 3) expected += other;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part));
    CHECK(sum == expected, "sum %d instead of %d", sum, expected);
    MPI_Status status;
    int from = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (new_rank + 1) % new_size, 1, &from, 1, MPI_INT, MPI_ANY_SOURCE, 1, part, &status));
    CHECK(status.MPI_SOURCE == (new_rank + new_size - 1) % new_size, "source %d", status.MPI_SOURCE);
    OK(MPI_Comm_free(&part));
    CHECK(part == MPI_COMM_NULL, "a freed handle is null");

    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &part));
    CHECK((part == MPI_COMM_NULL) == (rank == 0), "MPI_UNDEFINED makes no communicator");
    if (part != MPI_COMM_NULL) {
        OK(MPI_Comm_size(part, &new_size));
        CHECK(new_size == size - 1, "%d", new_size);
        OK(MPI_Barrier(part));
        OK(MPI_Comm_free(&part));
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm dup, again, shared, half;
    MPI_Group group, part;
    int result, new_size, new_rank, flag;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_dup(dup, &again));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_IDENT, "%d", result);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, dup, &result));
    CHECK(result == MPI_CONGRUENT, "%d", result);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL), "%d", result);
    OK(MPI_Comm_test_inter(dup, &flag));
    CHECK(!flag, "not an intercommunicator");
    isolation(MPI_COMM_WORLD, dup);
    isolation(dup, again);
    OK(MPI_Comm_free(&dup));
    isolation(again, MPI_COMM_WORLD);
    OK(MPI_Comm_free(&again));
    split();

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    OK(MPI_Comm_size(shared, &new_size));
    OK(MPI_Comm_rank(shared, &new_rank));
    CHECK(new_size == size && new_rank == rank, "all ranks share this machine: %d of %d", new_rank, new_size);
    OK(MPI_Comm_free(&shared));

    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    int range[1][3] = {{0, size - 1, 2}};
    OK(MPI_Group_range_incl(group, 1, range, &part));
    OK(MPI_Comm_create(MPI_COMM_WORLD, part, &half));
    CHECK((half != MPI_COMM_NULL) == (rank % 2 == 0), "only members get the communicator");
    if (half != MPI_COMM_NULL) {
        OK(MPI_Comm_rank(half, &new_rank));
        CHECK(new_rank == rank / 2, "%d", new_rank);
        OK(MPI_Comm_free(&half));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, part, 3, &half));
        OK(MPI_Barrier(half));
        OK(MPI_Comm_free(&half));
    }
    OK(MPI_Group_free(&part));
    OK(MPI_Group_free(&group));

    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == (int)strlen(name), "%s", name);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_set_name(dup, "of our own"));
    OK(MPI_Comm_get_name(dup, name, &length));
    CHECK(strcmp(name, "of our own") == 0, "%s", name);
    OK(MPI_Comm_free(&dup));

    /* Hundreds, one after the other and at once. */
    MPI_Comm many[100];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &many[i]));
        isolation(many[0], many[99]);
        for (int i = 0; i < 100; i++) OK(MPI_Comm_free(&many[i]));
    }
    end();
    return 0;
}
