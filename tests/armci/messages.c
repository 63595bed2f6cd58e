// ranks: 1 2 4 8
// The message layer, groups, domains, memory of groups, meminfo.
#include <message.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) ARMCI_Error(#condition, __LINE__);                                                           \
    } while (0)

static int me, size;

static void reductions(void)
{
    int i[3] = {me, -me, 1 << (me % 20)};
    armci_msg_igop(i, 2, "+");
    CHECK(i[0] == size * (size - 1) / 2 && i[1] == -i[0]);
    armci_msg_igop(i + 2, 1, "or");
    CHECK(i[2] == (1 << size) - 1);
    long l = me + 1;
    armci_msg_lgop(&l, 1, "*");
    long product = 1;
    for (int p = 1; p <= size; p++) product *= p;
    CHECK(l == product);
    long long ll = -me;
    armci_msg_llgop(&ll, 1, "absmax");
    CHECK(ll == size - 1);
    float f = me + 0.5f;
    armci_msg_fgop(&f, 1, "min");
    CHECK(f == 0.5f);
    double d[2] = {me, -me - 1.0};
    armci_msg_dgop(d, 2, "max");
    CHECK(d[0] == size - 1 && d[1] == -1);
    armci_msg_gop_scope(SCOPE_MASTERS, d, 2, "+", ARMCI_DOUBLE);
    CHECK(d[0] == size - 1);
    struct {
        double value;
        char name[16];
    } best = {(me * 7) % 5, ""};
    snprintf(best.name, sizeof best.name, "rank %d", me);
    armci_msg_sel(&best, sizeof best, "max", ARMCI_DOUBLE, me != 0 || size == 1);
    for (int p = size == 1 ? 0 : 1; p < size; p++) CHECK(best.value >= (p * 7) % 5);
    char text[300];
    for (int root = 0; root < size; root++) {
        memset(text, me == root ? 'a' + root : 0, sizeof text);
        if (root % 2)
            armci_msg_brdcst(text, sizeof text, root);
        else
            armci_msg_bcast_scope(SCOPE_ALL, text, sizeof text, root);
        CHECK(text[0] == 'a' + root && text[299] == 'a' + root);
    }
    /* More than is combined at a time, and no multiple of that. */
    enum { LONG = 300001 };
    static int many[LONG];
    for (int n = 0; n < LONG; n++) many[n] = n + me;
    armci_msg_igop(many, LONG, "+");
    for (int n = 0; n < LONG; n++) CHECK(many[n] == n * size + size * (size - 1) / 2);
    for (int n = 0; n < LONG; n++) many[n] = me % 2 ? n : -n;
    armci_msg_igop(many, LONG, "absmax");
    for (int n = 0; n < LONG; n++) CHECK(many[n] == n);
    int root, up, left, right;
    armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
    CHECK(root == 0 && (me == 0 ? up == -1 : up == (me - 1) / 2) && (2 * me + 1 < size ? left == 2 * me + 1 : left == -1));
    CHECK(right == (2 * me + 2 < size ? 2 * me + 2 : -1));
}

static void messages(void)
{
    if (size == 1) return;
    int length;
    double data[50];
    if (me == 0)
        for (int n = 1; n < size; n++) {
            int from = armci_msg_rcvany(30000, data, sizeof data, &length);
            CHECK(length == from * 8 && data[0] == from);
            data[0] = -from;
            armci_msg_snd(-5, data, 8, from);
        }
    else {
        data[0] = me;
        armci_msg_snd(30000, data, me * 8, 0);
        armci_msg_rcv(-5, data, sizeof data, &length, 0);
        CHECK(length == 8 && data[0] == -me);
    }
}

static void groups(void)
{
    ARMCI_Group world, evens, inner;
    ARMCI_Group_get_world(&world);
    int list[size], n = 0, rank, count;
    for (int p = size - 1; p >= 0; p--)
        if (p % 2 == me % 2) list[n++] = p;
    ARMCI_Group_create(n, list, &evens);
    CHECK(ARMCI_Group_rank(&evens, &rank) == 0 && list[rank] == me);
    ARMCI_Group_size(&evens, &count);
    CHECK(count == n && ARMCI_Absolute_id(&evens, rank) == me);
    int sum = 1;
    armci_msg_group_igop(&sum, 1, "+", &evens);
    CHECK(sum == n);
    armci_msg_group_barrier(&evens);
    void *at[n];
    CHECK(ARMCI_Malloc_group(at, 8 * sizeof(long), &evens) == 0);
    CHECK(ARMCI_PutValueLong(me, (long *)at[(rank + 1) % n] + 3, list[(rank + 1) % n]) == 0);
    ARMCI_AllFence();
    armci_msg_group_barrier(&evens);
    CHECK(((long *)at[rank])[3] == list[(rank + n - 1) % n]);
    CHECK(ARMCI_Free_group(at[rank], &evens) == 0);
    // A group within it, of its first member.
    int first = 0;
    ARMCI_Group_create_child(1, &first, &inner, &evens);
    ARMCI_Group_size(&inner, &count);
    CHECK(count == 1 && (ARMCI_Group_rank(&inner, &rank) == 0) == (me == list[0]));
    if (me != list[0]) CHECK(rank == -1);
    ARMCI_Group_set_default(&evens);
    sum = 1;
    armci_msg_igop(&sum, 1, "+");
    CHECK(sum == n);
    armci_msg_barrier();
    ARMCI_Group_set_default(&world);
    ARMCI_Group_free(&inner);
    ARMCI_Group_free(&evens);
    /* Domains are nodes. Each process is in one of them. */
    int domains = armci_domain_count(ARMCI_DOMAIN_SMP), total = 0, found = 0;
    for (int d = 0; d < domains; d++) {
        int members = armci_domain_nprocs(ARMCI_DOMAIN_SMP, d);
        total += members;
        for (int i = 0; i < members; i++) {
            int p = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, d, i);
            CHECK(armci_domain_id(ARMCI_DOMAIN_SMP, p) == d);
            found += p == me && armci_domain_my_id(ARMCI_DOMAIN_SMP) == d;
        }
    }
    CHECK(domains >= 1 && total == size && found == 1);
    CHECK(armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1) == armci_domain_nprocs(ARMCI_DOMAIN_SMP, armci_domain_my_id(ARMCI_DOMAIN_SMP)));
    for (int p = 0; p < size; p++) {
        int is_near = armci_domain_id(ARMCI_DOMAIN_SMP, p) == armci_domain_my_id(ARMCI_DOMAIN_SMP);
        CHECK(ARMCI_Same_node(p) == is_near && armci_domain_same_id(ARMCI_DOMAIN_SMP, p) == is_near);
    }
    CHECK(ARMCI_Uses_shm());
}

static void meminfo(void)
{
    armci_meminfo_t info;
    memset(&info, 0, sizeof info);
    if (me == 0) ARMCI_Memget(1000, &info, 0);
    armci_msg_brdcst(&info, sizeof info, 0);
    CHECK(info.size == 1000 && info.cpid == 0);
    long *there = ARMCI_Memat(&info, 0);
    CHECK(ARMCI_PutValueLong(me + 40, there + me, 0) == 0);
    ARMCI_Barrier();
    for (int p = 0; p < size; p++) CHECK(ARMCI_GetValueLong(there + p, 0) == p + 40);
    ARMCI_Barrier();
    ARMCI_Memdt(&info, 0);
    if (me == 0) ARMCI_Memctl(&info);
}

int main(int argc, char **argv)
{
    armci_msg_init(&argc, &argv);
    ARMCI_Init();
    me = armci_msg_me();
    size = armci_msg_nproc();
    reductions();
    messages();
    groups();
    meminfo();
    ARMCI_Finalize();
    armci_msg_finalize();
    return 0;
}
