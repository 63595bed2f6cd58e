// ranks: 1
/* What MPI-3.0 removed, for sources that are older. */
#define ISTHMUS_MPI1
#include "check.h"

static int calls;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    calls++;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Handler_function *function = handler;
    MPI_Errhandler mine, got;
    MPI_Datatype type;
    MPI_Aint at[2], extent;
    struct { int one; double two; } pair;
    int lengths[2] = {1, 1}, value = 0;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    OK(MPI_Errhandler_create(function, &mine));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, mine));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &got));
    CHECK(got == mine, "another handler");
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, -77, 0, MPI_COMM_WORLD));
    CHECK(calls == 1, "%d calls", calls);
    OK(MPI_Address(&pair.one, &at[0]));
    OK(MPI_Address(&pair.two, &at[1]));
    at[1] -= at[0];
    at[0] = 0;
    OK(MPI_Type_struct(2, lengths, at, types, &type));
    OK(MPI_Type_extent(type, &extent));
    CHECK(extent == sizeof pair, "extent %ld", (long)extent);
    OK(MPI_Type_ub(type, &extent));
    CHECK(extent == sizeof pair, "upper bound %ld", (long)extent);
    OK(MPI_Type_lb(type, &extent));
    CHECK(extent == 0, "lower bound %ld", (long)extent);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hvector(2, 1, 16, MPI_INT, &type));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hindexed(2, lengths, at, MPI_INT, &type));
    OK(MPI_Type_free(&type));
    end();
    return 0;
}
