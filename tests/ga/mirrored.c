// ranks: 1 2 3 4
// Mirrored arrays: each node has a copy, on one node the only one. The world is group -1, the mirror another one, which counts the processes of the node.
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

/* What the element at i, j of the sum of all nodes' copies is, where node n put n + 1 times as much. */
static double all_of(int nodes, int i, int j) { return nodes * (nodes + 1) / 2 * (100.0 * i + j); }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int me = GA_Nodeid(), size = GA_Nnodes(), mirror = GA_Pgroup_get_mirror(), world = GA_Pgroup_get_world();
    int nodes = GA_Cluster_nnodes(), node = GA_Cluster_nodeid(), local = GA_Pgroup_nodeid(mirror);
    CHECK(mirror != world && GA_Pgroup_get_default() == world && GA_Pgroup_nnodes(world) == size);
    CHECK(GA_Pgroup_nnodes(mirror) == GA_Cluster_nprocs(node) && GA_Pgroup_absolute_id(mirror, local) == me);
    CHECK(GA_Cluster_procid(node, local) == me);

    int dims[2] = {9, 11}, lo[2] = {0, 0}, hi[2] = {8, 10}, ld[1] = {11};
    int a = NGA_Create_config(C_DBL, 2, dims, "mirrored", NULL, mirror), b = NGA_Create(C_DBL, 2, dims, "distributed", NULL);
    CHECK(GA_Is_mirrored(a) && NGA_Is_mirrored(a) && !GA_Is_mirrored(b));
    CHECK(GA_Get_pgroup(a) == mirror && GA_Get_pgroup(b) == world);
    double part[9][11], all[9][11];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) part[i][j] = (node + 1) * (100 * i + j);
    /* What a node puts stays there. */
    if (local == 0) NGA_Put(a, lo, hi, part, ld);
    GA_Sync();
    NGA_Get(a, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) CHECK(all[i][j] == part[i][j]);
    int alo[2] = {2, 3}, ahi[2] = {5, 9}, blo[2] = {4, 1}, bhi[2] = {7, 7}, minus = -1;
    GA_Fill(b, &(double){-1});
    GA_Sync();
    NGA_Merge_distr_patch(a, alo, ahi, b, blo, bhi);
    NGA_Get(b, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) {
            int is_within = i >= 4 && i <= 7 && j >= 1 && j <= 7;
            CHECK(all[i][j] == (is_within ? all_of(nodes, i - 2, j + 2) : minus));
        }
    GA_Merge_mirrored(a);
    NGA_Get(a, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) CHECK(all[i][j] == all_of(nodes, i, j));
    GA_Sync();

    /* Copies to what is distributed, and from there to each node's copy. */
    GA_Copy(a, b);
    NGA_Get(b, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) CHECK(all[i][j] == all_of(nodes, i, j));
    GA_Scale(b, &(double){2});
    GA_Zero(a);
    GA_Copy(b, a);
    NGA_Get(a, lo, hi, all, ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) CHECK(all[i][j] == 2 * all_of(nodes, i, j));
    CHECK(GA_Ddot(a, a) == GA_Ddot(b, b));

    /* Counters, products and margins are each node's. */
    int one[1] = {1}, at[1] = {0}, counter = NGA_Create_config(C_LONG, 1, one, "counter", NULL, mirror);
    GA_Zero(counter);
    for (int i = 0; i < 5; i++) NGA_Read_inc(counter, at, 1);
    GA_Pgroup_sync(mirror);
    long counted;
    NGA_Get(counter, at, at, &counted, NULL);
    CHECK(counted == 5 * GA_Pgroup_nnodes(mirror));
    GA_Sync();
    GA_Merge_mirrored(counter);
    NGA_Get(counter, at, at, &counted, NULL);
    CHECK(counted == 5 * size);
    int square[2] = {40, 40}, f = NGA_Create_config(C_DBL, 2, square, "factor", NULL, mirror);
    int g = GA_Duplicate(f, "product"), width[2] = {1, 1};
    GA_Fill(f, &(double){node + 2});
    GA_Dgemm('n', 'n', 40, 40, 40, 1.0, f, f, 0.0, g);
    double element, expected = 40.0 * (node + 2) * (node + 2);
    int last[2] = {39, 39};
    NGA_Get(g, last, last, &element, ld);
    CHECK(element == expected);
    int h = NGA_Create_ghosts_config(C_DBL, 2, square, width, "margins", NULL, mirror);
    GA_Fill(h, &(double){node + 3});
    GA_Update_ghosts(h);
    int mine_lo[2], mine_hi[2], beyond[2];
    NGA_Distribution(h, local, mine_lo, mine_hi);
    if (mine_lo[0] >= 0 && mine_hi[0] >= mine_lo[0]) {
        double *own;
        int widths[2], own_ld[1];
        NGA_Access_ghosts(h, widths, &own, own_ld);
        beyond[0] = mine_hi[0] - mine_lo[0] + 2;
        CHECK(own[0] == node + 3 && own[(long)beyond[0] * own_ld[0]] == node + 3);
    }
    GA_Sync();
    int whole[1] = {300001}, big = NGA_Create_config(C_INT, 1, whole, "many", NULL, mirror), first[1] = {0}, end[1] = {300000};
    static int many[300001];
    GA_Fill(big, &(int){node + 1});
    GA_Merge_mirrored(big);
    NGA_Get(big, first, end, many, NULL);
    for (int i = 0; i <= 300000; i++) CHECK(many[i] == nodes * (nodes + 1) / 2);
    GA_Sync();
    GA_Destroy(big);
    GA_Destroy(f);
    GA_Destroy(g);
    GA_Destroy(h);
    GA_Destroy(counter);

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
    CHECK(GA_Pgroup_get_default() == mirror && GA_Nnodes() == GA_Pgroup_nnodes(mirror) && GA_Nodeid() == local);
    int c = GA_Create_handle();
    GA_Set_data(c, 2, dims, C_INT);
    CHECK(GA_Allocate(c) && GA_Is_mirrored(c));
    GA_Pgroup_set_default(world);
    int d = GA_Duplicate(a, "copy"), e = GA_Create_handle();
    GA_Set_data(e, 2, dims, C_INT);
    GA_Set_pgroup(e, mirror);
    CHECK(GA_Allocate(e) && GA_Is_mirrored(d) && GA_Is_mirrored(e));
    GA_Copy(a, d);
    CHECK(GA_Ddot(a, d) == GA_Ddot(a, a));
    CHECK(GA_Nnodes() == size);
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
    GA_Destroy(d);
    GA_Destroy(e);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
