/* FT (RNR-94-007, section 2.3.4): u(t) = inverse transform of exp(-4 alpha pi^2 |n|^2 t) times the transform of u(0), in three dimensions.
 * Planes of z are distributed at first; after a transposition (MPI_Alltoall) rows of y are, with z contiguous. */
#ifndef ISTHMUS_BENCH_NAS_FT_H
#define ISTHMUS_BENCH_NAS_FT_H

#include "nas.h"

struct ft_number {
    double re, im;
};

static const struct ft_class {
    int nx, ny, nz, iterations;
    double sums[20][2];
} ft_classes[] = {
    {64, 64, 64, 6,
     {{5.546087004964e+02, 4.845363331978e+02}, {5.546385409189e+02, 4.865304269511e+02}, {5.546148406171e+02, 4.883910722336e+02},
      {5.545423607415e+02, 4.901273169046e+02}, {5.544255039624e+02, 4.917475857993e+02}, {5.542683411902e+02, 4.932597244941e+02}}},
    {128, 128, 32, 6,
     {{5.673612178944e+02, 5.293246849175e+02}, {5.631436885271e+02, 5.282149986629e+02}, {5.594024089970e+02, 5.270996558037e+02},
      {5.560698047020e+02, 5.260027904925e+02}, {5.530898991250e+02, 5.249400845633e+02}, {5.504159734538e+02, 5.239212247086e+02}}},
    {256, 256, 128, 6,
     {{5.046735008193e+02, 5.114047905510e+02}, {5.059412319734e+02, 5.098809666433e+02}, {5.069376896287e+02, 5.098144042213e+02},
      {5.077892868474e+02, 5.101336130759e+02}, {5.085233095391e+02, 5.104914655194e+02}, {5.091487099959e+02, 5.107917842803e+02}}},
    {512, 256, 256, 20,
     {{5.177643571579e+02, 5.077803458597e+02}, {5.154521291263e+02, 5.088249431599e+02}, {5.146409228649e+02, 5.096208912659e+02},
      {5.142378756213e+02, 5.101023387619e+02}, {5.139626667737e+02, 5.103976610617e+02}, {5.137423460082e+02, 5.105948019802e+02},
      {5.135547056878e+02, 5.107404165783e+02}, {5.133910925466e+02, 5.108576573661e+02}, {5.132470705390e+02, 5.109577278523e+02},
      {5.131197729984e+02, 5.110460304483e+02}, {5.130070319283e+02, 5.111252433800e+02}, {5.129070537032e+02, 5.111968077718e+02},
      {5.128182883502e+02, 5.112616233064e+02}, {5.127393733383e+02, 5.113203605551e+02}, {5.126691062020e+02, 5.113735928093e+02},
      {5.126064276004e+02, 5.114218460548e+02}, {5.125504076570e+02, 5.114656139760e+02}, {5.125002331720e+02, 5.115053595966e+02},
      {5.124551951846e+02, 5.115415130407e+02}, {5.124146770029e+02, 5.115744692211e+02}}},
};

/* Lines that are transformed together, element by element beside one another. */
enum { FT_TOGETHER = 16, FT_LONGEST = 512 };

static struct ft_number ft_buffers[2][FT_LONGEST * FT_TOGETHER], ft_roots[FT_LONGEST];

/* Transforms what is in the first buffer, with Stockham's order of steps; the buffer with the result. */
static struct ft_number *ft_transform(int n, int sign)
{
    struct ft_number *from = ft_buffers[0], *to = ft_buffers[1];
    for (int half = n / 2, m = 1; half >= 1; half /= 2, m *= 2) {
        for (int j = 0; j < half; j++) {
            struct ft_number w = ft_roots[(size_t)j * (size_t)(FT_LONGEST / 2 / half)];
            w.im *= sign;
            const struct ft_number *a = from + j * m * FT_TOGETHER, *b = a + half * m * FT_TOGETHER;
            struct ft_number *c = to + 2 * j * m * FT_TOGETHER, *d = c + m * FT_TOGETHER;
            for (int k = 0; k < m * FT_TOGETHER; k++) {
                double re = a[k].re - b[k].re, im = a[k].im - b[k].im;
                c[k].re = a[k].re + b[k].re;
                c[k].im = a[k].im + b[k].im;
                d[k].re = w.re * re - w.im * im;
                d[k].im = w.re * im + w.im * re;
            }
        }
        struct ft_number *swap = from;
        from = to, to = swap;
    }
    return from;
}

/* Transforms `count` lines of `n` elements, `step` apart, which begin `next` apart. */
static void ft_lines(struct ft_number *at, int n, size_t step, int count, size_t next, int sign)
{
    for (int first = 0; first < count; first += FT_TOGETHER) {
        int together = count - first < FT_TOGETHER ? count - first : FT_TOGETHER;
        struct ft_number *lines = at + (size_t)first * next, *in = ft_buffers[0];
        for (int j = 0; j < together; j++)
            for (int i = 0; i < n; i++)
                in[i * FT_TOGETHER + j] = lines[(size_t)i * step + (size_t)j * next];
        const struct ft_number *out = ft_transform(n, sign);
        for (int j = 0; j < together; j++)
            for (int i = 0; i < n; i++)
                lines[(size_t)i * step + (size_t)j * next] = out[i * FT_TOGETHER + j];
    }
}

struct ft {
    int nx, ny, nz;
    /* Rows of y and planes of z of one rank; elements of one rank, and what it sends to each. */
    int rows, planes;
    size_t elements, block;
    /* By z, y, x and by y, x, z; what is sent and received. */
    struct ft_number *by_plane, *by_row, *out, *in;
};

static void ft_planes(const struct ft *f, int sign)
{
    size_t plane = (size_t)f->nx * (size_t)f->ny;
    for (int z = 0; z < f->planes; z++) {
        ft_lines(f->by_plane + (size_t)z * plane, f->nx, 1, f->ny, (size_t)f->nx, sign);
        ft_lines(f->by_plane + (size_t)z * plane, f->ny, (size_t)f->nx, f->nx, 1, sign);
    }
}

static void ft_exchange(const struct ft *f)
{
    int count = (int)(f->block * 2);
    MPI_Alltoall(f->out, count, MPI_DOUBLE, f->in, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* A block holds, of one rank's planes and another's rows, y by y and x by x, the elements by z. */
static void ft_forward(const struct ft *f)
{
    ft_planes(f, 1);
    size_t nx = (size_t)f->nx, planes = (size_t)f->planes;
    struct ft_number *to = f->out;
    for (size_t y = 0; y < (size_t)f->ny; y++)
        for (size_t x = 0; x < nx; x++)
            for (size_t z = 0; z < planes; z++)
                *to++ = f->by_plane[(z * (size_t)f->ny + y) * nx + x];
    ft_exchange(f);
    for (size_t p = 0; p < (size_t)ranks; p++)
        for (size_t line = 0; line < (size_t)f->rows * nx; line++)
            memcpy(f->by_row + line * (size_t)f->nz + p * planes, f->in + p * f->block + line * planes, planes * sizeof *f->in);
    ft_lines(f->by_row, f->nz, 1, f->rows * f->nx, (size_t)f->nz, 1);
}

static void ft_backward(const struct ft *f, const struct ft_number *by_row)
{
    size_t nx = (size_t)f->nx, planes = (size_t)f->planes, rows = (size_t)f->rows;
    memcpy(f->by_plane, by_row, f->elements * sizeof *by_row);
    ft_lines(f->by_plane, f->nz, 1, f->rows * f->nx, (size_t)f->nz, -1);
    for (size_t p = 0; p < (size_t)ranks; p++)
        for (size_t line = 0; line < rows * nx; line++)
            memcpy(f->out + p * f->block + line * planes, f->by_plane + line * (size_t)f->nz + p * planes, planes * sizeof *f->out);
    ft_exchange(f);
    const struct ft_number *from = f->in;
    for (size_t y = 0; y < (size_t)f->ny; y++)
        for (size_t x = 0; x < nx; x++)
            for (size_t z = 0; z < planes; z++)
                f->by_plane[(z * (size_t)f->ny + y) * nx + x] = *from++;
    ft_planes(f, -1);
}

/* Of 1024 elements. */
static void ft_sum(const struct ft *f, double sum[2])
{
    sum[0] = sum[1] = 0;
    for (int j = 1; j <= 1024; j++) {
        int x = j % f->nx, y = 3 * j % f->ny, z = 5 * j % f->nz - rank * f->planes;
        if (z < 0 || z >= f->planes)
            continue;
        struct ft_number it = f->by_plane[((size_t)z * (size_t)f->ny + (size_t)y) * (size_t)f->nx + (size_t)x];
        sum[0] += it.re;
        sum[1] += it.im;
    }
    sum_of_all(sum, 2);
    double all = (double)f->nx * f->ny * f->nz;
    sum[0] /= all;
    sum[1] /= all;
}

static double ft_squared(int index, int n)
{
    double it = index < n / 2 ? index : index - n;
    return it * it;
}

static double ft(int class)
{
    const struct ft_class *c = &ft_classes[class];
    struct ft f = {.nx = c->nx, .ny = c->ny, .nz = c->nz, .rows = c->ny / ranks, .planes = c->nz / ranks};
    if (f.rows < 1 || f.planes < 1)
        give_up("nas: FT has fewer planes than ranks");
    f.elements = (size_t)f.nx * (size_t)f.ny * (size_t)f.planes;
    f.block = f.elements / (size_t)ranks;
    f.by_plane = memory(f.elements * sizeof *f.by_plane);
    f.by_row = memory(f.elements * sizeof *f.by_row);
    f.out = memory(f.elements * sizeof *f.out);
    f.in = memory(f.elements * sizeof *f.in);
    double *factors = memory(f.elements * sizeof *factors);
    for (int i = 0; i < FT_LONGEST; i++)
        ft_roots[i] = (struct ft_number){cos(2 * M_PI * i / FT_LONGEST), sin(2 * M_PI * i / FT_LONGEST)};
    double begin = begin_together();
    uint64_t state = nas_after(2 * (uint64_t)f.elements * (uint64_t)rank);
    for (size_t i = 0; i < f.elements; i++) {
        f.by_plane[i].re = nas_next(&state);
        f.by_plane[i].im = nas_next(&state);
    }
    double *factor = factors;
    for (int y = 0; y < f.rows; y++)
        for (int x = 0; x < f.nx; x++)
            for (int z = 0; z < f.nz; z++)
                *factor++ = exp(-4e-6 * M_PI * M_PI * (ft_squared(y + rank * f.rows, f.ny) + ft_squared(x, f.nx) + ft_squared(z, f.nz)));
    ft_forward(&f);
    int good = 1;
    for (int t = 0; t < c->iterations; t++) {
        still_here("ft", t);
        for (size_t i = 0; i < f.elements; i++) {
            f.by_row[i].re *= factors[i];
            f.by_row[i].im *= factors[i];
        }
        ft_backward(&f, f.by_row);
        double sum[2];
        ft_sum(&f, sum);
        good &= is_near(sum[0], c->sums[t][0], 1e-12) && is_near(sum[1], c->sums[t][1], 1e-12);
    }
    double us = taken_since(begin);
    free(f.by_plane), free(f.by_row), free(f.out), free(f.in), free(factors);
    return good ? us : -1;
}

#endif
