/* MG (RNR-94-007, section 2.3.2): V-cycles of multigrid for Poisson's equation on a cube with periodic boundaries. Planes are distributed as long
 * as each rank has two of a grid; coarser grids all ranks have whole. Ghost planes are exchanged with the neighbours. */
#ifndef ISTHMUS_BENCH_NAS_MG_H
#define ISTHMUS_BENCH_NAS_MG_H

#include "nas.h"

static const struct mg_class {
    int log, iterations;
    /* Of the smoother. */
    double c[3];
    double norm;
} mg_classes[] = {
    {5, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.5307707005734e-04},
    {7, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.6467329375339e-05},
    {8, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.2433365309069e-05},
    {8, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1800564401355e-05},
};

enum { MG_LEVELS = 10, MG_CHARGES = 10 };

/* One grid: `n` points along an edge, of which a rank has the planes from `first` on; one point more on each side. */
struct mg_grid {
    int n, first, planes;
    double *u, *r;
};

static struct mg_grid mg_grids[MG_LEVELS];
static const double *mg_smoother;

static size_t mg_row(const struct mg_grid *g) { return (size_t)g->n + 2; }
static size_t mg_plane(const struct mg_grid *g) { return mg_row(g) * mg_row(g); }
static size_t mg_points(const struct mg_grid *g) { return mg_plane(g) * (size_t)(g->planes + 2); }
static int mg_is_whole(const struct mg_grid *g) { return g->planes == g->n; }

/* Fill what lies beyond the boundaries. */
static void mg_ghosts(const struct mg_grid *g, double *a)
{
    size_t row = mg_row(g), plane = mg_plane(g), n = (size_t)g->n;
    for (size_t z = 1; z <= (size_t)g->planes; z++) {
        for (size_t y = 1; y <= n; y++) {
            double *at = a + z * plane + y * row;
            at[0] = at[n];
            at[n + 1] = at[1];
        }
        memcpy(a + z * plane, a + z * plane + n * row, row * sizeof *a);
        memcpy(a + z * plane + (n + 1) * row, a + z * plane + row, row * sizeof *a);
    }
    double *first = a + plane, *last = a + (size_t)g->planes * plane;
    if (mg_is_whole(g)) {
        memcpy(a, last, plane * sizeof *a);
        memcpy(last + plane, first, plane * sizeof *a);
        return;
    }
    int above = (rank + 1) % ranks, below = (rank + ranks - 1) % ranks, count = (int)plane;
    MPI_Sendrecv(last, count, MPI_DOUBLE, above, 1, a, count, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(first, count, MPI_DOUBLE, below, 2, last + plane, count, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The rows around one, and sums over them: of the four beside it, and of the four across. */
struct mg_rows {
    const double *beside[4], *across[4];
};

static struct mg_rows mg_around(const double *at, size_t row, size_t plane)
{
    return (struct mg_rows){{at - row, at + row, at - plane, at + plane},
                            {at - row - plane, at + row - plane, at - row + plane, at + row + plane}};
}

static double mg_sum(const double *const rows[4], size_t x) { return rows[0][x] + rows[1][x] + rows[2][x] + rows[3][x]; }

/* to := from + the stencil with these coefficients (the point, its 6 neighbours, 12 over edges, 8 over corners) of a. */
static void mg_apply(const struct mg_grid *g, double *to, const double *from, const double *a, const double w[4])
{
    size_t row = mg_row(g), plane = mg_plane(g), n = (size_t)g->n;
    static double beside[1024], across[1024];
    for (size_t z = 1; z <= (size_t)g->planes; z++)
        for (size_t y = 1; y <= n; y++) {
            size_t at = z * plane + y * row;
            const double *it = a + at;
            struct mg_rows rows = mg_around(it, row, plane);
            for (size_t x = 0; x <= n + 1; x++) {
                beside[x] = mg_sum(rows.beside, x);
                across[x] = mg_sum(rows.across, x);
            }
            for (size_t x = 1; x <= n; x++)
                to[at + x] = from[at + x] + w[0] * it[x] + w[1] * (it[x - 1] + it[x + 1] + beside[x]) +
                             w[2] * (beside[x - 1] + beside[x + 1] + across[x]) + w[3] * (across[x - 1] + across[x + 1]);
        }
    mg_ghosts(g, to);
}

/* r := v - A u */
static void mg_residual(const struct mg_grid *g, const double *v)
{
    static const double minus_a[4] = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};
    mg_apply(g, g->r, v, g->u, minus_a);
}

/* u := u + S r */
static void mg_smooth(const struct mg_grid *g)
{
    const double s[4] = {mg_smoother[0], mg_smoother[1], mg_smoother[2], 0};
    mg_apply(g, g->u, g->u, g->r, s);
}

/* The residual on the next coarser grid: each of its points is at an odd one of this grid. */
static void mg_restrict(const struct mg_grid *fine, const struct mg_grid *coarse)
{
    size_t row = mg_row(fine), plane = mg_plane(fine);
    int ours = fine->planes / 2, first = fine->first / 2 - coarse->first;
    for (int z = 0; z < ours; z++)
        for (int y = 0; y < coarse->n; y++) {
            double *to = coarse->r + (size_t)(first + z + 1) * mg_plane(coarse) + (size_t)(y + 1) * mg_row(coarse) + 1;
            const double *at = fine->r + (size_t)(2 * z + 2) * plane + (size_t)(2 * y + 2) * row;
            struct mg_rows rows = mg_around(at, row, plane);
            for (int x = 0; x < coarse->n; x++) {
                size_t i = 2 * (size_t)x + 2;
                to[x] = 0.5 * at[i] + 0.25 * (at[i - 1] + at[i + 1] + mg_sum(rows.beside, i)) +
                        0.125 * (mg_sum(rows.beside, i - 1) + mg_sum(rows.beside, i + 1) + mg_sum(rows.across, i)) +
                        0.0625 * (mg_sum(rows.across, i - 1) + mg_sum(rows.across, i + 1));
            }
        }
    if (mg_is_whole(coarse) && !mg_is_whole(fine))
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, coarse->r + mg_plane(coarse), ours * (int)mg_plane(coarse), MPI_DOUBLE, MPI_COMM_WORLD);
    mg_ghosts(coarse, coarse->r);
}

/* u := u + the coarser one between its points. */
static void mg_interpolate(const struct mg_grid *coarse, const struct mg_grid *fine)
{
    size_t row = mg_row(coarse), plane = mg_plane(coarse);
    for (int z = 0; z < fine->planes; z++) {
        /* Odd points are those of the coarser grid, even ones in the middle between two. */
        int all = z + fine->first, z0 = (all - 1 + 2) / 2 - 1 - coarse->first, dz = all % 2 == 0;
        for (int y = 0; y < fine->n; y++) {
            int y0 = (y + 1) / 2 - 1, dy = y % 2 == 0;
            double *to = fine->u + (size_t)(z + 1) * mg_plane(fine) + (size_t)(y + 1) * mg_row(fine) + 1;
            const double *a = coarse->u + (size_t)(z0 + 1) * plane + (size_t)(y0 + 1) * row;
            const double *b = a + (dy ? row : 0), *c = a + (dz ? plane : 0), *d = b + (dz ? plane : 0);
            for (int x = 0; x < fine->n; x++) {
                int x0 = (x + 1) / 2, x1 = x0 + (x % 2 == 0);
                to[x] += 0.125 * (a[x0] + b[x0] + c[x0] + d[x0] + a[x1] + b[x1] + c[x1] + d[x1]);
            }
        }
    }
    mg_ghosts(fine, fine->u);
}

static void mg_cycle(int top, const double *v)
{
    for (int level = top; level > 1; level--)
        mg_restrict(&mg_grids[level], &mg_grids[level - 1]);
    memset(mg_grids[1].u, 0, mg_points(&mg_grids[1]) * sizeof(double));
    mg_smooth(&mg_grids[1]);
    for (int level = 2; level <= top; level++) {
        struct mg_grid *g = &mg_grids[level];
        if (level < top)
            memset(g->u, 0, mg_points(g) * sizeof(double));
        mg_interpolate(&mg_grids[level - 1], g);
        mg_residual(g, level < top ? g->r : v);
        mg_smooth(g);
    }
}

struct mg_charge {
    double value;
    long at;
};

static int mg_by_value(const void *a, const void *b)
{
    double x = ((const struct mg_charge *)a)->value, y = ((const struct mg_charge *)b)->value;
    return (x > y) - (x < y);
}

/* Keep the extreme ones: the smallest of value times sign. */
static void mg_keep(struct mg_charge kept[MG_CHARGES], struct mg_charge new)
{
    if (new.value >= kept[MG_CHARGES - 1].value)
        return;
    int i = MG_CHARGES - 1;
    for (; i > 0 && kept[i - 1].value > new.value; i--)
        kept[i] = kept[i - 1];
    kept[i] = new;
}

/* +1 at the ten largest numbers of a random field, -1 at the ten smallest. */
static void mg_charges(const struct mg_grid *g, double *v)
{
    struct mg_charge kept[2][MG_CHARGES], *all = memory(sizeof *all * MG_CHARGES * (size_t)ranks);
    for (int i = 0; i < MG_CHARGES; i++)
        kept[0][i] = kept[1][i] = (struct mg_charge){2, 0};
    long n = g->n, at = g->first * n * n;
    uint64_t state = nas_after((uint64_t)at);
    for (long end = at + g->planes * n * n; at < end; at++) {
        double value = nas_next(&state);
        mg_keep(kept[0], (struct mg_charge){value, at});
        mg_keep(kept[1], (struct mg_charge){-value, at});
    }
    for (int which = 0; which < 2; which++) {
        MPI_Allgather(kept[which], sizeof kept[which], MPI_BYTE, all, sizeof kept[which], MPI_BYTE, MPI_COMM_WORLD);
        qsort(all, (size_t)(MG_CHARGES * ranks), sizeof *all, mg_by_value);
        for (int i = 0; i < MG_CHARGES; i++) {
            long x = all[i].at % n, y = all[i].at / n % n, z = all[i].at / n / n - g->first;
            if (z >= 0 && z < g->planes)
                v[(size_t)(z + 1) * mg_plane(g) + (size_t)(y + 1) * mg_row(g) + (size_t)x + 1] = which ? 1 : -1;
        }
    }
    free(all);
    mg_ghosts(g, v);
}

static double mg_norm(const struct mg_grid *g)
{
    double sum = 0;
    for (size_t z = 1; z <= (size_t)g->planes; z++)
        for (size_t y = 1; y <= (size_t)g->n; y++)
            for (size_t x = 1; x <= (size_t)g->n; x++) {
                double it = g->r[z * mg_plane(g) + y * mg_row(g) + x];
                sum += it * it;
            }
    sum_of_all(&sum, 1);
    return sqrt(sum / ((double)g->n * g->n * g->n));
}

static double mg(int class)
{
    const struct mg_class *c = &mg_classes[class];
    mg_smoother = c->c;
    for (int level = 1; level <= c->log; level++) {
        struct mg_grid *g = &mg_grids[level];
        g->n = 1 << level;
        int shared = g->n >= 2 * ranks;
        g->planes = shared ? g->n / ranks : g->n;
        g->first = shared ? rank * g->planes : 0;
        g->u = memory(mg_points(g) * sizeof(double));
        g->r = memory(mg_points(g) * sizeof(double));
    }
    struct mg_grid *g = &mg_grids[c->log];
    if (g->n < 2 * ranks)
        give_up("nas: MG has fewer planes than ranks");
    double *v = memory(mg_points(g) * sizeof(double));
    mg_charges(g, v);
    double begin = 0, norm = 0;
    /* The first time one cycle, which is not timed. */
    for (int timed = 0; timed < 2; timed++) {
        memset(g->u, 0, mg_points(g) * sizeof(double));
        begin = begin_together();
        mg_residual(g, v);
        for (int i = 0; i < (timed ? c->iterations : 1); i++) {
            mg_cycle(c->log, v);
            mg_residual(g, v);
        }
        norm = mg_norm(g);
    }
    double us = taken_since(begin);
    for (int level = 1; level <= c->log; level++)
        free(mg_grids[level].u), free(mg_grids[level].r);
    free(v);
    return is_near(norm, c->norm, 1e-8) ? us : -1;
}

#endif
