/* looks 0: with device_memory=0, neither the list of libraries nor the driver is looked at.
 * looks 2: with device_memory=2, the list is looked at until the driver is found; memory that is surely the host's is not asked about. */
#define _GNU_SOURCE
#include "../programs/check.h"

#include <dlfcn.h>
#include <link.h>

static int lists;

/* In the place of the C library's: how the library learns which libraries are loaded. */
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data) {
    static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    lists++;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return next(each, data);
}

/* With memory of the program's image, of its heap, and a mapping of its own. */
static void exchange(void) {
    static int from;
    int *to = malloc(sizeof *to), *mapped = malloc(1 << 20);
    from = *mapped = rank;
    OK(MPI_Sendrecv(&from, 1, MPI_INT, 0, 0, to, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(*to == rank, "%d", *to);
    OK(MPI_Allreduce(mapped, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(*to == size * (size - 1) / 2, "%d", *to);
    free(to);
    free(mapped);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc == 2, "%d arguments", argc);
    int is_on = *argv[1] != '0', before;
    for (int i = 0; i < 3; i++) exchange();
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(driver, "%s", dlerror());
    int (*start)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    long (*calls)(const char *) = (long (*)(const char *))dlsym(driver, "cuda_calls");
    CHECK(start && calls && start(0) == 0, "no driver");
    before = lists;
    exchange();
    CHECK(is_on || lists == before, "%d looks at the libraries", lists - before);
    before = lists;
    for (int i = 0; i < 10; i++) exchange();
    CHECK(lists == before, "%d looks at the libraries, with the driver found", lists - before);
    long asked = calls("cuPointerGetAttributes") + calls("cuPointerGetAttribute");
    CHECK(asked <= (is_on ? 5 : 0), "the driver was asked %ld times", asked);
    end();
    return 0;
}
