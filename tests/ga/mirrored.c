// ranks: 1 2 3 4
// Mirrored arrays: on one node the copy of the node is the only one. The world is group -1, the mirror another one with the same processes.
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <setjmp.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

static jmp_buf refused;

static void leave(const char *line, int code)
{
    (void)line;
    (void)code;
    longjmp(refused, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int me = GA_Nodeid(), size = GA_Nnodes(), mirror = GA_Pgroup_get_mirror(), world = GA_Pgroup_get_world();
    CHECK(mirror != world && GA_Pgroup_get_default() == world);
    CHECK(GA_Pgroup_nnodes(mirror) == size && GA_Pgroup_nodeid(mirror) == me && GA_Cluster_nnodes() == 1);

    int dims[2] = {9, 11}, lo[2] = {0, 0}, hi[2] = {8, 10}, ld[1] = {11};
    int a = NGA_Create_config(C_DBL, 2, dims, "mirrored", NULL, mirror), b = NGA_Create(C_DBL, 2, dims, "distributed", NULL);
    CHECK(GA_Is_mirrored(a) && NGA_Is_mirrored(a) && !GA_Is_mirrored(b));
    CHECK(GA_Get_pgroup(a) == mirror && GA_Get_pgroup(b) == world);
    double part[9][11], all[9][11];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) part[i][j] = 100 * i + j;
    if (me == 0) NGA_Put(a, lo, hi, part, ld);
    GA_Merge_mirrored(a);
    NGA_Get(a, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) CHECK(all[i][j] == 100 * i + j);
    GA_Zero(b);
    int alo[2] = {2, 3}, ahi[2] = {5, 9}, blo[2] = {4, 1}, bhi[2] = {7, 7};
    NGA_Merge_distr_patch(a, alo, ahi, b, blo, bhi);
    NGA_Get(b, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) {
            int is_within = i >= 4 && i <= 7 && j >= 1 && j <= 7;
            CHECK(all[i][j] == (is_within ? 100 * (i - 2) + j + 2 : 0));
        }
    GA_Sync();

    /* The other way round, and with patches of other extents, it is refused. */
    for (int which = 0; which < 2; which++) {
        GA_Set_error_handler(leave);
        if (!setjmp(refused)) {
            if (which == 0) NGA_Merge_distr_patch(b, blo, bhi, a, alo, ahi);
            else NGA_Merge_distr_patch(a, lo, hi, b, blo, bhi);
            GA_Set_error_handler(NULL);
            GA_Error("not refused", which);
        }
        GA_Set_error_handler(NULL);
    }

    /* Arrays of the default group are mirrored while it is the mirror; so are duplicates. */
    GA_Pgroup_set_default(mirror);
    CHECK(GA_Pgroup_get_default() == mirror);
    int c = GA_Create_handle();
    GA_Set_data(c, 2, dims, C_INT);
    CHECK(GA_Allocate(c) && GA_Is_mirrored(c));
    GA_Pgroup_set_default(world);
    int d = GA_Duplicate(a, "copy"), e = GA_Create_handle();
    GA_Set_data(e, 2, dims, C_INT);
    GA_Set_pgroup(e, mirror);
    CHECK(GA_Allocate(e) && GA_Is_mirrored(d) && GA_Is_mirrored(e));
    GA_Copy(a, d);
    GA_Merge_mirrored(d);
    CHECK(GA_Ddot(a, d) == GA_Ddot(a, a));
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
    GA_Destroy(d);
    GA_Destroy(e);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
