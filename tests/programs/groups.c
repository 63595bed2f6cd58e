// ranks: 1 4 6
/* Set operations on groups, and translation of ranks. */
#include "check.h"

static void is(MPI_Group group, int count, const int *world_ranks) {
    MPI_Group world;
    int members, translated[64], identity[64];
    OK(MPI_Group_size(group, &members));
    CHECK(members == count, "%d members instead of %d", members, count);
    for (int i = 0; i < count; i++) identity[i] = i;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_translate_ranks(group, count, identity, world, translated));
    for (int i = 0; i < count; i++) CHECK(translated[i] == world_ranks[i], "member %d is %d", i, translated[i]);
    OK(MPI_Group_free(&world));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Group world, a, b, c;
    int own, result;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_rank(world, &own));
    CHECK(own == rank, "%d", own);
    OK(MPI_Group_compare(world, MPI_GROUP_EMPTY, &result));
    CHECK(result == MPI_UNEQUAL, "%d", result);
    if (size >= 4) {
        OK(MPI_Group_incl(world, 3, (int[]){2, 0, 3}, &a));
        OK(MPI_Group_incl(world, 2, (int[]){3, 1}, &b));
        is(a, 3, (int[]){2, 0, 3});
        OK(MPI_Group_rank(b, &own));
        CHECK(own == (rank == 3 ? 0 : rank == 1 ? 1 : MPI_UNDEFINED), "%d", own);
        OK(MPI_Group_union(a, b, &c));
        is(c, 4, (int[]){2, 0, 3, 1});
        OK(MPI_Group_free(&c));
        OK(MPI_Group_intersection(a, b, &c));
        is(c, 1, (int[]){3});
        OK(MPI_Group_free(&c));
        OK(MPI_Group_difference(a, b, &c));
        is(c, 2, (int[]){2, 0});
        OK(MPI_Group_free(&c));
        OK(MPI_Group_excl(a, 1, (int[]){1}, &c));
        is(c, 2, (int[]){2, 3});
        OK(MPI_Group_free(&c));
        OK(MPI_Group_range_incl(world, 2, (int[][3]){{3, 2, -1}, {0, 1, 1}}, &c));
        is(c, 4, (int[]){3, 2, 0, 1});
        OK(MPI_Group_compare(c, a, &result));
        CHECK(result == MPI_UNEQUAL, "%d", result);
        OK(MPI_Group_free(&c));
        OK(MPI_Group_incl(world, 3, (int[]){0, 2, 3}, &c));
        OK(MPI_Group_compare(c, a, &result));
        CHECK(result == MPI_SIMILAR, "%d", result);
        OK(MPI_Group_free(&c));
        int translated[3];
        OK(MPI_Group_translate_ranks(a, 3, (int[]){0, 2, MPI_PROC_NULL}, b, translated));
        CHECK(translated[0] == MPI_UNDEFINED && translated[1] == 0 && translated[2] == MPI_PROC_NULL, "%d %d %d",
              translated[0], translated[1], translated[2]);
        OK(MPI_Group_free(&a));
        OK(MPI_Group_free(&b));
    }
    OK(MPI_Group_excl(world, 0, NULL, &a));
    OK(MPI_Group_compare(world, a, &result));
    CHECK(result == MPI_IDENT, "%d", result);
    OK(MPI_Group_free(&a));
    OK(MPI_Group_free(&world));
    CHECK(world == MPI_GROUP_NULL, "a freed handle is null");
    end();
    return 0;
}
