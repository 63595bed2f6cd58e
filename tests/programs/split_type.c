// ranks: 4 8
// mpiexec: --set topology=2x2x2
/* Splitting by hardware, on a machine made up of two packages of two NUMA nodes of two cores. */
#include "check.h"

static MPI_Comm split(int type, const char *key, const char *value) {
    MPI_Comm new;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    if (key) OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, rank, info, &new));
    OK(MPI_Info_free(&info));
    return new;
}

/* The communicator holds the ranks of our unit, if units are `width` ranks wide. */
static void holds(MPI_Comm comm, int width) {
    int members, own;
    CHECK(comm != MPI_COMM_NULL, "units of %d", width);
    OK(MPI_Comm_size(comm, &members));
    OK(MPI_Comm_rank(comm, &own));
    int expected = width < size ? width : size;
    CHECK(members == expected && own == rank % expected, "rank %d of %d instead of %d", own, members, expected);
    OK(MPI_Comm_free(&comm));
}

static void told(MPI_Info info, const char *key, const char *expected) {
    char value[MPI_MAX_INFO_VAL] = "";
    int length = sizeof value, found;
    OK(MPI_Info_get_string(info, key, &length, value, &found));
    CHECK(found && !strcmp(value, expected), "%s is \"%s\"", key, value);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const char *type = "mpi_hw_resource_type";
    MPI_Comm new, next;
    MPI_Info info;
    holds(split(MPI_COMM_TYPE_SHARED, NULL, NULL), 8);
    holds(split(MPI_COMM_TYPE_HW_GUIDED, type, "mpi_shared_memory"), 8);
    holds(split(MPI_COMM_TYPE_HW_GUIDED, type, "hwloc://Machine"), 8);
    holds(split(MPI_COMM_TYPE_HW_GUIDED, type, "hwloc://Package"), 4);
    holds(split(MPI_COMM_TYPE_HW_GUIDED, type, "NUMANode"), 2);
    holds(split(MPI_COMM_TYPE_RESOURCE_GUIDED, type, "hwloc://L3Cache"), 2);
    holds(split(MPI_COMM_TYPE_RESOURCE_GUIDED, type, "hwloc://Core"), 1);
    holds(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD"), 8);
    holds(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF"), 1);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, type, "hwloc://Moon") == MPI_COMM_NULL, "no such hardware");
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == MPI_COMM_NULL, "no type");
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD") == MPI_COMM_NULL, "no type");

    /* Again and again: package (with 8 ranks), node, core, and then there is nothing left to tell apart. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &new));
    const char *types[] = {"hwloc://Package", "hwloc://NUMANode", "hwloc://L2Cache"};
    for (int i = size > 4 ? 0 : 1, width = size / 2; i < 3; i++, width /= 2) {
        OK(MPI_Info_create(&info));
        OK(MPI_Comm_split_type(new, MPI_COMM_TYPE_HW_UNGUIDED, rank, info, &next));
        told(info, type, types[i]);
        OK(MPI_Info_free(&info));
        OK(MPI_Comm_free(&new));
        int members;
        OK(MPI_Comm_size(next, &members));
        CHECK(members == width, "%d instead of %d", members, width);
        new = next;
    }
    OK(MPI_Comm_split_type(new, MPI_COMM_TYPE_HW_UNGUIDED, rank, MPI_INFO_NULL, &next));
    CHECK(next == MPI_COMM_NULL, "one process cannot be split");
    OK(MPI_Comm_free(&new));

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &new));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, type, "hwloc://Core"));
    OK(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
    FAILS(MPI_ERR_INFO, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &new));
    OK(MPI_Info_free(&info));

    OK(MPI_Get_hw_resource_info(&info));
    const char *known[] = {"mpi_shared_memory", "hwloc://Machine", "hwloc://Package", "hwloc://NUMANode",
                           "hwloc://L3Cache", "hwloc://L2Cache", "hwloc://Core"};
    for (int i = 0; i < 7; i++) told(info, known[i], "true");
    OK(MPI_Info_free(&info));
    end();
    return 0;
}
