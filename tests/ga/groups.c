// ranks: 1 2 3 4 7
// What groups of processes combine and tell each other, of every type and operator, against the same computed by everybody.
#include "model.h"

enum { TURNS = 30, MOST = 40 };

static number given[64][MOST], wanted[MOST];
static char x[16 * MOST];

static long bits(number value) { return (long)creal(value); }

static number together(const char *operator, number one, number other)
{
    double p = creal(one), q = creal(other);
    if (!strcmp(operator, "+")) return one + other;
    if (!strcmp(operator, "*")) return one * other;
    if (!strcmp(operator, "max")) return fmax(p, q);
    if (!strcmp(operator, "min")) return fmin(p, q);
    if (!strcmp(operator, "absmax")) return fmax(fabs(p), fabs(q));
    if (!strcmp(operator, "absmin")) return fmin(fabs(p), fabs(q));
    if (!strcmp(operator, "or")) return (double)(bits(one) | bits(other));
    if (!strcmp(operator, "band")) return (double)(bits(one) & bits(other));
    if (!strcmp(operator, "bxor")) return (double)(bits(one) ^ bits(other));
    if (!strcmp(operator, "&&")) return p != 0 && q != 0;
    return p != 0 || q != 0;
}

/* By the function of the type, in one of the forms that it has. */
static void combine(int group, int count, const char *op)
{
    int form = next(3), is_world = group == GA_Pgroup_get_default();
#define BY(plain, of_group, of_group_too, element)                                                                     \
    do {                                                                                                               \
        if (form == 0 && is_world) plain((element *)x, count, op);                                                     \
        else if (form == 1) of_group((group), (element *)x, count, op);                                                \
        else of_group_too((group), (element *)x, count, op);                                                           \
    } while (0)
    switch (type) {
    case C_INT: BY(GA_Igop, GA_Pgroup_igop, NGA_Pgroup_igop, int); break;
    case C_LONG: BY(GA_Lgop, GA_Pgroup_lgop, NGA_Pgroup_lgop, long); break;
    case C_LONGLONG: BY(GA_Llgop, GA_Pgroup_llgop, NGA_Pgroup_llgop, long long); break;
    case C_FLOAT: BY(GA_Fgop, GA_Pgroup_fgop, NGA_Pgroup_fgop, float); break;
    case C_DBL: BY(GA_Dgop, GA_Pgroup_dgop, NGA_Pgroup_dgop, double); break;
    case C_SCPL: BY(GA_Cgop, GA_Pgroup_cgop, GA_Pgroup_cgop, SingleComplex); break;
    default: BY(GA_Zgop, GA_Pgroup_zgop, NGA_Pgroup_zgop, DoubleComplex);
    }
}

/* Members are these of all processes, in the order of the group. In the default group processes are counted among its members. */
static void in_group(int group, const int *members, int count)
{
    static const char *const operators[] = {"+", "*", "max", "min", "absmax", "absmin", "or", "band", "bxor", "&&", "||"};
    int kinds = is_complex() ? 2 : is_integer() ? 11 : 6, length = 1 + next(MOST);
    const char *operator = operators[next(kinds)];
    for (int process = 0; process < size; process++)
        for (int n = 0; n < length; n++) given[process][n] = value();
    int mine = -1;
    for (int member = 0; member < count; member++)
        if (members[member] == me) mine = member;
    CHECK(mine >= 0 && GA_Pgroup_nodeid(group) == mine && NGA_Pgroup_nodeid(group) == mine);
    CHECK(GA_Pgroup_nnodes(group) == count && NGA_Get_pgroup_size(group) == count && GA_Get_pgroup_size(group) == count);
    if (group == GA_Pgroup_get_default()) CHECK(GA_Nodeid() == mine && NGA_Nodeid() == mine && GA_Nnodes() == count && NGA_Nnodes() == count);
    for (int member = 0; member < count; member++)
        CHECK(GA_Pgroup_absolute_id(group, member) == members[member] && NGA_Pgroup_absolute_id(group, member) == members[member]);
    for (int n = 0; n < length; n++) {
        wanted[n] = given[members[0]][n];
        for (int member = 1; member < count; member++) wanted[n] = together(operator, wanted[n], given[members[member]][n]);
        if (operator[0] == 'a') wanted[n] = fabs(creal(wanted[n]));
        set(x, n, given[me][n]);
    }
    if (next(4) == 0 && group == GA_Pgroup_get_default()) GA_Gop(type, x, length, operator);
    else combine(group, length, operator);
    for (int n = 0; n < length; n++) CHECK(is_near(element(x, n), wanted[n]));
    int root = next(count);
    for (int n = 0; n < length; n++) set(x, n, given[me][n]);
    if (group == GA_Pgroup_get_default()) GA_Brdcst(x, (int)(length * width()), root);
    else GA_Pgroup_brdcst(group, x, (int)(length * width()), root);
    for (int n = 0; n < length; n++) CHECK(is_near(element(x, n), given[members[root]][n]));
    GA_Pgroup_sync(group);
    NGA_Pgroup_sync(group);
}

/* The odd and the even processes copy between an array of theirs and one of all: the members of the smaller group alone, while the others are
 * elsewhere. */
static void between_groups(int world)
{
    static const char *const letters[] = {"n", "t"};
    int part = me % 2, group = GA_Pgroup_split_irreg(world, part), ld = 6, dims[2] = {6, 6}, two[3] = {2, 6, 6}, lo[2] = {0, 0}, hi[2] = {5, 5};
    int shared_lo[3] = {part, 0, 0}, shared_hi[3] = {part, 5, 5}, shared_ld[2] = {6, 6}, here[36], there[36], numbers[36];
    int all = NGA_Create(C_INT, 3, two, "of all", NULL), of_group, square = NGA_Create(C_INT, 2, dims, "a matrix of all", NULL);
    GA_Zero(all);
    GA_Zero(square);
    for (int n = 0; n < 36; n++) numbers[n] = 100 * (turn + 1) + 40 * part + n;
    GA_Pgroup_set_default(group);
    of_group = NGA_Create(C_INT, 2, dims, "of the group", NULL);
    for (int way = 0; way < 2; way++) {
        if (GA_Nodeid() == 0) NGA_Put(of_group, lo, hi, numbers, &ld);
        NGA_Copy_patch(letters[way][0], of_group, lo, hi, all, shared_lo, shared_hi);
        NGA_Get(all, shared_lo, shared_hi, there, shared_ld);
        for (int n = 0; n < 36; n++) CHECK(there[n] == numbers[way ? n % 6 * 6 + n / 6 : n]);
        GA_Zero(of_group);
        NGA_Copy_patch('n', all, shared_lo, shared_hi, of_group, lo, hi);
        NGA_Get(of_group, lo, hi, here, &ld);
        for (int n = 0; n < 36; n++) CHECK(here[n] == there[n]);
        GA_Sync();
    }
    /* Whole arrays, by the members of one group. */
    if (part == turn % 2 || size == 1) {
        GA_Copy(of_group, square);
        NGA_Get(square, lo, hi, there, &ld);
        for (int n = 0; n < 36; n++) CHECK(there[n] == here[n]);
    }
    GA_Destroy(of_group);
    GA_Pgroup_set_default(world);
    GA_Destroy(all);
    GA_Destroy(square);
    GA_Pgroup_destroy(group);
}

int main(void)
{
    int all[64], some[64], world;
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    world = GA_Pgroup_get_world();
    for (int process = 0; process < size; process++) all[process] = process;
    for (turn = 0; turn < TURNS; turn++) {
        type = TYPES[turn % 7];
        state = 100 * turn + size;
        in_group(world, all, size);
        /* The odd and the even ones; blocks of the same length; in another order; a copy; alone. */
        int group = turn % 2 ? GA_Pgroup_split_irreg(world, me % 2) : NGA_Pgroup_split_irreg(world, me % 2), count = 0;
        for (int process = me % 2; process < size; process += 2) some[count++] = process;
        state = 100 * turn + me % 2;
        in_group(group, some, count);
        GA_Pgroup_set_default(group);
        CHECK(GA_Pgroup_get_default() == group);
        in_group(group, some, count);
        NGA_Pgroup_set_default(world);
        CHECK(NGA_Pgroup_get_default() == world && GA_Pgroup_destroy(group) == 1);
        int parts = 1 + turn % size, each = (size + parts - 1) / parts;
        group = turn % 2 ? GA_Pgroup_split(world, parts) : NGA_Pgroup_split(world, parts);
        count = 0;
        for (int process = me / each * each; process < size && count < each; process++) some[count++] = process;
        state = 100 * turn + me / each;
        in_group(group, some, count);
        NGA_Pgroup_destroy(group);
        /* Members are numbered in the order of their parent, not in that of the list. */
        for (int process = 0; process < size; process++) some[process] = size - 1 - process;
        group = turn % 2 ? GA_Pgroup_create(some, size) : NGA_Pgroup_create(some, size);
        state = turn;
        in_group(group, all, size);
        int copy = turn % 2 ? GA_Pgroup_duplicate(group) : NGA_Pgroup_duplicate(group);
        in_group(copy, all, size);
        GA_Pgroup_destroy(copy);
        GA_Pgroup_destroy(group);
        between_groups(world);
        group = turn % 2 ? GA_Pgroup_self() : NGA_Pgroup_self();
        in_group(group, &me, 1);
        GA_Pgroup_destroy(group);
        double two[2] = {me, 1};
        int one = 1;
        NGA_Dgop(two, 2, "+");
        NGA_Igop(&one, 1, "+");
        CHECK(two[0] == size * (size - 1) / 2 && two[1] == size && one == size);
        GA_Sync();
    }
    GA_Terminate();
    return 0;
}
