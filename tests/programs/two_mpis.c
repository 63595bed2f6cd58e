/* two_mpis WHEN LIBRARY: loads another library of MPI before MPI_Init, or after it. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    int early = strcmp(argv[1], "before") == 0;
    if (early && dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    begin(&argc, &argv);
    if (!early && dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end();
}
