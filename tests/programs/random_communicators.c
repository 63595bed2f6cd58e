// ranks: 4 7
// more ranks: 1 2 3 5 6
/* Random algebra of groups and communicators against ordered sets of ranks, which every rank keeps for all communicators,
   those of others too. What is made is compared, talked on, and freed; nothing is left.

   random_communicators [SEED [STEPS]]: the seed that is printed gives the same calls again. */
#include "handles.h"

#include <time.h>

enum { RANKS = 16, POOL = 16 };

/* Ranks of MPI_COMM_WORLD, in order. */
struct set {
    int count, ranks[RANKS];
};

/* A communicator of any processes. The second side is empty for an intracommunicator. */
struct entry {
    int is_used, is_inter;
    struct set sides[2];
    MPI_Comm comm;
};

static struct entry pool[POOL];
static MPI_Group world_group;
static unsigned seed, shared;
static int step;

#define SAME(condition, ...) CHECK(condition, "seed %u, step %d: " __VA_ARGS__)

static int any(int below) { return (int)(next_random(&shared) % (unsigned)below); }

/* ---- Sets ---- */

static int find(const struct set *set, int one) {
    for (int i = 0; i < set->count; i++)
        if (set->ranks[i] == one) return i;
    return MPI_UNDEFINED;
}

static int has(const struct set *set, int one) { return find(set, one) != MPI_UNDEFINED; }

static void add(struct set *set, int one) { set->ranks[set->count++] = one; }

/* Are these the same, the same in another order, or not? */
static int relation(const struct set *a, const struct set *b) {
    if (a->count != b->count) return MPI_UNEQUAL;
    if (memcmp(a->ranks, b->ranks, (size_t)a->count * sizeof *a->ranks) == 0) return MPI_IDENT;
    for (int i = 0; i < a->count; i++)
        if (!has(b, a->ranks[i])) return MPI_UNEQUAL;
    return MPI_SIMILAR;
}

/* Some of them, in any order. */
static struct set some_of(const struct set *all) {
    struct set left = *all, some = {0};
    int wanted = any(all->count + 1);
    while (some.count < wanted) {
        int at = any(left.count);
        add(&some, left.ranks[at]);
        left.ranks[at] = left.ranks[--left.count];
    }
    return some;
}

static struct set everyone(void) {
    struct set all = {0};
    for (int i = 0; i < size; i++) add(&all, i);
    return all;
}

static MPI_Group group_of(const struct set *set) {
    MPI_Group group;
    OK(MPI_Group_incl(world_group, set->count, set->ranks, &group));
    return group;
}

static void check_group(MPI_Group group, const struct set *wanted, const char *what) {
    int count, mine, all[RANKS], got[RANKS];
    for (int i = 0; i < RANKS; i++) all[i] = i;
    OK(MPI_Group_size(group, &count));
    OK(MPI_Group_rank(group, &mine));
    SAME(count == wanted->count, "%s has %d members, not %d", seed, step, what, count, wanted->count);
    SAME(mine == find(wanted, rank), "%s: rank %d", seed, step, what, mine);
    OK(MPI_Group_translate_ranks(group, count, all, world_group, got));
    for (int i = 0; i < count; i++) SAME(got[i] == wanted->ranks[i], "%s: member %d is %d", seed, step, what, i, got[i]);
    OK(MPI_Group_translate_ranks(world_group, size, all, group, got));
    for (int i = 0; i < size; i++) SAME(got[i] == find(wanted, i), "%s: rank of %d is %d", seed, step, what, i, got[i]);
}

static void check_and_free(MPI_Group group, const struct set *wanted, const char *what) {
    check_group(group, wanted, what);
    OK(MPI_Group_free(&group));
    SAME(group == MPI_GROUP_NULL, "%s is left", seed, step, what);
}

/* Triplets of first, last and stride; the ranks that they name. */
static int any_ranges(int count, int ranges[][3], struct set *named) {
    int ranges_count = 0;
    for (int tries = 0; tries < 3; tries++) {
        int first = any(count), last = any(count), stride = 1 + any(3), is_new = 1;
        struct set more = *named;
        if (last < first) stride = -stride;
        for (int at = first; stride > 0 ? at <= last : at >= last; at += stride)
            if (has(&more, at)) is_new = 0;
            else add(&more, at);
        if (!is_new) continue;
        *named = more;
        ranges[ranges_count][0] = first;
        ranges[ranges_count][1] = last;
        ranges[ranges_count++][2] = stride;
    }
    return ranges_count;
}

static void group_algebra(void) {
    struct set all = everyone(), a = some_of(&all), b = some_of(&all), both = {0}, either = a, only = {0};
    MPI_Group group_a = group_of(&a), group_b = group_of(&b), made;
    int result;
    check_group(group_a, &a, "incl");
    for (int i = 0; i < a.count; i++) add(has(&b, a.ranks[i]) ? &both : &only, a.ranks[i]);
    for (int i = 0; i < b.count; i++)
        if (!has(&a, b.ranks[i])) add(&either, b.ranks[i]);
    OK(MPI_Group_union(group_a, group_b, &made));
    check_and_free(made, &either, "union");
    OK(MPI_Group_intersection(group_a, group_b, &made));
    check_and_free(made, &both, "intersection");
    OK(MPI_Group_difference(group_a, group_b, &made));
    check_and_free(made, &only, "difference");
    OK(MPI_Group_compare(group_a, group_b, &result));
    SAME(result == relation(&a, &b), "compare: %d", seed, step, result);
    if (a.count > 0) {
        struct set indices = {0}, chosen = {0}, rest = {0}, named = {0};
        int ranges[3][3], count;
        for (int i = 0; i < a.count; i++) add(&indices, i);
        indices = some_of(&indices);
        for (int i = 0; i < indices.count; i++) add(&chosen, a.ranks[indices.ranks[i]]);
        for (int i = 0; i < a.count; i++)
            if (!has(&indices, i)) add(&rest, a.ranks[i]);
        OK(MPI_Group_incl(group_a, indices.count, indices.ranks, &made));
        check_and_free(made, &chosen, "incl of a part");
        OK(MPI_Group_excl(group_a, indices.count, indices.ranks, &made));
        check_and_free(made, &rest, "excl");
        count = any_ranges(a.count, ranges, &named);
        chosen.count = rest.count = 0;
        for (int i = 0; i < named.count; i++) add(&chosen, a.ranks[named.ranks[i]]);
        for (int i = 0; i < a.count; i++)
            if (!has(&named, i)) add(&rest, a.ranks[i]);
        OK(MPI_Group_range_incl(group_a, count, ranges, &made));
        check_and_free(made, &chosen, "range_incl");
        OK(MPI_Group_range_excl(group_a, count, ranges, &made));
        check_and_free(made, &rest, "range_excl");
    }
    check_and_free(group_a, &a, "the first");
    check_and_free(group_b, &b, "the second");
}

/* ---- Communicators ---- */

/* On which side is the calling process? -1: on none. */
static int my_side(const struct entry *entry) {
    for (int side = 0; side < 2; side++)
        if (has(&entry->sides[side], rank)) return side;
    return -1;
}

static int any_entry(int is_inter) {
    int start = any(POOL);
    for (int i = 0; i < POOL; i++) {
        struct entry *entry = &pool[(start + i) % POOL];
        if (entry->is_used && entry->is_inter == is_inter) return (start + i) % POOL;
    }
    return -1;
}

static void discard(struct entry *entry) {
    int disconnect = any(3) == 0;
    entry->is_used = 0;
    if (entry->comm == MPI_COMM_NULL) return;
    OK(disconnect ? MPI_Comm_disconnect(&entry->comm) : MPI_Comm_free(&entry->comm));
    SAME(entry->comm == MPI_COMM_NULL, "a handle is left", seed, step);
}

/* Every member hears from every other in order, once by a collective and once by messages. */
static void talk(const struct entry *entry) {
    int side = my_side(entry), got[RANKS], token = rank + 1000 * step;
    const struct set *peers = &entry->sides[entry->is_inter ? !side : side];
    MPI_Request requests[2 * RANKS];
    if (side < 0) return;
    OK(MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, entry->comm));
    for (int i = 0; i < peers->count; i++) SAME(got[i] == peers->ranks[i], "rank %d is %d", seed, step, i, got[i]);
    for (int i = 0; i < peers->count; i++) {
        OK(MPI_Irecv(&got[i], 1, MPI_INT, i, step, entry->comm, &requests[2 * i]));
        OK(MPI_Isend(&token, 1, MPI_INT, i, step, entry->comm, &requests[2 * i + 1]));
    }
    OK(MPI_Waitall(2 * peers->count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < peers->count; i++)
        SAME(got[i] == peers->ranks[i] + 1000 * step, "from %d came %d", seed, step, i, got[i]);
}

/* What a communicator says of itself is what is known of it. */
static void check_comm(const struct entry *entry) {
    int side = my_side(entry), flag, number;
    MPI_Group group;
    SAME((entry->comm != MPI_COMM_NULL) == (side >= 0), "is it a member?", seed, step);
    if (side < 0) return;
    OK(MPI_Comm_test_inter(entry->comm, &flag));
    SAME(flag == entry->is_inter, "inter %d", seed, step, flag);
    OK(MPI_Comm_size(entry->comm, &number));
    SAME(number == entry->sides[side].count, "size %d", seed, step, number);
    OK(MPI_Comm_rank(entry->comm, &number));
    SAME(number == find(&entry->sides[side], rank), "rank %d", seed, step, number);
    OK(MPI_Comm_group(entry->comm, &group));
    check_and_free(group, &entry->sides[side], "the group");
    if (!entry->is_inter) return;
    OK(MPI_Comm_remote_size(entry->comm, &number));
    SAME(number == entry->sides[!side].count, "remote size %d", seed, step, number);
    OK(MPI_Comm_remote_group(entry->comm, &group));
    check_and_free(group, &entry->sides[!side], "the remote group");
}

/* Put into the pool what was made, in the place of another if need be. Nobody has a communicator without members. */
static void keep(struct entry made) {
    int empty = made.sides[0].count == 0 || (made.is_inter && made.sides[1].count == 0);
    if (empty) {
        SAME(made.comm == MPI_COMM_NULL, "a communicator of nobody", seed, step);
        return;
    }
    made.is_used = 1;
    check_comm(&made);
    talk(&made);
    int at = 0;
    while (at < POOL && pool[at].is_used) at++;
    /* The first two stay. */
    if (at == POOL) discard(&pool[at = 2 + any(POOL - 2)]);
    pool[at] = made;
}

static void duplicate(void) {
    struct entry *old = &pool[any_entry(any(3) == 0 && any_entry(1) >= 0)], made = *old;
    MPI_Request request;
    MPI_Info info;
    int how = any(4), result;
    if (my_side(old) >= 0) {
        OK(MPI_Info_create(&info));
        if (how == 0) OK(MPI_Comm_dup(old->comm, &made.comm));
        if (how == 1) OK(MPI_Comm_dup_with_info(old->comm, info, &made.comm));
        if (how == 2) OK(MPI_Comm_idup(old->comm, &made.comm, &request));
        if (how == 3) OK(MPI_Comm_idup_with_info(old->comm, info, &made.comm, &request));
        if (how >= 2) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Info_free(&info));
        OK(MPI_Comm_compare(old->comm, made.comm, &result));
        SAME(result == MPI_CONGRUENT, "a duplicate: %d", seed, step, result);
    }
    keep(made);
}

/* Members deal themselves into groups, and each group gets a communicator. */
static void create(void) {
    struct entry *old = &pool[any_entry(any(3) == 0 && any_entry(1) >= 0)];
    int how = old->is_inter ? 0 : any(3), parts = old->is_inter ? 1 : 1 + any(2);
    struct entry made[2] = {{.comm = MPI_COMM_NULL}, {.comm = MPI_COMM_NULL}};
    struct set first = some_of(&old->sides[0]), rest = {0};
    for (int i = 0; i < old->sides[0].count; i++)
        if (!has(&first, old->sides[0].ranks[i])) add(&rest, old->sides[0].ranks[i]);
    made[0].sides[0] = first;
    made[1].sides[0] = parts == 2 ? some_of(&rest) : (struct set){0};
    made[0].is_inter = old->is_inter;
    if (old->is_inter) made[0].sides[1] = some_of(&old->sides[1]);
    int side = my_side(old), part = my_side(&made[0]) >= 0 ? 0 : my_side(&made[1]) >= 0 ? 1 : -1;
    struct set nobody = {0};
    const struct set *wanted = old->is_inter && side >= 0 ? &made[0].sides[side]
                               : part >= 0               ? &made[part].sides[0]
                                                         : &nobody;
    MPI_Group group = group_of(wanted);
    MPI_Comm comm = MPI_COMM_NULL;
    char tag[32];
    snprintf(tag, sizeof tag, "step %d, part %d", step, part);
    if (how == 0 && side >= 0) OK(MPI_Comm_create(old->comm, group, &comm));
    if (how == 1 && part >= 0) OK(MPI_Comm_create_group(old->comm, group, step, &comm));
    if (how == 2 && part >= 0)
        OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
    if (old->is_inter && (made[0].sides[0].count == 0 || made[0].sides[1].count == 0))
        SAME(comm == MPI_COMM_NULL, "one side is empty", seed, step);
    else if (part >= 0)
        made[part].comm = comm;
    else
        SAME(comm == MPI_COMM_NULL, "a rank outside it has it", seed, step);
    keep(made[0]);
    if (parts == 2) keep(made[1]);
}

/* All ranks share this machine. */
static int one_node;

static void split(void) {
    struct entry *old = &pool[any_entry(any(3) == 0 && any_entry(1) >= 0)];
    int colors = 1 + any(3), by_type = !old->is_inter && any(5) == 0 && one_node, color[RANKS], key[RANKS];
    MPI_Comm comm = MPI_COMM_NULL;
    for (int i = 0; i < size; i++) {
        color[i] = by_type ? 0 : any(colors + 1);
        key[i] = any(5) - 2;
    }
    /* The last colour is none. */
    int mine = color[rank] == colors ? MPI_UNDEFINED : color[rank] * 7;
    if (by_type && my_side(old) >= 0)
        OK(MPI_Comm_split_type(old->comm, MPI_COMM_TYPE_SHARED, key[rank], MPI_INFO_NULL, &comm));
    if (!by_type && my_side(old) >= 0) OK(MPI_Comm_split(old->comm, mine, key[rank], &comm));
    int is_taken = comm == MPI_COMM_NULL;
    struct entry parts[3];
    for (int c = 0; c < colors; c++) {
        struct entry *made = &parts[c];
        *made = (struct entry){.is_inter = old->is_inter, .comm = MPI_COMM_NULL};
        for (int side = 0; side < 2; side++)
            for (int k = -2; k <= 2; k++)
                for (int i = 0; i < old->sides[side].count; i++) {
                    int one = old->sides[side].ranks[i];
                    if (color[one] == c && key[one] == k) add(&made->sides[side], one);
                }
        int nobody = made->sides[0].count == 0 || (old->is_inter && made->sides[1].count == 0);
        if (nobody || my_side(made) < 0) continue;
        made->comm = comm;
        is_taken = 1;
    }
    SAME(is_taken, "a communicator of no colour", seed, step);
    for (int c = 0; c < colors; c++) {
        int nobody = parts[c].sides[0].count == 0 || (parts[c].is_inter && parts[c].sides[1].count == 0);
        if (!nobody) keep(parts[c]);
    }
}

static int are_disjoint(const struct set *a, const struct set *b) {
    for (int i = 0; i < a->count; i++)
        if (has(b, a->ranks[i])) return 0;
    return 1;
}

/* From two communicators without common members, whose leaders meet in a third. */
static void connect(void) {
    int a = any_entry(0), b = any_entry(0);
    struct set left = pool[a].sides[0], right = pool[b].sides[0];
    struct entry made = {.is_inter = 1, .sides = {left, right}, .comm = MPI_COMM_NULL};
    if (!are_disjoint(&left, &right)) return;
    int leaders[2] = {any(left.count), any(right.count)}, side = my_side(&made);
    if (side >= 0) {
        int remote = made.sides[!side].ranks[leaders[!side]];
        MPI_Comm local = pool[side == 0 ? a : b].comm;
        OK(MPI_Intercomm_create(local, leaders[side], pool[0].comm, remote, step, &made.comm));
    }
    keep(made);
}

static void connect_groups(void) {
    struct set all = everyone(), left = some_of(&all), rest = {0};
    for (int i = 0; i < size; i++)
        if (!has(&left, i)) add(&rest, i);
    struct set right = some_of(&rest);
    struct entry made = {.is_inter = 1, .sides = {left, right}, .comm = MPI_COMM_NULL};
    if (left.count == 0 || right.count == 0) return;
    int leaders[2] = {any(left.count), any(right.count)}, side = my_side(&made);
    char tag[32];
    snprintf(tag, sizeof tag, "step %d", step);
    if (side >= 0) {
        MPI_Group local = group_of(&made.sides[side]), remote = group_of(&made.sides[!side]);
        OK(MPI_Intercomm_create_from_groups(local, leaders[side], remote, leaders[!side], tag, MPI_INFO_NULL,
                                            MPI_ERRORS_ARE_FATAL, &made.comm));
        OK(MPI_Group_free(&local));
        OK(MPI_Group_free(&remote));
    }
    keep(made);
}

static void merge(void) {
    int which = any_entry(1), high = any(2);
    if (which < 0) return;
    struct entry *old = &pool[which], made = {.comm = MPI_COMM_NULL};
    int side = my_side(old);
    if (side >= 0) OK(MPI_Intercomm_merge(old->comm, side == high, &made.comm));
    for (int order = 0; order < 2; order++) {
        const struct set *part = &old->sides[order ? high : !high];
        for (int i = 0; i < part->count; i++) add(&made.sides[0], part->ranks[i]);
    }
    keep(made);
}

static void compare(void) {
    const struct entry *a = &pool[any_entry(any(2) && any_entry(1) >= 0)], *b = &pool[any_entry(any(2) && any_entry(1) >= 0)];
    int one = my_side(a), other = my_side(b), result;
    if (one < 0 || other < 0) return;
    int wanted = relation(&a->sides[one], &b->sides[other]);
    if (a->is_inter != b->is_inter) wanted = MPI_UNEQUAL;
    if (a->is_inter && b->is_inter) {
        int remote = relation(&a->sides[!one], &b->sides[!other]);
        if (wanted == MPI_UNEQUAL || remote == MPI_UNEQUAL) wanted = MPI_UNEQUAL;
        else if (remote == MPI_SIMILAR) wanted = MPI_SIMILAR;
    }
    if (wanted == MPI_IDENT && a != b) wanted = MPI_CONGRUENT;
    OK(MPI_Comm_compare(a->comm, b->comm, &result));
    SAME(result == wanted, "compare: %d, not %d", seed, step, result, wanted);
}

static void act(void) {
    int which;
    switch (any(11)) {
    case 0: duplicate(); break;
    case 1: case 2: create(); break;
    case 3: case 4: split(); break;
    case 5: connect(); break;
    case 6: connect_groups(); break;
    case 7: merge(); break;
    case 8: compare(); break;
    case 9: group_algebra(); break;
    case 10:
        /* Those that were not used for long still work, and then go. */
        which = any(POOL);
        if (!pool[which].is_used) break;
        talk(&pool[which]);
        if (which >= 2) discard(&pool[which]);
        break;
    }
}

static void run(unsigned this_seed, int steps) {
    long before = live_handles();
    seed = this_seed;
    shared = this_seed * 2654435761u;
    pool[0] = (struct entry){.is_used = 1, .sides = {everyone()}, .comm = MPI_COMM_WORLD};
    pool[1] = (struct entry){.is_used = 1, .sides = {everyone()}, .comm = MPI_COMM_NULL};
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &pool[1].comm));
    for (step = 1; step <= steps; step++) act();
    for (int i = 0; i < POOL; i++)
        if (pool[i].is_used) check_comm(&pool[i]), talk(&pool[i]);
    for (int i = 1; i < POOL; i++)
        if (pool[i].is_used) discard(&pool[i]);
    SAME(live_handles() == before, "%ld handles are left", seed, step, live_handles() - before);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int full = getenv("ISTHMUS_TEST_FULL") != NULL, steps = argc > 2 ? atoi(argv[2]) : 150, seeds = full ? 60 : 4;
    unsigned first = full ? (unsigned)time(NULL) : 1;
    CHECK(size <= RANKS, "%d", size);
    if (argc > 1) first = (unsigned)strtoul(argv[1], NULL, 10), seeds = 1;
    OK(MPI_Bcast(&first, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("seeds %u to %u\n", first, first + (unsigned)seeds - 1), fflush(stdout);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world_group));
    one_node = on_one_node();
    watch_handles();
    for (int i = 0; i < seeds; i++) run(first + (unsigned)i, steps);
    unwatch_handles();
    OK(MPI_Group_free(&world_group));
    end();
    return 0;
}
