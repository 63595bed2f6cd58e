// Static data of a shared library is symmetric as the program's own is (OpenSHMEM 1.6 §3): tests/shmem.rs builds both.
#include "check.h"
#include "with_library.h"

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    CHECK(library_data[0] == 11 && library_data[LIBRARY_LENGTH - 1] == 0 && *library_hidden() == 5);
    shmem_barrier_all();
    shmem_long_p(&library_data[0], me, right);
    shmem_long_p(&library_zeros[LIBRARY_LENGTH - 1], me + 100, right);
    shmem_long_atomic_add(library_hidden(), 1, 0);
    library_put(right, me);
    shmem_barrier_all();
    CHECK(library_data[0] == left && library_zeros[LIBRARY_LENGTH - 1] == left + 100);
    CHECK(library_got() == left);
    CHECK(shmem_long_g(library_hidden(), 0) == 5 + n);
    CHECK(shmem_addr_accessible(library_data, right) && shmem_addr_accessible(library_hidden(), right));
    shmem_finalize();
    return 0;
}
