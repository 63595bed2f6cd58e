// ranks: 1 2 3 4 6 9
// Updates of margins, against a copy at every process: what others have put into blocks just before, without a wait, is there; what they put
// just after is not. tests/ga.rs runs it with each algorithm, too.
#include <ga.h>
#include <macdecls.h>
#include <stdio.h>
#include <stdlib.h>

enum { UPDATES = 30, MOST = 4000, PUTS = 6 };

static int me, size, rank, array, first, dims[4], width[4], ones[4] = {1, 1, 1, 1}, model[MOST];
static unsigned state = 4711;

static int next(int below)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)below);
}

static void fail(const char *what, int update)
{
    fprintf(stderr, "process %d of %d, %d dimensions %d %d %d %d, margins %d %d %d %d, update %d\n", me, size, rank, dims[0], dims[1],
            dims[2], dims[3], width[0], width[1], width[2], width[3], update);
    GA_Error((char *)what, 1);
}

static int linear(const int *at)
{
    int place = 0;
    for (int d = 0; d < rank; d++) place = place * dims[d] + (at[d] % dims[d] + dims[d]) % dims[d];
    return place;
}

/* The next index of a box; 0 after the last one. */
static int step(int *at, const int *lo, const int *hi)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++at[d] <= hi[d]) return 1;
        at[d] = lo[d];
    }
    return 0;
}

/* Some elements get new values, each from one process, which is another one than their owner if there is one. */
static void put(int update, int pointers)
{
    for (int n = 0; n < PUTS; n++) {
        int at[4], lo[4], hi[4], ld[4], *others, old, new = -1 - update * PUTS - n, kind = pointers ? 3 : next(3);
        for (int d = 0; d < rank; d++) at[d] = next(dims[d]);
        int place = linear(at), owner = NGA_Locate(array, at), by = size == 1 ? 0 : (owner + 1 + place % (size - 1)) % size;
        old = model[place];
        model[place] = new;
        if (by != me) continue;
        int *one = &at[0], difference = new - old;
        if (kind == 0) NGA_Put(array, at, at, &new, ones);
        if (kind == 1) NGA_Read_inc(array, at, difference);
        if (kind == 2) NGA_Scatter_acc(array, &difference, &one, 1, &ones[0]);
        if (kind == 3 && GA_Cluster_proc_nodeid(owner) != GA_Cluster_nodeid()) NGA_Put(array, at, at, &new, ones);
        else if (kind == 3) {
            NGA_Distribution(array, owner, lo, hi);
            NGA_Access_block(array, owner - first, &others, ld);
            int offset = 0;
            for (int d = 0; d < rank; d++) offset = (d ? offset * ld[d - 1] : 0) + at[d] - lo[d];
            others[offset] = new;
        }
    }
}

static void one_array(void)
{
    int chunk[4], lo[4], hi[4], ld[4], stored[4], at[4], total = 1, pointers = UPDATES + next(2) * (5 - UPDATES);
    rank = 1 + next(4);
    for (int d = 0; d < rank; d++) {
        dims[d] = rank < 3 ? 4 + next(40) : 3 + next(5);
        width[d] = next(4) ? next(3) : 0;
        chunk[d] = next(3) ? -1 : dims[d];
        total *= dims[d];
    }
    if (total > MOST) return;
    array = GA_Create_handle();
    GA_Set_data(array, rank, dims, C_INT);
    GA_Set_chunk(array, chunk);
    GA_Set_ghosts(array, width);
    /* Some processes may have nothing. */
    first = next(4) ? 0 : size / 2;
    if (first) GA_Set_restricted_range(array, first, size - 1);
    if (!GA_Allocate(array)) fail("no memory", 0);
    NGA_Distribution(array, me, lo, hi);
    for (int update = 0; update < UPDATES; update++) {
        for (int n = 0; n < total; n++) model[n] = update * MOST + n;
        int *own = NULL;
        if (hi[0] >= lo[0]) {
            NGA_Access(array, lo, hi, &own, ld);
            for (int d = 0; d < rank; d++) at[d] = lo[d];
            do {
                int offset = 0;
                for (int d = 0; d < rank; d++) offset = (d ? offset * ld[d - 1] : 0) + at[d] - lo[d];
                own[offset] = model[linear(at)];
            } while (step(at, lo, hi));
        }
        GA_Sync();
        if (next(2)) put(update, update >= pointers);
        GA_Update_ghosts(array);
        /* It must not reach the margins before the next update, whoever is late. */
        static int before[MOST];
        for (int n = 0; n < total; n++) before[n] = model[n];
        if (next(2)) put(update + UPDATES, 0);
        if (own) {
            NGA_Access_ghosts(array, stored, &own, ld);
            int origin[4] = {0}, last[4];
            for (int d = 0; d < rank; d++) {
                last[d] = stored[d] - 1;
                at[d] = 0;
            }
            do {
                int index[4], offset = 0, inside = 1;
                for (int d = 0; d < rank; d++) {
                    offset = (d ? offset * ld[d - 1] : 0) + at[d];
                    index[d] = lo[d] - width[d] + at[d];
                    inside &= index[d] >= lo[d] && index[d] <= hi[d];
                }
                if (!inside && own[offset] != before[linear(index)]) fail("a margin differs", update);
            } while (step(at, origin, last));
        }
        GA_Sync();
    }
    GA_Destroy(array);
}

int main(int argc, char **argv)
{
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    for (int n = 0; n < 40; n++) one_array();
    GA_Terminate();
    (void)argc;
    (void)argv;
    return 0;
}
