/* CG (RNR-94-007, section 2.3.3): the smallest eigenvalue of a large sparse matrix with random places of its elements, by inverse iteration, each
 * step of which is 25 steps of conjugate gradients. Rows are distributed; vectors are gathered (MPI_Allgatherv) to be multiplied. */
#ifndef ISTHMUS_BENCH_NAS_CG_H
#define ISTHMUS_BENCH_NAS_CG_H

#include "nas.h"

static const struct cg_class {
    int n, nonzeros, iterations;
    double shift, zeta;
} cg_classes[] = {
    {1400, 7, 15, 10, 8.5971775078648},
    {7000, 8, 15, 12, 10.362595087124},
    {14000, 11, 15, 20, 17.130235054029},
    {75000, 13, 75, 60, 22.712745482631},
};

enum { CG_MOST = 16 };

/* The matrix is the sum of weighted outer products of such vectors. */
struct cg_vector {
    int count, at[CG_MOST];
    double value[CG_MOST];
};

struct cg_element {
    int column;
    double value;
};

struct cg {
    int n, first, rows;
    size_t *begin;
    struct cg_element *elements;
    int *counts, *firsts;
    /* One element for each column, which all ranks have. */
    double *whole;
};

static struct cg_vector cg_next_vector(int n, int nonzeros, int index, uint64_t *state)
{
    struct cg_vector v = {0};
    int power = 1;
    while (power < n)
        power *= 2;
    while (v.count < nonzeros) {
        double value = nas_next(state);
        int at = (int)(power * nas_next(state)), known = at >= n;
        for (int i = 0; i < v.count; i++)
            known |= v.at[i] == at;
        if (!known)
            v.at[v.count] = at, v.value[v.count++] = value;
    }
    int i = 0;
    while (i < v.count && v.at[i] != index)
        i++;
    v.at[i] = index;
    v.value[i] = 0.5;
    v.count += i == v.count;
    return v;
}

static int cg_by_column(const void *a, const void *b)
{
    int x = ((const struct cg_element *)a)->column, y = ((const struct cg_element *)b)->column;
    return (x > y) - (x < y);
}

/* Our rows: elements of the same place are added up. */
static void cg_make(struct cg *g, const struct cg_class *c)
{
    uint64_t state = NAS_SEED;
    nas_next(&state);
    struct cg_vector *vectors = memory((size_t)c->n * sizeof *vectors);
    size_t *fill = memory((size_t)(g->rows + 1) * sizeof *fill);
    for (int i = 0; i < c->n; i++) {
        vectors[i] = cg_next_vector(c->n, c->nonzeros, i, &state);
        for (int j = 0; j < vectors[i].count; j++) {
            int row = vectors[i].at[j] - g->first;
            if (row >= 0 && row < g->rows)
                fill[row] += (size_t)vectors[i].count + (vectors[i].at[j] == i);
        }
    }
    size_t all = 0;
    for (int row = 0; row <= g->rows; row++) {
        size_t count = row < g->rows ? fill[row] : 0;
        g->begin[row] = fill[row] = all;
        all += count;
    }
    g->elements = memory(all * sizeof *g->elements);
    double size = 1, ratio = pow(0.1, 1.0 / c->n);
    for (int i = 0; i < c->n; i++, size *= ratio) {
        const struct cg_vector *v = &vectors[i];
        for (int j = 0; j < v->count; j++) {
            int row = v->at[j] - g->first;
            if (row < 0 || row >= g->rows)
                continue;
            for (int k = 0; k < v->count; k++)
                g->elements[fill[row]++] = (struct cg_element){v->at[k], size * v->value[j] * v->value[k]};
            if (v->at[j] == i)
                g->elements[fill[row]++] = (struct cg_element){i, 0.1 - c->shift};
        }
    }
    size_t to = 0;
    for (int row = 0; row < g->rows; row++) {
        size_t from = g->begin[row], end = fill[row];
        qsort(g->elements + from, end - from, sizeof *g->elements, cg_by_column);
        g->begin[row] = to;
        for (size_t i = from; i < end; i++) {
            if (to > g->begin[row] && g->elements[to - 1].column == g->elements[i].column)
                g->elements[to - 1].value += g->elements[i].value;
            else
                g->elements[to++] = g->elements[i];
        }
    }
    g->begin[g->rows] = to;
    free(vectors), free(fill);
}

/* y := A x */
static void cg_multiply(const struct cg *g, const double *x, double *y)
{
    MPI_Allgatherv(x, g->rows, MPI_DOUBLE, g->whole, g->counts, g->firsts, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int row = 0; row < g->rows; row++) {
        double sum = 0;
        for (size_t i = g->begin[row]; i < g->begin[row + 1]; i++)
            sum += g->elements[i].value * g->whole[g->elements[i].column];
        y[row] = sum;
    }
}

static double cg_dot(const struct cg *g, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < g->rows; i++)
        sum += x[i] * y[i];
    sum_of_all(&sum, 1);
    return sum;
}

/* Solves A z = x as far as 25 steps go; the norm of what is left. */
static double cg_solve(const struct cg *g, const double *x, double *z, double *r, double *p, double *q)
{
    for (int i = 0; i < g->rows; i++)
        z[i] = 0, r[i] = p[i] = x[i];
    double rho = cg_dot(g, r, r);
    for (int step = 0; step < 25; step++) {
        cg_multiply(g, p, q);
        double alpha = rho / cg_dot(g, p, q), before = rho;
        for (int i = 0; i < g->rows; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rho = cg_dot(g, r, r);
        for (int i = 0; i < g->rows; i++)
            p[i] = r[i] + rho / before * p[i];
    }
    cg_multiply(g, z, r);
    for (int i = 0; i < g->rows; i++)
        r[i] = x[i] - r[i];
    return sqrt(cg_dot(g, r, r));
}

static double cg(int class)
{
    const struct cg_class *c = &cg_classes[class];
    struct cg g = {.n = c->n};
    g.counts = memory((size_t)ranks * sizeof(int));
    g.firsts = memory((size_t)ranks * sizeof(int));
    for (int p = 0; p < ranks; p++) {
        g.firsts[p] = (int)((long)c->n * p / ranks);
        g.counts[p] = (int)((long)c->n * (p + 1) / ranks) - g.firsts[p];
    }
    g.first = g.firsts[rank], g.rows = g.counts[rank];
    g.begin = memory((size_t)(g.rows + 1) * sizeof *g.begin);
    g.whole = memory((size_t)c->n * sizeof *g.whole);
    cg_make(&g, c);
    double *vectors = memory(5 * (size_t)(g.rows + 1) * sizeof *vectors);
    double *x = vectors, *z = x + g.rows, *r = z + g.rows, *p = r + g.rows, *q = p + g.rows;
    double zeta = 0, begin = 0;
    /* The first one is not timed. */
    for (int iteration = 0; iteration <= c->iterations; iteration++) {
        if (iteration <= 1)
            for (int i = 0; i < g.rows; i++)
                x[i] = 1;
        if (iteration == 1)
            begin = begin_together();
        still_here("cg", iteration);
        cg_solve(&g, x, z, r, p, q);
        zeta = c->shift + 1 / cg_dot(&g, x, z);
        double norm = 1 / sqrt(cg_dot(&g, z, z));
        for (int i = 0; i < g.rows; i++)
            x[i] = norm * z[i];
    }
    double us = taken_since(begin);
    free(g.counts), free(g.firsts), free(g.begin), free(g.whole), free(g.elements), free(vectors);
    return is_near(zeta, c->zeta, 1e-10) ? us : -1;
}

#endif
