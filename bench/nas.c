/* Four of the NAS parallel benchmarks, written from their specification (D. Bailey and others: The NAS Parallel Benchmarks, RNR-94-007, and
 * W. Saphir and others on classes, NAS-95-020): FT (a partial differential equation by fast Fourier transforms), IS (sorting of integers), CG (an
 * eigenvalue by conjugate gradients), MG (Poisson's equation by V-cycles). What they compute is compared with the published numbers; how data is
 * distributed is our own, so times are not comparable with those of the NAS implementation.
 *
 *   nas CELL ...
 *
 * A cell is KERNEL:CLASS, as in ft:S; classes are S, W, A and B. Ranks are a power of two. */
#define _GNU_SOURCE
#include "nas.h"

#include "nas_cg.h"
#include "nas_ft.h"
#include "nas_is.h"
#include "nas_mg.h"

static const struct {
    const char *name;
    /* Does it all, for this class; microseconds, or less than 0 if the result is wrong. */
    double (*run)(int class);
} kernels[] = {{"ft", ft}, {"is", is}, {"cg", cg}, {"mg", mg}};

static const char classes[] = "SWAB";

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();
    if (ranks & (ranks - 1))
        give_up("nas: the number of ranks is no power of two");
    for (int i = 0; i < a.count; i++) {
        const char *colon = strchr(a.cells[i], ':');
        const char *class = colon && colon[1] ? strchr(classes, colon[1]) : NULL;
        int kernel = 0;
        while (kernel < 4 && strncmp(a.cells[i], kernels[kernel].name, 2) != 0)
            kernel++;
        if (kernel == 4 || !class)
            give_up("nas: a cell is ft, is, cg or mg, a colon, and a class: S, W, A or B");
        begin_count();
        double us = kernels[kernel].run((int)(class - classes));
        end_count();
        if (us < 0) {
            if (rank == 0)
                fprintf(stderr, "nas: %s on %d ranks: the result is not the published one\n", a.cells[i], ranks);
            give_up("nas: verification failed");
        }
        if (rank == 0) {
            printf("result nas row=%d kernel=%s class=%c ", kernel * 5 + (int)(class - classes), kernels[kernel].name, *class);
            print_counts();
            printf("ms=%.3f verified=1\n", us / 1e3);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
