// ranks: 1
/* Counts that no memory holds are an error of the call; the bound of an OUT array may be any number. */
#include "check.h"

#include <stdint.h>

#define HUGE_COUNT ((MPI_Count)1 << 45)

static int class_of(int code) {
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));

    /* The call writes the contents and no more, whatever the bounds. */
    int lengths[3] = {1, 2, 1}, integers[4] = {0};
    MPI_Aint places[3] = {0, 8, 24}, addresses[3] = {0};
    MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, made, got[3];
    OK(MPI_Type_create_struct(3, lengths, places, types, &made));
    OK(MPI_Type_get_contents(made, INT32_MAX, INT32_MAX, INT32_MAX, integers, addresses, got));
    CHECK(integers[0] == 3 && integers[2] == 2 && addresses[2] == 24 && got[1] == MPI_DOUBLE, "contents");
    memset(integers, 0, sizeof integers);
    OK(MPI_Type_get_contents_c(made, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, integers, addresses, NULL, got));
    CHECK(integers[0] == 3 && got[2] == MPI_CHAR, "contents, large counts");
    OK(MPI_Type_free(&made));

    MPI_Count large_lengths[3] = {1, 2, 1}, large_places[3] = {0, 8, 24};
    CHECK(class_of(MPI_Type_create_struct_c(HUGE_COUNT, large_lengths, large_places, types, &made)) == MPI_ERR_NO_MEM,
          "a struct of too many blocks");
    CHECK(class_of(MPI_Type_create_struct_c(INT64_MAX, large_lengths, large_places, types, &made)) != MPI_SUCCESS,
          "a struct of more blocks than memory can hold");
    CHECK(class_of(MPI_Type_create_indexed_block_c(HUGE_COUNT, 1, large_places, MPI_INT, &made)) == MPI_ERR_NO_MEM,
          "too many displacements");
    CHECK(class_of(MPI_Type_create_hindexed_c(INT64_MAX, large_lengths, large_places, MPI_INT, &made)) == MPI_ERR_ARG,
          "more blocks than memory can hold");

    /* Packing of more than there is memory for. */
    char room[16] = {0};
    MPI_Count position = 0;
    CHECK(class_of(MPI_Pack_external_c("external32", room, HUGE_COUNT, MPI_INT, room, INT64_MAX, &position)) ==
              MPI_ERR_NO_MEM,
          "a packed copy");
    CHECK(class_of(MPI_Unpack_external_c("external32", room, INT64_MAX, &position, room, HUGE_COUNT, MPI_INT)) ==
              MPI_ERR_NO_MEM,
          "an unpacked copy");
    CHECK(position == 0, "nothing was packed");
    end();
    return 0;
}
