// ranks: 1 2 4 8
// Entries that few programs call: non-blocking forms of values, vectors and accumulates, the message layer's variants for groups and nodes,
// exchanged addresses, walks over sections, memory on devices.
#include <armci.h>
#include <iterator.h>
#include <message.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) ARMCI_Error(#condition, __LINE__);                                                           \
    } while (0)

static int me, size, to, from;

static void non_blocking(double **at)
{
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    ARMCI_SET_AGGREGATE_HANDLE(&handle);
    CHECK(ARMCI_NbPutValueDouble(me + 0.5, at[to], to, &handle) == 0);
    CHECK(ARMCI_NbPutValueInt(-me, at[to] + 1, to, &handle) == 0);
    CHECK(ARMCI_NbPutValueLong(me * 1000000000L, at[to] + 2, to, &handle) == 0);
    CHECK(ARMCI_Wait(&handle) == 0);
    ARMCI_UNSET_AGGREGATE_HANDLE(&handle);
    CHECK(ARMCI_PutValueFloat(me / 4.0f, at[to] + 3, to) == 0);
    ARMCI_Barrier();
    CHECK(at[me][0] == from + 0.5 && *(int *)(at[me] + 1) == -from && *(long *)(at[me] + 2) == from * 1000000000L);
    CHECK(*(float *)(at[me] + 3) == from / 4.0f);
    ARMCI_Barrier();

    double values[4] = {me, me + 1, me + 2, me + 3}, scale = 3;
    void *sources[2] = {values, values + 2}, *targets[2] = {at[to] + 10, at[to] + 20};
    armci_giov_t two = {sources, targets, 2, 2 * sizeof(double)};
    ARMCI_INIT_HANDLE(&handle);
    CHECK(ARMCI_NbPutV(&two, 1, to, &handle) == 0 && ARMCI_Wait(&handle) == 0);
    ARMCI_INIT_HANDLE(&handle);
    CHECK(ARMCI_NbAccV(ARMCI_ACC_DBL, &scale, &two, 1, to, &handle) == 0 && ARMCI_Wait(&handle) == 0);
    ARMCI_Fence(to);
    ARMCI_Barrier();
    for (int i = 0; i < 2; i++) CHECK(at[me][10 + i] == 4 * (from + i) && at[me][20 + i] == 4 * (from + 2 + i));
    ARMCI_Barrier();
    at[me][30] = 1;
    ARMCI_Barrier();
    for (int p = 0; p < size; p++) {
        ARMCI_INIT_HANDLE(&handle);
        CHECK(ARMCI_NbAcc(ARMCI_ACC_DBL, &scale, values, at[p] + 30, sizeof(double), p, &handle) == 0);
        CHECK(ARMCI_Wait(&handle) == 0);
    }
    ARMCI_Barrier();
    CHECK(at[me][30] == 1 + 3 * size * (size - 1) / 2.0);
    ARMCI_Barrier();

    int rows[2] = {sizeof(double), 2}, near[1] = {2 * sizeof(double)}, far[1] = {5 * sizeof(double)};
    int *flag = (int *)(at[to] + 49);
    *(int *)(at[me] + 49) = -1;
    ARMCI_Barrier();
    CHECK(ARMCI_PutS_flag_dir(values, near, at[to] + 40, far, rows, 1, flag, me, to) == 0);
    ARMCI_Barrier();
    CHECK(*(int *)(at[me] + 49) == from && at[me][40] == from && at[me][45] == from + 2);
    double copied[4];
    ARMCI_Copy(values, copied, sizeof values);
    CHECK(memcmp(values, copied, sizeof values) == 0);
    ARMCI_Barrier();
}

static void messages(ARMCI_Group *all)
{
    int sum = size * (size - 1) / 2;
    double d = me + 0.5;
    float f = me;
    long l = me;
    long long ll = me;
    int i = me;
    armci_msg_group_dgop(&d, 1, "max", all);
    armci_msg_group_fgop(&f, 1, "+", all);
    armci_msg_group_lgop(&l, 1, "+", all);
    armci_msg_group_llgop(&ll, 1, "max", all);
    CHECK(d == size - 0.5 && f == sum && l == sum && ll == size - 1);
    armci_msg_group_gop_scope(SCOPE_ALL, &i, 1, "+", ARMCI_INT, all);
    CHECK(i == sum);

    d = f = l = ll = i = me;
    armci_msg_clus_dgop(&d, 1, "+");
    armci_msg_clus_fgop(&f, 1, "max");
    armci_msg_clus_lgop(&l, 1, "+");
    armci_msg_clus_llgop(&ll, 1, "+");
    armci_msg_clus_igop(&i, 1, "min");
    CHECK(d == sum && f == size - 1 && l == sum && ll == sum && i == 0);

    double pair[2] = {me, -me};
    armci_msg_reduce(pair, 2, "+", ARMCI_DOUBLE);
    CHECK(me != 0 || (pair[0] == sum && pair[1] == -sum));
    long count = 1;
    armci_msg_reduce_scope(SCOPE_ALL, &count, 1, "+", ARMCI_LONG);
    CHECK(me != 0 || count == size);
    double best = me;
    armci_msg_sel_scope(SCOPE_ALL, &best, sizeof best, "min", ARMCI_DOUBLE, me == size - 1);
    CHECK(best == size - 1);

    char text[100];
    for (int root = 0; root < size; root++) {
        memset(text, me == root ? 'A' + root : 0, sizeof text);
        armci_msg_bcast(text, sizeof text, root);
        CHECK(text[0] == 'A' + root && text[99] == 'A' + root);
        memset(text, me == root ? 'a' + root : 0, sizeof text);
        armci_msg_group_bcast_scope(SCOPE_ALL, text, sizeof text, root, all);
        CHECK(text[0] == 'a' + root && text[99] == 'a' + root);
    }
    memset(text, me == 0 ? 'n' : 0, sizeof text);
    armci_msg_clus_brdcst(text, sizeof text);
    CHECK(text[99] == 'n');
    memset(text, me == 0 ? 'g' : 0, sizeof text);
    armci_grp_clus_brdcst(text, sizeof text, 0, size, all);
    CHECK(text[99] == 'g');

    for (int way = 0; way < 2; way++) {
        void *shown[size];
        memset(shown, 0, sizeof shown);
        shown[me] = (char *)0x1000 + 16 * me;
        if (way == 0)
            armci_exchange_address(shown, size);
        else
            armci_exchange_address_grp(shown, size, all);
        for (int p = 0; p < size; p++) CHECK(shown[p] == (char *)0x1000 + 16 * p);
    }
}

/* Rows of a section in the order of their addresses. */
static void walk(void)
{
    int strides[2] = {10, 100}, count[3] = {4, 3, 2}, seen = 0;
    char memory[300];
    stride_info_t rows;
    armci_stride_info_init(&rows, memory + 7, 2, strides, count);
    CHECK(armci_stride_info_size(&rows) == 6 && armci_stride_info_count(&rows) == 6 && armci_stride_info_seg_size(&rows) == 4);
    while (armci_stride_info_has_more(&rows)) {
        int at = seen % 3 * 10 + seen / 3 * 100;
        CHECK(armci_stride_info_pos(&rows) == seen && armci_stride_info_seg_off(&rows) == at);
        CHECK(armci_stride_info_seg_ptr(&rows) == memory + 7 + at);
        armci_stride_info_next(&rows);
        seen++;
    }
    CHECK(seen == 6);
    armci_stride_info_destroy(&rows);
}

int main(void)
{
    CHECK(ARMCI_Init() == 0);
    ARMCI_Set_shm_limit(1ul << 30);
    me = armci_msg_me();
    size = armci_msg_nproc();
    to = (me + 1) % size;
    from = (me + size - 1) % size;
    double begun = armci_timer();

    ARMCI_Group world, all;
    ARMCI_Group_get_world(&world);
    ARMCI_Group_get_default(&all);
    int members = 0, rank = -1;
    ARMCI_Group_size(&all, &members);
    ARMCI_Group_rank(&all, &rank);
    CHECK(members == size && rank == me && ARMCI_Uses_shm_grp(&world) == (size > 1 || ARMCI_Uses_shm()));

    void *at[size];
    CHECK(ARMCI_Malloc(at, 64 * sizeof(double)) == 0);
    non_blocking((double **)at);
    ARMCI_GroupFence(&all);
    CHECK(ARMCI_Free(at[me]) == 0);
    CHECK(ARMCI_Malloc_memdev(at, 64, "default") == 0 && at[to] != NULL);
    ARMCI_PutValueLong(me, at[to], to);
    ARMCI_Barrier();
    CHECK(*(long *)at[me] == from);
    ARMCI_Barrier();
    CHECK(ARMCI_Free_memdev(at[me]) == 0);
    CHECK(ARMCI_Malloc_group_memdev(at, 64, &all, "default") == 0 && at[to] != NULL);
    CHECK(ARMCI_Free_group(at[me], &all) == 0);

    messages(&all);
    walk();

    int domains = armci_domain_count(ARMCI_DOMAIN_SMP), mine = armci_domain_my_id(ARMCI_DOMAIN_SMP);
    CHECK(mine >= 0 && mine < domains && armci_domain_id(ARMCI_DOMAIN_SMP, me) == mine);
    CHECK(armci_sameclusnode(to) == (armci_domain_id(ARMCI_DOMAIN_SMP, to) == mine));
    CHECK(armci_timer() >= begun);
    ARMCI_Cleanup();
    ARMCI_Finalize();
    return 0;
}
